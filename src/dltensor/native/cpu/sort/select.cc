// SPDX-License-Identifier: Apache-2.0
// Selection: the first k elements of the order, and elements at given places of it, without sorting all.
#include <math.h>
#include <string.h>

#include <algorithm>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/sort/along_axis.h"
#include "native/cpu/sort/radix.h"
#include "native/cpu/sort/sort.h"

namespace dlt {
namespace {

constexpr int64_t few = 2048;  // elements that need no sample
constexpr int64_t most_sampled = 1024, less_sampled = 256, many = 1 << 16;
constexpr int most_rounds = 8;

// Elements of the sorted sample on each side of a place: three standard deviations of the place of a sampled element, and some.
int64_t sample_margin(int64_t sampled, double part) { return int64_t(3 * sqrt(double(sampled) * part * (1 - part))) + 4; }

// Sorts keys, for which `spare` has as much room; returns where they are.
template <class U>
U* sort_sample(const SortLoops& loops, U* keys, U* spare, int64_t n) {
  if (loops.quick == nullptr) {
    std::sort(keys, keys + n);
    return keys;
  }
  loops.quick(spare, keys, n, {});
  return spare;
}

// Of narrow keys: the greatest one that no more than k are below, found bit by bit.
template <class U>
U select_bits(const SortLoops& loops, const U* keys, int64_t n, int64_t k, U* next) {
  U found = 0;
  for (U bit = U(U(~U(0)) / 2 + 1); bit != 0; bit = U(bit >> 1))
    if (loops.count_below(keys, n, found | bit) <= k) found |= bit;
  if (next == nullptr || k + 1 == n) return found;
  *next = found;
  if (found != U(~U(0)) && loops.count_below(keys, n, found + 1) <= k + 1) {
    *next = U(~U(0));
    for (int64_t i = 0; i < n; ++i)
      if (keys[i] > found && keys[i] < *next) *next = keys[i];
  }
  return found;
}

// The key at place k of the order of n, and where `next` is not null the one after it, if k is not the last place.
// `spare` has room for n.
template <class U>
U select_key(const SortLoops& loops, const U* keys, int64_t n, int64_t k, U* spare, U* next) {
  if constexpr (sizeof(U) <= 2) return select_bits(loops, keys, n, k, next);
  const U* const all = keys;
  const int64_t size = n, place_in_all = k;
  U low = 0, high = U(~U(0)), taken[2][few], found = 0;
  static_assert(few >= most_sampled, "there is room for a sample");
  bool one = false;  // all that is left is one key
  for (int round = 0; n > few && round < most_rounds; ++round) {
    const int64_t sampled = n < many ? less_sampled : most_sampled;
    for (int64_t i = 0; i < sampled; ++i) taken[0][i] = keys[i * (n - 1) / (sampled - 1)];
    const U* const sample = sort_sample(loops, taken[0], taken[1], sampled);
    const double part = double(k) / double(n);
    const int64_t place = int64_t(part * double(sampled)), margin = sample_margin(sampled, part);
    const U lower = place < margin ? low : sample[place - margin];
    const U upper = place + margin >= sampled ? high : sample[place + margin];
    int64_t below = 0;
    const int64_t kept = loops.between(keys, n, lower, upper, spare, &below);
    if (k < below || k >= below + kept) {  // the sample was wrong, and what it left out is needed
      keys = all;
      n = size;
      k = place_in_all;
      break;
    }
    found = lower;
    one = lower == upper;
    const bool slow = kept > n / 2;  // many equal keys
    keys = spare;
    n = kept;
    k -= below;
    low = lower;
    high = upper;
    if (one || slow) break;
  }
  const U* sorted = nullptr;
  if (!one && loops.quick != nullptr && (keys != spare || n <= few)) {
    U* const to = keys != spare ? spare : taken[0];
    loops.quick(to, keys, n, {});
    sorted = to;
    found = sorted[k];
  } else if (!one) {
    if (keys != spare) memcpy(spare, keys, size_t(n) * sizeof(U));
    std::nth_element(spare, spare + k, spare + n);
    found = spare[k];
  }
  if (next == nullptr || place_in_all + 1 == size) return found;
  if (k + 1 < n) {
    *next = one ? found : sorted != nullptr ? sorted[k + 1] : *std::min_element(spare + k + 1, spare + n);
    return found;
  }
  *next = U(~U(0));
  for (int64_t i = 0; i < size; ++i)
    if (all[i] > found && all[i] < *next) *next = all[i];
  return found;
}

// -- order statistics

struct Statistics {
  const SortLoops* loops;
  KeyForm form;
  int64_t n, count;
  const int64_t* places;
};

constexpr int64_t most_selected = 6;  // more places than that, and the line is sorted

template <class U>
void select_line(const void* context, const Line& line) {
  const auto& task = *static_cast<const Statistics*>(context);
  U *keys = reinterpret_cast<U*>(line.scratch), *spare = keys + task.n + 1, *found = spare + task.n + 1;
  task.loops->keys(keys, line.in, task.n, task.form);
  bool nan = false;
  if (task.form.infinity != 0) {
    int64_t nans = 0;
    for (int64_t i = 0; i < task.n; ++i) nans += keys[i] == U(~U(0));
    nan = nans != 0;
  }
  if (nan) {
    std::fill_n(found, task.count, U(~U(0)));
  } else if (task.count > most_selected || task.n <= most_ranked) {
    const U* sorted = static_cast<const U*>(sort_keys(keys, spare, task.n, int64_t(sizeof(U)), line.alone));
    for (int64_t j = 0; j < task.count; ++j) found[j] = sorted[task.places[j]];
  } else {
    for (int64_t j = 0; j < task.count; ++j) {
      const bool pair = j + 1 < task.count && task.places[j + 1] == task.places[j] + 1;
      found[j] = select_key(*task.loops, keys, task.n, task.places[j], spare, pair ? found + j + 1 : nullptr);
      j += pair;
    }
  }
  task.loops->elements(line.out[0], found, task.count, task.form);
}

// -- the first k

struct First {
  const SortLoops* loops;
  KeyForm form;
  int type;
  int64_t n, k;
};

// A line is sorted whole when k is not a small part of it.
bool prefers_selection(int64_t n, int64_t k) { return n > few && k <= n / 8; }

template <class U>
void top_line(const void* context, const Line& line) {
  const auto& task = *static_cast<const First*>(context);
  if (task.k == 0) return;
  const int64_t width = int64_t(sizeof(U));
  auto* indices = reinterpret_cast<int64_t*>(line.out[1]);
  char* at = line.scratch;
  if (!prefers_selection(task.n, task.k)) {
    auto* order = reinterpret_cast<int64_t*>(at);
    argsort_line(order, line.in, task.n, task.type, task.form.descending, at + task.n * 8, line.alone);
    memcpy(indices, order, size_t(task.k) * sizeof(int64_t));
  } else {
    auto* pairs = reinterpret_cast<KeyIndex*>(at);
    U *keys = reinterpret_cast<U*>(pairs + 2 * task.k), *spare = keys + task.n + 1;
    task.loops->keys(keys, line.in, task.n, task.form);
    const U last = select_key<U>(*task.loops, keys, task.n, task.k - 1, spare, nullptr);
    int64_t found = 0, equals = task.k - task.loops->count_below(keys, task.n, last);
    for (int64_t i = 0; found < task.k && (i = task.loops->next_upto(keys, i, task.n, last)) < task.n; ++i)
      if (keys[i] != last || --equals >= 0) pairs[found++] = {keys[i], uint64_t(i)};
    const KeyIndex* sorted = radix_sort(pairs, pairs + task.k, task.k, 0, 64);
    for (int64_t i = 0; i < task.k; ++i) indices[i] = int64_t(sorted[i].index);
  }
  // `indices` may be memory of another owner: each is read once.
  const auto* order = indices;
  for (int64_t i = 0; i < task.k; ++i) {
    const int64_t from = *static_cast<const volatile int64_t*>(order + i);
    if (uint64_t(from) < uint64_t(task.n)) memcpy(line.out[0] + i * width, line.in + from * width, sizeof(U));
  }
}

}  // namespace

Status order_statistics(const DLTensor& out, const DLTensor& x, int axis, const int64_t* places) noexcept {
  const int type = find_type(x.dtype);
  const int64_t n = x.ndim == 0 ? 1 : x.shape[axis], width = type_table[type].bytes,
                count = out.ndim == 0 ? 1 : out.shape[axis];
  if (numel(x.ndim, x.shape) == 0) return success;
  if (n > longest_line) return no_temporary();
  const Statistics task{&sort_loops(width), key_form(type, false, false), n, count, places};
  const DLTensor* outputs[] = {&out};
  const auto line = with_key_type(width, []<class U>(U) { return select_line<U>; });
  return for_each_line(x, outputs, 1, axis, {line, &task, (2 * (n + 1) + count) * width, 4 * n});
}

Status top_k(const DLTensor& values, const DLTensor& indices, const DLTensor& x, int axis, bool largest) noexcept {
  const int type = find_type(x.dtype);
  const int64_t n = x.ndim == 0 ? 1 : x.shape[axis], width = type_table[type].bytes,
                k = values.ndim == 0 ? 1 : values.shape[axis];
  if (numel(x.ndim, x.shape) == 0) return success;
  if (n > longest_line) return no_temporary();
  const First task{&sort_loops(width), key_form(type, largest, true), type, n, k};
  const DLTensor* outputs[] = {&values, &indices};
  const auto line = with_key_type(width, []<class U>(U) { return top_line<U>; });
  const int64_t bytes = prefers_selection(n, k) ? 2 * k * 16 + 2 * (n + 1) * width : n * 8 + argsort_scratch(type, n);
  return for_each_line(x, outputs, 2, axis, {line, &task, bytes, 8 * n});
}

}  // namespace dlt
