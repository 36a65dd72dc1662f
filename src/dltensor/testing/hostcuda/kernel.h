// SPDX-License-Identifier: Apache-2.0
// The interface of a compiled kernel and the driver. Kernels include it by simt.h; its functions are defined in simt.cc,
// which is a part of the driver.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HOSTCUDA_SHARED __attribute__((visibility("default")))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
// Indices of the thread that runs: only one runs at a time.
extern HOSTCUDA_SHARED uint3 threadIdx, blockIdx;
extern HOSTCUDA_SHARED dim3 blockDim, gridDim;

// Observations of a launch that is watched.
struct HostWatch {
  unsigned seed;  // of the order in which threads run
  bool (*on_device)(uintptr_t address);
  int64_t bytes[2];  // read, written
  int64_t sectors[2];  // of 32 bytes, each once for a warp that touches it
};

// The symbols that the driver finds in a compiled kernel: how many arguments, how large each, and how to call it.
struct HostKernel {
  size_t count;
  const size_t* sizes;
  void (*body)(void** arguments);
};

namespace hostcuda {

// Runs all blocks. `order` 0: forwards, 1: backwards, otherwise blocks in random order, threads backwards if it is odd.
HOSTCUDA_SHARED void launch(const HostKernel& kernel, void** arguments, dim3 grid, dim3 threads, unsigned order,
                            HostWatch* watch);

// Functions for kernels.
[[noreturn]] HOSTCUDA_SHARED void fail(const char* what);
HOSTCUDA_SHARED void park();   // at the barrier of the block
HOSTCUDA_SHARED void fence();  // makes the stores of this thread visible to all blocks
// Waits until all lanes of the mask are at the same intrinsic, and returns the argument of each.
HOSTCUDA_SHARED const uint64_t* meet(const char* operation, unsigned mask, uint64_t argument);
// Called before each access of a thread to memory.
HOSTCUDA_SHARED void access(const void* at, size_t bytes, bool write);
// The same for a volatile access: all blocks see its store, but not what was stored before it.
HOSTCUDA_SHARED void access_at_once(const void* at, size_t bytes, bool write);
// Called before and after an atomic operation; the second takes the result of the first.
HOSTCUDA_SHARED bool begin_atomic(void* at, size_t bytes);
HOSTCUDA_SHARED void end_atomic(bool before);

inline unsigned thread_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
inline unsigned lane() { return thread_number() % 32; }

}  // namespace hostcuda
