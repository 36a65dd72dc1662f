// SPDX-License-Identifier: Apache-2.0
// One body per row of ops.h, on one element of the dtype that is computed in: bool, integers, float, double, complex.
// float16 and bfloat16 are computed as float and rounded once. No undefined behaviour and no dependence on compiler
// options: no signed overflow, no integer division by zero, no contraction.
#ifndef DLTENSOR_BODIES_H_
#define DLTENSOR_BODIES_H_

#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

#include "native/ops/integers.h"

namespace dlt {

template <class T>
struct is_complex {
  static constexpr bool value = false;
};
template <class T>
struct is_complex<complex_of<T>> {
  static constexpr bool value = true;
};
template <class T>
struct part_of {
  using type = T;
};
template <class T>
struct part_of<complex_of<T>> {
  using type = T;
};
template <class T>
inline constexpr bool is_float = is_same<T, float>::value || is_same<T, double>::value;
template <class T>
inline constexpr bool is_half = is_same<T, float16>::value || is_same<T, bfloat16>::value;
template <class T>
inline constexpr bool is_bool = is_same<T, bool>::value;
template <class T>
inline constexpr bool is_integer = !is_float<T> && !is_bool<T> && !is_complex<T>::value;

template <class T>
inline constexpr unsigned kind_bit = is_bool<T>      ? 1
                                     : is_integer<T> ? 2
                                     : is_float<T>   ? 4
                                                     : 8;

// Arithmetic that wraps: in an unsigned type at least as wide as unsigned, so that nothing is promoted to signed.
template <int BYTES>
struct unsigned_of {
  using type = uint32_t;
};
template <>
struct unsigned_of<8> {
  using type = uint64_t;
};
template <class T>
using wrapping = typename unsigned_of<sizeof(T)>::type;

// ---- the C library's functions by overload: expf for float, exp for double
#define DLT_LIBRARY_1(name)                                     \
  DLT_FN float library_##name(float a) { return ::name##f(a); } \
  DLT_FN double library_##name(double a) { return ::name(a); }
#define DLT_LIBRARY_2(name)                                                 \
  DLT_FN float library_##name(float a, float b) { return ::name##f(a, b); } \
  DLT_FN double library_##name(double a, double b) { return ::name(a, b); }
// clang-format off
#define DLT_LIBRARY_FUNCTIONS(X) \
  X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(exp) X(expm1) X(log) X(log1p) X(log2) X(log10) \
  X(sin) X(sinh) X(tan) X(tanh)
// clang-format on
DLT_LIBRARY_FUNCTIONS(DLT_LIBRARY_1)
DLT_LIBRARY_1(ceil)
DLT_LIBRARY_1(floor)
DLT_LIBRARY_1(trunc)
DLT_LIBRARY_1(rint)
DLT_LIBRARY_1(sqrt)
DLT_LIBRARY_2(atan2)
DLT_LIBRARY_2(fmod)
#if !defined(__CUDACC_RTC__)
DLT_LIBRARY_2(hypot)
DLT_LIBRARY_2(pow)
#else
// hypot(inf, NaN), pow(NaN, 0) and pow(1, NaN) are numbers where the NaN is quiet, and NaN where it is signaling (IEEE 754, 9.2.1).
// CUDA's functions take the two for one.
template <class F>
DLT_FN bool is_signaling(F a) {
  return a != a && !(bits_as<typename wide<F>::bits>(a) >> (wide<F>::mantissa - 1) & 1);
}
template <class F>
DLT_FN bool either_signaling(F a, F b) {
  return is_signaling(a) || is_signaling(b);
}
#define DLT_LIBRARY_SIGNALING_2(name)                                                                        \
  DLT_FN float library_##name(float a, float b) { return either_signaling(a, b) ? a + b : ::name##f(a, b); } \
  DLT_FN double library_##name(double a, double b) { return either_signaling(a, b) ? a + b : ::name(a, b); }
DLT_LIBRARY_SIGNALING_2(hypot)
DLT_LIBRARY_SIGNALING_2(pow)
#endif

template <class F>
DLT_FN typename wide<F>::bits sign_mask() {
  return typename wide<F>::bits(typename wide<F>::bits(1) << (sizeof(F) * 8 - 1));
}
template <class F>
DLT_FN F infinity_of() {
  return bits_as<F>(typename wide<F>::bits(2 * wide<F>::bias + 1) << wide<F>::mantissa);
}

// Operations on the sign bit, of halves too. A NaN keeps its other bits (IEEE 754, 5.5.1), as it does in no arithmetic of a GPU.
template <class F>
DLT_FN F magnitude_of(F a) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U(bits_as<U>(a) & ~sign_mask<F>()));
}
template <class F>
DLT_FN F with_sign(F a, F of) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U((bits_as<U>(a) & ~sign_mask<F>()) | (bits_as<U>(of) & sign_mask<F>())));
}
// Before a sum, too: of -a the compiler may make a difference.
template <class F>
DLT_FN F negated(F a) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U(bits_as<U>(a) ^ sign_mask<F>()));
}

