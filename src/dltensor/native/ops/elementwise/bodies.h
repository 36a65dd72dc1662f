// SPDX-License-Identifier: Apache-2.0
// One body per row of ops.h, on one element of the dtype that is computed in: bool, integers, float, double, complex.
// float16 and bfloat16 are computed as float and rounded once. No undefined behaviour and no dependence on compiler
// options: no signed overflow, no integer division by zero, no contraction.
#pragma once
#include "native/ops/elementary/complex.h"

namespace dlt {
namespace ops {

// ---- unary

// numbers::hypot; of float inline, so that loops of it use SIMD.
DLT_FN double length_of(double a, double b) { return numbers::hypot(a, b); }
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
  if constexpr (is_complex<F>::value) return principal::sqrt(a);
  else return library_sqrt(a);
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
  if constexpr (is_complex<T>::value) return principal::quotient(a, b);
  else return a / b;
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
    // If an operand is 0 or not finite, the array API's table has the plain quotient, which is then rounded already.
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
    // Doubles of the two have the same order, or are equal: then b is an integer that A holds, or one past the highest.
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
    // Equal to minimum(maximum(a, low), high). Conditions on `a` alone leave the compiler nothing to branch on.
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
// 16-bit floats step by their own bit patterns, whose order is that of the magnitudes.
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
