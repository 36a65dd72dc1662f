// SPDX-License-Identifier: Apache-2.0
// Sorting of many lines of few elements: each line is a column of a tile in the first cache, and a network sorts all of them.
#pragma once
#include <stdint.h>

#include "native/cpu/sort/along_axis.h"

namespace dlt {

struct SortWork {
  int type;
  int64_t n;
  bool descending;
};

// Returns whether so many lines of n elements are sorted sooner by columns than each by itself.
bool suits_columns(int64_t lines, int64_t n, int64_t width);

// A group of lines of at most most_ranked elements, of any step; the context is a SortWork. No scratch.
void sort_columns(const void* context, const LineGroup& lines);
void argsort_columns(const void* context, const LineGroup& lines);

}  // namespace dlt
