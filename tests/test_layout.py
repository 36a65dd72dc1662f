# SPDX-License-Identifier: Apache-2.0
"""dl.layout against brute force: every shape of up to 4 dimensions of extent 0 to 3."""

from itertools import permutations, product
from math import prod

import layout_oracle
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dltensor as dl
from dltensor import layout

SHAPES = [shape for ndim in range(5) for shape in product(range(4), repeat=ndim)]


def offsets(shape, strides):
    """Where every index leads, in C order."""
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]


def layouts(shape):
    """Strides for a shape: C, Fortran, with gaps, backwards, transposed, repeated."""
    c = layout.contiguous_strides(shape)
    yield c
    yield layout.contiguous_strides(shape, order="F")
    yield tuple(2 * s for s in c)
    yield tuple(-s for s in c)
    for axis in range(len(shape)):
        yield (*c[:axis], 0, *c[axis + 1 :])
        yield (*c[:axis], 7 * c[axis], *c[axis + 1 :])


def test_there_are_all_shapes():
    assert len(SHAPES) == 1 + 4 + 16 + 64 + 256


def test_numel_counts_every_index():
    for shape in SHAPES:
        assert layout.numel(shape) == sum(1 for _ in np.ndindex(*shape))


@pytest.mark.parametrize("dtype", dl.DTYPES.values(), ids=str)
def test_nbytes_packs_types_below_a_byte(dtype):
    for shape in SHAPES:
        bits = sum(dtype.bits for _ in range(prod(shape)))
        assert layout.nbytes(shape, dtype) == -(-bits // 8)


def test_contiguous_strides_number_the_elements_in_order():
    for shape in SHAPES:
        assert offsets(shape, layout.contiguous_strides(shape)) == list(range(prod(shape)))
        transposed = offsets(shape[::-1], layout.contiguous_strides(shape, order="F")[::-1])
        assert transposed == list(range(prod(shape)))


def test_contiguous_strides_are_those_of_our_own_tensors():
    for shape in SHAPES:
        assert layout.contiguous_strides(shape) == dl.empty(shape).strides


def test_is_contiguous_says_whether_the_walk_is_a_count():
    for shape in SHAPES:
        for strides in layouts(shape):
            assert layout.is_contiguous(shape, strides) == (offsets(shape, strides) == list(range(prod(shape))))
            backwards = offsets(shape[::-1], strides[::-1])
            assert layout.is_contiguous(shape, strides, order="F") == (backwards == list(range(prod(shape))))


def test_broadcast_shapes_agrees_with_numpy_for_every_pair():
    compared = 0
    for a in SHAPES[:85]:
        for b in SHAPES[:85]:
            try:
                expected = np.broadcast_shapes(a, b)
            except ValueError:
                with pytest.raises(ValueError, match="do not broadcast"):
                    layout.broadcast_shapes(a, b)
                continue
            compared += 1
            assert layout.broadcast_shapes(a, b) == expected
    assert compared > 1000


def test_leading_alignment_is_trailing_alignment_of_the_reversed_shapes():
    for a in SHAPES[:85]:
        for b in SHAPES[:85]:
            try:
                expected = np.broadcast_shapes(a[::-1], b[::-1])[::-1]
            except ValueError:
                with pytest.raises(ValueError, match="leading dimensions aligned"):
                    layout.broadcast_shapes(a, b, align="leading")
                continue
            assert layout.broadcast_shapes(a, b, align="leading") == expected


def test_broadcast_shapes_takes_any_number_of_shapes():
    assert layout.broadcast_shapes() == ()
    assert layout.broadcast_shapes((2, 1), (3,), (1, 1, 1)) == (1, 2, 3)


def test_broadcast_strides_walk_as_numpy_does():
    compared = 0
    for to in SHAPES:
        for shape in {to[k:] for k in range(len(to) + 1)} | {(1,) * len(to)}:
            for repeated in product((False, True), repeat=len(shape)):
                small = tuple(1 if r else n for n, r in zip(shape, repeated, strict=True))
                array = np.arange(prod(small)).reshape(small)
                strides = layout.broadcast_strides(small, layout.contiguous_strides(small), to)
                if 0 not in to:
                    compared += 1
                    assert offsets(to, strides) == np.broadcast_to(array, to).ravel().tolist()
    assert compared > 1000


def test_broadcast_strides_align_leading_dimensions_when_asked():
    assert layout.broadcast_strides((2, 1), (5, 1), (2, 3, 4), align="leading") == (5, 0, 0)


@pytest.mark.parametrize(("shape", "to"), [((2,), (3,)), ((2, 3), (3,)), ((0,), (1,)), ((3, 1), (2, 3))])
def test_broadcast_strides_refuses_what_does_not_fit(shape, to):
    with pytest.raises(ValueError, match="does not broadcast to"):
        layout.broadcast_strides(shape, shape, to)


def test_coalesce_keeps_every_walk_and_leaves_nothing_to_join():
    for shape in SHAPES:
        for pair in product(layouts(shape), list(layouts(shape))[:4]):
            sizes, steps = layout.coalesce(shape, pair)
            if 0 in shape:
                assert sizes == (0,)
                continue
            assert [offsets(sizes, s) for s in steps] == [offsets(shape, s) for s in pair]
            assert 1 not in sizes
            for k in range(len(sizes) - 1):
                assert any(s[k] != s[k + 1] * sizes[k + 1] for s in steps)


def test_coalesce_does_not_count_what_comes_before_an_empty_dimension():
    assert layout.coalesce((1 << 62, 4, 2, 0), [(0, 0, 0, 1)]) == ((0,), ((1,),))
    assert layout.coalesce((1 << 62, 4, 0), []) == ((0,), ())


def test_coalesce_without_operands_joins_everything():
    assert layout.coalesce((2, 1, 3), []) == ((6,), ())


def test_extent_is_the_first_and_one_past_the_last_element_touched():
    for shape in SHAPES:
        for strides in layouts(shape):
            touched = offsets(shape, strides)
            expected = (min(touched), max(touched) + 1) if touched else (0, 0)
            assert layout.extent(shape, strides) == expected


def test_extent_does_not_depend_on_the_order_of_dimensions():
    for order in permutations(range(3)):
        shape, strides = (2, 3, 4), (-12, 4, -1)
        assert layout.extent([shape[k] for k in order], [strides[k] for k in order]) == (-15, 9)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: layout.numel(3), TypeError, "numel: a shape must be a sequence of integers, got 3"),
        (lambda: layout.numel((1.5,)), TypeError, "numel: a shape must be a sequence of integers"),
        (lambda: layout.numel((2, -1)), ValueError, r"numel: shape\[1\] must be at least 0, got -1"),
        (lambda: layout.nbytes((2,), "float31"), TypeError, "nbytes: there is no dtype named 'float31'"),
        (lambda: layout.contiguous_strides((2,), order="K"), ValueError, "order must be 'C' or 'F', got 'K'"),
        (lambda: layout.is_contiguous((2, 3), (1,)), ValueError, "differ in length"),
        (
            lambda: layout.broadcast_shapes((2,), (2,), align="middle"),
            ValueError,
            "align must be 'trailing' or 'leading'",
        ),
        (lambda: layout.coalesce((2,), [(1, 2)]), ValueError, "coalesce: .* differ in length"),
        (lambda: layout.extent((2,), ("x",)), TypeError, "extent: strides must be a sequence of integers"),
    ],
)
def test_wrong_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bad_shapes_of_nbytes_are_reported_by_nbytes():
    with pytest.raises(ValueError, match=r"^nbytes: "):
        layout.nbytes((-1,), "float32")


