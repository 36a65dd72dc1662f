// SPDX-License-Identifier: Apache-2.0
// Elements chosen by a mask of bools; and masks as bits, packed from elements, and elements taken from, or put to, where a bit is
// set, 64 at a time.
#include <string.h>

#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/kernels/unit.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

constexpr int word_bits = 64;
// Words with at most so many bits are taken bit by bit.
constexpr int few_bits = 6;

DLT_FN int64_t ones(uint64_t word) { return __builtin_popcountll(word); }
DLT_FN int lowest(uint64_t word) { return __builtin_ctzll(word); }

// ---- one of two

// Constants say which of the two are one for all, and both are read, so that each loop is vectorized.
template <class U, int A, int B>
DLT_FN void choose_each(loose_t<U>* out, const uint8_t* condition, const loose_t<U>* a, const loose_t<U>* b, int64_t n) {
  const U one = a[0], other = b[0];
  DLT_EACH {
    const U x = A ? a[i] : one, y = B ? b[i] : other;
    if constexpr (sizeof(U) == 16) {
      const uint64_t bits = -uint64_t(condition[i] != 0);
      out[i] = y ^ ((x ^ y) & U{bits, bits});
    } else {
      out[i] = condition[i] != 0 ? x : y;
    }
  }
}

template <int W>
void choose(void* out, const void* condition, const void* a, const void* b, int64_t n, unsigned scalars) {
  using U = typename unit<W>::type;
  if (n <= 0) return;
  loose_t<U>* const to = static_cast<loose_t<U>*>(out);
  const uint8_t* const c = static_cast<const uint8_t*>(condition);
  const loose_t<U>* const x = static_cast<const loose_t<U>*>(a);
  const loose_t<U>* const y = static_cast<const loose_t<U>*>(b);
  if (scalars & 1) {
    const bool first = c[0] != 0;
    const loose_t<U>* const from = first ? x : y;
    const int64_t step = ~scalars >> (first ? 1 : 2) & 1;
    DLT_EACH to[i] = from[i * step];
  } else if ((scalars & 6) == 0) {
    choose_each<U, 1, 1>(to, c, x, y, n);
  } else if ((scalars & 6) == 2) {
    choose_each<U, 0, 1>(to, c, x, y, n);
  } else if ((scalars & 6) == 4) {
    choose_each<U, 1, 0>(to, c, x, y, n);
  } else {
    choose_each<U, 0, 0>(to, c, x, y, n);
  }
}

// ---- packing

template <int W>
DLT_FN bool is_set(const void* from, int64_t i, uint64_t bits) {
  if constexpr (W == 16) {
    const loose_t<uint64_t>* parts = static_cast<const loose_t<uint64_t>*>(from) + 2 * i;
    return ((parts[0] | parts[1]) & bits) != 0;
  } else {
    using U = typename unit<W>::type;
    return (static_cast<const loose_t<U>*>(from)[i] & U(bits)) != 0;
  }
}

// 64 bytes that are each 0 or 1.
DLT_FN uint64_t pack_bytes(const uint8_t* bytes) {
#if defined(__x86_64__)
  uint64_t word = 0;
  for (int k = 0; k < 4; ++k) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * k));
    word |= uint64_t(uint32_t(_mm_movemask_epi8(_mm_slli_epi16(part, 7)))) << (16 * k);
  }
  return word;
#else
  uint64_t word = 0;
  for (int k = 0; k < 8; ++k) {
    uint64_t part;
    memcpy(&part, bytes + 8 * k, sizeof part);
    word |= (part * 0x0102040810204080u >> 56) << (8 * k);
  }
  return word;
#endif
}

