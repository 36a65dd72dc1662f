// SPDX-License-Identifier: Apache-2.0
// A group of steps over concrete tensors, divided into blocks that fit the first caches.
#pragma once
#include <stdint.h>

#include "native/cpu/elementwise/element_loop.h"
#include "native/cpu/reduce/parts.h"
#include "native/cpu/program/program.h"

namespace dlt {

// Where the elements of a value are, by its dimensions.
struct ValuePlace {
  char* data;  // null where none is known yet
  int64_t shape[most_axes], strides[most_axes];  // in elements
};

// A member of a group by the axes of its blocks, outermost first.
struct BlockMember {
  char* data = nullptr;     // null: it is only in the buffer of a block
  int64_t width = 0;        // bytes of an element
  int64_t strides[most_axes];
  uint32_t present = 0;     // axes along which it has more than one element
  int64_t buffer = 0;       // where its buffer begins in the arena
  bool local = false;       // the buffer has the elements of one strip
};

struct BlockStep {
  const ProgramStep* step = nullptr;
  ElementLoop found;        // of element, cast and choose
  int in[3], out = 0;       // members
  bool as_tensors = false;  // run by the engine's function for tensors
  bool last_use = false;    // no step of the group reads what it makes, and its loop writes that as it is
  int total = -1;           // the number of the total that it adds to
  int begin = 0, end = 0;   // of the steps beside it that run strip by strip, or of it alone
};

struct BlockPlan {
  int axes = 0;
  int64_t extents[most_axes], block[most_axes], counts[most_axes];  // of the group, of a block, and how many blocks
  uint32_t reduced = 0;
  int64_t blocks = 1, elements = 1;  // how many, and elements of one
  int64_t strip = 0;                 // elements of a strip of a block, at most
  int64_t scratch = 0, scratch_bytes = 0, arena_bytes = 0;  // where further buffers begin, and how long each is
  int64_t work = 0;                  // as bytes of additions
  bool streams = false;              // results leave past the caches
  std::vector<BlockMember> members;
  std::vector<BlockStep> steps;
  std::vector<PartReduction> totals;
};

// The places of arguments, results, numbers and constants, and the extents of all values. False where shapes do not broadcast or a
// value has no elements.
bool place_values(const Program& program, const DLTensor* arguments, const void* const* numbers, const DLTensor* out,
                  ValuePlace* places);
// The operand and the result of a reduction that runs by itself, as tensors of a device.
struct ReductionTensors {
  int64_t shape[most_axes], strides[most_axes];
  DLTensor in, out;
  ReduceOptions options;
  ReductionTensors(const Program& program, const ProgramStep& step, ValuePlace* places, DLDevice device);
};
// Bytes of a value without gaps.
int64_t bytes_of(const Program& program, const ValuePlace* places, int value);

// The axes of a group in the order of memory, merged where all values continue, and its members by them: `axes`, `extents`,
// `reduced` and `members`. False where extents do not fit together.
bool plan_axes(const Program& program, const ProgramGroup& group, const ValuePlace* places, BlockPlan* plan);
// Plans a group for values that are at `places`; those that are made and not kept need none. False where the extents do not fit
// together, or `whole_rows` and the elements of a reduction do not fit a block.
bool plan_blocks(const Program& program, const ProgramGroup& group, const ValuePlace* places, bool whole_rows, BlockPlan* plan);
// `decided` becomes false where the state of a total leaves two values.
Status run_blocks(const Program& program, const BlockPlan& plan, bool* decided) noexcept;

}  // namespace dlt
