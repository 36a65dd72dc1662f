// SPDX-License-Identifier: Apache-2.0
// The operations that elementary functions are written in: for one number, and for a register of 16, 32 or 64 bytes. Each has one
// right answer (IEEE arithmetic, fused multiply-add, comparisons, integers, look-ups), so that a function gives the same bits for
// every width, instruction set and device. For g++ and NVRTC with --fmad=false.
//
// A machine M has the types M::Float, M::Int and M::Mask, which `m ? a : b` selects by, and M::Number, the type of one element.
#pragma once
#include "native/ops/arithmetic.h"

#if !defined(__CUDACC_RTC__)
#include <string.h>
#if defined(__x86_64__)
// GCC 12 warns of the undefined registers in its own header (bug 105593).
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#define DLT_TABLE alignas(64) static const
#else
#define DLT_TABLE static __device__ const
#endif

namespace dlt::elementary {

template <class F>
struct integer_of {
  using type = int32_t;
};
template <>
struct integer_of<double> {
  using type = int64_t;
};
template <class F>
inline constexpr
    typename integer_of<F>::type sign_bit = typename integer_of<F>::type(typename wide<F>::bits(1) << (8 * sizeof(F) - 1));

template <class F>
inline constexpr F infinity = F(__builtin_bit_cast(float, 0x7f800000u));
template <class F>
inline constexpr F not_a_number = F(__builtin_bit_cast(float, 0x7fc00000u));
template <class F>
inline constexpr F least_normal = F(sizeof(F) == 4 ? 0x1p-126 : 0x1p-1022);

// An integer whose arithmetic wraps, as that of registers does.
template <class I>
struct Wrapping {
  using U = typename unsigned_of<sizeof(I)>::type;
  I number;
  template <class N>
  DLT_FN constexpr Wrapping(N v) : number(I(v)) {}
  DLT_FN explicit constexpr operator I() const { return number; }
#define DLT_OPERATOR(op) \
  DLT_FN friend constexpr Wrapping operator op(Wrapping a, Wrapping b) { return Wrapping(U(a.number) op U(b.number)); }
  DLT_OPERATOR(+)
  DLT_OPERATOR(-)
  DLT_OPERATOR(*)
  DLT_OPERATOR(&)
  DLT_OPERATOR(|)
  DLT_OPERATOR(^)
#undef DLT_OPERATOR
#define DLT_OPERATOR(op) \
  DLT_FN friend constexpr bool operator op(Wrapping a, Wrapping b) { return a.number op b.number; }
  DLT_OPERATOR(==)
  DLT_OPERATOR(!=)
  DLT_OPERATOR(<)
  DLT_OPERATOR(<=)
  DLT_OPERATOR(>)
  DLT_OPERATOR(>=)
#undef DLT_OPERATOR
  DLT_FN friend constexpr Wrapping operator-(Wrapping a) { return Wrapping(U(0) - U(a.number)); }
  DLT_FN friend constexpr Wrapping operator~(Wrapping a) { return Wrapping(~U(a.number)); }
  DLT_FN friend constexpr Wrapping operator<<(Wrapping a, int by) { return Wrapping(U(a.number) << by); }
  DLT_FN friend constexpr Wrapping operator>>(Wrapping a, int by) { return Wrapping(a.number >> by); }
};

// One number.
template <class F>
struct One {
  using Number = F;
  using Float = F;
  using Int = Wrapping<typename integer_of<F>::type>;
  using Mask = bool;
  static constexpr int lanes = 1;