#if defined(__AVX512BW__)
// Narrow elements go through 32 bits, because AVX512-VBMI2 is no part of x86-64-v4. The forms without a mask make gcc 12
// warn of its own header.
template <int W>
DLT_FN __m512i load_narrow(const char* from) {
  if constexpr (W == 1) return _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  else return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
#endif

template <int W>
DLT_FN uint64_t pack_word(const char* from, uint64_t bits) {
#if defined(__AVX512BW__)
  if constexpr (W == 1) return _mm512_test_epi8_mask(_mm512_loadu_si512(from), _mm512_set1_epi8(char(bits)));
  if constexpr (W == 2) {
    const __m512i some = _mm512_set1_epi16(short(bits));
    return uint64_t(_mm512_test_epi16_mask(_mm512_loadu_si512(from), some)) |
           uint64_t(_mm512_test_epi16_mask(_mm512_loadu_si512(from + 64), some)) << 32;
  }
  if constexpr (W == 4) {
    const __m512i some = _mm512_set1_epi32(int(bits));
    uint64_t word = 0;
    for (int k = 0; k < 4; ++k) word |= uint64_t(_mm512_test_epi32_mask(_mm512_loadu_si512(from + 64 * k), some)) << (16 * k);
    return word;
  }
  if constexpr (W == 8) {
    const __m512i some = _mm512_set1_epi64(int64_t(bits));
    uint64_t word = 0;
    for (int k = 0; k < 8; ++k) word |= uint64_t(_mm512_test_epi64_mask(_mm512_loadu_si512(from + 64 * k), some)) << (8 * k);
    return word;
  }
#endif
  uint8_t bytes[word_bits];
  for (int i = 0; i < word_bits; ++i) bytes[i] = is_set<W>(from, i, bits);
  return pack_bytes(bytes);
}

template <int W>
int64_t pack(uint64_t* words, const void* from, uint64_t bits, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + word_bits <= n; i += word_bits) {
    const uint64_t word = pack_word<W>(static_cast<const char*>(from) + i * W, bits);
    *words++ = word;
    count += ones(word);
  }
  if (i < n) {
    uint64_t word = 0;
    for (int64_t k = 0; i + k < n; ++k) word |= uint64_t(is_set<W>(from, i + k, bits)) << k;
    *words = word;
    count += ones(word);
  }
  return count;
}

// ---- taking elements

#if defined(__x86_64__) && !defined(__AVX512BW__)
// Positions of the set bits of a byte, the lowest first, followed by zeros.
struct Places {
  alignas(8) uint8_t of[256][8];
  constexpr Places() : of() {
    for (int byte = 0; byte < 256; ++byte)
      for (int bit = 0, k = 0; bit < 8; ++bit)
        if (byte >> bit & 1) of[byte][k++] = uint8_t(bit);
  }
};
constexpr Places places;

DLT_FN __m128i places_of(uint64_t byte) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places.of[byte])); }
#endif

// The elements of one word. Up to 64 elements are written at `to`; those past the set bits are of no meaning.
template <int W>
DLT_FN char* compress_word(char* to, const char* from, uint64_t word) {
#if defined(__AVX512BW__)
  if constexpr (W == 4 || W == 2 || W == 1) {
    for (int k = 0; k < 4; ++k, word >>= 16) {
      const __mmask16 some = __mmask16(word);
      const char* at = from + 16 * W * k;
      if constexpr (W == 4) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(some, _mm512_loadu_si512(at)));
      } else {
        const __m512i packed = _mm512_maskz_compress_epi32(some, load_narrow<W>(at));
        if constexpr (W == 2) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xffff, packed));
        else _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xffff, packed));
      }
      to += ones(some) * W;
    }
    return to;
  }
  if constexpr (W == 8) {
    for (int k = 0; k < 8; ++k, word >>= 8) {
      const __mmask8 some = __mmask8(word);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(some, _mm512_loadu_si512(from + 64 * k)));
      to += ones(some) * W;
    }
    return to;
  }
#elif defined(__AVX2__)
  if constexpr (W == 4) {
    for (int k = 0; k < 8; ++k, word >>= 8) {
      const __m256i order = _mm256_cvtepu8_epi32(places_of(word & 255));
      const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32 * k));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(all, order));
      to += ones(word & 255) * W;
    }
    return to;
  }
  if constexpr (W == 8) {
    for (int k = 0; k < 16; ++k, word >>= 4) {
      // Element e as the halves 2e and 2e + 1.
      const __m256i order = _mm256_cvtepu8_epi64(places_of(word & 15)), twice = _mm256_add_epi64(order, order);
      const __m256i halves = _mm256_or_si256(_mm256_or_si256(twice, _mm256_slli_epi64(twice, 32)),
                                             _mm256_set1_epi64x(int64_t(1) << 32));
      const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32 * k));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(all, halves));
      to += ones(word & 15) * W;
    }
    return to;
  }
