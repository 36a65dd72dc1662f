// SPDX-License-Identifier: Apache-2.0
// Lines of a tensor in stable order: short ones by one launch, others as keys with numbers, by a launch that counts digits of 8
// bits and one for each of these digits.
#include "native/cuda/sort/sort.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "native/cpu/sort/key_form.h"
#include "native/cuda/sort/select.h"
#include "native/layout/axis_last.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 512;  // of a block, as the kernels have it

enum class Step : uint64_t { count, move, indices, elements, lines };
enum Keys : int { stored, of_elements, of_lines };  // as the kernels have them

constexpr const char* sorts_header = "native/cuda/kernels/sort/sorts.cuh";

// Kernels for elements or keys of `bytes` bytes; moves carry `carried` bytes.
struct Kind {
  Step step;
  int bytes, carried = 0, keys = stored;
};

std::string name_of(const Kind& kind) {
  const std::string key = type_name(word_type(kind.bytes)), form = key + ", " + type_name(signed_twin(kind.bytes));
  const std::string keys = ", " + std::to_string(kind.keys) + ">";
  switch (kind.step) {
    case Step::lines: return "sorts::lines<" + form + ">";
    case Step::count: return "sorts::count<" + form + keys;
    case Step::move: return "sorts::move<" + form + ", " + type_name(word_type(kind.carried)) + keys;
    case Step::indices: return "sorts::indices<int64_t>";
    case Step::elements: return "sorts::elements<" + key + ">";
  }
  return {};
}

uint64_t number_of(const Kind& kind) noexcept {
  return static_cast<uint64_t>(kind.keys) << 11 | static_cast<uint64_t>(kind.carried) << 7 |
         static_cast<uint64_t>(kind.bytes) << 3 | static_cast<uint64_t>(kind.step);
}

Status find_sort(Device& device, const Kind& kind, Kernel* kernel) noexcept {
  return family_kernel(device, Family::sort, number_of(kind), sorts_header, [&] { return name_of(kind); }, kernel);
}

// The kernels of a first sort of such elements, in one program.
void prepare(Device& device, int bytes, int carried, bool lines, bool elements, bool indices) {
  Kernel known;
  if (find_kernel(device, family_key(Family::sort, number_of({Step::move, bytes, carried, of_elements})).word, &known)) return;
  std::vector<KernelText> wanted;
  const auto add = [&](const Kind& kind) { wanted.push_back({sorts_header, name_of(kind)}); };
  for (const int keys : {of_elements, stored, of_lines}) {
    if ((keys == stored && bytes == 1) || (keys == of_lines && !lines)) continue;
    if (keys == of_elements) add({Step::count, bytes, 0, keys});
    add({Step::move, keys == of_lines ? 1 : bytes, carried, keys});
  }
  if (elements) add({Step::elements, bytes});
  if (indices) add({Step::indices, 8});
  prepare_kernels(device, wanted);
}

Status launch_blocks(const Kind& kind, uint64_t blocks, const LaunchContext& context, kernels::Sort* p) noexcept {
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(find_sort(device, kind, &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, blocks, threads), *context.stream, p);
}

Status launch_elements(const Kind& kind, const LaunchContext& context, kernels::Sort* p) noexcept {
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(find_sort(device, kind, &kernel));
  const auto n = static_cast<int64_t>(p->n);
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, n, n, with_launch(context).launch);
  return launch_kernel(device, kernel, geometry, *context.stream, p);
}

int bytes_of_numbers(uint64_t n) noexcept { return n > uint64_t{1} << 32 ? 8 : 4; }

}  // namespace

Status CarryingKeys::make_room(uint64_t n, int bytes, int carried_bytes, Stream& stream) noexcept {
  n_ = n, bytes_ = bytes, carried_bytes_ = carried_bytes;
  // A run for each block that is resident.
  const auto resident = static_cast<uint64_t>(std::max(1, stream.device->properties.multiprocessor_count)) * 2;
  runs_ = std::clamp<uint64_t>((n + kernels::sort_tile - 1) / kernels::sort_tile, 1, resident);
  for (int k = 0; k < 2; ++k) {
    DLT_TRY(keys_[k].make(n * static_cast<uint64_t>(bytes), stream));
    if (carried_bytes) DLT_TRY(with_[k].make(n * static_cast<uint64_t>(carried_bytes), stream));
  }
  DLT_TRY(state_.make(sizeof(State), stream));
  return words_.make((n + kernels::sort_tile - 1) / kernels::sort_tile * digits * 8, stream);
}
Status CarryingKeys::make(uint64_t n, int bytes, Stream& stream) noexcept {
  return make_room(n, bytes, bytes_of_numbers(n), stream);
}
Status CarryingKeys::make(uint64_t n, int bytes, const void* elements, Stream& stream) noexcept {
  carried_ = elements;
  return make_room(n, bytes, elements ? bytes : 0, stream);
}

