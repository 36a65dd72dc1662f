// SPDX-License-Identifier: Apache-2.0
// The allocator: size classes, a list of free blocks per thread, a shared store behind it, huge pages for large
// blocks. Fresh pages are what a result costs most (writing one is several times slower than writing memory that
// was in use before), so memory is kept for reuse, within a bound.
#include "native/memory/block.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "native/memory/size_classes.h"
#include "native/memory/trace.h"

namespace dlt {
namespace {

#if defined(__SANITIZE_ADDRESS__)
// A sanitizer sees nothing of memory that is recycled behind its back.
constexpr bool kReuse = false;
#else
constexpr bool kReuse = true;
#endif

constexpr size_t kAlignment = 256;
using Class = SizeClass<kAlignment>;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{1} << 20;       // from here on blocks are mapped, with huge pages
constexpr uint32_t kThreadClasses = 28;          // up to 64 KiB: these have lists per thread
constexpr uint32_t kThreadListBytes = 256 << 10; // what one such list may hold
constexpr uint32_t kHeaders = 256;               // spare headers for adopted memory, per thread

uint32_t thread_list_limit(uint32_t size_class) noexcept {
  size_t fit = kThreadListBytes / Class::bytes(size_class);
  return static_cast<uint32_t>(fit < 4 ? 4 : fit > 64 ? 64 : fit);
}

// Written by one thread only, read by memory_stats() from others: atomic, but never a locked instruction.
template <class T>
struct Counter {
  std::atomic<T> value{0};
  T get() const noexcept { return value.load(std::memory_order_relaxed); }
  void add(T n) noexcept { value.store(get() + n, std::memory_order_relaxed); }
};

struct ThreadCache {
  Block* lists[kThreadClasses] = {};
  Counter<uint32_t> counts[kThreadClasses];
  Block* headers = nullptr;
  uint32_t header_count = 0;
  Counter<int64_t> live_blocks, live_bytes;
  ThreadCache* next = nullptr;
};

struct Store {
  std::mutex mutex;
  Block* lists[size_classes] = {};
  size_t cached = 0;
  size_t limit = 0;
  ThreadCache* threads = nullptr;
  int64_t retired_blocks = 0, retired_bytes = 0;  // the counters of threads that have ended
};

// Never destroyed: deleters run until the very end of the process.
Store& store() noexcept {
  static Store* const instance = new Store;
  return *instance;
}

thread_local ThreadCache* thread_cache __attribute__((tls_model("initial-exec"))) = nullptr;
pthread_key_t thread_key;

void free_block(Block* block) noexcept;

void* map_large(size_t bytes) noexcept {
  // Over-map, then cut to a huge-page boundary: only an aligned range gets huge pages from its first byte.
  size_t span = bytes + kHugePage;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (start + kHugePage - 1) & ~(kHugePage - 1);
  if (aligned != start) munmap(raw, aligned - start);
  uintptr_t end = start + span, used = aligned + bytes;
  if (end != used) munmap(reinterpret_cast<void*>(used), end - used);
  void* data = reinterpret_cast<void*>(aligned);
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

Block* make(uint32_t size_class, size_t bytes) noexcept {
  auto* block = static_cast<Block*>(malloc(sizeof(Block)));
  if (!block) return nullptr;
  size_t size = kReuse ? Class::bytes(size_class) : (bytes ? bytes : 1);
  void* data = nullptr;
  if (size >= kLarge && kReuse)
    data = map_large(size);
  else if (posix_memalign(&data, kAlignment, size) != 0)
    data = nullptr;
  if (!data) {
    ::free(block);
    return nullptr;
  }
  new (block) Block{};
  block->data = data;
  block->size_class = size_class;
  block->free = free_block;
  return block;
}

void unmake(Block* block) noexcept {
  size_t size = Class::bytes(block->size_class);
  if (size >= kLarge && kReuse)
    munmap(block->data, size);
  else
    ::free(block->data);
  ::free(block);
}

Block* chain_out(Store& s, uint32_t size_class) noexcept {
  Block* block = s.lists[size_class];
  if (block) {
    s.lists[size_class] = block->next;
    s.cached -= Class::bytes(size_class);
  }
  return block;
}

Block* take_from_store(uint32_t size_class) noexcept {
  Store& s = store();
  std::lock_guard lock(s.mutex);
  return chain_out(s, size_class);
}

// Makes room by letting go of the largest idle blocks of other classes first: the class that comes in is in use.
void give_to_store(Block* block) noexcept {
  size_t size = Class::bytes(block->size_class);
  Block* unwanted = nullptr;
  {
    Store& s = store();
    std::lock_guard lock(s.mutex);
    for (uint32_t other = size_classes; s.cached + size > s.limit && other-- > 0;) {
      while (other != block->size_class && s.lists[other] && s.cached + size > s.limit) {
        Block* idle = chain_out(s, other);
        idle->next = unwanted;
        unwanted = idle;
      }
    }
    if (s.cached + size > s.limit) {
      block->next = unwanted;
      unwanted = block;
    } else {
      block->next = s.lists[block->size_class];
      s.lists[block->size_class] = block;
      s.cached += size;
    }
  }
  while (unwanted) {
    Block* next = unwanted->next;
    unmake(unwanted);
    unwanted = next;
  }
}

void drop_thread_lists(ThreadCache* cache) noexcept {
  for (uint32_t c = 0; c < kThreadClasses; c++) {
    while (Block* block = cache->lists[c]) {
      cache->lists[c] = block->next;
      unmake(block);
    }
    cache->counts[c].value.store(0, std::memory_order_relaxed);
  }
  while (Block* header = cache->headers) {
    cache->headers = header->next;
    ::free(header);
  }
  cache->header_count = 0;
}

void end_thread(void* argument) noexcept {
  auto* cache = static_cast<ThreadCache*>(argument);
  drop_thread_lists(cache);
  Store& s = store();
  {
    std::lock_guard lock(s.mutex);
    for (ThreadCache** link = &s.threads; *link; link = &(*link)->next)
      if (*link == cache) {
        *link = cache->next;
        break;
      }
    s.retired_blocks += cache->live_blocks.get();
    s.retired_bytes += cache->live_bytes.get();
  }
  thread_cache = nullptr;
  delete cache;
}

size_t default_limit() noexcept {
  if (const char* text = getenv("DLTENSOR_CACHE_BYTES")) return strtoull(text, nullptr, 10);
  size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t most = size_t{4} << 30;
  return memory / 8 < most ? memory / 8 : most;
}

void set_up() noexcept {
  store().limit = default_limit();
  pthread_key_create(&thread_key, end_thread);
  // A child must not inherit a lock that another thread of the parent held.
  pthread_atfork([] { store().mutex.lock(); }, [] { store().mutex.unlock(); }, [] { store().mutex.unlock(); });
}

[[gnu::noinline]] ThreadCache* begin_thread() noexcept {
  static std::once_flag once;
  std::call_once(once, set_up);
  auto* cache = new (std::nothrow) ThreadCache;
  if (!cache) return nullptr;
  Store& s = store();
  std::lock_guard lock(s.mutex);
  cache->next = s.threads;
  s.threads = cache;
  pthread_setspecific(thread_key, cache);
  return thread_cache = cache;
}

inline ThreadCache* here() noexcept {
  ThreadCache* cache = thread_cache;
  return cache ? cache : begin_thread();
}

void free_block(Block* block) noexcept {
  trace(Event::freed, block);
  ThreadCache* cache = here();
  if (!cache) return unmake(block);
  cache->live_blocks.add(-1);
  cache->live_bytes.add(-static_cast<int64_t>(block->bytes));
  if (!kReuse) return unmake(block);
  uint32_t c = block->size_class;
  if (c < kThreadClasses && cache->counts[c].get() < thread_list_limit(c)) {
    block->next = cache->lists[c];
    cache->lists[c] = block;
    cache->counts[c].add(1);
    return;
  }
  give_to_store(block);
}

[[gnu::noinline]] Block* refill(uint32_t size_class, size_t bytes) noexcept {
  Block* block = kReuse ? take_from_store(size_class) : nullptr;
  if (!block) block = make(size_class, bytes);
  if (!block && empty_cache() > 0) block = make(size_class, bytes);
  return block;
}

}  // namespace

Block* allocate(size_t bytes) noexcept {
  if (bytes > most_bytes) return nullptr;
  ThreadCache* cache = here();
  if (!cache) return nullptr;
  uint32_t c = Class::of(bytes);
  Block* block;
  if (c < kThreadClasses && (block = cache->lists[c])) {
    cache->lists[c] = block->next;
    cache->counts[c].add(static_cast<uint32_t>(-1));
  } else if (!(block = refill(c, bytes))) {
    return nullptr;
  }
  block->references.store(1, std::memory_order_relaxed);
  block->bytes = bytes;
  cache->live_blocks.add(1);
  cache->live_bytes.add(static_cast<int64_t>(bytes));
  trace(Event::allocated, block);
  return block;
}

Block* adopt(void* data, void* owner, void (*free)(Block*) noexcept) noexcept {
  ThreadCache* cache = here();
  if (!cache) return nullptr;
  Block* block = cache->headers;
  if (block) {
    cache->headers = block->next;
    cache->header_count--;
  } else if (!(block = static_cast<Block*>(malloc(sizeof(Block))))) {
    return nullptr;
  } else {
    new (block) Block{};
  }
  block->references.store(1, std::memory_order_relaxed);
  block->data = data;
  block->bytes = 0;
  block->free = free;
  block->owner = owner;
  cache->live_blocks.add(1);
  trace(Event::adopted, block);
  return block;
}

void recycle(Block* block) noexcept {
  trace(Event::recycled, block);
  ThreadCache* cache = here();
  if (!cache) return ::free(block);
  cache->live_blocks.add(-1);
  if (!kReuse || cache->header_count >= kHeaders) return ::free(block);
  block->next = cache->headers;
  cache->headers = block;
  cache->header_count++;
}

size_t empty_cache() noexcept {
  ThreadCache* cache = here();
  size_t freed = 0;
  if (cache) {
    for (uint32_t c = 0; c < kThreadClasses; c++) freed += cache->counts[c].get() * Class::bytes(c);
    drop_thread_lists(cache);
  }
  Block* idle = nullptr;
  {
    Store& s = store();
    std::lock_guard lock(s.mutex);
    freed += s.cached;
    for (uint32_t c = 0; c < size_classes; c++)
      while (Block* block = chain_out(s, c)) {
        block->next = idle;
        idle = block;
      }
  }
  while (idle) {
    Block* next = idle->next;
    unmake(idle);
    idle = next;
  }
  return freed;
}

void set_cache_limit(size_t bytes) noexcept {
  here();
  Store& s = store();
  bool shrunk;
  {
    std::lock_guard lock(s.mutex);
    s.limit = bytes;
    shrunk = s.cached > bytes;
  }
  if (shrunk) empty_cache();
}

MemoryStats memory_stats() noexcept {
  here();
  Store& s = store();
  std::lock_guard lock(s.mutex);
  MemoryStats stats{s.retired_blocks, s.retired_bytes, static_cast<int64_t>(s.cached)};
  for (ThreadCache* cache = s.threads; cache; cache = cache->next) {
    stats.live_blocks += cache->live_blocks.get();
    stats.live_bytes += cache->live_bytes.get();
    for (uint32_t c = 0; c < kThreadClasses; c++)
      stats.cached_bytes += static_cast<int64_t>(cache->counts[c].get() * Class::bytes(c));
  }
  return stats;
}

}  // namespace dlt
