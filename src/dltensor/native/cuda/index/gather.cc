// SPDX-License-Identifier: Apache-2.0
// Elements and rows at the positions of index arrays, read, written or joined. The kernel that reads checks every index; for
// writing another one does so before, and positions are sorted by what they name, so that the last of equal ones can be told.
#include <bit>

#include "native/cuda/elementwise/plan.h"
#include "native/cuda/runtime/index_checks.h"
#include "native/cuda/sort/sort.h"

namespace dlt::cuda {
namespace {

using kernels::Gather;

// Kernels of scatter.cuh, then of gather.cuh.
enum class Kind : uint64_t { places, scattered, join, check, gathered };

// Dimensions of the result in bytes of the tensor, and of the dense side where that has strides of its own.
struct Places {
  int dims = 0, spread_from = 0, spread_to = 0;
  int64_t shape[kernels::gather_dims], step[kernels::gather_dims], dense[kernels::gather_dims] = {};

  // Dimensions of a group, joined where they are one; `own` are the strides of the dense side, or null.
  Status add(int count, const int64_t* extents, const int64_t* strides, const int64_t* own, int64_t width) noexcept {
    int64_t group[max_dims], steps[max_dims], others[max_dims] = {};
    memcpy(group, extents, sizeof(int64_t) * static_cast<size_t>(count));
    memcpy(steps, strides, sizeof(int64_t) * static_cast<size_t>(count));
    if (own) memcpy(others, own, sizeof(int64_t) * static_cast<size_t>(count));
    int64_t* const each[] = {steps, others};
    const int left = coalesce(count, group, own ? 2 : 1, each);
    for (int d = 0; d < left; ++d) DLT_TRY(add_one(group[d], steps[d] * width, own ? others[d] * width : 0));
    return success;
  }
  Status add_one(int64_t extent, int64_t tensor_step, int64_t dense_step) noexcept {
    if (dims + 1 >= kernels::gather_dims)
      return fail(Fault::value, "gather: at most %d dimensions are supported", kernels::gather_dims - 1);
    shape[dims] = extent, step[dims] = tensor_step, dense[dims] = dense_step;
    ++dims;
    return success;
  }
  int64_t count() const noexcept {
    int64_t all = 1;
    for (int d = 0; d < dims; ++d) all *= shape[d];
    return all;
  }
};

Status set_up(const Indexed& x, Places& p) noexcept {
  DLT_TRY(p.add(x.outer, x.outer_shape, x.outer_tensor, nullptr, x.width));
  p.spread_from = p.dims;
  if (x.spread) {
    DLT_TRY(p.add(x.spread, x.spread_shape, x.spread_tensor, nullptr, x.width));
  } else {
    const int64_t still = 0;
    DLT_TRY(p.add(1, &x.count, &still, nullptr, x.width));
  }
  p.spread_to = p.dims;
  DLT_TRY(p.add(x.inner, x.inner_shape, x.inner_tensor, nullptr, x.width));
  // The bytes that lie in sequence are the last dimension.
  if (p.dims > p.spread_to && p.step[p.dims - 1] == x.width) p.shape[p.dims - 1] *= x.width;
  else p.shape[p.dims++] = x.width;
  p.step[p.dims - 1] = 1;
  return success;
}

// Sets up strides of both sides; the positions are one dimension, without a stride of the tensor.
Status set_up_both(const Indexed& x, Places& p) noexcept {
  DLT_TRY(p.add(x.outer, x.outer_shape, x.outer_tensor, x.outer_dense, x.width));
  p.spread_from = p.dims;
  DLT_TRY(p.add_one(x.count, 0, x.dense_step * x.width));
  p.spread_to = p.dims;
  return p.add(x.inner, x.inner_shape, x.inner_tensor, x.inner_dense, x.width);
}

// The widest word that all addresses and strides are multiples of.
int64_t word_bytes(const Indexed& x, const Places& p) noexcept {
  uint64_t all = reinterpret_cast<uintptr_t>(x.tensor) | reinterpret_cast<uintptr_t>(x.dense) |
                 static_cast<uint64_t>(p.shape[p.dims - 1]) | 16;
  for (int d = 0; d + 1 < p.dims; ++d) all |= static_cast<uint64_t>(p.step[d]) | static_cast<uint64_t>(p.dense[d]);
  for (int k = 0; k < x.arrays; ++k) all |= static_cast<uint64_t>(x.array[k].stride * x.width);
  return static_cast<int64_t>(all & (~all + 1));
}

// Addresses, sizes and steps of the index arrays as parameters of a kernel; steps in units of so many bytes.
template <class Parameters>
Status use_arrays(const Indexed& x, int64_t unit, Block* const* blocks, Stream& stream, Parameters* p) noexcept {
  p->arrays = x.arrays;
  p->count = static_cast<uint64_t>(x.count);
  for (int k = 0; k < x.arrays; ++k) {
    p->index[k] = x.array[k].data;
    p->size[k] = x.array[k].size;
    p->step[k] = x.array[k].stride * x.width / unit;
    DLT_TRY(use(blocks[k], stream, false));
  }
  return success;
}

Status launch(Kind kind, uint64_t number, const std::string& name, int64_t items, const LaunchContext& context,
              void* parameters) noexcept {
  const bool scatters = kind < Kind::check;
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::index, number << 3 | static_cast<uint64_t>(kind),
      scatters ? "native/cuda/kernels/index/scatter.cuh" : "native/cuda/kernels/index/gather.cuh",
      [&] { return (scatters ? "scatter::" : "gather::") + name; }, &kernel));
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, items, items, context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, parameters);
}

