# SPDX-License-Identifier: Apache-2.0
"""sort, argsort, top_k, median and quantile of CUDA tensors against those of the CPU, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(41)
DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)


def mixed(shape, dtype):
    """Elements of which many are equal; floats with both zeros, infinities and NaNs of several bits."""
    if dtype == "bool":
        return numbers(shape, dtype)
    a = dl.where(dl.asarray(RNG.random(shape) < 0.5), numbers(shape, dtype), dl.ones((), dtype=dtype))
    if dtype.startswith(("float", "bfloat")):
        flat = a.reshape((-1,))
        at = RNG.permutation(flat.size)[:12]
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan] * 2
        for place, value in zip(at, special, strict=False):
            flat[int(place)] = value
    return a


def check(name, x, a, *arguments, **options):
    got, want = getattr(dl, name)(x, *arguments, **options), getattr(dl, name)(a, *arguments, **options)
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else ((got, want),):
        assert g.is_contiguous
        if not (
            w.ndim == 0 and w.dtype.name.startswith(("float", "bfloat")) and bool(dl.isnan(w)) and bool(dl.isnan(g))
        ):
            same(g, w)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_have_the_cpus_bits_in_both_orders(dtype):
    a = mixed((5, 23, 3), dtype)
    x = a.to("cuda")
    for axis in (0, 1, -1):
        for descending in (False, True):
            for name in ("sort", "argsort"):
                check(name, x, a, axis=axis, descending=descending)
    for view in (lambda t: t[::-1, 1:, ::2], lambda t: t.mT, lambda t: t[:, :, 0]):
        check("sort", view(x), view(a))
        check("argsort", view(x), view(a), axis=0, descending=True)
    for mode in ("largest", "smallest"):
        for axis, k in ((1, 4), (-1, 3), (0, 0)):
            got = dl.top_k(x, k, axis=axis, mode=mode)
            want = dl.top_k(a, k, axis=axis, mode=mode)
            for g, w in zip(got, want, strict=True):
                same(g, w)


def test_few_elements_of_many_keep_no_large_block(eager_machine):
    x = dl.zeros((100_000,), device="cuda")
    for call in (lambda: dl.top_k(x, 2), lambda: dl.random.Generator(1).choice(100_000, 2, p=x + 1, replace=False)):
        call()
        before = dl.cuda.memory_stats()["live_bytes"]
        made = call()
        assert dl.cuda.memory_stats()["live_bytes"] - before < 8000
        del made


@pytest.mark.parametrize("n", [0, 1, 2, 63, 4095, 4096, 4097, 8193, 70000])
def test_lengths_around_tiles(eager_machine, n):
    """70,000 keys have more than 4,096 counts of digits."""
    a = mixed((n,), "int16")
    check("sort", a.to("cuda"), a)
    check("argsort", a.to("cuda"), a, descending=True)


@pytest.mark.parametrize(("shape", "dtype"), [((2049, 2), "uint8"), ((1500, 3), "float32"), ((300, 15), "int32")])
def test_many_short_lines(eager_machine, shape, dtype):
    """The lines of a tile are told apart by one digit, or by two."""
    lines = mixed(shape, dtype)
    for axis in (0, 1):
        check("sort", lines.to("cuda"), lines, axis=axis)
        check("argsort", lines.to("cuda"), lines, axis=axis)


LONG = [((5000,), "float32"), ((4500,), "bfloat16"), ((4200,), "float64"), ((3, 4100), "int16"), ((2, 4500), "float16")]


@pytest.mark.parametrize(("shape", "dtype"), LONG)
def test_lines_longer_than_a_tile(eager_machine, shape, dtype):
    lines = mixed(shape, dtype)
    for name in ("sort", "argsort"):
        check(name, lines.to("cuda"), lines)
        check(name, lines.to("cuda"), lines, descending=True)


def test_runs_of_several_tiles(eager_machine):
    """There are more tiles than blocks that are resident."""
    for dtype, count in (("uint8", 1_200_000), ("float16", 1_090_000)):
        a = mixed((count,), dtype)
        check("sort", a.to("cuda"), a, descending=dtype == "uint8")


def launches(machine, call):
    before = machine.statistics().launches
    call()
    return machine.statistics().launches - before


def moved(machine, call):
    """The launches of a call, and the bytes of the sectors that its kernels read and write."""
    machine.configure(threads="random:1")  # counts them
    try:
        before = machine.statistics()
        call()
        after = machine.statistics()
    finally:
        machine.configure(threads="whole")
    sectors = after.sectors_read - before.sectors_read + after.sectors_written - before.sectors_written
    return after.launches - before.launches, 32 * sectors


@pytest.mark.skipif(setup.ON_CARD, reason="reads the host driver's counters")
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int32", "float64"])
def test_a_sort_of_one_line_counts_once_and_moves_once_a_digit(eager_machine, dtype):
    x = numbers((10_000,), dtype).to("cuda")
    assert launches(eager_machine, lambda: dl.sort(x)) == 1 + x.itemsize
    assert launches(eager_machine, lambda: dl.argsort(x, descending=True)) == 2 + x.itemsize


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2])
def test_blocks_that_wait_for_one_another(eager_machine, seed):
    """Several blocks are resident, in an order by chance, and look back at tiles that are not counted yet."""
    for shape, dtype in (((9000,), "uint16"), ((8200,), "float32"), ((2, 4500), "uint8")):
        a = mixed(shape, dtype)
        x = a.to("cuda")
        eager_machine.configure(threads=f"random:{seed}")
        try:
            got, places = dl.sort(x), dl.argsort(x)
        finally:
            eager_machine.configure(threads="whole")
        same(got, dl.sort(a))
        same(places, dl.argsort(a))


# -- selection of a long line ------------------------------------------------------------------------------------------

LINE = 70_000  # more than 16 tiles


def distributions(dtype):
    """Long lines of values far apart, near one another, of few distinct ones, and of one."""
    kind = np.dtype("float32" if dtype in ("bfloat16", "float16") else dtype).kind
    wide = RNG.normal(size=LINE) * 10.0 ** RNG.integers(-3, 4, LINE)
    lines = [RNG.random(LINE), wide, RNG.integers(0, 100, LINE), RNG.integers(0, 3, LINE), np.full(LINE, 3)]
    if kind == "f":
        return [dl.asarray(line).astype(dtype) for line in lines]
    if dtype == "bool":
        return [dl.asarray(lines[3]).astype("bool")]
    lines[0], lines[1] = [
        RNG.integers(0, 2**k, LINE, dtype="uint64") for k in (8 * dl.asarray(0, dtype=dtype).itemsize, 7)
    ]
    lines[0] = lines[0].astype("int64" if kind == "i" else "uint64")
    return [dl.asarray(line).astype(dtype) for line in lines]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_line_is_selected_from_with_the_cpus_bits(eager_machine, dtype):
    lines = distributions(dtype)
    for a in lines if dtype in ("float32", "int64", "uint16") else lines[:1] + lines[-1:]:
        x = a.to("cuda")
        check("top_k", x, a, 7)
        check("top_k", x, a, LINE // 16, mode="smallest")
        check("top_k", x[::-1], a[::-1], 1)
        check("median", x, a)
        check("quantile", x, a, q=0.9995, method="nearest")
        check("median", x[1:].reshape((1, -1, 1)), a[1:].reshape((1, -1, 1)), axis=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_selection_has_the_zeros_and_nans_of_a_sort(eager_machine, dtype):
    values = np.where(RNG.random(LINE) < 0.4, -0.0, RNG.choice([0.0, 1e-30, -1e-30, np.inf, -np.inf], LINE))
    for nans in (0, 1, 30_000):
        values[RNG.permutation(LINE)[:nans]] = np.nan
        a = dl.asarray(values).astype(dtype)
        x = a.to("cuda")
        check("median", x, a)
        for mode in ("largest", "smallest"):
            check("top_k", x, a, 4000, mode=mode)


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
def test_selections_read_a_line_three_times(eager_machine):
    for dtype in ("float32", "int32", "float64"):
        x = dl.asarray(RNG.normal(size=LINE) * 2**20).astype(dtype).to("cuda")
        count, at_once = moved(eager_machine, lambda x=x: dl.median(x))
        assert count <= 4 + 2 * x.itemsize + 1, "of the mean of two elements one"
        assert at_once <= 4 * x.nbytes
        assert moved(eager_machine, lambda x=x: dl.top_k(x, 50))[1] <= 4 * x.nbytes


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
def test_selections_of_bytes_read_a_line_twice(eager_machine):
    x = dl.asarray(RNG.integers(0, 256, 4 * LINE).astype("uint8")).to("cuda")
    for call, launches in ((lambda: dl.median(x), 6), (lambda: dl.top_k(x, 50), 5)):
        count, at_once = moved(eager_machine, call)
        assert count <= launches
        assert at_once <= 3 * x.nbytes


@pytest.mark.usefixtures("machine_order")
def test_misaligned_broadcast_and_scalar_tensors():
    raw = numbers((41,), "uint8")
    check("sort", raw.to("cuda")[1:].view("int64"), raw[1:].view("int64"))
    a = numbers((4,), "int32")
    check("argsort", dl.broadcast_to(a.to("cuda"), (3, 4)), dl.broadcast_to(a, (3, 4)), axis=0)
    check("sort", dl.asarray(3, device="cuda"), dl.asarray(3))
    check("argsort", dl.asarray(3, device="cuda"), dl.asarray(3))
    check("sort", dl.zeros((3, 0), device="cuda"), dl.zeros((3, 0)))
    check("sort", dl.zeros((0, 3), device="cuda"), dl.zeros((0, 3)))


@pytest.mark.usefixtures("machine_order")
def test_out_is_written():
    a = mixed((6, 9), "float32")
    x = a.to("cuda")
    out, places = dl.zeros((6, 9), device="cuda"), dl.zeros((9, 6), dtype="int64", device="cuda").mT
    assert dl.sort(x, axis=0, out=out) is out
    same(out, dl.sort(a, axis=0))
    dl.argsort(x, out=places)
    same(places, dl.argsort(a))
    wide = dl.zeros((6, 9), dtype="float64", device="cuda")
    dl.sort(x, out=wide)
    same(wide, dl.sort(a).astype("float64"))
    dl.sort(x, descending=True, out=x)
    same(x, dl.sort(a, descending=True))
    with pytest.raises(dl.DeviceError, match="sort: x is on cuda:0 and out on cpu; give an out on cuda:0"):
        dl.sort(x, out=dl.zeros((6, 9)))


@pytest.mark.usefixtures("machine_order")
def test_statistics_of_order_are_the_cpus():
    for dtype in ("int16", "float32", "float64"):
        a = numbers((6, 11), dtype)
        x = a.to("cuda")
        if dtype == "float32":
            a[2, 3] = np.nan
            x[2, 3] = np.nan
        for axis in (None, 0, 1):
            got, want = dl.median(x, axis=axis), dl.median(a, axis=axis)
            assert (str(got.device), got.dtype, got.shape) == ("cuda:0", want.dtype, want.shape)
            np.testing.assert_array_equal(got.numpy(), want.numpy())
            for method in ("linear", "nearest", "hazen"):
                got = dl.quantile(x, [0.1, 0.5, 1.0], axis=axis, method=method)
                want = dl.quantile(a, [0.1, 0.5, 1.0], axis=axis, method=method)
                assert str(got.device) == "cuda:0"
                np.testing.assert_array_equal(got.numpy(), want.numpy())
    for values in (
        [-0.0, 0.0, -0.0],
        [0.0, -0.0],
        [1.0, np.inf],
        [-np.inf, 1.0],
        [-np.inf, np.inf],
        [1.7e308, -1.7e308],
    ):
        a = dl.asarray(np.array(values))
        for call in (dl.median, lambda t: dl.quantile(t, [0.0, 0.25, 0.75, 1.0])):
            assert call(a.to("cuda")).numpy().tobytes() == call(a).numpy().tobytes()
    empty = dl.median(dl.zeros((3, 0), device="cuda"), axis=1)
    assert str(empty.device) == "cuda:0"
    assert np.isnan(empty.numpy()).all()


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", DTYPES)
def test_searches_find_the_cpus_places(dtype):
    a, values = mixed((60,), dtype), mixed((7, 5), dtype)
    x, given = a.to("cuda"), values.to("cuda")
    low, order = dl.sort(a), dl.argsort(a)
    for side in ("left", "right"):
        same(dl.searchsorted(dl.sort(x), given, side=side), dl.searchsorted(low, values, side=side))
        same(
            dl.searchsorted(x, given.mT, side=side, sorter=order.to("cuda")), dl.searchsorted(low, values.mT, side=side)
        )
        same(dl.searchsorted(dl.sort(x), 1, side=side), dl.searchsorted(low, 1, side=side))
    same(dl.searchsorted(x[:0], given), dl.searchsorted(a[:0], values))
    same(dl.searchsorted(dl.sort(x), given[:0]), dl.searchsorted(low, values[:0]))


@pytest.mark.usefixtures("machine_order")
def test_searches_convert_and_refuse_as_the_cpu_does():
    a, values = dl.asarray([1, 3, 3, 9], dtype="int16"), dl.asarray([0.5, 3.0, np.nan], dtype="float32")
    x, out = a.to("cuda"), dl.zeros((3,), dtype="int64", device="cuda")
    assert dl.searchsorted(x, values.to("cuda"), out=out) is out
    same(out, dl.searchsorted(a, values))
    raw = dl.sort(numbers((41,), "uint8"))
    sorted_here = dl.sort(raw[1:].view("int64"))
    bytes_of = dl.concat([raw[:1], sorted_here.view("uint8")])
    same(dl.searchsorted(bytes_of.to("cuda")[1:].view("int64"), 5), dl.searchsorted(sorted_here, 5))
    for t in (a, x):
        wrong = dl.asarray([0, 1, 2, 4], device=t.device)
        with pytest.raises(ValueError, match="sorter must hold indices from 0 to 3, got 4 at place 3"):
            dl.searchsorted(t, 2, sorter=wrong)
    with pytest.raises(dl.DeviceError, match=r"searchsorted: x1 is on cuda:0 and x2 on cpu; move it with .to\("):
        dl.searchsorted(x, values)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
def test_sets_are_the_cpus(dtype):
    a = (numbers if dtype == "complex64" else mixed)((40, 3), dtype)
    if dtype == "complex64":
        a[5:9] = a[20:24]
    x, some = a.to("cuda"), dl.concat([a[:7].reshape((-1,)), numbers((5,), dtype)])
    for t, here in ((x, a), (x.mT, a.mT), (x[:0], a[:0]), (x[3, 1], a[3, 1])):
        for name in ("unique_all", "unique_counts", "unique_inverse"):
            for g, w in zip(getattr(dl, name)(t), getattr(dl, name)(here), strict=True):
                same(g, w)
        same(dl.unique_values(t), dl.unique_values(here))
        for invert in (False, True):
            same(dl.isin(t, some.to("cuda"), invert=invert), dl.isin(here, some, invert=invert))
            same(dl.isin(t, some[:0].to("cuda"), invert=invert), dl.isin(here, some[:0], invert=invert))
        same(dl.isin(t, 1), dl.isin(here, 1))
    out = dl.zeros((40, 3), dtype="bool", device="cuda")
    assert dl.isin(x, some.to("cuda"), out=out) is out
    same(out, dl.isin(a, some))


def test_errors_are_those_of_the_cpu(eager_machine):
    for x in (dl.ones((2, 3)), dl.ones((2, 3), device="cuda")):
        with pytest.raises(IndexError, match="sort: axis 2 is out of range"):
            dl.sort(x, axis=2)
        with pytest.raises(TypeError, match="argsort: x is complex64"):
            dl.argsort(x.astype("complex64"))
        with pytest.raises(ValueError, match="top_k: k must be from 0 to 3"):
            dl.top_k(x, 4)
        with pytest.raises(ValueError, match="sort: the result has shape"):
            dl.sort(x, out=dl.ones((3, 2), device=x.device))


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_a_sort_can_be_captured(eager_machine):
    with cuda.Stream() as stream:
        x = dl.asarray([3.0, 1.0, 2.0], device="cuda")
        dl.sort(x)
        stream.synchronize()
        capture = Capture(eager_machine.library, stream)
        with capture:
            made = dl.sort(x)
        capture.run()
        assert made.tolist() == [1.0, 2.0, 3.0]
        capture.end()


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_that_are_preempted(eager_machine, seed):
    a, lines = mixed((2500,), "int16"), mixed((20, 30), "uint8")
    x, other = a.to("cuda"), lines.to("cuda")
    try:
        eager_machine.configure(threads=f"random:{seed}")
        got, places = dl.sort(x), dl.argsort(other, axis=0)
    finally:
        eager_machine.configure(threads="whole")
    same(got, dl.sort(a))
    same(places, dl.argsort(lines, axis=0))
