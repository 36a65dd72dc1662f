// SPDX-License-Identifier: Apache-2.0
// All element-wise operations: one row each, and one body in bodies.h, read by g++ (CPU loops), by NVRTC (CUDA
// kernels) and by the preprocessor alone (names, documentation, tests). No arrays, no casts between element types.
#pragma once
#include "native/ops/kinds.h"

// For a float function without booleans or integers the caller converts them to the default dtype; compute_type() is in
// native/cpu/runtime/engine.h.
//
// Row: name, number of operands, kinds, result, symbol in Python ("" without one), the value in words of Python,
// documentation. Result: same (the operands' dtype), mask (bool), part (the real dtype of a complex one).
// clang-format off
#define DLT_UNARY_OPS(X)                                                                                              \
  X(abs, 1, DLT_NUMBERS, part, "abs", "abs(a)", "Compute the absolute value; that of the lowest integer is that integer.") \
  X(acos, 1, DLT_FLOATING, same, "", "acos(a)", "Compute the inverse cosine, in radians.")                            \
  X(acosh, 1, DLT_FLOATING, same, "", "acosh(a)", "Compute the inverse hyperbolic cosine.")                           \
  X(asin, 1, DLT_FLOATING, same, "", "asin(a)", "Compute the inverse sine, in radians.")                              \
  X(asinh, 1, DLT_FLOATING, same, "", "asinh(a)", "Compute the inverse hyperbolic sine.")                             \
  X(atan, 1, DLT_FLOATING, same, "", "atan(a)", "Compute the inverse tangent, in radians.")                           \
  X(atanh, 1, DLT_FLOATING, same, "", "atanh(a)", "Compute the inverse hyperbolic tangent.")                          \
  X(bitwise_invert, 1, DLT_BITS, same, "~", "~a", "Invert every bit; for bools, compute the logical not.")            \
  X(cbrt, 1, DLT_FLOATS, same, "", "cbrt(a)", "Compute the real cube root.")                                          \
  X(ceil, 1, DLT_REALS, same, "", "ceil(a)", "Round up to an integer.")                                               \
  X(conj, 1, DLT_NUMBERS, same, "", "a.conjugate()", "Compute the complex conjugate.")                                \
  X(cos, 1, DLT_FLOATING, same, "", "cos(a)", "Compute the cosine of an angle in radians.")                           \
  X(cosh, 1, DLT_FLOATING, same, "", "cosh(a)", "Compute the hyperbolic cosine.")                                     \
  X(erf, 1, DLT_FLOATS, same, "", "erf(a)", "Compute the error function.")                                            \
  X(erfc, 1, DLT_FLOATS, same, "", "1 - erf(a)", "Compute the complement of the error function, accurate for large a.")\
  X(exp, 1, DLT_FLOATING, same, "", "exp(a)", "Compute the exponential function.")                                    \
  X(exp2, 1, DLT_FLOATING, same, "", "2 ** a", "Raise 2 to a power.")                                                 \
  X(expm1, 1, DLT_FLOATING, same, "", "exp(a) - 1", "Compute exp(a) - 1, accurate near 0.")                           \
  X(floor, 1, DLT_REALS, same, "", "floor(a)", "Round down to an integer.")                                           \
  X(gammaln, 1, DLT_FLOATS, same, "", "log(abs(gamma(a)))", "Compute the logarithm of the absolute value of the gamma function.")\
  X(imag, 1, DLT_NUMBERS, part, "", "a.imag", "Return the imaginary part.")                                           \
  X(isfinite, 1, DLT_ANY, mask, "", "isfinite(a)", "Test whether each element is neither infinite nor NaN.")          \
  X(isinf, 1, DLT_ANY, mask, "", "isinf(a)", "Test whether each element is infinite.")                                \
  X(isnan, 1, DLT_ANY, mask, "", "isnan(a)", "Test whether each element is NaN.")                                     \
  X(log, 1, DLT_FLOATING, same, "", "log(a)", "Compute the natural logarithm.")                                       \
  X(log1p, 1, DLT_FLOATING, same, "", "log(1 + a)", "Compute log(1 + a), accurate near 0.")                           \
  X(log2, 1, DLT_FLOATING, same, "", "log2(a)", "Compute the logarithm to base 2.")                                   \
  X(log10, 1, DLT_FLOATING, same, "", "log10(a)", "Compute the logarithm to base 10.")                                \
  X(logical_not, 1, DLT_ANY, mask, "", "not a", "Test whether each element is 0.")                                    \
  X(negative, 1, DLT_NUMBERS, same, "-", "-a", "Negate each element; integers wrap.")                                 \
  X(positive, 1, DLT_NUMBERS, same, "+", "+a", "Return each element unchanged.")                                      \
  X(real, 1, DLT_NUMBERS, part, "", "a.real", "Return the real part.")                                                \
  X(reciprocal, 1, DLT_FLOATING, same, "", "1 / a", "Compute 1 / a.")                                                 \
  X(round, 1, DLT_NUMBERS, same, "", "round(a)", "Round to the nearest integer, half to even.")                       \
  X(sigmoid, 1, DLT_FLOATS, same, "", "1 / (1 + exp(-a))", "Compute the logistic function.")                          \
  X(sign, 1, DLT_NUMBERS, same, "", "sign(a)", "Return the sign: -1, 0 or 1; NaN for NaN; a / abs(a) for complex elements.") \
  X(signbit, 1, DLT_FLOATS, mask, "", "signbit(a)", "Test whether the sign bit is set, as it is for -0.0.")           \
  X(sin, 1, DLT_FLOATING, same, "", "sin(a)", "Compute the sine of an angle in radians.")                             \
  X(sinc, 1, DLT_FLOATING, same, "", "sin(pi * a) / (pi * a)", "Compute sin(pi * a) / (pi * a), which is 1 at 0.")    \
  X(sinh, 1, DLT_FLOATING, same, "", "sinh(a)", "Compute the hyperbolic sine.")                                       \
  X(sqrt, 1, DLT_FLOATING, same, "", "sqrt(a)", "Compute the square root.")                                           \
  X(square, 1, DLT_NUMBERS, same, "", "a * a", "Compute the square.")                                                 \
  X(tan, 1, DLT_FLOATING, same, "", "tan(a)", "Compute the tangent of an angle in radians.")                          \
  X(tanh, 1, DLT_FLOATING, same, "", "tanh(a)", "Compute the hyperbolic tangent.")                                    \
  X(trunc, 1, DLT_REALS, same, "", "trunc(a)", "Round toward 0 to an integer.")
