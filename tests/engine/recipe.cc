// SPDX-License-Identifier: Apache-2.0
// A Python module of the builtins that a table of operations makes, over loops of two types: what test_recipe.py loads.
#include "_ops/builtins.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt {
static ElementwiseKernels loops;
static Kernels table;
std::atomic<const Kernels*> kernels_in_use{&table};
const Kernels& first_kernels() noexcept { return table; }

// One element through the loop of int8 or float32, as the type of the first operand says.
static PyObject* element(int op, int, PyObject** operands, PyObject*, int, PyObject*) {
  if (PyLong_Check(operands[0])) {
    int8_t in[3] = {}, out = 0;
    for (int i = 0; i < op_table[op].operands; ++i) in[i] = static_cast<int8_t>(PyLong_AsLong(operands[i]));
    find_loop(op, type_int8)(&out, &in[0], &in[1], &in[2], 1, 0);
    return PyLong_FromLong(out);
  }
  float in[3] = {}, out = 0;
  for (int i = 0; i < op_table[op].operands; ++i) in[i] = static_cast<float>(PyFloat_AsDouble(operands[i]));
  find_loop(op, type_float32)(&out, &in[0], &in[1], &in[2], 1, 0);
  return PyFloat_FromDouble(out);
}

// All rows and aliases in order: name, and what the table says.
static PyObject* rows(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const FunctionRow& f : function_rows) {
    const OpRow& row = op_table[f.op];
    PyObject* one = Py_BuildValue("{ss ss si sI ss ss ss ss sO sO}", "name", f.name, "row", row.name, "operands", row.operands,
                                  "kinds", row.kinds, "result", row.result_name, "symbol", row.symbol, "text", row.text, "doc",
                                  row.doc, "saturating", row.saturating >= 0 ? Py_True : Py_False, "swapped",
                                  f.swapped ? Py_True : Py_False);
    if (!list || !one || PyList_Append(list, one)) return nullptr;
    Py_DECREF(one);
  }
  return list;
}

// Takes a list of bytes, one for each row.
static PyObject* install(PyObject* module, PyObject* list) {
  static const char* texts[function_count];
  for (int i = 0; i < function_count; ++i) {
    texts[i] = PyBytes_AsString(PyList_GetItem(list, i));
    if (!texts[i]) return nullptr;
  }
  Py_INCREF(list);
  if (add_functions(module, texts, element, nullptr)) return nullptr;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"rows", rows, METH_NOARGS, ""}, {"install", install, METH_O, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "recipe", "", -1, methods, nullptr, nullptr, nullptr, nullptr};
}  // namespace dlt

PyMODINIT_FUNC PyInit_recipe() {
  dlt::table.elementwise = &dlt::loops;
  dlt::base::fill_column<float>(&dlt::loops, dlt::type_float32);
  dlt::base::fill_column<int8_t>(&dlt::loops, dlt::type_int8);
  return PyModule_Create(&dlt::definition);
}
