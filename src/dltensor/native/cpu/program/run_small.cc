// SPDX-License-Identifier: Apache-2.0
// Runs a program whose elements are in one block: a call of a loop for each step, or of a reduction, and nothing else.
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/program/program.h"

namespace dlt {
namespace {

constexpr int64_t buffers_bytes = 32 << 10, most_bytes = 8 << 10;  // of all buffers, of a value

constexpr int64_t most_calls = 64;  // of a loop for rows

// The elements of a value, and how far those of the next row are.
struct Lane {
  char* data;
  int64_t step;
};

// Reduces each row to one element. False where that failed.
bool reduce_rows(const Program& program, const ProgramStep& step, char* from, char* to, int64_t rows, int64_t row) noexcept {
  int64_t shape[2] = {rows, row}, strides[2] = {row, 1}, left[2] = {rows, 1}, ones[2] = {1, 1};
  const int first = rows == 1;  // one row has a faster way
  const auto tensor = [&](int value, char* data, int64_t* extents, int64_t* steps) {
    return DLTensor{
        data, {kDLCPU, 0}, 2 - first, type_table[program.values[size_t(value)].type].dtype, extents + first, steps + first, 0};
  };
  ReduceOptions options = step.reduce;
  options.initial = options.initial_type < 0 ? nullptr : step.initial;
  return reduce(step.op, options, step.type, tensor(step.in[0].value, from, shape, strides), nullptr, first ? 1 : 2,
                tensor(step.out, to, left, ones))
      .ok();
}

// Runs a step whose result has all elements, and operands one for each row.
void run_by_rows(const SmallStep& step, loop_t loop, const Lane* lanes, int64_t rows, int64_t row) noexcept {
  for (int64_t r = 0; r < rows; ++r) {
    const auto at = [&](int k) { return lanes[k].data + r * lanes[k].step; };
    loop(at(3), at(0), at(1), at(2), row, step.scalars | step.by_row);
  }
}

}  // namespace

bool run_small(const Program& program, const void* const* arguments, const void* const* numbers, void* const* out, int64_t rows,
               int64_t row) noexcept {
  const int64_t n = rows * row, slot_bytes = (larger(n, 1) * program.small_width + 63) / 64 * 64;
  const int slots = program.together[0].slots;
  if (slot_bytes > most_bytes || slot_bytes * slots > buffers_bytes) return false;
  alignas(64) char buffers[buffers_bytes];
  char* at[most_values];
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    const void* from = value.origin == Origin::argument ? arguments[value.index]
                       : value.origin == Origin::number ? numbers[value.index]
                       : value.origin == Origin::constant
                           ? static_cast<const void*>(value.element)
                           : static_cast<const void*>(buffers + larger(program.slots[v], 0) * slot_bytes);
    at[v] = static_cast<char*>(const_cast<void*>(from));
  }
  at[program.results[0].value] = static_cast<char*>(out[0]);
  for (const SmallStep& step : program.small) {
    if (step.kind == StepKind::reduce) {
      if (n == 0 || !reduce_rows(program, program.steps[size_t(step.step)], at[step.in[0]], at[step.out], rows, row))
        return false;
      continue;
    }
    const loop_t loop = step.kind == StepKind::element ? find_loop(step.op, step.type)
                                                       : kernels().index->choose[width_index(type_table[step.type].bytes)];
    if (step.is_whole && step.by_row != 0) {
      if (rows > most_calls) return false;
      Lane lanes[4];
      for (int k = 0; k < 4; ++k) {
        const int v = k < 3 ? step.in[k] : step.out;
        const int64_t width = type_table[program.values[size_t(v)].type].bytes;
        lanes[k] = {at[v], k < 3 && step.scalars >> k & 1 ? 0 : k < 3 && step.by_row >> k & 1 ? width : row * width};
      }
      run_by_rows(step, loop, lanes, rows, row);
    } else {
      loop(at[step.out], at[step.in[0]], at[step.in[1]], at[step.in[2]], step.is_whole ? n : rows, step.scalars);
    }
  }
  return true;
}

}  // namespace dlt
