// SPDX-License-Identifier: Apache-2.0
// Sleeping until a word changes. By futex(2) on Linux: std::atomic::wait() spins first, which the callers have done.
#pragma once
#include <stdint.h>

#include <atomic>

#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace dlt::os {

#if defined(__linux__)

inline void futex(std::atomic<uint32_t>* word, int operation, uint32_t value) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, nullptr, nullptr, 0);
}
// Returns when the word is not `value`, when it is woken, and now and then without a cause.
inline void wait_while(std::atomic<uint32_t>* word, uint32_t value) noexcept { futex(word, FUTEX_WAIT_PRIVATE, value); }
// Wakes that many threads; where only one or all can be woken, all for more than one.
inline void wake(std::atomic<uint32_t>* word, uint32_t threads) noexcept { futex(word, FUTEX_WAKE_PRIVATE, threads); }
inline void wake_all(std::atomic<uint32_t>* word) noexcept { futex(word, FUTEX_WAKE_PRIVATE, INT_MAX); }

#else

inline void wait_while(std::atomic<uint32_t>* word, uint32_t value) noexcept { word->wait(value); }
inline void wake(std::atomic<uint32_t>* word, uint32_t threads) noexcept {
  if (threads == 1) word->notify_one();
  else word->notify_all();
}
inline void wake_all(std::atomic<uint32_t>* word) noexcept { word->notify_all(); }

#endif

}  // namespace dlt::os
