// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernel source on the host, one block at a time. The threads of a block are plain calls; only a thread that
// has to wait for others, or is preempted, is parked on a stack of its own. Threads run forwards or backwards, and blocks
// in an order by chance too, so that a kernel that depends on an order fails. Warp intrinsics check their masks.
// Stores of a block reach others at a fence, or late. Atomic operations are plain ones. Not covered: dynamic shared memory, blocks that run at the same time.
//
// With HOSTCUDA_WATCH the compiler calls a function here before each access to memory (the instrumentation that
// ThreadSanitizer uses, without its library). Threads are then preempted between any two accesses, in an order by
// chance, so that a missing barrier gives wrong data; and the 32-byte sectors that each warp touches are counted.
//
// The host driver holds its lock while a kernel runs, hence plain globals.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __restrict__ __restrict

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
// What is observed of a launch that is watched. As in machine.h, which only the driver includes.
struct HostWatch {
  unsigned seed;  // of the order in which threads run
  bool (*on_device)(uintptr_t address);
  int64_t bytes[2];  // read, written
  int64_t sectors[2];  // of 32 bytes, each once for a warp that touches it
};
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace hostcuda {

constexpr size_t stack_bytes = 192 << 10;

// Lanes of a warp that exchange values.
struct Meeting {
  unsigned warp, mask;
  const char* operation;
  unsigned arrived = 0;
  uint64_t generation = 0;
  uint64_t given[32] = {}, values[32] = {};
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  uint3 thread;
  bool idle = true;
  void* fake_stack = nullptr;
};

// A store to device memory that other blocks cannot see yet: no fence of its thread came after it.
struct Store {
  char* at;
  unsigned thread;
  bool synced;  // before a barrier of the block: a fence of any of its threads is one for it too
  std::vector<char> value;  // of the memory before the store; after the end of the block, what was stored
};

// One block that is being run.
struct Block {
  void (*body)(void**) = nullptr;
  void** arguments = nullptr;
  unsigned next = 0, count = 0;
  bool backwards = false;
  ucontext_t scheduler;
  Fiber* running = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> parked;  // at the barrier of the block
  std::vector<Fiber*> runnable;  // preempted, or polling
  std::vector<unsigned> turns;  // the order in which threads start, when it is by chance
  std::vector<std::unique_ptr<Meeting>> meetings;
  HostWatch* watch = nullptr;
  uint64_t chance = 0;
  unsigned quantum = 0;  // accesses until the next preemption
  bool in_body = false;  // a thread's own code runs
  uint64_t polls = 0;  // since a thread got further
  std::vector<std::set<uintptr_t>> sectors[2];  // of each warp
  std::vector<Store> stores;  // of this block, in order
  std::vector<std::vector<Store>> late;  // of blocks that have ended
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
};
inline Block block;

// AddressSanitizer must be notified when the stack changes.
inline void leave_for(void** fake, const void* stack, size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#else
  (void)fake, (void)stack, (void)bytes;
#endif
}
inline void arrived(void* fake, const void** stack, size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
#else
  (void)fake, (void)stack, (void)bytes;
#endif
}

inline void to_scheduler(Fiber* fiber) {
  leave_for(&fiber->fake_stack, block.scheduler_stack, block.scheduler_stack_bytes);
  swapcontext(&fiber->context, &block.scheduler);
  arrived(fiber->fake_stack, &block.scheduler_stack, &block.scheduler_stack_bytes);
}

inline void to_fiber(Fiber* fiber) {
  block.running = fiber;
  leave_for(&block.fake_stack, fiber->stack.get(), stack_bytes);
  swapcontext(&block.scheduler, &fiber->context);
  arrived(block.fake_stack, nullptr, nullptr);
}

inline unsigned random_below(unsigned count) {  // xorshift64*
  block.chance ^= block.chance >> 12, block.chance ^= block.chance << 25, block.chance ^= block.chance >> 27;
  return static_cast<unsigned>((block.chance * 2685821657736338717u) >> 33) % count;
}

[[noreturn]] inline void fail(const char* what) {
  fprintf(stderr, "hostcuda: kernel aborted in block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y,
          blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
  abort();
}

// A fiber takes threads until none is left; one that parks blocks only itself.
inline void work() {
  arrived(nullptr, &block.scheduler_stack, &block.scheduler_stack_bytes);
  for (;;) {
    Fiber* self = block.running;
    while (block.next < block.count) {
      const unsigned turn = block.next++;
      const unsigned t = !block.turns.empty() ? block.turns[turn] : block.backwards ? block.count - 1 - turn : turn;
      threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
      block.polls = 0;
      block.in_body = true;
      block.body(block.arguments);
      block.in_body = false;
      block.polls = 0;
      if (block.watch) break;  // which thread is next is the scheduler's choice
    }
    self->idle = true;
    to_scheduler(self);
  }
}

inline void wait_in(std::vector<Fiber*>& waiting) {
  Fiber* self = block.running;
  const bool in_body = std::exchange(block.in_body, false);
  self->thread = threadIdx;
  waiting.push_back(self);
  to_scheduler(self);
  threadIdx = self->thread;
  block.in_body = in_body;
}

inline void park() {
  block.polls = 0;
  wait_in(block.parked);
}

// Lets other threads run. A thread that waits in a loop for what never comes is reported.
inline void poll() {
  if (++block.polls > uint64_t{64} * (block.count + 1))
    fail("a warp intrinsic waits for lanes of its mask that have ended, or are at __syncthreads()");
  wait_in(block.runnable);
}

inline void preempt() {
  block.quantum = 1 + random_below(random_below(4) ? 4 : 200);
  wait_in(block.runnable);
}

inline unsigned thread_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

// What this thread has stored, and what others had before a barrier, is seen by all blocks from now on.
__attribute__((no_sanitize("thread"))) inline void fence() {
  const bool in_body = std::exchange(block.in_body, false);  // what is called here is not observed
  std::erase_if(block.stores, [](const Store& store) { return store.synced || store.thread == thread_number(); });
  block.in_body = in_body;
}

// Stores of a block that has ended are taken back, newest first, until late_stores() makes them.
__attribute__((no_sanitize("thread"))) inline void take_back_stores() {
  for (size_t k = block.stores.size(); k-- > 0;) {
    Store& store = block.stores[k];
    std::vector<char> stored(store.at, store.at + store.value.size());
    memcpy(store.at, store.value.data(), store.value.size());
    store.value.swap(stored);
  }
  if (!block.stores.empty()) block.late.push_back(std::move(block.stores));
  block.stores.clear();
}
// Some of them by chance, or all.
__attribute__((no_sanitize("thread"))) inline void late_stores(bool all) {
  std::erase_if(block.late, [&](const std::vector<Store>& stores) {
    if (!all && random_below(4)) return false;
    for (const Store& store : stores) memcpy(store.at, store.value.data(), store.value.size());
    return true;
  });
}

// One access of a thread to memory, before it happens. Not itself observed, nor what it calls.
__attribute__((no_sanitize("thread"))) inline void access(const void* at, size_t bytes, bool write, bool atomic = false) {
  if (!block.in_body || !block.watch) return;
  block.in_body = false;
  const auto address = reinterpret_cast<uintptr_t>(at);
  const bool on_device = block.watch->on_device(address);
  if (on_device) {
    const unsigned t = thread_number();
    block.watch->bytes[write] += static_cast<int64_t>(bytes);
    for (uintptr_t sector = address / 32; sector <= (address + bytes - 1) / 32; ++sector)
      block.watch->sectors[write] += block.sectors[write][t / 32].insert(sector).second;
  }
  block.polls = 0;
  if (block.quantum-- == 0) preempt();
  if (on_device && write) {
    char* const to = reinterpret_cast<char*>(address);
    if (!atomic) block.stores.push_back({to, thread_number(), false, {to, to + bytes}});
    // An atomic operation is done where all blocks see it, after what was stored at its address.
    else std::erase_if(block.stores, [&](const Store& s) { return s.at < to + bytes && to < s.at + s.value.size(); });
  }
  block.in_body = true;
}

inline Fiber* idle_fiber() {
  for (auto& fiber : block.fibers)
    if (fiber->idle) return fiber.get();
  block.fibers.push_back(std::make_unique<Fiber>());
  Fiber* fiber = block.fibers.back().get();
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = stack_bytes;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, work, 0);
  return fiber;
}

inline void run_block() {
  block.next = 0;
  block.parked.clear();
  block.meetings.clear();
  if (block.watch) {
    for (auto& sectors : block.sectors) sectors.assign((block.count + 31) / 32, {});
    block.turns.resize(block.count);
    for (unsigned t = 0; t < block.count; ++t) {
      const unsigned other = random_below(t + 1);
      block.turns[t] = block.turns[other];
      block.turns[other] = t;
    }
  }
  for (;;) {
    const auto ready = static_cast<unsigned>(block.runnable.size());
    if (block.next < block.count && (!block.watch || !ready || random_below(4))) {
      Fiber* fiber = idle_fiber();
      fiber->idle = false;
      to_fiber(fiber);
    } else if (ready) {
      const unsigned which = block.watch ? random_below(ready) : 0;
      Fiber* fiber = block.runnable[which];
      block.runnable.erase(block.runnable.begin() + which);
      to_fiber(fiber);
    } else if (!block.parked.empty()) {  // every live thread waits at the barrier: release them all, in order
      block.runnable.swap(block.parked);
      for (Store& store : block.stores) store.synced = true;
    } else {
      return;
    }
  }
}

// A number without a common divisor with `count`: multiples of it, modulo `count`, are every number below once.
inline size_t step_of(size_t count, unsigned chance) {
  size_t step = count > 2 ? 1 + chance % (count - 1) : 1;
  for (;; ++step) {
    size_t a = count, b = step;
    while (b != 0) {
      const size_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return step;
  }
}

// `order` 0: forwards, 1: backwards, another: blocks by chance, and the threads of a block as its lowest bit says.
inline void launch(void (*body)(void**), void** arguments, dim3 grid, dim3 threads, unsigned order, HostWatch* watch) {
  const bool backwards = order & 1;
  block.body = body;
  block.arguments = arguments;
  block.count = threads.x * threads.y * threads.z;
  block.backwards = backwards;
  block.watch = watch;
  block.stores.clear();
  block.late.clear();
  block.chance = watch ? 0x9e3779b97f4a7c15u * (2 * uint64_t{watch->seed} + 1) : 1;
  if (!watch) block.turns.clear();
  gridDim = grid;
  blockDim = threads;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  const size_t step = order > 1 ? step_of(blocks, order) : 1;
  for (size_t turn = 0, at = 0; turn < blocks; ++turn, at = (at + step) % blocks) {
    const size_t b = backwards ? blocks - 1 - at : at;
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / (size_t{grid.x} * grid.y))};
    if (watch) late_stores(false);
    run_block();
    if (watch) take_back_stores();
  }
  late_stores(true);
}

