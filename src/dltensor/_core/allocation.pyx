# SPDX-License-Identifier: Apache-2.0
"""Memory of tensors on the host: allocated, copied, filled, and checked before it is read or written."""
from libc.string cimport memset

from .native cimport (KEEP_GIL_BYTES, allocate, allocate_clear, copy_tensor, fill_tensor, type_table, type_uint8)
from .shapes cimport as_tuple, shape_of, strides_of
from .types cimport DLPACK_FLAG_BITMASK_READ_ONLY, device_of, dtype_of, is_host

from .types import DeviceError

cdef extern from *:
    """
    static bool is_shared(const dlt::Block* block) {
      return block->references.load(std::memory_order_relaxed) != 1;
    }
    """
    bint is_shared(const Block*) noexcept


cdef int raise_out_of_memory(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1:
    bits = int(dtype.bits) * int(dtype.lanes)
    for i in range(ndim):
        bits *= shape[i]
    raise MemoryError(f"{func}: cannot allocate {(bits + 7) // 8} bytes for shape {as_tuple(ndim, shape)} of "
                      f"{dtype_of(dtype)}")


cdef int allocate_host(View* view, int64_t bytes, cbool* clear, str func) except -1:
    """Allocate the memory of a described tensor. `clear`, unless NULL, is set where all bytes are 0."""
    view.block = allocate(bytes) if clear == NULL else allocate_clear(bytes, clear)
    if view.block == NULL:
        raise_out_of_memory(view.dl.ndim, view.dl.shape, view.dl.dtype, func)
    view.dl.data = view.block.data
    if view.dl.dtype.bits < 8 and bytes > 0:
        # The bits after the last packed element are exported with it: by tobytes(), pickles and files.
        (<char*>view.dl.data)[bytes - 1] = 0
    return 0


cdef void clear_bytes(void* data, int64_t bytes) noexcept:
    """Set memory to zero bytes, without the GIL and by several threads where there are many."""
    cdef DLTensor view
    cdef int64_t stride = 1
    cdef char zero = 0
    if bytes <= KEEP_GIL_BYTES:
        memset(data, 0, bytes)
        return
    view.data, view.ndim, view.dtype, view.byte_offset = data, 1, type_table[type_uint8].dtype, 0
    view.shape, view.strides = &bytes, &stride
    fill_elements(&view, &zero, 0)


cdef int copy_elements(const DLTensor* to, const DLTensor* source, uint64_t flags) except -1:
    cdef bint padded = flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0, done
    if byte_count(to, flags) > KEEP_GIL_BYTES:
        with nogil:
            done = copy_tensor(to[0], source[0], padded)
    else:
        done = copy_tensor(to[0], source[0], padded)
    if not done:
        raise MemoryError("copy: allocation failed for the temporary that overlapping memory needs")
    return 0


cdef void fill_elements(const DLTensor* to, const void* element, uint64_t flags) noexcept:
    cdef bint padded = flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0
    if byte_count(to, flags) > KEEP_GIL_BYTES:
        with nogil:
            fill_tensor(to[0], element, padded)
    else:
        fill_tensor(to[0], element, padded)


cdef int raise_not_writable(const DLTensor* view, uint64_t flags, str func, str what) except -1:
    if flags & DLPACK_FLAG_BITMASK_READ_ONLY:
        raise ValueError(f"{func}: {what} is read-only; write to a copy()")
    raise ValueError(f"{func}: elements of {what}, of shape {shape_of(view)} with strides {strides_of(view)}, "
                     f"share memory; write to a copy()")


cdef int check_host(const DLTensor* view, str func) except -1:
    if not is_host(<int>view.device.device_type):
        raise DeviceError(f"{func}: the data is on {device_of(view.device)}, which the host cannot read; move it with "
                          f"to('cpu')")
    return 0


cdef size_t owned_bytes(const View* view, bint is_view) noexcept:
    """Bytes of host memory that are this tensor's: its block, unless it is a view of a block that others hold too."""
    cdef const Block* block = view.block
    if block == NULL or not is_host(<int>view.dl.device.device_type) or is_view and is_shared(block):
        return 0
    return block.bytes  # 0 for imported memory


cdef uint64_t packed_offset(DLDataType dtype, int64_t element) except? 0xFFFFFFFFFFFFFFFF:
    """The byte in which an element of a packed tensor starts; ValueError where that is not with its first bit."""
    cdef int64_t bits = dtype.bits * dtype.lanes
    if (element & 7) * bits & 7:
        raise ValueError(f"element {element} of a packed {dtype_of(dtype)} tensor starts inside a byte, where no view "
                         f"can begin; read it with item() or tolist(), or widen the tensor with astype()")
    # By eights, whose bits are whole bytes, so that all together need not be counted in bits.
    return <uint64_t>((element >> 3) * bits + ((element & 7) * bits >> 3))
