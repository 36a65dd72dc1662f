// SPDX-License-Identifier: Apache-2.0
// Shared memory by memfd_create(). Other systems have no sealed files without a name: every call fails with ENOSYS there.
#include "native/memory/shared.h"

#include <errno.h>

#if defined(__linux__)
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "native/fork.h"
#include "native/os/constant.h"
#include "native/os/pages.h"

namespace dlt {
namespace {

constexpr char magic[8] = {'d', 'l', 't', 'e', 'n', 's', 'o', 'r'};
constexpr size_t front = 4096;  // before the data
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int most_blocks_kept = 16;

// The first page of the memory, which all its processes see. Who has received it holds a shared lock (flock) of it.
struct Front {
  char magic[8];
  unsigned char key[shared_key_bytes];
  uint64_t length;  // of all pages
  std::atomic<uint64_t> sent, received;
};
static_assert(sizeof(Front) <= front && std::atomic<uint64_t>::is_always_lock_free);

struct Memory {
  int file;
  bool is_ours;  // made by this process, or by one that it was forked from
  uint64_t forks;
  Front* base;
  size_t length;
  Memory* next;
};

struct Pool {
  std::mutex mutex;
  Memory* first = nullptr;
  size_t bytes = 0;
  int count = 0;
  uint64_t forks = 0;  // memory that was there at a fork may be in use in the other process
};
DLT_CONSTINIT Pool pool;

size_t most_kept() noexcept {
  static const size_t part = most_backed_bytes() / 16;
  return part < size_t{1} << 30 ? part : size_t{1} << 30;
}

void unmap(Memory* memory) noexcept {
  munmap(memory->base, memory->length);
  close(memory->file);
  ::free(memory);
}

size_t unmap_all(Memory* memory) noexcept {
  size_t bytes = 0;
  while (memory) {
    Memory* next = memory->next;
    bytes += memory->length;
    unmap(memory);
    memory = next;
  }
  return bytes;
}

Memory* take_pool() noexcept {
  Memory* all = pool.first;
  pool.first = nullptr;
  pool.bytes = 0;
  pool.count = 0;
  return all;
}

[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers pool_over_fork{
    [] { pool.mutex.lock(); },
    [] {
      ++pool.forks;
      pool.mutex.unlock();
    },
    [] {
      ++pool.forks;
      unmap_all(take_pool());  // the parent goes on using it
      pool.mutex.unlock();
    }};

bool new_key(Front* to) noexcept { return getrandom(to->key, sizeof to->key, 0) == static_cast<ssize_t>(sizeof to->key); }

// Returns whether no other process holds the memory, or may still receive it. Its key is new then, so that a message that is
// read twice does not find it.
bool is_free_again(const Memory* memory) noexcept {
  Front* base = memory->base;
  const uint64_t sent = base->sent.load(std::memory_order_acquire);
  if (sent != base->received.load(std::memory_order_acquire)) return false;
  if (sent == 0) return true;
  if (flock(memory->file, LOCK_EX | LOCK_NB) != 0) return false;
  const bool renewed = new_key(base);
  base->sent.store(0, std::memory_order_relaxed);
  base->received.store(0, std::memory_order_release);
  flock(memory->file, LOCK_UN);
  return renewed;
}

// The oldest of what is kept, until `more` bytes fit; the caller has the lock and frees them after releasing it.
Memory* make_room(size_t more) noexcept {
  Memory* unwanted = nullptr;
  while (pool.first && (pool.count >= most_blocks_kept || pool.bytes + more > most_kept())) {
    Memory** last = &pool.first;
    while ((*last)->next) last = &(*last)->next;
    Memory* oldest = *last;
    *last = nullptr;
    pool.bytes -= oldest->length;
    --pool.count;
    oldest->next = unwanted;
    unwanted = oldest;
  }
  return unwanted;
}

// Memory that another process still holds is kept too: it will be free again when it is looked for.
void free_shared(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  Memory* unwanted = nullptr;
  {
    std::lock_guard lock(pool.mutex);
    if (memory->is_ours && memory->forks == pool.forks && memory->length <= most_kept()) {
      unwanted = make_room(memory->length);
      memory->next = pool.first;
      pool.first = memory;
      pool.bytes += memory->length;
      ++pool.count;
      memory = nullptr;
    }
  }
  unmap_all(unwanted);
  if (memory) unmap(memory);
}

// Kept memory of at most a quarter more than is needed, that no other process holds.
Memory* take_kept(size_t length) noexcept {
  std::lock_guard lock(pool.mutex);
  for (Memory** link = &pool.first; *link; link = &(*link)->next) {
    Memory* memory = *link;
    if (memory->length < length || memory->length - length > length / 4 || !is_free_again(memory)) continue;
    *link = memory->next;
    pool.bytes -= memory->length;
    --pool.count;
    return memory;
  }
  return nullptr;
}

Block* block_over(Memory* memory) noexcept {
  Block* block = adopt(reinterpret_cast<char*>(memory->base) + front, memory, free_shared);
  if (!block) {
    unmap(memory);
    errno = ENOMEM;
    return nullptr;
  }
  return block;
}

int create_file() noexcept {
#ifdef MFD_NOEXEC_SEAL
  const int file = memfd_create("dltensor", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (file >= 0 || errno != EINVAL) return file;
#endif
  return memfd_create("dltensor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool set_length(int file, size_t length) noexcept {
  int failed;
  do failed = ftruncate(file, static_cast<off_t>(length));
  while (failed && errno == EINTR);
  return !failed;
}

// Pages are reserved now: without memory this is an error, not a signal at the first write.
bool reserve_pages(int file, size_t length) noexcept {
  int failed;
  do failed = fallocate(file, 0, 0, static_cast<off_t>(length));
  while (failed && errno == EINTR);
  return !failed && fcntl(file, F_ADD_SEALS, seals) == 0;
}

Memory* map_memory(int file, size_t length) noexcept {
  void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* memory = static_cast<Memory*>(malloc(sizeof(Memory)));
  if (!memory) {
    munmap(base, length);
    errno = ENOMEM;
    return nullptr;
  }
  return new (memory) Memory{file, false, 0, static_cast<Front*>(base), length, nullptr};
}

// Frees it and keeps errno.
Memory* unmake(Memory* memory) noexcept {
  const int error = errno;
  unmap(memory);
  errno = error;
  return nullptr;
}

Memory* make_memory(size_t length) noexcept {
  const int file = create_file();
  if (file < 0) return nullptr;
  Memory* memory = set_length(file, length) ? map_memory(file, length) : nullptr;
  if (memory) {
    if (!reserve_pages(file, length)) return unmake(memory);
    Front* base = new (memory->base) Front{};
    memcpy(base->magic, magic, sizeof magic);
    base->length = length;
    memory->is_ours = true;
    {
      std::lock_guard lock(pool.mutex);
      memory->forks = pool.forks;
    }
    return new_key(base) ? memory : unmake(memory);
  }
  const int error = errno;
  close(file);
  errno = error;
  return nullptr;
}

// The header of the file is read once, and compared with the file. Errors of checks are EBADF.
Memory* map_received(int file, const unsigned char* key) noexcept {
  struct stat info{};
  const int has = fcntl(file, F_GET_SEALS);
  if (fstat(file, &info) != 0 || has < 0 || (has & seals) != seals || info.st_size <= static_cast<off_t>(front)) {
    errno = EBADF;
    return nullptr;
  }
  const auto length = static_cast<size_t>(info.st_size);
  Memory* memory = map_memory(file, length);
  if (!memory) return nullptr;
  const Front* base = memory->base;
  if (memcmp(base->magic, magic, sizeof magic) == 0 && memcmp(base->key, key, sizeof base->key) == 0 && base->length == length)
    return memory;
  munmap(memory->base, length);
  ::free(memory);
  errno = EBADF;
  return nullptr;
}

// A description of our own for the file, which alone can have a lock of our own.
int reopened(int file) noexcept {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return open(path, O_RDWR | O_CLOEXEC);
}

Memory* memory_of(const Block* block) noexcept { return static_cast<Memory*>(block->owner); }

}  // namespace

Block* allocate_shared(size_t bytes) noexcept {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t large = size_t{1} << 28;  // smaller ones are not worth asking the kernel
  if (bytes > SIZE_MAX / 2 || !can_be_backed(bytes) || (bytes >= large && bytes > available_bytes())) {
    errno = ENOMEM;
    return nullptr;
  }
  const size_t length = (bytes + front + page - 1) & ~(page - 1);
  Memory* memory = take_kept(length);
  if (!memory) memory = make_memory(length);
  if (!memory && (errno == EMFILE || errno == ENOMEM || errno == ENOSPC) && empty_shared_cache() > 0)
    memory = make_memory(length);
  return memory ? block_over(memory) : nullptr;
}

Block* receive_shared(int file, bool is_own, const unsigned char* key) noexcept {
  // The lock first: from then on the maker does not reuse the memory. Without a lock it never will, since it does not
  // count as received.
  const int own = is_own ? file : reopened(file);
  const bool is_locked = own >= 0 && flock(own, LOCK_SH) == 0;
  if (own >= 0 && own != file) {
    close(file);
    file = own;
  }
  Memory* memory = map_received(file, key);
  if (!memory) {
    const int error = errno;
    close(file);
    errno = error;
    return nullptr;
  }
  if (is_locked) memory->base->received.fetch_add(1, std::memory_order_acq_rel);
  return block_over(memory);
}

bool is_shared_block(const Block* block) noexcept { return block->free == free_shared; }
int shared_file(const Block* block) noexcept { return memory_of(block)->file; }
const unsigned char* shared_key(const Block* block) noexcept { return memory_of(block)->base->key; }

void mark_sent(Block* block) noexcept { memory_of(block)->base->sent.fetch_add(1, std::memory_order_acq_rel); }

void forget_sent(Block* block) noexcept {
  Front* base = memory_of(block)->base;
  // Not the number of messages: memory that was never sent keeps its key, which they have.
  base->received.store(base->sent.load(std::memory_order_acquire), std::memory_order_release);
}

bool is_received(const Block* block) noexcept {
  const Front* base = memory_of(block)->base;
  return base->received.load(std::memory_order_acquire) >= base->sent.load(std::memory_order_acquire);
}

size_t empty_shared_cache() noexcept {
  Memory* all;
  {
    std::lock_guard lock(pool.mutex);
    all = take_pool();
  }
  return unmap_all(all);
}

size_t cached_shared_bytes() noexcept {
  std::lock_guard lock(pool.mutex);
  return pool.bytes;
}

}  // namespace dlt

#else

namespace dlt {

Block* allocate_shared(size_t) noexcept {
  errno = ENOSYS;
  return nullptr;
}
Block* receive_shared(int, bool, const unsigned char*) noexcept {
  errno = ENOSYS;
  return nullptr;
}
bool is_shared_block(const Block*) noexcept { return false; }
int shared_file(const Block*) noexcept { return -1; }
const unsigned char* shared_key(const Block*) noexcept { return nullptr; }
void mark_sent(Block*) noexcept {}
void forget_sent(Block*) noexcept {}
bool is_received(const Block*) noexcept { return false; }
size_t empty_shared_cache() noexcept { return 0; }
size_t cached_shared_bytes() noexcept { return 0; }

}  // namespace dlt

#endif