  DLT_FN static Float all(F v) { return v; }
  DLT_FN static Int all_int(Int v) { return v; }
  DLT_FN static Int bits(Float v) { return bits_as<typename integer_of<F>::type>(v); }
  DLT_FN static Float value(Int v) { return bits_as<Float>(v.number); }
  DLT_FN static Float to_float(Int v) { return Float(v.number); }
  DLT_FN static Float fma(Float a, Float b, Float c) {
#if defined(__CUDACC_RTC__)
    if constexpr (sizeof(F) == 4) return __fmaf_rn(a, b, c);
    else return __fma_rn(a, b, c);
#else
    if constexpr (sizeof(F) == 4) return __builtin_fmaf(a, b, c);
    else return __builtin_fma(a, b, c);
#endif
  }
  DLT_FN static Float sqrt(Float a) {
#if defined(__CUDACC_RTC__)
    if constexpr (sizeof(F) == 4) return __fsqrt_rn(a);
    else return __dsqrt_rn(a);
#else
    if constexpr (sizeof(F) == 4) return __builtin_sqrtf(a);
    else return __builtin_sqrt(a);
#endif
  }
  // The integer shifted to the right with zeros coming in.
  DLT_FN static Int right(Int v, int by) { return typename wide<F>::bits(v.number) >> by; }
  DLT_FN static bool any(Mask m) { return m; }
  DLT_FN static bool any_outside(Float v, F first, F end) { return !(v >= first && v < end); }
  DLT_FN static bool any_without(Int v, typename integer_of<F>::type bits) { return (v.number & bits) == 0; }
  // The square root of a number from 2^-60 to 2^120 (doubles: 2^-700 to 2^800).
  DLT_FN static Float sqrt_inside(Float a) { return sqrt(a); }
  // The smaller and the larger one; a NaN in `v` stays.
  DLT_FN static Float at_most(Float v, F c) { return v > c ? c : v; }
  DLT_FN static Float at_least(Float v, F c) { return v < c ? c : v; }
  // The entry of a table of 16 whose number is in the lowest four bits.
  DLT_FN static Float look(const F* table, Int i) { return table[i.number & 15]; }
  // The function of each element alone.
  template <class CALL>
  DLT_FN static Float each(Float v, CALL call) {
    return call(v);
  }
  // `call` of the number as a double, rounded to F.
  template <class CALL>
  DLT_FN static Float in_double(Float v, CALL call) {
    return Float(call(One<double>{}, double(v)));
  }
  template <class CALL>
  DLT_FN static Float in_double(Float a, Float b, CALL call) {
    return Float(call(One<double>{}, double(a), double(b)));
  }
};

#if !defined(__CUDACC_RTC__)

// GCC 12 forgets a vector_size that depends on a template parameter.
template <class F, int BYTES>
struct RegisterTypes;
#define DLT_REGISTER_TYPES(BYTES)                                 \
  template <>                                                     \
  struct RegisterTypes<float, BYTES> {                            \
    typedef float Float __attribute__((vector_size(BYTES)));      \
    typedef int32_t Int __attribute__((vector_size(BYTES)));      \
    typedef uint32_t Bits __attribute__((vector_size(BYTES)));    \
  };                                                              \
  template <>                                                     \
  struct RegisterTypes<double, BYTES> {                           \
    typedef double Float __attribute__((vector_size(BYTES)));     \
    typedef int64_t Int __attribute__((vector_size(BYTES)));      \
    typedef uint64_t Bits __attribute__((vector_size(BYTES)));    \
    typedef float Narrow __attribute__((vector_size(BYTES / 2))); \
  };
DLT_REGISTER_TYPES(16)
DLT_REGISTER_TYPES(32)
DLT_REGISTER_TYPES(64)
#undef DLT_REGISTER_TYPES

// A fused multiply-add without an instruction for it. Of floats through doubles, whose product is exact and whose sum is rounded to
// odd; of doubles by Dekker's product and sums rounded to odd (Boldo and Melquiond, "Emulation of FMA", 2008).
template <class D, class I>
DLT_FN D odd_sum(D a, D b) {
  const D sum = a + b, part = sum - a, rest = (a - (sum - part)) + (b - part);
  const I away = (I(rest) ^ I(sum)) >> 63;  // -1 where the rest points to 0
  return ((rest != 0.0) & ((I(sum) & 1) == 0)) ? D(I(sum) + (away | 1)) : sum;
}
template <class D, class I>
[[gnu::noinline]] inline D soft_fma(D a, D b, D c) {
  const D split = D{} + 134217729.0, p = a * b;
  const D ta = a * split, ah = ta - (ta - a), al = a - ah, tb = b * split, bh = tb - (tb - b), bl = b - bh;
  const D e = al * bl - (((p - ah * bh) - al * bh) - ah * bl);
  const D uh = c + e, uz = uh - c, ul = (c - (uh - uz)) + (e - uz);
  const D th = p + uh, tz = th - p, tl = (p - (th - tz)) + (uh - tz);
  const D r = th + odd_sum<D, I>(tl, ul);
  return r == r ? r : p + c;
}

// A register of elements.
template <class F, int BYTES>
struct Register {
  using Number = F;
  using Types = RegisterTypes<F, BYTES>;
  using Float = typename Types::Float;
  using Int = typename Types::Int;
  using Bits = typename Types::Bits;
  using Mask = Int;
  static constexpr int lanes = BYTES / int(sizeof(F));
  static constexpr bool is_single = sizeof(F) == 4;

