// SPDX-License-Identifier: Apache-2.0
// Reductions, with the bodies of native/ops/reduce/reductions.h and exact_sums.h: `partial` reduces elements to one state for each
// part of a result, `joined` and `joined_in_order` join those states. Which thread takes which element changes no bit of a
// result: states are exact or do not depend on order, and products of floats follow one fixed tree.
#pragma once
#include "native/cuda/kernels/bodies.cuh"
#include "native/ops/reduce/exact_moments.h"
#include "native/ops/reduce/reductions.h"

namespace dlt::kernels::reduce {

// Arguments of `end` beside the state.
struct Ending {
  double correction;
  bool root;
  const double* center;  // of deviations, one for each part
};

// ---- bodies: what a state is made of, and what becomes of it. `end` is false when elements have to be read again. Where a
// state knows how many elements it has, `counted` adds to that, and `step` does not. `put_first` adds the value that a
// call gives to begin with.

struct no_initial {
  template <class W>
  DLT_FN static void put_first(W*, const Immediate&) {}
};

// A result of a body as an element of the row's dtype.
template <class R, class V>
DLT_FN R as_element(V v) {
  if constexpr (is_same<V, bool>::value) return as_element<R>(boolean{uint8_t(v)});
  else if constexpr (is_same<R, V>::value) return v;
  else return convert<R, false, false, V>(v);
}

// The type of sums and products of integers: 64 bits, which wrap or are clamped at the end.
template <class C>
struct widest {
  using type = C;
};
#define DLT_WIDEST(C, W) \
  template <>            \
  struct widest<C> {     \
    using type = W;      \
  };
DLT_WIDEST(bool, uint64_t)
DLT_WIDEST(int8_t, int64_t)
DLT_WIDEST(int16_t, int64_t)
DLT_WIDEST(int32_t, int64_t)
DLT_WIDEST(uint8_t, uint64_t)
DLT_WIDEST(uint16_t, uint64_t)
DLT_WIDEST(uint32_t, uint64_t)
#undef DLT_WIDEST

template <class BODY, class T, class FIRST = BODY, class X = T>
struct plain_of : BODY {
  using type = T;
  static constexpr bool reads_again = false;
  DLT_FN static void put_first(typename BODY::word* w, const Immediate& first) {
    FIRST::step(w, computed<X>::in(immediate<X>(first)), 0);
  }
  DLT_FN static void counted(typename BODY::word*, uint64_t) {}
  template <class R>
  DLT_FN static bool end(const typename BODY::word* w, const Ending&, R* out) {
    return *out = as_element<R>(BODY::end(w)), true;
  }
};
#define DLT_BODY(name) \
  template <class T>   \
  struct name : plain_of<reductions::name<typename computed<T>::type>, T> {};
DLT_BODY(largest)
DLT_BODY(smallest)
DLT_BODY(every)
DLT_BODY(some)
DLT_BODY(nonzero)
DLT_BODY(first_largest)
DLT_BODY(first_smallest)
#undef DLT_BODY
#define DLT_BODY(name)                                                                        \
  template <class T>                                                                          \
  struct name : plain_of<reductions::name<typename computed<T>::type>, T,                     \
                         reductions::name<typename widest<typename computed<T>::type>::type>, \
                         typename widest<typename computed<T>::type>::type> {};
DLT_BODY(sums)
DLT_BODY(products)
DLT_BODY(saturated_products)
#undef DLT_BODY

// Products of floats: each of 16 lanes multiplies every 16th element of a block, and the tree of `partial` joins the lanes;
// joined_in_order multiplies blocks to groups, and groups. As reductions::products does it.
template <class T>
struct ordered_products {
  using type = T;
  using P = reductions::product_of<typename computed<T>::type>;
  using word = typename P::word;
  static constexpr int members = 1;
  static constexpr bool reads_again = false;
  DLT_FN static void start(word* w) { w[0] = P::one(); }
  DLT_FN static void put_first(word* w, const Immediate& first) { w[0] = P::times(w[0], immediate<word>(first)); }
  DLT_FN static void counted(word*, uint64_t) {}
  template <class X>
  DLT_FN static void step(word* w, X x, int64_t) {
    w[0] = P::times(w[0], P::factor(x));
  }
  DLT_FN static void join(word* w, const word* other) { w[0] = P::times(w[0], other[0]); }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending&, R* out) {
    return *out = as_element<R>(P::plain(w[0])), true;
  }
};

// 128 bits of integers: clamped to the dtype, or divided by how many there are.
template <class T>
struct clamped_sums : reductions::wide_sums<typename computed<T>::type> {
  using type = T;
  using C = typename computed<T>::type;
  static constexpr bool reads_again = false;
  DLT_FN static void put_first(uint64_t* w, const Immediate& first) {
    using W = typename widest<C>::type;
    reductions::wide_sums<W>::step(w, immediate<W>(first), 0);
  }
  DLT_FN static void counted(uint64_t*, uint64_t) {}
  template <class R>
  DLT_FN static bool end(const uint64_t* w, const Ending&, R* out) {
    const bool negative = int64_t(w[1]) < 0;
    if constexpr (is_bool<C>) {
      *out = R{uint8_t((w[0] | w[1]) != 0)};
    } else {
      const bool fits = range<C>::is_signed ? int64_t(w[1]) == int64_t(w[0]) >> 63 : w[1] == 0;
      const C far = negative ? range<C>::lowest : range<C>::highest;
      if constexpr (range<C>::is_signed) *out = fits ? clamp_integer<C>(int64_t(w[0])) : far;
      else *out = fits ? clamp_integer<C>(w[0]) : far;
    }
    return true;
  }
};

