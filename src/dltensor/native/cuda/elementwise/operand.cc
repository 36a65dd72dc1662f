// SPDX-License-Identifier: Apache-2.0
// Operands of kernels: dtypes and their C++ names, broadcasting, alignment, temporaries, and the table of kernels in
// use.
#include <atomic>
#include <new>

#include "native/cuda/elementwise/plan.h"

namespace dlt::cuda {
namespace {

constexpr uint32_t table_size = 4096;  // a power of two; kernels in use are a few hundred at most

struct Entry {
  uint64_t key;
  Kernel kernel;
};
std::atomic<std::atomic<Entry*>*> tables[max_devices];

uint32_t place(uint64_t key) noexcept { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 52); }

const char* const names[] = {
#define DLT_TYPE_NAME(name, type, code, bits, format) #type,
    DLT_DTYPES(DLT_TYPE_NAME)
#undef DLT_TYPE_NAME
        "dlt::kernels::wide_word"};

}  // namespace

const char* type_name(int type) noexcept { return names[type]; }
const int type_alignments[] = {
#define DLT_TYPE_ALIGNMENT(name, type, code, bits, format) alignof(type),
    DLT_DTYPES(DLT_TYPE_ALIGNMENT)
#undef DLT_TYPE_ALIGNMENT
        8};

int word_type(int64_t bytes) noexcept {
  switch (bytes) {
    case 1: return type_uint8;
    case 2: return type_uint16;
    case 4: return type_uint32;
    case 8: return type_uint64;
    case 16: return wide_type;
    default: return -1;
  }
}

Status type_of(const char* function, const DLTensor& tensor, int* type) noexcept {
  *type = find_type(tensor.dtype);
  if (*type < 0)
    return fail(Fault::type,
                "%s: expected a dtype with a name, got code %d, %d bits, %d lanes; on CUDA such data can only be "
                "copied",
                function, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  if (tensor.dtype.bits % 8)
    return fail(Fault::type,
                "%s: %s is packed, several elements to a byte, which CUDA kernels do not take; convert it with "
                ".to(\"cpu\") first",
                function, type_table[*type].name);
  return success;
}

Status add_operand(const char* function, Plan& plan, int k, const Operand& operand) noexcept {
  if (!operand.tensor) {
    plan.immediate[k] = true;
    plan.types[k] = operand.type;
    plan.pointers[k] = nullptr;
    memset(plan.strides[k], 0, sizeof(int64_t) * static_cast<size_t>(plan.dims));
    memcpy(plan.values[k - 1].bytes, operand.value, sizeof operand.value);
    return success;
  }
  const DLTensor& t = *operand.tensor;
  plan.immediate[k] = false;
  plan.pointers[k] = static_cast<char*>(t.data) + t.byte_offset;
  if (!broadcast_strides(t.ndim, t.shape, t.strides, plan.dims, plan.shape, Align::trailing, plan.strides[k]))
    return fail(Fault::value, "%s: operand %d of %d dimensions does not broadcast to the output's %d dimensions", function, k,
                t.ndim, plan.dims);
  return success;
}

bool find_kernel(const Device& device, uint64_t key, Kernel* out) noexcept {
  const std::atomic<Entry*>* table = tables[device.ordinal].load(std::memory_order_acquire);
  if (!table) return false;
  for (uint32_t at = place(key);; at = (at + 1) % table_size) {
    const Entry* entry = table[at].load(std::memory_order_acquire);
    if (!entry) return false;
    if (entry->key == key) return *out = entry->kernel, true;
  }
}

void keep_kernel(const Device& device, uint64_t key, const Kernel& kernel) noexcept {
  static std::mutex growing;
  static uint32_t used[max_devices];
  std::lock_guard<std::mutex> hold(growing);
  std::atomic<Entry*>* table = tables[device.ordinal].load(std::memory_order_acquire);
  if (!table) {
    if (!(table = new (std::nothrow) std::atomic<Entry*>[table_size]())) return;
    tables[device.ordinal].store(table, std::memory_order_release);
  }
  // Nearly full: new kernels are found by their text, which is slower but correct.
  if (used[device.ordinal] >= table_size / 4 * 3) return;
  auto* entry = new (std::nothrow) Entry{key, kernel};
  if (!entry) return;
  for (uint32_t at = place(key);; at = (at + 1) % table_size) {
    const Entry* there = table[at].load(std::memory_order_relaxed);
    if (there && there->key == key) return delete entry;
    if (there) continue;
    table[at].store(entry, std::memory_order_release);
    ++used[device.ordinal];
    return;
  }
}

Status Temporary::make(const DLTensor& like, Stream& stream) noexcept {
  tensor = like;
  memcpy(shape, like.shape, sizeof(int64_t) * static_cast<size_t>(like.ndim));
  contiguous_strides(like.ndim, shape, strides);
  tensor.shape = shape;
  tensor.strides = strides;
  tensor.byte_offset = 0;
  tensor.device = {kDLCUDA, stream.device->ordinal};
  const int64_t bytes = bytes_of(numel(like.ndim, shape), like.dtype, false);
  DLT_TRY(allocate(stream, static_cast<size_t>(bytes), &block));
  tensor.data = block->data;
  return success;
}

bool is_misaligned(const DLTensor& tensor) noexcept {
  const int type = find_type(tensor.dtype);
  const int64_t bytes = item_bytes(tensor.dtype);
  const int64_t needed = type >= 0 ? type_alignment(type) : word_type(bytes) >= 0 ? (bytes < 8 ? bytes : 8) : 1;
  return ((reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset) & static_cast<uint64_t>(needed - 1)) != 0;
}

}  // namespace dlt::cuda
