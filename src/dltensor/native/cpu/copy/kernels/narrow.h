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

// The nearest element, half to even, clamped: of numbers that are not NaN the bits of convert(), in the lowest byte of each word. It
// has the signs of `signs`, which are those of x but for a 0.
template <class T>
DLT_FN Words code_of(Floats x, Words signs) {
  if constexpr (requires { T::mantissa; }) {
    // A sum with a power of two whose last place is that of an element: the adder rounds. `less` takes away what the exponent of
    // subnormal elements adds to the code; it is even, so that halves stay halves.
    constexpr int shift = 23 - T::mantissa, places = 31 - T::exponent - T::mantissa;
    constexpr int32_t subnormal = (128 - T::bias) << 23, less = -(subnormal >> shift) & 255;
    const int32_t most = bits_as<int32_t>(to_float(T{uint8_t(T::largest)}));
    const Words all = reinterpret_cast<Words>(x) & 0x7fffffff, magnitude = all < most ? all : Words{} + most;
    const Words own = magnitude & 0x7f800000, exponent = own > subnormal ? own : Words{} + subnormal;
    const Floats anchor = reinterpret_cast<Floats>(exponent + ((shift << 23) + less));
    const Words code = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) + anchor) + (exponent >> shift);
    const Words sign = (signs >> places) & int32_t(T::sign_bit);
    if constexpr (T::special == Special::fnuz) return (code & 0x7f) == 0 ? Words{} : code | sign;
    else return code | sign;
  } else {
    constexpr float low = code_limits<T>::low, high = code_limits<T>::high, anchor = 12582912;  // 1.5 * 2^23: the adder rounds
    const Floats above = x > low ? x : Floats{} + low, inside = above < high ? above : Floats{} + high;
    return reinterpret_cast<Words>(inside + anchor);
  }
}

typedef uint8_t RegisterBytes __attribute__((vector_size(register_bytes)));
template <int... I>
DLT_FN Codes low_bytes(RegisterBytes bytes, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(bytes, bytes, (4 * I)...);
}
// The lowest byte of each word.
DLT_FN void store_codes(uint8_t* codes, Words code) {
#if defined(__AVX512F__)
  *reinterpret_cast<LooseCodes*>(codes) = __builtin_convertvector(code, Codes);
#else  // which is compiled to moves of single bytes
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
// What float16 numbers of halves_of() are multiplied by.
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