Status CarryingKeys::count(kernels::Sort& p, int keys, int passes, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  {
    Current current(*stream.device);
    DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(state_.as<void>()), 0, sizeof(State) / 4, stream.handle));
  }
  p.totals = state_.as<State>()->totals, p.words = words_.as<uint64_t>();
  p.n = n_, p.runs = runs_, p.passes = static_cast<uint32_t>(passes);
  p.keys = keys_[now_].as<void>();
  passes_ = 0;
  return launch_blocks({Step::count, bytes_, 0, keys}, runs_, context, &p);
}

// One digit. `p` has what is not of every pass.
Status CarryingKeys::pass(kernels::Sort& p, int keys, const LaunchContext& context) noexcept {
  State* const state = state_.as<State>();
  p.totals = keys == of_lines ? nullptr : state->totals + p.shift / 8 * digits;
  p.words = words_.as<uint64_t>(), p.ticket = state->tickets + passes_, p.pass = ++passes_;
  p.n = n_;
  p.keys = keys_[now_].as<void>(), p.numbers = carried_;
  p.wide = wide();
  DLT_TRY(launch_blocks({Step::move, keys == of_lines ? 1 : bytes_, moved_bytes(), keys}, runs_, context, &p));
  now_ = !now_;
  carried_ = p.to_numbers;
  return success;
}

void* CarryingKeys::take_numbers() noexcept {
  void* const numbers = with_[now_].as<void>();
  carried_ = numbers;
  return numbers;
}

Status CarryingKeys::sort(int bits, const LaunchContext& context, const uint64_t* live) noexcept {
  if (n_ <= 1 || bits <= 0) return success;
  kernels::Sort counted{};
  counted.live = live;
  DLT_TRY(count(counted, stored, (bits + 7) / 8, context));
  for (int shift = 0; shift < bits; shift += 8) {
    kernels::Sort p{};
    p.live = live;
    p.shift = static_cast<uint32_t>(shift);
    p.to_keys = keys_[!now_].as<void>();
    p.to_numbers = carried_bytes_ ? with_[!now_].as<void>() : nullptr;
    DLT_TRY(pass(p, stored, context));
  }
  return success;
}

Status CarryingKeys::sort_elements(const void* elements, const KeyForm& form, void* last,
                                   const LaunchContext& context) noexcept {
  kernels::Sort counted{};
  counted.in = elements, counted.form = form;
  DLT_TRY(count(counted, of_elements, bytes_, context));
  for (int shift = 0; shift < 8 * bytes_; shift += 8) {
    const bool ends = last != nullptr && shift + 8 == 8 * bytes_;
    kernels::Sort p{};
    p.in = elements, p.form = form;
    p.shift = static_cast<uint32_t>(shift);
    p.to_keys = keys_[!now_].as<void>();
    p.to_numbers = carried_bytes_ ? with_[!now_].as<void>() : nullptr;
    if (ends) {
      p.restores = carried_bytes_ == 0;
      p.to_keys = carried_bytes_ ? nullptr : last;
      p.to_numbers = carried_bytes_ ? last : nullptr;
    }
    DLT_TRY(pass(p, shift == 0 ? of_elements : stored, context));
  }
  return success;
}

Status CarryingKeys::sort_by_line(uint64_t line, const LaunchContext& context) noexcept {
  const int bits = int(std::bit_width(n_ / line - 1));
  for (int shift = 0; shift < bits; shift += 8) {
    kernels::Sort p{};
    p.shift = static_cast<uint32_t>(shift);
    p.line = kernels::divider<uint64_t>(line);
    p.to_numbers = with_[!now_].as<void>();
    DLT_TRY(pass(p, of_lines, context));
  }
  return success;
}

