# SPDX-License-Identifier: Apache-2.0
"""arange and eye of CUDA devices: the bits of the CPU, made on the device.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REALS = ("float32", "float64")
OTHERS = ("float16", "bfloat16", "complex64", "complex128", "float8_e4m3fn", "int4")
WHOLE = ((7,), (0,), (5, 105), (100, 3, -7), (-3, 4), (0, 97, 6))


def same_numbers(on_cuda, on_cpu):
    if on_cpu.dtype.bits >= 8:
        return same(on_cuda, on_cpu)
    assert str(on_cuda.device) == "cuda:0"
    assert on_cuda.dtype == on_cpu.dtype
    assert on_cuda.to("cpu").astype("int8").tolist() == on_cpu.astype("int8").tolist()


def counted(machine, call):
    """The result of a call, and the launches and copies that it took."""
    before = machine.statistics()
    result = call()
    after = machine.statistics()
    return result, (after.launches - before.launches, after.copies - before.copies)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS, *OTHERS])
def test_ranges_of_integers_have_the_bits_of_the_cpu(dtype):
    for arguments in WHOLE:
        least = min(arguments) if len(arguments) < 3 else -100
        if (dtype.startswith("u") and least < 0) or (dtype == "int4" and max(arguments) > 7):
            continue
        same_numbers(dl.arange(*arguments, dtype=dtype, device="cuda"), dl.arange(*arguments, dtype=dtype))


@pytest.mark.usefixtures("machine_order")
def test_ranges_at_the_ends_of_integers():
    for start, stop, dtype in (
        (2**64 - 5, 2**64, "uint64"),
        (2**63 - 3, 2**63 + 4, "uint64"),
        (-(2**63), -(2**63) + 5, "int64"),
        (2**63 - 4, 2**63, "int64"),
        (2**63 - 1000, 2**63 + 1000, "float32"),
        (2**64 - 9000, 2**64, "float64"),
    ):
        same(dl.arange(start, stop, dtype=dtype, device="cuda"), dl.arange(start, stop, dtype=dtype))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*REALS, *OTHERS[:5], "int32"])
def test_ranges_of_floats_have_the_bits_of_the_cpu(dtype):
    for arguments in ((0.0, 10.0, 0.1), (1.0, -1.0, -1 / 3), (-0.0, 3.0), (1e30, 1.1e30, 1e28), (0.5, 4001.0)):
        if dtype not in REALS and max(arguments) > 100:
            continue
        same(dl.arange(*arguments, dtype=dtype, device="cuda"), dl.arange(*arguments, dtype=dtype))
    if dtype in REALS:  # whose products are beyond float64: each number is the exact one, rounded
        huge = (-1.7e308, 1.7e308, 1e308) if dtype == "float64" else (-3e38, 3e38, 1e38)
        same(dl.arange(*huge, dtype=dtype, device="cuda"), dl.arange(*huge, dtype=dtype))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128", "int4", "float8_e5m2"])
def test_diagonals_have_the_bits_of_the_cpu(dtype):
    for arguments in ((4,), (3, 5), (5, 3), (0,)):
        for k in (-7, -2, 0, 1, 4):
            got, expected = (dl.eye(*arguments, k=k, dtype=dtype, device=device) for device in ("cuda", "cpu"))
            same_numbers(got, expected)


@pytest.mark.skipif(setup.ON_CARD, reason="asks the host driver what was called")
def test_nothing_is_copied_from_the_host(eager_machine):
    for call in (lambda: dl.arange(100_003, device="cuda"), lambda: dl.arange(0.0, 5000.0, 0.5, device="cuda")):
        result, work = counted(eager_machine, call)
        assert work == (1, 0)
        assert result.device.type == dl.DeviceType.kDLCUDA
    _, (_, copies) = counted(eager_machine, lambda: dl.eye(300, 200, device="cuda"))
    assert copies == 0


def test_a_number_that_the_dtype_does_not_hold_is_refused():
    with pytest.raises(OverflowError, match="arange"):
        dl.arange(0, 300, dtype="int8", device="cuda")
    with pytest.raises(dl.DeviceError, match="arange"):
        dl.arange(5, device="metal")
