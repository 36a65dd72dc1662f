// SPDX-License-Identifier: Apache-2.0
// The loops over bool and integers.
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {

void fill_integers(Kernels* kernels) {
  fill_column<bool>(kernels, type_bool);
  fill_column<int8_t>(kernels, type_int8);
  fill_column<int16_t>(kernels, type_int16);
  fill_column<int32_t>(kernels, type_int32);
  fill_column<int64_t>(kernels, type_int64);
  fill_column<uint8_t>(kernels, type_uint8);
  fill_column<uint16_t>(kernels, type_uint16);
  fill_column<uint32_t>(kernels, type_uint32);
  fill_column<uint64_t>(kernels, type_uint64);
}

}  // namespace dlt::DLT_LEVEL
