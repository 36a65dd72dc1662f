// SPDX-License-Identifier: Apache-2.0
// Work on the lines of a tensor along one axis: each is given to a function as contiguous memory, staged where it is not.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/layout/layout.h"
#include "native/status.h"

namespace dlt {

// One line: contiguous input, contiguous outputs (`out[1]` is null where there is one output), and scratch of the size
// asked for. `alone`: no other line is worked on, so that threads may be used within it.
struct Line {
  const char* in;
  char* out[2];
  char* scratch;
  bool alone;
};

// Elements. The scratch of all threads for longer lines has no size in 64 bits; no memory holds them, but a broadcast tensor
// may have them.
inline constexpr int64_t longest_line = int64_t(1) << 48;

// Several lines of one group: `rows` of them, so many bytes apart; the steps are those of elements, where lines are not staged.
struct LineGroup {
  const char* in;
  char* out;
  int64_t rows, in_pitch, out_pitch;
  char* scratch;  // of all rows
  bool alone;
  int64_t in_step = 0, out_step = 0;
};

struct LineWork {
  void (*work)(const void* context, const Line& line);
  const void* context;
  int64_t scratch_bytes;  // of one line
  int64_t line_cost;  // of one line, in element moves: decides on threads
  void (*group)(const void* context, const LineGroup& lines) = nullptr;  // in place of `work`; one output
  bool strided = false;  // a group takes lines of any step: none is staged, and more are in one
};

// Copies rows x columns elements of `width` bytes between strided locations that do not overlap; strides in bytes.
void move_elements(int64_t width, void* to, int64_t to_row, int64_t to_column, const void* from, int64_t from_row,
                   int64_t from_column, int64_t rows, int64_t columns) noexcept;

// Calls the work for each line of `x` along `axis`. The outputs have the shape of `x` but for the extent along `axis`, and
// do not overlap `x`; the second may be null. MemoryError before anything is written.
Status for_each_line(const DLTensor& x, const DLTensor* const* out, int outputs, int axis, const LineWork& work) noexcept;

}  // namespace dlt
