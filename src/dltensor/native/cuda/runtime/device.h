// SPDX-License-Identifier: Apache-2.0
// Devices: their numbers, their primary contexts, and the rule that the caller's current context stays as it was.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "native/cuda/runtime/driver.h"

namespace dlt::cuda {

inline constexpr int max_devices = 64;

// Row: name for Python, what it means in the driver. All are read once, when the device is first used.
// clang-format off
#define DLT_CUDA_PROPERTIES(X)                                       \
  X(major, kComputeCapabilityMajor)                                  \
  X(minor, kComputeCapabilityMinor)                                  \
  X(multiprocessor_count, kMultiprocessorCount)                      \
  X(max_threads_per_block, kMaxThreadsPerBlock)                      \
  X(max_threads_per_multiprocessor, kMaxThreadsPerMultiprocessor)    \
  X(max_block_dim_x, kMaxBlockDimX)                                  \
  X(max_block_dim_y, kMaxBlockDimY)                                  \
  X(max_block_dim_z, kMaxBlockDimZ)                                  \
  X(max_grid_dim_x, kMaxGridDimX)                                    \
  X(max_grid_dim_y, kMaxGridDimY)                                    \
  X(max_grid_dim_z, kMaxGridDimZ)                                    \
  X(warp_size, kWarpSize)                                            \
  X(registers_per_block, kRegistersPerBlock)                         \
  X(registers_per_multiprocessor, kRegistersPerMultiprocessor)       \
  X(shared_memory_per_block, kSharedMemoryPerBlock)                  \
  X(shared_memory_per_multiprocessor, kSharedMemoryPerMultiprocessor) \
  X(total_constant_memory, kTotalConstantMemory)                     \
  X(l2_cache_size, kL2CacheSize)                                     \
  X(managed_memory, kManagedMemory)                                  \
  X(concurrent_managed_access, kConcurrentManagedAccess)             \
  X(memory_pools_supported, kMemoryPoolsSupported)                   \
  X(stream_priorities_supported, kStreamPrioritiesSupported)
// clang-format on

struct Properties {
#define DLT_CUDA_PROPERTY(name, attribute) int name = 0;
  DLT_CUDA_PROPERTIES(DLT_CUDA_PROPERTY)
#undef DLT_CUDA_PROPERTY
  char name[256] = {};
  char pci_bus_id[32] = {};
  size_t total_memory = 0;
  int least_priority = 0, greatest_priority = 0;
};

// Made at the first use of the device and never freed. `context` is the primary one, which all libraries share.
struct Device {
  int ordinal = 0;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  unsigned long long context_id = 0;  // 0: not known. A context that was reset has another one
  CUmemoryPool pool = nullptr;  // our own pool; null where pools are not supported
  Properties properties;
  std::atomic<uint64_t*> late_index{nullptr};  // of index_checks.h
  std::atomic<int64_t> shared_bytes{0};                // mapped memory that processes share
  std::mutex peak_mutex;
  int64_t peak_bytes = 0;        // the most that was live at once, of all streams
  std::mutex mutex;              // of what follows
  std::vector<CUevent> events;   // idle, without timing
  bool peers[max_devices] = {};  // whose memory kernels of this device may use
};

// Bytes that each stream may keep idle, and that pools may keep from the system. Without limit unless set.
extern std::atomic<size_t> cache_limit;

// The number of devices: 0 where there is no driver. Fails where a driver is installed that does not start.
DLT_API Status device_count(int* count) noexcept;

// ValueError when there is no device of that number.
Status device_slow(int ordinal, Device** out) noexcept;
extern std::atomic<Device*> devices[max_devices];
inline Status device_of(int ordinal, Device** out) noexcept {
  if (ordinal >= 0 && ordinal < max_devices)
    if (Device* known = devices[ordinal].load(std::memory_order_acquire)) return *out = known, success;
  return device_slow(ordinal, out);
}
DLT_API Status device_properties(int ordinal, const Properties** out) noexcept;

// CUDA cores of one multiprocessor. For an architecture newer than the table: that of the newest known.
DLT_API int cores_per_multiprocessor(int major, int minor) noexcept;

// Makes the device's context current for a scope, at the cost of one query when it is current already.
class Current {
 public:
  explicit Current(const Device& device) noexcept {
    CUcontext now = nullptr;
    driver.cuCtxGetCurrent(&now);
    if (now != device.context) pushed_ = driver.cuCtxPushCurrent_v2(device.context) == kSuccess;
  }
  ~Current() {
    if (pushed_) driver.cuCtxPopCurrent_v2(nullptr);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  bool pushed_ = false;
};

// While any thread captures a graph, the driver by default rejects queries, waits and allocations on every thread that
// might affect the capture, and invalidates the capture. Within this scope calls are declared unrelated to the capture.
class Beside {
 public:
  Beside() noexcept : changed_(driver.cuThreadExchangeStreamCaptureMode(&mode_) == kSuccess) {}
  ~Beside() {
    if (changed_) driver.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  int mode_ = kCaptureModeRelaxed;
  bool changed_;
};

// An idle event of the device and back. An event may be given back as soon as it will not be queried again: waits that
// are enqueued stay valid.
Status take_event(Device& device, CUevent* event) noexcept;
void give_event(Device& device, CUevent event) noexcept;

// Waits for all work of the device. Refused while one of its streams that we know is being captured: to wait for a whole
// context would spoil the capture.
DLT_API Status synchronize_device(int ordinal) noexcept;
// Returns whether an earlier kernel has failed, or another library has reset the context: nothing works on the device any more.
bool is_lost(Device& device) noexcept;
// Returns whether another library has reset the primary context of a device that was used here.
bool any_reset() noexcept;
DLT_API Status memory_info(int ordinal, size_t* free, size_t* total) noexcept;

// Enables peer access from kernels of `device` to memory of `peer`, once. `*can` is whether it is possible.
Status reach_peer(Device& device, Device& peer, bool* can) noexcept;

}  // namespace dlt::cuda
