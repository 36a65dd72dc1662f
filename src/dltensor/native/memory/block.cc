// SPDX-License-Identifier: Apache-2.0
// The allocator: size classes, a list of free blocks per thread, a shared store behind it, huge pages for large
// blocks. Page faults are the largest cost of a result (writing a fresh page is several times slower than writing
// reused memory), so memory is kept for reuse, within a bound that includes the lists of all threads.
#include "native/memory/block.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "native/environment.h"
#include "native/fork.h"
#include "native/memory/thread_cache.h"
#include "native/memory/trace.h"
#include "native/os/barrier.h"
#include "native/os/constant.h"
#include "native/os/pages.h"

namespace dlt {
namespace {

// All threads that have a cache. Its lock is taken before the store's.
struct Threads {
  std::mutex mutex;
  ThreadCache* first = nullptr;
  bool have_lists = false;  // a system without process_barrier() has none
  int64_t retired_blocks = 0, retired_bytes = 0;  // the counters of threads that have ended
};
DLT_CONSTINIT Threads threads;

struct Store {
  std::mutex mutex;
  Block* lists[size_classes] = {};
  size_t cached = 0;
};
DLT_CONSTINIT Store store;

// The bound, and how much of it the lists of threads may fill; the store has the rest.
DLT_CONSTINIT std::atomic<size_t> limit{0}, granted{0};
size_t store_limit() noexcept {
  const size_t all = limit.load(std::memory_order_relaxed), lists = granted.load(std::memory_order_relaxed);
  return all > lists ? all - lists : 0;
}

thread_local ThreadCache* thread_cache __attribute__((tls_model("initial-exec"))) = nullptr;
pthread_key_t thread_key;
bool has_thread_key = false;

// ---- blocks

void free_block(Block* block) noexcept;

// Blocks that the store could never keep are mapped in their exact size, and unmapped when they are freed.
void free_single_block(Block* block) noexcept;

Block* create(uint32_t size_class, size_t bytes) noexcept {
  const bool single = bytes >= kLarge && Class::bytes(size_class) > limit.load(std::memory_order_relaxed);
  const size_t size = kReuse && !single ? Class::bytes(size_class) : (bytes ? bytes : 1);
  if (size >= kLarge && !can_be_backed(size)) return nullptr;
  auto* block = static_cast<Block*>(malloc(sizeof(Block)));
  if (!block) return nullptr;
  void* data = nullptr;
  if (size >= kLarge && kReuse) data = map_pages(size);
  else data = allocate_aligned(size, kAlignment);
  if (!data) {
    ::free(block);
    return nullptr;
  }
  new (block) Block{};
  block->data = data;
  block->size_class = size_class;
  block->free = kReuse && single ? free_single_block : free_block;
  return block;
}

void destroy(Block* block) noexcept {
  const size_t size = Class::bytes(block->size_class);
  if (size >= kLarge && kReuse) unmap_pages(block->data, size);
  else free_aligned(block->data);
  ::free(block);
}

void destroy_all(Block* block) noexcept {
  while (block) {
    Block* next = block->next;
    destroy(block);
    block = next;
  }
}

// ---- the store

Block* chain_out(Store& s, uint32_t size_class) noexcept {
  Block* block = s.lists[size_class];
  if (block) {
    s.lists[size_class] = block->next;
    s.cached -= Class::bytes(size_class);
  }
  return block;
}

Block* take_from_store(uint32_t size_class) noexcept {
  std::lock_guard lock(store.mutex);
  return chain_out(store, size_class);
}

// Removes idle blocks until `more` bytes fit, the largest first and none of class `spared`; the caller has the lock and
// frees them after releasing it.
Block* make_room(size_t more, uint32_t spared) noexcept {
  Block* unwanted = nullptr;
  const size_t most = store_limit();
  for (uint32_t other = size_classes; store.cached + more > most && other-- > 0;)
    while (other != spared && store.lists[other] && store.cached + more > most) {
      Block* idle = chain_out(store, other);
      idle->next = unwanted;
      unwanted = idle;
    }
  return unwanted;
}

// The class of the new block is in use, so blocks of other classes are removed first.
void give_to_store(Block* block) noexcept {
  const size_t size = Class::bytes(block->size_class);
  Block* unwanted;
  {
    std::lock_guard lock(store.mutex);
    unwanted = make_room(size, block->size_class);
    if (store.cached + size > store_limit()) {
      block->next = unwanted;
      unwanted = block;
    } else {
      block->next = store.lists[block->size_class];
      store.lists[block->size_class] = block;
      store.cached += size;
    }
  }
  destroy_all(unwanted);
}

void shrink_store() noexcept {
  Block* unwanted;
  {
    std::lock_guard lock(store.mutex);
    unwanted = make_room(0, size_classes);
  }
  destroy_all(unwanted);
}

// ---- the lists of threads

// Half of the bound at most is for them. The caller has the lock of `threads`; the lists are closed and empty.
void open_lists(ThreadCache& cache) noexcept {
  granted.fetch_sub(cache.granted, std::memory_order_relaxed);
  cache.granted = 0;
  if (!threads.have_lists) return;
  const size_t most = limit.load(std::memory_order_relaxed) / 2, used = granted.load(std::memory_order_relaxed);
  for (const int scale : kScales) {
    const size_t wanted = bytes_in_lists(scale);
    if (used + wanted > most) continue;
    cache.granted = wanted;
    granted.fetch_add(wanted, std::memory_order_relaxed);
    for (uint32_t c = 0; c < kThreadClasses; c++) cache.lengths[c].store(list_length(c, scale), std::memory_order_release);
    cache.header_length.store(kHeaders, std::memory_order_release);
    cache.closed.store(false, std::memory_order_release);
    return;
  }
}

struct CachedMemory {
  Block *blocks = nullptr, *headers = nullptr;
  size_t bytes = 0;

