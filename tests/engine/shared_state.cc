// SPDX-License-Identifier: Apache-2.0
// Everything in the engine that threads share, from many threads at once: memory, exported tensors, jobs, the trace,
// arrays behind the vtable and their names. Made to run under ThreadSanitizer; checks what must hold in the other
// builds too.
//
//   shared_state mix ROUNDS     "nothing shared went wrong"
//   shared_state empty ROUNDS   one thread empties the lists that another one is working on
//   shared_state idle           memory that waits in threads that do nothing
//   shared_state fork           a fork while the very first job of the process takes memory
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "dltensor/array.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"
#include "native/memory/managed.h"
#include "native/memory/trace.h"
#include "native/opaque/handles.h"
#include "native/opaque/deferred_release.h"

namespace {

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      fflush(stdout);                                                \
      _exit(1);                                                      \
    }                                                                \
  } while (0)

struct Random {
  uint64_t state;
  uint32_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  }
  uint32_t below(uint32_t limit) { return (*this)() % limit; }
};

// ---- memory: allocated by one thread, released by another

constexpr int places = 64;
std::atomic<dlt::Block*> shelf[places];
std::atomic<DLManagedTensorVersioned*> exported[places];

size_t some_size(Random& random) {
  const uint32_t kind = random.below(16);
  return kind < 10 ? random.below(3000) : kind < 15 ? random.below(70000) : (1u << 20) + random.below(2u << 20);
}

void mark(dlt::Block* block, unsigned char value) {
  if (!block->bytes) return;
  auto* bytes = static_cast<unsigned char*>(block->data);
  bytes[0] = bytes[block->bytes - 1] = value;
}

// Two owners of one block would see each other's marks.
void check_and_release(dlt::Block* block) {
  if (!block) return;
  if (block->bytes) {
    auto* bytes = static_cast<unsigned char*>(block->data);
    CHECK(bytes[0] == bytes[block->bytes - 1]);
    mark(block, 0);
  }
  dlt::release(block);
}

void take_memory(Random& random) {
  dlt::Block* block = dlt::allocate(some_size(random));
  CHECK(block != nullptr);
  mark(block, static_cast<unsigned char>(random()));
  if (random.below(4) == 0) {
    dlt::retain(block);
    check_and_release(block);
    mark(block, 7);
  }
  check_and_release(shelf[random.below(places)].exchange(block));
}

void take_small(Random& random) {
  dlt::Block* blocks[12];
  const size_t size = random.below(2000);
  for (auto*& block : blocks) {
    block = dlt::allocate(size);
    mark(block, static_cast<unsigned char>(random()));
  }
  for (auto* block : blocks) check_and_release(block);
}

std::atomic<int64_t> owners{0};

void adopt_memory(Random&) {
  static char memory[16];
  owners.fetch_add(1);
  dlt::Block* block = dlt::adopt(memory, &owners, [](dlt::Block* its) noexcept {
    static_cast<std::atomic<int64_t>*>(its->owner)->fetch_sub(1);
    dlt::recycle(its);
  });
  CHECK(block != nullptr);
  dlt::release(block);
}

