// SPDX-License-Identifier: Apache-2.0
// Groups of steps to launches: the axes of their rows, which threads take them, and the parameters of kernels.
#include "native/cuda/program/program.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "native/cpu/program/blocks.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/program/text.h"
#include "native/cuda/reduce/axes.h"
#include "native/cuda/reduce/reduce.h"

namespace dlt::cuda {
namespace {

using kernels::divider;
using kernels::Steps;

constexpr int64_t block_threads = 256, most_kept = 32;  // most_kept: elements of a row that a thread keeps
constexpr int64_t longest_row = int64_t{1} << 28;       // whose elements are read again without carries

// The kernels of a group by what they are compiled for. Null functions are those that do not compile.
class GroupKernels {
 public:
  GroupText text;
  bool runs_alone = false;  // a reduction by the engine's own kernels

  bool find(uint64_t key, Kernel* out) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (const auto& [known, kernel] : known_)
      if (known == key) return *out = kernel, true;
    return false;
  }
  void add(uint64_t key, const Kernel& kernel) {
    std::lock_guard<std::mutex> hold(mutex_);
    known_.emplace_back(key, kernel);
  }

 private:
  std::mutex mutex_;  // held for no longer: a launch may wait for a thread that needs the same function
  std::vector<std::pair<uint64_t, Kernel>> known_;
};
struct ProgramKernels {
  std::deque<GroupKernels> groups;
  bool complete = true;  // a kernel computes each group
};

// One launch of a group.
struct GroupLaunch {
  Steps p;
  int packs = 0, vec = 1, from = 0, to = 0;  // as RowRun has them
  unsigned modes = 0;
  bool of_rows = false;

  std::string expression() const {
    std::string text = std::string("dlt::kernels::program::") + (of_rows ? "rows" : "elements") +
                       "<dlt::kernels::program::Group";
    if (of_rows) text += ", " + std::to_string(packs);
    text += ", " + std::to_string(vec) + ", " + std::to_string(modes) + "u";
    if (of_rows) text += ", " + std::to_string(from) + ", " + std::to_string(to);
    return text + ">";
  }
  uint64_t key(int device) const {
    KernelKey key;
    key.add(uint64_t{modes}, 32);
    key.add(static_cast<uint64_t>(vec), 5);
    key.add(static_cast<uint64_t>(packs), 6);
    key.add(static_cast<uint64_t>(from), 8);
    key.add(from == to, 1);  // else `to` is the last phase
    key.add(of_rows, 1);
    key.add(static_cast<uint64_t>(device), 6);
    return key.word;
  }
};

// A group over concrete tensors.
class GroupRun {
 public:
  GroupRun(const Program& program, const ProgramGroup& group, GroupKernels& kernels, const ValuePlace* places,
           const LaunchContext& context)
      : program_(program),
        group_(group),
        kernels_(kernels),
        text_(kernels.text),
        places_(places),
        context_(context),
        device_(*context.stream->device) {}

  // False: the group has another form.
  bool plan() {
    if (!plan_axes(program_, group_, places_, &plan_)) return false;
    for (const int member : text_.reduced)
      if ((plan_.members[size_t(member)].present & plan_.reduced) != plan_.reduced) return false;
    for (const int member : text_.tensors)  // extents may be such that a value of a row has one for each element
      if (!text_.of_elements[size_t(member)] && (plan_.members[size_t(member)].present & plan_.reduced)) return false;
    return true;
  }

  Status run(bool* ran) {
    GroupLaunch launch;
    launch.of_rows = text_.phases > 0;
    describe(&launch);
    if (!launch.of_rows) return run_elements(launch, ran);
    if (launch.p.count >= uint64_t(longest_row)) return *ran = false, success;
    return run_rows(launch, ran);
  }

 private:
  const Program& program_;
  const ProgramGroup& group_;
  GroupKernels& kernels_;
  const GroupText& text_;
  const ValuePlace* places_;
  const LaunchContext& context_;
  Device& device_;
  BlockPlan plan_;
  int axes_[most_axes];  // of the plan, in the order of the kernel

