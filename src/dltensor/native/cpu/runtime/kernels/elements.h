// SPDX-License-Identifier: Apache-2.0
// Elements in memory at any address, and as what loops compute them.
#pragma once
#include "native/cpu/runtime/kernels/unit.h"

namespace dlt::DLT_LEVEL {

// The type of an element in memory and the one it is computed in: bool is a byte there, a truth value here.
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

// n times the same element: where all operands are single ones, the loops of all operations share one of these per width.
template <class U>
[[gnu::noinline]] void repeat_bits(void* out, U bits, int64_t n) {
  DLT_EACH write_at(out, i, bits);
}
template <class T>
DLT_FN void repeat(void* out, T value, int64_t n) {
  typename unit<sizeof(T)>::type bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  repeat_bits(out, bits, n);
}
template <class T>
DLT_FN void keep_all(void* out, T value, int64_t n) {
  repeat(out, stored<T>::out(value), n);
}

// The unsigned integer as wide as one with a sign.
template <class T>
using twin_t = typename unit<sizeof(T)>::type;

}  // namespace dlt::DLT_LEVEL
