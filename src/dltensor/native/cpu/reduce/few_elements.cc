// SPDX-License-Identifier: Apache-2.0
// Results of few elements, a strip of them at once: sums, means, products, extremes and variances, without states in memory.
#include <string.h>

#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/reduce/round_states.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

constexpr int64_t most_elements = 64, most_of_rows = 256, most_in_place = 2048, most_wide = 512, most_of_dots = 128;

bool is_mean(const ReducePass& pass) { return pass.end == End::mean; }
bool is_product(const ReducePass& pass) {
  return pass.body == reduce_products && pass.end == End::plain && (pass.type == type_float32 || pass.type == type_float64);
}
bool is_extreme(const ReducePass& pass) { return pass.reducer->columns != nullptr && pass.end == End::plain && !pass.turns; }
bool is_exact_sum(const ReducePass& pass) { return (pass.end == End::sum || is_mean(pass)) && pass.type != type_complex128; }
// Variances and deviations of floats of up to 32 bits.
bool is_variance(const ReducePass& pass) {
  return pass.end == End::moments && pass.type == type_float32 && pass.reducer->parts == 1 && pass.result != type_float64 &&
         pass.counts == nullptr && double(pass.reduced_count) > pass.correction;
}
bool is_wide_variance(const ReducePass& pass) {
  return pass.end == End::deviations && pass.type == type_float64 && pass.result == type_float64 && pass.undecided != nullptr &&
         double(pass.reduced_count) > pass.correction;
}
// Where elements lie as the loops want them, `rows` apart.
bool in_place(const ReducePass& pass, const Place& step) { return step.in == pass.in_width && pass.pipeline.count == 0; }

// Rows of float32 whose elements follow one another.
bool sums_in_place(const ReducePass& pass) {
  return is_exact_sum(pass) && pass.type == type_float32 && pass.turns && pass.pipeline.count == 0 &&
         pass.reduced[0].size >= least_each;
}

// The results from c on.
ResultRun run_from(const ResultRun& where, int64_t c) {
  return {where.at + c * where.step, where.index + c * where.index_step, where.step, where.index_step};
}

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

double initial_of(const ReducePass& pass) {
  double initial = 0;
  if (pass.initial_type == type_float64) memcpy(&initial, pass.initial, sizeof initial);
  return initial;
}

// A strip of results, the dtype of which is R.
template <class R>
struct Strip {
  const ReducePass& pass;
  const ResultRun& where;  // of the first one
  Stage* stage;
  R* out;

  // The exact state of the elements of result c.
  void state_of(int64_t c, void* state) const {
    pass.reducer->start(state, 1, 1);
    struct Taken {
      const Reducer* reducer;
      void* state;
    } taken{pass.reducer, state};
    const auto take = [](void* context, const void* run, int64_t n, int64_t first) {
      const auto& to = *static_cast<const Taken*>(context);
      to.reducer->run(to.state, run, n, first, nullptr);
    };
    each_run(pass, where.at + c * where.step, 0, pass.reduced_count, pass.identity, stage, take, &taken);
  }

  // Rounds result c by that state; false where it leaves two values.
  bool round_again(int64_t c) const {
    alignas(16) char state[36 * 16];
    state_of(c, state);
    if (pass.initial_type >= 0)
      pass.kernels->reduce->reducers[pass.body][pass.initial_type].run(state, pass.initial, 1, 0, nullptr);
    const auto* const w = reinterpret_cast<const double*>(state);
    const State sum{w[exact_sums::high], w[exact_sums::low], w[exact_sums::bound]};
    return is_mean(pass) ? round_mean(sum, double(pass.reduced_count), out + c) : round_state(sum, out + c);
  }
  void end_again(int64_t c) const {
    alignas(16) char state[36 * 16];
    state_of(c, state);
    end_results(pass, state, 1, 1, run_from(where, c), stage, out + c);
  }

  // Rounds n sums of float64 that are off by `error` at most.
  bool round_near(const double* sums, int64_t n, double error) const {
    const double each = is_mean(pass) ? 1 / double(pass.reduced_count) : 1, initial = initial_of(pass);
    const double rounding = each == 1 && initial == 0 ? 0 : 0x1p-51;
    for (int64_t c = 0; c < n; ++c) {
      const double value = (sums[c] + initial) * each, margin = error * each + magnitude_of(value) * rounding;
      out[c] = from<R>(value + margin);
      if (!same_bits(out[c], from<R>(value - margin)) && !round_again(c)) return false;
    }
    return true;
  }

  // Rounds variances, or their roots, of n sums of squared deviations. Of two elements some are exact, and in the middle of two floats.
  void round_variances(const double* sums, int64_t n) const {
    const double count = double(pass.reduced_count), margin = (count + 16) * 0x1p-52;
    const double divisor = count - pass.correction;
    if constexpr (is_same<R, float>::value)
      if (kernels().reduce->few.round_variances(out, sums, n, divisor, pass.root, margin)) return;
    for (int64_t c = 0; c < n; ++c) {
      const double variance = sums[c] / divisor, value = pass.root ? __builtin_sqrt(variance) : variance;
      out[c] = from<R>(value * (1 + margin));
      if (!(value < 0x1p900) || !same_bits(out[c], from<R>(value * (1 - margin)))) end_again(c);
    }
  }

