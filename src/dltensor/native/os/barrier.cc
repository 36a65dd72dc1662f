// SPDX-License-Identifier: Apache-2.0
// The barrier by membarrier(2), expedited where the kernel can; on Windows by FlushProcessWriteBuffers(). macOS has none.
#include "native/os/barrier.h"

#if defined(__linux__)
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <windows.h>
#endif

namespace dlt {

#if defined(__linux__)

namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

// Registering waits for the scheduler where there are threads already (milliseconds), so it comes with the first use.
bool expedited() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
  return errno == EPERM && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
         membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

bool has_process_barrier() noexcept {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  return commands > 0 && (commands & (MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_GLOBAL)) != 0;
}

// The non-expedited command waits for all processors of the machine, tens of milliseconds.
bool process_barrier() noexcept { return expedited() || membarrier(MEMBARRIER_CMD_GLOBAL) == 0; }

#elif defined(_WIN32)

bool has_process_barrier() noexcept { return true; }
bool process_barrier() noexcept {
  FlushProcessWriteBuffers();
  return true;
}

#else

bool has_process_barrier() noexcept { return false; }
bool process_barrier() noexcept { return false; }

#endif

}  // namespace dlt