// The sum of two doubles as a sum that is rounded and the exact rest.
struct Pair {
  double high, low;
};
DLT_FN Pair exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
// `sum.high` with its last bit set when the rest is not 0: rounding that to at most 50 bits rounds the exact sum.
DLT_FN double odd_sum(Pair sum) {
  const int64_t bits = bits_as<int64_t>(sum.high);
  const bool away = (sum.low > 0) == (sum.high > 0);
  const bool adjust = sum.low != 0 && (bits & 1) == 0;
  return bits_as<double>(adjust ? (away ? bits + 1 : bits - 1) : bits);
}

// a * b + c with one rounding, with or without an instruction for it.
DLT_FN float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDACC_RTC__) || defined(__aarch64__)
  return ::fmaf(a, b, c);
#else
  const double product = double(a) * double(b);  // exact: 48 bits
  const double sum = product + double(c);
  // Infinities and NaNs have no remainder.
  const double odd = odd_sum(exact_sum(product, double(c)));
  return float(magnitude_of(sum) < bits_as<double>(uint64_t(0x7ff) << 52) ? odd : sum);
#endif
}
DLT_FN double fused(double a, double b, double c) { return ::fma(a, b, c); }

namespace ops {

// ---- unary

// hypot; of float in double, where squares are exact and do not overflow: by SIMD.
DLT_FN double length_of(double a, double b) { return library_hypot(a, b); }
DLT_FN float length_of(float a, float b) {
  const float infinity = infinity_of<float>();
  const float length = float(library_sqrt(double(a) * double(a) + double(b) * double(b)));
  const int infinities = int(magnitude_of(a) == infinity) | int(magnitude_of(b) == infinity);  // next to a NaN, too
  return infinities != 0 ? infinity : length;
}

template <class T>
DLT_FN typename part_of<T>::type abs(T a) {
  if constexpr (is_complex<T>::value) return length_of(a.re, a.im);
  else if constexpr (is_float<T> || is_half<T>) return magnitude_of(a);
  else if constexpr (range<T>::is_signed) return T(a < 0 ? wrapping<T>(0) - wrapping<T>(a) : wrapping<T>(a));
  else return a;
}

template <class T>
DLT_FN T bitwise_invert(T a) {
  if constexpr (is_bool<T>) return !a;
  else return T(~a);
}

#define DLT_ROUNDING(name, function)                         \
  template <class T>                                         \
  DLT_FN T name(T a) {                                       \
    if constexpr (is_float<T>) return library_##function(a); \
    else return a;                                           \
  }
DLT_ROUNDING(ceil, ceil)
DLT_ROUNDING(floor, floor)
DLT_ROUNDING(trunc, trunc)

template <class T>
DLT_FN T round(T a) {
  if constexpr (is_complex<T>::value) return {library_rint(a.re), library_rint(a.im)};
  else if constexpr (is_float<T>) return library_rint(a);
  else return a;
}

template <class T>
DLT_FN T negative(T a) {
  if constexpr (is_complex<T>::value) return {negated(a.re), negated(a.im)};
  else if constexpr (is_float<T> || is_half<T>) return negated(a);
  else return T(wrapping<T>(0) - wrapping<T>(a));
}

template <class T>
DLT_FN T conj(T a) {
  if constexpr (is_complex<T>::value) return {a.re, negated(a.im)};
  else return a;
}

template <class T>
DLT_FN T positive(T a) {
  return a;
}

template <class T>
DLT_FN typename part_of<T>::type real(T a) {
  if constexpr (is_complex<T>::value) return a.re;
  else return a;
}

template <class T>
DLT_FN typename part_of<T>::type imag(T a) {
  if constexpr (is_complex<T>::value) return a.im;
  else return T(0);
}

template <class F>
DLT_FN bool finite_part(F a) {
  return magnitude_of(a) < bits_as<F>(typename wide<F>::bits(2 * wide<F>::bias + 1) << wide<F>::mantissa);
}
template <class F>
DLT_FN bool infinite_part(F a) {
  return magnitude_of(a) == infinity_of<F>();
}

// No branches here and below: `|` and `&` compute both sides. int() says so to clang, which otherwise warns where a
// side is a call.
template <class T>
DLT_FN bool isfinite(T a) {
  if constexpr (is_complex<T>::value) return int(finite_part(a.re)) & finite_part(a.im);
  else if constexpr (is_float<T>) return finite_part(a);
  else return true;
}
template <class T>
DLT_FN bool isinf(T a) {
  if constexpr (is_complex<T>::value) return int(infinite_part(a.re)) | infinite_part(a.im);
  else if constexpr (is_float<T>) return infinite_part(a);
  else return false;
}
template <class T>
DLT_FN bool isnan(T a) {
  if constexpr (is_complex<T>::value) return (a.re != a.re) | (a.im != a.im);
  else if constexpr (is_float<T>) return a != a;
  else return false;
}
template <class T>
DLT_FN bool signbit(T a) {
  return (bits_as<typename wide<T>::bits>(a) & sign_mask<T>()) != 0;
}

template <class T>
DLT_FN bool truth(T a) {
  if constexpr (is_complex<T>::value) return (a.re != 0) | (a.im != 0);
  else return a != T(0);
}
template <class T>
DLT_FN bool logical_not(T a) {
  return !truth(a);
}

// a / abs(a) where abs(a) need not be a number that F has: squares are taken of parts that are scaled near 1.
template <class F>
DLT_FN complex_of<F> direction(complex_of<F> a) {
  if (a.re == 0 && a.im == 0) return {F(0), F(0)};
  if (infinite_part(a.re) != infinite_part(a.im) && a.re == a.re && a.im == a.im)
    return infinite_part(a.re) ? complex_of<F>{with_sign(F(1), a.re), with_sign(F(0), a.im)}
                               : complex_of<F>{with_sign(F(0), a.re), with_sign(F(1), a.im)};
  if constexpr (is_same<F, float>::value) {
    // Squares of floats, and their sums, are far from both ends of double.
    const double re = a.re, im = a.im, length = library_sqrt(re * re + im * im);
    return {F(re / length), F(im / length)};
  } else {
    using U = typename wide<F>::bits;
    constexpr U top = 2 * wide<F>::bias - 1;
    const U x = bits_as<U>(magnitude_of(a.re)), y = bits_as<U>(magnitude_of(a.im));
    const U exponent = (x > y ? x : y) >> wide<F>::mantissa;
    // A power of two: nothing is rounded, but for what is too small beside the other part to be seen.
    const F scale = bits_as<F>((top + 1 - (exponent > top ? top : exponent)) << wide<F>::mantissa);
    const F re = a.re * scale, im = a.im * scale, length = library_sqrt(re * re + im * im);
    return {re / length, im / length};
  }
}

template <class T>
DLT_FN T sign(T a) {
  if constexpr (is_complex<T>::value) {
    return direction(a);
  } else if constexpr (is_float<T>) {
    const T unit = with_sign(T(1), a);
    return a == a && a != 0 ? unit : a == a ? T(0) : a;
  } else {
    return T((a > T(0)) - (a < T(0)));
  }
}

template <class F>
DLT_FN F sqrt(F a) {
  return library_sqrt(a);
}

// ---- binary arithmetic

template <class T>
DLT_FN T add(T a, T b) {
  if constexpr (is_complex<T>::value) return {a.re + b.re, a.im + b.im};
  else if constexpr (is_float<T>) return a + b;
  else if constexpr (is_bool<T>) return a | b;
  else return T(wrapping<T>(a) + wrapping<T>(b));
}
template <class T>
DLT_FN T subtract(T a, T b) {
  if constexpr (is_complex<T>::value) return {a.re - b.re, a.im - b.im};
  else if constexpr (is_float<T>) return a - b;
  else return T(wrapping<T>(a) - wrapping<T>(b));
}
template <class T>
DLT_FN T multiply(T a, T b) {
  // Both parts as sums: g++ 12 fuses a difference beside a sum even with -ffp-contract=off.
  if constexpr (is_complex<T>::value) return {a.re * b.re + negated(a.im) * b.im, a.re * b.im + a.im * b.re};
  else if constexpr (is_float<T>) return a * b;
  else if constexpr (is_bool<T>) return a & b;
  else return T(wrapping<T>(a) * wrapping<T>(b));
}
template <class T>
DLT_FN T square(T a) {
  return multiply(a, a);
}
template <class T>
DLT_FN T divide(T a, T b) {
  if constexpr (is_complex<T>::value) {
    // Smith's method: scaled by the larger part of the divisor, so that nothing overflows before the result does.
    const bool wide_real = !(magnitude_of(b.re) < magnitude_of(b.im));
    const auto large = wide_real ? b.re : b.im, small = wide_real ? b.im : b.re;
    if (large == 0 && small == 0) return {a.re / magnitude_of(large), a.im / magnitude_of(large)};
    const auto ratio = small / large, scale = 1 / (large + small * ratio);
    return wide_real ? T{(a.re + a.im * ratio) * scale, (a.im + negated(a.re) * ratio) * scale}
                     : T{(a.re * ratio + a.im) * scale, (a.im * ratio + negated(a.re)) * scale};
  } else {
    return a / b;
  }
}
template <class T>
DLT_FN T reciprocal(T a) {
  if constexpr (is_complex<T>::value) return divide(T{1, 0}, a);
  else return T(1) / a;
}
template <class T>
DLT_FN T fma(T a, T b, T c) {
  if constexpr (is_complex<T>::value)
    return {fused(a.re, b.re, fused(-a.im, b.im, c.re)), fused(a.re, b.im, fused(a.im, b.re, c.im))};
  else if constexpr (is_float<T>) return fused(a, b, c);
  else return T(wrapping<T>(a) * wrapping<T>(b) + wrapping<T>(c));
}

template <class T>
DLT_FN T floor_divide(T a, T b) {
  if constexpr (is_float<T>) {
    const T quotient = a / b;
    // Where an operand is 0 or not finite, the array API's table has the plain quotient, which is then rounded already.
    if (b == 0 || !finite_part(a) || !finite_part(b)) return quotient;
    T rest = library_fmod(a, b);
    T whole = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) whole -= 1;
    if (whole == 0) return with_sign(T(0), quotient);
    const T down = library_floor(whole);
    return whole - down > T(0.5) ? down + 1 : down;
  } else if constexpr (range<T>::is_signed) {
    // 0 and -1 are replaced before dividing: the instruction traps on both.
    const T divisor = b == 0 || b == T(-1) ? T(1) : b;
    const T whole = T(a / divisor);
    const T down = T(whole - ((a % divisor != 0) & ((a < 0) != (divisor < 0))));
    return b == 0 ? T(0) : b == T(-1) ? negative(a) : down;
  } else {
    return b == 0 ? T(0) : T(a / (b == 0 ? T(1) : b));
  }
}
template <class T>
DLT_FN T remainder(T a, T b) {
  if constexpr (is_float<T>) {
    const T rest = library_fmod(a, b);
    if (rest == 0) return with_sign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  } else if constexpr (range<T>::is_signed) {
    const T divisor = b == 0 || b == T(-1) ? T(1) : b;
    const T rest = T(a % divisor);
    return rest != 0 && (rest < 0) != (divisor < 0) ? T(rest + divisor) : rest;
  } else {
    return b == 0 ? T(0) : T(a % (b == 0 ? T(1) : b));
  }
}

