// SPDX-License-Identifier: Apache-2.0
// Graphs that are captured here, with the memory they use. Captures of other libraries need none of this.
#pragma once
#include "native/cuda/memory/memory.h"

namespace dlt::cuda {

struct Graph;

// Starts a capture on a stream in the thread-local mode: end_graph() is called by the same thread.
DLT_API Status begin_graph(Stream& stream, Graph** out) noexcept;
// Ends the capture; unless `keep`, what it captured is dropped. Nothing but destroy_graph() is possible after a failure.
DLT_API Status end_graph(Graph* graph, bool keep) noexcept;
// Enqueues the graph, after earlier uses of its memory on other streams; later uses there wait for it. Calls for one graph
// must not overlap.
DLT_API Status launch_graph(Graph* graph, Stream& stream) noexcept;
// Returns whether operations in the graph write to the memory, which was allocated before the capture.
DLT_API bool graph_writes(const Graph* graph, const void* data) noexcept;
// Also while it runs: its memory is returned after that.
DLT_API void destroy_graph(Graph* graph) noexcept;

}  // namespace dlt::cuda