// clang-format on

// clang-format off
#define DLT_BINARY_OPS(X)                                                                                             \
  X(add, 2, DLT_ANY, same, "+", "a + b", "Add; integers wrap, and the sum of two bools is their logical or.")         \
  X(atan2, 2, DLT_FLOATS, same, "", "atan2(a, b)", "Compute the angle of the point (b, a), in radians.")              \
  X(bitwise_and, 2, DLT_BITS, same, "&", "a & b", "Compute the bitwise and.")                                         \
  X(bitwise_left_shift, 2, DLT_INTEGERS, same, "<<", "a << b", "Shift bits left; a shift by the width or more, or by less than 0, gives 0.") \
  X(bitwise_or, 2, DLT_BITS, same, "|", "a | b", "Compute the bitwise or.")                                           \
  X(bitwise_right_shift, 2, DLT_INTEGERS, same, ">>", "a >> b", "Shift bits right, keeping the sign; a shift by the width or more leaves only the sign.") \
  X(bitwise_xor, 2, DLT_BITS, same, "^", "a ^ b", "Compute the bitwise exclusive or.")                                \
  X(copysign, 2, DLT_FLOATS, same, "", "copysign(a, b)", "Return the first value with the sign of the second.")       \
  X(divide, 2, DLT_FLOATING, same, "/", "a / b", "Divide.")                                                           \
  X(equal, 2, DLT_ANY, mask, "==", "a == b", "Test for equality; NaN equals nothing.")                                \
  X(floor_divide, 2, DLT_REALS, same, "//", "a // b", "Divide and round down; an integer divided by 0 gives 0.")      \
  X(greater, 2, DLT_ORDERED, mask, ">", "a > b", "Test whether a is greater than b.")                                 \
  X(greater_equal, 2, DLT_ORDERED, mask, ">=", "a >= b", "Test whether a is greater than or equal to b.")             \
  X(hypot, 2, DLT_FLOATS, same, "", "hypot(a, b)", "Compute the length of the vector (a, b).")                        \
  X(less, 2, DLT_ORDERED, mask, "<", "a < b", "Test whether a is less than b.")                                       \
  X(less_equal, 2, DLT_ORDERED, mask, "<=", "a <= b", "Test whether a is less than or equal to b.")                   \
  X(logaddexp, 2, DLT_FLOATS, same, "", "log(exp(a) + exp(b))", "Compute log(exp(a) + exp(b)) without overflow.")     \
  X(logical_and, 2, DLT_ANY, mask, "", "a and b", "Test whether both elements are nonzero.")                          \
  X(logical_or, 2, DLT_ANY, mask, "", "a or b", "Test whether at least one element is nonzero.")                      \
  X(logical_xor, 2, DLT_ANY, mask, "", "a xor b", "Test whether exactly one element is nonzero.")                     \
  X(maximum, 2, DLT_ORDERED, same, "", "max(a, b)", "Return the greater element; NaN where either is NaN.")           \
  X(minimum, 2, DLT_ORDERED, same, "", "min(a, b)", "Return the lesser element; NaN where either is NaN.")            \
  X(multiply, 2, DLT_ANY, same, "*", "a * b", "Multiply; integers wrap, and the product of two bools is their logical and.") \
  X(nextafter, 2, DLT_FLOATS, same, "", "nextafter(a, b)", "Return the next representable value after a in the direction of b.") \
  X(not_equal, 2, DLT_ANY, mask, "!=", "a != b", "Test for inequality; NaN is unequal to everything.")                \
  X(pow, 2, DLT_NUMBERS, same, "**", "a ** b", "Raise to a power; integers raised to negative elements of b give 0, 1 or -1.") \
  X(remainder, 2, DLT_REALS, same, "%", "a % b", "Compute the remainder of floor_divide, with the sign of b; an integer by 0 gives 0.") \
  X(subtract, 2, DLT_NUMBERS, same, "-", "a - b", "Subtract; integers wrap.")
