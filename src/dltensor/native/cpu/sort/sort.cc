// SPDX-License-Identifier: Apache-2.0
// Sorting of lines: by vectorized partitions for 32 and 64 bits, counting for 8 and 16 bits, ranks for few elements and radix sort for
// the rest, shared out to threads as runs that are sorted apart and merged.
#include "native/cpu/sort/sort.h"

#include <string.h>

#include <type_traits>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/sort/along_axis.h"
#include "native/cpu/sort/radix.h"
#include "native/cpu/sort/short_lines.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

template <class U>
using loose_bits __attribute__((may_alias, aligned(1))) = U;

constexpr int64_t least_run = 1 << 19;  // bytes; shorter runs are not worth a thread
constexpr int64_t longest_run = int64_t(1) << 31;  // the counters of a run have 32 bits
constexpr int64_t counted_16 = 1 << 15;  // from here on 2^16 counters take less time than two passes

constexpr int64_t most_in_columns = 64;

// -- runs and threads

// A line that is sorted as runs. `fill` writes the elements of one run into `a`, with `b` as scratch of the same place.
template <class E>
struct Runs {
  E *a, *b;
  int64_t n, runs;
  int low, bits;
  void (*fill)(const void* context, E* a, E* b, int64_t first, int64_t n);
  const void* context;
  int64_t width;  // of a merged run, in runs
  int64_t pieces;
  int64_t begin(int64_t run) const { return run >= runs ? n : n / runs * run + smaller(run, n % runs); }
};

template <class E>
void sort_run(void* context, int64_t run) {
  const auto& all = *static_cast<const Runs<E>*>(context);
  const int64_t first = all.begin(run), n = all.begin(run + 1) - first;
  E *a = all.a + first, *b = all.b + first;
  all.fill(all.context, a, b, first, n);
  if (E* sorted = radix_sort(a, b, n, all.low, all.bits); sorted != a)
    memcpy(static_cast<void*>(a), sorted, size_t(n) * sizeof(E));
}

// Merges what lies in one piece of the output; a piece may touch several pairs of runs.
template <class E>
void merge_piece(void* context, int64_t piece) {
  const auto& all = *static_cast<const Runs<E>*>(context);
  const int64_t from = all.n / all.pieces * piece + smaller(piece, all.n % all.pieces);
  const int64_t to = from + all.n / all.pieces + (piece < all.n % all.pieces);
  for (int64_t run = 0; run < all.runs; run += 2 * all.width) {
    const int64_t first = all.begin(run), middle = all.begin(run + all.width), last = all.begin(run + 2 * all.width);
    const int64_t low = std::max(from, first), high = smaller(to, last);
    if (low >= high) continue;
    const E *x = all.a + first, *y = all.a + middle;
    const int64_t nx = middle - first, ny = last - middle;
    const int64_t x0 = merge_split(x, nx, y, ny, low - first), x1 = merge_split(x, nx, y, ny, high - first);
    const int64_t y0 = low - first - x0, y1 = high - first - x1;
    merge_runs(x + x0, x1 - x0, y + y0, y1 - y0, all.b + low);
  }
}

// Returns where the result is, `a` or `b`.
template <class E>
E* sort_runs(Runs<E> all, bool alone) {
  all.runs = 1;
  const int64_t threads = alone ? num_threads() : 1;
  while ((all.runs * 2 <= threads && all.n / (all.runs * 2) * int64_t(sizeof(E)) >= least_run) ||
         all.n / all.runs >= longest_run)
    all.runs *= 2;
  if (all.runs == 1) {
    all.fill(all.context, all.a, all.b, 0, all.n);
    return radix_sort(all.a, all.b, all.n, all.low, all.bits);
  }
  parallel(all.runs, sort_run<E>, &all);
  all.pieces = threads > 1 ? 2 * threads : 1;
  for (all.width = 1; all.width < all.runs; all.width *= 2) {
    parallel(all.pieces, merge_piece<E>, &all);
    std::swap(all.a, all.b);
  }
  return all.a;
}