// Integer sums of which a statistic is made, and how many elements they have.
template <class T, class SUMS>
struct integer_statistic : no_initial {
  using type = T;
  using word = uint64_t;
  static constexpr int members = SUMS::members + 1;
  static constexpr bool reads_again = false;
  DLT_FN static void start(word* w) {
    SUMS::start(w);
    w[SUMS::members] = 0;
  }
  template <class X>
  DLT_FN static void step(word* w, X x, int64_t index) {
    SUMS::step(w, x, index);
  }
  DLT_FN static void counted(word* w, uint64_t n) { w[SUMS::members] += n; }
  DLT_FN static void join(word* w, const word* other) {
    SUMS::join(w, other);
    w[SUMS::members] += other[SUMS::members];
  }
};
template <class T>
struct integer_means : integer_statistic<T, reductions::wide_sums<typename computed<T>::type>> {
  template <class R>
  DLT_FN static bool end(const uint64_t* w, const Ending&, R* out) {
    return *out = exact_sums::integer_mean<R>(w, w[2]), true;
  }
};
template <class T>
struct integer_moments : integer_statistic<T, reductions::wide_moments<typename computed<T>::type>> {
  template <class R>
  DLT_FN static bool end(const uint64_t* w, const Ending& ending, R* out) {
    return *out = exact_sums::integer_moments<R>(w, w[5], ending.correction, ending.root), true;
  }
};

// Exact sums of floats and of the two parts of complex numbers, and how many there are, which float64 counts exactly.
template <class C>
struct parts_of {
  using type = C;
  static constexpr int count = 1;
  DLT_FN static double part(C x, int) { return double(x); }
  DLT_FN static C number(C x, int) { return x; }
  DLT_FN static void put(C* x, int, C value) { *x = value; }
};
template <class F>
struct parts_of<complex_of<F>> {
  using type = F;
  static constexpr int count = 2;
  DLT_FN static double part(complex_of<F> x, int k) { return double(k == 0 ? x.re : x.im); }
  DLT_FN static F number(complex_of<F> x, int k) { return k == 0 ? x.re : x.im; }
  DLT_FN static void put(complex_of<F>* x, int k, F value) { (k == 0 ? x->re : x->im) = value; }
};

DLT_FAR_FN void put_each(double* state, const double* x, int count) {
  DLT_ROLLED
  for (int j = 0; j < count; ++j) exact_sums::put(state, x[j]);
}

template <class T, bool MEAN>
struct exact_floats {
  using type = T;
  using C = typename computed<T>::type;
  using parts = parts_of<C>;
  using word = double;
  static constexpr int members = exact_sums::words * parts::count + 1;
  static constexpr bool reads_again = true, mean = MEAN;
  DLT_FN static void start(word* w) {
    for (int k = 0; k < parts::count; ++k) exact_sums::start(w + k * exact_sums::words);
    w[members - 1] = 0;
  }
  DLT_FN static void step(word* w, C x, int64_t) {
    for (int k = 0; k < parts::count; ++k) exact_sums::put(w + k * exact_sums::words, parts::part(x, k));
  }
  // Part k of what the sum begins with, which may be wider than its elements.
  DLT_FN static double first_part(const Immediate& first, int k) {
    double part[2];
    memcpy(part, first.bytes, sizeof part);
    return part[k];
  }
  DLT_FN static void put_first(word* w, const Immediate& first) {
    for (int k = 0; k < parts::count; ++k) exact_sums::put(w + k * exact_sums::words, first_part(first, k));
  }
  static constexpr bool takes_packs = is_same<typename parts::type, float>::value;
  // True if no sum of these is rounded in float64: from the first bit of the largest to the last of the smallest are 53 bits,
  // carries included. Always so for float16.
  template <int COUNT>
  DLT_FN static bool is_narrow(const C* x, int k) {
    static_assert(COUNT <= 16, "four bits of carries");
    if constexpr (is_same<T, float16>::value) return true;
    uint32_t most = 0, least = ~uint32_t(0);
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t size = bits_as<uint32_t>(float(parts::number(x[j], k))) & 0x7fffffff,
                     below = size - 1;  // 0 is no smallest
      most = size > most ? size : most;
      least = below < least ? below : least;
    }
    return most - least < uint32_t(COUNT <= 8 ? 26 : 25) << 23;
  }
  // One addition to the state for all of them where their sum is exact, else one for each.
  template <int COUNT>
  DLT_FN static void step_pack(word* w, const C* x) {
#pragma unroll
    for (int k = 0; k < parts::count; ++k) {
      word* const s = w + k * exact_sums::words;
      if (is_narrow<COUNT>(x, k)) {
        double sum[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; ++j) sum[j] = parts::part(x[j], k);
#pragma unroll
        for (int left = COUNT / 2; left > 0; left /= 2)
#pragma unroll
          for (int j = 0; j < left; ++j) sum[j] += sum[j + left];
        exact_sums::put(s, sum[0]);
      } else {
        double state[exact_sums::words], each[COUNT];  // of their own: what goes away by reference is not kept in registers
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) state[m] = s[m];
#pragma unroll
        for (int j = 0; j < COUNT; ++j) each[j] = parts::part(x[j], k);
        put_each(state, each, COUNT);
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) s[m] = state[m];
      }
    }
  }
  DLT_FN static void counted(word* w, uint64_t n) { w[members - 1] += double(n); }
  DLT_FN static void join(word* w, const word* other) {
    for (int k = 0; k < parts::count; ++k) exact_sums::join(w + k * exact_sums::words, other + k * exact_sums::words);
    w[members - 1] += other[members - 1];
  }
  template <class F>
  DLT_FN static bool end_part(double above, double below, double error, double count, F* out) {
    using namespace exact_sums;
    if (MEAN && count == 0) return *out = from<F>(not_a_number()), true;
    // Sums of float32 stay in float64's range: what is not finite was so in an element.
    if (is_same<typename parts::type, float>::value && !ops::isfinite(above))
      return *out = from<F>(above == above ? above : not_a_number()), true;
    if (above == 0 && below == 0 && error == 0) return *out = from<F>(0.0), true;
    if constexpr (MEAN) {
      Quotient q;
      return ops::isfinite(above) && ops::isfinite(below) && exact_sums::divide(above, below, error, count, &q) &&
             round_sum(q.above, q.below, q.error, out);
    } else {
      return round_sum(above, below, error, out);
    }
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending&, R* out) {
    bool known = true;
    for (int k = 0; k < parts::count; ++k) {
      const word* s = w + k * exact_sums::words;
      typename parts_of<R>::type part{};
      known &= end_part(s[exact_sums::high], s[exact_sums::low], s[exact_sums::bound], w[members - 1], &part);
      parts_of<R>::put(out, k, part);
    }
    return known;
  }
};
template <class T>
struct exact_sum : exact_floats<T, false> {};
template <class T>
struct exact_mean : exact_floats<T, true> {};

