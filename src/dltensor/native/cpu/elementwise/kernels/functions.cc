// SPDX-License-Identifier: Apache-2.0
// exp, log, sin and similar functions through libmvec where the system has it: one full SIMD register at a time.
// Without it the loops of floats.cc are used, one call of the C library per element.
#include <stdio.h>
#include <string.h>

#include "native/cpu/elementwise/kernels/loops.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__x86_64__) && (defined(__SSE4_1__) || defined(__AVX2__))

#if defined(__AVX512F__)
constexpr char letter = 'e';
#elif defined(__AVX2__)
constexpr char letter = 'd';
#else
constexpr char letter = 'b';
#endif

template <class F>
using unary = typename pack<F>::type (*)(typename pack<F>::type);
template <class F>
using binary = typename pack<F>::type (*)(typename pack<F>::type, typename pack<F>::type);

// The function of libmvec for `Body`; null where it has none.
template <class Body, class F>
void* slot = nullptr;

template <class F>
DLT_FN typename pack<F>::type load(const F* from) {
  return *reinterpret_cast<const typename pack<F>::loose*>(from);
}
template <class F>
DLT_FN void save(F* to, typename pack<F>::type v) {
  *reinterpret_cast<typename pack<F>::loose*>(to) = v;
}
template <class F>
DLT_FN typename pack<F>::type splat(const void* from) {
  F value;
  memcpy(&value, from, sizeof(F));
  return value - typename pack<F>::type{};  // a sum with 0 would change -0
}

// The tail of a run goes through a padded register, so that the result does not depend on an element's position.
template <class F>
DLT_FN typename pack<F>::type load_rest(const F* from, int64_t n) {
  F buffer[pack<F>::lanes];
  for (int k = 0; k < pack<F>::lanes; ++k) memcpy(buffer + k, reinterpret_cast<const char*>(from), sizeof(F));
  memcpy(buffer, reinterpret_cast<const char*>(from), size_t(n) * sizeof(F));
  return load(buffer);
}
template <class F>
DLT_FN void save_rest(F* to, typename pack<F>::type v, int64_t n) {
  F buffer[pack<F>::lanes];
  save(buffer, v);
  memcpy(reinterpret_cast<char*>(to), buffer, size_t(n) * sizeof(F));
}

template <class F, class CALL>
DLT_FN void over(F* out, const F* a, const F* b, int64_t n, bool a_scalar, bool b_scalar, CALL call) {
  constexpr int lanes = pack<F>::lanes;
  if (n == 0) return;  // then not even the first element may be read
  const auto x = a_scalar ? splat<F>(a) : typename pack<F>::type{}, y = b_scalar ? splat<F>(b) : typename pack<F>::type{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) save(out + i, call(a_scalar ? x : load(a + i), b_scalar ? y : load(b + i)));
  if (i < n) save_rest(out + i, call(a_scalar ? x : load_rest(a + i, n - i), b_scalar ? y : load_rest(b + i, n - i)), n - i);
}

template <class Body, class F>
void vector1(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  const auto call = reinterpret_cast<unary<F>>(slot<Body, F>);
  const F* from = static_cast<const F*>(a);
  over(static_cast<F*>(out), from, from, n, scalars & 1, true, [=](auto x, auto) { return call(x); });
}
template <class Body, class F>
void vector2(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  const auto call = reinterpret_cast<binary<F>>(slot<Body, F>);
  over(static_cast<F*>(out), static_cast<const F*>(a), static_cast<const F*>(b), n, scalars & 1, scalars & 2,
       [=](auto x, auto y) { return call(x, y); });
}

// Powers like those of ops::pow, with the function of the library for the other exponents.
template <class F>
void vector_pow(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  using V = typename pack<F>::type;
  const auto call = reinterpret_cast<binary<F>>(slot<body_pow, F>);
  over(static_cast<F*>(out), static_cast<const F*>(a), static_cast<const F*>(b), n, scalars & 1, scalars & 2, [=](V x, V y) {
    V root;
    for (int k = 0; k < pack<F>::lanes; ++k) root[k] = ops::root(x[k]);
    const V r = call(x, y);
    return y == F(2) ? x * x : y == F(1) ? x : y == F(-1) ? F(1) / x : y == F(0.5) ? root : r;
  });
}

template <class Body, class F>
void install(ElementwiseKernels* kernels, int op, int type, int operands, const char* name, void* (*find)(const char*)) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "_ZGV%cN%d%s_%s%s", letter, pack<F>::lanes, operands == 1 ? "v" : "vv", name,
           sizeof(F) == 4 ? "f" : "");
  slot<Body, F> = find(symbol);
  if (slot<Body, F> == nullptr) return;
  kernels->ops[op][type] = operands == 1 ? vector1<Body, F> : op == op_pow ? vector_pow<F> : vector2<Body, F>;
}

#define DLT_INSTALL(name, operands)                                                     \
  install<body_##name, float>(kernels, op_##name, type_float32, operands, #name, find); \
  install<body_##name, double>(kernels, op_##name, type_float64, operands, #name, find);

}  // namespace

void fill_functions(ElementwiseKernels* kernels, void* (*find)(const char* name)) {
#define DLT_ONE(name) DLT_INSTALL(name, 1)
  DLT_LIBRARY_FUNCTIONS(DLT_ONE)
  DLT_INSTALL(atan2, 2)
  DLT_INSTALL(hypot, 2)
  DLT_INSTALL(pow, 2)
}

#else

}  // namespace

void fill_functions(ElementwiseKernels*, void* (*)(const char*)) {}

#endif

}  // namespace dlt::DLT_LEVEL