  DLT_FN static Float all(F v) { return v - Float{}; }  // a sum with 0 would change -0
  DLT_FN static Int all_int(typename integer_of<F>::type v) { return v + Int{}; }
  DLT_FN static Int bits(Float v) { return Int(v); }
  DLT_FN static Float value(Int v) { return Float(v); }
  DLT_FN static Float to_float(Int v) { return __builtin_convertvector(v, Float); }
  DLT_FN static Int right(Int v, int by) { return Int(Bits(v) >> by); }

  DLT_FN static Float fma(Float a, Float b, Float c) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return Float(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
    if constexpr (BYTES == 64 && !is_single) return Float(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#endif
#if defined(__FMA__)
    if constexpr (BYTES == 32 && is_single) return Float(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
    if constexpr (BYTES == 32 && !is_single) return Float(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
    if constexpr (BYTES == 16 && is_single) return Float(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
    if constexpr (BYTES == 16 && !is_single) return Float(_mm_fmadd_pd(__m128d(a), __m128d(b), __m128d(c)));
#elif defined(__aarch64__)
    if constexpr (BYTES == 16 && is_single) return Float(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
    if constexpr (BYTES == 16 && !is_single) return Float(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
#else
    if constexpr (!is_single) {
      return soft_fma<Float, Int>(a, b, c);
    } else {
      using D = Register<double, BYTES>;
      const auto part = [](auto x, auto y, auto z) {
        const auto p = x * y;
        const auto r = odd_sum<typename D::Float, typename D::Int>(p, z);
        return r == r ? r : p + z;
      };
      return D::narrow(part(D::widen_low(a), D::widen_low(b), D::widen_low(c)),
                       part(D::widen_high(a), D::widen_high(b), D::widen_high(c)));
    }
#endif
  }
  DLT_FN static Float sqrt(Float a) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return Float(_mm512_sqrt_ps(__m512(a)));
    if constexpr (BYTES == 64 && !is_single) return Float(_mm512_sqrt_pd(__m512d(a)));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32 && is_single) return Float(_mm256_sqrt_ps(__m256(a)));
    if constexpr (BYTES == 32 && !is_single) return Float(_mm256_sqrt_pd(__m256d(a)));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16 && is_single) return Float(_mm_sqrt_ps(__m128(a)));
    if constexpr (BYTES == 16 && !is_single) return Float(_mm_sqrt_pd(__m128d(a)));
#else
    for (int i = 0; i < lanes; ++i) a[i] = One<F>::sqrt(a[i]);
    return a;
#endif
  }
  // The square root of numbers from 2^-60 to 2^120 (doubles: 2^-700 to 2^800). AVX-512's instruction for doubles takes longer than
  // refining an estimate of 14 bits until the root is right but for its last bit, and half its reciprocal too: what the square
  // of the root lacks is then exact, and so small that the last rounding is the only one (Goldschmidt; Markstein, "IA-64 and
  // Elementary Functions", 2000).
  DLT_FN static Float sqrt_inside(Float a) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64) {
      const Float half = all(F(0.5));
      Float estimate;
      if constexpr (is_single) estimate = Float(_mm512_rsqrt14_ps(__m512(a)));
      else estimate = Float(_mm512_rsqrt14_pd(__m512d(a)));
      Float root = a * estimate, part = estimate * half;
#pragma GCC unroll 2
      for (int step = 0; step < (is_single ? 1 : 2); ++step) {
        const Float error = fma(-root, part, half);
        root = fma(root, error, root);
        part = fma(part, error, part);
      }
      return fma(fma(-root, root, a), part, root);
    }
#endif
    return sqrt(a);
  }
  DLT_FN static bool any(Mask m) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return _mm512_test_epi32_mask(__m512i(m), __m512i(m)) != 0;
    if constexpr (BYTES == 64 && !is_single) return _mm512_test_epi64_mask(__m512i(m), __m512i(m)) != 0;
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32) return _mm256_movemask_ps(__m256(m)) != 0;
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16) return _mm_movemask_ps(__m128(m)) != 0;
#endif
    typename integer_of<F>::type some = 0;
    for (int i = 0; i < lanes; ++i) some |= m[i];
    return some != 0;
  }
  // Comparisons for rare branches: on AVX-512 without the way of a mask through a register. Any element that is
  // not from the first number, which is not negative, to the end, or a NaN; any that has none of the bits.
  DLT_FN static bool any_outside(Float v, F first, F end) {
#if defined(__AVX512F__)
    using I = typename integer_of<F>::type;
    const I from = __builtin_bit_cast(I, first), count = I(__builtin_bit_cast(I, end) - from);
    const __m512i above = __m512i(Int(v) - from);
    if constexpr (BYTES == 64 && is_single) return _mm512_cmpge_epu32_mask(above, _mm512_set1_epi32(count)) != 0;
    if constexpr (BYTES == 64 && !is_single) return _mm512_cmpge_epu64_mask(above, _mm512_set1_epi64(count)) != 0;
#endif
    return any((v >= first) == 0) || any((v < end) == 0);
  }
  DLT_FN static bool any_without(Int v, typename integer_of<F>::type bits) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return _mm512_testn_epi32_mask(__m512i(v), _mm512_set1_epi32(bits)) != 0;
    if constexpr (BYTES == 64 && !is_single) return _mm512_testn_epi64_mask(__m512i(v), _mm512_set1_epi64(bits)) != 0;
