// SPDX-License-Identifier: Apache-2.0
// Loops of sorting and searching: elements to keys and back, ranks of few keys, binary searches.
#include <type_traits>
#include <utility>

#include "native/cpu/runtime/kernels/registers.h"
#include "native/cpu/sort/kernels.h"
#include "native/cpu/sort/kernels/partitions.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

template <class U>
using signed_of = std::make_signed_t<U>;

template <class U>
constexpr int bits = int(sizeof(U) * 8);

template <class U>
void make_keys(void* keys, const void* elements, int64_t n, const KeyForm& form) {
  U* out = static_cast<U*>(keys);
  const loose_t<U>* in = static_cast<const loose_t<U>*>(elements);
  const U down = form.descending ? U(~U(0)) : U(0);
  if (form.infinity == 0) {
    const U flip = U(U(form.sign) ^ down);
    DLT_EACH out[i] = U(in[i] ^ flip);
    return;
  }
  const U sign = U(form.sign), infinity = U(form.infinity), minus_zero = minus_zero_of<U>(form);
  DLT_EACH out[i] = float_key<U, signed_of<U>>(in[i], sign, infinity, down, minus_zero);
}

template <class U>
void make_elements(void* elements, const void* keys, int64_t n, const KeyForm& form) {
  loose_t<U>* out = static_cast<loose_t<U>*>(elements);
  const loose_t<U>* in = static_cast<const loose_t<U>*>(keys);
  const U down = form.descending ? U(~U(0)) : U(0);
  if (form.infinity == 0) {
    const U flip = U(U(form.sign) ^ down);
    DLT_EACH out[i] = U(in[i] ^ flip);
    return;
  }
  const U sign = U(form.sign);
  DLT_EACH {
    const U key = U(in[i] ^ down);
    out[i] = U(key ^ (U(signed_of<U>(U(~key)) >> (bits<U> - 1)) | sign));
  }
}

template <class S>
using lanes_t = typename pack<S>::type;

// Adds -1 to the lanes of `sum` where `other` is less than the lane of `own_keys`, or with `Equal` not greater.
template <bool Equal, class S>
DLT_FN lanes_t<S> count_before(lanes_t<S> sum, S other, lanes_t<S> key) {
#if defined(__AVX512BW__)
  // The compiler makes a vector of each mask first.
  constexpr int order = Equal ? _MM_CMPINT_LE : _MM_CMPINT_LT;
  const __m512i s = __m512i(sum), m = __m512i(key), all = _mm512_set1_epi32(-1);
  if constexpr (sizeof(S) == 1)
    return lanes_t<S>(_mm512_mask_add_epi8(s, _mm512_cmp_epi8_mask(_mm512_set1_epi8(other), m, order), s, all));
  else if constexpr (sizeof(S) == 2)
    return lanes_t<S>(_mm512_mask_add_epi16(s, _mm512_cmp_epi16_mask(_mm512_set1_epi16(other), m, order), s, all));
  else if constexpr (sizeof(S) == 4)
    return lanes_t<S>(_mm512_mask_add_epi32(s, _mm512_cmp_epi32_mask(_mm512_set1_epi32(other), m, order), s, all));
  else return lanes_t<S>(_mm512_mask_add_epi64(s, _mm512_cmp_epi64_mask(_mm512_set1_epi64(other), m, order), s, all));
#else
  const lanes_t<S> others = other - lanes_t<S>{};
  return sum + (Equal ? lanes_t<S>(others <= key) : lanes_t<S>(others < key));
#endif
}

// Each key is compared with all others, Blocks vectors of keys at a time. Equal keys before it count, those after it do
// not: that is the stable order.
template <int Blocks, class S>
DLT_FN void rank_blocks(S* ranks, const S* keys, int64_t first, int64_t n, lanes_t<S> lane) {
  constexpr int64_t lanes = register_bytes / int64_t(sizeof(S));
  typedef typename pack<S>::loose loose;
  lanes_t<S> own_keys[Blocks], sum[Blocks];
  for (int b = 0; b < Blocks; ++b) {
    own_keys[b] = *reinterpret_cast<const loose*>(keys + first + b * lanes);
    sum[b] = lanes_t<S>{};
  }
  for (int64_t j = 0; j < first; ++j)
    for (int b = 0; b < Blocks; ++b) sum[b] = count_before<true>(sum[b], keys[j], own_keys[b]);
  for (int own = 0; own < Blocks; ++own) {
    const int64_t start = first + own * lanes, end = start + lanes < n ? start + lanes : n;
    for (int64_t j = start; j < end; ++j) {
      const lanes_t<S> other = keys[j] - lanes_t<S>{}, at = S(j - start) - lanes_t<S>{};
      for (int b = 0; b < Blocks; ++b) {
        if (b < own) sum[b] = count_before<false>(sum[b], keys[j], own_keys[b]);
        else if (b > own) sum[b] = count_before<true>(sum[b], keys[j], own_keys[b]);
        else sum[b] += lanes_t<S>(other < own_keys[b]) | (lanes_t<S>(other == own_keys[b]) & lanes_t<S>(at < lane));
      }
    }
  }
  for (int64_t j = first + Blocks * lanes; j < n; ++j)
    for (int b = 0; b < Blocks; ++b) sum[b] = count_before<false>(sum[b], keys[j], own_keys[b]);
  for (int b = 0; b < Blocks; ++b) *reinterpret_cast<loose*>(ranks + first + b * lanes) = -sum[b];
}