// clang-format on

// clang-format off
#define DLT_TERNARY_OPS(X)                                                                                            \
  X(clip, 3, DLT_ORDERED, same, "", "min(max(a, b), c)", "Limit each element to the range from b to c; NaN stays NaN.") \
  X(fma, 3, DLT_NUMBERS, same, "", "a * b + c", "Multiply and add; floats are rounded once, integers wrap.")
// clang-format on

#define DLT_OPS(X) DLT_UNARY_OPS(X) DLT_BINARY_OPS(X) DLT_TERNARY_OPS(X)

// The rows that only copy and change sign bits: those of 16-bit floats are not computed as float. Row: name, operands.
#define DLT_SIGN_OPS(X) X(abs, 1) X(conj, 1) X(copysign, 2) X(negative, 1) X(positive, 1) X(real, 1) X(signbit, 1)

// The rows that compare. Those of two dtypes compare by value.
#define DLT_COMPARISONS(X) X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal)

// With saturate=True: same operands, same dtype, the exact result rounded half to even and clamped to the dtype.
// Row: name, operands.
#define DLT_SATURATING_OPS(X) X(add, 2) X(subtract, 2) X(multiply, 2) X(divide, 2) X(fma, 3) X(negative, 1) X(abs, 1)

// Short names. Row: name, row above, are the two operands swapped.
// clang-format off
#define DLT_ALIASES(X)   \
  X(sub, subtract, 0)    \
  X(rsub, subtract, 1)   \
  X(mul, multiply, 0)    \
  X(div, divide, 0)      \
  X(rdiv, divide, 1)     \
  X(lt, less, 0)         \
  X(le, less_equal, 0)   \
  X(gt, greater, 0)      \
  X(ge, greater_equal, 0) \
  X(eq, equal, 0)        \
  X(ne, not_equal, 0)
// clang-format on
