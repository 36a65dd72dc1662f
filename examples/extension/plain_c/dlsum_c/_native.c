/* SPDX-License-Identifier: Apache-2.0 */
/* total(x): sum a float32 tensor. The tensor is validated before its shape is used, and released exactly once. */
#include "take.h"

#include <dltensor/array.h>

static double sum(const DLTensor* t, int32_t axis, const char* p) {
  double total = 0;
  if (axis == t->ndim) return *(const float*)p;
  for (int64_t i = 0; i < t->shape[axis]; i++) total += sum(t, axis + 1, p + i * t->strides[axis] * (int64_t)sizeof(float));
  return total;
}

/* NULL if the tensor can be summed here, else a message. */
static const char* refuse(const DLTensor* t) {
  if (t->device.device_type != kDLCPU) return "device: expected CPU memory; copy the tensor to the CPU";
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1) return "dtype: expected float32";
  return NULL;
}

static PyObject* total(PyObject* module, PyObject* x) {
  Taken taken;
  const char* problem;
  double result = 0;
  (void)module;
  if (take(x, &taken) != 0) return NULL;
  problem = refuse(&taken.tensor);
  if (problem == NULL) result = sum(&taken.tensor, 0, (const char*)taken.tensor.data + taken.tensor.byte_offset);
  else PyErr_Format(PyExc_BufferError, "total: %s", problem);
  give_back(&taken);
  return PyErr_Occurred() ? NULL : PyFloat_FromDouble(result);
}

static PyObject* versions(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  return Py_BuildValue("{s:s,s:i,s:i}", "headers", DLT_VERSION_STRING, "compiled for ABI", DLT_ARRAY_ABI_VERSION, "library ABI",
                       (int)dlt_array_abi_version());
}

static PyMethodDef methods[] = {{"total", total, METH_O, "Sum a float32 tensor of any framework."},
                                {"versions", versions, METH_NOARGS, "Return the versions of the headers and the library."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&definition); }
