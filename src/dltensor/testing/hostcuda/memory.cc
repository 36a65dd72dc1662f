// SPDX-License-Identifier: Apache-2.0
// Device, pinned and managed memory. A device's memory is an address range that is inaccessible
// except while an operation runs: a host dereference of a device pointer faults, as on a real machine.
//
// Under AddressSanitizer every byte outside a live allocation is poisoned, so that a kernel that reads or writes out
// of bounds, or after the free, is reported with its source line.
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "machine.h"

namespace dlt::cuda {

namespace {

// Size of the address range of a device; memory is committed when it is allocated. Less where the process is limited.
constexpr size_t most_arena_bytes = size_t{64} << 30, least_arena_bytes = size_t{64} << 20;
size_t arena_bytes = most_arena_bytes;
constexpr size_t page = 4096;
// Changing the protection of a large page costs as much as of a small one, and all are changed for every operation.
constexpr size_t large_page = size_t{2} << 20;
constexpr size_t granule = 512;  // cuMemAlloc's alignment

struct Arena {
  void* mapped = nullptr;
  char* base = nullptr;
  size_t top = 0;
  size_t committed = 0;  // whole large pages, at least `top`
  size_t live = 0;
  std::multimap<size_t, uintptr_t> free;
};
std::vector<Arena> arenas;
std::multimap<size_t, uintptr_t> free_ranges;  // addresses that were reserved, by size
std::map<uintptr_t, Allocation> allocations;
thread_local int open_depth = 0;

// A memory protection key, if the processor has them: a register of the thread then controls its access to device memory.
// Without one the system changes the protection of all pages twice for every operation. -1: none.
#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
int new_key() { return pkey_alloc(0, PKEY_DISABLE_ACCESS); }
void set_key(int key, bool open) { pkey_set(key, open ? 0 : PKEY_DISABLE_ACCESS); }
bool give_key(int key, void* start, size_t bytes) { return pkey_mprotect(start, bytes, PROT_READ | PROT_WRITE, key) == 0; }
#else
int new_key() { return -1; }
void set_key(int, bool) {}
bool give_key(int, void*, size_t) { return false; }
#endif
int key = -1;

using Poison = void (*)(const volatile void*, size_t);
const Poison poison = reinterpret_cast<Poison>(dlsym(RTLD_DEFAULT, "__asan_poison_memory_region"));
const Poison unpoison = reinterpret_cast<Poison>(dlsym(RTLD_DEFAULT, "__asan_unpoison_memory_region"));

size_t rounded(size_t bytes) { return (bytes + granule - 1) / granule * granule; }

void guard(uintptr_t address, size_t bytes, size_t reserved) {
  if (!poison) return;
  unpoison(reinterpret_cast<void*>(address), bytes);
  poison(reinterpret_cast<void*>(address + bytes), reserved - bytes);
}

void count_allocation(size_t bytes) {
  Statistics& s = machine.statistics;
  ++s.allocations;
  ++s.live_allocations;
  s.live_bytes += static_cast<int64_t>(bytes);
  if (s.live_bytes > s.peak_bytes) s.peak_bytes = s.live_bytes;
}

// Back addresses by memory here, where an allocation failure can be reported, and not when a kernel first writes.
bool commit(Arena& arena, size_t bytes) {
  const size_t wanted = std::min((bytes + large_page - 1) / large_page * large_page, arena_bytes);
  if (wanted <= arena.committed) return true;
  char* const start = arena.base + arena.committed;
  const size_t more = wanted - arena.committed;
  if (key >= 0) {
    if (!give_key(key, start, more)) return false;
  } else {
    if (mprotect(start, more, PROT_READ | PROT_WRITE) != 0) return false;
    if (!open_depth) mprotect(start, more, PROT_NONE);
  }
  arena.committed = wanted;
  return true;
}

// Freed memory that pools keep, which cannot be used otherwise.
size_t cached_on(int device) {
  size_t bytes = 0;
  for (const PoolHandle* pool : machine.all_pools)
    if (pool->device == device) bytes += pool->cached;
  return bytes;
}

void trim(PoolHandle& pool, uint64_t keep) {
  pool.cached = keep > pool.used ? std::min<size_t>(pool.cached, keep - pool.used) : 0;
}

// Reuses memory freed on the same stream at once, on another stream only when that free has run.
uintptr_t take(int device, size_t bytes, StreamHandle* stream, PoolHandle* pool) {
  Arena& arena = arenas[device];
  const size_t reserve = rounded(bytes), again = pool ? std::min(pool->cached, bytes) : 0;
  if (arena.live + cached_on(device) - again + bytes > machine.device_bytes) return 0;
  uintptr_t address = 0;
  for (auto at = arena.free.find(reserve); at != arena.free.end() && at->first == reserve; ++at) {
    const Allocation& old = allocations[at->second];
    const bool same = old.freed_on == stream && (!stream || old.freed_id == stream->id);
    if (old.freed_by && !old.freed_by->done && !same) continue;
    address = at->second;
    arena.free.erase(at);
    guard(address, bytes, reserve);
    break;
  }
  if (!address) {
    const size_t need = (reserve + page - 1) / page * page + page;  // one page between allocations
    if (arena.top + need > arena_bytes || !commit(arena, arena.top + need)) return 0;
    address = reinterpret_cast<uintptr_t>(arena.base) + arena.top;
    arena.top += need;
    guard(address, bytes, need);
  }
  allocations[address] = {bytes, device, Kind::device, false, 0, pool, nullptr, nullptr};
  arena.live += bytes;
  if (pool) pool->cached -= again, pool->used += bytes;
  count_allocation(bytes);
  return address;
}

int take_ordered(CUdeviceptr* pointer, size_t bytes, CUstream handle, PoolHandle* pool) {
  HOSTCUDA_RESOLVE(handle, stream);
  if (!pool) pool = machine.pools[stream->device];
  *pointer = 0;
  if (!bytes) return kSuccess;
  if (!stream->capture) HOSTCUDA_NOT_IN_CAPTURE;
  const uintptr_t address = take(stream->device, bytes, stream, pool);
  if (!address) return kOutOfMemory;
  *pointer = address;
  // A captured allocation is a node of the graph, and the memory the graph's.
  if (stream->capture) allocations[address].capture = stream->capture->id;
  // Fresh memory holds a pattern: reading it is visible.
  return put(stream, [address, bytes] { memset(reinterpret_cast<void*>(address), 0xCD, bytes); });
}

int free_device(CUdeviceptr pointer, StreamHandle* stream) {
  if (!pointer) return kSuccess;
  const auto at = allocations.find(pointer);
  if (at == allocations.end() || at->second.freed || at->second.kind == Kind::pinned || at->second.kind == Kind::mapped)
    return kInvalidValue;
  Allocation& allocation = at->second;
  const size_t bytes = allocation.bytes;
  // A captured free is a node that takes memory of its own graph only.
  if (stream && stream->capture && allocation.capture != stream->capture->id)
    return stream->capture->invalid = true, kInvalidValue;
  if (allocation.capture && capture_in_progress(allocation.capture) && !(stream && stream->capture)) return kInvalidValue;
  if (stream && stream->capture)
    return put(stream, [pointer, bytes] { memset(reinterpret_cast<void*>(pointer), 0xDD, bytes); });
  if (stream && is_legacy(stream) && legacy_is_implied(stream->device)) return put(stream, nullptr);
  --machine.statistics.live_allocations;
  machine.statistics.live_bytes -= static_cast<int64_t>(bytes);
  if (allocation.kind == Kind::managed) {
    synchronize_device(allocation.device);
    munmap(reinterpret_cast<void*>(pointer), (bytes + page - 1) / page * page + page);
    allocations.erase(at);
    return kSuccess;
  }
  allocation.freed = true;
  arenas[allocation.device].live -= bytes;
  if (PoolHandle* pool = allocation.pool) pool->used -= bytes, pool->cached += bytes;
  // Overwrite it, so that reads after the free are recognizable. Most of a large allocation is returned to the system.
  auto overwrite = [pointer, bytes] {
    constexpr size_t most = 2 * large_page;
    memset(reinterpret_cast<void*>(pointer), 0xDD, std::min(bytes, most));
    const uintptr_t from = (pointer + most + large_page - 1) / large_page * large_page,
                    to = (pointer + bytes) / large_page * large_page;
    if (bytes > most && to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
    if (poison) poison(reinterpret_cast<void*>(pointer), bytes);
  };
  if (!stream) {
    synchronize_device(allocation.device);
    open_memory();
    overwrite();
    close_memory();
  } else {
    put(stream, overwrite);
    allocation.freed_by = stream->last;
    allocation.freed_on = stream;
    allocation.freed_id = stream->id;
  }
  arenas[allocation.device].free.insert({rounded(bytes), pointer});
  return kSuccess;
}

int take_host(void** pointer, size_t bytes, Kind kind) {
  if (!bytes) return kInvalidValue;
  void* memory = mmap(nullptr, (bytes + page - 1) / page * page + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  memset(memory, 0xCD, bytes);
  allocations[reinterpret_cast<uintptr_t>(memory)] = {bytes, current()->device, kind};
  if (kind == Kind::pinned) ++machine.statistics.live_pinned;
  else count_allocation(bytes);
  *pointer = memory;
  return kSuccess;
}

int arena_of(uintptr_t address) {
  for (size_t d = 0; d < arenas.size(); ++d) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(arenas[d].base);
    if (address >= base && address < base + arena_bytes) return static_cast<int>(d);
  }
  return -1;
}

}  // namespace

bool on_device(uintptr_t address) { return arena_of(address) >= 0; }

bool is_allocated(uintptr_t address, size_t bytes) {
  const auto at = find_allocation(address);
  return at != allocations.end() && !at->second.freed && address + bytes <= at->first + at->second.bytes;
}

void trim_pools(int device) {
  for (PoolHandle* pool : machine.all_pools)
    if (pool->device == device) trim(*pool, pool->attributes[kPoolReleaseThreshold]);
}

bool count_shareable(int device, size_t bytes, bool is_new) {
  if (is_new && arenas[device].live + cached_on(device) + bytes > machine.device_bytes) return false;
  if (is_new) arenas[device].live += bytes;
  count_allocation(bytes);
  return true;
}

void end_shareable(int device, size_t bytes, bool is_new) {
  if (is_new) arenas[device].live -= bytes;
  --machine.statistics.live_allocations;
  machine.statistics.live_bytes -= static_cast<int64_t>(bytes);
}

uintptr_t reserve_addresses(size_t bytes) {
  if (const auto known = free_ranges.find(bytes); known != free_ranges.end()) {
    const uintptr_t address = known->second;
    free_ranges.erase(known);
    return address;
  }
  Arena& arena = arenas[0];
  const size_t start = (arena.top + large_page - 1) / large_page * large_page, end = start + bytes + large_page;
  if (bytes > arena_bytes || end > arena_bytes || !commit(arena, end)) return 0;
  arena.top = end;
  unmap_pages(reinterpret_cast<uintptr_t>(arena.base) + start, bytes);
  return reinterpret_cast<uintptr_t>(arena.base) + start;
}

void free_addresses(uintptr_t address, size_t bytes) { free_ranges.insert({bytes, address}); }

bool map_pages(uintptr_t address, size_t bytes, int file, int device) {
  void* const at = reinterpret_cast<void*>(address);
  if (mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return false;
  guard(address, bytes, bytes);
  allocations[address] = {bytes, device, Kind::mapped};
  return true;
}

// Without protection keys all memory is opened at once, access or not.
bool let_access(uintptr_t address, size_t bytes) { return key < 0 || give_key(key, reinterpret_cast<void*>(address), bytes); }

void unmap_pages(uintptr_t address, size_t bytes) {
  void* const at = reinterpret_cast<void*>(address);
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (poison) poison(at, bytes);
  allocations.erase(address);
}

bool start_memory() {
  key = new_key();
  arenas.resize(machine.device_count);
  for (arena_bytes = most_arena_bytes; arena_bytes >= least_arena_bytes; arena_bytes /= 2) {
    size_t mapped = 0;
    for (Arena& arena : arenas) {
      void* base = mmap(nullptr, arena_bytes + large_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (base == MAP_FAILED) break;
      arena.mapped = base;
      arena.base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(base) + large_page - 1) / large_page * large_page);
      if (!poison) madvise(arena.base, arena_bytes, MADV_HUGEPAGE);  // without it the pages stay small
      ++mapped;
    }
    if (mapped == arenas.size()) {
      if (key >= 0 && !give_key(key, arenas[0].base, page)) key = -1;  // a system that has keys may refuse to use them
      machine.device_bytes = std::min(machine.device_bytes, arena_bytes);
      return true;
    }
    while (mapped-- > 0) munmap(arenas[mapped].mapped, arena_bytes + large_page);
  }
  return false;
}

std::map<uintptr_t, Allocation>::iterator find_allocation(uintptr_t address) {
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin()) return allocations.end();
  --at;
  return address < at->first + (at->second.bytes ? at->second.bytes : 1) ? at : allocations.end();
}

void protect(bool open) {
  if (key >= 0) return set_key(key, open);
  for (Arena& arena : arenas)
    if (arena.committed) mprotect(arena.base, arena.committed, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void open_memory() {
  if (!open_depth++) protect(true);
}
void close_memory() {
  if (!--open_depth) protect(false);
}
void open_memory_again() {
  if (open_depth) protect(true);
}

}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  *total = machine.device_bytes;
  *free = machine.device_bytes - arenas[current()->device].live - cached_on(current()->device);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  if (!bytes) return kInvalidValue;
  HOSTCUDA_NOT_IN_CAPTURE;
  *pointer = take(current()->device, bytes, nullptr, nullptr);
  return *pointer ? kSuccess : kOutOfMemory;
}
HOSTCUDA_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  return take_ordered(pointer, bytes, stream, nullptr);
}
HOSTCUDA_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream stream) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  return pool ? take_ordered(pointer, bytes, stream, pool) : kInvalidValue;
}
HOSTCUDA_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  return free_device(pointer, nullptr);
}
HOSTCUDA_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  if (!stream->capture) HOSTCUDA_NOT_IN_CAPTURE;
  return free_device(pointer, stream);
}

