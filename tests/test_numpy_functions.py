# SPDX-License-Identifier: Apache-2.0
"""NumPy's ufuncs and functions called with tensors: ours compute what exists here, NumPy the rest, nothing is lost."""

import functools
import math
import operator
import sys

import numpy as np
import pytest

import dltensor as dl
from dltensor._ops import numpy_dispatch as _numpy_dispatch


def sample(dtype="float32"):
    return dl.asarray([1, 2, 3], dtype=dtype)


A = np.array([3, 1, 2], np.float32)
ROWS = _numpy_dispatch._ROWS


def test_every_operation_that_is_a_ufunc_is_known():
    names = {ufunc.__name__ for ufunc in ROWS}
    assert {"add", "subtract", "multiply", "divide", "power", "sin", "arctan2", "invert", "isnan", "logaddexp"} <= names
    assert len(names) > 55
    # Those that numpy has under our name are found, whatever their operands.
    same = {
        name for name, row in dl.OPS.items() if isinstance(getattr(np, name, None), np.ufunc) and not row["swapped"]
    }
    assert {dl.OPS[name]["row"] for name in same} <= set(ROWS.values())


@pytest.mark.parametrize("ufunc", ROWS, ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_is_the_operation_of_the_same_meaning(ufunc):
    dtype = next(name for name, kinds in (("float32", "floats"), ("int32", "integers"), ("bool", "bool"))
                 if kinds in dl.OPS[ROWS[ufunc]]["kinds"])  # fmt: skip
    values = [0.5, 0.25, 0.75] if dtype == "float32" else [1, 0, 1]
    if ufunc is np.arccosh:
        values = [1.5, 1.25, 1.75]
    operands = [dl.asarray(values, dtype=dtype), dl.asarray(values[::-1], dtype=dtype)][: ufunc.nin]
    made = ufunc(*operands)
    assert type(made) is dl.Tensor
    assert made.tolist() == getattr(dl, ROWS[ufunc])(*operands).tolist()
    # The same meaning: NumPy itself says so.
    np.testing.assert_allclose(made.numpy(), ufunc(*[x.numpy() for x in operands]), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(sample(), A),
        lambda f: f(A, sample()),
        lambda f: f(sample(), 2),
        lambda f: f(2.5, sample()),
        lambda f: f(sample(), [3, 1, 2]),
        lambda f: f((3, 1, 2), sample()),
        lambda f: f(sample(), np.float32(2)),
        lambda f: f(sample(), memoryview(A)),
        lambda f: f(sample(), A[::-1]),
        lambda f: f(sample("int8"), sample("uint8")),
    ],
)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.less])
def test_ufuncs_take_what_operations_take_and_sequences(ufunc, call):
    made = call(ufunc)
    assert type(made) is dl.Tensor
    assert made.tolist() == call(lambda x, y: ufunc(*[np.asarray(dl.asarray(z)) for z in (x, y)])).tolist()


def test_the_dtype_of_a_result_is_what_promotion_here_says():
    assert np.sin(sample("int64")).dtype == dl.float32
    assert np.add(sample("int64"), 1.5).dtype == dl.float32
    assert np.add(sample("bfloat16"), sample("float16")).dtype == dl.float32


BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.matmul,
    divmod,
]
INTEGERS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def equal_results(made, wanted):
    made, wanted = (x if isinstance(x, tuple) else (x,) for x in (made, wanted))
    assert all(type(x) is dl.Tensor for x in made)
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other)


@pytest.mark.parametrize("operation", BINARY + INTEGERS)
def test_operators_beside_an_array_give_tensors_whichever_comes_first(operation):
    a, t = (A.astype(np.int32), sample("int32")) if operation in INTEGERS else (A, sample())
    equal_results(operation(a, t), operation(a, t.numpy()))
    equal_results(operation(t, a), operation(t.numpy(), a))


SYMBOLS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "@"]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_an_operator_in_the_text_of_a_program_does_the_same(symbol):
    a, t = A, sample()
    made = eval(f"a {symbol} t")
    equal_results(made, eval(f"a {symbol} t", {"a": a, "t": t.numpy()}))