// -- values

struct Source {
  const char* in;
  const SortLoops* loops;
  KeyForm form;
};

template <class U>
void fill_keys(const void* context, U* a, U*, int64_t first, int64_t n) {
  const auto& source = *static_cast<const Source*>(context);
  source.loops->keys(a, source.in + first * int64_t(sizeof(U)), n, source.form);
}

template <class U>
void fill_nothing(const void*, U*, U*, int64_t, int64_t) {}

// Calls write(first, count) for pieces of n elements, on all threads if `alone`.
template <class Write>
void in_pieces(int64_t n, bool alone, const Write& write) {
  constexpr int64_t size = 1 << 16;  // elements
  if (!alone || n <= size) return write(int64_t(0), n);
  parallel(ceil_divide(n, size), [&](int64_t k) { write(k * size, smaller(size, n - k * size)); });
}

// The sign of zeros and the bits of NaNs, which equal keys hide, are put back in the order of the input. Of another
// thread's writes to the input meanwhile, no more is taken than there is room for.
template <class U>
void restore_bits(char* out, const char* in, int64_t n, const KeyForm& form, int64_t zeros, int64_t zeros_end, int64_t nans) {
  const loose_bits<U>* from = reinterpret_cast<const loose_bits<U>*>(in);
  loose_bits<U>* to = reinterpret_cast<loose_bits<U>*>(out);
  const U magnitude = U(form.sign - 1);
  for (int64_t i = 0; i < n && (zeros < zeros_end || nans < n); ++i) {
    const U u = from[i];
    if (U(u & magnitude) == 0) {
      if (zeros < zeros_end) to[zeros++] = u;
    } else if (U(u & magnitude) > U(form.infinity)) {
      if (nans < n) to[nans++] = u;
    }
  }
}

// The number of sorted elements whose key is below one.
template <class U>
int64_t count_below(const loose_bits<U>* sorted, int64_t n, U key, const KeyForm& form) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (key_of<U, std::make_signed_t<U>>(sorted[middle], form) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class U>
void restore(char* out, const char* in, int64_t n, const KeyForm& form) {
  const auto* sorted = reinterpret_cast<const loose_bits<U>*>(out);
  const U zero = U(form.sign - 1);  // in both orders the key of one zero, and one more that of the other
  const int64_t zeros = count_below<U>(sorted, n, zero, form), between = count_below<U>(sorted, n, U(zero + 1), form);
  int64_t zeros_end = count_below<U>(sorted, n, U(zero + 2), form);
  if (between == zeros || between == zeros_end) zeros_end = zeros;  // all zeros have one sign
  const int64_t nans = count_below<U>(sorted, n, U(~U(0)), form);
  if (zeros < zeros_end || nans < n) restore_bits<U>(out, in, n, form, zeros, zeros_end, nans);
}

template <class U>
void write_sorted(char* out, const char* in, const U* keys, int64_t n, const Source& source, bool alone) {
  in_pieces(n, alone, [&](int64_t first, int64_t count) {
    source.loops->elements(out + first * int64_t(sizeof(U)), keys + first, count, source.form);
  });
  if (source.form.infinity != 0) restore<U>(out, in, n, source.form);
}

constexpr int64_t most_parts = 64;

// By partitions, which threads share if `alone`: the parts of each step, and then sorting them.
template <class U>
void sort_quickly(char* out, const char* in, int64_t n, const Source& source, bool alone) {
  constexpr int64_t width = sizeof(U);
  const SortLoops& loops = *source.loops;
  const int64_t threads = alone && n / 2 * width >= least_run ? num_threads() : 1;
  if (threads == 1) {
    if (loops.quick(out, in, n, source.form)) restore<U>(out, in, n, source.form);
    return;
  }
  const int64_t low = loops.begin(out, in, n, source.form);
  if (low >= 0) {
    int64_t starts[most_parts + 1] = {0, low, n}, lows[most_parts], parts = 2;
    for (; parts < smaller(2 * threads, most_parts); parts *= 2) {
      parallel(parts, [&](int64_t p) { lows[p] = loops.split(out + starts[p] * width, starts[p + 1] - starts[p]); });
      for (int64_t p = parts - 1; p >= 0; --p) {
        starts[2 * p + 2] = starts[p + 1];
        starts[2 * p + 1] = starts[p] + lows[p];
      }
    }
    parallel(parts, [&](int64_t p) { loops.finish(out + starts[p] * width, starts[p + 1] - starts[p], source.form); });
  }
  if (source.form.infinity != 0) restore<U>(out, in, n, source.form);
}

template <class U>
void sort_values(char* out, const char* in, int64_t n, const Source& source, char* scratch, bool alone) {
  if (source.loops->quick != nullptr) return sort_quickly<U>(out, in, n, source, alone);
  U *a = reinterpret_cast<U*>(scratch), *b = a + n;
  const U* keys = sort_runs<U>({a, b, n, 1, 0, int(sizeof(U) * 8), fill_keys<U>, &source, 1, 1}, alone);
  write_sorted(out, in, keys, n, source, alone);
}

// -- counting

void sort_bytes(char* out, const char* in, int64_t n, const Source& source) {
  int64_t counts[4][256] = {};  // four, since a counter cannot be increased again at once
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) ++counts[k][bytes[i + k]];
  for (; i < n; ++i) ++counts[0][bytes[i]];
  uint8_t keys[256], values[256];
  for (int v = 0; v < 256; ++v) keys[v] = uint8_t(v);
  source.loops->elements(values, keys, 256, source.form);
  for (int v = 0; v < 256; ++v) {
    const uint8_t value = values[v];
    const int64_t count = counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
    memset(out, value, size_t(count));
    out += count;
  }
}

