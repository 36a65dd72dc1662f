# SPDX-License-Identifier: Apache-2.0
"""Functions of several steps read a foreign operand once: its second answer may name other memory."""

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
