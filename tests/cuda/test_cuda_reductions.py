# SPDX-License-Identifier: Apache-2.0
"""Reductions of CUDA tensors have the bits of the CPU's, in every layout, over every choice of axes.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
REDUCTIONS = pytest.importorskip("dltensor._ops.reduce").REDUCTIONS

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(17)
ON_DEVICE = [name for name in sorted(REDUCTIONS) if name not in ("var", "std")]
DTYPES = {
    "bool": ["bool"],
    "integers": ["int8", "int32", "uint64"],
    "floats": ["float16", "float32", "float64"],
    "complex": ["complex64"],
}


def numbers(shape, dtype):
    size = int(np.prod(shape))
    if dtype == "bool":
        return dl.asarray(RNG.integers(0, 2, size).astype(bool)).reshape(shape)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        return dl.asarray(RNG.integers(info.min, info.max, size, dtype=dtype, endpoint=True)).reshape(shape)
    values = RNG.standard_normal(size) * 2.0 ** RNG.integers(-20, 12, size)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(size)
        return dl.asarray(values.astype(dtype)).reshape(shape)
    return dl.asarray(values).astype(dtype).reshape(shape)


def bits(t):
    return t.dtype, t.shape, t.to("cpu").copy().view("uint8" if t.ndim else t.dtype).tolist()


def same(name, on_cpu, **options):
    """Reduce a CPU tensor on both devices, and compare."""
    on_cuda = on_cpu.to("cuda")
    assert_same(name, on_cuda, on_cpu, options, options)


def assert_same(name, on_cuda, on_cpu, cuda_options, options):
    want = getattr(dl, name)(on_cpu, **options)
    got = getattr(dl, name)(on_cuda, **cuda_options)
    assert str(got.device) == "cuda:0"
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.numpy().tobytes() == want.numpy().tobytes(), (options, got.tolist(), want.tolist())


def rows():
    for name in ON_DEVICE:
        for kind in REDUCTIONS[name]["kinds"]:
            for dtype in DTYPES[kind]:
                yield name, dtype


@pytest.mark.parametrize(("name", "dtype"), list(rows()))
def test_every_row_gives_the_cpus_bits(eager_machine, name, dtype):
    a = numbers((6, 40, 9), dtype)
    x = a.to("cuda")
    one_axis = REDUCTIONS[name]["one_axis"]
    views = (lambda t: t, lambda t: t.transpose(2, 0, 1), lambda t: t[::-1, ::3, 1:])
    for view in views:
        for axis in (None, 0, 1, -1) if one_axis else (None, 0, 1, -1, (0, 2), (1, 2), ()):
            for keepdims in (False, True):
                options = {"axis": axis, "keepdims": keepdims}
                assert_same(name, view(x), view(a), options, options)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "argmin", "count_nonzero"])
@pytest.mark.parametrize("shape", [(300_001,), (3, 70_000), (70_000, 3), (2, 9000, 5)])
def test_elements_of_one_result_are_shared_among_blocks(eager_machine, name, shape):
    a = numbers(shape, "float32")
    if name == "prod":
        a = 1 + a / 2.0**22
    axis = 1 if len(shape) == 3 else int(np.argmax(shape))
    same(name, a)
    same(name, a, axis=axis)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_of_floats_follow_the_tree_of_the_cpu(eager_machine, dtype):
    """More than one group of blocks, whose borders the tree depends on."""
    same("prod", 1 + numbers((600_000,), dtype) / 2.0**40)
    same("prod", 1 + numbers((262_144,), dtype) / 2.0**40)


SUMMED_AGAIN = {
    "half between two values": [1.0, 2.0**-24, 2.0**-60, 2.0**-120],
    "cancels": [2.0**100, 1.0, 2.0**-100, -(2.0**100), 2.0**-40],
    "infinite": [1.0, np.inf, 2.0],
    "both infinities": [np.inf, 1.0, -np.inf],
    "not a number": [1.0, np.nan, 2.0],
    "negative zeros": [-0.0, -0.0, -0.0],
    "nothing left": [1.5, -1.5, 0.0],
}


@pytest.mark.parametrize("case", SUMMED_AGAIN)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_that_two_words_do_not_decide(eager_machine, name, dtype, case):
    few = np.array(SUMMED_AGAIN[case], dtype)
    same(name, dl.asarray(few))
    many = np.concatenate([RNG.standard_normal(9000).astype(dtype), few, np.zeros(9000, dtype), few])
    same(name, dl.asarray(many))
    same(name, dl.asarray(np.stack([many, many[::-1], many * 3])), axis=1)
    same(name, dl.asarray(np.stack([few, -few, few / 2])), axis=0)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_at_both_ends_of_float64(eager_machine, name):
    big = np.finfo("float64").max
    for values in ([big, big, -big, 1.0], [5e-324, -1.0, 1.0, 5e-324], [big, big], [2.0**-1074] * 5):
        same(name, dl.asarray(np.array(values)))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "all", "mean", "count_nonzero"])
def test_where_and_initial(eager_machine, name):
    takes = REDUCTIONS[name]["takes"]
    for dtype in ("float32", "int16"):
        a, chosen = numbers((30, 50), dtype), numbers((50,), "bool")
        initial = {"initial": 3} if "initial" in takes else {}
        for mask in (chosen, dl.zeros((30, 50), dtype="bool"), numbers((30, 1), "bool")):
            for axis in (None, 0, 1):
                on_cpu = {"axis": axis, "where": mask, **initial}
                on_cuda = {"axis": axis, "where": mask.to("cuda"), **initial}
                assert_same(name, a.to("cuda"), a, on_cuda, on_cpu)


INITIAL = [
    ("sum", "bool", 5), ("prod", "bool", 5), ("sum", "int8", 1000), ("prod", "int16", -1000), ("sum", "uint8", 2**63),
    ("sum", "float16", 1e5), ("sum", "float32", 1 + 2.0**-40), ("sum", "float32", -1e39), ("sum", "float64", 1e308),
    ("sum", "complex64", 1e39 - 2.0**-40 * 1j), ("prod", "float32", 2.0**-140), ("prod", "complex64", 2.0**-140 * 1j),
    ("max", "float16", 1e5), ("min", "int8", -128), ("max", "bool", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype", "initial"), INITIAL)
def test_initial_beyond_the_dtype_of_the_elements(eager_machine, name, dtype, initial):
    a = numbers((3, 40), dtype)
    for axis in (None, 0, 1):
        same(name, a, axis=axis, initial=initial)
    if dtype.startswith("float") and name == "sum":
        cancelling = dl.asarray([2.0**15, -(2.0**15), 2.0**-14, 1.0]).astype(dtype)
        same(name, cancelling, initial=2.0**-80)  # read again
    if dtype in ("int8", "uint8", "bool") and name != "max" and name != "min":
        same(name, a, axis=1, initial=initial, saturate=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtype_is_what_an_exact_result_is_rounded_to(eager_machine, dtype):
    for name in ("sum", "prod", "mean", "var", "std"):
        for given in ("int8", "int32", "int64", "uint64", "float16", "float32", "float64"):
            a = numbers((70, 30), given)
            if name == "prod":
                a = a[:2]
            same(name, a, axis=0, dtype=dtype)


def test_dtype_and_saturate(eager_machine):
    a = numbers((70, 60), "int8")
    for dtype in ("int8", "int16", "uint8", "float16", "float64"):
        same("sum", a, dtype=dtype, axis=0)
        same("prod", a, dtype=dtype, axis=1)
    for dtype in ("int8", "uint64", "int64", "bool"):
        same("sum", numbers((70, 60), dtype), saturate=True)
        same("sum", numbers((70, 60), dtype), saturate=True, axis=1)
        same("prod", numbers((3, 60), dtype), saturate=True, axis=0)


def test_out_of_the_result_of_another_dtype_and_of_the_input(eager_machine):
    a = numbers((40, 30), "float32")
    x = a.to("cuda")
    for dtype in ("float32", "float64"):
        out = dl.zeros((30, 2), dtype=dtype, device="cuda")[:, 1]
        assert dl.sum(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out.numpy(), dl.sum(a, axis=0).numpy())
    flags = dl.zeros((40,), dtype="uint8", device="cuda")
    dl.any(x > 1, axis=1, out=flags)
    np.testing.assert_array_equal(flags.numpy(), dl.any(a > 1, axis=1).numpy())
    want = dl.sum(a, axis=0).numpy()
    dl.sum(x, axis=0, out=x[0])
    np.testing.assert_array_equal(x[0].numpy(), want)


def test_without_elements(eager_machine):
    for name in ("sum", "prod", "any", "all", "count_nonzero", "mean"):
        same(name, dl.zeros((0, 3)))
        same(name, dl.zeros((0, 3)), axis=0)
        same(name, dl.zeros((0, 3)), axis=1)
        same(name, dl.zeros((2, 0, 3)), axis=(0, 2))
    with pytest.raises(ValueError, match="max: a tensor of shape"):
        dl.max(dl.zeros((0, 3), device="cuda"))


def test_plans_of_more_shapes_than_are_kept(eager_machine):
    """The same reduction of other memory, another correction, and shapes that take one another's place."""
    for again in range(2):
        for n in range(1, 60):
            a = numbers((n, 3), "float32") + again
            same("sum", a, axis=0)
            same("argmax", a, axis=0, keepdims=True)
    same("std", numbers((40, 3), "float32"), axis=0)
    same("std", numbers((40, 3), "float32"), axis=0, correction=2.5)
    same("var", numbers((40, 3), "float32"), axis=0)


