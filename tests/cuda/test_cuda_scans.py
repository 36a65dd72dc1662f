# SPDX-License-Identifier: Apache-2.0
"""Running sums, products, maxima and minima of CUDA tensors have the bits of the CPU's, in every layout.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_cuda_reductions import numbers  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
DTYPES = (
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
SUMS, EXTREMES = ("cumulative_sum", "cumulative_prod"), ("cumulative_max", "cumulative_min")


def near_one(a):
    """Factors whose products stay in range."""
    return a if "int" in str(a.dtype) or str(a.dtype) == "bool" else (1 + a / 2.0**14).astype(a.dtype)


def assert_same(name, on_cuda, on_cpu, **options):
    want = getattr(dl, name)(on_cpu, **options)
    got = getattr(dl, name)(on_cuda, **options)
    assert str(got.device) == "cuda:0"
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.is_contiguous
    here = got.to("cpu")
    assert here.copy().view("uint8").tolist() == want.copy().view("uint8").tolist(), (
        options,
        here.tolist(),
        want.tolist(),
    )


def cases():
    for dtype in DTYPES:
        yield from ((name, dtype) for name in SUMS)
        if not dtype.startswith("complex"):
            yield from ((name, dtype) for name in EXTREMES)


@pytest.mark.parametrize(("name", "dtype"), list(cases()))
def test_every_dtype_gives_the_cpus_bits(eager_machine, name, dtype):
    a = numbers((6, 43, 9), dtype)
    if name == "cumulative_prod":
        a = near_one(a)
    x = a.to("cuda")
    for view in (lambda t: t, lambda t: t.transpose(2, 0, 1), lambda t: t[::-1, ::3, 1:], lambda t: t[:, :1]):
        for axis in range(-1, 3):
            assert_same(name, view(x), view(a), axis=axis)
    if name in SUMS:
        assert_same(name, x, a, axis=1, include_initial=True)
        assert_same(name, x, a, axis=-1, saturate=True)
        wanted = "complex128" if dtype.startswith("complex") else "float32" if dtype == "float64" else "float64"
        assert_same(name, x, a, axis=0, dtype=wanted)
        if not dtype.startswith(("float", "bfloat", "complex")):
            assert_same(name, x, a, axis=0, dtype="int8")


@pytest.mark.parametrize("n", [1, 7, 8, 9, 2047, 2048, 2049, 4095, 4096, 4097, 8192, 13000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_lengths_around_groups_and_blocks(eager_machine, n, dtype):
    a = numbers((n,), dtype)
    x = a.to("cuda")
    assert_same("cumulative_sum", x, a)
    assert_same("cumulative_prod", near_one(x), near_one(a))
    if dtype != "complex64":
        assert_same("cumulative_max", x, a)


@pytest.mark.parametrize("shape", [(3, 30_000), (30_000, 3), (9000, 40), (2, 9000, 5), (1_060_000,)])
def test_blocks_of_long_rows(eager_machine, shape):
    """A row of more blocks than a thread block has threads, rows beside one another, and rows that lie apart."""
    axis = int(np.argmax(shape))
    for dtype in ("float32", "complex64", "uint8"):
        a = numbers(shape, dtype)
        assert_same("cumulative_sum", a.to("cuda"), a, axis=axis)
    a = near_one(numbers(shape, "float64"))
    assert_same("cumulative_prod", a.to("cuda"), a, axis=axis)
    a = numbers(shape, "int64")
    assert_same("cumulative_sum", a.to("cuda"), a, axis=axis, saturate=True)
    assert_same("cumulative_min", a.to("cuda"), a, axis=axis)


def test_batches_of_blocks(eager_machine):
    """Blocks are added up in batches of 64, by threads of their own; then the batches."""
    size = 1030 * 4096 + 5
    real = RNG.standard_normal(size) * np.exp(RNG.uniform(-20, 20, size))
    a = dl.asarray((real + 1j * np.roll(real, 77)).astype("complex64"))
    assert_same("cumulative_sum", a.to("cuda"), a)
    rows = RNG.standard_normal((2, 520 * 4096)) * 1e300
    rows[0, 3 * 4096 :: 4096] = 1e308  # beyond the range of float64 from block 4 on
    a = dl.asarray(rows)
    assert_same("cumulative_sum", a.to("cuda"), a, axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(eager_machine, dtype):
    values = RNG.standard_normal(9000).astype(dtype)
    big = np.finfo(dtype).max
    for place, put in ((10, np.nan), (4000, np.inf), (8000, -np.inf), (0, -0.0), (5000, big)):
        a = values.copy()
        a[place] = put
        a[place + 700 : place + 702] = put
        for name in (*EXTREMES, "cumulative_sum"):
            assert_same(name, dl.asarray(a).to("cuda"), dl.asarray(a))
    zeros = dl.asarray(np.full(5000, -0.0, dtype))
    assert_same("cumulative_sum", zeros.to("cuda"), zeros)


RNG = np.random.default_rng(46)


def test_saturated_sums_and_products_come_back_from_the_end_of_the_range(eager_machine):
    a = dl.asarray(np.where(np.arange(9000) % 200 < 100, 2**62, -(2**62)).astype("int64"))
    assert_same("cumulative_sum", a.to("cuda"), a, saturate=True)
    few = RNG.integers(-3, 4, 9000).astype("int8")
    few[few == 0] = 2
    few[5000] = 0
    for dtype in ("int8", "int64"):
        a = dl.asarray(few.astype(dtype))
        assert_same("cumulative_prod", a.to("cuda"), a, saturate=True)


def test_without_elements_and_one(eager_machine):
    for shape in ((0,), (3, 0), (0, 3), (1, 1)):
        for axis in range(len(shape)):
            for name in (*SUMS, *EXTREMES):
                a = dl.ones(shape)
                assert_same(name, a.to("cuda"), a, axis=axis)
            a = dl.ones(shape, dtype="int16")
            assert_same("cumulative_prod", a.to("cuda"), a, axis=axis, include_initial=True)


def test_methods_out_and_many_dimensions(eager_machine):
    a = numbers((30, 50), "float32")
    x = a.to("cuda")
    assert x.cumsum().tolist() == a.cumsum().tolist()
    assert near_one(x).cumprod(axis=0).tolist() == near_one(a).cumprod(axis=0).tolist()
    out = dl.zeros((50, 30), device="cuda").mT
    assert dl.cumulative_sum(x, axis=1, out=out) is out
    assert out.tolist() == dl.cumulative_sum(a, axis=1).tolist()
    assert dl.cumulative_sum(x, axis=0, out=x) is x
    assert x.tolist() == dl.cumulative_sum(a, axis=0).tolist()
    a = numbers((2, 3, 2, 3, 2, 3, 2, 3, 2), "float32")
    order = (4, 8, 0, 2, 6, 1, 7, 3, 5)
    assert_same("cumulative_sum", a.to("cuda").transpose(*order), a.transpose(*order), axis=3)
    raw = dl.zeros((4 * 1000 + 1,), dtype="uint8", device="cuda")
    values = np.arange(1000, dtype="float32")
    raw[1:] = dl.asarray(values.view("uint8"))
    assert_same("cumulative_sum", raw[1:].view("float32"), dl.asarray(values))


@pytest.mark.parametrize("order", setup.ORDERS)
def test_states_live_until_the_results_are_there(request, order):
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, order)
    a = numbers((20_000,), "float32")
    x = a.to("cuda")
    made = [dl.cumulative_sum(x * k) for k in range(1, 4)]
    for k, got in enumerate(made, 1):
        np.testing.assert_array_equal(got.numpy(), dl.cumulative_sum(a * k).numpy())
    setup.clean(machine, "eager")


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("shape", "axis"), [((5000,), 0), ((40, 70), 1), ((70, 40), 0)])
def test_threads_that_are_preempted(eager_machine, seed, shape, axis):
    a = numbers(shape, "float32")
    x = a.to("cuda")
    try:
        eager_machine.configure(threads=f"random:{seed}")
        made = [
            dl.cumulative_sum(x, axis=axis),
            dl.cumulative_prod(near_one(x), axis=axis),
            dl.cumulative_max(x, axis=axis),
        ]
    finally:
        eager_machine.configure(threads="whole")
    wanted = [
        dl.cumulative_sum(a, axis=axis),
        dl.cumulative_prod(near_one(a), axis=axis),
        dl.cumulative_max(a, axis=axis),
    ]
    for got, want in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_thread_blocks_that_wait_for_one_another(eager_machine, seed):
    """Several are resident, in an order by chance, and look back at what is not known yet."""
    for name, shape, dtype in (
        ("cumulative_sum", (41_000,), "uint8"),
        ("cumulative_sum", (3, 9000), "int32"),
        ("cumulative_max", (2, 13_000), "float16"),
        ("cumulative_prod", (9000,), "uint64"),
    ):
        a = numbers(shape, dtype)
        x = a.to("cuda")
        eager_machine.configure(threads=f"random:{seed}")
        try:
            got = getattr(dl, name)(x, axis=-1)
        finally:
            eager_machine.configure(threads="whole")
        np.testing.assert_array_equal(got.numpy(), getattr(dl, name)(a, axis=-1).numpy())


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
def test_long_rows_of_integers_are_read_once(eager_machine):
    x = numbers((2, 30_000), "int32").to("cuda")
    for call, written in ((dl.cumulative_sum, 8), (dl.cumulative_min, 4)):
        before = eager_machine.statistics()
        eager_machine.configure(threads="random:1")
        call(x, axis=1)
        eager_machine.configure(threads="whole")
        after = eager_machine.statistics()
        assert after.launches - before.launches == 1
        sectors = after.sectors_read - before.sectors_read + after.sectors_written - before.sectors_written
        assert 32 * sectors <= 1.05 * x.size * (4 + written)


def test_errors_are_those_of_the_cpu(eager_machine):
    for x in (dl.ones((2, 3)), dl.ones((2, 3), device="cuda")):
        with pytest.raises(ValueError, match="axis must be given"):
            dl.cumulative_sum(x)
        with pytest.raises(IndexError, match="axis 2 is out of range"):
            dl.cumulative_sum(x, axis=2)
        with pytest.raises(TypeError, match="cumulative_max: not defined for complex64"):
            dl.cumulative_max(x.astype("complex64"), axis=0)