// Exact sums of elements and of their squares, of each part, and how many there are. Squares of float32 are exact in float64.
template <class T>
struct exact_moments : no_initial {
  using type = T;
  using C = typename computed<T>::type;
  using parts = parts_of<C>;
  using word = double;
  static constexpr int members = 2 * exact_sums::words * parts::count + 1;
  static constexpr bool reads_again = true;
  DLT_FN static void start(word* w) {
    for (int k = 0; k < 2 * parts::count; ++k) exact_sums::start(w + k * exact_sums::words);
    w[members - 1] = 0;
  }
  DLT_FN static void step(word* w, C x, int64_t) {
    for (int k = 0; k < parts::count; ++k) {
      const double part = parts::part(x, k);
      exact_sums::put(w + 2 * k * exact_sums::words, part);
      exact_sums::put(w + (2 * k + 1) * exact_sums::words, part * part);
    }
  }
  DLT_FN static void counted(word* w, uint64_t n) { w[members - 1] += double(n); }
  DLT_FN static void join(word* w, const word* other) {
    for (int k = 0; k < 2 * parts::count; ++k) exact_sums::join(w + k * exact_sums::words, other + k * exact_sums::words);
    w[members - 1] += other[members - 1];
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending& ending, R* out) {
    const double count = w[members - 1], divisor = count - ending.correction;
    if (!(divisor > 0) || count == 0) return *out = from<R>(exact_sums::not_a_number()), true;
    return exact_sums::round_moments(w, parts::count, count, divisor, ending.root, out);
  }
};

// (x - center) ** 2 as two float64, which are both summed: what is rounded depends on the element alone.
DLT_FN Pair square_of(double x, double center) {
  const Pair difference = dlt::exact_sum(x, -center);  // not the body of that name
  const double product = difference.high * difference.high;
  return {product, fused(difference.high, difference.high, -product) + 2.0 * difference.high * difference.low};
}

// Exact sums of squared deviations from the mean, of all parts together, and how many there are.
template <class T>
struct exact_deviations : no_initial {
  using type = T;
  using C = typename computed<T>::type;
  using parts = parts_of<C>;
  using word = double;
  static constexpr int members = exact_sums::words + 1;
  static constexpr bool reads_again = true;
  DLT_FN static void start(word* w) {
    exact_sums::start(w);
    w[members - 1] = 0;
  }
  DLT_FN static void step(word* w, C x, const double* center) {
    for (int k = 0; k < parts::count; ++k) {
      const Pair square = square_of(parts::part(x, k), center[k]);
      exact_sums::put(w, square.high);
      exact_sums::put(w, square.low);
    }
  }
  DLT_FN static void counted(word* w, uint64_t n) { w[members - 1] += double(n); }
  DLT_FN static void join(word* w, const word* other) {
    exact_sums::join(w, other);
    w[members - 1] += other[members - 1];
  }
  DLT_FN static double farthest(const double* center) {
    double most = 0;
    for (int k = 0; k < parts::count; ++k) {
      const double size = magnitude_of(center[k]);
      most = size > most ? size : most;
    }
    return most;
  }
  // Squares that would leave float64's range, and means whose own rounding shows, are for deviations_again().
  DLT_FN static bool is_plain(double variance, const double* center) {
    return variance > 0x1p-800 && variance < 0x1p900 && !(farthest(center) * 0x1p-24 > exact_sums::square_root(variance));
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending& ending, R* out) {
    using namespace exact_sums;
    const double count = w[members - 1], divisor = count - ending.correction;
    if (!(divisor > 0) || count == 0) return *out = from<R>(not_a_number()), true;
    Quotient q;
    double variance;
    if (!exact_sums::divide(w[high], w[low], w[bound], divisor, &q) || !round_sum(q.above, q.below, q.error, &variance) ||
        !is_plain(variance, ending.center))
      return false;
    if (ending.root) q = root_of(q);
    return round_sum(q.above, q.below, q.error, out);
  }
};

// ---- elements

// `kept` axes of the results, then `reduced` ones; the innermost last.
template <int DIMS>
struct Place {
  int64_t in, mask, out, center;
  DLT_FN static Place of(const Reduce<DIMS>& p, int first, int count, uint64_t index) {
    Place place{0, 0, 0, 0};
#pragma unroll 1
    for (int d = first + count - 1; d >= first; --d) {
      uint64_t i = index;
      if (d > first) index = divide(p.axis[d].extent, index, &i);
      place.in += int64_t(i) * p.axis[d].in;
      place.mask += int64_t(i) * p.axis[d].mask;
      place.out += int64_t(i) * p.axis[d].out;
      place.center += int64_t(i) * p.axis[d].center;
    }
    return place;
  }
};

template <class T, class M>
DLT_FN auto element(const M* in) {
  if constexpr (is_same<T, M>::value) return computed<T>::in(*in);
  else return computed<T>::in(convert<T, false, false, M>(*in));
}

template <class Body>
struct takes_packs {
  static constexpr bool value = false;
};
template <class T>
struct takes_packs<exact_sum<T>> {
  static constexpr bool value = exact_sum<T>::takes_packs;
};
template <class T>
struct takes_packs<exact_mean<T>> {
  static constexpr bool value = exact_mean<T>::takes_packs;
};
template <class Body>
struct is_first {
  static constexpr bool value = false;
};
template <class T>
struct is_first<first_largest<T>> {
  static constexpr bool value = true;
};
template <class T>
struct is_first<first_smallest<T>> {
  static constexpr bool value = true;
};
template <class T>
struct takes_packs<first_largest<T>> : is_first<first_largest<T>> {};
template <class T>
struct takes_packs<first_smallest<T>> : is_first<first_smallest<T>> {};

