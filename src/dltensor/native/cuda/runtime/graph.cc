// SPDX-License-Identifier: Apache-2.0
// Captures of ours and the launches of their graphs, see graph.h.
#include "native/cuda/runtime/graph.h"

#include <new>

#include "native/cuda/memory/recording.h"

namespace dlt::cuda {

struct Graph {
  Recording recording;
  Stream* origin;  // of the capture, null after its end
  CUgraphExec executable = nullptr;

  Graph(Stream& stream, uint64_t id) noexcept : recording(*stream.device, id), origin(&stream) {}
};

namespace {

// Says what to change in the body of the capture, where the result tells.
Status explain(CUresult result) noexcept {
  if (result == kCaptureUnjoined)
    return fail(Fault::buffer,
                "capture: work on another stream, which the captured stream does not wait for, is part of the graph; let "
                "the captured stream wait for an event of that stream at the end of the block");
  if (result == kCaptureInvalidated)
    return fail(Fault::buffer,
                "capture: a call in the block cannot be captured, and the capture is lost; do it before the capture (a call of "
                "another library that allocates, frees or waits is often the reason)");
  return check(result, "cuStreamEndCapture");
}

// Ends the capture in the driver; the graph is null where that fails.
CUresult end_capture(Graph& graph, CUgraph* out) noexcept {
  Stream& origin = *graph.origin;
  graph.origin = nullptr;
  stop_recording(graph.recording);
  *out = nullptr;
  return driver.cuStreamEndCapture(origin.handle, out);
}

}  // namespace

Status begin_graph(Stream& stream, Graph** out) noexcept {
  if (!driver.cuGraphInstantiateWithFlags)
    return fail(Fault::device, "capture: graphs need a CUDA driver of version 11.4 or later, got %d.%d", driver.version / 1000,
                driver.version % 1000 / 10);
  if (stream.is_legacy())
    return fail(Fault::value,
                "capture: the legacy default stream cannot be captured; use a dl.cuda.Stream, or leave the stream out");
  Capture capture;
  DLT_TRY(check_capture("capture", stream, &capture));
  if (capture.active) return fail(Fault::buffer, "capture: another CUDA graph is being captured on this stream");
  Current current(*stream.device);
  DLT_CU(cuStreamBeginCapture_v2(handle_here(stream), kCaptureModeThreadLocal));
  Status status = check(capture_of(stream, &capture), "cuStreamGetCaptureInfo");
  auto* graph = new (std::nothrow) Graph(stream, capture.id);
  if (status.ok())
    status = graph ? start_recording(graph->recording, stream) : fail(Fault::memory, "capture: the host is out of memory");
  if (!status.ok()) {
    CUgraph dropped = nullptr;
    if (graph) stop_recording(graph->recording);
    delete graph;
    if (driver.cuStreamEndCapture(handle_here(stream), &dropped) == kSuccess) driver.cuGraphDestroy(dropped);
    return status;
  }
  *out = graph;
  return success;
}

Status end_graph(Graph* graph, bool keep) noexcept {
  Current current(graph->recording.device);
  CUgraph captured = nullptr;
  CUresult result = end_capture(*graph, &captured);
  Status status = keep ? explain(result) : success;
  Beside beside;
  if (keep && captured) {
    result = driver.cuGraphInstantiateWithFlags(&graph->executable, captured, 0);
    status = check(result, "cuGraphInstantiateWithFlags");
  }
  if (captured) driver.cuGraphDestroy(captured);
  return status;
}

Status launch_graph(Graph* graph, Stream& stream) noexcept {
  Capture capture;
  DLT_TRY(check_capture("launch", stream, &capture));
  if (capture.active)
    return fail(
        Fault::buffer,
        "launch: a CUDA graph is being captured on this stream; launch before or after the capture, or capture the work "
        "of both into one graph");
  DLT_TRY(use_recorded(graph->recording, stream));
  Current current(*stream.device);
  DLT_CU(cuGraphLaunch(graph->executable, handle_here(stream)));
  stream.count_work();
  return success;
}

bool graph_writes(const Graph* graph, const void* data) noexcept {
  for (const auto& [block, usage] : graph->recording.blocks)
    if (block->data == data) return usage.written;
  return false;
}

void destroy_graph(Graph* graph) noexcept {
  if (!graph) return;
  if (graph->origin) static_cast<void>(end_graph(graph, false));
  if (graph->executable) {
    Current current(graph->recording.device);
    Beside beside;
    driver.cuGraphExecDestroy(graph->executable);
  }
  release_recorded(graph->recording);
  delete graph;
}

}  // namespace dlt::cuda
