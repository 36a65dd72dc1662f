// SPDX-License-Identifier: Apache-2.0
// The registry of streams and the waits between them.
#include "native/cuda/runtime/stream.h"

#include <chrono>
#include <map>
#include <new>
#include <thread>

#include "native/cuda/memory/memory.h"
#include "native/cuda/runtime/index_checks.h"
#include "native/cuda/runtime/thread_state.h"
#include "native/no_destructor.h"
#include "native/os/barrier.h"

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

// CUDA's id of a stream; 0 where the driver has none, and in a capture, which the question alone would invalidate.
uint64_t id_of(CUstream handle) noexcept {
  int state = kCaptureNone;
  unsigned long long id = 0;
  if (driver.cuStreamGetId && driver.cuStreamIsCapturing(handle, &state) == kSuccess && state == kCaptureNone)
    driver.cuStreamGetId(handle, &id);
  return id;
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
  stream->counted = ours;
  if (stream->is_per_thread()) stream->thread = thread_state().number;
  stream->index = static_cast<uint32_t>(r.all.size());
  if (!stream->is_default()) stream->id = id_of(handle);
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
  Beside beside;
  CUstream handle = nullptr;
  DLT_CU(cuStreamCreateWithPriority(&handle, kStreamNonBlocking, priority));
  const Status status = add(device, handle, true, out);
  if (status.ok()) (*out)->priority = priority;
  else driver.cuStreamDestroy_v2(handle);
  return status;
}

// Returns whether a known stream is being captured. Those of others may be gone, and are asked only while memory names them.
bool any_capture(const Device& device) noexcept {
  size_t next = 0;
  while (Stream* stream = next_stream(device, &next)) {
    {
      std::lock_guard hold(stream->lock);
      const bool used = stream->wrappers || stream->live_blocks || stream->cached_bytes || stream->named;
      if (!stream->alive || (!stream->ours && !stream->is_default() && !used)) continue;
    }
    Capture capture;
    if (capture_of(*stream, &capture) == kSuccess && capture.any()) return true;
  }
  return false;
}

Status wait_for_context(Device& device) noexcept {
  if (any_capture(device))
    return fail(Fault::buffer,
                "synchronize: a CUDA graph is being captured on a stream of cuda:%d; synchronize before or after the capture, "
                "or synchronize single streams",
                device.ordinal);
  Current current(device);
  DLT_CU(cuCtxSynchronize());
  return success;
}

// The stream's owner has destroyed it. What is left of its work cannot be waited for alone; blocks that name it use the
// service stream from now on.
Status retire(Stream& dead) noexcept {
  Device& device = *dead.device;
  bool used;
  {
    std::lock_guard hold(dead.lock);
    used = dead.live_blocks || dead.cached_bytes || dead.named;
  }
  Stream* service = nullptr;
  DLT_TRY(service_stream(device, &service));
  dead.alive = false;  // not to be asked any more
  if (const Status waited = used ? wait_for_context(device) : success; !waited.ok()) {
    dead.alive = true;
    return waited;
  }
  forget_handles(dead);
  forget_solver(dead);
  {
    Registry& r = registry();
    std::lock_guard<std::mutex> hold(r.mutex);
    const auto found = r.by_handle.find({device.ordinal, dead.handle});
    if (found != r.by_handle.end() && found->second == &dead) r.by_handle.erase(found);
    dead.handle = service->handle.load();
    dead.thread = 0;
    dead.counted = false;
  }
  drop_idle(dead);
  return success;
}

// Owner of the locks that several threads use.
const ThreadState* const shared_by_threads = reinterpret_cast<const ThreadState*>(uintptr_t{1});

Status fail_implied(const char* func) noexcept {
  return fail(Fault::buffer,
              "%s: a CUDA graph is being captured on a blocking stream, and the legacy default stream, which waits for "
              "all blocking streams, cannot be used meanwhile; capture on a non-blocking stream",
              func);
}

