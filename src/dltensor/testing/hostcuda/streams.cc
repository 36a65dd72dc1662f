// SPDX-License-Identifier: Apache-2.0
// Streams and events: the order of operations and the waits between streams. The operations are in memory.cc and
// modules.cc.
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "machine.h"

namespace dlt::cuda {

namespace {
unsigned long long next_stream_id = 10;

// CUDA's per-thread default streams, one a thread and device. The machine owns them: work on them outlasts the thread.
thread_local std::map<int, StreamHandle*> per_thread;

bool known(const StreamHandle* stream) {
  for (const auto& list : machine.streams)
    if (std::find(list.begin(), list.end(), stream) != list.end()) return true;
  for (const auto& list : machine.per_thread)
    for (const auto& own : list)
      if (own.get() == stream) return true;
  for (const auto& own : machine.legacy)
    if (own.get() == stream) return true;
  return false;
}
}  // namespace

// Use of a destroyed stream is undefined in CUDA: it may crash, or affect another stream at the same address. Here it ends
// the process, so that a test finds it.
int resolve(CUstream stream, StreamHandle** out, const char* function) {
  const uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
  if (handle <= 2) {
    if (!current()) return kInvalidContext;
    const int device = current()->device;
    if (handle <= 1) return *out = machine.legacy[device].get(), kSuccess;
    StreamHandle*& own = per_thread[device];
    if (!own) {
      machine.per_thread[device].push_back(std::make_unique<StreamHandle>());
      own = machine.per_thread[device].back().get();
      own->device = device;
      own->id = next_stream_id++;
    }
    return *out = own, kSuccess;
  }
  if (machine.destroyed.count(stream) && machine.dead_streams_abort) {
    fprintf(stderr, "hostcuda: %s of the stream %p, which is destroyed: undefined on a real driver\n", function,
            static_cast<void*>(stream));
    abort();
  }
  if (!known(stream)) return kInvalidHandle;
  return *out = stream, kSuccess;
}

std::vector<StreamHandle*> all_streams(int device) {
  std::vector<StreamHandle*> all = machine.streams[device];
  for (const auto& own : machine.per_thread[device]) all.push_back(own.get());
  return all;
}

bool legacy_is_implied(int device) {
  for (StreamHandle* stream : all_streams(device))
    if (stream->capture && is_blocking(stream)) return true;
  return false;
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
  if (stream->capture) return add_node(stream, std::move(action));
  auto operation = std::make_shared<Operation>();
  operation->action = std::move(action);
  depend(*operation, stream->last);
  StreamHandle* legacy = machine.legacy[stream->device].get();
  if (stream == legacy) {
    // Work on the legacy stream would make the captured streams wait for something outside the graph.
    for (StreamHandle* other : all_streams(stream->device))
      if (other->capture && is_blocking(other)) return other->capture->invalid = true, kCaptureImplicit;
    // The legacy stream synchronizes with all blocking streams.
    for (StreamHandle* other : all_streams(stream->device))
      if (is_blocking(other)) depend(*operation, other->last);
  } else if (is_blocking(stream)) {
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

// The last operations of every stream of a device.
static std::vector<OperationPointer> all_work(int device) {
  std::erase_if(machine.left_behind[device], [](const OperationPointer& last) { return last->done; });
  std::vector<OperationPointer> all = machine.left_behind[device];
  for (StreamHandle* stream : all_streams(device)) all.push_back(stream->last);
  all.push_back(machine.legacy[device]->last);
  return all;
}

void synchronize_device(int device) {
  for (const OperationPointer& last : all_work(device)) run(last);
}

}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  auto* created = new StreamHandle;
  created->device = current()->device;
  created->flags = flags;
  created->priority = std::clamp(priority, -5, 0);
  created->id = next_stream_id++;
  machine.streams[created->device].push_back(created);
  machine.destroyed.erase(created);
  ++machine.statistics.streams_live;
  *stream = created;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

// Returns at once; enqueued work still runs.
HOSTCUDA_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  HOSTCUDA_ENTER;
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return kInvalidHandle;
  for (auto& list : machine.streams)
    if (auto at = std::find(list.begin(), list.end(), stream); at != list.end()) {
      if (stream->capture) stream->capture->invalid = true;
      list.erase(at);
      --machine.statistics.streams_live;
      if (stream->capture) stream->capture->members.erase(stream);
      if (stream->last && !stream->last->done) machine.left_behind[stream->device].push_back(stream->last);
      machine.destroyed.insert(stream);
      delete stream;
      return kSuccess;
    }
  HOSTCUDA_RESOLVE(stream, dead);
  return kInvalidHandle;
}

HOSTCUDA_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  HOSTCUDA_NOT_IN_CAPTURE;
  ++machine.statistics.synchronisations;
  if (is_legacy(stream)) {
    if (legacy_is_implied(stream->device)) return put(stream, nullptr);
    for (StreamHandle* other : all_streams(stream->device))
      if (is_blocking(other)) run(OperationPointer(other->last));
  }
  run(OperationPointer(stream->last));
  trim_pools(stream->device);
  return machine.lost;
}

