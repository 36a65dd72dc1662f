# SPDX-License-Identifier: Apache-2.0
"""The fast path of operations on plain CUDA tensors, which must give the results of the slow path."""

import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []


def outcome(statement, tensor):
    """The result, or the words of the refusal."""
    try:
        return statement(tensor), ""
    except (TypeError, OverflowError) as error:
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("number", [2, 2.5, True, 1 + 2j, 300, -1, 2**40])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_numbers_beside_tensors_are_the_cpus(eager_machine, dtype, number):
    """In C order on one device they use the fast path, which must give the slow path's result or defer to it."""
    a = numbers((2, 3), dtype)
    x = a.to("cuda")
    for statement in (
        lambda t: t + number,
        lambda t: number + t,
        lambda t: t == number,
        lambda t: dl.add(t, number, t),
    ):
        want, why = outcome(statement, a.copy())
        got, words = outcome(statement, x.copy())
        assert words == why
        if not why:
            same(got, want)


@pytest.mark.usefixtures("machine_order")
def test_outputs_in_c_order_may_be_operands():
    a, b = numbers((40, 6), "float32"), numbers((40, 6), "float32")
    x, y = a.to("cuda"), b.to("cuda")
    x += y
    same(x, a + b)
    same(dl.fma(x, 2, y, x), dl.fma(a + b, 2, b))
    whole = dl.arange(60, dtype="int32").to("cuda")
    dl.add(whole[:40], whole[20:], whole[10:50])  # written where it is still to be read
    want = list(range(60))
    want[10:50] = [i + i + 20 for i in range(40)]
    assert whole.tolist() == want
    flags = dl.zeros(60, dtype="bool", device="cuda")
    assert dl.less(whole, 30, flags) is flags
    assert flags.tolist() == [i < 30 for i in want]
    with pytest.raises(ValueError, match="read-only"):
        dl.add(whole, 1, dl.broadcast_to(whole, (60,)))


@pytest.mark.usefixtures("eager_machine")
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_exponents_of_integers_are_checked_as_on_the_cpu(dtype):
    x = dl.asarray([1, 2, 3], dtype=dtype).to("cuda")
    for call in (lambda: x**-1, lambda: dl.pow(x, -1, x), lambda: dl.pow(x[::2], -1)):
        with pytest.raises(ValueError, match="pow: integers to the power of -1 are fractions"):
            call()
    assert (x**2).tolist() == [1, 4, 9]
    assert (2**x).tolist() == [2, 4, 8]


def test_kept_launches_are_those_of_their_operation():
    """Launches are found again by operation, dtypes, numbers and count: more of them than are kept, in turn, twice."""
    statements = [
        lambda t, u: t + u,
        lambda t, u: t - u,
        lambda t, u: t - 3,
        lambda t, u: 3 - t,
        lambda t, u: t < u,
        lambda t, u: dl.maximum(t, u),
        lambda t, u: -t,
        lambda t, u: t.sum(),
        lambda t, u: t.max(),
        lambda t, u: t.sum(axis=0),
    ]
    pairs = [
        (numbers((count,), dtype), numbers((count,), dtype)[::-1].copy())
        for dtype in ("int8", "int32", "float32")
        for count in (1, 2, 255, 256, 4097)
    ]
    there = [(a.to("cuda"), b.to("cuda")) for a, b in pairs]
    for _ in range(2):
        for (a, b), (x, y) in zip(pairs, there, strict=True):
            for statement in statements:
                same(statement(x, y), statement(a, b))
    x, a = there[-1][0], pairs[-1][0]
    with dl.cuda.launch(num_threads=64):  # settings are not those of the kept launch
        same(x + x, a + a)
    same(x + x, a + a)
    same(x[1:] + x[1:], a[1:] + a[1:])  # at an address that is not a multiple of 16
