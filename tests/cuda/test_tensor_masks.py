# SPDX-License-Identifier: Apache-2.0
"""Masks and nonzero on CUDA tensors: what they select has the CPU's bits, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name
from test_tensor_gathers import refusal, there  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(17)


def mask(shape, share=0.5):
    return dl.asarray(RNG.random(shape) < share)


def sparse(shape, dtype):
    """Elements of which a third is 0, with both zeros, and a NaN where there is one."""
    a = np.where(RNG.random(shape) < 0.3, 0, RNG.integers(1, 100, shape)).astype("float64")
    if dtype.startswith("complex"):
        a = a.astype("complex128") * RNG.choice(np.array([1, 1j, 1 + 1j]), shape)
    made = dl.asarray(a).astype(dtype)
    if dtype.startswith(("float", "bfloat", "complex")):
        made.reshape((-1,))[:3] = dl.asarray([-0.0, np.nan, 2.0**-20]).astype(dtype)
    return made


def same_indices(x, a):
    got, want = dl.nonzero(x), dl.nonzero(a)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        same(g, w)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
def test_masks_read_the_cpus_bits(dtype):
    a = numbers((6, 5, 8), dtype)
    x = a.to("cuda")
    for key in (
        mask((6, 5, 8)),
        mask((6, 5)),
        mask((6,)),
        mask((6, 5), 0),
        mask((6, 5), 1),
        (slice(None), mask((5,))),
        (slice(4, None, -2), slice(None), mask((8,))),
        (..., mask((5, 8)), None),
        (mask((6,), 1), dl.asarray([3])),
        (dl.asarray([[-1], [2]]), slice(1, 4), dl.asarray([True, False] * 4)),
        True,
        (False, Ellipsis),
        (dl.asarray([True] + [False] * 5), mask((5,))),
    ):
        same(x[there(key)], a[key])
        same(x[key], a[key])
    for view, other in ((x.mT, a.mT), (x[::-1, 1:, ::2], a[::-1, 1:, ::2]), (x[:, :1][:, 0], a[:, 0])):
        key = mask(other.shape)
        same(view[there(key)], other[key])
        wide = mask(other.mT.shape)
        same(view[wide.to("cuda").mT], other[wide.mT])


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "float16", "bfloat16", "float32", "int64", "float64", "complex64", "complex128"]
)
def test_nonzero_has_the_cpus_indices(dtype):
    a = sparse((7, 3, 11), dtype)
    x = a.to("cuda")
    same_indices(x, a)
    same_indices(x[::-1, 1:, ::3], a[::-1, 1:, ::3])
    same_indices(x.reshape((-1,)), a.reshape((-1,)))
    same_indices(x * 0, a * 0)
    for g, w in zip(dl.where(x != 0), dl.where(a != 0), strict=True):
        same(g, w)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4095, 4096, 4097, 50001])
def test_lengths_around_words_and_tiles(eager_machine, n):
    a, key = numbers((n,), "int16"), mask((n,))
    same(a.to("cuda")[key.to("cuda")], a[key])
    same_indices(key.to("cuda"), key)
    rare = mask((n,), 0.0002)
    same_indices(rare.to("cuda"), rare)


@pytest.mark.usefixtures("machine_order")
def test_misaligned_and_broadcast_masks():
    raw = dl.arange(41, dtype="uint8")
    view = raw.to("cuda")[1:].view("float64")
    key = dl.asarray([True, False, True, True, False])
    same(view[there(key)], raw[1:].view("float64")[key])
    same_indices(view, raw[1:].view("float64"))
    a = numbers((4, 5), "int32")
    same(a.to("cuda")[dl.broadcast_to(key.to("cuda"), (4, 5))], a[dl.broadcast_to(key, (4, 5))])


def test_masks_that_do_not_fit_are_refused_in_the_cpus_words(eager_machine):
    a = numbers((4, 5), "float32")
    x = a.to("cuda")
    for key in (mask((5,)), mask((4, 4)), mask((4, 5, 1)), (mask((4,), 1), mask((5,), 1)), (0, 0, mask((2,)))):
        assert refusal(lambda t, k: t[k], x, there(key)) == refusal(lambda t, k: t[k], a, key)
    assert refusal(dl.nonzero, x[0, 0]) == refusal(dl.nonzero, a[0, 0])
    with pytest.raises(dl.DeviceError, match="on cpu and an index array on cuda:0"):
        a[x > 0]


def test_what_has_been_counted_is_what_is_selected(eager_machine):
    """The count is read once: a mask that changes later is a mask of another call."""
    a, key = numbers((300,), "int32"), mask((300,))
    x, on = a.to("cuda"), key.to("cuda")
    first = x[on]
    on[...] = False
    same(first, a[key])
    assert x[on].shape == (0,)


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_counts_cannot_be_read_in_a_capture(eager_machine):
    x = dl.arange(6, dtype="float32", device="cuda")
    on = x > 2
    assert x[on].shape == (3,)  # compiled before
    with cuda.Stream() as stream:
        x + 1
        capture = Capture(eager_machine.library, stream)
        with capture:
            for select in (lambda: x[on], lambda: dl.nonzero(x)):
                with pytest.raises(BufferError, match="being captured"):
                    select()
            more = x + 2
        capture.run()
        assert more.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
        capture.end()


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_that_are_preempted(eager_machine, seed):
    a, key = numbers((9000,), "int16"), mask((9000,))
    x, on = a.to("cuda"), key.to("cuda")
    try:
        eager_machine.configure(threads=f"random:{seed}")
        got, found = x[on], dl.nonzero(on)[0]
    finally:
        eager_machine.configure(threads="whole")
    same(got, a[key])
    same(found, dl.nonzero(key)[0])


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
def test_a_mask_is_counted_and_its_elements_are_copied_by_one_launch_each(eager_machine):
    a, key = numbers((70_000,), "float32"), mask((70_000,))
    x, there_key = a.to("cuda"), key.to("cuda")
    before = eager_machine.statistics()
    eager_machine.configure(threads="random:2")
    got = x[there_key]
    eager_machine.configure(threads="whole")
    after = eager_machine.statistics()
    same(got, a[key])
    assert after.launches - before.launches == 2
    sectors = after.sectors_read - before.sectors_read + after.sectors_written - before.sectors_written
    assert 32 * sectors <= 1.2 * (x.nbytes + there_key.nbytes + got.nbytes)


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_thread_blocks_that_wait_for_one_another(eager_machine, seed):
    """With more tiles than a warp looks at."""
    key = mask((40 * 4096 + 77,), 0.01)
    there_key = key.to("cuda")
    eager_machine.configure(threads=f"random:{seed}")
    try:
        got = dl.nonzero(there_key)[0]
    finally:
        eager_machine.configure(threads="whole")
    same(got, dl.nonzero(key)[0])
