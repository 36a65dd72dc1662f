# SPDX-License-Identifier: Apache-2.0
"""Fused functions of CUDA tensors: the bits of their steps, in one kernel for each group of steps."""

import sys
from pathlib import Path

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order as machine_order  # noqa: E402  the fixture is used by name
from test_tensor_cuda import numbers  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
from programs import SIZES, bits, check_program, outcome  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
host_driver = pytest.mark.skipif(setup.ON_CARD, reason="reads the host driver's counters")


def launches(machine, call):
    """The result of a call, and how many kernels it has launched."""
    before = machine.statistics().launches
    result = call()
    return result, machine.statistics().launches - before


def check_steps(machine, function, *arguments, most):
    """Compare a fused function with its steps; `most`: how many kernels it may launch."""
    expected = outcome(function, arguments)
    assert not isinstance(expected, str), expected
    result, count = launches(machine, lambda: dl.fuse(function)(*arguments))
    assert bits(result) == expected
    assert count <= most


# -- random programs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(6), 11, 12])
def test_drawn_programs_have_the_bits_of_their_steps(machine_order, seed):
    check_program(seed, SIZES[0], "cuda")


@pytest.mark.parametrize("seed", [7, 15, 23])
def test_drawn_programs_of_large_tensors_have_the_bits_of_their_steps(eager_machine, seed):
    check_program(seed, SIZES[1], "cuda")


# -- element-wise groups ----------------------------------------------------------------------------------------------


@host_driver
def test_steps_are_one_kernel_whatever_the_layout(eager_machine):
    x, y = numbers((40, 33), "float32").to("cuda"), numbers((40, 33), "float32").to("cuda")
    distance = lambda x, y: dl.sqrt(x * x + y * y)  # noqa: E731
    for a, b in ((x, y), (x, y[:1]), (x[:, :1], y[:1]), (x.T, y.T), (x[::2, ::3], y[::2, ::3]), (x[:, ::-1], y[3])):
        check_steps(eager_machine, distance, a, b, most=1)
    check_steps(eager_machine, lambda x, y: (x + y, x * y, dl.less(x, y)), x, y, most=1)
    check_steps(eager_machine, lambda x, y: (x + y, y * 2), x, y[:1], most=1)


@host_driver
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint8", "int64", "bool", "complex64", "float64"])
def test_every_dtype_is_rounded_after_each_step(eager_machine, dtype):
    x = numbers((1000,), dtype).to("cuda")
    check_steps(eager_machine, lambda x: (x + x) * x + x, x, most=1)
    check_steps(
        eager_machine, lambda x: (dl.where(x == x, x, x), x.astype(dl.result_type(x, dl.float32)) * 3), x, most=1
    )


@host_driver
def test_saturation_and_casts_are_steps(eager_machine):
    x, y = numbers((100,), "uint8").to("cuda"), numbers((100,), "uint8").to("cuda")
    check_steps(eager_machine, lambda x, y: dl.add(dl.multiply(x, y, saturate=True), 0.5, saturate=True), x, y, most=1)
    scaled = lambda x: dl.cast(x, "int8", scale=0.5, offset=-7.0, rounding="nearest", saturate=True)  # noqa: E731
    check_steps(eager_machine, lambda x: scaled(x) + scaled(x * 3), x, most=1)


@host_driver
def test_another_number_compiles_nothing(eager_machine):
    x = numbers((64,), "float32").to("cuda")
    scale = dl.fuse(lambda x, factor, offset: x * factor + offset)
    scale(x, 2.0, 1.0)
    before = eager_machine.statistics().host_compilations
    results = scale(x, 0.5, -1.0), scale(x[:7], 3.0, 0.0)
    assert eager_machine.statistics().host_compilations == before
    assert bits(results) == bits((x * 0.5 + -1.0, x[:7] * 3.0 + 0.0))


def test_out_may_be_an_argument(machine_order):
    x = numbers((50,), "float32").to("cuda")
    expected = bits(x * 2 + 1)
    assert dl.fuse(lambda x: x * 2 + 1)(x, out=x) is x
    assert bits(x) == expected