template <class T>
DLT_FN T integer_power(T a, T b) {
  if constexpr (range<T>::is_signed)
    if (b < 0) return a == T(1) ? T(1) : a == T(-1) ? (b & 1 ? T(-1) : T(1)) : T(0);
  wrapping<T> result = 1, base = wrapping<T>(a);
  for (wrapping<T> left = wrapping<T>(b); left != 0; left >>= 1) {
    if (left & 1) result *= base;
    base *= base;
  }
  return T(result);
}

// ---- comparison and logic

#define DLT_COMPARISON(name, symbol) \
  template <class T>                 \
  DLT_FN bool name(T a, T b) {       \
    return a symbol b;               \
  }
DLT_COMPARISON(less, <)
DLT_COMPARISON(less_equal, <=)
DLT_COMPARISON(greater, >)
DLT_COMPARISON(greater_equal, >=)

// The order of an integer of 64 bits and another number by value, which no dtype has for both: -1, 0, 1, or 2 beside NaN.
template <class A, class B>
DLT_FN int exact_order(A a, B b) {
  if constexpr (is_float<A>) {
    const int order = exact_order(b, a);
    return order == 2 ? 2 : -order;
  } else if constexpr (is_float<B>) {
    // As doubles the two have the same order, or are the same: then b is an integer that A holds, or one past the highest.
    // Without branches but for the latter, since the order of elements cannot be predicted.
    constexpr double end = range<A>::is_signed ? 9223372036854775808.0 : 18446744073709551616.0;
    const double near = double(a);
    const int below = near<b, above = near> b;
    if (near != b) return above - below + 2 * !(below | above);
    const A whole = b == end ? range<A>::highest : A(b);
    return b == end ? -1 : (a > whole) - (a < whole);
  } else if constexpr (range<A>::is_signed) {
    return a < 0 ? -1 : (B(a) > b) - (B(a) < b);
  } else {
    return -exact_order(b, a);
  }
}
#define DLT_EXACT_COMPARISON(name, condition) \
  template <class A, class B>                 \
  DLT_FN bool name(A a, B b) {                \
    const int order = exact_order(a, b);      \
    return condition;                         \
  }
