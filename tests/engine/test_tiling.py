# SPDX-License-Identifier: Apache-2.0
"""choose_tiling: tiles cover every element once and fit the buffers, whatever the shapes and strides."""

import ctypes as c

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from native import library

BUFFER_BYTES = 16384


class Operand(c.Structure):
    _fields_ = [
        ("inner", c.c_int64), ("outer", c.c_int64), ("width", c.c_int64), ("widest", c.c_int64),
        ("converted", c.c_bool), ("packed", c.c_bool),
    ]  # fmt: skip


class Problem(c.Structure):
    _fields_ = [
        ("rows", c.c_int64), ("columns", c.c_int64), ("planes", c.c_int64), ("inputs", c.c_int), ("out", Operand),
        ("inputs_", Operand * 3), ("loop_width", c.c_int64), ("weight", c.c_int), ("moves", c.c_bool),
        ("transposed", c.c_bool), ("overwrites", c.c_bool), ("constant", c.c_bool), ("cached", c.c_bool),
        ("threads", c.c_int), ("last_cache", c.c_int64),
    ]  # fmt: skip


class Tiling(c.Structure):
    _fields_ = [
        ("tile_rows", c.c_int64), ("tile_columns", c.c_int64), ("row_tiles", c.c_int64), ("column_tiles", c.c_int64),
        ("tiles", c.c_int64), ("tiles_per_chunk", c.c_int64), ("far", c.c_bool), ("stream", c.c_bool),
        ("rows_first", c.c_bool), ("clashing", c.c_bool), ("constant", c.c_bool),
    ]  # fmt: skip


def operand(inner=1, outer=0, width=4, widest=None, converted=False, packed=False):
    return Operand(inner, outer, width, widest or width, converted, packed)


def choose(rows, columns, planes, out, *inputs, threads=2, last_cache=0, weight=1, **flags):
    problem = Problem(
        rows, columns, planes, len(inputs), out, (Operand * 3)(*inputs), out.widest, weight,
        threads=threads, last_cache=last_cache, **flags,
    )  # fmt: skip
    tiling = Tiling()
    library.engine_choose_tiling(c.byref(problem), c.byref(tiling))
    return tiling


EXTENTS = st.one_of(st.integers(1, 300), st.integers(1, 1 << 20), st.integers(1, 1 << 30))
WIDTHS = st.sampled_from([1, 2, 4, 8, 16, 3, 12, 32])


@st.composite
def operands(draw, columns):
    width = draw(WIDTHS)
    layout = draw(st.sampled_from(["contiguous", "transposed", "scalar", "column", "strided"]))
    inner, outer = {
        "contiguous": (1, columns), "transposed": (columns, 1), "scalar": (0, 0), "column": (0, 1),
        "strided": (3, 7 * columns),
    }[layout]  # fmt: skip
    converted = draw(st.booleans())
    return operand(inner, outer, width, draw(st.sampled_from([width, 2 * width])) if converted else width, converted)


@st.composite
def problems(draw):
    rows, columns = draw(EXTENTS), draw(EXTENTS)
    planes = draw(st.integers(1, 5))
    inputs = [draw(operands(columns)) for _ in range(draw(st.integers(1, 3)))]
    moves = draw(st.booleans())
    if moves:
        inputs = [operand(inputs[0].inner, inputs[0].outer, inputs[0].width)]
    transposed = any(o.outer != 0 and abs(o.outer) < abs(o.inner) for o in inputs) and rows > 1
    out = operand(1, columns, inputs[0].width)
    return (rows, columns, planes, out, *inputs), {"moves": moves, "transposed": transposed}


@settings(max_examples=2000, deadline=None)
@given(problems())
@example(((1, 1, 1, operand(), operand()), {}))
@example(((1 << 27, 1 << 22, 1, operand(1, 1 << 22), operand(1, 1 << 22)), {}))
def test_tiles_cover_every_element_once_and_fit_the_buffers(problem):
    (rows, columns, planes, out, *inputs), options = problem
    assume(rows * columns * planes < 1 << 50)  # an output is memory
    t = choose(rows, columns, planes, out, *inputs, **options)
    assert 1 <= t.tile_rows <= rows
    assert 1 <= t.tile_columns <= columns
    # The last tile takes what is left: at least one element, less than two tiles.
    for extent, size, count in ((rows, t.tile_rows, t.row_tiles), (columns, t.tile_columns, t.column_tiles)):
        assert count >= 1
        assert 0 < extent - (count - 1) * size < 2 * size
    assert t.tiles == t.row_tiles * t.column_tiles * planes
    assert t.tiles_per_chunk >= 1
    width = max([out.widest, *(o.widest for o in inputs)])
    buffered = any(o.converted or o.inner not in (0, 1) for o in inputs) and not options.get("moves")
    if buffered:
        largest_rows = max(t.tile_rows, rows - (t.row_tiles - 1) * t.tile_rows)
        largest_columns = max(t.tile_columns, columns - (t.column_tiles - 1) * t.tile_columns)
        assert largest_rows * largest_columns * width <= BUFFER_BYTES


