// SPDX-License-Identifier: Apache-2.0
// Plain weak references (no callback) that are used again: CPython makes and frees a collected object for each one, which
// is a third of the time that an import of an ndarray takes. The objects here are ordinary ones made by CPython; between
// two uses they are dead (`wr_object` is None) and wait in a pool. The struct is in CPython's public headers; it is
// compared with a live reference once, and where it differs, or without a GIL, each reference is made and freed as usual.
#pragma once
#include <Python.h>

namespace dlt {

inline PyObject* new_weak_reference(PyObject* object) { return PyWeakref_NewRef(object, nullptr); }

#if !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION) && PY_VERSION_HEX < 0x030F0000

struct WeakReferences {
  static constexpr int capacity = 64;
  int count = 0;
  bool proved = false, usable = false;
  PyObject* dead[capacity];
};
inline WeakReferences weak_references;

// The first member of the list of an object's weak references; null when its type keeps no such list at a fixed place.
inline PyWeakReference** weak_list(PyObject* object) {
  const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  return offset > 0 ? reinterpret_cast<PyWeakReference**>(reinterpret_cast<char*>(object) + offset) : nullptr;
}

inline void unlink_weak_reference(PyWeakReference* reference) {
  PyObject* object = reference->wr_object;
  if (object == Py_None) return;  // the object is gone
  PyWeakReference** list = weak_list(object);
  PyWeakReference *before = reference->wr_prev, *after = reference->wr_next;
  (before ? before->wr_next : *list) = after;
  if (after) after->wr_prev = before;
  reference->wr_object = Py_None;
  reference->wr_prev = reference->wr_next = nullptr;
}

// Returns whether the struct is what CPython fills: a reference without and one with a callback to the same object.
inline bool prove_weak_references(PyObject* object) {
  weak_references.proved = true;
  PyWeakReference** list = weak_list(object);
  if (!list || *list) {
    weak_references.proved = false;  // ask again with an object that has no weak reference
    return false;
  }
  PyObject* plain = PyWeakref_NewRef(object, nullptr);
  PyObject* second = plain ? PyWeakref_NewRef(object, reinterpret_cast<PyObject*>(&PyBaseObject_Type)) : nullptr;
  auto* first = reinterpret_cast<PyWeakReference*>(plain);
  auto* last = reinterpret_cast<PyWeakReference*>(second);
  weak_references.usable = second && *list == first && first->wr_object == object && !first->wr_callback && first->hash == -1 &&
                           !first->wr_prev && first->wr_next == last && last->wr_prev == first && !last->wr_next &&
                           last->wr_callback == reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  PyErr_Clear();
  Py_XDECREF(second);
  Py_XDECREF(plain);
  return weak_references.usable;
}

// A new reference to the plain weak reference of an object; null with an exception set when it cannot be made.
inline PyObject* take_weak_reference(PyObject* object) {
  WeakReferences& pool = weak_references;
  if (!pool.count) [[unlikely]] {
    if (!pool.proved) prove_weak_references(object);
    return new_weak_reference(object);
  }
  PyWeakReference** list = weak_list(object);
  if (!list || (*list && !(*list)->wr_callback)) return new_weak_reference(object);  // it has one, which is shared
  PyObject* reference = pool.dead[--pool.count];
  if (Py_REFCNT(reference) != 1) [[unlikely]] {  // a program found it among the objects of the collector
    Py_DECREF(reference);
    return new_weak_reference(object);
  }
  auto* fields = reinterpret_cast<PyWeakReference*>(reference);
  PyWeakReference* next = *list;
  fields->wr_object = object;
  fields->hash = -1;
  fields->wr_next = next;
  if (next) next->wr_prev = fields;
  *list = fields;
  return reference;
}

// Gives back what take_weak_reference() returned. Needs the GIL.
inline void drop_weak_reference(PyObject* reference) {
  WeakReferences& pool = weak_references;
  if (pool.usable && Py_REFCNT(reference) == 1 && pool.count < WeakReferences::capacity) {
    unlink_weak_reference(reinterpret_cast<PyWeakReference*>(reference));
    pool.dead[pool.count++] = reference;
  } else {
    Py_DECREF(reference);
  }
}

#else

inline PyObject* take_weak_reference(PyObject* object) { return new_weak_reference(object); }
inline void drop_weak_reference(PyObject* reference) { Py_DECREF(reference); }

#endif

}  // namespace dlt
