// SPDX-License-Identifier: Apache-2.0
// Radix sort of unsigned keys, alone or with the index of each, and merging of sorted runs. All in memory of our own.
#pragma once
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "native/cpu/runtime/sizes.h"

namespace dlt {

// A key of up to 64 bits and where it was.
struct KeyIndex {
  uint64_t key, index;
};
template <class E>
uint64_t bits_of(E e) {
  if constexpr (sizeof(E) == 16) return e.key;
  else return e;
}

// Below 2^32 elements: the counters have 32 bits. Sorts by Passes digits from bit `low` on, each pass stable; returns
// where the result is, `a` or `b`.
template <int Passes, int Digit, class E>
E* radix_passes(E* a, E* b, int64_t n, int low) {
  constexpr uint64_t mask = (1 << Digit) - 1;
  uint32_t counts[Passes][mask + 1] = {};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = bits_of(a[i]) >> low;
    for (int p = 0; p < Passes; ++p) ++counts[p][key >> (p * Digit) & mask];
  }
  for (int p = 0; p < Passes; ++p) {
    uint32_t* count = counts[p];
    const int shift = low + p * Digit;
    if (count[bits_of(a[0]) >> shift & mask] == uint32_t(n)) continue;  // the digit is the same in all
    uint32_t next = 0;
    for (uint64_t d = 0; d <= mask; ++d) next += std::exchange(count[d], next);
    for (int64_t i = 0; i < n; ++i) {
      const E e = a[i];
      b[count[bits_of(e) >> shift & mask]++] = e;
    }
    std::swap(a, b);
  }
  return a;
}

template <class E>
bool is_sorted_run(const E* a, int64_t n) {
  int64_t i = 1;
  while (i < n && bits_of(a[i - 1]) <= bits_of(a[i])) ++i;
  return i >= n;
}

// Shorter runs use digits of 8 bits, whose tables take less to fill.
inline constexpr int64_t long_run = 8192;

// Sorts elements whose keys have `bits` bits from bit `low` on; returns where the result is.
template <class E>
E* radix_sort(E* a, E* b, int64_t n, int low, int bits) {
  if (n < 2 || is_sorted_run(a, n)) return a;
  if (bits == 8) return radix_passes<1, 8>(a, b, n, low);
  if (bits == 16) return radix_passes<2, 8>(a, b, n, low);
  if (bits == 32) return n < long_run ? radix_passes<4, 8>(a, b, n, low) : radix_passes<3, 11>(a, b, n, low);
  if constexpr (sizeof(E) >= 8) return n < long_run ? radix_passes<8, 8>(a, b, n, low) : radix_passes<6, 11>(a, b, n, low);
  return a;
}

// The number of the first `at` elements of the stable merge of two runs that come from the first run.
template <class E>
int64_t merge_split(const E* a, int64_t na, const E* b, int64_t nb, int64_t at) {
  int64_t low = at > nb ? at - nb : 0, high = smaller(at, na);
  while (low < high) {
    const int64_t from_a = low + (high - low) / 2;
    if (bits_of(a[from_a]) <= bits_of(b[at - from_a - 1])) low = from_a + 1;
    else high = from_a;
  }
  return low;
}

// `y` where `second`, else `x`; the compiler would branch, which is wrong half of the time.
template <class E>
E choose(E x, E y, bool second) {
  const uint64_t mask = -uint64_t(second);
  if constexpr (sizeof(E) == 16) return {x.key ^ ((x.key ^ y.key) & mask), x.index ^ ((x.index ^ y.index) & mask)};
  else return E(x ^ ((x ^ y) & E(mask)));
}

// Two runs that are being merged into one place. Stable: equal keys of `a` come first.
template <class E>
struct Merge {
  const E *a, *a_end, *b, *b_end;
  E* out;
  bool both() const { return a < a_end && b < b_end; }
  void step() {
    const E x = *a, y = *b;
    const bool second = bits_of(y) < bits_of(x);
    *out++ = choose(x, y, second);
    b += second;
    a += !second;
  }
  void finish() {
    while (both()) step();
    if (a < a_end) memcpy(static_cast<void*>(out), a, size_t(a_end - a) * sizeof(E));
    else if (b < b_end) memcpy(static_cast<void*>(out), b, size_t(b_end - b) * sizeof(E));
  }
};

// Merges in two halves that advance together: a step waits for the one before it in the same half.
template <class E>
void merge_runs(const E* a, int64_t na, const E* b, int64_t nb, E* out) {
  const int64_t half = (na + nb) / 2, from_a = merge_split(a, na, b, nb, half), from_b = half - from_a;
  Merge<E> low{a, a + from_a, b, b + from_b, out};
  Merge<E> high{a + from_a, a + na, b + from_b, b + nb, out + half};
  while (low.both() && high.both()) {
    low.step();
    high.step();
  }
  low.finish();
  high.finish();
}

}  // namespace dlt
