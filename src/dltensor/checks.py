# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments for authors of libraries; any object that supports DLPack is accepted as a tensor."""

from ._core.convert import from_dlpack
from ._core.tensor import Tensor

__all__ = ["check_same_device", "check_same_dtype_device", "check_same_dtype_device_shape", "check_tensor"]


def _read(t, func, position=None):
    if type(t) is Tensor:
        return t
    try:
        return from_dlpack(t)
    except AttributeError:
        place = "" if position is None else f"argument {position}: "
        raise TypeError(f"{func}: {place}expected a tensor with DLPack, got {type(t).__qualname__}") from None


def check_tensor(t, min_size: int = 0, contiguous=False):
    """Check that an argument is a tensor, has enough elements, and is contiguous if required.

    Parameters
    ----------
    t : array_like or None
        Argument to check.
    min_size : int, default 0
        Minimum number of elements.
    contiguous : bool, default False
        Whether C order is required.

    Raises
    ------
    ValueError
        `t` is None, has too few elements, or is not contiguous.
    TypeError
        `t` is not a tensor.

    Examples
    --------
    >>> dl.checks.check_tensor(dl.zeros((2, 3)), min_size=6, contiguous=True)
    >>> dl.checks.check_tensor(dl.zeros((2, 3)), min_size=7)
    Traceback (most recent call last):
    ValueError: check_tensor: expected at least 7 elements, got 6 in shape (2, 3)
    """
    if t is None:
        raise ValueError("check_tensor: expected a tensor, got None")
    t = _read(t, "check_tensor")
    if t.size < min_size:
        raise ValueError(f"check_tensor: expected at least {min_size} elements, got {t.size} in shape {t.shape}")
    if contiguous and not t.is_contiguous:
        raise ValueError(
            f"check_tensor: expected contiguous elements in C order, got shape {t.shape} with strides {t.strides}; "
            f"copy() first"
        )


def _check_same(tensors, func, attributes):
    tensors = [_read(t, func, position) for position, t in enumerate(tensors)]
    for attribute in attributes:
        for position, t in enumerate(tensors):
            expected, got = getattr(tensors[0], attribute), getattr(t, attribute)
            if expected != got:
                raise ValueError(
                    f"{func}: all must have the {attribute} of argument 0, {expected}, but argument "
                    f"{position} has {got}"
                )


def check_same_device(*tensors):
    """Check that all tensors are on one device.

    Parameters
    ----------
    *tensors : array_like
        Arguments to check.

    Raises
    ------
    ValueError
        Two devices differ; the message names both.
    TypeError
        An argument is not a tensor.

    See Also
    --------
    check_same_dtype_device : Compare the dtypes too.

    Examples
    --------
    >>> dl.checks.check_same_device(dl.zeros(2), dl.ones((3, 4)))
    >>> dl.checks.check_same_device(dl.zeros(2), 1)
    Traceback (most recent call last):
    TypeError: check_same_device: argument 1: expected a tensor with DLPack, got int
    """
    _check_same(tensors, "check_same_device", ("device",))


def check_same_dtype_device(*tensors):
    """Check that all tensors have one dtype and are on one device.

    Parameters
    ----------
    *tensors : array_like
        Arguments to check.

    Raises
    ------
    ValueError
        Two dtypes or devices differ; the message names both.
    TypeError
        An argument is not a tensor.

    See Also
    --------
    check_same_dtype_device_shape : Compare the shapes too.

    Examples
    --------
    >>> dl.checks.check_same_dtype_device(dl.zeros(2), dl.ones((3, 4)))
    >>> dl.checks.check_same_dtype_device(dl.zeros(2), dl.arange(2))
    Traceback (most recent call last):
    ValueError: check_same_dtype_device: all must have the dtype of argument 0, float32, but argument 1 has int64
    """
    _check_same(tensors, "check_same_dtype_device", ("dtype", "device"))


def check_same_dtype_device_shape(*tensors):
    """Check that all tensors have one dtype, one device and one shape.

    Parameters
    ----------
    *tensors : array_like
        Arguments to check.

    Raises
    ------
    ValueError
        Two dtypes, devices or shapes differ; the message names both.
    TypeError
        An argument is not a tensor.

    See Also
    --------
    check_same_dtype_device : Ignore the shapes.

    Examples
    --------
    >>> dl.checks.check_same_dtype_device_shape(dl.zeros((3, 4)), dl.ones((3, 4)))
    >>> dl.checks.check_same_dtype_device_shape(dl.zeros(2), dl.ones(3))
    Traceback (most recent call last):
    ValueError: check_same_dtype_device_shape: all must have the shape of argument 0, (2,), but argument 1 has (3,)
    """
    _check_same(tensors, "check_same_dtype_device_shape", ("dtype", "device", "shape"))
