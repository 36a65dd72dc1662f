// SPDX-License-Identifier: Apache-2.0
// Free blocks of one thread: their size classes, the lengths of their lists, and how other threads empty them.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "native/memory/block.h"
#include "native/memory/size_classes.h"

namespace dlt {

#if defined(__SANITIZE_ADDRESS__)
// A sanitizer cannot check recycled memory.
inline constexpr bool kReuse = false;
#else
inline constexpr bool kReuse = true;
#endif

inline constexpr size_t kAlignment = 256;
using Class = SizeClass<kAlignment>;
inline constexpr size_t kLarge = size_t{1} << 20;       // from here on blocks are mapped, with huge pages
inline constexpr uint32_t kThreadClasses = 28;          // up to 64 KiB: these have lists per thread
inline constexpr uint32_t kThreadListBytes = 256 << 10; // bytes that one such list may hold
inline constexpr uint32_t kHeaders = 256;               // spare headers for adopted memory, per thread
// A thread gets lists of full length, or of a fourth or a sixteenth of it where the bound allows no more.
inline constexpr int kScales[] = {0, 2, 4};

constexpr uint8_t list_length(uint32_t size_class, int scale) noexcept {
  const size_t fit = kThreadListBytes / Class::bytes(size_class);
  return static_cast<uint8_t>((fit < 4 ? 4 : fit > 64 ? 64 : fit) >> scale);
}

constexpr size_t bytes_in_lists(int scale) noexcept {
  size_t bytes = 0;
  for (uint32_t c = 0; c < kThreadClasses; c++) bytes += list_length(c, scale) * Class::bytes(c);
  return bytes;
}

// Written by one thread only, read by memory_stats() from others: atomic, but never a locked instruction.
template <class T>
struct Counter {
  std::atomic<T> value{0};
  T get() const noexcept { return value.load(std::memory_order_relaxed); }
  void add(T n) noexcept { value.store(static_cast<T>(get() + n), std::memory_order_relaxed); }
  void clear() noexcept { value.store(0, std::memory_order_relaxed); }
};

// Free blocks and headers of one thread. Other threads may empty the lists, for instance of idle threads, without
// locked instructions on the owner's path: the owner sets `busy` and then checks whether the lists are closed; the
// others close them, issue a process-wide barrier, and wait until the owner is not busy. See take_all_lists(). Closed
// lists accept nothing (their lengths are 0) and return nothing (`closed`).
struct ThreadCache {
  std::atomic<bool> busy{false}, closed{true};
  std::atomic<uint8_t> lengths[kThreadClasses] = {};
  std::atomic<uint32_t> header_length{0};
  Counter<uint8_t> counts[kThreadClasses];
  Counter<uint32_t> header_count;
  Block* lists[kThreadClasses] = {};
  Block* headers = nullptr;
  Counter<int64_t> live_blocks, live_bytes;
  size_t granted = 0;  // bytes of the bound that these lists may hold
  ThreadCache* next = nullptr;

  // Around the owner's work on the lists, a few instructions. The processor may do the first load of them before the
  // store here: the process-wide barrier of the thread that closes the lists prevents that.
  void begin() noexcept {
    busy.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void end() noexcept { busy.store(false, std::memory_order_release); }

  Block* take(uint32_t c) noexcept {
    begin();
    Block* block = nullptr;
    if (!closed.load(std::memory_order_acquire) && (block = lists[c])) {
      lists[c] = block->next;
      counts[c].add(static_cast<uint8_t>(-1));
    }
    end();
    return block;
  }
  bool give(Block* block, uint32_t c) noexcept {
    begin();
    const bool fits = counts[c].get() < lengths[c].load(std::memory_order_acquire);
    if (fits) {
      block->next = lists[c];
      lists[c] = block;
      counts[c].add(1);
    }
    end();
    return fits;
  }
  Block* take_header() noexcept {
    begin();
    Block* header = nullptr;
    if (!closed.load(std::memory_order_acquire) && (header = headers)) {
      headers = header->next;
      header_count.add(static_cast<uint32_t>(-1));
    }
    end();
    return header;
  }
  bool give_header(Block* header) noexcept {
    begin();
    const bool fits = header_count.get() < header_length.load(std::memory_order_acquire);
    if (fits) {
      header->next = headers;
      headers = header;
      header_count.add(1);
    }
    end();
    return fits;
  }
  void close() noexcept {
    closed.store(true, std::memory_order_relaxed);
    for (auto& length : lengths) length.store(0, std::memory_order_relaxed);
    header_length.store(0, std::memory_order_relaxed);
  }
  size_t cached() const noexcept {
    size_t bytes = 0;
    for (uint32_t c = 0; c < kThreadClasses; c++) bytes += counts[c].get() * Class::bytes(c);
    return bytes;
  }
  void forget_lists() noexcept {
    for (uint32_t c = 0; c < kThreadClasses; c++) {
      lists[c] = nullptr;
      counts[c].clear();
    }
    headers = nullptr;
    header_count.clear();
  }
};

}  // namespace dlt
