# SPDX-License-Identifier: Apache-2.0
"""Conway's game of life on a torus: a glider, by shifted copies of the board."""

import dltensor as np  # NumPy: import numpy as np


def step(board):
    neighbours = sum(
        np.roll(np.roll(board, dy, axis=0), dx, axis=1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
    )
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)


def show(board):
    return "\n".join("".join(".#"[cell] for cell in row) for row in board)


def main():
    board = np.zeros((12, 16), dtype=np.uint8)
    board[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    board[6, 9:12] = 1
    cells = []
    for _ in range(20):
        board = step(board)
        cells.append(board.sum())
    rows, columns = np.nonzero(board)
    return {
        "cells": np.array(cells),
        "rows": np.unique(rows),
        "box": (rows.min(), rows.max(), columns.min(), columns.max()),
        "board": show(board),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
