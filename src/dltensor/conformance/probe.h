// SPDX-License-Identifier: Apache-2.0
// Managed tensors with arbitrary fields that count what consumers do with them, and counters for foreign deleters.
// Only what must run without the GIL, on foreign threads or after the interpreter is here. Nothing is decided here.
#pragma once
#include <Python.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "dltensor/dlpack.h"

namespace dlt::probe {

inline constexpr int kMaxDims = 64;

// A struct of this module. It is overwritten when deleted but never freed, so that a second call is counted and not fatal.
struct OwnStruct {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    char space[128];
  };
  std::atomic<int> deleted{0};
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];
  void* owned = nullptr;  // memory that only this struct describes, and that may be overwritten with it
  size_t owned_bytes = 0;

  OwnStruct() { std::memset(space, 0, sizeof space); }
};

inline void overwrite(OwnStruct* own) {
  for (int axis = 0; axis < kMaxDims; axis++) own->shape[axis] = own->strides[axis] = -7777;
  if (own->owned) std::memset(own->owned, 0xdd, own->owned_bytes);
  own->deleted++;
}
inline void delete_versioned(DLManagedTensorVersioned* self) { overwrite(reinterpret_cast<OwnStruct*>(self)); }
inline void delete_legacy(DLManagedTensor* self) { overwrite(reinterpret_cast<OwnStruct*>(self)); }

// Call the deleter as the standard requires: unless a consumer has imported the struct and renamed the capsule.
inline void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (m->deleter) m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (m->deleter) m->deleter(m);
  }
}
// Delete whatever the name of the capsule is, for planted defects.
inline void end_capsule_always(PyObject* capsule) {
  auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (m->deleter) m->deleter(m);
}

// Replaces a foreign struct's deleter by one that counts, restores the original and calls it once.
struct Watched {
  std::atomic<int> deleted{0};
  void* original = nullptr;
  bool is_legacy = false;
};
inline std::mutex watch_lock;
inline std::unordered_map<void*, Watched*>& watched() {
  static auto* map = new std::unordered_map<void*, Watched*>;  // outlives every static destructor
  return *map;
}
inline Watched* watched_at(void* managed) {
  std::lock_guard<std::mutex> hold(watch_lock);
  auto found = watched().find(managed);
  return found == watched().end() ? nullptr : found->second;
}
template <class Managed>
inline void watch_deleter(Managed* self) {
  Watched* watch = watched_at(self);
  if (!watch) return;
  const bool first = watch->deleted.load() == 0;
  watch->deleted++;
  if (!first || !watch->original) return;
  auto original = reinterpret_cast<void (*)(Managed*)>(watch->original);
  self->deleter = original;
  original(self);
}
inline Watched* watch(void* managed, bool is_legacy) {
  auto* watch = new Watched;
  watch->is_legacy = is_legacy;
  if (is_legacy) {
    auto* m = static_cast<DLManagedTensor*>(managed);
    watch->original = reinterpret_cast<void*>(m->deleter);
    m->deleter = watch_deleter<DLManagedTensor>;
  } else {
    auto* m = static_cast<DLManagedTensorVersioned*>(managed);
    watch->original = reinterpret_cast<void*>(m->deleter);
    m->deleter = watch_deleter<DLManagedTensorVersioned>;
  }
  std::lock_guard<std::mutex> hold(watch_lock);
  watched()[managed] = watch;
  return watch;
}

inline void call_deleter(void* managed, bool is_legacy) {
  if (is_legacy) {
    auto* m = static_cast<DLManagedTensor*>(managed);
    if (m->deleter) m->deleter(m);
  } else {
    auto* m = static_cast<DLManagedTensorVersioned*>(managed);
    if (m->deleter) m->deleter(m);
  }
}
// Delete from a thread that Python does not know. The caller has released the GIL.
inline void delete_on_thread(void* managed, bool is_legacy) { std::thread(call_deleter, managed, is_legacy).join(); }

// Delete after the interpreter has ended: the last step of Py_Finalize.
inline void* late_struct = nullptr;
inline bool late_is_legacy = false;
inline void delete_late() {
  if (late_struct) call_deleter(late_struct, late_is_legacy);
  late_struct = nullptr;
}
inline int delete_after_exit(void* managed, bool is_legacy) {
  late_struct = managed;
  late_is_legacy = is_legacy;
  return Py_AtExit(delete_late);
}

// A deleter that crashes without Python, for planted defects.
inline void delete_needing_python(DLManagedTensorVersioned* self) {
  if (!Py_IsInitialized() || !PyGILState_Check()) std::abort();
  delete_versioned(self);
}
inline void delete_needing_interpreter(DLManagedTensorVersioned* self) {
  if (!Py_IsInitialized()) std::abort();
  delete_versioned(self);
}
// Leak a hundred bytes a call, as a deleter that forgets the struct.
inline void delete_leaking(DLManagedTensorVersioned* self) {
  void* volatile lost = std::malloc(sizeof(DLManagedTensorVersioned));
  (void)lost;
  Watched* watch = watched_at(self);
  if (watch && watch->original) reinterpret_cast<void (*)(DLManagedTensorVersioned*)>(watch->original)(self);
}

inline void* aligned_memory(size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, 256, bytes ? bytes : 1) == 0 ? memory : nullptr;
}

// The error that an allocator reported through SetError.
struct ReportedError {
  int calls = 0;
  char kind[64] = {0};
  char message[256] = {0};
};
inline void set_error(void* context, const char* kind, const char* message) {
  auto* reported = static_cast<ReportedError*>(context);
  reported->calls++;
  std::strncpy(reported->kind, kind ? kind : "", sizeof reported->kind - 1);
  std::strncpy(reported->message, message ? message : "", sizeof reported->message - 1);
}

}  // namespace dlt::probe
