/* SPDX-License-Identifier: Apache-2.0 */
/* take(x, &taken): a tensor from every producer of DLPack, by its exchange table or by `__dlpack__` of any age. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dltensor/validate.h>

typedef struct {
  DLTensor tensor;       /* validated; strides are never NULL */
  int is_read_only;      /* the flag; a legacy struct has none, so that arrays of JAX seem writable and are not */
  int64_t strides[64];   /* those of C order where the producer has none */
  void* managed;         /* the struct that owns the memory */
  void (*release)(void*); /* its deleter's caller */
} Taken;

static void release_versioned(void* managed) {
  DLManagedTensorVersioned* m = (DLManagedTensorVersioned*)managed;
  if (m->deleter != NULL) m->deleter(m);
}

static void release_legacy(void* managed) {
  DLManagedTensor* m = (DLManagedTensor*)managed;
  if (m->deleter != NULL) m->deleter(m);
}

/* Give the memory back, exactly once. A deleter may run Python code, so that a pending exception is put aside. */
static void give_back(Taken* taken) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  taken->release(taken->managed);
  PyErr_Restore(type, value, traceback);
}

/* Describe the tensor that `taken` owns, or give it back and set an exception. */
static int describe(Taken* taken, const DLTensor* t) {
  int64_t step = 1;
  if (dlt_check_tensor(t) != 0) {
    char message[256];
    dlt_explain_tensor(t, message, sizeof message);
    PyErr_SetString(PyExc_BufferError, message);
    give_back(taken);
    return -1;
  }
  taken->tensor = *t;
  for (int32_t axis = t->ndim - 1; axis >= 0 && t->strides == NULL; axis--) {
    taken->strides[axis] = step; /* NULL was legal before DLPack 1.2 */
    step *= t->shape[axis] != 0 ? t->shape[axis] : 1;
  }
  if (t->strides == NULL) taken->tensor.strides = taken->strides;
  return 0;
}

static int describe_versioned(Taken* taken, DLManagedTensorVersioned* m) {
  taken->managed = m;
  taken->release = release_versioned;
  if (dlt_check_version(m->version) != 0) { /* of another major version only the deleter may be used */
    PyErr_Format(PyExc_BufferError, "expected DLPack 1, got %u", (unsigned)m->version.major);
    give_back(taken);
    return -1;
  }
  taken->is_read_only = (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return describe(taken, &m->dl_tensor);
}

/* Whether the type is PyTorch's. Its table exports what its `__dlpack__` refuses, such as tensors that require grad, and
 * both export a lazily negated view as if it was not negated. */
static int is_torch(PyObject* x) { return PyObject_HasAttrString((PyObject*)Py_TYPE(x), "resolve_neg"); }

/* The exchange table of a type, or NULL. Tables of newer major versions link to older ones. */
static const DLPackExchangeAPI* table_of(PyObject* x) {
  PyObject* capsule = PyObject_GetAttrString((PyObject*)Py_TYPE(x), "__dlpack_c_exchange_api__");
  const DLPackExchangeAPIHeader* header = NULL;
  if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    header = (const DLPackExchangeAPIHeader*)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  PyErr_Clear();
  Py_XDECREF(capsule); /* the type keeps it */
  while (header != NULL && dlt_check_version(header->version) != 0) header = header->prev_api;
  return (const DLPackExchangeAPI*)header;
}

/* Call `__dlpack__`, at first with max_version. Methods from before 2023 do not know it; whether they are written in
 * Python, compiled, or behind a decorator that forwards keywords, they raise TypeError. */
static PyObject* call_dlpack(PyObject* x) {
  PyObject *type, *value, *traceback, *capsule = NULL;
  PyObject* resolved = is_torch(x) ? PyObject_CallMethod(x, "resolve_neg", NULL) : Py_NewRef(x);
  PyObject* method = resolved != NULL ? PyObject_GetAttrString(resolved, "__dlpack__") : NULL;
  PyObject* options = Py_BuildValue("{s:(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  PyObject* none = PyTuple_New(0);
  if (method != NULL && options != NULL && none != NULL) capsule = PyObject_Call(method, none, options);
  if (capsule == NULL && method != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Fetch(&type, &value, &traceback);
    capsule = PyObject_CallNoArgs(method);
    if (capsule != NULL || PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
    if (capsule == NULL && !PyErr_Occurred()) {
      PyErr_Restore(type, value, traceback); /* the first TypeError says more than a second one */
    } else {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
    }
  }
  Py_XDECREF(none);
  Py_XDECREF(options);
  Py_XDECREF(method);
  Py_XDECREF(resolved);
  return capsule;
}

/* Take the struct out of a capsule. Renaming it transfers the ownership: from then on the deleter is ours to call. */
static int take_capsule(PyObject* capsule, Taken* taken) {
  const int versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
  const char* name = versioned ? "dltensor_versioned" : "dltensor";
  void* managed = PyCapsule_GetPointer(capsule, name); /* ValueError where it has another name, as used ones have */
  if (managed == NULL) return -1;
  if (dlt_check_pointer(managed) != 0 || dlt_check_layout(managed, versioned) != 0) {
    PyErr_Format(PyExc_BufferError, "the capsule named %s holds another struct", name);
    return -1;
  }
  if (PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") != 0) return -1;
  if (versioned) return describe_versioned(taken, (DLManagedTensorVersioned*)managed);
  taken->managed = managed;
  taken->release = release_legacy;
  taken->is_read_only = 0;
  return describe(taken, &((DLManagedTensor*)managed)->dl_tensor);
}

/* Take the tensor that `x` shows. 0: call give_back() when done; -1: an exception is set, and nothing is to be given
 * back. */
static int take(PyObject* x, Taken* taken) {
  const DLPackExchangeAPI* table = is_torch(x) ? NULL : table_of(x);
  DLManagedTensorVersioned* managed = NULL;
  PyObject* capsule;
  int result;
  if (table != NULL) {
    result = table->managed_tensor_from_py_object_no_sync(x, &managed);
    if (result == 0 && managed != NULL) return describe_versioned(taken, managed);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_BufferError, "the exchange table gave no tensor");
    return -1;
  }
  capsule = PyCapsule_CheckExact(x) ? Py_NewRef(x) : call_dlpack(x);
  if (capsule == NULL) return -1;
  result = take_capsule(capsule, taken);
  Py_DECREF(capsule);
  return result;
}