#endif
    return any((v & bits) == 0);
  }
  // x86's instructions return the second operand where one is a NaN.
  DLT_FN static Float at_most(Float v, F c) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return Float(_mm512_min_ps(_mm512_set1_ps(c), __m512(v)));
    if constexpr (BYTES == 64 && !is_single) return Float(_mm512_min_pd(_mm512_set1_pd(c), __m512d(v)));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32 && is_single) return Float(_mm256_min_ps(_mm256_set1_ps(c), __m256(v)));
    if constexpr (BYTES == 32 && !is_single) return Float(_mm256_min_pd(_mm256_set1_pd(c), __m256d(v)));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16 && is_single) return Float(_mm_min_ps(_mm_set1_ps(c), __m128(v)));
    if constexpr (BYTES == 16 && !is_single) return Float(_mm_min_pd(_mm_set1_pd(c), __m128d(v)));
#endif
    return v > c ? all(c) : v;
  }
  DLT_FN static Float at_least(Float v, F c) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return Float(_mm512_max_ps(_mm512_set1_ps(c), __m512(v)));
    if constexpr (BYTES == 64 && !is_single) return Float(_mm512_max_pd(_mm512_set1_pd(c), __m512d(v)));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32 && is_single) return Float(_mm256_max_ps(_mm256_set1_ps(c), __m256(v)));
    if constexpr (BYTES == 32 && !is_single) return Float(_mm256_max_pd(_mm256_set1_pd(c), __m256d(v)));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16 && is_single) return Float(_mm_max_ps(_mm_set1_ps(c), __m128(v)));
    if constexpr (BYTES == 16 && !is_single) return Float(_mm_max_pd(_mm_set1_pd(c), __m128d(v)));
#endif
    return v < c ? all(c) : v;
  }
  DLT_FN static Float look(const F* table, Int i) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64 && is_single) return Float(_mm512_permutexvar_ps(__m512i(i), _mm512_loadu_ps(table)));
    if constexpr (BYTES == 64 && !is_single)
      return Float(_mm512_permutex2var_pd(_mm512_loadu_pd(table), __m512i(i), _mm512_loadu_pd(table + 8)));
#endif
#if defined(__AVX2__)
    if constexpr (BYTES == 32 && is_single)
      return Float(_mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), __m256i(i)),
                                    _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), __m256i(i)), __m256(i << 28)));
#endif
    Float r{};
    for (int k = 0; k < lanes; ++k) r[k] = table[i[k] & 15];
    return r;
  }
  template <class CALL>
  DLT_FN static Float each(Float v, CALL call) {
    for (int i = 0; i < lanes; ++i) v[i] = call(v[i]);
    return v;
  }

  // Of doubles: the halves of a register of floats, and back, rounded to nearest.
  template <class S>
  DLT_FN static Float widen_low(S v) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64) return Float(_mm512_cvtps_pd(_mm512_castps512_ps256(__m512(v))));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32) return Float(_mm256_cvtps_pd(_mm256_castps256_ps128(__m256(v))));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16) return Float(_mm_cvtps_pd(__m128(v)));
#endif
    Float r{};
    for (int k = 0; k < lanes; ++k) r[k] = double(v[k]);
    return r;
  }
  template <class S>
  DLT_FN static Float widen_high(S v) {
#if defined(__AVX512F__)
    if constexpr (BYTES == 64)
      return Float(_mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(__m512(v)), 1))));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32) return Float(_mm256_cvtps_pd(_mm256_extractf128_ps(__m256(v), 1)));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16) return Float(_mm_cvtps_pd(_mm_movehl_ps(__m128(v), __m128(v))));
