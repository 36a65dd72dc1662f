/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that every import loads, in one shared object: its import makes and runs them. Opening a file, resolving its
 * symbols and writing its pages takes longer than running a module. Sub-interpreters are refused before: the modules work in
 * one interpreter of a process, the first that imports them, and a sub-interpreter that came first would keep the main one
 * out permanently. Plain C, since Cython's own check is what would remember the first. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* MODULE(package, name), one row after the modules that it imports; the build reads the file too. */
#define MODULE(package, name) PyMODINIT_FUNC PyInit_##name(void);
#include "compiled_modules.h"
#undef MODULE

struct row {
  const char *package, *name, *full_name;
  PyObject* (*definition)(void);
};

static const struct row rows[] = {
#define MODULE(package, name) {package, #name, package "." #name, PyInit_##name},
#include "compiled_modules.h"
#undef MODULE
};

static int refuse_others(void) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
  PyErr_SetString(PyExc_ImportError,
                  "dltensor: expected the main interpreter, got a sub-interpreter; memory, threads and type caches belong to "
                  "the process, so import dltensor in the main interpreter only (mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return -1;
}

/* A specification as the import system makes them: ModuleSpec(name, ExtensionFileLoader(name, file), origin=file). */
static PyObject* new_spec(PyObject* own_spec, PyObject* file, const char* name) {
  /* importlib.machinery would be a file more to load, and the loader of an editable installation is one of another kind. */
  PyObject* const importlib = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib_external");
  PyObject *spec = NULL, *loader = NULL;
  if (importlib) loader = PyObject_CallMethod(importlib, "ExtensionFileLoader", "sO", name, file);
  else PyErr_SetString(PyExc_ImportError, "dltensor: expected _frozen_importlib_external, a part of CPython, in sys.modules");
  if (loader) spec = PyObject_CallFunction((PyObject*)Py_TYPE(own_spec), "sO", name, loader);
  if (spec && (PyObject_SetAttrString(spec, "origin", file) || PyObject_SetAttrString(spec, "has_location", Py_True)))
    Py_CLEAR(spec);
  Py_XDECREF(loader);
  return spec;
}

/* Runs the code of a module, which stays in sys.modules only if that succeeds. */
static int run(PyObject* module, PyModuleDef* definition, const char* full_name) {
  PyObject *modules = PyImport_GetModuleDict(), *kind, *value, *traceback;
  if (PyDict_SetItemString(modules, full_name, module)) return -1;
  if (!PyModule_ExecDef(module, definition)) return 0;
  PyErr_Fetch(&kind, &value, &traceback);
  if (PyDict_DelItemString(modules, full_name)) PyErr_Clear();
  PyErr_Restore(kind, value, traceback);
  return -1;
}

/* Imports one module, as the import system does with a file that it has found. */
static int load(PyObject* own_spec, PyObject* file, const struct row* row) {
  PyObject *spec = NULL, *module = NULL, *package = PyDict_GetItemString(PyImport_GetModuleDict(), row->package);
  package = package ? Py_NewRef(package) : PyImport_ImportModule(row->package);
  PyModuleDef* definition = NULL;
  int status = -1;
  if (package) spec = new_spec(own_spec, file, row->full_name);
  if (spec) definition = (PyModuleDef*)row->definition();
  if (definition) module = PyModule_FromDefAndSpec(definition, spec);
  if (module && !PyObject_SetAttrString(module, "__spec__", spec)) status = run(module, definition, row->full_name);
  if (!status) status = PyObject_SetAttrString(package, row->name, module);
  Py_XDECREF(spec);
  Py_XDECREF(module);
  Py_XDECREF(package);
  return status;
}

static int load_all(PyObject* self) {
  if (refuse_others()) return -1;
  PyObject* const spec = PyObject_GetAttrString(self, "__spec__");
  PyObject* const file = spec ? PyObject_GetAttrString(spec, "origin") : NULL;
  PyObject* const modules = PyImport_GetModuleDict();
  const int collects = PyGC_Disable(); /* modules make no garbage, and what they make would be searched for it ten times */
  int status = file ? 0 : -1;
  for (size_t i = 0; !status && i < sizeof(rows) / sizeof(rows[0]); i++)
    if (!PyDict_GetItemString(modules, rows[i].full_name)) /* an import that failed may have left some */
      status = load(spec, file, &rows[i]);
  if (collects) PyGC_Enable();
  Py_XDECREF(spec);
  Py_XDECREF(file);
  return status;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void*)load_all},
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
    PyModuleDef_HEAD_INIT, "dltensor._core.compiled", NULL, 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_compiled(void) { return PyModuleDef_Init(&definition); }
