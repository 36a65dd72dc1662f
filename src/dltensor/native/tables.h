// SPDX-License-Identifier: Apache-2.0
// The rows of dlpack.h and dtypes.h as arrays, for code that has to list them. Declares nothing of its own.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/ops/dtypes.h"

namespace dlt {

struct DeviceRow {
  const char* name;  // the standard's enumerator
  const char* text;  // as in "cuda:1"
  int32_t value;
  bool host;    // the host can read the memory
  bool handle;  // data is a handle; byte_offset must not be added to it
};
inline constexpr DeviceRow device_rows[] = {
#define X(name, value, text, host, handle) {#name, text, value, host != 0, handle != 0},
    DLT_DEVICE_TYPES(X)
#undef X
};

struct NumberRow {
  const char* name;
  uint64_t value;
};
inline constexpr NumberRow code_rows[] = {
#define X(name, value) {#name, value},
    DLT_DATA_TYPE_CODES(X)
#undef X
};
inline constexpr NumberRow flag_rows[] = {
#define X(name, value) {#name, value},
    DLT_FLAGS(X)
#undef X
};

struct DTypeRow {
  const char* name;
  const char* format;  // of the buffer protocol; "" where it has none
  uint8_t code;
  uint8_t bits;
  bool computed;
};
inline constexpr DTypeRow dtype_rows[] = {
#define X(name, type, code, bits, format) {#name, format, code, bits, true},
    DLT_COMPUTED_DTYPES(X)
#undef X
#define X(name, type, code, bits, format) {#name, format, code, bits, false},
        DLT_STORAGE_DTYPES(X)
#undef X
};

template <class Row, int n>
constexpr int count(const Row (&)[n]) {
  return n;
}

// One bit per device type number: cheaper at import than a search.
constexpr uint32_t device_set(bool DeviceRow::* property) {
  uint32_t set = 0;
  for (const DeviceRow& row : device_rows)
    if (row.*property) set |= 1u << row.value;
  return set;
}
inline bool is_host(int32_t device_type) {
  constexpr uint32_t set = device_set(&DeviceRow::host);
  return device_type > 0 && device_type < 32 && (set >> device_type & 1);
}
inline bool is_handle(int32_t device_type) {
  constexpr uint32_t set = device_set(&DeviceRow::handle);
  return device_type > 0 && device_type < 32 && (set >> device_type & 1);
}

}  // namespace dlt
