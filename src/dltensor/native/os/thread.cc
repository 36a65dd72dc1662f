// SPDX-License-Identifier: Apache-2.0
// Affinity and numbers of threads. Only Linux binds threads to processors.
#include "native/os/thread.h"

#include "native/os/control_groups.h"

#if defined(__linux__)
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#else
#include <thread>
#endif
#if defined(_WIN32)
#include <windows.h>
#endif

namespace dlt::os {

#if defined(__linux__)

namespace {

// Processors whose time a control group has, as containers limit it: a quota of each period, both in microseconds.
size_t processors_of(const char* folder, bool unified) noexcept {
  char text[64], period_text[64];
  if (!read_text(folder, unified ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof text)) return SIZE_MAX;
  char* rest = nullptr;
  const long long quota = strtoll(text, &rest, 10);  // 0 of "max", -1 without a limit
  if (quota <= 0) return SIZE_MAX;
  if (!unified) {
    if (!read_text(folder, "cpu.cfs_period_us", period_text, sizeof period_text)) return SIZE_MAX;
    rest = period_text;
  }
  const long long period = strtoll(rest, nullptr, 10);
  return period > 0 ? static_cast<size_t>((quota - 1) / period + 1) : SIZE_MAX;
}

}  // namespace

int allowed_processors() noexcept {
  cpu_set_t allowed;
  // The set is too small for systems of more than 1024 processors.
  const long count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  const size_t limit = control_group_limit("cpu", processors_of);
  return static_cast<int>(std::clamp<long>(limit < size_t{1} << 20 ? static_cast<long>(limit) : count, 1, std::max(count, 1L)));
}

int current_processor() noexcept { return sched_getcpu(); }

void keep_off(const pthread_t* threads, int count, int processor) noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  if (processor >= 0) CPU_CLR(size_t(processor), &allowed);
  for (int i = 0; i < count; ++i) pthread_setaffinity_np(threads[i], sizeof allowed, &allowed);
}

uint64_t thread_number() noexcept { return static_cast<uint64_t>(syscall(SYS_gettid)); }

#else

int allowed_processors() noexcept {
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

int current_processor() noexcept { return -1; }

void keep_off(const pthread_t*, int, int) noexcept {}

uint64_t thread_number() noexcept {
#if defined(_WIN32)
  return GetCurrentThreadId();
#else
  uint64_t number = 0;
  pthread_threadid_np(nullptr, &number);
  return number;
#endif
}

#endif

}  // namespace dlt::os
