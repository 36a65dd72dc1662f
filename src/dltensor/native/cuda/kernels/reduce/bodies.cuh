// SPDX-License-Identifier: Apache-2.0
// Bodies of reductions for kernels, over native/ops/reduce/reductions.h: integers, comparisons, and products. Exact sums of
// floats are in exact_bodies.cuh.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/reduce/exact_moments.h"
#include "native/ops/reduce/reductions.h"

namespace dlt::kernels::reduce {

// An element as it is computed.
template <class T, class M>
DLT_FN auto element(const M* in) {
  if constexpr (is_same<T, M>::value) return computed<T>::in(*in);
  else return computed<T>::in(convert<T, false, false, M>(*in));
}

// Arguments of `end` besides the state.
struct Ending {
  double correction;
  bool root;
  const double* center;  // of deviations, one for each part
};

// Bytes of which four are handled as a word: how a body takes them.
enum class Bytes { none, sum, sum_of_signed, count, some, every };
template <class T>
inline constexpr bool is_byte = is_same<T, boolean>::value || is_same<T, uint8_t>::value || is_same<T, int8_t>::value;
template <class T, Bytes HOW>
inline constexpr Bytes if_byte = is_byte<T> ? HOW : Bytes::none;
template <class T>
inline constexpr Bytes sum_of_bytes = is_same<T, boolean>::value   ? Bytes::count
                                      : is_same<T, uint8_t>::value ? Bytes::sum
                                      : is_same<T, int8_t>::value  ? Bytes::sum_of_signed
                                                                   : Bytes::none;

// The second reading of the elements of a result that its state does not decide.
enum class Again { never, sum, moments, deviations };

// ---- bodies: a state, and the result that it becomes. `end` returns false when elements have to be read again. Where a
// state holds the number of its elements, `counted` adds to that, and `step` does not. `put_first` adds the initial value of
// a call. The defaults of their constants:

struct body {
  static constexpr Again again = Again::never;
  static constexpr bool takes_packs = false;  // `step_pack` takes several elements at once
  static constexpr bool takes_batches = false;  // `step_batch` takes more of them, which it may read again
  static constexpr bool takes_halves = false;   // `farther` of two words with two elements each
  static constexpr bool is_ordered = false;   // elements are taken one by one
  static constexpr Bytes bytes = Bytes::none;
};

struct without_initial : body {
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

template <class BODY, class T, Bytes BYTES = Bytes::none, class FIRST = BODY, class X = T>
struct plain_of : body, BODY {
  using type = T;
  static constexpr Bytes bytes = BYTES;
  DLT_FN static void put_first(typename BODY::word* w, const Immediate& first) {
    FIRST::step(w, computed<X>::in(immediate<X>(first)), 0);
  }
  DLT_FN static void counted(typename BODY::word*, uint64_t) {}
  template <class R>
  DLT_FN static bool end(const typename BODY::word* w, const Ending&, R* out) {
    return *out = as_element<R>(BODY::end(w)), true;
  }
};
#define DLT_BODY(name, BYTES) \
  template <class T>          \
  struct name : plain_of<reductions::name<typename computed<T>::type>, T, if_byte<T, Bytes::BYTES>> {};
DLT_BODY(every, every)
DLT_BODY(some, some)
DLT_BODY(nonzero, count)
#undef DLT_BODY
#define DLT_BODY(name, BYTES)                                                                 \
  template <class T>                                                                          \
  struct name : plain_of<reductions::name<typename computed<T>::type>, T, BYTES,              \
                         reductions::name<typename widest<typename computed<T>::type>::type>, \
                         typename widest<typename computed<T>::type>::type> {};
DLT_BODY(sums, sum_of_bytes<T>)
DLT_BODY(products, Bytes::none)
DLT_BODY(saturated_products, Bytes::none)
#undef DLT_BODY

// The first extremum of several elements is found by keys of their own width, and then combined with the state.
template <class BODY, class T>
struct first_of : plain_of<BODY, T> {
  static constexpr bool takes_packs = true;
  template <int COUNT, class C>
  DLT_FN static void step_pack(typename BODY::word* w, const C* x, uint64_t index, uint64_t by) {
    auto best = BODY::key(x[0]);
    unsigned at = 0;
#pragma unroll
    for (unsigned j = 1; j < COUNT; ++j) {
      const auto k = BODY::key(x[j]);
      const bool better = k > best;
      best = better ? k : best;
      at = better ? j : at;
    }
    BODY::put(w, BODY::widened(best), int64_t(index + at * by));
  }
};
template <class T>
struct first_largest : first_of<reductions::first_largest<typename computed<T>::type>, T> {};
template <class T>
struct first_smallest : first_of<reductions::first_smallest<typename computed<T>::type>, T> {};

// Extrema. Of halves two are compared at a time, which devices do from compute capability 8.0 on: NaN wins, and 0.0 is above -0.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr bool has_packed_halves = false;
#else
inline constexpr bool has_packed_halves = true;
#endif
template <class T>
inline constexpr bool is_half = is_same<T, float16>::value || is_same<T, bfloat16>::value;

template <class T, bool GREATEST>
DLT_FN uint32_t farther_half(uint32_t a, uint32_t b) {
  const float x = to_float(T{uint16_t(a)}), y = to_float(T{uint16_t(b)});
  if (!(x == x)) return a;
  if (!(y == y)) return b;
  if (x == y) return GREATEST ? a & b : a | b;  // zeros of both signs
  return (x > y) == GREATEST ? a : b;
}
template <class T, bool GREATEST>
DLT_FN uint32_t farther_halves(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t out;
  if constexpr (is_same<T, float16>::value) {
    if constexpr (GREATEST) asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    else asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  } else {
    if constexpr (GREATEST) asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    else asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  }
  return out;
#else
  return farther_half<T, GREATEST>(a & 0xffff, b & 0xffff) | farther_half<T, GREATEST>(a >> 16, b >> 16) << 16;
#endif
}
template <class BODY, class T, bool GREATEST>
struct extremum_of : plain_of<BODY, T> {
  static constexpr bool takes_halves = has_packed_halves && is_half<T>;
  DLT_FN static uint32_t farther(uint32_t a, uint32_t b) { return farther_halves<T, GREATEST>(a, b); }
};
template <class T>
struct largest : extremum_of<reductions::largest<typename computed<T>::type>, T, true> {};
template <class T>
struct smallest : extremum_of<reductions::smallest<typename computed<T>::type>, T, false> {};

// Products of floats: each of 16 lanes multiplies every 16th element of a block, and the tree of `partial` joins the lanes;
// joined_in_order multiplies blocks to groups, and groups. As reductions::products does it.
template <class T>
struct ordered_products : body {
  using type = T;
  using P = reductions::product_of<typename computed<T>::type>;
  using word = typename P::word;
  static constexpr int members = 1;
  static constexpr bool is_ordered = true;
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
struct clamped_sums : body, reductions::wide_sums<typename computed<T>::type> {
  using type = T;
  using C = typename computed<T>::type;
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

// Integer sums, and the number of their elements.
template <class T, class SUMS>
struct integer_statistic : without_initial {
  using type = T;
  using word = uint64_t;
  static constexpr int members = SUMS::members + 1;
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

}  // namespace dlt::kernels::reduce