Status sort(const Operand& from, const Operand* elements, const Operand* indices, int64_t line, bool descending,
            const LaunchContext& context) noexcept {
  if (is_misaligned(*from.tensor)) [[unlikely]]
    return with_aligned(from, context, [&](const Operand& x) { return sort(x, elements, indices, line, descending, context); });
  return guarded("sort", [&]() -> Status {
    Stream& stream = *context.stream;
    int type;
    DLT_TRY(type_of("sort", *from.tensor, &type));
    const auto n = static_cast<uint64_t>(numel(from.tensor->ndim, from.tensor->shape));
    if (n == 0) return success;
    const auto bytes = static_cast<int>(type_table[type].bytes);
    DLT_TRY(use(from.block, stream, false));
    if (elements) DLT_TRY(use(elements->block, stream, true));
    if (indices) DLT_TRY(use(indices->block, stream, true));
    kernels::Sort p{};
    p.in = reinterpret_cast<const void*>(address(*from.tensor));
    p.out = elements ? reinterpret_cast<void*>(address(*elements->tensor)) : nullptr;
    p.indices = indices ? reinterpret_cast<int64_t*>(address(*indices->tensor)) : nullptr;
    p.n = n;
    p.line = kernels::divider<uint64_t>(static_cast<uint64_t>(line));
    p.form = key_form(type, descending, true);
    if (line <= kernels::sort_tile) {
      const uint64_t whole = static_cast<uint64_t>(kernels::sort_tile / line * line);
      p.tiles = (n + whole - 1) / whole;
      return launch_blocks({Step::lines, bytes}, p.tiles, context, &p);
    }
    const bool one_line = n == static_cast<uint64_t>(line), numbered = indices || !one_line;
    // Elements that are not their keys in another form, with one key for both zeros, go along in place of numbers.
    const bool inverted = p.form.infinity == 0;
    CarryingKeys sorted;
    DLT_TRY(numbered ? sorted.make(n, bytes, stream) : sorted.make(n, bytes, inverted ? nullptr : p.in, stream));
    prepare(*stream.device, bytes, sorted.moved_bytes(), !one_line, elements && numbered, indices != nullptr);
    DLT_TRY(sorted.sort_elements(p.in, p.form, numbered ? nullptr : p.out, context));
    if (!numbered) return success;
    DLT_TRY(sorted.sort_by_line(static_cast<uint64_t>(line), context));
    p.numbers = sorted.carried();
    p.wide = sorted.wide();
    if (elements) DLT_TRY(launch_elements({Step::elements, bytes}, context, &p));
    return indices ? launch_elements({Step::indices, 8}, context, &p) : success;
  });
}

namespace {

// The target of sorted lines: the output itself, or a temporary whose first elements are copied to it.
struct Lines {
  AxisLast wanted;
  Temporary full;
  Operand target;
  bool staged;
  Lines(const Operand& out, int axis, int64_t line) noexcept : wanted(*out.tensor, axis), target(&wanted.tensor, out.block) {
    staged = !wanted.in_order() || is_misaligned(*out.tensor) ||
             (wanted.tensor.ndim && wanted.shape[wanted.tensor.ndim - 1] != line);
  }
  Status make(const DLTensor& like, const LaunchContext& context) noexcept {
    if (!staged) return success;
    DLTensor lines = like;
    lines.dtype = wanted.tensor.dtype;
    DLT_TRY(full.make(lines, *context.stream));
    target = full.operand();
    return success;
  }
  Status deliver(const Operand& out, const LaunchContext& context) noexcept {
    if (!staged) return success;
    DLTensor first = wanted.tensor;
    first.data = full.tensor.data, first.byte_offset = 0, first.strides = full.strides;
    return copy({&first, full.block}, {&wanted.tensor, out.block}, context);
  }
};

}  // namespace

Status sort_along(const Operand& x, const Operand* values, const Operand* indices, int axis, bool descending,
                  const LaunchContext& context) noexcept {
  if (numel(x.tensor->ndim, x.tensor->shape) == 0) return success;
  const AxisLast from(*x.tensor, axis);
  const int64_t line = x.tensor->ndim ? x.tensor->shape[axis] : 1;
  Operand source(&from.tensor, x.block);
  Temporary lines;
  if (!from.in_order()) {
    DLT_TRY(lines.make(from.tensor, *context.stream));
    DLT_TRY(copy(source, lines.operand(), context));
    source = lines.operand();
  }
  const Operand* const outputs[] = {values, indices};
  const auto fits = [&](const Operand* out) {
    return !out || (is_contiguous(out->tensor->ndim, out->tensor->shape, out->tensor->strides) && !is_misaligned(*out->tensor));
  };
  const Operand* const one = values ? values : indices;
  if (const int64_t count = one->tensor->ndim ? one->tensor->shape[axis] : 1;
      count > 0 && numel(x.tensor->ndim, x.tensor->shape) == line && selects(line, count) && fits(values) && fits(indices) &&
      !is_misaligned(*source.tensor))
    return select(source, values, indices, 0, count - 1, descending, false, context);
  std::optional<Lines> staged[2];
  for (int k = 0; k < 2; ++k) {
    if (outputs[k] == nullptr) continue;
    staged[k].emplace(*outputs[k], axis, line);
    DLT_TRY(staged[k]->make(from.tensor, context));
  }
  DLT_TRY(sort(source, staged[0] ? &staged[0]->target : nullptr, staged[1] ? &staged[1]->target : nullptr, line, descending,
               context));
  for (int k = 0; k < 2; ++k)
    if (staged[k]) DLT_TRY(staged[k]->deliver(*outputs[k], context));
  return success;
}

}  // namespace dlt::cuda
