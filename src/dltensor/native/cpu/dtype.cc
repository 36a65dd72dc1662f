// SPDX-License-Identifier: Apache-2.0
// The table of element types, filled from dtypes.h, and the search in it.
#include "native/cpu/dtype.h"

#include <string.h>

#include "native/ops/ops.h"

namespace dlt {
namespace {

// Rows by code and bits: a lookup happens several times in every operation.
struct ByDtype {
  int8_t row[32][129];
  constexpr ByDtype() : row() {
    for (auto& line : row)
      for (auto& at : line) at = -1;
#define DLT_PLACE(name, type, code, bits, format) row[code][bits] = type_##name;
    DLT_DTYPES(DLT_PLACE)
#undef DLT_PLACE
  }
};
constexpr ByDtype by_dtype;

constexpr Kind kind_of(int code) {
  return code == kDLBool                             ? Kind::boolean
         : code == kDLInt                            ? Kind::signed_integer
         : code == kDLUInt                           ? Kind::unsigned_integer
         : code == kDLComplex || code == kDLBcomplex ? Kind::complex
                                                     : Kind::real;
}
}  // namespace

#define DLT_ROW(name, type, code, bits, format) \
  {#name, format, {uint8_t(code), uint8_t(bits), 1}, kind_of(code), type_##name < computed_types, int(sizeof(type))},
const TypeRow type_table[type_count] = {DLT_DTYPES(DLT_ROW)};
#undef DLT_ROW

int find_type(DLDataType dtype) {
  return dtype.lanes == 1 && dtype.code < 32 && dtype.bits <= 128 ? by_dtype.row[dtype.code][dtype.bits] : -1;
}

int find_type_by_name(const char* name) {
  for (int i = 0; i < type_count; ++i)
    if (strcmp(type_table[i].name, name) == 0) return i;
  return -1;
}

unsigned kind_bit_of(int type) noexcept {
  switch (type_table[type].kind) {
    case Kind::boolean: return DLT_BOOLEANS;
    case Kind::real: return DLT_FLOATS;
    case Kind::complex: return DLT_COMPLEXES;
    default: return DLT_INTEGERS;
  }
}

int scaling_type(int from, int to) noexcept {
  const auto wide = [](int type) { return type_table[type].bytes >= 8 || type == type_int32 || type == type_uint32; };
  if (type_table[from].kind == Kind::complex || type_table[to].kind == Kind::complex) return -1;
  return wide(from) || wide(to) ? type_float64 : type_float32;
}

}  // namespace dlt
