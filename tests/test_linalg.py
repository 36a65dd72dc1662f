# SPDX-License-Identifier: Apache-2.0
"""Factorizations against their definitions: residuals, orthogonality, singular matrices, the same bits everywhere."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from children import output_of

import dltensor as dl
from dltensor.linalg import _backends, _factorizations

la = dl.linalg
EPS = {"float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52, "complex128": 2.0**-52}
DTYPES = tuple(EPS)
SIDES = (1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 70, 130)
BATCHES = ((), (3,), (2, 35))
WIDE = {"float32": "float64", "float64": "longdouble", "complex64": "complex128", "complex128": "clongdouble"}


def sample(shape, dtype="float64", seed=0):
    random = np.random.default_rng([seed, *shape])
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def conditioned(n, condition, dtype="float64", seed=0, positive=False):
    """A matrix with that condition number, largest singular value 1."""
    u = np.linalg.qr(sample((n, n), "complex128" if dtype.startswith("c") else "float64", seed))[0]
    v = u if positive else np.linalg.qr(sample((n, n), u.dtype.name, seed + 1))[0]
    return ((u * np.logspace(0, -np.log10(condition), n)) @ v.conj().T).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def wide(x):
    """Values of a tensor or array in a wider dtype, in which residuals are computed."""
    x = np.asarray(x)
    return x.astype(WIDE.get(x.dtype.name, x.dtype))


def size(x):
    """Frobenius norms of matrices."""
    return np.sqrt((np.abs(np.asarray(x)) ** 2).sum((-2, -1)))


def check_small(errors, bound):
    assert np.all(np.asarray(errors) <= bound), (float(np.max(errors)), float(bound))


def batches(n):
    return BATCHES if n <= 17 else BATCHES[:2]


@pytest.fixture(params=_backends.LIBRARIES)
def library(request, monkeypatch):
    """Every library in turn; one that is not installed is skipped."""
    if not _backends._load(request.param):
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setattr(_backends.find, "result", request.param)
    monkeypatch.setattr(_backends.find, "is_done", True)
    return request.param


# -- LU ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_solve_is_backward_stable(n, dtype):
    for batch in batches(n):
        for k in (1, 3, 20):
            a, b = sample((*batch, n, n), dtype), sample((*batch, n, k), dtype, 1)
            x = la.solve(a, b)
            assert (x.dtype, x.shape) == (dtype, b.shape)
            x = wide(x)
            residual = wide(a) @ x - wide(b)
            check_small(size(residual), 10 * EPS[dtype] * n * (size(a) * size(x)).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [127, 128, 129, 200, 255, 1024, 1090])
def test_matrices_factored_by_blocks_of_columns(n, dtype):
    a, b = sample((n, n), dtype), sample((n, 131), dtype)
    made, inverse = la.solve(a, b).numpy(), la.inv(a).numpy()
    check_small(size(a @ made - b), 10 * EPS[dtype] * n * size(a) * size(made))
    check_small(size(a @ inverse - np.eye(n)), 10 * EPS[dtype] * n * size(a) * size(inverse))
    sign, logarithm = la.slogdet(a)
    true = np.linalg.slogdet(a.astype("complex128" if dtype.startswith("c") else "float64"))
    assert abs(complex(sign.item()) - true[0]) < 1e3 * n * EPS[dtype]
    assert logarithm.item() == pytest.approx(true[1], rel=100 * n * EPS[dtype])
    a[:, n - 1] = a[:, 0]
    a[n - 1] = 0
    with pytest.raises(dl.LinAlgError, match="singular"):
        la.inv(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8, 1e12])
@pytest.mark.parametrize("n", [4, 8, 60])
def test_solve_of_ill_conditioned_matrices_is_backward_stable(n, condition, dtype):
    a, b = conditioned(n, condition, dtype), sample((n, 2), dtype)
    x = wide(la.solve(a, b))
    check_small(size(wide(a) @ x - wide(b)) / (size(a) * size(x)), 10 * EPS[dtype] * n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_inv_is_a_right_inverse(n, dtype):
    for batch in batches(n):
        a = sample((*batch, n, n), dtype)
        made = la.inv(a)
        assert (made.dtype, made.shape) == (dtype, a.shape)
        check_small(size(wide(a) @ wide(made) - np.eye(n)), 10 * EPS[dtype] * n * (size(a) * size(made)).max())


def exact_determinant(matrix):
    """By fraction arithmetic, of a matrix of floats."""
    a = [[Fraction(float(x)) for x in row] for row in matrix]
    made = Fraction(1)
    for c in range(len(a)):
        p = next((r for r in range(c, len(a)) if a[r][c]), None)
        if p is None:
            return Fraction(0)
        if p != c:
            a[c], a[p], made = a[p], a[c], -made
        made *= a[c][c]
        for r in range(c + 1, len(a)):
            factor = a[r][c] / a[c][c]
            a[r] = [x - factor * y for x, y in zip(a[r], a[c], strict=True)]
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 12])
def test_determinants_are_those_of_exact_arithmetic(n):
    a = sample((5, n, n))
    true = np.array([float(exact_determinant(x)) for x in a])
    bound = 10 * n * EPS["float64"] * np.linalg.cond(a)
    check_small(np.abs(la.det(a).numpy() - true) / np.abs(true), bound.max())
    sign, logarithm = la.slogdet(a)
    assert sign.tolist() == np.sign(true).tolist()
    check_small(np.abs(logarithm.numpy() - np.log(np.abs(true))), bound.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_determinants_are_as_in_numpy(n, dtype):
    for batch in batches(n):
        a = sample((*batch, n, n), dtype)
        exact = a.astype("complex128" if dtype.startswith("c") else "float64")
        true, made = np.linalg.slogdet(exact), la.slogdet(a)
        bound = 20 * n * EPS[dtype] * np.linalg.cond(exact).max()
        assert (made.sign.dtype, made.logabsdet.dtype) == (dtype, dl.real(dl.asarray(a)).dtype)
        check_small(np.abs(made.sign.numpy() - true[0]), bound)
        check_small(np.abs(made.logabsdet.numpy() - true[1]), bound)
        if n < 20:
            d = la.det(a)
            assert (d.dtype, d.shape) == (dtype, batch)
            true = np.linalg.det(exact)
            check_small(np.abs(d.numpy() - true) / np.abs(true), bound)


def test_determinants_of_extreme_elements():
    for n in (3, 20):
        scales = np.ones(n)
        scales[:3] = 1e200, 1e200, 1e-300
        assert la.det(np.diag(scales)).item() == pytest.approx(1e100, rel=1e-12)
        sign, logarithm = la.slogdet(np.diag(np.full(n, 1e-300)))
        assert (sign.item(), logarithm.item()) == (1, pytest.approx(n * np.log(1e-300), rel=1e-14))
        assert la.det(np.diag(np.full(n, 1e200))).item() == np.inf
        assert la.det(np.zeros((n, n))).item() == 0
        assert [t.item() for t in la.slogdet(np.zeros((n, n)))] == [0, -np.inf]
        assert np.isnan(la.det(np.full((n, n), np.nan)).item())
        assert la.slogdet(np.eye(n)).logabsdet.item() == 0


# -- Cholesky and QR --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_cholesky_factors(n, dtype):
    for batch in batches(n):
        a = sample((*batch, n, n), dtype)
        a = a @ adjoint(a) + n * np.eye(n, dtype=dtype)
        for upper in (False, True):
            broken = (np.triu if upper else np.tril)(a)  # the other triangle is not read
            made = la.cholesky(broken, upper=upper)
            assert (made.dtype, made.shape) == (dtype, a.shape)
            factor = made.numpy()
            assert not (np.tril(factor, -1) if upper else np.triu(factor, 1)).any()
            factor = wide(factor)
            product = adjoint(factor) @ factor if upper else factor @ adjoint(factor)
            check_small(size(product - a), 10 * EPS[dtype] * n * size(a).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 4), (8, 3), (3, 8), (8, 8), (9, 4), (40, 40), (150, 70), (20, 90)])
def test_qr_factors(m, n, dtype):
    for batch in BATCHES[:2]:
        a = sample((*batch, m, n), dtype)
        for mode, k in (("reduced", min(m, n)), ("complete", m)):
            q, r = made = la.qr(a, mode=mode)
            assert type(made).__name__ == "QRResult"
            assert (made.Q.shape, made.R.shape) == ((*batch, m, k), (*batch, k, n))
            q, r = wide(q), wide(r)
            assert not np.tril(r, -1).any()
            check_small(size(q @ r - a), 10 * EPS[dtype] * max(m, n) * size(a).max())
            check_small(size(adjoint(q) @ q - np.eye(k)), 10 * EPS[dtype] * max(m, n) * np.sqrt(k))


@pytest.mark.parametrize("condition", [1e4, 1e12])
@pytest.mark.parametrize("n", [8, 50])
def test_qr_of_ill_conditioned_and_singular_matrices(n, condition):
    a = conditioned(n, condition)
    for matrix in (a, np.zeros_like(a), np.ones_like(a), a * 1e-300, a * 1e300):
        q, r = (wide(t) for t in la.qr(matrix))
        check_small(size(q @ r - matrix), 10 * EPS["float64"] * n * size(wide(matrix)))
        check_small(size(adjoint(q) @ q - np.eye(n)), 10 * EPS["float64"] * n * np.sqrt(n))


# -- eigenvalues and singular values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_eigh(n, dtype, library):
    for batch in batches(n):
        a = sample((*batch, n, n), dtype)
        a = a + adjoint(a)
        values, vectors = made = la.eigh(np.tril(a))  # the upper triangle is not read
        assert type(made).__name__ == "EighResult"
        assert (values.dtype, vectors.dtype) == (dl.real(dl.asarray(a)).dtype, dtype)
        values, v = values.numpy(), wide(vectors)
        assert (np.diff(values) >= 0).all()
        check_small(size(a @ v - v * values[..., None, :]), 10 * EPS[dtype] * n * size(a).max())
        check_small(size(adjoint(v) @ v - np.eye(n)), 10 * EPS[dtype] * n * np.sqrt(n))
        alone = la.eigvalsh(a).numpy()
        check_small(np.abs(alone - values), 10 * EPS[dtype] * n * size(a).max())


def test_eigh_of_multiple_and_extreme_eigenvalues():
    for a in (np.eye(5), np.zeros((4, 4)), np.ones((8, 8)), np.diag([1e-200, 1, 1e200]), np.ones((3, 3)) * 1e300,
              np.ones((3, 3)) * 5e-324):  # fmt: skip
        values, v = la.eigh(a)
        v, norm = wide(v), np.abs(a).max()
        check_small(np.abs(a @ v - v * values.numpy()), 50 * EPS["float64"] * norm + 5e-324)
        check_small(np.abs(v.T @ v - np.eye(len(a))), 50 * EPS["float64"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 4, 8, 9, 40])
def test_eig(n, dtype, library):
    for batch in BATCHES[:2]:
        a = sample((*batch, n, n), dtype)
        values, vectors = made = la.eig(a)
        assert type(made).__name__ == "EigResult"
        assert values.dtype == vectors.dtype == ("complex64" if EPS[dtype] > 1e-10 else "complex128")
        w, v = values.numpy(), wide(vectors)
        check_small(size(a @ v - v * w[..., None, :]), 50 * EPS[dtype] * n * size(a).max())
        check_small(np.abs(np.sqrt((np.abs(v) ** 2).sum(-2)) - 1), 50 * EPS[dtype])
        alone = np.sort_complex(la.eigvals(a).numpy().round(3))
        np.testing.assert_allclose(alone, np.sort_complex(w.round(3)), atol=3e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (1, 5), (4, 4), (8, 3), (3, 8), (8, 8), (9, 4), (4, 9), (40, 25), (25, 40)]
)
def test_svd(m, n, dtype, library):
    k = min(m, n)
    for batch in BATCHES[:2]:
        a = sample((*batch, m, n), dtype)
        for full in (False, True):
            made = la.svd(a, full_matrices=full)
            assert type(made).__name__ == "SVDResult"
            assert (made.U.shape, made.S.shape, made.Vh.shape) == (
                (*batch, m, m if full else k), (*batch, k), (*batch, n if full else k, n)
            )  # fmt: skip
            assert (made.U.dtype, made.S.dtype) == (dtype, dl.real(dl.asarray(a)).dtype)
            u, s, vh = wide(made.U), made.S.numpy(), wide(made.Vh)
            assert (np.diff(s) <= 0).all()
            assert (s >= 0).all()
            product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
            check_small(size(product - a), 10 * EPS[dtype] * max(m, n) * size(a).max())
            check_small(size(adjoint(u) @ u - np.eye(u.shape[-1])), 10 * EPS[dtype] * max(m, n) * np.sqrt(m))
            check_small(size(vh @ adjoint(vh) - np.eye(vh.shape[-2])), 10 * EPS[dtype] * max(m, n) * np.sqrt(n))
        check_small(np.abs(la.svdvals(a).numpy() - s), 10 * EPS[dtype] * max(m, n) * s.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(40_000, 3), (12, 31_000)])
def test_svd_of_more_rows_than_lapack_can_square(m, n, dtype, library):
    a = sample((m, n), dtype)
    u, s, vh = la.svd(a, full_matrices=False)
    assert (u.shape, s.shape, vh.shape) == ((m, min(m, n)), (min(m, n),), (min(m, n), n))
    check_small(size(wide(u) * s.numpy() @ wide(vh) - a), 1000 * EPS[dtype] * size(a).max())
    check_small(np.abs(la.svdvals(a).numpy() - s.numpy()), 1000 * EPS[dtype] * s.numpy().max())
    assert int(la.matrix_rank(a)) == min(m, n)


@pytest.fixture
def openblas(library):
    """scipy-openblas32, which counts in 32 bits."""
    if library != "scipy-openblas32":
        pytest.skip(f"{library} counts in 64 bits")


def test_svd_of_more_vectors_than_lapack_counts_names_size_limit_and_remedy(openblas):
    try:
        dl.empty((30_001, 30_001))
    except MemoryError:
        pytest.skip("needs 4 GB of memory for the result")
    with pytest.raises(ValueError) as raised:
        la.svd(dl.ones((30_001, 1)))
    assert str(raised.value) == (
        "svd: LAPACK, which counts in 32 bits, takes at most 30000 rows and columns with full_matrices=True, "
        "got 30001; pass full_matrices=False"
    )


@pytest.mark.parametrize("count", [1, 64])
def test_a_fault_in_a_thread_has_its_own_text(openblas, count):
    _factorizations.load_lapack("/absent")
    try:
        with pytest.raises(dl.DeviceError, match=r"^svdvals: no LAPACK is loaded; install scipy-openblas32$"):
            la.svdvals(sample((count, 9, 9)))
    finally:
        _backends._load("scipy-openblas32")


def hard(name, n):
    """A matrix of n rows for which the shortest way to a decomposition loses digits."""
    x, y = np.linalg.qr(sample((n, n), "float64"))[0], np.linalg.qr(sample((n, n), "float64"))[0]
    falling = np.logspace(0, -30, n)
    return {
        "ones": lambda: np.ones((n, n)),
        "zeros": lambda: np.zeros((n, n)),
        "rank 3": lambda: x[:, :3] @ y[:3],
        "condition 1e12": lambda: (x * np.logspace(0, -12, n)) @ y,
        "half": lambda: (x * (np.arange(n) < n // 2)) @ x.T,
        "triangle": lambda: np.triu(np.ones((n, n))),
        "Kahan's": lambda: np.eye(n) - 0.3 * np.triu(np.ones((n, n)), 1),
        "falling rows": lambda: x * falling[:, None],
        "rising rows": lambda: x * falling[::-1, None],
        "falling columns": lambda: x * falling,
        "small": lambda: x * 1e-30,
        "large": lambda: x * 1e30,
    }[name]()


HARD = ("ones", "zeros", "rank 3", "condition 1e12", "half", "triangle", "Kahan's", "falling rows", "rising rows",
        "falling columns", "small", "large")  # fmt: skip


def check_svd(a, dtype, full, names=("U", "S", "Vh")):
    u, s, vh = (wide(getattr(la.svd(a, full_matrices=full), name)) for name in names)
    m, n = a.shape
    k, most = min(m, n), np.linalg.norm(np.asarray(a, "f8"), 2)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    check_small(np.abs((u[:, :k] * s) @ vh[:k] - a), 2 * EPS[dtype] * max(m, n) * most)
    check_small(np.abs(u.T @ u - np.eye(u.shape[1])), 2 * EPS[dtype] * max(m, n))
    check_small(np.abs(vh @ vh.T - np.eye(vh.shape[0])), 2 * EPS[dtype] * max(m, n))
    check_small(np.abs(s - np.linalg.svd(np.asarray(a, "f8"), compute_uv=False)), EPS[dtype] * max(m, n) * most)
    check_small(np.abs(la.svdvals(a).numpy() - s), EPS[dtype] * max(m, n) * most)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("m", "n"), [(191, 191), (192, 192), (193, 200), (200, 193), (256, 256), (300, 200), (200, 301), (523, 517)]
)
def test_svd_of_large_matrices(m, n, dtype):
    for full in (False, True):
        check_svd(sample((m, n), dtype), dtype, full)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", HARD)
def test_svd_of_large_matrices_that_lose_digits(name, dtype):
    check_svd(hard(name, 200).astype(dtype), dtype, False)


def check_eigh(a, dtype):
    n, other = len(a), 1e38 if dtype == "float32" else 1e300  # in the triangle that is not read
    w, v = (wide(t) for t in la.eigh(np.where(np.tri(n, dtype=bool), a, other).astype(dtype)))
    whole = np.tril(a) + np.tril(a, -1).T  # the triangle that is read
    most = max(np.linalg.norm(np.asarray(whole, "f8"), 2), 1e-300)
    assert (np.diff(w) >= 0).all()
    check_small(np.abs(v.T @ v - np.eye(n)), 2 * EPS[dtype] * n)
    check_small(np.abs((v * w) @ v.T - whole), 2 * EPS[dtype] * n * most)
    check_small(np.abs(w - np.linalg.eigvalsh(np.asarray(whole, "f8"))), EPS[dtype] * n * most)
    check_small(np.abs(la.eigvalsh(whole.astype(dtype)).numpy() - w), EPS[dtype] * n * most)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [9, 10, 31, 64, 65, 127, 129, 160, 161])
def test_eigh_of_matrices_of_many_sizes(n, dtype):
    check_eigh(sample((n, n), dtype), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", HARD)
def test_eigh_of_matrices_that_lose_digits(name, dtype):
    check_eigh(hard(name, 70).astype(dtype), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [12, 70])
@pytest.mark.parametrize("name", HARD)
def test_qr_of_matrices_that_lose_digits(name, n, dtype):
    a = hard(name, n).astype(dtype)
    q, r = (wide(t) for t in la.qr(a))
    check_small(np.abs(q.T @ q - np.eye(n)), 4 * EPS[dtype] * n)
    check_small(np.abs(q @ r - a), 4 * EPS[dtype] * n * max(np.linalg.norm(np.asarray(a, "f8"), 2), 1e-300))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 9, 16])
def test_factors_of_graded_matrices_are_orthonormal(n, dtype):
    """Rows and columns whose squares are not normal numbers."""
    rng = np.random.default_rng(n)
    single = dtype in ("float32", "complex64")
    for exponent, m in itertools.product((10, 20, 30, 37) if single else (100, 160, 300), (n, n + 3)):
        rows, columns = (rng.permutation(np.logspace(0, -exponent, k)) for k in (m, n))
        for scales in (rows[:, None], columns, rows[:, None] * columns):
            a = (
                rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if dtype.startswith("c") else 0)
            ) * scales
            a = a.astype(dtype)
            u, s, vh = (t.numpy().astype("c16") for t in la.svd(dl.asarray(a), full_matrices=False))
            q, r = (t.numpy().astype("c16") for t in la.qr(dl.asarray(a)))
            for x in (u, vh.conj().T, q):
                check_small(np.abs(x.conj().T @ x - np.eye(n)), 200 * EPS[dtype])
            check_small(np.abs((u * s) @ vh - a), 50 * EPS[dtype] * np.abs(a).max())
            check_small(np.abs(q @ r - a), 50 * EPS[dtype] * np.abs(a).max())


def test_svd_of_small_matrices_without_full_rank():
    rank_one = np.outer(np.arange(1.0, 6), np.arange(1.0, 5))
    for a in (np.zeros((4, 3)), rank_one, rank_one.T, np.ones((8, 8)), np.diag([3.0, 0, 0]), rank_one * 1e-300,
              rank_one * 1e300, np.diag([1.0, 1e-200, 0])):  # fmt: skip
        for full in (False, True):
            u, s, vh = (wide(t) for t in la.svd(a, full_matrices=full))
            k = min(a.shape)
            check_small(np.abs((u[:, :k] * s) @ vh[:k] - a), 50 * EPS["float64"] * np.abs(a).max())
            check_small(np.abs(u.T @ u - np.eye(u.shape[1])), 50 * EPS["float64"])
            check_small(np.abs(vh @ vh.T - np.eye(vh.shape[0])), 50 * EPS["float64"])
    assert la.matrix_rank(rank_one).item() == 1


def test_small_singular_values_are_accurate():
    scales = np.logspace(0, -12, 6)
    s = la.svdvals(np.linalg.qr(sample((6, 6)))[0] * scales).numpy()  # columns of very different norms
    check_small(np.abs(s / scales - 1), 1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("condition", [1e2, 1e4])
def test_pinv_has_the_four_properties(condition, dtype):
    for m, n in ((6, 6), (8, 3), (3, 8), (20, 12)):
        a = conditioned(max(m, n), condition, dtype)[:m, :n]
        p = la.pinv(a).numpy().astype(WIDE[dtype])
        a = wide(a)
        bound = 100 * EPS[dtype] * max(m, n) * size(p)
        for left, right in (
            (a @ p @ a, a),
            (p @ a @ p / size(p), p / size(p)),
            (adjoint(a @ p), a @ p),
            (adjoint(p @ a), p @ a),
        ):
            check_small(size(left - right), bound)


# -- norms, ranks, powers, diagonals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_are_as_in_numpy(dtype):
    x = sample((3, 4, 5), dtype)
    close = {"rtol": 20 * EPS[dtype], "atol": 0}
    for order in (2, 1, 0, 3, 2.5, -1, np.inf, -np.inf):
        for axis in (None, 0, -1):
            for keepdims in (False, True):
                made = la.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
                true = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
                assert (made.dtype, made.shape) == (x.real.dtype, true.shape)
                np.testing.assert_allclose(made.numpy(), true, **close)
        made = la.vector_norm(x, axis=(0, 2), ord=order)
        np.testing.assert_allclose(made.numpy(), np.linalg.vector_norm(x, axis=(0, 2), ord=order), **close)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for keepdims in (False, True):
            made = la.matrix_norm(x, ord=order, keepdims=keepdims)
            true = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
            assert (made.dtype, made.shape) == (x.real.dtype, true.shape)
            np.testing.assert_allclose(made.numpy(), true, rtol=100 * EPS[dtype])
            options = {"ord": order, "axis": (2, 0), "keepdims": keepdims}
            np.testing.assert_allclose(
                la.norm(x, **options).numpy(), np.linalg.norm(x, **options), rtol=100 * EPS[dtype]
            )
    np.testing.assert_allclose(la.norm(x).numpy(), np.linalg.norm(x), **close)


def test_the_norm_is_the_root_of_the_exact_sum():
    for x in (
        sample((1000,)),
        sample((1003,)) * 1e200,
        sample((77,)) * 1e-200,
        np.array([3e-324, 4e-324]),
        np.array([1e308, 1e308]),
    ):
        exact = sum(Fraction(float(v)) ** 2 for v in x)
        made = Fraction(la.vector_norm(x).item())
        # Within an ULP: the true root lies between the neighbours of the result.
        low, high = (Fraction(np.nextafter(float(made), edge)) for edge in (0, np.inf))
        assert low**2 <= exact <= high**2
    assert la.vector_norm(np.array([np.inf, 1.0])).item() == np.inf
    assert np.isnan(la.vector_norm(np.array([np.nan, 1.0])).item())
    assert np.isnan(la.matrix_norm(np.array([[np.nan, 1.0], [1, 1]]), ord=2).item())
    assert la.vector_norm(np.zeros(0)).item() == 0
    assert la.vector_norm(dl.asarray([3, 4], dtype="float16")).dtype == "float16"


def test_norms_do_not_depend_on_strides():
    x = dl.asarray(sample((40, 50)))
    assert la.vector_norm(x.T).item() == la.vector_norm(dl.asarray(np.ascontiguousarray(x.numpy().T))).item()
    assert la.vector_norm(x, axis=0).tolist() == la.vector_norm(x.T.copy(), axis=1).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 3, 7, 8, 9, 17, 63, 64, 65, 1023, 1024, 1025])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_norms_of_rows_and_columns_are_those_of_single_vectors(dtype, length, scale):
    rows = dl.asarray(sample((70, length)) * scale).astype(dtype)
    rows[3], rows[69] = 0, float("inf")
    want = [la.vector_norm(row.copy()).item() for row in rows]
    assert la.vector_norm(rows, axis=1).tolist() == want
    assert la.vector_norm(rows.T.copy(), axis=0).tolist() == want
    assert la.vector_norm(dl.repeat(rows, 2, axis=1)[:, ::2], axis=1).tolist() == want
    assert la.vector_norm(dl.flip(dl.flip(rows).copy()), axis=1).tolist() == want
    assert la.vector_norm(rows.T.copy()[:, :5], axis=0).tolist() == want[:5]


def test_powers():
    a = sample((3, 4, 4))
    for n in (-3, -1, 0, 1, 2, 5, 10):
        np.testing.assert_allclose(la.matrix_power(a, n).numpy(), np.linalg.matrix_power(a, n), rtol=1e-8)
    made = la.matrix_power(dl.asarray(a), 1)
    made[...] = 0
    assert a.any()


def test_ranks():
    a = np.stack([conditioned(6, 1e2), np.diag([1.0, 1, 1, 0, 0, 0]), np.zeros((6, 6))])
    assert la.matrix_rank(a).tolist() == [6, 3, 0]
    assert la.matrix_rank(a).dtype == "int64"
    assert la.matrix_rank(np.diag([1.0, 1e-3, 1e-6]), rtol=1e-4).item() == 2
    assert la.matrix_rank(a, rtol=dl.asarray([0.5, 0.1, 0.1])).tolist() == [1, 3, 0]
    assert la.matrix_rank(np.zeros((3, 0))).item() == 0


def test_diagonals_are_views():
    x = dl.reshape(dl.arange(24), (2, 3, 4))
    for offset in range(-5, 6):
        assert la.diagonal(x, offset=offset).tolist() == np.diagonal(x.numpy(), offset, 1, 2).tolist()
        assert la.trace(x, offset=offset).tolist() == np.trace(x.numpy(), offset, 1, 2).tolist()
    la.diagonal(x)[...] = -1
    assert x[1, 2, 2].item() == -1
    assert la.diagonal(x[:, ::-1, ::2], offset=-1).tolist() == np.diagonal(x.numpy()[:, ::-1, ::2], -1, 1, 2).tolist()
    assert la.diagonal(dl.asarray(np.broadcast_to(np.arange(3), (3, 3)))).readonly
    assert la.trace(dl.ones((3, 3), dtype="int8")).dtype == "int64"
    assert la.trace(dl.ones((3, 3)), dtype="float64").dtype == "float64"
    exact = np.diag([1e16, 1.0, -1e16])
    assert la.trace(exact).item() == 1.0


# -- shapes, dtypes, memory -------------------------------------------------------------------------------------------


def test_matrices_and_batches_of_no_element():
    for n, batch in ((0, ()), (0, (3,)), (3, (0,)), (20, (2, 0))):
        x = dl.zeros((*batch, n, n))
        assert la.inv(x).shape == la.cholesky(x).shape == x.shape
        assert la.det(x).tolist() == np.linalg.det(x.numpy()).tolist()
        assert [t.tolist() for t in la.slogdet(x)] == [t.tolist() for t in np.linalg.slogdet(x.numpy())]
        assert la.solve(x, dl.zeros((*batch, n, 2))).shape == (*batch, n, 2)
        assert la.solve(x, dl.zeros((n,))).shape == (*batch, n)
        for made in (la.eigh(x), la.eig(x)):
            assert [t.shape for t in made] == [(*batch, n), x.shape]
    for m, n in ((0, 3), (3, 0), (0, 0), (0, 12)):
        x = np.zeros((2, m, n))
        for mode in ("reduced", "complete"):
            made = la.qr(x, mode=mode)
            assert [t.shape for t in made] == [t.shape for t in np.linalg.qr(x, mode=mode)]
        for full in (False, True):
            made, true = la.svd(x, full_matrices=full), np.linalg.svd(x, full_matrices=full)
            assert [t.tolist() for t in made] == [t.tolist() for t in true]
        assert la.pinv(x).shape == (2, n, m)
        assert la.svdvals(x).shape == (2, 0)
        assert la.matrix_norm(x).tolist() == la.matrix_norm(x, ord="nuc").tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_computed_in_float32(dtype):
    for n in (3, 12):
        a = dl.asarray(sample((2, n, n)) / 4 + 2 * np.eye(n)).astype(dtype)
        wide_a = a.astype("float32")
        for name in ("inv", "det", "svdvals", "pinv"):
            made = getattr(la, name)(a)
            assert made.dtype == dtype
            assert made.tolist() == getattr(la, name)(wide_a).astype(dtype).tolist()
        for name in ("qr", "slogdet", "svd", "eigh"):
            for one, true in zip(getattr(la, name)(a), getattr(la, name)(wide_a), strict=True):
                assert one.dtype == dtype
                assert one.tolist() == true.astype(dtype).tolist()
        assert la.solve(a, a).dtype == dtype
        assert la.eigvals(a).dtype == "complex64"


def test_strided_and_broadcast_matrices():
    a = sample((6, 10, 10)) + 5 * np.eye(10)
    t = dl.asarray(a)
    for view, array in (
        (t[::2, ::-1, 1::2][:, :5], a[::2, ::-1, 1::2][:, :5]),
        (dl.permute_dims(t, (0, 2, 1)), a.swapaxes(1, 2)),
        (dl.broadcast_to(t[0], (3, 10, 10)), np.broadcast_to(a[0], (3, 10, 10))),
    ):
        assert la.inv(view).tolist() == la.inv(array.copy()).tolist()
        assert la.qr(view).R.tolist() == la.qr(array.copy()).R.tolist()
    assert np.array_equal(t.numpy(), a)  # nothing was written to


def test_solve_broadcasts_batches():
    a, b = sample((4, 1, 3, 3)), sample((5, 3, 2), seed=1)
    np.testing.assert_allclose(la.solve(a, b).numpy(), np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(la.solve(a, b[0, :, 0]).numpy(), np.linalg.solve(a, b[0, :, 0]), rtol=1e-9)
    mixed = la.solve(a.astype("float32"), b.astype("complex64"))
    assert (mixed.dtype, mixed.shape) == ("complex64", (4, 5, 3, 2))
    assert la.solve(a[0, 0].astype("float32"), b[0]).dtype == "float64"


def exact(x):
    """The elements as rational numbers, in which products and sums have no error."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(x, dtype="float64"))


