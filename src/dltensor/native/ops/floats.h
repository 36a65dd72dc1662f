// SPDX-License-Identifier: Apache-2.0
// The C++ types named in dtypes.h and their exact conversions: one element at a time, no arrays, no arithmetic.
// Read by g++ for the CPU and by NVRTC for CUDA, so there are no standard headers beyond the integer names.
#pragma once
#if defined(__CUDACC_RTC__)
#define DLT_FN __device__ __forceinline__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#define DLT_FN inline __attribute__((always_inline))
#endif

namespace dlt {

// Same bits, other type. NVRTC 12.0 lacks the builtin, and the host must not call memcpy in vector loops.
template <class To, class From>
DLT_FN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as needs two types of one size");
#if defined(__CUDACC_RTC__)
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
#else
  return __builtin_bit_cast(To, from);
#endif
}

// A byte that is true when it is not 0: foreign memory may hold a 2, which C++'s bool must never see.
struct boolean {
  uint8_t bits;
};

// The use that a small float makes of the bit patterns that IEEE 754 reserves for infinities and NaNs.
enum class Special {
  ieee,      // infinities and NaNs, as float has them
  nan_only,  // "fn": no infinity, the pattern of all ones is NaN
  fnuz,      // no infinity, no -0: its pattern is the only NaN
  none,      // neither: too large becomes the largest
};

// A float of 1 + EXPONENT + MANTISSA bits in the low bits of `Storage`.
template <class Storage, int EXPONENT, int MANTISSA, int BIAS, Special SPECIAL, int NAME = 0>
struct small_float {
  Storage bits;
  static constexpr int exponent = EXPONENT, mantissa = MANTISSA, bias = BIAS;
  static constexpr Special special = SPECIAL;
  static constexpr uint32_t sign_bit = 1u << (EXPONENT + MANTISSA);
  static constexpr uint32_t infinity = ((1u << EXPONENT) - 1) << MANTISSA;
  static constexpr uint32_t largest = SPECIAL == Special::ieee       ? infinity - 1
                                      : SPECIAL == Special::nan_only ? sign_bit - 2
                                                                     : sign_bit - 1;
};

using float16 = small_float<uint16_t, 5, 10, 15, Special::ieee>;
using bfloat16 = small_float<uint16_t, 8, 7, 127, Special::ieee>;
using float8_e3m4 = small_float<uint8_t, 3, 4, 3, Special::ieee>;
using float8_e4m3 = small_float<uint8_t, 4, 3, 7, Special::ieee>;
using float8_e4m3b11fnuz = small_float<uint8_t, 4, 3, 11, Special::fnuz>;
using float8_e4m3fn = small_float<uint8_t, 4, 3, 7, Special::nan_only>;
using float8_e4m3fnuz = small_float<uint8_t, 4, 3, 8, Special::fnuz>;
using float8_e5m2 = small_float<uint8_t, 5, 2, 15, Special::ieee>;
using float8_e5m2fnuz = small_float<uint8_t, 5, 2, 16, Special::fnuz>;
using float6_e2m3fn = small_float<uint8_t, 2, 3, 1, Special::none>;
using float6_e3m2fn = small_float<uint8_t, 3, 2, 3, Special::none>;
using float4_e2m1fn = small_float<uint8_t, 2, 1, 1, Special::none>;

// A power of two: an exponent without sign and mantissa, 0xff is NaN.
struct float8_e8m0fnu {
  uint8_t bits;
};

// An integer of fewer than 8 bits in the low bits of a byte; what lies above them is ignored and written as 0.
template <int BITS, bool SIGNED>
struct small_int {
  uint8_t bits;
  static constexpr int width = BITS;
  static constexpr bool is_signed = SIGNED;
  static constexpr int lowest = SIGNED ? -(1 << (BITS - 1)) : 0;
  static constexpr int highest = SIGNED ? (1 << (BITS - 1)) - 1 : (1 << BITS) - 1;
};
using int4 = small_int<4, true>;
using uint4 = small_int<4, false>;
using int2 = small_int<2, true>;
using uint2 = small_int<2, false>;

template <class T>
struct complex_of {
  T re, im;
};
using complex32 = complex_of<float16>;
using complex64 = complex_of<float>;
using complex128 = complex_of<double>;

// ---- from the small type: always exact

