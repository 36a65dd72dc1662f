// SPDX-License-Identifier: Apache-2.0
// Text for shapes, dtypes and devices, and which of them DLPack 1.3 defines; from the rows of dlpack.h and dtypes.h.
#include "native/opaque/detailed_status.h"

#include "native/tables.h"

namespace dlt::opaque {

void append(std::string& text, std::string_view part) { text += part; }
void append_number(std::string& text, long long number) { text += std::to_string(number); }
void append_number(std::string& text, unsigned long long number) { text += std::to_string(number); }

void append(std::string& text, DLDevice device) {
  int32_t type = device.device_type;
  std::string name = concat("device type ", type);
  for (const DeviceRow& one : device_rows)
    if (one.value == type) name = one.text;
  text += concat(std::string_view(name), ":", device.device_id);
}

void append(std::string& text, DLDataType dtype) {
  for (const DTypeRow& one : dtype_rows)
    if (one.code == dtype.code && one.bits == dtype.bits) {
      text += one.name;
      if (dtype.lanes != 1) text += concat("x", dtype.lanes);
      return;
    }
  text += concat("dtype code ", dtype.code, " of ", dtype.bits, " bits and ", dtype.lanes, " lanes");
}

void append(std::string& text, Dims dims) {
  text += "(";
  for (int32_t i = 0; i < dims.count; ++i) text += concat(i ? ", " : "", dims.values[i]);
  text += dims.count == 1 ? ",)" : ")";
}

// The rows go on after 1.3 (19 and up, code 18); other libraries hold these values in closed enums.
bool is_known(DLDeviceType type) noexcept {
  if (static_cast<int32_t>(type) > kDLTrn) return false;
  for (const DeviceRow& one : device_rows)
    if (one.value == type) return true;
  return false;
}

bool is_known(DLDataType dtype) noexcept { return dtype.code <= kDLFloat4_e2m1fn && dtype.bits > 0 && dtype.lanes > 0; }

}  // namespace dlt::opaque
