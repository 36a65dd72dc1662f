// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a group block by block: each is one call of a loop over what lies in the first caches.
#include <string.h>

#include <atomic>

#include "native/cpu/copy/copy.h"
#include "native/cpu/elementwise/streaming.h"
#include "native/cpu/program/blocks.h"
#include "native/cpu/reduce/reduce.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t share_from = int64_t(1) << 20;  // work from which a second thread is faster
constexpr int64_t local_bytes = 32 << 10;         // of buffers without an allocation
constexpr int64_t few_rows = 4, long_row = 32;    // rows that are run one by one
constexpr int64_t repeated_from = 256, repeated_elements = 512;  // rows that are shorter are run so many elements at a time
constexpr int64_t strip_bytes = 4096;             // that are computed before they are stored past the caches
constexpr int64_t nowhere[3] = {0, 0, 0};
// Buffers after those of the values.
enum Scratch { converted = 0, expanded = 3, before_cast = 6, between = 7 };

// One block: where it begins, and how far it goes.
struct BlockRange {
  int64_t first[most_axes], extents[most_axes];
  int64_t elements(uint32_t present, int axes) const {
    int64_t n = 1;
    for (int a = 0; a < axes; ++a)
      if (present >> a & 1) n *= extents[a];
    return n;
  }
};

// The parts of a block of so many elements at most, along the axes of the results.
struct Strips {
  int axes;
  int64_t extents[most_axes], counts[most_axes], count = 1;

  Strips(const BlockRange& block, uint32_t present, int axes, int64_t room) : axes(axes) {
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t n = block.extents[a];
      extents[a] = present >> a & 1 ? smaller(n, room) : n;
      counts[a] = ceil_divide(n, extents[a]);
      count *= counts[a];
      if (present >> a & 1) room = extents[a] == n ? larger(room / n, 1) : 1;
    }
  }

  void locate(int64_t number, const BlockRange& block, BlockRange* strip) const {
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t start = number % counts[a] * extents[a];
      number /= counts[a];
      strip->first[a] = block.first[a] + start;
      strip->extents[a] = smaller(extents[a], block.extents[a] - start);
    }
  }
};

class Runner {
 public:
  // `states`: of each total.
  Runner(const Program& program, const BlockPlan& plan, char* arena, char* states)
      : program_(program), plan_(plan), arena_(arena), states_(states) {}

  Status run(int64_t number) {
    locate(number);
    for (size_t k = 0; k < plan_.members.size(); ++k) at_[k] = nullptr;
    for (int k = 0; k < int(plan_.steps.size()); k = plan_.steps[size_t(k)].end) {
      const BlockStep& step = plan_.steps[size_t(k)];
      if (!step.as_tensors && elements(plan_.members[size_t(step.out)].present) > plan_.strip) DLT_TRY(run_strips(k, step.end));
      else DLT_TRY(run_steps(k, step.end));
    }
    return success;
  }

 private:
  const Program& program_;
  const BlockPlan& plan_;
  char* arena_;
  BlockRange block_;
  char* states_;
  char* at_[most_values];  // of each member in this block, contiguous
  bool streams_ = false;   // the results of the current step go past the caches

  char* buffer(const BlockMember& m) const { return arena_ + m.buffer; }
  char* scratch(int number) const { return arena_ + plan_.scratch + number * plan_.scratch_bytes; }
  int64_t elements(uint32_t present) const { return block_.elements(present, plan_.axes); }

  Status run_steps(int first, int last) {
    for (int k = first; k < last; ++k) {
      const BlockStep& step = plan_.steps[size_t(k)];
      for (int i = 0; i < step.step->inputs; ++i) DLT_TRY(bring(step.in[i]));
      if (step.total >= 0) {
        add_total(step);
        continue;
      }
      prepare(step);
      DLT_TRY(step.as_tensors ? run_tensors(step) : run_loop(step));
      DLT_TRY(deliver(step.out));
    }
    return success;
  }