@pytest.mark.parametrize("symbol", ["+=", "-=", "*=", "/="])
def test_an_array_is_changed_in_place(symbol):
    names = {"a": A.copy(), "t": sample()}
    before = names["a"]
    exec(f"a {symbol} t", names)
    assert names["a"] is before
    assert before.tolist() == eval(f"a {symbol[0]} b", {"a": A, "b": np.array([1, 2, 3], np.float32)}).tolist()


def test_operators_inside_other_calls_give_tensors():
    t = sample()
    assert type(sum([A, t, A])) is dl.Tensor
    assert [type(x) for x in map(operator.add, [A], [t])] == [dl.Tensor]
    assert type((lambda x, y: x + y)(A, t)) is dl.Tensor
    assert [type(x + t) for x in (A, A)] == [dl.Tensor] * 2
    assert type(eval("a + t", {"a": A, "t": t})) is dl.Tensor
    assert type(A + np.add(A, t)) is dl.Tensor
    assert type(np.add(A + t, A)) is dl.Tensor


def test_operators_and_calls_give_tensors_wherever_they_are():
    t = sample()

    def produce():
        yield A + t
        yield np.add(A, t)

    class Mine:
        def __add__(self, other):
            return np.add(A, other)  # a call inside of what an operator calls

    made = [
        *produce(),
        *[x + t for x in (A,)],
        *(np.add(x, t) for x in (A,)),
        (lambda: A + t)(),
        Mine() + t,
        A + (A + t),
    ]
    assert [type(x) for x in made] == [dl.Tensor] * 7
    seen = []
    sys.settrace(lambda *event: seen)
    try:
        made = A + t, np.add(A, t)
    finally:
        sys.settrace(None)
    assert [type(x) for x in made] == [dl.Tensor] * 2


def test_an_operator_that_compiled_code_answers_by_a_ufunc_gives_a_tensor():
    class Adding:
        __add__ = functools.partial(np.add, A)

    assert (Adding() + sample()).tolist() == [4, 3, 5]


def test_the_class_and_its_objects_have_the_method():
    t = sample()
    assert callable(dl.Tensor.__array_ufunc__)
    assert dl.Tensor.__array_ufunc__(t, np.add, "__call__", t, 1).tolist() == [2, 3, 4]
    assert t.__array_ufunc__(np.add, "__call__", t, 1, out=(t,)) is t
    assert t.tolist() == [2, 3, 4]
    assert getattr(type(t), "__array_ufunc__", None) is not None


def test_scalars_of_numpy_before_a_tensor_leave_it_a_tensor():
    for scalar in (np.float64(2), np.float32(2), np.int8(2), np.bool_(True)):
        for operation in (operator.add, operator.mul, operator.lt):
            assert type(operation(scalar, sample())) is dl.Tensor
    assert (np.float64(2) * sample()).dtype == dl.float32


def test_out_is_written_and_returned():
    for target in (sample(), np.empty(3, np.float32), dl.zeros((3, 2))[:, 1]):
        assert np.add(sample(), 1, out=target) is target
        assert target.tolist() == [2, 3, 4]
    t = sample()
    assert np.add(A, A, out=t) is t  # a tensor among the outputs alone
    assert t.tolist() == [6, 2, 4]
    q, r = dl.zeros(3), sample()
    made = np.divmod(r, 2, out=(q, r))  # the second output is an operand
    assert made[0] is q
    assert made[1] is r
    assert (q.tolist(), r.tolist()) == ([0, 1, 1], [1, 0, 1])
    m = dl.zeros((2, 2))
    assert np.matmul(dl.ones((2, 2)), dl.ones((2, 2)), out=m) is m
    with pytest.raises(ValueError, match=r"add: the result has shape \(3,\), out has shape \(4,\)"):
        np.add(sample(), 1, out=dl.zeros(4))


def test_errors_are_those_of_the_operation():
    with pytest.raises(ValueError, match=r"add: shapes \(3,\) and \(4,\) do not broadcast"):
        A + dl.zeros(4)
    with pytest.raises(TypeError, match="add: int64 and uint64 have no dtype in common"):
        np.add(sample("int64"), sample("uint64"))
    with pytest.raises(OverflowError, match="300 is outside int8"):
        np.add(sample("int8"), 300)
    with pytest.raises(TypeError, match="add: expected a tensor"):
        np.add(sample(), "text")


