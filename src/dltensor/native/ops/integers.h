// SPDX-License-Identifier: Apache-2.0
// Integers that clamp, and integers of 64 bits on their way to a float: for g++ and NVRTC. No floats' layouts here.
#pragma once
#include "native/ops/floats.h"

namespace dlt {

template <class A, class B>
struct is_same {
  static constexpr bool value = false;
};
template <class A>
struct is_same<A, A> {
  static constexpr bool value = true;
};

template <class T>
struct range {
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr T highest = is_signed ? T(~(uint64_t(1) << (sizeof(T) * 8 - 1)) & (~uint64_t(0) >> (64 - 8 * sizeof(T))))
                                         : T(~T(0));
  static constexpr T lowest = is_signed ? T(-highest - 1) : T(0);
};

// The nearest value that T has. `wide` is any integer type.
template <class T, class W>
DLT_FN T clamp_integer(W wide) {
  if constexpr (range<W>::is_signed == range<T>::is_signed) {
    if constexpr (sizeof(W) <= sizeof(T)) return T(wide);
    else return T(wide < W(range<T>::lowest) ? W(range<T>::lowest) : wide > W(range<T>::highest) ? W(range<T>::highest) : wide);
  } else if constexpr (range<W>::is_signed) {
    const W positive = wide < 0 ? W(0) : wide;
    if constexpr (sizeof(W) <= sizeof(T)) return T(positive);
    else return T(positive > W(range<T>::highest) ? W(range<T>::highest) : positive);
  } else {
    if constexpr (sizeof(W) < sizeof(T)) return T(wide);
    else return T(wide > W(range<T>::highest) ? W(range<T>::highest) : wide);
  }
}

// Toward zero, clamped, NaN to 0.
template <class T, class F>
DLT_FN T clamp_float(F value) {
  // The largest F that T holds, written so that no rounding can carry it past T's range.
  constexpr int digits = int(sizeof(T)) * 8 - (range<T>::is_signed ? 1 : 0);
  constexpr int places = wide<F>::mantissa + 1;
  constexpr F top = digits <= places
                        ? F(range<T>::highest)
                        : F(range<T>::highest & T(~((uint64_t(1) << (digits > places ? digits - places : 0)) - 1)));
  constexpr F bottom = F(range<T>::lowest);
  // Selections apart from each other, in the order of the operands of minimum and maximum instructions: g++ makes vectors of them.
  const F above = value > bottom ? value : bottom;  // NaN becomes the lower bound, which is 0 of unsigned types
  const F inside = above < top ? above : top;
  T converted;
  if constexpr (sizeof(T) < 4) converted = T(int32_t(inside));
  else converted = T(inside);
  if constexpr (digits > places) converted = value > top ? range<T>::highest : converted;
  if constexpr (range<T>::is_signed) converted = value == value ? converted : T(0);
  return converted;
}

// The double nearest to `value`, or, where there is none, the neighbour whose last bit is 1: rounding that to fewer
// digits then gives what rounding the integer itself would have given.
DLT_FN double to_odd(uint64_t value) {
  // Small values fit into 53 bits; otherwise the low 11 bits become one sticky bit.
  const uint64_t folded = (value & ~uint64_t(0x7ff)) | ((value & 0x7ff) != 0 ? uint64_t(0x800) : uint64_t(0));
  return double(value >> 53 ? folded : value);
}
DLT_FN double to_odd(int64_t value) {
  const uint64_t magnitude = value < 0 ? uint64_t(0) - uint64_t(value) : uint64_t(value);
  const double wide = to_odd(magnitude);
  return value < 0 ? -wide : wide;
}

}  // namespace dlt

// The integer types of arithmetic. Row: type, name.
// clang-format off
#define DLT_INTEGER_TYPES(X) \
  X(int8_t, int8) X(int16_t, int16) X(int32_t, int32) X(int64_t, int64) \
  X(uint8_t, uint8) X(uint16_t, uint16) X(uint32_t, uint32) X(uint64_t, uint64)
// clang-format on