template <class S, int E, int M, int B, Special P>
DLT_FN float to_float(small_float<S, E, M, B, P> value) {
  using T = small_float<S, E, M, B, P>;
  const uint32_t all = value.bits;
  const uint32_t magnitude = all & (T::sign_bit - 1);
  const uint32_t sign = (all & T::sign_bit) << (31 - E - M);
  if constexpr (M == 7 && E == 8) {
    return bits_as<float>(all << 16);
  } else {
#if defined(__CUDA_ARCH__)
    // The instruction, but for NaNs, whose payload it need not keep.
    if constexpr (E == 5 && M == 10) {
      float fast;
      asm("cvt.f32.f16 %0, %1;" : "=f"(fast) : "h"(value.bits));
      if (magnitude <= T::infinity) return fast;
    }
#endif
    // Subnormals by an integer conversion, so that a thread that flushes denormals gets the same bits.
    const uint32_t normal = (magnitude << (23 - M)) + (uint32_t(127 - B) << 23);
    const uint32_t below = bits_as<uint32_t>(float(int32_t(magnitude)) * bits_as<float>(uint32_t(128 - B - M) << 23));
    uint32_t result = magnitude < (1u << M) ? below : normal;
    if constexpr (P == Special::ieee) {
      // float16's NaNs keep their payload, as the processors' conversion does; the smaller ones have one NaN.
      const uint32_t nan = E == 5 && M == 10 ? (0x7fc00000u | (magnitude << (23 - M))) : 0x7fc00000u;
      result = magnitude >= T::infinity ? (magnitude == T::infinity ? 0x7f800000u : nan) : result;
    } else if constexpr (P == Special::nan_only) {
      result = magnitude == T::sign_bit - 1 ? 0x7fc00000u : result;
    } else if constexpr (P == Special::fnuz) {
      result = all == T::sign_bit ? 0x7fc00000u : result;
    }
    return bits_as<float>(result | sign);
  }
}

DLT_FN float to_float(float8_e8m0fnu value) {
  const uint32_t normal = value.bits == 0xff ? 0x7fc00000u : uint32_t(value.bits) << 23;
  return bits_as<float>(value.bits == 0 ? 0x00400000u : normal);
}

template <int W, bool S>
DLT_FN int32_t to_int(small_int<W, S> value) {
  const uint32_t up = uint32_t(value.bits) << (32 - W);
  return S ? int32_t(up) >> (32 - W) : int32_t(up >> (32 - W));
}
template <int W, bool S>
DLT_FN float to_float(small_int<W, S> value) {
  return float(to_int(value));
}
DLT_FN float to_float(float value) { return value; }
DLT_FN double to_double(double value) { return value; }
template <class T>
DLT_FN double to_double(T value) {
  return double(to_float(value));
}

// ---- to the small type: one rounding, half to even