def exact_size(x):
    return float((x * x).sum()) ** 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("condition", [1e2, 1e7, 1e12])
@pytest.mark.parametrize("n", [4, 8, 12, 20])
def test_errors_in_rational_arithmetic(n, condition, dtype, library):
    bound = 10 * EPS[dtype] * n
    matrix, right = conditioned(n, condition, dtype), sample((n, 2), dtype)
    a, one = exact(matrix), exact(np.eye(n))
    x = exact(la.solve(matrix, right))
    check_small(exact_size(a @ x - exact(right)) / (exact_size(a) * exact_size(x)), bound)
    q, r = map(exact, la.qr(matrix))
    check_small(exact_size(q.T @ q - one), bound)
    check_small(exact_size(q @ r - a) / exact_size(a), bound)
    u, s, vh = map(exact, la.svd(matrix))
    check_small(max(exact_size(u.T @ u - one), exact_size(vh @ vh.T - one)), bound)
    check_small(exact_size((u * s) @ vh - a) / exact_size(a), bound)
    symmetric = conditioned(n, condition, dtype, positive=True)
    symmetric = np.tril(symmetric) + np.tril(symmetric, -1).T
    values, vectors = map(exact, la.eigh(symmetric))
    check_small(exact_size(vectors.T @ vectors - one), bound)
    check_small(exact_size((vectors * values) @ vectors.T - exact(symmetric)) / exact_size(exact(symmetric)), bound)
    positive = (symmetric + np.eye(n) * 0.1).astype(dtype)
    lower = exact(la.cholesky(positive))
    check_small(exact_size(lower @ lower.T - exact(positive)) / exact_size(exact(positive)), bound)