  // Runs steps over parts of the block that are in the first cache for all of them. Operands and results are brought and placed for
  // the whole block.
  Status run_strips(int first, int last) {
    for (int k = first; k < last; ++k) {
      const BlockStep& step = plan_.steps[size_t(k)];
      for (int i = 0; i < step.step->inputs; ++i) DLT_TRY(bring(step.in[i]));
      prepare(step);
    }
    const Strips strips(block_, plan_.members[size_t(plan_.steps[size_t(first)].out)].present, plan_.axes, plan_.strip);
    const BlockRange whole = block_;
    char* base[most_values];
    memcpy(base, at_, plan_.members.size() * sizeof *at_);
    for (int64_t number = 0; number < strips.count; ++number) {
      strips.locate(number, whole, &block_);
      for (int k = first; k < last; ++k) {
        const BlockStep& step = plan_.steps[size_t(k)];
        for (int i = 0; i < step.step->inputs; ++i) at_[step.in[i]] = base[step.in[i]] + offset_in(whole, step.in[i]);
        at_[step.out] = base[step.out] + offset_in(whole, step.out);
        const BlockMember& m = plan_.members[size_t(step.out)];
        streams_ = plan_.streams && step.last_use && m.data != nullptr && at_[step.out] == memory(m);
        DLT_TRY(run_loop(step));
        DLT_TRY(deliver(step.out));
      }
    }
    block_ = whole;
    memcpy(at_, base, plan_.members.size() * sizeof *at_);
    return success;
  }

  // Bytes from the first element of a member in a block, one after the other, to its first one in the strip at `block_`.
  int64_t offset_in(const BlockRange& whole, int member) const {
    const BlockMember& m = plan_.members[size_t(member)];
    if (m.local) return 0;
    int64_t offset = 0, step = 1;
    for (int a = plan_.axes - 1; a >= 0; --a) {
      if (!(m.present >> a & 1)) continue;
      offset += (block_.first[a] - whole.first[a]) * step;
      step *= whole.extents[a];
    }
    return offset * m.width;
  }

  void locate(int64_t number) {
    for (int a = plan_.axes - 1; a >= 0; --a) {
      const int64_t count = plan_.counts[a], index = count == 1 ? 0 : number % count;
      if (count != 1) number /= count;
      block_.first[a] = index * plan_.block[a];
      block_.extents[a] = smaller(plan_.block[a], plan_.extents[a] - block_.first[a]);
    }
  }

  char* memory(const BlockMember& m) const {
    int64_t offset = 0;
    for (int a = 0; a < plan_.axes; ++a) offset += block_.first[a] * m.strides[a];
    return m.data + offset * m.width;
  }

  // Returns whether the elements of this block lie one after the other in memory.
  bool is_in_order(const BlockMember& m) const {
    int64_t step = 1;
    for (int a = plan_.axes - 1; a >= 0; --a) {
      if (!(m.present >> a & 1) || block_.extents[a] == 1) continue;
      if (m.strides[a] != step) return false;
      step *= block_.extents[a];
    }
    return true;
  }

  struct View {
    int64_t shape[most_axes], strides[most_axes];
    DLTensor tensor;
  };

  // The elements of a member in this block as a tensor: in memory, or one after the other.
  void describe(const BlockMember& m, int type, char* data, bool in_memory, View* view) const {
    int64_t step = 1;
    for (int a = plan_.axes - 1; a >= 0; --a) {
      view->shape[a] = m.present >> a & 1 ? block_.extents[a] : 1;
      view->strides[a] = in_memory ? m.strides[a] : step;
      step *= view->shape[a];
    }
    view->tensor = {data, {kDLCPU, 0}, plan_.axes, type_table[type].dtype, view->shape, view->strides, 0};
  }

  // Sees that an operand is contiguous.
  Status bring(int k) {
    if (at_[k] != nullptr) return success;
    const BlockMember& m = plan_.members[size_t(k)];
    at_[k] = memory(m);
    if (is_in_order(m)) return success;
    return copy_member(m, at_[k], true, buffer(m), false, &at_[k]);
  }

  Status copy_member(const BlockMember& m, char* from, bool from_memory, char* to, bool to_memory, char** at) {
    static constexpr DLDataType of_width[5] = {
        {kDLUInt, 8, 1}, {kDLUInt, 16, 1}, {kDLUInt, 32, 1}, {kDLUInt, 64, 1}, {kDLComplex, 128, 1}};
    View source, target;
    describe(m, type_uint8, from, from_memory, &source);
    describe(m, type_uint8, to, to_memory, &target);
    source.tensor.dtype = target.tensor.dtype = of_width[width_index(m.width)];
    *at = to;
    return copy(target.tensor, source.tensor, false) ? success : no_temporary();
  }

