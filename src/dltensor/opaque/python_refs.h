// SPDX-License-Identifier: Apache-2.0
// Python references of vtable arrays, released from any thread without waiting for the GIL. Creates no arrays.
#pragma once
#include <atomic>

#include "_core/interop/gil.h"
#include "native/memory/block.h"
#include "native/opaque/call.h"
#include "native/opaque/deferred_release.h"

namespace dlt {

// Releases an object: now if this thread has the GIL, else soon. Waiting for the GIL would hang a program whose main
// thread has it and waits for this one, and would end a daemon thread while the interpreter shuts down.
inline void drop_object(void* object) noexcept {
  if (!object) return;
  if (holds_gil()) with_python([object] { Py_DECREF(static_cast<PyObject*>(object)); });
  else opaque::defer(object);
}

inline void drop_pending() noexcept {
  if (opaque::has_pending()) opaque::drain(drop_object);
}

inline int drop_pending_call(void*) noexcept {
  drop_pending();
  return 0;
}

// Request drop_pending() in the main thread, which runs it between two instructions, at the latest when it next takes
// the GIL. If its queue is full, the next array requests it again.
inline void ask_main_thread() noexcept { Py_AddPendingCall(drop_pending_call, nullptr); }

// The `free` of a block that keeps a Python object alive, for blocks that go to other languages.
inline void free_block_ref(Block* block) noexcept {
  void* object = block->owner;
  recycle(block);
  drop_object(object);
}

// Destroys an array of another library, never with the GIL: its `destroy` may wait for a thread that waits for the GIL.
inline void destroy_without_gil(dlt_array_t* array) noexcept {
  if (!array->destroy || !holds_gil()) {
    opaque::call_destroy(array);
    return;
  }
  PyThreadState* state = PyEval_SaveThread();
  opaque::call_destroy(array);
  PyEval_RestoreThread(state);
}

// Counts the calls into an array that are running, in all threads.
class Users {
 public:
  int count() const noexcept { return running.load(std::memory_order_acquire); }

 private:
  friend class Use;
  std::atomic<int> running{0};
};

// One such call, counted from begin() to the end of the scope.
class Use {
 public:
  Use() = default;
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    if (users) users->running.fetch_sub(1, std::memory_order_release);
  }
  void begin(Users* of) noexcept {
    users = of;
    users->running.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Users* users = nullptr;
};

// Kept by a tensor over a foreign array until its last view is deleted: the export, the array, and its owner.
struct Foreign {
  Block* exported;
  dlt_array_t array;  // destroy is NULL unless the tensor owns the array
  PyObject* owner;    // may be null
};

inline void free_foreign(Block* block) noexcept {
  auto* foreign = static_cast<Foreign*>(block->owner);
  recycle(block);
  release(foreign->exported);  // before the array, which its deleter may read
  destroy_without_gil(&foreign->array);
  drop_object(foreign->owner);
  delete foreign;
}

}  // namespace dlt