def test_many_dimensions_and_misaligned_elements(eager_machine):
    a = numbers((2, 3, 2, 3, 2, 3, 2, 3, 2), "float32")
    order = (4, 8, 0, 2, 6, 1, 7, 3, 5)
    for axis in ((0, 2, 4, 6), (1, 3), (8, 0, 5)):
        x = a.to("cuda").transpose(*order)
        options = {"axis": axis}
        assert_same("sum", x, a.transpose(*order), options, options)
    raw = dl.zeros((4 * 1000 + 1,), dtype="uint8", device="cuda")
    values = np.arange(1000, dtype="float32")
    raw[1:] = dl.asarray(values.view("uint8"))
    assert dl.sum(raw[1:].view("float32")).numpy() == values.sum(dtype="float64")


def test_arg_reductions_find_the_first(eager_machine):
    values = np.zeros((5, 20_000), "float32")
    values[:, 777] = values[:, 15_000] = 2.0
    values[2, 19_999] = np.nan
    values[3] = -0.0
    for name in ("argmax", "argmin"):
        same(name, dl.asarray(values), axis=1)
        same(name, dl.asarray(values), axis=0)
        same(name, dl.asarray(values))
        same(name, dl.asarray(values.T), axis=1)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
def test_adjacent_results_that_are_read_together(eager_machine, dtype):
    """Rows of 128 and more elements of up to four bytes, at addresses that allow wide reads and at others."""
    flat = dl.asarray(RNG.integers(0, 200, 3 * 70 * 256 + 1)).astype(dtype)
    if dtype == "float32":  # sums that two words do not decide, in one column of four
        flat[5], flat[256 + 5], flat[512 + 5] = 1e30, -1e30, 1e-30
        flat[7] = float("nan")
    if dtype != "uint8":
        flat[9::256] = -0.0
        flat[11::256] = 3e4
        flat[256 + 13] = flat[512 + 14] = flat[768 + 14] = float("inf")
        flat[1024 + 14] = -float("inf")
    on_cuda = flat.to("cuda")
    for first in (0, 1):
        tall, whole = flat[first:][: 210 * 256].reshape((210, 256)), on_cuda[first:][: 210 * 256].reshape((210, 256))
        for view in (lambda t: t, lambda t: t[:, 64:192], lambda t: t.reshape((3, 70, 256))):
            a, x = view(tall), view(whole)
            for axis in (0, 1) if a.ndim == 3 else (0,):
                for name in ("sum", "mean", "max", "argmin", "var", "any"):
                    got, want = getattr(dl, name)(x, axis=axis), getattr(dl, name)(a, axis=axis)
                    assert got.numpy().tobytes() == want.numpy().tobytes(), (name, axis, a.shape)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "complex64"])
