// SPDX-License-Identifier: Apache-2.0
// The emulated machine: devices, memory, streams as graphs of operations. Declarations that the files of this folder share;
// native/cuda/runtime/abi.h declares the functions that the driver exports.
//
// A stream is a chain of operations with dependencies. The order of the machine sets when they run:
//   eager         at the call
//   lazy          only when a synchronization forces them, kernels with their threads reversed
//   random:SEED   at random calls, in any order that the dependencies allow
// A missing event wait therefore gives wrong data, and the same wrong data in every run.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "native/cuda/runtime/abi.h"

#define HOSTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace dlt::cuda {

struct Operation;
using OperationPointer = std::shared_ptr<Operation>;
struct Operation {
  std::function<void()> action;
  std::vector<OperationPointer> needs;
  bool done = false;
};

struct ContextHandle {
  int device = 0;
  int references = 0;
  int resets = 0;
  std::set<int> peers;  // devices whose memory may be used
};

struct StreamHandle {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  OperationPointer last;
  GraphHandle* capture = nullptr;
  std::set<int> frontier;  // in a capture: the nodes that its next one depends on
};

struct EventHandle {
  int device = 0;
  unsigned flags = 0;
  OperationPointer at;
  uint64_t capture = 0;    // the capture that it was recorded in, or 0
  std::set<int> frontier;  // the nodes that it represents
  double time = 0;  // virtual milliseconds, see streams.cc
};

struct GraphNode {
  std::function<void()> action;
  std::set<int> needs;
};

struct GraphHandle {
  std::vector<GraphNode> nodes;
  std::vector<std::shared_ptr<void>> kept;  // user objects
  std::set<StreamHandle*> members;          // the origin and what has joined it
  StreamHandle* origin = nullptr;
  uint64_t id = 0;
  int mode = 0;
  std::thread::id thread;
  bool invalid = false;
};

struct PoolHandle {
  int device = 0;
  std::map<int, uint64_t> attributes;
  size_t used = 0, cached = 0;  // bytes of allocations, and of freed ones that were not returned to the system
};

enum class Kind { device, pinned, managed, mapped };

struct Allocation {
  size_t bytes = 0;
  int device = 0;
  Kind kind = Kind::device;
  bool freed = false;
  uint64_t capture = 0;                 // of the graph that allocates it, or 0
  PoolHandle* pool = nullptr;
  OperationPointer freed_by;            // device memory that waits for reuse
  StreamHandle* freed_on = nullptr;
  unsigned long long freed_id = 0;  // of that stream: a new one may have the address of a destroyed one
};

// Read by Python through ctypes: keep it equal to testing/hostcuda.py.
struct Statistics {
  int64_t calls, launches, synchronisations, forced_synchronisations;
  int64_t allocations, live_allocations, live_bytes, peak_bytes, live_pinned;
  int64_t copies, bytes_copied, events_live, streams_live, modules_live, host_compilations;
  int64_t bytes_read, bytes_written, sectors_read, sectors_written;  // by kernels that were watched
  uint32_t grid[3], block[3];
};

struct Machine {
  std::recursive_mutex lock;
  bool started = false;
  int device_count = 1;
  int first_device = 0;  // the number of the first one among all of the machine, as UUIDs have it
  bool descriptors = true;  // of memory, for other processes
  int capability = 90;
  int driver_version = 13000;
  size_t device_bytes = size_t{16} << 30;
  enum class Order { eager, lazy, random } order = Order::eager;
  std::mt19937 chance;
  bool launches = true;  // off: kernels are not run, to measure the cost of calls
  bool watch = false;    // kernels are preempted between accesses, which are counted
  std::mt19937 preemption;
  std::string cache, include, header, compiler = "g++", compiler_flags;

  std::vector<std::unique_ptr<ContextHandle>> contexts;
  std::vector<std::unique_ptr<StreamHandle>> legacy;
  std::vector<std::vector<StreamHandle*>> streams;
  std::vector<std::vector<std::unique_ptr<StreamHandle>>> per_thread;  // default streams of threads, ended ones too
  std::set<const StreamHandle*> destroyed;                             // addresses of destroyed streams
  std::vector<std::vector<OperationPointer>> left_behind;              // by device: last work of destroyed streams
  bool dead_streams_abort = true;
  std::map<uint64_t, GraphHandle*> captures;  // in progress
  int lost = 0;                               // the error that every call returns after a kernel failed
  std::vector<PoolHandle*> pools;    // the default one of each device
  std::set<PoolHandle*> all_pools;
  std::vector<OperationPointer> pending;
  Statistics statistics{};
  std::string last_kernel;
  double clock = 0;
};

extern Machine machine;

