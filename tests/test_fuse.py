# SPDX-License-Identifier: Apache-2.0
"""Fused functions: the bits, shapes, dtypes and errors of their steps, whatever the arguments are."""

import functools
import itertools
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dltensor as dl

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
import programs
from programs import bits, check_program, outcome, program

# -- random programs --------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_drawn_programs_have_the_bits_of_their_steps(seed):
    check_program(seed, (2, 3, 5, 16, 40))


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs_of_large_tensors_have_the_bits_of_their_steps(seed):
    check_program(seed, (3, 70, 130, 300))


def test_a_planted_defect_is_found(monkeypatch, capsys):
    def defective(function):
        def run(*arguments):
            results = function(*arguments)
            first = results[0] if isinstance(results, tuple) else results
            if first.dtype == dl.float32 and first.size > 20:
                first = dl.copy(first)
                first.ravel()[-1] = 1.25
            return (first, *results[1:]) if isinstance(results, tuple) else first

        return run

    monkeypatch.setattr(dl, "fuse", defective)
    monkeypatch.setattr(sys, "argv", ["programs.py", "--programs", "60"])
    assert programs.main() == 1
    assert "differs from its steps" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16", "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(), (1,), (100,), (512,), (2, 5, 51), (600,), (0,), (3, 0), (9, 9), (70, 3), (3, 70), (1, 9), (9, 1)]
)
def test_few_elements_have_the_bits_of_their_steps(dtype, shape):
    def many(x, y):
        p, q, s = x * y, x - y, x + y
        return (p * q - p * s) * (q + s) * p

    def total(x, y):
        return dl.sum((x - y) * (x - y))

    def standard(x, y):
        return (x - dl.mean(x, keepdims=True)) * y / dl.std(x * y)

    def norm(x, y):
        return dl.sqrt(dl.sum(x * x, keepdims=True)) + dl.mean(y)

    def rows(x, y):
        less = x - dl.mean(x, axis=-1, keepdims=True)
        return less * y / dl.sum(y * y, axis=-1, keepdims=True)

    def of_rows(x, y):
        return dl.sqrt(dl.sum(x * y, axis=-1)) + dl.prod(x + y, axis=-1)

    def misplaced(x, y):  # (n,) beside (n, n) is along the columns
        return x - dl.sum(y, axis=-1)

    x, y = dl.random.Generator(3).normal(size=(2, *shape))
    x, y = [(3 * t + 1j * t if dtype.startswith("complex") else 3 * t).astype(dtype) for t in (x, y)]
    for function in (many, total, standard, norm, *((rows, of_rows, misplaced) if shape else ())):
        fused, checked = dl.fuse(function), dl.fuse(function, check=True)
        expected = outcome(function, (x, y))
        for _ in range(4):  # recorded, then run again
            assert outcome(fused, (x, y)) == outcome(checked, (x, y)) == expected, function.__name__
        for other in (x.reshape(-1)[:1], dl.concat([x.reshape(-1), y.reshape(-1)] * 3)):
            assert outcome(fused, (other, other)) == outcome(function, (other, other))
        assert outcome(fused, (x, y)) == expected


def test_signs_of_nans_are_no_difference():
    checked = dl.fuse(lambda x, y: (x * y) * dl.prod(x * y), check=True)
    x = dl.asarray(np.full(37, np.inf) + 1j * np.inf)
    for other in (-1j * x, dl.negative(x), x * dl.nan):
        assert dl.isnan(dl.real(checked(x, other))).shape == (37,)
    numbers = itertools.count()
    changing = dl.fuse(lambda x: x + next(numbers), check=True)
    for call in (changing, changing):  # recorded, and run again
        with pytest.raises(RuntimeError, match="differs from that of its steps"):
            call(dl.ones(3))