// For the driver such a query is an error that invalidates the whole capture.
Status no_capture(const char* func, const Stream& stream) noexcept {
  Capture capture;
  DLT_TRY(check_capture(func, stream, &capture));
  if (!capture.active) return success;
  return fail(Fault::buffer,
              "%s: a CUDA graph is being captured on this stream, whose work runs only with the graph; query it "
              "before or after the capture",
              func);
}

bool is_gone(CUresult result) noexcept { return result == kInvalidHandle || result == kContextIsDestroyed; }

bool same_stream(const Stream& a, const Stream& b) noexcept {
  return &a == &b || (a.handle == b.handle && a.device == b.device && a.thread == b.thread);
}

// True when the driver has put a new stream at the address of one that its owner destroyed.
bool replaced(Stream& stream) noexcept {
  if (stream.ours || stream.is_default()) return false;
  const uint64_t id = id_of(stream.handle);
  if (stream.id == 0) stream.id = id;  // it was being captured when the record was made
  return id != 0 && id != stream.id;
}

}  // namespace

void StreamLock::lock_shared() noexcept {
  static const bool may_own = has_process_barrier();
  const ThreadState* const me = thread_state_pointer ? thread_state_pointer : (make_thread_state(), thread_state_pointer);
  lock_.lock();
  const ThreadState* const owner = owner_.load(std::memory_order_relaxed);
  if (owner == shared_by_threads) return;
  if (!owner && me && may_own) return owner_.store(me, std::memory_order_relaxed);  // from the next time on
  owner_.store(shared_by_threads, std::memory_order_relaxed);
  if (!owner) return;
  // Either the owner sees that it is none any more, or its `busy_` is seen here. A kernel that offered the barrier and
  // refuses it now: a store is in memory long before a thread wakes up.
  if (!process_barrier()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  while (busy_.load(std::memory_order_acquire)) std::this_thread::yield();
}

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
  if (last && last->handle == handle && last->device == device && last->alive && (last->ours || last->is_default()))
    return *out = last, success;

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
  if (stale) DLT_TRY(retire(*stale));
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
  // One that is being captured stays: destroying it would spoil the capture.
  DLT_TRY(order_after(*service, *stream));
  drop_idle(*stream);
  forget_handles(*stream);
  forget_solver(*stream);
  {
    std::lock_guard<std::mutex> hold(registry().mutex);
    registry().by_handle.erase({device.ordinal, stream->handle});
    stream->alive = false;
    stream->doomed = stream->handle.exchange(service->handle);  // blocks whose home stream this was use that one from now on
  }
  if (thread_state().current[device.ordinal] == stream) thread_state().current[device.ordinal] = nullptr;
  // Either this thread finds nobody who asks, or the last one who does finds the handle.
  return stream->askers == 0 ? check(LastingHandle::destroy_doomed(*stream), "cuStreamDestroy") : success;
}

CUresult LastingHandle::destroy_doomed(const Stream& stream) noexcept {
  const CUstream handle = stream.doomed.exchange(nullptr);
  return handle ? driver.cuStreamDestroy_v2(handle) : kSuccess;
}

Status check_capture(const char* func, const Stream& stream, Capture* out) noexcept {
  DLT_TRY(check(capture_of(stream, out), "cuStreamIsCapturing"));
  return out->implied ? fail_implied(func) : success;
}

Status synchronize_stream(Stream* stream) noexcept {
  DLT_TRY(no_capture("synchronize", *stream));
  {
    Current current(*stream->device);
    Beside beside;
    DLT_CU(cuStreamSynchronize(LastingHandle(*stream)));
  }
  give_back_finished();
  return raise_late_index(*stream->device);
}

Status query_stream(Stream* stream) noexcept {
  DLT_TRY(no_capture("query", *stream));
  Current current(*stream->device);
  Beside beside;
  const CUresult result = driver.cuStreamQuery(handle_here(*stream));
  if (result == kNotReady) return {Fault::not_ready};
  return check(result, "cuStreamQuery");
}