MATRIX = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "dtype": np.float32}], ids=str)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.hypot], ids=lambda u: u.__name__)
def test_reduce_and_accumulate_of_a_ufunc_give_tensors(ufunc, method, options):
    made = getattr(ufunc, method)(dl.asarray(MATRIX), **options)
    expected = getattr(ufunc, method)(MATRIX, **options)
    assert type(made) is dl.Tensor
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-6)


def test_reduce_of_a_ufunc_takes_all_of_its_options():
    t, mask = dl.asarray(MATRIX), MATRIX > 1
    out = dl.zeros(3, dtype="float64")
    assert np.add.reduce(t, out=out) is out
    assert out.tolist() == np.add.reduce(MATRIX).tolist()
    assert np.add.reduce(t, axis=None, where=mask, initial=10).item() == 19.0
    assert np.maximum.reduce(t, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert np.logical_and.reduce(t > 0).tolist() == [True, True, False]
    assert np.logical_or.reduce(t > 3, axis=1).tolist() == [False, True]
    assert np.maximum.reduce(dl.asarray([1j, 2])).item() == 2  # ours does not order complex numbers
    with pytest.raises(ValueError, match="zero-size array"):
        np.add.reduce(dl.zeros(0), initial=None)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "complex64"])
def test_reduce_and_accumulate_of_a_ufunc_have_numpys_dtype(dtype):
    a = np.array([1, 0, 1], dtype)
    for method in (np.add.reduce, np.multiply.reduce, np.add.accumulate, np.multiply.accumulate):
        made, expected = method(dl.asarray(a)), method(a)
        assert (made.dtype, made.tolist()) == (expected.dtype, expected.tolist())


def test_outer_of_a_ufunc_is_the_operation_of_every_pair():
    row, column = dl.asarray(MATRIX[0]), dl.asarray(MATRIX[:, 0])
    made = np.multiply.outer(dl.asarray(MATRIX), row)
    assert made.shape == (2, 3, 3)
    assert made.tolist() == np.multiply.outer(MATRIX, MATRIX[0]).tolist()
    assert np.add.outer([1, 2], row).tolist() == np.add.outer([1, 2], MATRIX[0]).tolist()
    assert np.subtract.outer(2, dl.asarray([1, 2], dtype="int8")).dtype == dl.int8
    assert np.hypot.outer(row, column).shape == np.divmod.outer(row, column)[1].shape == (3, 2)
    out = dl.zeros((3, 2), dtype="float64")
    assert np.less.outer(row, column).dtype == dl.bool
    assert np.add.outer(row, column, out=out) is out
    assert out.tolist() == np.add.outer(MATRIX[0], MATRIX[:, 0]).tolist()
    with pytest.raises((TypeError, RuntimeError), match="signature"):
        np.matmul.outer(row, row)


def test_at_of_a_ufunc_writes_to_the_tensor():
    t = dl.asarray([1.0, 2.0, 3.0])
    assert np.add.at(t, dl.asarray([0, 0, 2]), 10) is None
    np.negative.at(t, [1])
    assert t.tolist() == [21.0, -2.0, 13.0]
    memory = bytes(range(8))
    for x in (dl.asarray(memory).view("float32"), dl.zeros(4, dtype="int4")):
        with pytest.raises(ValueError, match=r"numpy.add.at: .*; write to a copy\(\) of it"):
            np.add.at(x, [0], 1)
    assert memory == bytes(range(8))
    assert np.add.reduceat(t, [0, 2]).tolist() == [19.0, 13.0]


def test_a_method_that_ufuncs_do_not_have_is_refused():
    with pytest.raises(TypeError, match=r"expected one of the methods __call__, reduce, .*, got 'mro'"):
        dl.zeros(2).__array_ufunc__(np.add, "mro", dl.zeros(2))