def test_a_reduction_of_few_elements_takes_numbers_and_makes_one():
    fused = dl.fuse(lambda x, scale: dl.max(x * scale) + 1)
    x = dl.asarray([1.0, -2.0, 4.0])
    assert [fused(x, scale).item() for scale in (2.0, 2.0, -2.0, 0.5)] == [9.0, 9.0, 5.0, 3.0]
    assert fused(x, 2.0).shape == ()
    for keepdims, axis, shape in ((True, -1, (4, 1)), (False, -1, (4,)), (True, (0, 1), (1, 1)), (False, 0, (3,))):
        sums = dl.fuse(lambda x, axis, keepdims: dl.sum(x * x, axis=axis, keepdims=keepdims) + 1)
        y = dl.asarray(np.arange(12.0).reshape(4, 3))
        for _ in range(3):
            assert sums(y, axis, keepdims).tolist() == (dl.sum(y * y, axis=axis, keepdims=keepdims) + 1).tolist()
            assert sums(y, axis, keepdims).shape == shape
    rows = dl.fuse(lambda x: dl.sum(x * x, keepdims=True))
    assert [rows(dl.ones((2, 3))).shape for _ in range(3)] == [(1, 1)] * 3
    assert rows(dl.ones((2, 3))).strides == dl.ones((1, 1)).strides


@pytest.mark.parametrize("threads", [1, 2])
def test_results_do_not_depend_on_threads(threads):
    before = dl.num_threads()
    x = dl.random.Generator(5).normal(size=(700, 901), dtype="float32")
    steps = [("unary", "square", 0), ("reduce", "sum", 1, None, True), ("binary", "divide", 0, 2), ("unary", "exp", 3)]
    function = program(steps, [2, 4])
    expected = bits(function(1, 2, x))
    dl.set_num_threads(threads)
    try:
        assert bits(dl.fuse(function)(1, 2, x)) == expected
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5000, 70), 0), ((70, 5000), 1), ((90, 40, 50), 1), ((20_000, 3), 0), ((3, 20_000), 0), ((9, 100, 150), (0, 2)),
     ((9, 100, 150), 1), ((2, 3, 5000), (1, 2)), ((700, 9), 1)],
)  # fmt: skip
def test_chains_around_reductions_have_the_bits_of_their_steps(shape, axis, threads):
    def function(x, row):
        low = dl.min(x, axis=axis, keepdims=True)
        scaled = (x - low) * row
        wide = scaled.astype("float64")
        kept = dl.where(scaled > 1, dl.sqrt(dl.abs(wide)), wide * 0.5 + row).astype("float32")
        shares = kept / dl.sum(kept, axis=axis, keepdims=True) + low
        most = dl.max(shares.astype("float64") * 3, axis=axis, keepdims=True)
        return (shares.astype("float64") - most).astype("float32"), dl.mean(kept, axis=axis), scaled > most

    before = dl.num_threads()
    dl.set_num_threads(threads)
    try:
        a = np.random.default_rng(5).standard_normal(shape).astype("float32")
        row = dl.asarray(np.random.default_rng(6).standard_normal(shape[-1:]).astype("float32"))
        for x in (a, np.asfortranarray(a), np.repeat(a, 2, -1)[..., ::2]):
            x = dl.asarray(x)
            assert bits(dl.fuse(function)(x, row)) == bits(function(x, row))
    finally:
        dl.set_num_threads(before)


def test_totals_count_what_is_repeated_once():
    x, y = dl.ones((200, 300)), dl.ones((1, 300))
    fused = dl.fuse(lambda x, y: (x + y, dl.sum(y * 2), dl.sum(x * y)))
    function = lambda x, y: (x + y, dl.sum(y * 2), dl.sum(x * y))  # noqa: E731
    assert bits(fused(x, y)) == bits(function(x, y))
    assert bits(fused(y, x)) == bits(function(y, x))
    assert bits(fused(x, x[:, :1])) == bits(function(x, x[:, :1]))


# -- functions of users -----------------------------------------------------------------------------------------------


@dl.fuse
def scaled(x, mean, std=2.0):
    """Scale."""
    return (x - mean) / std


X = dl.asarray([1.0, 2.0, 4.0])


