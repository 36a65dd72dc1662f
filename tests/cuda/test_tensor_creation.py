# SPDX-License-Identifier: Apache-2.0
"""arange, linspace and eye of CUDA devices: the bits of the CPU, made on the device.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
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


LINES = (
    (0.0, 1.0, 1000),
    (-1.0, 1.0, 1001),  # one number is 0
    (-1.0, 1.0, 1000),  # two are next to it
    (-0.1, 0.3, 777),
    (3.0, -2.0, 18),
    (0.0, 2.0**26, 4097),  # ties of float32
    (1.0, 1.0 + 2.0**-20, 300),
    (5.0, 5.0, 40),
    (-0.0, 0.0, 3),
    (0.25, -0.0, 9),
    (7.5, 9.5, 1),
    (7.5, 9.5, 0),
)
EXTREMES = (
    (1e-300, 1e-305, 300),
    (5e-324, 4e-323, 30),  # not normal
    (-1e-310, 1e300, 30),
    (1.7e308, -1.7e308, 100),
    (1e-45, 1e-38, 100),
    (float("inf"), 1.0, 5),
    (0.0, float("-inf"), 5),
    (float("nan"), 0.0, 4),
    (-0.0, float("inf"), 3),
)
FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128", "float8_e4m3fn"])
def test_lines_of_floats_have_the_bits_of_the_cpu(dtype, endpoint):
    lines = LINES if dtype != "float8_e4m3fn" else LINES[:5]
    for start, stop, num in lines if dtype != "float16" else [line for line in lines if line[1] < 60000]:
        for device in ("cuda", "cuda:0"):
            got = dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint, device=device)
            same(got, dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))
    if dtype in ("float32", "float64"):
        for start, stop, num in EXTREMES:
            if dtype == "float32" and max(abs(start), abs(stop)) > 1e39 and np.isfinite([start, stop]).all():
                continue
            got = dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint, device="cuda")
            same(got, dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


@pytest.mark.usefixtures("machine_order")
def test_lines_of_random_ends_have_the_bits_of_the_cpu():
    rng = np.random.default_rng(12)
    for k in range(60):
        start, stop = (rng.standard_normal(2) * 10.0 ** rng.integers(-9, 9, 2)).tolist()
        num = int(rng.integers(2, 3000))
        dtype = FLOATS[2 + k % 2] if k % 3 else "bfloat16"
        same(dl.linspace(start, stop, num, dtype=dtype, device="cuda"), dl.linspace(start, stop, num, dtype=dtype))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*INTEGERS, "int4", "bool"])
def test_lines_of_integers_have_the_bits_of_the_cpu(dtype):
    for start, stop, num in ((0, 7, 50), (7, 0, 33), (-7, 6, 100), (-3.5, 2.25, 41), (2.5, 2.75, 3), (0, 100, 1000)):
        if (dtype.startswith("u") and min(start, stop) < 0) or (dtype == "int4" and stop > 7):
            continue
        for endpoint in (True, False):
            options = {"num": num, "dtype": dtype, "endpoint": endpoint}
            same_numbers(dl.linspace(start, stop, device="cuda", **options), dl.linspace(start, stop, **options))
    ends = {"int64": (-(2**63), 2**63 - 1), "uint64": (2**64 - 1, 0), "int32": (-(2**31), 2**31 - 1)}.get(dtype)
    if ends:
        for num in (2, 1000, 4099):
            same(dl.linspace(*ends, num, dtype=dtype, device="cuda"), dl.linspace(*ends, num, dtype=dtype))


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
    for dtype in (*FLOATS, "int32", "uint8"):
        result, work = counted(
            eager_machine, lambda dtype=dtype: dl.linspace(1, 97, 10_007, dtype=dtype, device="cuda")
        )
        assert work == (1, 0), dtype
        assert result.device.type == dl.DeviceType.kDLCUDA
    for ends in ((-1.0, 1.0), (-0.0, 4.0), (float("inf"), 4.0), (-7.5, 7)):
        for dtype in ("float32", "int64")[: 1 if ends[0] > 9 else 2]:
            _, (_, copies) = counted(
                eager_machine, lambda e=ends, d=dtype: dl.linspace(*e, 1001, dtype=d, device="cuda")
            )
            assert copies == 0
    _, (_, copies) = counted(eager_machine, lambda: dl.eye(300, 200, device="cuda"))
    assert copies == 0


def test_a_number_that_the_dtype_does_not_hold_is_refused():
    with pytest.raises(OverflowError, match="arange"):
        dl.arange(0, 300, dtype="int8", device="cuda")
    with pytest.raises(dl.DeviceError, match="arange"):
        dl.arange(5, device="metal")
    with pytest.raises(OverflowError, match="linspace"):
        dl.linspace(0, 300, 5, dtype="int8", device="cuda")
    with pytest.raises(dl.DeviceError, match="linspace"):
        dl.linspace(0, 1, device="metal")
