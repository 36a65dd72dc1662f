# SPDX-License-Identifier: Apache-2.0
"""dl.linalg of CUDA tensors against that of the CPU, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, same  # noqa: E402, F401  the fixture is used by name

la = dl.linalg
pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(47)
DTYPES = ("float32", "float64", "complex64", "complex128")
NARROW = ("float16", "bfloat16")


def drawn(shape, dtype):
    a = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        a = a + 1j * RNG.standard_normal(shape)
    return dl.asarray(a).astype(dtype)


def near(got, want, ulps=4):
    """Of the CPU's dtype and shape, and a few units in the last place of the largest element apart."""
    assert (str(got.device), got.dtype, got.shape) == ("cuda:0", want.dtype, want.shape)
    got, want = (dl.asarray(t.to("cpu")).astype("complex128").numpy() for t in (got, want))
    most = np.abs(want[np.isfinite(want)]).max(initial=0)
    np.testing.assert_allclose(got, want, rtol=0, atol=ulps * most * EPSILON[0], equal_nan=True)


EPSILON = [2.0**-52]


@pytest.fixture(params=DTYPES)
def dtype(request):
    EPSILON[0] = 2.0**-23 if request.param in ("float32", "complex64") else 2.0**-52
    return request.param


# -- what is composed of reductions and products ----------------------------------------------------------------------


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e-200, 1e200, 1e300, 5e-324])
def test_euclidean_norms_have_the_cpus_bits(dtype, scale):
    if scale != 1.0 and dtype not in ("float64", "complex128"):
        scale = float(np.float32(scale ** (1 / 8)))
    for shape in ((0,), (1,), (1000,), (3, 0), (0, 3), (5, 4, 17)):
        a = drawn(shape, dtype) * scale
        x = a.to("cuda")
        same(la.vector_norm(x), la.vector_norm(a))
        same(la.norm(x), la.norm(a))
        for axis in range(-1, len(shape)):
            for keepdims in (False, True):
                same(la.vector_norm(x, axis=axis, keepdims=keepdims), la.vector_norm(a, axis=axis, keepdims=keepdims))
    same(la.vector_norm(x.mT[::-1, ::2], axis=(2, 0)), la.vector_norm(a.mT[::-1, ::2], axis=(2, 0)))
    same(la.matrix_norm(x, keepdims=True), la.matrix_norm(a, keepdims=True))


@pytest.mark.usefixtures("machine_order")
def test_norms_of_special_values(dtype):
    a = dl.asarray([[0.0, -0.0], [np.inf, 1.0], [-np.inf, np.nan], [np.nan, 1.0]], dtype=dtype)
    for order in (2, 1, 0, np.inf, -np.inf):
        got, want = la.vector_norm(a.to("cuda"), axis=1, ord=order), la.vector_norm(a, axis=1, ord=order)
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.usefixtures("machine_order")
def test_other_norms_are_the_cpus(dtype):
    a = drawn((4, 5, 6), dtype)
    x = a.to("cuda")
    for order in (1, 0, np.inf, -np.inf, 3, 0.5, -2):
        near(la.vector_norm(x, axis=1, ord=order), la.vector_norm(a, axis=1, ord=order))
        near(la.norm(x[0, 0], order), la.norm(a[0, 0], order))
    for order in ("fro", 1, -1, np.inf, -np.inf):
        near(la.matrix_norm(x, ord=order), la.matrix_norm(a, ord=order))
        near(la.norm(x, order, (0, 2), True), la.norm(a, order, (0, 2), True))
    out = dl.zeros((4, 6), dtype="complex128", device="cuda")
    assert la.vector_norm(x, axis=1, out=out) is out
    same(out, la.vector_norm(a, axis=1).astype("complex128"))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("name", [*DTYPES, *NARROW, "int8", "uint64"])
def test_traces_have_the_cpus_bits(name):
    a = drawn((3, 5, 4), "float32").astype(name) if "u" not in name else dl.arange(60, dtype=name).reshape((3, 5, 4))
    for offset in (0, 2, -3, 7):
        same(la.trace(a.to("cuda"), offset=offset), la.trace(a, offset=offset))
    same(la.trace(a.to("cuda")[::2].mT), la.trace(a[::2].mT))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("name", NARROW)