  const BlockMember& member(size_t tensor) const { return plan_.members[size_t(text_.tensors[tensor])]; }

  // Addresses, strides and extents: axes of rows first, then those of their elements.
  void describe(GroupLaunch* launch) {
    Steps& p = launch->p;
    p = {};
    uint32_t inner = plan_.reduced;
    if (!launch->of_rows) inner = plan_.axes > 0 ? 1u << (plan_.axes - 1) : 0;
    int count = 0;
    for (int side = 0; side < 2; ++side)
      for (int a = 0; a < plan_.axes; ++a)
        if (int(inner >> a & 1) == side) axes_[count++] = a;
    p.reduced = std::popcount(inner);
    p.kept = plan_.axes - p.reduced;
    p.rows = p.count = 1;
    for (int d = 0; d < plan_.axes; ++d) {
      const auto n = static_cast<uint64_t>(plan_.extents[axes_[d]]);
      p.extent[d] = divider<uint64_t>(n);
      (d < p.kept ? p.rows : p.count) *= n;
    }
    const size_t results = text_.tensors.size() - size_t(text_.results);
    for (size_t k = 0; k < text_.tensors.size(); ++k) {
      const BlockMember& m = member(k);
      p.tensor[k] = m.data;
      for (int d = 0; d < plan_.axes; ++d) {
        p.stride[k][d] = m.present >> axes_[d] & 1 ? m.strides[axes_[d]] : 0;
        if (k >= results && !(m.present >> axes_[d] & 1)) p.absent[k] |= 1u << d;
      }
    }
    for (size_t k = 0; k < text_.numbers.size(); ++k) {
      const int value = text_.numbers[k];
      memcpy(p.value[k].bytes, places_[value].data, static_cast<size_t>(type_table[program_.values[size_t(value)].type].bytes));
    }
  }

  bool is_of_elements(size_t tensor) const { return text_.of_elements[size_t(text_.tensors[tensor])]; }

  // Chooses how many elements are taken together: 16 bytes of the widest tensor, where all addresses allow that.
  void choose_packs(GroupLaunch* launch) const {
    Steps& p = launch->p;
    int64_t widest = 1;
    unsigned modes = 0;
    bool fits = p.reduced == 1;
    for (size_t k = 0; fits && k < text_.tensors.size(); ++k) {
      const int64_t step = p.stride[k][p.kept];
      if (!is_of_elements(k)) continue;
      modes |= unsigned(step == 1   ? kernels::mode_run
                        : step == 0 ? kernels::mode_repeat
                                    : kernels::mode_strided)
               << (kernels::mode_bits * k);
      if (step == 1) widest = std::max(widest, member(k).width);
      fits = fits && (step == 0 || step == 1 || p.count >= 64);
    }
    const int64_t vec = widest >= 16 ? 1 : 16 / widest;
    fits = fits && vec > 1 && p.count >= uint64_t(vec);
    for (size_t k = 0; fits && k < text_.tensors.size(); ++k) {
      if (!is_of_elements(k) || p.stride[k][p.kept] != 1) continue;
      const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(16, vec * member(k).width));
      fits = reinterpret_cast<uintptr_t>(p.tensor[k]) % alignment == 0;
      for (int d = 0; d < p.kept; ++d) fits = fits && p.stride[k][d] % vec == 0;
    }
    launch->vec = fits ? int(vec) : 1;
    launch->modes = fits ? modes : 0;
    p.packs = (p.count - 1) / uint64_t(launch->vec) + 1;
    p.row_packs = divider<uint64_t>(p.packs);
  }

  // `ran` becomes false where it cannot be compiled.
  Status find(const GroupLaunch& launch, Kernel* out, bool* ran) {
    const uint64_t key = launch.key(device_.ordinal);
    if (kernels_.find(key, out)) return *ran = out->function != nullptr, success;
    const Status status = get_user_kernel(device_, text_.text, launch.expression(), nullptr, out);
    if (status.fault == Fault::memory) return status;
    if (!status.ok()) *out = Kernel();
    *ran = status.ok();
    kernels_.add(key, *out);
    return success;
  }

