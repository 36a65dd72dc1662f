# SPDX-License-Identifier: Apache-2.0
"""Tensors in messages of MPI by mpi4py: datatypes of all dtypes and layouts, and reductions of small floats.

mpi4py accepts contiguous tensors of the dtypes of C by DLPack. It sends float16, bfloat16 and the 8-bit floats as bytes
and *reduces them as bytes*. This module handles these dtypes, and tensors that are not contiguous.
"""

import weakref

from mpi4py import MPI

from .._core.convert import asarray
from .._core.layout import extent
from .._core.types import DataTypeCode, DeviceError, as_dtype
from .._core.views import as_strided, on_host, raw_bytes
from .._ops import elementwise
from .._ops.casting import cast

__all__ = ["datatype", "message", "op"]

_BUILT_IN = {
    "bool": MPI.C_BOOL, "int8": MPI.INT8_T, "int16": MPI.INT16_T, "int32": MPI.INT32_T, "int64": MPI.INT64_T,
    "uint8": MPI.UINT8_T, "uint16": MPI.UINT16_T, "uint32": MPI.UINT32_T, "uint64": MPI.UINT64_T,
    "float32": MPI.FLOAT, "float64": MPI.DOUBLE, "complex64": MPI.C_FLOAT_COMPLEX,
    "complex128": MPI.C_DOUBLE_COMPLEX,
}  # fmt: skip
_OPERATIONS = (
    (MPI.SUM, "SUM", elementwise.add),
    (MPI.PROD, "PROD", elementwise.multiply),
    (MPI.MAX, "MAX", elementwise.maximum),
    (MPI.MIN, "MIN", elementwise.minimum),
)
_datatypes = {}  # DType -> committed datatype of as many bytes
_ops = {}  # name of an operation and DType -> MPI.Op


def datatype(dtype):
    """Return the MPI datatype of one element.

    Parameters
    ----------
    dtype : dtype_like
        Element type of whole bytes.

    Returns
    -------
    mpi4py.MPI.Datatype
        MPI's own, such as ``MPI.FLOAT``. For dtypes that MPI does not have, as many bytes: MPI then refuses its own
        reductions of them, which would be of bytes, and takes those of `op`. Not to be freed.

    Raises
    ------
    TypeError
        `dtype` is not a dtype, or an element is not of whole bytes.

    See Also
    --------
    op : Reduce dtypes that MPI does not have.

    Examples
    --------
    >>> dl.distributed.mpi.datatype("bfloat16").Get_size()
    2
    """
    dtype = as_dtype(dtype, "datatype")
    if dtype.bits * dtype.lanes % 8:
        raise TypeError(f"datatype: elements of {dtype} are not of whole bytes; send them with message()")
    built_in = _BUILT_IN.get(dtype.name)
    if built_in is not None:
        return built_in
    if dtype not in _datatypes:
        created = MPI.BYTE.Create_contiguous(dtype.itemsize).Commit()
        created.Set_name(f"dltensor.{dtype}")
        _datatypes[dtype] = created
    return _datatypes[dtype]


def message(x):
    """Return a tensor in the form that mpi4py takes as a buffer: memory, count and datatype.

    Parameters
    ----------
    x : array_like
        Tensor in host memory, of any dtype and layout. Writable to receive.

    Returns
    -------
    list
        ``[memory, count, datatype]``. The elements of a contiguous tensor are counted, so that it can be reduced and
        scattered. Any other layout is one item of a derived datatype: it can be sent, received and broadcast, and its
        elements meet those of any layout with as many. Nothing is copied.

    Raises
    ------
    DeviceError
        The host cannot read the memory.
    ValueError
        The elements are packed, smaller than a byte, and not contiguous.

    See Also
    --------
    datatype : Return the MPI datatype of one element.

    Examples
    --------
    >>> memory, count, kind = dl.distributed.mpi.message(dl.zeros(10)[::2])
    >>> count, kind.Get_size(), kind.Get_extent()
    (1, 20, (0, 36))
    """
    t = asarray(x)
    if not on_host(t):
        raise DeviceError(f"message: the data is on {t.device}, which MPI cannot read here; move it with to('cpu')")
    if t.dtype.bits * t.dtype.lanes % 8:
        if not t.is_contiguous:
            raise ValueError(f"message: packed elements of {t.dtype} must be contiguous to be sent; copy() first")
        return [raw_bytes(t), t.nbytes, MPI.BYTE]
    element = datatype(t.dtype)
    if t.is_contiguous:
        return [raw_bytes(t), t.size, element]
    low, high = extent(t.shape, t.strides)
    span = raw_bytes(as_strided(t, (high - low,), (1,), low, t.readonly, "message"))
    return [span, 1, _layout_type(t, -low, element)]


