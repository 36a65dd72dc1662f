// SPDX-License-Identifier: Apache-2.0
// Shared device memory by the driver's virtual memory management: handles without addresses, which each process maps.
#include "native/cuda/memory/shared.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <new>

#include "native/cuda/memory/parts.h"
#include "native/cuda/memory/source.h"

namespace dlt::cuda {
namespace {

// Owner of a block: a handle of the driver, mapped into this process.
struct Mapping {
  Device* device = nullptr;
  CUmemHandle handle = 0;
  bool has_handle = false;
  CUdeviceptr reserved = 0;  // addresses, or 0
  bool is_mapped = false;
  size_t bytes = 0;  // a multiple of the granularity
  int file = -1;     // of memory that was received: only its maker is known to be able to export it
  std::atomic<uint64_t> reached{0};  // a bit for each device that may use it
};
static_assert(max_devices <= 64);

void end(Mapping* mapping) noexcept {
  {
    Current current(*mapping->device);
    Beside beside;
    if (mapping->is_mapped) {
      driver.cuMemUnmap(mapping->reserved, mapping->bytes);
      mapping->device->shared_bytes.fetch_sub(static_cast<int64_t>(mapping->bytes), std::memory_order_relaxed);
    }
    if (mapping->reserved) driver.cuMemAddressFree(mapping->reserved, mapping->bytes);
    if (mapping->has_handle) driver.cuMemRelease(mapping->handle);
  }
  if (mapping->file >= 0) close(mapping->file);
  delete mapping;
}

// The deleter of foreign memory, which this is for the engine: it runs when all work with it is done.
void end_mapping(void* owner) noexcept {
  const WithoutPython without;
  end(static_cast<Mapping*>(owner));
}

Mapping* mapping_of(const Block* block) noexcept {
  const Memory* memory = memory_of(block);
  return memory && memory->deleter == end_mapping ? static_cast<Mapping*>(memory->owner) : nullptr;
}

Status check_support(const char* func, const Device& device) noexcept {
  int can_map = 0, has_descriptors = 0;
  const bool is_known = driver.cuMemCreate && driver.cuMemRelease && driver.cuMemAddressReserve && driver.cuMemAddressFree &&
                        driver.cuMemMap && driver.cuMemUnmap && driver.cuMemSetAccess && driver.cuDeviceGetUuid_v2 &&
                        driver.cuMemExportToShareableHandle && driver.cuMemImportFromShareableHandle &&
                        driver.cuMemGetAllocationGranularity;
  if (is_known) {
    DLT_CU(cuDeviceGetAttribute(&can_map, kVirtualMemorySupported, device.handle));
    DLT_CU(cuDeviceGetAttribute(&has_descriptors, kDescriptorsSupported, device.handle));
  }
  if (can_map && has_descriptors) return success;
  return fail(
      Fault::device,
      "%s: processes cannot share memory of cuda:%d: its driver has no descriptors of memory, as under WSL; send a copy "
      "through the host with t.to(\"cpu\").share()",
      func, device.ordinal);
}

CUmemAllocationProp properties_of(const Device& device) noexcept {
  CUmemAllocationProp wanted{};
  wanted.type = kAllocationPinned;
  wanted.requestedHandleTypes = kHandleDescriptor;
  wanted.location = {kLocationDevice, device.handle};
  return wanted;
}

Status give_access(Mapping& mapping, const Device& device) noexcept {
  const CUmemAccessDesc access{{kLocationDevice, device.handle}, kAccessReadWrite};
  DLT_CU(cuMemSetAccess(mapping.reserved, mapping.bytes, &access, 1));
  mapping.reached.fetch_or(uint64_t{1} << device.ordinal, std::memory_order_release);
  return success;
}

Status map(Mapping& mapping) noexcept {
  DLT_CU(cuMemAddressReserve(&mapping.reserved, mapping.bytes, 0, 0, 0));
  DLT_CU(cuMemMap(mapping.reserved, mapping.bytes, 0, mapping.handle, 0));
  mapping.is_mapped = true;
  mapping.device->shared_bytes.fetch_add(static_cast<int64_t>(mapping.bytes), std::memory_order_relaxed);
  return give_access(mapping, *mapping.device);
}

Status create(Mapping& mapping, Stream& stream, size_t asked) noexcept {
  const CUmemAllocationProp wanted = properties_of(*mapping.device);
  size_t unit = 0;
  DLT_CU(cuMemGetAllocationGranularity(&unit, &wanted, kGranularityMinimum));
  mapping.bytes = ((asked ? asked : 1) + unit - 1) / unit * unit;
  const auto ask = [&] { return driver.cuMemCreate(&mapping.handle, mapping.bytes, &wanted, 0); };
  CUresult result = ask();
  if (result == kOutOfMemory) {
    empty_cache(mapping.device->ordinal);
    result = ask();
  }
  if (result == kOutOfMemory) {
    bool freed = false;
    DLT_TRY(ask_hook(&freed));
    if (freed) result = ask();
  }
  if (result == kOutOfMemory) return out_of_memory(stream, asked);
  DLT_TRY(check(result, "cuMemCreate"));
  mapping.has_handle = true;
  return success;
}

Status import_handle(Mapping& mapping) noexcept {
  const CUresult result = driver.cuMemImportFromShareableHandle(
      &mapping.handle, reinterpret_cast<void*>(static_cast<uintptr_t>(mapping.file)), kHandleDescriptor);
  if (result == kInvalidValue || result == kInvalidDevice || result == kNotSupported)
    return fail(
        Fault::device,
        "shared tensor: the driver of this process cannot open the memory that was sent (CUDA error %d): both processes "
        "need the same driver and the same device; send a copy through the host with t.to(\"cpu\").share()",
        result);
  DLT_TRY(check(result, "cuMemImportFromShareableHandle"));
  mapping.has_handle = true;
  return success;
}

// Takes the mapping, with what `fill` puts into it.
template <class Fill>
Status wrap(Mapping* mapping, Stream& stream, Fill&& fill, Block** out) noexcept {
  Status status;
  {
    Current current(*mapping->device);
    Beside beside;
    status = fill(*mapping);
    if (status.ok()) status = map(*mapping);
  }
  if (status.ok()) status = adopt_foreign(reinterpret_cast<void*>(mapping->reserved), stream, mapping, end_mapping, out);
  if (!status.ok()) end(mapping);
  return status;
}

}  // namespace

Status allocate_shared(Stream& stream, size_t bytes, Block** out) noexcept {
  if (bytes > most_bytes) return fail(Fault::memory, "allocate: %zu bytes are more than any device has", bytes);
  const WithoutPython without;
  DLT_TRY(check_support("allocate", *stream.device));
  auto* mapping = new (std::nothrow) Mapping;
  if (!mapping) return fail(Fault::memory, "allocate: the host is out of memory");
  mapping->device = stream.device;
  return wrap(mapping, stream, [&](Mapping& m) noexcept { return create(m, stream, bytes); }, out);
}

Status open_shared(Stream& stream, int file, size_t mapped, Block** out) noexcept {
  const WithoutPython without;
  Status status = check_support("shared tensor", *stream.device);
  auto* mapping = status.ok() ? new (std::nothrow) Mapping : nullptr;
  if (!mapping) {
    close(file);
    return status.ok() ? fail(Fault::memory, "shared tensor: the host is out of memory") : status;
  }
  mapping->device = stream.device;
  mapping->file = file;
  mapping->bytes = mapped;
  return wrap(mapping, stream, [](Mapping& m) noexcept { return import_handle(m); }, out);
}

bool is_shared(const Block* block) noexcept { return mapping_of(block) != nullptr; }

Block* shared_block(Block* block) noexcept {
  return block->owner == memory_of(block) ? block : shared_block(static_cast<Block*>(block->owner));
}

size_t mapped_bytes(const Block* block) noexcept { return mapping_of(block)->bytes; }

Status export_shared(const Block* block, int* file) noexcept {
  const WithoutPython without;
  const Mapping& mapping = *mapping_of(block);
  DLT_TRY(wait_for_users(*memory_of(block)));
  if (mapping.file >= 0) {
    *file = fcntl(mapping.file, F_DUPFD_CLOEXEC, 0);
  } else {
    Current current(*mapping.device);
    Beside beside;
    DLT_CU(cuMemExportToShareableHandle(file, mapping.handle, kHandleDescriptor, 0));
    fcntl(*file, F_SETFD, FD_CLOEXEC);
  }
  return success;
}

Status let_reach(Memory& memory, const Device& device) noexcept {
  if (memory.deleter != end_mapping) return success;
  auto& mapping = *static_cast<Mapping*>(memory.owner);
  if (mapping.reached.load(std::memory_order_acquire) >> device.ordinal & 1) return success;
  Current current(*mapping.device);
  Beside beside;
  return give_access(mapping, device);
}

Status device_uuid(int ordinal, char* uuid) noexcept {
  CUdevice device = 0;
  CUuuid found{};
  DLT_TRY(load_driver());
  DLT_CU(cuDeviceGet(&device, ordinal));
  if (driver.cuDeviceGetUuid_v2) DLT_CU(cuDeviceGetUuid_v2(&found, device));
  memcpy(uuid, found.bytes, sizeof found.bytes);
  return success;
}

Status device_of_uuid(const char* uuid, int* ordinal) noexcept {
  int count = 0;
  DLT_TRY(load_driver());
  DLT_TRY(device_count(&count));
  for (*ordinal = 0; *ordinal < count; ++*ordinal) {
    char one[device_uuid_bytes];
    DLT_TRY(device_uuid(*ordinal, one));
    if (memcmp(one, uuid, sizeof one) == 0) return success;
  }
  *ordinal = -1;
  return success;
}

}  // namespace dlt::cuda
