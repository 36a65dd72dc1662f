# SPDX-License-Identifier: Apache-2.0
"""Random values made on a CUDA device are those that the CPU makes, wherever a call begins.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import ctypes

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
import test_random as drawing  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
REALS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint16", "int32", "int64", "uint64")
CALLS = {
    "random": lambda rng, **options: rng.random((3, 7), **options),
    "uniform": lambda rng, **options: rng.uniform(-1.0, 3.0, (21,), **options),
    "normal": lambda rng, **options: rng.normal(0.5, 2.0, (5, 5), **options),
    "exponential": lambda rng, **options: rng.exponential(1.5, 1003, **options),
}


def same(call, skip, **options):
    on_cpu, on_cuda = dl.random.Generator(11), dl.random.Generator(11)
    for rng in (on_cpu, on_cuda):
        rng.jump(skip)
    want, got = call(on_cpu, **options), call(on_cuda, device="cuda", **options)
    assert str(got.device) == "cuda:0"
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.to("cpu").view("uint8").tolist() == want.view("uint8").tolist()
    assert on_cpu.state == on_cuda.state


@pytest.mark.parametrize("skip", [0, 1, 2, 3, 2**34 + 5])
@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", CALLS)
def test_real_values_are_the_cpus(eager_machine, name, dtype, skip):
    same(CALLS[name], skip, dtype=dtype)


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_the_cpus(eager_machine, dtype, skip):
    for low, high in ((0, 100), (3, 4)):
        same(lambda rng, low=low, high=high, **options: rng.integers(low, high, (501,), **options), skip, dtype=dtype)
    if dtype.endswith("64"):
        for low, high in ((0, 2**32), (5, 2**63 - 9), (0, 3 * 2**61)):
            same(lambda rng, low=low, high=high, **options: rng.integers(low, high, 501, **options), skip, dtype=dtype)


def test_words_that_are_rejected_take_the_same_others(eager_machine):
    """Of 2^31 + 1 integers nearly half of the words are rejected."""
    same(lambda rng, **options: rng.integers(0, 2**31 + 1, 2000, dtype="int64", **options), 0)
    same(lambda rng, **options: rng.integers(0, 2**63 - 1, 2000, dtype="int64", endpoint=True, **options), 1)


def test_two_calls_give_the_values_of_one(eager_machine):
    one, two = dl.random.Generator(5), dl.random.Generator(5)
    parts = [two.normal(shape=n, device="cuda").tolist() for n in (3, 5, 1, 0, 7)]
    assert [value for part in parts for value in part] == one.normal(shape=16, device="cuda").tolist()


@pytest.mark.parametrize("skip", [0, 3, 2**34 + 5])
@pytest.mark.parametrize("name", drawing.COMPOSED)
def test_values_of_distributions_are_the_cpus(eager_machine, name, skip):
    on_cpu, on_cuda = dl.random.Generator(11), dl.random.Generator(11)
    for rng in (on_cpu, on_cuda):
        rng.jump(skip)
    want = drawing.COMPOSED[name](on_cpu, 300)
    got = drawing.COMPOSED[name](Here(on_cuda), 300)
    assert str(got.device) == "cuda:0"
    assert got.to("cpu").view("uint8").tolist() == want.view("uint8").tolist()
    assert on_cpu.state == on_cuda.state


class Here:
    """A generator whose methods draw on the device."""

    def __init__(self, rng):
        self.rng = rng

    def __getattr__(self, name):
        return lambda *arguments, **options: getattr(self.rng, name)(*arguments, device="cuda", **options)


@pytest.mark.parametrize("name", drawing.EACH)
def test_parameters_of_a_device_give_the_cpus_values(eager_machine, name):
    want = drawing.EACH[name](dl.random.Generator(11), 300, np.asarray)
    got = drawing.EACH[name](dl.random.Generator(11), 300, lambda x: dl.asarray(x).to("cuda"))
    assert str(got.device) == "cuda:0"
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.to("cpu").view("uint8").tolist() == want.view("uint8").tolist()


def test_parameters_move_to_the_device_of_the_values(eager_machine):
    means = dl.asarray([0.5, 20.0, 3.0], dtype="float64")
    want = dl.random.Generator(2).poisson(means, (2, 3)).tolist()
    assert dl.random.Generator(2).poisson(means, (2, 3), device="cuda").to("cpu").tolist() == want
    assert dl.random.Generator(2).poisson(means.to("cuda"), (2, 3), device="cpu").tolist() == want
    assert str(dl.random.Generator(2).poisson(dl.asarray(3.0, device="cuda"), 2).device) == "cuda:0"


def test_out_says_the_device(eager_machine):
    want = dl.random.Generator(2).random((4, 6))
    out = dl.zeros((6, 8), device="cuda").mT[::2]
    assert dl.random.Generator(2).random(out=out) is out
    np.testing.assert_array_equal(out.numpy(), want.numpy())
    with pytest.raises(ValueError, match="random: device is cpu, out is on cuda:0; leave device out"):
        dl.random.Generator(2).random(out=out, device="cpu")


@pytest.mark.parametrize("shape", [(0, 2), (1,), (40,), (9, 3, 2)])
def test_shuffles_have_the_cpus_order(eager_machine, shape):
    a = dl.arange(int(np.prod(shape))).reshape(shape)
    x = a.to("cuda")
    for rng, t in ((dl.random.Generator(2), a), (dl.random.Generator(2), x)):
        rng.shuffle(t)
        rng.shuffle(t[::-1])
    assert x.tolist() == a.tolist()


@pytest.mark.parametrize("skip", [0, 1, 6, 2**40 + 3])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 255, 256, 257, 4099])
def test_orders_are_the_cpus(eager_machine, n, skip):
    same(lambda rng, **options: rng.permutation(n, **options), skip)


@pytest.mark.skipif(setup.ON_CARD, reason="it asks how threads are ordered")
def test_orders_follow_chains_of_steps(eager_machine):
    """Small orders, of which all occur, with threads that are preempted at any access."""
    eager_machine.configure(threads="random:5")
    try:
        for seed in range(200):
            rng, there = dl.random.Generator(seed), dl.random.Generator(seed)
            assert there.permutation(5, device="cuda").tolist() == rng.permutation(5).tolist()
    finally:
        eager_machine.configure(threads="whole")


@pytest.mark.parametrize("count", [1, 2, 30, 63, 64])
def test_some_of_many_are_the_cpus(eager_machine, count):
    host = dl.arange(64)
    want = dl.random.Generator(4).choice(host, count, replace=False)
    made = dl.random.Generator(4).choice(host.to("cuda"), count, replace=False)
    assert (str(made.device), made.tolist()) == ("cuda:0", want.tolist())


@pytest.mark.skipif(setup.ON_CARD, reason="it asks the engine of the host driver")
@pytest.mark.parametrize("n", [2**32 - 1, 2**32, 2**33 + 5])
def test_some_of_very_many_are_the_cpus(cuda, n):
    """Above 2^32 a step takes two words, and its partner has 64 bits."""
    rng = dl.random.Generator(77)
    rng.jump(6)
    out = cuda.empty((300,), "int64")
    flat = cuda.flat(out)
    numbers = [ctypes.c_uint64(77), ctypes.c_uint64(6), ctypes.c_int64(n), ctypes.c_int64(300)]
    cuda("shuffle", *numbers, 1, ctypes.byref(flat), cuda.stream())
    assert out.get().tolist() == rng.choice(n, 300, replace=False).tolist()


@pytest.mark.skipif(setup.ON_CARD, reason="asks the host driver what was called")
@pytest.mark.parametrize("name", ["integers", "entries", "in place", "some", "with replacement"])
def test_an_order_is_made_without_copies_from_the_host(eager_machine, name):
    x, rng = dl.arange(3000, dtype="float32").to("cuda"), dl.random.Generator(1)
    calls = {
        "integers": lambda: rng.permutation(3000, device="cuda"),
        "entries": lambda: rng.permutation(x),
        "in place": lambda: rng.shuffle(x),
        "some": lambda: rng.choice(x, 2000, replace=False),
        "with replacement": lambda: rng.choice(x, 5000),
    }
    before = eager_machine.statistics().bytes_copied
    calls[name]()
    copied = eager_machine.statistics().bytes_copied - before
    assert copied <= 64 + (
        x.nbytes if name == "in place" else 0
    )  # whether an index is out of range; x from its new order


def test_a_permutation_goes_to_the_device_that_is_named(eager_machine):
    x = dl.arange(9)
    want = dl.random.Generator(2).permutation(x).tolist()
    for there in (x, x.to("cuda")):
        for device in ("cuda", "cpu"):
            made = dl.random.Generator(2).permutation(there, device=device)
            assert (made.device, made.tolist()) == (dl.Device(device), want)
    with pytest.raises(dl.DeviceError, match="permutation"):
        dl.random.Generator(2).permutation(4, device="metal")


def test_entries_of_a_device_are_permuted_and_chosen_there(eager_machine):
    host = dl.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for call in (lambda rng, x: rng.permutation(x), lambda rng, x: rng.choice(x, (2, 2), p=[1, 2, 3])):
        made = call(dl.random.Generator(2), host.to("cuda"))
        assert str(made.device) == "cuda:0"
        assert made.tolist() == call(dl.random.Generator(2), host).tolist()


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_weights_of_a_device_choose_what_the_cpu_chooses(eager_machine, dtype, replace):
    weights = dl.asarray(np.random.default_rng(3).integers(0, 5, 70)).astype(dtype)
    entries = dl.arange(140, dtype="float32").reshape((70, 2))
    for shape in ((), (20,), (2, 0), (4, 5)):
        want = dl.random.Generator(2).choice(70, shape, p=weights, replace=replace)
        made = dl.random.Generator(2).choice(70, shape, p=weights.to("cuda"), replace=replace)
        assert str(made.device) == "cuda:0"
        assert (made.dtype, made.tolist()) == (want.dtype, want.tolist())
        want = dl.random.Generator(2).choice(entries, shape, p=weights, replace=replace)
        made = dl.random.Generator(2).choice(entries.to("cuda"), shape, p=weights.to("cuda"), replace=replace)
        assert made.tolist() == want.tolist()


def test_weights_of_a_device_are_checked(eager_machine):
    rng = dl.random.Generator(2)
    for bad in ([1.0, -1.0], [1.0, np.inf], [np.nan, 1.0], [1e308, 1e308]):
        with pytest.raises(ValueError, match="choice: p: expected finite weights of at least 0 with a finite sum"):
            rng.choice(2, 1, p=dl.asarray(bad, dtype="float64", device="cuda"))
    weights = dl.asarray([1.0, 0.0], device="cuda")
    with pytest.raises(ValueError, match="choice: 2 of 1 entries with a weight above 0"):
        rng.choice(2, 2, p=weights, replace=False)
    with pytest.raises(dl.DeviceError, match="choice: x is on cpu and p on cuda:0; move one with to"):
        rng.choice(dl.zeros(2), 1, p=weights)
