// SPDX-License-Identifier: Apache-2.0
// A lock-free stack of deferred releases, and the wake-up call for its first entry.
#include "native/opaque/deferred_release.h"

#include <atomic>
#include <mutex>
#include <new>

#include "native/fork.h"
#include "native/no_destructor.h"

namespace dlt::opaque {
namespace {

struct Deferred {
  Deferred* next;
  void* thing;
};

std::atomic<Deferred*> deferred = nullptr;

struct Wakeup {
  std::mutex guard;
  void (*call)() noexcept = nullptr;
};

Wakeup& wakeup() noexcept {
  static NoDestructor<Wakeup> instance;
  return *instance;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return wakeup().guard; }>();

}  // namespace

void defer(void* thing) noexcept {
  auto* one = new (std::nothrow) Deferred{nullptr, thing};
  if (!one) return;
  Deferred* before = deferred.load(std::memory_order_relaxed);
  do {
    one->next = before;
  } while (!deferred.compare_exchange_weak(before, one, std::memory_order_acq_rel, std::memory_order_relaxed));
  // drain() takes all entries, so only the first one needs a wake-up.
  if (before) return;
  Wakeup& wake = wakeup();
  std::lock_guard lock(wake.guard);
  if (wake.call) wake.call();
}

void drain(void (*call_deleter)(void*) noexcept) noexcept {
  Deferred* one = deferred.exchange(nullptr, std::memory_order_acq_rel);
  while (one) {
    Deferred* next = one->next;
    call_deleter(one->thing);
    delete one;
    one = next;
  }
}

bool has_pending() noexcept { return deferred.load(std::memory_order_relaxed) != nullptr; }

void set_wakeup(void (*call)() noexcept) noexcept {
  Wakeup& wake = wakeup();
  std::lock_guard lock(wake.guard);
  wake.call = call;
}

}  // namespace dlt::opaque