// Where a kernel leaves the number of the first index that is out of range.
struct FirstBad {
  Scratch memory;

  Status make(Stream& stream) noexcept {
    DLT_TRY(memory.make(sizeof(uint64_t), stream));
    Current current(*stream.device);
    DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(memory.as<void>()), 0xffffffff, 2, stream.handle));
    return success;
  }
  // Waits for the kernel.
  Status read(const Indexed& x, Block* const* blocks, Stream& stream, BadIndex* bad) const noexcept {
    int64_t one = 1, step = 1;
    uint64_t first;
    DLTensor place{memory.as<void>(), {kDLCUDA, stream.device->ordinal}, 1, type_table[type_uint64].dtype, &one, &step, 0};
    DLT_TRY(to_host(&first, {&place, memory.block}, stream));
    if (first == UINT64_MAX) return success;
    *bad = {static_cast<int64_t>(first / static_cast<uint64_t>(x.arrays)),
            static_cast<int>(first % static_cast<uint64_t>(x.arrays)), 0};
    place.data = const_cast<int64_t*>(x.array[bad->array].data + bad->at);
    place.dtype = type_table[type_int64].dtype;
    return to_host(&bad->value, {&place, blocks[bad->array]}, stream);
  }
};

// The first index that is out of range to `bad`; waits for it.
Status check_all(const Indexed& x, Block* const* blocks, const LaunchContext& context, BadIndex* bad) noexcept {
  if (x.arrays == 0 || x.count == 0) return success;
  Stream& stream = *context.stream;
  Gather q{};
  DLT_TRY(use_arrays(x, 1, blocks, stream, &q));
  FirstBad found;
  DLT_TRY(found.make(stream));
  q.bad = found.memory.as<uint64_t>();
  DLT_TRY(launch(Kind::check, 0, "check<int64_t>", x.count, context, &q));
  return found.read(x, blocks, stream, bad);
}

// Lets a kernel report an index out of range.
Status check_late(const Indexed& x, Block* const* blocks, const LaunchContext& context, uint64_t* late) noexcept {
  if (x.arrays == 0 || x.count == 0) return success;
  Gather q{};
  DLT_TRY(use_arrays(x, 1, blocks, *context.stream, &q));
  q.late = late;
  return launch(Kind::check, 0, "check<int64_t>", x.count, context, &q);
}

// Index arrays whose addresses no kernel can read, copied.
struct StraightArrays {
  Indexed indexed;
  Block* blocks[max_dims] = {};
  Scratch copies[max_dims];

