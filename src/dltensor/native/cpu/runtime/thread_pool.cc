// SPDX-License-Identifier: Apache-2.0
// The pool. The caller takes chunks from the front, the workers from the back, so that each finds its own data in its
// cache when one call follows another; no thread waits for a chunk that has not started. When other programs occupy
// the processors, a worker may be preempted within a chunk: the caller then yields its processor, and runs jobs
// alone for a while.
#include "native/cpu/runtime/thread_pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "native/environment.h"
#include "native/fork.h"
#include "native/os/thread.h"
#include "native/os/wait.h"

namespace dlt {
namespace {

// About 20 microseconds: longer than the gap between two calls in a Python loop, and too short to waste noticeable
// processor time.
constexpr int spins = 1500;
constexpr int64_t spin = 13;  // nanoseconds
constexpr int long_spins = 10 * spins;  // between jobs of a sequence, and for chunks that others still run
// For how long the caller does its jobs alone after workers kept it waiting, in nanoseconds and in multiples of the
// wait: at first, and at most, doubling in between. An unsuccessful retry then costs less than a tenth of the time.
constexpr int64_t patience = 50000, longest_alone = 100000000;
constexpr int64_t least_alone = 1, most_alone = 16;
// Time between the beginnings of calls that follow one another, in nanoseconds.
constexpr int64_t succession = 100000;

struct Job {
  void (*work)(void*, int64_t);
  void* context;
};

struct Pool {
  std::atomic<int> threads{0};          // wanted, the caller included; 0 until the first use
  std::atomic<int> started{0};          // workers that run; changed by who may post a job
  std::atomic<int> kept{0};             // those from this number on end
  pthread_t workers[most_threads] = {};
  pthread_mutex_t post_mutex = PTHREAD_MUTEX_INITIALIZER;  // who may post a job
  Job job{};
  // The remaining chunks: the first and one past the last that have not started, 32 bits each.
  std::atomic<uint64_t> left{0};
  std::atomic<uint32_t> epoch{0};       // counts jobs; workers sleep on it
  std::atomic<uint32_t> open{0};        // the epoch whose job may be joined, 0 when none
  std::atomic<uint32_t> joined{0};      // workers inside a job; the caller may sleep on it
  std::atomic<bool> awaited{false};     // it does
  std::atomic<int> sleeping{0};
  std::atomic<int> sequences{0};        // of jobs, between which workers stay awake
};
Pool pool;
// Both are guarded by `post_mutex`: until when jobs run on the caller alone, and the factor of the next wait.
int64_t alone_until = 0, penalty = least_alone;
std::atomic<int64_t> last_short{-succession};
thread_local bool inside = false;
thread_local int my_lane = 0;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int most_spins() { return pool.sequences.load(std::memory_order_relaxed) > 0 ? long_spins : spins; }

bool take(bool front, int64_t* index) {
  uint64_t now = pool.left.load(std::memory_order_relaxed);
  for (;;) {
    const uint32_t first = uint32_t(now), last = uint32_t(now >> 32);
    if (first >= last) return false;
    const uint64_t next = front ? now + 1 : now - (uint64_t(1) << 32);
    if (pool.left.compare_exchange_weak(now, next, std::memory_order_acquire, std::memory_order_relaxed)) {
      *index = front ? first : last - 1;
      return true;
    }
  }
}

int64_t run_chunks(bool front) {
  const Job job = pool.job;
  int64_t done = 0;
  for (int64_t index; take(front, &index); ++done) job.work(job.context, index);
  return done;
}

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void* worker(void* number) {
  inside = true;
  const int me = int(reinterpret_cast<intptr_t>(number));
  my_lane = me + 1;
  uint32_t seen = 0;
  for (;;) {
    bool runs = true;  // the job of which nothing was left for this thread
    for (int idle = 0; pool.epoch.load(std::memory_order_acquire) == seen;) {
      relax();
      if (runs && pool.open.load(std::memory_order_relaxed) != seen) runs = false, idle = 0;
      if (++idle < (runs ? long_spins : most_spins())) continue;
      pool.sleeping.fetch_add(1);
      os::wait_while(&pool.epoch, seen);
      pool.sleeping.fetch_sub(1);
      idle = 0;
    }
    seen = pool.epoch.load(std::memory_order_acquire);
    if (me >= pool.kept.load()) return nullptr;
    // Incremented before the job is read: the caller closes the job first and then waits until this is 0.
    pool.joined.fetch_add(1);
    if (pool.open.load() == seen && me < pool.threads.load(std::memory_order_relaxed) - 1) run_chunks(false);
    if (pool.joined.fetch_sub(1) == 1 && pool.awaited.load()) os::wake(&pool.joined, 1);
  }
}

// A worker that wakes up on the caller's processor stays there behind the caller for milliseconds. With -1 the workers
// may run anywhere that the caller may.
void keep_off(int processor) { os::keep_off(pool.workers, pool.started, processor); }

// Waits for workers that are in the middle of a chunk, after a job of so many nanoseconds: for a quarter of that awake.
void wait_for_workers(int64_t job) {
  const int patient = int(std::clamp<int64_t>(job / (4 * spin), most_spins(), long_spins));
  for (int i = 0; i < patient; ++i) {
    if (pool.joined.load() == 0) return;
    relax();
  }
  // While this thread sleeps, a worker queued on another processor can run here.
  keep_off(-1);
  pool.awaited.store(true);
  for (uint32_t inside_now; (inside_now = pool.joined.load()) != 0;) os::wait_while(&pool.joined, inside_now);
  pool.awaited.store(false);
}

void before_fork() { pthread_mutex_lock(&pool.post_mutex); }
void after_fork_parent() { pthread_mutex_unlock(&pool.post_mutex); }
void after_fork_child() {
  // Only the forking thread exists in the child; the workers' state is stale.
  pool.started = 0;
  pool.joined.store(0);
  pool.awaited.store(false);
  pool.sleeping.store(0);
  pool.sequences.store(0);
  pool.open.store(0);
  pool.left.store(0);
  pthread_mutex_init(&pool.post_mutex, nullptr);
}
[[gnu::init_priority(fork_order_pool)]] const ForkHandlers over_fork{before_fork, after_fork_parent, after_fork_child};

// Both are guarded by `post_mutex`.
void start_workers(int wanted) {
  pool.kept.store(wanted);
  const int before = pool.started;
  while (pool.started < wanted) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    const int error = pthread_create(&pool.workers[pool.started], &attributes, worker,
                                     reinterpret_cast<void*>(intptr_t(pool.started)));
    pthread_attr_destroy(&attributes);
    if (error != 0) break;  // fewer threads, same result
    ++pool.started;
  }
  if (pool.started > before) keep_off(os::current_processor());  // where they would wait until the caller is preempted
}

uint32_t next_epoch() {
  const uint32_t next = pool.epoch.load(std::memory_order_relaxed) + 1;
  return next != 0 ? next : 1;
}

void stop_workers(int wanted) {
  if (pool.started <= wanted) return;
  pool.kept.store(wanted);
  pool.epoch.store(next_epoch());  // an epoch without a job: all workers wake up, and those above the new number end
  os::wake_all(&pool.epoch);
  while (pool.started > wanted) pthread_join(pool.workers[--pool.started], nullptr);
}

// The number that programs of OpenMP start with, which joblib and Dask set for their workers; 0 when there is none. Of
// a list, one number for each level of nested parallelism, it is the first.
int64_t threads_of_openmp() {
  const char* value = environment("OMP_NUM_THREADS");
  if (value == nullptr) return 0;
  char* end = nullptr;
  const long long count = strtoll(value, &end, 10);
  while (*end == ' ') ++end;
  return end != value && (*end == '\0' || *end == ',') ? std::clamp<int64_t>(count, 0, most_threads) : 0;
}

int threads_at_start() {
  int64_t count = environment_number("DLTENSOR_NUM_THREADS", 1, most_threads, 0);
  if (count < 1) count = threads_of_openmp();
  if (count < 1) count = os::allowed_processors();
  return static_cast<int>(std::min<int64_t>(count, most_threads));
}

}  // namespace

