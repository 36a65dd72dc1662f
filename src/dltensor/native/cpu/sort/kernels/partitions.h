// SPDX-License-Identifier: Apache-2.0
// Elements as signed keys, and partitions of keys in their memory: those below a bound to the front. Nothing is chosen or sorted here.
#pragma once
#include <limits>

#include "native/cpu/sort/kernels.h"
#include "native/cpu/sort/kernels/networks.h"

#if defined(__AVX2__)
namespace dlt::DLT_LEVEL {
namespace {

// Parameters of the conversion of elements to signed keys with the same order, and back; of NaNs alone the bits are lost.
template <class K>
struct SignedKeys {
  static constexpr K most = std::numeric_limits<K>::max();
  K flip, magnitude, infinity, down;
  explicit constexpr SignedKeys(const KeyForm& form)
      : flip(form.sign == 0 ? K(~most) : K(0)),
        magnitude(form.infinity == 0 ? K(0) : most),
        infinity(form.infinity == 0 ? most : K(form.infinity)),
        down(form.descending ? K(-1) : K(0)) {}
  // Of one element or a register of them.
  template <class T>
  DLT_FN T key(T element) const {
    const T ordered = (element ^ flip) ^ ((element >> int(sizeof(K) * 8 - 1)) & magnitude) ^ down;
    return (element & magnitude) > infinity ? T{} + most : ordered;
  }
  bool is_nan(K element) const { return (element & magnitude) > infinity; }
  template <class T>
  DLT_FN T element(T key) const {
    const T ordered = key ^ down;
    return ordered ^ flip ^ ((ordered >> int(sizeof(K) * 8 - 1)) & magnitude);
  }
};

// Keys of a leaf: more than there are registers for where these are 16, which takes less time than one more partition.
template <class K>
constexpr int64_t leaf = 16 * pack<K>::lanes;

// For each set of lanes a permutation that brings them to the front; the order of both parts stays.
template <int LANES>
struct Permutations {
  alignas(64) uint8_t of[1 << LANES][8];
  constexpr Permutations() : of() {
    constexpr int parts = 8 / LANES;  // of 32 bits, of each lane
    for (int set = 0; set < 1 << LANES; ++set) {
      int at = 0;
      for (int first = 1; first >= 0; --first)
        for (int l = 0; l < LANES; ++l)
          if ((set >> l & 1) == first)
            for (int p = 0; p < parts; ++p) of[set][at++] = uint8_t(l * parts + p);
    }
  }
};

template <int LANES>
constexpr Permutations<LANES> permutations{};

// Returns the set of lanes of a register that are below a bound.
template <class K, class V>
DLT_FN unsigned set_below(V v, V bound) {
#if defined(__AVX512F__)
  return Lanes<K>::below(v, bound);
#else
  const __m256i below = __m256i(v < bound);
  if constexpr (sizeof(K) == 4) return unsigned(_mm256_movemask_ps(_mm256_castsi256_ps(below)));
  else return unsigned(_mm256_movemask_pd(_mm256_castsi256_pd(below)));
#endif
}
// The lanes of a set first, then the others.
template <class V>
DLT_FN V parted(V v, unsigned set) {
  constexpr int lanes = sizeof(V) / sizeof(v[0]);
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(permutations<lanes>.of[set]));
#if defined(__AVX512F__)
  return V(_mm512_maskz_permutexvar_epi64(0xff, _mm512_maskz_cvtepu8_epi64(0xff, order), __m512i(v)));
#else
  return V(_mm256_permutevar8x32_epi32(__m256i(v), _mm256_cvtepu8_epi32(order)));
#endif
}

// The gap between keys below a bound, which have come to its front, and others. What another thread writes to these keys meanwhile
// moves nothing out of the line, since each is read once.
template <class K>
struct Gap {
  using L = Lanes<K>;
  using V = typename L::value;
  static constexpr int64_t lanes = L::lanes;
  loose_t<K>*low, *high;  // of keys; high is behind the last
  K bound;