def test_small_results_are_stored_normally_and_large_ones_with_non_temporal_stores():
    flat = operand(1, 0)
    assert not choose(1, 1 << 20, 1, flat, flat, flat).stream
    assert choose(1, 1 << 25, 1, flat, flat, flat).stream
    assert not choose(1, 1 << 25, 1, flat, flat, flat, overwrites=True).stream
    assert not choose(1, 1 << 25, 1, operand(2, 0), flat, flat).stream
    assert not choose(1, 1 << 28, 1, operand(1, 0, 1, packed=True), flat).stream


def test_the_last_cache_decides_what_is_streamed_within_limits():
    flat, scalar, mebi = operand(1, 0), operand(0, 0), 1 << 18  # elements of float32 in a mebibyte
    assert not choose(1, 31 * mebi, 1, flat, scalar, moves=True, constant=True).stream
    assert choose(1, 32 * mebi, 1, flat, scalar, moves=True, constant=True).constant
    assert not choose(1, 32 * mebi, 1, flat, scalar, moves=True, constant=True, cached=True).stream
    # Three operands of 16 MiB exceed a cache of 32 MiB by half, two do not.
    assert choose(1, 16 * mebi, 1, flat, flat, flat).stream
    assert not choose(1, 16 * mebi, 1, flat, flat).stream
    assert choose(1, 16 * mebi, 1, flat, flat, last_cache=8 << 20).stream
    assert not choose(1, 15 * mebi, 1, flat, scalar, last_cache=8 << 20).stream
    assert choose(1, 32 * mebi, 1, flat, flat, last_cache=384 << 20).stream


def test_short_rows_are_not_stored_with_non_temporal_stores():
    # Images from NCHW to NHWC: 3 elements in each row of the output.
    assert not choose(1 << 24, 3, 1, operand(1, 3), operand(1 << 24, 1), moves=True, transposed=True).stream
    assert choose(1 << 22, 16, 1, operand(1, 16), operand(1 << 22, 1), moves=True, transposed=True).stream
    # Slices of rows are read in place; what is transposed goes through a buffer, which leaves it whole.
    sliced = [operand(1, 64), operand(1, 64)]
    assert not choose(1 << 21, 32, 1, operand(1, 32), *sliced).stream
    assert choose(1 << 21, 33, 1, operand(1, 33), *sliced).stream
    assert choose(1 << 24, 3, 1, operand(1, 3), operand(1 << 24, 1), transposed=True).stream


def test_small_work_is_one_chunk_and_large_work_is_shared():
    flat = operand(1, 0)
    small, large = choose(1, 1 << 14, 1, flat, flat), choose(1, 1 << 22, 1, flat, flat)
    assert small.tiles_per_chunk >= small.tiles
    assert large.tiles_per_chunk < large.tiles
    heavy = choose(1, 1 << 15, 1, flat, flat, weight=8)
    assert heavy.tiles_per_chunk < heavy.tiles
    packed = choose(1, 1 << 24, 1, operand(1, 0, 1, packed=True), flat)
    assert packed.tiles_per_chunk < packed.tiles
    assert packed.tile_columns % 8 == 0
    for rows, columns, out in [
        (3, 1 << 22, operand(1, (1 << 22) + 1, 1, packed=True)),
        (1, 1 << 24, operand(2, 0, 1, packed=True)),
    ]:
        neighbours = choose(rows, columns, 1, out, flat)  # that may share a byte
        assert neighbours.tiles_per_chunk >= neighbours.tiles


def test_a_transposed_operand_is_read_in_squares_or_along_its_cache_lines():
    n = 4096
    out, turned = operand(1, n), operand(n, 1)
    copy = choose(64, 64, 1, operand(1, 64), operand(64, 1), moves=True, transposed=True)
    assert (copy.tile_rows, copy.tile_columns) == (64, 64)
    long = choose(1000, 1000, 1, operand(1, 1000), operand(1000, 1), moves=True, transposed=True)
    assert (long.tile_rows, long.tile_columns) == (256, 16)  # one cache line of float32 in the output
    few = choose(4, 10000, 1, operand(1, 10000), operand(4, 1), moves=True, transposed=True)
    assert (few.tile_rows, few.tile_columns) == (4, 1024)
    add = choose(n, n, 1, out, out, turned, transposed=True)
    assert add.tile_rows == 16
    assert add.clashing
    assert add.rows_first