def test_misaligned_elements_have_the_bits_of_their_steps(eager_machine):
    words = dl.zeros(41, dtype="uint8", device="cuda")
    x = words[1:].view("float32")
    assert bits(dl.fuse(lambda x: x * 2 + 1)(x)) == bits(dl.ones(10, dtype="float32"))


# -- reductions -------------------------------------------------------------------------------------------------------


@host_driver
@pytest.mark.parametrize("length", [2, 3, 33, 256, 1000, 2500, 5000, 9000])
def test_rows_of_any_length_are_one_kernel(eager_machine, length):
    x = numbers((5, length), "float32").to("cuda")
    softmax = lambda x: (p := dl.exp(x - dl.max(x, axis=-1, keepdims=True))) / dl.sum(p, axis=-1, keepdims=True)  # noqa: E731
    check_steps(eager_machine, softmax, x, most=1)
    check_steps(eager_machine, lambda x: dl.sum(x * x, axis=-1), x, most=2)


@host_driver
def test_reductions_over_outer_and_several_axes_are_one_kernel(eager_machine):
    x = numbers((30, 20, 10), "float32").to("cuda")
    for axes in (0, 1, (0, 1), (1, 2), (0, 2), None):
        centred = lambda x, axes=axes: x - dl.mean(x, axis=axes, keepdims=True)  # noqa: E731
        check_steps(eager_machine, centred, x, most=1)
    check_steps(eager_machine, lambda x: dl.argmax(x * x, axis=-1), x, most=2)  # alone: indices tell an order
    check_steps(eager_machine, lambda x: dl.sum((x * 10).astype("int8"), axis=-1), x, most=1)
    check_steps(eager_machine, lambda x: (dl.any(x > 2), dl.all(x > -9), dl.count_nonzero(x > 0)), x, most=2)


@host_driver
def test_a_long_row_is_reduced_in_parts(eager_machine):
    x = numbers((300_000,), "float32").to("cuda")
    check_steps(eager_machine, lambda x: dl.sqrt(dl.sum(x * x)), x, most=2)
    check_steps(eager_machine, lambda x: x / dl.max(x), x, most=2)
    check_steps(eager_machine, lambda x: dl.sum(x, initial=2.5) + dl.mean(x * 2), x, most=2)


@host_driver
def test_sums_that_cancel_are_added_again(eager_machine):
    """States of two words do not decide them."""
    tiny = np.float32(2.0) ** -149
    x = dl.asarray(np.float32([[1e30, 1, -1e30, tiny] * 300, [1e30, 2, -1e30, -tiny] * 300])).to("cuda")
    wide = lambda x: dl.sum(x.astype("float64") * 1e270, axis=-1)  # noqa: E731
    check_steps(eager_machine, wide, x, most=1)
    check_steps(eager_machine, lambda x: dl.sum(x * 1, axis=-1), x, most=1)
    check_steps(eager_machine, lambda x: x - dl.sum(x * 1, axis=-1, keepdims=True), x, most=1)
    check_steps(eager_machine, lambda x: dl.mean(x * 1, axis=0), dl.concat([x, x[::-1]] * 20), most=1)
    check_steps(eager_machine, lambda x: dl.sum(x * 1), dl.concat([x] * 200), most=2)


@host_driver
def test_products_end_a_group(eager_machine):
    x = numbers((20, 50), "float32").to("cuda")
    check_steps(eager_machine, lambda x: dl.prod(x * 2, axis=-1) + 1, x, most=4)


def standardised(x, axis=-1):
    return (x - dl.mean(x, axis=axis, keepdims=True)) / dl.std(x, axis=axis, keepdims=True)


VARIANCES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int8", "int32", "uint64", "bool"]


@host_driver
@pytest.mark.parametrize("dtype", VARIANCES)
def test_variances_are_part_of_a_kernel(eager_machine, dtype):
    x = numbers((20, 50), dtype).to("cuda")
    # Each program is compiled: the axis changes the loops, whatever the dtype.
    for axis in (-1, 0, None) if dtype in ("float32", "complex64", "int8") else (-1,):
        check_steps(
            eager_machine,
            lambda x, axis=axis: (
                dl.var(x * 1, axis=axis),
                dl.std(x, axis=axis, correction=1.5),
                dl.mean(x * 1, axis=axis),
            ),
            x,
            most=1,
        )
    if dtype != "bool":
        check_steps(eager_machine, standardised, x, most=1)
        check_steps(eager_machine, standardised, dl.concat([x] * 200, axis=1), most=3)  # longer than registers hold


