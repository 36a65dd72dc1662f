// SPDX-License-Identifier: Apache-2.0
// What a thread does between two looks at a word that another one will change soon.
#pragma once
#include <sched.h>

namespace dlt::os {

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The same, for turn number `turn` of a wait: after some hundred microseconds other threads get the processor.
inline void pause(int turn) noexcept {
  if (turn < 4096) pause();
  else sched_yield();
}

}  // namespace dlt::os
