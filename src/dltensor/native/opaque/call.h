// SPDX-License-Identifier: Apache-2.0
// Calls of foreign arrays: each result is checked before use, each failure includes the message of the library that
// set it. `host` is the library the array reports to, null when unknown: then all known ones are read.
// Never call with the GIL held: a function of the array may be waiting for it.
#pragma once
#include <string>

#include "dltensor/array.h"
#include "native/export.h"
#include "native/opaque/host.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// Properties that an array reports.
struct ArrayInfo {
  dlt_data_origin_t origin = 0;
  std::string origin_name;
  DLDevice device = {};
  DLDataType dtype = {};
  int32_t ndim = 0;
  int64_t shape[DLT_ARRAY_MAX_NDIM] = {};
};
DLT_API DetailedStatus read_info(const dlt_array_t& array, const Host* host, ArrayInfo* info);

// The tensor is validated and belongs to the caller. `function` begins the messages.
DLT_API DetailedStatus export_tensor(const char* function, const dlt_array_t& array, const Host* host, DLDevice device,
                                     const int64_t* stream, DLPackVersion max_version, DLManagedTensorVersioned** out);

// `tensor` belongs to the array's library from here on, also on failure.
DLT_API DetailedStatus call_from_dlpack(const dlt_array_t& array, const Host* host, DLManagedTensorVersioned* tensor,
                                        dlt_array_t* out);
DLT_API DetailedStatus call_reshape(const dlt_array_t& array, const Host* host, const uintptr_t* shape, uintptr_t count);
DLT_API DetailedStatus call_swap_axes(const dlt_array_t& array, const Host* host, uintptr_t axis_1, uintptr_t axis_2);
// `fill` is destroyed by the callee, or here when the callee is missing.
DLT_API DetailedStatus call_create(const dlt_array_t& array, const Host* host, const uintptr_t* shape, uintptr_t count,
                                   dlt_array_t fill, dlt_array_t* out);
DLT_API DetailedStatus call_copy(const dlt_array_t& array, const Host* host, DLDevice device, dlt_array_t* out);
DLT_API DetailedStatus call_move_data(const dlt_array_t& output, const dlt_array_t& input, const Host* host,
                                      const dlt_data_movement_t* movements, uintptr_t count);

// Destroys the array and clears the struct, so that a second call does nothing.
DLT_API void call_destroy(dlt_array_t* array) noexcept;

}  // namespace dlt::opaque
