// SPDX-License-Identifier: Apache-2.0
// What every thread has of its own, behind one pointer: the library's thread-local storage must stay small, because the
// loader has only a little room for libraries that come late.
#pragma once
#include "native/cuda/launch.h"
#include "native/cuda/stream.h"

namespace dlt::cuda {

struct ThreadState {
  Stream* current[max_devices] = {};     // current streams
  Stream* per_thread[max_devices] = {};  // records of CUDA's per-thread default streams
  Stream* last_asked = nullptr;
  Launch launch;
  bool has_launch = false;
  bool tf32 = false;
};

// Made at the thread's first use, freed at its end. When there is no memory: one for all threads together.
ThreadState& make_thread_state() noexcept;
// One word, which the loader's spare room for libraries that come late is meant for: read without a call.
extern thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec")));
inline ThreadState& thread_state() noexcept { return thread_state_pointer ? *thread_state_pointer : make_thread_state(); }

inline const Launch* thread_launch_here() noexcept {
  const ThreadState& state = thread_state();
  return state.has_launch ? &state.launch : nullptr;
}

}  // namespace dlt::cuda
