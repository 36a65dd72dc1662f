// SPDX-License-Identifier: Apache-2.0
// Masks on the device: bits and counts, read once, then the elements or the indices of what is set.
#include "native/cuda/reduce/axes.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/copy/transfer.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr const char* mask_header = "native/cuda/kernels/index/mask.cuh";

Status launch_tiles(uint64_t number, const std::string& name, Stream& stream, kernels::Mask* p) {
  Kernel kernel;
  Device& device = *stream.device;
  DLT_TRY(family_kernel(device, Family::mask, number, mask_header, [&] { return name; }, &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, p->tiles, threads), stream, p);
}

// Arguments of all kernels of a mask of n elements.
kernels::Mask mask_of(int64_t n, const Operand& words, const Operand& before) noexcept {
  kernels::Mask p{};
  p.words = reinterpret_cast<uint64_t*>(address(*words.tensor));
  p.before = reinterpret_cast<uint64_t*>(address(*before.tensor));
  p.n = static_cast<uint64_t>(n);
  p.tiles = static_cast<uint64_t>(up(n, kernels::mask_tile));
  return p;
}

}  // namespace

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
    kernels::Mask p = mask_of(n, words, before);
    p.in = reinterpret_cast<const void*>(address(*from.tensor));
    p.bits = bits;
    Scratch told;
    DLT_TRY(told.make((p.tiles + 1) * 8, stream));
    p.told = told.as<uint64_t>();
    p.ticket = reinterpret_cast<uint32_t*>(p.told + p.tiles);
    {
      Current current(*stream.device);
      DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(p.told), 0, (p.tiles + 1) * 2, stream.handle));
    }
    const std::string name = std::string("mask::pack<") + type_name(word_type(bytes)) + ">";
    DLT_TRY(launch_tiles(static_cast<uint64_t>(bytes), name, stream, &p));
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
    DLT_TRY(use(words.block, stream, false));
    DLT_TRY(use(before.block, stream, false));
    kernels::Mask p = mask_of(n, words, before);
    p.dims = dims;
    for (int d = 0; d < dims; ++d) {
      p.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(shape[d]));
      p.to[d] = reinterpret_cast<void*>(address(*to[d].tensor));
      DLT_TRY(use(to[d].block, stream, true));
    }
    return launch_tiles(0, "mask::positions<int64_t>", stream, &p);
  });
}

Status mask_elements(const Operand& x, int64_t n, const Operand& words, const Operand& before, const Operand& out,
                     const LaunchContext& context) noexcept {
  if (is_misaligned(*x.tensor)) [[unlikely]]
    return with_aligned(x, context, [&](const Operand& from) { return mask_elements(from, n, words, before, out, context); });
  return guarded("mask", [&]() -> Status {
    Stream& stream = *context.stream;
    DLT_TRY(use(x.block, stream, false));
    DLT_TRY(use(words.block, stream, false));
    DLT_TRY(use(before.block, stream, false));
    DLT_TRY(use(out.block, stream, true));
    kernels::Mask p = mask_of(n, words, before);
    p.in = reinterpret_cast<const void*>(address(*x.tensor));
    p.out = reinterpret_cast<void*>(address(*out.tensor));
    const int64_t bytes = item_bytes(x.tensor->dtype);
    const std::string name = std::string("mask::elements<") + type_name(word_type(bytes)) + ">";
    return launch_tiles(32 | static_cast<uint64_t>(bytes), name, stream, &p);
  });
}

}  // namespace dlt::cuda