void export_memory(Random& random) {
  dlt::Block* block = dlt::allocate(64);
  int64_t shape[2] = {4, 4}, strides[2] = {4, 1};
  const DLTensor view{block->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLManagedTensorVersioned* tensor = dlt::export_managed(view, block, 0);
  dlt::release(block);
  CHECK(tensor != nullptr && dlt::block_of(tensor) == block && tensor->dl_tensor.shape[1] == 4);
  if (auto* other = exported[random.below(places)].exchange(tensor)) other->deleter(other);
}

void govern_memory(Random& random) {
  const size_t limits[] = {0, 1u << 20, 64u << 20, size_t{4} << 30};
  switch (random.below(4)) {
    case 0: dlt::set_cache_limit(limits[random.below(4)]); break;
    case 1: dlt::empty_cache(); break;
    default: CHECK(dlt::memory_stats().cached_bytes >= 0);
  }
}

// ---- jobs

struct Job {
  std::vector<int> seen;
  bool nested;
};

void work(void* context, int64_t index) {
  auto& job = *static_cast<Job*>(context);
  dlt::Block* block = dlt::allocate(static_cast<size_t>(100 + index * 300 % 5000));
  mark(block, static_cast<unsigned char>(index));
  ++job.seen[static_cast<size_t>(index)];
  CHECK(dlt::lane() >= 0 && dlt::lane() < dlt::most_threads);
  if (job.nested) {
    Job inner{std::vector<int>(3), false};
    dlt::parallel(3, work, &inner);
    for (int count : inner.seen) CHECK(count == 1);
  }
  check_and_release(block);
}

void run_job(Random& random) {
  Job job{std::vector<int>(1 + random.below(60)), random.below(4) == 0};
  dlt::parallel(static_cast<int64_t>(job.seen.size()), work, &job);
  for (int count : job.seen) CHECK(count == 1);
}

void change_threads(Random& random) { dlt::set_num_threads(1 + static_cast<int>(random.below(6))); }

// ---- the trace

void use_trace(Random& random) {
  dlt::TraceRecord records[64];
  uint64_t lost = 0;
  switch (random.below(4)) {
    case 0: CHECK(dlt::trace_start(1 + random.below(500))); break;
    case 1: dlt::trace_stop(); break;
    default: CHECK(dlt::trace_take(records, 64, &lost) <= 64);
  }
}

// ---- arrays behind the vtable

dlt_array_t shared;

dlt_array_t new_array() {
  const uintptr_t shape[3] = {3, 5, 4};
  dlt_array_t made;
  CHECK(dlt_array_create(shape, 3, {kDLFloat, 64, 1}, &made) == DLT_SUCCESS);
  return made;
}

void ask_shared(Random& random) {
  const uintptr_t* shape = nullptr;
  uintptr_t count = 0;
  DLManagedTensorVersioned* tensor = nullptr;
  dlt_array_t made;
  switch (random.below(4)) {
    case 0: CHECK(shared.swap_axes(shared.ptr, 0, 2) == DLT_SUCCESS); break;
    case 1: CHECK(shared.shape(shared.ptr, &shape, &count) == DLT_SUCCESS && count == 3 && shape[1] == 5); break;
    case 2:
      CHECK(shared.as_dlpack(shared.ptr, &tensor, {kDLCPU, 0}, nullptr, {1, 3}) == DLT_SUCCESS);
      tensor->deleter(tensor);
      break;
    default:
      CHECK(shared.copy(shared.ptr, {kDLCPU, 0}, &made) == DLT_SUCCESS);
      made.destroy(made.ptr);
      made.destroy(made.ptr);  // once more does nothing
  }
}

void make_arrays(Random& random) {
  dlt_array_t made = new_array();
  const uintptr_t shape[2] = {15, 4};
  if (random.below(2)) CHECK(made.reshape(made.ptr, shape, 2) == DLT_SUCCESS);
  made.destroy(made.ptr);
  DLDevice device;
  CHECK(made.device(made.ptr, &device) != DLT_SUCCESS);
}

void name_origins(Random& random) {
  char name[32], back[32];
  dlt_data_origin_t origin = 0, again = 0;
  snprintf(name, sizeof name, "origin %u", random.below(200));
  CHECK(dlt_register_data_origin(name, &origin) == DLT_SUCCESS && dlt_register_data_origin(name, &again) == DLT_SUCCESS);
  CHECK(origin == again && dlt_get_data_origin(origin, back, sizeof back) == DLT_SUCCESS && !strcmp(name, back));
}

std::atomic<int64_t> deferred_things{0};

void defer_things(Random& random) {
  if (random.below(3)) {
    deferred_things.fetch_add(1);
    dlt::opaque::defer(&deferred_things);
  } else {
    dlt::opaque::drain([](void* thing) noexcept { static_cast<std::atomic<int64_t>*>(thing)->fetch_sub(1); });
  }
}

// ---- all of it

void start_a_thread(Random& random) {
  std::thread([seed = random()] {
    Random own{seed};
    for (int k = 0; k < 5; ++k) take_memory(own);
    adopt_memory(own);
  }).join();
}

struct Action {
  void (*act)(Random&);
  int weight;  // of 100
};
constexpr Action actions[] = {{take_memory, 22},  {take_small, 22}, {adopt_memory, 10},  {export_memory, 10},
                              {govern_memory, 4}, {run_job, 6},     {change_threads, 1}, {use_trace, 4},
                              {ask_shared, 8},    {make_arrays, 5}, {name_origins, 4},   {defer_things, 3},
                              {start_a_thread, 1}};

void mix(uint64_t seed, int rounds) {
  Random random{seed * 0x9E3779B97F4A7C15u};
  for (int round = 0; round < rounds; ++round) {
    int at = static_cast<int>(random.below(100));
    for (const Action& action : actions)
      if ((at -= action.weight) < 0) {
        action.act(random);
        break;
      }
  }
}

void run_mix(int rounds) {
  shared = new_array();
  std::vector<std::thread> threads;
  for (uint64_t k = 1; k <= 8; ++k) threads.emplace_back(mix, k, rounds);
  for (auto& thread : threads) thread.join();
  for (auto& place : shelf) check_and_release(place.exchange(nullptr));
  for (auto& place : exported)
    if (auto* tensor = place.exchange(nullptr)) tensor->deleter(tensor);
  dlt::opaque::drain([](void* thing) noexcept { static_cast<std::atomic<int64_t>*>(thing)->fetch_sub(1); });
  shared.destroy(shared.ptr);
  dlt::set_num_threads(1);
  dlt::set_cache_limit(0);
  const dlt::MemoryStats stats = dlt::memory_stats();
  CHECK(stats.live_blocks == 0 && stats.live_bytes == 0 && stats.cached_bytes == 0);
  CHECK(owners.load() == 0 && deferred_things.load() == 0 && dlt::opaque::live_handles() == 0);
  puts("nothing shared went wrong");
}

// As many meetings of the two as there can be: without process_barrier() the owner would take a block that is being
// given back. (ThreadSanitizer cannot see that: its atomics are stronger than the processor's.)
void run_empty(int rounds) {
  std::atomic<bool> done{false};
  std::thread owner([&] {
    Random random{5};
    while (!done.load(std::memory_order_relaxed)) {
      take_small(random);
      adopt_memory(random);
    }
  });
  for (int round = 0; round < rounds; ++round) dlt::empty_cache();
  done.store(true);
  owner.join();
  CHECK(dlt::memory_stats().live_blocks == 0);
  puts("nothing shared went wrong");
}

// Threads that keep memory and then do nothing: what they keep is reached from here.
void run_idle() {
  constexpr int count = 20;
  std::atomic<int> ready{0};
  std::atomic<bool> go_on{false}, more{false};
  std::vector<std::thread> threads;
  const auto fill = [](uint64_t seed) {
    Random random{seed};
    std::vector<dlt::Block*> blocks;
    for (int k = 0; k < 100; ++k) blocks.push_back(dlt::allocate(random.below(60000)));
    for (auto* block : blocks) dlt::release(block);
  };
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      fill(uint64_t(k));
      ready.fetch_add(1);
      while (!more.load()) std::this_thread::yield();
      fill(uint64_t(k));
      ready.fetch_add(1);
      while (!go_on.load()) std::this_thread::yield();
    });
  while (ready.load() < count) std::this_thread::yield();
  const int64_t cached = dlt::memory_stats().cached_bytes;
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(cached > count * 100000);
#endif
  CHECK(int64_t(dlt::empty_cache()) == cached && dlt::memory_stats().cached_bytes == 0);
  dlt::set_cache_limit(8 << 20);
  more.store(true);
  while (ready.load() < 2 * count) std::this_thread::yield();
  CHECK(dlt::memory_stats().cached_bytes <= 8 << 20);
  dlt::set_cache_limit(0);
  CHECK(dlt::memory_stats().cached_bytes == 0);
  dlt::release(dlt::allocate(100));
  CHECK(dlt::memory_stats().cached_bytes == 0);
  go_on.store(true);
  for (auto& thread : threads) thread.join();
  puts("nothing shared went wrong");
}

