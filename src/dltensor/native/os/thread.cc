// SPDX-License-Identifier: Apache-2.0
// Affinity and numbers of threads. Only Linux binds threads to processors.
#include "native/os/thread.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <thread>
#endif
#if defined(_WIN32)
#include <windows.h>
#endif

namespace dlt::os {

#if defined(__linux__)

int allowed_processors() noexcept {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
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
