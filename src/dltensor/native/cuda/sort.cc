// SPDX-License-Identifier: Apache-2.0
// Keys with numbers in stable order: one pass over both for each digit of 8 bits, each of three launches. Lines of a tensor.
#include "native/cuda/sort.h"

#include <bit>

#include "native/cpu/key_form.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 64;  // of a block, as the kernels have it
constexpr uint64_t digits = 256;

enum class Step : uint64_t { make, count, move, indices, elements };

constexpr const char* sorts_header = "native/cuda/kernels/sorts.cuh";

// Of elements or keys of `bytes` bytes, or of lines with 0.
std::string name_of(Step step, int bytes) {
  const std::string key = bytes ? type_name(word_type(bytes)) : type_name(type_uint8);
  switch (step) {
    case Step::make: return "sorts::make<" + key + ", " + type_name(signed_twin(bytes)) + ">";
    case Step::count: return "sorts::count<" + key + (bytes ? ", false>" : ", true>");
    case Step::move: return "sorts::move<" + key + (bytes ? ", false>" : ", true>");
    case Step::indices: return "sorts::indices<int64_t>";
    case Step::elements: return "sorts::elements<" + key + ">";
  }
  return {};
}

uint64_t number_of(Step step, int bytes) noexcept { return static_cast<uint64_t>(bytes) << 3 | static_cast<uint64_t>(step); }

Status find_sort(Device& device, Step step, int bytes, Kernel* kernel) noexcept {
  return family_kernel(
      device, Family::sort, number_of(step, bytes), sorts_header, [&] { return name_of(step, bytes); }, kernel);
}

// The kernels of a first sort of such keys, in one program.
void prepare(Device& device, int bytes, bool lines, uint64_t tiles, bool elements, bool indices) {
  Kernel known;
  if (find_kernel(device, family_key(Family::sort, number_of(Step::make, bytes)).word, &known)) return;
  std::vector<KernelText> wanted;
  const auto add = [&](Step step, int of) { wanted.push_back({sorts_header, "dlt::kernels::" + name_of(step, of)}); };
  add(Step::make, bytes);
  for (const int of : {bytes, 0}) {
    if (of == 0 && !lines) continue;
    add(Step::count, of);
    add(Step::move, of);
  }
  if (elements) add(Step::elements, bytes);
  if (indices) add(Step::indices, 8);
  add_counts_kernels(digits * tiles, &wanted);
  prepare_kernels(device, wanted);
}

Status launch_tiles(Step step, int bytes, const Where& where, kernels::Sort* p) noexcept {
  Device& device = *where.stream->device;
  Kernel kernel;
  DLT_TRY(find_sort(device, step, bytes, &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, p->tiles, threads), *where.stream, p);
}

Status launch_elements(Step step, int bytes, const Where& where, kernels::Sort* p) noexcept {
  Device& device = *where.stream->device;
  Kernel kernel;
  DLT_TRY(find_sort(device, step, bytes, &kernel));
  const auto n = static_cast<int64_t>(p->n);
  const Launch* launch = where.launch ? where.launch : thread_launch();
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, n, n, launch);
  return launch_kernel(device, kernel, geometry, *where.stream, p);
}

}  // namespace

Status NumberedKeys::make(uint64_t n, int bytes, Stream& stream) noexcept {
  n_ = n, bytes_ = bytes;
  tiles_ = (n + kernels::sort_tile - 1) / kernels::sort_tile;
  for (int k = 0; k < 2; ++k) {
    DLT_TRY(keys_[k].make(n * static_cast<uint64_t>(bytes), stream));
    DLT_TRY(numbers_[k].make(n * 8, stream));
  }
  return counts_.make((digits * tiles_ + 1) * 8, stream);
}

Status NumberedKeys::pass(uint32_t shift, const kernels::Divider<uint64_t>* line, const Where& where) noexcept {
  kernels::Sort p{};
  p.counts = counts_.as<uint64_t>();
  p.n = n_, p.tiles = tiles_;
  p.keys = keys_[now_].as<void>(), p.numbers = numbers_[now_].as<uint64_t>();
  p.to_keys = keys_[!now_].as<void>(), p.to_numbers = numbers_[!now_].as<uint64_t>();
  p.shift = shift;
  if (line) p.line = *line;
  const int bytes = line ? 0 : bytes_;
  DLT_TRY(launch_tiles(Step::count, bytes, where, &p));
  DLT_TRY(running_counts(p.counts, digits * tiles_, where));
  DLT_TRY(launch_tiles(Step::move, bytes, where, &p));
  now_ = !now_;
  return success;
}

Status NumberedKeys::sort(int bits, const Where& where) noexcept {
  for (int shift = 0; shift < bits && n_ > 1; shift += 8) DLT_TRY(pass(static_cast<uint32_t>(shift), nullptr, where));
  return success;
}

Status NumberedKeys::sort_by_line(uint64_t line, const Where& where) noexcept {
  const int bits = int(std::bit_width(n_ / line - 1));
  const auto by = kernels::divider<uint64_t>(line);
  for (int shift = 0; shift < bits; shift += 8) DLT_TRY(pass(static_cast<uint32_t>(shift), &by, where));
  return success;
}

Status sort(const Operand& from, const Operand* elements, const Operand* indices, int64_t line, bool descending,
            const Where& where) noexcept {
  if (is_misaligned(*from.tensor)) [[unlikely]] {
    Temporary straight;
    DLT_TRY(straight.make(*from.tensor, *where.stream));
    DLT_TRY(copy_bytes(from, straight.operand(), where));
    return sort(straight.operand(), elements, indices, line, descending, where);
  }
  return guarded("sort", [&]() -> Status {
    Stream& stream = *where.stream;
    int type;
    DLT_TRY(type_of("sort", *from.tensor, &type));
    const auto n = static_cast<uint64_t>(numel(from.tensor->ndim, from.tensor->shape));
    if (n == 0) return success;
    const auto bytes = static_cast<int>(type_table[type].bytes);
    NumberedKeys sorted;
    DLT_TRY(sorted.make(n, bytes, stream));
    DLT_TRY(use(from.block, stream, false));
    prepare(*stream.device, bytes, n != static_cast<uint64_t>(line), (n + kernels::sort_tile - 1) / kernels::sort_tile,
            elements != nullptr, indices != nullptr);
    kernels::Sort p{};
    p.in = reinterpret_cast<const void*>(address(*from.tensor));
    p.n = n;
    p.line = kernels::divider<uint64_t>(static_cast<uint64_t>(line));
    p.form = key_form(type, descending, true);
    p.to_keys = sorted.keys(), p.to_numbers = sorted.numbers();
    DLT_TRY(launch_elements(Step::make, bytes, where, &p));
    DLT_TRY(sorted.sort(bytes * 8, where));
    DLT_TRY(sorted.sort_by_line(static_cast<uint64_t>(line), where));
    p.numbers = sorted.numbers();
    if (elements) {
      DLT_TRY(use(elements->block, stream, true));
      p.out = reinterpret_cast<void*>(address(*elements->tensor));
      DLT_TRY(launch_elements(Step::elements, bytes, where, &p));
    }
    if (!indices) return success;
    DLT_TRY(use(indices->block, stream, true));
    p.out = reinterpret_cast<void*>(address(*indices->tensor));
    return launch_elements(Step::indices, 8, where, &p);
  });
}

}  // namespace dlt::cuda