// Several elements, of which the first has that index and each other one `by` more. Of these the first best one is found by keys
// of their own width: only that one meets the state.
template <class Body, int COUNT, class C>
DLT_FN void step_several(typename Body::word* w, const C* x, uint64_t index, uint64_t by) {
  if constexpr (is_first<Body>::value) {
    auto best = Body::key(x[0]);
    unsigned at = 0;
#pragma unroll
    for (unsigned j = 1; j < COUNT; ++j) {
      const auto k = Body::key(x[j]);
      const bool better = k > best;
      best = better ? k : best;
      at = better ? j : at;
    }
    Body::put(w, Body::widened(best), int64_t(index + at * by));
  } else {
    Body::template step_pack<COUNT>(w, x);
  }
}

template <class Body>
struct has_center {
  static constexpr bool value = false;
};
template <class T>
struct has_center<exact_deviations<T>> {
  static constexpr bool value = true;
};

// The center of the deviations of a result; nothing for other bodies.
template <class Body, int DIMS>
DLT_FN void read_center(const Reduce<DIMS>& p, const Place<DIMS>& base, double* center) {
  if constexpr (has_center<Body>::value)
    for (int k = 0; k < Body::parts::count; ++k)
      center[k] = static_cast<const double*>(p.centers)[base.center * Body::parts::count + k];
}
template <class Body, class X>
DLT_FN void step(typename Body::word* w, X x, uint64_t index, const double* center) {
  if constexpr (has_center<Body>::value) Body::step(w, x, center);
  else Body::step(w, x, int64_t(index));
}

// ---- bytes, of which four are a word

DLT_FN uint32_t set_bytes(uint32_t word) { return bytes::truths(bytes::nonzero(word)); }
DLT_FN uint32_t add_bytes(uint32_t word, uint32_t sum) {
#if defined(__CUDACC_RTC__)
  return __dp4a(word, bytes::ones, sum);
#else
  for (int k = 0; k < 4; ++k) sum += word >> (8 * k) & 0xff;
  return sum;
#endif
}

enum class Bytes { none, sum, sum_of_signed, count, some, every };
template <class Body>
struct bytes_of {
  static constexpr Bytes value = Bytes::none;
};
template <>
struct bytes_of<sums<uint8_t>> {
  static constexpr Bytes value = Bytes::sum;
};
template <>
struct bytes_of<sums<int8_t>> {
  static constexpr Bytes value = Bytes::sum_of_signed;
};
template <>
struct bytes_of<sums<boolean>> {
  static constexpr Bytes value = Bytes::count;
};
template <class T>
inline constexpr bool is_byte = is_same<T, boolean>::value || is_same<T, uint8_t>::value || is_same<T, int8_t>::value;
template <class T>
struct bytes_of<nonzero<T>> {
  static constexpr Bytes value = is_byte<T> ? Bytes::count : Bytes::none;
};
template <class T>
struct bytes_of<some<T>> {
  static constexpr Bytes value = is_byte<T> ? Bytes::some : Bytes::none;
};
template <class T>
struct bytes_of<every<T>> {
  static constexpr Bytes value = is_byte<T> ? Bytes::every : Bytes::none;
};

template <class Body>
DLT_FN void step_bytes(typename Body::word* w, const Pack<uint32_t, 4>& x) {
  using word = typename Body::word;
  constexpr Bytes how = bytes_of<Body>::value;
  uint32_t all = how == Bytes::every ? bytes::ones : 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (how == Bytes::sum) all = add_bytes(x.at[k], all);
    else if constexpr (how == Bytes::sum_of_signed) all = add_bytes(x.at[k] ^ 0x80808080, all);  // each 128 more
    else if constexpr (how == Bytes::count) all = add_bytes(set_bytes(x.at[k]), all);
    else if constexpr (how == Bytes::some) all |= x.at[k];
    else all &= set_bytes(x.at[k]);
  }
  if constexpr (how == Bytes::sum_of_signed) w[0] += word(int64_t(all) - 128 * 16);
  else if constexpr (how == Bytes::some) w[0] = word(w[0] | word(all != 0));
  else if constexpr (how == Bytes::every) w[0] = word(w[0] & word(all == bytes::ones));
  else w[0] += word(all);
}

// True if 16 bytes are loaded as words: NVRTC takes words apart that were loaded as bytes, and puts them together again.
template <class Body, class M>
inline constexpr bool by_words = bytes_of<Body>::value != Bytes::none && is_same<typename Body::type, M>::value;
template <class M, bool WORDS>
struct held_as {
  using type = Pack<M, reduce_pack(sizeof(M))>;
};
template <class M>
struct held_as<M, true> {
  using type = Pack<uint32_t, 4>;
};

// A pack of elements of which the first has that index.
template <class Body, class M, class Held>
DLT_FN void step_pack(typename Body::word* w, const Held& x, uint64_t index, const double* center) {
  using T = typename Body::type;
  constexpr int VEC = reduce_pack(sizeof(M));
  if constexpr (by_words<Body, M>) {
    step_bytes<Body>(w, x);
  } else if constexpr (takes_packs<Body>::value) {
    typename computed<T>::type held[VEC];
#pragma unroll
    for (int j = 0; j < VEC; ++j) held[j] = element<T, M>(&x.at[j]);
    step_several<Body, VEC>(w, held, index, 1);
  } else {
#pragma unroll
    for (int j = 0; j < VEC; ++j) step<Body>(w, element<T, M>(&x.at[j]), index + j, center);
  }
}

template <class Body>
struct is_ordered {
  static constexpr bool value = false;
};
template <class T>
struct is_ordered<ordered_products<T>> {
  static constexpr bool value = true;
};

// All of them at once, an axis after the other.
template <int COUNT, int DIMS>
DLT_FN void places_apart(const Reduce<DIMS>& p, uint64_t first, uint64_t by, int64_t* at) {
  uint64_t left[COUNT];
#pragma unroll
  for (int u = 0; u < COUNT; ++u) {
    left[u] = first + u * by;
    at[u] = 0;
  }
#pragma unroll 1
  for (int d = p.kept + p.reduced - 1; d >= p.kept; --d) {
    const Divider<uint64_t> extent = p.axis[d].extent;
    const int64_t step = p.axis[d].in;
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
      uint64_t i = left[u];
      if (d > p.kept) left[u] = divide(extent, left[u], &i);
      at[u] += int64_t(i) * step;
    }
  }
}

