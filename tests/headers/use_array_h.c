// SPDX-License-Identifier: Apache-2.0
// array.h alone, with its own names and with those of metatensor, in C and in C++. Compiled by test_headers.py.
#include "dltensor/array.h"

dlt_status_t use(dlt_array_t array, DLDevice* device);
dlt_status_t use(dlt_array_t array, DLDevice* device) {
  dlt_array_t view = dlt_array_view(array);
  dlt_status_t status = view.device(view.ptr, device);
  return status == DLT_SUCCESS ? dlt_array_check(&array, NULL) : status;
}

#ifdef DLT_ARRAY_MTS_NAMES
mts_status_t use_other_names(struct mts_array_t array, mts_data_origin_t* origin);
mts_status_t use_other_names(struct mts_array_t array, mts_data_origin_t* origin) {
  if (array.origin(array.ptr, origin) != MTS_SUCCESS) return MTS_CALLBACK_ERROR;
  return mts_register_data_origin("x", origin);
}
#endif