CUstream handle_here(const Stream& stream) noexcept {
  return stream.is_per_thread() && stream.thread != thread_state().number ? nullptr : stream.handle.load();
}

CUresult capture_of(const Stream& stream, Capture* out) noexcept {
  *out = {};
  Current current(*stream.device);
  const LastingHandle handle(stream);
  int state = kCaptureNone;
  const CUresult result = driver.cuStreamIsCapturing(handle, &state);
  // Asking the legacy stream harms no capture, so it is asked before it is used.
  if (result == kCaptureImplicit) return out->implied = true, kSuccess;
  if (result != kSuccess) return result;
  out->active = state != kCaptureNone;
  if (!out->active) return kSuccess;
  CUgraph graph = nullptr;
  out->id = 1;
  if (driver.cuStreamGetCaptureInfo_v2) driver.cuStreamGetCaptureInfo_v2(handle, &state, &out->id, &graph, nullptr, nullptr);
  return kSuccess;
}

Status is_capturing(const Stream& stream, bool* capturing) noexcept {
  *capturing = false;
  if (stream.is_legacy()) return success;  // it cannot be captured
  Capture capture;
  DLT_TRY(check(capture_of(stream, &capture), "cuStreamIsCapturing"));
  *capturing = capture.active;
  return success;
}

CUstream share_handle(Stream& stream) noexcept {
  stream.counted = false;
  return stream.handle;
}

void hold_stream(Stream& stream) noexcept {
  std::lock_guard hold(stream.lock);
  ++stream.wrappers;
}

void release_stream_owner(Stream& stream, Block* owner) noexcept {
  constexpr size_t most_owners = 16;  // a program that wraps a stream anew for each call must not pile them up
  bool kept = false;
  {
    std::lock_guard hold(stream.lock);
    --stream.wrappers;
    if (owner && (stream.live_blocks || stream.cached_bytes || stream.named) && stream.owners.size() < most_owners) {
      try {
        stream.owners.push_back(owner);
        stream.owned = kept = true;
      } catch (const std::bad_alloc&) {  // not kept alive, as a raw handle is not
      }
    }
  }
  end_stream_if_unused(stream);
  if (owner && !kept) release(owner);
}

void end_stream_if_unused(Stream& stream) noexcept {
  Capture capture;
  std::vector<Block*> owners;
  if (!stream.owned || capture_of(stream, &capture) != kSuccess || capture.any()) return;
  {
    std::lock_guard hold(stream.lock);
    if (!stream.alive || stream.wrappers || stream.live_blocks || stream.named) return;
    owners.swap(stream.owners);
    stream.owned = false;
  }
  // The handle is still valid: idle memory and the workspace of products are freed on it, for the last time.
  drop_idle(stream);
  if (!retire(stream).ok()) {  // another time
    std::lock_guard hold(stream.lock);
    owners.swap(stream.owners);
    stream.owned = !stream.owners.empty();
  }
  for (Block* owner : owners) release(owner);
}

Status current_stream(int ordinal, Stream** out) noexcept {
  if (ordinal >= 0 && ordinal < max_devices)
    if (Stream* set = thread_state().current[ordinal]; set && set->alive) return *out = set, success;
  DLT_TRY(stream_of(ordinal, nullptr, out));
  thread_state().current[ordinal] = *out;
  return success;
}

void set_current_stream(Stream* stream) noexcept {
  // Handle 2 is another stream in each thread, whichever thread made the record.
  Stream* own = nullptr;
  if (stream->is_per_thread() && stream->thread != thread_state().number &&
      stream_of(stream->device->ordinal, stream->handle, &own).ok())
    stream = own;
  thread_state().current[stream->device->ordinal] = stream;
}

