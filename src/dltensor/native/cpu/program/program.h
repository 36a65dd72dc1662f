// SPDX-License-Identifier: Apache-2.0
// A program: the steps of a function of tensors, recorded once and run for operands of any extents. Nothing is computed here.
#pragma once
#include <stdint.h>

#include <memory>
#include <vector>

#include "dltensor/dlpack.h"
#include "native/cpu/reduce/reduce.h"
#include "native/cpu/runtime/engine.h"

namespace dlt {

inline constexpr int most_axes = 8, most_values = 192, most_inputs = 16;

// How a value comes about. A number is an argument that is no tensor, as one element of a dtype.
enum class Origin : int8_t { argument, number, constant, step };

struct ProgramValue {
  Origin origin;
  int index = -1;    // of the argument or number
  int type;
  int ndim = 0;
  uint64_t reduced = 0;  // dimensions that a reduction has left one element of
  bool fixed = false;    // a view of an argument: these strides, and an offset in elements
  int64_t shape[most_axes] = {}, strides[most_axes] = {}, offset = 0;  // as recorded
  alignas(16) unsigned char element[16] = {};  // of a constant, everywhere in its shape; of a number, as recorded
};

// A value as a step takes it: `axes[d]` is the dimension of the value that dimension d is, or -1 where that has one element of its
// own.
struct ProgramOperand {
  int value = -1;
  int ndim = 0;
  int8_t axes[most_axes] = {};
};

enum class StepKind : int8_t { element, real, cast, choose, reduce };

struct ProgramStep {
  StepKind kind;
  int op = 0;  // or the reduction, or the form of `real`
  bool saturate = false;
  int type = 0;
  double number = 0;  // of `real`
  CastOptions cast;
  ReduceOptions reduce;  // `initial` is set at each run
  alignas(16) unsigned char initial[16] = {};
  uint64_t axes = 0;  // that are reduced
  int inputs = 0;
  ProgramOperand in[3];
  int out = -1;
};

// Consecutive steps that run together, block by block. A label names an axis that they have in common.
struct ProgramGroup {
  int first = 0, last = 0;  // steps, the last one excluded
  int labels = 0;
  uint32_t reduced = 0;  // labels that its reductions take
  bool totals = false;  // those are all labels: reductions add up what is in each block, and end after the last
  int slots = 0;  // buffers that its values need at a time
  struct Member {
    int16_t value;
    bool outside;  // comes from outside the group
    bool kept;  // is needed after it
    int16_t slot;
    int8_t label[most_axes];  // of each dimension of the value
  };
  std::vector<Member> members;
};

// A step of a program of few elements whose values have all elements of the arguments' shape, or one for each row, where reductions
// are of the same last dimensions, and nothing is converted: calls of one loop, or a reduction of rows.
struct SmallStep {
  StepKind kind;
  int op, type;
  int in[3], out;  // values
  unsigned scalars;  // operands that are numbers
  unsigned by_row;  // operands that have an element for each row
  bool is_whole;  // the result has all elements
  int step;  // of the program
};

struct Program {
  std::vector<ProgramValue> values;
  std::vector<ProgramStep> steps;
  std::vector<ProgramOperand> results;
  std::vector<ProgramGroup> together;  // with reductions inside groups: on the CPU for rows that fit a block
  bool on_device = false;  // a kernel may run each group on CUDA devices
  mutable std::shared_ptr<void> device_kernels;  // of `together`; native/cuda/program makes them at the first call
  std::vector<ProgramGroup> apart;  // for longer ones: with totals, and with each other reduction by itself
  std::vector<ProgramGroup> stored;  // the same without totals, for those that are not decided by their states
  std::vector<SmallStep> small;  // empty where a step is none
  std::vector<int16_t> slots;  // of each value, for `small`
  int64_t small_width = 8;  // bytes of the widest element, for `small`
  int small_kept = 0;  // first dimensions of the arguments, whose extents are the rows of `small`
  int8_t small_result[most_axes] = {};  // the dimension of the arguments that each of the one result is, or -1
  int arguments = 0, numbers = 0;
  std::vector<int> number_of;  // the argument of each number
  bool fixed = false;  // holds for the shapes and strides that it was recorded with, and for no others
};

// Returns whether two programs are the same where the numbers of one are constants of the other.
DLT_API bool same_program(const Program& recorded, const Program& constant) noexcept;

// Divides the steps into groups. False where there are too many values.
DLT_API bool plan_program(Program* program);
// Finds `small`, after that.
void plan_small(Program* program);

// Results of the program for these arguments, all on the host. `numbers` are elements, by the indices of values of that origin.
// Shapes broadcast as recorded; `out` has those of the results, and shares no memory with an argument. `ran` is false where the
// extents are others than the recorded axes, or one is 0: then the results are not complete.
DLT_API Status run_program(const Program& program, const DLTensor* arguments, const void* const* numbers, const DLTensor* out,
                           bool* ran) noexcept;

// The same for arguments that are all in C order, of one shape, whose first `small_kept` extents make `rows`, and the others `row`, and a
// program with `small`. False, with nothing done, where there are too many elements, or a reduction fails.
DLT_API bool run_small(const Program& program, const void* const* arguments, const void* const* numbers, void* const* out,
                       int64_t rows, int64_t row) noexcept;

// The extents of each result for these arguments. False where shapes do not broadcast.
DLT_API bool shape_results(const Program& program, const DLTensor* arguments, int64_t (*shapes)[most_axes]) noexcept;

}  // namespace dlt