template <class F>
struct Call;
template <class... A>
struct Call<void (*)(A...)> {
  static constexpr size_t count = sizeof...(A);
  static inline const size_t sizes[count ? count : 1] = {sizeof(A)...};
  template <void (*kernel)(A...), size_t... I>
  static void unpack(void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<A*>(arguments[I])...);
  }
  template <void (*kernel)(A...)>
  static void call(void** arguments) {
    unpack<kernel>(arguments, std::index_sequence_for<A...>());
  }
};

template <auto kernel>
void start(void** arguments, const unsigned* grid, const unsigned* threads, unsigned order, HostWatch* watch) {
  launch(Call<decltype(kernel)>::template call<kernel>, arguments, dim3{grid[0], grid[1], grid[2]},
         dim3{threads[0], threads[1], threads[2]}, order, watch);
}

}  // namespace hostcuda

inline void __syncthreads() { hostcuda::park(); }
#define warpSize 32

namespace hostcuda {

inline unsigned lane() { return thread_number() % 32; }

// Waits until all lanes of the mask are at the same intrinsic, and returns what each gave.
inline const uint64_t* meet(const char* operation, unsigned mask, uint64_t given) {
  const unsigned thread = thread_number(), bit = 1u << thread % 32;
  block.in_body = false;
  if (!(mask & bit)) fail("the mask of a warp intrinsic leaves out the lane that calls it");
  const unsigned lanes = block.count - thread / 32 * 32;
  if (lanes < 32 && mask >> lanes) fail("the mask of a warp intrinsic names lanes that the block does not have");
  Meeting* at = nullptr;
  for (auto& meeting : block.meetings)
    if (meeting->warp == thread / 32 && meeting->mask == mask) at = meeting.get();
  if (!at) {
    for (auto& meeting : block.meetings)
      if (meeting->warp == thread / 32 && meeting->arrived & mask) fail("lanes of a warp meet with different masks");
    block.meetings.push_back(std::make_unique<Meeting>(Meeting{thread / 32, mask, operation}));
    at = block.meetings.back().get();
  }
  if (!at->arrived) at->operation = operation;
  if (strcmp(at->operation, operation)) fail("lanes of one mask are at different warp intrinsics");
  at->given[thread % 32] = given;
  at->arrived |= bit;
  if (at->arrived == mask) {
    memcpy(at->values, at->given, sizeof at->values);
    at->arrived = 0;
    ++at->generation;
    block.polls = 0;
  } else {
    for (const uint64_t generation = at->generation; at->generation == generation;) poll();
  }
  block.in_body = true;
  return at->values;
}

template <class T>
T shuffle(const char* operation, unsigned mask, T value, unsigned from, bool inside) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  const uint64_t* values = meet(operation, mask, bits);
  if (!inside) return value;
  if (!(mask >> from & 1)) fail("a shuffle reads a lane that its mask leaves out");
  memcpy(&value, &values[from], sizeof value);
  return value;
}