def test_numbers_are_operands():
    fused = dl.fuse(lambda x, low: x * low + low)
    assert fused(X, 2.0).tolist() == [4.0, 6.0, 10.0]
    assert "multiply(argument 0, number 1)" in fused.plan(X, 3.0)
    assert fused(X, -0.0).tolist() == [0.0, 0.0, 0.0]
    assert fused(X, 3).tolist() == [6.0, 9.0, 15.0]
    assert fused(X, True).tolist() == [2.0, 3.0, 5.0]
    for number in (2, 100, 300):  # beside uint8 a number keeps its dtype, or fails as the step does
        small = dl.asarray([1, 2], dtype="uint8")
        if number < 256:
            assert fused(small, number).dtype == dl.uint8
        else:
            with pytest.raises(OverflowError, match="multiply: 300 is outside uint8"):
                fused(small, number)


def test_a_number_that_is_read_takes_a_recording_of_its_own():
    fused = dl.fuse(lambda x, p: x + 1 if p > 0 else x - 1)
    assert fused(X, 2.0).tolist() == [2.0, 3.0, 5.0]
    assert fused(X, -2.0).tolist() == [0.0, 1.0, 3.0]
    assert fused(X, 2.0).tolist() == [2.0, 3.0, 5.0]
    zero = dl.fuse(lambda x, p: x * float(p))
    assert [str(t) for t in zero(X, 0.0).tolist()] == ["0.0"] * 3
    assert [str(t) for t in zero(X, -0.0).tolist()] == ["-0.0"] * 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x * (k or 5),
        lambda x, k: x * (5 if isinstance(k, float) else 7),
        lambda x, k: x * (5 if type(k) is int else 7),
        lambda x, k: x * float(f"{k}"),
        lambda x, k: x + hash(k) % 7,
        lambda x, k: x * (k * k + 1),
        lambda x, k: x**k,
        lambda x, k: dl.where(x > 0, k, 2.0),
        lambda x, k: dl.where(x > k, x, 2),
        lambda x, k: dl.clip(x, 2, k),
        lambda x, k: x + {0: 1, 2: 5}.get(k, 9),
        lambda x, k: x + round(k) + abs(k) + int(k),
        lambda x, k: (x + 1 if k == 2 else x) * k,
        lambda x, k: dl.sum(x, axis=0) + dl.full_like(x, k),
    ],
)
def test_numbers_that_decide_anything_are_constants(function):
    fused = dl.fuse(function)
    for x in (dl.asarray([1, 2, 3]), dl.asarray([1.5, 2.0, -3.0])):
        for k in (1, 0, 2, 2.0, 0.0, -1, 7.5, -0.0):
            for _ in range(2):
                assert outcome(fused, (x, k)) == outcome(function, (x, k)), (x, k)


def test_the_name_the_text_and_the_parameters_stay():
    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Scale."
    assert repr(scaled) == "<fused function scaled>"
    assert scaled(X, std=4.0, mean=1.0).tolist() == [0.0, 0.25, 0.75]
    assert scaled(X, 1.0).tolist() == [0.0, 0.5, 1.5]
    with pytest.raises(TypeError, match="missing a required argument: 'mean'"):
        scaled(X, std=1.0)
    assert pickle.loads(pickle.dumps(scaled)) is scaled


class Model:
    bias = 3.0

    @dl.fuse
    def forward(self, x):
        return x * 2 + self.bias


@pytest.mark.parametrize("value", [Model(), object(), [Model()], {"a": {1, 2}}, np.random])
def test_arguments_that_may_change_are_refused(value):
    with pytest.raises(TypeError, match="may change between calls of a fused function; pass the tensors and numbers"):
        dl.fuse(lambda x, value: x + 1)(X, value)
    with pytest.raises(TypeError, match="forward: an argument of type Model may change"):
        Model().forward(X)


def test_other_arguments_take_recordings_of_their_own():
    fused = dl.fuse(lambda x, how: x * how["by"] + len(how["names"]) if how["sign"] else -x)
    how = {"by": 2.0, "names": ["a", "b"], "sign": True}
    assert fused(X, how).tolist() == [4.0, 6.0, 10.0]
    how["names"].append("c")  # the recording holds for what the list was
    assert fused(X, how).tolist() == [5.0, 7.0, 11.0]
    how["by"] = 3.0
    assert fused(X, how).tolist() == [6.0, 9.0, 15.0]
    how["sign"] = False
    assert fused(X, how).tolist() == [-1.0, -2.0, -4.0]
    assert dl.fuse(lambda x, f: f(x))(X, dl.square).tolist() == [1.0, 4.0, 16.0]
    assert dl.fuse(lambda x, d: x.astype(d))(X, dl.int8).dtype == dl.int8