def test_ufuncs_that_are_not_here_are_computed_by_numpy_on_the_same_memory():
    t = dl.asarray([1.0, 8.0])
    for made in (np.cbrt(t), *np.modf(t), np.add(t, 1, dtype=np.float64)):
        assert type(made) is dl.Tensor
    assert np.add(t, 1, dtype=np.float64).dtype == dl.float64
    objects = np.frompyfunc(lambda x: x, 1, 1)(t)
    assert type(objects) is np.ndarray
    assert objects.dtype == object
    assert np.cbrt(t, out=t) is t
    assert t.tolist() == pytest.approx([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        np.cbrt(t, out=dl.asarray(b"12345678").view("float32"))
    made = np.add(t, 1, where=np.array([True, False]), out=dl.zeros(2))
    assert type(made) is dl.Tensor
    assert made.tolist() == [2, 0]


class Other:
    """An array of another library, which answers NumPy itself."""

    def __array__(self, dtype=None, copy=None):
        return A

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "its own answer"

    def __array_function__(self, func, types, args, kwargs):
        return "its own answer"


class Refusing(Other):
    __array_ufunc__ = None


def test_other_libraries_answer_for_their_own_arrays():
    assert np.add(sample(), Other()) == np.add(Other(), sample()) == "its own answer"
    assert np.add(sample(), 1, out=(Other(),)) == "its own answer"
    assert np.cbrt(sample(), where=Other()) == "its own answer"
    assert np.add.reduce(sample(), out=Other()) == "its own answer"
    assert np.concatenate([sample(), Other()]) == "its own answer"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.add(sample(), Refusing())


def test_subclasses_of_arrays_keep_their_meaning():
    masked = np.ma.masked_array(A, [True, False, False])
    for made in (np.add(sample(), masked), masked + sample(), np.concatenate([sample(), masked])):
        assert isinstance(made, np.ma.MaskedArray)
    assert np.add(sample(), masked).mask.tolist() == [True, False, False]


@pytest.mark.parametrize("symbol", ["+", "%", "@", "=="])
def test_an_operator_of_a_subclass_gives_what_its_ufunc_gives(symbol):
    array = A.view(type("Sub", (np.ndarray,), {}))
    made = eval(f"array {symbol} t", {"array": array, "t": sample()})
    expected = eval(f"array {symbol} other", {"array": array, "other": sample().numpy()})
    assert type(made) is type(expected)
    assert made.tolist() == expected.tolist()


def test_a_comparison_names_the_operator_that_was_written():
    with pytest.raises(TypeError, match=r"^less: not defined for complex64"):
        eval("a < t", {"a": A, "t": sample("complex64")})


def test_memory_maps_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "a", np.float32, "w+", shape=3)
    for made in (mapped + sample(), np.add(mapped, sample()), np.stack([mapped, sample()])):
        assert type(made) is dl.Tensor


# -- functions --------------------------------------------------------------------------------------------------------

T = np.arange(6, dtype=np.float32).reshape(2, 3)
FUNCTIONS = {
    "argsort": lambda x: (-x, 0),
    "astype": lambda x: (x, np.int32),
    "bincount": lambda x: (x[0].astype("int64"), None, 5),
    "broadcast_arrays": lambda x: (x, 1),
    "broadcast_to": lambda x: (x, (4, 2, 3)),
    "clip": lambda x: (x, 1, 4),
    "concatenate": lambda x: ([x, x], 1),
    "copy": lambda x: (x,),
    "einsum": lambda x: ("ij,kj->ik", x, x),
    "expand_dims": lambda x: (x, 1),
    "flip": lambda x: (x,),
    "full_like": lambda x: (x, 7),
    "outer": lambda x: (x, x[0]),
    "swapaxes": lambda x: (x, 0, -1),
    "tensordot": lambda x: (x, x, ((1,), (1,))),
    "histogram": lambda x: (x, 3, (0, 6), True),
    "imag": lambda x: (x.astype("complex64"),),
    "isin": lambda x: (x, [1.0, 4.0]),
    "matrix_transpose": lambda x: (x,),
    "median": lambda x: (x, 1),
    "meshgrid": lambda x: (x[0], x[1]),
    "moveaxis": lambda x: (x, 0, 1),
    "ndim": lambda x: (x,),
    "nonzero": lambda x: (x,),
    "ones_like": lambda x: (x,),
    "quantile": lambda x: (x, [0.25, 0.5], 1),
    "real": lambda x: (x.astype("complex64"),),
    "repeat": lambda x: (x, 2),
    "reshape": lambda x: (x, (3, -1)),
    "roll": lambda x: (x, 2),
    "round": lambda x: (x,),
    "searchsorted": lambda x: (x[0], x),
    "shape": lambda x: (x,),
    "size": lambda x: (x,),
    "sort": lambda x: (-x, None),
    "squeeze": lambda x: (x[None],),
    "stack": lambda x: ((x, x), 1),
    "take": lambda x: (x, [4, -1]),
    "take_along_axis": lambda x: (x, x.astype("int64") % 2),
    "tile": lambda x: (x, (2, 1)),
    "transpose": lambda x: (x,),
    "tril": lambda x: (x, 1),
    "triu": lambda x: (x,),
    "unique_all": lambda x: (x,),
    "unique_counts": lambda x: (x,),
    "unique_inverse": lambda x: (x,),
    "unique_values": lambda x: (x,),
    "unstack": lambda x: (x,),
    "where": lambda x: (x > 2, x, 0),
    "zeros_like": lambda x: (x,),
    "empty_like": lambda x: (x,),
    "all": lambda x: (x, 1),
    "allclose": lambda x: (x, x),
    "array_equal": lambda x: (x, x + 1),
    "average": lambda x: (x, 0),
    "cumprod": lambda x: (x, 1),
    "cumsum": lambda x: (x,),
    "diff": lambda x: (x, 2, 0),
    "dot": lambda x: (x, x.T),
    "isclose": lambda x: (x, 2.0),
    "nanmax": lambda x: (x, 1),
    "nanmean": lambda x: (x, 1),
    "nanmin": lambda x: (x, 0),
    "nanstd": lambda x: (x, 1),
    "nansum": lambda x: (x, (0, 1)),
    "nanvar": lambda x: (x,),
    "ptp": lambda x: (x, 1),
    "any": lambda x: (x, 1),
    "argmax": lambda x: (x, 1),
    "argmin": lambda x: (x, 1),
    "count_nonzero": lambda x: (x, 1),
    "max": lambda x: (x, 1),
    "mean": lambda x: (x, 1),
    "min": lambda x: (x, 1),
    "prod": lambda x: (x, 1),
    "std": lambda x: (x, 1),
    "sum": lambda x: (x, 1),
    "var": lambda x: (x, 1),
}


def test_every_function_that_is_answered_is_tested():
    assert set(FUNCTIONS) == set(_numpy_dispatch._BY_NAME)


def values_of(x):
    return [values_of(one) for one in x] if isinstance(x, (list, tuple)) else getattr(x, "tolist", lambda: x)()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_tensors_with_numpys_values(name):
    if not hasattr(np, name):
        pytest.skip(f"this NumPy has no {name}")
    made = getattr(np, name)(*FUNCTIONS[name](dl.asarray(T)))
    wanted = getattr(np, name)(*FUNCTIONS[name](T))
    parts = made if isinstance(made, (list, tuple)) else (made,)
    assert {type(x) for x in parts} <= {dl.Tensor, int, bool}
    if name != "empty_like":
        assert values_of(made) == values_of(wanted)


def test_where_with_a_condition_alone_is_nonzero():
    made = np.where(dl.asarray(T) > 2)
    assert [type(x) for x in made] == [dl.Tensor, dl.Tensor]
    assert values_of(made) == values_of(np.where(T > 2))


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="names of the array API are NumPy 2's")
def test_names_of_the_array_api_are_answered_too():
    x = dl.asarray(T)
    for made in (
        np.concat([x, x]),
        np.permute_dims(x, (1, 0)),
        np.acos(x / 9),
        np.pow(x, 2),
        np.bitwise_invert(x.astype("int8")),
    ):
        assert type(made) is dl.Tensor


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.sum(t),
        lambda t: np.sum(t, 0, None, None, True),
        lambda t: np.prod(t, axis=0),
        lambda t: np.mean(t, axis=-1),
        lambda t: np.max(t, axis=1, initial=3),
        lambda t: np.min(t, keepdims=True),
        lambda t: np.var(t, ddof=1),
        lambda t: np.std(t, axis=0),
        lambda t: np.any(t, axis=0),
        lambda t: np.all(t),
        lambda t: np.argmax(t, axis=0),
        lambda t: np.argmin(t),
        lambda t: np.count_nonzero(t, axis=1),
        lambda t: np.sum(t, where=np.asarray(T > 2)),
        lambda t: np.cumsum(t, 0, None),
        lambda t: np.cumprod(t, axis=-1, dtype="f8"),
        lambda t: np.nanmean(t, dtype="f8"),
        lambda t: np.nanvar(t, dtype="f8"),
        lambda t: np.mean(t, dtype="f8"),
        lambda t: np.std(t, ddof=1, dtype="f8"),
        lambda t: np.diff(t, axis=0, append=t),
        lambda t: np.diff(t, prepend=0),
        lambda t: np.round(t + 0.25, 1),
        lambda t: np.diff(t, 2, 0, np.float32(1), 5),
        lambda t: np.diff(t, 0, prepend=[[9], [9]]),
        lambda t: np.nanvar(t, ddof=1, axis=0),
        lambda t: np.nanstd(t, 0, None, None, 0, True),
        lambda t: np.nanmax(t, axis=0, keepdims=True),
        lambda t: np.average(t, 1, np.asarray([1.0, 2.0, 1.0])),
        lambda t: np.ptp(t, keepdims=True),
        lambda t: np.isclose(t, t + 1, 0.5, equal_nan=True),
    ],
)
def test_reductions_of_numpy_are_ours(call):
    made, wanted = call(dl.asarray(T)), call(T.copy())
    assert type(made) is dl.Tensor
    assert values_of(made) == values_of(np.asarray(wanted))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.einsum("ij,ij", t, t, order="C"),
        lambda t: np.cumsum(t, dtype="m8"),
        lambda t: np.dot(t, t.T, out=np.zeros((2, 2), "f4")),
        lambda t: np.nansum(t, initial=3),
        lambda t: np.concatenate([t, t], dtype="f8"),
        lambda t: np.asarray(t),
        lambda t: np.histogram2d(t[0], t[1])[0],
        lambda t: np.result_type(t, np.int8),
        lambda t: np.concatenate([t.astype("int64"), t.astype("uint64")]),
    ],
)
def test_functions_that_are_not_here_are_computed_by_numpy(call):
    made, wanted = call(dl.asarray(T)), call(T.copy())
    assert type(made) is type(wanted)
    assert values_of(made) == values_of(wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.linalg.norm(t),
        lambda t: np.fft.fft(t),
        lambda t: np.partition(t, 1),
        lambda t: np.nanmedian(t),
        lambda t: np.vstack([t, t]),
        lambda t: np.apply_along_axis(lambda x: x, 0, t),
        lambda t: np.pad(t, 1),
        lambda t: np.swapaxes(t, 0, 1),
        lambda t: np.outer(t, t[0]),
        lambda t: np.tensordot(t, t.T, axes=1),
        lambda t: np.diagonal(t),
        lambda t: np.diag(t[0]),
        lambda t: np.digitize(t, np.array([1.0, 3.0])),
        lambda t: np.choose(t.astype("int64") % 2, [t, t + 1]),
        lambda t: np.select([t > 2], [t], 9),
        lambda t: np.unique(t),
        lambda t: np.unique(t, return_counts=True)[1],
        lambda t: np.percentile(t, [10, 60], axis=0),
        lambda t: np.linalg.svd(t)[1],
        lambda t: np.linalg.qr(t).R,
        lambda t: np.split(t, 3, axis=1)[2],
        lambda t: np.argpartition(t, 1, axis=1),
        lambda t: np.isin(t, [1, 2], assume_unique=True),
        lambda t: np.empty_like(t, shape=0),
        lambda t: np.zeros_like(t, shape=(3,)),
        lambda t: np.ones_like(t, "i4", shape=4),
        lambda t: np.full_like(t, 2, shape=(2,)),
        lambda t: np.unravel_index(t.astype("int64"), (3, 3))[0],
    ],
)
def test_arrays_that_numpy_computes_from_tensors_are_tensors(call):
    made, wanted = call(dl.asarray(T)), call(T.copy())
    assert type(made) is dl.Tensor
    assert (made.shape, made.dtype) == (np.shape(wanted), wanted.dtype)
    assert values_of(made) == values_of(np.asarray(wanted))


