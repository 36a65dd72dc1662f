// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernel source on the host, one block at a time. The threads of a block are plain calls; only a thread that
// reaches __syncthreads() is parked, on a stack of its own. Threads run forwards or backwards, and blocks in an order by
// chance too, so that a kernel that depends on an order fails. Atomic operations are plain ones. Not covered: warp intrinsics, dynamic shared memory.
//
// The host driver holds its lock while a kernel runs, hence plain globals.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
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
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace hostcuda {

constexpr size_t stack_bytes = 192 << 10;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  uint3 thread;
  bool idle = true;
  void* fake_stack = nullptr;
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
  std::vector<Fiber*> parked;
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

// A fiber takes threads until none is left; one that parks blocks only itself.
inline void work() {
  arrived(nullptr, &block.scheduler_stack, &block.scheduler_stack_bytes);
  for (;;) {
    Fiber* self = block.running;
    while (block.next < block.count) {
      const unsigned turn = block.next++;
      const unsigned t = block.backwards ? block.count - 1 - turn : turn;
      threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
      block.body(block.arguments);
    }
    self->idle = true;
    to_scheduler(self);
  }
}

inline void park() {
  Fiber* self = block.running;
  self->thread = threadIdx;
  block.parked.push_back(self);
  to_scheduler(self);
  threadIdx = self->thread;
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
  while (block.next < block.count) {
    Fiber* fiber = idle_fiber();
    fiber->idle = false;
    to_fiber(fiber);
  }
  while (!block.parked.empty()) {  // every live thread waits at the barrier: release them all, in order
    std::vector<Fiber*> released;
    released.swap(block.parked);
    for (Fiber* fiber : released) to_fiber(fiber);
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
inline void launch(void (*body)(void**), void** arguments, dim3 grid, dim3 threads, unsigned order) {
  const bool backwards = order & 1;
  block.body = body;
  block.arguments = arguments;
  block.count = threads.x * threads.y * threads.z;
  block.backwards = backwards;
  gridDim = grid;
  blockDim = threads;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  const size_t step = order > 1 ? step_of(blocks, order) : 1;
  for (size_t turn = 0, at = 0; turn < blocks; ++turn, at = (at + step) % blocks) {
    const size_t b = backwards ? blocks - 1 - at : at;
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / (size_t{grid.x} * grid.y))};
    run_block();
  }
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
void start(void** arguments, const unsigned* grid, const unsigned* threads, unsigned order) {
  launch(Call<decltype(kernel)>::template call<kernel>, arguments, dim3{grid[0], grid[1], grid[2]},
         dim3{threads[0], threads[1], threads[2]}, order);
}

}  // namespace hostcuda

inline void __syncthreads() { hostcuda::park(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
template <class T>
inline T __ldg(const T* at) {
  return *at;
}

// Blocks and threads run one after the other: an atomic operation is a plain one.
#define HOSTCUDA_ATOMIC(name, value)        \
  template <class T>                        \
  inline T atomic##name(T* at, T operand) { \
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
  const T old = *at;
  if (old == expected) *at = wanted;
  return old;
}

// What the driver finds in a compiled kernel: how many arguments, how large each, and how to run it.
struct HostKernel {
  size_t count;
  const size_t* sizes;
  void (*start)(void** arguments, const unsigned* grid, const unsigned* threads, unsigned order);
};
#define HOSTCUDA_KERNEL(...)                                                         \
  extern "C" __attribute__((visibility("default")))                                  \
  const HostKernel hostcuda_kernel = {hostcuda::Call<decltype(&__VA_ARGS__)>::count, \
                                      hostcuda::Call<decltype(&__VA_ARGS__)>::sizes, hostcuda::start<&__VA_ARGS__>};
