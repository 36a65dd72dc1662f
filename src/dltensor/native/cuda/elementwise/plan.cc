// SPDX-License-Identifier: Apache-2.0
// From a plan to a launch: dimensions sorted by the output's strides and merged where operands allow, the kernel, and
// its parameters.
#include "native/cuda/elementwise/plan.h"

#include <algorithm>
#include <bit>

namespace dlt::cuda {
namespace {

using kernels::Contiguous;
using kernels::divider;
using kernels::Rows;
using kernels::Tiles;

constexpr int few_dims = 6;  // parameters of up to so many outer dimensions stay small
constexpr int64_t narrow_limit = int64_t{1} << 31;

constexpr const char* element_header = "native/cuda/kernels/elementwise/element.cuh";

std::string list(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// "op_add, 2, float, float, float, float, float": the template arguments that all families begin with.
std::string head(const Plan& plan) {
  const auto type = [&](int k) { return k <= plan.operands ? type_name(plan.types[k]) : type_name(plan.type); };
  return list({plan.body.name(plan.body.code), std::to_string(plan.operands), type_name(plan.type), type(1), type(2), type(3),
               type(0)});
}

KernelKey key_of(const Plan& plan, unsigned family) noexcept {
  KernelKey key;
  key.add(family, 2);
  key.add(plan.body.code, 12);
  key.add(static_cast<uint64_t>(plan.operands), 2);
  key.add(static_cast<uint64_t>(plan.type), 6);
  for (int k = 0; k < most_operands; ++k) key.add(k <= plan.operands ? static_cast<uint64_t>(plan.types[k]) : 0, 6);
  return key;
}

// The last template arguments of the families with a shape: the most dimensions, and the type of an index.
std::string end_of(bool many, bool wide) {
  return list({std::to_string(many ? max_dims : few_dims), wide ? "uint64_t" : "uint32_t"});
}

// Calls `launch` with the same template arguments.
template <class F>
Status dispatch(bool many, bool wide, F launch) noexcept {
  if (many) return wide ? launch.template operator()<max_dims, uint64_t>() : launch.template operator()<max_dims, uint32_t>();
  return wide ? launch.template operator()<few_dims, uint64_t>() : launch.template operator()<few_dims, uint32_t>();
}

// Returns how many elements of the widest operand are 16 bytes.
int widest_pack(const Plan& plan) noexcept {
  int bytes = 1;
  for (int k = 0; k <= plan.operands; ++k)
    if (!plan.immediate[k]) bytes = std::max(bytes, type_bytes(plan.types[k]));
  // Elements of 16 bytes need not be aligned to as many. Where they are, two of them are a pack.
  return bytes >= 16 ? 2 : 16 >> std::countr_zero(static_cast<unsigned>(bytes));
}

// The alignment of a pack of so many elements.
int64_t pack_alignment(int pack, int bytes) noexcept { return std::min<int64_t>(16, int64_t{pack} * bytes); }

// `bytes` is a power of two.
bool divides(const void* pointer, int64_t bytes) noexcept {
  return (reinterpret_cast<uintptr_t>(pointer) & static_cast<uint64_t>(bytes - 1)) == 0;
}

Contiguous contiguous_parameters(const Plan& plan, int64_t count) noexcept {
  Contiguous p;
  p.out = plan.pointers[0];
  for (int k = 0; k < kernels::max_operands; ++k) {
    p.in[k] = plan.pointers[k + 1];
    p.value[k] = plan.values[k];
  }
  p.count = static_cast<uint64_t>(count);
  return p;
}

bool is_float8(int type) noexcept { return type == type_float8_e4m3fn || type == type_float8_e5m2; }

// Returns whether the kernels of float8.cuh make the cast.
bool casts_float8(const Plan& plan) noexcept {
  const uint32_t code = plan.body.code;
  if (code < cast_code || code >= scaled_code || (code & 1) || plan.immediate[1]) return false;
  const int to = plan.types[0], from = plan.types[1];
  if (is_float8(to) == is_float8(from)) return false;
  switch (is_float8(to) ? from : to) {
    case type_float16:
    case type_bfloat16:
    case type_float32:
    case type_uint8: return divides(plan.pointers[0], 16) && divides(plan.pointers[1], 16);
    default: return false;
  }
}

Status launch_float8(Plan& plan, Device& device, const LaunchContext& context, int64_t count) noexcept {
  KernelKey key = key_of(plan, 0);
  key.add(31, 5);  // no pack
  Kernel kernel;
  DLT_TRY(kernel_of(
      device, key, "native/cuda/kernels/elementwise/float8.cuh",
      [&] {
        return "float8::run<" +
               list({type_name(plan.types[0]), type_name(plan.types[1]), plan.body.code & 2 ? "true" : "false"}) + ">";
      },
      &kernel));
  Contiguous p = contiguous_parameters(plan, count);
  const int64_t bytes = count * std::max(type_bytes(plan.types[0]), type_bytes(plan.types[1]));
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, (bytes - 1) / 64 + 1, count, context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

Status launch_contiguous(Plan& plan, Device& device, const LaunchContext& context) noexcept {
  const int64_t count = plan.dims ? plan.shape[0] : 1;
  if (casts_float8(plan)) return launch_float8(plan, device, context, count);
  int pack = widest_pack(plan);
  const auto aligned = [&](int at) {
    for (int k = 0; k <= plan.operands; ++k)
      if (!plan.immediate[k] && !divides(plan.pointers[k], pack_alignment(at, type_bytes(plan.types[k])))) return false;
    return true;
  };
  while (pack > 1 && !aligned(pack)) pack /= 2;
  unsigned immediates = 0;
  for (int k = 1; k <= plan.operands; ++k) immediates |= unsigned{plan.immediate[k]} << (k - 1);
  KernelKey key = key_of(plan, 0);
  key.add(static_cast<uint64_t>(pack), 5);
  key.add(immediates, 3);
  Kernel kernel;
  DLT_TRY(kernel_of(
      device, key, element_header,
      [&] { return "element::contiguous<" + list({head(plan), std::to_string(pack), std::to_string(immediates)}) + ">"; },
      &kernel));
  Contiguous p = contiguous_parameters(plan, count);
  // Packs are powers of two, and a thread takes two of them at once unless they are wide: as the kernel does.
  const bool one = pack > 8 || pack * type_bytes(plan.types[0]) > 16;
  const int shift = std::countr_zero(static_cast<unsigned>(pack)) + (one ? 0 : 1);
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, ((count - 1) >> shift) + 1, count,
                                         context.launch);
  if (plan.chosen) *plan.chosen = {kernel.function, geometry};
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

// Rows cut into parts for groups of threads, which are as long as rows allow and as all threads that fit need.
struct RowParts {
  uint32_t lane_bits = 0;
  int64_t part = 0, parts = 0;  // packs of each, and their number in a row
};

RowParts row_parts(const Device& device, const Kernel& kernel, int64_t rows, int64_t length, int pack, int widest) noexcept {
  constexpr uint32_t most_bits = 5;  // a warp reads and writes adjacent packs
  constexpr int64_t most_steps = 8;
  const int64_t packs = std::max<int64_t>(1, length / pack), unroll = kernels::row_packs(pack, pack * widest);
  RowParts out;
  while (out.lane_bits < most_bits && (unroll << out.lane_bits) < packs) ++out.lane_bits;
  // The elements before and after words are up to 14, one for a thread.
  if (pack > 1 && pack * widest < 16)
    while (out.lane_bits < 3 && (int64_t{1} << out.lane_bits) < length) ++out.lane_bits;
  const int64_t step = unroll << out.lane_bits;
  const int64_t resident = int64_t{device.properties.multiprocessor_count} * kernel.blocks_per_multiprocessor * 256;
  const int64_t steps = std::clamp<int64_t>(rows * packs / (unroll * std::max<int64_t>(1, resident)), 1, most_steps);
  out.parts = (packs - 1) / (step * steps) + 1;
  out.part = ((packs - 1) / out.parts / step + 1) * step;
  out.parts = (packs - 1) / out.part + 1;
  return out;
}

template <int DIMS, class I>
Status launch_rows(Plan& plan, Device& device, const LaunchContext& context, const Kernel& kernel, int pack,
                   int widest) noexcept {
  Rows<DIMS, I> p;
  p.out = plan.pointers[0];
  for (int k = 0; k < kernels::max_operands; ++k) {
    p.in[k] = plan.pointers[k + 1];
    p.value[k] = plan.values[k];
  }
  const int inner = plan.dims - 1;
  p.dims = inner;
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) {
    p.extent[d] = divider<I>(static_cast<I>(plan.shape[d]));
    rows *= plan.shape[d];
    for (int k = 0; k <= plan.operands; ++k) p.stride[k][d] = plan.immediate[k] ? 0 : plan.strides[k][d];
  }
  for (int k = 0; k <= plan.operands; ++k) p.inner[k] = plan.immediate[k] ? 0 : plan.strides[k][inner];
  const int64_t length = plan.shape[inner];
  RowParts parts = row_parts(device, kernel, rows, length, pack, widest);
  p.length = static_cast<I>(length);
  p.part = static_cast<I>(parts.part);
  p.parts = divider<I>(static_cast<I>(parts.parts));
  const int64_t items = rows * parts.parts;
  p.items = static_cast<I>(items);
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, items << parts.lane_bits, rows * length,
                                         context.launch);
  // Launch settings may be such that threads do not make whole groups.
  while ((uint64_t{geometry.blocks} * geometry.threads) & ((uint64_t{1} << parts.lane_bits) - 1)) --parts.lane_bits;
  p.lane_bits = parts.lane_bits;
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

Status choose_rows(Plan& plan, Device& device, const LaunchContext& context) noexcept {
  const int inner = plan.dims - 1;
  unsigned modes[most_operands];
  int widest = type_bytes(plan.types[0]);
  for (int k = 0; k <= plan.operands; ++k) {
    const int64_t step = plan.strides[k][inner];
    modes[k] = plan.immediate[k]    ? kernels::mode_immediate
               : step == 1          ? kernels::mode_run
               : step == 0 && k > 0 ? kernels::mode_repeat
                                    : kernels::mode_strided;
    if (!plan.immediate[k]) widest = std::max(widest, type_bytes(plan.types[k]));
  }
  const auto fits = [&](int at) {
    if (plan.shape[inner] % at) return false;
    for (int k = 0; k <= plan.operands; ++k) {
      if (modes[k] == kernels::mode_strided) return false;
      if (modes[k] != kernels::mode_run) continue;
      if (!divides(plan.pointers[k], pack_alignment(at, type_bytes(plan.types[k])))) return false;
      for (int d = 0; d < inner; ++d)
        if (plan.strides[k][d] % at) return false;
    }
    return true;
  };
  // 16 bytes of the widest operand where all addresses allow that, else words; elements where the output has steps.
  int pack = widest_pack(plan);
  if (!fits(pack)) pack = modes[0] == kernels::mode_run ? kernels::word_pack(widest) : 1;
  int64_t items = std::max<int64_t>(1, plan.shape[inner] / pack);
  for (int d = 0; d < inner; ++d) items *= plan.shape[d];
  const bool wide = items >= narrow_limit || plan.shape[inner] >= narrow_limit, many = inner > few_dims;
  unsigned packed_modes = 0;
  for (int k = 0; k <= plan.operands; ++k) packed_modes |= modes[k] << (kernels::mode_bits * static_cast<unsigned>(k));
  KernelKey key = key_of(plan, 1);
  key.add(static_cast<uint64_t>(pack), 5);
  key.add(packed_modes, 8);
  key.add(many, 1);
  key.add(wide, 1);
  Kernel kernel;
  DLT_TRY(kernel_of(
      device, key, element_header,
      [&] {
        return "element::rows<" + list({head(plan), std::to_string(pack), std::to_string(packed_modes), end_of(many, wide)}) +
               ">";
      },
      &kernel));
  return dispatch(many, wide,
                  [&]<int DIMS, class I>() { return launch_rows<DIMS, I>(plan, device, context, kernel, pack, widest); });
}

// A run at other addresses than packs need is one row.
Status choose_run(Plan& plan, Device& device, const LaunchContext& context) noexcept {
  constexpr int64_t few = 64;
  const int pack = widest_pack(plan);
  bool aligned = true;
  for (int k = 0; k <= plan.operands; ++k)
    aligned = aligned && (plan.immediate[k] || divides(plan.pointers[k], pack_alignment(pack, type_bytes(plan.types[k]))));
  return aligned || plan.dims == 0 || plan.shape[0] < few ? launch_contiguous(plan, device, context)
                                                          : choose_rows(plan, device, context);
}

// The extents of a tile: lines of the input, and elements of each. As the kernels of tile.cuh have them.
struct TileSides {
  int64_t across, down;
  bool words;          // the kernel that moves 16 bytes at a time
  int64_t pitch = 0;   // the kernel of strips, whose runs have so many elements for each of the long side
  bool split = false;  // and the input is the run
};

// Does the plane that dimension `down` makes with the last one go by strips?
bool is_strip(const Plan& plan, int down, TileSides* sides) noexcept {
  constexpr int64_t few = 64;  // of the long side, below which blocks have little to do
  const int across = plan.dims - 1;
  const int64_t step = plan.strides[1][across], bytes = type_bytes(plan.types[1]);
  if (plan.shape[down] <= kernels::strip_most && step <= kernels::strip_most && step >= plan.shape[down] &&
      plan.shape[across] >= few) {
    *sides = {kernels::strip_tile(static_cast<int>(step), static_cast<int>(bytes)), plan.shape[down], false, step, true};
    return true;
  }
  const int64_t run = plan.shape[across];
  if (run > kernels::strip_most || plan.strides[0][down] != run || plan.shape[down] < few) return false;
  *sides = {run, kernels::strip_tile(static_cast<int>(run), static_cast<int>(bytes)), false, run, false};
  return true;
}

TileSides tile_sides(const Plan& plan, int down) noexcept {
  TileSides strip;
  if (is_strip(plan, down, &strip)) return strip;
  const int bytes = type_bytes(plan.types[0]), across = plan.dims - 1;
  const int64_t side = bytes >= 4 ? 32 : 64, vector = 16 / bytes;
  const TileSides plain{side, side, false};
  const bool copies = plan.operands == 1 && plan.types[0] == plan.types[1] && plan.body.code == copy_code;
  if (!copies || bytes > 4) return plain;
  if (plan.shape[across] % vector || plan.shape[down] % vector) return plain;
  for (int k = 0; k < 2; ++k) {
    if (!divides(plan.pointers[k], 16)) return plain;
    for (int d = 0; d < plan.dims; ++d)
      if (d != (k ? down : across) && plan.strides[k][d] % vector) return plain;
  }
  return {kernels::tile_words_across(bytes), kernels::tile_words_down(bytes), true};
}

template <int DIMS, class I>
Status launch_tiles(Plan& plan, Device& device, const LaunchContext& context, const Kernel& kernel, int down,
                    const TileSides& sides) noexcept {
  const int across = plan.dims - 1;
  Tiles<DIMS, I> p;
  p.out = plan.pointers[0];
  p.in = plan.pointers[1];
  for (int k = 0; k < kernels::max_operands; ++k) p.value[k] = plan.values[k];
  p.across = plan.shape[across];
  p.down = plan.shape[down];
  p.out_down = plan.strides[0][down];
  p.in_across = plan.strides[1][across];
  const int64_t tiles_across = (p.across + sides.across - 1) / sides.across,
                tiles_down = (p.down + sides.down - 1) / sides.down;
  p.tiles_across = divider<I>(static_cast<I>(tiles_across));
  p.tiles_down = divider<I>(static_cast<I>(tiles_down));
  int64_t items = tiles_across * tiles_down;
  p.dims = 0;
  for (int d = 0; d < across; ++d) {
    if (d == down) continue;
    p.extent[p.dims] = divider<I>(static_cast<I>(plan.shape[d]));
    p.out_stride[p.dims] = plan.strides[0][d];
    p.in_stride[p.dims] = plan.strides[1][d];
    items *= plan.shape[d];
    ++p.dims;
  }
  p.items = static_cast<I>(items);
  Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, items * 256, items * 256, context.launch);
  // One tile a block: more blocks than tiles would idle.
  geometry.blocks = static_cast<unsigned>(std::min<int64_t>(geometry.blocks, items));
  if (sides.words || sides.pitch) geometry.threads = 256;  // fixed by the tile; only the number of blocks follows the launch
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

// The dimension in which the input is contiguous when the output is contiguous in another, or -1 when tiles would not
// help.
int tile_dimension(const Plan& plan) noexcept {
  const int across = plan.dims - 1;
  if (plan.dims < 2 || plan.immediate[1] || plan.strides[0][across] != 1) return -1;
  for (int k = 2; k <= plan.operands; ++k)
    if (!plan.immediate[k]) return -1;
  const int64_t step = plan.strides[1][across];
  if (step == 1 || step == 0) return -1;
  TileSides strip;
  for (int d = 0; d < across; ++d)
    if (plan.strides[1][d] == 1 && ((plan.shape[d] >= 8 && plan.shape[across] >= 8) || is_strip(plan, d, &strip))) return d;
  return -1;
}

Status choose_tiles(Plan& plan, Device& device, const LaunchContext& context, int down) noexcept {
  const TileSides sides = tile_sides(plan, down);
  int64_t items = 1;
  for (int d = 0; d < plan.dims; ++d) {
    const int64_t side = d == down ? sides.down : d == plan.dims - 1 ? sides.across : 1;
    items *= (plan.shape[d] + side - 1) / side;
  }
  const bool wide = items >= narrow_limit, many = plan.dims - 2 > few_dims;
  KernelKey key = key_of(plan, 2);
  key.add(many, 1);
  key.add(wide, 1);
  key.add(sides.words, 1);
  key.add(static_cast<uint64_t>(sides.pitch), 6);
  key.add(sides.split, 1);
  Kernel kernel;
  DLT_TRY(kernel_of(
      device, key, "native/cuda/kernels/elementwise/tile.cuh",
      [&] {
        const std::string bytes = std::to_string(type_bytes(plan.types[0])), end = end_of(many, wide);
        const std::string strip = list({std::to_string(sides.pitch), std::to_string(sides.split ? sides.across : sides.down),
                                        sides.split ? "true" : "false"});
        return "tile::" +
               (sides.words   ? "words<" + list({bytes, end})
                : sides.pitch ? "strip<" + list({head(plan), strip, end})
                              : "permute<" + list({head(plan), end})) +
               ">";
      },
      &kernel));
  return dispatch(many, wide,
                  [&]<int DIMS, class I>() { return launch_tiles<DIMS, I>(plan, device, context, kernel, down, sides); });
}

}  // namespace

int order_dimensions(const Dimensions& a, int dims, void** pointers, const int* bytes) noexcept {
  for (int d = 0; d < dims; ++d) {
    if (a.strides[0][d] >= 0) continue;
    for (int k = 0; k < a.operands; ++k) {
      if (a.immediate[k]) continue;
      int64_t& step = a.strides[k][d];
      pointers[k] = static_cast<char*>(pointers[k]) + (a.shape[d] - 1) * step * bytes[k];
      step = -step;
    }
  }
  for (int i = 1; i < dims; ++i)  // few, and mostly in order
    for (int d = i; d > 0 && a.strides[0][d - 1] < a.strides[0][d]; --d) {
      std::swap(a.shape[d - 1], a.shape[d]);
      for (int k = 0; k < a.operands; ++k)
        if (!a.immediate[k]) std::swap(a.strides[k][d - 1], a.strides[k][d]);
    }
  int64_t* strides[kernels::max_user_operands + 1];
  int in_memory = 0;
  for (int k = 0; k < a.operands; ++k)
    if (!a.immediate[k]) strides[in_memory++] = a.strides[k];
  return coalesce(dims, a.shape, in_memory, strides);
}

Status execute(Plan& plan, Device& device, const LaunchContext& context) noexcept {
  if (plan.dims > 1 || (plan.dims == 1 && plan.strides[0][0] != 1)) {
    int bytes[most_operands];
    for (int k = 0; k <= plan.operands; ++k) bytes[k] = type_bytes(plan.types[k]);
    plan.dims = order_dimensions({plan.operands + 1, plan.immediate, plan.shape, plan.strides}, plan.dims, plan.pointers,
                                 bytes);
  }
  bool contiguous = plan.dims <= 1;
  if (plan.dims == 1)
    for (int k = 0; k <= plan.operands; ++k) contiguous &= plan.immediate[k] || plan.strides[k][0] == 1 || plan.shape[0] == 1;
  if (contiguous) return choose_run(plan, device, context);
  const int down = tile_dimension(plan);
  return down >= 0 ? choose_tiles(plan, device, context, down) : choose_rows(plan, device, context);
}

Geometry blocks_for(const Device& device, const Kernel& kernel, uint64_t items, unsigned threads) noexcept {
  const int64_t resident = int64_t{device.properties.multiprocessor_count} * kernel.blocks_per_multiprocessor;
  const auto wanted = static_cast<int64_t>(std::min<uint64_t>(items, 2147483647));
  return {static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, resident))), threads};
}

}  // namespace dlt::cuda
