// SPDX-License-Identifier: Apache-2.0
// dlpack.h alone, in C and in C++. Compiled by test_headers.py.
#include "dltensor/dlpack.h"

int use(const DLManagedTensorVersioned* managed);
int use(const DLManagedTensorVersioned* managed) {
  const DLTensor* t = &managed->dl_tensor;
  if (managed->version.major != DLPACK_MAJOR_VERSION) return -1;
  if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && t->device.device_type == kDLCPU) return 1;
  return t->dtype.code == kDLFloat8_e4m3fn;
}
