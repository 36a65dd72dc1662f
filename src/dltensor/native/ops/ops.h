// SPDX-License-Identifier: Apache-2.0
// All element-wise operations: one row and one body each, read by g++ (CPU loops), by NVRTC (CUDA
// kernels) and by the preprocessor alone (names, documentation, tests). No arrays, no casts between element types.
#ifndef DLTENSOR_OPS_H_
#define DLTENSOR_OPS_H_

// Which kinds of element a row takes. For a float function without `booleans` or integers the caller converts them to
// float32; see compute_type() in native/cpu/engine.h.
#define DLT_BOOLEANS 1
#define DLT_INTEGERS 2
#define DLT_FLOATS 4
#define DLT_COMPLEXES 8
#define DLT_ANY (DLT_BOOLEANS | DLT_INTEGERS | DLT_FLOATS | DLT_COMPLEXES)
#define DLT_NUMBERS (DLT_INTEGERS | DLT_FLOATS | DLT_COMPLEXES)
#define DLT_ORDERED (DLT_BOOLEANS | DLT_INTEGERS | DLT_FLOATS)
#define DLT_REALS (DLT_INTEGERS | DLT_FLOATS)
#define DLT_BITS (DLT_BOOLEANS | DLT_INTEGERS)
#define DLT_FLOATING (DLT_FLOATS | DLT_COMPLEXES)

// Row: name, number of operands, kinds, result, symbol in Python ("" without one), the value in words of Python,
// documentation. Result: same (the operands' dtype), mask (bool), part (the real dtype of a complex one).
// clang-format off
#define DLT_UNARY_OPS(X)                                                                                              \
  X(abs, 1, DLT_NUMBERS, part, "abs", "abs(a)", "Take the absolute value; of the lowest integer it is itself.")       \
  X(acos, 1, DLT_FLOATING, same, "", "acos(a)", "Take the inverse cosine.")                                           \
  X(acosh, 1, DLT_FLOATING, same, "", "acosh(a)", "Take the inverse hyperbolic cosine.")                              \
  X(asin, 1, DLT_FLOATING, same, "", "asin(a)", "Take the inverse sine.")                                             \
  X(asinh, 1, DLT_FLOATING, same, "", "asinh(a)", "Take the inverse hyperbolic sine.")                                \
  X(atan, 1, DLT_FLOATING, same, "", "atan(a)", "Take the inverse tangent.")                                          \
  X(atanh, 1, DLT_FLOATING, same, "", "atanh(a)", "Take the inverse hyperbolic tangent.")                             \
  X(bitwise_invert, 1, DLT_BITS, same, "~", "~a", "Flip every bit; of a bool, the truth.")                            \
  X(ceil, 1, DLT_REALS, same, "", "ceil(a)", "Round to an integer, upward.")                                          \
  X(conj, 1, DLT_NUMBERS, same, "", "a.conjugate()", "Flip the sign of the imaginary part.")                          \
  X(cos, 1, DLT_FLOATING, same, "", "cos(a)", "Take the cosine of an angle in radians.")                              \
  X(cosh, 1, DLT_FLOATING, same, "", "cosh(a)", "Take the hyperbolic cosine.")                                        \
  X(exp, 1, DLT_FLOATING, same, "", "exp(a)", "Take the exponential.")                                                \
  X(expm1, 1, DLT_FLOATING, same, "", "exp(a) - 1", "Take the exponential less 1, accurate near 0.")                  \
  X(floor, 1, DLT_REALS, same, "", "floor(a)", "Round to an integer, downward.")                                      \
  X(imag, 1, DLT_NUMBERS, part, "", "a.imag", "Take the imaginary part.")                                             \
  X(isfinite, 1, DLT_NUMBERS, mask, "", "isfinite(a)", "True where the value is neither infinite nor NaN.")           \
  X(isinf, 1, DLT_NUMBERS, mask, "", "isinf(a)", "True where the value is infinite.")                                 \
  X(isnan, 1, DLT_NUMBERS, mask, "", "isnan(a)", "True where the value is NaN.")                                      \
  X(log, 1, DLT_FLOATING, same, "", "log(a)", "Take the natural logarithm.")                                          \
  X(log1p, 1, DLT_FLOATING, same, "", "log(1 + a)", "Take the logarithm of 1 + a, accurate near 0.")                  \
  X(log2, 1, DLT_FLOATING, same, "", "log2(a)", "Take the logarithm to base 2.")                                      \
  X(log10, 1, DLT_FLOATING, same, "", "log10(a)", "Take the logarithm to base 10.")                                   \
  X(logical_not, 1, DLT_ANY, mask, "", "not a", "True where the value is 0.")                                         \
  X(negative, 1, DLT_NUMBERS, same, "-", "-a", "Flip the sign; integers wrap.")                                       \
  X(positive, 1, DLT_NUMBERS, same, "+", "+a", "Keep the value.")                                                     \
  X(real, 1, DLT_NUMBERS, part, "", "a.real", "Take the real part.")                                                  \
  X(reciprocal, 1, DLT_FLOATING, same, "", "1 / a", "Divide 1 by the value.")                                         \
  X(round, 1, DLT_NUMBERS, same, "", "round(a)", "Round to the nearest integer, half to even.")                       \
  X(sign, 1, DLT_NUMBERS, same, "", "sign(a)", "-1, 0 or 1 by the sign; NaN stays; of a complex value a / abs(a).")   \
  X(signbit, 1, DLT_FLOATS, mask, "", "signbit(a)", "True where the sign bit is set, also of -0.0.")                  \
  X(sin, 1, DLT_FLOATING, same, "", "sin(a)", "Take the sine of an angle in radians.")                                \
  X(sinh, 1, DLT_FLOATING, same, "", "sinh(a)", "Take the hyperbolic sine.")                                          \
  X(sqrt, 1, DLT_FLOATING, same, "", "sqrt(a)", "Take the square root.")                                              \
  X(square, 1, DLT_NUMBERS, same, "", "a * a", "Multiply the value by itself.")                                       \
  X(tan, 1, DLT_FLOATING, same, "", "tan(a)", "Take the tangent of an angle in radians.")                             \
  X(tanh, 1, DLT_FLOATING, same, "", "tanh(a)", "Take the hyperbolic tangent.")                                       \
  X(trunc, 1, DLT_REALS, same, "", "trunc(a)", "Round to an integer, toward 0.")
