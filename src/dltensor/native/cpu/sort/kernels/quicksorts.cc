// SPDX-License-Identifier: Apache-2.0
// Sorting of elements of 32 and 64 bits by vectorized partitions, down to a network in registers.
#include <algorithm>
#include <type_traits>

#include "native/cpu/sort/kernels/partitions.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX2__)
// -- few keys

// Sorts n keys, or with RAW elements, to the elements of `out`, which may be `from`. R / 2 registers are full. Returns whether
// among them are NaNs or zeros of both signs, if asked.
template <int R, bool RAW, class K>
[[gnu::noinline]] bool sort_leaf(loose_t<K>* out, const loose_t<K>* from, int64_t n, const SignedKeys<K>& form) {
  using L = Lanes<K>;
  constexpr int full = R == 1 ? 0 : R / 2;
  typename L::value v[R];
  typename L::mask there[R - full];
  const typename L::value last = typename L::value{} + SignedKeys<K>::most;
  each<R - full>([&](int r) __attribute__((always_inline)) { there[r] = L::first(n - (full + r) * L::lanes); });
  each<R>([&](int r) __attribute__((always_inline)) {
    if (r < full) {
      v[r] = *reinterpret_cast<const typename L::loose*>(from + r * L::lanes);
      if constexpr (RAW) v[r] = form.key(v[r]);
    } else {
      v[r] = L::load(from + r * L::lanes, there[r - full]);
      if constexpr (RAW) v[r] = form.key(v[r]);
      v[r] = L::choose(there[r - full], last, v[r]);
    }
  });
  L::template sort<R>(v);
  bool tied = false;
  if constexpr (RAW) {
    if (form.magnitude != 0) {
      typename L::value low{}, high{}, minus_one = typename L::value{} - 1;
      each<R>([&](int r) __attribute__((always_inline)) {
        low |= v[r] == 0;
        high |= v[r] == minus_one;
      });
      tied = L::any(low) && L::any(high);
    }
  }
  each<R>([&](int r) __attribute__((always_inline)) {
    v[r] = form.element(v[r]);
    if (r < full) *reinterpret_cast<typename L::loose*>(out + r * L::lanes) = v[r];
    else L::store(out + r * L::lanes, there[r - full], v[r]);
  });
  if constexpr (RAW) tied |= form.is_nan(out[n - 1]);
  return tied;
}
template <bool RAW, class K>
bool sort_few(loose_t<K>* out, const loose_t<K>* from, int64_t n, const SignedKeys<K>& form) {
  constexpr int64_t lanes = pack<K>::lanes;
  if (n <= lanes) return sort_leaf<1, RAW>(out, from, n, form);
  if (n <= 2 * lanes) return sort_leaf<2, RAW>(out, from, n, form);
  if (n <= 4 * lanes) return sort_leaf<4, RAW>(out, from, n, form);
  if (n <= 8 * lanes) return sort_leaf<8, RAW>(out, from, n, form);
  return sort_leaf<16, RAW>(out, from, n, form);
}

// -- pivots

// A sorted sample of the keys of a part.
template <class K>
struct Sample {
  const K* keys;
  int64_t count;
};
constexpr int64_t least_sampled = 8, many_keys = 2048, very_many_keys = 1 << 16;

// Takes a sorted sample of at most leaf<K> keys.
template <bool RAW, class K>
Sample<K> take_sample(K* sample, const loose_t<K>* keys, int64_t n, const SignedKeys<K>& form) {
  constexpr int64_t lanes = pack<K>::lanes;
  const int64_t count = n >= very_many_keys ? leaf<K> : n >= many_keys ? 4 * lanes : 2 * lanes, step = n / count;
  for (int64_t i = 0; i < count; ++i) sample[i] = keys[step / 2 + i * step];
  if constexpr (RAW)
    for (int64_t i = 0; i < count; ++i) sample[i] = form.key(sample[i]);
  constexpr SignedKeys<K> same(KeyForm{uint64_t(1) << (sizeof(K) * 8 - 1)});
  sort_few<false, K>(sample, sample, count, same);
  return {sample, count};
}