@host_driver
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_variances_of_long_rows_are_joined(eager_machine, dtype):
    x = numbers((300_000,), dtype).to("cuda")
    check_steps(eager_machine, lambda x: dl.std(x * 1), x, most=3 if dtype == "float64" else 2)
    check_steps(eager_machine, standardised, x, most=3 if dtype == "float64" else 2)


# Rows whose variances the states of two words do not decide, or that are not finite.
UNDECIDED = [
    [1e30, 1, -1e30, 2.0**-149] * 10,
    [1e16, 1e16 + 2] * 20,
    [1e300] * 40,
    [1e200, -1e-200] * 20,
    [1e-310, 2e-310] * 20,
    [1e308, -1e308] * 20,
    [float("inf"), 1.0] * 20,
    [float("nan"), 1.0] * 20,
    [0.0, -0.0] * 20,
    [3.0] * 40,
]


@host_driver
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_variances_that_states_do_not_decide_are_read_again(eager_machine, dtype):
    with np.errstate(over="ignore"):
        x = dl.asarray(np.array(UNDECIDED).astype(dtype)).to("cuda")
    if dtype == "complex128":
        x = x + dl.flip(x, axis=0) * 1j
    for correction in (0, 1, 39.5, 40):
        check_steps(
            eager_machine,
            lambda x, c=correction: (dl.var(x * 1, axis=-1, correction=c), dl.std(x, axis=-1, correction=c)),
            x,
            most=1,
        )
    check_steps(eager_machine, lambda x: dl.var(x * 1, axis=0), x, most=1)
    check_steps(eager_machine, lambda x: dl.std(x * 1), dl.concat([x] * 300), most=3)


def test_errors_are_those_of_the_steps(eager_machine):
    x, y = dl.zeros(3, device="cuda"), dl.zeros(2, device="cuda")
    with pytest.raises(ValueError, match=r"add: shapes \(3,\) and \(2,\) do not broadcast"):
        dl.fuse(lambda x, y: x + y)(x, y)
    with pytest.raises(TypeError, match="it reads values"):
        dl.fuse(lambda x: x + 1 if dl.max(x) > 1 else x)(x)
    assert dl.fuse(lambda x: x + 1)(x[:0]).shape == (0,)


@host_driver
def test_without_a_compiler_the_steps_run_one_by_one(eager_machine):
    x = numbers((90,), "int16").to("cuda")
    function = lambda x: (x * 3 - x) // 7  # noqa: E731
    expected, steps = launches(eager_machine, lambda: bits(function(x)))
    eager_machine.configure(compiler_flags="-fno-such-option")
    try:
        fused = dl.fuse(function)
        for _ in range(2):
            assert launches(eager_machine, lambda: bits(fused(x))) == (expected, steps)
    finally:
        eager_machine.configure(compiler_flags="")


@host_driver
def test_a_launch_setting_changes_no_bit(eager_machine):
    x = numbers((7, 900), "float32").to("cuda")
    function = dl.fuse(lambda x: dl.sqrt(x * x) + dl.sum(x, axis=-1, keepdims=True))
    expected = bits(function(x))
    with dl.cuda.launch(num_threads=64, blocks_per_sm=1):
        assert bits(function(x)) == expected
        assert bits(dl.fuse(lambda x: x * 2 + 1)(x)) == bits(x * 2 + 1)


# -- functions of the package -----------------------------------------------------------------------------------------

