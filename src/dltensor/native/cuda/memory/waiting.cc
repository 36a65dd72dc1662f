// SPDX-License-Identifier: Apache-2.0
// Released memory that waits: until its stream is no longer captured, or until work of ours with foreign memory is done.
#include <algorithm>
#include <new>
#include <utility>

#include "native/cuda/memory/parts.h"
#include "native/os/constant.h"

namespace dlt::cuda {
namespace {

// Memory that could not be freed at its release (its stream was being captured) and foreign memory that is still in
// use, in order of release. A list through Memory::next: a release allocates nothing, so that it cannot fail.
struct Waiters {
  std::mutex mutex;
  Memory* first = nullptr;
  Memory* last = nullptr;
  std::atomic<int64_t> count{0};  // written under the mutex
  int64_t scan_at = least_scanned;  // so many are looked through, should the first be stuck
  static constexpr int64_t least_scanned = 32;
  std::atomic<uint32_t> chances{0};

  void add(Memory* memory) noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    memory->next = nullptr;
    (first ? last->next : first) = memory;
    last = memory;
    ++count;
  }
  void put_back(Memory* memory) noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    memory->next = first;
    if (!first) last = memory;
    first = memory;
    ++count;
  }
  // The memory that was released first, or null.
  Memory* take() noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    Memory* const memory = first;
    if (memory) first = memory->next, --count;
    return memory;
  }
  Memory* take_all() noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    count = 0;
    return std::exchange(first, nullptr);
  }
  bool is_long() noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    return count >= scan_at;
  }
  void scanned() noexcept {
    std::lock_guard<std::mutex> hold(mutex);
    scan_at = std::max(least_scanned, 2 * count);
  }
  // Looked at without the lock by imports and by releases of idle memory, which ask the driver only where something waits, and
  // then every 16th time: a release of memory in use asks each time.
  bool is_due() noexcept {
    return count.load(std::memory_order_relaxed) != 0 && chances.fetch_add(1, std::memory_order_relaxed) % 16 == 0;
  }
};
DLT_CONSTINIT Waiters waiters;

enum class Use { over, recorded, unknown };

// Finds whether a stream may still use memory that was released; records an event behind its work if so.
Use use_by(Memory& memory, Stream& user) noexcept {
  Capture capture;
  const CUresult asked = capture_of(user, &capture);
  if (asked != kSuccess) return is_lost(asked) || !user.ours ? Use::over : Use::unknown;
  // To query or record the work before the capture would spoil the capture, or become a part of it.
  if (capture.any()) return Use::unknown;
  Current current(*user.device);
  Beside beside;
  const LastingHandle handle(user);
  const CUresult state = driver.cuStreamQuery(handle);
  if (state != kNotReady) return state == kSuccess || is_lost(state) ? Use::over : Use::unknown;
  CUevent event = nullptr;
  if (!take_event(*user.device, &event).ok()) return Use::unknown;
  if (driver.cuEventRecord(event, handle) != kSuccess) return give_event(*user.device, event), Use::unknown;
  memory.pending[memory.pending_count++] = {user.device, event};
  return Use::recorded;
}

enum class Wait { on, reuse, give_back, forget };

// Returns the state of memory that waited.
Wait wait_of(Memory& memory) noexcept {
  if (memory.unwanted) {
    Capture capture;
    return capture_of(*memory.home, &capture) == kSuccess && capture.any() ? Wait::on : Wait::give_back;
  }
  if (memory.kind == Memory::Kind::foreign) return is_idle(memory) ? Wait::give_back : Wait::on;
  if (order_for_reuse(memory).ok()) return memory.kind == Memory::Kind::captured ? Wait::give_back : Wait::reuse;
  return is_lost(*memory.device) ? Wait::forget : Wait::on;
}

void end_wait(Memory* memory, Wait wait) noexcept {
  if (memory->kind == Memory::Kind::foreign) {
    memory->deleter(memory->owner);
    delete memory;
  } else if (wait == Wait::give_back) {
    clear_users(*memory);
    free_to_driver(memory);
  } else if (wait == Wait::reuse) {
    push_idle(memory);
  } else {
    if (memory->kind == Memory::Kind::device) count_release(*memory);
    clear_users(*memory);
    delete memory;
  }
}

