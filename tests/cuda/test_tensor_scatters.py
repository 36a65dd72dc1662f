# SPDX-License-Identifier: Apache-2.0
"""Writes at masks and index arrays of CUDA tensors leave the CPU's bits, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name
from test_tensor_gathers import positions, there  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(29)
AT = ("add_at", "maximum_at", "minimum_at")


def mask(shape, share=0.5):
    return dl.asarray(RNG.random(shape) < share)


def written(a, key, value, view=lambda t: t):
    """The same assignment to a copy on either device."""
    here, on_cuda = a.copy(), a.to("cuda")
    view(here)[key] = value
    view(on_cuda)[there(key)] = value.to("cuda") if isinstance(value, dl.Tensor) else value
    same(on_cuda, here)


def joined(name, a, key, value, view=lambda t: t):
    here, on_cuda = a.copy(), a.to("cuda")
    getattr(dl, name)(view(here), key, value)
    getattr(dl, name)(view(on_cuda), there(key), value.to("cuda") if isinstance(value, dl.Tensor) else value)
    same(on_cuda, here)


KEYS = (
    mask((6, 5, 8)),
    mask((6, 5)),
    (slice(None), mask((5,))),
    (..., mask((5, 8)), None),
    True,
    False,
    positions((9,), 6),
    positions((4, 7), 6, "uint8"),
    (slice(4, None, -2), positions((4,), 5, "int32")),
    (positions((4, 1), 6), slice(None), positions((3,), 8)),
    (slice(None), positions((2, 9), 5), positions((9,), 8)),
    (mask((6,), 1), dl.asarray([3])),
    [5, -1, 0, 5, 5],
    positions((0,), 6),
)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
def test_writes_leave_the_cpus_bits(dtype):
    a = numbers((6, 5, 8), dtype)
    for key in KEYS:
        shape = a[key].shape
        value = numbers(shape, dtype)
        written(a, key, value)
        written(a, key, 1)
        written(a, key, value[..., :1] if shape else value)
        wide = numbers(shape[::-1], dtype)
        written(a, key, wide.transpose())
    key = positions((30,), 5)
    written(a, key, numbers((30, 3, 6), dtype), lambda t: t.transpose(1, 2, 0)[:, ::-3])
    written(a, key, numbers((30, 6), dtype), lambda t: t[:, :, 1:2][..., 0].mT)


@pytest.mark.usefixtures("machine_order")
def test_the_last_of_equal_indices_is_kept():
    a = numbers((40, 3), "int32")
    written(a, positions((5000,), 40), numbers((5000, 3), "int32"))
    written(a[:, 0].copy(), positions((5000,), 40), numbers((5000,), "int32"))
    written(a, (positions((70, 40), 40), positions((40,), 3)), numbers((70, 40), "int32"))
    written(a, dl.zeros((300,), dtype="int64"), numbers((300, 3), "int32"))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_joins_at_indices_are_rounded_in_the_cpus_order(name, dtype):
    a = numbers((6, 5, 8), dtype)
    for key in KEYS:
        value = numbers(a[key].shape, dtype)
        joined(name, a, key, value)
        joined(name, a, key, 3)
    joined(name, a, 2, numbers((5, 8), dtype))
    joined(name, a, slice(1, 4), numbers((8,), dtype))
    key = positions((60,), 5)
    joined(name, a, key, numbers((60, 3, 6), dtype), lambda t: t.transpose(1, 2, 0)[:, ::-3])
    joined(name, a[:, 0, 0].copy(), positions((3000,), 6), numbers((3000,), dtype))


@pytest.mark.usefixtures("machine_order")
def test_complex_numbers_and_histograms_are_added():
    joined("add_at", numbers((9,), "complex64"), positions((200,), 9), numbers((200,), "complex64"))
    joined("add_at", dl.zeros((100,), dtype="int64"), positions((4000,), 100), 1)


@pytest.mark.usefixtures("machine_order")
def test_misaligned_tensors_are_written():
    raw, key, value = numbers((41,), "uint8"), dl.asarray([4, 0, 4, -2]), numbers((4,), "float64")
    written(raw, key, value, lambda t: t[1:].view("float64"))
    joined("add_at", raw, key, value, lambda t: t[1:].view("float64"))
    written(raw, mask((5,)), 2.5, lambda t: t[1:].view("float64"))
    other = numbers((33,), "uint8")
    joined("maximum_at", value, key % 4, other[1:].view("float64"))


@pytest.mark.usefixtures("machine_order")
def test_values_are_converted_and_moved():
    a = numbers((6, 4), "float32")
    key = positions((5,), 6)
    written(a, key, numbers((5, 4), "int32"))
    written(a, mask((6, 4)), dl.asarray(7, dtype="int16"))
    x, here, value = a.to("cuda"), a.copy(), numbers((5, 4), "float32")
    x[key], here[key] = value, value  # of the host, to a device
    same(x, here)
    x[there(key)], here[key] = [1, 2, 3, 4], [1, 2, 3, 4]
    same(x, here)


@pytest.mark.usefixtures("machine_order")
def test_memory_that_values_and_indices_share_with_the_tensor():
    a = dl.asarray(RNG.permutation(50).astype("int64"))
    x = a.to("cuda")
    x[x], a[a] = x[::-1], a[::-1].copy()
    same(x, a)
    dl.add_at(x, x % 50, x)
    dl.add_at(a, a % 50, a)
    same(x, a)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(3, 4), (3, 0)])
def test_bad_indices_write_nothing(shape):
    a = numbers(shape, "int32")
    x = a.to("cuda")

    def write(t, key):
        t[key] = 5

    for change in (write, lambda t, key: dl.add_at(t, key, 5)):
        for key in (
            dl.asarray([0, 3, -4]),
            dl.asarray([0, 2**64 - 1], dtype="uint64"),
            (dl.asarray([2]), dl.asarray([4])),
        ):
            messages = []
            for t, k in ((x, there(key)), (a.copy(), key)):
                with pytest.raises(IndexError) as caught:
                    change(t, k)
                messages.append(str(caught.value))
            assert messages[0] == messages[1]
            same(x, a)
    for t in (x, a):
        with pytest.raises(ValueError, match="does not broadcast"):
            t[there(mask((3,), 1)) if t is x else mask((3,), 1)] = dl.zeros((2, 1), device=t.device)


def test_many_positions_take_any_launch(eager_machine):
    a, key, value = numbers((1000,), "int16"), positions((20000,), 1000), numbers((20000,), "int16")
    with dl.cuda.launch(num_threads=32, blocks_per_sm=1):
        written(a, key, value)
        joined("add_at", a, key, value)
    written(a, mask((1000,)), 4)
    # More tiles than blocks that are resident: each has a run of them.
    written(numbers((70000,), "uint8"), positions((66000,), 70000), numbers((66000,), "uint8"))


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_writes_that_would_wait_are_refused_in_a_capture(eager_machine):
    x = dl.arange(6, dtype="float32", device="cuda")
    on, at = x > 2, dl.asarray([1, 1], device="cuda")

    def assign(key):
        x[key] = 9

    with cuda.Stream() as stream:
        x + 1
        capture = Capture(eager_machine.library, stream)
        with capture:
            for change in (lambda: assign(on[:3]), lambda: assign(at), lambda: dl.add_at(x, at, 1)):
                with pytest.raises(BufferError, match="being captured"):
                    change()
            more = x + 2
            assign(on)  # a number where a mask of the tensor's own shape is true: nothing is counted
        capture.run()
        assert more.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
        assert x.tolist() == [0.0, 1.0, 2.0, 9.0, 9.0, 9.0]
        capture.end()


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "float16", "float8_e5m2", "float32", "int64", "complex128"]
)
def test_numbers_are_written_where_a_mask_is_true(dtype):
    a = numbers((6, 5, 8), "float32").astype(dtype)
    written(a, mask((6, 5, 8), 0.1), 1)
    written(a, mask((6, 5, 8)), True)
    written(a, mask((8, 5)), 1, lambda t: t[2].mT)
    written(a, mask((3, 5, 4)), 0, lambda t: t[::-2, :, ::2])
    written(a, mask((6, 0, 8)), 1, lambda t: t[:, :0])
    if dtype.startswith(("float", "complex")):
        written(a, mask((6, 5, 8)), float("nan"))
        written(a, mask((6, 5, 8)), -0.0)


def test_masks_that_are_the_tensor_itself_and_numbers_that_do_not_fit(eager_machine):
    x = dl.asarray([True, False, True], device="cuda")
    x[x] = False
    assert x.tolist() == [False, False, False]
    bits = dl.zeros((9,), dtype="bool", device="cuda")
    bits[0] = True
    bits[1:][bits[:-1]] = True  # the mask is read before anything is written
    assert bits.tolist() == [True, True] + [False] * 7
    a, on = numbers((4,), "uint8"), mask((4,), 1)
    x = a.to("cuda")
    for value in (256, -1, 2**70, 300.7, float("nan"), 1j):
        messages = []
        for t, key in ((x, there(on)), (a.copy(), on)):
            with pytest.raises((OverflowError, TypeError, ValueError)) as caught:
                t[key] = value
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        same(x, a)
    spread = dl.broadcast_to(x, (3, 4))
    with pytest.raises(ValueError, match=r"read-only|share"):
        spread[dl.ones((3, 4), dtype="bool", device="cuda")] = 1
    same(x, a)


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs the host driver, without a second instrumentation")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_that_are_preempted(eager_machine, seed):
    a, key, value = numbers((500,), "float32"), positions((2500,), 500), numbers((2500,), "float32")
    on = mask((500,))
    try:
        eager_machine.configure(threads=f"random:{seed}")
        written(a, key, value)
        joined("add_at", a, key, value)
        written(a, on, 3)
    finally:
        eager_machine.configure(threads="whole")
