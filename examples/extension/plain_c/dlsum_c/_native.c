/* SPDX-License-Identifier: Apache-2.0 */
/* total(x): sum a float32 tensor. The tensor is validated before its shape is used, and released exactly once. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dltensor/array.h>
#include <dltensor/validate.h>

static double sum(const DLTensor* t, int32_t axis, const char* p) {
  double total = 0;
  if (axis == t->ndim) return *(const float*)p;
  for (int64_t i = 0; i < t->shape[axis]; i++) total += sum(t, axis + 1, p + i * t->strides[axis] * (int64_t)sizeof(float));
  return total;
}

/* NULL if the tensor can be summed here, else a message. */
static const char* refuse(const DLTensor* t, char* message, size_t size) {
  if (dlt_check_tensor(t) != 0) {
    dlt_explain_tensor(t, message, size);
    return message;
  }
  if (t->device.device_type != kDLCPU) return "device: expected CPU memory; copy the tensor to the CPU";
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1) return "dtype: expected float32";
  if (t->ndim > 0 && t->strides == NULL) return "strides: expected an array, got NULL";
  return NULL;
}

static PyObject* exported(PyObject* x) {
  PyObject *method = PyObject_GetAttrString(x, "__dlpack__"), *result = NULL;
  PyObject* options = Py_BuildValue("{s:(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  PyObject* none = PyTuple_New(0);
  if (method && options && none) result = PyObject_Call(method, none, options);
  Py_XDECREF(none);
  Py_XDECREF(options);
  Py_XDECREF(method);
  return result;
}

static PyObject* total(PyObject* module, PyObject* x) {
  char message[256];
  const char* problem;
  double result = 0;
  DLManagedTensorVersioned* m;
  PyObject* capsule = exported(x);
  (void)module;
  if (capsule == NULL) return NULL;
  m = (DLManagedTensorVersioned*)PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (m == NULL || PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0) {
    Py_DECREF(capsule);
    return NULL;
  }
  Py_DECREF(capsule); /* renamed: the deleter is ours to call now */
  if (dlt_check_version(m->version) != 0) {
    PyErr_Format(PyExc_BufferError, "total: expected DLPack 1, got %u", (unsigned)m->version.major);
  } else if ((problem = refuse(&m->dl_tensor, message, sizeof message)) != NULL) {
    PyErr_Format(PyExc_BufferError, "total: %s", problem);
  } else {
    result = sum(&m->dl_tensor, 0, (const char*)m->dl_tensor.data + m->dl_tensor.byte_offset);
  }
  if (m->deleter != NULL) m->deleter(m);
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
