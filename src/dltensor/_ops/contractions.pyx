# SPDX-License-Identifier: Apache-2.0
"""Sums of products along axes: vecdot, whose sums are exact, and tensordot over matmul. No loops here."""
from libc.stdint cimport int64_t, uint64_t

from .._core.indexing cimport axes_of, integer_of, product_of, sequence_of, wrapped_product
from .._core.native cimport (COMPLEX, MAX_DIMS, TRAILING, Status, broadcast_strides, computed_types,
                             find_type, same_dtype, type_bool, type_table)
from .._core.scalars cimport shown
from .._core.tensor cimport Tensor, new_empty
from .._core.types cimport DLDataType, DLTensor, dtype_of, is_host, kDLFloat, read_dtype
from .engine cimport LaunchContext, PyThreadState, finish, release_gil

cdef extern from "native/cpu/linalg/gemm.h" namespace "dlt" nogil:
    bint dot_columns(const DLTensor&, const DLTensor&, const DLTensor&)

cdef extern from "native/cpu/reduce/reduce.h" namespace "dlt" nogil:
    Status sum_products(int, const DLTensor&, const DLTensor&, uint64_t, const DLTensor&)

from .._core.convert import asarrays
from .._core.layout import common_shape
from . import elementwise as ops
from .casting import where
from .dtypes import isdtype
from .manipulation import moveaxis, permute_dims, reshape
from .matmul import matmul
from .arguments import written
from .engine import check_computes
from .promotion import common_dtype

__all__ = ["tensordot", "vecdot"]


# One of two operands that are multiplied: broadcast, with the summed dimension last.
cdef struct _Factor:
    DLTensor view
    int64_t shape[MAX_DIMS + 1]
    int64_t strides[MAX_DIMS + 1]