// The keys are counted and written out again in order.
void count_16(uint16_t* keys, int64_t n, char* scratch) {
  auto* counts = reinterpret_cast<int64_t*>(scratch);
  memset(counts, 0, sizeof(int64_t) << 16);
  for (int64_t i = 0; i < n; ++i) ++counts[keys[i]];
  for (int64_t key = 0; key < 1 << 16; ++key) {
    std::fill_n(keys, counts[key], uint16_t(key));
    keys += counts[key];
  }
}

// -- few elements

// Ranks of at most most_ranked elements; the keys are our own copy, so that the ranks are a permutation.
struct Ranked {
  alignas(64) char keys[most_ranked * 8 + rank_room], ranks[most_ranked * 8 + rank_room];
  Ranked(const char* in, int64_t n, int64_t width, const Source& source) {
    source.loops->keys(keys, in, n, source.form);
    memset(keys + n * width, 0, rank_room);
    source.loops->ranks(ranks, keys, n);
  }
};

template <class U>
void scatter_values(char* out, const char* in, int64_t n, const Ranked& ranked) {
  const auto* rank = reinterpret_cast<const U*>(ranked.ranks);
  for (int64_t i = 0; i < n; ++i) memcpy(out + int64_t(rank[i]) * int64_t(sizeof(U)), in + i * int64_t(sizeof(U)), sizeof(U));
}

template <class U>
void scatter_indices(int64_t* out, int64_t n, const Ranked& ranked) {
  const auto* rank = reinterpret_cast<const U*>(ranked.ranks);
  for (int64_t i = 0; i < n; ++i) out[rank[i]] = i;
}

// -- indices

// Keys of U, then elements of key and index: in one word where both fit.
template <class U, class E>
void fill_pairs(const void* context, E* a, E* b, int64_t first, int64_t n) {
  const auto& source = *static_cast<const Source*>(context);
  U* keys = reinterpret_cast<U*>(b);
  source.loops->keys(keys, source.in + first * int64_t(sizeof(U)), n, source.form);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(E) == 16) a[i] = {keys[i], uint64_t(first + i)};
    else a[i] = uint64_t(keys[i]) << 32 | uint64_t(first + i);
  }
}

