# SPDX-License-Identifier: Apache-2.0
"""NumPy's ufuncs and functions called with tensors: the corresponding operation, else NumPy on the same memory."""

import functools
import inspect

import numpy

from .._core.convert import asarray, empty
from .._core.protocols import to_numpy
from .._core.tensor import Tensor, set_ufuncs
from .._core.types import LinAlgError
from . import (
    closeness,
    contractions,
    creation,
    einsum,
    manipulation,
    nan_reductions,
    numpy_results,
    quantiles,
    reduce,
    scan,
    search,
    sets,
    sort,
    statistics,
    take,
    ufunc_methods,
)
from . import elementwise as _functions
from .casting import astype, clip, copy, where
from .dtypes import isdtype
from .matmul import matmul

# Names of the array API for ufuncs that NumPy before 2.0 has under its own name only.
_OWN_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
    "round": "rint",
}


def _both(a, b, out=(None, None)):
    a, b = (x if isinstance(x, (Tensor, int, float, complex)) else asarray(x) for x in (a, b))  # each is read once
    result = _functions.floor_divide(a, b), _functions.remainder(a, b)
    return tuple(half if to is None else copy(half, to) for half, to in zip(result, out, strict=True))


def _matmul(a, b, out=None):
    return matmul(a, b, out)


def _find_ufuncs():
    """Return ufunc -> name of the row, for every row whose ufunc takes as many operands."""
    found = {}
    for name, row in _functions.OPS.items():
        ufunc = getattr(numpy, _OWN_NAMES.get(name, name), None)
        if isinstance(ufunc, numpy.ufunc) and ufunc.nin == row["operands"] and not row["swapped"]:
            found[ufunc] = row["row"]
    return found


_ROWS = _find_ufuncs()
set_ufuncs(_ROWS, numpy.ndarray)
_UFUNCS = {ufunc: getattr(_functions, name) for ufunc, name in _ROWS.items()}
_UFUNCS |= {numpy.divmod: _both, numpy.matmul: _matmul}

_METHODS = ("__call__", "reduce", "accumulate", "outer", "reduceat", "at")
_PLAIN = frozenset((Tensor, numpy.ndarray, numpy.memmap, bool, int, float, complex, type(None)))


def _has_its_own(kind, protocol):
    """Test whether a class answers NumPy's ufuncs or functions by itself."""
    if kind in _PLAIN:
        return False
    default = getattr(numpy.ndarray, protocol)
    return getattr(kind, protocol, default) is not default


def call_ufunc(ufunc, method, inputs, kwargs):
    """Implement ``__array_ufunc__`` for everything but an operation on plain operands.

    An operation of ours takes the operands and `out`; methods such as ``numpy.add.reduce`` are functions of ours where
    there is one. A ufunc that is none of ours, arguments that ours does not have, and subclasses of ndarray are left to
    NumPy, on arrays that share the tensors' memory. Its arrays are tensors then too, unless subclasses of ndarray are
    among the operands.
    """
    if not callable(ufunc) or not isinstance(getattr(ufunc, "__name__", None), str):
        raise TypeError(f"__array_ufunc__: expected a ufunc, got {type(ufunc).__qualname__}")
    if method not in _METHODS:
        raise TypeError(f"__array_ufunc__: expected one of the methods {', '.join(_METHODS)}, got {method!r}")
    outputs = kwargs.get("out", ())
    kinds = {type(x) for x in (*inputs, *outputs, kwargs.get("where"))}
    if any(_has_its_own(kind, "__array_ufunc__") for kind in kinds):
        return NotImplemented
    function = _UFUNCS.get(ufunc)
    subclass = any(issubclass(kind, numpy.ndarray) and kind not in _PLAIN for kind in kinds)
    if not subclass and method == "outer" and function is not None and ufunc.signature is None and len(inputs) == 2:
        return call_ufunc(ufunc, "__call__", ufunc_methods.outer_operands(inputs), kwargs)
    if not subclass and method != "__call__":
        result = ufunc_methods.along_axis(ufunc, method, inputs, kwargs)
        if result is not NotImplemented:
            return result
    if method == "at" and isinstance(inputs[0], Tensor) and not _with_arrays(inputs[0]).flags.writeable:
        raise ValueError(  # NumPy writes without asking, here to memory that must not change, or to a copy
            f"numpy.{ufunc.__name__}.at: {'the tensor is read-only' if inputs[0].readonly else 'packed elements'}; "
            f"write to a copy() of it"
        )
    if method != "__call__" or function is None or subclass or kwargs.keys() - {"out"}:
        result = _by_numpy(getattr(ufunc, method), inputs, kwargs)
        return result if subclass else numpy_results.as_tensors(result)
    operands = [asarray(x) if isinstance(x, (list, tuple)) else x for x in inputs]
    if not outputs:
        return function(*operands)
    return function(*operands, out=outputs if ufunc.nout > 1 else outputs[0])