  static void join(Block* list, Block** to) noexcept {
    while (list) {
      Block* next = list->next;
      list->next = *to;
      *to = list;
      list = next;
    }
  }
  void add(ThreadCache& cache) noexcept {
    bytes += cache.cached();
    for (Block* list : cache.lists) join(list, &blocks);
    join(cache.headers, &headers);
    cache.forget_lists();
  }
  void free() noexcept {
    destroy_all(blocks);
    while (headers) {
      Block* next = headers->next;
      ::free(headers);
      headers = next;
    }
  }
};

// The owner is busy for a few instructions: this waits only when the owner has been preempted.
void wait_until_idle(const ThreadCache& cache) noexcept {
  for (int turn = 0; cache.busy.load(std::memory_order_acquire); ++turn) {
    const timespec pause{0, turn < 100 ? 1000 : 1000000};
    nanosleep(&pause, nullptr);
  }
}

// The memory that all threads keep, sleeping ones included. Their lists are closed then; the caller has the lock of
// `threads`.
CachedMemory take_all_lists() noexcept {
  CachedMemory taken;
  if (!threads.have_lists) return taken;
  for (ThreadCache* cache = threads.first; cache; cache = cache->next) cache->close();
  // The barrier failed although it was registered: the lists stay closed, and each thread keeps its memory until it
  // ends.
  if (!process_barrier()) threads.have_lists = false;
  for (ThreadCache* cache = threads.first; cache; cache = cache->next) {
    if (!threads.have_lists && cache != thread_cache) continue;
    wait_until_idle(*cache);
    taken.add(*cache);
  }
  return taken;
}

void end_thread(void* argument) noexcept {
  auto* cache = static_cast<ThreadCache*>(argument);
  thread_cache = nullptr;
  {
    std::lock_guard lock(threads.mutex);
    for (ThreadCache** link = &threads.first; *link; link = &(*link)->next)
      if (*link == cache) {
        *link = cache->next;
        break;
      }
    threads.retired_blocks += cache->live_blocks.get();
    threads.retired_bytes += cache->live_bytes.get();
    granted.fetch_sub(cache->granted, std::memory_order_relaxed);
  }
  CachedMemory taken;
  taken.add(*cache);
  taken.free();
  delete cache;
}

size_t default_limit() noexcept {
  const int64_t wish = environment_number("DLTENSOR_CACHE_BYTES", 0, INT64_MAX, -1);
  if (wish >= 0) return static_cast<size_t>(wish);
  size_t memory = physical_bytes(), most = size_t{4} << 30;
  return memory / 8 < most ? memory / 8 : most;
}

// A thread that was busy with its list does not exist in the child: the contents of the list are leaked.
void after_fork_in_child() noexcept {
  for (ThreadCache* cache = threads.first; cache; cache = cache->next)
    if (cache->busy.load(std::memory_order_relaxed)) {
      cache->forget_lists();
      cache->busy.store(false, std::memory_order_relaxed);
    }
  threads.mutex.unlock();
}

struct SetUp {
  SetUp() noexcept {
    limit.store(default_limit(), std::memory_order_relaxed);
    threads.have_lists = kReuse && has_process_barrier();
    has_thread_key = pthread_key_create(&thread_key, end_thread) == 0;
  }
};
[[gnu::init_priority(fork_order_innermost)]] const SetUp set_up;
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers store_over_fork =
    hold_over_fork<[]() -> std::mutex& { return store.mutex; }>();
[[gnu::init_priority(fork_order_threads)]] const ForkHandlers threads_over_fork{
    [] { threads.mutex.lock(); }, [] { threads.mutex.unlock(); }, [] { after_fork_in_child(); }};

[[gnu::noinline]] ThreadCache* begin_thread() noexcept {
  auto* cache = new (std::nothrow) ThreadCache;
  if (!cache) return nullptr;
  {
    std::lock_guard lock(threads.mutex);
    cache->next = threads.first;
    threads.first = cache;
    open_lists(*cache);
  }
  // Without a key the thread's end is not noticed, and its memory is only freed by empty_cache().
  if (has_thread_key) pthread_setspecific(thread_key, cache);
  thread_cache = cache;
  shrink_store();
  return cache;
}

inline ThreadCache* own_cache() noexcept {
  ThreadCache* cache = thread_cache;
  return cache ? cache : begin_thread();
}

// The cache of this thread, or null when its allocation fails.
inline ThreadCache* count_free(Block* block) noexcept {
  trace(Event::freed, block);
  ThreadCache* cache = own_cache();
  if (!cache) return nullptr;
  cache->live_blocks.add(-1);
  cache->live_bytes.add(-static_cast<int64_t>(block->bytes));
  return cache;
}

void free_block(Block* block) noexcept {
  ThreadCache* cache = count_free(block);
  if (!cache || !kReuse) return destroy(block);
  const uint32_t c = block->size_class;
  if (c >= kThreadClasses || !cache->give(block, c)) give_to_store(block);
}

void free_single_block(Block* block) noexcept {
  count_free(block);
  unmap_pages(block->data, block->bytes);
  ::free(block);
}

[[gnu::noinline]] Block* refill(uint32_t size_class, size_t bytes, bool* clear) noexcept {
  Block* block = kReuse ? take_from_store(size_class) : nullptr;
  if (block) return block;
  block = create(size_class, bytes);
  if (!block && empty_cache() > 0) block = create(size_class, bytes);
  if (clear) *clear = kReuse && bytes >= kLarge;  // pages of the system's
  return block;
}

inline Block* take_or_create(size_t bytes, bool* clear) noexcept {
  if (bytes > most_bytes) return nullptr;
  ThreadCache* cache = own_cache();
  if (!cache) return nullptr;
  const uint32_t c = Class::of(bytes);
  Block* block = c < kThreadClasses ? cache->take(c) : nullptr;
  if (!block && !(block = refill(c, bytes, clear))) return nullptr;
  block->references.store(1, std::memory_order_relaxed);
  block->bytes = bytes;
  cache->live_blocks.add(1);
  cache->live_bytes.add(static_cast<int64_t>(bytes));
  trace(Event::allocated, block);
  return block;
}

}  // namespace

Block* allocate(size_t bytes) noexcept { return take_or_create(bytes, nullptr); }

Block* allocate_clear(size_t bytes, bool* clear) noexcept {
  *clear = false;
  return take_or_create(bytes, clear);
}

Block* adopt(void* data, void* owner, void (*free)(Block*) noexcept) noexcept {
  ThreadCache* cache = own_cache();
  if (!cache) return nullptr;
  Block* block = cache->take_header();
  if (!block) {
    if (!(block = static_cast<Block*>(malloc(sizeof(Block))))) return nullptr;
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
  ThreadCache* cache = own_cache();
  if (cache) cache->live_blocks.add(-1);
  if (!cache || !kReuse || !cache->give_header(block)) ::free(block);
}

size_t empty_cache() noexcept {
  own_cache();
  CachedMemory taken;
  {
    std::lock_guard lock(threads.mutex);
    taken = take_all_lists();
    for (ThreadCache* cache = threads.first; cache; cache = cache->next) open_lists(*cache);
    std::lock_guard also(store.mutex);
    taken.bytes += store.cached;
    for (uint32_t c = 0; c < size_classes; c++)
      while (Block* block = chain_out(store, c)) {
        block->next = taken.blocks;
        taken.blocks = block;
      }
  }
  taken.free();
  return taken.bytes;
}

void set_cache_limit(size_t bytes) noexcept {
  own_cache();
  CachedMemory taken;
  {
    std::lock_guard lock(threads.mutex);
    taken = take_all_lists();
    for (ThreadCache* cache = threads.first; cache; cache = cache->next) {
      granted.fetch_sub(cache->granted, std::memory_order_relaxed);
      cache->granted = 0;
    }
    limit.store(bytes, std::memory_order_relaxed);
    for (ThreadCache* cache = threads.first; cache; cache = cache->next) open_lists(*cache);
  }
  taken.free();
  shrink_store();
}

MemoryStats memory_stats() noexcept {
  own_cache();
  std::lock_guard lock(threads.mutex);
  MemoryStats stats{threads.retired_blocks, threads.retired_bytes, 0};
  for (ThreadCache* cache = threads.first; cache; cache = cache->next) {
    stats.live_blocks += cache->live_blocks.get();
    stats.live_bytes += cache->live_bytes.get();
    stats.cached_bytes += static_cast<int64_t>(cache->cached());
  }
  std::lock_guard also(store.mutex);
  stats.cached_bytes += static_cast<int64_t>(store.cached);
  return stats;
}

}  // namespace dlt