// Where the elements first, first + by, ... of the reduced axes are, from the first element of their result; `step`: those of the
// only axis.
template <int COUNT, int DIMS>
DLT_FN void places_of(const Reduce<DIMS>& p, uint64_t first, uint64_t by, int64_t step, int64_t* at) {
  if (p.reduced <= 1) {
#pragma unroll
    for (int u = 0; u < COUNT; ++u) at[u] = int64_t(first + u * by) * step;
  } else {
    places_apart<COUNT>(p, first, by, at);
  }
}

// Elements begin to end of the reduced axes of the result at `base`, of which `lanes` threads take each their own: 16 bytes at a
// time where the host has found that axes allow that, and the address does.
template <class Body, class M, int DIMS, bool MASKED>
DLT_FN void reduce_elements(const Reduce<DIMS>& p, const Place<DIMS>& base, uint64_t begin, uint64_t end, unsigned lane,
                          unsigned lanes, typename Body::word* w) {
  using T = typename Body::type;
  constexpr int VEC = reduce_pack(sizeof(M));
  double center[2] = {};
  read_center<Body>(p, base, center);
  const M* const in = static_cast<const M*>(p.in) + base.in;
  const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
  uint64_t i = begin + lane, taken = 0;
  if constexpr (VEC > 1 && !MASKED && !is_ordered<Body>::value) {
    using Held = typename held_as<M, by_words<Body, M>>::type;
    constexpr int UNROLL = VEC > 4 || Body::reads_again ? 2 : 4;  // the more instructions, the fewer packs keep memory busy
    if (p.packed && (reinterpret_cast<uint64_t>(p.in) & 15) == 0) {
      const uint64_t packs = end / VEC;  // `begin` is a multiple of VEC
#pragma unroll 1
      for (uint64_t k = begin / VEC + lane; k < packs; k += UNROLL * lanes) {
        int64_t at[UNROLL];
        Held x[UNROLL];
        places_of<UNROLL>(p, k * VEC, lanes * VEC, 1, at);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          if (k + u * lanes < packs) x[u] = *reinterpret_cast<const Held*>(in + at[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if (k + u * lanes >= packs) break;
          step_pack<Body, M>(w, x[u], (k + u * lanes) * VEC, center);
          taken += VEC;
        }
      }
      i = packs * VEC + lane;
    }
  }
  if constexpr (MASKED) {
#pragma unroll 1
    for (; i < end; i += lanes) {
      const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
      if (mask[at.mask] == 0) continue;
      step<Body>(w, element<T, M>(in + at.in), i, center);
      ++taken;
    }
  } else {
    constexpr int UNROLL = 4;
#pragma unroll 1
    for (; i < end; i += UNROLL * lanes) {
      int64_t at[UNROLL];
      M x[UNROLL];
      places_of<UNROLL>(p, i, lanes, p.axis[p.kept].in, at);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
        if (i + u * lanes < end) x[u] = in[at[u]];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (i + u * lanes >= end) break;
        step<Body>(w, element<T, M>(&x[u]), i + u * lanes, center);
        ++taken;
      }
    }
  }
  Body::counted(w, taken);
}

// ---- sums that their states do not decide: all threads of a block read the elements again, into an integer of the whole
// range of float64. Additions of integers commute, so atomic ones are as good as ordered ones.

struct SharedSum {
  unsigned long long chunk[exact_sums::chunks];
  int special;  // bit 0: NaN, bit 1: infinity, bit 2: negative infinity
};

DLT_FN void add_shared(SharedSum* sum, double x) {
  exact_sums::Placed put;
  if (!exact_sums::placed(x, &put)) {
    atomicOr(&sum->special, x != x ? 1 : x > 0 ? 2 : 4);
    return;
  }
  // 84 bits in three words of 32, so that carries can wait for 2^30 additions. `upper` is negative where `lower` is.
  const int64_t middle = put.upper % (int64_t(1) << 32), top = put.upper / (int64_t(1) << 32);
  atomicAdd(&sum->chunk[put.place], static_cast<unsigned long long>(put.lower));
  atomicAdd(&sum->chunk[put.place + 1], static_cast<unsigned long long>(middle));
  if (top != 0) atomicAdd(&sum->chunk[put.place + 2], static_cast<unsigned long long>(top));
}

DLT_FAR_FN void take_shared(const SharedSum* sum, exact_sums::Accumulator* a) {
  DLT_ROLLED
  for (int k = 0; k < exact_sums::chunks; ++k) a->chunk[k] = int64_t(sum->chunk[k]);
  a->nan = (sum->special & 1) != 0;
  a->positive = (sum->special & 2) != 0;
  a->negative = (sum->special & 4) != 0;
  exact_sums::carry(a);
}

DLT_FAR_FN void clear_shared(SharedSum* sum) {
  DLT_ROLLED
  for (int c = 0; c < exact_sums::chunks; ++c) sum->chunk[c] = 0;
  sum->special = 0;
}
DLT_FAR_FN void carry_shared(SharedSum* sum) {
  exact_sums::Accumulator a;
  take_shared(sum, &a);
  DLT_ROLLED
  for (int c = 0; c < exact_sums::chunks; ++c) sum->chunk[c] = static_cast<unsigned long long>(a.chunk[c]);
}

template <class Body, class M, class R, int DIMS, bool MASKED>
DLT_FN void sum_again(const Reduce<DIMS>& p, uint64_t result, double count) {
  using parts = typename Body::parts;
  using F = typename parts_of<R>::type;
  constexpr uint64_t most = uint64_t(1) << 28;  // additions until carries must be passed on
  __shared__ SharedSum sum;
  const Place<DIMS> base = Place<DIMS>::of(p, 0, p.kept, result);
  const M* const in = static_cast<const M*>(p.in) + base.in;
  const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
  R* const out = static_cast<R*>(p.out) + base.out;
  for (int k = 0; k < parts::count; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) clear_shared(&sum);
#pragma unroll 1
    for (uint64_t begin = 0; begin < p.count; begin += most) {
      __syncthreads();
      const uint64_t end = p.count - begin < most ? p.count : begin + most;
#pragma unroll 1
      for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
        if (MASKED && mask[at.mask] == 0) continue;
        add_shared(&sum, parts::part(element<typename Body::type, M>(in + at.in), k));
      }
      __syncthreads();
      if (threadIdx.x == 0) carry_shared(&sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      exact_sums::Accumulator a;
      take_shared(&sum, &a);
      if (p.has_initial) exact_sums::add(&a, Body::first_part(p.initial, k));
      const F value = exact_sums::round_accumulator<F>(&a, Body::mean ? uint64_t(count) : 1);
      parts_of<R>::put(out, k, value);
    }
  }
  __syncthreads();
}

