// SPDX-License-Identifier: Apache-2.0
// Streams and events: the order of operations and the waits between streams. The operations are in memory.cc and
// modules.cc.
#include <algorithm>

#include "machine.h"

namespace dlt::cuda {

namespace {
unsigned long long next_stream_id = 10;

// CUDA's per-thread default streams, one a thread and device.
thread_local std::map<int, std::unique_ptr<StreamHandle>> per_thread;

bool known(const StreamHandle* stream) {
  for (const auto& list : machine.streams)
    if (std::find(list.begin(), list.end(), stream) != list.end()) return true;
  for (const auto& [device, own] : per_thread)
    if (own.get() == stream) return true;
  for (const auto& own : machine.legacy)
    if (own.get() == stream) return true;
  return false;
}
}  // namespace

StreamHandle* resolve(CUstream stream) {
  const uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
  const int device = current() ? current()->device : 0;
  if (handle <= 1) return machine.legacy[device].get();
  if (handle == 2) {
    auto& own = per_thread[device];
    if (!own) {
      own = std::make_unique<StreamHandle>();
      own->device = device;
      own->id = next_stream_id++;
    }
    return own.get();
  }
  return known(stream) ? stream : nullptr;
}

void run(const OperationPointer& operation) {
  if (!operation || operation->done) return;
  operation->done = true;  // first: the graph has no cycles
  // Dependencies can be thousands deep, so no recursion: run them in depth-first order.
  std::vector<OperationPointer> stack{operation}, order;
  while (!stack.empty()) {
    OperationPointer top = stack.back();
    bool ready = true;
    for (const OperationPointer& need : top->needs)
      if (!need->done) {
        need->done = true;
        stack.push_back(need);
        ready = false;
        break;
      }
    if (!ready) continue;
    stack.pop_back();
    if (top->action) {
      open_memory();
      top->action();
      close_memory();
    }
    top->action = nullptr;
    top->needs.clear();
  }
}

void run_some() {
  if (machine.order != Machine::Order::random) return;
  auto& pending = machine.pending;
  std::erase_if(pending, [](const OperationPointer& operation) { return operation->done; });
  for (unsigned n = machine.chance() % 3; n > 0 && !pending.empty(); --n)
    run(OperationPointer(pending[machine.chance() % pending.size()]));
}

static void depend(Operation& operation, const OperationPointer& on) {
  if (on && !on->done) operation.needs.push_back(on);
}

int put(StreamHandle* stream, std::function<void()> action) {
  if (stream->capture) {
    stream->capture->actions.push_back(std::move(action));
    return kSuccess;
  }
  auto operation = std::make_shared<Operation>();
  operation->action = std::move(action);
  depend(*operation, stream->last);
  StreamHandle* legacy = machine.legacy[stream->device].get();
  if (stream == legacy) {
    // Work there would make the captured streams wait for something outside the graph.
    for (StreamHandle* other : machine.streams[stream->device])
      if (other->capture && !(other->flags & kStreamNonBlocking)) return other->capture->invalid = true, kCaptureImplicit;
    // It waits for every blocking stream, and they for it.
    for (StreamHandle* other : machine.streams[stream->device])
      if (!(other->flags & kStreamNonBlocking)) depend(*operation, other->last);
  } else if (!(stream->flags & kStreamNonBlocking)) {
    depend(*operation, legacy->last);
  }
  stream->last = operation;
  if (machine.order == Machine::Order::eager) {
    run(operation);
    return kSuccess;
  }
  machine.pending.push_back(operation);
  if (machine.pending.size() % 256 == 0) std::erase_if(machine.pending, [](const OperationPointer& o) { return o->done; });
  run_some();
  return kSuccess;
}

void synchronize_device(int device) {
  for (StreamHandle* stream : machine.streams[device]) run(OperationPointer(stream->last));
  for (const auto& [on, own] : per_thread)
    if (on == device) run(OperationPointer(own->last));
  run(OperationPointer(machine.legacy[device]->last));
}

}  // namespace dlt::cuda

using namespace dlt::cuda;

