# SPDX-License-Identifier: Apache-2.0
"""matmul of whole tensors: dtypes, layouts, stacks, vectors and `out`, all exact, as the numbers are small integers."""

import itertools

import numpy as np
import pytest
from children import output_of

import dltensor as dl

DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
SHAPES = (
    *(((1, 1), (1, 1)), ((2, 3), (3, 4)), ((5, 16), (16, 16)), ((17, 33), (33, 65))),
    *(((3, 0), (0, 2)), ((0, 3), (3, 2))),
    *(((3,), (3,)), ((3,), (3, 4)), ((4, 3), (3,)), ((0,), (0,))),
    *(((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)), ((4,), (3, 4, 2))),
    *(((0, 3, 4), (4, 5)), ((2, 20, 20), (2, 20, 20))),
)
# Beside the bounds within which one call of the kernel is all: rows, depth, columns.
BOUNDS = ((128, 3, 5), (129, 3, 5), (3, 256, 5), (3, 257, 5), (3, 5, 128), (3, 5, 129), (9, 160, 65), (64, 64, 64))
# The same for sums of parts of the depth, and for a right operand that is one panel.
BOUNDS += ((3, 2047, 5), (3, 2048, 5), (129, 2048, 5), (128, 2049, 64), (2, 20000, 64), (5, 2500, 128), (5, 2500, 129))


def numbers(shape, dtype="int32", seed=0):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


def tensor(array, dtype):
    return dl.asarray(array).astype(dtype)


def test_every_dtype_and_shape():
    for dtype, (left, right) in itertools.product(DTYPES, SHAPES):
        a, b = numbers(left), numbers(right, seed=1)
        want = tensor(np.matmul(a, b), dtype)
        got = dl.matmul(tensor(a, dtype), tensor(b, dtype))
        assert (got.shape, got.dtype) == (want.shape, want.dtype), (dtype, left, right)
        assert got.tolist() == want.tolist(), (dtype, left, right)
        out = dl.full(want.shape, 9, dtype=dtype)
        assert dl.matmul(tensor(a, dtype), tensor(b, dtype), out=out) is out
        assert out.tolist() == want.tolist(), (dtype, left, right)


@pytest.mark.parametrize(("rows", "depth", "columns"), BOUNDS)
def test_sizes_at_which_another_way_begins(rows, depth, columns):
    a, b = numbers((rows, depth)), numbers((depth, columns), seed=1)
    for dtype in ("uint8", "int64", "float32", "float64"):
        want = tensor((a @ b).astype(dtype), dtype)
        assert (tensor(a, dtype) @ tensor(b, dtype)).tolist() == want.tolist()


# How a matrix may lie: a function that makes a view of equal numbers.
LAYOUTS = {
    "in rows": lambda t: t,
    "in columns": lambda t: t.T.copy().T,
    "padded rows": lambda t: dl.concat([t, t], axis=1)[:, : t.shape[1]],
    "every second": lambda t: dl.repeat(dl.repeat(t, 2, axis=0), 2, axis=1)[::2, ::2],
    "upside down": lambda t: dl.flip(dl.flip(t).copy()),
    "rows backwards": lambda t: dl.flip(dl.flip(t, axis=0).copy(), axis=0),
}


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_operands_and_outputs_lie_as_they_like(left, right, target):
    for shape in ((4, 5, 6), (13, 17, 40)):
        a, b = numbers(shape[:2]), numbers(shape[1:], seed=1)
        want = (a @ b).tolist()
        x, y = (LAYOUTS[how](tensor(array, "float32")) for how, array in ((left, a), (right, b)))
        assert (x @ y).tolist() == want
        out = LAYOUTS[target](dl.zeros((shape[0], shape[2])))
        assert dl.matmul(x, y, out=out) is out
        assert out.tolist() == want


# The same for stacks of matrices.
STACKS = (
    lambda t: t.mT.copy().mT,
    lambda t: dl.repeat(t, 2, axis=-1)[..., ::2],
    lambda t: dl.flip(dl.flip(t).copy()),
    lambda t: dl.flip(dl.flip(t, axis=1).copy(), axis=1),
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 3, 3), (4, 4, 4), (5, 9, 7), (17, 50, 1), (1, 50, 33), (64, 50, 40)])
def test_stacks_of_small_products_have_the_same_bits_in_every_layout(shape, dtype):
    rows, depth, columns = shape
    rng = np.random.default_rng(7)
    a, b = (dl.asarray(rng.standard_normal((3, *s)) * 50).astype(dtype) for s in ((rows, depth), (depth, columns)))
    want = (a @ b).tolist()
    for left, right in itertools.product(STACKS, repeat=2):
        assert (a @ right(b)).tolist() == (left(a) @ b).tolist() == (left(a) @ right(b)).tolist() == want


