# SPDX-License-Identifier: Apache-2.0
"""Names of NumPy and PyTorch that are no functions: classes, dtypes, kinds of dtypes, and objects that are indexed."""

import builtins
from types import SimpleNamespace

from .._core.convert import asarray
from .._core.tensor import Tensor
from .._core.types import DTYPES, Device, DType
from .._ops.casting import astype
from .._ops.creation import arange, linspace, meshgrid
from .._ops.elementwise import erf, erfc, gammaln, sigmoid
from .._ops.manipulation import concat, expand_dims, reshape, stack
from .._ops.promotion import result_type

device = Device
dtype = DType
ndarray = Tensor
Size = tuple

# PyTorch's memory orders that change nothing, as arguments.
contiguous_format, preserve_format = "contiguous_format", "preserve_format"

# Functions of torch.special that are here.
special = SimpleNamespace(erf=erf, erfc=erfc, expit=sigmoid, gammaln=gammaln)

# Dtypes whose name has one meaning in NumPy and PyTorch.
bool_, short, intc = (DTYPES[name] for name in ("bool", "int16", "int32"))
int_ = intp = long = DTYPES["int64"]
half, single, double = (DTYPES[name] for name in ("float16", "float32", "float64"))
csingle = cfloat = DTYPES["complex64"]
cdouble = DTYPES["complex128"]
ubyte, ushort, uintc = (DTYPES[name] for name in ("uint8", "uint16", "uint32"))
uint = uintp = DTYPES["uint64"]

# PyTorch's names, which hide builtin classes; NumPy has had neither since version 1.24.
float, int = single, intc

# Kinds of dtypes as isdtype takes them, for issubdtype.
integer, signedinteger, unsignedinteger = "integral", "signed integer", "unsigned integer"
floating, complexfloating, number = "real floating", "complex floating", "numeric"
inexact = (floating, complexfloating)


def _range_of(key, name):
    """The numbers of a slice; with a complex step, so many from start to stop, both included."""
    start, stop, step = key.start or 0, key.stop, 1 if key.step is None else key.step
    if stop is None:
        raise ValueError(f"{name}: a slice needs an end, got {key}")
    if isinstance(step, complex):
        return linspace(start, stop, builtins.int(abs(step)))
    return arange(start, stop, step)


class _Indexed:
    """An object that is only indexed."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"dltensor.{self.name}"


class _Grid(_Indexed):
    """Coordinates of a grid, from one slice for each dimension: NumPy's ``mgrid`` and ``ogrid``."""

    __slots__ = ()

    def __getitem__(self, key):
        slices = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(one, slice) for one in slices):
            raise TypeError(f"{self.name}: expected slices, as dl.{self.name}[0:2, 0:3], got {key!r}")
        ranges = [_range_of(one, self.name) for one in slices]
        if not isinstance(key, tuple):
            return ranges[0]
        common = result_type(*ranges)
        ranges = [astype(one, common, copy=False) for one in ranges]
        is_open = self.name == "ogrid"
        grids = meshgrid(*ranges, indexing="ij", sparse=is_open)
        return grids if is_open else stack(grids)


_PLAIN = (bool, builtins.int, builtins.float, complex, slice)


class _Joined(_Indexed):
    """Arrays, numbers and slices, joined along the first axis or as columns: NumPy's ``r_`` and ``c_``."""

    __slots__ = ()

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        if not items:
            raise ValueError(f"{self.name}: expected one array, number or slice or more, got none")
        if any(isinstance(one, str) for one in items):
            raise TypeError(f"{self.name}: directives are not supported, got {key!r}; call dl.concat with an axis")
        operands = [one if isinstance(one, _PLAIN) else asarray(one) for one in items]
        device = next((one.device for one in operands if isinstance(one, Tensor)), None)
        parts = [_range_of(one, self.name).to(device or "cpu") if isinstance(one, slice) else one for one in operands]
        common = result_type(*parts)
        parts = [one if isinstance(one, Tensor) else asarray([one], dtype=common, device=device) for one in parts]
        parts = [reshape(one, (1,)) if one.ndim == 0 else one for one in parts]
        if self.name == "c_":
            parts = [expand_dims(one, axis=1) if one.ndim == 1 else one for one in parts]
        return concat([astype(one, common, copy=False) for one in parts], axis=-1 if self.name == "c_" else 0)


class _Key(_Indexed):
    """The key itself, of ``index_exp`` always a tuple: NumPy's ``s_`` and ``index_exp``."""

    __slots__ = ()

    def __getitem__(self, key):
        return (key,) if self.name == "index_exp" and not isinstance(key, tuple) else key


mgrid, ogrid = _Grid("mgrid"), _Grid("ogrid")
r_, c_ = _Joined("r_"), _Joined("c_")
s_, index_exp = _Key("s_"), _Key("index_exp")

__all__ = [
    "Size", "bool_", "c_", "cdouble", "cfloat", "complexfloating", "contiguous_format", "csingle", "device", "double",
    "dtype", "float", "floating", "half", "index_exp", "inexact", "int", "int_", "intc", "integer", "intp", "long",
    "mgrid", "ndarray", "number", "ogrid", "preserve_format", "r_", "s_", "short", "signedinteger", "single", "special",
    "ubyte", "uint", "uintc", "uintp", "unsignedinteger", "ushort",
]  # fmt: skip
