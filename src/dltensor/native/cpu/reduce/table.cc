// SPDX-License-Identifier: Apache-2.0
// The rows of native/ops/reduce/rows.h as a table, and what a row is for a dtype: result, body and end. For every engine.
#include "native/cpu/reduce/reduce.h"
#include "native/cpu/reduce/reduce_pass.h"

namespace dlt {

#define DLT_ROW(name, body, kinds, result, empty, takes, text, doc) \
  {#name, reduce_##body, kinds, #result, empty, takes, text, doc},
const ReductionRow reduction_table[reduction_count] = {DLT_REDUCTIONS(DLT_ROW)};
#undef DLT_ROW

namespace {

bool is_short_float(int type) { return type == type_float16 || type == type_bfloat16; }

int real_type(int type) {
  switch (type_table[type].kind) {
    case Kind::complex: return type == type_complex64 ? type_float32 : type_float64;
    case Kind::real: return type;
    default: return type_table[type].bytes >= 4 ? int(type_float64) : int(type_float32);
  }
}

}  // namespace

ReductionChoice choose_reduction(int reduction, int type, bool saturate) {
  const Kind kind = type_table[type].kind;
  const bool is_real = kind == Kind::real || kind == Kind::complex;
  const int plain = is_short_float(type) ? int(type_float32) : type;
  const int body = reduction_table[reduction].body;
  if (body == reduce_sums) {
    if (is_real) return {body, plain, reduction == reduction_mean ? End::mean : End::sum};
    if (reduction == reduction_mean) return {reduce_wide_sums, type, End::wide_mean};
    return saturate ? ReductionChoice{reduce_wide_sums, type, End::wide_sum} : ReductionChoice{body, type, End::plain};
  }
  if (body == reduce_products && saturate && !is_real) return {reduce_saturated_products, type, End::plain};
  if (body == reduce_moments) {
    if (!is_real) {
      return type_table[type].bytes >= 4 ? ReductionChoice{reduce_wide_moments, type, End::wide_moments}
                                         : ReductionChoice{reduce_moments, type_float32, End::moments};
    }
    if (type == type_float64 || type == type_complex128) return {reduce_deviations, type, End::deviations};
    return {reduce_moments, plain, End::moments};
  }
  return {body, plain, End::plain};
}

int reduction_result(int reduction, int type, bool keep) {
  if (reduction < 0 || reduction >= reduction_count || type < 0 || type >= computed_types) return -1;
  const ReductionRow& row = reduction_table[reduction];
  if (!(row.kinds & kind_bit_of(type))) return -1;
  switch (row.result[0]) {
    case 'w':
      if (keep) return type;
      return type_table[type].kind == Kind::unsigned_integer ? int(type_uint64)
             : kind_bit_of(type) < DLT_FLOATS                ? int(type_int64)
                                                             : type;
    case 'r': return type_table[type].kind == Kind::complex ? type : real_type(type);
    case 'p': return real_type(type);
    case 'm': return type_bool;
    case 'i': return type_int64;
    default: return type;
  }
}

}  // namespace dlt
