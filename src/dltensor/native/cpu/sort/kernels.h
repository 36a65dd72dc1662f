// SPDX-License-Identifier: Apache-2.0
// Loops of sorting and searching over elements or keys of one width.
#pragma once
#include "native/cpu/runtime/kernels.h"
#include "native/ops/keys.h"

namespace dlt {

// Loops of sorting and searching over elements or keys of one width.
struct SortLoops {
  void (*keys)(void* keys, const void* in, int64_t n, const KeyForm& form);
  void (*elements)(void* out, const void* keys, int64_t n, const KeyForm& form);  // the inverse; in place allowed
  // The place of each of n <= most_ranked keys in their stable order. Both arrays have room for rank_room more bytes.
  void (*ranks)(void* ranks, const void* keys, int64_t n);
  // Copies the keys from low to high to `out`, which may be `keys`; `below` gets the number of lower ones.
  int64_t (*between)(const void* keys, int64_t n, uint64_t low, uint64_t high, void* out, int64_t* below);
  // The number of keys that are less than `bound`.
  int64_t (*count_below)(const void* keys, int64_t n, uint64_t bound);
  // The place from `first` on of the first key that is not greater than `most`, or n.
  int64_t (*next_upto)(const void* keys, int64_t first, int64_t n, uint64_t most);
  // starts[i] = whether keys[i] differs from keys[i - 1], of which there is one more, or with `nans` is the greatest key; returns how many.
  int64_t (*starts)(uint8_t* starts, const void* keys, int64_t n, bool nans);
  // The number of the `size` sorted keys that are less than each key, or with `after` not greater.
  void (*bounds)(int64_t* out, const void* sorted, int64_t size, const void* keys, int64_t n, bool after);
  // Sorts the columns of n <= most_ranked rows of keys that follow one another; a row has short_row or long_row bytes. There is room
  // for as many rows as the next power of two.
  void (*columns)(void* keys, int64_t n, int64_t row_bytes);
  // Returns whether the keys, which are not those of form.one_zero, tell each zero and each NaN apart, so that `elements` makes these of
  // them again: not where zeros have both signs.
  bool (*tells_apart)(const void* keys, int64_t n, const KeyForm& form);
  // Sorts n elements to `out`, apart from `in`. Returns whether among them may be NaNs or zeros of both signs, which are then to be put in
  // the order of `in`. Null where there is none.
  bool (*quick)(void* out, const void* in, int64_t n, const KeyForm& form);
  // Its steps, of which threads share the last two. `begin` sorts more than most_quick elements where that takes one pass, and returns -1:
  // else it makes keys of them in `out`, brings some that are less than all others to the front, and returns how many, as `split` does to
  // keys. `finish` sorts keys and makes elements of them.
  int64_t (*begin)(void* out, const void* in, int64_t n, const KeyForm& form);
  int64_t (*split)(void* keys, int64_t n);
  void (*finish)(void* keys, int64_t n, const KeyForm& form);
};
inline constexpr int64_t most_ranked = 128, rank_room = 64, most_quick = 256;
inline constexpr int64_t short_row = 64, long_row = 256;  // bytes

struct SortKernels {
  SortLoops sorts[4];  // of keys of 1, 2, 4, 8 bytes
  // As `columns` of 8 bytes, and the indices with them: those of equal keys stay in order. What is left in `keys` does not count.
  void (*column_pairs)(uint64_t* keys, int64_t* indices, int64_t n, int64_t row_bytes);
};

}  // namespace dlt
