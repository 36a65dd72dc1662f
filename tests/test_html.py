# SPDX-License-Identifier: Apache-2.0
"""The notebook view: well-formed markup, correct text, and a drawing that agrees with brute force."""

import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl
from dltensor._core.html import CELLS, LINES, Memory, contiguity, drawing, layout_word, size_words
from dltensor._core.views import shares_elements

GRID = dl.from_dlpack(np.arange(24, dtype=np.int16).reshape(4, 6))


def markup(t):
    return ElementTree.fromstring(t._repr_html_())


def drawing_of(t):
    return drawing(t.shape, t.strides)


def header(t):
    return "".join(markup(t).find("div[@class='head']").itertext())


def numbers(text):
    """What the cells of a drawing say."""
    return re.findall(r'text-anchor="middle"[^>]*>([^<]+)<', text)


@pytest.mark.parametrize(
    "t",
    [
        GRID,
        GRID.T,
        GRID[::-1, ::2],
        dl.zeros((0, 3)),
        dl.zeros(()),
        dl.broadcast_to(dl.arange(3), (4, 3)),
        dl.zeros((300, 300)),
        dl.zeros(3, dtype="int4"),
        dl.zeros(3, dtype=dl.DType(99, 24)),
        dl.wrap(4096, (3,), "int8", device="cuda", owner=object()),
    ],
    ids=lambda t: f"{t.shape}-{t.dtype}-{t.device}",
)
def test_the_markup_is_well_formed_and_complete(t):
    text = " ".join(markup(t).itertext())
    for word in (str(t.shape), str(t.strides), str(t.dtype), str(t.device), f"{t.nbytes:,} bytes"):
        assert word in text


def test_the_values_are_escaped():
    assert "&lt;00 00 00&gt;" in dl.zeros(1, dtype=dl.DType(99, 24))._repr_html_()


@pytest.mark.parametrize(
    ("t", "line"),
    [
        (dl.zeros((2, 3, 224, 224), dtype="bfloat16"), "Tensor (2, 3, 224, 224) bfloat16 · cpu · C order · 602 KB"),
        (GRID.T, "Tensor (6, 4) int16 · cpu · Fortran order · 48 bytes"),
        (GRID[::-1, ::2], "Tensor (4, 3) int16 · cpu · backwards · 24 bytes"),
        (dl.broadcast_to(dl.arange(3), (4, 3)), "Tensor (4, 3) int64 · cpu · repeated · 96 bytes"),
        (dl.zeros(()), "Tensor () float32 · cpu · C order · 4 bytes"),
    ],
    ids=lambda value: getattr(value, "shape", ""),
)
def test_the_first_line_says_what_the_tensor_is(t, line):
    assert header(t) == line


def test_a_layout_has_a_short_name():
    assert layout_word((2, 3, 4), (4, 8, 1)) == "permuted"
    assert layout_word((3, 2), (1, 1)) == "overlapping"


@pytest.mark.parametrize(
    ("nbytes", "words"), [(0, "0 bytes"), (1, "1 byte"), (1500, "1.5 KB"), (99_960, "100 KB"), (2**40, "1.1 TB")]
)
def test_sizes_have_decimal_units(nbytes, words):
    assert size_words(nbytes) == words


@pytest.mark.parametrize("shape", [(1000,), (2, 3, 224, 224), (300, 300), (5, 5, 5), (100, 1), (3, 2)])
def test_values_take_few_lines(shape):
    text = markup(dl.zeros(shape)).find(".//pre").text
    assert len(text.splitlines()) <= LINES
    assert (text.startswith("[" * len(shape)), text.endswith("]" * len(shape))) == (True, True)


def test_the_memory_is_open_only_where_the_layout_is_not_plain():
    def folds(t):
        return {part.find("summary").text: part.get("open") for part in markup(t).iter("details")}

    assert folds(GRID) == {"Attributes": None, "Elements in memory": None}
    assert folds(GRID.T) == {"Attributes": None, "Elements in memory": ""}
    assert folds(dl.zeros((0, 3))) == {"Attributes": None}


def test_flags_are_named():
    assert "READ_ONLY" in dl.asarray(b"a")._repr_html_()


def test_memory_elsewhere_is_not_read():
    assert "on cuda:0, not read" in dl.wrap(4096, (3,), "int8", device="cuda", owner=object())._repr_html_()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-15, 15)), max_size=4))
