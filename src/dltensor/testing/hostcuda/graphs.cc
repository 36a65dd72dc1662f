// SPDX-License-Identifier: Apache-2.0
// Capture of streams into graphs, their replay, and the objects that live as long as a graph.
#include <utility>

#include "machine.h"

namespace dlt::cuda {

struct GraphExecHandle {
  std::vector<std::function<void()>> actions;
  std::vector<std::shared_ptr<void>> kept;
};

struct UserObjectHandle {
  std::shared_ptr<void> object;
};

namespace {
uint64_t next_capture_id = 1;
thread_local int thread_capture_mode = 0;  // global

template <class F>
void each_stream(F&& f) {
  for (auto& list : machine.streams)
    for (StreamHandle* stream : list) f(stream);
}
}  // namespace

int exchange_capture_mode(int mode) { return std::exchange(thread_capture_mode, mode); }

bool spoil_captures() {
  if (thread_capture_mode == kCaptureModeRelaxed) return false;
  bool any = false;
  each_stream([&](StreamHandle* stream) {
    if (stream->capture && stream->capture_mode != kCaptureModeRelaxed) {
      stream->capture->invalid = true;
      any = true;
    }
  });
  return any;
}

}  // namespace dlt::cuda

using namespace dlt::cuda;
using CUgraphExec = GraphExecHandle*;

HOSTCUDA_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  HOSTCUDA_ENTER;
  *mode = exchange_capture_mode(*mode);
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  HOSTCUDA_ENTER;
  StreamHandle* stream = resolve(handle);
  if (!stream) return kInvalidHandle;
  if (stream == machine.legacy[stream->device].get()) {
    bool any = false;
    each_stream([&](StreamHandle* other) {
      any |= other->capture && other->capture_mode == 0 && !(other->flags & kStreamNonBlocking);
    });
    if (any) return kCaptureImplicit;
  }
  *status = !stream->capture ? kCaptureNone : stream->capture->invalid ? 2 : kCaptureActive;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies, size_t* count) {
  if (const int result = cuStreamIsCapturing(handle, status)) return result;
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  StreamHandle* stream = resolve(handle);
  if (id) *id = stream->capture ? stream->capture->id : 0;
  if (graph) *graph = stream->capture;
  if (dependencies) *dependencies = nullptr;
  if (count) *count = 0;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies, const void** edges, size_t* count) {
  if (edges) *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}

HOSTCUDA_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  StreamHandle* stream = resolve(handle);
  if (!stream) return kInvalidHandle;
  if (stream == machine.legacy[stream->device].get()) return kCaptureUnsupported;
  if (stream->capture) return kIllegalState;
  stream->capture = new GraphHandle;
  stream->capture->origin = stream;
  stream->capture->id = next_capture_id++;
  stream->capture_mode = mode;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  StreamHandle* stream = resolve(handle);
  if (!stream) return kInvalidHandle;
  GraphHandle* captured = stream->capture;
  *graph = nullptr;
  if (!captured || captured->origin != stream) return kIllegalState;
  stream->capture = nullptr;
  for (StreamHandle* member : captured->members) member->capture = nullptr;
  if (captured->invalid) {
    delete captured;
    return kCaptureInvalidated;
  }
  *graph = captured;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  HOSTCUDA_ENTER;
  *graph = new GraphHandle;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  HOSTCUDA_ENTER;
  *executable = new GraphExecHandle{graph->actions, graph->kept};
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  StreamHandle* stream = resolve(handle);
  if (!stream) return kInvalidHandle;
  // A run keeps what the graph keeps, should the executable go before it is over.
  return put(stream, [actions = executable->actions, kept = executable->kept] {
    for (const auto& action : actions) action();
  });
}
HOSTCUDA_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  HOSTCUDA_ENTER;
  delete graph;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  HOSTCUDA_ENTER;
  delete executable;
  return kSuccess;
}

// A user object lives until the last graph and executable that keep it are gone; then `destroy` is called.
HOSTCUDA_EXPORT CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned, unsigned) {
  HOSTCUDA_ENTER;
  *object = new UserObjectHandle{std::shared_ptr<void>(pointer, destroy)};
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned, unsigned flags) {
  HOSTCUDA_ENTER;
  if (!graph || !object) return kInvalidValue;
  graph->kept.push_back(object->object);
  if (flags & kGraphUserObjectMove) delete object;
  return kSuccess;
}
