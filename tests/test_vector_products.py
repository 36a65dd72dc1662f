# SPDX-License-Identifier: Apache-2.0
"""matmul where an operand is a vector, or a matrix of one row or column: shapes, layouts, dtypes, threads and `out`."""

import itertools

import numpy as np
import pytest

import dltensor as dl

DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
# Beside the bounds of registers, of terms that take another order, of strips of columns and of blocks of terms.
DEPTHS = (0, 1, 8, 9, 15, 16, 17, 33, 64, 65, 130, 4096, 4097, 8200)
UNEVEN = [(1, 9), (3, 70), (70, 64), (515, 31), (2, 4097), (1, 9001), (37, 5000), (1, 600000), (700, 900), (2101, 101)]
EXTENTS = (0, 1, 2, 3, 7, 8, 17, 70, 300)


def layouts(t):
    """Views of equal numbers that lie in memory in other ways."""
    yield t
    yield t.T.copy().T
    yield dl.concat([t, t], axis=1)[:, : t.shape[1]]
    yield dl.repeat(dl.repeat(t, 2, axis=0), 2, axis=1)[::2, ::2]
    yield dl.flip(dl.flip(t).copy())


def bits(t):
    return bytes(memoryview(t.copy()).cast("B"))


@pytest.fixture
def threads():
    before = dl.num_threads()
    yield dl.set_num_threads
    dl.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_give_the_exact_numbers(dtype):
    rng = np.random.default_rng(5)
    top = 4 if dtype[-2:] not in ("t8", "16") else 2
    for depth in DEPTHS:
        for rows in EXTENTS if depth < 200 else (1, 3, 20):
            m, v = rng.integers(0, top, (rows, depth)), rng.integers(0, top, depth)
            if dtype[:7] == "complex":
                m, v = m + 1j * rng.integers(0, top, m.shape), v - 2j * rng.integers(0, top, depth)
            want = dl.asarray(m @ v).astype(dtype).tolist()
            a, x = dl.asarray(m).astype(dtype), dl.asarray(v).astype(dtype)
            assert (a @ x).tolist() == want, (depth, rows)
            assert (x @ a.T).tolist() == want, (depth, rows)
            assert (a.T.copy().T @ x).tolist() == want, (depth, rows)
            assert (x[None] @ a.T.copy()).tolist() == [want], (depth, rows)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16", "int16"])
@pytest.mark.parametrize("shape", UNEVEN)
def test_bits_depend_neither_on_layouts_nor_on_threads(shape, dtype, threads):
    rng = np.random.default_rng(6)
    m, v = (rng.standard_normal(s) * 9 for s in (shape, (shape[1], 1)))
    if dtype[:7] == "complex":
        m, v = m + 1j * m[::-1], v * (1 + 2j)
    m, v = dl.asarray(m.astype(dtype)), dl.asarray(v.astype(dtype))
    want = bits(m @ v)
    for count in (1, 2, 3):
        threads(count)
        for a, x in itertools.product(layouts(m), layouts(v)):
            assert bits(a @ x) == want
            assert bits(x.T @ a.T) == want
            assert bits(a @ x[:, 0]) == want


@pytest.mark.parametrize("offset", [1, 3, 4])
def test_bits_do_not_depend_on_the_address(offset):
    rng = np.random.default_rng(7)
    m, v = (
        dl.asarray(rng.standard_normal((33, 100)), dtype="float32"),
        dl.asarray(rng.standard_normal(100), dtype="float32"),
    )
    memory = dl.zeros(4 * 100 * 35, dtype="uint8")
    x = memory[offset : offset + 400].view("float32")
    a = memory[500 + offset : 500 + offset + 13200].view("float32").reshape((33, 100))
    x[...], a[...] = v, m
    assert bits(a @ x) == bits(m @ v)
    assert bits(x @ a.T.copy()) == bits(m @ v)


def test_sums_are_as_accurate_as_other_products():
    rng = np.random.default_rng(8)
    for dtype, depth in itertools.product(("float32", "float64", "complex64"), (9, 100, 5000, 100000)):
        m, v = rng.standard_normal((3, depth)).astype(dtype), rng.standard_normal(depth).astype(dtype)
        if dtype == "complex64":
            m, v = m + 1j * m[::-1], v * np.complex64(1 + 2j)
        wide = "clongdouble" if dtype == "complex64" else "longdouble"
        true = (m.astype(wide) * v.astype(wide)).sum(axis=1)
        bound = 40 * np.finfo(dtype).eps * (np.abs(m) * np.abs(v)).sum(axis=1)
        assert np.all(np.abs((dl.asarray(m) @ dl.asarray(v)).numpy() - true) <= bound)


def test_not_a_number_and_infinity_stay_in_their_row():
    m = np.ones((20, 40), np.float32)
    m[3, 39], m[5, 0], m[6, 17], m[7, 0], m[7, 20] = np.nan, np.inf, -np.inf, np.inf, -np.inf
    for a in layouts(dl.asarray(m)):
        made = (a @ dl.ones(40)).numpy()
        assert np.isnan(made[[3, 7]]).all()
        assert (made[5], made[6]) == (np.inf, -np.inf)
        assert np.all(np.delete(made, [3, 5, 6, 7]) == 40)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