def test_a_view_that_numpy_makes_shares_memory():
    t = dl.zeros((2, 3))
    for view in (np.swapaxes(t, 0, 1), np.rollaxis(t, 1), np.split(t, 1)[0], np.atleast_3d(t)):
        view[0, 0] = view.data_ptr == t.data_ptr
        assert t[0, 0] == 1
        t[0, 0] = 0


@pytest.mark.parametrize(
    "function", [np.empty_like, np.zeros_like, np.ones_like, lambda t, dtype: np.full_like(t, 1, dtype)]
)
def test_a_tensor_has_no_fields(function):
    with pytest.raises(
        TypeError, match=r"numpy\.\w+_like: a tensor has no fields, got dtype \[.*one tensor for each field"
    ):
        function(sample(), dtype=[("a", "f4"), ("b", "i8")])
    assert np.zeros_like(sample(), dtype="m8[s]").dtype == np.dtype("m8[s]")


def test_out_of_numpys_own_functions_is_written_and_returned():
    out = dl.zeros(())
    assert np.median(dl.asarray(T), out=out) is out
    assert out.item() == 2.5
    assert np.concatenate([sample(), sample()], out=(made := dl.zeros(6))) is made
    assert made.tolist() == [1, 2, 3, 1, 2, 3]


def test_functions_that_write_to_an_argument_write_to_the_tensor():
    t = dl.zeros(3)
    np.copyto(t, A)
    np.put(t, [0], 9)
    assert t.tolist() == [9, 1, 2]
    with pytest.raises(ValueError, match=r"read-only|not writ"):
        np.copyto(dl.asarray(b"abc"), 1)
    packed = dl.zeros(3, dtype="int4")
    with pytest.raises(ValueError, match=r"read-only|not writ"):
        np.copyto(packed, 1)  # the array is a copy


