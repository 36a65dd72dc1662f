// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/sort/search.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/reduce/kernels.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/sort/sort.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/layout/layout.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t block = 1024;          // elements whose keys are on the stack
constexpr int64_t chunk = 1 << 14;       // elements that one thread takes at once
constexpr int64_t few_bins = 1024;
constexpr int64_t few_searches = 64;     // fewer times the length of a search than elements: they are left unread

int64_t size_of(const DLTensor& t) { return numel(t.ndim, t.shape); }

// Calls work(first, n) for blocks of up to `size` of n elements, on all threads when there are several.
template <class Work>
void in_chunks(int64_t n, const Work& work, int64_t size = chunk) {
  if (n <= size) return work(int64_t(0), n);
  parallel(ceil_divide(n, size), [&](int64_t k) { work(k * size, smaller(size, n - k * size)); });
}

// A place in values that are left where they are: few are read.
int64_t find_place(const char* sorted, int64_t n, int64_t width, const SortLoops& loops, const KeyForm& form, uint64_t key,
                   bool after) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    uint64_t there = 0;
    loops.keys(&there, sorted + middle * width, 1, form);
    if (after ? there <= key : there < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Keys of contiguous values in memory of our own.
Status copy_keys(const DLTensor& t, int64_t n, int64_t width, const SortLoops& loops, const KeyForm& form, BlockRef* memory) {
  DLT_TRY(allocate(size_t(n * width), memory));
  auto* keys = static_cast<char*>(memory->block->data);
  const auto* from = static_cast<const char*>(t.data);
  in_chunks(n, [&](int64_t first, int64_t count) { loops.keys(keys + first * width, from + first * width, count, form); });
  return success;
}

// -- membership

constexpr int filter_bits = 16;
constexpr int64_t most_filtered = 1 << 13;  // values; more would set most bits

// The values looked for: a table over their range, or sorted keys.
template <class U>
struct Members {
  const U* sorted = nullptr;
  int64_t n = 0;
  const uint8_t* table = nullptr;
  U low = 0, span = 0;
  // A bit for each hash of a value: most elements that are none of few values are told by it.
  bool filtered = false;
  uint64_t filter[1 << (filter_bits - 6)] = {};
  const U* each = nullptr;  // n values of which each is compared with all elements
};

uint32_t hash_of(uint64_t key) { return uint32_t(key * 0x9e3779b97f4a7c15 >> (64 - filter_bits)); }

constexpr uint64_t widest_table = 1 << 24;  // bytes

template <class U>
bool prefers_table(U span, int64_t n, int64_t values) {
  return uint64_t(span) < widest_table && uint64_t(span) < 4 * uint64_t(n + values) + (1 << 12);
}

constexpr int64_t most_compared = 16;  // values

template <class U>
void compare_each(const Members<U>& members, const U* keys, int64_t n, uint8_t* out, uint8_t invert) {
  constexpr int types[] = {type_uint8, type_uint16, type_uint32, type_uint64};
  const loop_t equal = find_loop(op_equal, types[width_index(int64_t(sizeof(U)))]);
  uint8_t found[block];
  memset(out, invert, size_t(n));
  for (int64_t k = 0; k < members.n; ++k) {
    equal(found, keys, members.each + k, nullptr, n, 2);
    for (int64_t i = 0; i < n; ++i) out[i] = uint8_t(invert != 0 ? out[i] & (found[i] ^ 1) : out[i] | found[i]);
  }
}

template <class U>
void look_up(const Members<U>& members, const SortLoops& loops, const U* keys, int64_t n, uint8_t* out, uint8_t invert) {
  if (members.each != nullptr) return compare_each(members, keys, n, out, invert);
  if (members.table != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      const U at = U(keys[i] - members.low);
      out[i] = uint8_t(members.table[at <= members.span ? at : U(members.span) + uint64_t(1)] ^ invert);
    }
    return;
  }
  int64_t place[block], left[block], count = 0;
  U searched[block];
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bit = hash_of(keys[i]);
    left[count] = i;
    searched[count] = keys[i];
    out[i] = invert;
    count += !members.filtered || (members.filter[bit >> 6] >> (bit & 63) & 1);
  }
  loops.bounds(place, members.sorted, members.n, searched, count, false);
  for (int64_t i = 0; i < count; ++i)
    out[left[i]] = uint8_t((place[i] < members.n && members.sorted[place[i]] == searched[i]) ^ invert);
}

