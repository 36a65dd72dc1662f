# SPDX-License-Identifier: Apache-2.0
"""Operands that broadcast, against NumPy: new results, `out`, and `out` that overlaps an operand; their reductions."""

import itertools
import math

import numpy as np
import pytest

import dltensor as dl

EXTENTS = (1, 2, 17)


def numbers(shape, dtype="int32", seed=0):
    return np.random.default_rng(seed).integers(1, 100, shape).astype(dtype)


def shapes(ndim):
    return itertools.product(EXTENTS, repeat=ndim)


def pairs():
    """Two shapes that broadcast, of up to three dimensions."""
    for m, n in itertools.product(range(4), range(4)):
        for left, right in itertools.product(shapes(m), shapes(n)):
            if all(a == b or 1 in (a, b) for a, b in zip(left[::-1], right[::-1], strict=False)):
                yield left, right


def test_two_operands_of_every_shape():
    for left, right in pairs():
        a, b = numbers(left), numbers(right, seed=1)
        want = a - b
        assert np.array_equal(dl.subtract(a, b).numpy(), want), (left, right)
        out = dl.empty(want.shape, dtype="int32")
        assert dl.subtract(dl.asarray(a), dl.asarray(b), out=out) is out
        assert np.array_equal(out.numpy(), want), (left, right)
        assert np.array_equal(dl.less(a, b).numpy(), a < b), (left, right)


def test_three_operands():
    extents = (1, 17)
    for left, right in itertools.product(itertools.product(extents, repeat=2), repeat=2):
        a, b, c = numbers(left), numbers(right, seed=1), numbers((2, 17, 17), seed=2)
        assert np.array_equal(dl.fma(a, b, c).numpy(), a * b + c), (left, right)


# Parts of one array that operands of another part may be written over.
PARTS = {
    "itself": (np.s_[:], np.s_[:]),
    "its first row": (np.s_[:], np.s_[0]),
    "its last row": (np.s_[:], np.s_[-1]),
    "its first column": (np.s_[:], np.s_[:, :1]),
    "one element": (np.s_[:], np.s_[3, 5]),
    "a row below": (np.s_[:-1], np.s_[1:]),
    "a row above": (np.s_[1:], np.s_[:-1]),
    "backwards": (np.s_[:], np.s_[::-1]),
    "the other half": (np.s_[:8], np.s_[8]),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("shape", [(16, 20), (9, 40), (16, 3)])
def test_an_output_in_the_way_of_an_operand(part, shape):
    target, source = PARTS[part]
    if part == "one element" and shape[1] < 6:
        source = np.s_[3, 2]
    for dtype in ("int32", "uint8", "float64"):
        array = numbers(shape, dtype)
        want = array.copy()
        want[target] = array[target] + array[source]
        mine = dl.asarray(array.copy())
        dl.add(mine[target], mine[source], out=mine[target])
        assert np.array_equal(mine.numpy(), want), dtype
        mine = dl.asarray(array.copy())
        view = mine[target]
        view += mine[source]
        assert np.array_equal(mine.numpy(), want), dtype


def test_an_output_narrower_than_its_operand():
    memory = dl.asarray(np.arange(64, dtype=np.int32))
    a, out = memory[:32].reshape((2, 16)), memory.view("bool")[:32].reshape((2, 16))
    want = a.numpy() < 5
    dl.less(a, dl.full((16,), 5, dtype="int32"), out=out)
    assert np.array_equal(out.numpy(), want)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("columns", [3, 16, 31, 64, 100, 128, 129])
@pytest.mark.parametrize(
    ("dtype", "other", "result"),
    [
        ("uint8", "uint8", "uint8"),
        ("int64", "int64", "float64"),
        ("int16", "uint8", "int16"),
        ("float32", "float32", "float32"),
        ("float32", "int16", "float64"),
    ],
)
def test_one_row_with_many(dtype, other, result, columns, threads):
    """The row is packed once for all tiles, but where its buffer is needed for results or another part of it comes."""
    before = dl.num_threads()
    dl.set_num_threads(threads)
    try:
        many = numbers((2, 5003, columns), dtype)
        for row in (numbers((columns,), other, 1), numbers((2, 1, columns), other, 2)):
            want = np.subtract(row, many)
            out = dl.empty(want.shape, dtype=result)
            dl.subtract(row, many, out=out)
            assert np.array_equal(out.numpy(), want)
            own = dl.asarray(many.copy())
            dl.subtract(own, row, out=own)
            assert np.array_equal(own.numpy(), many - row)
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 2)), ((3,), (2,)), ((2, 1, 3), (2, 2, 2))])
def test_shapes_that_do_not_broadcast(shapes):
    a, b = (dl.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match="do not broadcast"):
        dl.add(a, b)


def test_broadcast_arrays_returns_tensors_of_the_common_shape_themselves():
    a, b = dl.zeros((2, 3)), dl.ones(3)
    first, second = dl.broadcast_arrays(a, b)
    assert first is a
    assert not first.readonly
    assert second.shape == (2, 3)
    assert second.readonly
    assert second.same_memory(b)
    dl.broadcast_arrays(b, b)[0][0] = 5
    assert b.tolist() == [5, 1, 1]


# -- the memory order of new results ----------------------------------------------------------------------------------


def in_some_order(shape, generator):
    """An array whose axes lie in any order in memory, some of them reversed or one element long."""
    places = generator.permutation(len(shape))
    x = generator.integers(1, 9, [shape[place] for place in places]).astype("int32").transpose(np.argsort(places))
    for axis in range(x.ndim):
        part = generator.choice([slice(None)] * 6 + [slice(None, None, -1), slice(1)])
        x = x[(slice(None),) * axis + (part,)]
    return x


