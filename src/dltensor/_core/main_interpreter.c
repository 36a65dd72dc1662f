/* SPDX-License-Identifier: Apache-2.0 */
/* A module that only the main interpreter can import. The package imports it first of all: its other modules work in one
 * interpreter of a process, the first that imports them, and a sub-interpreter that came first would keep the main one
 * out permanently. Plain C, since Cython's own check is what would remember the first. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int refuse_others(PyObject* module) {
  (void)module;
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
  PyErr_SetString(PyExc_ImportError,
                  "dltensor: expected the main interpreter, got a sub-interpreter; memory, threads and type caches belong to "
                  "the process, so import dltensor in the main interpreter only (mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void*)refuse_others},
#if PY_VERSION_HEX >= 0x030C0000
    /* It is safe in any of them: so the error is the one above. */
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dltensor.main_interpreter", NULL, 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_main_interpreter(void) { return PyModuleDef_Init(&definition); }
