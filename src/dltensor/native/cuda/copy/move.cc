// SPDX-License-Identifier: Apache-2.0
// Copies, casts and fills on one device. Between devices and with the host: transfer.cc.
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/copy/transfer.h"

namespace dlt::cuda {
namespace {

constexpr uint32_t keep_code = copy_code;
constexpr uint32_t choose_code = 0xF01;

std::string keep_name(uint32_t) { return "dlt::kernels::keep"; }
std::string choose_name(uint32_t) { return "dlt::kernels::choose"; }
std::string cast_name(uint32_t code) {
  const char* const truth[] = {"false", "true"};
  const bool scaled = code >= scaled_code;
  return std::string(scaled ? "dlt::kernels::scaled_cast<" : "dlt::kernels::cast<") +
         type_name(static_cast<int>((code - (scaled ? scaled_code : cast_code)) >> 2)) + ", " + truth[code & 1] + ", " +
         truth[code >> 1 & 1] + ">";
}

Status check_target(const char* function, const DLTensor& to) noexcept {
  if (repeats_elements(to.ndim, to.shape, to.strides))
    return fail(Fault::value, "%s: the output repeats elements (a stride is 0): copy it first", function);
  return success;
}

bool both_runs(const DLTensor& a, const DLTensor& b) noexcept {
  return same_shape(a, b) && is_contiguous(a.ndim, a.shape, a.strides) && is_contiguous(b.ndim, b.shape, b.strides);
}

// One body over the target's shape.
Status move(const char* function, Plan& plan, std::initializer_list<Operand> from, const Operand& to,
            const LaunchContext& context) noexcept {
  plan.operands = static_cast<int>(from.size());
  plan.dims = to.tensor->ndim;
  memcpy(plan.shape, to.tensor->shape, sizeof(int64_t) * static_cast<size_t>(plan.dims));
  DLT_TRY(add_operand(function, plan, 0, to));
  int k = 0;
  for (const Operand& operand : from) DLT_TRY(add_operand(function, plan, ++k, operand));
  if (context.launch) DLT_TRY(check_launch(*context.launch));
  for (const Operand& operand : from)
    if (operand.tensor) DLT_TRY(use(operand.block, *context.stream, false));
  DLT_TRY(use(to.block, *context.stream, true));
  return execute(plan, *context.stream->device, context);
}

bool overlapping(const Operand& from, const Operand& to) noexcept {
  const Overlap o = overlap(*from.tensor, *to.tensor);
  return o == Overlap::some || (o == Overlap::identical && item_bytes(from.tensor->dtype) != item_bytes(to.tensor->dtype));
}

// The tensor with one more dimension, the bytes of each element.
struct AsBytes {
  DLTensor tensor;
  int64_t shape[max_dims + 1], strides[max_dims + 1];
  explicit AsBytes(const DLTensor& t) noexcept : tensor(t) {
    const int64_t bytes = item_bytes(t.dtype);
    for (int d = 0; d < t.ndim; ++d) shape[d] = t.shape[d], strides[d] = t.strides[d] * bytes;
    shape[t.ndim] = bytes;
    strides[t.ndim] = 1;
    tensor.ndim = t.ndim + 1;
    tensor.shape = shape;
    tensor.strides = strides;
    tensor.dtype = {kDLUInt, 8, 1};
  }
};

Status copy_here(const Operand& from, const Operand& to, const LaunchContext& context) noexcept {
  const DLTensor &source = *from.tensor, &target = *to.tensor;
  const int64_t bytes = item_bytes(target.dtype);
  const bool packed = target.dtype.bits * target.dtype.lanes % 8 != 0;
  if (both_runs(source, target)) {
    DLT_TRY(use(from.block, *context.stream, false));
    DLT_TRY(use(to.block, *context.stream, true));
    const int64_t elements = numel(target.ndim, target.shape);
    const int64_t all = packed ? bytes_of(elements, target.dtype, false) : elements * bytes;
    Current current(*context.stream->device);
    DLT_CU(cuMemcpyDtoDAsync_v2(address(target), address(source), static_cast<size_t>(all), context.stream->handle));
    context.stream->count_work();
    return success;
  }
  if (packed)
    return fail(Fault::type,
                "copy: packed elements (%d bits) can only be copied whole and in C order on CUDA; use .to(\"cpu\")",
                target.dtype.bits * target.dtype.lanes);
  if (word_type(bytes) < 0 || is_misaligned(source) || is_misaligned(target)) return copy_bytes(from, to, context);
  Plan plan;
  plan.body = {keep_code, keep_name};
  plan.type = plan.types[0] = plan.types[1] = word_type(bytes);
  return move("copy", plan, {from}, to, context);
}

}  // namespace

Status copy_bytes(const Operand& from, const Operand& to, const LaunchContext& context) noexcept {
  if (to.tensor->ndim >= max_dims)
    return fail(Fault::value, "copy: elements that are not aligned can have at most %d dimensions", max_dims - 1);
  AsBytes source(*from.tensor), target(*to.tensor);
  Plan plan;
  plan.body = {keep_code, keep_name};
  plan.type = plan.types[0] = plan.types[1] = type_uint8;
  return move("copy", plan, {{&source.tensor, from.block}}, {&target.tensor, to.block}, context);
}

Status copy(const Operand& from, const Operand& to, const LaunchContext& context) noexcept {
  const DLTensor &source = *from.tensor, &target = *to.tensor;
  if (source.dtype.bits != target.dtype.bits || source.dtype.code != target.dtype.code ||
      source.dtype.lanes != target.dtype.lanes)
    return fail(Fault::type, "copy: expected one dtype, got code %d of %d bits and code %d of %d bits; use cast()",
                source.dtype.code, source.dtype.bits, target.dtype.code, target.dtype.bits);
  if (numel(target.ndim, target.shape) == 0) return success;
  DLT_TRY(check_target("copy", target));
  const LaunchContext here = with_launch(context);
  if (source.device.device_type == kDLCUDA && target.device.device_type == kDLCUDA &&
      source.device.device_id != target.device.device_id)
    return copy_across(from, to, here);
  if (!overlapping(from, to)) return copy_here(from, to, here);
  Temporary between;
  DLT_TRY(between.make(source, *context.stream));
  DLT_TRY(copy_here(from, between.operand(), here));
  return copy_here(between.operand(), to, here);
}

Status cast(const Operand& from, const Operand& to, const CastOptions& options, const LaunchContext& context) noexcept {
  Plan plan;
  DLT_TRY(type_of("cast", *to.tensor, &plan.types[0]));
  plan.types[1] = from.type;
  if (from.tensor) DLT_TRY(type_of("cast", *from.tensor, &plan.types[1]));
  if (numel(to.tensor->ndim, to.tensor->shape) == 0) return success;
  if (from.tensor && plan.types[0] == plan.types[1] && !options.scaled) return copy(from, to, context);
  DLT_TRY(check_target("cast", *to.tensor));
  const LaunchContext here = with_launch(context);
  if (is_misaligned(*to.tensor) || (from.tensor && overlapping(from, to))) {
    Temporary result;
    DLT_TRY(result.make(*to.tensor, *context.stream));
    DLT_TRY(cast(from, result.operand(), options, context));
    return copy(result.operand(), to, context);
  }
  if (from.tensor && is_misaligned(*from.tensor))
    return with_aligned(from, here, [&](const Operand& x) { return cast(x, to, options, context); });
  plan.type = plan.types[1];
  const uint32_t mode = static_cast<uint32_t>(plan.types[0]) << 2 | unsigned{options.saturate} << 1 |
                        unsigned{options.rounding == Rounding::nearest};
  if (!options.scaled) {
    plan.body = {cast_code + mode, cast_name};
    return move("cast", plan, {from}, to, here);
  }
  const int middle = scaling_type(plan.types[1], plan.types[0]);
  if (middle < 0) return fail(Fault::type, "cast: scale and offset are not defined for %s", type_table[plan.types[1]].name);
  const bool full = middle == type_float64;
  const float narrow[2] = {static_cast<float>(options.scale), static_cast<float>(options.offset)};
  const Operand scale = Operand::scalar(middle, full ? static_cast<const void*>(&options.scale) : &narrow[0]);
  const Operand offset = Operand::scalar(middle, full ? static_cast<const void*>(&options.offset) : &narrow[1]);
  plan.types[2] = plan.types[3] = middle;
  plan.body = {scaled_code + mode, cast_name};
  return move("cast", plan, {from, scale, offset}, to, here);
}

Status choose(const Operand& condition, const Operand& a, const Operand& b, const Operand& out,
              const LaunchContext& context) noexcept {
  if (!condition.tensor) {
    const Operand& only = condition.value[0] ? a : b;
    return only.tensor ? copy(only, out, context) : fill(only.value, out, context);
  }
  const DLTensor& target = *out.tensor;
  const int64_t bytes = item_bytes(target.dtype);
  const int word = word_type(bytes);
  const auto same = [&](const Operand& o) {
    return o.tensor ? o.tensor->dtype.code == target.dtype.code && o.tensor->dtype.bits == target.dtype.bits &&
                          o.tensor->dtype.lanes == target.dtype.lanes
                    : o.type == find_type(target.dtype);
  };
  if (find_type(condition.tensor->dtype) != type_bool || !same(a) || !same(b) || word < 0 || target.dtype.bits % 8)
    return fail(Fault::type, "where: expected a bool condition and two operands of the output's dtype");
  if (numel(target.ndim, target.shape) == 0) return success;
  DLT_TRY(check_target("where", target));
  const LaunchContext here = with_launch(context);
  const Operand* const inputs[] = {&condition, &a, &b};
  for (int k = 0; k < 3; ++k) {
    if (inputs[k]->tensor && is_misaligned(*inputs[k]->tensor))
      return with_aligned(*inputs[k], here, [&](const Operand& x) {
        return choose(k == 0 ? x : condition, k == 1 ? x : a, k == 2 ? x : b, out, context);
      });
  }
  bool aside = is_misaligned(target);
  for (const Operand* input : inputs) aside |= input->tensor && overlapping(*input, out);
  if (aside) {
    Temporary result;
    DLT_TRY(result.make(target, *context.stream));
    DLT_TRY(choose(condition, a, b, result.operand(), context));
    return copy(result.operand(), out, context);
  }
  Plan plan;
  plan.body = {choose_code, choose_name};
  plan.type = plan.types[0] = plan.types[2] = plan.types[3] = word;
  plan.types[1] = type_bool;
  Operand x = a, y = b;
  if (!x.tensor) x.type = word;
  if (!y.tensor) y.type = word;
  return move("where", plan, {condition, x, y}, out, here);
}

Status fill(const void* element, const Operand& to, const LaunchContext& context) noexcept {
  DLTensor target = *to.tensor;
  if (to.padded) target.dtype = type_table[type_uint8].dtype;
  int type = 0;
  DLT_TRY(type_of("fill", target, &type));
  const Operand value = Operand::scalar(type, element);
  const int64_t elements = numel(target.ndim, target.shape), bytes = item_bytes(target.dtype);
  if (elements == 0) return success;
  DLT_TRY(check_target("fill", target));
  const LaunchContext here = with_launch(context);
  // The driver fills with 4 bytes at most: a wider value does if it repeats itself, as the zero of any dtype does.
  int64_t unit = bytes;
  while (unit > 4 && memcmp(value.value, value.value + unit / 2, static_cast<size_t>(unit / 2)) == 0) unit /= 2;
  if (unit <= 4 && is_contiguous(target.ndim, target.shape, target.strides) && !is_misaligned(target)) {
    DLT_TRY(use(to.block, *context.stream, true));
    uint32_t word = 0;
    memcpy(&word, value.value, static_cast<size_t>(unit));
    Current current(*context.stream->device);
    const auto count = static_cast<size_t>(elements * (bytes / unit));
    if (unit == 1) DLT_CU(cuMemsetD8Async(address(target), static_cast<unsigned char>(word), count, context.stream->handle));
    else if (unit == 2)
      DLT_CU(cuMemsetD16Async(address(target), static_cast<unsigned short>(word), count, context.stream->handle));
    else DLT_CU(cuMemsetD32Async(address(target), word, count, context.stream->handle));
    context.stream->count_work();
    return success;
  }
  if (is_misaligned(target))
    return through_aligned({&target, to.block}, here, [&](const Operand& x) { return fill(element, x, context); });
  Plan plan;
  plan.body = {keep_code, keep_name};
  plan.type = plan.types[0] = plan.types[1] = word_type(bytes);
  Operand word = value;
  word.type = plan.type;
  return move("fill", plan, {word}, {&target, to.block}, here);
}

}  // namespace dlt::cuda