@pytest.mark.parametrize(("rows", "depth"), [(1, 9), (3, 40), (17, 9), (21, 100), (300, 17), (3, 9000)])
def test_nothing_is_written_beside_out(dtype, rows, depth):
    m, v = dl.ones((rows, depth), dtype=dtype), dl.ones(depth, dtype=dtype)
    want = dl.full(rows, depth, dtype="int64").astype(dtype).tolist()
    for a, step in itertools.product(layouts(m), (1, 2, -1)):
        memory = dl.full(2 * rows + 64, 7, dtype=dtype)
        out = memory[32 : 32 + 2 * rows][:: abs(step)][:rows][:: 1 if step > 0 else -1]
        assert dl.matmul(a, v, out=out) is out
        assert out.tolist() == want
        out[...] = 7
        assert (memory == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 16])
def test_small_vectors_are_matrices_of_one_row_or_column(dtype, n):
    numbers = np.random.default_rng(n).integers(0, 5, (3, n))
    m, v = dl.asarray(numbers).astype(dtype), dl.asarray(numbers[0]).astype(dtype)
    for a, x in itertools.product(layouts(m), (v, dl.flip(dl.flip(v).copy()), dl.repeat(v, 2)[::2], m[0])):
        for left, right, want in (
            (a, x, (a @ x[:, None])[:, 0]),
            (x, a.T, (x[None] @ a.T)[0]),
            (x, a[1], (x[None] @ a[1][:, None])[0, 0]),
        ):
            got = left @ right
            assert (got.shape, got.tolist()) == (want.shape, want.tolist())
            out = dl.full(want.shape, 3, dtype=dtype)
            assert dl.matmul(left, right, out=out) is out
            assert out.tolist() == want.tolist()
            for wrong in ((*want.shape, 1), (1, *want.shape), (7,)):
                with pytest.raises(ValueError, match="shape"):
                    dl.matmul(left, right, out=dl.zeros(wrong, dtype=dtype))


def test_out_may_overlap_the_operands():
    rng = np.random.default_rng(9)
    m, v = rng.integers(0, 4, (40, 40)), rng.integers(0, 4, 40)
    x = dl.asarray(v).astype("float32")
    assert dl.matmul(dl.asarray(m).astype("float32"), x, out=x).tolist() == (m @ v).tolist()
    a = dl.asarray(m).astype("float32")
    row = a[3]
    dl.matmul(dl.asarray(v).astype("float32"), a, out=row)
    assert row.tolist() == (v @ m).tolist()
    a = dl.asarray(m).astype("float32")
    column = a[:, 5]
    dl.matmul(a, dl.asarray(v).astype("float32"), out=column)
    assert column.tolist() == (m @ v).tolist()


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "complex64"])
def test_stacks_of_vectors(dtype, threads):
    rng = np.random.default_rng(10)
    for shape, depth in itertools.product(((0,), (1,), (5,), (2, 3), (700,)), (3, 9, 40, 4100)):
        a, b = (rng.integers(0, 2, (*shape, depth)).astype(dtype) for _ in range(2))
        want = np.sum(a.astype("complex128" if dtype == "complex64" else "int64") * b, axis=-1).astype(dtype)
        if dtype == "float16":
            want = np.sum(a.astype("float32") * b, axis=-1).astype(dtype)
        x, y = dl.asarray(a), dl.asarray(b)
        for count in (1, 3):
            threads(count)
            made = x[..., None, :] @ y[..., None]
            assert made.shape == (*shape, 1, 1)
            assert made.numpy()[..., 0, 0].tolist() == want.tolist()
            assert dl.einsum("...j,...j->...", x, y).tolist() == want.tolist()
            one = y[(0,) * len(shape)] if want.size else y.reshape((-1,))[:0]
        if want.size:
            assert (x @ one).tolist() == np.matmul(a, b[(0,) * len(shape)]).astype(dtype).tolist()
    backwards = dl.flip(dl.flip(dl.ones((5, 40), dtype=dtype), axis=1).copy(), axis=1)
    assert dl.einsum("ij,ij->i", backwards, backwards).tolist() == [40] * 5


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((1, 2, 3), (3, 2))])
def test_gemm_takes_matrices_alone(shapes):
    a, b = (dl.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match="gemm: a and b must have 2 dimensions"):
        dl.gemm(a, b)
    with pytest.raises(ValueError, match="gemm: a and b must have 2 dimensions"):
        dl.gemm(a, b, alpha=2.0)


def test_gemm_scales_and_adds():
    m, v = dl.ones((30, 50)), dl.ones((50, 1))
    out = dl.full((30, 1), 3.0)
    dl.gemm(m, v, out, alpha=2, beta=-1)
    assert out.tolist() == [[97.0]] * 30
