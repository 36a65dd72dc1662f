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
            assert bool(library.face_contiguous(len(shape), numbers(shape), numbers(strides))) == want, (shape, strides)
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
            kept = library.face_coalesce(len(shape), extent, 2, pointers)
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
        got = library.face_broadcast(2, ndims, both, int(leading), out)
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
        says = library.face_overlap(c.byref(tensor(a)), c.byref(tensor(b)))
        truth = bool(bytes_a & bytes_b)
        missed += truth and says == 0
        invented += not truth and says != 0
        pairs += 1
    assert missed == 0
    assert invented < pairs * 0.05


def test_interleaved_views_are_apart_and_equal_views_identical():
    x = np.zeros((8, 8), np.float32)
    assert library.face_overlap(c.byref(tensor(x[:, ::2])), c.byref(tensor(x[:, 1::2]))) == 0
    assert library.face_overlap(c.byref(tensor(x[:, :4])), c.byref(tensor(x[:, 4:]))) == 0
    assert library.face_overlap(c.byref(tensor(x[::2])), c.byref(tensor(x[1::2]))) == 0
    assert library.face_overlap(c.byref(tensor(x)), c.byref(tensor(x))) == 1
    assert library.face_overlap(c.byref(tensor(x)), c.byref(tensor(x.T))) == 2
    assert library.face_overlap(c.byref(tensor(x[1:])), c.byref(tensor(x[:-1]))) == 2


def test_repeated_elements_are_found():
    for shape in shapes(3):
        for strides in itertools.product((0, 1, 2, 3, 6, -1), repeat=len(shape)):
            every = addresses(shape, strides)
            if len(set(every)) != len(every):
                assert library.face_repeats(len(shape), numbers(shape), numbers(strides)), (shape, strides)
    x = np.zeros((3, 4, 5), np.int8)
    for view in (x, x.T, x[::-1, ::2], x[:0]):
        t = tensor(view)
        assert not library.face_repeats(t.ndim, t.shape, t.strides)
