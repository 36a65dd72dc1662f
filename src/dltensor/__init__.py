# SPDX-License-Identifier: Apache-2.0
"""DLPack-native tensors: exchange with any framework without a copy, computation, and use from any language."""

from ._core import compiled as _compiled  # loads the modules of its table, and refuses sub-interpreters

# isort: split
from ._core import naming as _naming
from ._core.arrow import from_arrow
from ._core.convert import asarray, empty, from_dlpack, into, wrap
from ._core.default_dtype import default_dtype, get_default_dtype, set_default_dtype
from ._core.lazy_modules import lazy_module as _lazy_module
from ._core.members import FUNCTIONS as _FUNCTIONS
from ._core.members import SPELLINGS as _SPELLINGS
from ._core.members import add_functions as _add_functions
from ._core.members import add_other_names as _add_other_names
from ._core.members import add_to_tensor as _add_to_tensor
from ._core.memory import empty_cache, set_cache_limit
from ._core.print_options import get_printoptions, printoptions, set_printoptions
from ._core.reproducible import reproducible
from ._core.tensor import Tensor
from ._core.types import (
    DLPACK_VERSION,
    DTYPES,
    ConformanceWarning,
    DataTypeCode,
    Device,
    DeviceError,
    DeviceType,
    DType,
    Flags,
    LinAlgError,
    as_device,
    as_dtype,
)
from ._core.types import PACKAGE_VERSION as __version__
from ._core.views import _rebuild
from ._ops.arguments import data_ptr
from ._ops.array_api import VERSIONS as _VERSIONS
from ._ops.array_api import info as __array_namespace_info__
from ._ops.casting import astype, cast, clip, copy, fill, where
from ._ops.contractions import dot, tensordot, vecdot
from ._ops.creation import (
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
from ._ops.dtypes import can_cast, finfo, iinfo, isdtype
from ._ops.elementwise import *  # noqa: F403  one name per row of ops.h
from ._ops.elementwise import OPS
from ._ops.elementwise import __all__ as _OPERATIONS
from ._ops.manipulation import (
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
from ._ops.matmul import gemm, get_blas, matmul, set_blas
from ._ops.promotion import cpu_features, num_threads, result_type, set_num_threads
from ._ops.reduce import *  # noqa: F403  one name per row of ops/reduce/rows.h
from ._ops.reduce import __all__ as _REDUCTIONS
from ._ops.scan import cumprod, cumsum, cumulative_max, cumulative_min, cumulative_prod, cumulative_sum
from ._ops.search import bincount, searchsorted
from ._ops.sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from ._ops.sort import argsort, sort, top_k
from ._ops.take import add_at, maximum_at, minimum_at, nonzero, take, take_along_axis

__array_api_version__ = _VERSIONS[-1]
# Constants of the array API.
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793

# Modules that are loaded when they are first used, so that `import dltensor` stays fast.
checks = _lazy_module("checks")
conformance = _lazy_module("conformance")
cuda = _lazy_module("cuda")
debug = _lazy_module("debug")
distributed = _lazy_module("distributed")
fft = _lazy_module("fft")
io = _lazy_module("io")
layout = _lazy_module("layout")
lib = _lazy_module("lib")
linalg = _lazy_module("linalg")
opaque = _lazy_module("opaque")
random = _lazy_module("random")
shared = _lazy_module("shared")
# Functions in Python, whose modules are loaded when one of them is first called.
_add_functions(globals())
# Element types by name: dl.float32, dl.bool, dl.float8_e4m3fn ...
globals().update(DTYPES)

from ._spellings.objects import *  # noqa: E402, F403
from ._spellings.objects import __all__ as _OBJECTS  # noqa: E402

# The names of operations and element types come from their tables.
__all__ = [
    *DTYPES,
    *_OPERATIONS,
    *_FUNCTIONS,
    *_SPELLINGS,
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
    "LinAlgError",
    "Tensor",
    "add_at",
    "arange",
    "argsort",
    "as_device",
    "as_dtype",
    "asarray",
    "astype",
    "bincount",
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
    "cumprod",
    "cumsum",
    "cumulative_max",
    "cumulative_min",
    "cumulative_prod",
    "cumulative_sum",
    "data_ptr",
    "debug",
    "default_dtype",
    "distributed",
    "dot",
    "e",
    "empty",
    "empty_cache",
    "empty_like",
    "expand_dims",
    "eye",
    "fft",
    "fill",
    "finfo",
    "flip",
    "from_arrow",
    "from_dlpack",
    "full",
    "full_like",
    "gemm",
    "get_blas",
    "get_default_dtype",
    "get_printoptions",
    "iinfo",
    "inf",
    "into",
    "io",
    "isdtype",
    "isin",
    "layout",
    "linalg",
    "linspace",
    "matmul",
    "matrix_transpose",
    "maximum_at",
    "meshgrid",
    "minimum_at",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "num_threads",
    "ones",
    "ones_like",
    "opaque",
    "permute_dims",
    "pi",
    "printoptions",
    "random",
    "repeat",
    "reproducible",
    "reshape",
    "result_type",
    "roll",
    "searchsorted",
    "set_cache_limit",
    "set_blas",
    "set_default_dtype",
    "set_num_threads",
    "set_printoptions",
    "shared",
    "sort",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "top_k",
    "tril",
    "triu",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "vecdot",
    "where",
    "wrap",
    "zeros",
    "zeros_like",
    *_REDUCTIONS,
    *_OBJECTS,
]
_SHOWN = frozenset(__all__)
_add_other_names(globals())
_naming.set_module(globals())
_add_to_tensor(globals())
_rebuild.__module__ = __name__  # where pickles of tensors find it


def __dir__():
    # The submodules that define the functions above are attributes of the package too, but not public names.
    return sorted(name for name in globals() if name in _SHOWN or name.startswith("__"))
