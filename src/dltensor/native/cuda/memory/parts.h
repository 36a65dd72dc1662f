// SPDX-License-Identifier: Apache-2.0
// Declarations shared by memory.cc (device memory), users.cc, waiting.cc, pinned.cc and capture.cc, and for these
// files only.
#pragma once
#include "native/cuda/memory/memory.h"

namespace dlt::cuda {

using Class = SizeClass<512>;
// The driver is asked for whole size classes, and for large memory in steps: of classes a quarter could be unused.
inline constexpr size_t large_bytes = size_t{8} << 20, large_step = size_t{2} << 20;
constexpr size_t capacity_of(size_t bytes) noexcept {
  return bytes <= large_bytes ? Class::bytes(Class::of(bytes)) : (bytes + large_step - 1) / large_step * large_step;
}
static_assert(Class::bytes(Class::of(large_bytes)) == large_bytes);
// Returns whether idle memory serves a request: of large memory a quarter more may be unused in place of a new allocation.
inline bool fits(const Memory& idle, size_t bytes) noexcept {
  return bytes <= large_bytes ? idle.size_class == Class::of(bytes) : idle.bytes >= bytes && idle.bytes - bytes <= bytes / 4;
}
// Size classes that have such memory: of large memory two.
constexpr uint32_t last_class(size_t bytes) noexcept { return Class::of(bytes) + (bytes > large_bytes); }
// Within this scope the thread does not hold Python's lock.
class WithoutPython {
 public:
  WithoutPython() noexcept;
  ~WithoutPython();
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  void* state_;
};

// memory.cc
void free_to_driver(Memory* memory) noexcept;
// Count the release of device memory; `push_idle` also puts it into the idle list of its home stream.
void count_release(const Memory& memory) noexcept;
void push_idle(Memory* memory) noexcept;

// users.cc
// The caller holds the memory's lock, or is the only one to know it.
void add_user(Memory& memory, Stream& stream) noexcept;
// Replaces the single stream by a list.
void open_list(Memory& memory) noexcept;
// The list of users becomes empty, and streams of others that nothing names any more are released, which may run Python code: no
// lock may be held.
void clear_users(Memory& memory) noexcept;
void count_naming(Stream& stream, int64_t change) noexcept;
// Orders work that consumers enqueued before they returned the memory before later work of the home stream.
Status settle(Memory& memory) noexcept;
// Orders all work with the memory before later work of the home stream.
Status order_for_reuse(Memory& memory) noexcept;
// A consumer has returned the memory: all that was enqueued by then, on any stream, comes before later work of the home stream.
void end_export(Memory& memory) noexcept;

// Waits on the host for all work with the memory that is enqueued now.
Status wait_for_users(Memory& memory) noexcept;

// A use of memory, without the block.
struct MemoryUse {
  Memory* memory;
  bool write;
};
// As use() of each of them, but that each stream is waited for once.
Status use_together(const std::vector<MemoryUse>& uses, Stream& stream) noexcept;

// waiting.cc
void free_foreign_block(Block* block) noexcept;
void wait_for_release(Memory* memory) noexcept;
int64_t waiting_count() noexcept;
// After the release of pinned or foreign memory: whether no stream uses it any more. Users whose work can be neither
// queried nor recorded now, because of a capture, stay in the list for another time. Completed events are returned.
bool is_idle(Memory& memory) noexcept;
void reap() noexcept;
// Memory of a graph that is gone. Work outside of the graph may still use it, and so may `home` from now on.
void give_back_captured(Memory* memory, Stream& home) noexcept;

// shared.cc
// Lets kernels of another device use memory that processes share; other memory is reached by its context or pool.
Status let_reach(Memory& memory, const Device& device) noexcept;

// pinned.cc
size_t drop_idle_pinned() noexcept;
// capture.cc
Status allocate_captured(Stream& stream, size_t bytes, Block** out) noexcept;
// The graph that `stream` is captured into holds a reference to the block until it is gone.
Status keep_for_graph(Block* block, Stream& stream) noexcept;
void reap_captures() noexcept;
// Returns whether the block was allocated in the capture, whose memory the list has, through captured_before; it is complete
// when the capture has ended, and lasts as long as the graph.
bool is_of_capture(const Block* block, const Device& device, uint64_t id) noexcept;
Memory* memory_of_capture(const Device& device, uint64_t id) noexcept;
// both
bool is_part(const Block* block) noexcept;
void part_usage(int device, Usage* out) noexcept;

bool is_pinned_or_managed(const Block* block) noexcept;
bool is_captured(const Block* block) noexcept;
int64_t captured_bytes(int device) noexcept;

}  // namespace dlt::cuda