  // Chooses where a result is computed: where it belongs, or in a buffer.
  void prepare(const BlockStep& step) {
    const int k = step.out;
    const BlockMember& m = plan_.members[size_t(k)];
    streams_ = m.data != nullptr && plan_.streams && step.last_use && is_in_order(m);
    at_[k] = m.data != nullptr && (streams_ || !plan_.streams) && is_in_order(m) ? memory(m) : buffer(m);
  }

  // Brings a result from its buffer to where it belongs.
  Status deliver(int k) {
    const BlockMember& m = plan_.members[size_t(k)];
    if (m.data == nullptr) return success;
    char* to = memory(m);
    if (to == at_[k]) return success;
    if (plan_.streams && is_in_order(m)) {
      stream_row(kernels(), to, at_[k], elements(m.present) * m.width);
      return success;
    }
    char* stays = at_[k];
    return copy_member(m, at_[k], false, to, true, &stays);
  }

  Status run_tensors(const BlockStep& to) {
    const ProgramStep& step = *to.step;
    View in[3], out;
    EngineOperand operands[3];
    for (int k = 0; k < step.inputs; ++k) {
      const int type = program_.values[size_t(step.in[k].value)].type;
      describe(plan_.members[size_t(to.in[k])], type, at_[to.in[k]], false, &in[k]);
      operands[k] = EngineOperand(&in[k].tensor, nullptr);
    }
    describe(plan_.members[size_t(to.out)], program_.values[size_t(step.out)].type, at_[to.out], false, &out);
    const EngineOperand target(&out.tensor, nullptr);
    switch (step.kind) {
      case StepKind::reduce: {
        ReduceOptions options = step.reduce;
        options.initial = options.initial_type < 0 ? nullptr : step.initial;
        return reduce(step.op, options, step.type, in[0].tensor, nullptr, plan_.reduced, out.tensor);
      }
      case StepKind::cast: return cpu::cast(operands[0], target, step.cast, LaunchContext());
      default:
        return cpu::real(Real(step.op), step.number, operands[0], step.inputs > 1 ? &operands[1] : nullptr, target,
                         LaunchContext());
    }
  }

  // Runs a pipeline; returns where its results are.
  const char* convert(const CastPipeline& pipeline, const char* from, char* to, int64_t n) const {
    return static_cast<const char*>(run_pipeline(pipeline, to, from, n, scratch(between), scratch(between + 1)));
  }

  void add_total(const BlockStep& step) const {
    const PartReduction& parts = plan_.totals[size_t(step.total)];
    const uint32_t present = plan_.members[size_t(step.in[0])].present;
    for (int a = 0; a < plan_.axes; ++a)
      if (!(present >> a & 1) && block_.first[a] != 0) return;  // a block further along has the same elements
    const int64_t n = elements(present);
    const char* from = convert(parts.pipeline, at_[step.in[0]], scratch(converted), n);
    add_part(parts, states_ + step.total * part_state_bytes, from, n);
  }

  struct Lane {
    const char* data;
    uint32_t present;
    int64_t width;
  };

  // Runs a loop into `out`, or by strips into a buffer that is then stored past the caches.
  void call(const BlockStep& to, char* out, const Lane* lanes, const int64_t* offsets, int64_t n, unsigned scalars) const {
    const char* from[3];
    for (int k = 0; k < 3; ++k) from[k] = lanes[k].data + offsets[k];
    if (!streams_) return to.found.loop(out, from[0], from[1], from[2], n, scalars);
    const int64_t width = type_table[to.found.loop_type].bytes, strip = strip_bytes / width;
    const int64_t head = int64_t(-reinterpret_cast<uintptr_t>(out) & 63) / width;  // up to a cache line
    for (int64_t done = 0, part = smaller(head > 0 ? head : strip, n); done < n; part = smaller(strip, n - done)) {
      to.found.loop(scratch(before_cast), from[0], from[1], from[2], part, scalars);
      stream_row(kernels(), out + done * width, scratch(before_cast), part * width);
      for (int k = 0; k < 3; ++k)
        if (!(scalars >> k & 1)) from[k] += part * lanes[k].width;
      done += part;
    }
  }