  DLT_FN static V load(const loose_t<K>* from) { return *reinterpret_cast<const typename L::loose*>(from); }
  DLT_FN static void store(loose_t<K>* to, V v) { *reinterpret_cast<typename L::loose*>(to) = v; }
  // Puts the keys of a register to both ends; the gap has room for two registers, or for this one alone.
  DLT_FN void put(V v) {
    const unsigned set = set_below<K>(v, V{} + bound);
    const int count = __builtin_popcount(set);
#if defined(__AVX512F__)
    // Compressed in a register: the form that stores takes a hundred cycles on some processors.
    if constexpr (sizeof(K) == 4) {
      store(low, V(_mm512_maskz_compress_epi32(__mmask16(set), __m512i(v))));
      L::store(high - (lanes - count), L::every >> count, V(_mm512_maskz_compress_epi32(__mmask16(~set), __m512i(v))));
    } else
#endif
    {
      v = parted(v, set);
      store(low, v);
      store(high - lanes, v);
    }
    low += count;
    high -= lanes - count;
  }
#if defined(__AVX512F__)
  // Puts the first `some` keys of a register.
  DLT_FN void put(V v, int some) {
    const unsigned there = L::first(some), set = set_below<K>(v, V{} + bound) & there;
    const int count = __builtin_popcount(set);
    if constexpr (sizeof(K) == 4) {
      L::store(low, L::first(count), V(_mm512_maskz_compress_epi32(__mmask16(set), __m512i(v))));
      L::store(high - (some - count), L::first(some - count),
               V(_mm512_maskz_compress_epi32(__mmask16(there & ~set), __m512i(v))));
    } else {
      v = parted(v, set);
      L::store(low, L::first(count), v);
      L::store(high - some, there & ~L::first(count), v);
    }
    low += count;
    high -= some - count;
  }
#else
  DLT_FN void put(V v, int some) {
    for (int l = 0; l < some; ++l) {
      const K key = v[l];
      low[0] = high[-1] = key;
      low += key < bound;
      high -= !(key < bound);
    }
  }
#endif
  // Fills the gap with keys, or with RAW elements; returns whether zeros of floats may be among these.
  template <bool RAW>
  bool fill(const loose_t<K>* from, int64_t n, const SignedKeys<K>& form) {
    int64_t i = 0;
    V least = V{} + SignedKeys<K>::most;
    const auto key = [&](V v) __attribute__((always_inline)) {
      if constexpr (!RAW) return v;
      const V size = v & form.magnitude;
      least = size < least ? size : least;
      return form.key(v);
    };
    for (; i + 5 * lanes <= n; i += 4 * lanes) {
      V v[4];
      each<4>([&](int j) __attribute__((always_inline)) { v[j] = key(load(from + i + j * lanes)); });
      each<4>([&](int j) __attribute__((always_inline)) { put(v[j]); });
    }
    for (; i + 2 * lanes <= n; i += lanes) put(key(load(from + i)));
    for (; i < n; i += lanes) {
      const int some = int(n - i < lanes ? n - i : lanes);
      const typename L::mask there = L::first(some);
      put(key(L::choose(there, least, L::load(from + i, there))), some);
    }
    return form.magnitude != 0 && L::any(least == 0);
  }
};

// So many keys are copied whole: that takes less than blocks.
template <class K>
constexpr int64_t few_keys = 4 * leaf<K>;

// Moves the keys below a bound to the front; returns how many they are. A block of registers at each end is taken first: then always
// the next one from the end that has less room, and it is loaded before the one before it is stored.
template <class K>
[[gnu::noinline]] int64_t partition(loose_t<K>* keys, int64_t n, K bound, const SignedKeys<K>& form) {
  using G = Gap<K>;
  using V = typename G::V;
  constexpr int unrolled = 4;
  constexpr int64_t block = unrolled * G::lanes;
  static_assert(few_keys<K> >= 4 * block, "there are blocks enough");
  G gap{keys, keys + n, bound};
  if (n <= few_keys<K>) {
    alignas(64) K all[few_keys<K> + G::lanes];
    for (int64_t i = 0; i < n - G::lanes; i += G::lanes) G::store(all + i, G::load(keys + i));
    G::store(all + n - G::lanes, G::load(keys + n - G::lanes));
    gap.template fill<false>(all, n, form);
    return gap.low - keys;
  }
  alignas(64) K rest[4 * block];
  for (int64_t i = 0; i < block; i += G::lanes) {
    G::store(rest + i, G::load(keys + i));
    G::store(rest + block + i, G::load(keys + n - block + i));
  }
  const loose_t<K>*left = keys + block, *right = keys + n - block;  // what is between them has not been read
  V v[unrolled], next[unrolled];
  each<unrolled>([&](int j) __attribute__((always_inline)) { v[j] = G::load(left + j * G::lanes); });
  left += block;
  while (right - left >= block) {
    const int64_t take = left - gap.low <= gap.high - right ? -1 : 0;  // all bits: from the left
    right -= block & ~take;
    const loose_t<K>* const from = reinterpret_cast<const loose_t<K>*>((intptr_t(left) & take) | (intptr_t(right) & ~take));
    left += block & take;
    each<unrolled>([&](int j) __attribute__((always_inline)) { next[j] = G::load(from + j * G::lanes); });
    each<unrolled>([&](int j) __attribute__((always_inline)) { gap.put(v[j]); });
    each<unrolled>([&](int j) __attribute__((always_inline)) { v[j] = next[j]; });
  }
  each<unrolled>([&](int j) __attribute__((always_inline)) { G::store(rest + 2 * block + j * G::lanes, v[j]); });
  const int64_t count = right - left;
  for (int64_t i = 0; i < count; i += G::lanes) G::store(rest + 3 * block + i, G::load(left + i));
  gap.template fill<false>(rest, 3 * block + count, form);
  return gap.low - keys;
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
#endif
