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

struct Left {
  Left* next;
  void* thing;
};

std::atomic<Left*> left = nullptr;

struct Asking {
  std::mutex guard;
  void (*ask)() noexcept = nullptr;
};

Asking& asking() noexcept {
  static NoDestructor<Asking> made;
  return *made;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return asking().guard; }>();

}  // namespace

void defer(void* thing) noexcept {
  auto* one = new (std::nothrow) Left{nullptr, thing};
  if (!one) return;
  Left* before = left.load(std::memory_order_relaxed);
  do {
    one->next = before;
  } while (!left.compare_exchange_weak(before, one, std::memory_order_acq_rel, std::memory_order_relaxed));
  // drain() takes all entries, so only the first one needs a wake-up.
  if (before) return;
  Asking& all = asking();
  std::lock_guard lock(all.guard);
  if (all.ask) all.ask();
}

void drain(void (*call_deleter)(void*) noexcept) noexcept {
  Left* one = left.exchange(nullptr, std::memory_order_acq_rel);
  while (one) {
    Left* next = one->next;
    call_deleter(one->thing);
    delete one;
    one = next;
  }
}

bool has_pending() noexcept { return left.load(std::memory_order_relaxed) != nullptr; }

void set_wakeup(void (*ask)() noexcept) noexcept {
  Asking& all = asking();
  std::lock_guard lock(all.guard);
  all.ask = ask;
}

}  // namespace dlt::opaque
