// SPDX-License-Identifier: Apache-2.0
// Results of few elements, a strip of them at once: sums, means, products, extremes and variances, without states in memory.
#include <string.h>

#include "native/cpu/reduce/float_sums.h"
#include "native/cpu/reduce/round_states.h"
#include "native/cpu/runtime/sizes.h"
#include "native/ops/reduce/reductions.h"

namespace dlt {
namespace {

constexpr int64_t most_elements = 64, most_of_rows = 256, most_in_place = 8192, most_wide = 4096, most_of_variances = 512,
                  most_of_dots = 128, least_dot = 16, least_wide_dot = 5;

bool is_product(const ReducePass& pass) {
  return pass.body == reduce_products && pass.end == End::plain && (pass.type == type_float32 || pass.type == type_float64);
}
bool is_extreme(const ReducePass& pass) { return pass.reducer->columns != nullptr && pass.end == End::plain && !pass.turns; }
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

bool is_wide(const ReducePass& pass) { return pass.type == type_float64; }
// Sums of products in exact terms.
bool is_dot(const ReducePass& pass) {
  return pass.factor != nullptr && pass.end == End::sum && is_wide(pass) && pass.initial_type < 0 &&
         type_table[pass.result].kind == Kind::real;
}
// Results that sums of float64 are rounded to.
bool rounds_wide(const ReducePass& pass) { return pass.result == type_float32 || pass.result == type_float64; }
int dot_source(const ReducePass& pass) {
  const bool alike = pass.factor_width == pass.in_width && pass.factor_pipeline.count == pass.pipeline.count &&
                     (pass.pipeline.count == 0 || pass.factor_pipeline.loops[0] == pass.pipeline.loops[0]);
  return pass.factor != nullptr && alike && pass.result != type_float64 ? source_of(pass) : -1;
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

// Exact sums of a float of up to 32 bits, or numbers rounded to odd, divided by `count` and rounded once.
void round_plain(const ReducePass& pass, const double* sums, int64_t n, double count, void* out, Stage* stage) {
  const auto round = pass.kernels->reduce->few.round_means;
  if (pass.result == type_float16 || pass.result == type_bfloat16) {
    auto* const floats = reinterpret_cast<float*>(stage->spare[0]);
    round[1](floats, sums, n, count);
    CastPipeline narrowed;
    find_pipeline(*pass.kernels->copy, type_float32, pass.result, 0, &narrowed);  // there is one
    narrowed.loops[0](out, floats, nullptr, nullptr, n, 0);
  } else if (pass.result == type_float64) {
    for (int64_t c = 0; c < n; ++c) static_cast<double*>(out)[c] = sums[c] / count + 0.0;
  } else {
    round[0](static_cast<float*>(out), sums, n, count);
  }
}

double initial_of(const ReducePass& pass) {
  double initial = 0;
  if (pass.initial_type == type_float64) memcpy(&initial, pass.initial, sizeof initial);
  return initial;
}

// A strip of results, the dtype of which is R.
template <class R>
struct Strip {
  static constexpr int64_t block = 64;
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

  // Rounds at most 64 sums from c on. Returns a bit for each that is not known.
  uint64_t round_some(int64_t c, int64_t n, const double* sums, double initial, double each, double margin, double rounding,
                      const CastPipeline& narrowed) const {
    const FewKernels& few = pass.kernels->reduce->few;
    if constexpr (is_same<R, float>::value) return few.near_floats(out + c, sums, n, initial, each, margin, rounding);
    float above[block], below[block];
    R least[block];
    few.near_ends(above, below, sums, n, initial, each, margin, rounding);
    narrowed.loops[0](out + c, above, nullptr, nullptr, n, 0);
    narrowed.loops[0](least, below, nullptr, nullptr, n, 0);
    uint64_t unknown = 0;
    for (int64_t i = 0; i < n; ++i) unknown |= uint64_t(!same_bits(out[c + i], least[i])) << i;
    return unknown;
  }

  // Adds the elements of result c again, in float64 where they are a row.
  bool add_again(int64_t c, plain_sums_t rows) const {
    if (rows == nullptr) return round_again(c);
    const ResultRun from = run_from(where, c);
    double sum;
    const double error = rows(&sum, pass.in + from.at.in, 0, 1, pass.reduced[0].size);
    return end_plain(pass, from, &sum, 1, error, {1}, stage, reinterpret_cast<char*>(out + c));
  }

  // Rounds n sums of float64 that are off by `error` at most. False where more than may be are not known by that.
  bool round_near(const double* sums, int64_t n, double error, InDoubt again) const {
    const double each = is_mean(pass) ? 1 / double(pass.reduced_count) : 1, initial = initial_of(pass);
    const double rounding = each == 1 && initial == 0 ? 0 : 0x1p-51;
    CastPipeline narrowed;
    if constexpr (!is_same<R, float>::value)
      find_pipeline(*pass.kernels->copy, type_float32, pass.result, 0, &narrowed);  // there is one
    for (int64_t c = 0; c < n; c += block) {
      const int64_t count = smaller(block, n - c);
      uint64_t left = round_some(c, count, sums + c, initial, each, error * each, rounding, narrowed);
      for (; left != 0; left &= left - 1)
        if (again.most-- == 0 || !add_again(c + __builtin_ctzll(left), again.rows)) return false;
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

  bool round(const double* sums, int64_t n, double error, InDoubt again) const {
    return pass.reducer->parts == 1 && error < 0x1p900 && round_near(sums, n, error, again);
  }
};

}  // namespace

bool end_plain(const ReducePass& pass, const ResultRun& where, double* sums, int64_t n, double error, InDoubt again,
               Stage* stage, char* results) {
  if (error == 0 && pass.initial_type >= 0) {
    const double initial = initial_of(pass);
    for (int64_t c = 0; c < n; ++c) sums[c] = odd_sum(exact_sum(sums[c], initial));
  }
  if (error == 0) return round_plain(pass, sums, n, is_mean(pass) ? double(pass.reduced_count) : 1, results, stage), true;
  const auto round = [&]<class R>(R* out) { return Strip<R>{pass, where, stage, out}.round(sums, n, error, again); };
  switch (pass.result) {
    case type_float16: return round(reinterpret_cast<float16*>(results));
    case type_bfloat16: return round(reinterpret_cast<bfloat16*>(results));
    case type_float32:
    case type_complex64: return round(reinterpret_cast<float*>(results));
    default: return false;
  }
}

namespace {

// Calls of.operator()<R>() for the real dtype of a result.
template <class Of>
void each_result(int type, Of of) {
  switch (type) {
    case type_float16: return of.template operator()<float16>();
    case type_bfloat16: return of.template operator()<bfloat16>();
    default: return of.template operator()<float>();
  }
}

// Rounds the results whose bits are set by their states; false where one leaves two values.
template <class R>
bool end_rows(uint64_t left, const double* states, int64_t capacity, double count, void* results) {
  R* const out = static_cast<R*>(results);
  for (; left != 0; left &= left - 1) {
    const int k = __builtin_ctzll(left);
    const State s{states[k], states[capacity + k], states[2 * capacity + k]};
    if (!(count == 1 ? round_state(s, out + k) : round_mean(s, count, out + k))) return false;
  }
  return true;
}

// Columns of float64 at a time: 64, or fewer where the last ones would not fill a register.
constexpr int64_t most_columns = 64, least_columns = 8;
int64_t columns_of(int64_t left) {
  return left <= most_columns ? left : left < most_columns + least_columns ? most_columns - least_columns : most_columns;
}

// Sums or means of n columns of float64.
template <class R>
bool round_wide(const ReducePass& pass, const char* a, int64_t row_bytes, int64_t rows, int64_t n, R* out) {
  const double count = is_mean(pass) ? double(pass.reduced_count) : 1;
  const auto rounded_columns = pass.kernels->reduce->few.rounded_columns[is_same<R, double>::value];
  double states[3 * most_columns];
  for (int64_t c = 0, part; c < n; c += part) {
    part = columns_of(n - c);
    const uint64_t left = rounded_columns(out + c, states, most_columns, a + 8 * c, row_bytes, rows, part, count);
    if (!end_rows<R>(left, states, most_columns, count, out + c)) return false;
  }
  return true;
}

// Sums of products of rows that follow one another in memory: the products, and what rounding takes from them, as further rows.
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
  const FewKernels& few = pass.kernels->reduce->few;
  const double count = double(pass.reduced_count);
  double means[most_columns], states[3 * most_columns];
  for (int64_t c = 0, part; c < n; c += part) {
    part = columns_of(n - c);
    const uint64_t left = few.rounded_columns[1](means, states, most_columns, a + 8 * c, row_bytes, pass.reduced_count, part,
                                                 count);
    if (!end_rows<double>(left, states, most_columns, count, means)) return false;
    if (few.rounded_variances(out + c, means, a + 8 * c, row_bytes, pass.reduced_count, part, count - pass.correction,
                              pass.root))
      return false;
  }
  return true;
}

// Returns whether there is no initial value, or a sum of floats begins with it.
bool takes_initial(const ReducePass& pass) {
  return pass.initial_type < 0 ||
         (pass.end == End::sum && pass.reducer->parts == 1 && pass.initial_type == type_float64 &&
          (pass.type == type_float32 ? pass.result != type_float64
                                     : is_wide(pass) && pass.result == type_float64 && pass.reduced_count <= most_elements));
}

// The elements of n columns of float64, and the initial value as one more row of them.
const char* with_initial(const ReducePass& pass, const char* a, int64_t* row_bytes, int64_t rows, int64_t n, Stage* stage) {
  char* const to = stage->moved;
  if (a != to) {
    for (int64_t r = 0; r < rows; ++r) memcpy(to + r * n * 8, a + r * *row_bytes, size_t(n * 8));
    *row_bytes = n * 8;
  }
  const double initial = initial_of(pass);
  for (int64_t c = 0; c < n; ++c) memcpy(to + (rows * n + c) * 8, &initial, 8);
  return to;
}

// The elements of a result, at most, that are few: 0 for reductions that need states.
int64_t most_rows(const ReducePass& pass) {
  const bool are_rows = pass.turns && rows_in_place(pass);
  if (is_product(pass)) {  // of one block
    const bool is_in_place = are_rows || (!pass.turns && in_place(pass, pass.kept[pass.kept_ndim - 1].step));
    return is_in_place ? reductions::product_block : most_of_rows;
  }
  if (are_rows) return most_in_place;
  if (is_extreme(pass)) return most_elements;
  if (!is_exact_sum(pass) && !is_variance(pass) && !is_wide_variance(pass)) return 0;
  if (is_wide(pass) && pass.result != type_float64) return 0;
  if (is_wide(pass)) return pass.turns ? most_of_rows : is_wide_variance(pass) ? most_of_variances : most_wide;
  if (columns_in_place(pass)) return INT64_MAX;
  return pass.turns ? most_of_rows : most_elements;
}

// Rounds n sums of floats that add(loop, sums) finds: by the rough loop where it leaves few of them in doubt, else by the other one.
template <class Add>
bool end_floats(const ReducePass& pass, const ResultRun& where, int64_t n, SumLoops loops, Stage* stage, char* out, Add add) {
  double sums[strip_columns];
  if (loops.rough != nullptr && !stage->is_rough_vague) {
    const double error = add(loops.rough, sums);
    if (end_plain(pass, where, sums, n, error, loops.again, stage, out)) return true;
    stage->is_rough_vague = true;
  }
  const double error = add(loops.near, sums);
  return end_plain(pass, where, sums, n, error, {n}, stage, out);
}

// Rows of a register of the loops at least, and not so many that runs are as fast.
bool has_row_results(const ReducePass& pass) {
  const bool is_narrow = pass.width == 4 && pass.body != reduce_sums;
  const int64_t n = pass.reduced[0].size, least = is_narrow ? 16 : 8, most = is_narrow ? most_in_place : 128;
  return pass.reducer->row_results != nullptr && pass.end == End::plain && pass.pipeline.count == 0 && pass.initial_type < 0 &&
         n >= least && n <= most;
}

// Sums, extremes and products of rows where they lie.
bool reduce_rows(const ReducePass& pass, const ResultRun& where, int64_t n, char* out, Stage* stage) {
  constexpr int64_t block = 64;
  const FewKernels& few = pass.kernels->reduce->few;
  const int64_t size = pass.reduced[0].size;
  if (has_row_results(pass)) {
    pass.reducer->row_results(out, pass.in + where.at.in, where.step.in, n, size);
    return true;
  }
  if (float_source(pass) >= 0 && pass.factor == nullptr && pass.end != End::plain) {
    const plain_sums_t near = few.row_sums[float_source(pass)];
    constexpr int64_t few_of = 3;  // adding one again takes as long as two
    return end_floats(
        pass, where, n, {rough_row_sums(pass, size), near, {n / few_of, near}}, stage, out,
        [&](plain_sums_t loop, double* sums) { return loop(sums, pass.in + where.at.in, where.step.in, n, size); });
  }
  if (is_product(pass)) {
    auto* const products = reinterpret_cast<double*>(out);
    few.row_products[is_wide(pass)](products, pass.in + where.at.in, where.step.in, n, size);
    return true;
  }
  if (const int source = dot_source(pass); source >= 0) {
    double sums[strip_columns];
    const RowPair from{pass.in + where.at.in, pass.factor + where.at.factor, where.step.in, where.step.factor};
    return end_plain(pass, where, sums, n, few.row_dots[source](sums, from, n, size), {n}, stage, out);
  }
  const int terms = pass.factor == nullptr ? terms_float64 : pass.with_rests ? terms_products64 : terms_products32;
  const double count = is_mean(pass) ? double(size) : 1;
  double states[3 * block];
  for (int64_t c = 0; c < n; c += block) {
    const Place at = where.at + c * where.step;
    const RowPair from{pass.in + at.in, pass.factor == nullptr ? nullptr : pass.factor + at.factor, where.step.in,
                       where.step.factor};
    char* const to = out + c * type_table[pass.result].bytes;
    uint64_t left = few.rounded_rows[terms][pass.result == type_float64](to, states, block, from, smaller(block, n - c), size,
                                                                         count);
    if (!(pass.result == type_float64 ? end_rows<double>(left, states, block, count, to)
                                      : end_rows<float>(left, states, block, count, to)))
      return false;
  }
  return true;
}

}  // namespace

bool rows_in_place(const ReducePass& pass) {
  if (pass.mask != nullptr || pass.reduced_ndim != 1) return false;
  const Axis& inner = pass.reduced[0];
  if (pass.factor != nullptr)
    return is_dot(pass) && inner.step.factor == pass.factor_width &&
           (dot_source(pass) >= 0 ? inner.size >= least_dot
                                  : inner.size >= least_wide_dot && pass.pipeline.count == 0 &&
                                        pass.factor_pipeline.count == 0 && rounds_wide(pass));
  if (has_row_results(pass)) return true;
  if (is_product(pass)) return pass.pipeline.count == 0 && inner.size > reductions::product_lanes;
  if (inner.size < least_each || pass.reducer->parts != 1) return false;
  if (!is_exact_sum(pass)) return false;
  return is_wide(pass) ? pass.pipeline.count == 0 && pass.result == type_float64 && pass.initial_type < 0
                       : float_source(pass) >= 0;
}

bool takes_few(const ReducePass& pass) {
  const bool has_one_axis = pass.columns && pass.mask == nullptr && pass.reduced_ndim == 1 && pass.reduced_count > 0;
  if (!has_one_axis || pass.centers != nullptr) return false;
  if (pass.factor != nullptr)
    return is_dot(pass) && pass.turns &&
           (rows_in_place(pass) ? pass.reduced_count <= most_in_place
                                : pass.reduced_count <= most_of_dots && rounds_wide(pass));
  if (!takes_initial(pass) || pass.reduced_count > most_rows(pass)) return false;
  if (pass.turns && rows_in_place(pass)) return true;
  return pass.turns || pass.pipeline.count == 0 ||
         (pass.pipeline.count == 1 && pass.kept[pass.kept_ndim - 1].step.in == pass.in_width);
}

bool reduce_few(const ReducePass& pass, const ResultRun& where, int64_t n, void* results, Stage* stage) {
  const FewKernels& few = pass.kernels->reduce->few;
  const int parts = pass.reducer->parts;
  const Axis& inner = pass.reduced[0];
  const int64_t result_bytes = type_table[pass.result].bytes;
  char* const out = static_cast<char*>(results);
  if (pass.turns && rows_in_place(pass)) return reduce_rows(pass, where, n, out, stage);
  if (pass.factor != nullptr) return reduce_dots(pass, where, n, results, stage);
  if (columns_in_place(pass))
    return end_floats(pass, where, n,
                      {rough_column_sums(pass, inner.size), few.column_sums[float_source(pass)], {n / few_in_doubt}}, stage,
                      out, [&](plain_sums_t loop, double* sums) { return sum_columns(pass, where, n, loop, sums); });
  double sums[2 * strip_columns];
  if (!in_place(pass, where.step) && !pass.turns && pass.pipeline.count != 1) return false;
  const bool more = is_wide(pass) && pass.initial_type >= 0;
  const int64_t strip = in_place(pass, where.step) && !more ? n : smaller(n, staged_count / (inner.size + (more ? 1 : 0)));
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
        few.half_differences(sums, a, row_bytes, count);
        round_plain(pass, sums, count, 1, to, stage);
      } else {
        few.column_deviations(sums, a, row_bytes, inner.size, count);
        each_result(pass.result, [&]<class R>() {
          Strip<R>{pass, run_from(where, c), stage, reinterpret_cast<R*>(to)}.round_variances(sums, count);
        });
      }
    } else if (is_wide_variance(pass)) {
      if (!round_wide_variances(pass, a, row_bytes, count, reinterpret_cast<double*>(to))) return false;
    } else if (pass.type == type_float64) {
      const char* const all = more ? with_initial(pass, a, &row_bytes, inner.size, count, stage) : a;
      if (!round_wide(pass, all, row_bytes, inner.size + (more ? 1 : 0), count, reinterpret_cast<double*>(to))) return false;
    } else {
      const double error = few.column_sums[source_float32](sums, a, row_bytes, inner.size, count * parts);
      if (!end_plain(pass, run_from(where, c), sums, count * parts, error, {count * parts}, stage, to)) return false;
    }
  }
  return true;
}

}  // namespace dlt
