// SPDX-License-Identifier: Apache-2.0
// Running results: rows in the order of memory, how threads share the elements of a row, and one launch or three.
#include "native/cuda/scan/scan.h"

#include "native/cuda/reduce/axes.h"
#include "native/cuda/elementwise/plan.h"
#include "native/ops/kinds.h"
#include "native/ops/scans.h"

namespace dlt::cuda {
namespace {

using kernels::divider;

constexpr int64_t block_threads = 256;
constexpr int64_t state_bytes = 32;  // of the largest body: sums of complex numbers

struct Name {
  Scan op;
  int element, result;  // rows
  bool many;
};

enum class Step : unsigned { totals, prefixes, results, at_once };

bool is_of_floats(const Name& name) noexcept { return kind_bit_of(name.element) >= DLT_FLOATS; }
// The order of floats decides their sums and products.
bool has_order(const Name& name) noexcept { return is_of_floats(name) && (name.op == Scan::sum || name.op == Scan::product); }

std::string expression_of(const Name& name, Step step) {
  const bool is_float = is_of_floats(name);
  const std::string kernels = "dlt::kernels::", scan = kernels + "scan::",
                    type = std::string("<") + type_name(name.element) + ">";
  const auto reduced = [&](const char* body) { return scan + "reduced<" + kernels + "reduce::" + body + type + ">"; };
  std::string body;
  switch (name.op) {
    case Scan::sum: body = is_float ? scan + "float_sums" + type : reduced("sums"); break;
    case Scan::product: body = is_float ? scan + "serial_products" + type : reduced("products"); break;
    case Scan::maximum: body = reduced("largest"); break;
    case Scan::minimum: body = reduced("smallest"); break;
    case Scan::saturating_sum: body = reduced("clamped_sums"); break;
    case Scan::saturating_product: body = reduced("saturated_products"); break;
  }
  static constexpr const char* kernel_names[] = {"pieces<", "prefixes<", "pieces<", "at_once<"};
  return std::string("scan::") + kernel_names[static_cast<int>(step)] + body + ", " + type_name(name.element) + ", " +
         type_name(name.result) + ", " + std::to_string(name.many ? most_dims : few_dims) +
         (step == Step::at_once  ? ">"
          : step == Step::totals ? ", false>"
                                 : ", true>");
}

constexpr const char* scan_header = "native/cuda/kernels/scan/scan.cuh";
constexpr const char* at_once_header = "native/cuda/kernels/scan/at_once.cuh";

Status find(Device& device, const Name& name, Step step, bool all, Kernel* out) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(60, 6);  // no dtype: see reduce.cc
  key.add(static_cast<uint64_t>(step), 2);
  key.add(static_cast<uint64_t>(name.op), 4);
  key.add(static_cast<uint64_t>(name.element), 6);
  key.add(static_cast<uint64_t>(name.result), 6);
  key.add(name.many, 1);
  const auto wanted = [&] {
    if (all)
      prepare_kernels(device, {{scan_header, expression_of(name, Step::results)},
                               {scan_header, expression_of(name, Step::totals)},
                               {scan_header, expression_of(name, Step::prefixes)}});
    return expression_of(name, step);
  };
  return kernel_of(device, key, step == Step::at_once ? at_once_header : scan_header, wanted, out);
}

// Where a row has several blocks, of results that do not depend on their order: a launch that reads once.
template <int DIMS>
Status launch_at_once(const Name& name, kernels::Scanned<DIMS>& p, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  Device& device = *stream.device;
  Kernel kernel;
  DLT_TRY(find(device, name, Step::at_once, false, &kernel));
  const uint64_t pieces = p.rows * p.blocks;
  Scratch memory;  // flags, the ticket, states
  DLT_TRY(memory.make((pieces + 1) * 8 + pieces * 2 * state_bytes, stream));
  p.flags = memory.as<uint64_t>();
  p.ticket = reinterpret_cast<uint32_t*>(p.flags + pieces);
  p.states = p.flags + pieces + 1;
  {
    Current current(device);
    DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(p.flags), 0, (pieces + 1) * 2, stream.handle));
  }
  return launch_kernel(device, kernel, blocks_for(device, kernel, pieces, static_cast<unsigned>(block_threads)), stream, &p);
}

