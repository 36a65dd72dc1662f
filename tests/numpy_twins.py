# SPDX-License-Identifier: Apache-2.0
"""Arrays by their names, for NumPy and for this package, and the comparison of what functions give for them."""

from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest

import dltensor as dl

RNG = np.random.default_rng(1)
DATA = {
    "x": RNG.normal(size=(3, 4)),
    "y": RNG.normal(size=(3, 4)),
    "positive": RNG.uniform(0.5, 2, size=(3, 4)),
    "small": RNG.uniform(-0.9, 0.9, size=(3, 4)),
    "large": RNG.uniform(1.5, 9, size=(3, 4)),
    "special": np.array([1.5, np.inf, -np.inf, np.nan, -0.0]),
    "v": RNG.normal(size=5),
    "ascending": np.sort(RNG.normal(size=5)),
    "four": RNG.normal(size=4),
    "five": np.zeros((3, 5)),
    "square": RNG.normal(size=(4, 4)),
    "cube": RNG.normal(size=(2, 4, 4)),
    "i": np.array([[1, 0, 3, 5], [0, 2, 9, 4], [7, 7, 0, 1]]),
    "i2": np.array([[1, 2, 0, 1], [3, 2, 0, 4], [0, 1, 1, 2]]),
    "z": np.array([1 + 2j, 3, -1j]),
    "zv": np.array([2 - 1j, 1j, 4]),
    "index": np.array([2, 0]),
    "index2": np.array([[2, 0, 1, 0], [1, 1, 3, 2], [0, 3, 1, 2]]),
    "index3": np.array([[2, 0, 1], [1, 0, 3], [0, 3, 1]]),
    "five4": RNG.normal(size=(5, 4)),
    "two": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "mask": np.array([[True, False, False, True]] * 3),
}
IN_NUMPY = {
    **DATA, "float32": np.float32, "float64": np.float64, "array": np.arange(3), "copy": np.copy, "BytesIO": BytesIO,
}  # fmt: skip
HERE = {name: dl.asarray(array) for name, array in DATA.items()} | {
    "float32": dl.float32, "float64": dl.float64, "array": np.arange(3), "copy": dl.copy, "BytesIO": BytesIO,
}  # fmt: skip


def plain(result):
    """A result as nested tuples of arrays of NumPy, numbers and dtypes by their names."""
    if hasattr(type(result), "__enter__"):
        return None  # a context has no value
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, (tuple, list, Iterator)):
        return tuple(map(plain, result))
    if hasattr(result, "bits") or isinstance(result, (np.dtype, type)) or type(result).__name__ == "dtype":
        return str(result).rpartition(".")[2].rstrip("'>")
    return np.asarray(result.tolist() if hasattr(result, "tolist") else result)


def same(ours, theirs):
    ours, theirs = plain(ours), plain(theirs)
    if theirs is None:
        assert ours is None
        return None
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        return [same(a, b) for a, b in zip(ours, theirs, strict=True)]
    if isinstance(theirs, str):
        return None if ours == theirs else pytest.fail(f"{ours} instead of {theirs}")
    assert ours.shape == theirs.shape
    return np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)
