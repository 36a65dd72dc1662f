# SPDX-License-Identifier: Apache-2.0
"""Outputs so large that they are streamed: right at every alignment, and nothing beside them is written."""

import ctypes as c

import numpy as np
import pytest
from native import cast, copy, library, run, tensor

COUNT = (1 << 23) + 37  # float32: 32 MiB and a piece of a cache line
GUARD = 64
RNG = np.random.default_rng(5)


def fill(out, value):
    library.engine_fill(c.byref(tensor(out)), c.c_void_p(value.ctypes.data), 1)


class Guarded:
    """An array inside a larger one, `offset` elements off a cache line; the rest of that holds a pattern."""

    def __init__(self, shape, dtype, offset=0, gap=0):
        dtype = np.dtype(dtype)
        rows, columns = shape if len(shape) == 2 else (1, shape[0])
        size = rows * (columns + gap)
        self.memory = np.full((size + offset + 2 * GUARD) * dtype.itemsize + 64, 0xA5, np.uint8)
        start = -self.memory.ctypes.data % 64 + (GUARD + offset) * dtype.itemsize
        inside = (
            self.memory[start : start + size * dtype.itemsize].view(dtype).reshape(rows, columns + gap)[:, :columns]
        )
        self.array = inside if len(shape) == 2 else inside[0]

    def check(self):
        """Every byte outside of the array is as it was."""
        self.array[...] = 0
        mask = np.ones(self.memory.shape, bool)
        start = self.array.ctypes.data - self.memory.ctypes.data
        width = self.array.dtype.itemsize
        for row in self.array if self.array.ndim == 2 else [self.array]:
            first = row.ctypes.data - self.memory.ctypes.data
            mask[first : first + row.size * width] = False
        assert start >= 0
        assert (self.memory[mask] == 0xA5).all()


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request):
    library.engine_set_threads(request.param)
    yield
    library.engine_set_threads(2)


X = RNG.normal(size=COUNT).astype(np.float32)
Y = RNG.normal(size=COUNT).astype(np.float32)


@pytest.mark.parametrize("offset", [0, 1, 7, 15, 16])
def test_an_addition(offset):
    out = Guarded((COUNT,), np.float32, offset)
    run("add", X, Y, out=out.array)
    assert np.array_equal(out.array, X + Y)
    out.check()


@pytest.mark.parametrize(
    ("op", "operands", "dtype"),
    [
        ("multiply", lambda: (X, np.float32(2.5).reshape(())), np.float32),
        ("multiply", lambda: (np.float32(2.5).reshape(()), X), np.float32),
        ("negative", lambda: (X,), np.float32),
        ("fma", lambda: (X, Y, X), np.float32),
        ("add", lambda: (X.astype(np.float64), Y.astype(np.float64)), np.float64),
        ("add", lambda: (X.astype(np.int32), Y.astype(np.int32)), np.int32),
        ("add", lambda: (np.tile(X, 2).astype(np.float16), np.tile(Y, 2).astype(np.float16)), np.float16),
    ],
)
def test_other_operands(op, operands, dtype):
    operands = operands()
    out = Guarded((max(x.size for x in operands),), dtype, 3)
    run(op, *operands, out=out.array)
    if op == "fma":
        a, b, addend = (x.astype(np.float64) for x in operands)
        # In float64 the product is exact and the sum rounded, so that this may be rounded twice.
        assert np.abs(out.array - (a * b + addend)).max() <= np.spacing(np.float32(64))
        np.testing.assert_array_max_ulp(out.array, (a * b + addend).astype(np.float32), 1)
    else:
        assert np.array_equal(out.array, getattr(np, op)(*operands))
    out.check()


def test_a_comparison_writes_bools():
    count = (1 << 25) + 5
    x, y = RNG.integers(0, 9, count, np.int8), RNG.integers(0, 9, count, np.int8)
    out = Guarded((count,), bool, 5)
    run("less", x, y, out=out.array)
    assert np.array_equal(out.array, x < y)
    out.check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("columns", "offset", "gap"), [(8200, 1, 0), (8200, 1, 5), (8200, 0, 24), (8192, 0, 0), (2048, 0, 16)]
)
def test_rows_and_columns_are_repeated(columns, offset, gap, dtype):
    rows = (1 << 23) // columns + 7
    matrix = RNG.normal(size=(rows, columns)).astype(dtype)
    row, column = matrix[:1].copy(), matrix[:, :1].copy()
    out = Guarded((rows, columns), dtype, offset, gap)
    for op in ("add", "multiply"):
        for operands in ((matrix, row), (row, matrix), (matrix, column), (row, column)):
            run(op, *operands, out=out.array)
            assert np.array_equal(out.array, getattr(np, op)(*operands))
    out.check()


def test_short_rows_that_lie_apart():
    rows, columns = 1 << 19, 20
    x = RNG.normal(size=(rows, columns)).astype(np.float32)
    out = Guarded((rows, columns), np.float32, 2, 3)
    run("add", x, x[::-1], out=out.array)
    assert np.array_equal(out.array, x + x[::-1])
    run("add", x, x[:, :1], out=out.array)
    assert np.array_equal(out.array, x + x[:, :1])
    out.check()


def test_casts():
    x = RNG.integers(0, 255, COUNT, np.uint8)
    out = Guarded((COUNT,), np.float32, 9)
    cast(x, out.array)
    assert np.array_equal(out.array, x.astype(np.float32))
    out.check()
    big = Guarded((COUNT,), np.float64, 1)
    cast(X, big.array)
    assert np.array_equal(big.array, X.astype(np.float64))
    big.check()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex128])
def test_fill_and_copy(dtype):
    count = (1 << 25) // np.dtype(dtype).itemsize + 11
    out = Guarded((count,), dtype, 3)
    value = np.array([7], dtype)
    fill(out.array, value)
    assert (out.array == value[0]).all()
    source = RNG.integers(0, 100, count).astype(dtype)
    copy(out.array, source)
    assert np.array_equal(out.array, source)
    out.check()
    apart = Guarded((1100, count // 1000), dtype, 1, 7)
    fill(apart.array, value)
    assert (apart.array == value[0]).all()
    apart.check()