GAIN = 2.0


def test_numbers_that_the_function_names_may_change(monkeypatch):
    offset = 1.0
    fused = dl.fuse(lambda x: x * GAIN + offset)
    for _ in range(2):
        assert fused(X).tolist() == [3.0, 5.0, 9.0]
    offset = 2.0
    for _ in range(2):
        assert fused(X).tolist() == [4.0, 6.0, 10.0]
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    for _ in range(2):
        assert fused(X).tolist() == [5.0, 8.0, 14.0]


def test_the_default_dtype_is_that_of_the_call():
    fused, x = dl.fuse(lambda x: dl.sqrt(x) + 1), dl.asarray([4, 9])
    assert fused(x).dtype == dl.float32
    with dl.default_dtype("float64"):
        assert fused(x).dtype == dl.float64
        assert fused(x).dtype == dl.float64
    assert fused(x).dtype == dl.float32


def test_a_decorator_with_options():
    @dl.fuse(check=True)
    def both(x):
        return x + 1, x.sum()

    first, total = both(X)
    assert (first.tolist(), total.item()) == ([2.0, 3.0, 5.0], 7.0)


def test_results_that_are_one_tensor():
    def twice(x):
        y = x * 2
        return y, y, y[None], dl.ones_like(x)

    first, second, third, fourth = dl.fuse(twice)(X)
    assert first is second
    assert first.tolist() == third[0].tolist() == [2.0, 4.0, 8.0]
    assert fourth.tolist() == [1.0] * 3


def test_what_the_function_has_made_may_be_written_again():
    def function(x):
        y = x * 2
        z = y + 1
        y += z
        dl.multiply(y, y, out=y)
        return y, z

    assert bits(dl.fuse(function)(X)) == bits(function(X))


def test_callable_objects_are_fused():
    class Scale:
        def __call__(self, x):
            return x * 2

    assert dl.fuse(Scale())(X).tolist() == [2.0, 4.0, 8.0]
    assert repr(dl.fuse(functools.partial(scaled, mean=1.0))) == "<fused function partial>"


def test_results_that_are_arguments_and_sequences():
    y = X + 1
    first, second, third = dl.fuse(lambda a, b: (b, a * 2, b))(X, y)
    assert first is y
    assert third is y
    assert second.tolist() == [2.0, 4.0, 8.0]
    assert type(dl.fuse(lambda a: [a + 1])(X)) is list


def test_the_plan_names_steps_passes_and_results():
    text = dl.fuse(lambda x: dl.exp(x - x.max(axis=1, keepdims=True)) * 0.5).plan(dl.ones((3, 4)))
    assert text.splitlines() == [
        "pass 1:",
        "    %1 = max(argument 0, axis=(1,)): float32",
        "    %2 = subtract(argument 0, %1): float32",
        "    %3 = exp(%2): float32",
        "    %5 = multiply(%3, 0.5): float32",
        "return %5",
    ]
    fixed = dl.fuse(lambda x: x / x.shape[0]).plan(dl.ones((3, 4)))
    assert fixed.endswith("for these shapes and strides alone")


def test_shapes_that_are_read_are_those_of_the_call():
    mean = dl.fuse(lambda x: x.sum(axis=0) / x.shape[0])
    for n in (2, 3, 5, 1):
        assert mean(dl.ones((n, 2))).tolist() == [1.0, 1.0]
    turned = dl.fuse(lambda x: x.T + x)
    for n in (3, 1, 2):
        x = dl.arange(n * n, dtype="float32").reshape((n, n))
        assert turned(x).tolist() == (x.T + x).tolist()
    row = dl.fuse(lambda x, y: x[:, None] * y)
    assert row(X, dl.ones(2)).shape == (3, 2)


