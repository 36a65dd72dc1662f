# SPDX-License-Identifier: Apache-2.0
"""bincount and histogram of CUDA tensors against those of the CPU, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(43)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def weights_of(n):
    """Sums of such numbers differ with their order."""
    return dl.asarray(RNG.standard_normal(n) * 10.0 ** RNG.integers(-8, 9, n))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bincount_has_the_cpus_bits(dtype):
    for n in (0, 1, 700):
        a = dl.asarray(RNG.integers(0, 100, n)).astype(dtype)
        x, weights = a.to("cuda"), weights_of(n)
        for least in (0, 3, 200):
            same(dl.bincount(x, minlength=least), dl.bincount(a, minlength=least))
            same(dl.bincount(x, weights.to("cuda"), least), dl.bincount(a, weights, least))
    view = dl.asarray(RNG.integers(0, 9, (40, 3))).astype(dtype)
    same(dl.bincount(view.to("cuda")[::-2, 1]), dl.bincount(view[::-2, 1]))
    narrow = weights_of(40).astype("float16")
    same(dl.bincount(view.to("cuda")[:, 0], narrow.to("cuda")), dl.bincount(view[:, 0], narrow))


@pytest.mark.parametrize("size", [1, 2047, 2048, 2049, 5000])
def test_numbers_of_bins_around_the_counters_of_a_block(eager_machine, size):
    a = dl.asarray(np.concatenate([RNG.integers(0, size, 3000), [size - 1]]))
    same(dl.bincount(a.to("cuda")), dl.bincount(a))
    with cuda.launch(num_threads=32):
        same(dl.bincount(a.to("cuda")), dl.bincount(a))


@pytest.mark.skipif(setup.ON_CARD, reason="preempts threads of the host driver")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("size", [7, 2500])
def test_threads_that_are_preempted(eager_machine, size, seed):
    a = dl.asarray(RNG.integers(0, size, 600))
    x = a.to("cuda")
    try:
        eager_machine.configure(threads=f"random:{seed}")
        got = dl.bincount(x, minlength=size)
        same(got, dl.bincount(a, minlength=size))
    finally:
        eager_machine.configure(threads="whole")


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float16", "bfloat16", "float32", "float64"])
def test_histogram_has_the_cpus_counts_and_edges(dtype):
    values = RNG.integers(0, 2 if dtype == "bool" else 60, (30, 7))
    a = dl.asarray(values).astype(dtype)
    if dtype.startswith(("float", "bfloat")):
        a = (a / 3).astype(dtype)
    x, weights = a.to("cuda"), weights_of(210).reshape((30, 7))
    for options in (
        {},
        {"bins": 1},
        {"bins": 7, "range": (2, 19)},
        {"bins": 3000 if dtype not in ("float16", "bfloat16") else 16},
        {"bins": 5, "density": True},
        {"bins": [0, 1, 1, 7, 12]},
        {"bins": [0.5, 11.0]},
    ):
        if (dtype == "bool" and "bins" not in options) or (dtype == "uint64" and isinstance(options.get("bins"), list)):
            continue
        for got, want in zip(dl.histogram(x, **options), dl.histogram(a, **options), strict=True):
            same(got, want)
        got, want = (dl.histogram(t, weights=w, **options) for t, w in ((x, weights.to("cuda")), (a, weights)))
        same(got[0], want[0])
    edges = dl.asarray([1, 5, 6], dtype=dtype) if dtype != "bool" else dl.asarray([False, True])
    same(dl.histogram(x[::2].mT, edges.to("cuda"))[0], dl.histogram(a[::2].mT, edges)[0])


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_histogram_of_special_values(dtype):
    a = dl.asarray([np.nan, -np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.inf, -np.nan], dtype=dtype)
    x = a.to("cuda")
    for edges in ([0.0, 1.0, 2.0], [0.0, 1.0, np.inf], [-np.inf, 0.0, np.inf], [-0.0, 0.0], [1.0, np.nan]):
        e = dl.asarray(edges, dtype=dtype)
        same(dl.histogram(x, e.to("cuda"))[0], dl.histogram(a, e)[0])
    for empty in (dl.zeros((0,)), dl.zeros((3, 0))):
        for got, want in zip(dl.histogram(empty.to("cuda"), 4), dl.histogram(empty, 4), strict=True):
            same(got, want)


@pytest.mark.usefixtures("machine_order")
def test_messages_are_the_cpus():
    for a, options in (
        (dl.asarray([1, -2, -3]), {}),
        (dl.asarray([2**63], dtype="uint64"), {}),
        (dl.asarray([2**62]), {}),
        (dl.asarray([[1]]), {}),
        (dl.zeros(2), {}),
        (dl.asarray([1]), {"minlength": -1}),
    ):
        with pytest.raises(Exception, match="bincount") as want:
            dl.bincount(a, **options)
        with pytest.raises(want.type) as got:
            dl.bincount(a.to("cuda"), **options)
        assert str(got.value) == str(want.value)
    x = dl.asarray([1, 2], device="cuda")
    with pytest.raises(dl.DeviceError, match="bincount: x is on cuda:0 and weights on cpu"):
        dl.bincount(x, dl.asarray([1.0, 2.0]))
    with pytest.raises(dl.DeviceError, match="histogram: x is on cuda:0 and bins on cpu"):
        dl.histogram(x, dl.asarray([1.0, 2.0]))
    with pytest.raises(ValueError, match="histogram: bins must ascend"):
        dl.histogram(x, [2.0, 1.0])
    with pytest.raises(ValueError, match="histogram: expected finite limits, got nan to nan"):
        dl.histogram(dl.full((2,), np.nan, device="cuda"))


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_what_waits_is_refused_while_a_graph_is_captured(eager_machine):
    with cuda.Stream() as stream:
        x, integers = dl.zeros(9, device="cuda"), dl.arange(9, device="cuda")
        dl.bincount(integers)  # compiled before
        stream.synchronize()
        capture = Capture(eager_machine.library, stream)
        with capture:
            for call in (lambda: dl.bincount(integers), lambda: dl.histogram(x)):
                with pytest.raises(BufferError, match="being captured"):
                    call()
            more = x + 1
        capture.run()
        assert more.tolist() == [1.0] * 9
        capture.end()
