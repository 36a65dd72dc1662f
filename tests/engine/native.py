# SPDX-License-Identifier: Apache-2.0
"""The engine under NumPy arrays: views as DLTensors, one Python function per C one. No tests here."""

import ctypes as c
import functools

import ml_dtypes
import numpy as np
from building import engine


class DataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
        ("dtype", DataType), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]  # fmt: skip


class OpRow(c.Structure):
    _fields_ = [
        ("name", c.c_char_p), ("operands", c.c_int), ("kinds", c.c_uint), ("result", c.c_int32),
        ("result_name", c.c_char_p), ("symbol", c.c_char_p), ("text", c.c_char_p), ("doc", c.c_char_p),
        ("saturating", c.c_int),
    ]  # fmt: skip


class TypeRow(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("format", c.c_char_p),
        ("dtype", DataType),
        ("kind", c.c_uint8),
        ("computed", c.c_bool),
        ("bytes", c.c_int),
    ]


class Scalar(c.Structure):
    _fields_ = [("kind", c.c_uint8), ("i", c.c_int64), ("u", c.c_uint64), ("re", c.c_double), ("im", c.c_double)]

    @classmethod
    def of(cls, value):
        if isinstance(value, bool):
            return cls(0, value, value, value, 0)
        if isinstance(value, int):
            return cls(1, value, 0, 0, 0) if value < 2**63 else cls(2, 0, value, 0, 0)
        if isinstance(value, complex):
            return cls(4, 0, 0, value.real, value.imag)
        return cls(3, 0, 0, value, 0)


class ExactComparison(c.Structure):
    _fields_ = [("always", c.c_int), ("op", c.c_int), ("value", Scalar)]


library = engine()
library.engine_op.restype = c.POINTER(OpRow)
library.engine_type.restype = c.POINTER(TypeRow)
library.engine_levels.restype = c.POINTER(c.c_char_p)

OPS = {library.engine_op(i).contents.name.decode(): i for i in range(library.engine_op_count())}
ROWS = {name: library.engine_op(i).contents for name, i in OPS.items()}
TYPES = {library.engine_type(i).contents.name.decode(): i for i in range(library.engine_type_count())}
COMPUTED = list(TYPES)[: library.engine_computed_types()]


def levels():
    """Return the instruction sets that were compiled in and that this processor has."""
    found, i = [], 0
    while (name := library.engine_levels()[i]) is not None:
        if library.engine_supports(name):
            found.append(name.decode())
        i += 1
    return found


def dtype_of(name):
    """Return the NumPy dtype of a row, one byte each for packed types."""
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


@functools.cache
def type_of(dtype):
    return TYPES[dtype.name if dtype.name in TYPES else str(dtype)]


def tensor(x, name=None):
    """Return a DLTensor over an array, with its strides in elements; `name` overrules the dtype."""
    row = library.engine_type(TYPES[name] if name else type_of(x.dtype)).contents
    shape, strides = (
        (c.c_int64 * max(x.ndim, 1))(*x.shape),
        (c.c_int64 * max(x.ndim, 1))(*[s // x.itemsize for s in x.strides]),
    )
    t = Tensor(x.__array_interface__["data"][0], 1, 0, x.ndim, row.dtype, shape, strides, 0)
    t.kept = (x, shape, strides)
    return t


def run(name, *operands, out, type=None, saturate=False, padded=0):
    """Run an op into `out`; the compute dtype is the first operand's unless given."""
    given = TYPES[type] if type else library.engine_compute_type(OPS[name], type_of(operands[0].dtype))
    views = [tensor(x) for x in operands]
    pointers = (c.POINTER(Tensor) * 3)(*[c.pointer(v) for v in views])
    target = tensor(out)
    status = library.engine_run(OPS[name], int(saturate), given, pointers, c.byref(target), padded)
    if status:
        raise ValueError(f"{name}: status {status}")
    return out


def result_of(name, dtype):
    """Return the NumPy dtype that an op gives for operands of `dtype`, or None when it takes none such."""
    inner = library.engine_compute_type(OPS[name], type_of(dtype))
    return None if inner < 0 else dtype_of(list(TYPES)[library.engine_result_type(OPS[name], inner)])


def cast(x, out, nearest=False, saturate=False, scale=None, offset=0.0, padded=0, names=(None, None)):
    source, target = tensor(x, names[0]), tensor(out, names[1])
    status = library.engine_cast(
        c.byref(target), c.byref(source), int(nearest), int(saturate), int(scale is not None),
        c.c_double(1.0 if scale is None else scale), c.c_double(offset), padded,
    )  # fmt: skip
    if status:
        raise ValueError(f"cast: status {status}")
    return out


def copy(dst, src):
    assert library.engine_copy(c.byref(tensor(dst)), c.byref(tensor(src)), 1)
    return dst


def gemm(a, b, out, alpha=1.0, beta=0.0):
    status = library.engine_gemm(
        c.byref(tensor(out)), c.byref(tensor(a)), c.byref(tensor(b)), c.c_double(alpha), c.c_double(beta)
    )
    if status:
        raise ValueError(f"gemm: status {status}")
    return out
