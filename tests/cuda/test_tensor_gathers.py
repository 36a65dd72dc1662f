# SPDX-License-Identifier: Apache-2.0
"""Index arrays on CUDA tensors: what they read has the CPU's bits, and bad indices the CPU's words."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name

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