#endif
#if defined(__x86_64__) && !defined(__AVX512BW__)
  if constexpr (W == 1 || W == 2) {
    for (int k = 0; k < 8; ++k, word >>= 8) {
      const __m128i order = places_of(word & 255);
      if constexpr (W == 1) {
        const __m128i all = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 8 * k));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(all, order));
      } else {
        // Element e as the bytes 2e and 2e + 1.
        const __m128i wide = _mm_cvtepu8_epi16(order), twice = _mm_add_epi16(wide, wide);
        const __m128i bytes = _mm_or_si128(_mm_or_si128(twice, _mm_slli_epi16(twice, 8)), _mm_set1_epi16(0x100));
        const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * k));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(all, bytes));
      }
      to += ones(word & 255) * W;
    }
    return to;
  }
#endif
  using U = typename unit<W>::type;
  const loose_t<U>* in = reinterpret_cast<const loose_t<U>*>(from);
  loose_t<U>* out = reinterpret_cast<loose_t<U>*>(to);
  for (int i = 0; i < word_bits; ++i, word >>= 1) {
    *out = in[i];
    out += word & 1;
  }
  return reinterpret_cast<char*>(out);
}

template <int W>
void compress(void* to, const void* from, const uint64_t* words, int64_t n, int64_t count) {
  using U = typename unit<W>::type;
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  const char* const end = out + count * W;
  for (int64_t first = 0; first < n; first += word_bits, ++words, in += word_bits * W) {
    uint64_t word = *words;
    if (word == 0) continue;
    const bool whole = first + word_bits <= n && end - out >= word_bits * W;
    if (whole && ~word == 0) {
      memcpy(out, in, word_bits * W);
      out += word_bits * W;
    } else if (whole && ones(word) > few_bits) {
      out = compress_word<W>(out, in, word);
    } else {
      for (; word != 0; word &= word - 1, out += W)
        *reinterpret_cast<loose_t<U>*>(out) = reinterpret_cast<const loose_t<U>*>(in)[lowest(word)];
    }
  }
}

// ---- putting elements

#if defined(__AVX512BW__)
template <int W>
DLT_FN void expand_word(char* to, const char* from, uint64_t word) {
  if constexpr (W == 8) {
    for (int k = 0; k < 8; ++k, word >>= 8) {
      const __mmask8 some = __mmask8(word);
      _mm512_mask_storeu_epi64(to + 64 * k, some, _mm512_maskz_expand_epi64(some, _mm512_loadu_si512(from)));
      from += ones(some) * W;
    }
  } else {
    for (int k = 0; k < 4; ++k, word >>= 16) {
      const __mmask16 some = __mmask16(word);
      char* at = to + 16 * W * k;
      if constexpr (W == 4) {
        _mm512_mask_storeu_epi32(at, some, _mm512_maskz_expand_epi32(some, _mm512_loadu_si512(from)));
      } else {
        const __m512i spread = _mm512_maskz_expand_epi32(some, load_narrow<W>(from));
        if constexpr (W == 2) _mm256_mask_storeu_epi16(at, some, _mm512_maskz_cvtepi32_epi16(0xffff, spread));
        else _mm_mask_storeu_epi8(at, some, _mm512_maskz_cvtepi32_epi8(0xffff, spread));
      }
      from += ones(some) * W;
    }
  }
}

template <int W>
DLT_FN __m512i spread_value(const void* from) {
  using U = typename unit<W>::type;
  const U value = *static_cast<const loose_t<U>*>(from);
  if constexpr (W == 1) return _mm512_set1_epi8(char(value));
  else if constexpr (W == 2) return _mm512_set1_epi16(short(value));
  else if constexpr (W == 4) return _mm512_set1_epi32(int(value));
  else return _mm512_set1_epi64(int64_t(value));
}

