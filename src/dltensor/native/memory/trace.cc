// SPDX-License-Identifier: Apache-2.0
// The lifetime trace: a ring of records behind a lock.
#include "native/memory/trace.h"

#include <time.h>

#include <mutex>
#include <vector>

#include "native/fork.h"
#include "native/memory/block.h"
#include "native/no_destructor.h"
#include "native/os/thread.h"

namespace dlt {

std::atomic<bool> tracing{false};

namespace {

struct Ring {
  std::mutex mutex;
  std::vector<TraceRecord> records;
  size_t first = 0, count = 0;
  uint64_t lost = 0;
};

Ring& ring() noexcept {
  static NoDestructor<Ring> instance;
  return *instance;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return ring().mutex; }>();

std::atomic<int (*)()> gil_held{nullptr};

}  // namespace

void trace_gil_probe(int (*has_gil)()) noexcept { gil_held.store(has_gil); }

bool trace_start(size_t capacity) noexcept {
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  try {
    r.records.assign(capacity ? capacity : 1, TraceRecord{});
  } catch (...) {  // no memory, or more than a vector can count
    return false;
  }
  r.first = r.count = r.lost = 0;
  tracing.store(true, std::memory_order_relaxed);
  return true;
}

void trace_stop() noexcept { tracing.store(false, std::memory_order_relaxed); }

size_t trace_take(TraceRecord* out, size_t dims, uint64_t* lost) noexcept {
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  size_t n = 0;
  for (; n < dims && r.count; n++, r.count--) {
    out[n] = r.records[r.first];
    r.first = (r.first + 1) % r.records.size();
  }
  *lost = r.lost;
  r.lost = 0;
  return n;
}

void trace_record(Event event, const Block* block, const void* managed) noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto has_gil = gil_held.load();
  TraceRecord record{event,
                     has_gil ? has_gil() : -1,
                     os::thread_number(),
                     static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec),
                     reinterpret_cast<uint64_t>(block),
                     reinterpret_cast<uint64_t>(managed),
                     block->bytes};
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  if (r.records.empty()) return;
  if (r.count == r.records.size()) {
    r.first = (r.first + 1) % r.records.size();
    r.count--;
    r.lost++;
  }
  r.records[(r.first + r.count++) % r.records.size()] = record;
}

}  // namespace dlt
