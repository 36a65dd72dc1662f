// SPDX-License-Identifier: Apache-2.0
// CUDA's keywords and intrinsics for kernels that the host's compiler compiles. They are implemented in simt.cc, a part of the
// driver: kernels are compiled one by one, so little is compiled with each.
//
// With HOSTCUDA_WATCH the compiler calls a function here before each access to memory (the instrumentation that
// ThreadSanitizer uses, without its library).
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "kernel.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __restrict__ __restrict

namespace hostcuda {

template <class F>
struct Call;
template <class... A>
struct Call<void (*)(A...)> {
  static constexpr size_t count = sizeof...(A);
  static constexpr size_t sizes[count ? count : 1] = {sizeof(A)...};
  template <void (*kernel)(A...), size_t... I>
  static void unpack(void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<A*>(arguments[I])...);
  }
  template <void (*kernel)(A...)>
  static void call(void** arguments) {
    unpack<kernel>(arguments, std::index_sequence_for<A...>());
  }
};

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

inline void __syncthreads() { hostcuda::park(); }
#define warpSize 32

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
// Functions that the compiler calls, in place of the library of ThreadSanitizer.
#define HOSTCUDA_HOOK extern "C" __attribute__((visibility("hidden"), used, no_sanitize("thread"))) inline
HOSTCUDA_HOOK void __tsan_init() {}
#define HOSTCUDA_ACCESS(bytes)                                                                             \
  HOSTCUDA_HOOK void __tsan_read##bytes(void* at) { hostcuda::access(at, bytes, false); }                  \
  HOSTCUDA_HOOK void __tsan_write##bytes(void* at) { hostcuda::access(at, bytes, true); }                  \
  HOSTCUDA_HOOK void __tsan_unaligned_read##bytes(void* at) { hostcuda::access(at, bytes, false); }        \
  HOSTCUDA_HOOK void __tsan_unaligned_write##bytes(void* at) { hostcuda::access(at, bytes, true); }        \
  HOSTCUDA_HOOK void __tsan_volatile_read##bytes(void* at) { hostcuda::access_at_once(at, bytes, false); } \
  HOSTCUDA_HOOK void __tsan_volatile_write##bytes(void* at) { hostcuda::access_at_once(at, bytes, true); }
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
// No thread is preempted inside an atomic operation, but any may be just before it.
struct Whole {
  bool before;
  Whole(void* at, size_t bytes) : before(begin_atomic(at, bytes)) {
    asm volatile("" ::: "memory");  // the compiler must not read *at before other threads ran
  }
  ~Whole() {
    asm volatile("" ::: "memory");
    end_atomic(before);
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

#define HOSTCUDA_KERNEL(...)                                                                                    \
  extern "C" HOSTCUDA_SHARED const HostKernel hostcuda_kernel = {hostcuda::Call<decltype(&__VA_ARGS__)>::count, \
                                                                 hostcuda::Call<decltype(&__VA_ARGS__)>::sizes, \
                                                                 hostcuda::Call<decltype(&__VA_ARGS__)>::call<&__VA_ARGS__>};