def test_one_row_for_all():
    a = dl.broadcast_to(dl.asarray([1.0, 2.0, 3.0]), (4, 3))
    assert (a @ dl.ones((3, 2))).tolist() == [[6.0, 6.0]] * 4
    assert (dl.ones((2, 4)) @ a).tolist() == [[4.0, 8.0, 12.0]] * 2


FEW = [(64, 4096, 64), (128, 2048, 64), (300, 700, 32), (37, 3001, 33), (1, 30000, 40)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("shape", [(256, 300, 256), (130, 1100, 512), (400, 64, 500), (70, 700, 1024), *FEW])
def test_threads_take_rows_or_columns_with_the_same_bits(shape, dtype):
    rows, depth, columns = shape
    rng = np.random.default_rng(3)
    a, b = (dl.asarray(rng.standard_normal(s) * 90).astype(dtype) for s in ((rows, depth), (depth, columns)))
    before = dl.num_threads()
    try:
        dl.set_num_threads(1)
        want = bytes(memoryview(dl.matmul(a, b)).cast("B"))
        for threads in (2, 3, 4):
            dl.set_num_threads(threads)
            for _ in range(6):  # first they are woken, then they are awake
                assert bytes(memoryview(dl.matmul(a, b)).cast("B")) == want
    finally:
        dl.set_num_threads(before)


def test_parts_of_the_depth_are_summed_in_every_layout():
    a, b = numbers((21, 2700)), numbers((2700, 30), seed=1)
    for dtype, left, right in itertools.product(("float32", "bfloat16", "complex64"), LAYOUTS, LAYOUTS):
        x, y = LAYOUTS[left](tensor(a, dtype)), LAYOUTS[right](tensor(b, dtype))
        assert (x @ y).tolist() == tensor(a @ b, dtype).tolist()
    out = dl.ones((21, 30))
    dl.gemm(tensor(a, "float32"), tensor(b, "float32"), out, alpha=2, beta=3)
    assert out.tolist() == (2 * (a @ b) + 3).tolist()
    stack = dl.matmul(dl.stack([tensor(a, "float64")] * 9), tensor(b, "float64"))
    assert stack.tolist() == [(a @ b).tolist()] * 9


@pytest.mark.parametrize("n", [3, 40])
def test_the_output_may_overlap_the_operands(n):
    a, b = numbers((n, n)), numbers((n, n), seed=1)
    for spoiled in ("a", "b"):
        x, y = tensor(a, "float64"), tensor(b, "float64")
        dl.matmul(x, y, out=x if spoiled == "a" else y)
        assert (x if spoiled == "a" else y).tolist() == (a @ b).tolist()
    memory = dl.zeros(n * n + 1, dtype="float64")
    x, out = memory[:-1].reshape((n, n)), memory[1:].reshape((n, n))
    x[...] = tensor(a, "float64")
    dl.matmul(x, tensor(b, "float64"), out=out)
    assert out.tolist() == (a @ b).tolist()
    x = tensor(a, "float64")
    x @= tensor(b, "float64")
    assert x.tolist() == (a @ b).tolist()


def test_promotion_and_numpy_arrays():
    a, b = numbers((2, 3), "int8"), numbers((3, 2), "int16")
    assert dl.matmul(a, b).dtype == dl.int16
    assert dl.matmul(a, b).tolist() == (a @ b).tolist()
    assert (dl.asarray(a) @ b.astype("float32")).dtype == dl.float32


def frozen():
    locked = np.full((2, 2), 7.0, np.float32)
    locked.flags.writeable = False
    return dl.from_dlpack(locked)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (frozen, ValueError, "read-only"),
        (lambda: dl.full((2, 3), 7.0), ValueError, r"shape \(2, 2\), out .* shape \(2, 3\)"),
        (lambda: dl.full((4,), 7.0), ValueError, r"shape \(2, 2\), out .* shape \(4,\)"),
        (lambda: dl.full((2, 2), 7.0, dtype="float64"), TypeError, "float32, out is float64"),
    ],
)
def test_an_output_that_does_not_fit_is_left_as_it_was(out, error, message):
    out = out()
    with pytest.raises(error, match=message):
        dl.matmul(dl.ones((2, 2)), dl.ones((2, 2)), out=out)
    assert np.all(out.numpy() == 7)