#define HOSTCUDA_RESOLVE(handle, name)        \
  StreamHandle* const name = resolve(handle); \
  if (!name) return kInvalidHandle

HOSTCUDA_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  auto* made = new StreamHandle;
  made->device = current()->device;
  made->flags = flags;
  made->priority = std::clamp(priority, -5, 0);
  made->id = next_stream_id++;
  machine.streams[made->device].push_back(made);
  ++machine.statistics.streams_live;
  *stream = made;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

// Returns at once; the work that is enqueued still runs.
HOSTCUDA_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  HOSTCUDA_ENTER;
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return kInvalidHandle;
  for (auto& list : machine.streams)
    if (auto at = std::find(list.begin(), list.end(), stream); at != list.end()) {
      if (stream->capture) stream->capture->invalid = true;
      list.erase(at);
      --machine.statistics.streams_live;
      delete stream;
      return kSuccess;
    }
  return kInvalidHandle;
}

HOSTCUDA_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  HOSTCUDA_NOT_IN_CAPTURE;
  ++machine.statistics.synchronisations;
  if (stream == machine.legacy[stream->device].get()) {
    for (StreamHandle* other : machine.streams[stream->device])
      if (!(other->flags & kStreamNonBlocking)) run(OperationPointer(other->last));
  }
  run(OperationPointer(stream->last));
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamQuery(CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  HOSTCUDA_NOT_IN_CAPTURE;
  run_some();
  return !stream->last || stream->last->done ? kSuccess : kNotReady;
}

HOSTCUDA_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  *flags = stream->flags;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  *priority = stream->priority;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  *context = machine.contexts[stream->device].get();
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  *device = stream->device;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  *id = reinterpret_cast<uintptr_t>(handle) <= 1 ? 1 : stream->id;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuEventCreate(CUevent* event, unsigned flags) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  *event = new EventHandle;
  (*event)->device = current()->device;
  (*event)->flags = flags;
  ++machine.statistics.events_live;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  HOSTCUDA_ENTER;
  if (!event) return kInvalidHandle;
  --machine.statistics.events_live;
  delete event;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (event->device != stream->device) return kInvalidHandle;
  event->capture = stream->capture;
  if (stream->capture) return kSuccess;
  if (stream == machine.legacy[stream->device].get()) HOSTCUDA_NOT_IN_CAPTURE;
  // Time is virtual: each recorded event is one microsecond later, when its turn comes.
  put(stream, nullptr);
  event->at = stream->last;
  event->time = machine.clock += 0.001;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return cuEventRecord(event, stream);
}
HOSTCUDA_EXPORT CUresult cuEventQuery(CUevent event) {
  HOSTCUDA_ENTER;
  if (event->capture) return event->capture->invalid = true, kCapturedEvent;
  HOSTCUDA_NOT_IN_CAPTURE;
  run_some();
  return !event->at || event->at->done ? kSuccess : kNotReady;
}
HOSTCUDA_EXPORT CUresult cuEventSynchronize(CUevent event) {
  HOSTCUDA_ENTER;
  if (event->capture) return event->capture->invalid = true, kCapturedEvent;
  HOSTCUDA_NOT_IN_CAPTURE;
  ++machine.statistics.synchronisations;
  run(OperationPointer(event->at));
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  HOSTCUDA_ENTER;
  if (!start->at || !end->at || (start->flags | end->flags) & kEventDisableTiming) return kInvalidHandle;
  if (!start->at->done || !end->at->done) return kNotReady;
  *milliseconds = static_cast<float>(end->time - start->time);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

HOSTCUDA_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (event->capture) {  // joins the capture
    if (!stream->capture) {
      stream->capture = event->capture;
      event->capture->members.insert(stream);
    }
    return kSuccess;
  }
  if (stream->capture) return event->at ? (stream->capture->invalid = true, kCaptureIsolation) : kSuccess;
  if (!event->at || event->at->done) return kSuccess;
  auto operation = std::make_shared<Operation>();
  depend(*operation, event->at);
  depend(*operation, stream->last);
  stream->last = operation;
  machine.pending.push_back(operation);
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  return put(stream, [function, data] { function(data); });
}
