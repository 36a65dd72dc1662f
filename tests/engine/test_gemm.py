# SPDX-License-Identifier: Apache-2.0
"""Products of matrices: every dtype, layout and way of computing, against NumPy in a wider type."""

import itertools

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
from native import COMPUTED, dtype_of, gemm, library

SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (5, 7, 3),
    (16, 16, 16),
    (33, 17, 65),
    (48, 48, 48),
    (70, 130, 20),
    (1, 300, 40),
    (300, 1, 40),
    (129, 200, 257),
    (3, 5, 700),
    (20, 600, 300),  # several blocks of columns and of depth, and all threads
    (150, 70, 2100),
]


@pytest.fixture(params=["own", "blas"], scope="module")
def way(request):
    path = None
    if request.param == "blas":
        openblas = pytest.importorskip("scipy_openblas32")
        path = (
            next(iter(__import__("pathlib").Path(openblas.get_lib_dir()).glob("libscipy_openblas*.so")))
            .as_posix()
            .encode()
        )
    assert library.engine_set_blas(path)
    yield request.param
    library.engine_set_blas(None)


def operand(shape, dtype, seed):
    random = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    x = random.normal(size=shape)
    return (x + 1j * random.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def close(got, want, a, b):
    if got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, want)
        return
    eps = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "complex64": 2**-24}.get(got.dtype.name, 2**-53)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    size = np.abs(a.astype(wide)) @ np.abs(b.astype(wide))
    bound = size * (2**-24 if eps > 2**-24 else eps) * (a.shape[-1] + 4) * 2 + np.abs(want) * eps * 1.01
    assert (np.abs(got.astype(wide) - want) <= bound).all()


def product(a, b):
    if a.dtype.kind in "iu":
        return a @ b
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return a.astype(wide) @ b.astype(wide)


@pytest.mark.parametrize("type_name", [n for n in COMPUTED if n != "bool"])
def test_every_dtype_and_size(type_name, level, way):
    dtype = dtype_of(type_name)
    for m, n, k in SIZES:
        a, b = operand((m, k), dtype, 0), operand((k, n), dtype, 1)
        want = product(a, b)
        close(gemm(a, b, np.empty((m, n), dtype)), want, a, b)


@pytest.mark.parametrize("type_name", ["float32", "float64", "float16", "int16", "complex64"])
def test_transposed_and_strided_operands(type_name, level, way):
    dtype = dtype_of(type_name)
    for m, n, k in [(5, 6, 7), (70, 80, 90), (200, 129, 65)]:
        a, b = operand((m, k), dtype, 0), operand((k, n), dtype, 1)
        want = product(a, b)
        shapes_a = [a, np.ascontiguousarray(a.T).T, np.repeat(a, 2, 1)[:, ::2], a[::-1].copy()[::-1]]
        shapes_b = [b, np.ascontiguousarray(b.T).T, np.repeat(b, 3, 0)[::3], b[:, ::-1].copy()[:, ::-1]]
        for x, y in itertools.product(shapes_a, shapes_b):
            close(gemm(x, y, np.empty((n, m), dtype).T), want, a, b)
            close(gemm(x, y, np.empty((m, n), dtype)), want, a, b)


def test_alpha_and_beta(level, way):
    a = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    b = np.array([[7, 8], [9, 10], [11, 12]], np.float32)
    assert gemm(a, b, np.ones((2, 2), np.float32), 0.5, 2).tolist() == [[31, 34], [71.5, 79]]
    assert gemm(a, b, np.full((2, 2), np.nan, np.float32)).tolist() == [[58, 64], [139, 154]]
    assert gemm(a[:, :0], b[:0], np.full((2, 2), np.nan, np.float32)).tolist() == [[0, 0], [0, 0]]
    assert gemm(a[:, :0], b[:0], np.ones((2, 2), np.float32), 1, 3).tolist() == [[3, 3], [3, 3]]


def test_batches_broadcast_and_c_may_be_an_operand(level, way):
    a, b = operand((4, 1, 9, 5), np.dtype("f8"), 0), operand((3, 5, 6), np.dtype("f8"), 1)
    np.testing.assert_allclose(gemm(a, b, np.empty((4, 3, 9, 6))), a @ b, rtol=1e-12)
    x = operand((90, 90), np.dtype("f4"), 2)
    with np.errstate(all="ignore"):  # an emulated processor reports what no element of the product has
        want = x @ x
    np.testing.assert_allclose(gemm(x, x, x), want, rtol=1e-3, atol=1e-4)