def test_half_precision_is_computed_in_float32(name):
    a = drawn((3, 4, 4), "float32").astype(name)
    x = a.to("cuda")
    same(la.vector_norm(x, axis=-1), la.vector_norm(a, axis=-1))
    same(la.matrix_norm(x), la.matrix_norm(a))
    np.testing.assert_allclose(
        la.matrix_power(x, 3).astype("float32").numpy(), la.matrix_power(a, 3).astype("float32").numpy(), rtol=0.02
    )


@pytest.mark.usefixtures("machine_order")
def test_powers_of_matrices(dtype):
    a = drawn((2, 4, 4), dtype)
    x = a.to("cuda")
    for n in (0, 1, 2, 5):
        near(la.matrix_power(x, n), la.matrix_power(a, n), 50)
    near(la.matrix_power(x[:0], 3), la.matrix_power(a[:0], 3))


# -- small matrices, by the CPU's code --------------------------------------------------------------------------------

SMALL = range(1, 9)


def positive(shape, dtype):
    a = drawn(shape, dtype)
    return a @ dl.conj(a.mT) + dl.eye(shape[-1], dtype=dtype)


def differ(got, want, what):
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else ((got, want),):
        what(g, w)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("n", SMALL)
def test_small_matrices_have_the_cpus_bits(dtype, n):
    a, b, p = drawn((2, 20, n, n), dtype), drawn((2, 20, n, 3), dtype), positive((40, n, n), dtype)
    x, y, q = (t.to("cuda") for t in (a, b, p))
    same(la.det(x), la.det(a))
    same(la.inv(x), la.inv(a))
    differ(la.slogdet(x), la.slogdet(a), same)
    same(la.solve(x, y), la.solve(a, b))
    same(la.solve(x[0], y[0, 0, :, 0]), la.solve(a[0], b[0, 0, :, 0]))
    same(la.solve(x[:, :1], y), la.solve(a[:, :1], b))
    for upper in (False, True):
        same(la.cholesky(q, upper=upper), la.cholesky(p, upper=upper))
    differ(la.eigh(x), la.eigh(a), same)
    same(la.eigvalsh(x), la.eigvalsh(a))
    for view in (lambda t: t.mT, lambda t: t[::-1, ::3], lambda t: t[0, 0]):
        same(la.inv(view(x)), la.inv(view(a)))
        same(la.det(view(x)), la.det(view(a)))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (2, 3), (8, 5), (1, 8), (7, 7)])
def test_small_rectangular_matrices_have_the_cpus_bits(dtype, shape):
    a = drawn((9, *shape), dtype)
    a[3] = a[3] * 0
    a[4, -1] = a[4, 0]
    x = a.to("cuda")
    for mode in ("reduced", "complete"):
        differ(la.qr(x, mode=mode), la.qr(a, mode=mode), same)
    for full in (False, True):
        differ(la.svd(x, full_matrices=full), la.svd(a, full_matrices=full), same)
    same(la.svdvals(x), la.svdvals(a))
    near(la.pinv(x), la.pinv(a), 100)
    same(la.matrix_rank(x), la.matrix_rank(a))
    for order in (2, -2, "nuc"):
        near(la.matrix_norm(x, ord=order), la.matrix_norm(a, ord=order))


