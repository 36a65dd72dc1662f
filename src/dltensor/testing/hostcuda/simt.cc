// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernels on the host. The threads of a block are plain calls; only a thread that has to wait for others, or is
// preempted, is parked on a stack of its own. Threads run forwards or backwards, and blocks one after the other, in an order by
// chance too, so that a kernel that depends on an order fails. Warp intrinsics check their masks. Atomic operations are plain
// ones. Not covered: dynamic shared memory.
//
// In a launch that is watched, threads are preempted between any two accesses, in an order by chance, so that a missing
// barrier gives wrong data; several blocks are resident and take turns, each with its shared memory, so that one may wait for
// another; stores reach other blocks at a fence, or late; and the 32-byte sectors that each warp touches are counted.
//
// The driver holds its lock while a kernel runs, hence plain globals.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <link.h>
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

// One block that is resident.
struct Block {
  uint3 index{};
  unsigned next = 0;  // thread that starts next
  std::vector<Fiber*> parked;  // at the barrier of the block
  std::vector<Fiber*> runnable;  // preempted, or polling
  std::vector<unsigned> turns;  // the order in which threads start, when it is by chance
  std::vector<std::unique_ptr<Meeting>> meetings;
  uint64_t polls = 0;  // since a thread made progress
  std::vector<std::set<uintptr_t>> sectors[2];  // of each warp
  std::vector<Store> stores;  // that no fence followed, in order
  std::vector<char> shared;  // its shared memory, while another block has a turn
};

// One launch. What a block has of its own is in `block`, that of the block whose turn it is.
struct Launch {
  void (*body)(void**) = nullptr;
  void** arguments = nullptr;
  unsigned threads = 0;  // of a block
  bool backwards = false;
  Context scheduler;
  Fiber* running = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  HostWatch* watch = nullptr;
  uint64_t chance = 0;
  unsigned quantum = 0;  // accesses until the next preemption
  bool in_body = false;  // a thread's own code runs
  std::vector<std::vector<Store>> late;  // of blocks that have ended
  uint64_t idle_turns = 0;  // of blocks, since one of them did more than wait
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
};
Launch launched;
Block* block = nullptr;
constexpr unsigned most_resident = 4;
constexpr uint64_t most_idle_turns = 1 << 18;

// AddressSanitizer, where the process runs under it, must be notified when the stack changes.
void leave_for(void** fake, const void* stack, size_t bytes) {
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(fake, stack, bytes);
}
void arrived(void* fake, const void** stack, size_t* bytes) {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake, stack, bytes);
}

void to_scheduler(Fiber* fiber) {
  leave_for(&fiber->fake_stack, launched.scheduler_stack, launched.scheduler_stack_bytes);
  fiber->context.switch_to(launched.scheduler);
  arrived(fiber->fake_stack, &launched.scheduler_stack, &launched.scheduler_stack_bytes);
}

void to_fiber(Fiber* fiber) {
  launched.running = fiber;
  leave_for(&launched.fake_stack, fiber->stack.get(), stack_bytes);
  launched.scheduler.switch_to(fiber->context);
  arrived(launched.fake_stack, nullptr, nullptr);
}

unsigned random_below(unsigned count) {  // xorshift64*
  launched.chance ^= launched.chance >> 12, launched.chance ^= launched.chance << 25, launched.chance ^= launched.chance >> 27;
  return static_cast<unsigned>((launched.chance * 2685821657736338717u) >> 33) % count;
}

// A fiber runs threads until none is left; one that parks blocks only itself.
void work() {
  arrived(nullptr, &launched.scheduler_stack, &launched.scheduler_stack_bytes);
  for (;;) {
    Fiber* self = launched.running;
    while (block->next < launched.threads) {
      const unsigned turn = block->next++;
      const unsigned t = !block->turns.empty() ? block->turns[turn] : launched.backwards ? launched.threads - 1 - turn : turn;
      threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
      block->polls = 0;
      launched.in_body = true;
      launched.body(launched.arguments);
      launched.in_body = false;
      block->polls = 0;
      if (launched.watch) break;  // the scheduler chooses the next thread
    }
    self->idle = true;
    to_scheduler(self);
  }
}

void wait_in(std::vector<Fiber*>& waiting) {
  Fiber* self = launched.running;
  const bool in_body = std::exchange(launched.in_body, false);
  self->thread = threadIdx;
  waiting.push_back(self);
  to_scheduler(self);
  threadIdx = self->thread;
  launched.in_body = in_body;
}

// Lets other threads run. A thread that waits in a loop without end is reported.
void poll() {
  if (++block->polls > uint64_t{64} * (launched.threads + 1))
    fail("a warp intrinsic waits for lanes of its mask that have ended, or are at __syncthreads()");
  wait_in(block->runnable);
}

void preempt() {
  launched.quantum = 1 + random_below(random_below(4) ? 4 : 200);
  wait_in(block->runnable);
}