def result(function, *arguments, **options):
    """What a call returns, or the class and text of its error."""
    try:
        return function(*arguments, **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


EXTENTS = st.one_of(st.integers(0, 4), st.sampled_from([-1, 2**31, 2**62, 2**63 - 1, 2**63, 2**70]))
NUMBERS = st.one_of(st.integers(-9, 9), st.sampled_from([-(2**63), 2**62, 2**63 - 1, 2**63, -(2**64), 1.5]))
SHAPE = st.lists(EXTENTS, max_size=6)
ORDER, ALIGN = st.sampled_from(["C", "F", "K"]), st.sampled_from(["trailing", "leading"])


@st.composite
def strided(draw):
    shape = draw(SHAPE)
    length = len(shape) + draw(st.sampled_from([0, 0, 0, 0, 1]))
    return shape, draw(st.lists(NUMBERS, min_size=length, max_size=length))


@settings(max_examples=1500, deadline=None)
@given(strided(), strided(), ORDER, ALIGN, st.sampled_from(["int4", "uint8", "float64", "complex128"]))
@example(((2**62, 4), (1, 1)), ((2**31, 2**31, 2**31), (1, 1, 1)), "F", "leading", "int4")
@example(((0, 2**63 - 1, 2**63 - 1), (1, 1, 1)), ((), ()), "C", "trailing", "uint8")
def test_every_function_agrees_with_plain_python(first, second, order, align, dtype):
    shape, strides = first
    for name, arguments, options in (
        ("numel", (shape,), {}),
        ("nbytes", (shape, dtype), {}),
        ("contiguous_strides", (shape,), {"order": order}),
        ("is_contiguous", (shape, strides), {"order": order}),
        ("broadcast_shapes", (shape, second[0]), {"align": align}),
        ("broadcast_shapes", (), {}),
        ("broadcast_strides", (shape, strides, second[0]), {"align": align}),
        ("coalesce", (shape, [strides, second[1]]), {}),
        ("coalesce", (shape, []), {}),
        ("extent", (shape, strides), {}),
        ("array_equals", (shape, second[0]), {}),
        ("array_equals", (shape, second[0], 0, 1), {}),
    ):
        found = result(getattr(layout, name), *arguments, **options)
        expected = result(getattr(layout_oracle, name), *arguments, **options)
        assert found == expected, (name, arguments, options)


def test_at_most_64_dimensions():
    assert layout.numel((1,) * 64) == 1
    with pytest.raises(ValueError, match="numel: at most 64 dimensions are supported, a shape has 65"):
        layout.numel((1,) * 65)
    with pytest.raises(ValueError, match="extent: at most 64 dimensions"):
        layout.extent((1,), (1,) * 65)


def test_a_sequence_is_read_once():
    class Changing:
        asked = 0

        def __iter__(self):
            Changing.asked += 1
            return iter((2, 3) if Changing.asked == 1 else (2**62, 2**62))

    assert layout.numel(Changing()) == 6
    assert Changing.asked == 1
