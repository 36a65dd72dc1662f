// SPDX-License-Identifier: Apache-2.0
// Objects that are never freed and that all threads use.
#pragma once
#include <Python.h>

namespace dlt {

// Stops the counting of references to an object, before any other thread has it. Threads that count references to one object
// at a time are together as slow as one of them. With a GIL nothing is gained.
inline void make_immortal([[maybe_unused]] PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  Py_SET_REFCNT(object, static_cast<Py_ssize_t>(UINT32_MAX) + 1);  // more than is counted
#endif
}

// A function of a module. Each call through its name takes a reference to it, in any thread. Other functions are made
// without the name of a module.
inline PyObject* new_function(PyMethodDef* method, PyObject* self, PyObject* module) noexcept {
  PyObject* function = PyCFunction_NewEx(method, self, module);
  if (function && module) make_immortal(function);
  return function;
}

}  // namespace dlt

// meson.build includes this file before the code that Cython writes, which makes a module's functions by this name.
#ifdef Py_GIL_DISABLED
#undef PyCFunction_NewEx
#define PyCFunction_NewEx(method, self, module) ::dlt::new_function(method, self, module)
#endif
