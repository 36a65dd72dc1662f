// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/reduce/parts.h"

#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/reduce/round_states.h"
#include "native/cpu/runtime/features.h"
#include "native/ops/floats.h"

namespace dlt {
namespace {

const Reducer& reducer_of(const PartReduction& parts) { return kernels().reduce->reducers[parts.body][parts.type]; }

template <class R>
bool end_floats(const PartReduction& parts, const double* w, int64_t count, void* out) {
  const State state{w[exact_sums::high], w[exact_sums::low], w[exact_sums::bound]};
  R* const to = static_cast<R*>(out);
  return End(parts.end) == End::sum ? round_state(state, to) : round_mean(state, double(count), to);
}

}  // namespace

bool is_ordered(int reduction) noexcept { return in_order[reduction_table[reduction].body]; }

bool find_parts(int reduction, const ReduceOptions& options, int type, int from, PartReduction* found) noexcept {
  if (options.saturate || options.initial_type >= 0 || type < 0) return false;
  const ReductionChoice choice = choose_reduction(reduction, type, false);
  *found = {choice.body, choice.type, int(choice.end), reduction_result(reduction, type, options.keep), {}};
  if (options.result >= 0) found->result = options.result;
  if (in_order[choice.body] || found->result < 0) return false;
  const Reducer& reducer = reducer_of(*found);
  if (reducer.start == nullptr || reducer.parts != 1) return false;
  if (!find_pipeline_through(*kernels().copy, from, type, choice.type, 0, &found->pipeline)) return false;
  if (choice.end == End::plain) return reducer.result == found->result;
  const bool is_float = found->result == type_float16 || found->result == type_bfloat16 || found->result == type_float32 ||
                        found->result == type_float64;
  return is_float && (choice.end == End::sum || choice.end == End::mean);
}

void start_parts(const PartReduction& parts, void* state) noexcept { reducer_of(parts).start(state, 1, 1); }

void add_part(const PartReduction& parts, void* state, const void* elements, int64_t n) noexcept {
  reducer_of(parts).run(state, elements, n, 0, nullptr);
}

void join_parts(const PartReduction& parts, void* state, const void* other) noexcept {
  reducer_of(parts).join(state, 1, other, 1, 1);
}

bool end_parts(const PartReduction& parts, const void* state, int64_t count, void* out) noexcept {
  if (End(parts.end) == End::plain) {
    reducer_of(parts).end(out, state, 1, 1);
    return true;
  }
  const auto* const w = static_cast<const double*>(state);
  switch (parts.result) {
    case type_float16: return end_floats<float16>(parts, w, count, out);
    case type_bfloat16: return end_floats<bfloat16>(parts, w, count, out);
    case type_float32: return end_floats<float>(parts, w, count, out);
    default: return end_floats<double>(parts, w, count, out);
  }
}

}  // namespace dlt