HOSTCUDA_SIMPLE(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device), *pool = machine.pools[device])
HOSTCUDA_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return cuDeviceGetDefaultMemPool(pool, device);
}
HOSTCUDA_SIMPLE(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), machine.pools[device] = pool)
HOSTCUDA_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  HOSTCUDA_ENTER;
  HOSTCUDA_STARTED;
  if (properties->location.id < 0 || properties->location.id >= machine.device_count) return kInvalidValue;
  *pool = new PoolHandle{properties->location.id, {}};
  machine.all_pools.insert(*pool);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  HOSTCUDA_ENTER;
  for (auto& [address, allocation] : allocations)
    if (allocation.pool == pool) allocation.pool = nullptr;
  machine.all_pools.erase(pool);
  delete pool;
  return kSuccess;
}
// The first three attributes are 32 bits wide, the others 64.
HOSTCUDA_SIMPLE(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void* value),
                memcpy(&pool->attributes[attribute], value, attribute <= 3 ? 4 : 8))
HOSTCUDA_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value) {
  HOSTCUDA_ENTER;
  uint64_t answer = pool->attributes[attribute];
  if (attribute == kPoolUsedCurrent) answer = pool->used;
  if (attribute == kPoolReservedCurrent) answer = pool->used + pool->cached;
  memcpy(value, &answer, attribute <= 3 ? 4 : 8);
  return kSuccess;
}
HOSTCUDA_SIMPLE(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), HOSTCUDA_NOT_IN_CAPTURE; trim(*pool, keep))
HOSTCUDA_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t) {
  HOSTCUDA_ENTER;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  return take_host(pointer, bytes, Kind::pinned);
}
HOSTCUDA_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
HOSTCUDA_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  void* memory = nullptr;
  const int result = take_host(&memory, bytes, Kind::managed);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  return result;
}
HOSTCUDA_EXPORT CUresult cuMemFreeHost(void* pointer) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  const auto at = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (at == allocations.end() || at->second.kind != Kind::pinned) return kInvalidValue;
  synchronize_device(at->second.device);
  munmap(pointer, (at->second.bytes + page - 1) / page * page + page);
  allocations.erase(at);
  --machine.statistics.live_pinned;
  return kSuccess;
}

