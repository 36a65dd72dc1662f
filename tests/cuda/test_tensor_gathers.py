# SPDX-License-Identifier: Apache-2.0
"""Index arrays on CUDA tensors: what they read has the CPU's bits, and bad indices the CPU's words."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(5)


def positions(shape, size, dtype="int64"):
    low = 0 if dtype.startswith("u") else -size
    return dl.asarray(RNG.integers(low, size, shape).astype(dtype))


def there(key):
    """A key with its index arrays on the device."""
    if isinstance(key, tuple):
        return tuple(there(item) for item in key)
    return key.to("cuda") if isinstance(key, dl.Tensor) else key


def refusal(statement, *arguments):
    with pytest.raises((IndexError, ValueError)) as caught:
        statement(*arguments)
    return type(caught.value), str(caught.value)


# Elements of 1, 2, 4, 8 and 16 bytes; rows of 7 elements make narrow words, of 8 wide ones.
@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("columns", [7, 8])
def test_keys_of_index_arrays_read_the_cpus_bits(dtype, columns):
    a = numbers((5, 6, columns), dtype)
    x = a.to("cuda")
    pairs = positions((4, 1), 5), positions((3,), columns)
    for key in (
        positions((9,), 5),
        positions((2, 3), 5, "uint8"),
        (slice(None), positions((4,), 6, "int32")),
        (slice(1, 4), slice(None, None, -2), positions((2, 2), columns)),
        (pairs[0], slice(None), pairs[1]),
        (..., pairs[0], pairs[1] % 6),
        (None, positions((3,), 5), 2, slice(1, None)),
        [4, -1, 0],
        positions((0,), 5),
    ):
        same(x[there(key)], a[key])
    for view, other in ((x.mT, a.mT), (x[::-1, 1:, ::2], a[::-1, 1:, ::2]), (x[:, :1][:, 0], a[:, 0])):
        key = positions((7,), other.shape[0])
        same(view[there(key)], other[key])


@pytest.mark.usefixtures("machine_order")
def test_take_and_take_along_axis_are_the_cpus():
    a = numbers((4, 5, 6), "float32")
    x = a.to("cuda")
    for axis in (0, 1, -1):
        size = a.shape[axis]
        for key in (positions((3, 2), size), positions((), size), positions((2,), size, "uint64")):
            same(dl.take(x, there(key), axis=axis), dl.take(a, key, axis=axis))
        shape = [1, 5, 6]
        shape[axis] = 3
        key = positions(tuple(shape), size)
        same(dl.take_along_axis(x, there(key), axis=axis), dl.take_along_axis(a, key, axis=axis))
        same(
            dl.take_along_axis(x.mT, there(key.mT), axis=(0, 2, 1)[axis]),
            dl.take_along_axis(a, key, axis=axis).mT.copy(),
        )
    out = dl.zeros((2,), device="cuda")
    assert dl.take(dl.arange(9.0, device="cuda"), [8, 3], out=out) is out
    assert out.tolist() == [8.0, 3.0]


@pytest.mark.usefixtures("machine_order")
def test_misaligned_and_broadcast_tensors_are_read():
    raw = dl.arange(41, dtype="uint8")
    key = positions((6,), 5)
    same(raw.to("cuda")[1:].view("float64")[there(key)], raw[1:].view("float64")[key])
    wide = dl.broadcast_to(dl.arange(3, dtype="int16"), (4, 3))
    same(dl.broadcast_to(dl.arange(3, dtype="int16", device="cuda"), (4, 3))[there(key % 4)], wide[key % 4])


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("shape", [(3, 4), (3, 0)])
def test_the_first_bad_index_is_named_in_the_cpus_words(shape):
    a = numbers(shape, "int32")
    x = a.to("cuda")
    for key in (
        dl.asarray([0, 3, -4]),
        dl.asarray([[1, 2], [-4, 9]], dtype="int8"),
        dl.asarray([0, 2**64 - 1], dtype="uint64"),
        (dl.asarray([2, 1]), dl.asarray([0, 4])),
    ):
        assert refusal(lambda t, k: t[k], x, there(key)) == refusal(lambda t, k: t[k], a, key)
    assert x[dl.asarray([2, -3], device="cuda")].shape == (2, shape[1])


def test_many_positions_take_any_launch(eager_machine):
    a = numbers((1000,), "int16")
    key = positions((20000,), 1000)
    with dl.cuda.launch(num_threads=32, blocks_per_sm=1):
        same(a.to("cuda")[there(key)], a[key])


def test_index_arrays_of_a_device_do_not_index_the_host(eager_machine):
    x, key = dl.arange(4), dl.asarray([0], device="cuda")
    with pytest.raises(dl.DeviceError, match=r'on cpu and an index array on cuda:0; move it with \.to\("cpu"\)'):
        x[key]
    with pytest.raises(dl.DeviceError, match=r'on cpu and an index array on cuda:0; move it with \.to\("cpu"\)'):
        x[key] = 1


# -- checks of indices without a wait ----------------------------------------------------------------------------------

LATE = r"index {} is out of range for an axis of {} elements on cuda:0, in an earlier call within dl.cuda.index_checks"


def late(statement, *arguments):
    with dl.cuda.index_checks("later"):
        return statement(*arguments)


@pytest.mark.skipif(setup.ON_CARD, reason="reads the host driver's counters")
def test_a_read_is_one_kernel_that_checks_too(eager_machine):
    a, key = numbers((40, 3), "float32"), positions((50,), 40)
    x, at = a.to("cuda"), key.to("cuda")
    before = eager_machine.statistics().launches
    rows = x[at]
    assert eager_machine.statistics().launches - before == 1
    same(rows, a[key])
    many = dl.full((3, 4000), 7, dtype="int64", device="cuda")
    many[2, 3000], many[1, 77], many[1, 76] = 40, -41, 90
    out = dl.full((3, 4000, 3), 5.0, device="cuda")
    with pytest.raises(IndexError, match=r"index 90 is out of range for axis 0 with size 40, at position \(1, 76\)"):
        x[many]
    with pytest.raises(IndexError, match="index 90"):
        dl.take(x, many, axis=0, out=out)
    assert (out.numpy() == 5.0).all(), "nothing is written then"


@pytest.mark.skipif(setup.ON_CARD, reason="reads the host driver's counters")
@pytest.mark.parametrize("order", setup.ORDERS)
def test_a_read_that_is_checked_later_is_one_kernel_and_waits_for_nothing(machine, order):
    machine.configure(order=order)
    a, key = numbers((40, 3), "float32"), positions((50,), 40)
    x, at = a.to("cuda"), key.to("cuda")
    late(lambda: x[at])
    before = machine.statistics()
    rows = late(lambda: x[at])
    after = machine.statistics()
    assert after.launches - before.launches == 1
    assert after.synchronisations == before.synchronisations
    same(rows, a[key])
    same(
        late(lambda: dl.take_along_axis(x, at[:, None] % 40, axis=0)), dl.take_along_axis(a, key[:, None] % 40, axis=0)
    )


WAITS = {
    "synchronize": lambda x: dl.cuda.synchronize(),
    "Stream.synchronize": lambda x: dl.cuda.current_stream().synchronize(),
    "Event.synchronize": lambda x: dl.cuda.Event().record(dl.cuda.current_stream()).synchronize(),
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x[0, 0].item(),
    "to": lambda x: x.to("cpu"),
}


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("wait", WAITS)
def test_an_index_out_of_range_raises_by_the_next_wait_and_then_no_more(wait):
    x = numbers((7, 3), "float32").to("cuda")
    at = dl.asarray([1, 7, -8]).to("cuda")
    late(lambda: x[at[:2]])
    with pytest.raises(IndexError, match=LATE.format(7, 7)):
        WAITS[wait](x)
    WAITS[wait](x)
    late(lambda: x[at[2:]])
    with pytest.raises(IndexError, match=LATE.format(-8, 7)):
        WAITS[wait](x)
    with pytest.raises(IndexError, match="index 7 is out of range for axis 0"):
        x[at]
    WAITS[wait](x)


@pytest.mark.usefixtures("machine_order")
def test_writes_are_checked_later_too():
    a = numbers((7, 3), "float32")
    x, at = a.to("cuda"), dl.asarray([5, 2, 5]).to("cuda")
    late(x.__setitem__, at, 4.0)
    late(dl.add_at, x, at, 1.0)
    a[[5, 2, 5]] = 4.0
    dl.add_at(a, dl.asarray([5, 2, 5]), 1.0)
    same(x, a)
    for write in (x.__setitem__, lambda key, value: dl.add_at(x, key, value)):
        late(write, dl.asarray([1, 9]).to("cuda"), 1.0)
        with pytest.raises(IndexError, match=LATE.format(9, 7)):
            dl.cuda.synchronize()
    empty = dl.zeros((7, 0), device="cuda")
    late(lambda: empty[dl.asarray([8]).to("cuda")])
    with pytest.raises(IndexError, match=LATE.format(8, 7)):
        dl.cuda.synchronize()
    late(lambda: dl.zeros((0, 2), device="cuda")[dl.asarray([0]).to("cuda")])
    with pytest.raises(IndexError, match=LATE.format(0, 0)):
        dl.cuda.synchronize()


def test_when_indices_are_checked_is_a_choice_of_the_thread(eager_machine):
    import threading

    x, at = numbers((4,), "float32").to("cuda"), dl.asarray([9]).to("cuda")
    seen = []
    with dl.cuda.index_checks("later"):
        with dl.cuda.index_checks("now"), pytest.raises(IndexError, match="axis 0"):
            x[at]
        thread = threading.Thread(target=lambda: seen.append(refusal(lambda: x[at])))
        thread.start()
        thread.join()
    assert seen[0][0] is IndexError
    with pytest.raises(IndexError, match="axis 0"):
        x[at]
    with pytest.raises(ValueError, match='index_checks: when must be "now" or "later", got \'never\''):
        dl.cuda.index_checks("never").__enter__()


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_reads_that_are_checked_later_can_be_captured(eager_machine):
    x, at = dl.arange(6, dtype="float32", device="cuda"), dl.asarray([1, 5]).to("cuda")
    with dl.cuda.Stream() as stream:
        late(lambda: x[at])
        capture = Capture(eager_machine.library, stream)
        with capture:
            rows = late(lambda: x[at])
        capture.run()
        assert rows.tolist() == [1.0, 5.0]
        at[...] = dl.asarray([3, 6]).to("cuda")
        stream.synchronize()
        capture.run()
        with pytest.raises(IndexError, match=LATE.format(6, 6)):
            stream.synchronize()
        assert rows.tolist() == [3.0, 5.0]
        capture.end()
