# SPDX-License-Identifier: Apache-2.0
"""The eight queens, and a sudoku: searches that keep what is still possible in boolean arrays."""

import dltensor as np  # NumPy: import numpy as np

PUZZLE = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"


def queens(n):
    """Return all placements, a row for each: the column of the queen in every row."""
    found = np.zeros((1, 0), dtype=np.int64)
    for row in range(n):
        columns = np.arange(n)
        placed, rows = found[:, :, np.newaxis], np.arange(row)[np.newaxis, :, np.newaxis]
        attacked = (placed == columns) | (np.abs(placed - columns) == row - rows)
        parent, column = np.nonzero(~attacked.any(axis=1))
        found = np.hstack([found[parent], column[:, np.newaxis]])
    return found


def candidates(grid, i, j):
    """Return the digits that a cell may hold."""
    box = grid[i // 3 * 3 : i // 3 * 3 + 3, j // 3 * 3 : j // 3 * 3 + 3]
    used = np.concatenate([grid[i], grid[:, j], box.ravel()])
    return np.setdiff1d(np.arange(1, 10), used)


def solve(grid):
    """Fill the empty cells of a sudoku in place, the cell with the fewest candidates first."""
    empty = np.argwhere(grid == 0)
    if len(empty) == 0:
        return True
    options = [(candidates(grid, i, j), i, j) for i, j in empty]
    digits, i, j = min(options, key=lambda option: len(option[0]))
    for digit in digits:
        grid[i, j] = digit
        if solve(grid):
            return True
    grid[i, j] = 0
    return False


def main():
    boards = queens(8)
    grid = np.array([int(digit) for digit in PUZZLE]).reshape(9, 9)
    solved = solve(grid)
    return {"boards": len(boards), "first board": boards[0], "solved": solved, "grid": grid}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
