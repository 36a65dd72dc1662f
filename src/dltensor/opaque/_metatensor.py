# SPDX-License-Identifier: Apache-2.0
"""Opaque arrays in metatensor: blocks, labels and files over any tensor. metatensor is imported on first use.

Everything goes through metatensor's public interface. Its library is called by ctypes, which releases the GIL.
"""

import ctypes
import functools
import os

from .._core.convert import asarray, into
from .._core.introspect import engine_path
from ._array import DEFAULT_ORIGIN, OpaqueArray, from_pointer, unwrap


@functools.cache
def _metatensor():
    """Load metatensor-core: (package, struct, labels struct, library)."""
    try:
        import metatensor
        from metatensor import _c_api, _c_lib
    except ImportError as error:
        raise ImportError(
            "dltensor.opaque: expected metatensor-core 0.2 or later to be installed (pip install metatensor-core)"
        ) from error
    if ctypes.sizeof(_c_api.mts_array_t) != 104:
        raise ImportError(
            f"dltensor.opaque: expected metatensor-core 0.2 or later, whose arrays have 104 bytes; "
            f"{metatensor.__version__} has {ctypes.sizeof(_c_api.mts_array_t)}"
        )
    return metatensor, _c_api.mts_array_t, _c_api.mts_labels_t, _c_lib._get_library()


@functools.cache
def _pointers(struct, count):
    return ctypes.POINTER(struct) * count


def _last_error():
    """Return the exception of the last error: the Python exception stored with it, if there is one."""
    from metatensor._status import _get_exception

    return _get_exception()


def register_metatensor(like=None, *, origins=(DEFAULT_ORIGIN,)):
    """Register how metatensor converts arrays of this package for ``block.values`` and ``labels.values``.

    Parameters
    ----------
    like : type, optional
        None converts to a `Tensor`. A type such as ``numpy.ndarray`` or ``torch.Tensor`` converts to that type, sharing
        memory; metatensor's own functions in Python work with these. If the values of a block were made from an object
        of the type, that object is returned.
    origins : sequence of str, default ("dltensor",)
        Origins of the arrays to convert.

    Raises
    ------
    ImportError
        metatensor-core is not installed, or older than 0.2.
    TypeError
        `like` is not a type.

    See Also
    --------
    metatensor_block : Make a block.

    Examples
    --------
    >>> dl.opaque.register_metatensor()  # doctest: +SKIP
    """
    if like is not None and not isinstance(like, type):
        raise TypeError(f"register_metatensor: expected a type such as torch.Tensor, got {like!r}")
    metatensor = _metatensor()[0]

    def convert(array, parent=None):
        address = ctypes.addressof(array)
        if like is None:
            return from_pointer(address, owner=parent)
        found = unwrap(address, owner=parent)
        return found if isinstance(found, like) else into(found, like)

    for origin in origins:
        metatensor.register_external_data_wrapper(origin, convert)


def _as_opaque(values, origin):
    return values if isinstance(values, OpaqueArray) else OpaqueArray(values, origin=origin)


def metatensor_block(values, samples, components, properties, *, origin=None):
    """Return a ``metatensor.TensorBlock`` over the memory of any tensor.

    Parameters
    ----------
    values : OpaqueArray, array_like or nested sequence of numbers
        Values of the block. Ownership of an OpaqueArray is transferred, which is possible once.
    samples : metatensor.Labels
        Labels of the first axis.
    components : sequence of metatensor.Labels
        Labels of the axes between.
    properties : metatensor.Labels
        Labels of the last axis.
    origin : str, optional
        As for `OpaqueArray`.

    Returns
    -------
    metatensor.TensorBlock
        Shares the memory of `values`.

    Raises
    ------
    ImportError
        metatensor-core is not installed, or older than 0.2.
    TypeError
        An argument that must be Labels is not.
    metatensor.MetatensorError
        The shape does not fit the labels.

    See Also
    --------
    metatensor_labels : Make labels.

    Examples
    --------
    >>> block = dl.opaque.metatensor_block(dl.zeros((2, 3)), samples, [], properties)  # doctest: +SKIP
    """
    metatensor, struct, labels_struct, library = _metatensor()
    axes = (samples, *components, properties)
    for labels in axes:
        if not isinstance(labels, metatensor.Labels):
            raise TypeError(
                f"metatensor_block: expected metatensor.Labels for each axis, got {type(labels).__qualname__}"
            )
    first, *between, last = (labels.as_mts_labels_t() for labels in axes)
    # A pointer to one struct serves as an array of one: creating a ctypes array would take most of the time.
    many = ctypes.byref(between[0]) if len(between) == 1 else _pointers(labels_struct, len(between))(*between)
    array = _as_opaque(values, origin)
    block = library.mts_block(struct.from_address(array.release()), first, many, len(between), last)
    if not block:
        raise _last_error()
    return metatensor.TensorBlock.unsafe_from_ptr(block)


def metatensor_labels(names, values, *, assume_unique=False):
    """Return ``metatensor.Labels`` over the memory of any tensor of integers.

    Parameters
    ----------
    names : str or sequence of str
        Names of the columns.
    values : array_like or nested sequence of numbers
        Of shape ``(n, len(names))``; shared if it is int32, else converted.
    assume_unique : bool, default False
        Skip the check that all entries are unique.

    Returns
    -------
    metatensor.Labels
        The labels.

    Raises
    ------
    ImportError
        metatensor-core is not installed, or older than 0.2.
    TypeError
        `values` has no integers.
    ValueError
        `values` does not have one column per name.
    metatensor.MetatensorError
        An entry is not unique.

    See Also
    --------
    metatensor_block : Make a block.

    Examples
    --------
    >>> labels = dl.opaque.metatensor_labels("sample", [[0], [1]])  # doctest: +SKIP
    """
    metatensor, struct, _, _ = _metatensor()
    names = [names] if isinstance(names, str) else list(names)
    tensor = asarray(values)
    if tensor.ndim != 2 or tensor.shape[1] != len(names):
        raise ValueError(
            f"metatensor_labels: expected values of shape (n, {len(names)}) for the names {names}, got {tensor.shape}"
        )
    if "int" not in str(tensor.dtype):
        raise TypeError(f"metatensor_labels: expected integers, got {tensor.dtype}")
    array = OpaqueArray(tensor if str(tensor.dtype) == "int32" else asarray(tensor, dtype="int32"))
    return metatensor.Labels(names, struct.from_address(array.release()), assume_unique=assume_unique)


def metatensor_load(path):
    """Load a ``metatensor.TensorMap`` from a file into arrays of this package, whatever its dtype.

    Parameters
    ----------
    path : str or os.PathLike
        File to read.

    Returns
    -------
    metatensor.TensorMap
        The map.

    Raises
    ------
    ImportError
        metatensor-core is not installed, or older than 0.2.
    metatensor.MetatensorError
        The file does not exist, or is not a TensorMap.
    ValueError
        `path` is not a valid file name.

    See Also
    --------
    register_metatensor : Convert the values of blocks.

    Examples
    --------
    >>> tensor_map = dl.opaque.metatensor_load("values.mts")  # doctest: +SKIP
    """
    metatensor, _, _, library = _metatensor()
    from metatensor._c_api import mts_create_array_callback_t

    create = ctypes.cast(_own_library().dlt_array_create, mts_create_array_callback_t)
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise ValueError(f"metatensor_load: no file can be named {path!a}")
    found = library.mts_tensormap_load(name, create)
    if not found:
        raise _last_error()
    return metatensor.TensorMap.unsafe_from_ptr(found)


@functools.cache
def _own_library():
    return ctypes.CDLL(engine_path())
