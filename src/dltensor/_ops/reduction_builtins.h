// SPDX-License-Identifier: Apache-2.0
// One Python builtin per row of rows.h, and the methods of the same names: name, signature, docstring. What they do
// is in _ops/reduce.pyx.
#pragma once
#include <Python.h>

#include <cstring>

#include "native/cpu/reduce/reduce.h"

namespace dlt {

// Arguments of every reduction, null where they are not parsed.
struct ReduceArguments {
  PyObject *x, *axis, *keepdims, *out, *dtype, *correction, *where, *initial, *saturate;
  bool axis_is_named;  // by a keyword
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
    // NumPy's and PyTorch's names of three of them; `unbiased` is a bool, and so a correction of 1 or 0.
    {"dim", 0, &ReduceArguments::axis, nullptr},
    {"keepdim", 0, &ReduceArguments::keepdims, nullptr},
    {"ddof", DLT_TAKES_CORRECTION, &ReduceArguments::correction, nullptr},
    {"unbiased", DLT_TAKES_CORRECTION, &ReduceArguments::correction, nullptr},
};

// The call to write in place of one with `dim` or `keepdim`, where PyTorch returns something else; null where it returns
// the same.
inline const char* unlike_torch(int reduction, bool corrected) {
  if (reduction == reduction_max) return "PyTorch's dim returns indices too; call max(x, axis=...) and argmax(x, axis=...)";
  if (reduction == reduction_min) return "PyTorch's dim returns indices too; call min(x, axis=...) and argmin(x, axis=...)";
  if ((reduction == reduction_std || reduction == reduction_var) && !corrected)
    return "PyTorch divides by n - 1, NumPy by n; give correction=1 or correction=0 beside dim, or axis=... for n";
  return nullptr;
}

// Null when there is none of that name. By identity first: callers' names are interned, and so are these.
inline const ReduceKeyword* find_keyword(PyObject* name) {
  for (const ReduceKeyword& one : reduce_keywords)
    if (one.word == name) return &one;
  for (const ReduceKeyword& one : reduce_keywords)
    if (PyUnicode_Compare(one.word, name) == 0) return &one;
  return nullptr;
}

// Reduces with the keyword arguments beside those in `parsed`; `values` are theirs.
inline PyObject* call_with_keywords(int reduction, ReduceArguments& parsed, PyObject* const* values, PyObject* keywords) {
  const ReductionRow& row = reduction_table[reduction];
  bool as_in_torch = false;
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); k++) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const ReduceKeyword* const found = find_keyword(keyword);
    if (!found || (found->takes & row.takes) != found->takes)
      return PyErr_Format(PyExc_TypeError, "%s: there is no parameter %R; help(dltensor.%s) lists what there is", row.name,
                          keyword, row.name);
    if (parsed.*(found->place)) return PyErr_Format(PyExc_TypeError, "%s: %s is given twice", row.name, found->name);
    parsed.*(found->place) = values[k];
    parsed.axis_is_named |= found->place == &ReduceArguments::axis;
    as_in_torch |= std::strcmp(found->name, "dim") == 0 || std::strcmp(found->name, "keepdim") == 0;
  }
  if (const char* const remedy = as_in_torch ? unlike_torch(reduction, parsed.correction) : nullptr)
    return PyErr_Format(PyExc_TypeError, "%s: %s", row.name, remedy);
  return reduce_hook(reduction, &parsed);
}

inline PyObject* call_reduction(int reduction, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (count != 1 && count != 2)
    return PyErr_Format(PyExc_TypeError,
                        "%s: expected 1 or 2 positional arguments, x and axis, got %zd; give the rest by keyword",
                        reduction_table[reduction].name, count);
  ReduceArguments parsed{};
  parsed.x = arguments[0];
  if (count == 2) parsed.axis = arguments[1];
  return call_with_keywords(reduction, parsed, arguments + count, keywords);
}

inline PyObject* call_reduction_method(int reduction, PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                                       PyObject* keywords) {
  if (count > 1)
    return PyErr_Format(PyExc_TypeError,
                        "%s: expected at most 1 positional argument, the axis, got %zd; give the rest by keyword",
                        reduction_table[reduction].name, count);
  ReduceArguments parsed{};
  parsed.x = self;
  if (count == 1) parsed.axis = arguments[0];
  return call_with_keywords(reduction, parsed, arguments + count, keywords);
}

#define DLT_BUILTIN(name, ...)                                                                                          \
  inline PyObject* py_reduce_##name(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {      \
    return call_reduction(reduction_##name, arguments, count, keywords);                                                \
  }                                                                                                                     \
  inline PyObject* py_method_##name(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) { \
    return call_reduction_method(reduction_##name, self, arguments, count, keywords);                                   \
  }
DLT_REDUCTIONS(DLT_BUILTIN)
#undef DLT_BUILTIN

using ReduceFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

// Signature and docstring of each row, which live as long as the process.
using ReductionTexts = const char* const[reduction_count];

// One definition per row, and an empty one, which live as long as the process.
inline PyMethodDef* define_reductions(const ReduceFunction* functions, const ReductionTexts& texts) {
  auto* const methods = static_cast<PyMethodDef*>(PyMem_Calloc(reduction_count + 1, sizeof(PyMethodDef)));
  if (!methods) return PyErr_NoMemory(), nullptr;
  for (int i = 0; i < reduction_count; i++) {
    methods[i].ml_name = reduction_table[i].name;
    methods[i].ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(functions[i]));
    methods[i].ml_flags = METH_FASTCALL | METH_KEYWORDS;
    methods[i].ml_doc = texts[i];
  }
  return methods;
}

// Adds the builtins to `module`.
inline int add_reductions(PyObject* module, const ReductionTexts& texts, ReduceHook hook) {
#define DLT_BUILTIN(name, ...) py_reduce_##name,
  static const ReduceFunction functions[] = {DLT_REDUCTIONS(DLT_BUILTIN)};
#undef DLT_BUILTIN
  reduce_hook = hook;
  for (ReduceKeyword& one : reduce_keywords) {
    one.word = PyUnicode_InternFromString(one.name);
    if (!one.word) return -1;
  }
  PyMethodDef* const methods = define_reductions(functions, texts);
  return methods ? PyModule_AddFunctions(module, methods) : -1;
}

// Adds the methods to the extension type Tensor, which is not yet used by others: all rows but count_nonzero, as NumPy's
// arrays have no such method.
inline int add_reduction_methods(PyObject* tensor_type, const ReductionTexts& texts) {
#define DLT_BUILTIN(name, ...) py_method_##name,
  static const ReduceFunction functions[] = {DLT_REDUCTIONS(DLT_BUILTIN)};
#undef DLT_BUILTIN
  auto* const type = reinterpret_cast<PyTypeObject*>(tensor_type);
  PyMethodDef* const methods = define_reductions(functions, texts);
  if (!methods) return -1;
  for (int i = 0; i < reduction_count; i++) {
    if (i == reduction_count_nonzero) continue;
    PyObject* const method = PyDescr_NewMethod(type, &methods[i]);
    const int status = method ? PyDict_SetItemString(type->tp_dict, methods[i].ml_name, method) : -1;
    Py_XDECREF(method);
    if (status) return -1;
  }
  PyType_Modified(type);
  return 0;
}

}  // namespace dlt