template <class Body, class M, class R, int DIMS, bool MASKED>
DLT_FN void moments_again(const Reduce<DIMS>& p, uint64_t result, double count) {
  using parts = typename Body::parts;
  constexpr uint64_t most = uint64_t(1) << 28;
  __shared__ SharedSum sums[2];
  const Place<DIMS> base = Place<DIMS>::of(p, 0, p.kept, result);
  const M* const in = static_cast<const M*>(p.in) + base.in;
  const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
  exact_sums::Natural total;  // of the first thread
  total.count = 0;
  bool finite = true;
  for (int k = 0; k < parts::count; ++k) {
    __syncthreads();
    if (threadIdx.x < 2) clear_shared(&sums[threadIdx.x]);
#pragma unroll 1
    for (uint64_t begin = 0; begin < p.count; begin += most) {
      __syncthreads();
      const uint64_t end = p.count - begin < most ? p.count : begin + most;
#pragma unroll 1
      for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
        if (MASKED && mask[at.mask] == 0) continue;
        const double x = parts::part(element<typename Body::type, M>(in + at.in), k);
        add_shared(&sums[0], x);
        add_shared(&sums[1], x * x);
      }
      __syncthreads();
      if (threadIdx.x < 2) carry_shared(&sums[threadIdx.x]);
    }
    __syncthreads();
    if (threadIdx.x == 0 && finite) {
      exact_sums::Accumulator sum, squares;
      take_shared(&sums[0], &sum);
      take_shared(&sums[1], &squares);
      finite = exact_sums::add_moments(&sum, &squares, uint64_t(count), &total);
    }
  }
  if (threadIdx.x == 0)
    static_cast<R*>(p.out)[base.out] = finite ? exact_sums::round_quotient<R>(&total, -2150, uint64_t(count),
                                                                              count - p.correction, p.root != 0)
                                              : from<R>(exact_sums::not_a_number());
  __syncthreads();
}

// Calls take(x) with a part of each element of a result; `sums` are carried on the way.
template <class Body, class M, int SUMS, int DIMS, bool MASKED, class F>
DLT_FN void each_part(const Reduce<DIMS>& p, const Place<DIMS>& base, int part, SharedSum* sums, F take) {
  constexpr uint64_t most = uint64_t(1) << 28;
  const M* const in = static_cast<const M*>(p.in) + base.in;
  const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
#pragma unroll 1
  for (uint64_t begin = 0; begin < p.count; begin += most) {
    __syncthreads();
    const uint64_t end = p.count - begin < most ? p.count : begin + most;
#pragma unroll 1
    for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
      if (MASKED && mask[at.mask] == 0) continue;
      take(Body::parts::part(element<typename Body::type, M>(in + at.in), part));
    }
    __syncthreads();
    if (threadIdx.x < SUMS) carry_shared(&sums[threadIdx.x]);
  }
  __syncthreads();
}

// Does as the CPU's end_deviations() where two words do not decide: the exact sum of squares; where the mean is so far from 0
// that its own rounding shows, less what that adds; where squares leave float64's range, of elements times a power of two.
template <class Body, class M, class R, int DIMS, bool MASKED>
DLT_FN void deviations_again(const Reduce<DIMS>& p, uint64_t result, double count) {
  using namespace exact_sums;
  constexpr int parts = Body::parts::count;
  __shared__ SharedSum sums[2];  // of elements, of squares
  __shared__ unsigned long long largest;
  __shared__ int differs, scaled;
  __shared__ double middle;
  const Place<DIMS> base = Place<DIMS>::of(p, 0, p.kept, result);
  R* const out = static_cast<R*>(p.out) + base.out;
  const double divisor = count - p.correction;
  double center[2] = {}, rest[2] = {};
  read_center<Body>(p, base, center);
  __syncthreads();
  if (threadIdx.x == 0) {
    clear_shared(&sums[1]);
    largest = 0;
    differs = 0;
  }
  for (int k = 0; k < parts; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) clear_shared(&sums[0]);
    each_part<Body, M, 2, DIMS, MASKED>(p, base, k, sums, [&](double x) {
      const Pair square = square_of(x, center[k]);
      add_shared(&sums[0], x);
      add_shared(&sums[1], square.high);
      add_shared(&sums[1], square.low);
      atomicMax(&largest, static_cast<unsigned long long>(bits_as<uint64_t>(magnitude_of(x))));
      if (x != center[k]) atomicOr(&differs, 1);
    });
    if (threadIdx.x == 0) {
      Accumulator sum;
      take_shared(&sums[0], &sum);
      const double times = count * center[k];
      add(&sum, -times);
      add(&sum, -fused(count, center[k], -times));
      rest[k] = round_accumulator<double>(&sum, 1);
    }
  }
  if (threadIdx.x == 0) {
    Accumulator squares;
    Natural size;
    double ignored;
    take_shared(&sums[1], &squares);
    scaled = 1;
    if (!special(squares, &ignored)) {
      Accumulator all = squares;
      double variance = 0;
      if (!magnitude(&all, &size)) variance = round_quotient<double>(&size, -1075, 1, divisor, false);
      if (variance > 0x1p-800 && variance < 0x1p900) {
        scaled = 0;
        if (!Body::is_plain(variance, center))
          for (int k = 0; k < parts; ++k) add(&squares, -(rest[k] * rest[k] / count));
        *out = magnitude(&squares, &size) ? from<R>(0.0) : round_quotient<R>(&size, -1075, 1, divisor, p.root != 0);
      }
    }
    const double most = bits_as<double>(uint64_t(largest));
    if (scaled && (!ops::isfinite(most) || !differs || most == 0)) {
      *out = from<R>(ops::isfinite(most) ? 0.0 : not_a_number());
      scaled = 0;
    }
    clear_shared(&sums[1]);
  }
  __syncthreads();
  if (scaled == 0) return;
  const int exponent = int(uint64_t(largest) >> 52) - 1023;  // at most -1023 for subnormals
  const int up = exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent;
  const double scale = power_of_two(up);
  for (int k = 0; k < parts; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) clear_shared(&sums[0]);
    each_part<Body, M, 2, DIMS, MASKED>(p, base, k, sums, [&](double x) { add_shared(&sums[0], x * scale); });
    if (threadIdx.x == 0) {
      Accumulator sum;
      take_shared(&sums[0], &sum);
      middle = round_accumulator<double>(&sum, uint64_t(count));
    }
    __syncthreads();
    each_part<Body, M, 2, DIMS, MASKED>(p, base, k, sums, [&](double x) {
      const Pair square = square_of(x * scale, middle);
      add_shared(&sums[1], square.high);
      add_shared(&sums[1], square.low);
    });
  }
  if (threadIdx.x == 0) {
    Accumulator squares;
    Natural size;
    take_shared(&sums[1], &squares);
    magnitude(&squares, &size);
    *out = round_quotient<R>(&size, -1075 - 2 * up, 1, divisor, p.root != 0);
  }
  __syncthreads();
}