namespace {

// Refuses what captures forbid between two streams. `*settled`: nothing more is to be done.
Status order_beside_captures(Stream& waiter, Stream& on, bool* settled, bool* in_graph) noexcept {
  Capture waiting, before;
  if (const CUresult result = capture_of(on, &before); result != kSuccess) {
    if (on.ours || !is_gone(result)) return check(result, "cuStreamIsCapturing");
    return *settled = true, retire(on);  // has waited for everything
  }
  DLT_TRY(check_capture("wait", waiter, &waiting));
  if (before.implied) return fail_implied("wait");
  if (waiting.active && before.active && waiting.id != before.id)
    return fail(Fault::buffer,
                "wait: another CUDA graph is being captured on the other stream; finish one of the captures first");
  if (before.active && !waiting.active)
    return fail(Fault::buffer,
                "wait: a CUDA graph is being captured on the other stream, whose work runs only with the graph; launch it "
                "first, or use the captured stream");
  *in_graph = waiting.active;
  if (!waiting.active || before.active) return success;
  // A graph cannot wait for what is outside it: that is done before the graph exists.
  Current current(*on.device);
  Beside beside;
  DLT_CU(cuStreamSynchronize(LastingHandle(on)));
  return *settled = true, success;
}

}  // namespace

Status order_after(Stream& waiter, Stream& on) noexcept {
  if (same_stream(waiter, on)) return success;
  const bool counted = on.counted.load(std::memory_order_acquire);
  const uint64_t work = on.work.load(std::memory_order_acquire);
  if (counted) {
    std::lock_guard hold(waiter.lock);
    if (work == 0 || (on.index < waiter.waited.size() && waiter.waited[on.index] == work)) return success;
  }
  bool settled = false, in_graph = false;
  DLT_TRY(order_beside_captures(waiter, on, &settled, &in_graph));
  if (settled) return success;
  CUevent event = nullptr;
  DLT_TRY(take_event(*on.device, &event));
  CUresult result;
  {
    Current current(*on.device);
    result = driver.cuEventRecord(event, LastingHandle(on));
  }
  const bool gone = !on.ours && is_gone(result);
  if (result == kSuccess) {
    Current current(*waiter.device);
    result = driver.cuStreamWaitEvent(LastingHandle(waiter), event, 0);
  }
  give_event(*on.device, event);
  if (gone) return retire(on);
  DLT_TRY(check(result, "cuStreamWaitEvent"));
  waiter.count_work();
  // The graph waits whenever it runs, the stream itself did not. And a stream without an id is not told from a later one at its
  // address, which has not waited.
  if (in_graph || !(waiter.ours || waiter.is_default() || waiter.id)) return success;
  std::lock_guard hold(waiter.lock);
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

Status order_after_context(Stream& waiter) noexcept {
  Device& device = *waiter.device;
  if (any_capture(device))
    return fail(Fault::buffer,
                "wait: a CUDA graph is being captured on a stream of cuda:%d, and a consumer that returned memory meanwhile "
                "may still use it; write to that memory after the capture",
                device.ordinal);
  CUevent event = nullptr;
  DLT_TRY(take_event(device, &event));
  CUresult result = kNotSupported;
  {
    Current current(device);
    Beside beside;
    if (driver.cuCtxRecordEvent) result = driver.cuCtxRecordEvent(device.context, event);
    // The legacy stream waits for all blocking streams. Work on non-blocking ones is not ordered, as in other libraries.
    if (result == kNotSupported) result = driver.cuEventRecord(event, nullptr);
    if (result == kSuccess) result = driver.cuStreamWaitEvent(LastingHandle(waiter), event, 0);
  }
  give_event(device, event);
  waiter.count_work();
  return check(result, "cuCtxRecordEvent");
}

Status synchronize_device(int ordinal) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  DLT_TRY(wait_for_context(*device));
  give_back_finished();
  return raise_late_index(*device);
}

}  // namespace dlt::cuda