def test_out_is_written_and_returned():
    a = dl.asarray(sample((3, 3)) + 3 * np.eye(3))
    for name in ("inv", "det", "cholesky", "svdvals"):
        given = a if name != "cholesky" else dl.matmul(a, a.T)
        true = getattr(la, name)(given)
        out = dl.zeros(true.shape, dtype="float64")
        assert getattr(la, name)(given, out=out) is out
        assert out.tolist() == true.tolist()
    true = la.inv(a).tolist()
    assert la.inv(a, out=a) is a
    assert a.tolist() == true
    array = np.zeros((3, 3))
    assert la.solve(a, a, out=array) is array
    np.testing.assert_allclose(array, np.eye(3), atol=1e-12)


TWO = np.array([[2.0, 1.0], [0.0, 4.0]])
WITH_OUT = [
    ("cholesky", (TWO @ TWO.T,), {}),
    ("cond", (TWO,), {}),
    ("cond", (TWO,), {"p": 1}),
    ("cross", (np.arange(3.0), np.ones(3)), {}),
    ("det", (TWO,), {}),
    ("eigvals", (TWO,), {}),
    ("eigvalsh", (TWO,), {}),
    ("inv", (TWO,), {}),
    ("matmul", (TWO, TWO), {}),
    ("matrix_norm", (TWO,), {}),
    ("matrix_norm", (TWO,), {"ord": "nuc", "keepdims": True}),
    ("matrix_power", (TWO, 3), {}),
    ("matrix_rank", (TWO,), {}),
    ("multi_dot", ([TWO, TWO, TWO],), {}),
    ("norm", (TWO,), {}),
    ("norm", (TWO,), {"axis": 0}),
    ("norm", (TWO,), {"ord": 1, "axis": 1, "keepdims": True}),
    ("norm", (TWO,), {"ord": 1}),
    ("outer", (np.arange(2.0), np.ones(3)), {}),
    ("pinv", (TWO[:, :1],), {}),
    ("solve", (TWO, np.ones(2)), {}),
    ("svdvals", (TWO,), {}),
    ("tensordot", (TWO, TWO), {"axes": 1}),
    ("trace", (TWO,), {}),
    ("vecdot", (TWO, TWO), {}),
    ("vector_norm", (TWO,), {}),
    ("vector_norm", (TWO,), {"axis": 0, "ord": 3}),
]