COMPOSED = {
    "softmax": (lambda x, y: dl.softmax(x, axis=1), 1, 1),
    "softmax of float16": (lambda x, y: dl.softmax(x.astype("float16"), axis=1), 1, 2),
    "softmax of columns": (lambda x, y: dl.softmax(x, axis=0), 1, 1),
    "log_softmax": (lambda x, y: dl.log_softmax(x, axis=1), 1, 1),
    "logsumexp": (lambda x, y: dl.logsumexp(x, axis=1), 1, 1),
    "isclose": (lambda x, y: dl.isclose(x, y), 2, 1),
    "isclose, NaN": (lambda x, y: dl.isclose(x, y, equal_nan=True), 2, 1),
    "allclose": (lambda x, y: dl.allclose(x, y), 2, 2),
    "norm": (lambda x, y: dl.linalg.norm(x), 1, 2),
    "vector_norm": (lambda x, y: dl.linalg.vector_norm(x, axis=1), 1, 1),
    "vecdot": (lambda x, y: dl.vecdot(x, y), 2, 1),
    "vecdot of all": (lambda x, y: dl.vecdot(x.reshape((-1,)), y.reshape((-1,))), 2, 2),
    "var": (lambda x, y: dl.var(x, axis=1), 1, 1),
    "std of all": (lambda x, y: dl.std(x), 1, 2),
    "standardised rows": (dl.fuse(lambda x, y: standardised(x)), 1, 1),
    "standardised columns": (dl.fuse(lambda x, y: standardised(x, axis=0)), 1, 1),
    # The emulator has no cache: it counts y[0] and y[1] once for every row.
    "layer norm": (dl.fuse(lambda x, y: standardised(x) * y[0] + y[1]), 3, 1),
    "sum of an expression": (dl.fuse(lambda x, y: dl.sum((x - y) ** 2)), 2, 2),
    "any of a comparison": (dl.fuse(lambda x, y: dl.any(x > y, axis=1)), 2, 1),
}


@host_driver
@pytest.mark.skipif(setup.SANITIZE, reason="two instrumentations of one kernel exclude each other")
@pytest.mark.parametrize("name", COMPOSED)
def test_composed_functions_move_little_more_than_their_operands_and_results(eager_machine, name):
    """Counted with threads that are preempted at any access, so that a missing barrier gives wrong data too."""
    machine, (function, operands, most) = eager_machine, COMPOSED[name]
    a, b = numbers((128, 512), "float32"), numbers((128, 512), "float32")
    x, y = a.to("cuda"), b.to("cuda")
    expected = function(a, b)
    machine.configure(threads="random:3")
    try:
        before = machine.statistics()
        result = function(x, y)
        after = machine.statistics()
    finally:
        machine.configure(threads="whole")
    if isinstance(expected, bool):
        assert result is expected
        size = 1
    else:
        assert bits(result) == bits(expected)
        size = result.nbytes
    moved = 32 * (after.sectors_read - before.sectors_read + after.sectors_written - before.sectors_written)
    casts = 1.5 if "float16" in name else 0  # of the operand, a launch of its own
    assert moved <= 1.15 * (x.nbytes * (0.5 if casts else operands) + size) + casts * x.nbytes
    assert after.launches - before.launches <= most


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128", "float16", "int32"])
def test_norms_and_dot_products_have_the_bits_of_the_cpu(eager_machine, dtype):
    a, b = numbers((3, 70), dtype), numbers((3, 70), dtype)
    x, y = a.to("cuda"), b.to("cuda")
    assert bits(dl.vecdot(x, y)) == bits(dl.vecdot(a, b))
    assert bits(dl.vecdot(x[:1], y[:, ::-1])) == bits(dl.vecdot(a[:1], b[:, ::-1]))
    assert bits(dl.vecdot(x, y, axis=-2)) == bits(dl.vecdot(a, b, axis=-2))
    assert bits(dl.linalg.vector_norm(x, axis=0)) == bits(dl.linalg.vector_norm(a, axis=0))
    assert bits(dl.linalg.norm(x)) == bits(dl.linalg.norm(a))
    if dtype == "float64":
        for scale in (1e-300, 1e300, float("inf"), float("nan"), 0.0):
            assert bits(dl.linalg.norm(x * scale)) == bits(dl.linalg.norm(a * scale))
    assert bits(dl.isclose(x, y, rtol=0.5)) == bits(dl.isclose(a, b, rtol=0.5))
