# SPDX-License-Identifier: Apache-2.0
# Import and export as other modules use them.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from .native cimport MAX_DIMS, MAX_DIMS_TWICE, Block
from .types cimport DLDevice, DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor, is_handle

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_tensor(const DLTensor*)
    int dlt_check_pointer(const void*)

cdef extern from "_core/interop/gil.h" namespace "dlt" nogil:
    void free_object(Block*) noexcept

# A foreign tensor that is ours now: `block` carries one reference, `view` has been checked, its byte_offset is folded
# into `data` unless that is a handle. Shape and strides are copies in `dims`; strides may be NULL.
cdef struct ImportedTensor:
    DLTensor view
    Block* block
    uint64_t flags
    int64_t dims[MAX_DIMS_TWICE]

# Ways to read a type, chosen once per type.
cdef enum ImportPath:
    UNKNOWN, TABLE, NDARRAY, MASKED, PROTOCOL, CAPSULE, BUFFER, ARRAY_INTERFACE, CUDA_ARRAY_INTERFACE, COLUMN, ARRAY,
    NONE

# The cached entry of a type. It is never changed and never freed: an update is another entry.
cdef extern from "_core/interop/type_table.h" namespace "dlt":
    ctypedef struct TypeEntry:
        int path        # an ImportPath
        int signature
        bint is_immutable
        bint is_known_package
        bint device_agrees
        bint is_torch
        bint overrides_export
        bint wraps_arrays
        DLPackExchangeAPI* table

cdef const TypeEntry* entry_of(object x) except NULL
cdef const TypeEntry* classify_type(object kind) except NULL
cdef const TypeEntry* cached_entry(void* kind) noexcept
cdef void update_entry(object kind, int signature, bint device_agrees) noexcept
cdef bint is_numpy_scalar(object kind) except -1
cdef int check_mask(object array, str func) except -1
cdef int check_tensor(const DLTensor* view, str func) except -1
cdef int import_tensor(object x, const TypeEntry* entry, object stream, ImportedTensor* out, str func) except -1
cdef int import_managed(DLManagedTensorVersioned* managed, ImportedTensor* out, str func) except -1
cdef object capsule_around(DLManagedTensorVersioned* managed)
cdef object export_capsule(const DLTensor* view, Block* block, uint64_t flags)
cdef object export_legacy_capsule(const DLTensor* view, Block* block, uint64_t flags)
cdef tuple read_version(object max_version)
cdef int check_stream_type(object stream) except -1
cdef int check_cuda_stream(object stream) except -1
cdef int borrow_table(object x, const DLPackExchangeAPI* table, DLTensor* out, int64_t* dims, str func) except -1
cdef int raise_table_error(object kind, str func) except -1
cdef int adopt_object(object owner, ImportedTensor* out, str func) except -1


cdef inline void apply_byte_offset(DLTensor* view) noexcept:
    # On devices whose data is a handle the offset must stay where it is.
    if view.byte_offset != 0 and not is_handle(<int32_t>view.device.device_type):
        view.data = <char*>view.data + view.byte_offset
        view.byte_offset = 0


cdef inline int read_layout(const DLTensor* view, DLTensor* out, int64_t* dims) noexcept:
    """Copy a foreign description, shape and strides into `dims` (128 numbers), and check the copy alone.

    Its owner may change the description at any time, so it is read once. Returns 0 or the rule that is broken.
    """
    cdef int i, ndim = view.ndim
    cdef int64_t* shape = view.shape
    cdef int64_t* strides = view.strides
    out[0] = view[0]
    out.ndim, out.shape, out.strides = ndim, shape, strides
    if 0 < ndim <= MAX_DIMS and dlt_check_pointer(shape) == 0 and (strides == NULL or dlt_check_pointer(strides) == 0):
        for i in range(ndim):
            dims[i] = shape[i]
        out.shape = dims
        if strides != NULL:
            for i in range(ndim):
                dims[ndim + i] = strides[i]
            out.strides = dims + ndim
    return dlt_check_tensor(out)
