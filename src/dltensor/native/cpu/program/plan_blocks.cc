// SPDX-License-Identifier: Apache-2.0
// The axes of a group in the order of memory, merged where all values allow it, and the extents of a block.
#include <algorithm>

#include "native/cpu/index/kernels.h"
#include "native/cpu/program/blocks.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

constexpr int64_t block_bytes = 8192;             // of a value, where nothing is reduced
constexpr int64_t most_row_bytes = 128 << 10;     // of a value along all axes that are reduced
constexpr int64_t row_block_bytes = 128 << 10;    // of a value of whole rows, where they are shorter
constexpr int64_t strip_bytes = 16 << 10;         // of a value of a strip: those of several steps are in the first cache
// Columns that are reduced lie side by side: of fewer at a time, a row of a block would be shorter than its loops are fast.
constexpr int64_t least_columns = 64;
constexpr int64_t most_column_bytes = 1 << 20;    // of a value of so many whole columns
constexpr int scratch_slots = 9;                  // see run_blocks.cc

class Planner {
 public:
  Planner(const Program& program, const ProgramGroup& group, const ValuePlace* places, BlockPlan* plan)
      : program_(program), group_(group), places_(places), plan_(*plan) {}

  bool plan(bool whole_rows) { return plan_axes() && choose_block(whole_rows) && plan_steps(); }

  bool plan_axes() {
    if (!measure() || !order()) return false;
    merge();
    return true;
  }

 private:
  const Program& program_;
  const ProgramGroup& group_;
  const ValuePlace* places_;
  BlockPlan& plan_;
  int64_t extents_[most_axes];  // by label
  int labels_[most_axes];       // by axis of the plan

  const ProgramValue& value(const ProgramGroup::Member& m) const { return program_.values[size_t(m.value)]; }

  // The extent of each label, and the members by label.
  bool measure() {
    for (int64_t& n : extents_) n = 1;
    for (const auto& m : group_.members)
      for (int d = 0; d < value(m).ndim; ++d) {
        const int64_t n = places_[m.value].shape[d];
        if (m.label[d] < 0) continue;
        int64_t& extent = extents_[m.label[d]];
        if (n != 1 && extent != 1 && n != extent) return false;
        if (n != 1) extent = n;
      }
    return true;
  }

  // The distance of neighbours of a member along a label; 0 where it has one element.
  int64_t distance(const ProgramGroup::Member& m, int label) const {
    for (int d = 0; d < value(m).ndim; ++d)
      if (m.label[d] == label && places_[m.value].shape[d] != 1) return places_[m.value].strides[d];
    return 0;
  }

  bool is_placed(const ProgramGroup::Member& m) const { return m.outside || m.kept; }

  // Puts labels in the order of memory: as the first member that has both has them, the others from the left.
  bool order() {
    int count = 0;
    for (int label = group_.labels - 1; label >= 0; --label) {
      if (extents_[label] == 1) continue;
      int at = count++;
      labels_[at] = label;
      for (; at > 0 && encloses(label, labels_[at - 1]); --at) std::swap(labels_[at], labels_[at - 1]);
    }
    plan_.axes = count;
    return true;
  }

  bool encloses(int outer, int inner) const {
    for (const auto& m : group_.members) {
      if (!is_placed(m)) continue;
      const uint64_t a = magnitude(distance(m, outer)), b = magnitude(distance(m, inner));
      if (a != 0 && b != 0) return a > b;
    }
    return false;
  }

  // Joins neighbouring axes along which all values continue, and fills in the members.
  void merge() {
    int kept = 0;
    int64_t extents[most_axes];
    int inner_of[most_axes];  // the label whose distance is that of the merged axis
    for (int a = 0; a < plan_.axes; ++a) {
      const int label = labels_[a];
      if (kept > 0 && continues(inner_of[kept - 1], label)) {
        extents[kept - 1] *= extents_[label];
        inner_of[kept - 1] = label;
        continue;
      }
      extents[kept] = extents_[label];
      inner_of[kept++] = label;
    }
    plan_.axes = kept;
    plan_.reduced = 0;
    for (int a = 0; a < kept; ++a) {
      plan_.extents[a] = extents[a];
      if (is_reduced(inner_of[a])) plan_.reduced |= 1u << a;
    }
    plan_.members.reserve(group_.members.size());
    for (const auto& m : group_.members) {
      BlockMember& to = plan_.members.emplace_back();
      to.data = is_placed(m) ? places_[m.value].data : nullptr;
      to.width = type_table[value(m).type].bytes;
      for (int a = 0; a < kept; ++a) {
        to.strides[a] = distance(m, inner_of[a]);
        if (has(m, inner_of[a])) to.present |= 1u << a;
      }
    }
  }

