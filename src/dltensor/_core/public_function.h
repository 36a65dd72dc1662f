// SPDX-License-Identifier: Apache-2.0
// A public function written in Python as a builtin that calls it, so that its errors can be answered without a cost for calls
// that succeed.
#pragma once
#include <Python.h>

#include "immortal.h"

namespace dlt {

struct PublicFunction {
  PyObject* function;
  PyObject* answer;  // called with the function and an exception that left it, whose text it may change
  PyMethodDef method;
};

inline PublicFunction* public_function_of(PyObject* self) { return static_cast<PublicFunction*>(PyModule_GetState(self)); }

inline PyObject* call_public_function(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  const PublicFunction* const here = public_function_of(self);
  PyObject* const result = PyObject_Vectorcall(here->function, arguments, count, keywords);
  if (result) [[likely]]
    return result;
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  PyErr_NormalizeException(&kind, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  PyObject* const done = PyObject_CallFunctionObjArgs(here->answer, here->function, value, nullptr);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(kind, value, traceback);
  return nullptr;
}

// The `self` of a builtin must be a module, or the builtin could not be pickled by its name. `text` is bytes: the signature and
// the docstring. All of it lives as long as the process.
inline PyObject* new_public_function(PyObject* function, PyObject* text, PyObject* answer) {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "dltensor", nullptr, sizeof(PublicFunction), nullptr, nullptr, nullptr, nullptr, nullptr};
  PyObject* const self = PyModule_Create(&definition);
  PyObject* const name = self ? PyObject_GetAttrString(function, "__name__") : nullptr;
  if (!name) return nullptr;
  PublicFunction* const here = public_function_of(self);
  here->function = Py_NewRef(function);
  here->answer = Py_NewRef(answer);
  here->method.ml_name = PyUnicode_AsUTF8(name);
  here->method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_public_function));
  here->method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  here->method.ml_doc = PyBytes_AsString(Py_NewRef(text));
  if (!here->method.ml_name || !here->method.ml_doc) return nullptr;
  PyObject* const builtin = PyCFunction_NewEx(&here->method, self, nullptr);
  if (builtin) make_immortal(builtin);
  return builtin;
}

}  // namespace dlt
