# SPDX-License-Identifier: Apache-2.0
"""DLPack-native tensors: exchange any framework's, compute on them, hold them from any language."""

from . import _main_interpreter  # refuses sub-interpreters before any other module is bound to one

# isort: split
from . import _faces, checks, debug, layout
from ._casts import astype, cast, clip, copy, fill, where
from ._debug import empty_cache, set_cache_limit
from ._engine import cpu_features, num_threads, result_type, set_num_threads
from ._exchange import asarray, empty, from_dlpack, into, wrap
from ._functions import *  # noqa: F403  one name per row of ops.h
from ._functions import OPS
from ._functions import __all__ as _OPERATIONS
from ._namespace import VERSIONS as _VERSIONS
from ._namespace import info as __array_namespace_info__
from ._naming import set_module as _set_module
from ._operands import data_ptr
from ._products import gemm, matmul
from ._tensor import Tensor
from ._words import (
    DLPACK_VERSION,
    DTYPES,
    ConformanceWarning,
    DataTypeCode,
    Device,
    DeviceError,
    DeviceType,
    DType,
    Flags,
    as_device,
    as_dtype,
)
from ._words import PACKAGE_VERSION as __version__
from .adapter import adapt
from .creation import (
    arange,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .data_types import can_cast, finfo, iinfo, isdtype
from .inspection import inspect, validate
from .manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)

__array_api_version__ = _VERSIONS[-1]
# What the array API calls numbers that have names.
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793

# Modules of their own weight, loaded when they are first used.
conformance = _faces.lazy_module("conformance")
cuda = _faces.lazy_module("cuda")
opaque = _faces.lazy_module("opaque")
# Every element type under its name: dl.float32, dl.bool, dl.float8_e4m3fn ...
globals().update(DTYPES)

# Operations and element types are named in their tables.
__all__ = [
    *DTYPES,
    *_OPERATIONS,
    "DLPACK_VERSION",
    "DTYPES",
    "OPS",
    "ConformanceWarning",
    "DType",
    "DataTypeCode",
    "Device",
    "DeviceError",
    "DeviceType",
    "Flags",
    "Tensor",
    "adapt",
    "arange",
    "as_device",
    "as_dtype",
    "asarray",
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "cast",
    "checks",
    "clip",
    "concat",
    "conformance",
    "copy",
    "cpu_features",
    "cuda",
    "data_ptr",
    "debug",
    "e",
    "empty",
    "empty_cache",
    "empty_like",
    "expand_dims",
    "eye",
    "fill",
    "finfo",
    "flip",
    "from_dlpack",
    "full",
    "full_like",
    "gemm",
    "iinfo",
    "inf",
    "inspect",
    "into",
    "isdtype",
    "layout",
    "linspace",
    "matmul",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "nan",
    "newaxis",
    "num_threads",
    "ones",
    "ones_like",
    "opaque",
    "permute_dims",
    "pi",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "set_cache_limit",
    "set_num_threads",
    "squeeze",
    "stack",
    "tile",
    "tril",
    "triu",
    "unstack",
    "validate",
    "where",
    "wrap",
    "zeros",
    "zeros_like",
]
_SHOWN = frozenset(__all__)
_set_module(globals())


def _rebuild(*state):
    """Make the tensor that a pickle describes. Every pickle of a tensor names this function."""
    from ._pickle import rebuild

    return rebuild(*state)


def __dir__():
    # Submodules that hold the functions above are attributes too, as in every package, but no names for users.
    return sorted(name for name in globals() if name in _SHOWN or name.startswith("__"))
