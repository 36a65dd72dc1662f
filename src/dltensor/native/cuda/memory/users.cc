// SPDX-License-Identifier: Apache-2.0
// The streams that use memory: the order of their work at each use, export and reuse.
#include <algorithm>

#include "native/cuda/memory/parts.h"
#include "native/cuda/memory/recording.h"

namespace dlt::cuda {
namespace {

bool is_user(const Memory& memory, const Stream& stream) noexcept {
  for (int i = 0; i < memory.user_count; ++i)
    if (memory.users[i] == &stream) return true;
  return false;
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

// Releases an export to a stream of others, which holds a reference to the exported block.
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

void add_user(Memory& memory, Stream& stream) noexcept {
  memory.users[memory.user_count++] = &stream;
  count_naming(stream, 1);
}

void open_list(Memory& memory) noexcept {
  Stream* sole = memory.sole.load(std::memory_order_relaxed);
  if (!sole) return;
  add_user(memory, *sole);
  memory.writer = sole;
  memory.sole.store(nullptr, std::memory_order_relaxed);
}

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

Status order_for_reuse(Memory& memory) noexcept {
  Stream& home = *memory.home;
  if (memory.sole.load(std::memory_order_relaxed) == &home) return success;
  DLT_TRY(settle(memory));
  for (int i = 0; i < memory.user_count; ++i) DLT_TRY(order_after(home, *memory.users[i]));
  return success;
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

Memory* memory_of(const Block* block) noexcept {
  if (!block) return nullptr;
  if (block->free == free_device_block || block->free == free_foreign_block || is_part(block))
    return static_cast<Memory*>(block->owner);
  return block->free == free_exported_block ? memory_of(static_cast<Block*>(block->owner)) : nullptr;
}

namespace {

// Calls `wait` with each stream whose work comes before a use on `stream`, on which nothing else is enqueued.
template <class Wait>
Status wait_before_use(Memory& memory, Stream& stream, bool write, Wait&& wait) noexcept {
  if (memory.device != stream.device && memory.kind != Memory::Kind::pinned && memory.kind != Memory::Kind::managed) {
    bool can = false;
    DLT_TRY(reach_peer(*stream.device, *memory.device, &can));
    if (!can)
      return fail(Fault::device, "cuda:%d cannot reach memory of cuda:%d: copy the tensor with .to(\"cuda:%d\") first",
                  stream.device->ordinal, memory.device->ordinal, stream.device->ordinal);
    DLT_TRY(let_reach(memory, *stream.device));
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
    for (int i = 0; i < count; ++i) DLT_TRY(wait(*users[i]));
  else if (writer) DLT_TRY(wait(*writer));
  // The list is full: the new stream waits for the first one, whose entry it replaces.
  return !known && count == Memory::max_users ? wait(*users[0]) : success;
}

void mark_use(Memory& memory, Stream& stream, bool write) noexcept {
  std::lock_guard hold(memory.lock);
  open_list(memory);
  replace_user(memory, stream);
  if (write) memory.writer = &stream;
}

}  // namespace

Status use_slow(Memory& memory, Stream& stream, bool write) noexcept {
  DLT_TRY(wait_before_use(memory, stream, write, [&](Stream& on) { return order_after(stream, on); }));
  mark_use(memory, stream, write);
  return success;
}

Status wait_for_users(Memory& memory) noexcept {
  DLT_TRY(settle(memory));
  Stream* users[Memory::max_users];
  int count;
  {
    std::lock_guard hold(memory.lock);
    open_list(memory);
    count = memory.user_count;
    for (int i = 0; i < count; ++i) users[i] = memory.users[i];
  }
  for (int i = 0; i < count; ++i) DLT_TRY(synchronize_stream(users[i]));
  return success;
}

Status use_together(const std::vector<MemoryUse>& uses, Stream& stream) noexcept {
  std::vector<Stream*> waited;
  for (const MemoryUse& one : uses) {
    const auto wait = [&](Stream& on) noexcept {
      if (std::find(waited.begin(), waited.end(), &on) != waited.end()) return success;
      DLT_TRY(order_after(stream, on));
      return guarded("launch", [&] { return waited.push_back(&on), success; });
    };
    if (one.memory->sole.load(std::memory_order_relaxed) != &stream)
      DLT_TRY(wait_before_use(*one.memory, stream, one.write, wait));
  }
  for (const MemoryUse& one : uses)
    if (one.memory->sole.load(std::memory_order_relaxed) != &stream) mark_use(*one.memory, stream, one.write);
  return success;
}

Status read_on(Block* block, Stream& reader) noexcept { return use(block, reader, false); }

Status export_to(Block* block, Stream& consumer, Block** exported) noexcept {
  Memory* memory = device_memory_of(block);
  *exported = nullptr;
  if (memory && consumer.recording.load(std::memory_order_relaxed)) DLT_TRY(record_export(block, consumer));
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

}  // namespace dlt::cuda
