// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernels on the host, one block at a time. The threads of a block are plain calls; only a thread that
// has to wait for others, or is preempted, is parked on a stack of its own. Threads run forwards or backwards, and blocks
// in an order by chance too, so that a kernel that depends on an order fails. Warp intrinsics check their masks.
// Stores of a block reach others at a fence, or late. Atomic operations are plain ones. Not covered: dynamic shared memory,
// blocks that run at the same time.
//
// In a launch that is watched, threads are preempted between any two accesses, in an order by chance, so that a missing
// barrier gives wrong data; and the 32-byte sectors that each warp touches are counted.
//
// The driver holds its lock while a kernel runs, hence plain globals.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "kernel.h"

extern "C" __attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake, const void* stack, size_t bytes);
extern "C" __attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake, const void** stack, size_t* bytes);

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace hostcuda {
namespace {

constexpr size_t stack_bytes = 192 << 10;

// A suspended stack of calls. swapcontext() makes two system calls for the signal mask, which took more than half of the time
// of a kernel with barriers; all stacks have the same mask here.
#if defined(__x86_64__)
extern "C" void hostcuda_switch(void** from, void* to);
asm(R"(
  .text
  .p2align 4
  .hidden hostcuda_switch
  .globl hostcuda_switch
  .type hostcuda_switch, @function
hostcuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size hostcuda_switch, .-hostcuda_switch
)");
struct Context {
  void* at = nullptr;
  void start(char* stack, size_t bytes, void (*work)()) {
    auto** const top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15});
    top[-1] = nullptr;  // work() does not return
    top[-2] = reinterpret_cast<void*>(work);  // six registers below
    for (int k = 3; k <= 8; ++k) top[-k] = nullptr;
    at = top - 8;
  }
  void switch_to(Context& other) { hostcuda_switch(&at, other.at); }
};
#else
struct Context {
  ucontext_t saved;
  void start(char* stack, size_t bytes, void (*work)()) {
    getcontext(&saved);
    saved.uc_stack.ss_sp = stack;
    saved.uc_stack.ss_size = bytes;
    saved.uc_link = nullptr;
    makecontext(&saved, work, 0);
  }
  void switch_to(Context& other) { swapcontext(&saved, &other.saved); }
};
#endif

// Lanes of a warp that exchange values.
struct Meeting {
  unsigned warp, mask;
  const char* operation;
  unsigned arrived = 0;
  uint64_t generation = 0;
  uint64_t arguments[32] = {}, values[32] = {};
};

struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  uint3 thread;
  bool idle = true;
  void* fake_stack = nullptr;
};

// A store to device memory that other blocks cannot see yet: no fence of its thread followed it.
struct Store {
  char* at;
  unsigned thread;
  bool synced;  // before a barrier of the block: a fence of any thread of it applies too
  std::vector<char> value;  // of the memory before the store; after the end of the block, what was stored
};

// One block that is being run.
struct Block {
  void (*body)(void**) = nullptr;
  void** arguments = nullptr;
  unsigned next = 0, count = 0;
  bool backwards = false;
  Context scheduler;
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
  uint64_t polls = 0;  // since a thread made progress
  std::vector<std::set<uintptr_t>> sectors[2];  // of each warp
  std::vector<Store> stores;  // of this block, in order
  std::vector<std::vector<Store>> late;  // of blocks that have ended
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
};
Block block;

// AddressSanitizer, where the process runs under it, must be notified when the stack changes.
void leave_for(void** fake, const void* stack, size_t bytes) {
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(fake, stack, bytes);
}
void arrived(void* fake, const void** stack, size_t* bytes) {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake, stack, bytes);
}

void to_scheduler(Fiber* fiber) {
  leave_for(&fiber->fake_stack, block.scheduler_stack, block.scheduler_stack_bytes);
  fiber->context.switch_to(block.scheduler);
  arrived(fiber->fake_stack, &block.scheduler_stack, &block.scheduler_stack_bytes);
}

void to_fiber(Fiber* fiber) {
  block.running = fiber;
  leave_for(&block.fake_stack, fiber->stack.get(), stack_bytes);
  block.scheduler.switch_to(fiber->context);
  arrived(block.fake_stack, nullptr, nullptr);
}

unsigned random_below(unsigned count) {  // xorshift64*
  block.chance ^= block.chance >> 12, block.chance ^= block.chance << 25, block.chance ^= block.chance >> 27;
  return static_cast<unsigned>((block.chance * 2685821657736338717u) >> 33) % count;
}

