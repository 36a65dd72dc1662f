# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides against brute force over every small case."""

import ctypes as c
import itertools

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
from native import library, tensor


def numbers(values):
    return (c.c_int64 * max(len(values), 1))(*values)


def addresses(shape, strides):
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, shape))]


def shapes(most, extents=range(4)):
    return [s for n in range(most + 1) for s in itertools.product(extents, repeat=n)]


def test_contiguous_means_that_the_elements_follow_each_other():
    checked = 0
    for shape in shapes(3):
        for strides in itertools.product((0, 1, 2, 3, 4, 6, 9, -1), repeat=len(shape)):
            count = int(np.prod(shape, dtype=int))
            want = addresses(shape, strides) == list(range(count))
            assert bool(library.engine_contiguous(len(shape), numbers(shape), numbers(strides))) == want, (
                shape,
                strides,
            )
            checked += 1
    assert checked > 30000


def test_coalescing_keeps_every_address_in_order():
    choices = (0, 1, 2, 3, 6, -2)
    checked = joined = 0
    for shape in shapes(3):
        for both in itertools.product(itertools.product(choices, repeat=len(shape)), repeat=2):
            if len(shape) == 3 and hash((shape, both)) % 16:
                continue
            extent, rows = numbers(shape), [numbers(s) for s in both]
            pointers = (c.POINTER(c.c_int64) * 2)(*[c.cast(r, c.POINTER(c.c_int64)) for r in rows])
            kept = library.engine_coalesce(len(shape), extent, 2, pointers)
            assert 0 <= kept <= max(len(shape), 1)
            for row, strides in zip(rows, both, strict=True):
                assert addresses(extent[:kept], row[:kept]) == addresses(shape, strides), (shape, both)
            checked += 1
            joined += kept < len(shape)
    assert checked > 50000
    assert joined > 10000


@pytest.mark.parametrize("leading", [False, True])
def test_shapes_broadcast_as_numpy_says(leading):
    small = shapes(3, range(3))
    for a, b in itertools.product(small, repeat=2):
        n = max(len(a), len(b))
        turn = (lambda s, n=n: s + (1,) * (n - len(s))) if leading else tuple
        try:
            want = np.broadcast_shapes(turn(a), turn(b))
        except ValueError:
            want = None
        out = numbers([0] * 64)
        ndims = (c.c_int * 2)(len(a), len(b))
        both = (c.POINTER(c.c_int64) * 2)(*[c.cast(numbers(s), c.POINTER(c.c_int64)) for s in (a, b)])
        got = library.engine_broadcast(2, ndims, both, int(leading), out)
        assert (None if got < 0 else tuple(out[:got])) == want, (a, b)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_overlap_is_never_missed_and_seldom_invented(ndim):
    """Pairs of small views into one buffer, one of `ndim` dimensions: what shares a byte is said to."""
    buffer = np.zeros(64, np.uint8)
    missed = invented = pairs = 0
    random = np.random.default_rng(ndim)
    views = []
    while len(views) < 200:
        shape = tuple(int(k) for k in random.integers(0, 5, ndim if len(views) % 2 else random.integers(1, 5)))
        strides = tuple(int(k) for k in random.integers(-8, 9, len(shape)))
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        start = int(random.integers(0, 60))
        if start >= -low and start + high < 60:
            views.append(
                (np.ndarray(shape, np.uint8, buffer, start, strides), {start + a for a in addresses(shape, strides)})
            )
    for (a, bytes_a), (b, bytes_b) in itertools.combinations(views, 2):
        says = library.engine_overlap(c.byref(tensor(a)), c.byref(tensor(b)))
        truth = bool(bytes_a & bytes_b)
        missed += truth and says == 0
        invented += not truth and says != 0
        pairs += 1
    assert missed == 0
    assert invented < pairs * 0.05


def test_interleaved_views_are_apart_and_equal_views_identical():
    x = np.zeros((8, 8), np.float32)
    assert library.engine_overlap(c.byref(tensor(x[:, ::2])), c.byref(tensor(x[:, 1::2]))) == 0
    assert library.engine_overlap(c.byref(tensor(x[:, :4])), c.byref(tensor(x[:, 4:]))) == 0
    assert library.engine_overlap(c.byref(tensor(x[::2])), c.byref(tensor(x[1::2]))) == 0
    assert library.engine_overlap(c.byref(tensor(x)), c.byref(tensor(x))) == 1
    assert library.engine_overlap(c.byref(tensor(x)), c.byref(tensor(x.T))) == 2
    assert library.engine_overlap(c.byref(tensor(x[1:])), c.byref(tensor(x[:-1]))) == 2


def test_repeated_elements_are_found_exactly():
    for shape in shapes(3):
        for strides in itertools.product((0, 1, 2, 3, 6, -1, -5), repeat=len(shape)):
            every = addresses(shape, strides)
            says = library.engine_repeats(len(shape), numbers(shape), numbers(strides))
            assert bool(says) == (len(set(every)) != len(every)), (shape, strides)


def test_repeated_elements_of_many_dimensions_are_found_exactly():
    random = np.random.default_rng(5)
    count = [0, 0]
    for _ in range(3000):
        ndim = int(random.integers(4, 7))
        shape = tuple(int(n) for n in random.integers(1, 5, ndim))
        strides = tuple(int(n) for n in random.integers(-400, 400, ndim))
        every = addresses(shape, strides)
        repeats = len(set(every)) != len(every)
        assert bool(library.engine_repeats(ndim, numbers(shape), numbers(strides))) == repeats, (shape, strides)
        count[repeats] += 1
    assert min(count) > 300


def test_strides_that_cannot_be_searched_count_as_repeating():
    # 40 dimensions of close strides: more differences than the search tries. 2^127 and more: no distance holds them.
    close = [2**40 + 7 * d * d for d in range(40)]
    assert library.engine_repeats(40, numbers([2] * 40), numbers(close))
    assert library.engine_repeats(12, numbers([2**62] * 12), numbers([2**62 - k for k in range(12)]))
    assert library.engine_repeats(1, numbers([2]), numbers([-(2**63)]))
