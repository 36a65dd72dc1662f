// SPDX-License-Identifier: Apache-2.0
// Elements of blocks as codes of one byte each, in registers, and codes of floats of 8 bits back.
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/casts.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

using Floats = pack<float>::type;
using Words = pack<int32_t>::type;
constexpr int lanes = pack<float>::lanes;
typedef uint8_t Codes __attribute__((vector_size(lanes)));
typedef uint8_t LooseCodes __attribute__((vector_size(lanes), aligned(1), may_alias));

// Blocks are read once more than they are quantized: what is read next is brought to the second cache meanwhile.
constexpr int64_t ahead = 4096;

template <class T>
struct limits {
  static constexpr float low = float(T::lowest), high = float(T::highest);
};
template <>
struct limits<int8_t> {
  static constexpr float low = -128, high = 127;
};

// The code of the nearest element, half to even, clamped: of finite numbers the bits of convert().
template <class T>
DLT_FN Words code_of(Floats x) {
  if constexpr (requires { T::mantissa; }) {
    constexpr int shift = 23 - T::mantissa, places = 31 - T::exponent - T::mantissa;
    constexpr int32_t rebias = (127 - T::bias) << 23, first_normal = (128 - T::bias) << 23;
    constexpr int32_t anchor = (127 + 1 - T::bias + shift) << 23, half = (1 << (shift - 1)) - 1;
    const int32_t most = bits_as<int32_t>(to_float(T{uint8_t(T::largest)}));
    const Words bits = reinterpret_cast<Words>(x), all = bits & 0x7fffffff;
    const Words magnitude = all < most ? all : Words{} + most;
    const Words normal = (magnitude + (half - rebias) + ((magnitude >> shift) & 1)) >> shift;
    // The sum with a constant whose last place is the smallest element: the adder rounds.
    const Words subnormal = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) + bits_as<float>(anchor)) - anchor;
    const Words code = magnitude < first_normal ? subnormal : normal, sign = (bits >> places) & int32_t(T::sign_bit);
    if constexpr (T::special == Special::fnuz) return code == 0 ? code : code | sign;
    else return code | sign;
  } else {
    constexpr float low = limits<T>::low, high = limits<T>::high, anchor = 12582912;  // 1.5 * 2^23: the adder rounds
    const Floats above = x > low ? x : Floats{} + low, inside = above < high ? above : Floats{} + high;
    return reinterpret_cast<Words>(inside + anchor) - bits_as<int32_t>(anchor);
  }
}

typedef uint8_t Bytes __attribute__((vector_size(register_bytes)));
template <int... I>
DLT_FN Codes low_bytes(Bytes bytes, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(bytes, bytes, (4 * I)...);
}

template <class T, bool MULTIPLIED>
struct Encoder {
  DLT_FN static uint8_t one(const float* x, float number) {
    const float element = read_at<float>(x, 0);
    const T code = convert<T, true, true>(MULTIPLIED ? element * number : element / number);
    if constexpr (requires { code.bits; }) return code.bits;
    else return uint8_t(code);
  }
  DLT_FN static Words lanes_of(const float* x, Floats number) {
    const Floats elements = load<float>(reinterpret_cast<const char*>(x));
    return code_of<T>(MULTIPLIED ? elements * number : elements / number);
  }
  DLT_FN static void store(uint8_t* codes, Words code) {
#if defined(__AVX512F__)
    *reinterpret_cast<LooseCodes*>(codes) = __builtin_convertvector(code, Codes);
#else  // which is compiled to moves of single bytes
    *reinterpret_cast<LooseCodes*>(codes) = low_bytes(reinterpret_cast<Bytes>(code), std::make_integer_sequence<int, lanes>());
#endif
  }

