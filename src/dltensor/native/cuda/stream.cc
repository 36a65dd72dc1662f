// SPDX-License-Identifier: Apache-2.0
// The registry of streams and the waits between them.
#include "native/cuda/stream.h"

#include <map>
#include <new>

#include "native/cuda/memory.h"
#include "native/cuda/thread_state.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

// Never destroyed: blocks are released until the very end of the process.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<int, CUstream>, Stream*> by_handle;
  std::vector<Stream*> all;
  Stream* service[max_devices] = {};
};
Registry& registry() noexcept {
  static NoDestructor<Registry> instance;
  return *instance;
}

CUstream canonical(CUstream handle) noexcept { return reinterpret_cast<uintptr_t>(handle) == 1 ? nullptr : handle; }

// The caller holds the registry's mutex.
Status add(Device& device, CUstream handle, bool ours, Stream** out) noexcept {
  Registry& r = registry();
  auto* stream = new (std::nothrow) Stream;
  if (!stream) return fail(Fault::memory, "stream: out of memory");
  stream->handle = handle;
  stream->device = &device;
  stream->ours = ours;
  stream->index = static_cast<uint32_t>(r.all.size());
  unsigned long long id = 0;
  if (!stream->is_default() && driver.cuStreamGetId) driver.cuStreamGetId(handle, &id);
  stream->id = id;
  const Status status = guarded("stream", [&] {
    r.all.reserve(r.all.size() + 1);
    r.by_handle[{device.ordinal, handle}] = stream;
    r.all.push_back(stream);
    return success;
  });
  if (status.ok()) *out = stream;
  else delete stream;
  return status;
}

// The caller holds the registry's mutex.
Status make_stream(Device& device, int priority, Stream** out) noexcept {
  Current current(device);
  CUstream handle = nullptr;
  DLT_CU(cuStreamCreateWithPriority(&handle, kStreamNonBlocking, priority));
  const Status status = add(device, handle, true, out);
  if (status.ok()) (*out)->priority = priority;
  else driver.cuStreamDestroy_v2(handle);
  return status;
}

// True when the driver has put a new stream at the address of one that its owner destroyed.
bool replaced(const Stream& stream) noexcept {
  if (stream.ours || stream.is_default() || !driver.cuStreamGetId) return false;
  unsigned long long id = 0;
  return driver.cuStreamGetId(stream.handle, &id) == kSuccess && id != stream.id;
}

}  // namespace

Status service_stream(Device& device, Stream** out) noexcept {
  Registry& r = registry();
  std::lock_guard<std::mutex> hold(r.mutex);
  if (!(*out = r.service[device.ordinal])) {
    DLT_TRY(make_stream(device, 0, out));
    r.service[device.ordinal] = *out;
  }
  return success;
}

Status stream_of(int ordinal, CUstream handle, Stream** out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  handle = canonical(handle);
  // The per-thread default stream is another stream in every thread: its record is the thread's own.
  Stream** const per_thread = thread_state().per_thread;
  Stream*& last_asked = thread_state().last_asked;
  const bool is_per_thread = reinterpret_cast<uintptr_t>(handle) == 2;
  if (is_per_thread && per_thread[ordinal]) return *out = per_thread[ordinal], success;
  Stream* const last = last_asked;
  if (last && last->handle == handle && last->device == device && last->alive && last->ours) return *out = last, success;

  Registry& r = registry();
  Stream* stale = nullptr;
  {
    std::lock_guard<std::mutex> hold(r.mutex);
    const auto found = r.by_handle.find({ordinal, handle});
    if (found != r.by_handle.end() && !is_per_thread) {
      Current current(*device);
      if (!replaced(*found->second)) return *out = last_asked = found->second, success;
      stale = found->second;
    }
  }
  if (stale) {
    // The old stream is destroyed: a wait for it alone is impossible.
    DLT_TRY(synchronize_device(ordinal));
    Stream* service = nullptr;
    DLT_TRY(service_stream(*device, &service));
    drop_idle(*stale);
    stale->handle = service->handle;
    stale->alive = false;
  }
  std::lock_guard<std::mutex> hold(r.mutex);
  Current current(*device);
  if (!stream_is_on(*device, handle))
    return fail(Fault::value, "stream: expected a stream of cuda:%d, got handle %p of another device or of none", ordinal,
                static_cast<void*>(handle));
  DLT_TRY(add(*device, handle, false, out));
  if (is_per_thread) per_thread[ordinal] = *out;
  else last_asked = *out;
  return success;
}

bool stream_is_on(const Device& device, CUstream handle) noexcept {
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return true;
  CUcontext context = nullptr;
  return driver.cuStreamGetCtx(handle, &context) == kSuccess && context == device.context;
}

Status create_stream(int ordinal, int priority, Stream** out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Registry& r = registry();
  std::lock_guard<std::mutex> hold(r.mutex);
  return make_stream(*device, priority, out);
}

