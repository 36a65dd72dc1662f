# SPDX-License-Identifier: Apache-2.0
"""DLPack-native tensors: exchange any framework's, compute on them, hold them from any language."""

from importlib import import_module as _import_module

from . import _faces, checks, debug, layout
from ._casts import astype, cast, clip, copy, fill, where
from ._debug import empty_cache, set_cache_limit
from ._engine import cpu_features, num_threads, result_type, set_num_threads
from ._exchange import asarray, empty, from_dlpack, into, wrap
from ._functions import *  # noqa: F403  one name per row of ops.h
from ._functions import OPS
from ._namespace import VERSIONS as _VERSIONS
from ._namespace import info as __array_namespace_info__
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

# Every element type under its name: dl.float32, dl.bool, dl.float8_e4m3fn ...
globals().update(DTYPES)
# Modules of their own weight, loaded when their name is first used.
_MODULES = ("conformance", "cuda", "opaque")
__all__ = sorted({name for name in globals() if name.isidentifier() and not name.startswith("_")} | set(_MODULES))


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
