// SPDX-License-Identifier: Apache-2.0
// Registers of floats of up to 32 bits: as two registers of float64, as the bits of float32, and in chains of additions.
#pragma once
#include "native/cpu/reduce/kernels/biased_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Floats {
  V low, high;
  Span::U bits;
};
DLT_FN Floats floats_at(const float* from) {
  return {load(from), load(from + lanes), *reinterpret_cast<const Span::loose*>(from)};
}

DLT_FN Floats floats_of(Span::U bits) {
#if defined(__AVX512F__)
  const __m512 all = reinterpret_cast<__m512>(bits);
  __m256 low;
  __builtin_memcpy(&low, &all, sizeof low);
  return {V(_mm512_maskz_cvtps_pd(0xff, low)), V(_mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, all, 1))),
          bits};
#elif defined(__AVX2__)
  const __m256 all = reinterpret_cast<__m256>(bits);
  return {V(_mm256_cvtps_pd(_mm256_castps256_ps128(all))), V(_mm256_cvtps_pd(_mm256_extractf128_ps(all, 1))), bits};
#else
  float floats[Span::lanes];
  __builtin_memcpy(floats, &bits, sizeof floats);
  return {load(floats), load(floats + lanes), bits};
#endif
}
DLT_FN Floats floats_at(const bfloat16* from) {
  typedef uint16_t halves __attribute__((vector_size(register_bytes / 2), aligned(1), may_alias));
  return floats_of(__builtin_convertvector(*reinterpret_cast<const halves*>(from), Span::U) << 16);
}
#if defined(__F16C__)
DLT_FN Floats floats_at(const float16* from) {
#if defined(__AVX512F__)
  return floats_of(Span::U(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))));
#else
  return floats_of(Span::U(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
#endif
}
#endif

// Adds a register to two of float64, and its exponents to a span.
template <class T>
DLT_FN void add_floats(const T* from, V* x, V* y, Span* exponents) {
  const Floats all = floats_at(from);
  *x += all.low;
  *y += all.high;
  exponents->deposit(all.bits);
}

// ---- short chains of additions in float32, the sums of which are added in float64, and how far these are off at most

using F = pack<float>::type;
constexpr int floats = pack<float>::lanes;

DLT_FN F as_floats(Span::U bits) { return reinterpret_cast<F>(bits); }
// Adds a register of float32 to two of float64.
DLT_FN void widen_into(V* x, V* y, F from) {
  const Floats all = floats_of(reinterpret_cast<Span::U>(from));
  *x += all.low;
  *y += all.high;
}
// The most that n elements of at most `most` lose in float64, after so many additions one after the other.
DLT_FN double loss_of(double most, int64_t n, int64_t additions) { return most * double(n) * double(additions + 2) * 0x1p-53; }

inline bool are_finite(const double* sums, int64_t n) {
  integers odd{};  // a difference is 0, or NaN
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) odd |= reinterpret_cast<integers>(load(sums + i) - load(sums + i));
  int64_t others = 0;
  for (; i < n; ++i) others |= bits_as<int64_t>(sums[i] - sums[i]);
  for (int j = 0; j < lanes; ++j) others |= odd[j];
  return others == 0;
}

// The greatest magnitude of floats; one that is no number may be lost.
struct Greatest {
#if defined(__AVX512DQ__)
  F most;
  DLT_FN void clear() { most = F{}; }
  DLT_FN void deposit(F x) {
    constexpr int magnitude = 0b1011;  // the greater one without its sign
    most = F(_mm512_range_ps(__m512(x), __m512(most), magnitude));
  }
  float greatest() const { return bits_as<float>(greatest_of(reinterpret_cast<Span::U>(most))); }
#else
  Span::U most;
  DLT_FN void clear() { most = Span::U{}; }
  DLT_FN void deposit(F x) {
    const Span::U bits = reinterpret_cast<Span::U>(x) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  float greatest() const { return bits_as<float>(greatest_of(most)); }
#endif
};

// ---- floats of 16 bits: a few of them in float32 leave room for those of their results

// The least and the greatest magnitude of floats of 16 bits, zeros left out.
template <class T>
struct NarrowSpan {
  typedef uint16_t H __attribute__((vector_size(register_bytes)));
  static constexpr int exponent_at = is_same<T, float16>::value ? 10 : 7;  // bits of a fraction
  H low, high;
  DLT_FN void clear() {
    low = ~H{};
    high = H{};
  }
  DLT_FN void deposit(Span::U bits) {
    const H size = reinterpret_cast<H>(bits) & uint16_t(0x7fff), less = size - uint16_t(1);
    low = less < low ? less : low;
    high = size > high ? size : high;
  }
  uint16_t greatest() const {
    uint16_t most = 0;
    for (int j = 0; j < 2 * floats; ++j) most = high[j] > most ? high[j] : most;
    return most;
  }
  // Binary places between the last one of the least and the first one of the greatest.
  int places() const {
    uint16_t least = 0x7fff;
    for (int j = 0; j < 2 * floats; ++j) least = low[j] < least ? low[j] : least;
    return (greatest() >> exponent_at) - ((least + 1) >> exponent_at) + exponent_at + 1;
  }
};

// Halves in float32: the sums of two registers, and which elements these are.
template <class T>
struct Halves;

template <>
struct Halves<bfloat16> {  // even and odd
  F first, second;
  DLT_FN explicit Halves(const bfloat16* p) {
    const Span::U bits = *reinterpret_cast<const Span::loose*>(p);
    first = as_floats(bits << 16);
    second = as_floats(bits & 0xffff0000u);
  }
  template <int FROM, int... I>
  DLT_FN static F in_turns(F even, F odd, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(even, odd, (FROM + I / 2 + (I % 2 == 0 ? 0 : floats))...);
  }
  DLT_FN static F lower(F even, F odd) { return in_turns<0>(even, odd, std::make_integer_sequence<int, floats>()); }
  DLT_FN static F upper(F even, F odd) { return in_turns<floats / 2>(even, odd, std::make_integer_sequence<int, floats>()); }
};

#if defined(__F16C__)
template <>
struct Halves<float16> {  // lower and upper
  F first, second;
  DLT_FN explicit Halves(const float16* p) {
#if defined(__AVX512F__)
    const __m256i* const halves = reinterpret_cast<const __m256i*>(p);
    first = F(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(halves)));
    second = F(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(halves + 1)));
#else
    const __m128i* const halves = reinterpret_cast<const __m128i*>(p);
    first = F(_mm256_cvtph_ps(_mm_loadu_si128(halves)));
    second = F(_mm256_cvtph_ps(_mm_loadu_si128(halves + 1)));
#endif
  }
  DLT_FN static F lower(F low, F) { return low; }
  DLT_FN static F upper(F, F high) { return high; }
};
#endif

template <class T>
struct Chains {
  static constexpr int elements = 2 * floats, longest = 8;
  F first, second;
  DLT_FN void start() { first = second = F{}; }
  DLT_FN void add(const T* p, NarrowSpan<T>* span) {
    const Halves<T> halves(p);
    first += halves.first;
    second += halves.second;
    span->deposit(*reinterpret_cast<const Span::loose*>(p));
  }
  DLT_FN void end(V* sums) const {
    widen_into(sums, sums + 1, Halves<T>::lower(first, second));
    widen_into(sums + 2, sums + 3, Halves<T>::upper(first, second));
  }
  // The same where all elements are of one row.
  DLT_FN void end_row(V* x, V* y) const { widen_into(x, y, first + second); }
};

}  // namespace
}  // namespace dlt::DLT_LEVEL
