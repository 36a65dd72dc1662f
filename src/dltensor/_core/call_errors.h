// SPDX-License-Identifier: Apache-2.0
// Errors of calls with arguments that a function does not take: the signature is added to Cython's message.
#pragma once
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <cstdarg>
#include <cstring>

namespace dlt {

// PyErr_Format, and for the messages of Cython, "name() takes ..." and "name() got ...", a message that shows the signature.
// `file` is the C++ file that Cython wrote for the module.
inline PyObject* format_error(const char* file, PyObject* type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  const char* const name_end = std::strstr(format, "() ");
  if (type != PyExc_TypeError || !name_end || (std::strncmp(name_end, "() takes", 8) && std::strncmp(name_end, "() got", 6)))
    return nullptr;
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  PyObject* const module = PyImport_ImportModule("dltensor._core.call_errors");
  PyObject* const text = module ? PyObject_CallMethod(module, "explain", "sO", file, value) : nullptr;
  Py_XDECREF(module);
  PyErr_Clear();
  if (!text) return PyErr_Restore(kind, value, traceback), nullptr;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
  Py_XDECREF(kind);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return nullptr;
}

}  // namespace dlt

// meson.build includes this file before the code that Cython writes, which formats these messages by this name.
#define PyErr_Format(...) ::dlt::format_error(__FILE__, __VA_ARGS__)
