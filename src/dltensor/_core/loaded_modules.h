// SPDX-License-Identifier: Apache-2.0
// Imports of modules that are loaded: the modules of one shared object import one another 400 times.
#pragma once
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

namespace dlt {

// PyImport_ImportModule, which asks a module for attributes that it lacks and takes 17,000 instructions for one that is loaded.
inline PyObject* import_module(const char* name) {
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  return module ? Py_NewRef(module) : PyImport_ImportModule(name);
}

}  // namespace dlt

// meson.build includes this file before the code that Cython writes, which imports what is cimported by this name.
#define PyImport_ImportModule(name) ::dlt::import_module(name)
