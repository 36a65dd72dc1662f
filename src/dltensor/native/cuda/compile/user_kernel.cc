// SPDX-License-Identifier: Apache-2.0
// From operands to the launch of a kernel that a user wrote.
#include "native/cuda/compile/user_kernel.h"

#include <algorithm>
#include <bit>

#include "native/cuda/compile/compiler.h"
#include "native/cuda/elementwise/plan.h"

namespace dlt::cuda {
namespace {

constexpr int most_user_operands = kernels::max_user_operands + 1;  // with the output, which is number 0
constexpr int64_t narrow_limit = int64_t{1} << 31;

struct UserPlan {
  int operands = 0;  // with the output
  int bytes[most_user_operands] = {};
  void* pointers[most_user_operands] = {};
  bool number[most_user_operands] = {};
  int64_t strides[most_user_operands][max_dims];
  int64_t shape[max_dims];
  int dims = 0;
  kernels::Immediate values[kernels::max_user_operands] = {};
};

Status describe(UserPlan& plan, int k, const Operand& operand) noexcept {
  if (!operand.tensor) {
    plan.number[k] = true;
    plan.bytes[k] = type_bytes(operand.type);
    memcpy(plan.values[k - 1].bytes, operand.value, sizeof operand.value);
    return success;
  }
  const DLTensor& t = *operand.tensor;
  int type = 0;
  DLT_TRY(type_of("elementwise", t, &type));
  plan.bytes[k] = type_bytes(type);
  plan.pointers[k] = static_cast<char*>(t.data) + t.byte_offset;
  if (!broadcast_strides(t.ndim, t.shape, t.strides, plan.dims, plan.shape, Align::trailing, plan.strides[k]))
    return fail(Fault::value, "elementwise: operand %d of %d dimensions does not broadcast to the output's %d dimensions", k,
                t.ndim, plan.dims);
  return success;
}

Status launch(const char* text, const std::string& name, const LaunchContext& context, int64_t items, int64_t elements,
              void* parameters) noexcept {
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(guarded("elementwise", [&] { return get_user_kernel(device, text, "dlt::user::" + name, nullptr, &kernel); }));
  return launch_kernel(device, kernel, geometry_for(device, kernel.blocks_per_multiprocessor, items, elements, context.launch),
                       *context.stream, parameters);
}

unsigned numbers_of(const UserPlan& plan) noexcept {
  unsigned bits = 0;
  for (int k = 1; k < plan.operands; ++k) bits |= unsigned{plan.number[k]} << (k - 1);
  return bits;
}

Status launch_run(const UserPlan& plan, const char* text, const LaunchContext& context) noexcept {
  int widest = 1;
  for (int k = 0; k < plan.operands; ++k)
    if (!plan.number[k]) widest = std::max(widest, plan.bytes[k]);
  int pack = widest >= 16 ? 1 : 16 / widest;
  for (int k = 0; k < plan.operands; ++k)
    if (!plan.number[k] && reinterpret_cast<uintptr_t>(plan.pointers[k]) % static_cast<unsigned>(pack * plan.bytes[k]))
      pack = 1;
  kernels::UserRun p;
  p.out = plan.pointers[0];
  for (int k = 0; k < kernels::max_user_operands; ++k) p.in[k] = plan.pointers[k + 1], p.value[k] = plan.values[k];
  const int64_t count = plan.dims ? plan.shape[0] : 1;
  p.count = static_cast<uint64_t>(count);
  return guarded("elementwise", [&] {
    const std::string name = "contiguous<" + std::to_string(pack) + ", " + std::to_string(numbers_of(plan)) + ">";
    return launch(text, name, context, (count - 1) / pack + 1, count, &p);
  });
}

template <class I>
Status launch_rows(const UserPlan& plan, const char* text, const LaunchContext& context, int64_t count) noexcept {
  kernels::UserRows<I> p;
  p.out = plan.pointers[0];
  for (int k = 0; k < kernels::max_user_operands; ++k) p.in[k] = plan.pointers[k + 1], p.value[k] = plan.values[k];
  p.count = static_cast<I>(count);
  p.dims = plan.dims;
  for (int d = 0; d < plan.dims; ++d) {
    p.extent[d] = kernels::divider<I>(static_cast<I>(plan.shape[d]));
    for (int k = 0; k < plan.operands; ++k) p.stride[k][d] = plan.number[k] ? 0 : plan.strides[k][d];
  }
  return guarded("elementwise", [&] {
    const char* index = sizeof(I) == 4 ? "uint32_t" : "uint64_t";
    const std::string name = std::string("rows<") + index + ", " + std::to_string(numbers_of(plan)) + ">";
    return launch(text, name, context, count, count, &p);
  });
}

Status run(const char* text, const Operand* in, int count, const Operand& out, const LaunchContext& context) noexcept;

// Through copies: of misaligned operands, of ones that overlap the output, and where too many dimensions are left.
Status run_by_copies(const char* text, const Operand* in, int count, const Operand& out, const LaunchContext& context,
                     bool all) noexcept {
  Temporary copies[most_user_operands];
  Operand straight[most_user_operands];
  for (int k = 0; k < count; ++k) {
    straight[k] = in[k];
    if (!in[k].tensor || !(all || is_misaligned(*in[k].tensor))) continue;
    DLT_TRY(copies[k].make(all ? *out.tensor : *in[k].tensor, *context.stream));
    copies[k].tensor.dtype = in[k].tensor->dtype;
    if (all && item_bytes(in[k].tensor->dtype) > item_bytes(out.tensor->dtype)) {  // room for the wider elements
      DLTensor like = *out.tensor;
      like.dtype = in[k].tensor->dtype;
      release(copies[k].block);
      copies[k].block = nullptr;
      DLT_TRY(copies[k].make(like, *context.stream));
    }
    DLT_TRY(is_misaligned(*in[k].tensor) ? copy_bytes(in[k], copies[k].operand(), context)
                                         : copy(in[k], copies[k].operand(), context));
    straight[k] = copies[k].operand();
  }
  Temporary result;
  DLT_TRY(result.make(*out.tensor, *context.stream));
  DLT_TRY(run(text, straight, count, result.operand(), context));
  return is_misaligned(*out.tensor) ? copy_bytes(result.operand(), out, context) : copy(result.operand(), out, context);
}

Status run(const char* text, const Operand* in, int count, const Operand& out, const LaunchContext& context) noexcept {
  const DLTensor& target = *out.tensor;
  bool aside = is_misaligned(target);
  for (int k = 0; k < count; ++k) {
    if (!in[k].tensor) continue;
    const Overlap o = overlap(*in[k].tensor, target);
    aside |= is_misaligned(*in[k].tensor) || o == Overlap::some ||
             (o == Overlap::identical && item_bytes(in[k].tensor->dtype) != item_bytes(target.dtype));
  }
  if (aside) return run_by_copies(text, in, count, out, context, false);
  UserPlan plan;
  plan.operands = count + 1;
  plan.dims = target.ndim;
  memcpy(plan.shape, target.shape, sizeof(int64_t) * static_cast<size_t>(target.ndim));
  DLT_TRY(describe(plan, 0, out));
  for (int k = 0; k < count; ++k) DLT_TRY(describe(plan, k + 1, in[k]));
  plan.dims = order_dimensions({plan.operands, plan.number, plan.shape, plan.strides}, plan.dims, plan.pointers, plan.bytes);
  if (plan.dims > kernels::max_user_dims) return run_by_copies(text, in, count, out, context, true);
  for (int k = 0; k < count; ++k)
    if (in[k].tensor) DLT_TRY(use(in[k].block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  bool contiguous = plan.dims <= 1;
  for (int k = 0; contiguous && plan.dims && k < plan.operands; ++k)
    contiguous = plan.number[k] || plan.strides[k][0] == 1 || plan.shape[0] == 1;
  if (contiguous) return launch_run(plan, text, context);
  const int64_t elements = numel(target.ndim, target.shape);
  return elements >= narrow_limit ? launch_rows<uint64_t>(plan, text, context, elements)
                                  : launch_rows<uint32_t>(plan, text, context, elements);
}

Status raw_kernel(const std::string& text, const std::string& name, const std::vector<std::string>& options, Stream& stream,
                  Kernel* out) noexcept {
  return guarded("RawKernel", [&] { return get_user_kernel(*stream.device, text, name, &options, out); });
}

}  // namespace

Status user_elementwise(const char* text, const Operand* in, int count, const Operand& out,
                        const LaunchContext& context) noexcept {
  const DLTensor& target = *out.tensor;
  if (count > kernels::max_user_operands)
    return fail(Fault::value, "elementwise: expected at most %d operands, got %d", kernels::max_user_operands, count);
  if (numel(target.ndim, target.shape) == 0) return success;
  if (repeats_elements(target.ndim, target.shape, target.strides))
    return fail(Fault::value, "elementwise: the output repeats elements (a stride is 0): copy it first");
  LaunchContext here = context;
  if (!here.launch) here.launch = thread_launch();
  if (here.launch) DLT_TRY(check_launch(*here.launch));
  return run(text, in, count, out, here);
}

Status raw_launch(const std::string& text, const std::string& name, const std::vector<std::string>& options,
                  const RawLaunch& launch, void** arguments, const RawUse* uses, int use_count, Stream& stream) noexcept {
  Kernel kernel;
  DLT_TRY(raw_kernel(text, name, options, stream, &kernel));
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > static_cast<uint64_t>(kernel.most_threads))
    return fail(Fault::value, "RawKernel: expected blocks of at most %d threads for %s, got %llu", kernel.most_threads,
                name.c_str(), static_cast<unsigned long long>(threads));
  constexpr unsigned plain_shared_bytes = 48 << 10;  // more has to be asked for
  Current current(*stream.device);
  if (launch.shared_bytes > plain_shared_bytes)
    DLT_CU(cuFuncSetAttribute(kernel.function, kFunctionDynamicShared, static_cast<int>(launch.shared_bytes)));
  for (int i = 0; i < use_count; ++i) DLT_TRY(use(uses[i].block, stream, uses[i].write));
  const CUresult result = driver.cuLaunchKernel(kernel.function, launch.grid[0], launch.grid[1], launch.grid[2],
                                                launch.block[0], launch.block[1], launch.block[2], launch.shared_bytes,
                                                stream.handle, arguments, nullptr);
  stream.count_work();
  return check(result, "cuLaunchKernel");
}

Status raw_prepare(const std::string& text, const std::string& name, const std::vector<std::string>& options, Stream& stream,
                   RawAttributes* out) noexcept {
  Kernel kernel;
  DLT_TRY(raw_kernel(text, name, options, stream, &kernel));
  Current current(*stream.device);
  constexpr int static_shared_attribute = 1, local_attribute = 3;
  DLT_CU(cuFuncGetAttribute(&out->registers, kFunctionRegisters, kernel.function));
  DLT_CU(cuFuncGetAttribute(&out->shared_bytes, static_shared_attribute, kernel.function));
  DLT_CU(cuFuncGetAttribute(&out->local_bytes, local_attribute, kernel.function));
  out->most_threads = kernel.most_threads;
  return success;
}

}  // namespace dlt::cuda