// clang-format on

// clang-format off
#define DLT_BINARY_OPS(X)                                                                                             \
  X(add, 2, DLT_ANY, same, "+", "a + b", "Add; integers wrap, of two bools it is their or.")                          \
  X(atan2, 2, DLT_FLOATS, same, "", "atan2(a, b)", "Take the angle of the point (b, a) in radians.")                  \
  X(bitwise_and, 2, DLT_BITS, same, "&", "a & b", "Keep the bits that both have.")                                    \
  X(bitwise_left_shift, 2, DLT_INTEGERS, same, "<<", "a << b", "Shift left; by the width or more, or by less than 0, gives 0.") \
  X(bitwise_or, 2, DLT_BITS, same, "|", "a | b", "Keep the bits that either has.")                                    \
  X(bitwise_right_shift, 2, DLT_INTEGERS, same, ">>", "a >> b", "Shift right, keeping the sign; by the width or more leaves only that.") \
  X(bitwise_xor, 2, DLT_BITS, same, "^", "a ^ b", "Keep the bits that one of the two has.")                           \
  X(copysign, 2, DLT_FLOATS, same, "", "copysign(a, b)", "Give the first value the sign of the second.")              \
  X(divide, 2, DLT_FLOATING, same, "/", "a / b", "Divide.")                                                           \
  X(equal, 2, DLT_ANY, mask, "==", "a == b", "True where both are equal; NaN equals nothing.")                        \
  X(floor_divide, 2, DLT_REALS, same, "//", "a // b", "Divide and round downward; an integer divided by 0 is 0.")     \
  X(greater, 2, DLT_ORDERED, mask, ">", "a > b", "True where the first is greater.")                                  \
  X(greater_equal, 2, DLT_ORDERED, mask, ">=", "a >= b", "True where the first is greater or equal.")                 \
  X(hypot, 2, DLT_FLOATS, same, "", "hypot(a, b)", "Take the length of the vector (a, b).")                           \
  X(less, 2, DLT_ORDERED, mask, "<", "a < b", "True where the first is less.")                                        \
  X(less_equal, 2, DLT_ORDERED, mask, "<=", "a <= b", "True where the first is less or equal.")                       \
  X(logaddexp, 2, DLT_FLOATS, same, "", "log(exp(a) + exp(b))", "Add in the exponents without overflow.")             \
  X(logical_and, 2, DLT_ANY, mask, "", "a and b", "True where both are not 0.")                                       \
  X(logical_or, 2, DLT_ANY, mask, "", "a or b", "True where either is not 0.")                                        \
  X(logical_xor, 2, DLT_ANY, mask, "", "a xor b", "True where one of the two is not 0.")                              \
  X(maximum, 2, DLT_ORDERED, same, "", "max(a, b)", "Take the greater; NaN where either is NaN.")                     \
  X(minimum, 2, DLT_ORDERED, same, "", "min(a, b)", "Take the lesser; NaN where either is NaN.")                      \
  X(multiply, 2, DLT_ANY, same, "*", "a * b", "Multiply; integers wrap, of two bools it is their and.")               \
  X(nextafter, 2, DLT_FLOATS, same, "", "nextafter(a, b)", "Take the next value toward the second.")                  \
  X(not_equal, 2, DLT_ANY, mask, "!=", "a != b", "True where the two differ; NaN differs from everything.")           \
  X(pow, 2, DLT_NUMBERS, same, "**", "a ** b", "Raise to a power; integers to negative elements of b are 0, 1 or -1.") \
  X(remainder, 2, DLT_REALS, same, "%", "a % b", "What floor_divide leaves, with the sign of b; an integer by 0 is 0.") \
  X(subtract, 2, DLT_NUMBERS, same, "-", "a - b", "Subtract; integers wrap.")
// clang-format on

// clang-format off
#define DLT_TERNARY_OPS(X)                                                                                            \
  X(clip, 3, DLT_ORDERED, same, "", "min(max(a, b), c)", "Keep the value between a lowest and a highest; NaN stays.") \
  X(fma, 3, DLT_NUMBERS, same, "", "a * b + c", "Multiply and add; one rounding for floats, integers wrap.")
// clang-format on

#define DLT_OPS(X) DLT_UNARY_OPS(X) DLT_BINARY_OPS(X) DLT_TERNARY_OPS(X)

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

#if defined(__cplusplus)
#include "native/ops/bodies.h"
#endif

#endif  // DLTENSOR_OPS_H_
