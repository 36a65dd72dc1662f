// SPDX-License-Identifier: Apache-2.0
// Divides the steps of a program into groups whose axes fit together.
#include <string.h>

#include "native/cpu/reduce/parts.h"
#include "native/cpu/program/program.h"

namespace dlt {
namespace {

using Member = ProgramGroup::Member;

// A group while steps are added to it.
class Builder {
 public:
  Builder(const Program& program, int first) : program_(program) { group.first = group.last = first; }

  ProgramGroup group;

  // Adds the next step; false, with nothing changed, where its axes are others than those of the group.
  bool add(const ProgramStep& step) {
    const ProgramGroup before = group;
    const bool fits = !takes_total(step) && (step.kind == StepKind::reduce ? add_reduction(step) : add_element(step));
    if (!fits) group = before;
    else ++group.last;
    return fits;
  }

 private:
  const Program& program_;

  // A total is not known before the group has ended.
  bool takes_total(const ProgramStep& step) const {
    for (int s = group.first; group.totals && s < group.last; ++s)
      for (int k = 0; k < step.inputs; ++k)
        if (program_.steps[size_t(s)].kind == StepKind::reduce && program_.steps[size_t(s)].out == step.in[k].value)
          return true;
    return false;
  }

  Member* find(int value) {
    for (Member& m : group.members)
      if (m.value == value) return &m;
    return nullptr;
  }

  bool append(int value, bool outside, const int8_t* labels) {
    Member m{int16_t(value), outside, false, -1, {}};
    memcpy(m.label, labels, sizeof m.label);
    group.members.push_back(m);
    return true;
  }

  // The labels of the dimensions of an operand that is a member.
  static void labels_of(const Member& m, const ProgramOperand& operand, int8_t* labels) {
    for (int d = 0; d < operand.ndim; ++d) labels[d] = operand.axes[d] < 0 ? int8_t(-1) : m.label[operand.axes[d]];
  }

  // Gives the dimensions of a result the labels that its operands have there, and new ones where they have none.
  bool label_result(const ProgramStep& step, int ndim, int8_t* labels) {
    for (int d = 0; d < ndim; ++d) labels[d] = -1;
    for (int k = 0; k < step.inputs; ++k) {
      const Member* m = find(step.in[k].value);
      if (m == nullptr) continue;
      int8_t own[most_axes];
      labels_of(*m, step.in[k], own);
      for (int d = 0, at = ndim - step.in[k].ndim; d < step.in[k].ndim; ++d, ++at) {
        if (own[d] < 0) continue;
        if (labels[at] >= 0 && labels[at] != own[d]) return false;
        labels[at] = own[d];
      }
    }
    return fill_labels(ndim, labels);
  }

  // Labels count from the last axis: they fall along the dimensions of every value.
  bool fill_labels(int ndim, int8_t* labels) {
    int next = -1;
    for (int d = ndim - 1; d >= 0; --d) {
      if (labels[d] < 0) labels[d] = int8_t(next + 1);
      if (labels[d] <= next) return false;
      next = labels[d];
    }
    if (next + 1 > group.labels) group.labels = next + 1;
    return group.labels <= most_axes;
  }

  // Adds operands that come from outside, with the labels of the result that they are joined to.
  bool add_outside(const ProgramStep& step, int ndim, const int8_t* labels) {
    for (int k = 0; k < step.inputs; ++k) {
      const ProgramOperand& operand = step.in[k];
      if (find(operand.value) != nullptr) continue;
      int8_t given[most_axes];  // a dimension that the operand leaves out has one element, and no axis here
      for (int d = 0; d < most_axes; ++d) given[d] = -1;
      for (int d = 0; d < operand.ndim; ++d)
        if (operand.axes[d] >= 0) given[operand.axes[d]] = labels[ndim - operand.ndim + d];
      append(operand.value, true, given);
    }
    return true;
  }

  bool add_element(const ProgramStep& step) {
    int8_t labels[most_axes] = {};
    const int ndim = program_.values[size_t(step.out)].ndim;
    return label_result(step, ndim, labels) && add_outside(step, ndim, labels) && append(step.out, false, labels);
  }