def strides_of_extents(x):
    """Strides in elements of the dimensions with more than one element."""
    strides = x.strides if isinstance(x, dl.Tensor) else [stride // x.itemsize for stride in x.strides]
    return [stride for stride, extent in zip(strides, x.shape, strict=True) if extent > 1]


CALLS = {
    "subtract": (lambda a, b, c: dl.subtract(a, b), lambda a, b, c: a - b),
    "less": (lambda a, b, c: dl.less(a, b), lambda a, b, c: a < b),
    "with a number": (lambda a, b, c: dl.multiply(a, 3), lambda a, b, c: a * 3),
    "of one operand": (lambda a, b, c: dl.negative(a), lambda a, b, c: -a),
    "of two dtypes": (lambda a, b, c: dl.add(a, dl.astype(b, "int64")), lambda a, b, c: a + b.astype("i8")),
    "astype": (lambda a, b, c: dl.astype(a, "float64"), lambda a, b, c: a.astype("f8")),
    "where": (lambda a, b, c: dl.where(dl.greater(c, 4), a, b), lambda a, b, c: np.where(c > 4, a, b)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_new_result_has_the_memory_order_of_its_operands_as_in_numpy(name):
    generator, (ours, theirs) = np.random.default_rng(5), CALLS[name]
    orders = set()
    for _ in range(400):
        shape = generator.integers(1, 4, generator.integers(0, 5))
        a, b, c = (in_some_order(shape, generator) for _ in range(3))
        made, want = ours(a, b, c), theirs(a, b, c)
        assert made.tolist() == want.tolist()
        assert strides_of_extents(made) == strides_of_extents(want), (a.shape, a.strides, b.shape, b.strides)
        last = sum((extent - 1) * stride for extent, stride in zip(made.shape, made.strides, strict=True))
        assert last == made.size - 1  # no gaps
        orders.add(tuple(np.argsort(made.strides)))
    assert len(orders) > 20


def test_results_without_elements_are_in_c_order():
    assert dl.add(dl.zeros((0, 3)).T, 1).strides == dl.zeros((3, 0)).strides


def test_bits_do_not_depend_on_the_order():
    x = dl.asarray(np.random.default_rng(0).standard_normal((40, 50, 3)).astype("float32"))
    for function in (dl.exp, lambda t: t * t + 0.1, dl.tanh, lambda t: dl.where(t > 0, t, -t)):
        moved = function(dl.permute_dims(x, (2, 0, 1)))
        assert not moved.is_contiguous
        assert dl.permute_dims(moved, (1, 2, 0)).tobytes() == function(x).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize(
    ("shape", "to"), [((5,), (7, 5)), ((7, 1), (7, 5)), ((3, 1, 6), (3, 4, 6)), ((1,), (9,)), ((2, 1), (2, 0))]
)
def test_reductions_of_repeated_elements(dtype, shape, to):
    rng = np.random.default_rng(len(to))
    repeated = dl.broadcast_to(dl.asarray((rng.standard_normal(shape) * 3).astype(dtype)), to)
    whole = repeated.copy()
    for count in range(len(to) + 1):
        for axis in itertools.combinations(range(len(to)), count):
            size = math.prod(to[d] for d in axis)
            for name in ("sum", "mean", "max", "min", "all", "any", "prod", "var"):
                extreme = name in ("max", "min")
                if (dtype == "complex64" and extreme) or (dtype == "bool" and name in ("mean", "var")):
                    continue  # not defined
                if size == 0 and (extreme or name in ("mean", "var")):
                    continue
                got, want = (getattr(dl, name)(x, axis=axis) for x in (repeated, whole))
                assert got.dtype == want.dtype
                assert np.array_equal(got.numpy(), want.numpy(), equal_nan=dtype[0] in "fc"), (name, axis)


# -- strides ----------------------------------------------------------------------------------------------------------

STRIDED = {
    "all": lambda t: t,
    "part": lambda t: t[:, 1:, :-1],
    "backwards": lambda t: t[::-1, ::-1, ::-1],
    "permuted": lambda t: t.permute(2, 1, 0),
    "rows": lambda t: t[:, :1, :1],
    "rows backwards": lambda t: t.reshape(-1)[:6][::-1].reshape((6, 1, 1)),
    "every second row backwards": lambda t: t.reshape(-1)[:11][::-2].reshape((6, 1, 1)),
    "columns backwards": lambda t: t.reshape(-1)[:6][::-1].reshape((1, 1, 6)),
    "between, backwards": lambda t: t.reshape(-1)[:6][::-1].reshape((1, 6, 1)),
    "one": lambda t: t[-1:, -1:, -1:],
}


def in_order(t, shape):
    return dl.broadcast_to(t, shape).copy()


@pytest.mark.parametrize("name", ["add", "pow", "hypot", "floor_divide", "less", "copysign"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "int64", "float64"])
def test_operands_of_any_strides_have_the_results_of_their_copies(name, dtype):
    """Also those whose places, counted from the first element, are negative: -1 is one of them."""
    function = getattr(dl, name)
    rng = np.random.default_rng(7)
    for other in ("float16", "bfloat16", "float32", "int16", "int64", "bool"):
        a, b = (dl.asarray(rng.integers(1, 9, (6, 6, 6))).astype(kind) for kind in (dtype, other))
        try:
            function(a, b)
        except TypeError:
            continue  # not of these dtypes
        for first, second in itertools.product(STRIDED.values(), repeat=2):
            x, y = first(a), second(b)
            try:
                shape = dl.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                continue
            result, expected = function(x, y), function(in_order(x, shape), in_order(y, shape))
            assert bool(dl.all(dl.logical_or(result == expected, result != result))), (other, x.strides, y.strides)
