# SPDX-License-Identifier: Apache-2.0
"""Tensors as chunks of Dask arrays: registrations with Dask's dispatches, and the array backend "dltensor".

Importing this module registers. Dask imports it when it first sizes or tokenizes a tensor. The module depends only on
Dask's dispatches and on NumPy's protocols, not on how Dask's arrays work internally.
"""

import sys
from math import prod

import numpy
from dask import config
from dask.array import dispatch as _dispatch
from dask.array import register_chunk_type
from dask.array.backends import ArrayBackendEntrypoint
from dask.sizeof import sizeof

from .._core.convert import asarray, empty
from .._core.tensor import Tensor
from .._core.types import as_dtype
from .._ops import casting, contractions, elementwise, manipulation, quantiles, reduce, take
from .._ops.creation import full
from .._ops.dtypes import isdtype
from .._ops.einsum import einsum
from .._ops.numpy_results import as_tensors

__all__ = ["Backend", "RandomState", "nbytes_of", "to_tensor"]


# -- sizes ------------------------------------------------------------------------------------------------------------


def nbytes_of(t):
    """Return the bytes of the elements of a tensor, each counted once, as a worker stores and sends them.

    Parameters
    ----------
    t : Tensor
        Tensor to measure. Dimensions of stride 0 count as one element.

    Returns
    -------
    int
        The size that Dask's scheduler balances and spills by.

    Examples
    --------
    >>> nbytes_of(dl.zeros((100, 4))), nbytes_of(dl.broadcast_to(dl.zeros(4), (100, 4)))
    (1600, 16)
    """
    if 0 not in t.strides or not t.size:
        return t.nbytes
    return prod(size for size, step in zip(t.shape, t.strides, strict=True) if step) * t.itemsize


# -- functions of chunks ----------------------------------------------------------------------------------------------


def _concatenate(arrays, axis=0):
    return manipulation.concat([asarray(one) for one in arrays], axis=axis)


def _take(a, indices, axis=0):
    return take.take(a, asarray(indices), axis=axis)


def _tensordot(a, b, axes=2):
    return contractions.tensordot(asarray(a), asarray(b), axes=axes)


def _einsum(*operands, casting=None, order=None, optimize=True, dtype=None, out=None):
    result = einsum(*operands, out=out)
    return result if dtype is None or result.dtype == dtype else result.astype(dtype)


def _divide(a, b, out=None, dtype=None):
    if dtype is None:
        return elementwise.divide(a, b, out=out)
    dtype = as_dtype(dtype)
    if isdtype(dtype, ("real floating", "complex floating")):
        a, b = (asarray(x).astype(dtype, copy=False) for x in (a, b))
        return elementwise.divide(a, b, out=out)
    result = elementwise.divide(a, b).astype(dtype)  # the quotient, rounded towards 0
    return result if out is None else casting.copy(result, out)


def _percentile(a, q, method="linear"):
    """Return percentiles of one chunk, and the number of its elements."""
    if not a.size:
        return None, 0
    a, q = asarray(a), asarray(list(q) if isinstance(q, (list, tuple)) else q)
    # Dask takes this for the dtype of percentiles of integers.
    dtype = (a[:0] / 0.5).dtype if a.dtype.kind in "iu" else a.dtype
    values = a.astype("float64", copy=False) if a.dtype.kind in "iu" else a
    if method in quantiles.METHODS:
        result = quantiles.quantile(values, q.astype("float64") / 100, axis=None, method=method)
    else:
        result = asarray(numpy.percentile(values.numpy(), q.numpy(), method=method))
    return result.astype(dtype, copy=False), len(a)


