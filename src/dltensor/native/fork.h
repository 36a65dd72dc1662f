// SPDX-License-Identifier: Apache-2.0
// The order in which the engine's locks are taken around fork(). The locks are in the files that own them.
//
// All handlers are registered while the library is loaded. Registered at first use, their order would vary, and a fork
// during a first use would leave the child with partly initialized state.
#pragma once
#include <pthread.h>

namespace dlt {

// Before a fork the handlers registered last run first, so a higher number takes its lock earlier. A thread that has a
// lock may wait for locks of lower numbers: a job of the pool for memory, for instance.
inline constexpr int fork_order_innermost = 1001;  // nothing is waited for under these locks
inline constexpr int fork_order_threads = 1002;    // the allocator's list of threads, over its store
inline constexpr int fork_order_kernels = 1003;
inline constexpr int fork_order_pool = 1004;

// A namespace-scope object of this kind, with [[gnu::init_priority(fork_order_...)]].
struct ForkHandlers {
  ForkHandlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept { pthread_atfork(prepare, parent, child); }
};

// Holds the lock that `lock_of` returns over every fork, and makes what the lock belongs to now.
template <auto lock_of>
ForkHandlers hold_over_fork() noexcept {
  (void)lock_of();
  return {[] { lock_of().lock(); }, [] { lock_of().unlock(); }, [] { lock_of().unlock(); }};
}

}  // namespace dlt