def test_sums_of_elements_around_what_float64_holds(eager_machine, dtype):
    """Packs are added in float64 where that is exact: neighbours up to 2^60 apart, zeros, subnormals and infinities."""
    apart = np.arange(16, 60).repeat(3)[:, None]
    large = RNG.choice([-1.0, 1.0], (apart.size, 32)) * (2.0 - 2.0**-23 * RNG.integers(0, 4, (apart.size, 32)))
    small = np.where(RNG.random(large.shape) < 0.5, large, large * 2.0**-apart)
    small[RNG.random(large.shape) < 0.1] = 0.0
    # Large elements cancel: the result shows every bit of the rest.
    mixed = np.where(RNG.random(large.shape) < 0.5, large, small)
    half = np.concatenate([mixed, np.where(small == large, 0.0, small)], axis=1)
    values = np.concatenate([half, np.where(np.abs(half) > 0.5, -half, 0.0)], axis=1)
    for scale in (1.0, 2.0**-110, 2.0**100):
        rows = dl.asarray((values * scale).astype("float32")).astype(dtype)
        if dtype == "complex64":
            rows = rows + dl.flip(rows, axis=1) * 1j
        for case in (rows, dl.asarray(rows.mT, copy=True), rows.reshape((-1,))):
            on_cuda = case.to("cuda")
            for name in ("sum", "mean"):
                for axis in range(case.ndim):
                    got, want = getattr(dl, name)(on_cuda, axis=axis), getattr(dl, name)(case, axis=axis)
                    assert got.numpy().tobytes() == want.numpy().tobytes(), (name, axis, scale, case.shape)
    wide = dl.concat([rows, rows], axis=1)
    wide[5, 3], wide[9, 100] = float("inf"), -float("inf")
    got, want = dl.sum(wide.to("cuda"), axis=0), dl.sum(wide, axis=0)
    assert got.numpy().tobytes() == want.numpy().tobytes()