  bool round(const double* sums, int64_t n, double error) const {
    if (error == 0 && pass.initial_type < 0) return round_plain(sums, n, is_mean(pass) ? pass.reduced_count : 1, out);
    return pass.reducer->parts == 1 && error < 0x1p900 && round_near(sums, n, error);
  }
};

// Rounds n sums that are off by `error` at most; false where it cannot tell one.
bool end_plain(const ReducePass& pass, const ResultRun& where, const double* sums, int64_t n, double error, Stage* stage,
               char* results) {
  switch (pass.result) {
    case type_float16: return Strip<float16>{pass, where, stage, reinterpret_cast<float16*>(results)}.round(sums, n, error);
    case type_bfloat16: return Strip<bfloat16>{pass, where, stage, reinterpret_cast<bfloat16*>(results)}.round(sums, n, error);
    case type_float32:
    case type_complex64: return Strip<float>{pass, where, stage, reinterpret_cast<float*>(results)}.round(sums, n, error);
    default:
      return error == 0 && round_plain(sums, n, is_mean(pass) ? pass.reduced_count : 1, reinterpret_cast<double*>(results));
  }
}

// Calls of.operator()<R>() for the real dtype of a result.
template <class Of>
void each_result(int type, Of of) {
  switch (type) {
    case type_float16: return of.template operator()<float16>();
    case type_bfloat16: return of.template operator()<bfloat16>();
    default: return of.template operator()<float>();
  }
}

// The deviations of two elements: ties of many, which no bound decides.
template <class R>
void half_differences(const char* a, int64_t row_bytes, int64_t n, R* out) {
  for (int64_t c = 0; c < n; ++c) {
    float first, second;  // at any address
    memcpy(&first, a + 4 * c, sizeof first);
    memcpy(&second, a + row_bytes + 4 * c, sizeof second);
    const bool is_finite = ops::isfinite(first) && ops::isfinite(second);
    out[c] = is_finite ? half_difference_of<R>(first, second) : from<R>(not_a_number());
  }
}

// Sums or means of n columns of float64.
template <class R>
bool round_wide(const ReducePass& pass, const char* a, int64_t row_bytes, int64_t rows, int64_t n, R* out) {
  constexpr int64_t block = 64;
  const double count = is_mean(pass) ? double(pass.reduced_count) : 1;
  const auto rounded_columns = pass.kernels->reduce->few.rounded_columns[is_same<R, double>::value];
  double states[3 * block];
  for (int64_t c = 0; c < n; c += block) {
    uint64_t left = rounded_columns(out + c, states, block, a + 8 * c, row_bytes, rows, smaller(block, n - c), count);
    for (; left != 0; left &= left - 1) {
      const int k = __builtin_ctzll(left);
      const State s{states[k], states[block + k], states[2 * block + k]};
      if (!(count == 1 ? round_state(s, out + c + k) : round_mean(s, count, out + c + k))) return false;
    }
  }
  return true;
}

// Sums of products of rows that follow one another in memory: the products, and what rounding takes from them, as further rows.
bool is_dot(const ReducePass& pass) {
  return pass.factor != nullptr && pass.terms != nullptr && pass.turns && pass.end == End::sum && pass.type == type_float64 &&
         (pass.result == type_float32 || pass.result == type_float64);
}
bool reduce_dots(const ReducePass& pass, const ResultRun& where, int64_t n, void* results, Stage* stage) {
  const Axis& inner = pass.reduced[0];
  const int64_t strip = smaller(n, product_count / inner.size);
  for (int64_t c = 0; c < n; c += strip) {
    const int64_t count = smaller(strip, n - c), bytes = count * inner.size * 8;
    const char* terms = turned(pass, where.at + c * where.step, inner.step, where.step, count, inner.size, stage);
    if (pass.with_rests) {
      memcpy(stage->spare[0], terms, size_t(bytes));
      memcpy(stage->spare[0] + bytes, stage->rests, size_t(bytes));
      terms = stage->spare[0];
    }
    const int64_t rows = pass.with_rests ? 2 * inner.size : inner.size;
    const bool is_known = pass.result == type_float64
                              ? round_wide(pass, terms, count * 8, rows, count, static_cast<double*>(results) + c)
                              : round_wide(pass, terms, count * 8, rows, count, static_cast<float*>(results) + c);
    if (!is_known) return false;
  }
  return true;
}