def test_extents_of_one_broadcast_as_in_the_steps():
    add = dl.fuse(lambda x, y: (x + y) * 2)
    for a, b in (((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4)), ((1, 4), (3, 1))):
        x, y = dl.ones(a), dl.full(b, 2.0)
        assert add(x, y).tolist() == ((x + y) * 2).tolist()
    with pytest.raises(ValueError, match="shapes \\(3, 4\\) and \\(2, 4\\) do not broadcast"):
        add(dl.ones((3, 4)), dl.ones((2, 4)))
    assert add(dl.ones((0, 4)), dl.ones((1, 4))).shape == (0, 4)
    assert dl.fuse(lambda x: (x * 2).sum(axis=0))(dl.ones((0, 3))).tolist() == [0.0] * 3


def test_results_keep_the_order_of_their_operands():
    x = dl.ones((3, 4, 5)).permute(2, 0, 1)
    assert dl.fuse(lambda x: x * 2 + 1)(x).strides == (x * 2 + 1).strides


# -- out= -------------------------------------------------------------------------------------------------------------


def test_results_go_to_out():
    out = dl.zeros(3)
    assert scaled(X, 1.0, out=out) is out
    assert out.tolist() == [0.0, 0.5, 1.5]
    wide = dl.zeros(3, dtype="float64")
    assert scaled(X, 1.0, out=wide).tolist() == [0.0, 0.5, 1.5]
    array = np.zeros(3, dtype="float32")
    assert scaled(X, 1.0, out=array) is array
    assert array.tolist() == [0.0, 0.5, 1.5]
    x = X.copy()
    assert dl.fuse(lambda x: x + x.sum())(x, out=x).tolist() == [8.0, 9.0, 11.0]
    base = dl.arange(5, dtype="float32")
    dl.fuse(lambda a: a * 2 + 1)(base[:4], out=base[1:])
    assert base.tolist() == [0.0, 1.0, 3.0, 5.0, 7.0]


