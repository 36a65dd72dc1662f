# SPDX-License-Identifier: Apache-2.0
# Memory of tensors as other modules allocate, copy and fill it.
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool

from .native cimport Block, bytes_of, contiguous_strides, numel, repeats_elements, retain
from .shapes cimport counted
from .types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                     DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice, DLTensor, is_handle)

cdef extern from "native/memory/view.h" namespace "dlt" nogil:
    cppclass View:
        DLTensor dl
        Block* block
        uint64_t flags
        bint reserve_dims(int) noexcept

cdef int raise_out_of_memory(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1
cdef int allocate_host(View* view, int64_t bytes, cbool* clear, str func) except -1
cdef void clear_bytes(void* data, int64_t bytes) noexcept
cdef int copy_elements(const DLTensor* to, const DLTensor* source, uint64_t flags) except -1
cdef void fill_elements(const DLTensor* to, const void* element, uint64_t flags) noexcept
cdef int raise_not_writable(const DLTensor* view, uint64_t flags, str func, str what) except -1
cdef int check_host(const DLTensor* view, str func) except -1
cdef uint64_t packed_offset(DLDataType dtype, int64_t element) except? 0xFFFFFFFFFFFFFFFF
cdef size_t owned_bytes(const View* view, bint is_view) noexcept


cdef inline int check_writable(const DLTensor* view, uint64_t flags, str func, str what="the tensor") except -1:
    if flags & DLPACK_FLAG_BITMASK_READ_ONLY or repeats_elements(view.ndim, view.shape, view.strides):
        raise_not_writable(view, flags, func, what)
    return 0


cdef inline bint is_packed(DLDataType dtype, uint64_t flags) noexcept:
    return (dtype.bits < 8 and (dtype.bits * dtype.lanes & 7) != 0 and
            not flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)


cdef inline int64_t byte_count(const DLTensor* view, uint64_t flags) noexcept:
    """Bytes of the elements where they are contiguous."""
    return bytes_of(numel(view.ndim, view.shape), view.dtype, flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0)


cdef inline int64_t set_layout(View* view, int ndim, const int64_t* shape, DLDataType dtype, DLDevice device,
                               str func) except -1:
    """Describe fresh memory in C order; returns how many bytes it takes."""
    cdef int i
    cdef int64_t size = counted(ndim, shape, dtype, func)
    # More than the address space, 2^47 bytes, is not requested.
    if size > (<int64_t>1 << 47) * 8 // (dtype.bits * dtype.lanes):
        raise_out_of_memory(ndim, shape, dtype, func)
    if not view.reserve_dims(ndim):
        raise MemoryError(f"allocation failed for {ndim} dimensions")
    for i in range(ndim):
        view.dl.shape[i] = shape[i]
    contiguous_strides(ndim, view.dl.shape, view.dl.strides)
    view.dl.dtype = dtype
    view.dl.device = device
    return bytes_of(size, dtype, False)


cdef inline void share_memory(View* view, const View* source, uint64_t bytes) noexcept:
    """Let a view without dimensions begin `bytes` after the first element of `source`, in the same block."""
    view.dl.device = source.dl.device
    view.dl.dtype = source.dl.dtype
    view.dl.byte_offset = source.dl.byte_offset
    view.flags = source.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED
    retain(source.block)
    view.block = source.block
    # Unsigned arithmetic wraps: strides of a foreign empty tensor may be anything. On devices whose data is a handle
    # the offset must stay where it is.
    if is_handle(<int>source.dl.device.device_type):
        view.dl.data = source.dl.data
        view.dl.byte_offset += bytes
    else:
        view.dl.data = <void*>(<size_t>source.dl.data + bytes)