  Status run_loop(const BlockStep& to) {
    const ElementLoop& found = to.found;
    const uint32_t present = plan_.members[size_t(to.out)].present;
    const int64_t n = elements(present);
    char* const out = at_[to.out];
    if (found.loop == nullptr) {  // a cast
      const BlockMember& m = plan_.members[size_t(to.in[0])];
      const char* result = convert(found.in[0], at_[to.in[0]], out, n);
      if (result != out) memcpy(out, result, size_t(n * m.width));
      return success;
    }
    Lane lanes[3] = {};
    unsigned scalars = 0;
    bool partial = false;
    for (int k = 0; k < to.step->inputs; ++k) {
      const int from = found.swapped ? 1 - k : k, member = to.in[from];
      const BlockMember& m = plan_.members[size_t(member)];
      const CastPipeline& pipeline = found.in[k];
      lanes[k].present = m.present;
      lanes[k].width = pipeline.count > 0 ? type_table[pipeline.types[pipeline.count]].bytes : m.width;
      const int64_t count = elements(m.present);
      lanes[k].data = convert(pipeline, at_[member], scratch(converted + k), count);
      if (m.present == present) continue;
      if (count == 1) scalars |= 1u << k;
      else partial = true;
    }
    char* direct = found.out.count > 0 ? scratch(before_cast) : out;
    if (partial) DLT_TRY(run_partial(to, lanes, scalars, direct));
    else call(to, direct, lanes, nowhere, n, scalars);
    if (found.out.count > 0) convert(found.out, direct, out, n);
    return success;
  }

  // Operands that are repeated along some axes: rows of what is whole along the inner axes, and missing or one element there.
  Status run_partial(const BlockStep& to, Lane* lanes, unsigned scalars, char* out) {
    const uint32_t present = plan_.members[size_t(to.out)].present;
    const int inputs = to.step->inputs;
    for (int split = 0; split < plan_.axes; ++split) {
      const uint32_t outer = present & ((1u << split) - 1), inner = present & ~outer;
      bool fits = true, repeats = true;
      for (int k = 0; k < inputs; ++k) {
        const uint32_t a = lanes[k].present & outer, b = lanes[k].present & inner;
        fits &= (a == 0 || a == outer) && (b == 0 || b == inner);
        repeats &= b != 0 || a == 0;
      }
      const int64_t n = elements(inner), rows = elements(outer);
      if (fits && repeats && n < repeated_from && rows > few_rows) return run_repeated(to, lanes, scalars, out, n, rows);
      if (!fits || (n < long_row && rows > few_rows)) continue;
      int64_t steps[3] = {};
      for (int k = 0; k < inputs; ++k) {
        const bool whole = (lanes[k].present & inner) != 0 || inner == 0;
        if (!whole) scalars |= 1u << k;
        if ((lanes[k].present & outer) != 0) steps[k] = lanes[k].width * (whole ? n : 1);
      }
      const int64_t out_step = n * type_table[to.found.loop_type].bytes;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t offsets[3] = {r * steps[0], r * steps[1], r * steps[2]};
        call(to, out + r * out_step, lanes, offsets, n, scalars);
      }
      return success;
    }
    return run_expanded(to, lanes, out);
  }

  // Rows of n elements, several at a time: operands that all rows share are repeated in a buffer.
  Status run_repeated(const BlockStep& to, Lane* lanes, unsigned scalars, char* out, int64_t n, int64_t rows) {
    const int64_t together = smaller(rows, larger(repeated_elements / n, 1));
    const uint32_t present = plan_.members[size_t(to.out)].present;
    int64_t steps[3] = {};
    for (int k = 0; k < to.step->inputs; ++k) {
      const int64_t bytes = n * lanes[k].width;
      if (scalars >> k & 1) continue;
      if (lanes[k].present == present) {
        steps[k] = bytes;
        continue;
      }
      char* const repeated = scratch(expanded + k);
      memcpy(repeated, lanes[k].data, size_t(bytes));
      for (int64_t done = 1; done < together; done *= 2)
        memcpy(repeated + done * bytes, repeated, size_t(smaller(done, together - done) * bytes));
      lanes[k].data = repeated;
    }
    const int64_t out_step = n * type_table[to.found.loop_type].bytes;
    for (int64_t r = 0; r < rows; r += together) {
      const int64_t offsets[3] = {r * steps[0], r * steps[1], r * steps[2]};
      call(to, out + r * out_step, lanes, offsets, smaller(together, rows - r) * n, scalars);
    }
    return success;
  }

  // The same where rows would be short: operands are repeated in a buffer.
  Status run_expanded(const BlockStep& to, Lane* lanes, char* out) {
    const BlockMember& m = plan_.members[size_t(to.out)];
    unsigned scalars = 0;
    for (int k = 0; k < to.step->inputs; ++k) {
      if (lanes[k].present == m.present) continue;
      if (elements(lanes[k].present) == 1) {
        scalars |= 1u << k;
        continue;
      }
      BlockMember source = m;
      source.width = lanes[k].width;
      int64_t step = 1;
      for (int a = plan_.axes - 1; a >= 0; --a) {
        const bool has = lanes[k].present >> a & 1;
        source.strides[a] = has ? step : 0;
        if (has) step *= block_.extents[a];
      }
      char* at = nullptr;
      DLT_TRY(copy_member(source, const_cast<char*>(lanes[k].data), true, scratch(expanded + k), false, &at));
      lanes[k].data = at;
    }
    call(to, out, lanes, nowhere, elements(m.present), scalars);
    return success;
  }
};

