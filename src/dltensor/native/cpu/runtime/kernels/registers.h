// SPDX-License-Identifier: Apache-2.0
// Registers of elements of any dtype, as kernels of products load them.
#pragma once
#include <type_traits>
#include <utility>

#include "native/cpu/runtime/kernels/level.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr int register_bytes =
#if defined(__AVX512F__)
    64;
#elif defined(__AVX2__)
    32;
#else
    16;
#endif
constexpr int registers = register_bytes == 64 ? 32 : 16;

template <class T>
struct pack {
  static constexpr int lanes = register_bytes / int(sizeof(T));
  typedef T type __attribute__((vector_size(register_bytes)));
  typedef T loose __attribute__((vector_size(register_bytes), aligned(1), may_alias));
};

template <class T>
DLT_FN typename pack<T>::type load(const char* from) {
  return *reinterpret_cast<const typename pack<T>::loose*>(from);
}
template <class T>
DLT_FN T one(const char* from) {
  return *reinterpret_cast<const loose_t<T>*>(from);
}

// Calls a function with the constants 0 ... N - 1, so that arrays which it indexes stay in registers.
template <class F, int... I>
DLT_FN void each(const F& function, std::integer_sequence<int, I...>) {
  (function(std::integral_constant<int, I>{}), ...);
}
template <int N, class F>
DLT_FN void each(const F& function) {
  each(function, std::make_integer_sequence<int, N>());
}

// The sum of N registers, the upper half of them added to the lower half until one is left.
template <int N, class V>
DLT_FN V halved(V* v) {
  if constexpr (N == 1) return v[0];
  else {
    each<N / 2>([&](int i) __attribute__((always_inline)) { v[i] = v[i] + v[i + N / 2]; });
    return halved<N / 2>(v);
  }
}

template <int By, class V, int... I>
DLT_FN V exchanged(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ By)...);
}
// Each lane exchanged with the one whose number differs by the bit of value By.
template <class T, int By>
DLT_FN typename pack<T>::type exchanged(typename pack<T>::type v) {
  return exchanged<By>(v, std::make_integer_sequence<int, pack<T>::lanes>());
}
template <class V, int... I>
DLT_FN V alternate(V even, V odd, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(even, odd, (I % 2 == 0 ? I : I + int(sizeof...(I)))...);
}
// Even lanes of one register and odd ones of another: real and imaginary parts.
template <class T>
DLT_FN typename pack<T>::type alternate(typename pack<T>::type even, typename pack<T>::type odd) {
  return alternate(even, odd, std::make_integer_sequence<int, pack<T>::lanes>());
}

// A product of elements; those of integers wrap, narrow ones too, which C would multiply as int.
template <class T>
DLT_FN T times(T x, T y) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int)) return T(unsigned(x) * unsigned(y));
  else return x * y;
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
