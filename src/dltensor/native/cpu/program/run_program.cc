// SPDX-License-Identifier: Apache-2.0
// Runs a program: the shapes of its values, memory for those that outlive a group, and one group after the other.
#include "native/cpu/program/blocks.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/layout/layout.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t least_streamed = int64_t(16) << 20, most_streamed = int64_t(32) << 20;

// The extents of a result of element-wise steps: those of the operands, broadcast.
bool broadcast_step(const Program& program, const ProgramStep& step, ValuePlace* places) {
  ValuePlace& out = places[step.out];
  const int ndim = program.values[size_t(step.out)].ndim;
  for (int d = 0; d < ndim; ++d) out.shape[d] = 1;
  for (int k = 0; k < step.inputs; ++k) {
    const ProgramOperand& operand = step.in[k];
    for (int d = 0; d < operand.ndim; ++d) {
      const int64_t n = operand.axes[d] < 0 ? 1 : places[operand.value].shape[operand.axes[d]];
      int64_t& extent = out.shape[ndim - operand.ndim + d];
      if (n != 1 && extent != 1 && extent != n) return false;
      if (n != 1) extent = n;
    }
  }
  return true;
}

bool shape_values(const Program& program, const DLTensor* arguments, ValuePlace* places) {
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    ValuePlace& place = places[v];
    place.data = nullptr;
    if (value.origin == Origin::constant)
      for (int d = 0; d < value.ndim; ++d) place.shape[d] = value.shape[d], place.strides[d] = 0;
    if (value.origin == Origin::step)
      for (int d = 0; d < value.ndim; ++d) place.shape[d] = 1;  // also where no step is left that makes it
    if (value.origin != Origin::argument) continue;
    const DLTensor& t = arguments[value.index];
    const int64_t* shape = value.fixed ? value.shape : t.shape;
    const int64_t* strides = value.fixed ? value.strides : t.strides;
    for (int d = 0; d < value.ndim; ++d) place.shape[d] = shape[d], place.strides[d] = strides[d];
    place.data = static_cast<char*>(t.data) + int64_t(t.byte_offset) + value.offset * type_table[value.type].bytes;
  }
  for (const ProgramStep& step : program.steps) {
    if (step.kind != StepKind::reduce) {
      if (!broadcast_step(program, step, places)) return false;
      continue;
    }
    for (int d = 0; d < step.in[0].ndim; ++d) {
      const int axis = step.in[0].axes[d];
      const bool left = step.axes >> d & 1 || axis < 0;
      places[step.out].shape[d] = left ? 1 : places[step.in[0].value].shape[axis];
    }
  }
  return true;
}

void place_results(const Program& program, const DLTensor* out, ValuePlace* places) {
  for (size_t r = 0; r < program.results.size(); ++r) {
    const ProgramOperand& result = program.results[r];
    ValuePlace& place = places[result.value];
    for (int d = 0; d < program.values[size_t(result.value)].ndim; ++d) place.strides[d] = 0;
    for (int d = 0; d < result.ndim; ++d)
      if (result.axes[d] >= 0) place.strides[result.axes[d]] = out[r].strides[d];
    place.data = static_cast<char*>(out[r].data) + int64_t(out[r].byte_offset);
  }
}

void place_elements(const Program& program, const void* const* numbers, ValuePlace* places) {
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    const void* element = value.origin == Origin::constant ? value.element
                          : value.origin == Origin::number ? numbers[value.index]
                                                           : nullptr;
    if (element != nullptr) places[v].data = static_cast<char*>(const_cast<void*>(element));
  }
}

bool is_empty(const Program& program, const ValuePlace* places) {
  for (size_t v = 0; v < program.values.size(); ++v)
    if (numel(program.values[v].ndim, places[v].shape) == 0) return true;
  return false;
}

struct Run {
  const Program& program;
  ValuePlace* places;
  std::vector<BlockRef> blocks;  // of values between groups, made when the first is needed

  int64_t bytes(int value) const { return bytes_of(program, places, value); }

  // Memory for what a group leaves to later ones.
  Status place_kept(const ProgramGroup& group) {
    for (const auto& m : group.members) {
      ValuePlace& place = places[m.value];
      if (!m.kept || place.data != nullptr) continue;
      if (blocks.empty()) blocks = std::vector<BlockRef>(program.values.size());
      DLT_TRY(allocate(size_t(larger(bytes(m.value), 1)), &blocks[size_t(m.value)]));
      contiguous_strides(program.values[size_t(m.value)].ndim, place.shape, place.strides);
      place.data = static_cast<char*>(blocks[size_t(m.value)].block->data);
    }
    return success;
  }