@pytest.mark.parametrize(("name", "operands", "options"), WITH_OUT)
def test_every_function_with_one_result_writes_to_out(name, operands, options):
    function = getattr(la, name)
    true = function(*operands, **options)
    out = dl.zeros(true.shape, dtype=true.dtype)
    assert function(*operands, **options, out=out) is out
    assert out.tolist() == true.tolist()
    if name != "matmul":  # it writes its products to `out` directly, and converts nothing
        wide = dl.zeros(true.shape, dtype="complex128")
        assert function(*operands, **options, out=wide) is wide
        assert wide.tolist() == true.astype("complex128").tolist()
    shaped = dl.ones((*true.shape, 7), dtype=true.dtype)
    with pytest.raises(ValueError, match=f"^{name}: "):
        function(*operands, **options, out=shaped)
    with pytest.raises(ValueError, match=f"^{name}: .*read-only"):
        function(*operands, **options, out=readonly(true.shape, true.dtype.name))
    with pytest.raises(TypeError, match=f"^{name}: "):
        function(*operands, **options, out=dl.zeros(true.shape, dtype="bool"))
    assert shaped.tolist() == dl.ones(shaped.shape, dtype=true.dtype).tolist()


def test_no_function_with_one_result_is_without_out():
    several = {"eig", "eigh", "lstsq", "qr", "slogdet", "svd"}
    views = {"diagonal", "matrix_transpose"}
    functions = {name for name in la.__all__ if name[0].islower()} - several - views - {"backend"}
    assert functions == {name for name, _, _ in WITH_OUT}


