// SPDX-License-Identifier: Apache-2.0
// Calling foreign code that may touch Python, from any thread and at any time.
#pragma once
#include <Python.h>

#include "dltensor/dlpack.h"
#include "native/memory/block.h"

namespace dlt {

// From here on no Python code can run: what would need it is leaked, not crashed into.
inline bool python_is_gone() noexcept {
  if (!Py_IsInitialized()) return true;
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// Holds the GIL and keeps a pending exception out of the way: a deleter may run while one propagates
// (dmlc/dlpack#103, numpy/numpy#32697).
class Guard {
 public:
  Guard() noexcept : had_(PyGILState_Check() != 0) {
    if (!had_) state_ = PyGILState_Ensure();
#if PY_VERSION_HEX >= 0x030C0000
    error_ = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&type_, &value_, &traceback_);
#endif
  }
  ~Guard() {
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error_);
#else
    PyErr_Restore(type_, value_, traceback_);
#endif
    if (!had_) PyGILState_Release(state_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  bool had_;
  PyGILState_STATE state_{};
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* error_;
#else
  PyObject *type_, *value_, *traceback_;
#endif
};

// Returns whether this thread may run Python code now. After finalization PyGILState_Check says yes, so it comes second.
// While the interpreter shuts down the main thread still holds the GIL and may call on.
inline bool holds_gil() noexcept { return Py_IsInitialized() && PyGILState_Check(); }

// Runs something that may touch Python, from any thread, at any time. What needs Python after its end is leaked.
template <class Function>
inline void with_python(Function&& function) noexcept {
  if (holds_gil() && !PyErr_Occurred()) [[likely]] {
    function();
    if (PyErr_Occurred()) [[unlikely]]
      PyErr_WriteUnraisable(nullptr);
    return;
  }
  if (!holds_gil() && python_is_gone()) return;
  Guard guard;
  function();
}

// Runs a managed struct's deleter, once. NULL is legal and means that nothing is to be done.
template <class Managed>
inline void delete_managed(Managed* managed) noexcept {
  if (!managed || !managed->deleter) return;
  with_python([managed] { managed->deleter(managed); });
}

// The `free` of a block that keeps a managed struct alive.
template <class Managed>
inline void free_managed(Block* block) noexcept {
  auto* managed = static_cast<Managed*>(block->owner);
  recycle(block);
  delete_managed(managed);
}
inline void free_versioned(Block* block) noexcept { free_managed<DLManagedTensorVersioned>(block); }
inline void free_legacy(Block* block) noexcept { free_managed<DLManagedTensor>(block); }

// Returns whether others keep an object until this thread gives the GIL away. Without a GIL that cannot be known.
inline bool is_kept_by_others([[maybe_unused]] PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  return false;
#else
  return Py_REFCNT(object) > 1;
#endif
}

// Gives a reference back. Where it is not the last one no Python code can run, and a pending exception can stay.
inline void release_object(PyObject* object) noexcept {
  if (holds_gil() && is_kept_by_others(object)) [[likely]]
    Py_DECREF(object);
  else with_python([object] { Py_DECREF(object); });
}

// The `free` of a block that keeps a Python object alive.
inline void free_object(Block* block) noexcept {
  auto* object = static_cast<PyObject*>(block->owner);
  recycle(block);
  release_object(object);
}

// Takes the pending exception out; `inside` says whether Python code of the callee raised it: then it has a frame.
inline PyObject* take_error(int* inside) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* error = PyErr_GetRaisedException();
  PyObject* traceback = PyException_GetTraceback(error);
  *inside = traceback != nullptr;
  Py_XDECREF(traceback);
#else
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  *inside = traceback != nullptr;
  if (traceback) PyException_SetTraceback(error, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
#endif
  return error;
}

inline int gil_is_held() noexcept { return holds_gil() ? 1 : 0; }

}  // namespace dlt