  Status make(const Indexed& from, Block* const* used, const LaunchContext& context) noexcept {
    indexed = from;
    for (int k = 0; k < from.arrays; ++k) {
      blocks[k] = used[k];
      if (is_straight(from, k)) continue;
      DLT_TRY(copies[k].make(static_cast<uint64_t>(from.count) * 8, *context.stream));
      const int64_t step = 1;
      const DLTensor source{const_cast<int64_t*>(from.array[k].data),
                            {kDLCUDA, context.stream->device->ordinal},
                            1,
                            type_table[type_int64].dtype,
                            const_cast<int64_t*>(&from.count),
                            const_cast<int64_t*>(&step),
                            0};
      DLTensor target = source;
      target.data = copies[k].as<void>();
      DLT_TRY(copy({&source, used[k]}, {&target, copies[k].block}, context));
      indexed.array[k].data = copies[k].as<int64_t>();
      blocks[k] = copies[k].block;
    }
    return success;
  }
  static bool is_straight(const Indexed& x, int k) noexcept {
    return reinterpret_cast<uintptr_t>(x.array[k].data) % alignof(int64_t) == 0;
  }
};

bool are_straight(const Indexed& x) noexcept {
  for (int k = 0; k < x.arrays; ++k)
    if (!StraightArrays::is_straight(x, k)) return false;
  return true;
}

// Runs `move` with arrays that kernels can read.
template <class Move>
[[gnu::noinline]] Status with_straight(const Indexed& x, Block* const* blocks, const LaunchContext& context,
                                       const Move& move) noexcept {
  StraightArrays straight;
  DLT_TRY(straight.make(x, blocks, context));
  return move(straight.indexed, straight.blocks);
}

// Checks the indices if `bad` is not null. `done`: one is out of range. `late` is where kernels report one if no thread is to wait
// for the answer: then nothing is checked here.
Status check_if_wanted(const Indexed& x, Block* const* blocks, const LaunchContext& context, BadIndex* bad, bool* done,
                       uint64_t** late) noexcept {
  *done = false;
  *late = nullptr;
  if (!bad) return success;
  *bad = {-1, 0, 0};
  if (late_index_checks()) return late_index_word(*context.stream->device, late);
  DLT_TRY(check_all(x, blocks, context, bad));
  *done = bad->at >= 0;
  return success;
}

// Places of positions in the tensor; for several checked ones, the positions sorted by place.
struct SortedPlaces {
  Scratch places;
  CarryingKeys keys;
  bool sorted, wide;

  Status make(const Indexed& x, int64_t unit, bool checked, Block* const* blocks, const LaunchContext& context) noexcept {
    Stream& stream = *context.stream;
    DLT_TRY(places.make(static_cast<uint64_t>(x.count) * 8, stream));
    kernels::Places p{};
    p.places = places.as<int64_t>();
    DLT_TRY(use_arrays(x, unit, blocks, stream, &p));
    uint64_t count = 1;  // of places that the arrays can name
    for (int k = 0; k < x.arrays; ++k) count *= static_cast<uint64_t>(x.array[k].size);
    sorted = checked && x.count > 1, wide = count > uint64_t{1} << 32;
    if (sorted) {
      DLT_TRY(keys.make(p.count, wide ? 8 : 4, stream));
      p.keys = keys.keys();
    }
    DLT_TRY(launch(Kind::places, wide, wide ? "places<uint64_t>" : "places<uint32_t>", x.count, context, &p));
    return sorted ? keys.sort(int(std::bit_width(count - 1)), context) : success;
  }
};

// The last dimension becomes that of words, as wide as all addresses and strides allow.
int64_t cut_into_words(const Indexed& x, Places* p) noexcept {
  const int64_t word = word_bytes(x, *p);
  const int last = p->dims - 1;
  p->shape[last] /= word;
  p->step[last] = p->dense[last] = word;
  return word;
}

}  // namespace

