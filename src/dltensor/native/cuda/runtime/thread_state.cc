// SPDX-License-Identifier: Apache-2.0
// The state of each thread: made at its first use, freed at its end.
#include "native/cuda/runtime/thread_state.h"

#include <pthread.h>
#include <stdlib.h>

#include <new>

namespace dlt::cuda {

constinit thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Not a thread_local object with a destructor: registering one ends the process when there is no memory for it.
pthread_key_t key;
const bool has_key = pthread_key_create(&key, [](void* state) {
                       thread_state_pointer = nullptr;
                       free(static_cast<ThreadState*>(state)->reduce_plans);
                       free(static_cast<ThreadState*>(state)->run_plans);
                       delete static_cast<ThreadState*>(state);
                     }) == 0;

}  // namespace

ThreadState& make_thread_state() noexcept {
  static ThreadState shared;
  static std::atomic<uint64_t> threads{0};
  auto* state = has_key ? new (std::nothrow) ThreadState : nullptr;
  if (state) state->number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  if (state && pthread_setspecific(key, state) != 0) {
    delete state;
    state = nullptr;
  }
  thread_state_pointer = state;
  return state ? *state : shared;
}

}  // namespace dlt::cuda