DLT_EXACT_COMPARISON(less, order < 0)
DLT_EXACT_COMPARISON(less_equal, order <= 0)
DLT_EXACT_COMPARISON(greater, order == 1)
DLT_EXACT_COMPARISON(greater_equal, (order == 0) | (order == 1))

template <class T>
DLT_FN bool equal(T a, T b) {
  if constexpr (is_complex<T>::value) return (a.re == b.re) & (a.im == b.im);
  else return a == b;
}
template <class A, class B>
DLT_FN bool equal(A a, B b) {
  if constexpr (is_complex<A>::value) return equal(b, a);
  else if constexpr (is_complex<B>::value) return int(b.im == 0) & equal(a, b.re);
  else return exact_order(a, b) == 0;
}
template <class A, class B>
DLT_FN bool not_equal(A a, B b) {
  return !equal(a, b);
}
template <class T>
DLT_FN bool logical_and(T a, T b) {
  return int(truth(a)) & truth(b);
}
template <class T>
DLT_FN bool logical_or(T a, T b) {
  return int(truth(a)) | truth(b);
}
template <class T>
DLT_FN bool logical_xor(T a, T b) {
  return truth(a) ^ truth(b);
}
template <class T>
DLT_FN T maximum(T a, T b) {
  if constexpr (is_float<T>) return ((a >= b) | (a != a)) ? a : b;
  else return a >= b ? a : b;
}
template <class T>
DLT_FN T minimum(T a, T b) {
  if constexpr (is_float<T>) return ((a <= b) | (a != a)) ? a : b;
  else return a <= b ? a : b;
}
template <class T>
DLT_FN T clip(T a, T low, T high) {
  if constexpr (is_float<T>) {
    // As minimum(maximum(a, low), high). Conditions on `a` alone leave the compiler nothing to branch on.
    const T bottom = minimum(low, high);  // NaN when either is
    const T below = a > high ? high : a, inside = a < low ? bottom : below;
    return ((bottom != bottom) & (a == a)) ? bottom : inside;
  } else {
    return minimum(maximum(a, low), high);
  }
}

