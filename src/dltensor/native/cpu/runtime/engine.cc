// SPDX-License-Identifier: Apache-2.0
// The tables, filled from ops.h, and promotion.
#include "native/cpu/runtime/engine.h"

#include <string.h>

#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/runtime/features.h"

namespace dlt {
namespace {

constexpr int saturating_form(const char* name) {
  int number = 0;
#define DLT_COMPARE(row, operands)                      \
  if (__builtin_strcmp(name, #row) == 0) return number; \
  ++number;
  DLT_SATURATING_OPS(DLT_COMPARE)
#undef DLT_COMPARE
  return -1;
}

int integer_of(int bits, bool is_signed) { return find_type({uint8_t(is_signed ? kDLInt : kDLUInt), uint8_t(bits), 1}); }

// Two integers: the wider when both have or lack a sign, else the signed one that holds both.
int promote_integers(int a, int b) {
  const int bits_a = type_table[a].dtype.bits, bits_b = type_table[b].dtype.bits;
  const bool signed_a = type_table[a].kind == Kind::signed_integer, signed_b = type_table[b].kind == Kind::signed_integer;
  if (signed_a == signed_b) return bits_a >= bits_b ? a : b;
  const int unsigned_bits = signed_a ? bits_b : bits_a, signed_bits = signed_a ? bits_a : bits_b;
  return integer_of(signed_bits > unsigned_bits ? signed_bits : unsigned_bits * 2, true);
}

int promote_floats(int a, int b) {
  const bool complex = type_table[a].kind == Kind::complex || type_table[b].kind == Kind::complex;
  if (complex) {
    const bool wide = a == type_complex128 || b == type_complex128 || a == type_float64 || b == type_float64;
    return wide ? type_complex128 : type_complex64;
  }
  if (a == type_float64 || b == type_float64) return type_float64;
  return type_float32;  // float32 with anything, and float16 with bfloat16: neither holds the other
}

}  // namespace

#define DLT_ROW(name, operands, kinds, result, symbol, text, doc) \
  {#name, operands, kinds, ResultDType::result, #result, symbol, text, doc, saturating_form(#name)},
const OpRow op_table[] = {DLT_OPS(DLT_ROW)};
#undef DLT_ROW
const int op_table_size = op_count;

#define DLT_ROW(name, op, swapped) {#name, op_##op, swapped != 0},
const AliasRow alias_table[] = {DLT_ALIASES(DLT_ROW)};
#undef DLT_ROW
const int alias_count = int(sizeof alias_table / sizeof *alias_table);

int find_op(const char* name, bool* swapped) {
  if (swapped != nullptr) *swapped = false;
  for (int i = 0; i < op_count; ++i)
    if (strcmp(op_table[i].name, name) == 0) return i;
  for (int i = 0; i < alias_count; ++i) {
    if (strcmp(alias_table[i].name, name) != 0) continue;
    if (swapped != nullptr) *swapped = alias_table[i].swapped;
    return alias_table[i].op;
  }
  return -1;
}

int promote(int a, int b) {
  if (a < 0 || b < 0 || a >= type_count || b >= type_count) return -1;
  if (a == b) return a;
  if (a >= computed_types || b >= computed_types) return -1;
  const unsigned kind_a = kind_bit_of(a), kind_b = kind_bit_of(b);
  if ((kind_a | kind_b) >= DLT_FLOATS) {
    if (kind_a < DLT_FLOATS) return b;
    if (kind_b < DLT_FLOATS) return a;
    return promote_floats(a, b);
  }
  if (kind_a == DLT_BOOLEANS) return b;
  if (kind_b == DLT_BOOLEANS) return a;
  return promote_integers(a, b);
}

int comparison_type(int a, int b) {
  const int type = promote(a, b);
  const auto is_whole = [](int t) { return kind_bit_of(t) < DLT_FLOATS; };
  if (type < 0 || is_whole(a) == is_whole(b)) return type;
  const int bits = type_table[is_whole(a) ? a : b].dtype.bits;
  if (bits == 64) return -1;
  if (bits == 32) return kind_bit_of(type) == DLT_COMPLEXES ? type_complex128 : type_float64;
  return type == type_float16 || type == type_bfloat16 ? type_float32 : type;
}

int compute_type(int op, int type) {
  if (op < 0 || op >= op_count || type < 0 || type >= computed_types) return -1;
  const unsigned kinds = op_table[op].kinds, kind = kind_bit_of(type);
  if (kinds & kind) return type;
  const bool of_floats = (kinds & DLT_FLOATS) && !(kinds & DLT_INTEGERS);
  return of_floats && kind < DLT_FLOATS ? type_float32 : -1;
}

loop_t find_loop(int op, int type) noexcept {
  return op >= 0 && op < op_count && type >= 0 && type < computed_types ? kernels().elementwise->ops[op][type] : nullptr;
}

loop_t find_saturating_loop(int op, int type) noexcept {
  if (op < 0 || op >= op_count || type < 0 || type >= computed_types) return nullptr;
  const int form = op_table[op].saturating;
  return form >= 0 ? kernels().elementwise->saturating[form][type] : nullptr;
}

namespace {

Scalar integer_scalar(int type, double value) {
  Scalar s{};
  s.kind = type_table[type].kind == Kind::signed_integer ? Kind::signed_integer : Kind::unsigned_integer;
  s.i = s.kind == Kind::signed_integer ? int64_t(value) : 0;
  s.u = s.kind == Kind::signed_integer ? 0 : uint64_t(value);
  return s;
}

Scalar bound_of(int type, bool highest) {
  Scalar s{};
  const int bits = type_table[type].dtype.bits;
  if (type_table[type].kind == Kind::signed_integer) {
    s.kind = Kind::signed_integer;
    s.i = highest ? int64_t((uint64_t(1) << (bits - 1)) - 1) : -int64_t((uint64_t(1) << (bits - 1)) - 1) - 1;
  } else {
    s.kind = Kind::unsigned_integer;
    s.u = !highest ? 0 : type == type_bool ? 1 : ~uint64_t(0) >> (64 - bits);
  }
  return s;
}

}  // namespace

int mirrored_comparison(int op) noexcept {
  switch (op) {
    case op_less: return op_greater;
    case op_less_equal: return op_greater_equal;
    case op_greater: return op_less;
    case op_greater_equal: return op_less_equal;
    default: return op;
  }
}

namespace {

// Compares floats and complex numbers by the nearest element: none is between it and the scalar.
ExactComparison compare_by_nearest(int op, int type, const Scalar& scalar, int rest) {
  const bool below = op == op_less || op == op_less_equal, above = op == op_greater || op == op_greater_equal;
  const int part = result_type(op_real, type);
  char element[16];
  Scalar nearest{};
  store_scalar(element, 0, type_table[part].dtype, true, scalar, Rounding::truncate, false);
  load_scalar(element, 0, type_table[part].dtype, true, &nearest);
  const bool within = scalar.kind == Kind::real && rest == 0 && nearest.re - nearest.re == 0;
  const int order = scalar.kind == Kind::complex || within ? 0 : compare_scalars(scalar, nearest);
  const int side = order == 0 ? rest : order;
  if (side == 0 || side == 2) return {-1, op, scalar};
  if (below) return {-1, side < 0 ? op_less : op_less_equal, nearest};
  if (above) return {-1, side < 0 ? op_greater_equal : op_greater, nearest};
  return {op == op_not_equal, op, scalar};
}

}  // namespace

ExactComparison exact_comparison(int op, int type, const Scalar& scalar, int rest) {
  if (kind_bit_of(type) >= DLT_FLOATS) return compare_by_nearest(op, type, scalar, rest);
  const bool below = op == op_less || op == op_less_equal, above = op == op_greater || op == op_greater_equal;
  const bool unequal = op == op_not_equal;
  Scalar value = scalar;
  if (value.kind == Kind::complex) {
    if (value.im != 0 || value.im != value.im) return {unequal, op, scalar};
    value.kind = Kind::real;
  }
  const auto order_to = [&](const Scalar& bound) {
    const int order = compare_scalars(value, bound);
    return order == 0 ? rest : order;
  };
  const int to_low = order_to(bound_of(type, false)), to_high = order_to(bound_of(type, true));
  if (to_low == 2) return {unequal, op, scalar};         // NaN
  if (to_low < 0) return {above || unequal, op, scalar};  // every element is greater
  if (to_high > 0) return {below || unequal, op, scalar};
  if (value.kind != Kind::real) return {-1, op, value};
  const double down = __builtin_floor(value.re);
  if (down == value.re) return {-1, op, integer_scalar(type, down)};
  // Between two integers: x < 2.5 is x <= 2, and nothing equals it.
  if (!below && !above) return {unequal, op, scalar};
  return {-1, below ? op_less_equal : op_greater, integer_scalar(type, down)};
}

}  // namespace dlt