int num_threads() noexcept {
  int count = pool.threads.load(std::memory_order_relaxed);
  if (count == 0) {
    count = threads_at_start();
    int none = 0;
    if (!pool.threads.compare_exchange_strong(none, count)) count = none;
  }
  return count;
}

void set_num_threads(int count) noexcept {
  pool.threads.store(count < 1 ? 1 : count > most_threads ? most_threads : count);
  if (inside) return;  // the next job starts them
  pthread_mutex_lock(&pool.post_mutex);
  stop_workers(pool.threads.load() - 1);
  pthread_mutex_unlock(&pool.post_mutex);
}

bool in_succession() noexcept {
  const int64_t now = nanoseconds();
  const int64_t before = last_short.load(std::memory_order_relaxed);
  last_short.store(now, std::memory_order_relaxed);
  return now - before < succession;
}

bool workers_are_awake() noexcept {
  return pool.sleeping.load(std::memory_order_relaxed) == 0 &&
         pool.started.load(std::memory_order_relaxed) >= num_threads() - 1;
}

KeepAwake::KeepAwake(bool wanted) noexcept : wanted_(wanted) {
  if (wanted) pool.sequences.fetch_add(1);
}
KeepAwake::~KeepAwake() {
  if (wanted_) pool.sequences.fetch_sub(1);
}

int lane() noexcept { return my_lane; }

void parallel(int64_t count, void (*work)(void* context, int64_t index), void* context) noexcept {
  const int threads = num_threads();
  if (threads < 2 || count < 2 || count > INT_MAX || inside || pthread_mutex_trylock(&pool.post_mutex) != 0) {
    for (int64_t i = 0; i < count; ++i) work(context, i);
    return;
  }
  const int64_t begun = nanoseconds();
  if (begun < alone_until) {
    pthread_mutex_unlock(&pool.post_mutex);
    for (int64_t i = 0; i < count; ++i) work(context, i);
    return;
  }
  inside = true;
  if (pool.started < threads - 1) start_workers(threads - 1);
  else stop_workers(threads - 1);
  const bool call = pool.started > 0;
  pool.job = {work, context};
  pool.left.store(uint64_t(count) << 32, std::memory_order_release);
  if (call) {
    const uint32_t next = next_epoch();
    pool.open.store(next);
    pool.epoch.store(next);
    if (pool.sleeping.load() > 0) {
      keep_off(os::current_processor());
      os::wake(&pool.epoch, uint32_t(threads - 1));
    }
  }
  const int64_t done = run_chunks(true), finished = nanoseconds();
  pool.open.store(0);
  wait_for_workers(finished - begun);
  const int64_t waited = nanoseconds() - finished;
  // Longer than a chunk can take: a worker was preempted within one.
  if (waited > patience && waited * (done > 0 ? done : 1) > 3 * (finished - begun)) {
    const int64_t alone = waited * penalty;
    alone_until = finished + waited + (alone < longest_alone ? alone : longest_alone);
    penalty = penalty < most_alone ? penalty * 2 : most_alone;
  } else {
    penalty = penalty > least_alone ? penalty / 2 : least_alone;
  }
  inside = false;
  pthread_mutex_unlock(&pool.post_mutex);
}

}  // namespace dlt