def test_an_out_that_does_not_fit_is_refused_before_anything_is_written():
    out = dl.zeros(2)
    with pytest.raises(ValueError, match="the result has shape \\(3,\\), out has shape \\(2,\\)"):
        scaled(X, 1.0, out=out)
    assert out.tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="one tensor"):
        dl.fuse(lambda x: (x + 1, x))(X, out=dl.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        scaled(X, 1.0, out=dl.broadcast_to(dl.zeros(1), (3,)))


# -- what is no step --------------------------------------------------------------------------------------------------

OUTSIDE = dl.ones(3)
REFUSED = {
    "a value in a condition": lambda x: x if x.sum() > 0 else -x,
    "a tensor that is no argument": lambda x: x + OUTSIDE,
    "a list of numbers": lambda x: dl.add(x, [1.0, 2.0, 3.0]),
    "a product": lambda x: x @ x,
    "a sort": lambda x: dl.sort(x),
    "an index of values": lambda x: x[x > 0],
    "a number of it": lambda x: x + float(x[0]),
    "a function of NumPy": lambda x: np.asarray(x) + 1,
    "its list": lambda x: x + x.tolist()[0],
    "a running sum": lambda x: dl.cumsum(x),
    "an assignment": lambda x: x.__iadd__(1),
    "a part that is set": lambda x: dl.concat([x, x]),
    "an item that is set": lambda x: x.__setitem__(0, 1.0),
    "another output": lambda x: dl.add(x, x, out=x),
    "a mask of a reduction": lambda x: dl.sum(x, where=x > 1),
    "a reversed result": lambda x: (x + 1)[::-1] * 2,
    "an export": lambda x: dl.from_dlpack(x.__dlpack__()) + x,
    "a copy on the host": lambda x: x.to("cpu") + 1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_that_is_no_program_is_refused_with_its_line(name):
    before = X.tolist()
    with pytest.raises(TypeError, match=r"line \d+ of .*test_fuse.py cannot be fused: ") as error:
        dl.fuse(REFUSED[name])(X)
    assert str(REFUSED[name].__code__.co_firstlineno) in str(error.value)
    assert X.tolist() == before
    assert scaled(X, 1.0).tolist() == [0.0, 0.5, 1.5]  # the thread records no longer


def test_results_that_are_no_tensors_are_refused():
    for function in (lambda x: 3, lambda x: None, lambda x: (x + 1, {})[1]):
        with pytest.raises(TypeError, match="a fused function returns tensors, got"):
            dl.fuse(function)(X)
    with pytest.raises(TypeError, match="take views of its result"):
        dl.fuse(lambda x: (x + 1)[::2])(X)


def test_errors_of_the_function_pass_as_they_are():
    def fails(x):
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        dl.fuse(fails)(X)
    with pytest.raises(TypeError, match="bitwise_and: not defined for float32"):
        dl.fuse(lambda x: dl.bitwise_and(x, x))(X)


def test_a_stand_in_that_is_kept_is_of_no_use():
    kept = []
    dl.fuse(lambda x: (kept.append(x), x + 1)[1])(X)
    for use in (lambda t: t + 1, lambda t: t.tolist(), lambda t: t.numpy(), lambda t: bool(t[0]), lambda t: t.sum()):
        with pytest.raises((dl.DeviceError, BufferError)):
            use(kept[0])
    assert kept[0].shape == (3,)


def test_fused_functions_inside_fused_functions_are_their_steps():
    outer = dl.fuse(lambda x: scaled(x, 1.0) * 2)
    assert outer(X).tolist() == [0.0, 1.0, 3.0]
    assert len(outer.plan(X).splitlines()) == 5


def test_fused_functions_of_other_tensors_run_while_one_is_recorded():
    sums = []

    def function(x):
        sums.append(dl.softmax(OUTSIDE).sum().item() + scaled(OUTSIDE, 1.0, 1.0).sum().item())
        return x * 2

    assert dl.fuse(function)(X).tolist() == [2.0, 4.0, 8.0]
    assert sums == [1.0] * len(sums)


def test_functions_of_the_library_that_are_made_of_steps_are_fused():
    x = dl.random.Generator(2).normal(size=(20, 30))
    functions = [
        lambda x: dl.softmax(x, axis=-1),
        lambda x: dl.logsumexp(x, axis=-1),
        lambda x: dl.clip(x, -1, 1),
        lambda x: dl.nan_to_num(x),
        lambda x: (x.astype("uint8") < -1) | (x > 0),
        lambda x: x + dl.zeros_like(x) + dl.full_like(x, 2.0),
        lambda x: dl.round(x, 2),
        lambda x: dl.isclose(x, x + 1e-9),
        lambda x: dl.sinc(x),
        lambda x: dl.where(x > 0, dl.log1p(dl.abs(x)), x * 0.1),
        lambda x: dl.cast(x, "uint8", scale=100.0, offset=128.0, rounding="nearest", saturate=True),
    ]
    for function in functions:
        assert bits(dl.fuse(function)(x)) == bits(function(x))


def test_more_arguments_and_plans_than_are_kept():
    many = dl.fuse(lambda x, k: x + float(k))
    assert [many(X, k).tolist()[0] for k in range(80)] == [1.0 + k for k in range(80)]
    assert dl.fuse(lambda *xs: sum(xs[1:], xs[0]))(*[X] * 20).tolist() == [20.0, 40.0, 80.0]
    fused = dl.fuse(lambda x: x + 1)
    for ndim in range(8):
        for dtype in ("float32", "float64", "int32"):
            assert fused(dl.ones((2,) * ndim, dtype=dtype)).ndim == ndim
    assert fused(dl.ones((1,) * 20)).ndim == 20  # more dimensions than a program has: step by step


def test_long_functions_are_refused():
    def long(x):
        for _ in range(300):
            x = x + 1
        return x

    with pytest.raises(TypeError, match="so long a function"):
        dl.fuse(long)(X)


def test_operands_of_other_libraries():
    array = np.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
    fused = dl.fuse(lambda x, y: x * y + 1)
    assert fused(array, array.T).tolist() == (array * array.T + 1).tolist()
    assert fused(np.float64(2.0), X).tolist() == [3.0, 5.0, 9.0]


def test_threads_share_a_fused_function():
    fused, wrong = dl.fuse(lambda x, a: dl.sqrt(x * x + a).sum()), []

    def work(seed):
        for k in range(60):
            x = dl.full((3 + (seed + k) % 5, 40 * (1 + k % 3)), float(seed), dtype=("float32", "float64")[k % 2])
            if fused(x, k).item() != dl.sqrt(x * x + k).sum().item():
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