// Nothing has taken memory or run a job before. While one thread runs the first job, whose threads take memory, this
// one forks; the child does the same again. No thread starts or ends during the fork: both call AddressSanitizer's
// allocator, which, unlike malloc, stays locked in a child that is forked meanwhile.
void run_fork() {
  static constexpr int threads = 4;
  std::atomic<int> begun{0};
  std::atomic<bool> forked{false};
  dlt::set_num_threads(threads);
  std::thread runner([&] {
    dlt::parallel(
        threads,
        [](void* context, int64_t index) {
          auto& begun = *static_cast<std::atomic<int>*>(context);
          begun.fetch_add(1);
          while (begun.load() < threads) std::this_thread::yield();  // each thread runs one of the chunks
          for (int k = 0; k < 2000; ++k) {
            dlt::release(dlt::allocate(static_cast<size_t>(100000 + index)));
            usleep(100);
          }
        },
        &begun);
    while (!forked.load()) std::this_thread::yield();
  });
  while (begun.load() < threads) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    Random random{1};
    for (int k = 0; k < 20; ++k) run_job(random);
    dlt::empty_cache();
    CHECK(dlt::memory_stats().cached_bytes == 0);
    _exit(0);
  }
  forked.store(true);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  runner.join();
  puts("nothing shared went wrong");
}

}  // namespace

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (!strcmp(what, "mix") && count > 2) run_mix(atoi(arguments[2]));
  else if (!strcmp(what, "empty") && count > 2) run_empty(atoi(arguments[2]));
  else if (!strcmp(what, "idle")) run_idle();
  else if (!strcmp(what, "fork")) run_fork();
  else return fprintf(stderr, "shared_state: expected mix ROUNDS, empty ROUNDS, idle or fork\n"), 2;
}