def test_out_may_overlap_the_operand():
    a = dl.asarray(TWO.copy())
    true = la.matrix_power(a, 2).tolist()
    assert la.matrix_power(a, 2, out=a) is a
    assert a.tolist() == true
    row = dl.asarray(TWO.copy())
    true = la.vector_norm(row, axis=0).tolist()
    assert la.vector_norm(row, axis=0, out=row[0]).tolist() == true


# -- faults -----------------------------------------------------------------------------------------------------------

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
STACK = np.stack([np.eye(2), SINGULAR, np.eye(2), SINGULAR]).reshape(2, 2, 2, 2)
LARGE = np.stack([np.eye(12), np.ones((12, 12))])
NAN = np.array([[[1.0, 0], [0, 1]], [[np.nan, 0], [0, 1]]])


METAL = "nothing here computes on metal:0; move the tensor with its own framework, or to a CUDA device or the CPU"


def on_metal():
    return dl.wrap(4096, (3, 3), "float32", device="metal", owner=object())


def readonly(shape, dtype="float64"):
    return dl.asarray(np.broadcast_to(np.zeros(shape, dtype), shape))


TAKEN = (
    "it takes bool, integers, float16, bfloat16, float32, float64, complex64 and complex128, so convert x with astype()"
)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: la.inv(SINGULAR), dl.LinAlgError, "inv: the matrix is singular"),
        (lambda: la.inv(STACK), dl.LinAlgError, "inv: the matrix at [0, 1] is singular"),
        (lambda: la.inv(LARGE), dl.LinAlgError, "inv: the matrix at [1] is singular"),
        (lambda: la.inv(np.zeros((1, 1))), dl.LinAlgError, "inv: the matrix is singular"),
        (lambda: la.solve(STACK, np.ones(2)), dl.LinAlgError, "solve: the matrix at [0, 1] is singular"),
        (lambda: la.solve(LARGE, np.ones(12)), dl.LinAlgError, "solve: the matrix at [1] is singular"),
        (lambda: la.matrix_power(STACK, -2), dl.LinAlgError, "matrix_power: the matrix at [0, 1] is singular"),
        (lambda: la.cholesky(-np.eye(3)), dl.LinAlgError, "cholesky: the matrix is not positive definite"),
        (lambda: la.cholesky(STACK), dl.LinAlgError, "cholesky: the matrix at [0, 1] is not positive definite"),
        (lambda: la.cholesky(LARGE * 2 - np.eye(12)), dl.LinAlgError,
         "cholesky: the matrix at [1] is not positive definite"),
        (lambda: la.cholesky(np.full((40, 40), np.nan)), dl.LinAlgError,
         "cholesky: the matrix is not positive definite"),
        (lambda: la.eigh(NAN), dl.LinAlgError, "eigh: the matrix at [1] has NaN or infinite elements"),
        (lambda: la.svdvals(NAN / 0), dl.LinAlgError, "svdvals: the matrix at [0] has NaN or infinite elements"),
        (lambda: la.eig(NAN), dl.LinAlgError, "eig: the matrix at [1] has NaN or infinite elements"),
        (lambda: la.det(dl.ones((2, 3))), ValueError, "det: expected square matrices, got shape (2, 3)"),
        (lambda: la.qr(dl.ones(3)), ValueError, "qr: expected a matrix or a batch of matrices, got shape (3,)"),
        (lambda: la.qr(dl.ones((3, 3)), mode="raw"), ValueError, "qr: mode must be reduced or complete, got 'raw'"),
        (lambda: la.solve(dl.ones((2, 2)), dl.ones(3)), ValueError,
         "solve: x1 has shape (2, 2), x2 has shape (3,); expected x2 of 2 rows"),
        (lambda: la.solve(dl.ones((3, 2, 2)), dl.ones((4, 2, 1))), ValueError,
         "solve: the batches of x1, shape (3, 2, 2), and of x2, shape (4, 2, 1), do not broadcast"),
        (lambda: la.inv(dl.ones((2, 2), dtype="int4")), TypeError, "inv: not defined for int4; " + TAKEN),
        (lambda: la.inv(on_metal()), dl.DeviceError, f"inv: {METAL}"),
        (lambda: la.eig(on_metal()), dl.DeviceError,
         'eig: computed on the host only, but x is on metal:0; pass x.to("cpu")'),
        (lambda: la.vector_norm(on_metal()), dl.DeviceError, f"vector_norm: {METAL}"),
        (lambda: la.trace(on_metal()), dl.DeviceError, f"trace: {METAL}"),
        (lambda: la.inv(np.eye(2), out=readonly((2, 2))), ValueError, "inv: out is read-only; write to a copy()"),
        (lambda: la.pinv(NAN), dl.LinAlgError, "pinv: the matrix at [1] has NaN or infinite elements"),
        (lambda: la.matrix_rank(NAN), dl.LinAlgError, "matrix_rank: the matrix at [1] has NaN or infinite elements"),
        (lambda: la.cholesky(np.array([[np.inf]])), dl.LinAlgError,
         "cholesky: the matrix is not positive definite"),
        (lambda: la.pinv(np.eye(2), out=readonly((2, 2))), ValueError,
         "pinv: out is read-only; write to a copy()"),
        (lambda: la.inv(np.eye(2), out=dl.zeros((3, 3))), ValueError,
         "inv: the result has shape (2, 2), out has shape (3, 3); give an out of that shape"),
        (lambda: la.inv(np.eye(2), out=dl.zeros((2, 2), dtype="int64")), TypeError,
         "inv: the result is float64, out is int64; give an out of that dtype, or convert the result with astype()"),
        (lambda: la.matrix_norm(np.eye(2), ord=3), ValueError,
         "matrix_norm: ord must be one of fro, nuc, 1, -1, 2, -2, inf, -inf, got 3"),
        (lambda: la.vector_norm(np.eye(2), ord="fro"), TypeError, "vector_norm: ord must be a number, got 'fro'"),
        (lambda: la.vector_norm(np.eye(2), axis=2), IndexError,
         "vector_norm: axis 2 is out of range for 2 dimensions; expected -2 to 1"),
        (lambda: la.norm(np.ones((2, 2, 2)), 1), ValueError,
         "norm: ord 1 is of vectors or matrices, got 3 dimensions of shape (2, 2, 2)"),
        (lambda: la.matrix_power(np.eye(2), 1.5), TypeError, "matrix_power: n must be an integer, got 1.5"),
        (lambda: la.diagonal(np.eye(2), offset=0.5), TypeError, "diagonal: offset must be an integer, got 0.5"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with np.errstate(all="ignore"), pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_the_error_is_a_value_error_of_the_package():
    assert issubclass(dl.LinAlgError, ValueError)
    assert dl.LinAlgError.__module__ == "dltensor"


def test_after_an_error_out_is_as_before():
    out = dl.ones((2, 2, 2, 2), dtype="float64")
    with pytest.raises(dl.LinAlgError):
        la.inv(STACK, out=out)
    assert out.tolist() == np.ones((2, 2, 2, 2)).tolist()


def test_a_matrix_with_nan_gives_nan_and_leaves_others():
    for n in (2, 20):
        a = np.stack([np.eye(n) * 2, np.eye(n)])
        a[1, 0, 0] = np.nan
        made = la.inv(a).numpy()
        assert made[0].tolist() == (np.eye(n) / 2).tolist()
        assert np.isnan(made[1]).any()
        zeros = np.zeros((n, n))
        zeros[0, 1] = np.nan
        assert np.isnan(la.solve(zeros, np.ones(n)).numpy()).all()


WITHOUT = "import sys; sys.modules.update(dict.fromkeys({!r})); import dltensor as dl\n"
TELL = """
try:
    print(dl.linalg.svdvals(dl.eye(9)).tolist()[0], dl.linalg.backend())
except (ImportError, ValueError) as error:
    print(type(error).__name__, error)
"""


def test_without_a_library_the_error_names_the_extra():
    without = """
import importlib.util, dltensor as dl
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("numpy", "scipy_openblas32") else found(name, *rest)
"""
    said = output_of(without + TELL)
    assert said == (
        "ImportError svdvals: neither scipy-openblas32 nor NumPy is installed; install the extra: "
        "pip install 'dltensor[linalg]' brings scipy-openblas32"
    )
    code = without + "print(dl.linalg.svdvals(dl.eye(8)).tolist()[0], dl.linalg.inv(dl.eye(20)).tolist()[0][0])"
    assert output_of(code) == "1.0 1.0"  # which need none


def test_the_environment_selects_a_library():
    assert output_of("import dltensor as dl" + TELL, DLTENSOR_LAPACK="numpy") == "1.0 numpy"
    said = output_of("import dltensor as dl" + TELL, DLTENSOR_LAPACK="mkl")
    assert said == "ValueError svdvals: DLTENSOR_LAPACK must be one of scipy-openblas32, numpy, got 'mkl'"
    without = "import importlib.util, dltensor as dl; importlib.util.find_spec = lambda name, *rest: None\n"
    said = output_of(without + TELL, DLTENSOR_LAPACK="scipy-openblas32")
    assert said == (
        "ImportError svdvals: DLTENSOR_LAPACK selects scipy-openblas32, which is not installed; install the extra: "
        "pip install 'dltensor[linalg]' brings scipy-openblas32"
    )


# -- the same bits ----------------------------------------------------------------------------------------------------

DIGEST = """
import hashlib, sys, dltensor as dl
la, made = dl.linalg, hashlib.sha256()
def take(*results):
    for t in results:
        made.update(t.tobytes())
random = dl.random.Generator(5)
for dtype in ("float32", "float64"):
    for n in range(1, 9):
        for count in (1, 5, 70, 2000 if n == 4 else 9):
            real = random.uniform(-1, 1, shape=(count, n, n), dtype=dtype)
            other = random.uniform(-1, 1, shape=(count, n, n), dtype=dtype)
            complex_ = dl.zeros((count, n, n), dtype="complex64" if dtype == "float32" else "complex128")
            parts = complex_.view(dtype)
            parts[..., 0::2], parts[..., 1::2] = real, other
            real[0, 0] = 0.0 if count > 1 and n > 1 else real[0, 0]
            for x in (real, complex_):
                usable = x[1:] if count > 1 else x
                right = usable[..., : max(1, n // 2)].copy()
                take(la.inv(usable), la.solve(usable, right), la.det(x), *la.slogdet(x), *la.qr(x))
                take(*la.eigh(x), *la.svd(x))
                take(*la.svd(x[:, : n // 2 + 1].copy()), la.vector_norm(x), la.vector_norm(x, axis=0))
                take(la.cholesky(dl.add(dl.multiply(x, 0.05), dl.eye(n, dtype=x.dtype))))
print(made.hexdigest())
"""


def test_every_instruction_set_and_thread_count_gives_the_same_bits_of_small_matrices():
    levels = dl.cpu_features()["supported"]
    made = {level: output_of(DIGEST, DLTENSOR_CPU=level) for level in levels}
    made["threads"] = output_of(DIGEST, DLTENSOR_NUM_THREADS="1")
    made["more"] = output_of(DIGEST, DLTENSOR_NUM_THREADS="3")
    assert len(set(made.values())) == 1, made


def test_larger_matrices_have_the_same_bits_with_any_number_of_threads():
    a, wide = sample((300, 300)), sample((1100, 1100))
    before, made = dl.num_threads(), []
    try:
        for threads in (1, 2, 3):
            dl.set_num_threads(threads)
            made.append([la.inv(a).tobytes(), la.solve(a, a[:, :3]).tobytes(), la.qr(a).Q.tobytes(),
                         la.cholesky(a @ a.T).tobytes(), la.det(a).item(), la.solve(wide, wide[0]).tobytes(),
                         la.solve(a, sample((300, 170))).tobytes()])  # fmt: skip
    finally:
        dl.set_num_threads(before)
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [96, 97, 200, 301])
def test_threads_take_blocks_of_columns_in_any_order(dtype, n):
    a = sample((n, n), dtype)  # rows are swapped in every block
    many, one, before, made = sample((n, 130), dtype), sample((n,), dtype), dl.num_threads(), set()
    try:
        for threads in (1, 2, 3, 8):
            dl.set_num_threads(threads)
            for _ in range(5):
                answer = la.slogdet(a)
                made.add(b"".join(t.tobytes() for t in (la.inv(a), la.solve(a, many), la.solve(a, one), *answer)))
        assert len(made) == 1
        eps = np.finfo(dtype).eps
        x, inverse = la.solve(a, many).numpy(), la.inv(a).numpy()
        size = np.abs(a).sum(axis=1).max()
        assert np.abs(a @ x - many).max() <= 10 * eps * n * size * np.abs(x).max()
        assert np.abs(a @ inverse - np.eye(n)).max() <= 10 * eps * n * size * np.abs(inverse).max()
        b = a.copy()
        b[:, n // 2] = 0
        for function in (la.inv, lambda m: la.solve(m, one)):
            with pytest.raises(dl.LinAlgError):
                function(b)
        assert la.det(b).item() == 0
    finally:
        dl.set_num_threads(before)


def test_a_matrix_has_the_same_bits_alone_and_in_a_batch():
    for dtype in DTYPES:
        a = sample((40, 4, 4), dtype)
        a[3], a[7, 1] = 0, 0
        for name in ("eigh", "svd", "qr"):
            together = getattr(la, name)(a)
            for i in (0, 3, 7, 39):
                alone = getattr(la, name)(a[i])
                assert [t[i].tobytes() for t in together] == [t.tobytes() for t in alone]


# -- peers ------------------------------------------------------------------------------------------------------------


def test_functions_of_numpy_linalg_take_tensors():
    a = sample((3, 4, 4)) + 4 * np.eye(4)
    t = dl.asarray(a)
    for name in ("inv", "det", "pinv", "matrix_norm"):
        made = getattr(np.linalg, name)(t)
        assert type(made) is dl.Tensor
        np.testing.assert_allclose(made.numpy(), getattr(np.linalg, name)(a), rtol=1e-10)
    assert type(np.linalg.svd(t)).__name__ == "SVDResult"
    assert type(np.linalg.svd(t, compute_uv=False)) is dl.Tensor
    assert np.linalg.norm(t, axis=(1, 2)).tolist() == la.matrix_norm(t).tolist()
    np.testing.assert_allclose(np.linalg.solve(t, t).numpy()[0], np.eye(4), atol=1e-12)
    assert np.linalg.inv(dl.asarray([[1, 0], [0, 1]])).dtype == dl.float64  # integers, which NumPy converts
    assert type(np.linalg.eigh(t, UPLO="U")[0]) is dl.Tensor  # by NumPy
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        np.linalg.inv(dl.zeros((2, 2)))


@pytest.mark.peers
def test_results_are_those_of_torch():
    torch = pytest.importorskip("torch")
    for n in (4, 8, 30):
        a = sample((5, n, n)) + n * np.eye(n)
        t = torch.from_numpy(a)
        for name in ("inv", "det", "svdvals", "pinv", "matrix_norm"):
            np.testing.assert_allclose(getattr(la, name)(t).numpy(), getattr(torch.linalg, name)(t).numpy(), rtol=1e-9)
        np.testing.assert_allclose(
            la.solve(t, t[..., :2]).numpy(), torch.linalg.solve(t, t[..., :2]).numpy(), atol=1e-12
        )
        np.testing.assert_allclose(la.qr(t).R.numpy(), torch.linalg.qr(t).R.numpy(), rtol=1e-9, atol=1e-11)
        spd = t @ t.mT
        np.testing.assert_allclose(la.cholesky(spd).numpy(), torch.linalg.cholesky(spd).numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.peers
def test_results_are_those_of_scipy():
    linalg = pytest.importorskip("scipy.linalg")
    for n in (4, 30):
        a = sample((n, n)) + n * np.eye(n)
        np.testing.assert_allclose(la.inv(a).numpy(), linalg.inv(a), rtol=1e-9)
        np.testing.assert_allclose(la.eigvalsh(a + a.T).numpy(), linalg.eigvalsh(a + a.T), rtol=1e-12)
        np.testing.assert_allclose(la.svdvals(a).numpy(), linalg.svdvals(a), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e8m0fnu", "float4_e2m1fn", "int4"])
@pytest.mark.parametrize("name", ["vector_norm", "matrix_norm", "norm", "inv", "svdvals", "eigvals", "matrix_rank"])
def test_dtypes_without_arithmetic_of_floats_are_refused(name, dtype):
    with pytest.raises(TypeError, match=f"not defined for {dtype}; it takes bool"):
        getattr(la, name)(dl.zeros((2, 2), dtype=dtype))


# -- integers ---------------------------------------------------------------------------------------------------------

INTEGERS = [[3, 1], [1, 2]]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64"])
@pytest.mark.parametrize(
    "name",
    ["vector_norm", "matrix_norm", "norm", "det", "inv", "svdvals", "eigvals", "eigvalsh", "pinv", "cholesky", "cond"],
)
def test_integers_are_computed_in_the_default_dtype(name, dtype):
    x = dl.asarray(INTEGERS).astype(dtype) if dtype != "bool" else dl.eye(2, dtype="bool")
    for default in ("float32", "float64"):
        with dl.default_dtype(default):
            result, expected = (getattr(la, name)(x), getattr(la, name)(x.astype(default)))
        assert result.dtype == expected.dtype
        assert result.tolist() == expected.tolist()


def test_integers_beside_floats_have_the_dtype_of_the_floats():
    big = 2**40 + 1
    for solve in (la.solve, lambda a, b: la.lstsq(a, b).solution):
        assert solve(INTEGERS, [9, 8]).dtype == dl.float32
        np.testing.assert_allclose(solve(INTEGERS, [9, 8]).numpy(), [2, 3], rtol=1e-6)
        result = solve(dl.asarray([[big, 0], [0, 1]]), dl.asarray([float(big), 2.0], dtype="float64"))
        assert result.dtype == dl.float64
        np.testing.assert_allclose(result.numpy(), [1, 2], rtol=1e-15)
        assert solve(np.eye(2), [1, 2]).dtype == dl.float64


def test_powers_of_integers_are_exact():
    fibonacci = dl.asarray([[1, 1], [1, 0]])
    assert la.matrix_power(fibonacci, 80).tolist() == np.linalg.matrix_power([[1, 1], [1, 0]], 80).tolist()
    assert la.matrix_power(fibonacci, 0).tolist() == [[1, 0], [0, 1]]
    assert la.matrix_power(fibonacci.astype("uint8"), 20).tolist() == (
        np.linalg.matrix_power(np.array([[1, 1], [1, 0]], "u1"), 20).tolist()
    )
    assert la.matrix_power(fibonacci, -1).tolist() == [[0, 1], [1, -1]]


# -- NumPy's functions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("a", "b"),
    [((5, 3), (5,)), ((5, 3), (5, 2)), ((3, 5), (3, 2)), ((4, 4), (4, 1)), ((12, 10), (12,)),
     ((0, 3), (0, 2)), ((3, 0), (3, 2)), ((3, 2), (3, 0))],
)  # fmt: skip
def test_least_squares_are_as_in_numpy(a, b, dtype):
    a, b = sample(a, dtype), sample(b, dtype, 1)
    ours, theirs = la.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == np.shape(other)
        np.testing.assert_allclose(mine, other, rtol=1e4 * EPS[dtype], atol=100 * EPS[dtype])
    assert (ours.solution.dtype, ours.rank.dtype) == (dtype, "int64")
    assert ours.residuals.dtype == ours.singular_values.dtype == theirs[3].dtype.name


def test_least_squares_of_matrices_without_full_rank_have_the_smallest_norm():
    a = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    found = la.lstsq(a, [2.0, 4.0, 6.0])
    np.testing.assert_allclose(found.solution, [1.0, 1.0])
    assert (found.rank.item(), found.residuals.shape) == (1, (0,))
    almost = np.diag([1.0, 1e-3])
    assert [la.lstsq(almost, [1.0, 1.0], rcond=r).rank.item() for r in (None, -1, 1e-2)] == [2, 2, 1]


def test_least_squares_of_batches():
    a, b = sample((2, 6, 5, 3)), sample((2, 6, 5))
    found = la.lstsq(a, b)
    assert [x.shape for x in found] == [(2, 6, 3), (2, 6, 1), (2, 6), (2, 6, 3)]
    np.testing.assert_allclose(found.solution[1, 4], np.linalg.lstsq(a[1, 4], b[1, 4], rcond=None)[0])
    one = la.lstsq(a, b[0, 0])
    np.testing.assert_allclose(one.solution[1, 4], np.linalg.lstsq(a[1, 4], b[0, 0], rcond=None)[0])


def test_least_squares_of_16_bits_are_computed_in_float32():
    found = la.lstsq(dl.ones((3, 1), dtype="bfloat16"), dl.ones(3, dtype="float16"))
    assert (found.solution.dtype, found.residuals.dtype) == ("float32", "float32")
    assert la.lstsq(dl.ones((3, 1), dtype="float16"), dl.ones(3, dtype="float16")).solution.dtype == "float16"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_condition_numbers_are_as_in_numpy(p, dtype):
    x = sample((3, 4, 4), dtype)
    np.testing.assert_allclose(la.cond(x, p), np.linalg.cond(x, p), rtol=1e3 * EPS[dtype])
    assert la.cond(x, p).dtype == np.linalg.cond(x, p).dtype.name


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, np.inf, -np.inf])
def test_condition_numbers_of_singular_matrices_are_infinite_and_those_with_nan_are_nan(p):
    x = np.stack([np.zeros((2, 2)), np.eye(2), np.full((2, 2), np.nan), np.diag([1.0, np.inf])])
    found = la.cond(x, p).tolist()
    assert found[1] == pytest.approx(np.linalg.cond(np.eye(2), p))
    assert [found[0], found[3]] == [np.inf, np.inf]
    assert np.isnan(found[2])


