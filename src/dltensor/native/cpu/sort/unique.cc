// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/sort/unique.h"

#include <string.h>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/sort/sort.h"
#include "native/layout/layout.h"

namespace dlt {
namespace {

constexpr int64_t block = 1024;  // elements whose keys are on the stack

template <class U>
int64_t mark_starts(Unique* found, const SortLoops& loops, const KeyForm& form) {
  U keys[block + 1];
  int64_t count = 0;
  keys[0] = 0;
  for (int64_t first = 0; first < found->n; first += block) {
    const int64_t n = smaller(block, found->n - first);
    loops.keys(keys + 1, found->values + first * int64_t(sizeof(U)), n, form);
    if (first == 0) keys[0] = U(~keys[1]);
    count += loops.starts(found->starts + first, keys + 1, n, form.infinity != 0);
    keys[0] = keys[n];
  }
  return count;
}

// The place of the next start of a run of equal values, or n.
int64_t next_start(const Unique& found, int64_t i) {
  for (; i + 8 <= found.n; i += 8) {
    uint64_t starts;
    memcpy(&starts, found.starts + i, 8);
    if (starts != 0) break;
  }
  while (i < found.n && !found.starts[i]) ++i;
  return i;
}

// The first of equal values, so that of two zeros the one that occurs first is taken.
template <class U>
void write_firsts(const Unique& found, void* values) {
  const auto* from = reinterpret_cast<const U*>(found.values);
  auto* to = static_cast<U*>(values);
  if (found.count < found.n / 16) {
    for (int64_t i = next_start(found, 0); i < found.n; i = next_start(found, i + 1)) *to++ = from[i];
    return;
  }
  // Without a branch; what is written past the last start is overwritten by the next, so the loop stops at the last.
  for (int64_t i = 0, at = 0; at < found.count; ++i) {
    to[at] = from[i];
    at += found.starts[i];
  }
}

}  // namespace

Status find_unique(const DLTensor& x, bool ordered, Unique* found) noexcept {
  const int type = find_type(x.dtype);
  const int64_t n = numel(x.ndim, x.shape), width = type_table[type].bytes;
  const auto round = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const int64_t value_bytes = round(n * width), order_bytes = ordered ? round(n * 8) : 0, start_bytes = round(n);
  const int64_t scratch = ordered ? argsort_scratch(type, n) : sort_scratch(type, n);
  *found = {};
  found->n = n;
  found->width = width;
  found->ordered = ordered;
  found->memory = allocate(size_t(value_bytes + order_bytes + start_bytes + scratch));
  if (found->memory == nullptr) return no_temporary();
  found->values = static_cast<char*>(found->memory->data);
  found->order = ordered ? reinterpret_cast<int64_t*>(found->values + value_bytes) : nullptr;
  found->starts = reinterpret_cast<uint8_t*>(found->values + value_bytes + order_bytes);
  char* space = reinterpret_cast<char*>(found->starts) + start_bytes;
  const auto* from = static_cast<const char*>(x.data);
  if (n == 0) return success;
  if (ordered) {
    argsort_line(found->order, from, n, type, false, space, true);
    for (int64_t i = 0; i < n; ++i) {
      if (width == 4) memcpy(found->values + i * 4, from + found->order[i] * 4, 4);
      else if (width == 8) memcpy(found->values + i * 8, from + found->order[i] * 8, 8);
      else memcpy(found->values + i * width, from + found->order[i] * width, size_t(width));
    }
  } else {
    sort_line(found->values, from, n, type, false, space, true);
  }
  const SortLoops& loops = sort_loops(width);
  const KeyForm form = key_form(type, false, true);
  found->count = with_key_type(width, [&]<class U>(U) { return mark_starts<U>(found, loops, form); });
  return success;
}

void write_unique(const Unique& found, void* values, int64_t* indices, int64_t* inverse, int64_t* counts) noexcept {
  if (values != nullptr) with_key_type(found.width, [&]<class U>(U) { write_firsts<U>(found, values); });
  if (indices == nullptr && inverse == nullptr && counts == nullptr) return;
  for (int64_t start = 0, at = 0, end; start < found.n; start = end, ++at) {
    end = next_start(found, start + 1);
    if (counts != nullptr) counts[at] = end - start;
    if (indices != nullptr) indices[at] = found.order[start];
    if (inverse != nullptr)
      for (int64_t i = start; i < end; ++i) inverse[found.order[i]] = at;
  }
}

}  // namespace dlt
