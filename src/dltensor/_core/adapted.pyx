# SPDX-License-Identifier: Apache-2.0
"""Exports with requested layout, offset and flags. inspection/adapter.py chooses these."""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint64_t

from .dlpack cimport export_capsule, export_legacy_capsule
from .native cimport export_managed
from .tensor cimport Tensor, exchange_table
from .types cimport DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor, is_handle


cdef int _describe(Tensor t, int64_t offset, DLTensor* view) except -1:
    cdef int i
    cdef bint empty = False
    view[0] = t.impl.dl
    for i in range(view.ndim):
        empty = empty or view.shape[i] == 0
    if offset != 0 and is_handle(<int>view.device.device_type):
        raise BufferError(f"adapt: on {t.device} data is a handle, whose byte_offset cannot be chosen")
    if empty:
        view.data = NULL
        view.byte_offset = 0
    elif offset != 0:
        view.data = <char*>view.data - offset
        view.byte_offset = <uint64_t>offset
    return 0


def offset_from_256(Tensor t):
    """Offset of the first element from a multiple of 256, the alignment of `data` in the standard."""
    return <size_t>t.impl.dl.data & 255


def capsule_of(Tensor t, bint legacy, uint64_t flags, int64_t offset):
    """A capsule over a tensor's memory; `data` lies `offset` bytes before the first element, which byte_offset says.
    """
    cdef DLTensor view
    _describe(t, offset, &view)
    if legacy:
        return export_legacy_capsule(&view, t.impl.block, 0)
    return export_capsule(&view, t.impl.block, flags)


# -- an exchange table for adapted objects ----------------------------------------------------------------------------
# Its objects are plain Python: they describe what to export, this function exports it.

cdef int _from_python(void* object_, DLManagedTensorVersioned** out) except -1:
    cdef DLTensor view
    cdef Tensor t
    t, flags, offset = (<object>object_)._make()
    _describe(t, offset, &view)
    out[0] = export_managed(view, t.impl.block, flags)
    if out[0] == NULL:
        raise MemoryError("exchange table of an adapted tensor: allocation failed for the exported struct")
    return 0


cdef DLPackExchangeAPI _table = exchange_table
_table.managed_tensor_from_py_object_no_sync = <int (*)(void*, DLManagedTensorVersioned**) noexcept>_from_python
# No borrowed views, as the standard allows: an adapted tensor may be a copy without another owner.
_table.dltensor_from_py_object_no_sync = NULL

TABLE = PyCapsule_New(&_table, b"dlpack_exchange_api", NULL)