  bool has(const ProgramGroup::Member& m, int label) const {
    for (int d = 0; d < value(m).ndim; ++d)
      if (m.label[d] == label) return places_[m.value].shape[d] != 1;
    return false;
  }

  // Totals add up blocks; other reductions take whole rows.
  bool is_reduced(int label) const { return !group_.totals && (group_.reduced >> label & 1); }

  bool continues(int outer, int inner) const {
    if (is_reduced(outer) != is_reduced(inner)) return false;
    for (const auto& m : group_.members) {
      if (has(m, outer) != has(m, inner)) return false;
      if (is_placed(m) && distance(m, outer) != distance(m, inner) * extents_[inner]) return false;
    }
    return true;
  }

  bool choose_block(bool whole_rows) {
    int64_t widest = 4, row = 1, count = 1;
    for (const BlockMember& m : plan_.members) widest = larger(widest, m.width);
    for (int a = 0; a < plan_.axes; ++a) {
      count *= plan_.extents[a];
      if (plan_.reduced >> a & 1) row *= plan_.extents[a];
    }
    if (whole_rows && plan_.reduced != 0 && row * widest > most_row_bytes) return false;
    int64_t room = (plan_.reduced != 0 ? row_block_bytes : block_bytes) / widest;
    room = larger(plan_.reduced != 0 ? room / row : room, 1);  // elements along the axes that are kept
    const int inner = plan_.axes - 1;
    if (plan_.reduced != 0 && !(plan_.reduced >> inner & 1) && room < least_columns) {
      room = smaller(plan_.extents[inner], least_columns);
      if (room * row * widest > most_column_bytes) return false;
    }
    plan_.elements = 1;
    plan_.blocks = count == 0 ? 0 : 1;
    for (int a = plan_.axes - 1; a >= 0; --a) {
      const int64_t n = plan_.extents[a];
      plan_.block[a] = plan_.reduced >> a & 1 ? n : even_part(n, room);
      if (!(plan_.reduced >> a & 1)) room = plan_.block[a] == n ? larger(room / larger(n, 1), 1) : 1;
      plan_.counts[a] = n == 0 ? 0 : ceil_divide(n, plan_.block[a]);
      plan_.blocks *= plan_.counts[a];
      plan_.elements *= plan_.block[a];
    }
    return true;
  }

  int member_of(int number) const {
    for (size_t k = 0; k < group_.members.size(); ++k)
      if (group_.members[k].value == number) return int(k);
    return -1;
  }

  bool plan_steps() {
    int64_t widest = 8;
    plan_.steps.reserve(size_t(group_.last - group_.first));
    for (int s = group_.first; s < group_.last; ++s) {
      const ProgramStep& step = program_.steps[size_t(s)];
      BlockStep& to = plan_.steps.emplace_back();
      to.step = &step;
      to.out = member_of(step.out);
      for (int k = 0; k < step.inputs; ++k) to.in[k] = member_of(step.in[k].value);
      if (!find_loops(step, &to)) return false;
      const BlockMember& out = plan_.members[size_t(to.out)];
      const BlockMember& in = plan_.members[size_t(to.in[0])];
      plan_.work += larger(out.width, in.width) * (to.as_tensors ? 2 : to.found.weight);
      widest = larger(widest, larger(out.width, in.width));
      for (const CastPipeline* each : {&to.found.in[0], &to.found.in[1], &to.found.in[2], &to.found.out})
        for (int k = 0; each->count > 0 && k <= each->count; ++k) widest = larger(widest, type_table[each->types[k]].bytes);
    }
    plan_.work *= plan_.blocks * plan_.elements;
    for (size_t k = 0; k < plan_.steps.size(); ++k) plan_.steps[k].last_use = is_last(k);
    for (const PartReduction& total : plan_.totals) widest = larger(widest, type_table[total.type].bytes);
    int64_t in_strips = 4;
    for (const BlockMember& m : plan_.members) in_strips = larger(in_strips, m.width);
    plan_.strip = plan_.reduced != 0 ? strip_bytes / in_strips : plan_.elements;
    find_runs();
    place_buffers(widest);
    return true;
  }

  // Finds steps one after the other whose results have the same axes.
  void find_runs() {
    for (int k = 0, begin = 0; k < int(plan_.steps.size()); ++k) {
      BlockStep& step = plan_.steps[size_t(k)];
      const BlockStep& first = plan_.steps[size_t(begin)];
      const bool joins = plan_.reduced != 0 && !step.as_tensors && !first.as_tensors &&
                         plan_.members[size_t(first.out)].present == plan_.members[size_t(step.out)].present;
      if (!joins) begin = k;
      step.begin = begin;
      for (int s = begin; s <= k; ++s) plan_.steps[size_t(s)].end = k + 1;
    }
  }