template <class Body>
struct has_squares {
  static constexpr bool value = false;
};
template <class T>
struct has_squares<exact_moments<T>> {
  static constexpr bool value = true;
};

template <class Body, class M, class R, int DIMS, bool MASKED>
DLT_FAR_FN void read_again(const Reduce<DIMS>& p, uint64_t result, double count) {
  if constexpr (has_center<Body>::value) deviations_again<Body, M, R, DIMS, MASKED>(p, result, count);
  else if constexpr (has_squares<Body>::value) moments_again<Body, M, R, DIMS, MASKED>(p, result, count);
  else sum_again<Body, M, R, DIMS, MASKED>(p, result, count);
}

// ---- results

// Writes a result whose state is complete. False: it has to be summed again.
template <class Body, class R, int DIMS>
DLT_FN bool finish(const Reduce<DIMS>& p, uint64_t result, typename Body::word* w) {
  const Place<DIMS> place = Place<DIMS>::of(p, 0, p.kept, result);
  double center[2] = {};
  read_center<Body>(p, place, center);
  if (p.has_initial) {
    typename Body::word one[Body::members];
    Body::start(one);
    Body::put_first(one, p.initial);
    Body::counted(one, 1);
    Body::join(w, one);
  }
  R value{};
  const bool known = Body::end(w, Ending{p.correction, p.root != 0, center}, &value);
  if (known) static_cast<R*>(p.out)[place.out] = value;
  return known;
}

inline constexpr int threads = 256;

// Joins the states of adjacent threads, `width` of them at a time a power of two: the first of each gets all.
template <class Body>
DLT_FN void join_tree(typename Body::word* states, unsigned slot, unsigned lane, unsigned lanes, typename Body::word* w) {
  using word = typename Body::word;
  for (int m = 0; m < Body::members; ++m) states[slot * Body::members + m] = w[m];
#pragma unroll 1
  for (unsigned width = lanes / 2; width > 0; width /= 2) {
    __syncthreads();
    if (lane >= width) continue;
    word other[Body::members];
    for (int m = 0; m < Body::members; ++m) other[m] = states[(slot + width) * Body::members + m];
    Body::join(w, other);
    for (int m = 0; m < Body::members; ++m) states[slot * Body::members + m] = w[m];
  }
}

// A block takes `columns` results and a part of their elements, with `lanes` threads each. Adjacent threads are lanes, or
// columns where results lie closer in memory than elements.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) partial(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];  // the number of elements of each result that has to be summed again
  static_assert(threads == 1 << 8);
  const unsigned lanes = 1u << p.lane_bits, columns = threads >> p.lane_bits;
  const unsigned lane = p.across ? threadIdx.x >> (8 - p.lane_bits) : threadIdx.x & (lanes - 1);
  const unsigned column = p.across ? threadIdx.x & (columns - 1) : threadIdx.x >> p.lane_bits;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    uint64_t group;
    const uint64_t part = divide(p.groups, tile, &group);
    const uint64_t result = group * columns + column;
    const bool there = result < p.results;
    const uint64_t begin = part * p.part, end = p.count - begin < p.part ? p.count : begin + p.part;
    word w[Body::members];
    Body::start(w);
    if (there) reduce_elements<Body, M, DIMS, MASKED>(p, Place<DIMS>::of(p, 0, p.kept, result), begin, end, lane, lanes, w);
    join_tree<Body>(states, column * lanes + lane, lane, lanes, w);
    bool known = true;
    if (lane == 0 && there) {
      if (p.parts > 1) {
        word* const to = static_cast<word*>(p.states) + (result * p.parts + part) * Body::members;
        for (int m = 0; m < Body::members; ++m) to[m] = w[m];
      } else {
        known = finish<Body, R, DIMS>(p, result, w);
      }
    }
    if constexpr (Body::reads_again) {
      if (lane == 0) undecided[column] = known ? -1 : double(w[Body::members - 1]);
      __syncthreads();
#pragma unroll 1
      for (unsigned c = 0; c < columns; ++c)
        if (undecided[c] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, group * columns + c, undecided[c]);
    }
    __syncthreads();
  }
}

// Results that lie closer than their elements, in wide rows: a thread takes reduce_columns adjacent ones, whose elements it reads
// together. The rest is as in `partial`.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) columns(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  using T = typename Body::type;
  constexpr int WIDE = reduce_columns, UNROLL = sizeof(M) <= 2 ? 8 : 4;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];
  const unsigned lanes = 1u << p.lane_bits, groups = threads >> p.lane_bits;
  const unsigned lane = threadIdx.x >> (8 - p.lane_bits), own = threadIdx.x & (groups - 1);
  const bool aligned = (reinterpret_cast<uint64_t>(p.in) & (sizeof(M) * WIDE - 1)) == 0;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    uint64_t group;
    const uint64_t part = divide(p.groups, tile, &group);
    const uint64_t result = (group * groups + own) * WIDE;
    const bool there = result < p.results;
    const uint64_t begin = part * p.part, end = p.count - begin < p.part ? p.count : begin + p.part;
    word w[WIDE][Body::members];
