// SPDX-License-Identifier: Apache-2.0
// One loop for any body of ops.h and any element type, and the filling of a table with them.
#pragma once
#include "native/cpu/kernels/level.h"

namespace dlt::DLT_LEVEL {

// How an element is kept in memory and what it is computed as: bool is a byte there, a truth value here.
template <class T>
struct stored {
  using type = T;
  DLT_FN static T in(T v) { return v; }
  DLT_FN static T out(T v) { return v; }
};
template <>
struct stored<bool> {
  using type = boolean;
  DLT_FN static bool in(boolean v) { return v.bits != 0; }
  DLT_FN static boolean out(bool v) { return {uint8_t(v)}; }
};

// Elements at any address. Class types are copied member by member: a copy constructor binds a reference, whose target
// must be aligned.
template <class T>
DLT_FN T read_at(const void* from, int64_t i) {
  if constexpr (requires(T v) { v.re; }) {
    using P = decltype(T::re);
    return {read_at<P>(from, 2 * i), read_at<P>(from, 2 * i + 1)};
  } else if constexpr (requires(T v) { v.bits; }) {
    T v;
    v.bits = static_cast<const loose_t<decltype(T::bits)>*>(from)[i];
    return v;
  } else {
    return static_cast<const loose_t<T>*>(from)[i];
  }
}
template <class T>
DLT_FN void write_at(void* to, int64_t i, T value) {
  if constexpr (requires { value.re; }) {
    write_at(to, 2 * i, value.re);
    write_at(to, 2 * i + 1, value.im);
  } else if constexpr (requires { value.bits; }) {
    static_cast<loose_t<decltype(T::bits)>*>(to)[i] = value.bits;
  } else {
    static_cast<loose_t<T>*>(to)[i] = value;
  }
}

template <class T>
DLT_FN T fetch(const void* from, int64_t i) {
  return stored<T>::in(read_at<typename stored<T>::type>(from, i));
}
template <class T>
DLT_FN void keep(void* to, int64_t i, T value) {
  write_at(to, i, stored<T>::out(value));
}

template <class Body, class T>
void loop1(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) {
    const auto r = Body::of(fetch<T>(a, 0));
    DLT_EACH keep(out, i, r);
  } else {
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i)));
  }
}

template <class Body, class T>
void loop2(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  if ((scalars & 3) == 0) {
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), fetch<T>(b, i)));
  } else if ((scalars & 3) == 1) {
    const T x = fetch<T>(a, 0);
    DLT_EACH keep(out, i, Body::of(x, fetch<T>(b, i)));
  } else if ((scalars & 3) == 2) {
    const T y = fetch<T>(b, 0);
    DLT_EACH keep(out, i, Body::of(fetch<T>(a, i), y));
  } else {
    const auto r = Body::of(fetch<T>(a, 0), fetch<T>(b, 0));
    DLT_EACH keep(out, i, r);
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

template <class Body, class T>
void join_at(void* to, const void* from, int64_t step, const int64_t* offsets, int64_t n) {
  for (int64_t i = 0; i < n; ++i) keep(to, offsets[i], Body::of(fetch<T>(to, offsets[i]), fetch<T>(from, i * step)));
}

// Every op whose row takes T, at T's column.
template <class T>
void fill_column(Kernels* kernels, int type) {
#define DLT_FILL(name, operands, kinds, ...) \
  if constexpr ((kinds) & kind_bit<T>) kernels->ops[op_##name][type] = loop_for<body_##name, operands, T>();
  DLT_OPS(DLT_FILL)
#undef DLT_FILL
#define DLT_FILL(name) \
  if (kernels->ops[op_##name][type] != nullptr) kernels->joins[join_##name][type] = join_at<body_##name, T>;
  if constexpr (kind_bit<T> != kind_bit<bool> && kind_bit<T> != kind_bit<complex64>) {
    DLT_JOINS(DLT_FILL)
  }
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