template <class U>
void rank_keys(void* ranks, const void* all_keys, int64_t n) {
  using S = signed_of<U>;
  constexpr int64_t lanes = register_bytes / int64_t(sizeof(S));
  if (n > most_ranked) __builtin_unreachable();  // the caller's bound, from which the compiler sees that no load is outside
  const U* from = static_cast<const U*>(all_keys);
  S keys[most_ranked + rank_room], *out = static_cast<S*>(ranks);
  const U sign = U(U(1) << (bits<U> - 1));  // signed comparisons have an instruction at every level
  const int64_t padded = (n + lanes - 1) / lanes * lanes;
  for (int64_t i = 0; i < padded; ++i) keys[i] = S(from[i] ^ sign);
  lanes_t<S> lane{};
  for (int64_t i = 0; i < lanes; ++i) lane[i] = S(i);
  int64_t first = 0;
  for (; first + 3 * lanes < n; first += 4 * lanes) rank_blocks<4>(out, keys, first, n, lane);
  if (first + 2 * lanes < n) rank_blocks<3>(out, keys, first, n, lane);
  else if (first + lanes < n) rank_blocks<2>(out, keys, first, n, lane);
  else if (first < n) rank_blocks<1>(out, keys, first, n, lane);
}

// Returns whether keys tell each zero and each NaN apart, so that elements are made of them again: not where zeros have both signs.
template <class U>
bool tells_apart(const void* all, int64_t n, const KeyForm& form) {
  if (form.infinity == 0) return true;
  const U* const keys = static_cast<const U*>(all);
  const U zero = U(form.sign - 1);
  U low = 0, high = 0, nan = 0;
  for (int64_t i = 0; i < n; ++i) {
    low |= U(keys[i] == zero);
    high |= U(keys[i] == U(zero + 1));
    nan |= U(keys[i] == U(~U(0)));
  }
  return ((low & high) | nan) == 0;
}

// -- keys in a range

#if defined(__AVX512BW__)
// Operations on vectors of keys of 32 and 64 bits; masks have a bit for each lane.
DLT_FN unsigned lanes_below(__m512i v, uint32_t key) { return _mm512_cmplt_epu32_mask(v, _mm512_set1_epi32(int(key))); }
DLT_FN unsigned lanes_below(__m512i v, uint64_t key) { return _mm512_cmplt_epu64_mask(v, _mm512_set1_epi64(int64_t(key))); }
DLT_FN unsigned lanes_upto(__m512i v, uint32_t key) { return _mm512_cmple_epu32_mask(v, _mm512_set1_epi32(int(key))); }
DLT_FN unsigned lanes_upto(__m512i v, uint64_t key) { return _mm512_cmple_epu64_mask(v, _mm512_set1_epi64(int64_t(key))); }
// Compressed in a register: the form that stores takes a hundred cycles on some processors.
DLT_FN __m512i compressed(unsigned mask, __m512i v, uint32_t) { return _mm512_maskz_compress_epi32(__mmask16(mask), v); }
DLT_FN __m512i compressed(unsigned mask, __m512i v, uint64_t) { return _mm512_maskz_compress_epi64(__mmask8(mask), v); }

// Writes the lanes of a mask one after the other, and whatever behind them: a whole register.
template <class U>
DLT_FN int64_t append(U* to, unsigned mask, __m512i v) {
  _mm512_storeu_si512(to, compressed(mask, v, U()));
  return __builtin_popcount(mask);
}
#endif

