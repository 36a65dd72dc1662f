// SPDX-License-Identifier: Apache-2.0
// Elements of blocks as codes of one byte each, in registers.
#include "native/cpu/copy/kernels/narrow.h"
#include "native/cpu/quantize/kernels.h"

namespace dlt::DLT_LEVEL {
namespace {

// Blocks are read once more than they are quantized: what is read next is brought to the second cache meanwhile.
constexpr int64_t ahead = 4096;

struct Multiplied {
  Floats number;
  DLT_FN Floats of(Floats x) const { return x * number; }
};
struct Divided {
  Floats number;
  DLT_FN Floats of(Floats x) const { return x / number; }
};

#if defined(__FMA__)
// A quotient by products, as a division takes several times as long: the product with the reciprocal, and its remainder. It is not
// always the rounded quotient, but has the same code: tests/test_quantization.py tries all numbers for which it could differ.
// Divisors are those for which no number that matters is subnormal or infinite; a quotient of 0 may lose its sign.
struct Corrected {
  Floats number, reciprocal;
  DLT_FN Floats of(Floats x) const {
    const Floats quotient = x * reciprocal;
#if defined(__AVX512F__)
    const __m512 rest = _mm512_fnmadd_ps(__m512(quotient), __m512(number), __m512(x));
    return Floats(_mm512_fmadd_ps(rest, __m512(reciprocal), __m512(quotient)));
#else
    const __m256 rest = _mm256_fnmadd_ps(__m256(quotient), __m256(number), __m256(x));
    return Floats(_mm256_fmadd_ps(rest, __m256(reciprocal), __m256(quotient)));
#endif
  }
};
constexpr float least_corrected = 0x1p-60f, most_corrected = 0x1p100f;
#endif

template <class T, bool MULTIPLIED>
struct Encoder {
  DLT_FN static uint8_t one(const float* x, float number) {
    const float element = read_at<float>(x, 0);
    const T code = convert<T, true, true>(MULTIPLIED ? element * number : element / number);
    if constexpr (requires { code.bits; }) return code.bits;
    else return uint8_t(code);
  }

  // Numbers of their own.
  static void singles(uint8_t* codes, const float* x, const float* numbers, int64_t n) {
    const Coder<T> coder;
    int64_t i = 0;
    for (; i + float_lanes <= n; i += float_lanes) {
      const Floats number = load_floats(numbers + i), elements = load_floats(x + i);
      const Words code = coder.of(MULTIPLIED ? elements * number : elements / number, reinterpret_cast<Words>(elements));
      store_codes(codes + i, code & (number == number));
    }
    for (; i < n; ++i) codes[i] = numbers[i] == numbers[i] ? one(x + i, numbers[i]) : uint8_t(0);
  }

  template <class By>
  DLT_FN static void run_block(const Coder<T>& coder, uint8_t* codes, const float* x, float number, const By& by, int64_t n) {
    int64_t i = 0;
    for (; i + float_lanes <= n; i += float_lanes) {
      if (i * int64_t(sizeof(float)) % 64 == 0) __builtin_prefetch(x + i + ahead, 0, 2);
      const Floats elements = load_floats(x + i);
      store_codes(codes + i, coder.of(by.of(elements), reinterpret_cast<Words>(elements)));
    }
    for (; i < n; ++i) codes[i] = one(x + i, number);
  }

  static void run(uint8_t* codes, const float* x, const float* numbers, int64_t blocks, int64_t block) {
    if (block == 1) return singles(codes, x, numbers, blocks);
    const Coder<T> coder;
    for (int64_t b = 0; b < blocks; ++b, codes += block, x += block) {
      const float number = numbers[b];
      const Floats all = number - Floats{};  // a sum would not be left out
      if constexpr (MULTIPLIED) {
        if (number == number) {
          run_block(coder, codes, x, number, Multiplied{all}, block);
          continue;
        }
      } else {
#if defined(__FMA__)
        if (number >= least_corrected && number <= most_corrected) {
          run_block(coder, codes, x, number, Corrected{all, 1.0f / number - Floats{}}, block);
          continue;
        }
#endif
        if (number == number) {
          run_block(coder, codes, x, number, Divided{all}, block);
          continue;
        }
      }
      __builtin_memset(codes, 0, size_t(block));
    }
  }
};

template <class T>
void fill_codes_of(QuantizeKernels* kernels, int type) {
  constexpr bool has_powers = is_same<T, float8_e4m3fn>::value || is_same<T, float8_e5m2>::value ||
                              is_same<T, float6_e2m3fn>::value || is_same<T, float6_e3m2fn>::value ||
                              is_same<T, float4_e2m1fn>::value;
  if constexpr (requires { T::mantissa; }) kernels->divided[type] = Encoder<T, false>::run;
  else if constexpr (requires { T::is_signed; }) {
    if constexpr (T::is_signed) kernels->divided[type] = Encoder<T, false>::run;
  }
  if constexpr (has_powers) kernels->multiplied[type] = Encoder<T, true>::run;
}

}  // namespace

void fill_codes(QuantizeKernels* kernels) {
  kernels->divided[type_int8] = Encoder<int8_t, false>::run;
#define DLT_FILL(name, type, code, bits, format) fill_codes_of<type>(kernels, type_##name);
  DLT_STORAGE_DTYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
