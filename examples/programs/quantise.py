# SPDX-License-Identifier: Apache-2.0
"""Quantise the weights of a layer to int8, a scale for each row, and to float8; compare the products."""

import ml_dtypes  # NumPy has no float8 without it

import dltensor as np  # NumPy: import numpy as np


def to_int8(weight):
    """Return int8 weights and the scale of each row."""
    scale = np.abs(weight).max(axis=1, keepdims=True) / 127
    return np.clip(np.round(weight / scale), -127, 127).astype(np.int8), scale


def to_float8(weight):
    """Return float8_e4m3fn weights and the scale of each row; 448 is the largest number of the type."""
    scale = np.abs(weight).max(axis=1, keepdims=True) / 448
    return (weight / scale).astype(ml_dtypes.float8_e4m3fn), scale


def relative_error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def main():
    rows, columns = np.ix_(np.arange(64), np.arange(128))  # NumPy: rows, columns = np.ogrid[0:64, 0:128]
    weight = (np.sin(0.7 * rows + 0.29 * columns) * np.exp(-0.05 * rows)).astype(np.float32)
    x = np.cos(0.37 * np.arange(128)).astype(np.float32)
    exact = weight @ x
    small, scale = to_int8(weight)
    in_integers = (small.astype(np.int32) @ np.round(x * 127).astype(np.int32)) * (scale[:, 0] / 127)
    tiny, scale8 = to_float8(weight)
    in_float8 = (tiny.astype(np.float32) @ x) * scale8[:, 0]
    return {
        "int8 row": small[3, :8],
        "float8 row": tiny[3, :8].astype(np.float32),
        "bytes": (weight.nbytes, small.nbytes, tiny.nbytes),
        "error of int8": relative_error(in_integers, exact),
        "error of float8": relative_error(in_float8, exact),
        "saturated": int((np.abs(small) == 127).sum()),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