  // Numbers of their own.
  static void singles(uint8_t* codes, const float* x, const float* numbers, int64_t n) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const Floats number = load<float>(reinterpret_cast<const char*>(numbers + i));
      store(codes + i, lanes_of(x + i, number) & (number == number));
    }
    for (; i < n; ++i) codes[i] = numbers[i] == numbers[i] ? one(x + i, numbers[i]) : uint8_t(0);
  }

  static void run(uint8_t* codes, const float* x, const float* numbers, int64_t blocks, int64_t block) {
    if (block == 1) return singles(codes, x, numbers, blocks);
    for (int64_t b = 0; b < blocks; ++b, codes += block, x += block) {
      const float number = numbers[b];
      if (!(number == number)) {
        __builtin_memset(codes, 0, size_t(block));
        continue;
      }
      int64_t i = 0;
      for (; i + lanes <= block; i += lanes) {
        if (i * int64_t(sizeof(float)) % 64 == 0) __builtin_prefetch(x + i + ahead, 0, 2);
        store(codes + i, lanes_of(x + i, Floats{} + number));
      }
      for (; i < block; ++i) codes[i] = one(x + i, number);
    }
  }
};

#if defined(__F16C__)
// Sixteen codes as float16: e5m2 is its upper byte, and e4m3fn has its fields at a lower exponent. Returns whether one of them is NaN, of
// which there is one for float32.
template <class T>
DLT_FN bool halves_of(__m128i codes, __m256i* halves) {
  const __m256i words = _mm256_cvtepi8_epi16(codes);
  const __m128i magnitude = _mm_and_si128(codes, _mm_set1_epi8(0x7f));
  if constexpr (T::mantissa == 2) *halves = _mm256_slli_epi16(words, 8);
  else *halves = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16(short(0xbf80)));
  const __m128i nan = _mm_cmpgt_epi8(magnitude, _mm_set1_epi8(T::mantissa == 2 ? 0x7c : 0x7e));
  return _mm_movemask_epi8(nan) != 0;
}
#endif

template <class T>
void decode(float* y, const uint8_t* codes, const float* numbers, int64_t blocks, int64_t block) {
  for (int64_t b = 0; b < blocks; ++b, codes += block, y += block) {
    const float number = read_at<float>(numbers, b);
    int64_t i = 0;
#if defined(__F16C__)
    constexpr float up = T::mantissa == 2 ? 1.0f : 256.0f;
    for (__m256i halves; i + 16 <= block; i += 16) {
      if (halves_of<T>(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i)), &halves)) {
        for (int64_t k = i; k < i + 16; ++k) write_at(y, k, to_float(read_at<T>(codes, k)) * number);
        continue;
      }
      for (int part = 0; part < 2; ++part) {
        const __m128i half = part == 0 ? _mm256_castsi256_si128(halves) : _mm256_extracti128_si256(halves, 1);
        const __m256 wide = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(up));
        _mm256_storeu_ps(y + i + 8 * part, _mm256_mul_ps(wide, _mm256_set1_ps(number)));
      }
    }
#endif
    DLT_IVDEP
    for (int64_t k = i; k < block; ++k) write_at(y, k, to_float(read_at<T>(codes, k)) * number);
  }
}

template <class T>
void fill_codes_of(QuantizeKernels* kernels, int type) {
  constexpr bool is_e4m3fn = is_same<T, float8_e4m3fn>::value, is_e5m2 = is_same<T, float8_e5m2>::value;
  constexpr bool has_powers = is_e4m3fn || is_e5m2 || is_same<T, float6_e2m3fn>::value || is_same<T, float6_e3m2fn>::value ||
                              is_same<T, float4_e2m1fn>::value;
  if constexpr (requires { T::mantissa; }) kernels->divided[type] = Encoder<T, false>::run;
  else if constexpr (requires { T::is_signed; }) {
    if constexpr (T::is_signed) kernels->divided[type] = Encoder<T, false>::run;
  }
  if constexpr (has_powers) kernels->multiplied[type] = Encoder<T, true>::run;
  if constexpr (is_e4m3fn || is_e5m2) kernels->decode[type] = decode<T>;
}

}  // namespace

void fill_codes(QuantizeKernels* kernels) {
  kernels->divided[type_int8] = Encoder<int8_t, false>::run;
#define DLT_FILL(name, type, code, bits, format) fill_codes_of<type>(kernels, type_##name);
  DLT_STORAGE_DTYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