def _numel(x, axis=None, dtype="float64", keepdims=False, **options):
    """Return the number of elements along some axes, as a chunk of a reduction."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = {place % x.ndim for place in axes}
    shape = [1 if place in axes else size for place, size in enumerate(x.shape) if keepdims or place not in axes]
    return full(tuple(shape), prod(x.shape[place] for place in axes), dtype=dtype, device=x.device)


def _nannumel(x, **options):
    options = {name: value for name, value in options.items() if value is not None}
    return reduce.sum(elementwise.logical_not(elementwise.isnan(x)), **options)


def _to_numpy(t, **options):
    return t.numpy()


# -- Dask's choice of a library, dask.config.set({"array.backend": "dltensor"}) ----------------------------------------


def to_tensor(data, **options):
    """Return a chunk of a Dask array as a tensor: Dask's dispatch for ``Array.to_backend("dltensor")``.

    Parameters
    ----------
    data : array_like
        NumPy array, CuPy array or another chunk.
    **options : dict
        Ignored.

    Returns
    -------
    Tensor
        Shares the memory where it can.

    Raises
    ------
    TypeError
        The chunk is no array of numbers.

    Examples
    --------
    >>> to_tensor([1, 2])
    Tensor([1, 2], shape=(2,), device=cpu, dtype=int64)
    """
    return asarray(data)


class RandomState:
    """NumPy's random state whose results are tensors; ``dask.array.random.RandomState`` calls it in each task.

    Parameters
    ----------
    seed : optional
        As for ``numpy.random.RandomState``. The numbers are the same as NumPy's.

    Raises
    ------
    ValueError
        NumPy does not take the seed.

    Examples
    --------
    >>> RandomState(1).randint(0, 10, size=3)
    Tensor([5, 8, 9], shape=(3,), device=cpu, dtype=int64)
    """

    def __init__(self, seed=None):
        self._state = numpy.random.RandomState(seed)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._state, name)
        return lambda *args, **options: as_tensors(function(*args, **options))


class Backend(ArrayBackendEntrypoint):
    """Dask's array backend "dltensor": with it, ``dask.array.zeros`` and its relatives make tensors.

    Examples
    --------
    >>> import dask, dask.array as da
    >>> with dask.config.set({"array.backend": "dltensor"}):
    ...     da.ones(3).sum().compute()
    Tensor(3., shape=(), device=cpu, dtype=float64)
    """

    @classmethod
    def to_backend_dispatch(cls):
        """Return the function that makes a chunk one of this backend."""
        return to_tensor

    @classmethod
    def to_backend(cls, data, **options):
        """Return a Dask array whose chunks are tensors."""
        return data if isinstance(data._meta, Tensor) else data.map_blocks(to_tensor, **options)

    @property
    def RandomState(self):
        """The class that makes random chunks: `RandomState`."""
        return RandomState

    @property
    def default_bit_generator(self):
        """NumPy's bit generator: chunks of ``da.random.default_rng()`` are arrays of NumPy."""
        return numpy.random.PCG64

    @staticmethod
    def arange(*args, like=None, **options):
        """Return ``dask.array.arange`` with tensors as chunks."""
        import dask.array

        with config.set({"array.backend": "numpy"}):
            return dask.array.arange(*args, like=full((), 0.0) if like is None else like, **options)


def _creation(name):
    def create(*args, meta=None, **options):
        import dask.array

        with config.set({"array.backend": "numpy"}):
            return getattr(dask.array, name)(*args, meta=full((), 0.0) if meta is None else meta, **options)

    create.__name__ = name
    create.__doc__ = f"Return ``dask.array.{name}`` with tensors as chunks."
    return staticmethod(create)


for _name in ("empty", "full", "ones", "zeros"):
    setattr(Backend, _name, _creation(_name))
# Their defaults are abstract until they are set.
Backend.__abstractmethods__ = frozenset()


# -- registration -----------------------------------------------------------------------------------------------------

_FUNCTIONS = {
    "concatenate_lookup": _concatenate,
    "divide_lookup": _divide,
    "einsum_lookup": _einsum,
    "empty_lookup": empty,
    "nannumel_lookup": _nannumel,
    "numel_lookup": _numel,
    "percentile_lookup": _percentile,
    "take_lookup": _take,
    "tensordot_lookup": _tensordot,
    "to_numpy_dispatch": _to_numpy,
}
for _name, _function in _FUNCTIONS.items():
    if hasattr(_dispatch, _name):
        getattr(_dispatch, _name).register(Tensor, _function)
sizeof.register(Tensor, nbytes_of)
register_chunk_type(Tensor)
if "dask.dataframe" in sys.modules:  # which loads pandas: data frames of tensors are those of pandas
    import pandas
    from dask.dataframe.dispatch import meta_lib_from_array

    meta_lib_from_array.register(Tensor, lambda t: pandas)