  // Returns whether results leave the cache before they are read again, as tiling.cc decides it.
  bool exceeds_cache(const ProgramGroup& group) const {
    if (size_t(group.last) != program.steps.size()) return false;
    const int64_t cache = larger(least_streamed, smaller(last_cache_bytes(), most_streamed));
    int64_t written = 0, read = 0;
    for (const auto& m : group.members)
      if (m.kept || m.outside) (m.kept ? written : read) += bytes(m.value);
    return written >= cache || (written >= cache / 2 && written + read >= cache + cache / 2);
  }

  // Returns whether the results are complete: `whole_rows`, where reductions take what fits a block.
  Status run(const std::vector<ProgramGroup>& groups, bool whole_rows, bool* complete) {
    *complete = true;
    for (const ProgramGroup& group : groups) {
      DLT_TRY(place_kept(group));
      const ProgramStep& first = program.steps[size_t(group.first)];
      if (first.kind == StepKind::reduce && !group.totals && (!whole_rows || is_ordered(first.op))) {
        const ReductionTensors t(program, first, places, {kDLCPU, 0});
        DLT_TRY(reduce(first.op, t.options, first.type, t.in, nullptr, first.axes, t.out));
        continue;
      }
      BlockPlan plan;
      *complete = plan_blocks(program, group, places, whole_rows, &plan);
      if (!*complete) return success;
      plan.streams = exceeds_cache(group);
      DLT_TRY(run_blocks(program, plan, complete));
      if (!*complete) return success;
    }
    return success;
  }
};

}  // namespace

ReductionTensors::ReductionTensors(const Program& program, const ProgramStep& step, ValuePlace* places, DLDevice device)
    : options(step.reduce) {
  const ProgramOperand& operand = step.in[0];
  const ValuePlace& from = places[operand.value];
  ValuePlace& to = places[step.out];
  for (int d = 0; d < operand.ndim; ++d) {
    shape[d] = operand.axes[d] < 0 ? 1 : from.shape[operand.axes[d]];
    strides[d] = operand.axes[d] < 0 ? 0 : from.strides[operand.axes[d]];
  }
  const auto dtype = [&](int value) { return type_table[program.values[size_t(value)].type].dtype; };
  in = {from.data, device, operand.ndim, dtype(operand.value), shape, strides, 0};
  out = {to.data, device, operand.ndim, dtype(step.out), to.shape, to.strides, 0};
  options.initial = options.initial_type < 0 ? nullptr : step.initial;
}

int64_t bytes_of(const Program& program, const ValuePlace* places, int value) {
  const ProgramValue& v = program.values[size_t(value)];
  return numel(v.ndim, places[value].shape) * type_table[v.type].bytes;
}

bool place_values(const Program& program, const DLTensor* arguments, const void* const* numbers, const DLTensor* out,
                  ValuePlace* places) {
  if (!shape_values(program, arguments, places) || is_empty(program, places)) return false;
  place_elements(program, numbers, places);
  place_results(program, out, places);
  return true;
}

Status run_program(const Program& program, const DLTensor* arguments, const void* const* numbers, const DLTensor* out,
                   bool* ran) noexcept {
  ValuePlace places[most_values];
  *ran = place_values(program, arguments, numbers, out, places);
  if (!*ran) return success;
  Run run{program, places, {}};
  DLT_TRY(run.run(program.together, true, ran));
  if (!*ran && !program.apart.empty()) DLT_TRY(run.run(program.apart, false, ran));
  if (!*ran && !program.stored.empty()) DLT_TRY(run.run(program.stored, false, ran));
  return success;
}

bool shape_results(const Program& program, const DLTensor* arguments, int64_t (*shapes)[most_axes]) noexcept {
  ValuePlace places[most_values];
  if (!shape_values(program, arguments, places)) return false;
  for (size_t r = 0; r < program.results.size(); ++r) {
    const ProgramOperand& result = program.results[r];
    for (int d = 0; d < result.ndim; ++d) shapes[r][d] = result.axes[d] < 0 ? 1 : places[result.value].shape[result.axes[d]];
  }
  return true;
}

}  // namespace dlt
