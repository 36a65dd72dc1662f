# SPDX-License-Identifier: Apache-2.0
"""Sums of integers and extremes along short and long rows: the numbers of NumPy, and the bits that columns give."""

import numpy as np
import pytest

import dltensor as dl

TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
# Beside the registers of every level, and where rows are taken in another way.
LENGTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 50, 63, 64, 65, 127, 128, 129, 130, 257, 4100)
ROWS = (1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 100)


def numbers(dtype, rows, n, rng):
    """Rows of integers of any bits, and of few floats, with both zeros, infinities and NaN of both signs."""
    if not dtype.startswith("f"):
        ends = np.iinfo(dtype)
        return rng.integers(ends.min, ends.max, (rows, n), dtype=dtype, endpoint=True)
    x = rng.choice([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-310, -1e-40], (rows, n)).astype(dtype)
    kind = rng.integers(0, 5, rows)
    x[kind == 1] = -abs(x[kind == 1]) - 1
    x[kind == 2] = abs(x[kind == 2])
    for row in np.flatnonzero(kind >= 3):
        x[row, rng.integers(0, n)] = rng.choice([np.nan, -np.nan, np.inf, -np.inf])
    return x


def words(t):
    return t.numpy().view(f"u{t.dtype.itemsize}").tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_have_the_results_of_columns(dtype, n):
    rng = np.random.default_rng(n)
    for rows in ROWS:
        x = numbers(dtype, rows, n, rng)
        t, wide = dl.asarray(x), dl.asarray(np.concatenate([x, x], axis=1))[:, :n]
        columns = dl.asarray(np.ascontiguousarray(x.T))
        for name in ("max", "min") if dtype.startswith("f") else ("max", "min", "sum"):
            function = getattr(dl, name)
            want = function(columns, axis=0)
            with np.errstate(over="ignore"):
                assert np.array_equal(want.numpy(), getattr(np, name)(x, axis=1), equal_nan=dtype.startswith("f"))
            for rows_of in (t, wide, columns.T, dl.flip(dl.flip(t).copy())):
                got = function(rows_of, axis=1)
                assert got.dtype == want.dtype
                assert words(got) == words(want), (name, rows)
            assert words(function(t, axis=1, keepdims=True)[:, 0]) == words(want)
            out = dl.zeros(rows, dtype=want.dtype)
            assert function(t, axis=1, out=out) is out
            assert words(out) == words(want)


@pytest.mark.parametrize("dtype", TYPES)
def test_initial_values_count_once(dtype):
    x = np.arange(1, 33 * 20 + 1).reshape(33, 20).astype(dtype)
    t = dl.asarray(x)
    assert dl.max(t, axis=1, initial=100).tolist() == x.max(axis=1, initial=100).tolist()
    assert dl.min(t, axis=1, initial=100).tolist() == x.min(axis=1, initial=100).tolist()
    assert dl.sum(t, axis=1, initial=5).tolist() == x.sum(axis=1, initial=5).tolist()
    keep = x % 3 != 0
    assert dl.sum(t, axis=1, where=dl.asarray(keep)).tolist() == x.sum(axis=1, where=keep).tolist()


@pytest.mark.parametrize("dtype", TYPES)
def test_threads_share_rows(dtype):
    before = dl.num_threads()
    try:
        x = numbers(dtype, 40000, 24, np.random.default_rng(3))
        t = dl.asarray(x)
        results = []
        for threads in (1, 2, 3):
            dl.set_num_threads(threads)
            results.append([words(dl.max(t, axis=1)), words(dl.min(t, axis=1))])
        assert results[0] == results[1] == results[2]
    finally:
        dl.set_num_threads(before)
