// SPDX-License-Identifier: Apache-2.0
// Builtins of functions in Python that the build lists, whose modules the first call of one of them loads, and methods of Tensor
// that call them. Names, signatures and docstrings are data of the library: a text becomes a Python object when it is read.
#pragma once
#include <Python.h>

#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "_core/members.h"
#include "_core/public_function.h"

namespace dlt {

struct ListedFunction {
  const char *name, *module, *text;  // of `text` the signature and the docstring
};
struct OtherName {
  const char *name, *call;
};
struct Answer {
  const char *name, *text;  // of an attribute of other libraries' tensors, and what to write in its place
};

}  // namespace dlt

// Written by the build: functions of the package; of the table of spellings functions, those that only methods call, other names
// of functions, methods, and answers.
#include "public_function_rows.h"
#include "spelling_rows.h"

namespace dlt {

inline constexpr int public_count = std::size(public_rows), spelling_count = std::size(spelling_rows),
                     hidden_count = std::size(hidden_rows), listed_count = public_count + spelling_count + hidden_count,
                     same_count = std::size(same_rows), method_count = std::size(method_rows),
                     answer_count = std::size(answer_rows);

constexpr const ListedFunction& listed_row(int slot) {
  return slot < public_count                    ? public_rows[slot]
         : slot < public_count + spelling_count ? spelling_rows[slot - public_count]
                                                : hidden_rows[slot - public_count - spelling_count];
}

inline PublicFunction listed_functions[listed_count];
inline PyObject* listed_builtins[listed_count];

template <int slot>
PyObject* call_listed(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return call_public_function(&listed_functions[slot], arguments, count, keywords);
}

template <int... slots>
const KeywordFunction* listed_calls(std::integer_sequence<int, slots...>) {
  static const KeywordFunction calls[] = {call_listed<slots>...};
  return calls;
}

// Makes the builtin of a slot, borrowed. `package` is the module that shows it, and `shown_as` the name of that.
inline PyObject* make_listed(int slot, PyObject* package, PyObject* shown_as) {
  const ListedFunction& row = listed_row(slot);
  PublicFunction& here = listed_functions[slot];
  here.module = row.module;
  here.renaming_count = -1;
  const KeywordFunction call = listed_calls(std::make_integer_sequence<int, listed_count>{})[slot];
  return listed_builtins[slot] = new_builtin(&here, package, row.name, row.text, call, shown_as);
}

// Adds the builtins of slots from `first` on to a dictionary, or makes them only where it is null.
inline int add_listed(int first, int count, PyObject* package, PyObject* shown_as, PyObject* names) {
  for (int slot = first; slot < first + count; slot++) {
    PyObject* const builtin = make_listed(slot, package, shown_as);
    if (!builtin || (names && PyDict_SetItemString(names, listed_row(slot).name, builtin))) return -1;
  }
  return 0;
}

// The builtin of a function in Python, borrowed; null without an error where it is not listed.
inline PyObject* find_listed(const char* module, const char* name) {
  for (int slot = 0; slot < listed_count; slot++)
    if (!std::strcmp(listed_row(slot).name, name) && !std::strcmp(listed_row(slot).module, module))
      return listed_builtins[slot];
  return nullptr;
}

// Signature and docstring of a method that calls a function with the tensor first, as new bytes.
inline PyObject* method_text(const char* name, PyObject* function) {
  const char* const text = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_doc;
  const char* const called = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name;
  const char* const open = std::strchr(text, '(');
  const char* const end = std::strstr(text, ")\n--\n\n");
  const char* const doc = end + std::strlen(")\n--\n\n");
  const char* const rest = open + std::strcspn(open, ",)");  // of the parameters after the first
  std::string result = std::string(name) + "($self" + std::string(rest, doc);
  result += std::strncmp(doc, "Alias", 5) ? "Return ``dltensor." + std::string(called) + "(t, ...)``, whose arguments it takes."
                                          : doc;
  return PyBytes_FromStringAndSize(result.data(), Py_ssize_t(result.size()));
}

// Adds the methods of the table to a type. `names` are the public names of the package.
inline int add_listed_methods(PyTypeObject* type, PyObject* names) {
  for (const OtherName& row : method_rows) {
    PyObject* function = nullptr;
    for (int slot = listed_count - hidden_count; slot < listed_count && !function; slot++)
      if (!std::strcmp(listed_row(slot).name, row.call)) function = listed_builtins[slot];
    if (!function) function = PyDict_GetItemString(names, row.call);
    if (!function || !PyCFunction_Check(function))
      return PyErr_Format(PyExc_SystemError, "methods: there is no builtin %s", row.call), -1;
    PyObject* const text = method_text(row.name, function);
    const int status = text ? add_method(type, row.name, function, text) : -1;
    Py_XDECREF(text);
    if (status) return -1;
  }
  return 0;
}

}  // namespace dlt