// A fiber runs threads until none is left; one that parks blocks only itself.
void work() {
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
      if (block.watch) break;  // the scheduler chooses the next thread
    }
    self->idle = true;
    to_scheduler(self);
  }
}

void wait_in(std::vector<Fiber*>& waiting) {
  Fiber* self = block.running;
  const bool in_body = std::exchange(block.in_body, false);
  self->thread = threadIdx;
  waiting.push_back(self);
  to_scheduler(self);
  threadIdx = self->thread;
  block.in_body = in_body;
}

// Lets other threads run. A thread that waits in a loop without end is reported.
void poll() {
  if (++block.polls > uint64_t{64} * (block.count + 1))
    fail("a warp intrinsic waits for lanes of its mask that have ended, or are at __syncthreads()");
  wait_in(block.runnable);
}

void preempt() {
  block.quantum = 1 + random_below(random_below(4) ? 4 : 200);
  wait_in(block.runnable);
}

// Undo the stores of a block that has ended, newest first, until late_stores() performs them.
void take_back_stores() {
  for (size_t k = block.stores.size(); k-- > 0;) {
    Store& store = block.stores[k];
    std::vector<char> stored(store.at, store.at + store.value.size());
    memcpy(store.at, store.value.data(), store.value.size());
    store.value.swap(stored);
  }
  if (!block.stores.empty()) block.late.push_back(std::move(block.stores));
  block.stores.clear();
}
// Perform some of these stores at random, or all.
void late_stores(bool all) {
  std::erase_if(block.late, [&](const std::vector<Store>& stores) {
    if (!all && random_below(4)) return false;
    for (const Store& store : stores) memcpy(store.at, store.value.data(), store.value.size());
    return true;
  });
}

Fiber* idle_fiber() {
  for (auto& fiber : block.fibers)
    if (fiber->idle) return fiber.get();
  block.fibers.push_back(std::make_unique<Fiber>());
  Fiber* fiber = block.fibers.back().get();
  fiber->context.start(fiber->stack.get(), stack_bytes, work);
  return fiber;
}

void run_block() {
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
      const unsigned chosen = block.watch ? random_below(ready) : 0;
      Fiber* fiber = block.runnable[chosen];
      block.runnable.erase(block.runnable.begin() + chosen);
      to_fiber(fiber);
    } else if (!block.parked.empty()) {  // every live thread waits at the barrier: release them all, in order
      block.runnable.swap(block.parked);
      for (Store& store : block.stores) store.synced = true;
    } else {
      return;
    }
  }
}

// A number coprime to `count`: its multiples modulo `count` are every number below once.
size_t step_of(size_t count, unsigned chance) {
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

void observe(const void* at, size_t bytes, bool write, bool atomic) {
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
    // An atomic operation is visible to all blocks, after earlier stores at its address.
    else std::erase_if(block.stores, [&](const Store& s) { return s.at < to + bytes && to < s.at + s.value.size(); });
  }
  block.in_body = true;
}

}  // namespace

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "hostcuda: kernel aborted in block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y,
          blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
  abort();
}

void park() {
  block.polls = 0;
  wait_in(block.parked);
}

void fence() {
  std::erase_if(block.stores, [](const Store& store) { return store.synced || store.thread == thread_number(); });
}

void access(const void* at, size_t bytes, bool write) { observe(at, bytes, write, false); }
bool begin_atomic(void* at, size_t bytes) {
  observe(at, bytes, true, true);
  return std::exchange(block.in_body, false);
}
void end_atomic(bool before) { block.in_body = before; }

const uint64_t* meet(const char* operation, unsigned mask, uint64_t argument) {
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
  at->arguments[thread % 32] = argument;
  at->arrived |= bit;
  if (at->arrived == mask) {
    memcpy(at->values, at->arguments, sizeof at->values);
    at->arrived = 0;
    ++at->generation;
    block.polls = 0;
  } else {
    for (const uint64_t generation = at->generation; at->generation == generation;) poll();
  }
  block.in_body = true;
  return at->values;
}

void launch(const HostKernel& kernel, void** arguments, dim3 grid, dim3 threads, unsigned order, HostWatch* watch) {
  const bool backwards = order & 1;
  block.body = kernel.body;
  block.arguments = arguments;
  block.count = threads.x * threads.y * threads.z;
  block.backwards = backwards;
  block.watch = watch;
  // A kernel that a fault ended may have left them.
  std::erase_if(block.fibers, [](const auto& fiber) { return !fiber->idle; });
  block.runnable.clear();
  block.in_body = false;
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

}  // namespace hostcuda
