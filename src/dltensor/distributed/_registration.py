# SPDX-License-Identifier: Apache-2.0
"""Functions that Dask calls before `dltensor.distributed.dask` is loaded, and that load it: sizes and names."""

from contextlib import suppress

from .._core.pickling import reduce_tensor
from .._core.types import Flags


def _register_all():
    """Load the registrations, which register when they are imported."""
    from . import dask  # noqa: F401


def register(sizeof):
    """Register lazily with what Dask measures objects by.

    This is the entry point of the group ``dask.sizeof``, which Dask calls in every process that imports it: before
    ``dask.array`` is loaded, if ever, so that nothing else of Dask can be reached from here.

    Parameters
    ----------
    sizeof : dask.utils.Dispatch
        What Dask measures objects by.

    Examples
    --------
    >>> class Dispatch:
    ...     def register_lazy(self, module, function):
    ...         print(module)
    >>> register(Dispatch())
    dltensor
    """
    sizeof.register_lazy("dltensor", _register_all)


def token_of(t):
    """Return what names a tensor in a graph: the same for the same elements in the same layout, in every process.

    Parameters
    ----------
    t : Tensor
        Tensor in host memory.

    Returns
    -------
    tuple
        Shape, dtype, layout and a hash of the bytes.

    Raises
    ------
    DeviceError
        The host cannot read the memory.

    Examples
    --------
    >>> import dask
    >>> token_of(dl.arange(3)) == token_of(dl.arange(3)), token_of(dl.arange(3)) == token_of(dl.arange(3.0))
    (True, False)
    """
    with suppress(ImportError):  # without NumPy Dask has no arrays, and tensors still have names
        _register_all()
    from dask.hashing import hash_buffer_hex

    # Read-only or not, which is the fifth that some pickles have, equal elements have one name.
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
