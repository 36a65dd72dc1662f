// SPDX-License-Identifier: Apache-2.0
// Devices at their first use: context, pool, properties.
#include "native/cuda/runtime/device.h"

#include <new>

namespace dlt::cuda {

std::atomic<Device*> devices[max_devices];
std::atomic<size_t> cache_limit{~size_t{0}};

namespace {

std::mutex making;

// Row: compute capability, cores. NVIDIA's programming guide, "arithmetic instructions", lanes of float32.
struct Cores {
  int major, minor, cores;
};
constexpr Cores cores_table[] = {
    {3, 0, 192}, {3, 2, 192}, {3, 5, 192},  {3, 7, 192},  {5, 0, 128},  {5, 2, 128},  {5, 3, 128},  {6, 0, 64},
    {6, 1, 128}, {6, 2, 128}, {7, 0, 64},   {7, 2, 64},   {7, 5, 64},   {8, 0, 64},   {8, 6, 128},  {8, 7, 128},
    {8, 9, 128}, {9, 0, 128}, {10, 0, 128}, {10, 1, 128}, {10, 3, 128}, {11, 0, 128}, {12, 0, 128}, {12, 1, 128},
};

Status make_pool(Device& device) noexcept {
  if (!device.properties.memory_pools_supported) return success;
  CUmemPoolProps wanted{};
  wanted.allocType = kAllocationPinned;
  wanted.location = {kLocationDevice, device.handle};
  DLT_CU(cuMemPoolCreate(&device.pool, &wanted));
  // Without this every synchronization returns all memory to the system, and the next allocation requests it again.
  uint64_t keep = cache_limit.load(std::memory_order_relaxed);
  DLT_CU(cuMemPoolSetAttribute(device.pool, kPoolReleaseThreshold, &keep));
  return success;
}

Status make(int ordinal, Device* device) noexcept {
  device->ordinal = ordinal;
  DLT_CU(cuDeviceGet(&device->handle, ordinal));
  Properties& p = device->properties;
#define DLT_CUDA_PROPERTY(name, attribute) DLT_CU(cuDeviceGetAttribute(&p.name, attribute, device->handle));
  DLT_CUDA_PROPERTIES(DLT_CUDA_PROPERTY)
#undef DLT_CUDA_PROPERTY
  DLT_CU(cuDeviceGetName(p.name, sizeof p.name, device->handle));
  DLT_CU(cuDeviceGetPCIBusId(p.pci_bus_id, sizeof p.pci_bus_id, device->handle));
  DLT_CU(cuDeviceTotalMem_v2(&p.total_memory, device->handle));
  DLT_CU(cuDevicePrimaryCtxRetain(&device->context, device->handle));
  Status status;
  if (driver.cuCtxGetId && driver.cuCtxGetId(device->context, &device->context_id) != kSuccess) device->context_id = 0;
  {
    Current current(*device);
    driver.cuCtxGetStreamPriorityRange(&p.least_priority, &p.greatest_priority);
    status = make_pool(*device);
  }
  if (!status.ok()) driver.cuDevicePrimaryCtxRelease_v2(device->handle);
  return status;
}

}  // namespace

Status device_count(int* count) noexcept {
  *count = 0;
  if (const Status status = load_driver(); !status.ok()) return driver_is_absent() ? success : status;
  DLT_CU(cuDeviceGetCount(count));
  if (*count > max_devices) *count = max_devices;
  return success;
}

Status device_slow(int ordinal, Device** out) noexcept {
  int count = 0;
  DLT_TRY(load_driver());
  DLT_TRY(device_count(&count));
  if (ordinal < 0 || ordinal >= count)
    return fail(Fault::value, "device: expected cuda:0 to cuda:%d, got cuda:%d; see dl.cuda.device_count()", count - 1,
                ordinal);
  std::lock_guard<std::mutex> hold(making);
  if (Device* known = devices[ordinal].load(std::memory_order_acquire)) return *out = known, success;
  auto* device = new (std::nothrow) Device;
  if (!device) return fail(Fault::memory, "device: out of memory");
  if (const Status status = make(ordinal, device); !status.ok()) {
    delete device;
    return status;
  }
  devices[ordinal].store(device, std::memory_order_release);
  *out = device;
  return success;
}

Status device_properties(int ordinal, const Properties** out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  *out = &device->properties;
  return success;
}

int cores_per_multiprocessor(int major, int minor) noexcept {
  int cores = cores_table[0].cores;
  for (const Cores& row : cores_table)
    if (row.major < major || (row.major == major && row.minor <= minor)) cores = row.cores;
  return cores;
}

Status take_event(Device& device, CUevent* event) noexcept {
  {
    std::lock_guard<std::mutex> hold(device.mutex);
    if (!device.events.empty()) {
      *event = device.events.back();
      device.events.pop_back();
      return success;
    }
  }
  Current current(device);
  DLT_CU(cuEventCreate(event, kEventDisableTiming));
  return success;
}

void give_event(Device& device, CUevent event) noexcept {
  try {
    std::lock_guard<std::mutex> hold(device.mutex);
    device.events.push_back(event);
  } catch (const std::bad_alloc&) {
    Current current(device);
    driver.cuEventDestroy_v2(event);
  }
}

namespace {

bool is_reset(const Device& device) noexcept {
  unsigned long long id = 0;
  if (!device.context_id) return false;
  const CUresult result = driver.cuCtxGetId(device.context, &id);
  return result == kContextIsDestroyed || (result == kSuccess && id != device.context_id);
}

}  // namespace

bool any_reset() noexcept {
  for (const std::atomic<Device*>& device : devices)
    if (const Device* known = device.load(std::memory_order_acquire); known && is_reset(*known)) return true;
  return false;
}

bool is_lost(Device& device) noexcept {
  if (is_reset(device)) return true;
  size_t free = 0, total = 0;
  Current current(device);
  return is_lost(driver.cuMemGetInfo_v2(&free, &total));
}

Status memory_info(int ordinal, size_t* free, size_t* total) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  DLT_CU(cuMemGetInfo_v2(free, total));
  return success;
}

Status reach_peer(Device& device, Device& peer, bool* can) noexcept {
  std::lock_guard<std::mutex> hold(making);
  *can = device.peers[peer.ordinal];
  if (*can) return success;
  int answer = 0;
  DLT_CU(cuDeviceCanAccessPeer(&answer, device.handle, peer.handle));
  if (!answer) return success;
  Current current(device);
  Beside beside;
  const CUresult result = driver.cuCtxEnablePeerAccess(peer.context, 0);
  if (result != kSuccess && result != kPeerAccessAlreadyEnabled) return check(result, "cuCtxEnablePeerAccess");
  if (peer.pool) {  // peer access of pool memory is set per pool
    const CUmemAccessDesc access{{kLocationDevice, device.handle}, kAccessReadWrite};
    DLT_CU(cuMemPoolSetAccess(peer.pool, &access, 1));
  }
  device.peers[peer.ordinal] = *can = true;
  return success;
}

}  // namespace dlt::cuda