def test_the_drawn_cells_are_those_that_the_indices_reach(dims):
    shape, strides = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    memory = Memory(shape, strides)
    expected = {}
    for number, index in enumerate(product(*map(range, shape))):
        cell = sum(i * s for i, s in zip(index, strides, strict=True)) - memory.first
        expected.setdefault(cell, []).append(number)
    assert 0 <= min(expected) <= max(expected) == memory.span - 1
    if memory.span > CELLS:
        assert memory.contains is None
    else:
        assert memory.contains == {cell: (min(found), len(found) > 1) for cell, found in expected.items()}


@pytest.mark.parametrize(
    ("shape", "strides"), [((10**6, 10**6), (1, 10**6)), ((10**12,), (-1,)), ((10**9,), (10**6,)), ((97,), (1,))]
)
def test_large_tensors_have_a_row_for_each_dimension_and_no_cells(shape, strides):
    assert Memory(shape, strides).contains is None
    text = drawing(shape, strides)
    assert "<svg" not in text
    assert text.count("<tr>") == 1 + len(shape)
    assert f">{strides[0]:,}</td>" in text


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2,) * 40, (1,) * 40), ((2,) * 40, (1, -1) * 20), ((3,) * 20, (0, 1) * 10), ((10**9, 3), (0, 1))],
)
def test_overlapping_views_of_many_dimensions_take_no_longer_than_others(shape, strides):
    # All elements would be 2^40 of them: this ends only because places and not indices are counted.
    memory = Memory(shape, strides)
    assert len(memory.contains) == memory.span <= CELLS
    assert re.search("overlapping|repeated", contiguity(shape, strides))


def test_only_cells_that_several_indices_reach_are_marked():
    assert numbers(drawing((2, 2), (1, 1))) == ["0", "1+", "3"]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-15, 15)), max_size=5))
def test_whether_elements_are_shared_is_found_out_exactly(dims):
    reached = [
        sum(i * s for i, (_, s) in zip(index, dims, strict=True)) for index in product(*(range(n) for n, _ in dims))
    ]
    assert shares_elements([n for n, _ in dims], [s for _, s in dims]) == (len(set(reached)) < len(reached))


def test_a_search_for_shared_elements_ends():
    assert shares_elements((10**6, 10**6), (1, 1)) is True
    assert shares_elements((10**9, 2), (2, 10**9 + 1)) is False
    assert shares_elements((2,) * 60, [2**k for k in range(60)]) is False
    assert shares_elements((2,) * 40, [10**12 + 104729 * k**3 for k in range(40)]) is not False
    assert shares_elements((2**62,) * 12, [2**62 - k for k in range(12)]) is None


def test_the_numbers_of_the_drawing_are_in_c_order():
    assert numbers(drawing_of(GRID[::-1, ::3])) == ["6", "7", "4", "5", "2", "3", "0", "1"]


def test_cells_that_several_indices_reach_are_marked():
    text = drawing_of(dl.broadcast_to(dl.arange(2), (3, 2)))
    assert numbers(text) == ["0+", "1+"]
    assert "several indices reach" in text


def test_skipped_cells_are_dashed():
    text = drawing_of(dl.arange(5)[::2])
    assert text.count("stroke-dasharray") == 2
    assert "skipped" in text


@pytest.mark.parametrize(
    ("shape", "strides", "words"),
    [
        ((2, 3), (3, 1), "contiguous, C order"),
        ((3,), (1,), "contiguous, C order"),
        ((1, 3), (7, 1), "contiguous, C order"),
        ((2, 3), (1, 2), "contiguous, Fortran order (the first index moves fastest)"),
        ((2, 3), (6, 2), "with gaps"),
        ((2, 3, 4), (4, 8, 1), "permuted: contiguous in another order of dimensions"),
        ((3, 2), (2, 3), "with gaps"),
        ((3, 2), (1, 1), "overlapping: several indices reach the same elements"),
        ((3, 2), (4, 4), "overlapping: several indices reach the same elements"),
        ((2, 3), (0, -1), "repeated along dimension 0 (stride 0); backwards along dimension 1 (stride -1)"),
    ],
)
def test_contiguity_is_said_in_words(shape, strides, words):
    assert contiguity(shape, strides) == words
