// SPDX-License-Identifier: Apache-2.0
// The table of element types, filled from dtypes.h, and the search in it.
#include "native/cpu/runtime/dtype.h"

#include <string.h>

#include "native/cpu/runtime/default_dtype.h"
#include "native/ops/kinds.h"

namespace dlt {
namespace {

constexpr TypesByCode rows_by_code() {
  TypesByCode result{};
  for (auto& line : result.row)
    for (auto& row : line) row = -1;
#define DLT_PLACE(name, type, code, bits, format) result.row[code][bits] = type_##name;
  DLT_DTYPES(DLT_PLACE)
#undef DLT_PLACE
  return result;
}

constexpr Kind kind_of(int code) {
  return code == kDLBool                             ? Kind::boolean
         : code == kDLInt                            ? Kind::signed_integer
         : code == kDLUInt                           ? Kind::unsigned_integer
         : code == kDLComplex || code == kDLBcomplex ? Kind::complex
                                                     : Kind::real;
}
}  // namespace

constinit const TypesByCode types_by_code = rows_by_code();

#define DLT_ROW(name, type, code, bits, format) \
  {#name, format, {uint8_t(code), uint8_t(bits), 1}, kind_of(code), type_##name < computed_types, int(sizeof(type))},
const TypeRow type_table[type_count] = {DLT_DTYPES(DLT_ROW)};
#undef DLT_ROW

constinit DefaultReal default_real{type_float32, 0};

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