@pytest.mark.usefixtures("machine_order")
def test_determinants_near_the_ends_of_the_range(dtype):
    scales = [1e-30, 1e30, 0.0] if dtype in ("float32", "complex64") else [1e-200, 1e200, 5e-324, 0.0]
    for scale in scales:
        for n in (1, 4, 8, 12):
            if n == 12 and scale == 5e-324:  # one digit is left, and another order of rounding gives another number
                continue
            a = drawn((3, n, n), dtype) * scale
            what = same if n < 9 else lambda got, want: near(got, want, 100)
            what(la.det(a.to("cuda")), la.det(a))
            differ(la.slogdet(a.to("cuda")), la.slogdet(a), what)
    for special in (np.nan, np.inf):
        a = drawn((2, 3, 3), dtype)
        a[0, 1, 1] = special
        for got, want in zip(la.slogdet(a.to("cuda")), la.slogdet(a), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


# -- larger matrices --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("n", [9, 17, 33, 70])
def test_larger_matrices_are_those_of_the_cpu(dtype, n):
    a = drawn((2, n, n), dtype) + 3 * n**0.5 * dl.eye(n, dtype=dtype)
    a = a[:, ::-1]  # every step exchanges rows
    b, p = drawn((2, n, 5), dtype), positive((2, n, n), dtype)
    x, y, q = (t.to("cuda") for t in (a, b, p))
    near(la.inv(x), la.inv(a), 20)
    near(la.solve(x, y), la.solve(a, b), 20)
    near(la.solve(x, y[0, :, 0]), la.solve(a, b[0, :, 0]), 20)
    near(la.matrix_power(x, -2), la.matrix_power(a, -2), 50)
    differ(la.slogdet(x), la.slogdet(a), lambda g, w: near(g, w, 40))
    for upper in (False, True):
        near(la.cholesky(q, upper=upper), la.cholesky(p, upper=upper), 20)
    assert x.tolist() == a.tolist()


def product(*factors):
    made = factors[0]
    for factor in factors[1:]:
        made = made @ factor
    return made


# By a warp each, by a block each where there are many, and by the library where there are few.
RECTANGLES = [
    (2, 9, 9),
    (5, 16, 16),
    (3, 4, 21),
    (2, 21, 4),
    (2, 17, 32),
    (2, 33, 12),
    (2, 12, 33),
    (3, 70, 35),
    (1, 33, 12),
    (1, 12, 33),
]


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", RECTANGLES)
def test_larger_rectangular_matrices_are_factored(dtype, shape):
    count, m, n = shape
    k = min(m, n)
    a = drawn(shape, dtype)
    x = a.to("cuda")
    near(la.qr(x).R, la.qr(a).R, 400)
    near(la.qr(x).Q, la.qr(a).Q, 400)
    values = la.svdvals(a)
    near(la.svdvals(x), values, 20)
    near(la.pinv(x), la.pinv(a), 400 + (values[:, 0] / values[:, -1]).max().item())
    near(la.matrix_norm(x, ord="nuc"), la.matrix_norm(a, ord="nuc"), 20)
    same(la.matrix_rank(x), la.matrix_rank(a))
    for full in (False, True):
        q, r = (t.to("cpu") for t in la.qr(x, mode="complete" if full else "reduced"))
        u, s, vh = (t.to("cpu") for t in la.svd(x, full_matrices=full))
        columns, rows = (m, n) if full else (k, k)
        assert (q.shape, r.shape) == ((count, m, columns), (count, columns, n))
        assert (u.shape, vh.shape) == ((count, m, columns), (count, rows, n))
        assert dl.all(dl.triu(r) == r)
        middle = dl.zeros((count, columns, rows), dtype=dtype)
        middle[:, range(k), range(k)] = s
        near(product(q, r).to("cuda"), a, 40)
        near(product(u, middle, vh).to("cuda"), a, 40)
        for each in (dl.conj(q.mT) @ q, dl.conj(u.mT) @ u, vh @ dl.conj(vh.mT)):
            near(each.to("cuda"), dl.broadcast_to(dl.eye(each.shape[-1], dtype=dtype), each.shape), 80)
    assert x.tolist() == a.tolist()


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(3, 9), (9, 16), (3, 27), (3, 32), (3, 33), (1, 40)])
def test_larger_matrices_have_their_eigenvalues(dtype, shape):
    count, n = shape
    a = drawn((count, n, n), dtype)
    x = a.to("cuda")
    near(la.eigvalsh(x), la.eigvalsh(a), 40)
    values, vectors = (t.to("cpu") for t in la.eigh(x))
    lower = dl.tril(a, k=-1)
    whole = lower + dl.conj(lower.mT) + dl.eye(n, dtype=dtype) * dl.real(a)
    near((whole @ vectors).to("cuda"), vectors * values[:, None, :].astype(dtype), 100)
    near((dl.conj(vectors.mT) @ vectors).to("cuda"), dl.broadcast_to(dl.eye(n, dtype=dtype), (count, n, n)), 80)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(12, 12), (20, 9), (9, 20), (40, 10)])