HOSTCUDA_EXPORT CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr pointer) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  const auto at = find_allocation(pointer);
  if (at == allocations.end() || at->second.freed) return kInvalidValue;
  const Allocation& allocation = at->second;
  switch (attribute) {
    case 1: *static_cast<CUcontext*>(value) = machine.contexts[allocation.device].get(); break;
    case kPointerMemoryType:
      *static_cast<unsigned*>(value) = allocation.kind == Kind::pinned ? kMemoryTypeHost : kMemoryTypeDevice;
      break;
    case 3: *static_cast<CUdeviceptr*>(value) = pointer; break;  // device pointer
    case 4:  // host pointer
      if (allocation.kind == Kind::device || allocation.kind == Kind::mapped) return kInvalidValue;
      *static_cast<CUdeviceptr*>(value) = pointer;
      break;
    case kPointerIsManaged: *static_cast<unsigned*>(value) = allocation.kind == Kind::managed; break;
    case kPointerDeviceOrdinal: *static_cast<int*>(value) = allocation.device; break;
    case 11: *static_cast<CUdeviceptr*>(value) = at->first; break;  // start of the range
    case 12: *static_cast<size_t*>(value) = allocation.bytes; break;  // its size
    default: *static_cast<int*>(value) = 0;
  }
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuPointerGetAttributes(unsigned count, int* attributes, void** values, CUdeviceptr pointer) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  for (unsigned i = 0; i < count; ++i)
    if (cuPointerGetAttribute(values[i], attributes[i], pointer)) {  // unknown to CUDA: all zero, and no error
      const bool wide = attributes[i] == 1 || attributes[i] == 3 || attributes[i] == 4;
      memset(values[i], 0, wide ? 8 : 4);
      if (attributes[i] == kPointerDeviceOrdinal) *static_cast<int*>(values[i]) = -2;
    }
  return kSuccess;
}
