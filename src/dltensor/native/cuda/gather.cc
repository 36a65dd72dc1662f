// SPDX-License-Identifier: Apache-2.0
// Elements and rows at the positions of index arrays: one kernel checks every index, a second one moves.
#include "native/cuda/plan.h"

namespace dlt::cuda {
namespace {

using kernels::Gather;

// Dimensions of the result in bytes of the tensor.
struct Places {
  int dims = 0, spread_from = 0, spread_to = 0;
  int64_t shape[kernels::gather_dims], step[kernels::gather_dims];

  // Dimensions of a group, joined where they are one.
  Status add(int count, const int64_t* extents, const int64_t* strides, int64_t width) noexcept {
    int64_t group[max_dims], steps[max_dims];
    memcpy(group, extents, sizeof(int64_t) * static_cast<size_t>(count));
    memcpy(steps, strides, sizeof(int64_t) * static_cast<size_t>(count));
    int64_t* const each[] = {steps};
    const int left = coalesce(count, group, 1, each);
    if (dims + left >= kernels::gather_dims)
      return fail(Fault::value, "gather: at most %d dimensions are supported", kernels::gather_dims - 1);
    for (int d = 0; d < left; ++d, ++dims) shape[dims] = group[d], step[dims] = steps[d] * width;
    return success;
  }
};

Status set_up(const Indexed& x, Places& p) noexcept {
  DLT_TRY(p.add(x.outer, x.outer_shape, x.outer_tensor, x.width));
  p.spread_from = p.dims;
  if (x.spread) {
    DLT_TRY(p.add(x.spread, x.spread_shape, x.spread_tensor, x.width));
  } else {
    const int64_t still = 0;
    DLT_TRY(p.add(1, &x.count, &still, x.width));
  }
  p.spread_to = p.dims;
  DLT_TRY(p.add(x.inner, x.inner_shape, x.inner_tensor, x.width));
  // The bytes that lie in sequence are the last dimension.
  if (p.dims > p.spread_to && p.step[p.dims - 1] == x.width) p.shape[p.dims - 1] *= x.width;
  else p.shape[p.dims++] = x.width;
  p.step[p.dims - 1] = 1;
  return success;
}

// The widest word that all addresses and strides are multiples of.
int64_t word_bytes(const Indexed& x, const Places& p) noexcept {
  uint64_t all = reinterpret_cast<uintptr_t>(x.tensor) | reinterpret_cast<uintptr_t>(x.dense) |
                 static_cast<uint64_t>(p.shape[p.dims - 1]) | 16;
  for (int d = 0; d + 1 < p.dims; ++d) all |= static_cast<uint64_t>(p.step[d]);
  for (int k = 0; k < x.arrays; ++k) all |= static_cast<uint64_t>(x.array[k].stride * x.width);
  return static_cast<int64_t>(all & (~all + 1));
}

Status find(Device& device, const char* name, int type, Kernel* kernel) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(static_cast<uint64_t>(type), 6);
  key.add(*name == 'c' ? 0x2A : 0x2B, 40);
  if (find_kernel(device, key.word, kernel)) return success;
  DLT_TRY(guarded("gather", [&] {
    return get_kernel(device, "native/cuda/kernels/gather.cuh",
                      std::string("dlt::kernels::gather::") + name + "<" + type_name(type) + ">", kernel);
  }));
  keep_kernel(device, key.word, *kernel);
  return success;
}

Status launch(Device& device, const char* name, int type, int64_t items, const Where& where, Gather* q) noexcept {
  Kernel kernel;
  DLT_TRY(find(device, name, type, &kernel));
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, items, items, where.launch);
  return launch_kernel(device, kernel, geometry, *where.stream, q);
}

}  // namespace

Status gather(const Indexed& x, const Operand& from, const Operand& to, Block* const* blocks, const Where& where,
              BadIndex* bad) noexcept {
  if (bad) *bad = {-1, 0, 0};
  Stream& stream = *where.stream;
  Device& device = *stream.device;
  Where resolved = where;
  if (!resolved.launch) resolved.launch = thread_launch();
  Places places;
  DLT_TRY(set_up(x, places));
  Gather q{};
  q.out = x.dense, q.in = x.tensor;
  q.count = static_cast<uint64_t>(x.count);
  q.arrays = x.arrays;
  for (int k = 0; k < x.arrays; ++k) {
    q.index[k] = x.array[k].data;
    q.size[k] = x.array[k].size;
    DLT_TRY(use(blocks[k], stream, false));
  }
  if (bad && x.arrays && x.count) {
    int64_t one = 1, step = 1;
    uint64_t first = UINT64_MAX;
    const DLTensor like{nullptr, {kDLCUDA, device.ordinal}, 1, type_table[type_uint64].dtype, &one, &step, 0};
    Temporary found;
    DLT_TRY(found.make(like, stream));
    DLT_TRY(fill(Operand::scalar(type_uint64, &first), found.operand(), where));
    q.bad = reinterpret_cast<uint64_t*>(address(found.tensor));
    DLT_TRY(launch(device, "check", type_int64, x.count, resolved, &q));
    DLT_TRY(to_host(&first, found.operand(), stream));
    if (first != UINT64_MAX) {
      *bad = {static_cast<int64_t>(first / static_cast<uint64_t>(x.arrays)),
              static_cast<int>(first % static_cast<uint64_t>(x.arrays)), 0};
      return success;
    }
  }
  int64_t bytes = 1;
  for (int d = 0; d < places.dims; ++d) bytes *= places.shape[d];
  if (bytes == 0) return success;
  const int64_t word = word_bytes(x, places);
  places.shape[places.dims - 1] /= word;
  places.step[places.dims - 1] = word;
  q.items = static_cast<uint64_t>(bytes / word);
  q.dims = places.dims, q.spread_from = places.spread_from, q.spread_to = places.spread_to;
  for (int d = 0; d < places.dims; ++d) {
    q.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(places.shape[d]));
    q.stride[d] = places.step[d] / word;
  }
  for (int k = 0; k < x.arrays; ++k) q.step[k] = x.array[k].stride * x.width / word;
  DLT_TRY(use(from.block, stream, false));
  DLT_TRY(use(to.block, stream, true));
  return launch(device, "words", word_type(word), bytes / word, resolved, &q);
}

}  // namespace dlt::cuda
