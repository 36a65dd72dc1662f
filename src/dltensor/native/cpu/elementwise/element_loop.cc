// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/elementwise/element_loop.h"

#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/ops/elementary/rows.h"
#include "native/ops/elementwise/bodies.h"

namespace dlt {
namespace {

// An operation by a function of ops/elementary.
bool is_elementary(int op) {
  switch (op) {
#define DLT_CASE(name, operands) case op_##name:
    DLT_ELEMENTARY_OPS(DLT_CASE)
#undef DLT_CASE
    return true;
    default: return false;
  }
}

bool is_heavy(int op) { return is_elementary(op) || op == op_floor_divide || op == op_remainder; }

// float16 and bfloat16 without a loop of their own are computed in float32, or in float64 where float32 would round twice: functions
// of float16 are correctly rounded by that.
int computed_in(int op, int type, unsigned flags) {
  if (type != type_float16 && type != type_bfloat16) return type;
  if (!(flags & run_saturate) && find_loop(op, type) != nullptr) return type;
  return op == op_fma || (type == type_float16 && is_elementary(op)) ? type_float64 : type_float32;
}

// The widest dtype of a kind, which those without a dtype in common are compared as.
int widest_type(int type) {
  switch (type_table[type].kind) {
    case Kind::signed_integer: return type_int64;
    case Kind::real: return type_float64;
    case Kind::complex: return type_complex128;
    default: return type_uint64;
  }
}

// The loop that compares two dtypes by value, null where there is none; or with `swapped` that of the operands swapped.
loop_t find_unlike(int op, int a, int b, bool* swapped) {
  constexpr int pairs[unlike_count][2] = {
#define DLT_PAIR(a, b) {type_##a, type_##b},
      DLT_UNLIKE(DLT_PAIR)
#undef DLT_PAIR
  };
  for (int k = 0; k < unlike_count; ++k) {
    *swapped = a == pairs[k][1] && b == pairs[k][0];
    const int comparison = comparison_of(*swapped ? mirrored_comparison(op) : op);
    if (*swapped || (a == pairs[k][0] && b == pairs[k][1]))
      return comparison < 0 ? nullptr : kernels().elementwise->unlike[comparison][k];
  }
  return nullptr;
}

// Rounded to odd on the way, so that the cast to 16 bits rounds once.
void odd_fma(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const auto at = [](const void* from, int64_t i) { return static_cast<const double*>(from)[i]; };
  const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1, sc = ~scalars >> 2 & 1;
  for (int64_t i = 0; i < n; ++i) {
    const double product = at(a, i * sa) * at(b, i * sb), addend = at(c, i * sc), sum = product + addend;
    const double odd = odd_sum(exact_sum(product, addend));
    static_cast<double*>(out)[i] = ops::isfinite(sum) ? odd : sum;
  }
}

Status add_operand(int k, int from, int type, int mode, ElementLoop* found) {
  return find_pipeline(*kernels().copy, from, type, mode, &found->in[k]) ? success : undefined_for(from);
}

// The loop writes `type`, which is then cast to `to`.
Status finish_loop(int type, int to, int mode, ElementLoop* found) {
  found->loop_type = type;
  // Comparisons write 0 and 1, which a uint8 takes as they are.
  if (type == type_bool && to == type_uint8) return success;
  return find_pipeline(*kernels().copy, type, to, mode, &found->out) ? success : undefined_for(to);
}

Status find_comparison(int op, const int* from, int to, ElementLoop* found) {
  if (from[0] < 0 || from[1] < 0 || from[0] >= computed_types || from[1] >= computed_types) return undefined_for(-1);
  const int types[2] = {widest_type(from[0]), widest_type(from[1])};
  found->loop = find_unlike(op, types[0], types[1], &found->swapped);
  if (found->loop == nullptr) return undefined_for(types[kind_bit_of(types[0]) != DLT_COMPLEXES]);
  found->weight = 1;
  for (int k = 0; k < 2; ++k) DLT_TRY(add_operand(k, from[k ^ int(found->swapped)], types[k ^ int(found->swapped)], 0, found));
  return finish_loop(type_bool, to, 0, found);
}

}  // namespace

Status find_element_loop(int op, unsigned flags, int type, const int* from, int to, ElementLoop* found) noexcept {
  if (type == -1 && comparison_of(op) >= 0) return find_comparison(op, from, to, found);
  if (type < 0 || type >= computed_types) return undefined_for(type, flags);
  const int inner = computed_in(op, type, flags);
  loop_t loop = flags & run_saturate ? find_saturating_loop(op, inner) : find_loop(op, inner);
  int types[3] = {inner, inner, inner};
  const int factor = (flags & run_saturate) && op == op_fma ? from[1] : -1;
  if (factor >= 0 && type_table[type].kind == Kind::unsigned_integer && type_table[factor].kind == Kind::signed_integer) {
    loop = kernels().elementwise->fma_unsigned[type];
    types[0] = types[1] = find_type({kDLInt, type_table[type].dtype.bits, 1});
  }
  if (loop == nullptr) return undefined_for(type, flags);
  found->loop = inner == type || op != op_fma ? loop : odd_fma;
  found->weight = is_heavy(op) ? 8 : op == op_sqrt || type == type_float16 || type == type_bfloat16 ? 3 : 1;
  const int mode = flags & run_saturate ? cast_saturate : 0;
  for (int k = 0; k < op_table[op].operands; ++k) DLT_TRY(add_operand(k, from[k], types[k], mode, found));
  // A 16-bit float result is rounded to 16 bits before any further conversion.
  const int result = result_type(op, inner), rounded = result_type(op, type);
  if (result == rounded || to == rounded) return finish_loop(result, to, mode, found);
  found->loop_type = result;
  return find_pipeline_through(*kernels().copy, result, rounded, to, mode, &found->out) ? success : undefined_for(type, flags);
}

Status find_cast(const CastOptions& options, int from, int to, ElementLoop* found) noexcept {
  const int mode = (options.rounding == Rounding::nearest ? cast_nearest : 0) | (options.saturate ? cast_saturate : 0);
  found->loop_type = to;
  found->weight = 1;
  return add_operand(0, from, to, mode, found);
}

}  // namespace dlt