// Releases what waits in its order, as far as it is done: a few questions at imports and at releases of foreign memory, so that
// memory returns to other libraries in programs that allocate nothing.
void reap_first() noexcept {
  if (waiters.is_long()) return give_back_finished();
  while (Memory* const memory = waiters.take()) {
    const Wait wait = wait_of(*memory);
    if (wait == Wait::on) return waiters.put_back(memory);
    end_wait(memory, wait);
  }
}

}  // namespace

void wait_for_release(Memory* memory) noexcept { waiters.add(memory); }

int64_t waiting_count() noexcept { return waiters.count.load(std::memory_order_relaxed); }

bool is_idle(Memory& memory) noexcept {
  if (!settle(memory).ok() && !is_lost(*memory.device)) return false;
  if (Stream* sole = memory.sole.load(std::memory_order_relaxed)) open_list(memory), memory.writer = sole;
  int kept = 0;
  for (int i = 0; i < memory.user_count; ++i) {
    Stream& user = *memory.users[i];
    if (use_by(memory, user) == Use::unknown) {
      memory.users[kept++] = &user;
      continue;
    }
    count_naming(user, -1);  // its end is seen to by reap()
  }
  memory.user_count = kept;
  if (memory.pending_count == 0) return kept == 0;
  Beside beside;
  int left = 0;
  for (int i = 0; i < memory.pending_count; ++i) {
    const Memory::Pending one = memory.pending[i];
    Current current(*one.device);
    if (driver.cuEventQuery(one.event) == kNotReady) memory.pending[left++] = one;
    else give_event(*one.device, one.event);
  }
  memory.pending_count = left;
  return left == 0 && kept == 0;
}

void free_foreign_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  {
    const WithoutPython without;
    // The producer may reuse its memory as soon as its deleter runs, so the deleter must not run while a kernel of ours
    // is reading.
    if (!is_idle(*memory)) {
      waiters.add(memory);
      return reap_first();
    }
    if (waiters.is_due()) reap_first();
  }
  memory->deleter(memory->owner);
  delete memory;
}

void give_back_captured(Memory* memory, Stream& home) noexcept {
  {
    std::lock_guard hold(memory->lock);
    open_list(*memory);
    count_naming(*memory->home, -1);  // of the capture
    memory->home = &home;
  }
  if (const Wait wait = wait_of(*memory); wait == Wait::on) waiters.add(memory);
  else end_wait(memory, wait);
}

void give_back_finished() noexcept {
  // Taken out of the list first: a deleter, and the end of a stream, may come back here.
  Memory* waiting = waiters.take_all();
  while (Memory* memory = waiting) {
    waiting = memory->next;
    if (const Wait wait = wait_of(*memory); wait == Wait::on) waiters.add(memory);
    else end_wait(memory, wait);
  }
  waiters.scanned();
}

void reap() noexcept {
  give_back_finished();
  for (std::atomic<Device*>& device : devices) {
    const Device* known = device.load(std::memory_order_acquire);
    size_t next = 0;
    while (Stream* stream = known ? next_stream(*known, &next) : nullptr)
      if (stream->owned) end_stream_if_unused(*stream);
  }
  reap_captures();
}

Status adopt_foreign(void* data, Stream& stream, void* owner, void (*deleter)(void*) noexcept, Block** out) noexcept {
  if (waiters.is_due()) {
    const WithoutPython without;
    reap_first();
  }
  auto* memory = new (std::nothrow) Memory;
  Block* block = memory ? adopt(data, memory, free_foreign_block) : nullptr;
  if (!block) {
    delete memory;
    return fail(Fault::memory, "adopt: the host is out of memory");
  }
  memory->pointer = data;
  memory->kind = Memory::Kind::foreign;
  memory->device = stream.device;
  memory->home = memory->writer = &stream;
  memory->owner = owner;
  memory->deleter = deleter;
  // Always a list: at the release every stream in it is queried.
  add_user(*memory, stream);
  *out = block;
  return success;
}

}  // namespace dlt::cuda