// Variances of n columns of float64; false where one is not decided.
bool round_wide_variances(const ReducePass& pass, const char* a, int64_t row_bytes, int64_t n, double* out) {
  constexpr int64_t block = 64;
  const FewKernels& few = pass.kernels->reduce->few;
  const double count = double(pass.reduced_count);
  double means[block], states[3 * block];
  for (int64_t c = 0; c < n; c += block) {
    const int64_t part = smaller(block, n - c);
    uint64_t left = few.rounded_columns[1](means, states, block, a + 8 * c, row_bytes, pass.reduced_count, part, count);
    for (; left != 0; left &= left - 1) {
      const int k = __builtin_ctzll(left);
      if (!round_mean(State{states[k], states[block + k], states[2 * block + k]}, count, means + k)) return false;
    }
    if (few.rounded_variances(out + c, means, a + 8 * c, row_bytes, pass.reduced_count, part, count - pass.correction,
                              pass.root))
      return false;
  }
  return true;
}

// Returns whether there is no initial value, or a sum of floats begins with it.
bool takes_initial(const ReducePass& pass) {
  return pass.initial_type < 0 || (pass.end == End::sum && pass.type == type_float32 && pass.reducer->parts == 1 &&
                                   pass.result != type_float64 && pass.initial_type == type_float64);
}

// The elements of a result, at most, that are few: 0 for reductions that need states.
int64_t most_rows(const ReducePass& pass) {
  const bool is_wide = pass.type == type_float64, is_sum = is_exact_sum(pass);
  if (is_product(pass)) return most_of_rows;
  if (is_extreme(pass)) return most_elements;
  if (!is_sum && !is_variance(pass) && !is_wide_variance(pass)) return 0;
  if (is_wide && pass.result != type_float64) return 0;
  if (sums_in_place(pass)) return most_in_place;
  if (is_wide) return pass.turns ? most_of_rows : most_wide;
  return pass.turns ? most_of_rows : most_elements;
}

}  // namespace

bool takes_few(const ReducePass& pass) {
  const bool has_one_axis = pass.columns && pass.mask == nullptr && pass.reduced_ndim == 1 && pass.reduced_count > 0;
  if (!has_one_axis || pass.centers != nullptr) return false;
  if (is_dot(pass)) return pass.initial_type < 0 && pass.reduced_count <= most_of_dots;
  if (pass.factor != nullptr || !takes_initial(pass) || pass.reduced_count > most_rows(pass)) return false;
  if (sums_in_place(pass)) return true;
  return pass.turns || pass.pipeline.count == 0 ||
         (pass.pipeline.count == 1 && pass.kept[pass.kept_ndim - 1].step.in == pass.in_width);
}

bool reduce_few(const ReducePass& pass, const ResultRun& where, int64_t n, void* results, Stage* stage) {
  const FewKernels& few = pass.kernels->reduce->few;
  const int parts = pass.reducer->parts;
  const Axis& inner = pass.reduced[0];
  const int64_t result_bytes = type_table[pass.result].bytes;
  char* const out = static_cast<char*>(results);
  double sums[2 * strip_columns];
  if (is_dot(pass)) return reduce_dots(pass, where, n, results, stage);
  if (sums_in_place(pass))
    return end_plain(pass, where, sums, n, few.row_sums(sums, pass.in + where.at.in, where.step.in, n, inner.size), stage, out);
  if (!in_place(pass, where.step) && !pass.turns && pass.pipeline.count != 1) return false;
  const int64_t strip = in_place(pass, where.step) ? n : smaller(n, staged_count / inner.size);
  for (int64_t c = 0; c < n; c += strip) {
    const int64_t count = smaller(strip, n - c);
    int64_t row_bytes;
    const char* const a = rows_of(pass, where.at + c * where.step, where.step, count, stage, &row_bytes);
    char* const to = out + c * result_bytes;
    if (is_product(pass)) {
      few.column_products[pass.type == type_float64](reinterpret_cast<double*>(to), a, row_bytes, inner.size, count);
    } else if (is_extreme(pass)) {
      pass.reducer->columns(to, a, row_bytes, inner.size, count);
    } else if (is_variance(pass)) {
      if (pass.root && inner.size == 2 && pass.correction == 0) {
        each_result(pass.result, [&]<class R>() { half_differences<R>(a, row_bytes, count, reinterpret_cast<R*>(to)); });
      } else {
        few.column_deviations(sums, a, row_bytes, inner.size, count);
        each_result(pass.result, [&]<class R>() {
          Strip<R>{pass, run_from(where, c), stage, reinterpret_cast<R*>(to)}.round_variances(sums, count);
        });
      }
    } else if (is_wide_variance(pass)) {
      if (!round_wide_variances(pass, a, row_bytes, count, reinterpret_cast<double*>(to))) return false;
    } else if (pass.type == type_float64) {
      if (!round_wide(pass, a, row_bytes, inner.size, count, reinterpret_cast<double*>(to))) return false;
    } else {
      const double error = few.column_sums(sums, a, row_bytes, inner.size, count * parts);
      if (!end_plain(pass, run_from(where, c), sums, count * parts, error, stage, to)) return false;
    }
  }
  return true;
}

}  // namespace dlt
