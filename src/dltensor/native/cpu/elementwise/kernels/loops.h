// SPDX-License-Identifier: Apache-2.0
// One loop for any body of ops.h and any element type, and the filling of a table with them.
#pragma once
#include <type_traits>

#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/ops/elementwise/bodies.h"

namespace dlt::DLT_LEVEL {

template <class Body, class T>
void loop1(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) {
    keep_all(out, Body::of(fetch<T>(a, 0)), n);
  } else {
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i)));
  }
}

// Body::of(a, b) has the bits of Body::of(b, a): then an only scalar can stand second. Of floats that excludes what a NaN
// or a zero is taken from.
template <class Body, class T>
inline constexpr bool commutes = false;

template <class Body, class T>
void loop2(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  if constexpr (commutes<Body, T>) {
    if ((scalars & 3) == 1) {
      const void* const first = a;
      a = b;
      b = first;
      scalars = 2;
    }
  }
  if ((scalars & 3) == 0) {
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), fetch<T>(b, i)));
  } else if (!commutes<Body, T> && (scalars & 3) == 1) {
    const T x = fetch<T>(a, 0);
    DLT_EACH keep(out, i, Body::of(x, fetch<T>(b, i)));
  } else if ((scalars & 3) == 2) {
    const T y = fetch<T>(b, 0);
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), y));
  } else {
    keep_all(out, Body::of(fetch<T>(a, 0), fetch<T>(b, 0)), n);
  }
}

// The common ones of the eight combinations: all runs; a scalar a (fma); scalars b and c (clip, scale and offset).
template <class Body, class T>
void loop3(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  if ((scalars & 7) == 0) {
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), fetch<T>(b, i), fetch<T>(c, i)));
  } else if ((scalars & 7) == 1) {
    const T x = fetch<T>(a, 0);
    DLT_EACH keep(out, i, Body::of(x, fetch<T>(b, i), fetch<T>(c, i)));
  } else if ((scalars & 7) == 6) {
    const T y = fetch<T>(b, 0), z = fetch<T>(c, 0);
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), y, z));
  } else {
    const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1, sc = ~scalars >> 2 & 1;
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i * sa), fetch<T>(b, i * sb), fetch<T>(c, i * sc)));
  }
}

template <class Body, int OPERANDS, class T>
constexpr loop_t loop_for() {
  if constexpr (OPERANDS == 1) return loop1<Body, T>;
  else if constexpr (OPERANDS == 2) return loop2<Body, T>;
  else return loop3<Body, T>;
}

// The bodies as types, so that they can be template arguments.
#define DLT_BODY(name, ...)         \
  struct body_##name {              \
    template <class... A>           \
    DLT_FN static auto of(A... a) { \
      return ops::name(a...);       \
    }                               \
  };
DLT_OPS(DLT_BODY)
#undef DLT_BODY

// The operations whose operands may change places, over integers and bool, and those that compare floats for that too.
// clang-format off
#define DLT_COMMUTATIVE(X) \
  X(add) X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(logical_and) X(logical_or) X(logical_xor) X(maximum) X(minimum) X(multiply)
#define DLT_COMMUTATIVE_ANY(X) X(equal) X(not_equal)
// clang-format on
#define DLT_COMMUTES(name) \
  template <class T>       \
  inline constexpr bool commutes<body_##name, T> = (kind_bit<T> & DLT_BITS) != 0;
DLT_COMMUTATIVE(DLT_COMMUTES)
#undef DLT_COMMUTES
#define DLT_COMMUTES(name) \
  template <class T>       \
  inline constexpr bool commutes<body_##name, T> = true;
DLT_COMMUTATIVE_ANY(DLT_COMMUTES)
#undef DLT_COMMUTES

// The operations that give the same bits for a signed integer type and for the unsigned one of its width.
// clang-format off
#define DLT_SIGNLESS(X) \
  X(add) X(bitwise_and) X(bitwise_invert) X(bitwise_left_shift) X(bitwise_or) X(bitwise_xor) X(ceil) X(conj) X(equal) \
  X(floor) X(fma) X(imag) X(isfinite) X(isinf) X(isnan) X(logical_and) X(logical_not) X(logical_or) X(logical_xor) \
  X(multiply) X(negative) X(not_equal) X(positive) X(real) X(round) X(square) X(subtract) X(trunc)
// clang-format on
template <class Body>
inline constexpr bool signless = false;
#define DLT_NAME(name) \
  template <>          \
  inline constexpr bool signless<body_##name> = true;
DLT_SIGNLESS(DLT_NAME)
#undef DLT_NAME

// The type whose loop of an operation serves T too.
template <class Body, class T>
struct served_by {
  using type = T;
};
template <class Body, class T>
  requires(signless<Body> && std::is_integral_v<T> && !is_bool<T>)
struct served_by<Body, T> {
  using type = twin_t<T>;
};
template <class Body, class T>
using loop_type = typename served_by<Body, T>::type;

// True where integers.cc, comparisons.cc or functions have a loop of their own for an operation over T.
template <class T>
constexpr bool is_elsewhere(int op) {
#define DLT_IS(name, operands) \
  if (is_float<T> && op == op_##name) return true;
  DLT_ELEMENTARY_OPS(DLT_IS)
#undef DLT_IS
  constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;
  if (is_integer && (op == op_floor_divide || op == op_remainder)) return true;
#if defined(__AVX512F__)
  if ((is_integer || is_float<T>) && sizeof(T) >= 4)
    return op == op_less || op == op_less_equal || op == op_greater || op == op_greater_equal || op == op_equal ||
           op == op_not_equal;
#endif
  return false;
}

// Every op whose row takes T, at T's column.
template <class T>
void fill_column(ElementwiseKernels* kernels, int type) {
#define DLT_FILL(name, operands, kinds, ...)                            \
  if constexpr (((kinds) & kind_bit<T>) && !is_elsewhere<T>(op_##name)) \
    kernels->ops[op_##name][type] = loop_for<body_##name, operands, loop_type<body_##name, T>>();
  DLT_OPS(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
