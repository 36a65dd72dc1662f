// SPDX-License-Identifier: Apache-2.0
// Number of elements as an int that may be called for the shape, as PyTorch's size(): objects of a static type derived from int,
// with the extents behind their digits, so that one takes a single allocation.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace dlt {

inline PyTypeObject element_count_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
inline constexpr int most_digits = (62 + PyLong_SHIFT) / PyLong_SHIFT;  // of 63 bits
#if PY_VERSION_HEX >= 0x030C0000
inline void set_digit_count(PyObject* number, int count) {
  reinterpret_cast<PyLongObject*>(number)->long_value.lv_tag = count ? uintptr_t(count) << 3
                                                                     : 1;  // the low bits: the sign of 0
}
inline constexpr size_t digits_at = offsetof(PyLongObject, long_value.ob_digit);
#else
inline void set_digit_count(PyObject* number, int count) { Py_SET_SIZE(number, count); }
inline constexpr size_t digits_at = offsetof(PyLongObject, ob_digit);
#endif
inline constexpr size_t extents_at = (digits_at + most_digits * sizeof(digit) + 7) / 8 * 8;
// The number of extents and the extents.
inline int64_t* extents_of(PyObject* number) {
  return reinterpret_cast<int64_t*>(reinterpret_cast<char*>(number) + extents_at);
}

// Freed objects of up to `most_kept_dims` extents are used again, where the GIL guards them.
inline constexpr int most_kept = 8, most_kept_dims = 8;
inline PyObject* kept_counts[most_kept];
inline int kept_count = 0;

[[gnu::noinline]] inline PyObject* allocate_count(int ndim) {
  const int room = ndim > most_kept_dims ? ndim : most_kept_dims;
  PyObject* const result = static_cast<PyObject*>(PyObject_Malloc(extents_at + (1 + room) * sizeof(int64_t)));
  return result ? PyObject_Init(result, &element_count_type) : PyErr_NoMemory();
}

inline void free_count(PyObject* self) {
#ifndef Py_GIL_DISABLED
  if (kept_count < most_kept && extents_of(self)[0] <= most_kept_dims) {
    kept_counts[kept_count++] = self;
    return;
  }
#endif
  PyObject_Free(self);
}

inline PyObject* new_element_count(int ndim, const int64_t* shape) {
  const bool is_kept = kept_count && ndim <= most_kept_dims;
  PyObject* const result = is_kept ? kept_counts[--kept_count] : allocate_count(ndim);
  if (!result) return nullptr;
  if (is_kept) Py_SET_REFCNT(result, 1);
  int64_t* const extents = extents_of(result);
  uint64_t count = 1;
  extents[0] = ndim;
  for (int i = 0; i < ndim; i++) count *= extents[1 + i] = shape[i];
  digit* const digits = reinterpret_cast<digit*>(reinterpret_cast<char*>(result) + digits_at);
  int digit_count = 0;
  for (digits[0] = 0; count; count >>= PyLong_SHIFT) digits[digit_count++] = count & PyLong_MASK;
  set_digit_count(result, digit_count);
  return result;
}

// Test for an integer of Python, or the number of elements of a tensor.
inline bool is_int(PyObject* x) { return PyLong_CheckExact(x) || Py_TYPE(x) == &element_count_type; }

inline PyObject* shape_of_count(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char name[] = "dim";
  static char* names[] = {name, nullptr};
  PyObject* dim = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:size", names, &dim)) return nullptr;
  const int64_t* const extents = extents_of(self);
  const Py_ssize_t ndim = Py_ssize_t(extents[0]);
  if (dim != Py_None) {
    if (!PyIndex_Check(dim))
      return PyErr_Format(PyExc_TypeError, "size: dim must be an integer, got %.200s", Py_TYPE(dim)->tp_name);
    const Py_ssize_t at = PyNumber_AsSsize_t(dim, nullptr);  // clipped
    if (at == -1 && PyErr_Occurred()) return nullptr;
    if (at < -ndim || at >= ndim)
      return PyErr_Format(PyExc_IndexError, "size: dim %zd is out of range for %zd dimensions", at, ndim);
    return PyLong_FromLongLong(extents[1 + at + (at < 0 ? ndim : 0)]);
  }
  PyObject* const shape = PyTuple_New(ndim);
  for (Py_ssize_t i = 0; shape && i < ndim; i++) {
    PyObject* const extent = PyLong_FromLongLong(extents[1 + i]);
    if (!extent) return Py_DECREF(shape), nullptr;
    PyTuple_SET_ITEM(shape, i, extent);
  }
  return shape;
}

// Returns a plain int: arithmetic and conversions of a count have no shape.
inline PyObject* new_plain_int(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
  return PyLong_Type.tp_new(&PyLong_Type, arguments, keywords);
}

// Takes what else the class has, as a dictionary.
inline PyTypeObject* ready_element_count(PyObject* members) {
  PyTypeObject& type = element_count_type;
  if (type.tp_name) return &type;
  type.tp_name = "dltensor.ElementCount";
  type.tp_doc = "Number of elements; a call without arguments returns the shape, and with a dimension its extent.";
  type.tp_base = &PyLong_Type;
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = new_plain_int;
  type.tp_call = shape_of_count;
  type.tp_dealloc = free_count;
  type.tp_dict = Py_NewRef(members);
  return PyType_Ready(&type) ? nullptr : &type;
}

}  // namespace dlt