template <class U>
Status find_members(uint8_t* out, const DLTensor& x, const DLTensor& values, int type, uint8_t invert) {
  const int64_t n = size_of(x), width = int64_t(sizeof(U));
  int64_t count = size_of(values);
  const SortLoops& loops = sort_loops(width);
  const KeyForm form = key_form(type, false, true);
  BlockRef memory, space;
  DLT_TRY(copy_keys(values, count, width, loops, form, &memory));
  U* keys = static_cast<U*>(memory.block->data);
  if (form.infinity != 0) count = std::remove(keys, keys + count, U(~U(0))) - keys;  // NaN equals nothing
  Members<U> members;
  U low = U(~U(0)), high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  const U span = U(high - low);
  if (count <= most_compared) {
    members.each = keys;
    members.n = count;
  } else if (prefers_table(span, n, count)) {
    DLT_TRY(allocate(size_t(span) + 2, &space));  // the last entry answers for all outside of the range
    auto* table = static_cast<uint8_t*>(space.block->data);
    memset(table, 0, size_t(span) + 2);
    for (int64_t i = 0; i < count; ++i) table[U(keys[i] - low)] = 1;
    members.table = table;
    members.low = low;
    members.span = span;
  } else {
    DLT_TRY(allocate(size_t(count * width), &space));
    members.sorted = static_cast<const U*>(sort_keys(keys, space.block->data, count, width, true));
    members.n = count;
    members.filtered = count <= most_filtered;
    for (int64_t i = 0; i < count && members.filtered; ++i) {
      const uint32_t bit = hash_of(members.sorted[i]);
      members.filter[bit >> 6] |= uint64_t(1) << (bit & 63);
    }
  }
  const auto* from = static_cast<const char*>(x.data);
  in_chunks(n, [&](int64_t first, int64_t size) {
    U part_keys[block];
    for (int64_t i = first; i < first + size; i += block) {
      const int64_t part = smaller(block, first + size - i);
      loops.keys(part_keys, from + i * width, part, form);
      look_up(members, loops, part_keys, part, out + i, invert);
    }
  });
  return success;
}

}  // namespace

Status searchsorted(int64_t* out, const DLTensor& sorted, const DLTensor& x, bool after) noexcept {
  const int type = find_type(x.dtype);
  const int64_t width = type_table[type].bytes, n = size_of(sorted), count = size_of(x);
  const SortLoops& loops = sort_loops(width);
  const KeyForm form = key_form(type, false, true);
  const auto *values = static_cast<const char*>(sorted.data), *from = static_cast<const char*>(x.data);
  if (count < n / few_searches || count == 1) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t key = 0;
      loops.keys(&key, from + i * width, 1, form);
      out[i] = find_place(values, n, width, loops, form, key, after);
    }
    return success;
  }
  BlockRef memory;
  DLT_TRY(copy_keys(sorted, n, width, loops, form, &memory));
  in_chunks(count, [&](int64_t first, int64_t size) {
    alignas(64) char keys[block * 8];
    for (int64_t i = first; i < first + size; i += block) {
      const int64_t part = smaller(block, first + size - i);
      loops.keys(keys, from + i * width, part, form);
      loops.bounds(out + i, memory.block->data, n, keys, part, after);
    }
  });
  return success;
}

Status cpu::search(const EngineOperand& sorted, const EngineOperand& values, const EngineOperand& out, bool after,
                   const LaunchContext&) noexcept {
  return searchsorted(static_cast<int64_t*>(out.tensor->data), *sorted.tensor, *values.tensor, after);
}