// ---- bits

template <class T>
DLT_FN T bitwise_and(T a, T b) {
  return T(a & b);
}
template <class T>
DLT_FN T bitwise_or(T a, T b) {
  return T(a | b);
}
template <class T>
DLT_FN T bitwise_xor(T a, T b) {
  return T(a ^ b);
}
template <class T>
DLT_FN T bitwise_left_shift(T a, T b) {
  constexpr wrapping<T> width = sizeof(T) * 8;
  const wrapping<T> count = wrapping<T>(b);
  return count < width ? T(wrapping<T>(a) << (count & (width - 1))) : T(0);
}
template <class T>
DLT_FN T bitwise_right_shift(T a, T b) {
  constexpr wrapping<T> width = sizeof(T) * 8;
  const wrapping<T> count = wrapping<T>(b);
  return T(a >> (count < width ? count : width - 1)) & (count < width || range<T>::is_signed ? T(~T(0)) : T(0));
}
template <class T>
DLT_FN T copysign(T a, T b) {
  return with_sign(a, b);
}
template <class T>
DLT_FN T nextafter(T a, T b) {
  using U = typename wide<T>::bits;
  const U bits = bits_as<U>(a);
  const U step = (a < b) == ((bits & sign_mask<T>()) == 0) ? bits + 1 : bits - 1;
  const T from_zero = with_sign(bits_as<T>(U(1)), b);
  return ((a != a) | (b != b)) ? a + b : a == b ? b : a == 0 ? from_zero : bits_as<T>(step);
}
// Of 16-bit floats by their own patterns, whose order is that of the magnitudes.
template <class S, int E, int M, int B, Special P>
DLT_FN small_float<S, E, M, B, P> nextafter(small_float<S, E, M, B, P> a, small_float<S, E, M, B, P> b) {
  constexpr S sign = S(1) << (E + M);
  const float x = to_float(a), y = to_float(b);
  const S step = S((x < y) == ((a.bits & sign) == 0) ? a.bits + 1 : a.bits - 1);
  const S from_zero = S((b.bits & sign) | 1);
  return {((x != x) | (y != y)) ? from<small_float<S, E, M, B, P>>(x + y).bits : x == y ? b.bits : x == 0 ? from_zero : step};
}

}  // namespace ops
}  // namespace dlt

#include "native/ops/elementwise/functions.h"

#endif  // DLTENSOR_BODIES_H_