// The bits of a float or half as an unsigned integer, and where the exponent of a float or double sits.
template <class F>
struct wide;
template <>
struct wide<float> {
  using bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct wide<double> {
  using bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
};
template <>
struct wide<float16> {
  using bits = uint16_t;
};
template <>
struct wide<bfloat16> {
  using bits = uint16_t;
};

// The magnitude of T nearest to |value|, as a pattern that keeps counting upward past the largest.
template <class T, class F>
DLT_FN typename wide<F>::bits round_magnitude(typename wide<F>::bits magnitude) {
  using U = typename wide<F>::bits;
  constexpr int shift = wide<F>::mantissa - T::mantissa;
  constexpr U half = (U(1) << (shift - 1)) - 1;
  if constexpr (wide<F>::bias == T::bias) {
    return (magnitude + half + ((magnitude >> shift) & 1)) >> shift;
  } else {
    constexpr U rebias = U(wide<F>::bias - T::bias) << T::mantissa;
    constexpr U first_normal = U(wide<F>::bias - T::bias + 1) << wide<F>::mantissa;
    const U normal = ((magnitude + half + ((magnitude >> shift) & 1)) >> shift) - rebias;
    // Adding a constant whose last place is T's smallest subnormal makes the adder do the rounding.
    constexpr U anchor = U(wide<F>::bias + 1 - T::bias + wide<F>::mantissa - T::mantissa) << wide<F>::mantissa;
    // Past first_normal the sum is not used, but must not overflow either.
    const U subnormal = bits_as<U>(bits_as<F>(magnitude < first_normal ? magnitude : U(0)) + bits_as<F>(anchor)) - anchor;
    return magnitude < first_normal ? subnormal : normal;
  }
}

// With `clamp`, what is too large becomes the largest finite value instead of infinity or NaN.
template <class T, class F>
DLT_FN T round_to(F value, bool clamp = false) {
  using U = typename wide<F>::bits;
  constexpr int width = 8 * sizeof(F);
  constexpr U nan_above = ((U(1) << (width - 1 - wide<F>::mantissa)) - 1) << wide<F>::mantissa;
  const U all = bits_as<U>(value);
  const U magnitude = all & ~(U(1) << (width - 1));
  const U sign = (all >> (width - 1)) << (T::exponent + T::mantissa);
#if defined(__CUDA_ARCH__)
  if constexpr (T::exponent == 5 && T::mantissa == 10 && sizeof(F) == 4) {
    T fast;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(fast.bits) : "f"(value));
    if (magnitude <= nan_above && !clamp) return fast;
  }
#endif
  U result = round_magnitude<T, F>(magnitude);
  const bool is_nan = magnitude > nan_above;
  if constexpr (T::special == Special::ieee) {
    result = result > T::largest ? U(clamp ? T::largest : T::infinity) : result;
    U nan = U(T::infinity | (1u << (T::mantissa - 1)));
    // float16 keeps the payload's top bits, as the processors' conversion does.
    if constexpr (T::mantissa == 10) nan |= (magnitude >> (wide<F>::mantissa - 10)) & 0x3ff;
    result = (is_nan ? nan : result) | sign;
  } else if constexpr (T::special == Special::nan_only) {
    result = result > T::largest ? U(clamp ? T::largest : T::sign_bit - 1) : result;
    result = (is_nan ? U(T::sign_bit - 1) : result) | sign;
  } else if constexpr (T::special == Special::fnuz) {
    const U signed_result = result == 0 ? U(0) : (result | sign);
    const U over = clamp ? (U(T::largest) | sign) : U(T::sign_bit);
    result = is_nan ? U(T::sign_bit) : (result > T::largest ? over : signed_result);
  } else {
    // Without a NaN pattern a NaN becomes the zero of the opposite sign, as in ml_dtypes.
    result = result > T::largest ? U(T::largest) : result;
    result = is_nan ? (sign ^ U(T::sign_bit)) : (result | sign);
  }
  T out;
  out.bits = decltype(out.bits)(result);
  return out;
}

// 1.5 * 2^k is half way and rounds up; values between the two smallest powers round up too, as in ml_dtypes.
template <class F>
DLT_FN float8_e8m0fnu round_to_e8m0(F value, bool clamp = false) {
  using U = typename wide<F>::bits;
  constexpr int shift = wide<F>::mantissa;
  constexpr U infinity = ((U(1) << (8 * sizeof(F) - 1 - shift)) - 1) << shift;
  constexpr U low = U(wide<F>::bias - 127);
  constexpr U smallest = sizeof(F) == 4 ? U(0x00400000) : low << shift;  // 2^-127
  const U all = bits_as<U>(value);
  const U normal = ((all + (U(1) << (shift - 1))) >> shift) - low;
  U result = all < ((low + 1) << shift) ? U(all > smallest) : normal;
  const bool positive = all != 0 && all <= infinity;
  result = positive ? (result > 0xfe ? U(clamp ? 0xfe : 0xff) : result) : U(0xff);  // zero, negative and NaN: NaN
  float8_e8m0fnu out;
  out.bits = uint8_t(result);
  return out;
}

// `from<T>(x)` makes a T of a float or double with one rounding.
template <class T>
struct from_wide {
  template <class F>
  DLT_FN static T of(F value) {
    return round_to<T, F>(value);
  }
};
template <>
struct from_wide<float> {
  template <class F>
  DLT_FN static float of(F value) {
    return float(value);
  }
};
template <>
struct from_wide<double> {
  template <class F>
  DLT_FN static double of(F value) {
    return double(value);
  }
};
template <>
struct from_wide<float8_e8m0fnu> {
  template <class F>
  DLT_FN static float8_e8m0fnu of(F value) {
    return round_to_e8m0<F>(value);
  }
};
template <class T, class F>
DLT_FN T from(F value) {
  return from_wide<T>::of(value);
}

// Keeps the low bits.
template <class T>
DLT_FN T small_int_from(int32_t value) {
  T out;
  out.bits = uint8_t(uint32_t(value) & ((1u << T::width) - 1));
  return out;
}

}  // namespace dlt
