# SPDX-License-Identifier: Apache-2.0
# Import and export as other modules use them.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from .native cimport MAX_DIMS_TWICE, Block
from .types cimport DLDevice, DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor


cdef extern from "_core/gil.h" namespace "dlt" nogil:
    void free_object(Block*) noexcept

cdef extern from "_core/torch_abi.h" namespace "dlt" nogil:
    void release_storage(void*) noexcept

# A foreign tensor that is ours now: `block` carries one reference, `view` has been checked, its byte_offset is folded
# into `data` unless that is a handle. Shape and strides are copies in `dims`; strides may be NULL.
cdef struct ImportedTensor:
    DLTensor view
    Block* block
    uint64_t flags
    int64_t dims[MAX_DIMS_TWICE]

# How a type can be read; found out once per type.
cdef enum ImportPath:
    UNKNOWN, TABLE, NDARRAY, MASKED, PROTOCOL, CAPSULE, BUFFER, ARRAY_INTERFACE, CUDA_ARRAY_INTERFACE, COLUMN, ARRAY,
    NONE

# Facts that are remembered of a type. They are never changed and never freed: others take their place.
cdef extern from "_core/type_table.h" namespace "dlt":
    ctypedef struct TypeEntry:
        int path        # an ImportPath
        int signature
        bint immutable
        bint known
        bint agreed
        bint torch
        bint obeyed
        bint wraps_arrays
        DLPackExchangeAPI* table

cdef const TypeEntry* entry_of(object x) except NULL
cdef const TypeEntry* entry_of_type(object kind) except NULL
cdef const TypeEntry* known_entry(void* kind) noexcept
cdef void amend_entry(object kind, int signature, bint agreed) noexcept
cdef bint is_numpy_scalar(object kind) except -1
cdef int check_mask(object array, str func) except -1
cdef int check_tensor(const DLTensor* view, str func) except -1
cdef int import_tensor(object x, const TypeEntry* entry, object stream, ImportedTensor* out, str func) except -1
cdef int import_managed(DLManagedTensorVersioned* managed, ImportedTensor* out, str func) except -1
cdef object capsule_around(DLManagedTensorVersioned* managed)
cdef object export_capsule(const DLTensor* view, Block* block, uint64_t flags)
cdef object export_legacy_capsule(const DLTensor* view, Block* block)
cdef bint is_lazy(object x, str func) except -1
cdef bint is_plain(object x, bint ask, str func) except -1
cdef bint is_torch_table(const DLPackExchangeAPI* table) noexcept
cdef object hold_storage(object x)
cdef void* retain_storage(object x) noexcept
cdef int adopt_storage(void* storage, ImportedTensor* out, str func) except -1
cdef int borrow_table(object x, const DLPackExchangeAPI* table, DLTensor* out, int64_t* dims, str func) except -1
cdef int raise_pending() except -1
cdef int adopt_object(object owner, ImportedTensor* out, str func) except -1
