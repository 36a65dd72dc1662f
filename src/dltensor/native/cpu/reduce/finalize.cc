// SPDX-License-Identifier: Apache-2.0
// Ends of the states of a reduction: exact sums and what is made of them are rounded once. Where the bound of a state
// leaves two values, its elements are read again: into three words, and then into an integer accumulator.
#include <string.h>

#include "native/cpu/runtime/features.h"
#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/reduce/round_states.h"
#include "native/ops/reduce/finalize.h"
#include "native/ops/elementwise/saturating.h"

namespace dlt {
namespace {

using namespace exact_sums;

double element_of(int type, const void* run, int64_t i) {
  if (type == type_float32 || type == type_complex64) {
    float x;
    memcpy(&x, static_cast<const char*>(run) + 4 * i, 4);
    return double(x);
  }
  double x;
  memcpy(&x, static_cast<const char*>(run) + 8 * i, 8);
  return x;
}

// ---- reading the elements of one result again

struct Reading {
  const ReducePass* pass;
  Accumulator *sum, *squares;  // either may be null
  int64_t waiting;             // how many elements equal to the first are yet to be added, where all were equal so far
  int part;                    // of a complex element
  double center, scale;        // squares are of (x - center) * scale where `deviations`
  bool deviations;
  double largest, first;       // magnitude; element
  int type;
  bool any, equal;
};

void put(Reading& r, double x) {
  if (r.sum != nullptr) add(r.sum, x);
  if (r.squares == nullptr) return;
  if (r.deviations) {
    const Pair square = squared_deviation(x, r.center);
    add(r.squares, square.high);
    add(r.squares, square.low);
  } else {
    add(r.squares, x * x);
  }
}

void settle(Reading& r) {
  for (; r.waiting > 0; --r.waiting) put(r, r.first);
}

void read_run(void* context, const void* run, int64_t n, int64_t) {
  Reading& r = *static_cast<Reading*>(context);
  const int parts = r.pass->reducer->parts;
  for (int64_t i = 0; i < n; ++i) {
    const double x = element_of(r.type, run, i * parts + r.part) * r.scale;
    if (!r.any) r.first = x;
    r.any = true;
    const double size = magnitude_of(x);
    r.largest = size > r.largest || size != size ? size : r.largest;
    r.equal &= x == r.first;
    if (r.equal) {
      ++r.waiting;
    } else {
      settle(r);
      put(r, x);
    }
  }
}

struct OneResult {
  const ReducePass* pass;
  Place place;
  int64_t index;
  Stage* stage;
  int digits, lowest;  // of its dtype, as Form has them: what is needed rarely exists once for all dtypes
};

void read_again(const OneResult& one, Reading* r, const void* blank) {
  each_run(*one.pass, one.place, 0, one.pass->reduced_count, blank, one.stage, read_run, r);
  if (one.pass->initial_type >= 0) {
    r->type = one.pass->initial_type;
    read_run(r, one.pass->initial, 1, 0);
  }
  if (r->sum == nullptr || r->squares == nullptr) settle(*r);  // else equal elements need not be added: they do not vary
}

Reading reading(const OneResult& one, int part) {
  Reading r{};
  r.pass = one.pass;
  r.part = part;
  r.scale = 1;
  r.type = r.pass->type;
  r.equal = true;
  return r;
}

// ---- sums and means

State state_at(const void* states, int64_t capacity, int64_t c, int sum) {
  const double* const w = static_cast<const double*>(states) + sum * words * capacity + c;
  return {w[high * capacity], w[low * capacity], w[bound * capacity]};
}

int64_t count_of(const OneResult& one) {
  const ReducePass& pass = *one.pass;
  return pass.counts != nullptr ? pass.counts[one.index] : pass.reduced_count;
}

struct AddingAgain {
  sum_again_t run;
  SumAgain states[2];
};
void add_run(void* context, const void* run, int64_t n, int64_t) {
  auto& again = *static_cast<AddingAgain*>(context);
  again.run(again.states, run, n);
}
// Adds the elements of a sum that is far smaller than they are once more, with less in doubt; false where that is impossible.
bool add_again(const OneResult& one, int part, const State& s, State* out) {
  const ReducePass& pass = *one.pass;
  AddingAgain again{};
  again.run = kernels().reduce->sums_again[pass.type];
  if (again.run == nullptr || !ops::isfinite(s.above)) return false;
  each_run(pass, one.place, 0, pass.reduced_count, pass.identity, one.stage, add_run, &again);
  if (pass.initial_type >= 0) kernels().reduce->sums_again[pass.initial_type](again.states, pass.initial, 1);
  const SumAgain& w = again.states[part];
  const Pair first = exact_sum(w.high, w.low), rest = exact_sum(first.low, w.third), above = exact_sum(first.high, rest.high),
             below = exact_sum(above.low, rest.low);
  *out = {above.high, below.high, w.lost + magnitude_of(below.low)};
  return true;
}
double sum_of_accumulator(const OneResult& one, int part, int64_t count) {
  Accumulator sum;
  clear(&sum);
  Reading r = reading(one, part);
  r.sum = &sum;
  read_again(one, &r, one.pass->identity);
  return rounded(&sum, uint64_t(count), one.digits, one.lowest);
}

template <class R>
R end_sum(const OneResult& one, int part, const State& s) {
  R out;
  State again;
  if (round_state(s, &out) || (add_again(one, part, s, &again) && round_state(again, &out))) return out;
  return from<R>(sum_of_accumulator(one, part, 1));
}

template <class R>
R end_mean(const OneResult& one, int part, const State& s) {
  const int64_t count = count_of(one);
  if (count == 0) return from<R>(not_a_number());
  R out;
  State again;
  if (round_mean(s, double(count), &out) || (add_again(one, part, s, &again) && round_mean(again, double(count), &out)))
    return out;
  return from<R>(sum_of_accumulator(one, part, count));
}

// ---- var and std

// Variance or its root by accumulators, where the bounds of the sums leave two values.
double moments_again(const OneResult& one, const double* sums, double divisor) {
  const ReducePass& pass = *one.pass;
  const int parts = pass.reducer->parts;
  const int64_t number = count_of(one);
  bool finite = true, zero = true;
  for (int k = 0; k < parts; ++k) {
    const double square = sums[words * (2 * k + 1) + high];
    finite &= ops::isfinite(square);
    zero &= square == 0;
  }
  if (finite && (zero || number == 1)) return 0;
  Natural total;
  total.count = 0;
  for (int k = 0; k < parts; ++k) {
    Accumulator sum, squares;
    clear(&sum);
    clear(&squares);
    Reading r = reading(one, k);
    r.sum = &sum;
    r.squares = &squares;
    read_again(one, &r, pass.identity);
    if (!ops::isfinite(r.largest)) return not_a_number();
    if (!r.equal) add_moments(&sum, &squares, uint64_t(number), &total);
  }
  return rounded_quotient(&total, -2150, uint64_t(number), divisor, pass.root, one.digits, one.lowest);
}

template <class R>
R end_moments(const OneResult& one, const void* states, int64_t capacity, int64_t c) {
  const ReducePass& pass = *one.pass;
  const int parts = pass.reducer->parts;
  const double count = double(count_of(one)), divisor = count - pass.correction;
  if (is_undefined(count, divisor)) return from<R>(not_a_number());
  double both[2 * 2 * words];
  for (int k = 0; k < parts; ++k)
    for (int sum = 0; sum < 2; ++sum) {
      const State state = state_at(states, capacity, c * parts + k, sum);
      double* const to = both + words * (2 * k + sum);
      to[high] = state.above;
      to[low] = state.below;
      to[bound] = state.error;
    }
  R out;
  return round_moments(both, parts, count, divisor, pass.root, &out) ? out : from<R>(moments_again(one, both, divisor));
}

// Squares that would leave float64's range are taken of elements times a power of two.
double end_scaled(const OneResult& one, double divisor) {
  const ReducePass& pass = *one.pass;
  const int parts = pass.reducer->parts;
  const int64_t number = count_of(one);
  alignas(16) double blank[2];
  Reading r[2];
  double largest = 0;
  bool constant = true;
  for (int k = 0; k < parts; ++k) blank[k] = pass.centers[one.index * parts + k];
  for (int k = 0; k < parts; ++k) {
    r[k] = reading(one, k);
    read_again(one, &r[k], blank);
    if (!ops::isfinite(r[k].largest)) return not_a_number();
    largest = r[k].largest > largest ? r[k].largest : largest;
    constant &= r[k].equal;
  }
  if (constant || largest == 0) return 0;
  const int up = scale_exponent(largest);
  Accumulator squares;
  clear(&squares);
  for (int k = 0; k < parts; ++k) {
    Accumulator sum;
    clear(&sum);
    Reading again = reading(one, k);
    again.scale = power_of_two(up);
    again.sum = &sum;
    read_again(one, &again, blank);
    const int64_t masked = pass.reduced_count - number;
    for (int64_t i = 0; i < masked; ++i) add(&sum, -(blank[k] * again.scale));
    again.sum = nullptr;
    again.center = round_accumulator<double>(&sum, uint64_t(number));
    again.squares = &squares;
    again.deviations = true;
    read_again(one, &again, blank);
  }
  Natural size;
  magnitude(&squares, &size);
  return rounded_quotient(&size, -1075 - 2 * up, 1, divisor, pass.root, one.digits, one.lowest);
}

// The exact sum of the squared deviations. Where the mean is so far from 0 that its own rounding shows, what that adds is
// taken away.
double end_deviations_again(const OneResult& one, double divisor, bool corrected, bool root) {
  const ReducePass& pass = *one.pass;
  const int parts = pass.reducer->parts;
  const int64_t number = count_of(one);
  alignas(16) double blank[2];
  for (int k = 0; k < parts; ++k) blank[k] = pass.centers[one.index * parts + k];
  Accumulator squares;
  clear(&squares);
  for (int k = 0; k < parts; ++k) {
    Accumulator sum;
    clear(&sum);
    Reading r = reading(one, k);
    r.squares = &squares;
    r.sum = &sum;
    r.deviations = true;
    r.center = blank[k];
    read_again(one, &r, blank);
    if (!corrected) continue;
    const double beyond = sum_beyond(&sum, double(pass.reduced_count), blank[k]);
    add(&squares, -(beyond * beyond / double(number)));
  }
  Natural size;
  if (magnitude(&squares, &size)) return 0;
  return rounded_quotient(&size, -1075, 1, divisor, root, one.digits, one.lowest);
}

template <class R>
R end_deviations(const OneResult& one, const void* states, int64_t capacity, int64_t c) {
  const ReducePass& pass = *one.pass;
  const int parts = pass.reducer->parts;
  const double count = double(count_of(one)), divisor = count - pass.correction;
  if (is_undefined(count, divisor)) return from<R>(not_a_number());
  double w[words], farthest = 0;
  start(w);
  for (int k = 0; k < parts; ++k) {
    const State s = state_at(states, capacity, c * parts + k, 0);
    const double other[words] = {s.above, s.below, s.error};
    join(w, other);
    const double center = magnitude_of(pass.centers[one.index * parts + k]);
    farthest = center > farthest ? center : farthest;
  }
  // Decisions depend on the rounded variance, which does not depend on the order of additions.
  Quotient q{};
  double variance;
  const double rough = (w[high] + w[low]) / divisor;
  if (!(rough > 0x1p-850 && rough < 0x1p950)) return from<R>(end_scaled(one, divisor));
  const bool known = divide(w[high], w[low], w[bound], divisor, &q) && round_sum(q.above, q.below, q.error, &variance);
  if (!known) {
    OneResult wide = one;
    wide.digits = Form<double>::digits;
    wide.lowest = Form<double>::lowest;
    variance = end_deviations_again(wide, divisor, false, false);
  }
  if (!is_in_range(variance)) return from<R>(end_scaled(one, divisor));
  if (shows_rounding(farthest, variance)) return from<R>(end_deviations_again(one, divisor, true, pass.root));
  R out;
  if (known) {
    if (pass.root) q = root_of(q);
    if (round_sum(q.above, q.below, q.error, &out)) return out;
  }
  return from<R>(end_deviations_again(one, divisor, false, pass.root));
}

// The standard deviation of two elements is half their difference: of many a tie, which no bound decides.
bool is_half_difference(const ReducePass& pass) {
  return pass.root && pass.reduced_count == 2 && pass.correction == 0 && pass.counts == nullptr && pass.mask == nullptr &&
         pass.initial_type < 0 && pass.reducer->parts == 1 && (pass.end == End::moments || pass.end == End::deviations);
}
struct TwoElements {
  int type, count;
  double values[2];
};
void take_two(void* context, const void* run, int64_t n, int64_t) {
  auto& two = *static_cast<TwoElements*>(context);
  for (int64_t i = 0; i < n; ++i) two.values[two.count++] = element_of(two.type, run, i);
}
template <class R>
bool half_difference(const OneResult& one, R* out) {
  TwoElements two{one.pass->type, 0, {}};
  each_run(*one.pass, one.place, 0, 2, one.pass->identity, one.stage, take_two, &two);
  const double size = magnitude_of(two.values[0] - two.values[1]);
  if (!(size < 0x1p1000 && (size > 0x1p-900 || size == 0))) return false;
  *out = half_difference_of<R>(two.values[0], two.values[1]);
  return true;
}

// ---- integers

int128_t wide_at(const void* states, int64_t capacity, int64_t c) {
  const uint64_t* const w = static_cast<const uint64_t*>(states);
  return int128_t(uint128_t(w[capacity + c]) << 64 | w[c]);
}

template <class T>
void clamp_sums(const void* states, int64_t capacity, int64_t n, void* results) {
  for (int64_t c = 0; c < n; ++c) {
    const int128_t v = wide_at(states, capacity, c);
    const T value = v < int128_t(range<T>::lowest)    ? range<T>::lowest
                    : v > int128_t(range<T>::highest) ? range<T>::highest
                                                      : T(v);
    memcpy(static_cast<char*>(results) + c * int64_t(sizeof(T)), &value, sizeof(T));
  }
}

// Statistics of the sums in the words of state c.
template <class R>
R end_words(const OneResult& one, const void* states, int64_t capacity, int64_t c) {
  const ReducePass& pass = *one.pass;
  const auto count = uint64_t(count_of(one));
  uint64_t w[5];
  for (int m = 0; m < pass.reducer->members; ++m) w[m] = static_cast<const uint64_t*>(states)[m * capacity + c];
  return pass.end == End::wide_mean ? integer_mean<R>(w, count) : integer_moments<R>(w, count, pass.correction, pass.root);
}

template <class R>
void end_floats(const ReducePass& pass, const void* states, int64_t capacity, int64_t n, const ResultRun& where, Stage* stage,
                void* results) {
  const int parts = pass.reducer->parts;
  R* const out = static_cast<R*>(results);
  const auto* const w = static_cast<const double*>(states);
  const bool is_two = is_half_difference(pass);
  for (int64_t c = 0; c < n; ++c) {
    // Most sums need no more.
    if (pass.end == End::sum && parts == 1 && round_sum(w[c], w[capacity + c], w[2 * capacity + c], out + c)) continue;
    const Place place = where.at + c * where.step;
    const OneResult one{&pass, place, where.index + c * where.index_step, stage, Form<R>::digits, Form<R>::lowest};
    if (is_two && half_difference(one, out + c)) continue;
    if (pass.end == End::wide_mean || pass.end == End::wide_moments) {
      out[c] = end_words<R>(one, states, capacity, c);
    } else if (pass.end == End::moments) {
      out[c] = end_moments<R>(one, states, capacity, c);
    } else if (pass.end == End::deviations) {
      out[c] = end_deviations<R>(one, states, capacity, c);
    } else {
      for (int k = 0; k < parts; ++k) {
        const State s = state_at(states, capacity, c * parts + k, 0);
        out[c * parts + k] = pass.end == End::sum ? end_sum<R>(one, k, s) : end_mean<R>(one, k, s);
      }
    }
  }
}

}  // namespace

void end_results(const ReducePass& pass, const void* states, int64_t capacity, int64_t n, const ResultRun& where, Stage* stage,
                 void* results) {
  switch (pass.end) {
    case End::plain: return pass.reducer->end(results, states, capacity, n);
    case End::wide_sum:
      switch (pass.result) {
#define DLT_CASE(type, name) \
  case type_##name: return clamp_sums<type>(states, capacity, n, results);
        DLT_INTEGER_TYPES(DLT_CASE)
#undef DLT_CASE
        default:
          for (int64_t c = 0; c < n; ++c) static_cast<uint8_t*>(results)[c] = wide_at(states, capacity, c) != 0;
          return;
      }
    default: break;
  }
  switch (pass.result) {
    case type_float16: return end_floats<float16>(pass, states, capacity, n, where, stage, results);
    case type_bfloat16: return end_floats<bfloat16>(pass, states, capacity, n, where, stage, results);
    case type_float32:
    case type_complex64: return end_floats<float>(pass, states, capacity, n, where, stage, results);
    default: return end_floats<double>(pass, states, capacity, n, where, stage, results);
  }
}

}  // namespace dlt
