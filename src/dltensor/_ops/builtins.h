// SPDX-License-Identifier: Apache-2.0
// One Python builtin per row of ops.h and per alias: name, signature, docstring. What they do is in _ops/elementwise.pyx.
#pragma once
#include <Python.h>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/engine.h"

namespace dlt {

// Every element-wise function comes to this; `out`, `saturate` and `launch` are None, Py_False and None when not given.
using Element = PyObject* (*)(int op, int swapped, PyObject** operands, PyObject* out, int saturate, PyObject* launch);
inline Element element_hook = nullptr;
// round() to a number of decimals.
using Rounded = PyObject* (*)(PyObject* x, PyObject* decimals, PyObject* out);
inline Rounded rounded_hook = nullptr;
inline PyObject *word_out, *word_saturate, *word_launch, *word_decimals;

// Keywords by identity first: callers' names are interned, and so are these.
inline PyObject** keyword_place(int op, PyObject* name, PyObject** out, PyObject** saturate, PyObject** launch,
                                PyObject** decimals) {
  if (name == word_out) return out;
  if (name == word_saturate) return saturate;
  if (name == word_launch) return launch;
  if (PyUnicode_Compare(name, word_out) == 0) return out;
  if (PyUnicode_Compare(name, word_saturate) == 0) return saturate;
  if (PyUnicode_Compare(name, word_launch) == 0) return launch;
  if (op == op_round && PyUnicode_Compare(name, word_decimals) == 0) return decimals;
  return nullptr;
}

inline PyObject* call_element(int op, const char* name, bool swapped, PyObject* const* arguments, Py_ssize_t count,
                              PyObject* keywords) {
  const int operands = op_table[op].operands;
  if (count == operands && !keywords) [[likely]]
    return element_hook(op, swapped, const_cast<PyObject**>(arguments), Py_None, false, Py_None);
  if (count != operands && count != operands + 1)
    return PyErr_Format(PyExc_TypeError, "%s: expected %d operand%s and perhaps out, got %zd positional arguments", name,
                        operands, operands == 1 ? "" : "s", count);
  PyObject *out = count > operands ? arguments[operands] : Py_None, *saturate = Py_False, *launch = Py_None;
  PyObject* decimals = nullptr;
  if (op == op_round && PyLong_Check(out)) {  // NumPy's second argument
    decimals = out;
    out = Py_None;
  }
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); k++) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
    PyObject** place = keyword_place(op, keyword, &out, &saturate, &launch, &decimals);
    if (!place || (place == &saturate && op_table[op].saturating < 0))
      return PyErr_Format(PyExc_TypeError, "%s: there is no parameter %R; there are out, launch%s", name, keyword,
                          op_table[op].saturating < 0 ? "" : ", saturate");
    if (place == &out && count > operands && out != Py_None)
      return PyErr_Format(PyExc_TypeError, "%s: out was given twice", name);
    *place = arguments[count + k];
  }
  if (decimals) return rounded_hook(arguments[0], decimals, out);
  const int truth = PyObject_IsTrue(saturate);
  if (truth < 0) return nullptr;
  return element_hook(op, swapped, const_cast<PyObject**>(arguments), out, truth != 0, launch);
}

// Lets the message of the pending exception begin with the name that was called, where it has that of the row.
inline PyObject* rename_error(const char* name) {
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  PyErr_NormalizeException(&kind, &value, &traceback);
  PyObject* const module = (PyImport_ImportModule)("dltensor._core.call_errors");
  PyObject* const done = module ? PyObject_CallMethod(module, "rename", "Os", value, name) : nullptr;
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(module);
  PyErr_Restore(kind, value, traceback);
  return nullptr;
}

#define DLT_BUILTIN(name, ...)                                                                              \
  inline PyObject* py_##name(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) { \
    return call_element(op_##name, #name, false, arguments, count, keywords);                               \
  }
DLT_OPS(DLT_BUILTIN)
#undef DLT_BUILTIN
#define DLT_BUILTIN(name, op, swapped)                                                                      \
  inline PyObject* py_##name(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) { \
    PyObject* const result = call_element(op_##op, #name, swapped, arguments, count, keywords);             \
    return result ? result : rename_error(#name);                                                           \
  }
DLT_ALIASES(DLT_BUILTIN)
#undef DLT_BUILTIN

struct FunctionRow {
  const char* name;
  int op;
  bool swapped;
  PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
};
inline const FunctionRow function_rows[] = {
#define DLT_BUILTIN(name, ...) {#name, op_##name, false, py_##name},
    DLT_OPS(DLT_BUILTIN)
#undef DLT_BUILTIN
#define DLT_BUILTIN(name, op, swapped) {#name, op_##op, swapped != 0, py_##name},
        DLT_ALIASES(DLT_BUILTIN)
#undef DLT_BUILTIN
};
inline constexpr int function_count = int(sizeof function_rows / sizeof *function_rows);

// Adds the builtins to `module`. `texts` has one for each row, signature and docstring, and lives as long as the process.
inline int add_functions(PyObject* module, const char* const (&texts)[function_count], Element hook, Rounded rounded) {
  element_hook = hook;
  rounded_hook = rounded;
  word_out = PyUnicode_InternFromString("out");
  word_saturate = PyUnicode_InternFromString("saturate");
  word_launch = PyUnicode_InternFromString("launch");
  word_decimals = PyUnicode_InternFromString("decimals");
  auto* methods = static_cast<PyMethodDef*>(PyMem_Calloc(function_count + 1, sizeof(PyMethodDef)));
  if (!word_out || !word_saturate || !word_launch || !word_decimals || !methods) return -1;
  for (int i = 0; i < function_count; i++) {
    methods[i].ml_name = function_rows[i].name;
    methods[i].ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function_rows[i].function));
    methods[i].ml_flags = METH_FASTCALL | METH_KEYWORDS;
    methods[i].ml_doc = texts[i];
  }
  return PyModule_AddFunctions(module, methods);
}

}  // namespace dlt