# -- functions --------------------------------------------------------------------------------------------------------


class _Refusal(TypeError):
    """A call that neither this package nor NumPy computes: the caller gets an error."""


def _like(create):
    """A function that makes an array like another one, also of another shape."""

    def call(a, fill_value=None, dtype=None, order="K", subok=True, shape=None):
        if order not in ("K", "C", "A"):
            return NotImplemented
        if isinstance(dtype, list) or getattr(dtype, "names", None):
            raise _Refusal(
                f"numpy.{create.__name__}: a tensor has no fields, got dtype {dtype}; take one tensor for each field"
            )
        options = {"dtype": dtype, "device": a.device if isinstance(a, Tensor) else None}
        filling = () if create is not creation.full_like else (fill_value,)
        if shape is None:
            return create(a, *filling, **options)
        result = empty(shape, dtype=asarray(a).dtype if dtype is None else dtype, device=options["device"])
        return create(result, *filling)

    if create is creation.full_like:
        return call
    return lambda a, dtype=None, order="K", subok=True, shape=None: call(a, None, dtype, order, subok, shape)


def _isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    return sets.isin(_read(element), _read(test_elements), invert=invert)


def _outer(a, b, out=None):
    a, b = (manipulation.reshape(_read(x), (-1,)) for x in (a, b))
    return NotImplemented if out is not None else einsum.outer(a, b)


