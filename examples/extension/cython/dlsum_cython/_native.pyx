# cython: language_level=3
# SPDX-License-Identifier: Apache-2.0
"""An array of any origin, held through its table of functions."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_SetName
from libc.stdint cimport int32_t, uintptr_t

cdef extern from "dltensor/array.h" nogil:
    ctypedef struct DLManagedTensorVersioned:
        pass
    ctypedef struct dlt_host_t:
        pass
    ctypedef struct dlt_array_t:
        void* ptr
        void (*destroy)(void*)
        int32_t (*shape)(const void*, const uintptr_t**, uintptr_t*)
        int32_t (*swap_axes)(void*, uintptr_t, uintptr_t)
    int32_t dlt_array_from_dlpack(DLManagedTensorVersioned*, const char*, const dlt_host_t*, dlt_array_t*)
    int32_t dlt_last_error(const char**, const char**, void**)


cdef int need(int32_t status) except -1:
    """Raise the message of the library for a status that is a failure."""
    cdef const char* message = NULL
    if status != 0:
        dlt_last_error(&message, NULL, NULL)
        raise ValueError(message.decode() if message != NULL else f"status {status}")
    return 0


cdef class Held:
    """A tensor of any framework, held until this object dies.

    Parameters
    ----------
    x : object that supports DLPack
        Tensor; its memory is shared.
    """

    cdef dlt_array_t array

    def __cinit__(self, x):
        cdef object capsule = x.__dlpack__(max_version=(1, 3))
        cdef void* managed = PyCapsule_GetPointer(capsule, "dltensor_versioned")
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
        # Takes the tensor, also when it fails.
        need(dlt_array_from_dlpack(<DLManagedTensorVersioned*> managed, "dlsum.cython", NULL, &self.array))

    def __dealloc__(self):
        if self.array.destroy != NULL:
            self.array.destroy(self.array.ptr)

    @property
    def shape(self):
        """The sizes of the dimensions."""
        cdef const uintptr_t* sizes = NULL
        cdef uintptr_t count = 0
        need(self.array.shape(self.array.ptr, &sizes, &count))
        return tuple([sizes[i] for i in range(count)])

    def swap_axes(self, uintptr_t first, uintptr_t second):
        """Exchange two axes in place."""
        need(self.array.swap_axes(self.array.ptr, first, second))
