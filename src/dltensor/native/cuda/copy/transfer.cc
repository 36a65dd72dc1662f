// SPDX-License-Identifier: Apache-2.0
// Data between host and device and between devices. Pageable memory goes through two alternating pinned chunks, so that
// copies into and out of a chunk overlap.
#include "native/cuda/copy/transfer.h"

#include <algorithm>

#include "native/cpu/runtime/thread_pool.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/runtime/index_checks.h"

namespace dlt::cuda {
namespace {

constexpr size_t chunk_bytes = size_t{4} << 20;

size_t bytes_of(const DLTensor& t) noexcept {
  return static_cast<size_t>(dlt::bytes_of(numel(t.ndim, t.shape), t.dtype, false));
}

// A copy within the host by all threads: one alone is slower than the bus, and waits for each page of a mapped file.
void copy_in_host(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t part = size_t{256} << 10;
  parallel(static_cast<int64_t>((bytes + part - 1) / part), [=](int64_t i) {
    const size_t at = static_cast<size_t>(i) * part;
    memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, std::min(part, bytes - at));
  });
}

struct HeldEvent {
  Device& device;
  CUevent event = nullptr;
  explicit HeldEvent(Device& d) noexcept : device(d) {}
  ~HeldEvent() {
    if (event) give_event(device, event);
  }
  HeldEvent(const HeldEvent&) = delete;
  HeldEvent& operator=(const HeldEvent&) = delete;
};

// If a transfer fails half way a copy may be under way: its chunks are not reused before that is done.
struct ChunksInUse {
  BlockRef chunks[2];
  Stream& stream;
  bool done = false;
  explicit ChunksInUse(Stream& s) noexcept : stream(s) {}
  ~ChunksInUse() {
    if (done) return;
    for (const BlockRef& chunk : chunks) static_cast<void>(use(chunk.block, stream, true));
  }
  ChunksInUse(const ChunksInUse&) = delete;
  ChunksInUse& operator=(const ChunksInUse&) = delete;
};

}  // namespace

Status refuse_capture(const char* function, const Stream& stream) noexcept {
  bool capturing = false;
  DLT_TRY(is_capturing(stream, &capturing));
  if (capturing)
    return fail(Fault::buffer,
                "%s: a CUDA graph is being captured on this stream, and it would have to wait for the data; "
                "do this before or after the capture",
                function);
  return success;
}

namespace {

// In C order on the device of `stream`: the tensor itself or a packed copy.
Status packed(const Operand& from, Stream& stream, Temporary& scratch, Operand* out) noexcept {
  const DLTensor& t = *from.tensor;
  if (is_contiguous(t.ndim, t.shape, t.strides)) return *out = from, success;
  DLT_TRY(scratch.make(t, stream));
  DLT_TRY(copy(from, scratch.operand(), {&stream}));
  *out = scratch.operand();
  return success;
}

bool is_pinned(const void* data) noexcept {
  DLDevice device{};
  return pointer_device(data, &device).ok() && device.device_type == kDLCUDAHost;
}

}  // namespace

Status pointer_device(const void* pointer, DLDevice* out) noexcept {
  DLT_TRY(load_driver());
  // The driver answers only where a context is current, whichever it is.
  Device* any = nullptr;
  DLT_TRY(device_of(0, &any));
  Current current(*any);
  unsigned type = 0, managed = 0;
  int ordinal = 0;
  int attributes[] = {kPointerMemoryType, kPointerIsManaged, kPointerDeviceOrdinal};
  void* values[] = {&type, &managed, &ordinal};
  DLT_CU(cuPointerGetAttributes(3, attributes, values, reinterpret_cast<CUdeviceptr>(pointer)));
  if (managed) *out = {kDLCUDAManaged, 0};
  else if (type == kMemoryTypeDevice) *out = {kDLCUDA, ordinal};
  else if (type == kMemoryTypeHost) *out = {kDLCUDAHost, 0};
  else *out = {kDLCPU, 0};
  return success;
}

Status to_host(void* data, const Operand& from, Stream& stream) noexcept {
  const size_t bytes = bytes_of(*from.tensor);
  if (bytes == 0) return success;
  DLT_TRY(refuse_capture("to_host", stream));
  Temporary scratch;
  Operand source;
  DLT_TRY(packed(from, stream, scratch, &source));
  DLT_TRY(use(source.block, stream, false));
  Device& device = *stream.device;
  Current current(device);
  const CUdeviceptr start = address(*source.tensor);
  if (is_pinned(data)) {
    DLT_CU(cuMemcpyDtoHAsync_v2(data, start, bytes, stream.handle));
    stream.count_work();
    return synchronize_stream(&stream);
  }
  ChunksInUse in_use(stream);
  const auto& chunks = in_use.chunks;
  HeldEvent ready[2] = {HeldEvent(device), HeldEvent(device)};
  for (int i = 0; i < (bytes > chunk_bytes ? 2 : 1); ++i) {
    DLT_TRY(allocate_pinned(device.ordinal, std::min(bytes, chunk_bytes), &in_use.chunks[i].block));
    DLT_TRY(take_event(device, &ready[i].event));
  }
  const auto enqueue = [&](size_t at, int turn) -> Status {
    DLT_CU(cuMemcpyDtoHAsync_v2(chunks[turn].block->data, start + at, std::min(chunk_bytes, bytes - at), stream.handle));
    stream.count_work();
    DLT_CU(cuEventRecord(ready[turn].event, stream.handle));
    return success;
  };
  DLT_TRY(enqueue(0, 0));
  int turn = 0;
  for (size_t at = 0; at < bytes; at += chunk_bytes, turn ^= 1) {
    if (at + chunk_bytes < bytes) DLT_TRY(enqueue(at + chunk_bytes, turn ^ 1));
    {
      Beside beside;
      DLT_CU(cuEventSynchronize(ready[turn].event));
    }
    copy_in_host(static_cast<char*>(data) + at, chunks[turn].block->data, std::min(chunk_bytes, bytes - at));
  }
  in_use.done = true;
  return raise_late_index(device);
}