inline unsigned ballot(const char* operation, unsigned mask, bool predicate) {
  const uint64_t* values = meet(operation, mask, predicate);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= static_cast<unsigned>(mask >> i & 1 && values[i]) << i;
  return bits;
}

}  // namespace hostcuda

inline void __syncwarp(unsigned mask = ~0u) { hostcuda::meet("__syncwarp", mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) { return hostcuda::ballot("__ballot_sync", mask, predicate); }
inline int __any_sync(unsigned mask, int predicate) { return hostcuda::ballot("__any_sync", mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return hostcuda::ballot("__all_sync", mask, predicate) == mask; }
// `low` is the first lane of the caller's group of `width` lanes.
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned low = hostcuda::lane() / width * width;
  return hostcuda::shuffle("__shfl_sync", mask, value, low + static_cast<unsigned>(from) % width, true);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = hostcuda::lane(), low = lane / width * width;
  return hostcuda::shuffle("__shfl_up_sync", mask, value, lane - by, lane >= low + by);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = hostcuda::lane(), low = lane / width * width;
  return hostcuda::shuffle("__shfl_down_sync", mask, value, lane + by, lane + by < low + width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
  const unsigned from = hostcuda::lane() ^ static_cast<unsigned>(with);
  return hostcuda::shuffle("__shfl_xor_sync", mask, value, from, from < hostcuda::lane() / width * width + width);
}

#if defined(HOSTCUDA_WATCH)
// What the compiler calls. Without the library these are the only definitions.
#define HOSTCUDA_HOOK extern "C" __attribute__((visibility("hidden"), used, no_sanitize("thread"))) inline
HOSTCUDA_HOOK void __tsan_init() {}
#define HOSTCUDA_ACCESS(bytes)                                                                      \
  HOSTCUDA_HOOK void __tsan_read##bytes(void* at) { hostcuda::access(at, bytes, false); }           \
  HOSTCUDA_HOOK void __tsan_write##bytes(void* at) { hostcuda::access(at, bytes, true); }           \
  HOSTCUDA_HOOK void __tsan_unaligned_read##bytes(void* at) { hostcuda::access(at, bytes, false); } \
  HOSTCUDA_HOOK void __tsan_unaligned_write##bytes(void* at) { hostcuda::access(at, bytes, true); } \
  HOSTCUDA_HOOK void __tsan_volatile_read##bytes(void* at) { hostcuda::access(at, bytes, false); }  \
  HOSTCUDA_HOOK void __tsan_volatile_write##bytes(void* at) { hostcuda::access(at, bytes, true); }
HOSTCUDA_ACCESS(1)
HOSTCUDA_ACCESS(2)
HOSTCUDA_ACCESS(4)
HOSTCUDA_ACCESS(8)
HOSTCUDA_ACCESS(16)
HOSTCUDA_HOOK void __tsan_read_range(void* at, size_t bytes) { hostcuda::access(at, bytes, false); }
HOSTCUDA_HOOK void __tsan_write_range(void* at, size_t bytes) { hostcuda::access(at, bytes, true); }
HOSTCUDA_HOOK void __tsan_vptr_update(void*, void*) {}
#undef HOSTCUDA_ACCESS
#undef HOSTCUDA_HOOK
#endif

inline void __threadfence() { hostcuda::fence(); }
inline void __threadfence_system() { hostcuda::fence(); }
inline void __threadfence_block() {}
template <class T>
inline T __ldg(const T* at) {
  return *at;
}

namespace hostcuda {
// No thread is preempted inside of an atomic operation, but any may be just before it.
struct Whole {
  bool before;
  Whole(void* at, size_t bytes) {
    access(at, bytes, true, true);
    before = std::exchange(block.in_body, false);
    asm volatile("" ::: "memory");  // the compiler must not read *at before other threads ran
  }
  ~Whole() {
    asm volatile("" ::: "memory");
    block.in_body = before;
  }
};
}  // namespace hostcuda

// Only one thread runs at a time: an atomic operation is a plain one.
#define HOSTCUDA_ATOMIC(name, value)        \
  template <class T>                        \
  inline T atomic##name(T* at, T operand) { \
    hostcuda::Whole whole(at, sizeof(T));   \
    const T old = *at;                      \
    *at = value;                            \
    return old;                             \
  }
HOSTCUDA_ATOMIC(Add, old + operand)
HOSTCUDA_ATOMIC(Sub, old - operand)
HOSTCUDA_ATOMIC(Exch, operand)
HOSTCUDA_ATOMIC(Min, old < operand ? old : operand)
HOSTCUDA_ATOMIC(Max, old < operand ? operand : old)
HOSTCUDA_ATOMIC(And, old& operand)
HOSTCUDA_ATOMIC(Or, old | operand)
HOSTCUDA_ATOMIC(Xor, old ^ operand)
#undef HOSTCUDA_ATOMIC
template <class T>
inline T atomicCAS(T* at, T expected, T wanted) {
  hostcuda::Whole whole(at, sizeof(T));
  const T old = *at;
  if (old == expected) *at = wanted;
  return old;
}

// What the driver finds in a compiled kernel: how many arguments, how large each, and how to run it.
struct HostKernel {
  size_t count;
  const size_t* sizes;
  void (*start)(void** arguments, const unsigned* grid, const unsigned* threads, unsigned order, HostWatch* watch);
};
#define HOSTCUDA_KERNEL(...)                                                         \
  extern "C" __attribute__((visibility("default")))                                  \
  const HostKernel hostcuda_kernel = {hostcuda::Call<decltype(&__VA_ARGS__)>::count, \
                                      hostcuda::Call<decltype(&__VA_ARGS__)>::sizes, hostcuda::start<&__VA_ARGS__>};
