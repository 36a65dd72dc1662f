// SPDX-License-Identifier: Apache-2.0
// Pages by mmap, on Windows by VirtualAlloc, and the limits of the machine and of control groups.
#include "native/os/pages.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <malloc.h>
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/sysinfo.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <atomic>
#include <initializer_list>

#include "native/os/control_groups.h"

namespace dlt {
namespace {

constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t page = 64 << 10;  // the largest that a kernel may be built with

size_t rounded(size_t bytes) noexcept { return (bytes + page - 1) & ~(page - 1); }

#if defined(__linux__)

size_t memory_limit_of(const char* folder, bool unified) noexcept {
  char text[64];
  const bool found = os::read_text(folder, unified ? "memory.max" : "memory.limit_in_bytes", text, sizeof text);
  return found && text[0] >= '0' && text[0] <= '9' ? strtoull(text, nullptr, 10) : SIZE_MAX;  // or "max"
}

size_t read_limits() noexcept {
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return SIZE_MAX;
  const size_t memory = info.totalram * info.mem_unit, swap = info.totalswap * info.mem_unit,
               group = os::control_group_limit("memory", memory_limit_of);
  return (group < memory ? group : memory) + swap;
}

#elif defined(__APPLE__)

size_t read_limits() noexcept {
  const size_t memory = physical_bytes();
  return memory > 0 ? memory : SIZE_MAX;
}

#else

size_t read_limits() noexcept {
  MEMORYSTATUSEX state{};
  state.dwLength = sizeof state;
  return GlobalMemoryStatusEx(&state) ? static_cast<size_t>(state.ullTotalPageFile) : SIZE_MAX;
}

#endif

std::atomic<size_t> known_limit{0};

}  // namespace

size_t most_backed_bytes() noexcept {
  const size_t limit = read_limits();
  known_limit.store(limit, std::memory_order_relaxed);
  return limit;
}

bool can_be_backed(size_t bytes) noexcept {
  return bytes <= known_limit.load(std::memory_order_relaxed) || bytes <= most_backed_bytes();
}

size_t physical_bytes() noexcept {
#if defined(__linux__)
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#elif defined(__APPLE__)
  uint64_t memory = 0;
  size_t size = sizeof memory;
  return sysctlbyname("hw.memsize", &memory, &size, nullptr, 0) == 0 ? static_cast<size_t>(memory) : 0;
#else
  MEMORYSTATUSEX state{};
  state.dwLength = sizeof state;
  return GlobalMemoryStatusEx(&state) ? static_cast<size_t>(state.ullTotalPhys) : 0;
#endif
}

size_t available_bytes() noexcept {
#if defined(__linux__)
  char text[4096];
  if (!os::read_text("/proc", "meminfo", text, sizeof text)) return SIZE_MAX;
  size_t bytes = 0;
  for (const char* name : {"MemAvailable:", "SwapFree:"}) {
    const char* line = strstr(text, name);
    if (!line) return SIZE_MAX;
    bytes += static_cast<size_t>(strtoull(line + strlen(name), nullptr, 10)) << 10;
  }
  return bytes;
#else
  return SIZE_MAX;
#endif
}

#if defined(_WIN32)

// A reservation cannot be cut: the rest stays reserved, which costs addresses only.
void* map_pages(size_t bytes) noexcept {
  bytes = rounded(bytes);
  void* raw = VirtualAlloc(nullptr, bytes + huge_page, MEM_RESERVE, PAGE_NOACCESS);
  if (raw == nullptr) return nullptr;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(raw) + huge_page - 1) & ~(huge_page - 1);
  void* data = VirtualAlloc(reinterpret_cast<void*>(aligned), bytes, MEM_COMMIT, PAGE_READWRITE);
  if (data == nullptr) VirtualFree(raw, 0, MEM_RELEASE);
  return data;
}

void unmap_pages(void* data, size_t) noexcept {
  MEMORY_BASIC_INFORMATION info;
  if (VirtualQuery(data, &info, sizeof info) != 0) VirtualFree(info.AllocationBase, 0, MEM_RELEASE);
}

void* allocate_aligned(size_t bytes, size_t alignment) noexcept { return _aligned_malloc(bytes, alignment); }
void free_aligned(void* data) noexcept { _aligned_free(data); }

#else

void* map_pages(size_t bytes) noexcept {
  // Without MAP_NORESERVE: memory that cannot be backed is an error here, not a kill by the OOM killer at the first
  // write. Mapped larger, then cut to a huge-page boundary: only an aligned range gets huge pages from its first byte.
  bytes = rounded(bytes);
  const size_t span = bytes + huge_page;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (start + huge_page - 1) & ~(huge_page - 1);
  if (aligned != start) munmap(raw, aligned - start);
  const uintptr_t end = start + span, used = aligned + bytes;
  if (end != used) munmap(reinterpret_cast<void*>(used), end - used);
  void* data = reinterpret_cast<void*>(aligned);
#if defined(MADV_HUGEPAGE)
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return data;
}

void unmap_pages(void* data, size_t bytes) noexcept { munmap(data, rounded(bytes)); }

void* allocate_aligned(size_t bytes, size_t alignment) noexcept {
  void* data = nullptr;
  return posix_memalign(&data, alignment, bytes) == 0 ? data : nullptr;
}
void free_aligned(void* data) noexcept { ::free(data); }

#endif

}  // namespace dlt
