// SPDX-License-Identifier: Apache-2.0
// Elements of at most 8 bits in registers: rounded out of float32, and as float32 again. One byte each.
#pragma once
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/casts.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {

void fill_narrow_casts(CopyKernels* kernels);  // after fill_small_casts
void fill_decode(QuantizeKernels* kernels);
void fill_narrow_vectors(LinalgKernels* kernels);

namespace {

using Floats = pack<float>::type;
using Words = pack<int32_t>::type;
constexpr int float_lanes = pack<float>::lanes;
typedef uint8_t Codes __attribute__((vector_size(float_lanes)));
typedef uint8_t LooseCodes __attribute__((vector_size(float_lanes), aligned(1), may_alias));

DLT_FN Floats load_floats(const float* from) { return load<float>(reinterpret_cast<const char*>(from)); }
DLT_FN void save_floats(float* to, Floats x) { *reinterpret_cast<pack<float>::loose*>(to) = x; }

// ---- out of float32

template <class T>
struct code_limits {
  static constexpr float low = float(T::lowest), high = float(T::highest);
};
template <>
struct code_limits<int8_t> {
  static constexpr float low = -128, high = 127;
};

// Keeps a constant in a register: the compiler would make it again in each of many short loops.
template <class V>
DLT_FN V kept(V constant) {
#if defined(__x86_64__)
  asm("" : "+v"(constant));
#endif
  return constant;
}

// Makes codes of a dtype.
template <class T>
struct Coder {
  // A sum with a power of two whose last place is that of an element: the adder rounds. `less` takes away what the exponent of
  // subnormal elements adds to the code; it is even, so that halves stay halves.
  static constexpr int shift = 23 - T::mantissa, places = 31 - T::exponent - T::mantissa;
  static constexpr int32_t first_normal = (128 - T::bias) << 23, less = -(first_normal >> shift) & 255;
  Words magnitudes = kept(Words{} + 0x7fffffff), exponents = kept(Words{} + 0x7f800000),
        subnormal = kept(Words{} + first_normal);
  Words most = kept(Words{} + bits_as<int32_t>(to_float(T{uint8_t(T::largest)})));
  Words anchors = kept(Words{} + ((shift << 23) + less)), sign_bits = kept(Words{} + int32_t(T::sign_bit));

  // The nearest element, half to even, clamped: of numbers that are not NaN the bits of convert(), in the lowest byte of each word.
  // It has the signs of `signs`, which are those of x but for a 0.
  DLT_FN Words of(Floats x, Words signs) const {
    const Words all = reinterpret_cast<Words>(x) & magnitudes, magnitude = all < most ? all : most;
    const Words own = magnitude & exponents, exponent = own > subnormal ? own : subnormal;
    const Floats anchor = reinterpret_cast<Floats>(exponent + anchors);
    const Words code = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) + anchor) + (exponent >> shift);
    const Words sign = (signs >> places) & sign_bits;
    if constexpr (T::special == Special::fnuz) return (code & 0x7f) == 0 ? Words{} : code | sign;
    else return code | sign;
  }
};
template <class T>
  requires(!requires { T::mantissa; })
struct Coder<T> {
  Floats low = kept(code_limits<T>::low - Floats{}), high = kept(code_limits<T>::high - Floats{});
  Floats anchor = kept(12582912.0f - Floats{});  // 1.5 * 2^23: the adder rounds

  DLT_FN Floats clamped(Floats x) const {
    const Floats above = x > low ? x : low;
    return above < high ? above : high;
  }
  DLT_FN Words of(Floats x, Words) const { return reinterpret_cast<Words>(clamped(x) + anchor); }
};

#if !defined(__AVX512F__)
typedef uint8_t RegisterBytes __attribute__((vector_size(register_bytes)));
template <int... I>
DLT_FN Codes low_bytes(RegisterBytes bytes, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(bytes, bytes, (4 * I)...);
}
#endif
// The lowest byte of each word. The compiler's own conversion is compiled to moves of single bytes.
DLT_FN void store_codes(uint8_t* codes, Words code) {
#if defined(__AVX512F__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(codes), _mm512_maskz_cvtepi32_epi8(0xffff, __m512i(code)));
#else
  *reinterpret_cast<LooseCodes*>(codes) = low_bytes(reinterpret_cast<RegisterBytes>(code),
                                                    std::make_integer_sequence<int, float_lanes>());
#endif
}

// ---- as float32

#if defined(__F16C__)
// Sixteen codes of float8_e4m3fn or float8_e5m2 as float16: the one is its upper byte, the other has its fields at an exponent that is
// 8 lower.
template <class T>
DLT_FN __m256i halves_of(__m128i codes) {
  const __m256i words = _mm256_cvtepi8_epi16(codes);
  if constexpr (T::mantissa == 2) return _mm256_slli_epi16(words, 8);
  else return _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16(short(0xbf80)));
}
// The factor of float16 numbers of halves_of().
template <class T>
constexpr float scale_of_halves = T::mantissa == 2 ? 1.0f : 256.0f;

// Returns whether one of sixteen codes is NaN. There is one NaN for float32, and float16 has others.
template <class T>
DLT_FN bool has_nan(__m128i codes) {
  constexpr char last = T::mantissa == 2 ? 0x7c : 0x7e;
#if defined(__AVX512BW__)
  return _mm_cmpgt_epi8_mask(_mm_and_si128(codes, _mm_set1_epi8(0x7f)), _mm_set1_epi8(last)) != 0;
#else
  return _mm_movemask_epi8(_mm_cmpgt_epi8(_mm_and_si128(codes, _mm_set1_epi8(0x7f)), _mm_set1_epi8(last))) != 0;
#endif
}
#endif

}  // namespace
}  // namespace dlt::DLT_LEVEL
