# SPDX-License-Identifier: Apache-2.0
"""Operands, integers and sequences are read once: a second answer may name other memory, a class may say anything."""

import contextlib
import operator

import numpy as np
import pytest
import test_arrays
import test_numpy_values
from numpy_twins import DATA, HERE
from test_default_dtype import ARGUMENTS, FUNCTIONS
from test_spelling_rows import ROWS

import dltensor as dl

T = dl.arange(4, dtype="float64")


class Twice:
    """Its array interface names 4 elements at first, then more than there is memory for."""

    def __init__(self):
        self.asked, self.array = 0, np.arange(4.0)

    @property
    def __array_interface__(self):
        self.asked += 1
        honest = dict(self.array.__array_interface__)
        return honest if self.asked == 1 else honest | {"shape": (1 << 40,)}


CALLS = {
    "np.divmod": lambda x: np.divmod(T, x),
    "divmod": lambda x: divmod(T, x),
    "isclose": lambda x: dl.isclose(T, x),
    "allclose": lambda x: dl.allclose(x, T),
    "array_equal": lambda x: dl.array_equal(x, T),
    "average": lambda x: dl.average(T, weights=x),
    "logsumexp": dl.logsumexp,
    "softmax": dl.softmax,
    "ptp": dl.ptp,
    "nanvar": dl.nanvar,
    "nanmax": dl.nanmax,
    "diff": dl.diff,
    "vecdot": lambda x: dl.vecdot(x, T),
    "einsum": lambda x: dl.einsum("i,i", x, T),
    "outer": lambda x: dl.outer(x, T),
    "kron": lambda x: dl.kron(x, T),
    "histogram": dl.histogram,
    "median": dl.median,
    "isin": lambda x: dl.isin(T, x),
    "searchsorted": lambda x: dl.searchsorted(T, x),
    "top_k": lambda x: dl.top_k(x, 2),
    "clip": lambda x: dl.clip(x, 0, 2),
    "where": lambda x: dl.where(T > 1, x, T),
    "vector_norm": lambda x: dl.linalg.vector_norm(x, ord=3),
    "solve": lambda x: dl.linalg.solve(dl.eye(4), x),
    "fft": lambda x: dl.fft.fft(x),
    "permutation": lambda x: dl.random.Generator(1).permutation(x),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_foreign_operand_is_read_once(call):
    operand = Twice()
    CALLS[call](operand)
    assert operand.asked == 1


class Counted:
    """An array that counts how often it is asked for its elements."""

    def __init__(self, array):
        self.asked, self.array = 0, array

    def answer(self, *_, **__):
        self.asked += 1
        return self


class WithInterface(Counted):
    __array_interface__ = property(lambda self: self.answer().array.__array_interface__)


class WithCapsule(Counted):
    def __dlpack__(self, **options):
        return self.answer().array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class WithArray(Counted):
    def __array__(self, *_, **__):
        return self.answer().array


KINDS = (WithInterface, WithCapsule, WithArray)


def foreign(value, kind, made):
    """Replace the tensors in an argument by objects of the kind, which are appended to `made`."""
    if type(value) in (list, tuple):
        return type(value)(foreign(one, kind, made) for one in value)
    if type(value) is not dl.Tensor:
        return value
    made.append(kind(value.numpy().copy()))
    return made[-1]


class Names(dict):
    """The arrays of the tests beside NumPy by their names: an object of the kind at each mention."""

    def __init__(self, kind):
        super().__init__(module=dl, nan=dl.nan, inf=dl.inf)
        self.kind, self.made = kind, []

    def __missing__(self, name):
        return foreign(HERE[name], self.kind, self.made) if name in DATA else HERE[name]


def tell_who_asks_twice(call, made):
    """Make a call, refused or not, and test that no operand was asked more than once; return how many there were."""
    with contextlib.suppress(Exception):
        call()
    assert [operand.asked for operand in made if operand.asked > 1] == []
    return len(made)


SQUARE = dl.asarray([[1.5, 2.0], [0.5, 4.0]])
LIKE = [(x, *more) for x in (SQUARE, SQUARE[0]) for more in ((), (x,), (x, x), (2,), (0.5,), ((1, 0),), ([x, x],))]
LIKE += [([SQUARE, SQUARE],), ([[SQUARE], [SQUARE]],), ((SQUARE[0], SQUARE[1]),), (SQUARE[0], SQUARE[1], SQUARE[0])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.filterwarnings("ignore")
def test_every_function_reads_each_operand_once(name, kind):
    for arguments in ARGUMENTS + LIKE:
        made = []
        own = arguments[:1] if name.startswith("Tensor.") else ()  # the tensor whose method it is
        given = [*own, *foreign(list(arguments[len(own) :]), kind, made)]
        if made and (not own or type(own[0]) is dl.Tensor):
            tell_who_asks_twice(lambda: FUNCTIONS[name](*given), made)  # noqa: B023


LINES = [f"module.{call}" for module in (test_arrays, test_numpy_values) for call in module.CALLS.split()]
LINES += [f"module.{row.name}({row.example})" for row in ROWS if row.is_function]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_every_call_that_is_compared_with_numpy_reads_each_operand_once(kind):
    asked = 0
    for line in LINES:
        names = Names(kind)
        try:
            asked += tell_who_asks_twice(lambda: eval(line, {}, names), names.made)  # noqa: B023
        except AssertionError as error:
            raise AssertionError(line) from error
    assert asked > len(LINES) / 2


def test_bins_for_two_columns_are_read_once():
    bins = WithInterface(np.array([0.0, 1.0, 2.0]))
    counts, first, second = dl.histogram2d([0.5, 1.5], [1.5, 1.5], bins)
    assert bins.asked == 1
    assert (counts.tolist(), first.tolist()) == ([[0.0, 1.0], [0.0, 1.0]], second.tolist())


# -- integers and sequences that say of themselves what is not so ------------------------------------------------------

COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
COMPUTED = ("__mod__", "__add__", "__radd__", "__sub__", "__neg__")
FAR = 1 << 40


def lying(base):
    """The number 2^40, which compares and computes as 0 does; not an integer unless `base` is int."""
    body = {name: lambda self, other, _n=name: getattr(operator, _n)(0, other) for name in COMPARISONS}
    body |= {name: lambda self, *other: FAR for name in COMPUTED}
    body |= {"__hash__": lambda self: 0} | ({} if base is int else {"__index__": lambda self: FAR})
    return type("Lying", (base,), body)(*((FAR,) if base is int else ()))


class Index:
    """Its index is another object, which need not be an integer."""

    def __init__(self, given):
        self.given = given

    def __index__(self):
        return self.given


CUBE = dl.zeros((2, 3, 4))
TAKE_INTEGERS = {
    "permute_dims": lambda n: dl.permute_dims(CUBE, (1, n, 2)),
    "transpose": lambda n: CUBE.transpose(n, 1, 2),
    "squeeze": lambda n: dl.squeeze(dl.zeros((1, 3)), n),
    "flip": lambda n: dl.flip(CUBE, axis=n),
    "roll": lambda n: dl.roll(CUBE, 1, axis=n),
    "concat": lambda n: dl.concat([CUBE, CUBE], axis=n),
    "stack": lambda n: dl.stack([CUBE, CUBE], axis=n),
    "unstack": lambda n: dl.unstack(CUBE, axis=n),
    "expand_dims": lambda n: dl.expand_dims(CUBE, axis=n),
    "moveaxis": lambda n: dl.moveaxis(CUBE, n, 1),
    "repeat": lambda n: dl.repeat(CUBE, 2, axis=n),
    "sum": lambda n: dl.sum(CUBE, axis=n),
    "argmax": lambda n: dl.argmax(CUBE, axis=n),
    "cumulative_sum": lambda n: dl.cumulative_sum(CUBE, axis=n),
    "diff": lambda n: dl.diff(CUBE, axis=n),
    "sort": lambda n: dl.sort(CUBE, axis=n),
    "top_k": lambda n: dl.top_k(CUBE, n),
    "top_k axis": lambda n: dl.top_k(CUBE, 1, axis=n),
    "take": lambda n: dl.take(CUBE, [0], axis=n),
    "take_along_axis": lambda n: dl.take_along_axis(CUBE, CUBE.astype("int64"), axis=n),
    "index": lambda n: CUBE[n],
    "item": lambda n: CUBE.item(n, 0, 0),
    "reshape": lambda n: dl.reshape(CUBE, (n, 24)),
    "zeros": lambda n: dl.zeros((n, n)),
    "broadcast_to": lambda n: dl.broadcast_to(CUBE, (2, n, 4)),
    "tile": lambda n: dl.tile(dl.zeros(1 << 20), n),
    "linspace": lambda n: dl.linspace(0, 1, n),
    "eye": lambda n: dl.eye(n, n),
    "bincount": lambda n: dl.bincount(dl.asarray([1]), minlength=n),
    "diagonal": lambda n: dl.linalg.diagonal(dl.zeros((2, 2)), offset=n)[0],
    "set_num_threads": lambda n: dl.set_num_threads(n),
    "fft": lambda n: dl.fft.fft(dl.ones(4), n=n),
    "vecdot": lambda n: dl.vecdot(CUBE, CUBE, axis=n),
    "tensordot": lambda n: dl.tensordot(CUBE, CUBE, axes=n),
}


@pytest.mark.parametrize("kind", ["subclass", "no integer", "index of a subclass", "index that is no integer"])
@pytest.mark.parametrize("name", TAKE_INTEGERS)
@pytest.mark.filterwarnings("ignore:__index__ returned non-int:DeprecationWarning")
def test_an_integer_is_its_value_whatever_its_comparisons_say(name, kind):
    given = lying(int if "subclass" in kind else object)
    with pytest.raises((IndexError, ValueError, TypeError, MemoryError)):
        TAKE_INTEGERS[name](Index(given) if kind.startswith("index") else given)


@pytest.mark.parametrize("base", [tuple, list])
@pytest.mark.parametrize("length", [0, 1, 5, 60])
def test_expand_dims_counts_the_axes_itself(base, length):
    axes = type("Axes", (base,), {"__len__": lambda self: length})((0, 2))
    assert dl.expand_dims(dl.zeros((2, 3)), axis=axes).shape == (1, 2, 1, 3)


def test_expand_dims_reads_a_list_that_grows_meanwhile():
    class Growing:
        def __index__(self):
            axes.extend([3, 4])
            return 0

    axes = [Growing()]
    made = dl.expand_dims(dl.zeros((2, 3)), axis=axes)
    assert made.shape[0] == 1
    assert made.shape[-1] == 3
    assert made.ndim in (3, 5)


# -- numbers and answers that change --------------------------------------------------------------------------------


class Changing:
    """Its number, and its truth, is another one each time that it is asked."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, 0

    def answer(self):
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]

    def __index__(self):
        return int(self.answer())

    def __float__(self):
        return float(self.answer())

    def __bool__(self):
        return bool(self.answer())


SMALL = dl.asarray([[1.0, dl.nan, 2.0], [3.0, 4.0, 5.0]])
LINE = dl.ones(1 << 18)
TWICE_IN_A_CALL = ("zeros", "eye")
MORE = {
    "cumulative_sum with out": lambda n: dl.cumulative_sum(CUBE, axis=n, include_initial=True, out=dl.zeros((2, 4, 4))),
    "cumulative_max": lambda n: dl.cumulative_max(CUBE, axis=n),
    "cumsum": lambda n: CUBE.cumsum(n),
    "nanmax": lambda n: dl.nanmax(dl.asarray([[1.0, dl.nan], [3.0, dl.nan]]), axis=n),
    "eye of one": lambda n: dl.eye(n),
    "eye of a packed dtype": lambda n: dl.eye(n, dtype="int4"),
    "broadcast_to an integer": lambda n: dl.broadcast_to(dl.ones(1), n),
    "roll along two axes": lambda n: dl.roll(CUBE, n, axis=(0, 1)),
    "repeat by": lambda n: dl.repeat(CUBE, n),
    "cross": lambda n: dl.cross(dl.ones((3, 3)), dl.ones((3, 3)), axis=n),
    "fftn": lambda n: dl.fft.fftn(CUBE, s=(n,), axes=(1,)),
    "Device": lambda n: dl.Device("cuda", n),
    "isclose rtol": lambda n: dl.isclose(LINE, LINE, rtol=n),
    "isclose atol": lambda n: dl.isclose(LINE, LINE, atol=n),
    "allclose rtol": lambda n: dl.allclose(LINE, LINE, n),
    "isclose equal_nan": lambda n: dl.isclose(LINE, LINE, equal_nan=n),
    "vector_norm ord": lambda n: dl.linalg.vector_norm(CUBE, ord=n),
    "gemm": lambda n: dl.gemm(dl.eye(2), dl.eye(2), alpha=n),
    "choice": lambda n: dl.random.Generator(1).choice(3, (3,), replace=n, p=[0.2, 0.3, 0.5]),
    "linspace endpoint": lambda n: dl.linspace(0, 10, 3, endpoint=n),
    "ptp keepdims": lambda n: dl.ptp(CUBE, axis=0, keepdims=n),
    "average keepdims": lambda n: dl.average(CUBE, axis=0, weights=CUBE + 1, keepdims=n),
    "nanmin keepdims": lambda n: dl.nanmin(SMALL, axis=0, keepdims=n),
    "vector_norm keepdims": lambda n: dl.linalg.vector_norm(CUBE, axis=0, keepdims=n),
    "matrix_norm keepdims": lambda n: dl.linalg.matrix_norm(CUBE, keepdims=n),
}


@pytest.mark.parametrize("name", [*TAKE_INTEGERS, *MORE])
def test_an_argument_is_asked_once(name):
    given = Changing(1)
    threads = dl.num_threads()
    try:
        (TAKE_INTEGERS | MORE)[name](given)
    except (ValueError, IndexError):
        assert name in ("squeeze", "reshape", "broadcast_to", "permute_dims", "transpose", "tensordot", "vecdot")
    finally:
        dl.set_num_threads(threads)
    assert given.asked == (2 if name in TWICE_IN_A_CALL else 1)


def test_another_answer_changes_no_result():
    """What these read or wrote outside of memory, or in another dimension, before."""
    memory = dl.zeros(500)
    memory[400:] = 7.0
    x, out = memory[:400].reshape((2, 2, 100)).mT, dl.zeros((2, 100, 3))
    dl.cumulative_sum(x, axis=Changing(2, 1, 1), include_initial=True, out=out)
    assert not dl.any(out).item()
    assert dl.random.Generator(1).choice(3, (6,), replace=Changing(True, False), p=[0.2, 0.3, 0.5]).shape == (6,)
    assert dl.nanmax(SMALL, axis=Changing(0, 1, 0)).tolist() == [3, 4, 5]
    assert dl.eye(Changing(2, 5)).shape == (2, 2)
    assert dl.linspace(0, 10, 3, dtype="int64", endpoint=Changing(True, False, True)).tolist() == [0, 5, 10]
    assert dl.all(dl.isclose(LINE, LINE * 1.5, Changing(1.0, 0.0), 0.0)).item()


class Equal(int):
    """Equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def test_numbers_are_compared_by_their_value():
    here = np.asarray(dl.reshape(dl.arange(24.0), (2, 3, 4)))
    assert np.allclose(np.asarray(dl.fft.fft(dl.asarray(here), axis=Equal(0))), np.fft.fft(here, axis=0))
    with pytest.raises(IndexError, match="axis 99"):
        dl.fft.rfft(dl.asarray(here), axis=Equal(99))
    assert dl.fft.fftn(dl.asarray(here), s=(Equal(2),), axes=(1,)).shape == (2, 2, 4)
    assert dl.linalg.vector_norm(dl.asarray([3.0, 4.0]), ord=Equal(1)).item() == 7
    assert dl.linalg.matrix_norm(dl.asarray([[3.0, 4.0]]), ord=Equal(1)).item() == 4


def test_lists_are_read_once():
    class Clears:
        def __index__(self):
            given.clear()
            return 1

    given = [Clears(), 0]
    assert dl.roll(CUBE, (1, 1), axis=given).shape == CUBE.shape
    given = [Clears(), 2]
    assert dl.fft.fftn(CUBE, s=given, axes=(0, 1)).shape == (1, 2, 4)


@pytest.mark.parametrize("value", [1.5, "1", None])
@pytest.mark.parametrize(
    "call",
    [
        lambda n: dl.Device("cuda", n) if n is not None else dl.Device(n),
        lambda n: dl.as_device((1, n)),
        lambda n: dl.as_device((n, 0)),
        lambda n: dl.eye(2, k=n),
        lambda n: dl.eye(n),
        lambda n: dl.roll(CUBE, n),
        lambda n: dl.tile(CUBE, n),
        lambda n: dl.set_cache_limit(n),
        lambda n: dl.wrap(LINE.data_ptr, (1,), "float32", byte_offset=n, owner=LINE),
        lambda n: dl.opaque.origin_name(n),
    ],
)
def test_what_is_no_integer_is_refused(call, value):
    with pytest.raises(TypeError):
        call(value)


class Endless:
    """A sequence of sizes or axes that never ends; it counts what was read."""

    def __init__(self, value=1):
        self.value, self.read = value, 0

    def __iter__(self):
        while True:
            self.read += 1
            assert self.read <= 65, "read on and on"
            yield self.value


class EndlessByIndex(Endless):
    __iter__ = None

    def __getitem__(self, i):
        self.read += 1
        assert self.read <= 65, "read on and on"
        return self.value


class EndlessList(Endless, list):
    """As `isinstance(axis, (list, tuple))` asks for."""

    def __init__(self, value=1):
        list.__init__(self, [0])
        Endless.__init__(self, value)


del EndlessByIndex.__iter__


class Interface:
    def __init__(self, **fields):
        memory = np.zeros(4, "f4")
        self.memory, self.__array_interface__ = memory, dict(memory.__array_interface__) | fields


SIZES = {
    "zeros": dl.zeros,
    "empty": dl.empty,
    "full": lambda n: dl.full(n, 1),
    "reshape": lambda n: dl.reshape(T, n),
    "broadcast_to": lambda n: dl.broadcast_to(T, n),
    "wrap": lambda n: dl.wrap(4096, n, "int8"),
    "wrap: strides": lambda n: dl.wrap(4096, (1,), "int8", strides=n),
    "__array_interface__": lambda n: dl.asarray(Interface(shape=n)),
    "__array_interface__: strides": lambda n: dl.asarray(Interface(strides=n)),
    "numel": dl.layout.numel,
    "nbytes": lambda n: dl.layout.nbytes(n, "int8"),
    "contiguous_strides": dl.layout.contiguous_strides,
    "is_contiguous": lambda n: dl.layout.is_contiguous((1,), n),
    "broadcast_shapes": lambda n: dl.layout.broadcast_shapes(n, (1,)),
    "extent": lambda n: dl.layout.extent(n, (1,)),
    "memmap": lambda n: dl.memmap("missing", n, "int8", mode="r"),
    "shared": lambda n: dl.shared.empty(n, "int8"),
    "random": lambda n: dl.random.Generator(1).random(n),
    "random: out": lambda n: dl.random.Generator(1).random(n, out=dl.zeros(1)),
    "blocks_values_nd": lambda n: dl.cuda.blocks_values_nd(n, num_threads=1, multiprocessors=1),
    "permute_dims": lambda n: dl.permute_dims(T, n),
    "fftn: s": lambda n: dl.fft.fftn(T, s=n),
}
AXES = {
    "sum": lambda n: dl.sum(T, axis=n),
    "std": lambda n: dl.std(T, axis=n),
    "any": lambda n: dl.any(T, axis=n),
    "nanmean": lambda n: dl.nanmean(T, axis=n),
    "median": lambda n: dl.median(T, axis=n),
    "logsumexp": lambda n: dl.logsumexp(T, axis=n),
    "flip": lambda n: dl.flip(T, axis=n),
    "roll": lambda n: dl.roll(T, 1, axis=n),
    "roll: shift": lambda n: dl.roll(T, n, axis=0),
    "squeeze": lambda n: dl.squeeze(T, n),
    "expand_dims": lambda n: dl.expand_dims(T, axis=n),
    "moveaxis": lambda n: dl.moveaxis(T, n, 0),
    "tile": lambda n: dl.tile(T, n),
    "tensordot": lambda n: dl.tensordot(T, T, axes=n),
    "tensordot: one of both": lambda n: dl.tensordot(T, T, axes=(n, [0])),
    "vector_norm": lambda n: dl.linalg.vector_norm(T, axis=n, ord=3),
    "norm": lambda n: dl.linalg.norm(T, axis=n),
    "fftn": lambda n: dl.fft.fftn(T, axes=n),
    "fftshift": lambda n: dl.fft.fftshift(T, axes=n),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("kind", [Endless, EndlessByIndex, EndlessList])
def test_of_sizes_that_never_end_65_are_read(name, kind):
    endless = kind()
    with pytest.raises(ValueError, match=r"\w+: .*at most 64 dimensions"):
        SIZES[name](endless)


@pytest.mark.parametrize("name", AXES)
def test_of_axes_that_never_end_65_are_read(name):
    with pytest.raises((ValueError, IndexError), match=r"\w+: "):
        AXES[name](EndlessList(0))


def test_a_cuda_array_interface_is_read_no_further():
    class OnDevice:
        def __init__(self):
            self.__cuda_array_interface__ = dict(shape=Endless(), typestr="<f4", data=(4096, False), version=3)

    with pytest.raises(ValueError, match="asarray: at most 64 dimensions"):
        dl.asarray(OnDevice())