def test_matrices_of_low_rank_have_orthonormal_vectors(dtype, shape):
    m, n = shape
    a = drawn((6, *shape), dtype)
    a[0] = 0.0
    a[1, 1:] = 0.0
    a[2, :, 1:] = 0.0
    a[3, -1] = a[3, 0]
    a[4] = a[4, :, :1] * a[4, :1, :]
    x = a.to("cuda")
    same(la.matrix_rank(x), la.matrix_rank(a))
    near(la.svdvals(x), la.svdvals(a), 20)
    u, s, vh = la.svd(x)
    k = min(m, n)
    near(u[..., :k] * s[:, None, :].astype(dtype) @ vh[:, :k, :], a, 40)
    for each in (
        dl.conj(u.mT) @ u,
        vh @ dl.conj(vh.mT),
        dl.conj(la.qr(x, mode="complete").Q.mT) @ la.qr(x, mode="complete").Q,
    ):
        near(each, dl.broadcast_to(dl.eye(each.shape[-1], dtype=dtype), each.shape), 80)
    near(la.qr(x).Q @ la.qr(x).R, a, 40)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_larger_matrices_near_the_ends_of_the_range(dtype, n, scale):
    if dtype not in ("float32", "complex64"):
        scale = scale**10
    a = drawn((3, n, n), dtype)
    x = (a * scale).to("cuda")
    near(la.svdvals(x), la.svdvals(a) * scale, 40)
    near(la.eigvalsh(x), la.eigvalsh(a) * scale, 40)
    near(la.qr(x).R, la.qr(a).R * scale, 400)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(12, 12), (27, 20), (20, 27), (40, 33)])
def test_rows_of_all_magnitudes_have_orthonormal_vectors(dtype, shape):
    """Products of short rows vanish, and rotations by what is left of them would not end."""
    narrow = dtype in ("float32", "complex64")
    a = drawn((3, *shape), "complex128" if dtype.startswith("c") else "float64")
    a = (a * dl.asarray(np.logspace(0, -25 if narrow else -200, shape[0])[:, None])).astype(dtype)
    x = a.to("cuda")
    near(la.svdvals(x), la.svdvals(a), 20)
    u, s, vh = la.svd(x, full_matrices=False)
    near(u * s[:, None, :].astype(dtype) @ vh, a, 40)
    for each in (dl.conj(u.mT) @ u, vh @ dl.conj(vh.mT)):
        near(each, dl.broadcast_to(dl.eye(each.shape[-1], dtype=dtype), each.shape), 80)


@pytest.mark.usefixtures("machine_order")
def test_eigenvalues_that_are_equal_and_matrices_that_are_diagonal(dtype):
    for n in (9, 16, 31):
        a = dl.zeros((4, n, n), dtype=dtype)
        a[1] = dl.eye(n, dtype=dtype)
        a[2] = dl.ones((n, n), dtype=dtype)
        a[3] = dl.eye(n, dtype=dtype) * dl.arange(n, 0, -1).astype(dtype)
        near(la.eigvalsh(a.to("cuda")), la.eigvalsh(a), 40)
        values, vectors = la.eigh(a.to("cuda"))
        near(a.to("cuda") @ vectors, (vectors * values[:, None, :].astype(dtype)).to("cpu"), 80)
        near(dl.conj(vectors.mT) @ vectors, dl.broadcast_to(dl.eye(n, dtype=dtype), a.shape), 80)


@pytest.mark.skipif(setup.ON_CARD, reason="calls are counted by the host driver")
def test_many_matrices_are_few_calls_of_the_driver(eager_machine):
    for shape in ((1000, 16, 16), (40, 36, 36)):
        a = positive(shape, "float32")
        x = a.to("cuda")
        for call in (
            la.qr,
            la.eigh,
            la.eigvalsh,
            la.svd,
            la.svdvals,
            la.inv,
            la.det,
            la.cholesky,
            lambda t: la.solve(t, t),
        ):
            call(x)
            before = eager_machine.statistics()
            call(x)
            after = eager_machine.statistics()
            assert after.launches - before.launches <= 12
            assert after.calls - before.calls <= 120