def _swapaxes(a, axis1, axis2):
    axes = list(range(asarray(a).ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return manipulation.permute_dims(a, axes)


def _squeeze(a, axis=None):
    a = asarray(a)
    if axis is None:
        axis = tuple(place for place, size in enumerate(a.shape) if size == 1)
    return manipulation.squeeze(a, axis)


def _transpose(a, axes=None):
    a = asarray(a)
    return manipulation.permute_dims(a, range(a.ndim)[::-1] if axes is None else axes)


def _round(a, decimals=0, out=None):
    return _functions.round(a, out=out, decimals=decimals)


def _where(condition, x=None, y=None):
    if (x is None) != (y is None):
        return NotImplemented
    return where(condition, x, y)


def _take(a, indices, axis=None, out=None, mode="raise"):
    a = asarray(a)
    return take.take(a.ravel() if axis is None else a, asarray(indices), axis=axis or 0, out=out, mode=mode)


def _take_along_axis(arr, indices, axis=-1):
    return take.take_along_axis(arr, indices, axis=axis)


def _triangle(function):
    """NumPy's triangle of one dimension is that of a matrix whose rows it is."""

    def call(m, k=0):
        m = asarray(m)
        return function(manipulation.broadcast_to(m, m.shape * 2) if m.ndim == 1 else m, k=k)

    return call


def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return clip(a, a_min if min is None else min, a_max if max is None else max, out=out)


def _given(**options):
    """The options that are not None, which stands for those that are left out."""
    return {name: value for name, value in options.items() if value is not None}


def _reduction(function, *, dtype=False, initial=False):
    """A reduction with NumPy's parameters, in NumPy's order."""
    if dtype:

        def call(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
            options = _given(dtype=dtype, out=out, initial=initial, where=where)
            return function(asarray(a), axis=axis, keepdims=keepdims, **options)

    elif initial:

        def call(a, axis=None, out=None, keepdims=False, initial=None, where=None):
            return function(asarray(a), axis=axis, keepdims=keepdims, **_given(out=out, initial=initial, where=where))

    else:

        def call(a, axis=None, out=None, keepdims=False, *, where=None):
            return function(asarray(a), axis=axis, keepdims=keepdims, **_given(out=out, where=where))

    return call


def _mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    return reduce.mean(asarray(a), axis=axis, keepdims=keepdims, **_given(dtype=dtype, out=out, where=where))


def _deviation(function):
    def call(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, correction=None):
        correction = ddof if correction is None else correction
        options = _given(dtype=dtype, out=out, where=where, correction=correction)
        return function(asarray(a), axis=axis, keepdims=keepdims, **options)

    return call


def _index_of(function):
    return lambda a, axis=None, out=None, *, keepdims=False: function(
        asarray(a), axis=axis, keepdims=keepdims, **_given(out=out)
    )


def _read(a):
    """An operand as it is; sequences as tensors."""
    return asarray(a) if isinstance(a, (list, tuple)) else a


def _floats(a):
    """An operand of numpy.linalg, which computes integers in float64 whatever the default dtype is."""
    a = asarray(a)
    return a.astype("float64") if isdtype(a.dtype, ("bool", "integral")) else a


def _flat(a, axis):
    """The operand and an axis, flattened for axis None as NumPy has it."""
    return (manipulation.reshape(a, (-1,)), -1) if axis is None else (a, axis)


def _sort(a, axis=-1, kind=None, *, stable=None):
    a, axis = _flat(a, axis)
    return sort.sort(a, axis=axis)


def _argsort(a, axis=-1, kind=None, *, stable=None):
    a, axis = _flat(a, axis)
    return sort.argsort(a, axis=axis)


def _quantile(a, q, axis=None, method="linear", keepdims=False):
    if method not in quantiles.METHODS:
        return NotImplemented
    return quantiles.quantile(a, q, axis=axis, keepdims=keepdims, method=method)


def _scan(function):
    return lambda a, axis=None, dtype=None, out=None: function(asarray(a), axis, dtype, out=out)


def _nan_sum(a, axis=None, dtype=None, out=None, keepdims=False):
    return nan_reductions.nansum(a, axis=axis, keepdims=keepdims, **_given(dtype=dtype, out=out))


def _nan_mean(a, axis=None, dtype=None, out=None, keepdims=False):
    return nan_reductions.nanmean(a, axis=axis, keepdims=keepdims, out=out, dtype=dtype)


def _nan_deviation(function):
    def call(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        correction = ddof if correction is None else correction
        return function(a, axis=axis, dtype=dtype, out=out, correction=correction, keepdims=keepdims)

    return call


def _extreme(function):
    return lambda a, axis=None, out=None, keepdims=False: function(a, axis=axis, out=out, keepdims=keepdims)


def _diff(a, n=1, axis=-1, prepend=None, append=None):
    a = _read(a)
    if n == 0:
        return a  # without the parts, like NumPy
    shape = [1 if place == axis % a.ndim else size for place, size in enumerate(a.shape)] if a.ndim else []

    def part(x):
        x = x if x is None else asarray(x)
        return x if x is None or x.ndim else manipulation.broadcast_to(x, tuple(shape))

    return nan_reductions.diff(a, n=n, axis=axis, prepend=part(prepend), append=part(append))


def _average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    return statistics.average(a, axis=axis, weights=weights, returned=returned, keepdims=keepdims)


def _dot(a, b, out=None):
    return NotImplemented if out is not None else contractions.dot(a, b)


# Functions of NumPy by name, with the corresponding function and the parameters that both have.
_BY_NAME = {
    "all": _reduction(reduce.all),
    "allclose": lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: closeness.allclose(a, b, rtol, atol, equal_nan),
    "any": _reduction(reduce.any),
    "array_equal": lambda a1, a2, equal_nan=False: closeness.array_equal(a1, a2, equal_nan),
    "argmax": _index_of(reduce.argmax),
    "argmin": _index_of(reduce.argmin),
    "argsort": _argsort,
    "astype": lambda x, dtype, *, copy=True: astype(x, dtype, copy=copy),
    "bincount": lambda x, /, weights=None, minlength=0: search.bincount(x, weights, minlength),
    "average": _average,
    "broadcast_arrays": lambda *args: manipulation.broadcast_arrays(*args),
    "broadcast_to": lambda array, shape: manipulation.broadcast_to(array, shape),
    "clip": _clip,
    "concatenate": lambda arrays, axis=0: manipulation.concat(arrays, axis=axis),
    "copy": lambda a: copy(a),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: reduce.count_nonzero(
        asarray(a), axis=axis, keepdims=keepdims
    ),
    "cumprod": _scan(scan.cumprod),
    "cumsum": _scan(scan.cumsum),
    "diff": _diff,
    "dot": _dot,
    "einsum": lambda *operands, out=None, optimize=True: einsum.einsum(*operands, out=out, optimize=optimize),
    "empty_like": _like(creation.empty_like),
    "expand_dims": lambda a, axis: manipulation.expand_dims(a, axis),
    "flip": lambda m, axis=None: manipulation.flip(m, axis=axis),
    "full_like": _like(creation.full_like),
    "histogram": lambda a, bins=10, range=None, density=None, weights=None: quantiles.histogram(
        a, bins, range, bool(density), weights
    ),
    "imag": lambda val: _functions.imag(val),
    "isclose": lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: closeness.isclose(a, b, rtol, atol, equal_nan),
    "max": _reduction(reduce.max, initial=True),
    "mean": _mean,
    "min": _reduction(reduce.min, initial=True),
    "isin": _isin,
    "matrix_transpose": lambda x: manipulation.matrix_transpose(x),
    "median": lambda a, axis=None, *, keepdims=False: quantiles.median(a, axis=axis, keepdims=keepdims),
    "meshgrid": lambda *xi, indexing="xy": creation.meshgrid(*xi, indexing=indexing),
    "moveaxis": lambda a, source, destination: manipulation.moveaxis(a, source, destination),
    "nanmax": _extreme(nan_reductions.nanmax),
    "nanmean": _nan_mean,
    "nanmin": _extreme(nan_reductions.nanmin),
    "nanstd": _nan_deviation(nan_reductions.nanstd),
    "nansum": _nan_sum,
    "nanvar": _nan_deviation(nan_reductions.nanvar),
    "ndim": lambda a: asarray(a).ndim,
    "nonzero": lambda a: take.nonzero(a),
    "ones_like": _like(creation.ones_like),
    "outer": _outer,
    "prod": _reduction(reduce.prod, dtype=True),
    "quantile": _quantile,
    "ptp": _extreme(statistics.ptp),
    "real": lambda val: _functions.real(val),
    "repeat": lambda a, repeats, axis=None: manipulation.repeat(a, repeats, axis=axis),
    "reshape": lambda a, shape, order="C", *, copy=None: manipulation.reshape(a, shape, copy=copy, order=order),
    "roll": lambda a, shift, axis=None: manipulation.roll(a, shift, axis=axis),
    "round": _round,
    "searchsorted": lambda a, v, side="left", sorter=None: search.searchsorted(
        _read(a), _read(v), side=side, sorter=sorter
    ),
    "shape": lambda a: asarray(a).shape,
    "size": lambda a: +asarray(a).size,
    "sort": _sort,
    "squeeze": _squeeze,
    "stack": lambda arrays, axis=0: manipulation.stack(arrays, axis=axis),
    "take": _take,
    "take_along_axis": _take_along_axis,
    "std": _deviation(reduce.std),
    "swapaxes": _swapaxes,
    "sum": _reduction(reduce.sum, dtype=True),
    "tensordot": lambda a, b, axes=2: contractions.tensordot(_read(a), _read(b), axes=axes),
    "tile": lambda A, reps: manipulation.tile(A, reps),
    "transpose": _transpose,
    "tril": _triangle(creation.tril),
    "triu": _triangle(creation.triu),
    "unique_all": lambda x: sets.unique_all(x),
    "unique_counts": lambda x: sets.unique_counts(x),
    "unique_inverse": lambda x: sets.unique_inverse(x),
    "unique_values": lambda x: sets.unique_values(x),
    "unstack": lambda x, /, *, axis=0: manipulation.unstack(x, axis=axis),
    "var": _deviation(reduce.var),
    "where": _where,
    "zeros_like": _like(creation.zeros_like),
}
# Aliases such as numpy.concat and numpy.permute_dims are the same objects.
_FUNCTIONS = {
    getattr(numpy, name): (function, inspect.signature(function))
    for name, function in _BY_NAME.items() if hasattr(numpy, name)
}  # fmt: skip


@functools.cache
def _of_linalg():
    """Functions of numpy.linalg with the corresponding function and the parameters that both have."""
    from .. import linalg

    def plain(name):
        return lambda a: getattr(linalg, name)(_floats(a))

    def lower(name):
        return lambda a, UPLO="L": getattr(linalg, name)(_floats(a)) if UPLO in ("L", "l") else NotImplemented

    def qr(a, mode="reduced"):
        return linalg.qr(_floats(a), mode=mode) if mode in ("reduced", "complete") else NotImplemented

    def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
        if hermitian:
            return NotImplemented
        return linalg.svd(_floats(a), full_matrices=full_matrices) if compute_uv else linalg.svdvals(_floats(a))

    found = {name: plain(name) for name in ("det", "eig", "eigvals", "inv", "pinv", "slogdet", "svdvals")}
    found |= {name: lower(name) for name in ("eigh", "eigvalsh")}
    found |= {
        "cholesky": lambda a, /, *, upper=False: linalg.cholesky(_floats(a), upper=upper),
        "diagonal": lambda x, /, *, offset=0: linalg.diagonal(_read(x), offset=offset),
        "matrix_norm": lambda x, /, *, keepdims=False, ord="fro": linalg.matrix_norm(
            _floats(x), keepdims=keepdims, ord=ord
        ),
        "matrix_power": lambda a, n: linalg.matrix_power(_read(a), n),
        "matrix_rank": lambda A, *, rtol=None: linalg.matrix_rank(_floats(A), rtol=rtol),
        "norm": lambda x, ord=None, axis=None, keepdims=False: linalg.norm(_floats(x), ord, axis, keepdims),
        "qr": qr,
        "solve": lambda a, b: linalg.solve(_floats(a), _floats(b)),
        "svd": svd,
        "trace": lambda x, /, *, offset=0, dtype=None: linalg.trace(_read(x), offset=offset, dtype=dtype),
        "vector_norm": lambda x, /, *, axis=None, keepdims=False, ord=2: linalg.vector_norm(
            _floats(x), axis=axis, keepdims=keepdims, ord=ord
        ),
    }
    return {
        getattr(numpy.linalg, name): (function, inspect.signature(function))
        for name, function in found.items() if hasattr(numpy.linalg, name)
    }  # fmt: skip


def call_function(func, types, args, kwargs):
    """Implement ``__array_function__``: our function if there is one, else NumPy's on arrays that share memory.

    Ours gives tensors, NumPy's gives what NumPy gives, or tensors if it is in the list of `numpy_results`. NumPy
    computes, too, when arguments are given that ours does not
    have, when ours refuses the kinds of argument, and beside subclasses of ndarray such as masked arrays.
    """
    if not callable(func) or not isinstance(args, tuple) or not isinstance(kwargs, dict):
        raise TypeError(
            f"__array_function__: expected a function, types, a tuple and a dictionary of arguments, got "
            f"{type(func).__qualname__}, {type(types).__qualname__}, {type(args).__qualname__} and "
            f"{type(kwargs).__qualname__}"
        )
    if any(_has_its_own(kind, "__array_function__") for kind in types):
        return NotImplemented
    of_linalg = getattr(func, "__module__", None) == "numpy.linalg"
    function, signature = (_of_linalg() if of_linalg else _FUNCTIONS).get(func, (None, None))
    if function is not None and _PLAIN.issuperset(types):
        kwargs = {name: value for name, value in kwargs.items() if name not in ("out", "dtype") or value is not None}
        try:
            signature.bind(*args, **kwargs)
            result = function(*args, **kwargs)
        except _Refusal:
            raise
        except TypeError:
            result = NotImplemented
        except LinAlgError as error:
            raise numpy.linalg.LinAlgError(str(error)) from None  # callers of NumPy catch it
        if result is not NotImplemented:
            return result
    if not hasattr(func, "_implementation"):  # numpy.zeros(3, like=t) and its relatives
        return asarray(func(*args, **kwargs))
    # Past the dispatch, which would come back here for tensors that are hidden in unknown sequences.
    result = _by_numpy(lambda *args, **kwargs: _PROBE.__array_function__(func, (), args, kwargs), args, kwargs)
    return numpy_results.as_tensors(result) if func in _WITH_TENSORS and _PLAIN.issuperset(types) else result


_PROBE = numpy.empty(0)
_WITH_TENSORS = numpy_results.find_functions()


def _by_numpy(function, args, kwargs):
    """Call with arrays for tensors; an `out` that was a tensor is returned as that."""
    out = kwargs.get("out")
    outputs = out if isinstance(out, tuple) else (out,)
    arrays = tuple(x.numpy(copy=False) if isinstance(x, Tensor) else x for x in outputs)
    kwargs = {name: _with_arrays(value) for name, value in kwargs.items() if name != "out"}
    if out is not None:
        kwargs["out"] = arrays if isinstance(out, tuple) else arrays[0]
    result = function(*map(_with_arrays, args), **kwargs)
    tensors = {id(array): x for array, x in zip(arrays, outputs, strict=True) if isinstance(x, Tensor)}
    if type(result) is tuple:
        return tuple(tensors.get(id(one), one) for one in result)
    return tensors.get(id(result), result)


def _with_arrays(x):
    """`x` with arrays for the tensors in it, as deep as lists, tuples and dictionaries go."""
    if type(x) in (list, tuple):
        return type(x)(map(_with_arrays, x))
    if type(x) is dict:
        return {key: _with_arrays(value) for key, value in x.items()}
    if not isinstance(x, Tensor):
        return x
    array = to_numpy(x, None, None)
    if array.ctypes.data != x.data_ptr:
        array.flags.writeable = False  # a packed tensor gives a copy: writes of NumPy to it would be lost
    return array
