# SPDX-License-Identifier: Apache-2.0
# Types of the package: where each public name comes from. What stands between "rows" and "end" is written by
# tools/stubs.py, which reads __init__.py.
# rows: names
import builtins
from typing import Final

from . import checks, conformance, cuda, debug, distributed, fft, io, layout, linalg, opaque, random, shared
from ._core import types
from ._core.arrow import from_arrow
from ._core.convert import asarray, empty, from_dlpack, into, wrap
from ._core.memory import empty_cache, set_cache_limit
from ._core.tensor import Tensor
from ._core.types import (
    ConformanceWarning, DLPACK_VERSION, DTYPES, DType, DataTypeCode, Device, DeviceError, DeviceType, Flags,
    LinAlgError, as_device, as_dtype,
)
from ._ops import array_api
from ._ops.arguments import data_ptr
from ._ops.casting import astype, cast, clip, copy, fill, where
from ._ops.closeness import allclose, array_equal, isclose
from ._ops.contractions import tensordot, vecdot
from ._ops.creation import (
    arange, empty_like, eye, full, full_like, linspace, meshgrid, ones, ones_like, tril, triu, zeros, zeros_like,
)
from ._ops.dtypes import can_cast, finfo, iinfo, isdtype
from ._ops.einsum import cross, einsum, kron, outer
from ._ops.elementwise import (
    OPS, abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, ceil, conj, copysign, cos, cosh, div, divide, eq, equal, exp, expm1,
    floor, floor_divide, fma, ge, greater, greater_equal, gt, hypot, imag, isfinite, isinf, isnan, le, less, less_equal,
    log, log10, log1p, log2, logaddexp, logical_and, logical_not, logical_or, logical_xor, lt, maximum, minimum, mul,
    multiply, ne, negative, nextafter, not_equal, positive, pow, rdiv, real, reciprocal, remainder, round, rsub, sign,
    signbit, sin, sinh, sqrt, square, sub, subtract, tan, tanh, trunc,
)
from ._ops.gather import add_at, maximum_at, minimum_at, nonzero, take, take_along_axis
from ._ops.manipulation import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, expand_dims, flip, matrix_transpose, moveaxis,
    permute_dims, repeat, reshape, roll, squeeze, stack, tile, unstack,
)
from ._ops.matmul import gemm, matmul
from ._ops.nan_reductions import diff, nanmax, nanmean, nanmin, nanstd, nansum, nanvar
from ._ops.promotion import cpu_features, num_threads, result_type, set_num_threads
from ._ops.quantiles import histogram, median, quantile
from ._ops.reductions import all, any, argmax, argmin, count_nonzero, max, mean, min, prod, std, sum, var
from ._ops.scans import cumulative_max, cumulative_min, cumulative_prod, cumulative_sum
from ._ops.searching import bincount, searchsorted
from ._ops.sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from ._ops.sorting import argsort, sort, top_k
from ._ops.statistics import average, log_softmax, logsumexp, ptp, softmax
from .inspection import inspect, validate
from .inspection.adapter import adapt
from .io import load, memmap, open_file, save

__array_namespace_info__ = array_api.info
__version__ = types.PACKAGE_VERSION
__array_api_version__: Final[builtins.str]
bfloat16: Final[DType]
bool: Final[DType]
complex128: Final[DType]
complex32: Final[DType]
complex64: Final[DType]
e: Final[builtins.float]
float16: Final[DType]
float32: Final[DType]
float4_e2m1fn: Final[DType]
float64: Final[DType]
float6_e2m3fn: Final[DType]
float6_e3m2fn: Final[DType]
float8_e3m4: Final[DType]
float8_e4m3: Final[DType]
float8_e4m3b11fnuz: Final[DType]
float8_e4m3fn: Final[DType]
float8_e4m3fnuz: Final[DType]
float8_e5m2: Final[DType]
float8_e5m2fnuz: Final[DType]
float8_e8m0fnu: Final[DType]
inf: Final[builtins.float]
int16: Final[DType]
int2: Final[DType]
int32: Final[DType]
int4: Final[DType]
int64: Final[DType]
int8: Final[DType]
nan: Final[builtins.float]
newaxis: Final[None]
pi: Final[builtins.float]
uint16: Final[DType]
uint2: Final[DType]
uint32: Final[DType]
uint4: Final[DType]
uint64: Final[DType]
uint8: Final[DType]

__all__ = [
    "ConformanceWarning", "DLPACK_VERSION", "DTYPES", "DType", "DataTypeCode", "Device", "DeviceError", "DeviceType",
    "Flags", "LinAlgError", "OPS", "Tensor", "abs", "acos", "acosh", "adapt", "add", "add_at", "all", "allclose", "any",
    "arange", "argmax", "argmin", "argsort", "array_equal", "as_device", "as_dtype", "asarray", "asin", "asinh",
    "astype", "atan", "atan2", "atanh", "average", "bfloat16", "bincount", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "can_cast", "cast", "ceil", "checks", "clip", "complex128", "complex32",
    "complex64", "concat", "conformance", "conj", "copy", "copysign", "cos", "cosh", "count_nonzero", "cpu_features",
    "cross", "cuda", "cumulative_max", "cumulative_min", "cumulative_prod", "cumulative_sum", "data_ptr", "debug",
    "diff", "distributed", "div", "divide", "e", "einsum", "empty", "empty_cache", "empty_like", "eq", "equal", "exp",
    "expand_dims", "expm1", "eye", "fft", "fill", "finfo", "flip", "float16", "float32", "float4_e2m1fn", "float64",
    "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "floor", "floor_divide", "fma", "from_arrow",
    "from_dlpack", "full", "full_like", "ge", "gemm", "greater", "greater_equal", "gt", "histogram", "hypot", "iinfo",
    "imag", "inf", "inspect", "int16", "int2", "int32", "int4", "int64", "int8", "into", "io", "isclose", "isdtype",
    "isfinite", "isin", "isinf", "isnan", "kron", "layout", "le", "less", "less_equal", "linalg", "linspace", "load",
    "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "lt", "matmul", "matrix_transpose", "max", "maximum", "maximum_at", "mean", "median",
    "memmap", "meshgrid", "min", "minimum", "minimum_at", "moveaxis", "mul", "multiply", "nan", "nanmax", "nanmean",
    "nanmin", "nanstd", "nansum", "nanvar", "ne", "negative", "newaxis", "nextafter", "nonzero", "not_equal",
    "num_threads", "ones", "ones_like", "opaque", "open_file", "outer", "permute_dims", "pi", "positive", "pow", "prod",
    "ptp", "quantile", "random", "rdiv", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type", "roll",
    "round", "rsub", "save", "searchsorted", "set_cache_limit", "set_num_threads", "shared", "sign", "signbit", "sin",
    "sinh", "softmax", "sort", "sqrt", "square", "squeeze", "stack", "std", "sub", "subtract", "sum", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "top_k", "tril", "triu", "trunc", "uint16", "uint2",
    "uint32", "uint4", "uint64", "uint8", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack",
    "validate", "var", "vecdot", "where", "wrap", "zeros", "zeros_like",
]
# end