template <class U, class E>
void sort_pairs(int64_t* out, int64_t n, const Source& source, char* scratch, bool alone) {
  E *a = reinterpret_cast<E*>(scratch), *b = a + n;
  constexpr int low = sizeof(E) == 16 ? 0 : 32, bits = sizeof(E) == 16 ? 64 : int(sizeof(U) * 8);
  const E* sorted = sort_runs<E>({a, b, n, 1, low, bits, fill_pairs<U, E>, &source, 1, 1}, alone);
  in_pieces(n, alone, [=](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      if constexpr (sizeof(E) == 16) out[i] = int64_t(sorted[i].index);
      else out[i] = int64_t(uint32_t(sorted[i]));
    }
  });
}

void index_bytes(int64_t* out, int64_t n, const Source& source, char* scratch) {
  auto* keys = reinterpret_cast<uint8_t*>(scratch);
  source.loops->keys(keys, source.in, n, source.form);
  int64_t next[256] = {}, sum = 0;
  for (int64_t i = 0; i < n; ++i) ++next[keys[i]];
  for (int64_t& count : next) sum += std::exchange(count, sum);
  for (int64_t i = 0; i < n; ++i) out[next[keys[i]]++] = i;
}

constexpr int64_t narrow_index = int64_t(1) << 32;

// -- lines along an axis

// One contiguous line of few elements needs neither staging nor memory.
bool is_short_vector(const DLTensor& out, const DLTensor& x, int64_t n) {
  return x.ndim == 1 && n <= most_ranked && x.strides[0] == 1 && out.strides[0] == 1;
}

void sort_one(const void* context, const Line& line) {
  const auto& work = *static_cast<const SortWork*>(context);
  sort_line(line.out[0], line.in, work.n, work.type, work.descending, line.scratch, line.alone);
}

void argsort_one(const void* context, const Line& line) {
  const auto& work = *static_cast<const SortWork*>(context);
  argsort_line(reinterpret_cast<int64_t*>(line.out[0]), line.in, work.n, work.type, work.descending, line.scratch, line.alone);
}

}  // namespace

void* sort_keys(void* keys, void* spare, int64_t n, int64_t width, bool alone) noexcept {
  return with_key_type(width, [&]<class U>(U) -> void* {
    if (const SortLoops& loops = sort_loops(width); loops.quick != nullptr) {
      sort_quickly<U>(static_cast<char*>(spare), static_cast<char*>(keys), n, {static_cast<char*>(keys), &loops, {}}, alone);
      return spare;
    }
    return sort_runs<U>(
        {static_cast<U*>(keys), static_cast<U*>(spare), n, 1, 0, int(sizeof(U) * 8), fill_nothing<U>, nullptr, 1, 1}, alone);
  });
}

int64_t sort_scratch(int type, int64_t n) noexcept {
  const int64_t width = type_table[type].bytes;
  if (n <= most_ranked || width == 1 || sort_loops(width).quick != nullptr) return 0;
  return 2 * n * width + (width == 2 && n >= counted_16 ? int64_t(sizeof(int64_t)) << 16 : 0);
}

int64_t argsort_scratch(int type, int64_t n) noexcept {
  const int64_t width = type_table[type].bytes;
  if (n <= most_ranked) return 0;
  return width == 1 ? n : 2 * n * (width == 8 || n >= narrow_index ? 16 : 8);
}

