# SPDX-License-Identifier: Apache-2.0
"""Products of matrices on CUDA tensors, against the CPU's bits for integers and NumPy for the rest."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import numbers, same  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_products_of_matrices(eager_machine, dtype):
    a, b = (numbers(shape, "int8").astype("float32").astype(dtype) / 16 for shape in ((5, 7), (7, 3)))
    x, y = a.to("cuda"), b.to("cuda")
    want = a.astype("float64").numpy() @ b.astype("float64").numpy()
    close = {"rtol": 2e-3 if dtype == "float16" else 1e-5}
    for got in (
        x @ y,
        x.mT.copy().mT @ y,
        dl.gemm(x, y),
        dl.matmul(x, y, dl.empty((5, 3), dtype=dtype, device="cuda")),
    ):
        assert str(got.device) == "cuda:0"
        np.testing.assert_allclose(got.numpy().astype("f8"), want, **close)
    c = dl.ones((5, 3), dtype=dtype, device="cuda")
    assert dl.gemm(x, y, c, 2.0, 0.5) is c
    np.testing.assert_allclose(c.numpy().astype("f8"), 2 * want + 0.5, **close)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_halves_are_not_rounded_on_the_way(eager_machine, dtype):
    """By default cuBLAS may split a sum and round its parts to the dtype of the factors."""
    a = dl.concat([dl.full((1, 64), 64.0), dl.full((1, 64), -64.0)], axis=1).astype(dtype)
    a[0, 0] = 1.0
    b = dl.full((128, 1), 2.0, dtype=dtype)
    assert (a.to("cuda") @ b.to("cuda")).item() == -126.0
    assert (a @ b).item() == -126.0


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64"])
def test_products_of_integers_have_the_cpus_bits(eager_machine, dtype):
    a, b, c = numbers((2, 5, 40), dtype), numbers((40, 7), dtype), numbers((5, 7), dtype)
    x, y, z = a.to("cuda"), b.to("cuda"), c.to("cuda")
    same(x @ y, a @ b)
    for alpha, beta in ((3, 2), (2.75, -1), (1 << 40, 0)):
        same(dl.gemm(x[0], y, z.copy(), alpha, beta), dl.gemm(a[0], b, c.copy(), alpha, beta))


def test_products_of_complex_numbers(eager_machine):
    a, b, c = numbers((5, 7), "complex64"), numbers((7, 3), "complex64"), numbers((5, 3), "complex64")
    x, y, z = a.to("cuda"), b.to("cuda"), c.to("cuda")
    np.testing.assert_allclose((x @ y).numpy(), a.numpy() @ b.numpy(), rtol=1e-5, atol=1e-5)
    got = dl.gemm(x, y, z, 1 - 2j, 0.5j).numpy()
    np.testing.assert_allclose(got, (1 - 2j) * (a.numpy() @ b.numpy()) + 0.5j * c.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(setup.ON_CARD, reason="rounding of a product by hardware is not ours to test")
def test_tf32_rounds_factors_only_where_it_is_allowed(eager_machine):
    x = dl.full((4, 4), 1 + 2**-12, device="cuda")
    exact = float(np.float32(4 * (1 + 2**-12) ** 2))
    assert (x @ x).item(0, 0) == exact
    with cuda.tf32():
        assert (x @ x).item(0, 0) == 4
        with cuda.tf32(False):
            assert (x @ x).item(0, 0) == exact
    assert (x @ x).item(0, 0) == exact
    with pytest.raises(TypeError, match="tf32: allowed must be True or False, got 1"), cuda.tf32(1):
        pass


def test_products_of_stacks_and_vectors(eager_machine):
    a, b, v = numbers((2, 3, 4), "float32"), numbers((4, 5), "float32"), numbers((4,), "float32")
    x, y, w = a.to("cuda"), b.to("cuda"), v.to("cuda")
    np.testing.assert_allclose((x @ y).numpy(), a.numpy() @ b.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((x @ w).numpy(), a.numpy() @ v.numpy(), rtol=1e-5, atol=1e-6)
    assert (w @ w).shape == ()
    with pytest.raises(ValueError, match="do not chain"):
        y @ y
