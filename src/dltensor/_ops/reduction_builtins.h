// SPDX-License-Identifier: Apache-2.0
// One Python builtin per row of reductions.h: name, signature, docstring. What they do is in _ops/reductions.pyx.
#pragma once
#include <Python.h>

#include "native/cpu/reduce.h"

namespace dlt {

// Arguments of every reduction, null where they are not given.
struct ReduceArguments {
  PyObject *x, *axis, *keepdims, *out, *dtype, *correction, *where, *initial, *saturate;
};
using ReduceHook = PyObject* (*)(int reduction, ReduceArguments* arguments);
inline ReduceHook reduce_hook = nullptr;

struct ReduceKeyword {
  const char* name;
  unsigned takes;  // the bit of a row that has it, 0 of all rows
  PyObject* ReduceArguments::* place;
  PyObject* word;
};
inline ReduceKeyword reduce_keywords[] = {
    {"axis", 0, &ReduceArguments::axis, nullptr},
    {"keepdims", 0, &ReduceArguments::keepdims, nullptr},
    {"out", 0, &ReduceArguments::out, nullptr},
    {"dtype", DLT_TAKES_DTYPE, &ReduceArguments::dtype, nullptr},
    {"correction", DLT_TAKES_CORRECTION, &ReduceArguments::correction, nullptr},
    {"where", DLT_TAKES_WHERE, &ReduceArguments::where, nullptr},
    {"initial", DLT_TAKES_INITIAL, &ReduceArguments::initial, nullptr},
    {"saturate", DLT_TAKES_SATURATE, &ReduceArguments::saturate, nullptr},
};

inline PyObject* call_reduction(int reduction, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  const ReductionRow& row = reduction_table[reduction];
  if (count != 1)
    return PyErr_Format(PyExc_TypeError, "%s: expected 1 positional argument, got %zd; give axis and the rest by keyword",
                        row.name, count);
  ReduceArguments given{};
  given.x = arguments[0];
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); k++) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const ReduceKeyword* found = nullptr;
    // By identity first: callers' names are interned, and so are these.
    for (const ReduceKeyword& one : reduce_keywords)
      if (one.word == keyword) found = &one;
    for (const ReduceKeyword& one : reduce_keywords)
      if (!found && PyUnicode_Compare(one.word, keyword) == 0) found = &one;
    if (!found || (found->takes & row.takes) != found->takes)
      return PyErr_Format(PyExc_TypeError, "%s: there is no parameter %R; help(dltensor.%s) lists what there is", row.name,
                          keyword, row.name);
    given.*(found->place) = arguments[count + k];
  }
  return reduce_hook(reduction, &given);
}

#define DLT_BUILTIN(name, ...)                                                                                     \
  inline PyObject* py_reduce_##name(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) { \
    return call_reduction(reduction_##name, arguments, count, keywords);                                           \
  }
DLT_REDUCTIONS(DLT_BUILTIN)
#undef DLT_BUILTIN

// Adds the builtins to `module`. `texts` is a list of bytes, one per row: signature and docstring.
inline int add_reductions(PyObject* module, PyObject* texts, ReduceHook hook) {
  using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
#define DLT_BUILTIN(name, ...) py_reduce_##name,
  static const Function functions[] = {DLT_REDUCTIONS(DLT_BUILTIN)};
#undef DLT_BUILTIN
  reduce_hook = hook;
  for (ReduceKeyword& one : reduce_keywords) {
    one.word = PyUnicode_InternFromString(one.name);
    if (!one.word) return -1;
  }
  auto* const methods = static_cast<PyMethodDef*>(PyMem_Calloc(reduction_count + 1, sizeof(PyMethodDef)));
  if (!methods) return -1;
  Py_INCREF(texts);
  for (int i = 0; i < reduction_count; i++) {
    methods[i].ml_name = reduction_table[i].name;
    methods[i].ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(functions[i]));
    methods[i].ml_flags = METH_FASTCALL | METH_KEYWORDS;
    methods[i].ml_doc = PyBytes_AsString(PyList_GetItem(texts, i));
    if (!methods[i].ml_doc) return -1;
  }
  return PyModule_AddFunctions(module, methods);
}

}  // namespace dlt
