// SPDX-License-Identifier: Apache-2.0
// Per-thread state behind one pointer: the library's static thread-local storage must stay small, because the loader
// reserves only little for libraries loaded later.
#pragma once
#include "native/cuda/runtime/launch.h"
#include "native/cuda/runtime/stream.h"

namespace dlt::cuda {

struct ThreadState {
  uint64_t number = 0;  // of the thread, never used twice; 0 of the shared instance
  Stream* current[max_devices] = {};     // current streams
  Stream* per_thread[max_devices] = {};  // records of CUDA's per-thread default streams
  Stream* last_asked = nullptr;
  Launch launch;
  bool has_launch = false;
  bool tf32 = false;
  bool late_index_checks = false;
  void* reduce_plans = nullptr;  // of reduce.cc, from malloc; null in the shared instance
  void* run_plans = nullptr;   // of element.cc, the same
};

// Allocated at the thread's first use, freed at its end. Without memory for it: one instance shared by all threads.
ThreadState& make_thread_state() noexcept;
// One pointer (stream.h declares it), which fits the loader's surplus static TLS: read without a function call.
inline ThreadState& thread_state() noexcept { return thread_state_pointer ? *thread_state_pointer : make_thread_state(); }

inline const Launch* thread_launch_here() noexcept {
  const ThreadState& state = thread_state();
  return state.has_launch ? &state.launch : nullptr;
}

}  // namespace dlt::cuda