// The bound in the middle of the range of keys, or false if all of them are `*bound`.
template <class K>
bool halve_range(K* bound, const loose_t<K>* keys, int64_t n) {
  using U = std::make_unsigned_t<K>;
  K least = keys[0], most = least;
  for (int64_t i = 1; i < n; ++i) {
    const K key = keys[i];
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  *bound = K(U(least) + (U(most) - U(least)) / 2 + (least != most));
  return least != most;
}

// A bound such that there are keys below it and others, or false if all keys are `*bound`.
template <class K>
bool choose_bound(K* bound, const Sample<K>& sample, const loose_t<K>* keys, int64_t n) {
  const K pivot = sample.keys[sample.count / 2];
  *bound = pivot;
  if (sample.keys[0] != pivot) return true;
  if (sample.keys[sample.count - 1] != pivot) {
    *bound = K(pivot + 1);
    return true;
  }
  int64_t i = 0;
  for (K other = 0; i + 64 <= n; i += 64) {
    for (int64_t j = i; j < i + 64; ++j) other |= keys[j] ^ pivot;
    if (other != 0) break;
  }
  K other = pivot;
  for (; i < n && other == pivot; ++i) other = keys[i];
  if (other > pivot) *bound = K(pivot + 1);
  return other != pivot;
}

// Sorts n keys and makes elements of them.
template <class K>
void sort_part(loose_t<K>* keys, int64_t n, Sample<K> sample, int depth, const SignedKeys<K>& form) {
  alignas(64) K own_sample[leaf<K>];
  while (n > leaf<K>) {
    // After bad pivots the range of keys is halved, for as many steps as a key has bits. Only what another thread writes
    // meanwhile takes more.
    if (--depth < -8 * int(sizeof(K)) - 8) return;
    K bound;
    if (depth >= 0 && sample.count < least_sampled) sample = take_sample<false, K>(own_sample, keys, n, form);
    if (!(depth < 0 ? halve_range(&bound, keys, n) : choose_bound(&bound, sample, keys, n))) {
      const K element = form.element(bound);
      for (int64_t i = 0; i < n; ++i) keys[i] = element;
      return;
    }
    const int64_t low = partition<K>(keys, n, bound, form);
    int64_t split = sample.count / 2;
    while (split > 0 && sample.keys[split - 1] >= bound) --split;
    while (split < sample.count && sample.keys[split] < bound) ++split;
    const Sample<K> before{sample.keys, split}, behind{sample.keys + split, sample.count - split};
    if (low <= n / 2) {  // the shorter part first, so that few calls are open at a time
      sort_part<K>(keys, low, before, depth, form);
      sample = behind;
      keys += low;
      n -= low;
    } else {
      sort_part<K>(keys + low, n - low, behind, depth, form);
      sample = before;
      n = low;
    }
  }
  if (n > 0) sort_few<false, K>(keys, keys, n, form);
}

// -- whole lines

constexpr int most_counted = 8;

// Writes the elements in order if at most most_counted of them differ and all are in the sample.
template <class K>
bool count_values(loose_t<K>* out, const loose_t<K>* in, int64_t n, const Sample<K>& sample, const SignedKeys<K>& form) {
  using L = Lanes<K>;
  using V = typename L::value;
  K keys[most_counted]{};  // GCC does not see that the sample has one
  int distinct = 0;
  for (int64_t i = 0; i < sample.count; ++i) {
    if (i > 0 && sample.keys[i] == sample.keys[i - 1]) continue;
    if (distinct == most_counted) return false;
    keys[distinct++] = sample.keys[i];
  }
  for (int d = distinct; d < most_counted; ++d) keys[d] = keys[0];
  constexpr int64_t block = 256 * L::lanes;
  int64_t counts[most_counted] = {};
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = first + block < n ? first + block : n;
    V found[most_counted] = {};
    int64_t i = first;
    for (; i + L::lanes <= end; i += L::lanes) {
      const V v = form.key(V(*reinterpret_cast<const typename L::loose*>(in + i)));
      each<most_counted>([&](int d) __attribute__((always_inline)) { found[d] = L::count(found[d], v, V{} + keys[d]); });
    }
    int64_t known = 0;
    for (int d = 0; d < distinct; ++d) {
      int64_t count = 0;
      for (int l = 0; l < L::lanes; ++l) count += found[d][l];
      for (int64_t j = i; j < end; ++j) count += form.key(K(in[j])) == keys[d];
      counts[d] += count;
      known += count;
    }
    if (known != end - first) return false;
  }
  for (int d = 0; d < distinct; ++d) {
    const K element = form.element(keys[d]);
    for (int64_t i = 0; i < counts[d]; ++i) out[i] = element;
    out += counts[d];
  }
  return true;
}