  // Where the elements of a group are not reduced, buffers are those of its plan: all have the elements of a block.
  void place_buffers(int64_t widest) {
    const int64_t block = padded(plan_.elements * widest);
    if (plan_.reduced != 0) {
      plan_.scratch_bytes = padded(smaller(plan_.strip, plan_.elements) * widest);
      place_in_use(block);
    } else {
      for (size_t k = 0; k < plan_.members.size(); ++k) plan_.members[k].buffer = group_.members[k].slot * block;
      plan_.scratch = group_.slots * block;
      plan_.scratch_bytes = block;
    }
    plan_.arena_bytes = plan_.scratch + plan_.scratch_bytes * scratch_slots;
  }

  static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // The steps that use each member, the first and the last one.
  struct Uses {
    int first[most_values], last[most_values];
  };
  void find_uses(Uses* uses) const {
    for (size_t k = 0; k < plan_.members.size(); ++k) uses->first[k] = -1;
    const auto use = [&](int member, int step) {
      if (uses->first[member] < 0) uses->first[member] = step;
      uses->last[member] = step;
    };
    for (int k = 0; k < int(plan_.steps.size()); ++k) {
      const BlockStep& step = plan_.steps[size_t(k)];
      for (int i = 0; i < step.step->inputs; ++i) use(step.in[i], k);
      use(step.out, k);
    }
  }

  // Gives buffers to members, which share those that are not in use together. Results that the steps of one run alone use need no
  // more than a strip; other members are in use during all of a run.
  void place_in_use(int64_t block) {
    Uses uses;
    find_uses(&uses);
    int busy[2][most_values], count[2] = {0, 0};  // the step until which each buffer is in use: of blocks, and of strips
    for (size_t k = 0; k < plan_.members.size(); ++k) {
      const BlockStep &first = plan_.steps[size_t(uses.first[k])], &last = plan_.steps[size_t(uses.last[k])];
      const bool kept = group_.members[k].kept;
      const bool local = !group_.members[k].outside && !kept && !first.as_tensors && first.begin == last.begin;
      const int from = local ? uses.first[k] : first.begin;
      int slot = 0;
      while (slot < count[local] && busy[local][slot] >= from) ++slot;
      if (slot == count[local]) ++count[local];
      busy[local][slot] = kept ? int(plan_.steps.size()) : local ? uses.last[k] : last.end - 1;
      plan_.members[k].local = local;
      plan_.members[k].buffer = slot * (local ? plan_.scratch_bytes : block);
    }
    for (BlockMember& m : plan_.members)
      if (m.local) m.buffer += count[0] * block;
    plan_.scratch = count[0] * block + count[1] * plan_.scratch_bytes;
  }

  bool is_last(size_t number) const {
    const BlockStep& made = plan_.steps[number];
    if (made.as_tensors || made.found.loop == nullptr || made.found.out.count > 0) return false;
    for (size_t k = number + 1; k < plan_.steps.size(); ++k)
      for (int i = 0; i < plan_.steps[k].step->inputs; ++i)
        if (plan_.steps[k].in[i] == made.out) return false;
    return true;
  }

  bool find_loops(const ProgramStep& step, BlockStep* to) {
    int from[3];
    for (int k = 0; k < step.inputs; ++k) from[k] = program_.values[size_t(step.in[k].value)].type;
    const int type = program_.values[size_t(step.out)].type;
    to->found.weight = 1;
    to->found.loop_type = type;
    switch (step.kind) {
      case StepKind::element:
        return find_element_loop(step.op, step.saturate ? run_saturate : 0, step.type, from, type, &to->found).ok();
      case StepKind::choose: to->found.loop = kernels().index->choose[width_index(type_table[type].bytes)]; return true;
      case StepKind::cast:
        to->as_tensors = step.cast.scaled;
        return step.cast.scaled || find_cast(step.cast, from[0], type, &to->found).ok();
      default: break;
    }
    if (!group_.totals || step.kind != StepKind::reduce) {
      to->as_tensors = true;
      return true;
    }
    to->total = int(plan_.totals.size());
    return find_parts(step.op, step.reduce, step.type, from[0], &plan_.totals.emplace_back());
  }
};

}  // namespace

bool plan_axes(const Program& program, const ProgramGroup& group, const ValuePlace* places, BlockPlan* plan) {
  return Planner(program, group, places, plan).plan_axes();
}

bool plan_blocks(const Program& program, const ProgramGroup& group, const ValuePlace* places, bool whole_rows,
                 BlockPlan* plan) {
  return Planner(program, group, places, plan).plan(whole_rows);
}

}  // namespace dlt