COMPOSED = {
    "nansum": lambda t: dl.nansum(t, axis=0),
    "nanmean": lambda t: dl.nanmean(t, axis=1),
    "nanmax": lambda t: dl.nanmax(t),
    "ptp": lambda t: dl.ptp(dl.where(dl.isnan(t), 0.0, t), axis=0),
    "average": lambda t: dl.average(dl.where(dl.isnan(t), 0.0, t), axis=1, weights=dl.abs(dl.sign(t[0])) + 1.0),
    "average of all": lambda t: dl.average(dl.where(dl.isnan(t), 0.0, t), returned=True)[1],
    "diff": lambda t: dl.diff(t, axis=1),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_composed_of_reductions_have_the_cpus_bits(eager_machine, name):
    values = np.array(numbers((12, 31), "float32").numpy())
    values[3, 1:30:7] = np.nan
    a = dl.asarray(values)
    want, got = COMPOSED[name](a), COMPOSED[name](a.to("cuda"))
    assert str(got.device) == "cuda:0"
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert setup.one_nan(got.numpy()).tobytes() == setup.one_nan(want.numpy()).tobytes()


def test_softmax_and_comparisons_of_whole_tensors(eager_machine):
    a = numbers((9, 40), "float32") / 2.0**10
    x = a.to("cuda")
    for name in ("softmax", "log_softmax", "logsumexp"):
        got = getattr(dl, name)(x, axis=1)
        assert str(got.device) == "cuda:0"
        np.testing.assert_allclose(got.numpy(), getattr(dl, name)(a, axis=1).numpy(), rtol=2e-6, atol=1e-6)
    assert dl.allclose(x, x + 0.0)
    assert not dl.allclose(x, x + 1.0)
    assert dl.array_equal(x, x)
    assert not dl.array_equal(x, -x - 1)


NARROW = ("bool", "int8", "uint16", "float16", "bfloat16", "float32", "complex64")


@pytest.mark.parametrize("dtype", NARROW)
def test_variances_of_narrow_elements_have_the_cpus_bits(eager_machine, dtype):
    a = numbers((6, 500, 3), dtype)
    for name in ("var", "std"):
        for axis in (None, 1, (0, 2)):
            same(name, a, axis=axis)
        same(name, a, axis=1, correction=1.5, keepdims=True)
        same(name, a, correction=9000)
        mask = numbers((500, 1), "bool")
        on_cpu, on_cuda = {"where": mask, "axis": 1}, {"where": mask.to("cuda"), "axis": 1}
        assert_same(name, a.to("cuda"), a, on_cuda, on_cpu)


def test_variances_that_their_states_do_not_decide(eager_machine):
    for values in ([3.0] * 40, [1e30, 1e-30, 1e30], [1.0, np.inf], [np.nan, 1.0], [5.0], [1.0, 1.0 + 2.0**-23] * 9000):
        for name in ("var", "std"):
            same(name, dl.asarray(np.array(values, "float32")))
            same(name, dl.asarray(np.array([values, values[::-1]], "float32")), axis=1)
            same(name, dl.asarray(np.array([[complex(v, 1) for v in values]] * 2, "complex64")), axis=1)


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32", "uint32", "int64", "uint64"])
def test_variances_of_wide_elements_have_the_cpus_bits(eager_machine, dtype):
    a = numbers((6, 300, 3), dtype)
    for name in ("var", "std"):
        for axis in (None, 1, (0, 2)):
            same(name, a, axis=axis)
            same(name, a.transpose(2, 0, 1)[::-1, :, 3:], axis=axis)
        same(name, a, axis=1, correction=1.5, keepdims=True)
        same(name, a, correction=9000)
        mask = numbers((300, 1), "bool")
        on_cpu, on_cuda = {"where": mask, "axis": 1}, {"where": mask.to("cuda"), "axis": 1}
        assert_same(name, a.to("cuda"), a, on_cuda, on_cpu)
    same("var", numbers((70_000,), dtype))
    if "int" in dtype:
        near = dl.asarray(np.iinfo(dtype).max - np.arange(300).astype(dtype) % 7)
        for values in (near, near[:2], dl.broadcast_to(near[:1], (300,))):
            same("var", values)
            same("std", values, correction=1)


WIDE = {
    "far from 0": [1e15 + k / 8 for k in range(400)],
    "far from 0, little apart": [1.0 + k * 2.0**-52 for k in range(40)],
    "equal": [0.1] * 300,
    "beyond the squares": [1e200, -3e200, 1e190] * 9,
    "ends of the range": [1.7e308, -1.7e308, 1.0, 1e-300],
    "below the squares": [1e-200, 3e-200, -1e-210] * 9,
    "subnormals": [5e-324, 1e-323, 2e-323, 0.0],
    "zeros": [0.0, -0.0] * 5,
    "one": [3.5],
    "infinite": [1.0, np.inf, 2.0],
    "not a number": [np.nan, 1.0],
    "half between two values": [1.0, 2.0, 2.0**-26, 2.0**-60],
}


@pytest.mark.parametrize("case", WIDE)
def test_variances_of_float64_that_two_words_do_not_decide(eager_machine, case):
    values = np.array(WIDE[case])
    for name in ("var", "std"):
        same(name, dl.asarray(values))
        same(name, dl.asarray(np.stack([values, values[::-1], values / 3])), axis=1)
        same(name, dl.asarray(np.stack([values, values * 0.7]).T), axis=0, correction=1)
        same(name, dl.asarray(np.array([complex(a, b) for a, b in zip(values, values[::-1], strict=True)])))
        mask = dl.asarray(np.arange(values.size) % 3 != 1)
        on_cpu, on_cuda = {"where": mask}, {"where": mask.to("cuda")}
        assert_same(name, dl.asarray(values).to("cuda"), dl.asarray(values), on_cuda, on_cpu)


def test_many_elements_of_one_exponent_are_summed_again(eager_machine):
    """So many that a word of the integer that they are summed into would overflow, were carries not passed on."""
    few = [2.0**-39, 2.0**-120, 2.0**-200]
    for one in (1.5, -1.9990234375, 2.0**-32 * 1.75):
        values = np.concatenate([np.full(20_001, one), np.array(few) * one])
        for name in ("sum", "mean"):
            same(name, dl.asarray(values))


@pytest.mark.parametrize("order", setup.ORDERS)
def test_states_live_until_they_are_joined(request, order):
    """Work on a stream that runs later: states and results belong to it."""
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, order)
    a = numbers((200_000,), "float32")
    x = a.to("cuda")
    results = [dl.sum(x * k) for k in range(1, 5)]
    for k, got in enumerate(results, 1):
        np.testing.assert_array_equal(got.numpy(), dl.sum(a * k).numpy())
    setup.clean(machine, "eager")