// The calling thread's stack of contexts; its top is current. Constant-initialized, so that reading it needs no check.
struct ContextStack {
  static constexpr int most = 16;  // static thread-local storage is scarce
  ContextHandle* at[most];
  int depth;
};
extern constinit thread_local ContextStack context_stack;

inline ContextHandle* current() {
  const ContextStack& stack = context_stack;
  return stack.depth ? stack.at[stack.depth - 1] : nullptr;
}

extern std::atomic<bool> any_fault;  // true if a test requested that a call fails, or a kernel failed
extern std::atomic<bool> forked;     // in a child of the process that called cuInit, where no call works

void lose_context(int result);  // one after which the context is unusable

// Counts the call and returns an error that a test has requested, or 0.
int enter(const char* function);

// Begins every entry point: locks the machine, counts the call and fails when a test has requested it.
#define HOSTCUDA_ENTER                                                    \
  if (::dlt::cuda::forked) return ::dlt::cuda::kNotInitialized;           \
  std::lock_guard<std::recursive_mutex> hold_(::dlt::cuda::machine.lock); \
  if (const int result_ = ::dlt::cuda::enter(__func__); result_) return result_
// Begins entry points that use only state of the thread: without the lock, as fast as in a real driver.
#define HOSTCUDA_ENTER_ALONE                                    \
  if (::dlt::cuda::forked) return ::dlt::cuda::kNotInitialized; \
  if (::dlt::cuda::any_fault.load(std::memory_order_relaxed)) { \
    HOSTCUDA_ENTER;                                             \
  }
#define HOSTCUDA_STARTED \
  if (!::dlt::cuda::machine.started) return ::dlt::cuda::kNotInitialized
#define HOSTCUDA_CONTEXT \
  HOSTCUDA_STARTED;      \
  if (!::dlt::cuda::current()) return ::dlt::cuda::kInvalidContext
// Calls that CUDA forbids while any stream is captured in global mode.
#define HOSTCUDA_NOT_IN_CAPTURE \
  if (::dlt::cuda::invalidate_captures()) return ::dlt::cuda::kCaptureUnsupported

// A function that does one thing and fails only by its checks.
#define HOSTCUDA_SIMPLE(name, parameters, ...) \
  HOSTCUDA_EXPORT CUresult name parameters {   \
    HOSTCUDA_ENTER;                            \
    __VA_ARGS__;                               \
    return kSuccess;                           \
  }

// Handles 0, 1 and 2 stand for default streams of the current context.
#define HOSTCUDA_RESOLVE(handle, name) \
  StreamHandle* name = nullptr;        \
  if (const int resolved_ = ::dlt::cuda::resolve(handle, &name, __func__); resolved_) return resolved_

// streams.cc
int resolve(CUstream stream, StreamHandle** out, const char* function);
inline bool is_legacy(const StreamHandle* stream) { return stream == machine.legacy[stream->device].get(); }
inline bool is_blocking(const StreamHandle* stream) { return !(stream->flags & kStreamNonBlocking); }
std::vector<StreamHandle*> all_streams(int device);  // without the legacy one
bool legacy_is_implied(int device);  // true if a capture would have to wait for work on the legacy stream
int put(StreamHandle* stream, std::function<void()> action);
void run(const OperationPointer& operation);
void run_some();
void synchronize_device(int device);

// graphs.cc
bool invalidate_captures();
GraphHandle* capture_in_progress(uint64_t id);  // null when it is over
int add_node(StreamHandle* stream, std::function<void()> action);
int wait_in_capture(StreamHandle* stream, EventHandle* event);
int exchange_capture_mode(int mode);

// memory.cc
bool start_memory();  // false when the process has no addresses left for it
std::map<uintptr_t, Allocation>::iterator find_allocation(uintptr_t address);
bool on_device(uintptr_t address);
// Returns whether all these bytes belong to one live allocation.
bool is_allocated(uintptr_t address, size_t bytes);
void trim_pools(int device);  // at a synchronization: to their thresholds
// Memory that mappings.cc makes: counted as the device's, false when that has no room for it.
bool count_shareable(int device, size_t bytes, bool is_new);
void end_shareable(int device, size_t bytes, bool is_new);
uintptr_t reserve_addresses(size_t bytes);  // 0 when there are none
void free_addresses(uintptr_t address, size_t bytes);
bool map_pages(uintptr_t address, size_t bytes, int file, int device);
bool let_access(uintptr_t address, size_t bytes);
void unmap_pages(uintptr_t address, size_t bytes);
void open_memory();
void close_memory();
void open_memory_again();  // after a jump out of a signal handler, in which it is closed

// modules.cc
struct KernelEntry;

}  // namespace dlt::cuda