def test_condition_numbers_of_matrices_that_are_not_square():
    x = sample((5, 3))
    np.testing.assert_allclose(la.cond(x), np.linalg.cond(x))
    np.testing.assert_allclose(la.cond(x, -2), np.linalg.cond(x, -2))


@pytest.mark.parametrize("ends", [(3, 5), (None, 5), (3, None), (None, None)])
def test_chains_of_matrices_are_as_in_numpy(ends):
    first, last = ends
    chain = [sample((4,) if first is None else (3, 4)), sample((4, 7)), sample((7, 2)), sample((2, 9)),
             sample((9,) if last is None else (9, 5))]  # fmt: skip
    found = la.multi_dot(chain)
    assert found.shape == np.linalg.multi_dot(chain).shape
    np.testing.assert_allclose(found, np.linalg.multi_dot(chain))
    assert la.multi_dot(chain[3:]).shape == np.linalg.multi_dot(chain[3:]).shape


def test_chains_are_multiplied_in_the_cheapest_order():
    best = dl.linalg._functions._best_order([30, 35, 15, 5, 10, 20, 25])  # of Cormen and others, chapter 15
    assert (best[0, 5], best[0, 2], best[3, 5]) == (2, 0, 4)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: la.lstsq(np.ones(3), np.ones(3)), ValueError, "lstsq: expected a matrix"),
        (lambda: la.lstsq(np.ones((3, 2)), np.ones(4)), ValueError, r"lstsq: .* number of rows, .* \(3, 2\)"),
        (lambda: la.lstsq(dl.ones((3, 2), dtype="int4"), np.ones(3)), TypeError, "lstsq: not defined for int4"),
        (lambda: la.lstsq(np.full((3, 2), np.nan), np.ones(3)), dl.LinAlgError, "NaN or infinite"),
        (lambda: la.cond(np.ones((2, 3)), 1), ValueError, "cond: expected square matrices"),
        (lambda: la.cond(np.ones((2, 2)), 3), ValueError, "cond: p must be None, fro, .* got 3"),
        (lambda: la.cond(np.ones((0, 0))), dl.LinAlgError, "cond: not defined for matrices without elements"),
        (lambda: la.multi_dot([np.ones((2, 2))]), ValueError, "multi_dot: expected at least two arrays, got 1"),
        (lambda: la.multi_dot([np.ones((2, 3)), np.ones((2, 3))]), ValueError, r"arrays\[1\] has .* after \(2, 3\)"),
        (lambda: la.multi_dot([np.ones((2, 2)), np.ones(2), np.ones((2, 2))]), ValueError, r"multi_dot: arrays\[1\]"),
    ],
)  # fmt: skip
def test_errors_of_numpys_functions(call, error, text):
    with pytest.raises(error, match=text):
        call()