Status gather(Indexed& x, const Operand& from, const Operand& to, Block* const* blocks, BadIndex* bad,
              const LaunchContext& context) noexcept {
  if (!are_straight(x)) [[unlikely]]
    return with_straight(x, blocks, context,
                         [&](Indexed& straight, Block* const* used) { return gather(straight, from, to, used, bad, context); });
  Stream& stream = *context.stream;
  const LaunchContext resolved = with_launch(context);
  uint64_t* late = nullptr;
  if (bad) *bad = {-1, 0, 0};
  if (bad && late_index_checks()) DLT_TRY(late_index_word(*stream.device, &late));
  Places places;
  DLT_TRY(set_up(x, places));
  Gather q{};
  q.late = late;
  q.out = x.dense, q.in = x.tensor;
  const int64_t bytes = places.count();
  if (bytes == 0) return late ? check_late(x, blocks, resolved, late) : bad ? check_all(x, blocks, resolved, bad) : success;
  const int64_t word = cut_into_words(x, &places);
  DLT_TRY(use_arrays(x, word, blocks, stream, &q));
  q.items = static_cast<uint64_t>(bytes / word);
  q.dims = places.dims, q.spread_from = places.spread_from, q.spread_to = places.spread_to;
  for (int d = 0; d < places.dims; ++d) {
    q.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(places.shape[d]));
    q.stride[d] = places.step[d] / word;
  }
  DLT_TRY(use(from.block, stream, false));
  DLT_TRY(use(to.block, stream, true));
  const int type = word_type(word);
  FirstBad found;
  const bool waits = bad && !late && x.arrays > 0;  // what has been read is not used if an index is bad
  if (waits) {
    DLT_TRY(found.make(stream));
    q.bad = found.memory.as<uint64_t>();
  }
  DLT_TRY(launch(Kind::gathered, static_cast<uint64_t>(type), std::string("words<") + type_name(type) + ">", bytes / word,
                 resolved, &q));
  return waits ? found.read(x, blocks, stream, bad) : success;
}

Status scatter(Indexed& x, int op, int type, const Operand& from, const Operand& to, Block* const* blocks, BadIndex* bad,
               const LaunchContext& context) noexcept {
  if (!are_straight(x)) [[unlikely]]
    return with_straight(x, blocks, context, [&](Indexed& straight, Block* const* used) {
      return scatter(straight, op, type, from, to, used, bad, context);
    });
  Stream& stream = *context.stream;
  const LaunchContext resolved = with_launch(context);
  bool done;
  uint64_t* late;
  DLT_TRY(check_if_wanted(x, blocks, resolved, bad, &done, &late));
  if (done) return success;
  if (late) DLT_TRY(check_late(x, blocks, resolved, late));
  Places places;
  DLT_TRY(set_up_both(x, places));
  int64_t unit = x.width;  // bytes of what a thread takes
  if (op < 0) {
    const int last = places.dims - 1;
    if (places.dims > places.spread_to && places.step[last] == x.width && places.dense[last] == x.width)
      places.shape[last] *= x.width, places.step[last] = places.dense[last] = 1;
    else DLT_TRY(places.add_one(x.width, 1, 1));
    if (places.count() == 0) return success;
    unit = cut_into_words(x, &places);
  }
  const int64_t items = places.count();
  if (items == 0) return success;

  SortedPlaces named;
  DLT_TRY(named.make(x, unit, bad != nullptr, blocks, resolved));
  kernels::Scatter q{};
  q.out = x.tensor, q.in = x.dense;
  q.places = named.places.as<int64_t>();
  if (named.sorted) {
    q.keys = named.keys.keys();
    q.wide_keys = named.wide;
    q.numbers = named.keys.carried();
    q.wide = named.keys.wide();
  }
  q.items = static_cast<uint64_t>(items);
  q.count = static_cast<uint64_t>(x.count);
  q.dims = places.dims, q.spread = places.spread_from;
  for (int d = 0; d < places.dims; ++d) {
    q.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(places.shape[d]));
    q.stride[d] = places.step[d] / unit;
    q.dense[d] = places.dense[d] / unit;
  }
  DLT_TRY(use(from.block, stream, false));
  DLT_TRY(use(to.block, stream, true));
  if (op < 0) {
    const int word = word_type(unit);
    return launch(Kind::scattered, static_cast<uint64_t>(word), std::string("words<") + type_name(word) + ">", items, resolved,
                  &q);
  }
  // Aligned at every place, or else read as bytes.
  const auto alignment = static_cast<uint64_t>(type_alignment(type) - 1);
  const bool bytes = ((reinterpret_cast<uintptr_t>(x.tensor) | reinterpret_cast<uintptr_t>(x.dense)) & alignment) != 0;
  return launch(Kind::join, static_cast<uint64_t>(op) << 7 | static_cast<uint64_t>(type) << 1 | bytes,
                "join<" + body_name(static_cast<uint32_t>(op)) + ", " + type_name(type) + ", " + (bytes ? "true>" : "false>"),
                items, resolved, &q);
}

}  // namespace dlt::cuda