#endif
    Float r{};
    for (int k = 0; k < lanes; ++k) r[k] = double(v[k + lanes]);
    return r;
  }
  DLT_FN static typename RegisterTypes<float, BYTES>::Float narrow(Float low, Float high) {
    using S = typename RegisterTypes<float, BYTES>::Float;
#if defined(__AVX512F__)
    if constexpr (BYTES == 64)
      return S(_mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(__m512d(low)))),
                                                   _mm256_castps_pd(_mm512_cvtpd_ps(__m512d(high))), 1)));
#endif
#if defined(__AVX__)
    if constexpr (BYTES == 32)
      return S(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(__m256d(low))), _mm256_cvtpd_ps(__m256d(high)), 1));
#endif
#if defined(__SSE2__)
    if constexpr (BYTES == 16) return S(_mm_movelh_ps(_mm_cvtpd_ps(__m128d(low)), _mm_cvtpd_ps(__m128d(high))));
#endif
    S r{};
    for (int k = 0; k < lanes; ++k) {
      r[k] = float(low[k]);
      r[k + lanes] = float(high[k]);
    }
    return r;
  }
  // Of floats: `call` with a machine of doubles and half of the register at a time, rounded to float.
  template <class CALL>
  DLT_FN static Float in_double(Float v, CALL call) {
    using D = Register<double, BYTES>;
    return D::narrow(call(D{}, D::widen_low(v)), call(D{}, D::widen_high(v)));
  }
  template <class CALL>
  DLT_FN static Float in_double(Float a, Float b, CALL call) {
    using D = Register<double, BYTES>;
    return D::narrow(call(D{}, D::widen_low(a), D::widen_low(b)), call(D{}, D::widen_high(a), D::widen_high(b)));
  }
};

#endif  // !__CUDACC_RTC__

// ---- parts of all functions

// The polynomial with these coefficients, the highest power first, by Horner's rule.
template <class M, class... REST>
DLT_FN typename M::Float polynomial(typename M::Float x, typename M::Number top, REST... rest) {
  typename M::Float r = M::all(top);
  ((r = M::fma(r, x, M::all(typename M::Number(rest)))), ...);
  return r;
}
template <class M>
DLT_FN typename M::Float magnitude(typename M::Float x) {
  return M::value(M::bits(x) & ~sign_bit<typename M::Number>);
}
// The first number, which is not negative, with the sign of the second.
template <class M>
DLT_FN typename M::Float with_sign_of(typename M::Float x, typename M::Float sign) {
  return M::value(M::bits(x) | (M::bits(sign) & sign_bit<typename M::Number>));
}
// A sum as a number and its rounding error: of any two; of two whose first is not smaller; a product likewise.
template <class M>
struct Sum {
  typename M::Float high, low;
};
template <class M>
DLT_FN Sum<M> two_sum(typename M::Float a, typename M::Float b) {
  const typename M::Float sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
template <class M>
DLT_FN Sum<M> fast_sum(typename M::Float a, typename M::Float b) {
  const typename M::Float sum = a + b;
  return {sum, (a - sum) + b};
}
template <class M>
DLT_FN Sum<M> two_product(typename M::Float a, typename M::Float b) {
  const typename M::Float product = a * b;
  return {product, M::fma(a, b, -product)};
}

// Any element that is no positive normal number.
template <class M>
DLT_FN bool any_special(typename M::Float v) {
  using F = typename M::Number;
  return M::any_outside(v, least_normal<F>, infinity<F>);
}

// p 2^k rounded once, for whole k from -2100 to 2100 (floats: -260 to 260) and p from 2^-4 to 2^4.
template <class M>
DLT_FN typename M::Float scaled(typename M::Float p, typename M::Float k) {
  using F = typename M::Number;
  using I = typename integer_of<F>::type;
#if defined(__AVX512F__) && !defined(__CUDACC_RTC__)
  if constexpr (M::lanes == 16) return typename M::Float(_mm512_scalef_ps(__m512(p), __m512(k)));
  else if constexpr (M::lanes == 8 && sizeof(F) == 8) return typename M::Float(_mm512_scalef_pd(__m512d(p), __m512d(k)));
  else
#endif
  {
    // By two powers of two, of which the first product is exact; the numbers of the steps in the lowest bits of a sum.
    constexpr F shift = sizeof(F) == 4 ? F(0x1.8p23) : F(0x1.8p52);
    constexpr int mantissa = wide<F>::mantissa;
    const typename M::Float half = M::fma(k, M::all(F(0.5)), M::all(shift)), rest = (k - (half - shift)) + shift;
    const I one = I(wide<F>::bias) << mantissa;
    return (p * M::value((M::bits(half) << mantissa) + one)) * M::value((M::bits(rest) << mantissa) + one);
  }
}

}  // namespace dlt::elementary
