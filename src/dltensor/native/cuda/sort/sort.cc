// SPDX-License-Identifier: Apache-2.0
// Lines of a tensor in stable order: short ones by one launch, others as keys with numbers, one pass over both for each digit of 8
// bits, each of three launches.
#include "native/cuda/sort/sort.h"

#include <bit>
#include <optional>

#include "native/cpu/sort/key_form.h"
#include "native/layout/axis_last.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 512;  // of a block, as the kernels have it
constexpr uint64_t digits = 256;

enum class Step : uint64_t { make, count, move, indices, elements, lines };

constexpr const char* sorts_header = "native/cuda/kernels/sort/sorts.cuh";

// Kernels for elements or keys of `bytes` bytes, or for lines with 0; moves carry `carried` bytes.
struct Kind {
  Step step;
  int bytes, carried = 0;
};

std::string name_of(const Kind& kind) {
  const int bytes = kind.bytes;
  const std::string key = bytes ? type_name(word_type(bytes)) : type_name(type_uint8);
  const std::string form = "<" + key + ", " + type_name(signed_twin(bytes)) + ">", by_line = bytes ? ", false>" : ", true>";
  switch (kind.step) {
    case Step::make: return "sorts::make" + form;
    case Step::lines: return "sorts::lines" + form;
    case Step::count: return "sorts::count<" + key + by_line;
    case Step::move: return "sorts::move<" + key + ", " + type_name(word_type(kind.carried)) + by_line;
    case Step::indices: return "sorts::indices<int64_t>";
    case Step::elements: return "sorts::elements<" + key + ">";
  }
  return {};
}

uint64_t number_of(const Kind& kind) noexcept {
  return static_cast<uint64_t>(kind.carried) << 7 | static_cast<uint64_t>(kind.bytes) << 3 | static_cast<uint64_t>(kind.step);
}

Status find_sort(Device& device, const Kind& kind, Kernel* kernel) noexcept {
  return family_kernel(device, Family::sort, number_of(kind), sorts_header, [&] { return name_of(kind); }, kernel);
}

// The kernels of a first sort of such keys, in one program.
void prepare(Device& device, int bytes, int carried, bool lines, uint64_t tiles, bool elements, bool indices) {
  Kernel known;
  if (find_kernel(device, family_key(Family::sort, number_of({Step::move, bytes, carried})).word, &known)) return;
  std::vector<KernelText> wanted;
  const auto add = [&](const Kind& kind) { wanted.push_back({sorts_header, name_of(kind)}); };
  add({Step::make, bytes});
  for (const int of : {bytes, 0}) {
    if (of == 0 && !lines) continue;
    add({Step::count, of});
    add({Step::move, of, carried});
  }
  if (elements) add({Step::elements, bytes});
  if (indices) add({Step::indices, 8});
  add_counts_kernels(digits * tiles, &wanted);
  prepare_kernels(device, wanted);
}

Status launch_tiles(const Kind& kind, const LaunchContext& context, kernels::Sort* p) noexcept {
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(find_sort(device, kind, &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, p->tiles, threads), *context.stream, p);
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
  tiles_ = (n + kernels::sort_tile - 1) / kernels::sort_tile;
  for (int k = 0; k < 2; ++k) {
    DLT_TRY(keys_[k].make(n * static_cast<uint64_t>(bytes), stream));
    if (carried_bytes) DLT_TRY(with_[k].make(n * static_cast<uint64_t>(carried_bytes), stream));
  }
  return counts_.make((digits * tiles_ + 1) * 8, stream);
}
Status CarryingKeys::make(uint64_t n, int bytes, Stream& stream) noexcept {
  return make_room(n, bytes, bytes_of_numbers(n), stream);
}
Status CarryingKeys::make(uint64_t n, int bytes, const void* elements, Stream& stream) noexcept {
  carried_ = elements;
  return make_room(n, bytes, elements ? bytes : 0, stream);
}

Status CarryingKeys::pass(uint32_t shift, const kernels::Divider<uint64_t>* line, void* last,
                          const LaunchContext& context) noexcept {
  kernels::Sort p{};
  p.counts = counts_.as<uint64_t>();
  p.n = n_, p.tiles = tiles_;
  p.keys = keys_[now_].as<void>(), p.numbers = carried_;
  p.to_keys = last ? nullptr : keys_[!now_].as<void>();
  p.to_numbers = last ? last : carried_bytes_ ? with_[!now_].as<void>() : nullptr;
  p.shift = shift;
  p.wide = wide();
  if (line) p.line = *line;
  const int bytes = line ? 0 : bytes_;
  DLT_TRY(launch_tiles({Step::count, bytes}, context, &p));
  DLT_TRY(running_counts(p.counts, digits * tiles_, context));
  DLT_TRY(launch_tiles({Step::move, bytes, moved_bytes()}, context, &p));
  now_ = !now_;
  carried_ = p.to_numbers;
  return success;
}

Status CarryingKeys::sort(int bits, const LaunchContext& context, void* last) noexcept {
  for (int shift = 0; shift < bits && n_ > 1; shift += 8)
    DLT_TRY(pass(static_cast<uint32_t>(shift), nullptr, shift + 8 < bits ? nullptr : last, context));
  return success;
}

Status CarryingKeys::sort_by_line(uint64_t line, const LaunchContext& context) noexcept {
  const int bits = int(std::bit_width(n_ / line - 1));
  const auto by = kernels::divider<uint64_t>(line);
  for (int shift = 0; shift < bits; shift += 8) DLT_TRY(pass(static_cast<uint32_t>(shift), &by, nullptr, context));
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
      return launch_tiles({Step::lines, bytes}, context, &p);
    }
    const bool one_line = n == static_cast<uint64_t>(line), numbered = indices || !one_line;
    // Elements that are not their keys in another form, with one key for both zeros, go along in place of numbers.
    const bool inverted = p.form.infinity == 0;
    CarryingKeys sorted;
    DLT_TRY(numbered ? sorted.make(n, bytes, stream) : sorted.make(n, bytes, inverted ? nullptr : p.in, stream));
    prepare(*stream.device, bytes, sorted.moved_bytes(), !one_line, (n + kernels::sort_tile - 1) / kernels::sort_tile,
            elements && numbered, indices != nullptr);
    p.to_keys = sorted.keys();
    DLT_TRY(launch_elements({Step::make, bytes}, context, &p));
    DLT_TRY(sorted.sort(bytes * 8, context, numbered || inverted ? nullptr : p.out));
    DLT_TRY(sorted.sort_by_line(static_cast<uint64_t>(line), context));
    p.numbers = sorted.carried();
    p.wide = sorted.wide();
    if (elements && numbered) {
      DLT_TRY(launch_elements({Step::elements, bytes}, context, &p));
    } else if (elements && inverted) {
      p.in = sorted.keys(), p.to_keys = p.out;  // the key of a key is the element
      DLT_TRY(launch_elements({Step::make, bytes}, context, &p));
    }
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
