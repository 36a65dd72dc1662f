// SPDX-License-Identifier: Apache-2.0
// Runs a program whose elements are in one block: a call of a loop for each step, or of a reduction, and nothing else.
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/program/program.h"

namespace dlt {
namespace {

constexpr int64_t buffers_bytes = 32 << 10, most_bytes = 8 << 10;  // of all buffers, of a value

// Reduces n elements to one. False where that failed.
bool reduce_all(const Program& program, const ProgramStep& step, char* from, char* to, int64_t n) noexcept {
  int64_t one = 1;
  const auto row_of = [&](int value, char* data, int64_t* count) {
    return DLTensor{data, {kDLCPU, 0}, 1, type_table[program.values[size_t(value)].type].dtype, count, &one, 0};
  };
  ReduceOptions options = step.reduce;
  options.initial = options.initial_type < 0 ? nullptr : step.initial;
  return reduce(step.op, options, step.type, row_of(step.in[0].value, from, &n), nullptr, 1, row_of(step.out, to, &one)).ok();
}

}  // namespace

bool run_small(const Program& program, const void* const* arguments, const void* const* numbers, void* const* out,
               int64_t n) noexcept {
  const int64_t slot_bytes = (larger(n, 1) * program.small_width + 63) / 64 * 64;
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
  for (size_t r = 0; r < program.results.size(); ++r) at[program.results[r].value] = static_cast<char*>(out[r]);
  for (const SmallStep& step : program.small) {
    if (step.kind == StepKind::reduce) {
      if (n == 0 || !reduce_all(program, program.steps[size_t(step.step)], at[step.in[0]], at[step.out], n)) return false;
      continue;
    }
    const loop_t loop = step.kind == StepKind::element ? find_loop(step.op, step.type)
                                                       : kernels().index->choose[width_index(type_table[step.type].bytes)];
    loop(at[step.out], at[step.in[0]], at[step.in[1]], at[step.in[2]], step.single ? 1 : n, step.scalars);
  }
  return true;
}

}  // namespace dlt