template <int DIMS>
Status launch_scan(const Name& name, const Axis* rows, int dims, const Axis& along, int64_t count, const Operand& in,
                   const Operand& out, const LaunchContext& context) noexcept {
  Device& device = *context.stream->device;
  kernels::Scanned<DIMS> p;
  p.in = reinterpret_cast<const void*>(address(*in.tensor));
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.states = nullptr, p.flags = nullptr, p.ticket = nullptr;
  p.rows = static_cast<uint64_t>(count);
  p.count = static_cast<uint64_t>(along.size);
  p.blocks = static_cast<uint64_t>(up(along.size, scans::block));
  p.batches = (p.blocks - 1) / scans::batch + 1;
  p.in_step = along.in;
  p.out_step = along.out;
  p.dims = dims;
  for (int d = 0; d < dims; ++d)
    p.axis[d] = {divider<uint64_t>(static_cast<uint64_t>(rows[d].size)), rows[d].in, rows[d].mask, rows[d].out, 0};
  const int64_t inner = dims ? rows[dims - 1].size : 1;
  p.across = inner > 1 && magnitude(along.in) > magnitude(rows[dims - 1].in);
  // 32 adjacent rows read whole sectors; else a warp has a block at a time, so that many are added up together.
  const int64_t most = p.across ? block_threads / std::min<int64_t>(32, power_up(inner)) : 32;
  const int64_t lanes = std::clamp<int64_t>(power_up(up(along.size, scans::group)), 1, most);
  p.lane_bits = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(lanes)));
  p.row_count = divider<uint64_t>(p.rows);
  const auto tiles = [&](uint64_t blocks_of_row) {
    const auto pieces = static_cast<uint64_t>(block_threads / lanes);  // of a thread block
    return (p.rows * blocks_of_row + pieces - 1) / pieces;
  };

  if (p.blocks > 1 && !p.across && !has_order(name)) return launch_at_once(name, p, context);
  Kernel totals, prefixes, results;
  DLT_TRY(find(device, name, Step::results, p.blocks > 1, &results));
  const auto blocks = [&](const Kernel& kernel, uint64_t items) {
    return blocks_for(device, kernel, items, static_cast<unsigned>(block_threads));
  };
  if (p.blocks == 1) return launch_kernel(device, results, blocks(results, tiles(1)), *context.stream, &p);

  DLT_TRY(find(device, name, Step::totals, false, &totals));
  DLT_TRY(find(device, name, Step::prefixes, false, &prefixes));
  int64_t bytes;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(p.blocks + p.batches) * state_bytes, &bytes))
    return fail(Fault::memory, "scan: states of %lld rows exceed the address space", static_cast<long long>(count));
  Scratch states;
  DLT_TRY(states.make(static_cast<uint64_t>(bytes), *context.stream));
  p.states = states.as<void>();
  DLT_TRY(launch_kernel(device, totals, blocks(totals, tiles(p.blocks - 1)), *context.stream, &p));
  // A thread takes a row of one batch of floats.
  const bool by_threads = name.op == Scan::sum && is_of_floats(name) && p.batches == 1;
  const uint64_t of_rows = by_threads ? (p.rows - 1) / static_cast<uint64_t>(block_threads) + 1 : p.rows;
  DLT_TRY(launch_kernel(device, prefixes, blocks(prefixes, of_rows), *context.stream, &p));
  return launch_kernel(device, results, blocks(results, tiles(p.blocks)), *context.stream, &p);
}

}  // namespace

Status scan(Scan op, const Operand& in, int axis, const Operand& out, const LaunchContext& context) noexcept {
  Name name{op, 0, 0, false};
  DLT_TRY(type_of("scan", *in.tensor, &name.element));
  DLT_TRY(type_of("scan", *out.tensor, &name.result));
  if (is_misaligned(*in.tensor)) [[unlikely]]
    return with_aligned(in, context, [&](const Operand& x) { return scan(op, x, axis, out, context); });
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& x) { return scan(op, in, axis, x, context); });
  Axis rows[most_dims], along{1, 0, 0, 0};
  int dims = 0;
  int64_t count = 1;
  for (int d = 0; d < in.tensor->ndim; ++d) {
    const Axis one{in.tensor->shape[d], in.tensor->strides[d], 0, out.tensor->strides[d]};
    if (d == axis) {
      along = one;
      continue;
    }
    count *= one.size;
    rows[dims++] = one;
  }
  if (count == 0 || along.size == 0) return success;
  dims = arrange(rows, dims, true);
  DLT_TRY(use(in.block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  name.many = dims > few_dims;
  return name.many ? launch_scan<most_dims>(name, rows, dims, along, count, in, out, context)
                   : launch_scan<few_dims>(name, rows, dims, along, count, in, out, context);
}

}  // namespace dlt::cuda