Status cpu::tally(const EngineOperand& bins, const EngineOperand* weights, const EngineOperand& sums,
                  const LaunchContext&) noexcept {
  void* const out = sums.tensor->data;
  const int64_t size = size_of(*sums.tensor), n = size_of(*bins.tensor);
  const auto* const x = static_cast<const int64_t*>(bins.tensor->data);
  memset(out, 0, static_cast<size_t>(size) * 8);
  if (weights != nullptr)
    bincount(nullptr, static_cast<double*>(out), size, x, static_cast<const double*>(weights->tensor->data), n);
  else bincount(static_cast<int64_t*>(out), nullptr, size, x, nullptr, n);
  return success;
}

Status isin(uint8_t* out, const DLTensor& x, const DLTensor& values, bool invert) noexcept {
  const int type = find_type(x.dtype);
  return with_key_type(type_table[type].bytes, [&]<class U>(U) { return find_members<U>(out, x, values, type, invert); });
}

// The extremes of chunks, by the loops of max and min. A chunk that others write to meanwhile may give other ones twice.
void find_range(const int64_t* x, int64_t n, int64_t* negative, int64_t* high) noexcept {
  const Reducer &largest = kernels().reduce->reducers[reduce_largest][type_int64],
                &smallest = kernels().reduce->reducers[reduce_smallest][type_int64];
  std::atomic<int64_t> low{0}, top{INT64_MIN};
  in_chunks(n, [&](int64_t first, int64_t count) {
    int64_t least = 0, most = INT64_MIN;
    smallest.run(&least, x + first, count, first, nullptr);
    largest.run(&most, x + first, count, first, nullptr);
    for (int64_t now = low.load(); least < now && !low.compare_exchange_weak(now, least);) {
    }
    for (int64_t now = top.load(); most > now && !top.compare_exchange_weak(now, most);) {
    }
  });
  *negative = low.load();
  *high = top.load();
}

namespace {

// Counts that all threads add to.
void add_counts(int64_t* counts, const uint32_t* more, int64_t size) {
  for (int64_t bin = 0; bin < size; ++bin)
    if (more[bin] != 0) std::atomic_ref<int64_t>(counts[bin]).fetch_add(int64_t(more[bin]), std::memory_order_relaxed);
}

constexpr int tables = 4;                     // a counter cannot be increased again at once
constexpr int64_t counted_chunk = 1 << 16;  // elements
struct Tables {
  uint32_t counts[tables][few_bins + 1];  // the last counter takes what is outside of the range
  void add_to(int64_t* all, int64_t size) {
    for (int64_t bin = 0; bin < size; ++bin)
      for (int k = 1; k < tables; ++k) counts[0][bin] += counts[k][bin];
    add_counts(all, counts[0], size);
  }
};

// Few bins and many elements.
void count_few(int64_t* counts, int64_t size, const int64_t* x, int64_t n) {
  in_chunks(
      n,
      [&](int64_t first, int64_t count) {
        Tables local{};
        const auto at = [&](int64_t i) {
          const uint64_t bin = uint64_t(*static_cast<const volatile int64_t*>(x + first + i));
          return bin < uint64_t(size) ? int64_t(bin) : few_bins;
        };
        int64_t i = 0;
        for (; i + tables <= count; i += tables)
          for (int k = 0; k < tables; ++k) ++local.counts[k][at(i + k)];
        for (; i < count; ++i) ++local.counts[0][at(i)];
        local.add_to(counts, size);
      },
      counted_chunk);
}

}  // namespace

// The values may change after their range was found: what is outside of it is left out.
void bincount(int64_t* counts, double* sums, int64_t size, const int64_t* x, const double* weights, int64_t n) noexcept {
  if (sums == nullptr && size <= few_bins && n > 16 * few_bins) return count_few(counts, size, x, n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bin = *static_cast<const volatile int64_t*>(x + i);
    if (uint64_t(bin) >= uint64_t(size)) continue;
    if (sums != nullptr) sums[bin] += weights[i];
    else ++counts[bin];
  }
}

