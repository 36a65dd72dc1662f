// SPDX-License-Identifier: Apache-2.0
// The four arithmetic ops and squares on float16 and bfloat16 in one pass: converted, computed and rounded in registers. The same
// bits as through float32 buffers, which every other op on them uses.
#include <string.h>

#include "native/cpu/elementwise/kernels/loops.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {

#if defined(__AVX2__)
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#else
constexpr int lanes = 8;
#endif
typedef float floats __attribute__((vector_size(lanes * 4)));
typedef uint32_t words __attribute__((vector_size(lanes * 4)));
typedef uint16_t shorts __attribute__((vector_size(lanes * 2)));

DLT_FN shorts load(const char* from) {
  shorts v;
  memcpy(&v, from, sizeof v);
  return v;
}
DLT_FN void save(char* to, shorts v) { memcpy(to, &v, sizeof v); }

template <class T>
DLT_FN floats widen(shorts v);
template <class T>
DLT_FN shorts narrow(floats v);

// The bits of float32 that begin with the bfloat16 they round to; what follows in the lower half is left.
DLT_FN words rounded_up(floats v) {
  const words bits = reinterpret_cast<words>(v);
  return v == v ? bits + 0x7fff + ((bits >> 16) & 1) : (bits & 0x80000000) | 0x7fc00000;
}
template <>
DLT_FN floats widen<bfloat16>(shorts v) {
  return reinterpret_cast<floats>(__builtin_convertvector(v, words) << 16);
}
template <>
DLT_FN shorts narrow<bfloat16>(floats v) {
  return __builtin_convertvector(rounded_up(v) >> 16, shorts);
}
#if defined(__AVX512F__)
template <>
DLT_FN floats widen<float16>(shorts v) {
  return reinterpret_cast<floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(v)));
}
template <>
DLT_FN shorts narrow<float16>(floats v) {
  return reinterpret_cast<shorts>(
      _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
template <>
DLT_FN floats widen<float16>(shorts v) {
  return reinterpret_cast<floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(v)));
}
template <>
DLT_FN shorts narrow<float16>(floats v) {
  return reinterpret_cast<shorts>(_mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#endif

struct plus {
  DLT_FN static floats of(floats a, floats b) { return a + b; }
};
struct minus {
  DLT_FN static floats of(floats a, floats b) { return a - b; }
};
struct times {
  DLT_FN static floats of(floats a, floats b) { return a * b; }
};
struct over {
  DLT_FN static floats of(floats a, floats b) { return a / b; }
};

template <class T>
DLT_FN shorts splat(const void* from) {
  uint16_t value;
  memcpy(&value, from, sizeof value);
  return shorts{} + value;
}
DLT_FN shorts load_rest(const char* from, int64_t n) {
  shorts v{};
  memcpy(&v, from, size_t(n) * 2);
  return v;
}

// Two bfloat16 are one word: the second begins it as a float32, the first does after a shift. No register is shuffled.
DLT_FN words load_words(const char* from) {
  words v;
  memcpy(&v, from, sizeof v);
  return v;
}
constexpr uint32_t upper_half = 0xffff0000;
DLT_FN floats first_of(words v) { return reinterpret_cast<floats>(v << 16); }
DLT_FN floats second_of(words v) { return reinterpret_cast<floats>(v & upper_half); }
template <class Body>
DLT_FN void save_pairs(char* to, words x, words y) {
  const words first = rounded_up(Body::of(first_of(x), first_of(y))), second = rounded_up(Body::of(second_of(x), second_of(y)));
  const words both = first >> 16 | (second & upper_half);
  memcpy(to, &both, sizeof both);
}

template <class Body, class T>
void loop(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  char* to = static_cast<char*>(out);
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  const bool x_scalar = scalars & 1, y_scalar = scalars & 2;
  const floats fixed_x = x_scalar ? widen<T>(splat<T>(a)) : floats{}, fixed_y = y_scalar ? widen<T>(splat<T>(b)) : floats{};
  int64_t i = 0;
  constexpr int64_t pairs = 2 * lanes;
  if (is_same<T, bfloat16>::value && n >= pairs) {
    const words all_x = words{} + splat<T>(a)[0] * 0x10001u, all_y = words{} + splat<T>(b)[0] * 0x10001u;
    for (; i + pairs <= n; i += pairs)
      save_pairs<Body>(to + 2 * i, x_scalar ? all_x : load_words(x + 2 * i), y_scalar ? all_y : load_words(y + 2 * i));
  }
  for (; i + lanes <= n; i += lanes) {
    const floats p = x_scalar ? fixed_x : widen<T>(load(x + 2 * i)), q = y_scalar ? fixed_y : widen<T>(load(y + 2 * i));
    save(to + 2 * i, narrow<T>(Body::of(p, q)));
  }
  if (i == n) return;
  const floats p = x_scalar ? fixed_x : widen<T>(load_rest(x + 2 * i, n - i));
  const floats q = y_scalar ? fixed_y : widen<T>(load_rest(y + 2 * i, n - i));
  const shorts rest = narrow<T>(Body::of(p, q));
  memcpy(to + 2 * i, &rest, size_t(n - i) * 2);
}

template <class T>
void square(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  loop<times, T>(out, a, a, nullptr, n, scalars & 1 ? 3 : 0);
}

template <class T>
void fill_type(ElementwiseKernels* kernels, int type) {
  kernels->ops[op_square][type] = square<T>;
  kernels->ops[op_add][type] = loop<plus, T>;
  kernels->ops[op_subtract][type] = loop<minus, T>;
  kernels->ops[op_multiply][type] = loop<times, T>;
  kernels->ops[op_divide][type] = loop<over, T>;
}

}  // namespace

void fill_halves(ElementwiseKernels* kernels) {
  fill_type<float16>(kernels, type_float16);
  fill_type<bfloat16>(kernels, type_bfloat16);
}
#else
void fill_halves(ElementwiseKernels*) {}
#endif

}  // namespace dlt::DLT_LEVEL
