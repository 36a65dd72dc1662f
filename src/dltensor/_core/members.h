// SPDX-License-Identifier: Apache-2.0
// Methods that are added to an extension type, each a function that takes the object first.
#pragma once
#include <Python.h>

#include <utility>

namespace dlt {

inline constexpr int most_methods = 256;

struct AddedMethod {
  PyObject* function;
  PyMethodDef definition;
};
inline AddedMethod added_methods[most_methods];
inline int added_count = 0;

[[gnu::noinline]] inline PyObject* call_with_self(PyObject* function, PyObject* self, PyObject* const* arguments,
                                                  Py_ssize_t count, PyObject* keywords) {
  constexpr Py_ssize_t few = 10;
  const Py_ssize_t total = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
  PyObject* local[few];
  PyObject** all = local;
  if (total + 2 > few) {
    all = static_cast<PyObject**>(PyMem_Malloc((total + 2) * sizeof(PyObject*)));
    if (!all) return PyErr_NoMemory();
  }
  all[1] = self;  // the place before it is for a method that `function` may be
  for (Py_ssize_t i = 0; i < total; i++) all[i + 2] = arguments[i];
  PyObject* const result = PyObject_Vectorcall(function, all + 1, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
  if (all != local) PyMem_Free(all);
  return result;
}

template <int slot>
PyObject* call_added(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return call_with_self(added_methods[slot].function, self, arguments, count, keywords);
}

using MethodBody = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

template <int... slots>
const MethodBody* bodies_of(std::integer_sequence<int, slots...>) {
  static const MethodBody bodies[] = {call_added<slots>...};
  return bodies;
}

// Adds a method to a type that no other thread uses. `text` is bytes: the signature and the docstring. All of this lives as long
// as the process.
inline int add_method(PyTypeObject* type, const char* name, PyObject* function, PyObject* text) {
  if (added_count == most_methods) return PyErr_SetString(PyExc_RuntimeError, "add_method: too many methods"), -1;
  AddedMethod& added = added_methods[added_count];
  added.function = Py_NewRef(function);
  PyMethodDef& method = added.definition;
  method.ml_name = name;
  method.ml_doc = PyBytes_AsString(Py_NewRef(text));
  const MethodBody body = bodies_of(std::make_integer_sequence<int, most_methods>{})[added_count];
  method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(body));
  method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  if (!method.ml_doc) return -1;
  PyObject* const descriptor = PyDescr_NewMethod(type, &method);
  const int status = descriptor ? PyDict_SetItemString(type->tp_dict, method.ml_name, descriptor) : -1;
  Py_XDECREF(descriptor);
  added_count += status == 0;
  return status;
}

}  // namespace dlt