template <int W>
DLT_FN void fill_word(char* to, __m512i value, uint64_t word) {
  for (int k = 0; k < W; ++k) {
    if constexpr (W == 1) _mm512_mask_storeu_epi8(to, word, value);
    else if constexpr (W == 2) _mm512_mask_storeu_epi16(to + 64 * k, __mmask32(word >> 32 * k), value);
    else if constexpr (W == 4) _mm512_mask_storeu_epi32(to + 64 * k, __mmask16(word >> 16 * k), value);
    else _mm512_mask_storeu_epi64(to + 64 * k, __mmask8(word >> 8 * k), value);
  }
}
#endif

template <int W>
void fill(char* to, const void* from, const uint64_t* words, int64_t n) {
  using U = typename unit<W>::type;
#if defined(__AVX512BW__)
  if constexpr (W < 16) {
    const __m512i value = spread_value<W>(from);
    for (int64_t first = 0; first < n; first += word_bits, to += word_bits * W) {
      const uint64_t word = *words++;
      if (word != 0) fill_word<W>(to, value, word);
    }
    return;
  }
#endif
  const U value = *static_cast<const loose_t<U>*>(from);
  for (int64_t first = 0; first < n; first += word_bits, to += word_bits * W)
    for (uint64_t word = *words++; word != 0; word &= word - 1) reinterpret_cast<loose_t<U>*>(to)[lowest(word)] = value;
}

template <int W>
void expand(void* to, const void* from, int64_t step, const uint64_t* words, int64_t n, int64_t count) {
  using U = typename unit<W>::type;
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  if (step == 0) return fill<W>(out, from, words, n);
  const char* const end = in + count * W;
  for (int64_t first = 0; first < n; first += word_bits, out += word_bits * W) {
    uint64_t word = *words++;
    if (word == 0) continue;
#if defined(__AVX512BW__)
    // Elements are loaded only while a whole word of them is left, so that no load goes beyond the last.
    if constexpr (W < 16) {
      if (ones(word) > few_bits && end - in >= word_bits * W) {
        expand_word<W>(out, in, word);
        in += ones(word) * W;
        continue;
      }
    }
#endif
    for (; word != 0; word &= word - 1, in += W)
      reinterpret_cast<loose_t<U>*>(out)[lowest(word)] = *reinterpret_cast<const loose_t<U>*>(in);
  }
  (void)end;
}

void positions(int64_t* to, int64_t first, const uint64_t* words, int64_t n, int64_t count) {
  const int64_t* const end = to + count;
  for (const int64_t past = first + n; first < past; first += word_bits) {
    uint64_t word = *words++;
#if defined(__AVX512F__)
    if (ones(word) > few_bits && end - to >= word_bits) {
      __m512i at = _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
      for (int k = 0; k < 8; ++k, word >>= 8) {
        const __mmask8 some = __mmask8(word);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(some, at));
        to += ones(some);
        at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
      }
      continue;
    }
#elif defined(__AVX2__)
    if (ones(word) > few_bits && end - to >= word_bits) {
      for (int k = 0; k < 8; ++k, word >>= 8) {
        const __m128i order = places_of(word & 255);
        const __m256i base = _mm256_set1_epi64x(first + 8 * k);
        auto* at = reinterpret_cast<__m256i*>(to);
        _mm256_storeu_si256(at, _mm256_add_epi64(base, _mm256_cvtepu8_epi64(order)));
        _mm256_storeu_si256(at + 1, _mm256_add_epi64(base, _mm256_cvtepu8_epi64(_mm_srli_si128(order, 4))));
        to += ones(word & 255);
      }
      continue;
    }
#endif
    for (; word != 0; word &= word - 1) *to++ = first + lowest(word);
  }
  (void)end;
}

template <int... I>
void fill_widths(IndexKernels* kernels) {
  ((kernels->choose[I] = choose<1 << I>, kernels->pack[I] = pack<1 << I>, kernels->compress[I] = compress<1 << I>,
    kernels->expand[I] = expand<1 << I>),
   ...);
}

}  // namespace

void fill_masks(IndexKernels* kernels) {
  fill_widths<0, 1, 2, 3, 4>(kernels);
  kernels->positions = positions;
}

}  // namespace dlt::DLT_LEVEL
