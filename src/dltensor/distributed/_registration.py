# SPDX-License-Identifier: Apache-2.0
"""Functions that Dask calls before `dltensor.distributed.dask` is loaded, and that load it: sizes and tokens."""

from contextlib import suppress

from .._core.pickling import reduce_tensor
from .._core.types import Flags


def _register_all():
    """Load the registrations, which register when they are imported."""
    from . import dask  # noqa: F401


def register(sizeof):
    """Register tensors lazily with ``dask.sizeof``, whose entry point this is.

    Dask calls it in every process that imports it, before ``dask.array`` is loaded, if ever, so that no other part of
    Dask can be used here.

    >>> class Dispatch:
    ...     def register_lazy(self, module, function):
    ...         print(module)
    >>> register(Dispatch())
    dltensor
    """
    sizeof.register_lazy("dltensor", _register_all)


def token_of(t):
    """Return the token of a tensor in a graph: equal for equal elements in the same layout, in every process.

    >>> import dask
    >>> token_of(dl.arange(3)) == token_of(dl.arange(3)), token_of(dl.arange(3)) == token_of(dl.arange(3.0))
    (True, False)
    """
    with suppress(ImportError):  # without NumPy Dask has no arrays, and tensors still have tokens
        _register_all()
    from dask.hashing import hash_buffer_hex

    # The read-only flag, a fifth item of some pickles, is not part of the token.
    _, (data, shape, _, *more) = reduce_tensor(t, 5)
    padded = bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)
    return (
        "dltensor.Tensor",
        shape,
        t.dtype.__dlpack_data_type__(),
        padded,
        tuple(more[2:]),
        hash_buffer_hex(data.raw()),
    )