  Status run_elements(GroupLaunch& launch, bool* ran) {
    choose_packs(&launch);
    Kernel kernel;
    DLT_TRY(find(launch, &kernel, ran));
    if (!*ran) return success;
    const auto items = static_cast<int64_t>(launch.p.rows * launch.p.packs);
    const int64_t each = launch.vec > 8 ? 1 : 2;
    Geometry geometry = geometry_for(device_, kernel.blocks_per_multiprocessor, up(items, each),
                                     static_cast<int64_t>(launch.p.rows * launch.p.count), context_.launch);
    geometry.threads = std::min(geometry.threads, static_cast<unsigned>(block_threads));
    return launch_kernel(device_, kernel, geometry, *context_.stream, &launch.p);
  }

  // Do rows lie closer in memory than the elements of one?
  bool is_across(const Steps& p) const {
    if (p.kept == 0) return false;
    for (size_t k = 0; k < text_.tensors.size(); ++k) {
      const int64_t along = magnitude(p.stride[k][p.kept + p.reduced - 1]), between = magnitude(p.stride[k][p.kept - 1]);
      if (is_of_elements(k) && along != 0 && between != 0) return between < along;
    }
    return false;
  }

  // Shares rows among threads.
  void share(GroupLaunch* launch) const {
    Steps& p = launch->p;
    p.across = is_across(p);
    const auto packs = static_cast<int64_t>(p.packs);
    int64_t most = block_threads;
    if (p.across) most /= std::min<int64_t>(32, power_up(plan_.extents[axes_[p.kept - 1]]));
    int64_t kept = 8;
    while (kept < most_kept && kept * most < packs * launch->vec) kept *= 2;
    launch->packs = int(std::max<int64_t>(1, kept / launch->vec));
    if (std::max(text_.phases, text_.last + 1) == 1 || launch->packs * most < packs) launch->packs = 0;  // read in each phase
    const int64_t lanes = std::clamp<int64_t>(power_up(up(packs, launch->packs ? launch->packs : 4)), 1, most);
    p.lane_bits = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(lanes)));
    const int64_t groups = up(static_cast<int64_t>(p.rows), block_threads / lanes);
    const int64_t resident = int64_t{std::max(1, device_.properties.multiprocessor_count)} * 4;
    p.parts = 1;
    p.part = p.packs;
    // Long rows that are too few for all multiprocessors.
    if (launch->packs == 0 && groups < (text_.last <= 0 ? resident : resident / 8) && packs > 16 * lanes) {
      const int64_t parts = std::min(std::max<int64_t>(1, resident / groups), up(packs, 16 * lanes));
      p.part = static_cast<uint64_t>(up(up(packs, parts), lanes) * lanes);
      p.parts = (p.packs - 1) / p.part + 1;
    }
    p.groups = divider<uint64_t>(static_cast<uint64_t>(groups));
    p.tiles = static_cast<uint64_t>(groups) * p.parts;
  }

  Status run_rows(GroupLaunch& launch, bool* ran) {
    choose_packs(&launch);
    share(&launch);
    if (launch.p.parts == 1) {
      launch.to = text_.phases;
      return launch_rows(launch, ran);
    }
    Scratch states;
    DLT_TRY(
        states.make(launch.p.rows * launch.p.parts * text_.reduced.size() * kernels::program_state_bytes, *context_.stream));
    launch.p.states = states.as<void>();
    for (int phase = 0; *ran && phase <= text_.phases; ++phase) {
      launch.from = launch.to = phase;
      if (phase > std::max(0, text_.last) && phase == text_.phases) launch.p.tiles = launch.p.groups.divisor;
      DLT_TRY(launch_rows(launch, ran));
    }
    return success;
  }

  Status launch_rows(const GroupLaunch& launch, bool* ran) {
    Kernel kernel;
    DLT_TRY(find(launch, &kernel, ran));
    if (!*ran) return success;
    Steps p = launch.p;
    return launch_kernel(device_, kernel, blocks_for(device_, kernel, p.tiles, block_threads), *context_.stream, &p);
  }
};

