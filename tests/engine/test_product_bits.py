# SPDX-License-Identifier: Apache-2.0
"""Bits of products of floats: as recorded on every instruction set, the same for threads, layouts, stacks and parts."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from native import gemm, library
from test_elementary import words

RECORDED = Path(__file__).parent / "product_hashes.json"
DTYPES = ["float32", "float64", "complex64", "complex128", "bfloat16"]
# Rows, depth, columns: small ones, one row or column, around the ends of registers, chains, blocks and parts; few rows;
# few rows and columns of a great depth.
SHAPES = [
    (2, 3, 4),
    (1, 8, 9),
    (1, 9, 8),
    (16, 16, 16),
    (65, 129, 33),
    (1, 300, 41),
    (301, 37, 1),
    (1, 4100, 40),
    (1, 100000, 1),
    (13, 513, 400),
    (100, 600, 150),
    (64, 2049, 64),
    (9, 9000, 7),
    (8, 600, 300),
    (12, 513, 270),
    (40, 530, 200),
    (2, 2048, 3),
    (3, 5000, 3),
    (5, 2600, 6),
    (7, 4096, 4),
]
# Rows, depth, columns of matrices that are stacked, and how many: more than a task has, and no multiple of a register.
STACKED = [
    (1, 3, 3), (2, 2, 2), (4, 4, 4), (3, 4, 1), (1, 12, 5), (5, 9, 1), (8, 7, 5), (2, 1, 30), (6, 6, 6), (1, 4, 1),
]  # fmt: skip
COUNT = 293


def operand(rows, columns, dtype, seed):
    """Numbers from -1/2 to 1/2 of 24 bits, made of integers alone."""
    parts = (words(seed)[: min(2 * rows * columns, 1 << 18)] >> np.uint64(40)).astype(np.float64) * 2.0**-24 - 0.5
    real, imaginary = np.resize(parts, (2, rows, columns))
    return (real + 1j * imaginary if dtype.startswith("complex") else real).astype(dtype)


def operands(shape, dtype):
    rows, depth, columns = shape
    return operand(rows, depth, dtype, 1), operand(depth, columns, dtype, 2)


def result_dtype(dtype):
    return "float32" if dtype == "bfloat16" else dtype  # the sums of bfloat16, before they are rounded


def product(a, b):
    return gemm(a, b, np.empty((*a.shape[:-1], b.shape[-1]), result_dtype(a.dtype.name)))


def hash_of(result):
    return hashlib.sha256(result.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_instruction_set_gives_the_recorded_bits(dtype, level):
    if level == "v2":
        pytest.skip("level v2 has no fused multiply-add")
    hashes = {str(shape): hash_of(product(*operands(shape, dtype))) for shape in SHAPES}
    assert hashes == json.loads(RECORDED.read_text())[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_threads_layouts_and_stacks_change_no_bit(shape, dtype, level):
    a, b = operands(shape, dtype)
    want = product(a, b).tobytes()
    library.engine_set_threads(2)
    try:
        for _ in range(3):  # first the other thread is woken, then it is awake
            assert product(a, b).tobytes() == want
    finally:
        library.engine_set_threads(1)
    lefts = [np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[:, ::-1].copy()[:, ::-1]]
    rights = [np.asfortranarray(b), np.repeat(b, 3, 0)[::3], b[::-1].copy()[::-1]]
    assert [product(x, b).tobytes() == want for x in lefts] == [True] * 3
    assert [product(a, y).tobytes() == want for y in rights] == [True] * 3
    assert product(lefts[0], rights[0]).tobytes() == want
    assert np.ascontiguousarray(product(b.T, a.T).T).tobytes() == want
    assert [c.tobytes() for c in product(np.stack([a] * 3), b)] == [want] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[0] > 2 and shape[2] > 2], ids=str)
def test_fewer_rows_or_columns_have_the_bits_of_the_whole(shape, dtype, level):
    a, b = operands(shape, dtype)
    want = product(a, b)
    for rows in (2, shape[0] // 2 + 1, shape[0] - 1):
        assert product(a[-rows:], b).tobytes() == want[-rows:].tobytes()
    for columns in (2, shape[2] // 2 + 1, shape[2] - 1):
        assert product(a, b[:, :columns]).tobytes() == want[:, :columns].tobytes()


@pytest.mark.parametrize("dtype", [*DTYPES, "int32", "uint8"])
@pytest.mark.parametrize("shape", STACKED, ids=str)
def test_a_stack_of_small_matrices_has_the_bits_of_each(shape, dtype, level):
    rows, depth, columns = shape
    kind = dtype if dtype.startswith("c") else "float64"
    a = (operand(COUNT * rows, depth, kind, 1) * 256).astype(dtype).reshape(COUNT, rows, depth)
    b = (operand(COUNT * depth, columns, kind, 2) * 256).astype(dtype).reshape(COUNT, depth, columns)
    want = np.stack([product(x, y) for x, y in zip(a, b, strict=True)])
    turned = [np.swapaxes(np.swapaxes(m, 1, 2).copy(), 1, 2) for m in (a, b)]
    spread = [np.repeat(m, 2, 0)[::2] for m in (a, b)]
    backwards = [m[::-1].copy()[::-1] for m in (a, b)]
    one_of_b = np.stack([product(x, b[0]) for x in a])
    one_of_a = np.stack([product(a[0], y) for y in b])
    rows_follow = np.broadcast_to(b[0], b.shape)
    for threads in (1, 2):
        library.engine_set_threads(threads)
        try:
            for x, y in [(a, b), (a, turned[1]), (turned[0], b), turned, spread, backwards]:
                assert product(x, y).tobytes() == want.tobytes()
            for y in (rows_follow, np.broadcast_to(turned[1][0], b.shape)):
                assert product(a, y).tobytes() == one_of_b.tobytes()
            assert product(np.broadcast_to(a[0], a.shape), b).tobytes() == one_of_a.tobytes()
            apart = np.zeros((COUNT, rows + 1, columns + 2), result_dtype(dtype))[:, :rows, 1:-1]
            assert gemm(a, rows_follow, apart).tobytes() == one_of_b.tobytes()
            assert gemm(a[::-1], b[::-1], apart[::-1])[::-1].tobytes() == want.tobytes()
        finally:
            library.engine_set_threads(1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_finite_stays_in_its_rows_and_columns(dtype, level):
    for shape in [(65, 129, 33), (7, 2049, 5), (301, 37, 1), (1, 300, 41)]:
        a, b = operands(shape, dtype)
        want = product(a, b)
        if shape[0] > 1:
            a[-1, -1] = np.inf
            assert product(a, b)[:-1].tobytes() == want[:-1].tobytes()
            assert not np.isfinite(product(a, b)[-1]).any()
        a, b = operands(shape, dtype)
        if shape[2] > 1:
            b[0, -1] = np.nan
            assert product(a, b)[:, :-1].tobytes() == want[:, :-1].tobytes()
            assert np.isnan(product(a, b)[:, -1]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 40, 50), (50, 40, 1), (1, 70, 50), (5, 3000, 5)], ids=str)
def test_zeros_have_one_sign(shape, dtype, level):
    a, b = operands(shape, dtype)
    for x, y in [(-np.zeros_like(a), b * b), (a * 1e-30, b * 0), (-np.zeros_like(a), np.zeros_like(b))]:
        assert product(x, y).tobytes() == np.zeros((shape[0], shape[2]), result_dtype(dtype)).tobytes()


def test_a_running_sum_begins_after_the_product(level):
    a, b = operands((65, 700, 33), "float64")
    c = operand(65, 33, "float64", 3)
    np.testing.assert_array_equal(gemm(a, b, c.copy(), 1, 1), product(a, b) + c)


if __name__ == "__main__":
    hashes = {dtype: {str(shape): hash_of(product(*operands(shape, dtype))) for shape in SHAPES} for dtype in DTYPES}
    RECORDED.write_text(json.dumps(hashes, indent=1) + "\n")
