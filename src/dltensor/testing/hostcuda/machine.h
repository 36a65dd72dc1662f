// SPDX-License-Identifier: Apache-2.0
// The machine that the host driver emulates: devices, memory, streams as graphs of operations. Declarations that
// the files of this folder share; what the driver exports is declared by native/cuda/abi.h.
//
// A stream is a chain of operations with dependencies; the order of the machine says when they run:
//   eager         at the call
//   lazy          only when a synchronisation forces them, kernels with their threads reversed
//   random:SEED   at calls chosen by chance, in any order that the dependencies allow
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
#include <vector>

#include "native/cuda/abi.h"

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
  std::set<int> peers;  // devices whose memory may be used
};

struct StreamHandle {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  OperationPointer last;
  GraphHandle* capture = nullptr;
  int capture_mode = 0;
};

struct EventHandle {
  int device = 0;
  unsigned flags = 0;
  OperationPointer at;
  GraphHandle* capture = nullptr;
  double time = 0;  // virtual milliseconds, see streams.cc
};

struct GraphHandle {
  std::vector<std::function<void()>> actions;
  std::vector<std::shared_ptr<void>> kept;  // user objects
  std::set<StreamHandle*> members;
  StreamHandle* origin = nullptr;
  uint64_t id = 0;
  bool invalid = false;
};

struct PoolHandle {
  int device = 0;
  std::map<int, uint64_t> attributes;
};

enum class Kind { device, pinned, managed };

struct Allocation {
  size_t bytes = 0;
  int device = 0;
  Kind kind = Kind::device;
  bool freed = false;
  OperationPointer freed_by;            // device memory that waits for reuse
  StreamHandle* freed_on = nullptr;
  unsigned long long freed_id = 0;  // of that stream: a new one may come to live at the address of one destroyed
};

// Read by Python through ctypes: keep in step with testing/hostcuda.py.
struct Statistics {
  int64_t calls, launches, synchronisations, forced_synchronisations;
  int64_t allocations, live_allocations, live_bytes, peak_bytes, live_pinned;
  int64_t copies, bytes_copied, events_live, streams_live, modules_live, host_compilations;
  uint32_t grid[3], block[3];
};

struct Machine {
  std::recursive_mutex lock;
  bool started = false;
  int device_count = 1;
  int capability = 90;
  int driver_version = 13000;
  size_t device_bytes = size_t{16} << 30;
  enum class Order { eager, lazy, random } order = Order::eager;
  std::mt19937 chance;
  bool launches = true;  // off: kernels are not run, to measure the cost of calls
  std::string cache, include, header, compiler = "g++", compiler_flags;

  std::vector<std::unique_ptr<ContextHandle>> contexts;
  std::vector<std::unique_ptr<StreamHandle>> legacy;
  std::vector<std::vector<StreamHandle*>> streams;
  std::vector<PoolHandle*> pools;
  std::vector<OperationPointer> pending;
  Statistics statistics{};
  std::string last_kernel;
  double clock = 0;
};

extern Machine machine;

// The calling thread's stack of contexts; its top is current.
extern thread_local std::vector<ContextHandle*> context_stack;

inline ContextHandle* current() { return context_stack.empty() ? nullptr : context_stack.back(); }

extern std::atomic<bool> any_fault;  // whether a test asked for some call to fail

// Counts the call and says whether it has to fail because a test asked for it. 0: go on.
int enter(const char* function);

// Every entry point begins so: one thread at a time, counted, and failing when a test asks for it.
#define HOSTCUDA_ENTER                                                    \
  std::lock_guard<std::recursive_mutex> hold_(::dlt::cuda::machine.lock); \
  if (const int result_ = ::dlt::cuda::enter(__func__); result_) return result_
// The same for what touches nothing but the thread's own state: without the lock, as cheap as in a real driver.
#define HOSTCUDA_ENTER_ALONE                                    \
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
  if (::dlt::cuda::spoil_captures()) return ::dlt::cuda::kCaptureUnsupported

// streams.cc
StreamHandle* resolve(CUstream stream);  // handles 0, 1 and 2 stand for default streams; null when unknown
int put(StreamHandle* stream, std::function<void()> action);
void run(const OperationPointer& operation);
void run_some();
void synchronize_device(int device);

// graphs.cc
bool spoil_captures();
int exchange_capture_mode(int mode);

// memory.cc
bool start_memory();  // false when the process has no addresses left for it
std::map<uintptr_t, Allocation>::iterator find_allocation(uintptr_t address);
void open_memory();
void close_memory();

// modules.cc
struct KernelEntry;

}  // namespace dlt::cuda
