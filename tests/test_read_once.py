# SPDX-License-Identifier: Apache-2.0
"""Operands, integers and sequences are read once: a second answer may name other memory, a class may say anything."""

import operator

import numpy as np
import pytest

import dltensor as dl

T = dl.arange(4, dtype="float64")


class Twice:
    """Its array interface names 4 elements at first, then more than there is memory for."""

    def __init__(self):
        self.asked, self.array = 0, np.arange(4.0)

    @property
    def __array_interface__(self):
        self.asked += 1
        honest = dict(self.array.__array_interface__)
        return honest if self.asked == 1 else honest | {"shape": (1 << 40,)}


CALLS = {
    "np.divmod": lambda x: np.divmod(T, x),
    "divmod": lambda x: divmod(T, x),
    "isclose": lambda x: dl.isclose(T, x),
    "allclose": lambda x: dl.allclose(x, T),
    "array_equal": lambda x: dl.array_equal(x, T),
    "average": lambda x: dl.average(T, weights=x),
    "logsumexp": dl.logsumexp,
    "softmax": dl.softmax,
    "ptp": dl.ptp,
    "nanvar": dl.nanvar,
    "nanmax": dl.nanmax,
    "diff": dl.diff,
    "vecdot": lambda x: dl.vecdot(x, T),
    "einsum": lambda x: dl.einsum("i,i", x, T),
    "outer": lambda x: dl.outer(x, T),
    "kron": lambda x: dl.kron(x, T),
    "histogram": dl.histogram,
    "median": dl.median,
    "isin": lambda x: dl.isin(T, x),
    "searchsorted": lambda x: dl.searchsorted(T, x),
    "top_k": lambda x: dl.top_k(x, 2),
    "clip": lambda x: dl.clip(x, 0, 2),
    "where": lambda x: dl.where(T > 1, x, T),
    "vector_norm": lambda x: dl.linalg.vector_norm(x, ord=3),
    "solve": lambda x: dl.linalg.solve(dl.eye(4), x),
    "fft": lambda x: dl.fft.fft(x),
    "permutation": lambda x: dl.random.Generator(1).permutation(x),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_foreign_operand_is_read_once(call):
    operand = Twice()
    CALLS[call](operand)
    assert operand.asked == 1


# -- integers and sequences that say of themselves what is not so ------------------------------------------------------

COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
COMPUTED = ("__mod__", "__add__", "__radd__", "__sub__", "__neg__")
FAR = 1 << 40


def lying(base):
    """The number 2^40, which compares and computes as 0 does; not an integer unless `base` is int."""
    body = {name: lambda self, other, _n=name: getattr(operator, _n)(0, other) for name in COMPARISONS}
    body |= {name: lambda self, *other: FAR for name in COMPUTED}
    body |= {"__hash__": lambda self: 0} | ({} if base is int else {"__index__": lambda self: FAR})
    return type("Lying", (base,), body)(*((FAR,) if base is int else ()))


class Index:
    """Its index is another object, which need not be an integer."""

    def __init__(self, given):
        self.given = given

    def __index__(self):
        return self.given


CUBE = dl.zeros((2, 3, 4))
TAKE_INTEGERS = {
    "permute_dims": lambda n: dl.permute_dims(CUBE, (1, n, 2)),
    "transpose": lambda n: CUBE.transpose(n, 1, 2),
    "squeeze": lambda n: dl.squeeze(dl.zeros((1, 3)), n),
    "flip": lambda n: dl.flip(CUBE, axis=n),
    "roll": lambda n: dl.roll(CUBE, 1, axis=n),
    "concat": lambda n: dl.concat([CUBE, CUBE], axis=n),
    "stack": lambda n: dl.stack([CUBE, CUBE], axis=n),
    "unstack": lambda n: dl.unstack(CUBE, axis=n),
    "expand_dims": lambda n: dl.expand_dims(CUBE, axis=n),
    "moveaxis": lambda n: dl.moveaxis(CUBE, n, 1),
    "repeat": lambda n: dl.repeat(CUBE, 2, axis=n),
    "sum": lambda n: dl.sum(CUBE, axis=n),
    "argmax": lambda n: dl.argmax(CUBE, axis=n),
    "cumulative_sum": lambda n: dl.cumulative_sum(CUBE, axis=n),
    "diff": lambda n: dl.diff(CUBE, axis=n),
    "sort": lambda n: dl.sort(CUBE, axis=n),
    "top_k": lambda n: dl.top_k(CUBE, n),
    "top_k axis": lambda n: dl.top_k(CUBE, 1, axis=n),
    "take": lambda n: dl.take(CUBE, [0], axis=n),
    "take_along_axis": lambda n: dl.take_along_axis(CUBE, CUBE.astype("int64"), axis=n),
    "index": lambda n: CUBE[n],
    "item": lambda n: CUBE.item(n, 0, 0),
    "reshape": lambda n: dl.reshape(CUBE, (n, 24)),
    "zeros": lambda n: dl.zeros((n, n)),
    "broadcast_to": lambda n: dl.broadcast_to(CUBE, (2, n, 4)),
    "tile": lambda n: dl.tile(dl.zeros(1 << 20), n),
    "linspace": lambda n: dl.linspace(0, 1, n),
    "eye": lambda n: dl.eye(n, n),
    "bincount": lambda n: dl.bincount(dl.asarray([1]), minlength=n),
    "diagonal": lambda n: dl.linalg.diagonal(dl.zeros((2, 2)), offset=n)[0],
    "set_num_threads": lambda n: dl.set_num_threads(n),
    "fft": lambda n: dl.fft.fft(dl.ones(4), n=n),
    "vecdot": lambda n: dl.vecdot(CUBE, CUBE, axis=n),
    "tensordot": lambda n: dl.tensordot(CUBE, CUBE, axes=n),
}


@pytest.mark.parametrize("kind", ["subclass", "no integer", "index of a subclass", "index that is no integer"])
@pytest.mark.parametrize("name", TAKE_INTEGERS)
@pytest.mark.filterwarnings("ignore:__index__ returned non-int:DeprecationWarning")
def test_an_integer_is_its_value_whatever_its_comparisons_say(name, kind):
    given = lying(int if "subclass" in kind else object)
    with pytest.raises((IndexError, ValueError, TypeError, MemoryError)):
        TAKE_INTEGERS[name](Index(given) if kind.startswith("index") else given)


@pytest.mark.parametrize("base", [tuple, list])
@pytest.mark.parametrize("length", [0, 1, 5, 60])
def test_expand_dims_counts_the_axes_itself(base, length):
    axes = type("Axes", (base,), {"__len__": lambda self: length})((0, 2))
    assert dl.expand_dims(dl.zeros((2, 3)), axis=axes).shape == (1, 2, 1, 3)


def test_expand_dims_reads_a_list_that_grows_meanwhile():
    class Growing:
        def __index__(self):
            axes.extend([3, 4])
            return 0

    axes = [Growing()]
    made = dl.expand_dims(dl.zeros((2, 3)), axis=axes)
    assert made.shape[0] == 1
    assert made.shape[-1] == 3
    assert made.ndim in (3, 5)
