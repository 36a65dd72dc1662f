// SPDX-License-Identifier: Apache-2.0
// The instruction that the running Python code is at: whether C code was called by an operator or by something else.
#pragma once
#include <Python.h>
#include <opcode.h>

#if PY_VERSION_HEX < 0x030C0000
// 3.11 has no function that reads a frame without making an object of it. Cython includes this header there, too.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "internal/pycore_frame.h"
#endif

namespace dlt {

// The code object that runs, a new reference, and the byte that it is at; null where no Python code runs.
inline PyObject* running_code(int* at) {
  PyThreadState* thread = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030C0000
  _PyInterpreterFrame* frame = thread->cframe->current_frame;
  if (!frame) return nullptr;
  *at = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
  return Py_NewRef(frame->f_code);
#elif PY_VERSION_HEX < 0x030F0000
#if PY_VERSION_HEX < 0x030D0000
  _PyInterpreterFrame* frame = thread->cframe->current_frame;
#else
  _PyInterpreterFrame* frame = thread->current_frame;
#endif
  if (!frame) return nullptr;
  *at = PyUnstable_InterpreterFrame_GetLasti(frame);
  return PyUnstable_InterpreterFrame_GetCode(frame);
#else
  (void)thread;
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return nullptr;
  *at = PyFrame_GetLasti(frame);
  return reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
#endif
}

// Returns whether Python code is at a binary operator or a comparison, and not at an operator in place.
inline bool is_at_operator() {
  int at = -1;
  PyObject* code = running_code(&at);
  if (!code) return false;
  // Without what the interpreter makes of the instructions for itself; the code object keeps the bytes.
  PyObject* bytes = PyCode_Check(code) && at >= 0 ? PyCode_GetCode(reinterpret_cast<PyCodeObject*>(code)) : nullptr;
  Py_DECREF(code);
  if (!bytes) {
    PyErr_Clear();
    return false;
  }
  const auto* instruction = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes)) + at;
  const bool found = at + 1 < PyBytes_GET_SIZE(bytes) &&
                     (instruction[0] == COMPARE_OP || (instruction[0] == BINARY_OP && instruction[1] < NB_INPLACE_ADD));
  Py_DECREF(bytes);
  return found;
}

}  // namespace dlt