HOSTCUDA_EXPORT CUresult cuStreamQuery(CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  HOSTCUDA_NOT_IN_CAPTURE;
  if (is_legacy(stream) && legacy_is_implied(stream->device)) return put(stream, nullptr);
  run_some();
  if (machine.lost) return machine.lost;
  bool done = !stream->last || stream->last->done;
  if (is_legacy(stream))
    for (StreamHandle* other : all_streams(stream->device))
      if (is_blocking(other)) done = done && (!other->last || other->last->done);
  return done ? kSuccess : kNotReady;
}

HOSTCUDA_SIMPLE(cuStreamGetFlags, (CUstream handle, unsigned* flags), HOSTCUDA_RESOLVE(handle, stream); *flags = stream->flags)
HOSTCUDA_SIMPLE(cuStreamGetPriority, (CUstream handle, int* priority), HOSTCUDA_RESOLVE(handle, stream);
                *priority = stream->priority)
HOSTCUDA_SIMPLE(cuStreamGetCtx, (CUstream handle, CUcontext* context), HOSTCUDA_RESOLVE(handle, stream);
                *context = machine.contexts[stream->device].get())
HOSTCUDA_SIMPLE(cuStreamGetDevice, (CUstream handle, CUdevice* device), HOSTCUDA_RESOLVE(handle, stream);
                *device = stream->device)
HOSTCUDA_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;  // in every mode of the thread
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
  event->capture = stream->capture ? stream->capture->id : 0;
  if (stream->capture) {
    if (stream->capture->invalid) return kCaptureInvalidated;
    event->frontier = stream->frontier;
    return kSuccess;
  }
  // Time is virtual: each recorded event is one microsecond after the one before it.
  if (const int result = put(stream, nullptr)) return result;
  event->at = stream->last;
  event->time = machine.clock += 0.001;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return cuEventRecord(event, stream);
}
// Record all work of a context, on every stream. From driver 12.5 on.
HOSTCUDA_EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  if (machine.driver_version < 12050) return kNotSupported;
  if (!context || event->device != context->device) return kInvalidHandle;
  bool captured = false;
  for (StreamHandle* stream : all_streams(context->device))
    if (stream->capture) stream->capture->invalid = captured = true;
  if (captured) return kCaptureUnsupported;
  auto operation = std::make_shared<Operation>();
  for (const OperationPointer& last : all_work(context->device)) depend(*operation, last);
  if (machine.order == Machine::Order::eager) run(operation);
  else machine.pending.push_back(operation);
  event->capture = 0;
  event->at = operation;
  event->time = machine.clock += 0.001;
  return kSuccess;
}
// An event in a capture represents nodes of a graph, not a point in time.
static int invalidate(const EventHandle& event) {
  if (GraphHandle* graph = capture_in_progress(event.capture)) graph->invalid = true;
  return kCapturedEvent;
}
HOSTCUDA_EXPORT CUresult cuEventQuery(CUevent event) {
  HOSTCUDA_ENTER;
  if (event->capture) return invalidate(*event);
  HOSTCUDA_NOT_IN_CAPTURE;
  run_some();
  return !event->at || event->at->done ? kSuccess : kNotReady;
}
HOSTCUDA_EXPORT CUresult cuEventSynchronize(CUevent event) {
  HOSTCUDA_ENTER;
  if (event->capture) return invalidate(*event);
  HOSTCUDA_NOT_IN_CAPTURE;
  ++machine.statistics.synchronisations;
  run(OperationPointer(event->at));
  trim_pools(event->device);
  return machine.lost;
}
HOSTCUDA_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  HOSTCUDA_ENTER;
  if (start->capture || end->capture) return kCapturedEvent;
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
  if (event->capture) return wait_in_capture(stream, event);
  if (stream->capture) {
    if (stream->capture->invalid) return kCaptureInvalidated;
    return event->at ? (stream->capture->invalid = true, kCaptureIsolation) : kSuccess;
  }
  if (is_legacy(stream) && legacy_is_implied(stream->device)) return put(stream, nullptr);
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
