# SPDX-License-Identifier: Apache-2.0
# Shapes that users ask for: read from arguments, completed, cut anew. Part of _tensor.pyx; no methods here.

cdef object as_tuple(int n, const int64_t* numbers):
    """A shape, or strides, as Python shows them."""
    cdef int i
    cdef tuple made = PyTuple_New(n)
    for i in range(n):
        number = numbers[i]
        value = <object>number
        Py_INCREF(value)
        PyTuple_SET_ITEM(made, i, value)
    return made


cdef int read_shape(object shape, int64_t* out, str where, bint strides=False) except -1:
    """Numbers of a shape argument, or of strides, into `out` (64 entries); returns how many."""
    cdef int n = 0, overflow = 0
    if PyTuple_CheckExact(shape) and PyTuple_GET_SIZE(shape) <= 64:
        for n in range(<int>PyTuple_GET_SIZE(shape)):
            if not PyLong_CheckExact(<object>PyTuple_GET_ITEM(shape, n)):
                break
            out[n] = PyLong_AsLongLongAndOverflow(<object>PyTuple_GET_ITEM(shape, n), &overflow)
            if overflow != 0:
                break
        else:
            return <int>PyTuple_GET_SIZE(shape)
    n = 0
    try:
        if PyLong_CheckExact(shape):
            out[0] = shape
            return 1
        if hasattr(shape, "__index__"):
            out[0] = shape.__index__()
            return 1
        for number in shape:
            if n == 64:
                raise ValueError(f"{where}: at most 64 dimensions are supported, got {len(tuple(shape))}")
            out[n] = number.__index__()
            n += 1
    except OverflowError:
        told = [shown(number) for number in ((shape,) if isinstance(shape, int) else shape)]
        raise ValueError(f"{where}: {'a stride' if strides else 'an extent'} must be below 2^63, got "
                         f"{', '.join(told)}") from None
    except (TypeError, AttributeError):
        raise TypeError(f"{where}: {'strides are' if strides else 'a shape is'} an integer or a sequence of integers, "
                        f"got {shape!r}") from None
    return n


cdef Tensor _swap_last(Tensor self):
    cdef Place place
    cdef int n = self.its.dl.ndim
    place.ndim = n
    place.offset = 0
    memcpy(place.shape, self.its.dl.shape, n * sizeof(int64_t))
    memcpy(place.strides, self.its.dl.strides, n * sizeof(int64_t))
    place.shape[n - 1], place.shape[n - 2] = place.shape[n - 2], place.shape[n - 1]
    place.strides[n - 1], place.strides[n - 2] = place.strides[n - 2], place.strides[n - 1]
    return view_of(self, &place)


cdef int _complete_shape(Tensor self, int n, int64_t* target) except -1:
    """Replace one -1 by what is left over, and see that the number of elements stays."""
    cdef int i
    cdef int64_t known = 1, size = _size(&self.its.dl)
    cdef int open = -1
    for i in range(n):
        if target[i] == -1:
            if open >= 0:
                raise ValueError(f"reshape: at most one extent may be -1, got {as_tuple(n, target)}")
            open = i
        elif target[i] < 0:
            raise ValueError(f"reshape: an extent must be at least 0 (or one -1), got {as_tuple(n, target)}")
        elif target[i] > 0 and known > (<int64_t>1 << 62) // target[i]:
            raise ValueError(f"reshape: shape {as_tuple(n, target)} has more than 2^62 elements, the tensor has {size}")
        else:
            known *= target[i]
    if open >= 0:
        if known == 0 or size % known != 0:
            raise ValueError(f"reshape: {size} elements of shape {self.shape} do not fill shape {as_tuple(n, target)}")
        target[open] = size // known
    elif known != size:
        raise ValueError(f"reshape: shape {self.shape} has {size} elements, shape {as_tuple(n, target)} has {known}")
    return 0


cdef Tensor _reinterpret(Tensor self, DLDataType dtype):
    cdef int i
    cdef Tensor made = same_view(self)
    cdef int last = self.its.dl.ndim - 1
    cdef int64_t old = self.its.dl.dtype.bits * self.its.dl.dtype.lanes, new = dtype.bits * dtype.lanes, length
    made.its.dl.dtype = dtype
    if self.its.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        if new % 8:
            raise ValueError(f"view: padded {self.dtype} elements have 8 bits each, {dtype_of(dtype)} has {new}")
        old = 8
        made.its.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    if old == new:
        return made
    if last < 0 or self.its.dl.strides[last] != 1 and self.its.dl.shape[last] != 1:
        raise ValueError(f"view: {self.dtype} and {dtype_of(dtype)} differ in width, so the last dimension of shape "
                         f"{self.shape} with strides {self.strides} must lie side by side; copy() first")
    length = self.its.dl.shape[last] * old
    if length % new:
        raise ValueError(f"view: the last dimension has {length} bits, which {dtype_of(dtype)} of {new} does not "
                         f"divide")
    for i in range(last):
        if self.its.dl.strides[i] * old % new:
            raise ValueError(f"view: strides {self.strides} of {self.dtype} are not whole elements of "
                             f"{dtype_of(dtype)}; copy() first")
        made.its.dl.strides[i] = self.its.dl.strides[i] * old // new
    made.its.dl.shape[last] = length // new
    made.its.dl.strides[last] = 1
    return made
