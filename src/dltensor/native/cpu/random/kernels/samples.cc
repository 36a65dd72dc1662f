// SPDX-License-Identifier: Apache-2.0
// Values of the distributions of ops/random/samples.h, in chunks that stay in L1: words, then the first attempt of all values in
// registers, then further attempts of those that were rejected. Values are doubles until they are stored.
#include "native/ops/random/samples.h"

#include <algorithm>

#include "native/cpu/random/kernels.h"
#include "native/cpu/random/kernels/blocks.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt::DLT_LEVEL {
namespace {

using M = elementary::Register<double, register_bytes>;
using V = M::Float;
using Bits = sampled::Bits<M>;
using philox::Sequence;
static_assert(M::lanes == lanes);

constexpr int64_t most = 512;  // values of a chunk
constexpr int64_t table_from = 64;  // values for which a table of probabilities takes less time than it saves

// Arrays are computed in whole registers.
template <class T>
struct alignas(64) Buffer {
  T at[most + blocks_at_once];
  DLT_FN auto load(int64_t i) const {
    typedef T loaded __attribute__((vector_size(register_bytes)));
    loaded v;
    __builtin_memcpy(&v, at + i, sizeof v);
    return v;
  }
  template <class R>
  DLT_FN void save(int64_t i, R v) {
    static_assert(sizeof v == register_bytes);
    __builtin_memcpy(at + i, &v, sizeof v);
  }
};
struct WordBuffer {
  Buffer<uint64_t> low, high;
  template <class NUMBERS>
  [[gnu::noinline]] void fill(const Sequence& s, int64_t n, NUMBERS numbers) {
    each_group(s, n, numbers, [this](int64_t i, const Pairs& pairs) {
      low.save(i, pairs.low);
      high.save(i, pairs.high);
    });
  }
  DLT_FN Bits load(int64_t i) const { return {M::Int(low.load(i)), M::Int(high.load(i))}; }
};

// Values of one parameter each, or a number for all of them; of arrays and numbers together, all are arrays.
struct Chunk {
  Draw draw;
  uint64_t position;  // of the first value's first word
  uint64_t step;  // words from a value to the next
  int64_t n;
  bool numbers;  // not arrays
  int terms = -1;  // of `sums`, once they are known
  Buffer<double> a, b, values, other;
  WordBuffer words, again;
  Buffer<uint64_t> numbers_again;
  Buffer<double> a_again, b_again;
  int32_t rejected[most + lanes];
  double sums[sampled::most_terms];
};

// The blocks of the values themselves, `skip` words from their first one; the blocks that have a number of attempts.
void fill_words(Chunk& c, uint64_t skip) { c.words.fill(c.draw.sequence, c.n, spaced((c.position + skip) / 4, c.step / 4)); }
void fill_words_of_powers(Chunk& c) {
  c.words.fill(c.draw.sequence, c.n, spaced(c.position | uint64_t(sampled::power_block) << 56, c.step));
}
void fill_words_again(Chunk& c, uint64_t skip, int64_t count, uint64_t attempt) {
  for (int64_t j = 0; j < count; ++j)
    c.numbers_again.at[j] = (c.position + skip + uint64_t(c.rejected[j]) * c.step) | attempt << 56;
  c.again.fill(c.draw.sequence, count, [&c](int64_t i) { return lane_t(c.numbers_again.load(i)); });
}

// ---- transforms

template <class BODY>
void transform(Chunk& c) {
  fill_words(c, 0);
  for (int64_t i = 0; i < c.n; i += lanes) {
    const V a = c.numbers ? M::all(c.draw.a) : c.a.load(i), b = c.numbers ? M::all(c.draw.b) : c.b.load(i);
    c.values.save(i, BODY::template value<M>(c.words.load(i), a, b));
  }
}

// ---- attempts

// Adds the rejected ones among `count` values, whose indices begin at `index`.
DLT_FN int64_t list_rejected(int32_t* list, int64_t length, M::Mask rejected, int64_t count, const int32_t* index) {
  for (int64_t k = 0; k < count; ++k) {
    list[length] = index[k];
    length += rejected[k] & 1;
  }
  return length;
}

template <class BODY, bool NUMBERS>
int64_t first_attempts(Chunk& c, const typename BODY::template Setup<M>& fixed, const Buffer<double>& a) {
  int64_t count = 0;
  for (int64_t i = 0; i < c.n; i += lanes) {
    sampled::Sample<M> sample;
    if constexpr (NUMBERS) sample = BODY::template quick<M>(c.words.load(i), fixed);
    else sample = BODY::template quick<M>(c.words.load(i), BODY::template setup<M>(a.load(i), c.b.load(i)));
    c.values.save(i, sample.value);
    const M::Mask rejected = sample.accepted == 0;
    if (!M::any(rejected)) continue;
    int32_t index[lanes];
    for (int k = 0; k < lanes; ++k) index[k] = int32_t(i) + k;
    count = list_rejected(c.rejected, count, rejected, smaller(lanes, c.n - i), index);
  }
  return count;
}

template <class BODY, bool NUMBERS>
int64_t further_attempts(Chunk& c, const typename BODY::template Setup<M>& fixed, int64_t count) {
  int64_t left = 0;
  for (int64_t j = 0; j < count; j += lanes) {
    sampled::Sample<M> sample;
    if constexpr (NUMBERS) sample = BODY::template full<M>(c.again.load(j), fixed);
    else sample = BODY::template full<M>(c.again.load(j), BODY::template setup<M>(c.a_again.load(j), c.b_again.load(j)));
    const int64_t some = smaller(lanes, count - j);
    for (int64_t k = 0; k < some; ++k) c.values.at[c.rejected[j + k]] = sample.value[k];
    left = list_rejected(c.rejected, left, sample.accepted == 0, some, c.rejected + j);
  }
  return left;
}

// The values by attempts that read words `skip` after the first of each value; `a` is the first parameter.
template <class BODY, bool NUMBERS>
[[gnu::noinline]] void attempts_of(Chunk& c, uint64_t skip, double number, const Buffer<double>& a) {
  const auto fixed = BODY::template setup<M>(M::all(number), M::all(c.draw.b));
  int64_t count = first_attempts<BODY, NUMBERS>(c, fixed, a);
  for (uint64_t attempt = 0; count > 0 && attempt <= sampled::last_attempt; ++attempt) {
    for (int64_t j = count; j < count + lanes; ++j) c.rejected[j] = c.rejected[0];
    const int64_t padded = count + lanes;
    if (attempt == 0) {
      for (int64_t j = 0; j < padded; ++j) c.again.low.at[j] = c.words.low.at[c.rejected[j]];
      for (int64_t j = 0; j < padded; ++j) c.again.high.at[j] = c.words.high.at[c.rejected[j]];
    } else {
      fill_words_again(c, skip, padded, attempt);
    }
    if constexpr (!NUMBERS) {
      for (int64_t j = 0; j < padded; ++j) c.a_again.at[j] = a.at[c.rejected[j]];
      for (int64_t j = 0; j < padded; ++j) c.b_again.at[j] = c.b.at[c.rejected[j]];
    }
    count = further_attempts<BODY, NUMBERS>(c, fixed, count);
  }
}
template <class BODY>
void attempts(Chunk& c, uint64_t skip, double number, const Buffer<double>& a) {
  fill_words(c, skip);
  if (c.numbers) attempts_of<BODY, true>(c, skip, number, a);
  else attempts_of<BODY, false>(c, skip, number, a);
}

// ---- of gamma values

DLT_FN V parameter(const Chunk& c, double number, const Buffer<double>& all, int64_t i) {
  return c.numbers ? M::all(number) : all.load(i);
}

void gamma_chunk(Chunk& c) {
  attempts<sampled::gamma_attempts>(c, 0, c.draw.a, c.a);
  if (c.numbers && c.draw.a >= 1.0) {  // the power is 0
    for (int64_t i = 0; i < c.n; ++i) c.values.at[i] *= c.draw.b;
    return;
  }
  fill_words_of_powers(c);
  for (int64_t i = 0; i < c.n; i += lanes) {
    const V power = sampled::gamma_power<M>(c.words.load(i).low, parameter(c, c.draw.a, c.a, i));
    c.values.save(i, sampled::gamma_value<M>(c.values.load(i), power, parameter(c, c.draw.b, c.b, i)));
  }
}
void chisquare_chunk(Chunk& c) {
  const double df = c.draw.a;
  c.draw.a = df * 0.5;
  c.draw.b = 2.0;
  if (!c.numbers) {
    for (int64_t i = 0; i < c.n; ++i) c.a.at[i] *= 0.5;
    std::fill_n(c.b.at, c.n, 2.0);
  }
  gamma_chunk(c);
  c.draw.a = df;
}
void beta_chunk(Chunk& c) {
  attempts<sampled::gamma_attempts>(c, 0, c.draw.a, c.a);
  std::copy_n(c.values.at, c.n, c.other.at);
  attempts<sampled::gamma_attempts>(c, 4, c.draw.b, c.b);
  const bool no_powers = c.numbers && c.draw.a >= 1.0 && c.draw.b >= 1.0;
  if (!no_powers) fill_words_of_powers(c);
  for (int64_t i = 0; i < c.n; i += lanes) {
    V first = M::all(0.0), second = M::all(0.0);
    if (!no_powers) {
      const Bits bits = c.words.load(i);
      first = sampled::gamma_power<M>(bits.low, parameter(c, c.draw.a, c.a, i));
      second = sampled::gamma_power<M>(bits.high, parameter(c, c.draw.b, c.b, i));
    }
    c.values.save(i, sampled::beta_value<M>(c.other.load(i), c.values.load(i), first, second));
  }
}

// ---- counts

template <class BODY>
void inverted_by_table(Chunk& c) {
  using One = sampled::Number;
  if (c.terms < 0)
    c.terms = sampled::inversion_table(c.sums, BODY::template first<One>(c.draw.a, c.draw.b),
                                       sampled::counted<BODY>::template ratio_of<One>(c.draw.a, c.draw.b));
  fill_words(c, 0);
  for (int64_t i = 0; i < c.n; i += lanes) {
    const V u = sampled::unit<M>(c.words.load(i).low);
    M::Int count{};
    for (int k = 0; k < c.terms; ++k) count -= M::Int(u >= c.sums[k]);  // true is -1
    c.values.save(i, BODY::template finished<M>(M::to_float(count), M::all(c.draw.a), M::all(c.draw.b)));
  }
}
template <class BODY>
void count_chunk(Chunk& c) {
  if (c.numbers && c.n >= table_from && BODY::template is_few<sampled::Number>(c.draw.a, c.draw.b))
    return inverted_by_table<BODY>(c);
  attempts<sampled::counted<BODY>>(c, 0, c.draw.a, c.a);
}

// ---- runs

template <int DISTRIBUTION>
constexpr auto chunk_of = transform<typename sampled::transform_of<DISTRIBUTION>::type>;
template <>
constexpr auto chunk_of<draw_beta> = beta_chunk;
template <>
constexpr auto chunk_of<draw_binomial> = count_chunk<sampled::binomial>;
template <>
constexpr auto chunk_of<draw_chisquare> = chisquare_chunk;
template <>
constexpr auto chunk_of<draw_gamma> = gamma_chunk;
template <>
constexpr auto chunk_of<draw_poisson> = count_chunk<sampled::poisson>;

template <class T>
void store(void* out, int64_t first, const double* values, int64_t count) {
  char* const to = static_cast<char*>(out) + first * int64_t(sizeof(T));
  const int64_t n = count;
  DLT_EACH write_at<T>(to, i, sampled::element_of<T>(values[i]));
}

void begin(Chunk& c, const Draw& draw, uint64_t position) {
  c.draw = draw;
  c.position = position;
  c.step = 4 * draw.count;
  c.numbers = draw.arrays[0] == nullptr && draw.arrays[1] == nullptr;
}
void load_parameter(Buffer<double>& to, const double* array, double number, int64_t first, int64_t n) {
  if (array) std::copy_n(array + first, n, to.at);
  else std::fill_n(to.at, n, number);
  for (int k = 0; k < lanes; ++k) to.at[n + k] = to.at[0];
}

void run(void (*compute)(Chunk&), void (*keep)(void*, int64_t, const double*, int64_t), void* out, const Draw& draw,
         uint64_t position, int64_t n) {
  Chunk c;
  begin(c, draw, position);
  for (int64_t first = 0; first < n; first += most) {
    c.n = smaller(most, n - first);
    c.position = position + uint64_t(first) * c.step;
    if (!c.numbers) {
      load_parameter(c.a, draw.arrays[0], draw.a, first, c.n);
      load_parameter(c.b, draw.arrays[1], draw.b, first, c.n);
    }
    compute(c);
    keep(out, first, c.values.at, c.n);
  }
}
template <int DISTRIBUTION, class T>
void draw_samples(void* out, const Draw& draw, uint64_t position, int64_t n, bool) {
  run(chunk_of<DISTRIBUTION>, store<T>, out, draw, position, n);
}

// Rows of counts, of which each takes its share of what is left; the last one takes the rest.
void draw_multinomial_rows(void* out, const Draw& draw, uint64_t position, int64_t n, bool) {
  const int64_t shares = int64_t(draw.count), width = shares + 1;
  Chunk c;
  begin(c, draw, position);
  c.numbers = false;
  int64_t* const rows = static_cast<int64_t*>(out);
  for (int64_t first = 0; first < n; first += most) {
    c.n = smaller(most, n - first);
    load_parameter(c.a, draw.arrays[0], draw.a, first, c.n);
    for (int64_t k = 0; k < width; ++k) {
      if (k < shares) {
        c.position = position + uint64_t(first) * c.step + uint64_t(4 * k);
        load_parameter(c.b, nullptr, draw.arrays[1][k], 0, c.n);
        attempts<sampled::counted<sampled::binomial>>(c, 0, 0.0, c.a);
      }
      const double* const from = k < shares ? c.values.at : c.a.at;
      for (int64_t i = 0; i < c.n; ++i) write_at<int64_t>(rows, (first + i) * width + k, sampled::element_of<int64_t>(from[i]));
      if (k < shares)
        for (int64_t i = 0; i < c.n + lanes; ++i) c.a.at[i] -= i < c.n ? c.values.at[i] : 0.0;
    }
  }
}

template <int DISTRIBUTION>
void fill_reals(RandomKernels* kernels) {
  kernels->draws[DISTRIBUTION][type_float16] = draw_samples<DISTRIBUTION, float16>;
  kernels->draws[DISTRIBUTION][type_bfloat16] = draw_samples<DISTRIBUTION, bfloat16>;
  kernels->draws[DISTRIBUTION][type_float32] = draw_samples<DISTRIBUTION, float>;
  kernels->draws[DISTRIBUTION][type_float64] = draw_samples<DISTRIBUTION, double>;
}
template <int DISTRIBUTION>
void fill_counts(RandomKernels* kernels) {
  if constexpr (DISTRIBUTION == draw_multinomial) kernels->draws[DISTRIBUTION][type_int64] = draw_multinomial_rows;
  else kernels->draws[DISTRIBUTION][type_int64] = draw_samples<DISTRIBUTION, int64_t>;
}

}  // namespace

void fill_samples(RandomKernels* kernels) {
#define DLT_FILL(name, result, ...) fill_##result<draw_##name>(kernels);
  DLT_SAMPLES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
