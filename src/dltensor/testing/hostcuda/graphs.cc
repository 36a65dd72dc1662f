// SPDX-License-Identifier: Apache-2.0
// Capture of streams into graphs, their replay, and the objects that live as long as a graph.
#include <algorithm>
#include <utility>

#include "machine.h"

namespace dlt::cuda {

struct GraphExecHandle {
  std::vector<GraphNode> nodes;
  std::vector<std::shared_ptr<void>> kept;
};

struct UserObjectHandle {
  std::shared_ptr<void> object;
};

namespace {
uint64_t next_capture_id = 1;
thread_local int thread_capture_mode = 0;  // global

// Returns whether a call that might affect a capture is forbidden to this thread, by the rules of
// cuThreadExchangeStreamCaptureMode.
bool forbids(const GraphHandle& graph) {
  if (thread_capture_mode == kCaptureModeRelaxed || graph.mode == kCaptureModeRelaxed) return false;
  if (graph.thread == std::this_thread::get_id()) return true;
  return thread_capture_mode == kCaptureModeGlobal && graph.mode == kCaptureModeGlobal;
}

// The order of capture reversed as far as the dependencies allow: the first nodes run as late as possible.
std::vector<size_t> late_order(const std::vector<GraphNode>& nodes) {
  std::vector<int> dependents(nodes.size());
  for (const GraphNode& node : nodes)
    for (const int need : node.needs) ++dependents[static_cast<size_t>(need)];
  std::vector<size_t> order;
  std::set<size_t> free;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!dependents[i]) free.insert(i);
  while (!free.empty()) {
    const size_t last = *free.begin();
    free.erase(free.begin());
    order.push_back(last);
    for (const int need : nodes[last].needs)
      if (--dependents[static_cast<size_t>(need)] == 0) free.insert(static_cast<size_t>(need));
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<size_t> random_order(const std::vector<GraphNode>& nodes) {
  std::vector<size_t> order;
  std::vector<bool> done(nodes.size());
  const auto is_ready = [&](size_t i) {
    return !done[i] &&
           std::all_of(nodes[i].needs.begin(), nodes[i].needs.end(), [&](int need) { return done[static_cast<size_t>(need)]; });
  };
  while (order.size() < nodes.size()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (is_ready(i)) ready.push_back(i);
    order.push_back(ready[machine.chance() % ready.size()]);
    done[order.back()] = true;
  }
  return order;
}

// Run in the order of capture if eager, else in another that the dependencies allow, so that a missing one shows.
void run_nodes(const std::vector<GraphNode>& nodes) {
  std::vector<size_t> order(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) order[i] = i;
  if (machine.order == Machine::Order::lazy) order = late_order(nodes);
  if (machine.order == Machine::Order::random) order = random_order(nodes);
  for (const size_t i : order)
    if (nodes[i].action) nodes[i].action();
}

// Returns whether every node leads to `ends`.
bool is_joined(const GraphHandle& graph, const std::set<int>& ends) {
  std::vector<bool> reached(graph.nodes.size());
  std::vector<int> left(ends.begin(), ends.end());
  while (!left.empty()) {
    const auto node = static_cast<size_t>(left.back());
    left.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    left.insert(left.end(), graph.nodes[node].needs.begin(), graph.nodes[node].needs.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}
}  // namespace

int exchange_capture_mode(int mode) { return std::exchange(thread_capture_mode, mode); }

bool invalidate_captures() {
  bool any = false;
  for (auto& [id, graph] : machine.captures)
    if (forbids(*graph)) graph->invalid = any = true;
  return any;
}

GraphHandle* capture_in_progress(uint64_t id) {
  const auto found = machine.captures.find(id);
  return found == machine.captures.end() ? nullptr : found->second;
}

int add_node(StreamHandle* stream, std::function<void()> action) {
  GraphHandle& graph = *stream->capture;
  if (graph.invalid) return kCaptureInvalidated;
  const int number = static_cast<int>(graph.nodes.size());
  graph.nodes.push_back({std::move(action), stream->frontier});
  stream->frontier = {number};
  return kSuccess;
}

// A stream that waits for an event of a capture joins it. Such a fork must be joined to the origin even when the stream
// does nothing more: an empty node represents it.
int wait_in_capture(StreamHandle* stream, EventHandle* event) {
  GraphHandle* graph = capture_in_progress(event->capture);
  if (!graph) return kCapturedEvent;  // its capture is over
  if (graph->invalid) return kCaptureInvalidated;
  if (is_legacy(stream)) return graph->invalid = true, kCaptureImplicit;
  if (stream->capture && stream->capture != graph) return graph->invalid = stream->capture->invalid = true, kCaptureMerge;
  if (stream->capture) {
    stream->frontier.insert(event->frontier.begin(), event->frontier.end());
    return kSuccess;
  }
  stream->capture = graph;
  stream->frontier = event->frontier;
  graph->members.insert(stream);
  return add_node(stream, nullptr);
}

}  // namespace dlt::cuda

using namespace dlt::cuda;
using CUgraphExec = GraphExecHandle*;

HOSTCUDA_SIMPLE(cuThreadExchangeStreamCaptureMode, (int* mode), *mode = exchange_capture_mode(*mode))

HOSTCUDA_EXPORT CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  HOSTCUDA_ENTER;
  HOSTCUDA_RESOLVE(handle, stream);
  if (is_legacy(stream) && legacy_is_implied(stream->device)) return kCaptureImplicit;
  *status = !stream->capture ? kCaptureNone : stream->capture->invalid ? 2 : kCaptureActive;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies, size_t* count) {
  if (const int result = cuStreamIsCapturing(handle, status)) return result;
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  HOSTCUDA_RESOLVE(handle, stream);
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
  HOSTCUDA_RESOLVE(handle, stream);
  if (is_legacy(stream)) return kCaptureUnsupported;
  if (stream->capture) return kIllegalState;
  auto* graph = new GraphHandle;
  graph->origin = stream;
  graph->id = next_capture_id++;
  graph->mode = mode;
  graph->thread = std::this_thread::get_id();
  graph->members.insert(stream);
  machine.captures[graph->id] = graph;
  stream->capture = graph;
  stream->frontier.clear();
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  GraphHandle* graph = stream->capture;
  *out = nullptr;
  if (!graph) return kIllegalState;
  if (graph->origin != stream) return graph->invalid = true, kCaptureUnmatched;
  const bool elsewhere = graph->mode != kCaptureModeRelaxed && graph->thread != std::this_thread::get_id();
  machine.captures.erase(graph->id);
  for (StreamHandle* member : graph->members) member->capture = nullptr;
  graph->members.clear();
  const int result = elsewhere                             ? kCaptureWrongThread  // and the capture is over
                     : graph->invalid                      ? kCaptureInvalidated
                     : is_joined(*graph, stream->frontier) ? kSuccess
                                                           : kCaptureUnjoined;
  if (result == kSuccess) *out = graph;
  else delete graph;
  return result;
}

HOSTCUDA_SIMPLE(cuGraphCreate, (CUgraph * graph, unsigned), *graph = new GraphHandle)
HOSTCUDA_SIMPLE(cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long),
                HOSTCUDA_NOT_IN_CAPTURE;
                *executable = new GraphExecHandle{graph->nodes, graph->kept})
HOSTCUDA_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  // The run keeps the objects of the graph alive, as the executable may be destroyed before it ends.
  return put(stream, [nodes = executable->nodes, kept = executable->kept] { run_nodes(nodes); });
}
HOSTCUDA_SIMPLE(cuGraphDestroy, (CUgraph graph), delete graph)
HOSTCUDA_SIMPLE(cuGraphExecDestroy, (CUgraphExec executable), HOSTCUDA_NOT_IN_CAPTURE; delete executable)

// A user object lives until the last graph and executable that keep it are gone; then `destroy` is called.
HOSTCUDA_SIMPLE(cuUserObjectCreate, (CUuserObject * object, void* pointer, CUhostFn destroy, unsigned, unsigned),
                *object = new UserObjectHandle{std::shared_ptr<void>(pointer, destroy)})
HOSTCUDA_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned, unsigned flags) {
  HOSTCUDA_ENTER;
  if (!graph || !object) return kInvalidValue;
  graph->kept.push_back(object->object);
  if (flags & kGraphUserObjectMove) delete object;
  return kSuccess;
}