@pytest.mark.skipif(setup.ON_CARD, reason="needs the host driver, whose library is disabled")
def test_without_cusolver_blocks_compute_and_the_message_says_what_was_tried():
    script = """
import dltensor as dl
from dltensor.testing import hostcuda
hostcuda.load()
a = dl.random.Generator(5).normal(shape=(2, 50, 50), dtype="float64") + 9 * dl.eye(50, dtype="float64")
x = a.to("cuda")
b = a[..., :3]
p = a @ a.mT
for got, want in ((dl.linalg.inv(x), dl.linalg.inv(a)), (dl.linalg.solve(x, b.to("cuda")), dl.linalg.solve(a, b)),
                  (dl.linalg.slogdet(x).logabsdet, dl.linalg.slogdet(a).logabsdet),
                  (dl.linalg.cholesky(p.to("cuda")), dl.linalg.cholesky(p)),
                  (dl.linalg.qr(x).R, dl.linalg.qr(a).R), (dl.linalg.eigvalsh(x), dl.linalg.eigvalsh(a)),
                  (dl.linalg.svdvals(x[:1]), dl.linalg.svdvals(a[:1]))):
    print(dl.allclose(got.to("cpu"), want, rtol=1e-12, atol=1e-12))
for name in ("float32", "complex64", "complex128"):
    h = (a[..., :36, :36] + 1j * a[..., 9:45, 9:45].mT).astype("complex128") if "c" in name else a[..., :37, :37]
    h = (h + dl.conj(h.mT)).astype(name).to("cuda")
    values, vectors = dl.linalg.eigh(h)
    left, right = (t.to("cpu") for t in (h @ vectors, vectors * values[:, None, :].astype(name)))
    print(dl.allclose(left, right, rtol=0, atol=1e-4 if "32" in name or "64" in name else 1e-12))
try:
    dl.linalg.eigh(dl.zeros((600, 600), device="cuda"))
except dl.DeviceError as error:
    print(error)
"""
    environment = {**os.environ, "DLTENSOR_CUDA_CUSOLVER": "off"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    tried = "cuSOLVER cannot be loaded. Tried: DLTENSOR_CUDA_CUSOLVER=off disables it."
    assert done.stdout.startswith("True\n" * 10 + tried)
    assert 'compute on the host with .to("cpu")' in done.stdout


@pytest.mark.usefixtures("machine_order")
def test_small_systems_of_many_right_sides(dtype):
    a, b = drawn((3, 4, 4), dtype), drawn((3, 4, 300), dtype)
    near(la.solve(a.to("cuda"), b.to("cuda")), la.solve(a, b), 500)


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_that_are_preempted(eager_machine, seed):
    a = drawn((2, 10, 10), "float64")
    b, p = drawn((2, 10, 3), "float64"), positive((2, 10, 10), "float64")
    x, y, q, large = (t.to("cuda") for t in (a, b, p, drawn((2, 36, 36), "float64")))

    def results():
        factored = (*la.qr(x), *la.eigh(x), *la.svd(x), la.eigvalsh(x), *la.svd(x[:, :, :4]), *la.svd(x[:, :4]))
        many = (la.solve(large, large[..., :3]), la.det(large), *la.qr(large), *la.svd(large[:, :6]))
        each = (la.solve(x, y), la.det(x), la.cholesky(q), la.inv(x), la.inv(x[:, :5, :5]), *factored, *many)
        return [t.tolist() for t in each]

    wanted = results()
    try:
        eager_machine.configure(threads=f"random:{seed}")
        got = results()
    finally:
        eager_machine.configure(threads="whole")
    assert got == wanted


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("n", [2, 8, 12])
def test_singular_matrices_are_named_as_on_the_cpu(dtype, n):
    a = drawn((2, 3, n, n), dtype)
    a[1, 2] = 1.0
    a[1, 0, 0, 0] = np.nan
    b, p = drawn((2, 3, n, 1), dtype), positive((2, 3, n, n), dtype)
    p[0, 1, n - 1, n - 1] = -1.0
    for call in (
        lambda t: la.inv(t(a)),
        lambda t: la.solve(t(a), t(b)),
        lambda t: la.cholesky(t(p)),
        lambda t: la.eigh(t(a)),
        lambda t: la.svdvals(t(a)),
    ):
        with pytest.raises(dl.LinAlgError) as want:
            call(lambda t: t)
        with pytest.raises(dl.LinAlgError) as got:
            call(lambda t: t.to("cuda"))
        assert str(got.value) == str(want.value)
    a[1, 2] = dl.eye(n, dtype=dtype)
    np.testing.assert_array_equal(np.isnan(la.inv(a.to("cuda")).numpy()), np.isnan(la.inv(a).numpy()))


@pytest.mark.usefixtures("machine_order")
def test_batches_and_matrices_without_elements(dtype):
    for shape in ((0, 3, 3), (0, 12, 12), (3, 0, 0), (0, 0)):
        a = drawn(shape, dtype)
        x = a.to("cuda")
        for name in ("det", "inv", "cholesky", "slogdet", "qr", "eigh", "svd", "svdvals", "matrix_rank", "pinv"):
            differ(getattr(la, name)(x), getattr(la, name)(a), same)
        same(la.solve(x, x), la.solve(a, a))
    for shape in ((2, 3, 0), (2, 0, 3)):
        a = drawn(shape, dtype)
        for name in ("qr", "svd", "svdvals", "pinv"):
            differ(getattr(la, name)(a.to("cuda")), getattr(la, name)(a), same)
        differ(la.qr(a.to("cuda"), mode="complete"), la.qr(a, mode="complete"), same)


def test_solve_takes_columns_up_to_half_of_what_an_int_counts(eager, machine):
    from cuda_engine_under_test import Fault

    most = (2**31 - 1) // 2
    a, b = eager.empty((1, 1), "float32"), eager.empty((1, 1), "float32")
    wide = [b.view((1, columns), (columns, 1)) for columns in (most, most + 1)]

    def solve(columns):
        flats = [ctypes.byref(eager.flat(each)) for each in (a, columns)]
        eager("solve", *flats, ctypes.c_int64(1), ctypes.c_int64(columns.shape[-1]), eager.stream())

    machine.configure(launches=False)  # there is no memory for that many
    try:
        solve(wide[0])
        with pytest.raises(Fault, match=f"solve: a device takes at most {most} rows and columns, got 1 x {most + 1};"):
            solve(wide[1])
    finally:
        machine.configure(launches=True)


@pytest.mark.usefixtures("machine_order")
def test_out_and_half_precision():
    a = drawn((4, 4), "float32").astype("float16")
    x = a.to("cuda")
    for name in ("det", "inv", "svdvals", "eigvalsh"):
        same(getattr(la, name)(x), getattr(la, name)(a))
    out = dl.zeros((4, 4), dtype="float64", device="cuda")
    assert la.inv(x, out=out) is out
    with pytest.raises(dl.DeviceError, match="solve: x1 is on cuda:0 and x2 on cpu; move one with to"):
        la.solve(x, a)


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_a_capture_has_determinants_and_refuses_what_waits(eager_machine):
    a = drawn((3, 12, 12), "float64")
    with cuda.Stream() as stream:
        x = a.to("cuda")
        one = dl.zeros((40, 40), device="cuda")
        la.det(x), la.inv(x), la.qr(x[:, :5, :5]), la.qr(x), la.qr(one)
        stream.synchronize()
        capture = Capture(eager_machine.library, stream)
        with capture:
            made, factors, larger = la.det(x), la.qr(x[:, :5, :5]), la.qr(x)
            for call in (la.inv, la.cholesky, la.eigh, lambda t: la.solve(t, t), lambda t: la.qr(one)):
                with pytest.raises(BufferError, match="being captured"):
                    call(x)
        capture.run()
        near(made, la.det(a), 50)
        same(factors.R, la.qr(a[:, :5, :5]).R)
        near(larger.R, la.qr(a).R, 400)
        capture.end()