@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        (lambda: dl.ones((2, 3)), lambda: dl.ones((2, 3)), ValueError, r"\(2, 3\) and \(2, 3\) do not chain"),
        (lambda: dl.ones((2, 2, 3)), lambda: dl.ones((3, 3, 2)), ValueError, "do not chain"),
        (lambda: dl.ones((200, 3)), lambda: dl.ones((4, 200)), ValueError, "do not chain"),
        (lambda: dl.ones((2, 2), dtype="bool"), lambda: dl.ones((2, 2), dtype="bool"), TypeError, "bool"),
        (lambda: dl.ones((2, 2)), lambda: 2.0, TypeError, "at least one dimension"),
        (lambda: dl.ones((2, 2)), lambda: dl.ones(()), TypeError, "at least one dimension"),
    ],
)
def test_operands_that_have_no_product(left, right, error, message):
    with pytest.raises(error, match=message):
        dl.matmul(left(), right())


def test_factors_of_gemm_have_the_kind_of_the_elements():
    three = dl.asarray([[3]], dtype="uint8")
    for factor in (-1, -1.0, 300, 300.0, 1.7, 2**70 + 2, True):
        assert dl.gemm(three, three, alpha=factor).item() == int(factor) * 9 % 256
        assert dl.gemm(three, three, dl.asarray([[1]], dtype="uint8"), 0, factor).item() == int(factor) % 256
    for factor in (dl.nan, dl.inf):
        with pytest.raises(ValueError, match="alpha must be finite for uint8"):
            dl.gemm(three, three, alpha=factor)
    for factors in ((1j, 0), (1, 1j)):
        with pytest.raises(TypeError, match="is 1j, and a and b are float32"):
            dl.gemm(dl.eye(2), dl.eye(2), dl.eye(2), *factors)
    with pytest.raises(TypeError, match="complex"):
        dl.gemm(three, three, alpha=1j)
    assert dl.gemm(dl.eye(1, dtype="complex64"), dl.eye(1, dtype="complex64"), alpha=1j).item() == 1j


# -- a BLAS ----------------------------------------------------------------------------------------------------------

SMALL, LARGE = "dl.ones((8, 8)) @ dl.ones((8, 8))", "dl.ones((300, 300)) @ dl.ones((300, 300))"
WITHOUT = "import importlib.util, dltensor as dl; importlib.util.find_spec = lambda name, *rest: None\n"
ATTEMPT = """
try:
    {}
except (ImportError, ValueError) as error:
    print(type(error).__name__, error)
"""


def test_no_blas_is_used_unless_it_is_asked_for():
    assert output_of(f"import dltensor as dl; {LARGE}; print(dl.get_blas())") == "None"


def test_a_blas_that_is_not_installed_is_named_with_its_extra():
    brings = "openblas is not installed; install the extra: pip install 'dltensor[blas]' brings scipy-openblas32"
    assert output_of(WITHOUT + ATTEMPT.format("dl.set_blas('openblas')")) == f"ImportError set_blas: {brings}"
    selects = brings.replace("openblas is", "DLTENSOR_BLAS selects openblas, which is", 1)
    said = output_of(WITHOUT + SMALL + ATTEMPT.format(LARGE), DLTENSOR_BLAS="openblas")
    assert said == f"ImportError matmul: {selects}"
    said = output_of(WITHOUT + ATTEMPT.format("dl.get_blas()"), DLTENSOR_BLAS="mkl")
    assert said == "ValueError get_blas: DLTENSOR_BLAS must be one of openblas, got 'mkl'"
    said = output_of(f"{WITHOUT}dl.set_blas(None); {LARGE}; print(dl.get_blas())", DLTENSOR_BLAS="openblas")
    assert said == "None"


@pytest.mark.parametrize("name", ["mkl", "", 3])
def test_another_name_of_a_blas_is_refused(name):
    with pytest.raises(ValueError, match=r"^set_blas: expected 'openblas' or None, got "):
        dl.set_blas(name)


@pytest.mark.peers
def test_a_blas_multiplies_where_it_is_asked_for():
    pytest.importorskip("scipy_openblas32", reason="scipy-openblas32 is not installed")
    a = numbers((300, 300))
    try:
        for dtype in ("float32", "float64", "complex64", "complex128", "float16"):
            x = tensor(a, dtype)
            dl.set_blas("openblas")
            assert dl.get_blas() == "openblas"
            found = x @ x
            with (
                pytest.raises(RuntimeError, match=r"^matmul: computed by OpenBLAS, .* call dl\.set_blas"),
                dl.reproducible(),
            ):
                x @ x
            with dl.reproducible():
                assert (x[:20, :20] @ x[:20, :20]).shape == (20, 20)
            dl.set_blas(None)
            assert dl.get_blas() is None
            want = x @ x
            assert dl.max(dl.abs(found - want)).item() <= 1e-2 * dl.max(dl.abs(want)).item()
    finally:
        dl.set_blas(None)
    assert output_of(f"import dltensor as dl; {LARGE}; print(dl.get_blas())", DLTENSOR_BLAS="openblas") == "openblas"
