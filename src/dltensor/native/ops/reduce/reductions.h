// SPDX-License-Identifier: Apache-2.0
// The bodies of the reductions of rows.h, for g++ and NVRTC. A body says how the state of one result starts, takes an element,
// joins another state and ends. Exact sums of floats are in exact_sums.h.
#pragma once
#include "native/ops/elementwise/bodies.h"
#include "native/ops/reduce/rows.h"

namespace dlt::reductions {

template <int BYTES>
struct signed_of;
template <>
struct signed_of<1> {
  using type = int8_t;
};
template <>
struct signed_of<2> {
  using type = int16_t;
};
template <>
struct signed_of<4> {
  using type = int32_t;
};
template <>
struct signed_of<8> {
  using type = int64_t;
};

// An integer for each value, in the order of the values: of floats -0.0 below 0.0, and NaN, of whatever payload, above all.
template <class T>
struct ordered {
  using type = T;
  DLT_FN static type key(T x) { return x; }
  DLT_FN static T value(type k) { return k; }
  static constexpr type lowest = range<T>::lowest, highest = range<T>::highest;
};
template <>
struct ordered<bool> {
  using type = uint8_t;
  DLT_FN static type key(bool x) { return x; }
  DLT_FN static bool value(type k) { return k != 0; }
  static constexpr type lowest = 0, highest = 1;
};
template <class F>
struct ordered_float {
  using type = typename signed_of<sizeof(F)>::type;
  using bits = typename wide<F>::bits;
  static constexpr type highest = type(~bits(0) >> 1), lowest = -highest - 1;
  DLT_FN static type turned(type k) { return k ^ ((k >> (sizeof(F) * 8 - 1)) & highest); }
  DLT_FN static type key(F x) { return x == x ? turned(bits_as<type>(x)) : highest; }
  DLT_FN static F value(type k) {
    constexpr bits nan = ((bits(1) << (sizeof(F) * 8 - 1 - wide<F>::mantissa)) * 2 - 1) << (wide<F>::mantissa - 1) & highest;
    return k == highest || k == lowest ? bits_as<F>(nan) : bits_as<F>(turned(k));
  }
};
template <>
struct ordered<float> : ordered_float<float> {};
template <>
struct ordered<double> : ordered_float<double> {};

// ---- start, step, join and end, on `members` words

template <class T>
struct largest {
  using word = typename ordered<T>::type;
  using result = T;
  static constexpr int members = 1;
  DLT_FN static void start(word* w) { w[0] = ordered<T>::lowest; }
  DLT_FN static void step(word* w, T x, int64_t) {
    const word k = ordered<T>::key(x);
    w[0] = w[0] > k ? w[0] : k;
  }
  DLT_FN static void join(word* w, const word* other) { w[0] = w[0] > other[0] ? w[0] : other[0]; }
  DLT_FN static result end(const word* w) { return ordered<T>::value(w[0]); }
};

// The key of NaN is below all here.
template <class T>
struct smallest {
  using word = typename ordered<T>::type;
  using result = T;
  static constexpr int members = 1;
  DLT_FN static word key(T x) {
    if constexpr (is_float<T>) return x == x ? ordered<T>::key(x) : ordered<T>::lowest;
    else return ordered<T>::key(x);
  }
  DLT_FN static void start(word* w) { w[0] = ordered<T>::highest; }
  DLT_FN static void step(word* w, T x, int64_t) {
    const word k = key(x);
    w[0] = w[0] < k ? w[0] : k;
  }
  DLT_FN static void join(word* w, const word* other) { w[0] = w[0] < other[0] ? w[0] : other[0]; }
  DLT_FN static result end(const word* w) { return ordered<T>::value(w[0]); }
};

// The best key and its index. What is greatest in one order is least in the other: keys are complemented.
template <class T, bool GREATEST>
struct first_extreme {
  using word = int64_t;
  using result = int64_t;
  using key_type = typename ordered<T>::type;
  static constexpr int members = 2;
  static constexpr bool greatest = GREATEST;
  DLT_FN static key_type key(T x) {
    key_type k = ordered<T>::key(x);
    if constexpr (is_float<T>) {
      // -0.0 becomes 0.0: equal values have equal keys.
      k = ordered<T>::key(x + T(0));
      if constexpr (!GREATEST) k = x == x ? k : ordered<T>::lowest;
    }
    return GREATEST ? k : key_type(~k);
  }
  DLT_FN static word widened(key_type k) {
    if constexpr (sizeof(k) == 8 && !range<key_type>::is_signed) return word(k ^ (key_type(1) << 63));
    else return word(k);
  }
  DLT_FN static void start(word* w) {
    w[0] = range<int64_t>::lowest;
    w[1] = range<int64_t>::highest;
  }
  DLT_FN static void put(word* w, word k, word index) {
    const bool better = (k > w[0]) | ((k == w[0]) & (index < w[1]));
    w[0] = better ? k : w[0];
    w[1] = better ? index : w[1];
  }
  DLT_FN static void step(word* w, T x, int64_t index) { put(w, widened(key(x)), index); }
  DLT_FN static void join(word* w, const word* other) { put(w, other[0], other[1]); }
  DLT_FN static result end(const word* w) { return w[1]; }
};
template <class T>
struct first_largest : first_extreme<T, true> {};
template <class T>
struct first_smallest : first_extreme<T, false> {};

template <class T>
struct every {
  using word = uint8_t;
  using result = bool;
  static constexpr int members = 1;
  DLT_FN static void start(word* w) { w[0] = 1; }
  DLT_FN static void step(word* w, T x, int64_t) { w[0] = uint8_t(w[0] & uint8_t(ops::truth(x))); }
  DLT_FN static void join(word* w, const word* other) { w[0] = uint8_t(w[0] & other[0]); }
  DLT_FN static result end(const word* w) { return w[0] != 0; }
};

template <class T>
struct some {
  using word = uint8_t;
  using result = bool;
  static constexpr int members = 1;
  DLT_FN static void start(word* w) { w[0] = 0; }
  DLT_FN static void step(word* w, T x, int64_t) { w[0] = uint8_t(w[0] | uint8_t(ops::truth(x))); }
  DLT_FN static void join(word* w, const word* other) { w[0] = uint8_t(w[0] | other[0]); }
  DLT_FN static result end(const word* w) { return w[0] != 0; }
};

template <class T>
struct nonzero {
  using word = int64_t;
  using result = int64_t;
  static constexpr int members = 1;
  DLT_FN static void start(word* w) { w[0] = 0; }
  DLT_FN static void step(word* w, T x, int64_t) { w[0] += ops::truth(x); }
  DLT_FN static void join(word* w, const word* other) { w[0] += other[0]; }
  DLT_FN static result end(const word* w) { return w[0]; }
};

// Sums of bools and integers: 64 bits, which wrap.
template <class T>
struct sums {
  using word = uint64_t;
  using result = typename signed_of<8>::type;
  static constexpr int members = 1;
  DLT_FN static void start(word* w) { w[0] = 0; }
  DLT_FN static void step(word* w, T x, int64_t) { w[0] += word(x); }
  DLT_FN static void join(word* w, const word* other) { w[0] += other[0]; }
  DLT_FN static result end(const word* w) { return result(w[0]); }
};

// The exact sum of integers in 128 bits, the low word first.
template <class T>
struct wide_sums {
  using word = uint64_t;
  static constexpr int members = 2;
  DLT_FN static void start(word* w) { w[0] = w[1] = 0; }
  DLT_FN static void put(word* w, word low, word high) {
    const word sum = w[0] + low;
    w[1] += high + (sum < low);
    w[0] = sum;
  }
  DLT_FN static void step(word* w, T x, int64_t) {
    if constexpr (is_bool<T> || !range<T>::is_signed) put(w, word(x), 0);
    else put(w, word(x), word(int64_t(x) >> 63));
  }
  DLT_FN static void join(word* w, const word* other) { put(w, other[0], other[1]); }
};

// The exact sum of integers of 32 or 64 bits in two words, as wide_sums has it, and that of their squares in three.
template <class T>
struct wide_moments {
  using sum = wide_sums<T>;
  using word = uint64_t;
  static constexpr int members = 5;
  DLT_FN static void start(word* w) {
    for (int m = 0; m < members; ++m) w[m] = 0;
  }
  DLT_FN static void put(word* w, word low, word middle, word high) {
    w[2] += low;
    const word carry = w[2] < low, sum = w[3] + middle;
    w[3] = sum + carry;
    w[4] += high + (sum < middle) + (w[3] < sum);
  }
  DLT_FN static void step(word* w, T x, int64_t index) {
    sum::step(w, x, index);
    const word size = range<T>::is_signed && x < 0 ? word(0) - word(x) : word(x);
    if constexpr (sizeof(T) == 4) {
      put(w, size * size, 0, 0);
    } else {
      // The square of the halves a and b: a^2 2^64 + 2 a b 2^32 + b^2.
      constexpr word half = 0xffffffff;
      const word a = size >> 32, b = size & half, both = a * b;
      const word first = both + (b * b >> 32), second = both + (first & half);
      put(w, size * size, a * a + (first >> 32) + (second >> 32), 0);
    }
  }
  DLT_FN static void join(word* w, const word* other) {
    sum::join(w, other);
    put(w, other[2], other[3], other[4]);
  }
};

// Products of floats depend on their order, so that is fixed: element i of the logical order goes into lane i % 16; after
// every block of 4096 elements the lanes are joined pairwise and the block joins its group of 64; groups join the total.
// float32 and narrower are multiplied as float64, and rounded once at the end.
inline constexpr int product_lanes = 16;
inline constexpr int64_t product_block = 4096, product_group = 64 * product_block;
template <class T>
struct product_of {
  using word = uint64_t;
  static constexpr bool in_order = false;
  DLT_FN static word one() { return 1; }
  DLT_FN static word factor(T x) { return word(x); }
  DLT_FN static word times(word a, word b) { return a * b; }
  DLT_FN static word plain(word a) { return a; }
};
// The processor decides which of two NaNs a product keeps: at the end it becomes the one of positive sign.
DLT_FN double plain_nan(double a) { return a == a ? a : bits_as<double>(uint64_t(0x7ff8) << 48); }
template <class F>
struct product_of_floats {
  using word = double;
  static constexpr bool in_order = true;
  DLT_FN static word one() { return 1; }
  DLT_FN static word factor(F x) { return double(x); }
  DLT_FN static word times(word a, word b) { return a * b; }
  DLT_FN static word plain(word a) { return plain_nan(a); }
};
template <>
struct product_of<float> : product_of_floats<float> {};
template <>
struct product_of<double> : product_of_floats<double> {};
template <class F>
struct product_of<complex_of<F>> {
  using word = complex128;
  static constexpr bool in_order = true;
  DLT_FN static word one() { return {1, 0}; }
  DLT_FN static word factor(complex_of<F> x) { return {double(x.re), double(x.im)}; }
  DLT_FN static word plain(word a) { return {plain_nan(a.re), plain_nan(a.im)}; }
  // By 1 nothing changes: infinite parts would become NaN by way of 0.
  DLT_FN static word times(word a, word b) {
    if (a.re == 1 && a.im == 0) return b;
    return b.re == 1 && b.im == 0 ? a : ops::multiply(a, b);
  }
};

// Words of a product in order: lanes, the group that is open, the total.
template <class T>
struct products {
  using P = product_of<T>;
  using word = typename P::word;
  using result = word;
  static constexpr int members = P::in_order ? product_lanes + 2 : 1;
  DLT_FN static void start(word* w) {
    for (int k = 0; k < members; ++k) w[k] = P::one();
  }
  // Before element `index` is taken: what is full goes one step up.
  DLT_FN static void close(word* w, int64_t index) {
    if (index % product_block != 0) return;
    for (int width = product_lanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) w[k] = P::times(w[k], w[k + width]);
    word* group = w + product_lanes;
    group[0] = P::times(group[0], w[0]);
    for (int k = 0; k < product_lanes; ++k) w[k] = P::one();
    if (index % product_group != 0) return;
    group[1] = P::times(group[1], group[0]);
    group[0] = P::one();
  }
  DLT_FN static void step(word* w, T x, int64_t) { w[0] = P::times(w[0], P::factor(x)); }
  // `other` is what whole groups that follow have come to.
  DLT_FN static void join(word* w, const word* other) {
    if constexpr (P::in_order) {
      word rest[members];
      for (int k = 0; k < members; ++k) rest[k] = other[k];
      close(w, 0);
      close(rest, 0);
      w[product_lanes + 1] = P::times(w[product_lanes + 1], rest[product_lanes + 1]);
    } else {
      w[0] = P::times(w[0], other[0]);
    }
  }
  DLT_FN static result end(const word* w) {
    if constexpr (P::in_order) {
      word rest[members];
      for (int k = 0; k < members; ++k) rest[k] = w[k];
      close(rest, 0);
      return P::plain(rest[product_lanes + 1]);
    } else {
      return w[0];
    }
  }
};

// The exact product of integers, clamped: its size in two words as far as 2^127, and whether it is negative.
template <class T>
struct saturated_products {
  using word = uint64_t;
  using result = T;
  static constexpr int members = 2;
  static constexpr uint64_t far = uint64_t(1) << 63;
  DLT_FN static void start(word* w) {
    w[0] = 1;
    w[1] = 0;
  }
  // Beyond 64 bits only a 0 brings a product back. Bit 0 of w[1]: negative; bit 1: beyond.
  DLT_FN static void put(word* w, uint64_t size, uint64_t sign, bool beyond) {
    const bool zero = size == 0 || w[0] == 0;
    const bool over = !zero && (beyond || (w[1] & 2) != 0 || size > ~uint64_t(0) / (w[0] == 0 ? 1 : w[0]));
    w[0] = zero ? 0 : over ? 1 : w[0] * size;
    w[1] = ((w[1] ^ sign) & 1) | (over ? 2 : 0);
  }
  DLT_FN static void step(word* w, T x, int64_t) {
    if constexpr (is_bool<T> || !range<T>::is_signed) put(w, uint64_t(x), 0, false);
    else put(w, x < 0 ? uint64_t(0) - uint64_t(x) : uint64_t(x), x < 0, false);
  }
  DLT_FN static void join(word* w, const word* other) { put(w, other[0], other[1] & 1, (other[1] & 2) != 0); }
  DLT_FN static result end(const word* w) {
    if constexpr (is_bool<T>) {
      return w[0] != 0;
    } else {
      const bool negative = (w[1] & 1) != 0;
      if (w[1] & 2) return negative ? range<T>::lowest : range<T>::highest;
      if (!negative) return clamp_integer<T>(w[0]);
      return w[0] >= far ? range<T>::lowest : clamp_integer<T>(-int64_t(w[0]));
    }
  }
};

}  // namespace dlt::reductions