// Undo the stores of the block that no fence followed, newest first; or perform them again.
void exchange_stores(bool again) {
  const size_t count = block->stores.size();
  for (size_t k = 0; k < count; ++k) {
    Store& store = block->stores[again ? k : count - 1 - k];
    for (char& byte : store.value) std::swap(byte, store.at[&byte - store.value.data()]);
  }
}
// Perform some of these stores at random, or all.
void late_stores(bool all) {
  std::erase_if(launched.late, [&](const std::vector<Store>& stores) {
    if (!all && random_below(4)) return false;
    for (const Store& store : stores) memcpy(store.at, store.value.data(), store.value.size());
    return true;
  });
}

Fiber* idle_fiber() {
  for (auto& fiber : launched.fibers)
    if (fiber->idle) return fiber.get();
  launched.fibers.push_back(std::make_unique<Fiber>());
  Fiber* fiber = launched.fibers.back().get();
  fiber->context.start(fiber->stack.get(), stack_bytes, work);
  return fiber;
}

// Lets threads of the block run, at most so many times. Returns whether it has ended.
bool run_block(uint64_t steps) {
  for (; steps > 0; --steps) {
    const auto ready = static_cast<unsigned>(block->runnable.size());
    if (block->next < launched.threads && (!launched.watch || !ready || random_below(4))) {
      Fiber* fiber = idle_fiber();
      fiber->idle = false;
      to_fiber(fiber);
    } else if (ready) {
      const unsigned chosen = launched.watch ? random_below(ready) : 0;
      Fiber* fiber = block->runnable[chosen];
      block->runnable.erase(block->runnable.begin() + chosen);
      to_fiber(fiber);
    } else if (!block->parked.empty()) {  // every live thread waits at the barrier: release them all, in order
      block->runnable.swap(block->parked);
      for (Store& store : block->stores) store.synced = true;
    } else {
      return true;
    }
  }
  return false;
}

Block begin_block(uint3 index) {
  Block begun;
  begun.index = index;
  if (!launched.watch) return begun;
  for (auto& sectors : begun.sectors) sectors.assign((launched.threads + 31) / 32, {});
  begun.turns.resize(launched.threads);
  for (unsigned t = 0; t < launched.threads; ++t) {
    const unsigned other = random_below(t + 1);
    begun.turns[t] = begun.turns[other];
    begun.turns[other] = t;
  }
  return begun;
}

// Memory that a kernel has by itself, which is the shared memory of a block: it is compiled alone, and has nothing else to write
// to.
std::pair<char*, char*> own_memory(const void* function) {
  struct Search {
    uintptr_t function;
    char *begin, *end;
  } search{reinterpret_cast<uintptr_t>(function), nullptr, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto* const wanted = static_cast<Search*>(data);
        uintptr_t begin = 0, end = 0, constants = 0;
        bool found = false;
        for (int k = 0; k < object->dlpi_phnum; ++k) {
          const auto& part = object->dlpi_phdr[k];
          const uintptr_t first = object->dlpi_addr + part.p_vaddr, past = first + part.p_memsz;
          if (part.p_type == PT_LOAD && first <= wanted->function && wanted->function < past) found = true;
          if (part.p_type == PT_LOAD && part.p_flags & PF_W) begin = first, end = past;
          if (part.p_type == PT_GNU_RELRO) constants = past;
        }
        if (!found) return 0;
        wanted->begin = reinterpret_cast<char*>(constants > begin && constants < end ? constants : begin);
        wanted->end = reinterpret_cast<char*>(end);
        return 1;
      },
      &search);
  return {search.begin, search.end};
}

// Blocks in their order, each to its end.
template <class F>
void run_alone(size_t blocks, F index_of) {
  for (size_t turn = 0; turn < blocks; ++turn) {
    Block alone = begin_block(index_of(turn));
    block = &alone;
    blockIdx = alone.index;
    run_block(~uint64_t{0});
  }
}