cdef int _spread(Tensor x, int axis, int ndim, const int64_t* shape, _Factor* factor) except -1:
    """A tensor without its summed dimension broadcast to `shape`, that dimension after it."""
    cdef int64_t extents[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int d, left = 0
    for d in range(x.impl.dl.ndim):
        if d != axis:
            extents[left], strides[left] = x.impl.dl.shape[d], x.impl.dl.strides[d]
            left += 1
    if not broadcast_strides(left, extents, strides, ndim, shape, TRAILING, factor.strides):
        raise AssertionError("vecdot: the common shape is wrong")
    for d in range(ndim):
        factor.shape[d] = shape[d]
    factor.shape[ndim], factor.strides[ndim] = x.impl.dl.shape[axis], x.impl.dl.strides[axis]
    factor.view = x.impl.dl
    factor.view.ndim = ndim + 1
    factor.view.shape, factor.view.strides = factor.shape, factor.strides
    return 0


cdef int _common(Tensor a, int a_axis, Tensor b, int b_axis, int64_t* shape) except -1:
    """The shape that both have in common without their summed dimensions; returns how many dimensions it has."""
    cdef int ndim = max(a.impl.dl.ndim, b.impl.dl.ndim) - 1, d, from_end, first, second
    cdef int64_t one, other
    for from_end in range(1, ndim + 1):
        first, second = a.impl.dl.ndim - 1 - from_end, b.impl.dl.ndim - 1 - from_end
        one = a.impl.dl.shape[first + (first >= a_axis)] if first >= 0 else 1
        other = b.impl.dl.shape[second + (second >= b_axis)] if second >= 0 else 1
        if one != other and one != 1 and other != 1:
            shapes = [tuple([n for d, n in enumerate(x.shape) if d != axis]) for x, axis in ((a, a_axis), (b, b_axis))]
            common_shape("vecdot", shapes)
        shape[ndim - from_end] = other if one == 1 else one
    return ndim


cdef int _sum(int type, _Factor* a, _Factor* b, uint64_t axes, const DLTensor* result, str func) except -1:
    """Sums of products over the last one or two dimensions; `result` has none of them."""
    cdef _Factor out
    cdef LaunchContext host
    cdef PyThreadState* state
    cdef int64_t size = 1
    cdef int d
    for d in range(a.view.ndim):
        size *= a.shape[d]
        out.shape[d] = 1 if axes >> d & 1 else result.shape[d]
        out.strides[d] = 0 if axes >> d & 1 else result.strides[d]
    out.view = result[0]
    out.view.ndim = a.view.ndim
    out.view.shape, out.view.strides = out.shape, out.strides
    state = release_gil(host, size * type_table[type].bytes)
    return finish(state, sum_products(type, a.view, b.view, axes, out.view), host, func)


cdef int _as_parts(_Factor* x, bint swapped) except -1:
    """Complex elements as pairs of floats along a new last dimension."""
    cdef int d, last = x.view.ndim
    for d in range(last):
        x.strides[d] = wrapped_product(x.strides[d], 2)
    x.shape[last], x.strides[last] = 2, -1 if swapped else 1
    x.view.ndim = last + 1
    x.view.dtype.code = kDLFloat
    x.view.dtype.bits = x.view.dtype.bits // 2
    if swapped:
        x.view.data = <char*>x.view.data + x.view.dtype.bits // 8
    return 0


cdef Tensor _dots(Tensor a, Tensor b, int axis, DLDataType dtype):
    """Host tensors multiplied and summed along a dimension that is counted from the end."""
    cdef int64_t shape[MAX_DIMS]
    cdef _Factor x, y
    cdef Tensor result, other
    cdef DLTensor part
    cdef int64_t strides[MAX_DIMS]
    cdef int type = find_type(dtype), d
    cdef int ndim = _common(a, a.impl.dl.ndim + axis, b, b.impl.dl.ndim + axis, shape)
    result = new_empty(ndim, shape, dtype, a.impl.dl.device, "vecdot")
    if type_table[type].kind != COMPLEX:
        _spread(a, a.impl.dl.ndim + axis, ndim, shape, &x)
        _spread(b, b.impl.dl.ndim + axis, ndim, shape, &y)
        _sum(type, &x, &y, <uint64_t>1 << ndim, &result.impl.dl, "vecdot")
        return result
    if ndim + 2 > MAX_DIMS:
        raise ValueError(f"vecdot: at most {MAX_DIMS - 1} dimensions are supported for complex numbers, got {ndim + 1}")
    a, b = a.astype(dtype_of(dtype), copy=False), b.astype(dtype_of(dtype), copy=False)
    part = result.impl.dl
    part.dtype.code = kDLFloat
    part.dtype.bits = part.dtype.bits // 2
    part.strides = strides
    for d in range(ndim):
        strides[d] = result.impl.dl.strides[d] * 2
    _spread(a, a.impl.dl.ndim + axis, ndim, shape, &x)
    _as_parts(&x, False)
    # The real part adds a.real * b.real and a.imag * b.imag, the imaginary one a.real * b.imag and a.imag * -b.real.
    _spread(b, b.impl.dl.ndim + axis, ndim, shape, &y)
    _as_parts(&y, False)
    _sum(find_type(part.dtype), &x, &y, <uint64_t>3 << ndim, &part, "vecdot")
    other = ops.negative(ops.conj(b))
    _spread(other, b.impl.dl.ndim + axis, ndim, shape, &y)
    _as_parts(&y, True)
    part.data = <char*>part.data + part.dtype.bits // 8
    _sum(find_type(part.dtype), &x, &y, <uint64_t>3 << ndim, &part, "vecdot")
    return result


cdef bint _are_on_host(const DLTensor* x, const DLTensor* y) noexcept:
    """Test whether both tensors are in memory of the host."""
    return is_host(<int>x.device.device_type) and is_host(<int>y.device.device_type)


def column_dots(Tensor a, Tensor b):
    """Return the products of the rows of two matrices of one shape that lie in columns, with the bits of `matmul`.

    None for other tensors.

    >>> x = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> column_dots(x, x) is None  # they lie in rows
    True
    """
    cdef DLTensor x = a.impl.dl, y = b.impl.dl
    cdef int64_t shape[2]
    cdef int64_t x_strides[2]
    cdef int64_t y_strides[2]
    cdef LaunchContext host
    cdef PyThreadState* state
    cdef bint done
    cdef Status status
    cdef Tensor result
    if (x.ndim != 2 or y.ndim != 2 or x.shape[0] != y.shape[0] or x.shape[1] != y.shape[1] or x.shape[0] < 2 or
            x.shape[1] < 2 or x.strides[0] != 1 or y.strides[0] != 1 or not same_dtype(x.dtype, y.dtype)):
        return None
    if not _are_on_host(&x, &y):
        return None
    result = new_empty(1, x.shape, x.dtype, x.device, "einsum")
    shape[0], shape[1] = x.shape[1], x.shape[0]
    x_strides[0], x_strides[1], y_strides[0], y_strides[1] = x.strides[1], 1, y.strides[1], 1
    x.shape = y.shape = shape
    x.strides, y.strides = x_strides, y_strides
    state = release_gil(host, shape[0] * shape[1] * 8)
    done = dot_columns(x, y, result.impl.dl)
    finish(state, status, host, "einsum")
    return result if done else None


def exact_products(a, b):
    """Return float64 tensors whose exact sum is ``a * b``.

    >>> [term.item() for term in exact_products(dl.asarray(1e200, dtype="float64"), 0.1)]
    [1e+199, -7.196196704476628e+182]
    """
    product = ops.multiply(a, b)
    rest = ops.fma(a, b, ops.negative(product))
    return [product, where(ops.isfinite(product), rest, 0.0)]


def vecdot(x1, x2, /, axis=-1, *, out=None):
    """Return the dot product of vectors: the sum of ``conj(x1) * x2`` along `axis`.

    The products of floats of 16 and 32 bits are added exactly and rounded once; those of float64 too, where no product
    leaves the range in which its rounding error is a float64.

    Parameters
    ----------
    x1, x2 : array_like
        Tensors, or objects that support DLPack: integers, floats, complex. They promote, and broadcast except for
        `axis`, along which both have the same extent.
    axis : int, default -1
        Dimension to sum over, counted from the end: from -1 down to minus the smaller number of dimensions.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the promoted dtype; integers wrap.

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        The extents along `axis` differ, the shapes do not broadcast, or `out` has another shape or is read-only.
    TypeError
        An operand is bool, there is no common dtype, or that of `out` is of a lower kind than the result's.
    DeviceError
        An operand is neither on the host nor on a CUDA device.

    {See Also: tensordot}

    Examples
    --------
    >>> dl.vecdot(dl.asarray([1.0, 2.0, 3.0]), dl.asarray([4.0, 5.0, 6.0]))
    Tensor(32., shape=(), device=cpu, dtype=float32)
    """
    if not (isinstance(x1, Tensor) and isinstance(x2, Tensor)):
        x1, x2 = asarrays(x1, x2)
    cdef Tensor a = <Tensor>x1, b = <Tensor>x2
    cdef DLDataType dtype
    cdef int limit = min(a.impl.dl.ndim, b.impl.dl.ndim), along, type
    axis = integer_of(axis, "axis", "vecdot")
    if not -limit <= axis < 0:
        raise IndexError(f"vecdot: axis {shown(axis)} is out of range; expected {-limit} to -1")
    along = axis
    dtype = a.impl.dl.dtype
    if not same_dtype(dtype, b.impl.dl.dtype):
        dtype = read_dtype(common_dtype("vecdot", (a, b)), "vecdot")
    type = find_type(dtype)
    if type < 0 or type >= computed_types or type == type_bool or dtype.lanes != 1:
        raise TypeError(f"vecdot: not defined for {dtype_of(dtype)}; it takes integers, floats, complex")
    if a.impl.dl.shape[a.impl.dl.ndim + along] != b.impl.dl.shape[b.impl.dl.ndim + along]:
        raise ValueError(f"vecdot: extents along axis {axis} differ: x1 has shape {a.shape}, x2 has shape {b.shape}")
    if _are_on_host(&a.impl.dl, &b.impl.dl):
        result = _dots(a, b, along, dtype)
    else:
        check_computes(a, "vecdot")
        check_computes(b, "vecdot")
        from .fused_dots import dots
        result = dots(moveaxis(a, along, -1), moveaxis(b, along, -1), dtype_of(dtype))
    return result if out is None else written(result, out, "vecdot")


def tensordot(x1, x2, /, axes=2, *, out=None):
    """Sum products over several axes of each operand: one product of matrices.

    Parameters
    ----------
    x1, x2 : array_like
        Tensors, or objects that support DLPack: integers, floats, complex.
    axes : int or tuple of two sequences of int, default 2
        How many of the last dimensions of `x1` and the first of `x2` are summed over, or which of each, in pairs.
    {vecdot: out}

    Returns
    -------
    Tensor
        Of the promoted dtype, with the dimensions of `x1` that are left, then those of `x2`.

    Raises
    ------
    IndexError
        An axis is out of range.
    ValueError
        The paired extents differ, `axes` names different numbers of dimensions, or `out` has another shape or is
        read-only.
    TypeError
        The dtypes are not supported, there is no common one, or that of `out` is of a lower kind than the result's.
    {vecdot: DeviceError}

    {See Also: vecdot}

    Examples
    --------
    >>> dl.tensordot(dl.asarray([[1, 2], [3, 4]]), dl.asarray([10, 1]), axes=1)
    Tensor([12, 34], shape=(2,), device=cpu, dtype=int64)
    """
    a, b = asarrays(x1, x2)
    pair = sequence_of(axes, "axes", "tensordot")
    if pair is not None:
        axes = tuple(pair)
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes must be an integer or a pair of sequences, got {axes}")
        first_axes, second_axes = [axes_of(one, x.ndim, "tensordot") for one, x in zip(axes, (a, b), strict=True)]
    else:
        axes = integer_of(axes, "axes", "tensordot")
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise IndexError(f"tensordot: axes is {shown(axes)}; expected 0 to {min(a.ndim, b.ndim)}")
        first_axes, second_axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    if len(first_axes) != len(second_axes) or [a.shape[k] for k in first_axes] != [b.shape[k] for k in second_axes]:
        raise ValueError(f"tensordot: shapes {a.shape} and {b.shape} differ along axes {axes}")
    left = [k for k in range(a.ndim) if k not in first_axes]
    right = [k for k in range(b.ndim) if k not in second_axes]
    depth = product_of([a.shape[k] for k in first_axes])
    rows, columns = [a.shape[k] for k in left], [b.shape[k] for k in right]
    first = reshape(permute_dims(a, (*left, *first_axes)), (product_of(rows), depth))
    second = reshape(permute_dims(b, (*second_axes, *right)), (depth, product_of(columns)))
    try:
        result = matmul(first, second)
    except Exception as error:
        from .._core.call_errors import rename
        rename(error, "tensordot")
        raise
    return written(reshape(result, (*rows, *columns)), out, "tensordot")


def dot(a, b, /, out=None):
    """Return the dot product of two vectors, or the product of matrices, as NumPy's ``dot`` does.

    The elements are not conjugated. Of two vectors the sum is exact and rounded once, as in `vecdot`.

    Parameters
    ----------
    a, b : array_like or number
        Tensors, or objects that support DLPack. The last dimension of `a` is multiplied with the second last of `b`, or
        its only one. A number, or an operand without dimensions, multiplies every element.
    {vecdot: out}

    Returns
    -------
    Tensor
        Of the promoted dtype, with the dimensions that are left of `a` and `b`. `out`, when it is given.

    Raises
    ------
    TypeError
        There is no common dtype, or it is bool.
    ValueError
        The extents of the multiplied dimensions differ, or `out` has another shape or is read-only.
    {vecdot: DeviceError}

    {Notes: NumPy: ``numpy.dot``. PyTorch: ``torch.dot``, of vectors only.}

    Examples
    --------
    >>> dl.dot(dl.asarray([1.0, 2.0]), dl.asarray([3.0, 4.0])).item()
    11.0
    """
    a, b = asarrays(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return ops.multiply(a, b, out=out)
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(f"dot: inner dimensions differ: a has shape {a.shape}, b has shape {b.shape}")
    try:
        if a.ndim == b.ndim == 1:
            return vecdot(ops.conj(a) if isdtype(a.dtype, "complex floating") else a, b, out=out)
        return tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else 0,)), out=out)
    except Exception as error:
        from .._core.call_errors import rename
        rename(error, "dot")
        raise