std::shared_ptr<ProgramKernels> make_kernels(const Program& program) {
  auto kernels = std::make_shared<ProgramKernels>();
  kernels->complete = program.on_device;
  for (const ProgramGroup& group : program.together) {
    GroupKernels& own = kernels->groups.emplace_back();
    own.text = print_group(program, group);
    const ProgramStep& first = program.steps[size_t(group.first)];
    own.runs_alone = own.text.text.empty() && group.last == group.first + 1 && first.kind == StepKind::reduce;
    kernels->complete &= own.runs_alone || !own.text.text.empty();
  }
  return kernels;
}

ProgramKernels& kernels_of(const Program& program) {
  static std::mutex making;
  std::lock_guard<std::mutex> hold(making);
  if (!program.device_kernels) program.device_kernels = make_kernels(program);
  return *static_cast<ProgramKernels*>(program.device_kernels.get());
}

// All groups, one after the other.
Status run_groups(const Program& program, ValuePlace* places, const LaunchContext& context, bool* ran) {
  ProgramKernels& kernels = kernels_of(program);
  *ran = kernels.complete;
  std::vector<Scratch> memory(program.values.size());
  for (size_t g = 0; *ran && g < program.together.size(); ++g) {
    const ProgramGroup& group = program.together[g];
    for (const auto& m : group.members) {
      ValuePlace& place = places[m.value];
      if (!m.kept || place.data != nullptr) continue;
      Scratch& own = memory[size_t(m.value)];
      DLT_TRY(own.make(static_cast<uint64_t>(bytes_of(program, places, m.value)), *context.stream));
      contiguous_strides(program.values[size_t(m.value)].ndim, place.shape, place.strides);
      place.data = own.as<char>();
    }
    if (kernels.groups[g].runs_alone) {
      const ProgramStep& step = program.steps[size_t(group.first)];
      const ReductionTensors t(program, step, places, {kDLCUDA, context.stream->device->ordinal});
      DLT_TRY(reduce(step.op, t.options, step.type, {&t.in, nullptr}, nullptr, step.axes, {&t.out, nullptr}, context));
      continue;
    }
    GroupRun run(program, group, kernels.groups[g], places, context);
    *ran = run.plan();
    if (*ran) DLT_TRY(run.run(ran));
  }
  return success;
}

bool is_askew(const DLTensor& t) noexcept {
  return address(t) % static_cast<uint64_t>(type_alignment(find_type(t.dtype))) != 0;
}

}  // namespace

Status run_program(const Program& program, const Operand* arguments, const void* const* numbers, const Operand* out,
                   const LaunchContext& context, bool* ran) noexcept {
  ValuePlace places[most_values];
  DLTensor views[most_inputs], targets[most_inputs];
  bool askew = false;
  for (int k = 0; k < program.arguments; ++k) {
    views[k] = *arguments[k].tensor;
    askew |= is_askew(views[k]);
  }
  for (size_t r = 0; r < program.results.size(); ++r) {
    targets[r] = *out[r].tensor;
    askew |= is_askew(targets[r]);
  }
  *ran = !askew && place_values(program, views, numbers, targets, places);
  if (!*ran) return success;
  const LaunchContext here = with_launch(context);
  if (here.launch) DLT_TRY(check_launch(*here.launch));
  for (int k = 0; k < program.arguments; ++k) DLT_TRY(use(arguments[k].block, *here.stream, false));
  for (size_t r = 0; r < program.results.size(); ++r) DLT_TRY(use(out[r].block, *here.stream, true));
  return guarded("fuse", [&] { return run_groups(program, places, here, ran); });
}

}  // namespace dlt::cuda