Status destroy_stream(Stream* stream) noexcept {
  Device& device = *stream->device;
  if (!stream->ours || !stream->alive) return success;
  Stream* service = nullptr;
  DLT_TRY(service_stream(device, &service));
  Current current(device);
  drop_idle(*stream);
  DLT_TRY(order_after(*service, *stream));
  forget_handles(*stream);
  Registry& r = registry();
  CUstream handle = stream->handle;
  {
    std::lock_guard<std::mutex> hold(r.mutex);
    r.by_handle.erase({device.ordinal, handle});
    stream->alive = false;
    stream->handle = service->handle;  // blocks whose home stream this was use that one from now on
  }
  if (thread_state().current[device.ordinal] == stream) thread_state().current[device.ordinal] = nullptr;
  DLT_CU(cuStreamDestroy_v2(handle));
  return success;
}

namespace {

// For the driver such a query is an error that invalidates the whole capture.
Status no_capture(const char* what, const Stream& stream) noexcept {
  bool capturing = false;
  DLT_TRY(is_capturing(stream, &capturing));
  if (!capturing) return success;
  return fail(Fault::buffer,
              "%s: a CUDA graph is being captured on this stream, whose work runs only with the graph; query it "
              "before or after the capture",
              what);
}

}  // namespace

Status synchronize_stream(Stream* stream) noexcept {
  DLT_TRY(no_capture("synchronize", *stream));
  Current current(*stream->device);
  Beside beside;
  DLT_CU(cuStreamSynchronize(stream->handle));
  return success;
}

Status query_stream(Stream* stream) noexcept {
  DLT_TRY(no_capture("query", *stream));
  Current current(*stream->device);
  Beside beside;
  const CUresult result = driver.cuStreamQuery(stream->handle);
  if (result == kNotReady) return {Fault::not_ready};
  return check(result, "cuStreamQuery");
}

Status is_capturing(const Stream& stream, bool* capturing) noexcept {
  *capturing = false;
  if (reinterpret_cast<uintptr_t>(stream.handle) <= 1) return success;  // the legacy stream cannot be captured
  int state = kCaptureNone;
  DLT_CU(cuStreamIsCapturing(stream.handle, &state));
  *capturing = state != kCaptureNone;
  return success;
}

Status current_stream(int ordinal, Stream** out) noexcept {
  if (ordinal >= 0 && ordinal < max_devices)
    if (Stream* set = thread_state().current[ordinal]; set && set->alive) return *out = set, success;
  DLT_TRY(stream_of(ordinal, nullptr, out));
  thread_state().current[ordinal] = *out;
  return success;
}

void set_current_stream(Stream* stream) noexcept { thread_state().current[stream->device->ordinal] = stream; }

Status order_after(Stream& waiter, Stream& on) noexcept {
  if (waiter.handle == on.handle && waiter.device == on.device) return success;
  const uint64_t work = on.work.load(std::memory_order_acquire);
  {
    std::lock_guard<SpinLock> hold(waiter.lock);
    if (on.ours && on.index < waiter.waited.size() && waiter.waited[on.index] == work) return success;
  }
  if (on.ours && work == 0) return success;
  CUevent event = nullptr;
  DLT_TRY(take_event(*on.device, &event));
  CUresult result;
  {
    Current current(*on.device);
    result = driver.cuEventRecord(event, on.handle);
  }
  if (result == kSuccess) {
    Current current(*waiter.device);
    result = driver.cuStreamWaitEvent(waiter.handle, event, 0);
  }
  give_event(*on.device, event);
  DLT_TRY(check(result, "cuStreamWaitEvent"));
  waiter.count_work();
  std::lock_guard<SpinLock> hold(waiter.lock);
  try {
    if (waiter.waited.size() <= on.index) waiter.waited.resize(on.index + 1);
    waiter.waited[on.index] = work;
  } catch (const std::bad_alloc&) {  // waits that are not recorded are repeated
  }
  return success;
}

Stream* next_stream(const Device& device, size_t* next) noexcept {
  Registry& r = registry();
  std::lock_guard<std::mutex> hold(r.mutex);
  while (*next < r.all.size())
    if (Stream* stream = r.all[(*next)++]; stream->device == &device) return stream;
  return nullptr;
}

Status create_event(int ordinal, bool timing, bool blocking, CUevent* out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  DLT_CU(cuEventCreate(out, (timing ? 0u : kEventDisableTiming) | (blocking ? kEventBlockingSync : 0u)));
  return success;
}

void destroy_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  if (!event || !device_of(ordinal, &device).ok()) return;
  Current current(*device);
  driver.cuEventDestroy_v2(event);
}

Status record_event(CUevent event, Stream* stream) noexcept {
  Current current(*stream->device);
  DLT_CU(cuEventRecord(event, stream->handle));
  return success;
}

Status wait_event(Stream* stream, CUevent event) noexcept {
  Current current(*stream->device);
  DLT_CU(cuStreamWaitEvent(stream->handle, event, 0));
  stream->count_work();
  return success;
}

Status query_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  Beside beside;
  const CUresult result = driver.cuEventQuery(event);
  if (result == kNotReady) return {Fault::not_ready};
  return check(result, "cuEventQuery");
}

Status synchronize_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  Beside beside;
  DLT_CU(cuEventSynchronize(event));
  return success;
}

Status elapsed_time(int ordinal, CUevent start, CUevent end, float* milliseconds) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  DLT_CU(cuEventElapsedTime(milliseconds, start, end));
  return success;
}

}  // namespace dlt::cuda
