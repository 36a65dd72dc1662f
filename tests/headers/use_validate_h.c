// SPDX-License-Identifier: Apache-2.0
// validate.h alone, every function of it, in C and in C++. Compiled by test_headers.py.
#include "dltensor/validate.h"

size_t use(const DLManagedTensorVersioned* managed, char* buffer, size_t size);
size_t use(const DLManagedTensorVersioned* managed, char* buffer, size_t size) {
  const DLTensor* t = &managed->dl_tensor;
  dlt_finding finding;
  dlt_extent extent;
  size_t count;
  if (dlt_check_pointer(managed) || dlt_check_layout(managed, 1) || dlt_check_version(managed->version)) return 0;
  if (dlt_check_tensor(t) != 0) return dlt_explain_tensor(t, buffer, size);
  if (dlt_validate_tensor(t, &managed->version, managed->flags, &finding, 1) != 0)
    return dlt_format_finding(&finding, t, buffer, size);
  dlt_rules(&count);
  return dlt_measure_tensor(t, managed->flags, &extent) == 0 ? count : 0;
}