def test_like_makes_tensors():
    t = sample()
    made = [np.zeros(3, like=t), np.ones(2, like=t), np.arange(3, like=t), np.eye(2, like=t), np.full(2, 7, like=t)]
    for one in [*made, np.asarray([1, 2], like=t)]:
        assert type(one) is dl.Tensor
    assert np.zeros(3, dtype="int8", like=sample()).dtype == dl.int8


def test_errors_of_functions_name_the_function():
    with pytest.raises(ValueError, match="concat: "):
        np.concatenate([dl.zeros((2, 3)), dl.zeros((3, 2))])
    with pytest.raises(ValueError, match="reshape: "):
        np.reshape(sample(), (2, 2))


def test_sequences_that_hide_tensors_do_not_recurse():
    class Hidden(list):
        pass

    assert np.concatenate(Hidden([sample(), sample()])).tolist() == [1, 2, 3, 1, 2, 3]
    assert math.isclose(float(np.mean(Hidden([sample(), sample()]))), 2.0)


def test_memory_that_the_host_cannot_read_is_not_copied_behind_its_back():
    t = dl.wrap(4096, (3,), "float32", device="rocm", owner=object())
    with pytest.raises(dl.DeviceError, match="mean: nothing here computes on rocm:0"):
        np.mean(t)
    with pytest.raises(dl.DeviceError, match="cbrt: nothing here computes on rocm:0"):
        np.cbrt(t)
    for call in (np.nanmedian, np.i0):
        with pytest.raises(dl.DeviceError, match=r"__array__: the data is on rocm:0, .* call numpy\(\)"):
            call(t)
    assert (np.shape(t), np.ndim(t), np.size(t)) == ((3,), 1, 3)
    assert np.reshape(t, (3, 1)).shape == (3, 1)


