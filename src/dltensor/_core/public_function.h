// SPDX-License-Identifier: Apache-2.0
// A public function as a builtin that calls it. The errors of functions written in Python are answered without a cost for
// calls that succeed. Keywords that NumPy or PyTorch spell otherwise, such as `dim` for `axis`, are renamed.
#pragma once
#include <Python.h>

#include <utility>

#include "immortal.h"

namespace dlt {

struct Renaming {
  PyObject *spelling, *name;
};
inline constexpr Py_ssize_t most_renamings = 6;

using KeywordFunction = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

struct PublicFunction {
  PyObject* function;
  PyObject* answer;  // called with the function and an exception that left it, whose text it may change
  PyMethodDef method;
  Renaming renamings[most_renamings];
  Py_ssize_t renaming_count;
};

inline PublicFunction* public_function_of(PyObject* self) { return static_cast<PublicFunction*>(PyModule_GetState(self)); }

// The parameter that a keyword stands for, borrowed.
inline PyObject* renamed_keyword(const PublicFunction* here, PyObject* keyword) {
  for (Py_ssize_t i = 0; i < here->renaming_count; i++) {
    PyObject* const spelling = here->renamings[i].spelling;
    if (keyword == spelling ||
        (PyUnicode_GET_LENGTH(keyword) == PyUnicode_GET_LENGTH(spelling) && PyUnicode_Compare(keyword, spelling) == 0))
      return here->renamings[i].name;
  }
  return keyword;
}

// The names of the keyword arguments of a call with spellings replaced, as a new tuple; null where there is none.
inline PyObject* renamed_keywords(const PublicFunction* here, PyObject* keywords) {
  PyObject* renamed = nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < count; k++) {
    PyObject* const name = renamed_keyword(here, PyTuple_GET_ITEM(keywords, k));
    if (name == PyTuple_GET_ITEM(keywords, k)) continue;
    // Both spellings of a parameter: the function refuses the one that it does not know.
    const int is_there = PySequence_Contains(keywords, name);
    if (is_there != 0) {
      PyErr_Clear();
      continue;
    }
    if (!renamed) {
      renamed = PyTuple_New(count);
      if (!renamed) return PyErr_Clear(), nullptr;  // the call then refuses the keyword
      for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(renamed, i, Py_NewRef(PyTuple_GET_ITEM(keywords, i)));
    }
    PyObject* const old = PyTuple_GET_ITEM(renamed, k);
    PyTuple_SET_ITEM(renamed, k, Py_NewRef(name));
    Py_DECREF(old);
  }
  return renamed;
}

// A function that Cython compiled, which answers its errors itself, is called by a function of its own: a jump.
struct CompiledFunction : PublicFunction {
  KeywordFunction body;
};
inline constexpr int most_compiled = 64;
inline CompiledFunction compiled_functions[most_compiled];
inline int compiled_count = 0;

[[gnu::noinline]] inline PyObject* call_renamed(const CompiledFunction& here, PyObject* const* arguments, Py_ssize_t count,
                                                PyObject* keywords) {
  PyObject* const renamed = renamed_keywords(&here, keywords);
  PyObject* const result = here.body(nullptr, arguments, count, renamed ? renamed : keywords);
  Py_XDECREF(renamed);
  return result;
}

template <int slot>
PyObject* call_compiled(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (!keywords) [[likely]]
    return compiled_functions[slot].body(nullptr, arguments, count, nullptr);
  return call_renamed(compiled_functions[slot], arguments, count, keywords);
}

template <int... slots>
KeywordFunction compiled_call(int slot, std::integer_sequence<int, slots...>) {
  static const KeywordFunction calls[] = {call_compiled<slots>...};
  return calls[slot];
}

inline PyObject* call_public_function(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  const PublicFunction* const here = public_function_of(self);
  PyObject* const renamed = keywords ? renamed_keywords(here, keywords) : nullptr;
  PyObject* const result = PyObject_Vectorcall(here->function, arguments, count, renamed ? renamed : keywords);
  Py_XDECREF(renamed);
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
// the docstring; `renamings` is a tuple of spellings, each followed by the name of a parameter. All of it lives as long as the
// process.
inline PyObject* new_public_function(PyObject* function, PyObject* text, PyObject* answer, PyObject* renamings) {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "dltensor", nullptr, sizeof(PublicFunction), nullptr, nullptr, nullptr, nullptr, nullptr};
  PyObject* const self = PyModule_Create(&definition);
  PyObject* const name = self ? PyObject_GetAttrString(function, "__name__") : nullptr;
  if (!name) return nullptr;
  PublicFunction* here = public_function_of(self);
  KeywordFunction call = call_public_function;
  if (PyCFunction_Check(function)) {
    if (compiled_count == most_compiled)
      return PyErr_SetString(PyExc_RuntimeError, "public_function: too many compiled functions"), nullptr;
    CompiledFunction& compiled = compiled_functions[compiled_count];
    compiled.body = reinterpret_cast<KeywordFunction>(reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(function)));
    call = compiled_call(compiled_count++, std::make_integer_sequence<int, most_compiled>{});
    here = &compiled;
  }
  here->function = Py_NewRef(function);
  here->answer = Py_NewRef(answer);
  here->renaming_count = PyTuple_GET_SIZE(renamings) / 2;
  Py_INCREF(renamings);
  for (Py_ssize_t i = 0; i < here->renaming_count; i++)
    here->renamings[i] = {PyTuple_GET_ITEM(renamings, 2 * i), PyTuple_GET_ITEM(renamings, 2 * i + 1)};
  here->method.ml_name = PyUnicode_AsUTF8(name);
  here->method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call));
  here->method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  here->method.ml_doc = PyBytes_AsString(Py_NewRef(text));
  if (!here->method.ml_name || !here->method.ml_doc) return nullptr;
  PyObject* const builtin = PyCFunction_NewEx(&here->method, self, nullptr);
  if (builtin) make_immortal(builtin);
  return builtin;
}

}  // namespace dlt