#pragma unroll
    for (int c = 0; c < WIDE; ++c) Body::start(w[c]);
    if (there) {
      const M* const in = static_cast<const M*>(p.in) + Place<DIMS>::of(p, 0, p.kept, result).in;
      uint64_t taken = 0;
#pragma unroll 1
      for (uint64_t i = begin + lane; i < end; i += UNROLL * lanes) {
        int64_t at[UNROLL];
        Pack<M, WIDE> x[UNROLL];
        places_of<UNROLL>(p, i, lanes, p.axis[p.kept].in, at);
        // All reads are under way before the first is needed: none depends on a branch of its own.
#pragma unroll
        for (int u = 1; u < UNROLL; ++u)
          if (i + u * lanes >= end) at[u] = at[0];
        if (aligned) {
#pragma unroll
          for (int u = 0; u < UNROLL; ++u) x[u] = *reinterpret_cast<const Pack<M, WIDE>*>(in + at[u]);
        } else {
#pragma unroll
          for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int c = 0; c < WIDE; ++c) x[u].at[c] = in[at[u] + c];
        }
        if constexpr (takes_packs<Body>::value) {
          if (i + (UNROLL - 1) * lanes < end) {
#pragma unroll
            for (int c = 0; c < WIDE; ++c) {
              typename computed<T>::type held[UNROLL];
#pragma unroll
              for (int u = 0; u < UNROLL; ++u) held[u] = element<T, M>(&x[u].at[c]);
              step_several<Body, UNROLL>(w[c], held, i, lanes);
            }
            taken += UNROLL;
            continue;
          }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if (i + u * lanes >= end) break;
#pragma unroll
          for (int c = 0; c < WIDE; ++c) Body::step(w[c], element<T, M>(&x[u].at[c]), int64_t(i + u * lanes));
          ++taken;
        }
      }
#pragma unroll
      for (int c = 0; c < WIDE; ++c) Body::counted(w[c], taken);
    }
#pragma unroll
    for (int c = 0; c < WIDE; ++c) {
      __syncthreads();
      join_tree<Body>(states, own * lanes + lane, lane, lanes, w[c]);
    }
#pragma unroll 1
    for (int c = 0; c < WIDE; ++c) {
      word* state = w[0];
      if (c > 0) {
#pragma unroll
        for (int k = 1; k < WIDE; ++k)
          if (c == k)
            for (int m = 0; m < Body::members; ++m) w[0][m] = w[k][m];
      }
      bool known = true;
      if (lane == 0 && there) {
        if (p.parts > 1) {
          word* const to = static_cast<word*>(p.states) + ((result + c) * p.parts + part) * Body::members;
          for (int m = 0; m < Body::members; ++m) to[m] = state[m];
        } else {
          known = finish<Body, R, DIMS>(p, result + c, state);
        }
      }
      if constexpr (Body::reads_again) {
        __syncthreads();
        if (lane == 0) undecided[own] = known ? -1 : double(state[Body::members - 1]);
        __syncthreads();
#pragma unroll 1
        for (unsigned k = 0; k < groups; ++k)
          if (undecided[k] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, (group * groups + k) * WIDE + c, undecided[k]);
      }
    }
    __syncthreads();
  }
}

// A block takes the parts of some results: as many threads have one as it has parts, to a power of two.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) joined(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];
  unsigned lanes = 1;
  while (lanes < threads && lanes < p.parts) lanes *= 2;
  const unsigned columns = threads / lanes, lane = threadIdx.x & (lanes - 1), column = threadIdx.x / lanes;
  for (uint64_t first = uint64_t(blockIdx.x) * columns; first < p.results; first += uint64_t(gridDim.x) * columns) {
    const uint64_t result = first + column;
    const bool there = result < p.results;
    const word* const from = static_cast<const word*>(p.states) + result * p.parts * Body::members;
    word w[Body::members];
    Body::start(w);
#pragma unroll 1
    for (uint64_t part = lane; there && part < p.parts; part += lanes) {
      word other[Body::members];
      for (int m = 0; m < Body::members; ++m) other[m] = from[part * Body::members + m];
      Body::join(w, other);
    }
    join_tree<Body>(states, threadIdx.x, lane, lanes, w);
    bool known = true;
    if (lane == 0 && there) known = finish<Body, R, DIMS>(p, result, w);
    if constexpr (Body::reads_again) {
      if (lane == 0) undecided[column] = known ? -1 : double(w[Body::members - 1]);
      __syncthreads();
#pragma unroll 1
      for (unsigned c = 0; c < columns; ++c)
        if (undecided[c] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, first + c, undecided[c]);
    }
    __syncthreads();
  }
}

// The same for products of floats: each thread multiplies the blocks of a group in order, the first thread the groups.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) joined_in_order(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  constexpr uint64_t blocks = reductions::product_group / reductions::product_block;
  __shared__ word states[threads];
  for (uint64_t result = blockIdx.x; result < p.results; result += gridDim.x) {
    const word* const from = static_cast<const word*>(p.states) + result * p.parts;
    word total[1];
    Body::start(total);
    for (uint64_t first = 0; first < p.parts; first += blocks * threads) {
      word group[1];
      Body::start(group);
      const uint64_t begin = first + threadIdx.x * blocks;
#pragma unroll 1
      for (uint64_t part = begin; part < begin + blocks && part < p.parts; ++part) Body::join(group, from + part);
      states[threadIdx.x] = group[0];
      __syncthreads();
      if (threadIdx.x == 0)
#pragma unroll 1
        for (uint64_t k = 0; k < threads && first + k * blocks < p.parts; ++k) Body::join(total, states + k);
      __syncthreads();
    }
    if (threadIdx.x == 0) finish<Body, R, DIMS>(p, result, total);
  }
}

}  // namespace dlt::kernels::reduce
