// SPDX-License-Identifier: Apache-2.0
// Device memory: idle lists by stream and size class over a pool of our own, and what happens at the last release.
#include "native/cuda/runtime/memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "native/cuda/runtime/memory_parts.h"
#include "native/os/constant.h"

namespace dlt::cuda {
namespace {

std::atomic<void* (*)() noexcept> leave_python{nullptr};
std::atomic<void (*)(void*) noexcept> enter_python{nullptr};

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
void reap_first() noexcept;

Status settle(Memory& memory) noexcept;

Status order_for_reuse(Memory& memory) noexcept {
  Stream& home = *memory.home;
  if (memory.sole.load(std::memory_order_relaxed) == &home) return success;
  DLT_TRY(settle(memory));
  for (int i = 0; i < memory.user_count; ++i) DLT_TRY(order_after(home, *memory.users[i]));
  return success;
}

void count_release(const Memory& memory) noexcept {
  std::lock_guard hold(memory.home->lock);
  --memory.home->live_blocks;
  memory.home->add_live(-static_cast<int64_t>(memory.asked));
}

// The peak of a device is counted without a number that all streams write: as long as each of them stays within its room,
// all of them stay below the peak.
[[gnu::noinline]] void count_peak(Device& device) noexcept {
  std::lock_guard<std::mutex> hold(device.peak_mutex);
  int64_t live = 0, streams = 0;
  size_t next = 0;
  for (; Stream* stream = next_stream(device, &next); ++streams) live += stream->live_bytes.load(std::memory_order_relaxed);
  device.peak_bytes = std::max(device.peak_bytes, live);
  next = 0;
  while (Stream* stream = next_stream(device, &next))
    stream->room.store(stream->live_bytes.load(std::memory_order_relaxed) + (device.peak_bytes - live) / streams,
                       std::memory_order_relaxed);
}

void push_idle(Memory* memory) noexcept {
  Stream& home = *memory->home;
  memory->sole.store(&home, std::memory_order_relaxed);
  clear_users(*memory);
  memory->writer = &home;
  bool keep;
  {
    std::lock_guard hold(home.lock);
    --home.live_blocks;
    home.add_live(-static_cast<int64_t>(memory->asked));
    keep = home.alive.load(std::memory_order_relaxed) &&
           static_cast<size_t>(home.cached_bytes) + memory->bytes <= cache_limit.load(std::memory_order_relaxed);
    if (keep) {
      home.cached_bytes += static_cast<int64_t>(memory->bytes);
      memory->next = home.idle[memory->size_class];
      home.idle[memory->size_class] = memory;
    }
  }
  if (keep && !home.owned.load(std::memory_order_relaxed)) [[likely]]
    return;
  const WithoutPython without;
  if (!keep) free_to_driver(memory);
  end_stream_if_unused(home);
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

// The smallest idle memory that serves, or null. The caller holds the stream's lock.
[[gnu::noinline]] Memory** best_fit(Stream& stream, size_t bytes) noexcept {
  Memory** best = nullptr;
  for (uint32_t c = Class::of(bytes); c <= last_class(bytes); ++c)
    for (Memory** link = &stream.idle[c]; *link; link = &(*link)->next)
      if (fits(**link, bytes) && (!best || (*link)->bytes < (*best)->bytes)) best = link;
  return best;
}

Memory* pop_idle(Stream& stream, uint32_t size_class, size_t bytes) noexcept {
  Memory* memory;
  bool is_beyond;
  {
    std::lock_guard hold(stream.lock);
    Memory** const link = bytes <= large_bytes ? &stream.idle[size_class] : best_fit(stream, bytes);
    if (!link || !*link) return nullptr;
    memory = *link;
    *link = memory->next;
    stream.cached_bytes -= static_cast<int64_t>(memory->bytes);
    memory->asked = bytes;
    ++stream.live_blocks;
    is_beyond = stream.add_live(static_cast<int64_t>(bytes));
  }
  if (is_beyond) [[unlikely]]
    count_peak(*stream.device);
  return memory;
}

CUresult take_from_driver(Stream& stream, size_t bytes, CUdeviceptr* pointer) noexcept {
  Current current(*stream.device);
  Beside beside;  // also on a stream that is not captured the driver allocates nothing beside a capture of this thread
  if (!stream.device->pool) return driver.cuMemAlloc_v2(pointer, bytes);
  stream.count_work();  // another stream may access the memory only after this one has reached this point
  return driver.cuMemAllocFromPoolAsync(pointer, bytes, stream.device->pool, stream.handle);
}

[[gnu::noinline]] Status out_of_memory(Stream& stream, size_t bytes, CUresult result) noexcept {
  size_t free = 0, total = 0;
  const int ordinal = stream.device->ordinal;
  if (!memory_info(ordinal, &free, &total).ok()) free = total = 0;
  Usage used{};
  if (!usage(ordinal, &used).ok()) used = {};
  return fail(Fault::memory,
              "allocate: expected %zu bytes on cuda:%d, got CUDA error %d: %zu of %zu bytes are free, tensors of this "
              "process hold %lld; free tensors, or use a smaller batch",
              bytes, ordinal, result, free, total, static_cast<long long>(used.live_bytes));
}

[[gnu::noinline]] Status refill(Stream& stream, uint32_t size_class, size_t bytes, Memory** out) noexcept {
  const WithoutPython without;
  reap();
  if ((*out = pop_idle(stream, size_class, bytes))) return success;
  size_t capacity = capacity_of(bytes);
  CUdeviceptr pointer = 0;
  CUresult result = take_from_driver(stream, capacity, &pointer);
  if (result == kOutOfMemory) {
    // All idle memory of the device, on any stream, then what the pool has cached.
    empty_cache(stream.device->ordinal);
    result = take_from_driver(stream, capacity, &pointer);
  }
  if (result == kOutOfMemory && bytes > large_bytes) {
    capacity = (bytes + Class::bytes(0) - 1) / Class::bytes(0) * Class::bytes(0);
    result = take_from_driver(stream, capacity, &pointer);
  }
  if (result == kOutOfMemory) return out_of_memory(stream, bytes, result);
  DLT_TRY(check(result, "cuMemAllocFromPoolAsync"));
  auto* memory = new (std::nothrow) Memory;
  if (!memory) {
    Current current(*stream.device);
    Beside beside;
    if (stream.device->pool) driver.cuMemFreeAsync(pointer, stream.handle);
    else driver.cuMemFree_v2(pointer);
    return fail(Fault::memory, "allocate: the host is out of memory");
  }
  memory->pointer = reinterpret_cast<void*>(pointer);
  memory->bytes = capacity;
  memory->device = stream.device;
  memory->home = memory->writer = &stream;
  memory->size_class = Class::of(capacity);
  memory->asked = bytes;
  memory->sole.store(&stream, std::memory_order_relaxed);
  bool is_beyond;
  {
    std::lock_guard hold(stream.lock);
    ++stream.driver_allocations;
    ++stream.live_blocks;
    is_beyond = stream.add_live(static_cast<int64_t>(bytes));
  }
  if (is_beyond) count_peak(*stream.device);
  *out = memory;
  return success;
}

bool is_user(const Memory& memory, const Stream& stream) noexcept {
  for (int i = 0; i < memory.user_count; ++i)
    if (memory.users[i] == &stream) return true;
  return false;
}

// The caller holds the memory's lock, or is the only one to know it.
void add_user(Memory& memory, Stream& stream) noexcept {
  memory.users[memory.user_count++] = &stream;
  count_naming(stream, 1);
}

// Replaces the single stream by a list.
void open_list(Memory& memory) noexcept {
  Stream* sole = memory.sole.load(std::memory_order_relaxed);
  if (!sole) return;
  add_user(memory, *sole);
  memory.writer = sole;
  memory.sole.store(nullptr, std::memory_order_relaxed);
}

// Makes a stream a user. Where the list is full, it has waited for the first one, whose entry it replaces. The caller holds the
// memory's lock.
void replace_user(Memory& memory, Stream& stream) noexcept {
  if (is_user(memory, stream)) return;
  if (memory.user_count < Memory::max_users) return add_user(memory, stream);
  count_naming(*memory.users[0], -1);
  memory.users[0] = &stream;
  count_naming(stream, 1);
}

// Work that consumers enqueued before they returned the memory comes before later work of the home stream.
Status settle(Memory& memory) noexcept {
  if (!memory.returned.load(std::memory_order_acquire)) return success;
  DLT_TRY(order_after_context(*memory.home));
  std::lock_guard hold(memory.lock);
  memory.returned.store(false, std::memory_order_release);
  // The consumer may have written. Home has waited for all other users too.
  memory.writer = memory.home;
  if (!memory.sole.load(std::memory_order_relaxed)) replace_user(memory, *memory.home);
  return success;
}

// Of an export to a stream of others: it holds a reference to the exported block.
void free_exported_block(Block* block) noexcept {
  auto* inner = static_cast<Block*>(block->owner);
  recycle(block);
  const WithoutPython without;
  end_export(*device_memory_of(inner));
  release(inner);
}

// Returns whether the engine may ask the stream as long as the memory lives.
bool is_lasting(Memory& memory, const Stream& stream) noexcept {
  if (stream.ours || stream.is_default()) return true;
  std::lock_guard hold(memory.lock);
  return memory.sole.load(std::memory_order_relaxed) == &stream || is_user(memory, stream);
}

}  // namespace

void set_python_lock(void* (*leave)() noexcept, void (*enter)(void*) noexcept) noexcept {
  enter_python = enter;
  leave_python = leave;
}

WithoutPython::WithoutPython() noexcept : state_(nullptr) {
  if (const auto leave = leave_python.load(std::memory_order_acquire)) state_ = leave();
}
WithoutPython::~WithoutPython() {
  if (state_) enter_python.load(std::memory_order_relaxed)(state_);
}

void count_naming(Stream& stream, int64_t change) noexcept {
  std::lock_guard hold(stream.lock);
  stream.named += change;
}

void end_export(Memory& memory) noexcept {
  memory.returned.store(true, std::memory_order_release);
  if (settle(memory).ok()) return;
  // Another time: every use looks at it.
  std::lock_guard hold(memory.lock);
  open_list(memory);
}

void clear_users(Memory& memory) noexcept {
  for (; memory.user_count > 0; --memory.user_count) {
    Stream& user = *memory.users[memory.user_count - 1];
    count_naming(user, -1);
    if (user.owned) end_stream_if_unused(user);
  }
}

void free_device_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  if (memory->sole.load(std::memory_order_relaxed) == memory->home) [[likely]]
    return push_idle(memory);
  const WithoutPython without;
  if (order_for_reuse(*memory).ok()) return push_idle(memory);
  if (!is_lost(*memory->device)) return waiters.add(memory);
  // Nothing will ever run there again, and nothing can be freed.
  count_release(*memory);
  clear_users(*memory);
  delete memory;
}

namespace {

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
  const CUresult state = driver.cuStreamQuery(handle_here(user));
  if (state != kNotReady) return state == kSuccess || is_lost(state) ? Use::over : Use::unknown;
  CUevent event = nullptr;
  if (!take_event(*user.device, &event).ok()) return Use::unknown;
  if (driver.cuEventRecord(event, handle_here(user)) != kSuccess) return give_event(*user.device, event), Use::unknown;
  memory.pending[memory.pending_count++] = {user.device, event};
  return Use::recorded;
}

}  // namespace

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

