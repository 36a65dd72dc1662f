// SPDX-License-Identifier: Apache-2.0
// One element of one type as one of another, in every mode of cast(). For g++ and NVRTC; no loops, no arrays.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt {

template <class T>
inline constexpr bool is_small_float = false;
template <class S, int E, int M, int B, Special P>
inline constexpr bool is_small_float<small_float<S, E, M, B, P>> = true;
template <>
inline constexpr bool is_small_float<float8_e8m0fnu> = true;
template <class T>
inline constexpr bool is_small_int = false;
template <int W, bool S>
inline constexpr bool is_small_int<small_int<W, S>> = true;
template <class T>
inline constexpr bool is_real_float = is_same<T, float>::value || is_same<T, double>::value || is_small_float<T>;

// The type that a value is computed in: the type itself, float for small floats, int32 for small integers and bool.
template <class T>
DLT_FN auto widened(T v) {
  if constexpr (is_same<T, boolean>::value) return int8_t(v.bits != 0);  // signed: g++ makes vectors of it
  else if constexpr (is_small_float<T>) return to_float(v);
  else if constexpr (is_small_int<T>) return to_int(v);
  else return v;
}

// To a float of any width from a plain number, with one rounding.
template <class To, bool CLAMP, class W>
DLT_FN To to_real(W v) {
  if constexpr (is_same<To, float>::value || is_same<To, double>::value) return To(v);
  else if constexpr (is_same<To, float8_e8m0fnu>::value) {
    if constexpr (is_float<W>) return round_to_e8m0(v, CLAMP);
    else if constexpr (sizeof(W) == 8) return round_to_e8m0(to_odd(v), CLAMP);
    else return round_to_e8m0(double(v), CLAMP);
  } else {
    constexpr bool clamp = CLAMP && sizeof(To) == 1;
    if constexpr (is_float<W>) return round_to<To>(v, clamp);
    else if constexpr (sizeof(W) == 8) return round_to<To>(to_odd(v), clamp);
    else if constexpr (sizeof(W) == 4) return round_to<To>(double(v), clamp);
    else return round_to<To>(float(v), clamp);
  }
}

template <class To, bool NEAREST, bool SATURATE, class From>
DLT_FN To convert(From from) {
  if constexpr (is_complex<From>::value && is_complex<To>::value) {
    using P = decltype(To{}.re);
    return {to_real<P, SATURATE>(widened(from.re)), to_real<P, SATURATE>(widened(from.im))};
  } else if constexpr (is_complex<From>::value) {
    if constexpr (is_same<To, boolean>::value) return {uint8_t(int(widened(from.re) != 0) | (widened(from.im) != 0))};
    else return convert<To, NEAREST, SATURATE>(from.re);
  } else if constexpr (is_complex<To>::value) {
    using P = decltype(To{}.re);
    return {to_real<P, SATURATE>(widened(from)), to_real<P, SATURATE>(0.0f)};
  } else {
    const auto v = widened(from);
    using W = decltype(widened(from));
    if constexpr (is_same<To, boolean>::value) return {uint8_t(v != W(0))};
    else if constexpr (is_real_float<To>) return to_real<To, SATURATE>(v);
    else if constexpr (is_small_int<To>) {
      if constexpr (is_float<W>) {
        const int32_t whole = clamp_float<int32_t>(NEAREST ? library_rint(v) : v);
        return small_int_from<To>(whole < To::lowest ? To::lowest : whole > To::highest ? To::highest : whole);
      } else if constexpr (SATURATE) {
        const int32_t whole = clamp_integer<int32_t>(v);
        return small_int_from<To>(whole < To::lowest ? To::lowest : whole > To::highest ? To::highest : whole);
      } else {
        return small_int_from<To>(int32_t(v));
      }
    } else if constexpr (is_float<W>) return clamp_float<To>(NEAREST ? library_rint(v) : v);
    else if constexpr (SATURATE) return clamp_integer<To>(v);
    else return To(v);
  }
}

}  // namespace dlt