def _layout_type(t, first, element):
    """Return a committed datatype of all elements of a layout, whose first element is number `first` of the memory."""
    width, outermost, steps = t.itemsize, element, []
    for size, step in reversed([*zip(t.shape, t.strides, strict=True)]):
        inner, outermost = outermost, outermost.Create_hvector(size, 1, step * width)
        steps.append(inner)
    placed = outermost.Create_hindexed_block(1, [first * width])
    for inner in [*steps[1:], outermost]:
        inner.Free()
    # From the first byte of the memory to the last, whatever the order of the elements.
    low, high = extent(t.shape, t.strides)
    resized = placed.Create_resized(0, (high - low) * width)
    placed.Free()
    kind = resized.Commit()
    # MPI frees it when no message needs it any more.
    weakref.finalize(kind, _free, MPI.Datatype.fromhandle(kind.handle)).atexit = False
    return kind


def _free(kind):
    if not MPI.Is_finalized():
        kind.Free()


def op(operation, dtype):
    """Return an MPI operation that reduces elements of a dtype, with the additions and products of this package.

    Parameters
    ----------
    operation : mpi4py.MPI.Op
        ``MPI.SUM``, ``MPI.PROD``, ``MPI.MAX`` or ``MPI.MIN``.
    dtype : dtype_like
        Element type. For those that MPI has, its own operation is returned.

    Returns
    -------
    mpi4py.MPI.Op
        Takes what `message` returns, and unsigned integers of the same width. Every step is computed exactly and
        rounded once to the dtype, half to even. Not to be freed.

    Raises
    ------
    ValueError
        `operation` is none of the four.
    TypeError
        `dtype` is not a dtype, has no arithmetic, or is not of whole bytes.
    RuntimeError
        mpi4py has no room for another operation: it takes a fixed number in a process, 32 in version 4.1.
    MPI.Exception
        MPI does not make the operation.

    Notes
    -----
    A reduction of bytes is legal for MPI, so that ``comm.Allreduce(x, y)`` of bfloat16 tensors of any library gives
    wrong numbers without an error. With ``message(x)`` MPI refuses it, and with this operation it is right.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> x, total = dl.full(3, 1.5, dtype="bfloat16"), dl.empty(3, dtype="bfloat16")
    >>> mpi = dl.distributed.mpi
    >>> MPI.COMM_SELF.Allreduce(mpi.message(x), mpi.message(total), mpi.op(MPI.SUM, x.dtype))
    >>> total
    Tensor([1.5, 1.5, 1.5], shape=(3,), device=cpu, dtype=bfloat16)
    """
    dtype = as_dtype(dtype, "op")
    known = [(name, function) for handle, name, function in _OPERATIONS if handle == operation]
    if not known:
        raise ValueError(f"op: expected MPI.SUM, MPI.PROD, MPI.MAX or MPI.MIN, got {operation!r}")
    ((name, function),) = known
    if dtype.name in _BUILT_IN:
        return operation
    code = dtype.code
    if dtype.lanes != 1 or dtype.bits % 8 or code in (DataTypeCode.kDLOpaqueHandle, DataTypeCode.kDLComplex):
        raise TypeError(f"op: {dtype} has no arithmetic; convert to another dtype")
    if (name, dtype) not in _ops:
        try:
            _ops[name, dtype] = MPI.Op.Create(_reduction(function, dtype), commute=True)
        except (MPI.Exception, NotImplementedError):  # RuntimeErrors too: MPI failed, or lacks such operations
            raise
        except RuntimeError as error:
            raise RuntimeError(f"op: mpi4py takes a fixed number of operations and has no room for {name} of {dtype}; "
                               f"convert to float32") from error  # fmt: skip
    return _ops[name, dtype]


def _reduction(function, dtype):
    """Return the function that MPI calls with two buffers of elements, of which it overwrites the second."""
    wide = None if dtype.name in ("float16", "bfloat16") else "float64"

    def reduce(incoming, inout, kind):
        if kind.Get_size() % dtype.itemsize:
            # MPI may call with any part of the bytes: an exception here would be lost, so that the program must end.
            print(f"dltensor.distributed.mpi: a reduction of {dtype} was called with elements of {kind.Get_size()} "
                  f"bytes; pass message(x), not x", flush=True)  # fmt: skip
            MPI.COMM_WORLD.Abort(1)
        a, b = (asarray(memoryview(buffer)).view(dtype) for buffer in (incoming, inout))
        if wide is None:
            function(a, b, out=b)
        else:
            cast(function(a.astype(wide), b.astype(wide)), b, rounding="nearest")

    return reduce