  bool add_reduction(const ProgramStep& step) {
    int8_t labels[most_axes] = {};
    const int ndim = step.in[0].ndim;
    if (!label_result(step, ndim, labels) || !add_outside(step, ndim, labels)) return false;
    uint32_t reduced = 0;
    for (int d = 0; d < ndim; ++d)
      if (step.axes >> d & 1) reduced |= 1u << labels[d];
    if (group.reduced != 0 && group.reduced != reduced) return false;
    group.reduced = reduced;
    return append(step.out, false, labels);
  }
};

// Marks what is needed after a group, and shares buffers among values that are not in use together.
void finish_group(const Program& program, ProgramGroup* group) {
  std::vector<int> last(program.values.size(), -1);
  for (size_t s = 0; s < program.steps.size(); ++s)
    for (int k = 0; k < program.steps[s].inputs; ++k) last[size_t(program.steps[s].in[k].value)] = int(s);
  for (const ProgramOperand& result : program.results) last[size_t(result.value)] = int(program.steps.size());
  std::vector<int> busy;  // the step after which each buffer is free
  for (Member& m : group->members) {
    const int until = last[size_t(m.value)];
    m.kept = !m.outside && until >= group->last;
    // Values are in the order in which the steps take or make them.
    int from = group->first;
    while (from < group->last && program.steps[size_t(from)].out != m.value) {
      bool takes = false;
      for (int k = 0; k < program.steps[size_t(from)].inputs; ++k) takes |= program.steps[size_t(from)].in[k].value == m.value;
      if (takes) break;
      ++from;
    }
    size_t slot = 0;
    while (slot < busy.size() && busy[slot] >= from) ++slot;
    if (slot == busy.size()) busy.push_back(0);
    busy[slot] = until;
    m.slot = int16_t(slot);
  }
  group->slots = int(busy.size());
}

// How reductions are divided: inside groups; as totals of all elements where they can be, else by themselves; by themselves.
enum class Division { together, apart, stored };

bool is_alone(Division division, const ProgramStep& step) { return division != Division::together || is_ordered(step.op); }

bool is_total(const Program& program, const ProgramStep& step) {
  if (step.kind != StepKind::reduce || step.axes != (uint64_t(1) << step.in[0].ndim) - 1) return false;
  PartReduction parts;
  return find_parts(step.op, step.reduce, step.type, program.values[size_t(step.in[0].value)].type, &parts);
}

bool divide(const Program& program, Division division, std::vector<ProgramGroup>* groups) {
  const int count = int(program.steps.size());
  for (int at = 0; at < count;) {
    Builder builder(program, at);
    while (at < count) {
      const ProgramStep& step = program.steps[size_t(at)];
      const bool total = division == Division::apart && is_total(program, step);
      const bool reduces = step.kind == StepKind::reduce && !total;
      const bool alone = reduces && is_alone(division, step);
      if (alone && builder.group.last > builder.group.first) break;
      if (!builder.add(step)) break;
      builder.group.totals |= total;
      ++at;
      if (alone) break;
    }
    if (builder.group.last == builder.group.first) return false;
    finish_group(program, &builder.group);
    groups->push_back(builder.group);
  }
  return true;
}

// Drops the steps that no result needs.
void drop_unused(Program* program) {
  std::vector<bool> used(program->values.size());
  for (const ProgramOperand& result : program->results) used[size_t(result.value)] = true;
  std::vector<ProgramStep> kept;
  for (size_t s = program->steps.size(); s-- > 0;) {
    const ProgramStep& step = program->steps[s];
    if (!used[size_t(step.out)]) continue;
    for (int k = 0; k < step.inputs; ++k) used[size_t(step.in[k].value)] = true;
    kept.insert(kept.begin(), step);
  }
  program->steps = kept;
}

bool same_operand(const ProgramOperand& a, const ProgramOperand& b) {
  return a.value == b.value && a.ndim == b.ndim && memcmp(a.axes, b.axes, size_t(a.ndim)) == 0;
}

bool same_value(const ProgramValue& a, const ProgramValue& b) {
  const bool number = a.origin == Origin::number && b.origin == Origin::constant;
  return (number || (a.origin == b.origin && a.index == b.index)) && a.type == b.type && a.ndim == b.ndim &&
         a.reduced == b.reduced && a.fixed == b.fixed && a.offset == b.offset && memcmp(a.element, b.element, 16) == 0;
}

bool same_step(const ProgramStep& a, const ProgramStep& b) {
  bool same = a.kind == b.kind && a.op == b.op && a.saturate == b.saturate && a.type == b.type && a.number == b.number &&
              a.axes == b.axes && a.inputs == b.inputs && a.out == b.out && memcmp(a.initial, b.initial, 16) == 0;
  same = same && a.cast.rounding == b.cast.rounding && a.cast.saturate == b.cast.saturate && a.cast.scaled == b.cast.scaled &&
         a.cast.scale == b.cast.scale && a.cast.offset == b.cast.offset;
  same = same && a.reduce.saturate == b.reduce.saturate && a.reduce.keep == b.reduce.keep &&
         a.reduce.result == b.reduce.result && a.reduce.correction == b.reduce.correction &&
         a.reduce.initial_type == b.reduce.initial_type;
  for (int k = 0; same && k < a.inputs; ++k) same = same_operand(a.in[k], b.in[k]);
  return same;
}

template <class T, class Same>
bool same_all(const std::vector<T>& a, const std::vector<T>& b, const Same& same) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k)
    if (!same(a[k], b[k])) return false;
  return true;
}

}  // namespace

bool same_program(const Program& recorded, const Program& constant) noexcept {
  return same_all(recorded.values, constant.values, same_value) && same_all(recorded.steps, constant.steps, same_step) &&
         same_all(recorded.results, constant.results, same_operand);
}

bool plan_program(Program* program) {
  if (program->values.size() > most_values) return false;
  program->on_device = true;  // a step that fails there fails whether its result is used or not
  for (const ProgramStep& step : program->steps)
    program->on_device &= step.kind != StepKind::real || type_table[program->values[size_t(step.in[0].value)].type].bytes < 8;
  drop_unused(program);
  bool reduces = false;
  for (const ProgramStep& step : program->steps) reduces |= step.kind == StepKind::reduce;
  if (!divide(*program, Division::together, &program->together)) return false;
  plan_small(program);
  return !reduces ||
         (divide(*program, Division::apart, &program->apart) && divide(*program, Division::stored, &program->stored));
}

}  // namespace dlt