template <class U>
int64_t keep_between(const void* all, int64_t n, uint64_t lowest, uint64_t highest, void* to, int64_t* below) {
  const U *keys = static_cast<const U*>(all), low = U(lowest), high = U(highest), span = U(high - low);
  U* out = static_cast<U*>(to);
  int64_t kept = 0, lower = 0, i = 0;
#if defined(__AVX512BW__)
  if constexpr (sizeof(U) >= 4) {
    constexpr int64_t lanes = 64 / int64_t(sizeof(U));
    for (; i + lanes <= n; i += lanes) {
      const __m512i v = _mm512_loadu_si512(keys + i);
      const unsigned under = lanes_below(v, low);
      lower += __builtin_popcount(under);
      kept += append(out + kept, lanes_upto(v, high) & ~under, v);
    }
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(U) >= 4) {
    using S = signed_of<U>;
    using V = lanes_t<S>;
    constexpr int64_t lanes = pack<S>::lanes;
    const V sign = V{} + S(U(1) << (bits<U> - 1)), least = (V{} + S(low)) ^ sign, most = (V{} + S(high)) ^ sign;
    for (; i + lanes <= n; i += lanes) {
      const V v = load<S>(reinterpret_cast<const char*>(keys + i)), key = v ^ sign;
      const unsigned under = set_below<S>(key, least), inside = ~(under | set_below<S>(most, key)) & ((1u << lanes) - 1);
      lower += __builtin_popcount(under);
      *reinterpret_cast<typename pack<S>::loose*>(out + kept) = parted(v, inside);
      kept += __builtin_popcount(inside);
    }
  }
#endif
  for (; i < n; ++i) {
    const U key = keys[i];
    out[kept] = key;
    kept += U(key - low) <= span;
    lower += key < low;
  }
  *below = lower;
  return kept;
}

template <class U>
int64_t count_below(const void* all, int64_t n, uint64_t bound) {
  using V = lanes_t<U>;
  constexpr int64_t lanes = pack<U>::lanes, most = sizeof(U) == 1 ? 255 : 65535;  // registers that a lane can count
  const U* const keys = static_cast<const U*>(all);
  const V limit = V{} + U(bound);
  int64_t count = 0, i = 0;
  while (i + lanes <= n) {
    const int64_t end = i + (n - i < most * lanes ? (n - i) / lanes * lanes : most * lanes);
    V below{};
    for (; i < end; i += lanes) below -= V(load<U>(reinterpret_cast<const char*>(keys + i)) < limit);
    for (int64_t l = 0; l < lanes; ++l) count += below[l];
  }
  for (; i < n; ++i) count += keys[i] < U(bound);
  return count;
}

template <class U>
int64_t next_upto(const void* all, int64_t first, int64_t n, uint64_t most) {
  constexpr int64_t block = 64;
  const U *keys = static_cast<const U*>(all), last = U(most);
  for (; first + block <= n; first += block) {
    U any = 0;
    for (int64_t i = first; i < first + block; ++i) any |= U(keys[i] <= last);
    if (any != 0) break;
  }
  while (first < n && keys[first] > last) ++first;
  return first;
}

template <class U>
int64_t mark_starts(uint8_t* starts, const void* all, int64_t n, bool nans) {
  const U* const keys = static_cast<const U*>(all);
  const uint8_t real = nans;
  DLT_EACH starts[i] = uint8_t(uint8_t(keys[i] != keys[i - 1]) | (real & uint8_t(keys[i] == U(~U(0)))));
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += starts[i];
  return count;
}

// Searches that advance together: while one waits for memory the others go on.
constexpr int together = 16;

template <class U, bool After>
void find_bounds(int64_t* out, const U* sorted, int64_t size, const U* keys, int64_t n) {
  // All bits where the search goes on behind `there`: by arithmetic, since a branch would be wrong half of the time.
  const auto behind = [](U there, U key) { return -int64_t(After ? there <= key : there < key); };
  for (int64_t done = 0; done < n; done += together) {
    const int64_t count = n - done < together ? n - done : together;
    int64_t base[together] = {};
    U key[together] = {};
    for (int64_t l = 0; l < count; ++l) key[l] = keys[done + l];
    for (int64_t left = size; left > 1;) {
      const int64_t half = left / 2;
      const U* middle = sorted + half - 1;
      for (int l = 0; l < together; ++l) base[l] += half & behind(middle[base[l]], key[l]);
      left -= half;
    }
    for (int64_t l = 0; l < count; ++l) out[done + l] = size > 0 ? base[l] - behind(sorted[base[l]], key[l]) : 0;
  }
}

template <class U>
void bounds(int64_t* out, const void* sorted, int64_t size, const void* keys, int64_t n, bool after) {
  (after ? find_bounds<U, true> : find_bounds<U, false>)(out, static_cast<const U*>(sorted), size, static_cast<const U*>(keys),
                                                         n);
}

template <class U>
constexpr SortLoops loops{make_keys<U>, make_elements<U>, rank_keys<U>, keep_between<U>, count_below<U>,
                          next_upto<U>, mark_starts<U>,   bounds<U>,    nullptr,         tells_apart<U>,
                          nullptr,      nullptr,          nullptr,      nullptr};

}  // namespace

void fill_sorts(SortKernels* kernels) {
  kernels->sorts[0] = loops<uint8_t>;
  kernels->sorts[1] = loops<uint16_t>;
  kernels->sorts[2] = loops<uint32_t>;
  kernels->sorts[3] = loops<uint64_t>;
}

}  // namespace dlt::DLT_LEVEL