// Returns whether the elements are in order.
template <class K>
bool is_sorted(const loose_t<K>* in, int64_t n, const SignedKeys<K>& form) {
  using L = Lanes<K>;
  using V = typename L::value;
  int64_t i = 0;
  for (; i + 1 + L::lanes <= n; i += L::lanes) {
    const V v = form.key(V(*reinterpret_cast<const typename L::loose*>(in + i))),
            next = form.key(V(*reinterpret_cast<const typename L::loose*>(in + i + 1)));
    if (L::any(next < v)) return false;
  }
  while (i + 1 < n && form.key(K(in[i])) <= form.key(K(in[i + 1]))) ++i;
  return i + 1 >= n;
}

// Sorts more than leaf<K> elements, unless it only makes keys of them in `out` and brings some to the front: it then returns how many, else
// -1. The room is that of the sample; `zeros` says whether zeros of both signs may be among them.
template <class K>
int64_t begin_line(loose_t<K>* out, const loose_t<K>* in, int64_t n, K* room, Sample<K>* sample, K* bound, bool* zeros,
                   const SignedKeys<K>& form) {
  *zeros = false;
  if (is_sorted<K>(in, n, form)) {
    __builtin_memcpy(static_cast<void*>(out), in, size_t(n) * sizeof(K));
    return -1;
  }
  *sample = take_sample<true, K>(room, in, n, form);
  if (count_values<K>(out, in, n, *sample, form)) {
    *zeros = true;
    return -1;
  }
  const K pivot = sample->keys[sample->count / 2];
  *bound = sample->keys[0] == pivot && pivot != form.most ? K(pivot + 1) : pivot;
  Gap<K> gap{out, out + n, *bound};
  *zeros = gap.template fill<true>(in, n, form);
  return gap.low - out;
}

inline int most_partitions(int64_t n) { return 2 * (64 - __builtin_clzll(uint64_t(n) | 1)); }

template <class K>
bool sort_elements(void* to, const void* elements, int64_t n, const KeyForm& key_form) {
  const SignedKeys<K> form(key_form);
  loose_t<K>* const out = static_cast<loose_t<K>*>(to);
  const loose_t<K>* const in = static_cast<const loose_t<K>*>(elements);
  if (n <= leaf<K>) return n > 0 && sort_few<true, K>(out, in, n, form);
  alignas(64) K room[leaf<K>];
  Sample<K> sample;
  K bound;
  bool zeros;
  const int64_t low = begin_line<K>(out, in, n, room, &sample, &bound, &zeros, form);
  if (low >= 0) {
    const int64_t split = std::lower_bound(sample.keys, sample.keys + sample.count, bound) - sample.keys;
    sort_part<K>(out, low, {sample.keys, split}, most_partitions(n), form);
    sort_part<K>(out + low, n - low, {sample.keys + split, sample.count - split}, most_partitions(n), form);
  }
  return form.magnitude != 0 && (zeros || form.is_nan(out[n - 1]));
}

// -- steps that threads share

template <class K>
int64_t begin_elements(void* out, const void* in, int64_t n, const KeyForm& key_form) {
  alignas(64) K room[leaf<K>];
  Sample<K> sample;
  K bound;
  bool zeros;
  return begin_line<K>(static_cast<loose_t<K>*>(out), static_cast<const loose_t<K>*>(in), n, room, &sample, &bound, &zeros,
                       SignedKeys<K>(key_form));
}

template <class K>
int64_t split_keys(void* all, int64_t n) {
  if (n <= leaf<K>) return n;
  loose_t<K>* const keys = static_cast<loose_t<K>*>(all);
  constexpr SignedKeys<K> same(KeyForm{uint64_t(1) << (sizeof(K) * 8 - 1)});
  alignas(64) K room[leaf<K>];
  K bound;
  return choose_bound(&bound, take_sample<false, K>(room, keys, n, same), keys, n) ? partition<K>(keys, n, bound, same) : n;
}

template <class K>
void finish_keys(void* keys, int64_t n, const KeyForm& form) {
  sort_part<K>(static_cast<loose_t<K>*>(keys), n, {nullptr, 0}, most_partitions(n), SignedKeys<K>(form));
}

template <class K>
void fill_loops(SortLoops* loops) {
  loops->quick = sort_elements<K>;
  loops->begin = begin_elements<K>;
  loops->split = split_keys<K>;
  loops->finish = finish_keys<K>;
}
#endif

}  // namespace

void fill_quicksorts(SortKernels* kernels) {
#if defined(__AVX2__)
  fill_loops<int32_t>(&kernels->sorts[2]);
  fill_loops<int64_t>(&kernels->sorts[3]);
#else
  (void)kernels;
#endif
}

}  // namespace dlt::DLT_LEVEL
