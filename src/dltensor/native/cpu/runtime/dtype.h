// SPDX-License-Identifier: Apache-2.0
// The rows of dtypes.h as numbers and as a table to read at run time. No conversion here; see scalar.h and casts.h.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/ops/dtypes.h"
#include "native/ops/floats.h"
#include "native/export.h"

namespace dlt {

#define DLT_NUMBER(name, type, code, bits, format) type_##name,
enum Type : int { DLT_DTYPES(DLT_NUMBER) type_count };
#undef DLT_NUMBER
#define DLT_COUNT(name, type, code, bits, format) +1
inline constexpr int computed_types = 0 DLT_COMPUTED_DTYPES(DLT_COUNT);  // they come first
#undef DLT_COUNT

// Ordered as promotion climbs.
enum class Kind : uint8_t { boolean, signed_integer, unsigned_integer, real, complex };

struct TypeRow {
  const char* name;
  const char* format;
  DLDataType dtype;
  Kind kind;
  bool computed;
  int bytes;  // of one element with an address of its own
};
DLT_API extern const TypeRow type_table[type_count];

// The rows by code and bits, -1 where there is none: an operation looks for the row of each operand.
struct TypesByCode {
  static constexpr int codes = 32, widest = 128;
  int8_t row[codes][widest + 1];
};
DLT_API extern const TypesByCode types_by_code;

// The row of a dtype of one lane, or -1.
inline int find_type(DLDataType dtype) noexcept {
  return dtype.lanes == 1 && dtype.code < TypesByCode::codes && dtype.bits <= TypesByCode::widest
             ? types_by_code.row[dtype.code][dtype.bits]
             : -1;
}
DLT_API int find_type_by_name(const char* name);

inline bool same_dtype(DLDataType x, DLDataType y) noexcept {
  return __builtin_bit_cast(uint32_t, x) == __builtin_bit_cast(uint32_t, y);
}
inline bool same_dims(const DLTensor& x, const DLTensor& y) noexcept {  // on the same device
  return x.ndim == y.ndim && __builtin_bit_cast(uint64_t, x.device) == __builtin_bit_cast(uint64_t, y.device);
}

// The kind of a dtype, as used in the rows of ops.h: DLT_BOOLEANS, DLT_INTEGERS ...
unsigned kind_bit_of(int type) noexcept;

// The dtype in which scale and offset are applied: float32 unless either dtype has more digits. -1 for complex dtypes.
//
int scaling_type(int from, int to) noexcept;

}  // namespace dlt
