# SPDX-License-Identifier: Apache-2.0
"""Copies between layouts of few rows and columns, which have loops of their own: values, and nothing beside is
written."""

import itertools

import native
import numpy as np
import pytest

SIZES = [1, 2, 3, 4, 5, 8, 17]
# How rows and columns of the source lie in an array of `rows` x `columns`, which is what is seen.
SOURCES = {
    "in rows": lambda make, rows, columns: make(rows, columns),
    "in rows with gaps": lambda make, rows, columns: make(rows, columns + 3)[:, :columns],
    "in columns": lambda make, rows, columns: make(columns, rows).T,
    "in columns with gaps": lambda make, rows, columns: make(columns, rows + 1)[:, :rows].T,
    "every second": lambda make, rows, columns: make(rows, 2 * columns)[:, ::2],
    "every third": lambda make, rows, columns: make(rows, 3 * columns)[:, ::3],
    "every fourth": lambda make, rows, columns: make(rows, 4 * columns)[:, ::4],
    "every fifth": lambda make, rows, columns: make(rows, 5 * columns)[:, ::5],
    "backwards": lambda make, rows, columns: make(rows, columns)[:, ::-1],
    "rows repeated": lambda make, rows, columns: np.broadcast_to(make(1, columns), (rows, columns)),
    "columns repeated": lambda make, rows, columns: np.broadcast_to(make(rows, 1), (rows, columns)),
}
# Where it is written in an array that is filled with something else.
TARGETS = {
    "in rows": lambda make, rows, columns: make(rows, columns),
    "in rows with gaps": lambda make, rows, columns: make(rows, columns + 2)[:, 1:-1],
    "in columns": lambda make, rows, columns: make(columns, rows).T,
    "in every second column": lambda make, rows, columns: make(rows, 2 * columns)[:, ::2],
    "in every third column": lambda make, rows, columns: make(rows, 3 * columns)[:, ::3],
    "in every fourth column": lambda make, rows, columns: make(rows, 4 * columns)[:, 3::4],
}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "complex128"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_pair_of_layouts_is_copied_and_nothing_beside(source, dtype, level):
    for target, rows, columns in itertools.product(TARGETS, SIZES, SIZES):
        made = []

        def new(*shape, made=made):
            made.append(np.full(shape, 77).astype(dtype))
            return made[-1]

        def numbered(*shape):
            return (np.arange(np.prod(shape)) % 70).reshape(shape).astype(dtype)

        values = SOURCES[source](numbered, rows, columns)
        got, want = TARGETS[target](new, rows, columns), TARGETS[target](new, rows, columns)
        want[...] = values
        native.copy(got, values)
        np.testing.assert_array_equal(made[0], made[1], err_msg=f"{target}, {rows} x {columns}")