void free_to_driver(Memory* memory) noexcept {
  Stream& home = *memory->home;
  if (home.device->pool) {
    Capture capture;
    // A captured free would be a node of the graph, which takes memory of the graph only.
    if (capture_of(home, &capture) == kSuccess && capture.any()) {
      memory->unwanted = true;
      return waiters.add(memory);
    }
  }
  Current current(*home.device);
  Beside beside;
  if (home.device->pool) driver.cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(memory->pointer), handle_here(home));
  else driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory->pointer));
  delete memory;
}

namespace {

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

Status allocate(Stream& stream, size_t bytes, Block** out) noexcept {
  if (bytes > most_bytes) return fail(Fault::memory, "allocate: %zu bytes are more than any device has", bytes);
  if (!stream.is_legacy()) {
    bool capturing = false;
    DLT_TRY(is_capturing(stream, &capturing));
    if (capturing) [[unlikely]]
      return allocate_captured(stream, bytes, out);
  }
  const uint32_t size_class = Class::of(bytes);
  Memory* memory = pop_idle(stream, size_class, bytes);
  if (!memory) [[unlikely]]
    DLT_TRY(refill(stream, size_class, bytes, &memory));
  Block* block = adopt(memory->pointer, memory, free_device_block);
  if (!block) [[unlikely]] {
    push_idle(memory);
    return fail(Fault::memory, "allocate: the host is out of memory");
  }
  block->bytes = bytes;
  *out = block;
  return success;
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

Memory* memory_of(const Block* block) noexcept {
  if (!block) return nullptr;
  if (block->free == free_device_block || block->free == free_foreign_block || is_part(block))
    return static_cast<Memory*>(block->owner);
  return block->free == free_exported_block ? memory_of(static_cast<Block*>(block->owner)) : nullptr;
}

Status use_slow(Memory& memory, Stream& stream, bool write) noexcept {
  if (memory.device != stream.device && memory.kind != Memory::Kind::pinned && memory.kind != Memory::Kind::managed) {
    bool can = false;
    DLT_TRY(reach_peer(*stream.device, *memory.device, &can));
    if (!can)
      return fail(Fault::device, "cuda:%d cannot reach memory of cuda:%d: copy the tensor with .to(\"cuda:%d\") first",
                  stream.device->ordinal, memory.device->ordinal, stream.device->ordinal);
  }
  // To read is possible before what a consumer has read is over.
  if (const Status settled = settle(memory); write && !settled.ok()) return settled;
  Stream* writer;
  Stream* users[Memory::max_users];
  int count;
  bool known;
  {
    std::lock_guard hold(memory.lock);
    open_list(memory);
    writer = memory.writer;
    known = is_user(memory, stream);
    count = memory.user_count;
    for (int i = 0; i < count; ++i) users[i] = memory.users[i];
  }
  if (write)
    for (int i = 0; i < count; ++i) DLT_TRY(order_after(stream, *users[i]));
  else if (writer) DLT_TRY(order_after(stream, *writer));
  // The list is full: the new stream waits for the first one, whose entry it replaces.
  if (!known && count == Memory::max_users) DLT_TRY(order_after(stream, *users[0]));
  std::lock_guard hold(memory.lock);
  replace_user(memory, stream);
  if (write) memory.writer = &stream;
  return success;
}

Status read_on(Block* block, Stream& reader) noexcept { return use(block, reader, false); }

Status export_to(Block* block, Stream& consumer, Block** exported) noexcept {
  Memory* memory = device_memory_of(block);
  *exported = nullptr;
  if (!memory || memory->sole.load(std::memory_order_relaxed) == &consumer) return success;
  const WithoutPython without;
  if (is_lasting(*memory, consumer)) return use_slow(*memory, consumer, false);
  Stream* writer;
  {
    std::lock_guard hold(memory->lock);
    Stream* const sole = memory->sole.load(std::memory_order_relaxed);
    writer = sole ? sole : memory->writer;
  }
  if (writer) DLT_TRY(order_after(consumer, *writer));
  bool capturing = false;
  DLT_TRY(is_capturing(consumer, &capturing));
  if (capturing) return keep_for_graph(block, consumer);
  retain(block);
  if (!(*exported = adopt(block->data, block, free_exported_block))) {
    release(block);
    return fail(Fault::memory, "__dlpack__: the host is out of memory");
  }
  return success;
}

Block* take_back(Block* block) noexcept {
  if (block->free != free_exported_block) return block;
  auto* inner = static_cast<Block*>(block->owner);
  retain(inner);
  release(block);
  return inner;
}

Status wait_for_host(Block* block) noexcept {
  Memory* memory = device_memory_of(block);
  if (!memory) return success;
  DLT_TRY(settle(*memory));
  Stream* users[Memory::max_users];
  int count;
  {
    std::lock_guard hold(memory->lock);
    Stream* sole = memory->sole.load(std::memory_order_relaxed);
    users[0] = sole;
    count = sole ? 1 : memory->user_count;
    if (!sole)
      for (int i = 0; i < count; ++i) users[i] = memory->users[i];
  }
  for (int i = 0; i < count; ++i) DLT_TRY(synchronize_stream(users[i]));
  return success;
}

void drop_idle(Stream& stream) noexcept {
  for (uint32_t c = 0; c < size_classes; ++c) {
    Memory* list;
    {
      std::lock_guard hold(stream.lock);
      list = stream.idle[c];
      stream.idle[c] = nullptr;
      for (Memory* m = list; m; m = m->next) stream.cached_bytes -= static_cast<int64_t>(m->bytes);
    }
    while (list) {
      Memory* next = list->next;
      free_to_driver(list);
      list = next;
    }
  }
}

namespace {

// Returns the bytes. A stream without idle memory is not asked anything: it may be another library's, and destroyed. One
// that is being captured keeps its memory, since the graph may contain its addresses.
size_t drop_idle_of(Stream& stream) noexcept {
  size_t bytes;
  {
    std::lock_guard hold(stream.lock);
    bytes = static_cast<size_t>(stream.cached_bytes);
  }
  Capture capture;
  if (!bytes || capture_of(stream, &capture) != kSuccess || capture.any()) return 0;
  drop_idle(stream);
  // The pool can return to the system what the stream has freed by then. To wait for the whole device instead would spoil
  // every capture on it.
  Current current(*stream.device);
  Beside beside;
  driver.cuStreamSynchronize(handle_here(stream));
  return bytes;
}

}  // namespace

size_t empty_cache(int ordinal) noexcept {
  size_t freed = 0;
  reap();
  for (int d = 0; d < max_devices; ++d) {
    Device* device = devices[d].load(std::memory_order_acquire);
    if (!device || (ordinal >= 0 && d != ordinal)) continue;
    size_t next = 0;
    while (Stream* stream = next_stream(*device, &next)) freed += drop_idle_of(*stream);
    if (!device->pool) continue;
    Current current(*device);
    Beside beside;
    driver.cuMemPoolTrimTo(device->pool, 0);
  }
  freed += drop_idle_pinned();
  return freed;
}

Status reset_peak(int ordinal) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  {
    std::lock_guard<std::mutex> hold(device->peak_mutex);
    device->peak_bytes = 0;
  }
  count_peak(*device);
  return success;
}

void set_cache_limit(size_t bytes) noexcept {
  cache_limit.store(bytes, std::memory_order_relaxed);
  // Memory that is freed beyond it goes back to the system at the next synchronization, and other libraries can have it.
  uint64_t keep = bytes;
  for (const std::atomic<Device*>& device : devices)
    if (const Device* known = device.load(std::memory_order_acquire); known && known->pool)
      driver.cuMemPoolSetAttribute(known->pool, kPoolReleaseThreshold, &keep);
}

Status usage(int ordinal, Usage* out) noexcept {
  Device* device = nullptr;
  *out = {};
  DLT_TRY(device_of(ordinal, &device));
  size_t next = 0;
  while (Stream* stream = next_stream(*device, &next)) {
    std::lock_guard hold(stream->lock);
    out->live_blocks += stream->live_blocks;
    out->live_bytes += stream->live_bytes.load(std::memory_order_relaxed);
    out->cached_bytes += stream->cached_bytes;
    out->driver_allocations += stream->driver_allocations;
  }
  part_usage(ordinal, out);
  {
    std::lock_guard<std::mutex> hold(device->peak_mutex);
    out->peak_bytes = std::max(device->peak_bytes, out->live_bytes);
  }
  std::lock_guard<std::mutex> hold(waiters.mutex);
  out->waiting = waiters.count;
  return success;
}

}  // namespace dlt::cuda
