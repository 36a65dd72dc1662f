// SPDX-License-Identifier: Apache-2.0
// The words of the last fault, and the state of a thread that they are a part of.
#include "native/cuda/status.h"

#include <stdarg.h>
#include <stdio.h>

#include <memory>
#include <new>

#include "native/cuda/thread_state.h"

namespace dlt::cuda {

thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadState& make_thread_state() noexcept {
  static ThreadState shared;
  struct Owner {
    ThreadState* state = nullptr;
    ~Owner() {
      thread_state_pointer = nullptr;
      delete state;
    }
  };
  thread_local Owner owner;
  if (!owner.state) owner.state = new (std::nothrow) ThreadState;
  thread_state_pointer = owner.state;
  return owner.state ? *owner.state : shared;
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
