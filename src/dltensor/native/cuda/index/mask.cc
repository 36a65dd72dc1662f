// SPDX-License-Identifier: Apache-2.0
// Masks on the device: bits and counts, read once, and the indices of what is set; running sums of counts, for all that
// has to know how much lies ahead.
#include <algorithm>

#include "native/cuda/reduce/axes.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/copy/transfer.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr const char* counts_header = "native/cuda/kernels/index/counts.cuh";
constexpr const char* mask_header = "native/cuda/kernels/index/mask.cuh";

Status launch_tiles(const char* header, Family family, uint64_t number, const std::string& name, uint64_t blocks,
                    Stream& stream, void* parameters) {
  Kernel kernel;
  Device& device = *stream.device;
  DLT_TRY(family_kernel(device, family, number, header, [&] { return name; }, &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, blocks, threads), stream, parameters);
}

}  // namespace

Status running_counts(uint64_t* data, uint64_t n, const LaunchContext& context) noexcept {
  return guarded("counts", [&]() -> Status {
    kernels::Counts p{data, nullptr, n, std::max<uint64_t>(1, (n + kernels::counts_tile - 1) / kernels::counts_tile)};
    const auto run = [&](const char* kernel, uint64_t number, uint64_t blocks, kernels::Counts* parameters) {
      return launch_tiles(counts_header, Family::counts, number, std::string("counts::") + kernel, blocks, *context.stream,
                          parameters);
    };
    if (p.tiles == 1) return run("within<uint64_t, true>", 0, 1, &p);
    Scratch totals;
    DLT_TRY(totals.make((p.tiles + 1) * 8, *context.stream));
    p.totals = totals.as<uint64_t>();
    DLT_TRY(run("totals<uint64_t>", 1, p.tiles, &p));
    kernels::Counts upper{p.totals, nullptr, p.tiles, (p.tiles + kernels::counts_tile - 1) / kernels::counts_tile};
    DLT_TRY(run("within<uint64_t, true>", 0, 1, &upper));
    return run("within<uint64_t, false>", 2, p.tiles, &p);
  });
}

Status pack_mask(const Operand& from, uint64_t bits, int64_t n, const Operand& words, const Operand& before, int64_t* count,
                 const LaunchContext& context) noexcept {
  DLT_TRY(refuse_capture("mask", *context.stream));
  if (is_misaligned(*from.tensor)) [[unlikely]]
    return with_aligned(from, context, [&](const Operand& x) { return pack_mask(x, bits, n, words, before, count, context); });
  return guarded("mask", [&]() -> Status {
    Stream& stream = *context.stream;
    int type;
    DLT_TRY(type_of("mask", *from.tensor, &type));
    const int64_t bytes = type_table[type].bytes;
    DLT_TRY(use(from.block, stream, false));
    DLT_TRY(use(words.block, stream, true));
    DLT_TRY(use(before.block, stream, true));
    kernels::Mask p{};
    p.in = reinterpret_cast<const void*>(address(*from.tensor));
    p.words = reinterpret_cast<uint64_t*>(address(*words.tensor));
    p.before = reinterpret_cast<uint64_t*>(address(*before.tensor));
    p.n = static_cast<uint64_t>(n);
    p.tiles = static_cast<uint64_t>(up(n, kernels::mask_tile));
    p.bits = bits;
    const std::string name = std::string("mask::pack<") + type_name(word_type(bytes)) + ">";
    DLT_TRY(launch_tiles(mask_header, Family::mask, static_cast<uint64_t>(bytes), name, p.tiles, stream, &p));
    DLT_TRY(running_counts(p.before, p.tiles, context));
    DLTensor all = *before.tensor;
    int64_t one = 1, step = 1;
    all.ndim = 1, all.shape = &one, all.strides = &step;
    all.byte_offset += p.tiles * 8;
    return to_host(count, Operand(&all, before.block), stream);
  });
}

Status mask_positions(const Operand* to, int dims, const int64_t* shape, int64_t n, const Operand& words, const Operand& before,
                      const LaunchContext& context) noexcept {
  return guarded("mask", [&]() -> Status {
    Stream& stream = *context.stream;
    kernels::Mask p{};
    DLT_TRY(use(words.block, stream, false));
    DLT_TRY(use(before.block, stream, false));
    p.words = reinterpret_cast<uint64_t*>(address(*words.tensor));
    p.before = reinterpret_cast<uint64_t*>(address(*before.tensor));
    p.n = static_cast<uint64_t>(n);
    p.tiles = static_cast<uint64_t>(up(n, kernels::mask_tile));
    p.dims = dims;
    for (int d = 0; d < dims; ++d) {
      p.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(shape[d]));
      p.to[d] = reinterpret_cast<void*>(address(*to[d].tensor));
      DLT_TRY(use(to[d].block, stream, true));
    }
    return launch_tiles(mask_header, Family::mask, 0, "mask::positions<int64_t>", p.tiles, stream, &p);
  });
}

}  // namespace dlt::cuda