// The chunks of the blocks that threads take, and the totals of each.
class ChunkedRun {
 public:
  ChunkedRun(const Program& program, const BlockPlan& plan) : program_(program), plan_(plan) {}

  Status run(bool* decided) {
    const bool shared = plan_.work >= share_from && plan_.blocks > 1 && num_threads() > 1;
    chunks_ = shared ? smaller(plan_.blocks, int64_t(8) * num_threads()) : 1;
    const size_t state_bytes = size_t(chunks_) * plan_.totals.size() * part_state_bytes;
    alignas(64) char few[local_states * part_state_bytes];
    BlockRef memory;
    states_ = few;
    if (state_bytes > sizeof few) {
      DLT_TRY(allocate(state_bytes, &memory));
      states_ = static_cast<char*>(memory.block->data);
    }
    parallel_if(shared, chunks_, [this](int64_t number) { run_chunk(number); });
    if (fault_.load() != int(Fault::none)) return fail(Fault(fault_.load()), "no memory left for a temporary");
    end_totals(decided);
    return success;
  }

 private:
  static constexpr int local_states = 4;
  const Program& program_;
  const BlockPlan& plan_;
  int64_t chunks_ = 1;
  char* states_ = nullptr;  // by chunk and total
  std::atomic<int> fault_{int(Fault::none)};

  char* states_of(int64_t chunk) const { return states_ + chunk * int64_t(plan_.totals.size()) * part_state_bytes; }

  void run_chunk(int64_t number) {
    alignas(64) char local[local_bytes];
    BlockRef memory;
    char* arena = local;
    if (plan_.arena_bytes > local_bytes) {
      memory.block = allocate(size_t(plan_.arena_bytes));
      if (memory.block == nullptr) return fault_.store(int(Fault::memory));
      arena = static_cast<char*>(memory.block->data);
    }
    for (size_t t = 0; t < plan_.totals.size(); ++t) start_parts(plan_.totals[t], states_of(number) + t * part_state_bytes);
    Runner runner(program_, plan_, arena, states_of(number));
    const int64_t begin = plan_.blocks * number / chunks_, end = plan_.blocks * (number + 1) / chunks_;
    for (int64_t b = begin; b < end; ++b)
      if (const Status status = runner.run(b); !status.ok()) return fault_.store(int(status.fault));
    if (plan_.streams) end_streaming(kernels());
  }

  void end_totals(bool* decided) const {
    for (const BlockStep& step : plan_.steps) {
      if (step.total < 0) continue;
      const PartReduction& parts = plan_.totals[size_t(step.total)];
      char* const state = states_of(0) + step.total * part_state_bytes;
      for (int64_t c = 1; c < chunks_; ++c) join_parts(parts, state, states_of(c) + step.total * part_state_bytes);
      int64_t count = 1;
      for (int a = 0; a < plan_.axes; ++a)
        if (plan_.members[size_t(step.in[0])].present >> a & 1) count *= plan_.extents[a];
      *decided &= end_parts(parts, state, count, plan_.members[size_t(step.out)].data);
    }
  }
};

}  // namespace

Status run_blocks(const Program& program, const BlockPlan& plan, bool* decided) noexcept {
  return ChunkedRun(program, plan).run(decided);
}

}  // namespace dlt
