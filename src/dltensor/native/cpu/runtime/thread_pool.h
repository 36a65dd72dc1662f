// SPDX-License-Identifier: Apache-2.0
// A few threads that share one job at a time. Survives fork: the child starts its own.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// Threads that take part in large work, the caller included: DLTENSOR_NUM_THREADS, else OMP_NUM_THREADS, else the
// processors this process may use, at most 64.
DLT_API int num_threads() noexcept;
// Threads beyond that number end before it returns; it waits for a job that runs.
DLT_API void set_num_threads(int count) noexcept;

inline constexpr int most_threads = 64;

// Calls work(context, i) once for each i < count, on this thread and on others, in any order, and returns when all are
// done. `work` must not throw. While another thread's job is running, and inside `work`, the caller does all of it.
DLT_API void parallel(int64_t count, void (*work)(void* context, int64_t index), void* context) noexcept;
// Calls work(i) once for each i < count in that way.
template <class Work>
void parallel(int64_t count, const Work& work) noexcept {
  const auto call = [](void* context, int64_t index) { (*static_cast<const Work*>(context))(index); };
  parallel(count, call, const_cast<Work*>(&work));
}
// The same, on this thread alone unless `shared`.
template <class Work>
void parallel_if(bool shared, int64_t count, const Work& work) noexcept {
  if (shared) return parallel(count, work);
  for (int64_t i = 0; i < count; ++i) work(i);
}

// Returns whether the last call of this function is less than about 100 microseconds ago. Work of a few microseconds gains by
// other threads where such calls follow one another, because they are awake then; waking them takes as long as the work.
DLT_API bool in_succession() noexcept;

// Returns whether a job posted now waits for no thread to wake up. They stay awake for about 20 microseconds after a job.
DLT_API bool workers_are_awake() noexcept;

// While one exists, threads that wait for the next job of a sequence stay awake for longer. Waking one takes about as long as a
// small job.
class DLT_API KeepAwake {
 public:
  explicit KeepAwake(bool wanted) noexcept;
  ~KeepAwake();
  KeepAwake(const KeepAwake&) = delete;
  KeepAwake& operator=(const KeepAwake&) = delete;

 private:
  bool wanted_;
};

// Inside `work`: a number below most_threads that no other thread of the job has.
DLT_API int lane() noexcept;

}  // namespace dlt
