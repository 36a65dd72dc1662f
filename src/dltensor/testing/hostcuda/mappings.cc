// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: memory without addresses, which processes share by descriptors, and its mappings. A file without a
// name (memfd) is the memory; its name tells which device of the machine it is on.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "machine.h"

namespace dlt::cuda {
namespace {

constexpr size_t granularity = size_t{2} << 20;
constexpr char file_name[] = "hostcuda-device-";

struct Shareable {
  int file = -1;
  int device = 0;
  size_t bytes = 0;
  int references = 1;  // of the handle, and one for each mapping
  int handles = 1;
  bool is_new = true;  // of this process, and not received
  bool can_be_sent = false;
};

struct Range {
  size_t bytes = 0;
  CUmemHandle handle = 0;  // of what is mapped, or 0
};

std::map<CUmemHandle, Shareable> shareables;
std::map<uintptr_t, Range> ranges;
CUmemHandle last_handle = 0;

void drop(CUmemHandle handle) {
  const auto at = shareables.find(handle);
  if (--at->second.references) return;
  close(at->second.file);
  end_shareable(at->second.device, at->second.bytes, at->second.is_new);
  shareables.erase(at);
}

// The handle, which has not been released, or null: mapped memory outlives its handle.
Shareable* live(CUmemHandle handle) {
  const auto at = shareables.find(handle);
  return at == shareables.end() || !at->second.handles ? nullptr : &at->second;
}

int make_file(int device, size_t bytes) {
  const std::string name = file_name + std::to_string(machine.first_device + device);
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return close(file), -1;
  // Fresh memory holds a pattern: reading it is visible. Most of large memory is not written.
  const std::string pattern(std::min(bytes, granularity), static_cast<char>(0xCD));
  return pwrite(file, pattern.data(), pattern.size(), 0) > 0 ? file : (close(file), -1);
}

// The device in this process that a file is memory of; -1: it is no such memory, -2: none that is visible.
int device_of_file(int file) {
  char path[64], target[128] = {};
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int number = 0;
  const std::string wanted = std::string("/memfd:") + file_name + "%d";
  if (readlink(path, target, sizeof target - 1) < 0 || sscanf(target, wanted.c_str(), &number) != 1) return -1;
  const int device = number - machine.first_device;
  return device >= 0 && device < machine.device_count ? device : -2;
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_SIMPLE(cuMemGetAllocationGranularity, (size_t* bytes, const CUmemAllocationProp*, int), HOSTCUDA_STARTED;
                *bytes = granularity)
HOSTCUDA_EXPORT CUresult cuMemCreate(CUmemHandle* handle, size_t bytes, const CUmemAllocationProp* wanted,
                                     unsigned long long flags) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  HOSTCUDA_NOT_IN_CAPTURE;
  const int device = wanted->location.id;
  if (wanted->type != kAllocationPinned || wanted->location.type != kLocationDevice || flags) return kInvalidValue;
  if (device < 0 || device >= machine.device_count) return kInvalidDevice;
  if (!bytes || bytes % granularity) return kInvalidValue;
  if (wanted->requestedHandleTypes & ~kHandleDescriptor) return kNotSupported;
  if (!count_shareable(device, bytes, true)) return kOutOfMemory;
  const int file = make_file(device, bytes);
  if (file < 0) return end_shareable(device, bytes, true), kOutOfMemory;
  *handle = ++last_handle;
  shareables[*handle] = {file, device, bytes, 1, 1, true, wanted->requestedHandleTypes == kHandleDescriptor};
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemRelease(CUmemHandle handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  Shareable* known = live(handle);
  if (!known) return kInvalidValue;
  --known->handles;
  drop(handle);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  if (!bytes || bytes % granularity) return kInvalidValue;
  *pointer = reserve_addresses(bytes);
  if (!*pointer) return kOutOfMemory;
  ranges[*pointer] = {bytes, 0};
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
  HOSTCUDA_ENTER;
  const auto at = ranges.find(pointer);
  if (at == ranges.end() || at->second.bytes != bytes || at->second.handle) return kInvalidValue;
  ranges.erase(at);
  free_addresses(pointer, bytes);
  return kSuccess;
}
// Whole ranges only: parts of them are not needed here.
HOSTCUDA_EXPORT CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemHandle handle, unsigned long long) {
  HOSTCUDA_ENTER;
  HOSTCUDA_NOT_IN_CAPTURE;
  const auto at = ranges.find(pointer);
  Shareable* known = live(handle);
  if (!known || at == ranges.end() || at->second.bytes != bytes || at->second.handle || offset || bytes > known->bytes)
    return kInvalidValue;
  if (!map_pages(pointer, bytes, known->file, known->device)) return kOutOfMemory;
  at->second.handle = handle;
  ++known->references;
  return kSuccess;
}
// Work that is enqueued and uses the memory fails when it runs, as on a device.
HOSTCUDA_EXPORT CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
  HOSTCUDA_ENTER;
  HOSTCUDA_NOT_IN_CAPTURE;
  const auto at = ranges.find(pointer);
  if (at == ranges.end() || at->second.bytes != bytes || !at->second.handle) return kInvalidValue;
  unmap_pages(pointer, bytes);
  drop(at->second.handle);
  at->second.handle = 0;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  HOSTCUDA_ENTER;
  const auto at = ranges.find(pointer);
  if (at == ranges.end() || at->second.bytes != bytes || !at->second.handle || !count) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (access[i].location.type != kLocationDevice || access[i].flags != kAccessReadWrite) return kInvalidValue;
    if (access[i].location.id < 0 || access[i].location.id >= machine.device_count) return kInvalidDevice;
  }
  return let_access(pointer, bytes) ? kSuccess : kOutOfMemory;
}
// Refuses memory that was received: the driver's documentation does not say that it can be sent on.
HOSTCUDA_EXPORT CUresult cuMemExportToShareableHandle(void* out, CUmemHandle handle, int type, unsigned long long flags) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  const Shareable* known = live(handle);
  if (!known || type != kHandleDescriptor || flags || !known->can_be_sent) return kInvalidValue;
  const int file = fcntl(known->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return kOutOfMemory;
  *static_cast<int*>(out) = file;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemImportFromShareableHandle(CUmemHandle* handle, void* from, int type) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  const int file = static_cast<int>(reinterpret_cast<uintptr_t>(from));
  if (type != kHandleDescriptor) return kInvalidValue;
  const int device = device_of_file(file);
  if (device < 0) return device == -1 ? kInvalidValue : kInvalidDevice;
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  const off_t bytes = lseek(own, 0, SEEK_END);
  if (own < 0 || bytes <= 0) return kInvalidValue;
  count_shareable(device, static_cast<size_t>(bytes), false);
  *handle = ++last_handle;
  shareables[*handle] = {own, device, static_cast<size_t>(bytes), 1, 1, false, false};
  return kSuccess;
}
