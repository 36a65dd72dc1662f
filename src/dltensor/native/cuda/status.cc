// SPDX-License-Identifier: Apache-2.0
// The words of the last fault, and the state of a thread that they are a part of.
#include "native/cuda/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include <new>

#include "native/cuda/thread_state.h"

namespace dlt::cuda {

thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Not a thread_local object with a destructor: registering one ends the process when there is no memory for it.
pthread_key_t key;
const bool has_key = pthread_key_create(&key, [](void* state) {
                       thread_state_pointer = nullptr;
                       delete static_cast<ThreadState*>(state);
                     }) == 0;

}  // namespace

ThreadState& make_thread_state() noexcept {
  static ThreadState shared;
  auto* state = has_key ? new (std::nothrow) ThreadState : nullptr;
  if (state && pthread_setspecific(key, state) != 0) {
    delete state;
    state = nullptr;
  }
  thread_state_pointer = state;
  return state ? *state : shared;
}

const char* message() noexcept { return thread_state().words; }

Status fail(Fault fault, const char* format, ...) noexcept {
  char text[sizeof ThreadState::words];  // the arguments may point into `words`
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  __builtin_memcpy(thread_state().words, text, sizeof text);
  return {fault};
}

}  // namespace dlt::cuda