Status from_host(const void* data, const Operand& to, Stream& stream) noexcept {
  const DLTensor& target = *to.tensor;
  const size_t bytes = bytes_of(target);
  if (bytes == 0) return success;
  Device& device = *stream.device;
  if (!is_contiguous(target.ndim, target.shape, target.strides)) {
    Temporary scratch;
    DLT_TRY(scratch.make(target, stream));
    DLT_TRY(from_host(data, scratch.operand(), stream));
    return copy(scratch.operand(), to, {&stream});
  }
  DLT_TRY(refuse_capture("from_host", stream));
  DLT_TRY(use(to.block, stream, true));
  Current current(device);
  // The chunk is returned to the cache at once, with an event: it is not reused before the copy is done.
  for (size_t at = 0; at < bytes; at += chunk_bytes) {
    const size_t part = std::min(chunk_bytes, bytes - at);
    BlockRef chunk;
    DLT_TRY(allocate_pinned(device.ordinal, part, &chunk.block));
    copy_in_host(chunk.block->data, static_cast<const char*>(data) + at, part);
    DLT_TRY(use(chunk.block, stream, false));
    DLT_CU(cuMemcpyHtoDAsync_v2(address(target) + at, chunk.block->data, part, stream.handle));
    stream.count_work();
  }
  return success;
}

Status to_pinned(const Operand& from, Stream& stream, Block** out, CUevent* event) noexcept {
  const size_t bytes = bytes_of(*from.tensor);
  DLT_TRY(refuse_capture("to_pinned", stream));
  Device& device = *stream.device;
  Temporary scratch;
  Operand source;
  DLT_TRY(packed(from, stream, scratch, &source));
  BlockRef memory;
  DLT_TRY(allocate_pinned(device.ordinal, bytes, &memory.block));
  DLT_TRY(use(source.block, stream, false));
  DLT_TRY(use(memory.block, stream, true));
  CUevent created = nullptr;
  DLT_TRY(create_event(device.ordinal, false, false, &created));
  Current current(device);
  CUresult result = bytes ? driver.cuMemcpyDtoHAsync_v2(memory.block->data, address(*source.tensor), bytes, stream.handle)
                          : kSuccess;
  stream.count_work();
  if (result == kSuccess) result = driver.cuEventRecord(created, stream.handle);
  if (result != kSuccess) {
    destroy_event(device.ordinal, created);
    return check(result, "cuMemcpyDtoHAsync");
  }
  *out = memory.block;
  memory.block = nullptr;
  *event = created;
  return success;
}

Status copy_across(const Operand& from, const Operand& to, const LaunchContext& context) noexcept {
  Device *source_device = nullptr, *target_device = nullptr;
  DLT_TRY(device_of(from.tensor->device.device_id, &source_device));
  DLT_TRY(device_of(to.tensor->device.device_id, &target_device));
  // Packs on the source's device, on its current stream; everything else runs on the target's stream.
  Stream *source_stream = nullptr, *target_stream = nullptr;
  DLT_TRY(current_stream(source_device->ordinal, &source_stream));
  if (context.stream->device == target_device) target_stream = context.stream;
  else DLT_TRY(current_stream(target_device->ordinal, &target_stream));
  if (context.stream->device == source_device) source_stream = context.stream;

  Temporary packed_room, arrived;
  Operand source, target = to;
  DLT_TRY(packed(from, *source_stream, packed_room, &source));
  const DLTensor &a = *source.tensor, &b = *to.tensor;
  const bool direct = same_shape(a, b) && is_contiguous(b.ndim, b.shape, b.strides);
  if (!direct) {
    DLT_TRY(arrived.make(a, *target_stream));
    target = arrived.operand();
  }
  // The driver's copy needs no peer access: it goes through the host where there is none.
  DLT_TRY(use(source.block, *source_stream, false));
  DLT_TRY(order_after(*target_stream, *source_stream));
  DLT_TRY(use(target.block, *target_stream, true));
  {
    Current current(*target_device);
    DLT_CU(cuMemcpyPeerAsync(address(*target.tensor), target_device->context, address(a), source_device->context, bytes_of(a),
                             target_stream->handle));
  }
  target_stream->count_work();
  // The source must not be written or reused before the copy has read it.
  DLT_TRY(order_after(*source_stream, *target_stream));
  return direct ? success : copy(target, to, {target_stream, context.launch});
}

}  // namespace dlt::cuda
