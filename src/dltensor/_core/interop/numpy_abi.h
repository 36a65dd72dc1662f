// SPDX-License-Identifier: Apache-2.0
// The few words of NumPy's C ABI that make exchange with it as cheap as a struct read: own declarations, so that NumPy
// is needed neither to build nor to run. _core/buffers.pyx proves them against live arrays before it trusts them.
#pragma once
#include <Python.h>
#include <stdint.h>

#include "_core/interop/gil.h"
#include "_core/interop/weak_references.h"

namespace dlt {

// The members of an ndarray up to the flags, unchanged since NumPy 1.0.
struct NumpyArray {
  PyObject head;
  char* data;
  int ndim;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // bytes
  PyObject* base;
  PyObject* descr;
  int flags;
};

// The members of a dtype that kept their places from NumPy 1 to 2.
struct NumpyDescr {
  PyObject head;
  PyTypeObject* scalar_type;
  char kind;
  char type;
  char byteorder;
  char former_flags;
  int number;
};

enum : int { numpy_writeable = 0x0400, numpy_aligned = 0x0100, numpy_owns_data = 0x0004 };

// Copies shape and strides to `dims`, strides in elements of `width` bytes. Returns -1, or the dimension whose stride is
// no multiple of the width.
inline int numpy_layout(const NumpyArray* array, int64_t width, int64_t* dims) {
  const int ndim = array->ndim;
  const Py_ssize_t *shape = array->shape, *strides = array->strides;
  int64_t* steps = dims + ndim;
  const bool shifts = (width & (width - 1)) == 0;
  const int shift = __builtin_ctzll(static_cast<unsigned long long>(width));
  for (int i = 0; i < ndim; ++i) {
    const int64_t size = shape[i], bytes = strides[i];
    const int64_t step = shifts ? bytes >> shift : bytes / width;
    const bool whole = step * width == bytes;
    if (!whole && size > 1) return i;
    dims[i] = size;
    steps[i] = whole ? step : 1;
  }
  return -1;
}

// The array whose memory an array shows, borrowed. NumPy lets a view keep its owner alive, or a view of that.
inline PyObject* numpy_owner(PyObject* array, PyObject* ndarray) {
  for (;;) {
    auto* fields = reinterpret_cast<NumpyArray*>(array);
    if ((fields->flags & numpy_owns_data) || !fields->base ||
        !PyObject_TypeCheck(fields->base, reinterpret_cast<PyTypeObject*>(ndarray)))
      return array;
    array = fields->base;
  }
}

// A weak reference to the array that owns the memory: as long as there is one, NumPy refuses ndarray.resize, which would
// otherwise free the memory under every view (with refcheck=False). Null with an exception set when it cannot be made.
inline PyObject* numpy_keep_in_place(PyObject* array, PyObject* ndarray) {
  return take_weak_reference(numpy_owner(array, ndarray));
}

// Returns whether the only reference to the memory of an array is the caller's. Without a GIL that cannot be known.
inline bool numpy_is_new([[maybe_unused]] PyObject* array, [[maybe_unused]] PyObject* ndarray) {
#ifdef Py_GIL_DISABLED
  return false;
#else
  for (;; array = reinterpret_cast<NumpyArray*>(array)->base) {
    if (Py_REFCNT(array) != 1) return false;
    auto* fields = reinterpret_cast<NumpyArray*>(array);
    if (fields->flags & numpy_owns_data) return true;
    if (!fields->base || !PyObject_TypeCheck(fields->base, reinterpret_cast<PyTypeObject*>(ndarray))) return false;
  }
#endif
}

// The `free` of a block over the memory of an ndarray: with the array goes the weak reference that kept NumPy from
// resizing it in place, if there is one.
inline void free_array(Block* block) noexcept {
  auto* array = static_cast<PyObject*>(block->owner);
  auto* reference = static_cast<PyObject*>(block->second_owner);
  recycle(block);
  if (holds_gil() && is_kept_by_others(array)) [[likely]] {  // no Python code can run
    if (reference) drop_weak_reference(reference);
    Py_DECREF(array);
    return;
  }
  with_python([array, reference] {
    if (reference) drop_weak_reference(reference);
    Py_DECREF(array);
  });
}

// Places in NumPy's function table (multiarray_umath._ARRAY_API), frozen since NumPy 1.7.
enum : int { numpy_array_type = 2, numpy_new_from_descr = 94, numpy_set_base = 282 };

using NumpyNewFromDescr = PyObject* (*)(PyTypeObject*, PyObject* descr, int ndim, const Py_ssize_t* shape,
                                        const Py_ssize_t* strides, void* data, int flags, PyObject*);
using NumpySetBase = int (*)(PyObject* array, PyObject* base);

// An array over foreign memory that keeps `owner` alive.
inline PyObject* numpy_array(void** table, PyObject* descr, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides,
                             void* data, int flags, PyObject* owner) {
  Py_INCREF(descr);  // stolen by the call
  PyObject* array = reinterpret_cast<NumpyNewFromDescr>(table[numpy_new_from_descr])(
      static_cast<PyTypeObject*>(table[numpy_array_type]), descr, ndim, shape, strides, data, flags, nullptr);
  if (!array) return nullptr;
  Py_INCREF(owner);  // stolen by the call, also when it fails
  if (reinterpret_cast<NumpySetBase>(table[numpy_set_base])(array, owner) < 0) Py_CLEAR(array);
  return array;
}

}  // namespace dlt