@pytest.mark.parametrize("given", ["cpu:0", ("add",), None])
def test_what_is_no_ufunc_is_refused(given):
    with pytest.raises(TypeError, match="expected a ufunc"):
        dl.zeros(2).__array_ufunc__(given, "__call__", dl.zeros(2))


@pytest.mark.parametrize("given", [("cpu:0", (), (), {}), (np.sum, (), "ab", {}), (np.sum, (), (), "ab")])
def test_arguments_that_numpy_never_gives_are_refused(given):
    with pytest.raises(TypeError, match="__array_function__: expected a function"):
        dl.zeros(2).__array_function__(*given)


def test_triangles_of_one_dimension_are_numpys():
    a = np.arange(1, 4)
    assert np.tril(dl.asarray(a)).tolist() == np.tril(a).tolist()
    assert np.triu(dl.asarray(a), 1).tolist() == np.triu(a, 1).tolist()


def test_functions_of_numpy_with_lists_and_orders_are_ours():
    t = dl.asarray(T)
    assert np.where(t > 2, [[1, 2, 3], [4, 5, 6]], t).tolist() == np.where(T > 2, [[1, 2, 3], [4, 5, 6]], T).tolist()
    assert type(np.where(t > 2, [[1, 2, 3], [4, 5, 6]], t)) is dl.Tensor
    assert np.reshape(t, (3, 2), order="F").tolist() == np.reshape(T, (3, 2), order="F").tolist()