// Several blocks at a time, which begin in their order and take turns by chance.
template <class F>
void run_together(size_t blocks, F index_of) {
  const auto [begin, end] = own_memory(reinterpret_cast<const void*>(launched.body));
  std::vector<std::unique_ptr<Block>> resident;
  for (size_t turn = 0; turn < blocks || !resident.empty();) {
    if (turn < blocks && (resident.empty() || (resident.size() < most_resident && random_below(2))))
      resident.push_back(std::make_unique<Block>(begin_block(index_of(turn++))));
    const unsigned chosen = random_below(static_cast<unsigned>(resident.size()));
    if (random_below(16) == 0) late_stores(false);
    block = resident[chosen].get();
    blockIdx = block->index;
    if (!block->shared.empty()) memcpy(begin, block->shared.data(), block->shared.size());
    exchange_stores(true);
    if (++launched.idle_turns > most_idle_turns) fail("blocks wait, and none of them goes on");
    const bool ended = run_block(random_below(2) ? 1 + random_below(64) : 1);
    exchange_stores(false);
    if (!ended) {
      block->shared.assign(begin, end);
      continue;
    }
    if (!block->stores.empty()) launched.late.push_back(std::move(block->stores));
    resident.erase(resident.begin() + chosen);
  }
  late_stores(true);
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

// `visible`: a store that all blocks see at once.
void observe(const void* at, size_t bytes, bool write, bool visible) {
  if (!launched.in_body || !launched.watch) return;
  launched.in_body = false;
  const auto address = reinterpret_cast<uintptr_t>(at);
  const bool on_device = launched.watch->on_device(address);
  if (on_device) {
    const unsigned t = thread_number();
    launched.watch->bytes[write] += static_cast<int64_t>(bytes);
    for (uintptr_t sector = address / 32; sector <= (address + bytes - 1) / 32; ++sector)
      launched.watch->sectors[write] += block->sectors[write][t / 32].insert(sector).second;
  }
  block->polls = 0;
  if (launched.quantum-- == 0) preempt();
  if (on_device && write) {
    char* const to = reinterpret_cast<char*>(address);
    launched.idle_turns = 0;
    if (!visible) block->stores.push_back({to, thread_number(), false, {to, to + bytes}});
    else std::erase_if(block->stores, [&](const Store& s) { return s.at < to + bytes && to < s.at + s.value.size(); });
  }
  launched.in_body = true;
}

}  // namespace

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "hostcuda: kernel aborted in block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y,
          blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
  abort();
}

void park() {
  block->polls = 0;
  wait_in(block->parked);
}

void fence() {
  std::erase_if(block->stores, [](const Store& store) { return store.synced || store.thread == thread_number(); });
}

void access(const void* at, size_t bytes, bool write) { observe(at, bytes, write, false); }
void access_at_once(const void* at, size_t bytes, bool write) { observe(at, bytes, write, true); }
bool begin_atomic(void* at, size_t bytes) {
  observe(at, bytes, true, true);
  return std::exchange(launched.in_body, false);
}
void end_atomic(bool before) { launched.in_body = before; }

const uint64_t* meet(const char* operation, unsigned mask, uint64_t argument) {
  const unsigned thread = thread_number(), bit = 1u << thread % 32;
  launched.in_body = false;
  if (!(mask & bit)) fail("the mask of a warp intrinsic leaves out the lane that calls it");
  const unsigned lanes = launched.threads - thread / 32 * 32;
  if (lanes < 32 && mask >> lanes) fail("the mask of a warp intrinsic names lanes that the block does not have");
  Meeting* at = nullptr;
  for (auto& meeting : block->meetings)
    if (meeting->warp == thread / 32 && meeting->mask == mask) at = meeting.get();
  if (!at) {
    for (auto& meeting : block->meetings)
      if (meeting->warp == thread / 32 && meeting->arrived & mask) fail("lanes of a warp meet with different masks");
    block->meetings.push_back(std::make_unique<Meeting>(Meeting{thread / 32, mask, operation}));
    at = block->meetings.back().get();
  }
  if (!at->arrived) at->operation = operation;
  if (strcmp(at->operation, operation)) fail("lanes of one mask are at different warp intrinsics");
  at->arguments[thread % 32] = argument;
  at->arrived |= bit;
  if (at->arrived == mask) {
    memcpy(at->values, at->arguments, sizeof at->values);
    at->arrived = 0;
    ++at->generation;
    block->polls = 0;
  } else {
    for (const uint64_t generation = at->generation; at->generation == generation;) poll();
  }
  launched.in_body = true;
  return at->values;
}

void launch(const HostKernel& kernel, void** arguments, dim3 grid, dim3 threads, unsigned order, HostWatch* watch) {
  const bool backwards = order & 1;
  launched.body = kernel.body;
  launched.arguments = arguments;
  launched.threads = threads.x * threads.y * threads.z;
  launched.backwards = backwards;
  launched.watch = watch;
  // A kernel that a fault ended may have left them.
  std::erase_if(launched.fibers, [](const auto& fiber) { return !fiber->idle; });
  launched.in_body = false;
  launched.late.clear();
  launched.idle_turns = 0;
  launched.chance = watch ? 0x9e3779b97f4a7c15u * (2 * uint64_t{watch->seed} + 1) : 1;
  gridDim = grid;
  blockDim = threads;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  const size_t step = order > 1 ? step_of(blocks, order) : 1;
  const auto index_of = [&](size_t turn) -> uint3 {
    const size_t at = turn * step % blocks, b = backwards ? blocks - 1 - at : at;
    return {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
            static_cast<unsigned>(b / (size_t{grid.x} * grid.y))};
  };
  if (watch) run_together(blocks, index_of);
  else run_alone(blocks, index_of);
}

}  // namespace hostcuda
