// SPDX-License-Identifier: Apache-2.0
// Programs of few elements, planned and run: a call of a loop for each step, or of a reduction, and nothing else. Nothing is converted,
// and a value that is not whole has an element for each row.
#include "native/cpu/index/kernels.h"
#include "native/cpu/program/program.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

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

// ---- the plan

class SmallPlanner {
 public:
  explicit SmallPlanner(Program* program) : program_(*program), forms_(program->values.size()) {}

  // False where a step is something else.
  bool plan() {
    if (program_.fixed || program_.together.size() != 1 || program_.results.size() != 1 || !find_shape()) return false;
    std::vector<SmallStep> small(program_.steps.size());
    for (size_t s = 0; s < small.size(); ++s) {
      small[s].step = int(s);
      if (!find_step(program_.steps[s], &small[s])) return false;
    }
    if (!find_result(program_.results[0])) return false;
    program_.small = small;
    program_.slots.assign(program_.values.size(), -1);
    for (const auto& m : program_.together[0].members)
      if (!m.outside) program_.slots[size_t(m.value)] = m.slot;
    return true;
  }

 private:
  // The elements of a value: those of the arguments' shape, or one for each row, with the dimension of the arguments that each of its
  // own is, or -1.
  struct Form {
    bool is_by_row = false;
    int8_t axes[most_axes] = {};
  };
  Program& program_;
  std::vector<Form> forms_;
  int ndim_ = -1, kept_ = -1;

  const ProgramValue& value(int number) const { return program_.values[size_t(number)]; }

  // The dimensions of the arguments, and how many of them reductions leave: the first ones.
  bool find_shape() {
    for (const ProgramValue& v : program_.values) {
      if (v.origin == Origin::argument && ndim_ < 0) ndim_ = v.ndim;
      program_.small_width = larger(program_.small_width, type_table[v.type].bytes);
    }
    kept_ = ndim_;
    for (const ProgramStep& step : program_.steps) {
      if (step.kind != StepKind::reduce) continue;
      int kept = 0;
      while (kept < ndim_ && !(step.axes >> kept & 1)) ++kept;
      const uint64_t last = ((uint64_t(1) << ndim_) - 1) & ~((uint64_t(1) << kept) - 1);
      if (ndim_ < 1 || kept == ndim_ || step.axes != last || (kept_ < ndim_ && kept_ != kept)) return false;
      kept_ = kept;
    }
    program_.small_kept = kept_;
    return ndim_ >= 0 && !program_.steps.empty();
  }

  bool is_whole(const ProgramOperand& operand) const {
    const ProgramValue& v = value(operand.value);
    if (v.ndim != operand.ndim || v.ndim != ndim_ || v.fixed) return false;
    for (int d = 0; d < ndim_; ++d)
      if (operand.axes[d] != d) return false;
    return true;
  }

  // Finds where an operand has the dimensions that are kept, counted from its last one. False where one is missing or out of order.
  bool find_places(const ProgramOperand& operand, int* places) const {
    int found = 0;
    for (int d = 0; d < operand.ndim; ++d) {
      const int axis = operand.axes[d] < 0 ? -1 : forms_[size_t(operand.value)].axes[operand.axes[d]];
      if (axis < 0 || axis >= kept_) continue;
      if (axis != found) return false;
      places[found++] = operand.ndim - d;
    }
    return found == kept_;
  }

  bool find_step(const ProgramStep& step, SmallStep* to) {
    const ProgramValue& out = value(step.out);
    const bool chooses = step.kind == StepKind::choose, reduces = step.kind == StepKind::reduce;
    if ((step.kind != StepKind::element && !chooses && !reduces) || step.saturate) return false;
    to->kind = step.kind, to->op = step.op, to->type = chooses ? out.type : step.type, to->out = step.out;
    for (int k = 0; k < step.inputs; ++k) {
      const ProgramValue& in = value(step.in[k].value);
      if (step.kind == StepKind::element && in.type != step.type) return false;
      to->in[k] = step.in[k].value;
      if (in.origin == Origin::number || in.origin == Origin::constant) to->scalars |= 1u << k;
      else if (forms_[size_t(step.in[k].value)].is_by_row) to->by_row |= 1u << k;
      else if (is_whole(step.in[k])) to->is_whole = true;
      else return false;
    }
    if (reduces) {
      for (int d = 0; d < ndim_; ++d) forms_[size_t(step.out)].axes[d] = int8_t(d);
      forms_[size_t(step.out)].is_by_row = true;
      const bool takes_all = to->is_whole && out.ndim == ndim_;
      to->is_whole = false;
      return takes_all;
    }
    if (!place_rows(step, *to)) return false;
    return chooses ||
           (step.type >= 0 && find_loop(step.op, step.type) != nullptr && result_type(step.op, step.type) == out.type);
  }

  // Tests whether rows fall together, and finds where the dimensions of a result with an element for each come from.
  bool place_rows(const ProgramStep& step, const SmallStep& to) {
    const ProgramValue& out = value(step.out);
    if (to.is_whole ? out.ndim != ndim_ : to.by_row == 0) return false;
    int places[most_axes], other[most_axes];
    for (int q = 0; q < kept_; ++q) places[q] = ndim_ - q;
    bool known = to.is_whole;
    for (int k = 0; k < step.inputs; ++k) {
      if (!(to.by_row >> k & 1)) continue;
      if (!find_places(step.in[k], other)) return false;
      for (int q = 0; q < kept_; ++q) {
        if (known && other[q] != places[q]) return false;
        places[q] = other[q];
      }
      known = true;
    }
    if (to.is_whole) return true;
    Form& form = forms_[size_t(step.out)];
    form.is_by_row = true;
    for (int d = 0; d < out.ndim; ++d) form.axes[d] = -1;
    for (int q = 0; q < kept_; ++q) form.axes[out.ndim - places[q]] = int8_t(q);
    return true;
  }

  bool find_result(const ProgramOperand& result) {
    int places[most_axes];
    for (int d = 0; d < result.ndim; ++d) program_.small_result[d] = -1;
    if (!forms_[size_t(result.value)].is_by_row) {
      for (int d = 0; d < ndim_; ++d) program_.small_result[d] = int8_t(d);
      return is_whole(result);
    }
    if (!find_places(result, places)) return false;
    for (int q = 0; q < kept_; ++q) program_.small_result[result.ndim - places[q]] = int8_t(q);
    return true;
  }
};

}  // namespace

void plan_small(Program* program) { SmallPlanner(program).plan(); }

bool run_small(const Program& program, const void* const* arguments, const void* const* numbers, void* const* out, int64_t rows,
               int64_t row) noexcept {
  const int64_t n = rows * row, slot_bytes = (larger(n, 1) * program.small_width + 63) / 64 * 64;
  const int slots = program.together[0].slots;
  if (slot_bytes > most_bytes || slot_bytes * slots > buffers_bytes) return false;
  for (const SmallStep& step : program.small)  // before anything is computed
    if ((n == 0 && step.kind == StepKind::reduce) || (rows > most_calls && step.is_whole && step.by_row != 0)) return false;
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
      if (!reduce_rows(program, program.steps[size_t(step.step)], at[step.in[0]], at[step.out], rows, row)) return false;
      continue;
    }
    const loop_t loop = step.kind == StepKind::element ? find_loop(step.op, step.type)
                                                       : kernels().index->choose[width_index(type_table[step.type].bytes)];
    if (step.is_whole && step.by_row != 0) {
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