void sort_line(char* out, const char* in, int64_t n, int type, bool descending, char* scratch, bool alone) noexcept {
  const int64_t width = type_table[type].bytes;
  Source source{in, &sort_loops(width), key_form(type, descending, false)};
  if (n <= most_ranked && source.loops->quick == nullptr) {
    source.form.one_zero = true;
    const Ranked ranked(in, n, width, source);
    return with_key_type(width, [&]<class U>(U) { scatter_values<U>(out, in, n, ranked); });
  }
  if (width == 1) return sort_bytes(out, in, n, source);
  if (width == 4) return sort_values<uint32_t>(out, in, n, source, scratch, alone);
  if (width == 8) return sort_values<uint64_t>(out, in, n, source, scratch, alone);
  if (n < counted_16) return sort_values<uint16_t>(out, in, n, source, scratch, alone);
  auto* keys = reinterpret_cast<uint16_t*>(scratch + (sizeof(int64_t) << 16));
  source.loops->keys(keys, in, n, source.form);
  count_16(keys, n, scratch);
  write_sorted(out, in, keys, n, source, alone);
}

void argsort_line(int64_t* out, const char* in, int64_t n, int type, bool descending, char* scratch, bool alone) noexcept {
  const int64_t width = type_table[type].bytes;
  const Source source{in, &sort_loops(width), key_form(type, descending, true)};
  if (n <= most_ranked) {
    const Ranked ranked(in, n, width, source);
    return with_key_type(width, [&]<class U>(U) { scatter_indices<U>(out, n, ranked); });
  }
  if (width == 1) return index_bytes(out, n, source, scratch);
  if (width == 8) return sort_pairs<uint64_t, KeyIndex>(out, n, source, scratch, alone);
  if (n >= narrow_index) {
    if (width == 2) return sort_pairs<uint16_t, KeyIndex>(out, n, source, scratch, alone);
    return sort_pairs<uint32_t, KeyIndex>(out, n, source, scratch, alone);
  }
  if (width == 2) return sort_pairs<uint16_t, uint64_t>(out, n, source, scratch, alone);
  return sort_pairs<uint32_t, uint64_t>(out, n, source, scratch, alone);
}

namespace {

[[gnu::noinline]] Status sort_lines(const DLTensor& out, const DLTensor& x, int64_t n, int axis, const SortWork& work,
                                    bool indices) noexcept {
  if (numel(x.ndim, x.shape) == 0) return success;
  if (n > longest_line) return no_temporary();
  const DLTensor* outputs[] = {&out};
  const int64_t width = type_table[work.type].bytes;
  // Where a line is contiguous and its keys are sorted in registers, that takes less than tiles of lines.
  const bool in_registers = !indices && n > most_in_columns && sort_loops(width).quick != nullptr && x.strides[axis] == 1 &&
                            out.strides[axis] == 1;
  if (!in_registers && suits_columns(numel(x.ndim, x.shape) / n, n, indices ? 8 : width))
    return for_each_line(x, outputs, 1, axis, {nullptr, &work, 0, 4 * n, indices ? argsort_columns : sort_columns, true});
  if (indices) return for_each_line(x, outputs, 1, axis, {argsort_one, &work, argsort_scratch(work.type, n), 8 * n});
  return for_each_line(x, outputs, 1, axis, {sort_one, &work, sort_scratch(work.type, n), 4 * n});
}

}  // namespace

Status cpu::sort(const EngineOperand& in, const EngineOperand* values, const EngineOperand* indices, int axis, bool descending,
                 const LaunchContext&) noexcept {
  const DLTensor& x = *in.tensor;
  if (values != nullptr && indices != nullptr) return top_k(*values->tensor, *indices->tensor, x, axis, descending);
  const DLTensor& out = *(values != nullptr ? values : indices)->tensor;
  const int64_t n = x.ndim == 0 ? 1 : x.shape[axis];
  const int type = find_type(x.dtype);
  if (is_short_vector(out, x, n)) {
    const auto* const from = static_cast<const char*>(x.data);
    if (indices != nullptr) argsort_line(static_cast<int64_t*>(out.data), from, n, type, descending, nullptr, true);
    else sort_line(static_cast<char*>(out.data), from, n, type, descending, nullptr, true);
    return success;
  }
  return sort_lines(out, x, n, axis, {type, n, descending}, indices != nullptr);
}

}  // namespace dlt
