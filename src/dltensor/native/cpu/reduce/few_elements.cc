// SPDX-License-Identifier: Apache-2.0
// Results of few elements: sums, means and products of a strip of them at once, of whose elements no state is kept in memory.
#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/reduce/round_states.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

constexpr int64_t most_elements = 64, most_of_rows = 256;

bool is_mean(const ReducePass& pass) { return pass.end == End::mean; }
bool is_product(const ReducePass& pass) {
  return pass.body == reduce_products && pass.end == End::plain && (pass.type == type_float32 || pass.type == type_float64);
}
bool is_exact_sum(const ReducePass& pass) { return (pass.end == End::sum || is_mean(pass)) && pass.type != type_complex128; }
// Where elements lie as the loops want them, `rows` apart.
bool in_place(const ReducePass& pass, const Place& step) { return step.in == pass.in_width && pass.pipeline.count == 0; }

// Elements of n results, in rows that are `*row_bytes` apart.
const char* rows_of(const ReducePass& pass, const Place& from, const Place& step, int64_t n, Stage* stage, int64_t* row_bytes) {
  const Axis& inner = pass.reduced[0];
  if (in_place(pass, step)) {
    *row_bytes = inner.step.in;
    return pass.in + from.in;
  }
  *row_bytes = n * pass.width;
  if (pass.turns) return turned(pass, from, inner.step, step, n, inner.size, stage);
  for (int64_t r = 0; r < inner.size; ++r)
    pass.pipeline.loops[0](stage->moved + r * *row_bytes, pass.in + from.in + r * inner.step.in, nullptr, nullptr, n, 0);
  return stage->moved;
}

template <class R>
bool round_plain(const double* sums, int64_t n, int64_t count, R* out) {
  const double each = 1 / double(count);
  if ((count & (count - 1)) == 0) {  // the quotients are exact
    for (int64_t c = 0; c < n; ++c) out[c] = from<R>(sums[c] * each + 0.0);
    return true;
  }
  if constexpr (is_same<R, float>::value)
    if (kernels().reduce->few.round_means(out, sums, n, double(count))) return true;
  for (int64_t c = 0; c < n; ++c) {
    const double mean = sums[c] * each, margin = magnitude_of(mean) * 0x1p-51;
    out[c] = from<R>(mean + margin + 0.0);
    if (!same_bits(out[c], from<R>(mean - margin + 0.0)) && !round_mean(State{sums[c], 0, 0}, double(count), out + c))
      return false;
  }
  return true;
}

// Rounds n sums that are exact in float64.
bool end_plain(const ReducePass& pass, const double* sums, int64_t n, char* results) {
  const int64_t count = is_mean(pass) ? pass.reduced_count : 1;
  switch (pass.result) {
    case type_float16: return round_plain(sums, n, count, reinterpret_cast<float16*>(results));
    case type_bfloat16: return round_plain(sums, n, count, reinterpret_cast<bfloat16*>(results));
    case type_float32:
    case type_complex64: return round_plain(sums, n, count, reinterpret_cast<float*>(results));
    default: return round_plain(sums, n, count, reinterpret_cast<double*>(results));
  }
}

// Sums or means of n columns of float64.
bool round_wide(const ReducePass& pass, const char* a, int64_t row_bytes, int64_t n, double* out) {
  constexpr int64_t block = 64;
  const double count = is_mean(pass) ? double(pass.reduced_count) : 1;
  double states[3 * block];
  for (int64_t c = 0; c < n; c += block) {
    uint64_t left = pass.kernels->reduce->few.rounded_columns(out + c, states, block, a + 8 * c, row_bytes,
                                                              pass.reduced[0].size, smaller(block, n - c), count);
    for (; left != 0; left &= left - 1) {
      const int k = __builtin_ctzll(left);
      const State s{states[k], states[block + k], states[2 * block + k]};
      if (!(count == 1 ? round_state(s, out + c + k) : round_mean(s, count, out + c + k))) return false;
    }
  }
  return true;
}

}  // namespace

bool takes_few(const ReducePass& pass) {
  if (!pass.columns || pass.mask != nullptr || pass.factor != nullptr || pass.centers != nullptr || pass.initial_type >= 0 ||
      pass.reduced_ndim != 1 || pass.reduced_count == 0 || !(is_product(pass) || is_exact_sum(pass)))
    return false;
  const bool is_wide = pass.type == type_float64;
  if (is_wide && !is_product(pass) && pass.result != type_float64) return false;
  const int64_t most = is_product(pass) || (pass.turns && !is_wide) ? most_of_rows : most_elements;
  return pass.reduced_count <= most && (pass.turns || pass.pipeline.count == 0 ||
                                        (pass.pipeline.count == 1 && pass.kept[pass.kept_ndim - 1].step.in == pass.in_width));
}

bool reduce_few(const ReducePass& pass, const ResultRun& where, int64_t n, void* results, Stage* stage) {
  const FewKernels& few = pass.kernels->reduce->few;
  const int parts = pass.reducer->parts;
  const Axis& inner = pass.reduced[0];
  const int64_t result_bytes = type_table[pass.result].bytes;
  char* const out = static_cast<char*>(results);
  double sums[2 * strip_columns];
  if (is_exact_sum(pass) && pass.type == type_float32 && pass.turns && pass.pipeline.count == 0 && inner.size >= least_each)
    return few.row_sums(sums, pass.in + where.at.in, where.step.in, n, inner.size) && end_plain(pass, sums, n, out);
  if (!in_place(pass, where.step) && !pass.turns && pass.pipeline.count != 1) return false;
  const int64_t strip = in_place(pass, where.step) ? n : smaller(n, staged_count / inner.size);
  for (int64_t c = 0; c < n; c += strip) {
    const int64_t count = smaller(strip, n - c);
    int64_t row_bytes;
    const char* const a = rows_of(pass, where.at + c * where.step, where.step, count, stage, &row_bytes);
    char* const to = out + c * result_bytes;
    if (is_product(pass)) {
      few.column_products[pass.type == type_float64](reinterpret_cast<double*>(to), a, row_bytes, inner.size, count);
    } else if (pass.type == type_float64) {
      if (!round_wide(pass, a, row_bytes, count, reinterpret_cast<double*>(to))) return false;
    } else {
      if (!few.column_sums(sums, a, row_bytes, inner.size, count * parts) || !end_plain(pass, sums, count * parts, to))
        return false;
    }
  }
  return true;
}

}  // namespace dlt