namespace {

template <class F>
using loose_float __attribute__((may_alias, aligned(1))) = F;

// Edges of float that are nearly equal distances apart: a division tells the bin, or one next to it.
template <class F>
struct EqualBins {
  F edges[few_bins + 1];  // our copy, so that no value leads to a bin that is not there
  int64_t bins;
  double first, scale;
  // False where they are not, or where there are too many.
  bool find(const void* all, int64_t count) {
    if (count > few_bins + 1) return false;
    bins = count - 1;
    memcpy(edges, all, size_t(count) * sizeof(F));
    first = double(edges[0]);
    const double width = (double(edges[bins]) - first) / double(bins);
    scale = 1 / width;
    if (!(width > 0) || !(scale > 0) || !(scale < __builtin_inf())) return false;
    for (int64_t k = 0; k <= bins; ++k)
      if (!(__builtin_fabs(double(edges[k]) - (first + double(k) * width)) <= width / 2)) return false;
    return true;
  }
  // The bin of a value, or `outside`.
  int64_t bin_of(F x, int64_t outside) const {
    if (!(x >= edges[0] && x <= edges[bins])) return outside;
    const double place = (double(x) - first) * scale;
    int64_t bin = place < double(bins) ? int64_t(place) : bins - 1;
    while (bin > 0 && x < edges[bin]) --bin;
    while (bin < bins - 1 && x >= edges[bin + 1]) ++bin;
    return bin;
  }
};

template <class F>
bool count_equal_bins(int64_t* counts, const void* edges, int64_t count, const void* all, int64_t n) {
  EqualBins<F> equal;
  const int64_t bins = count - 1;
  if (!equal.find(edges, count)) return false;
  in_chunks(
      n,
      [&](int64_t first, int64_t size) {
        Tables local{};
        const volatile loose_float<F>* const x = static_cast<const volatile loose_float<F>*>(all) + first;
        int64_t i = 0;
        for (; i + tables <= size; i += tables)
          for (int k = 0; k < tables; ++k) ++local.counts[k][equal.bin_of(x[i + k], few_bins)];
        for (; i < size; ++i) ++local.counts[0][equal.bin_of(x[i], few_bins)];
        local.add_to(counts, bins);
      },
      counted_chunk);
  return true;
}

}  // namespace

Status histogram(int64_t* counts, double* sums, const DLTensor& edges, const DLTensor& x, const double* weights) noexcept {
  const int type = find_type(x.dtype);
  const int64_t width = type_table[type].bytes, n = size_of(x), count = size_of(edges), bins = count - 1;
  if (counts != nullptr && sums == nullptr) {
    if (type == type_float32 && count_equal_bins<float>(counts, edges.data, count, x.data, n)) return success;
    if (type == type_float64 && count_equal_bins<double>(counts, edges.data, count, x.data, n)) return success;
  }
  const SortLoops& loops = sort_loops(width);
  const KeyForm form = key_form(type, false, true);
  BlockRef memory;
  DLT_TRY(copy_keys(edges, count, width, loops, form, &memory));
  const auto* sorted = static_cast<const char*>(memory.block->data);
  const auto* from = static_cast<const char*>(x.data);
  const uint64_t nan = width == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * width)) - 1;
  uint64_t last = 0;
  memcpy(&last, sorted + bins * width, size_t(width));
  alignas(64) char keys[block * 8];
  int64_t place[block];
  for (int64_t i = 0; i < n; i += block) {
    const int64_t part = smaller(block, n - i);
    loops.keys(keys, from + i * width, part, form);
    loops.bounds(place, sorted, count, keys, part, true);
    for (int64_t j = 0; j < part; ++j) {
      int64_t bin = place[j] - 1;
      if (bin == bins) {
        uint64_t key = 0;
        memcpy(&key, keys + j * width, size_t(width));
        if (key != last || (form.infinity != 0 && key == nan)) continue;  // above the last edge
        --bin;
      }
      if (bin < 0) continue;
      if (sums != nullptr) sums[bin] += weights[i + j];
      else ++counts[bin];
    }
  }
  return success;
}

}  // namespace dlt
