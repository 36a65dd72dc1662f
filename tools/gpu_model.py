# SPDX-License-Identifier: Apache-2.0
"""What the machine code of kernels lets them move, by a model: no GPU is needed, and none is used.

    .venv/bin/python tools/gpu_model.py              # the table of docs/cuda.md, from NVRTC and nvdisasm
    .venv/bin/python tools/gpu_model.py --arch 100   # for another architecture

A kernel is compiled by NVRTC, its loop is read from the disassembly, and the instructions of each pipe of a
multiprocessor are counted for the bytes that the loop reads and writes. The pipe that takes longest is the bound. What
a bound means for a card is in `expected`; no card has confirmed any of it.
"""

import argparse
import ctypes
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "dltensor"
K = "dlt::kernels::"

# ---- kernels


class Kernel(NamedTuple):
    """A kernel, and how its loop is counted."""

    name: str
    family: str  # the header
    expression: str
    width: int = 128  # bits of the narrowest access that its limits allow in the loop
    # "loop": the innermost loop that moves most; "nested": the loop that moves most, with those in it, once each;
    # "one axis": without loops that find places along several axes; "tile": a block's turn, of which loops are repeated
    # until they have read or written `each` bytes a thread, and those with barriers `turns` times; "": not limited by
    # memory, not counted.
    how: str = "loop"
    each: float = 0
    turns: int = 0


def element(body, count, type, vector, out=None):
    parts = [K + body, str(count), *[type] * 4, out or type, str(vector), "0"]
    return "element", f"{K}element::contiguous<{', '.join(parts)}>"


def cast(to, source):
    return "float8", f"{K}float8::run<{to}, {source}, false>"


def row(body, count, type, vector):
    parts = [K + body, str(count), *[type] * 5, str(vector), "0", "6", "uint32_t"]  # runs of up to 6 dimensions
    return "element", f"{K}element::rows<{', '.join(parts)}>"


def strip_bytes(bytes, pitch):
    """Of a tile, as strip_tile() of parameters.cuh has it."""
    tile = 32
    while 2 * tile * pitch * bytes <= 16384:
        tile *= 2
    return tile * pitch * bytes


def strip(type, bytes, pitch, split):
    tile = strip_bytes(bytes, pitch) // (pitch * bytes)
    kind = "true" if split else "false"
    return "tile", f"{K}tile::strip<{K}keep, 1, {', '.join([type] * 5)}, {pitch}, {tile}, {kind}, 6, uint32_t>"


def reduction(kernel, body, type, result):
    return "reduce", f"{K}reduce::{kernel}<{K}reduce::{body}<{type}>, {type}, {result}, 6, false>"


def scan(kernel, body, type, result, write):
    return "scan", f"{K}scan::{kernel}<{body}, {type}, {result}, 6, {write}>"


def of(family, rest):
    return family, f"{K}{family}::{rest}"


HALF, BRAIN, WIDE = "dlt::float16", "dlt::bfloat16", f"{K}wide_word"
SUMS = f"{K}scan::float_sums<float>"
WHOLE = f"{K}scan::reduced<{K}reduce::sums<int32_t>>"
EIGHT = ", ".join(["uint64_t"] * 5)
CAST_TYPES = {"float32": "float", "uint8": "uint8_t"} | {
    name: f"dlt::{name}" for name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
}

KERNELS = [
    Kernel("add float32", *element("op_add", 2, "float", 4)),
    Kernel("add float64", *element("op_add", 2, "double", 2)),
    Kernel("add int32", *element("op_add", 2, "int32_t", 4)),
    Kernel("add, multiply float16", *element("op_multiply", 2, HALF, 8)),
    Kernel("negative float16", *element("op_negative", 1, HALF, 8)),
    Kernel("add bfloat16", *element("op_add", 2, BRAIN, 8)),
    Kernel("add uint8", *element("op_add", 2, "uint8_t", 16)),
    *(
        Kernel(f"cast {first} to {second}", *cast(CAST_TYPES[second], CAST_TYPES[first]), 32)
        for wide in ("float16", "bfloat16", "float32", "uint8")
        for narrow in ("float8_e4m3fn", "float8_e5m2")
        for first, second in ((wide, narrow), (narrow, wide))
    ),
    Kernel("copy complex128", *element("keep", 1, WIDE, 2)),
    Kernel("add complex128", *element("op_add", 2, "dlt::complex128", 2)),
    *(
        Kernel(f"rows of any alignment: {name}", *row(body, count, type, pack), 32)
        for name, body, count, type, pack in (
            ("copy of 1 byte", "keep", 1, "uint8_t", 4),
            ("copy of 2 bytes", "keep", 1, "uint16_t", 2),
            ("copy of 4 bytes", "keep", 1, "uint32_t", 1),
            ("copy of 8 bytes", "keep", 1, "uint64_t", 1),
            ("add uint8", "op_add", 2, "uint8_t", 4),
            ("add float16", "op_add", 2, HALF, 2),
            ("add float32", "op_add", 2, "float", 1),
            ("add float64", "op_add", 2, "double", 1),
        )
    ),
    Kernel("transpose of 1 byte", *of("tile", "words<1, 6, uint32_t>")),
    Kernel("transpose of 2 bytes", *of("tile", "words<2, 6, uint32_t>")),
    Kernel("transpose of 4 bytes", *of("tile", "words<4, 6, uint32_t>")),
    Kernel("transpose of 8 bytes", *of("tile", f"permute<{K}keep, 1, {EIGHT}, 6, uint32_t>"), 64, "tile", each=32),
    *(
        Kernel(
            f"{channels} channels {'first' if split else 'last'}, {bytes} byte{'s' * (bytes > 1)}",
            *strip(type, bytes, channels, split),
            32,
            "tile",
            each=strip_bytes(bytes, channels) / 256,
        )
        for type, bytes in (("uint8_t", 1), ("uint16_t", 2), ("uint32_t", 4), ("uint64_t", 8), (WIDE, 16))
        for channels in ((3, 8, 16) if bytes <= 4 else (3,))
        for split in (True, False)
    ),
    Kernel("sum float32", *reduction("partial", "exact_sum", "float", "float"), how="one axis"),
    Kernel("sum float64", *reduction("partial", "exact_sum", "double", "double"), how="one axis"),
    Kernel("sum float16", *reduction("partial", "exact_sum", HALF, HALF), how="one axis"),
    Kernel("sum int32", *reduction("partial", "sums", "int32_t", "int64_t"), how="one axis"),
    Kernel("sum uint8", *reduction("partial", "sums", "uint8_t", "int64_t"), how="one axis"),
    Kernel("max float32", *reduction("partial", "largest", "float", "float"), how="one axis"),
    Kernel("max float16", *reduction("partial", "largest", HALF, HALF), how="one axis"),
    Kernel("argmax float32", *reduction("partial", "first_largest", "float", "int64_t"), how="one axis"),
    Kernel("any bool", *reduction("partial", "some", "dlt::boolean", "dlt::boolean"), how="one axis"),
    Kernel("var float32", *reduction("partial", "exact_moments", "float", "float"), how="one axis"),
    Kernel("var float64, second pass", *reduction("partial", "exact_deviations", "double", "double"), how="one axis"),
    Kernel("prod float32", *reduction("partial", "ordered_products", "float", "float"), 32, "one axis"),
    Kernel("sum float32 of columns", *reduction("columns", "exact_sum", "float", "float"), how=""),
    Kernel("max float16 of columns", *reduction("columns", "largest", HALF, HALF), how=""),
    Kernel("sum of parts", *reduction("joined", "exact_sum", "float", "float"), how=""),
    Kernel("prod of parts", *reduction("joined_in_order", "ordered_products", "float", "float"), how=""),
    Kernel("cumulative_sum float32", *scan("pieces", SUMS, "float", "float", "true"), how=""),
    Kernel("cumulative_sum int32", *scan("pieces", WHOLE, "int32_t", "int64_t", "true"), how=""),
    Kernel("cumulative_sum int32, at once", "at_once", f"{K}scan::at_once<{WHOLE}, int32_t, int64_t, 6>", how=""),
    Kernel("cumulative_sum float32, sums of blocks", *scan("prefixes", SUMS, "float", "float", "true"), how=""),
    Kernel("take of 4 bytes", *of("gather", "words<uint32_t>"), 32, "nested"),
    Kernel("take of 16 bytes", *of("gather", f"words<{WIDE}>"), 64, "nested"),
    Kernel("check of indices", *of("gather", "check<int64_t>"), 64, "nested"),
    Kernel("mask of bools: bits", *of("mask", "pack<uint8_t>"), 16, "tile"),
    Kernel("mask of 4 bytes: bits", *of("mask", "pack<uint32_t>"), 16, "tile"),
    Kernel("mask: positions", *of("mask", "positions<int64_t>"), how=""),
    Kernel("mask: elements of 4 bytes", *of("mask", "elements<uint32_t>"), how=""),
    Kernel("sort of 4 bytes: digits counted", *of("sorts", "count<uint32_t, int32_t, 1>"), 32),
    Kernel("sort of 4 bytes: first digit", *of("sorts", "move<uint32_t, int32_t, uint32_t, 1>"), how=""),
    Kernel("sort of 4 bytes: a digit", *of("sorts", "move<uint32_t, int32_t, uint32_t, 0>"), how=""),
    Kernel("selection of 4 bytes: upper codes", *of("select", "upper<uint32_t, int32_t>"), 32),
    Kernel("selection of 4 bytes: lower codes", *of("select", "lower<uint32_t, int32_t>"), 32),
    Kernel("selection of 4 bytes: kept", *of("select", "keep<uint32_t, int32_t, uint32_t>"), how=""),
    Kernel("selection of 4 bytes: chosen", *of("select", "chosen<uint32_t>"), how=""),
    Kernel("sort of lines of 4 bytes", *of("sorts", "lines<uint32_t, int32_t>"), how=""),
    Kernel("sort of 4 bytes: elements", *of("sorts", "elements<uint32_t>"), 32),
    Kernel("argsort: indices", *of("sorts", "indices<int64_t>"), 64),
    Kernel("searchsorted of 4 bytes", *of("search", "places<uint32_t, int32_t>"), how=""),
    Kernel("bincount", *of("search", "tally<uint64_t, true>"), 64),
    Kernel("scatter: places", *of("scatter", "places<uint32_t>"), 32, "nested"),
    Kernel("scatter of 4 bytes", *of("scatter", "words<uint32_t>"), 32, "nested"),
    Kernel("add_at float32", *of("scatter", f"join<{K}op_add, float, false>"), how=""),
    Kernel("random float32", *of("random", "values<0, float, 1>")),
    Kernel("uniform float32", *of("random", "values<1, float, 1>")),
    Kernel("uniform float64", *of("random", "values<1, double, 2>")),
    Kernel("normal float32", *of("random", "values<2, float, 1>")),
    Kernel("gamma float32", "samples", f"{K}random::samples<dlt::draw_gamma, float>", how=""),
    Kernel("arange float32", "steps", f"{K}random::steps<float, 2>"),
    Kernel("linspace float32", "ramps", f"{K}random::ramp<float>"),
    Kernel("linspace int32", "ramps", f"{K}random::ramp<int32_t>", how=""),
    Kernel("permutation: partners", "shuffles", f"{K}random::partners<uint32_t, 1>", how=""),
    Kernel("permutation: links", "shuffles", f"{K}random::links<uint32_t>", how=""),
    Kernel("permutation: orders", "shuffles", f"{K}random::orders<uint32_t>", how=""),
    Kernel("quantize: mxfp4", *of("quantize", "blocks<dlt::float4_e2m1fn, 6>"), how=""),
    Kernel("quantize: largest of blocks", *of("quantize", "largest<6>"), how=""),
    Kernel("quantize: int8 codes", *of("quantize", "codes<int8_t, 6>"), how=""),
    Kernel("dequantize: mxfp4 to bfloat16", *of("dequantize", f"values<dlt::float4_e2m1fn, {BRAIN}, 6, 4>"), how=""),
    *(
        Kernel(f"products: {name}", *of("product", f"tiled<{types}, {order}, {own}>"), how="")
        for name, types, order, own in (
            ("float32", ", ".join(["float"] * 5), "false", "8, 8"),
            ("float32, small tiles", ", ".join(["float"] * 5), "false", "4, 4"),
            ("float64", ", ".join(["double"] * 5), "false", "8, 4"),
            ("complex64", ", ".join(["dlt::complex64"] * 5), "false", "4, 4"),
            ("complex128", ", ".join(["dlt::complex128"] * 5), "false", "4, 2"),
            ("float16", f"{HALF}, {HALF}, {HALF}, float, float", "false", "8, 8"),
            ("bfloat16", f"{BRAIN}, {BRAIN}, {BRAIN}, float, float", "true", "8, 4"),
            ("int32", "int32_t, int32_t, int32_t, uint32_t, int32_t", "false", "8, 8"),
        )
    ),
    Kernel("products of a vector: float32", *of("product", "vectors<float, float, float, float, float>"), how=""),
    Kernel("products: parts", *of("product", "joined<float, float, float>"), how=""),
    *(
        Kernel(f"small matrices: {name.replace('_', ' ')}", *of("matrices", f"{name}<float, 1, {side}>"), how="")
        for name, side in (
            ("solve", 4),
            ("inverse", 4),
            ("determinant", 4),
            ("cholesky", 4),
            ("qr", 0),
            ("eigh", 0),
            ("svd", 0),
            ("determinant_of", 0),
        )
    ),
    *(
        Kernel(f"matrices of a {team}: {name}", header, f"{K}matrices::{name}_team<{type}, {side}>", how="")
        for header, name in (
            ("elimination", "solve"),
            ("elimination", "determinant"),
            ("elimination", "cholesky"),
            ("reflections", "qr"),
            ("rotations", "eigh"),
            ("rotations", "svd"),
        )
        for team, type, side in (("warp", "float, 1", 32), ("block", "double, 1", 0))
    ),
    Kernel("matrices: triangle of a library's QR", "reflections", f"{K}matrices::upper_of<float, 1, 0>", how=""),
]

ARCHITECTURES = (75, 80, 90, 100)


class Limit(NamedTuple):
    """What a kernel may cost on each of ARCHITECTURES: what it has now, and a twentieth more (see `--limits`)."""

    instructions: tuple  # for each byte that is read or written
    registers: tuple
    spills: int  # accesses to local memory


LIMITS = {
    "add float32": Limit((0.44, 0.49, 0.57, 0.78), (44, 32, 32, 46), 0),
    "add float64": Limit((0.4, 0.44, 0.49, 0.7), (44, 32, 32, 48), 0),
    "add int32": Limit((0.44, 0.49, 0.58, 0.78), (44, 32, 32, 46), 0),
    "add, multiply float16": Limit((1.21, 1.05, 1.09, 1.26), (38, 32, 32, 42), 0),
    "negative float16": Limit((0.56, 0.55, 0.68, 0.92), (38, 32, 23, 32), 0),
    "add bfloat16": Limit((3.17, 1.25, 1.33, 1.47), (44, 32, 32, 42), 0),
    "add uint8": Limit((2.17, 2.17, 2.13, 0.79), (41, 32, 32, 28), 0),
    "cast float16 to float8_e4m3fn": Limit((8.55, 8.58, 0.67, 0.78), (54, 34, 38, 41), 0),
    "cast float8_e4m3fn to float16": Limit((1.34, 1.34, 0.73, 0.78), (42, 38, 46, 41), 0),
    "cast float16 to float8_e5m2": Limit((8.55, 8.61, 0.67, 0.78), (50, 34, 36, 42), 0),
    "cast float8_e5m2 to float16": Limit((0.64, 0.64, 0.64, 0.69), (40, 38, 38, 41), 0),
    "cast bfloat16 to float8_e4m3fn": Limit((6.41, 6.36, 1.05, 1.13), (54, 32, 38, 41), 0),
    "cast float8_e4m3fn to bfloat16": Limit((1.86, 1.86, 1.25, 1.31), (53, 38, 49, 41), 0),
    "cast bfloat16 to float8_e5m2": Limit((6.35, 6.33, 1.05, 1.13), (51, 34, 40, 42), 0),
    "cast float8_e5m2 to bfloat16": Limit((1.16, 1.16, 1.16, 1.22), (44, 38, 38, 41), 0),
    "cast float32 to float8_e4m3fn": Limit((3.52, 3.54, 0.57, 0.58), (40, 32, 36, 38), 2),
    "cast float8_e4m3fn to float32": Limit((1.16, 1.16, 0.79, 0.74), (36, 36, 37, 38), 0),
    "cast float32 to float8_e5m2": Limit((3.47, 3.48, 0.57, 0.58), (40, 32, 36, 38), 0),
    "cast float8_e5m2 to float32": Limit((0.74, 0.74, 0.74, 0.74), (35, 35, 35, 38), 0),
    "cast uint8 to float8_e4m3fn": Limit((9.49, 9.51, 1.01, 1.33), (64, 35, 32, 32), 2),
    "cast float8_e4m3fn to uint8": Limit((2.5, 2.53, 1.26, 1.12), (64, 57, 34, 31), 0),
    "cast uint8 to float8_e5m2": Limit((9.36, 9.38, 1.01, 1.33), (63, 32, 32, 32), 2),
    "cast float8_e5m2 to uint8": Limit((1.1, 1.13, 1.13, 1.13), (63, 34, 34, 32), 0),
    "copy complex128": Limit((0.22, 0.25, 0.25, 0.28), (20, 22, 20, 28), 0),
    "add complex128": Limit((0.27, 0.28, 0.26, 0.27), (26, 30, 30, 32), 0),
    "rows of any alignment: copy of 1 byte": Limit((1.86, 1.78, 1.8, 1.01), (48, 32, 32, 32), 0),
    "rows of any alignment: copy of 2 bytes": Limit((0.99, 0.99, 0.99, 0.92), (52, 32, 32, 32), 0),
    "rows of any alignment: copy of 4 bytes": Limit((1.48, 1.48, 1.61, 1.12), (36, 32, 32, 32), 0),
    "rows of any alignment: copy of 8 bytes": Limit((0.76, 0.76, 0.83, 0.6), (30, 30, 32, 31), 0),
    "rows of any alignment: add uint8": Limit((1.84, 1.79, 1.89, 1.34), (64, 56, 56, 54), 0),
    "rows of any alignment: add float16": Limit((1.55, 1.4, 1.4, 1.45), (64, 56, 58, 54), 0),
    "rows of any alignment: add float32": Limit((1.25, 1.25, 1.34, 1.1), (48, 32, 44, 32), 0),
    "rows of any alignment: add float64": Limit((0.64, 0.64, 0.68, 0.62), (42, 32, 32, 32), 0),
    "transpose of 1 byte": Limit((2.96, 3.07, 3.45, 4.84), (62, 48, 32, 32), 0),
    "transpose of 2 bytes": Limit((2.81, 2.97, 3.43, 4.57), (64, 40, 40, 64), 0),
    "transpose of 4 bytes": Limit((2.77, 2.92, 3.57, 4.47), (64, 40, 32, 32), 0),
    "transpose of 8 bytes": Limit((5.89, 6.03, 7.03, 6.58), (54, 38, 36, 48), 0),
    "3 channels first, 1 byte": Limit((4.86, 4.87, 5.17, 5.07), (44, 36, 37, 30), 0),
    "3 channels last, 1 byte": Limit((7.31, 7.59, 8.67, 8.45), (38, 28, 31, 32), 0),
    "8 channels first, 1 byte": Limit((5.19, 5.16, 6.18, 5.63), (42, 36, 38, 32), 0),
    "8 channels last, 1 byte": Limit((5.07, 5.39, 6.3, 3.67), (39, 30, 32, 38), 0),
    "16 channels first, 1 byte": Limit((5.19, 5.16, 6.18, 5.61), (42, 36, 38, 32), 0),
    "16 channels last, 1 byte": Limit((5.17, 5.45, 6.34, 3.61), (39, 30, 30, 38), 0),
    "3 channels first, 2 bytes": Limit((2.55, 2.79, 3.13, 4.54), (40, 28, 34, 28), 0),
    "3 channels last, 2 bytes": Limit((3.6, 3.78, 4.06, 7.23), (44, 28, 32, 28), 0),
    "8 channels first, 2 bytes": Limit((2.43, 2.58, 2.74, 5.16), (42, 30, 30, 34), 0),
    "8 channels last, 2 bytes": Limit((2.93, 3.12, 3.48, 3.29), (43, 30, 32, 30), 0),
    "16 channels first, 2 bytes": Limit((2.43, 2.58, 2.74, 5.07), (42, 30, 30, 38), 0),
    "16 channels last, 2 bytes": Limit((2.99, 3.17, 3.55, 3.3), (43, 30, 32, 32), 0),
    "3 channels first, 4 bytes": Limit((2.47, 2.41, 2.56, 2.54), (40, 24, 26, 26), 0),
    "3 channels last, 4 bytes": Limit((5.11, 5.55, 5.79, 5.34), (41, 26, 32, 38), 0),
    "8 channels first, 4 bytes": Limit((2.93, 2.95, 3.11, 2.84), (38, 25, 26, 28), 0),
    "8 channels last, 4 bytes": Limit((4.83, 5.25, 5.64, 4.71), (43, 28, 32, 36), 0),
    "16 channels first, 4 bytes": Limit((2.93, 2.95, 3.11, 2.84), (38, 25, 26, 28), 0),
    "16 channels last, 4 bytes": Limit((4.85, 5.28, 5.66, 4.82), (43, 28, 32, 34), 0),
    "3 channels first, 8 bytes": Limit((1.58, 1.62, 1.68, 1.77), (40, 25, 27, 26), 0),
    "3 channels last, 8 bytes": Limit((3.01, 3.27, 3.39, 3.13), (41, 26, 30, 38), 0),
    "3 channels first, 16 bytes": Limit((1.23, 1.31, 1.34, 1.39), (44, 30, 32, 28), 2),
    "3 channels last, 16 bytes": Limit((2.04, 2.16, 2.36, 2.12), (39, 28, 30, 38), 0),
    "sum float32": Limit((2.65, 2.63, 2.22, 2.27), (64, 64, 64, 112), 79),
    "sum float64": Limit((3.68, 3.65, 3.78, 3.09), (64, 64, 64, 114), 45),
    "sum float16": Limit((2.25, 2.22, 2.7, 2.17), (64, 61, 64, 120), 53),
    "sum int32": Limit((1.89, 1.89, 2.02, 1.68), (64, 64, 64, 72), 2),
    "sum uint8": Limit((1.84, 1.81, 1.81, 1.71), (60, 58, 62, 62), 0),
    "max float32": Limit((2.6, 2.6, 2.55, 2.35), (62, 62, 64, 68), 0),
    "max float16": Limit((4.83, 0.63, 0.56, 0.51), (60, 56, 54, 58), 0),
    "argmax float32": Limit((4.2, 4.2, 4.29, 3.96), (72, 72, 72, 77), 0),
    "any bool": Limit((1.71, 1.68, 1.68, 1.58), (59, 56, 64, 60), 0),
    "var float32": Limit((9.75, 9.78, 9.91, 8.8), (76, 64, 64, 114), 129),
    "var float64, second pass": Limit((6.93, 6.93, 7.06, 6.27), (64, 64, 64, 128), 290),
    "prod float32": Limit((6.44, 6.24, 6.37, 4.6), (58, 48, 48, 51), 0),
    "sum float32 of columns": Limit((None, None, None, None), (64, 64, 78, 112), 129),
    "max float16 of columns": Limit((None, None, None, None), (64, 64, 74, 80), 8),
    "sum of parts": Limit((None, None, None, None), (54, 40, 32, 48), 59),
    "prod of parts": Limit((None, None, None, None), (30, 28, 25, 29), 0),
    "cumulative_sum float32": Limit((None, None, None, None), (64, 64, 64, 64), 5),
    "cumulative_sum int32": Limit((None, None, None, None), (92, 80, 80, 94), 2),
    "cumulative_sum int32, at once": Limit((None, None, None, None), (79, 79, 80, 80), 4),
    "cumulative_sum float32, sums of blocks": Limit((None, None, None, None), (57, 54, 51, 52), 0),
    "take of 4 bytes": Limit((8.14, 7.88, 7.88, 3.02), (34, 30, 30, 28), 0),
    "take of 16 bytes": Limit((3.47, 3.31, 3.21, 1.32), (34, 30, 30, 28), 0),
    "check of indices": Limit((4.6, 4.27, 4.34, 2.1), (18, 18, 20, 20), 0),
    "mask of bools: bits": Limit((3.76, 3.6, 4.2, 4.33), (24, 26, 24, 30), 0),
    "mask of 4 bytes: bits": Limit((2.01, 1.97, 2.1, 2.03), (30, 30, 30, 30), 0),
    "mask: positions": Limit((None, None, None, None), (56, 40, 38, 29), 0),
    "mask: elements of 4 bytes": Limit((None, None, None, None), (46, 40, 40, 32), 0),
    "sort of 4 bytes: digits counted": Limit((10.43, 9.25, 9.03, 8.05), (24, 28, 28, 30), 0),
    "sort of 4 bytes: first digit": Limit((None, None, None, None), (64, 64, 64, 63), 0),
    "sort of 4 bytes: a digit": Limit((None, None, None, None), (64, 64, 64, 64), 0),
    "selection of 4 bytes: upper codes": Limit((2.43, 2.27, 2.24, 8.66), (32, 24, 32, 32), 0),
    "selection of 4 bytes: lower codes": Limit((1.97, 1.94, 1.94, 1.5), (32, 31, 32, 32), 0),
    "selection of 4 bytes: kept": Limit((None, None, None, None), (63, 62, 56, 40), 0),
    "selection of 4 bytes: chosen": Limit((None, None, None, None), (16, 16, 22, 20), 0),
    "sort of lines of 4 bytes": Limit((None, None, None, None), (64, 64, 64, 64), 0),
    "sort of 4 bytes: elements": Limit((0.92, 0.92, 0.92, 0.92), (12, 12, 18, 16), 0),
    "argsort: indices": Limit((1.84, 1.97, 1.97, 1.97), (16, 16, 20, 18), 0),
    "searchsorted of 4 bytes": Limit((None, None, None, None), (20, 19, 26, 22), 0),
    "bincount": Limit((2.89, 2.1, 2.24, 2.76), (12, 12, 16, 16), 0),
    "scatter: places": Limit((2.58, 2.52, 2.68, 2.76), (22, 22, 24, 24), 0),
    "scatter of 4 bytes": Limit((0.97, 1.05, 0.89, 2.73), (27, 28, 28, 28), 0),
    "add_at float32": Limit((None, None, None, None), (29, 28, 30, 26), 0),
    "random float32": Limit((8.54, 8.47, 8.54, 7.62), (23, 23, 26, 19), 0),
    "uniform float32": Limit((10.11, 10.05, 10.24, 9.32), (28, 28, 32, 24), 0),
    "uniform float64": Limit((8.47, 8.4, 8.8, 9.06), (24, 23, 26, 16), 2),
    "normal float32": Limit((20.94, 20.74, 20.68, 19.17), (26, 26, 29, 24), 0),
    "gamma float32": Limit((None, None, None, None), (60, 46, 46, 46), 0),
    "arange float32": Limit((3.15, 3.09, 3.42, 3.68), (28, 26, 28, 28), 0),
    "linspace float32": Limit((3.22, 3.22, 3.22, 3.29), (41, 38, 39, 38), 7),
    "linspace int32": Limit((None, None, None, None), (40, 38, 38, 42), 0),
    "permutation: partners": Limit((None, None, None, None), (54, 54, 53, 38), 0),
    "permutation: links": Limit((None, None, None, None), (18, 18, 22, 22), 0),
    "permutation: orders": Limit((None, None, None, None), (16, 16, 20, 20), 0),
    "quantize: mxfp4": Limit((None, None, None, None), (43, 42, 43, 40), 0),
    "quantize: largest of blocks": Limit((None, None, None, None), (42, 36, 32, 32), 0),
    "quantize: int8 codes": Limit((None, None, None, None), (52, 40, 40, 40), 0),
    "dequantize: mxfp4 to bfloat16": Limit((None, None, None, None), (38, 38, 38, 37), 0),
    "products: float32": Limit((None, None, None, None), (128, 128, 128, 128), 28),
    "products: float32, small tiles": Limit((None, None, None, None), (116, 116, 117, 77), 0),
    "products: float64": Limit((None, None, None, None), (128, 128, 128, 128), 53),
    "products: complex64": Limit((None, None, None, None), (128, 127, 128, 128), 103),
    "products: complex128": Limit((None, None, None, None), (128, 128, 128, 128), 56),
    "products: float16": Limit((None, None, None, None), (128, 128, 128, 128), 28),
    "products: bfloat16": Limit((None, None, None, None), (128, 128, 128, 128), 143),
    "products: int32": Limit((None, None, None, None), (128, 128, 128, 128), 28),
    "products of a vector: float32": Limit((None, None, None, None), (54, 40, 32, 32), 0),
    "products: parts": Limit((None, None, None, None), (41, 32, 32, 34), 0),
    "small matrices: solve": Limit((None, None, None, None), (62, 40, 40, 40), 1438),
    "small matrices: inverse": Limit((None, None, None, None), (64, 48, 56, 48), 0),
    "small matrices: determinant": Limit((None, None, None, None), (63, 40, 40, 66), 0),
    "small matrices: cholesky": Limit((None, None, None, None), (40, 32, 40, 32), 0),
    "small matrices: qr": Limit((None, None, None, None), (64, 56, 40, 40), 728),
    "small matrices: eigh": Limit((None, None, None, None), (58, 40, 40, 40), 548),
    "small matrices: svd": Limit((None, None, None, None), (64, 40, 48, 168), 11761),
    "small matrices: determinant of": Limit((None, None, None, None), (54, 32, 40, 48), 0),
    "matrices of a warp: solve": Limit((None, None, None, None), (40, 40, 42, 40), 0),
    "matrices of a block: solve": Limit((None, None, None, None), (64, 64, 64, 48), 0),
    "matrices of a warp: determinant": Limit((None, None, None, None), (49, 46, 50, 64), 0),
    "matrices of a block: determinant": Limit((None, None, None, None), (59, 48, 48, 58), 0),
    "matrices of a warp: cholesky": Limit((None, None, None, None), (42, 41, 38, 30), 0),
    "matrices of a block: cholesky": Limit((None, None, None, None), (64, 48, 48, 43), 0),
    "matrices of a warp: qr": Limit((None, None, None, None), (57, 57, 60, 68), 0),
    "matrices of a block: qr": Limit((None, None, None, None), (76, 64, 64, 80), 0),
    "matrices of a warp: eigh": Limit((None, None, None, None), (60, 56, 56, 64), 0),
    "matrices of a block: eigh": Limit((None, None, None, None), (78, 60, 58, 64), 0),
    "matrices of a warp: svd": Limit((None, None, None, None), (109, 110, 96, 80), 0),
    "matrices of a block: svd": Limit((None, None, None, None), (110, 104, 108, 128), 0),
    "matrices: triangle of a library's QR": Limit((None, None, None, None), (24, 24, 28, 28), 0),
}

# ---- disassembly


class Loop(NamedTuple):
    first: int
    past: int


class Code(NamedTuple):
    """What one pass of a thread through a loop costs, and what it moves."""

    instructions: float
    pipes: Counter
    bytes: float
    narrowest: int  # bits of an access
    registers: int
    spills: int
    kib: float  # of the whole machine code

    @property
    def per_byte(self):
        return self.instructions / self.bytes if self.bytes else float("nan")


def lines_of(listing):
    """The instructions of a listing, and its loops: from a label to each branch back to it."""
    lines, labels, loops = [], {}, set()
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = len(lines)
        elif code := re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;", line):
            lines.append(code[1])
            back = re.search(r"BRA\w*\b.*`\((\.L_\w+)\)", code[1])
            if back and labels.get(back[1], len(lines)) < len(lines) - 1:
                loops.add(Loop(labels[back[1]], len(lines)))
    return lines, sorted(loops)


def opcode(line):
    return re.match(r"(?:@\S+\s+)?(\S+)", line)[1].split(".")


def width(line):
    """Bits of an access, as its opcode says: 32 where it says nothing."""
    return next((int(one.strip("US")) for one in opcode(line)[1:] if re.fullmatch(r"[US]?(8|16|64|128)", one)), 32)


def moved(lines):
    return [width(line) for line in lines if opcode(line)[0] in ("LDG", "STG")]


MEMORY = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "ATOM", "ATOMS", "ATOMG", "RED", "LDC", "SHFL")
LANES = {
    "issue": 128 * 0.85,
    "alu": 64,
    "fp64": 64,
    "special": 16,
    "memory": 32,
}  # a clock, of a multiprocessor of Hopper
ON_ALU = [
    "IADD3",
    "VIADD",
    "LOP3",
    "PLOP3",
    "ISETP",
    "SEL",
    "SHF",
    "PRMT",
    "IMNMX",
    "VIMNMX",
    "VIMNMX3",
    "VIADDMNMX",
    "LEA",
    "FSETP",
    "FMNMX",
    "FSEL",
    "BMSK",
    "SGXT",
    "IABS",
    "P2R",
    "R2P",
    "FCHK",
    "HSETP2",
    "HMNMX2",
    "VABSDIFF4",
    "I2FP",
    "F2FP",
]
SPECIAL = ["MUFU", "F2F", "F2I", "I2F", "POPC", "FLO", "BREV"]


def pipes_of(line):
    name = opcode(line)[0]
    yield "issue"
    if name in ON_ALU:
        yield "alu"
    elif name in SPECIAL:
        yield "special"
    elif name in MEMORY:
        yield "memory"
    elif name in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"):
        yield "fp64"


def count(listing, kernel):
    """(instructions, pipes, bytes, narrowest access) of the loop that the kernel spends its time in."""
    lines, loops = lines_of(listing)
    inside = {loop: [o for o in loops if o != loop and loop.first <= o.first and o.past <= loop.past] for loop in loops}

    def own(loop):
        """Numbers of the lines of a loop that are in none of those inside."""
        skipped = {i for o in inside[loop] for i in range(o.first, o.past)}
        return [i for i in range(loop.first, loop.past) if i not in skipped]

    def weight(loop):
        body = moved(lines[loop.first : loop.past] if kernel.how == "nested" else [lines[i] for i in own(loop)])
        return sum(w for w in body if w >= kernel.width)

    if not loops or not kernel.how:
        return 0, Counter(), 0, 0
    if kernel.how == "tile":
        outer = max(loops, key=lambda o: (len(moved(lines[o.first : o.past])) > 0, o.past - o.first))
        weights = Counter(own(outer))
        for loop in inside[outer]:
            parts = [
                sum(
                    width(lines[i])
                    for i in own(loop)
                    if opcode(lines[i])[0] == kind and width(lines[i]) >= kernel.width
                )
                for kind in ("LDG", "STG")
            ]
            if max(parts) and kernel.each:
                times = kernel.each * 8 / max(parts)
            elif any("BAR" in lines[i] for i in own(loop)):
                times = kernel.turns
            else:  # elements before and after words, and places along several axes
                times = 0
            for i in own(loop):
                weights[i] += times
    else:
        loop = max(loops, key=lambda o: (weight(o), o.first - o.past))
        weights = Counter(own(loop))
        for o in inside[loop]:
            # Elements that are taken one by one where there are no 16 bytes are not counted either.
            if kernel.how == "nested" or (kernel.how == "loop" and not moved(lines[o.first : o.past])):
                weights.update(i for i in range(o.first, o.past) if i not in weights)
    pipes, total, bits, narrowest = Counter(), 0, 0, 1 << 10
    for i, times in (item for item in weights.items() if item[1]):
        for pipe in pipes_of(lines[i]):
            pipes[pipe] += times
        total += times
        if opcode(lines[i])[0] in ("LDG", "STG"):
            bits += times * width(lines[i])
            narrowest = min(narrowest, width(lines[i]))
    return total, pipes, bits / 8, narrowest


def multiply_adds(listing):
    """(instructions, multiply-adds) of the loop that has the most of these, without the loops in it."""
    lines, loops = lines_of(listing)
    best = 0, 0
    for loop in loops:
        inner = {i for o in loops if o != loop and loop.first <= o.first and o.past <= loop.past for i in range(*o)}
        names = [opcode(lines[i])[0] for i in range(*loop) if i not in inner]
        best = max(best, (sum(name in ("FFMA", "DFMA") for name in names), len(names)))
    return best[1], best[0]


# ---- compilation


def library(pattern):
    for folder in sys.path:
        for found in sorted(Path(folder or ".").glob(pattern), reverse=True):
            return str(found)
    return None


def tool(name):
    found = shutil.which(name) or library(f"nvidia/*/bin/{name}")
    if found is None:
        raise FileNotFoundError(f"{name} is not installed (pip install nvidia-cuda-{name})")
    return found


class Compiler:
    """NVRTC, with the options of the package."""

    def __init__(self):
        path = library("nvidia/*/lib/libnvrtc.so.*[0-9]")
        if path is None:
            raise FileNotFoundError("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")
        self.nvrtc = ctypes.CDLL(path)
        text = (SOURCE / "native/cuda/compile/kernel_cache.h").read_text()
        self.options = re.findall(r'"([^"]+)"', re.search(r"compile_options\[\] = \{(.*?)\}", text)[1])

    def compile(self, kernel, arch):
        (header,) = (SOURCE / "native/cuda/kernels").glob(f"*/{kernel.family}.cuh")
        return self.compile_text(f'#include "{header.relative_to(SOURCE)}"\n', kernel.expression, arch)

    def compile_text(self, text, expression, arch):
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"model.cu", 0, None, None)
        self.nvrtc.nvrtcAddNameExpression(program, expression.encode())
        options = [f"--gpu-architecture=sm_{arch}", f"-I{SOURCE}", f"-I{SOURCE}/include", *self.options]
        failed = self.nvrtc.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        )
        get = ("ProgramLog", "ProgramLog") if failed else ("CUBIN", "CUBIN")
        getattr(self.nvrtc, f"nvrtcGet{get[0]}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(self.nvrtc, f"nvrtcGet{get[1]}")(program, out)
        self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            raise RuntimeError(f"{expression}: {out.value.decode()}")
        return out.raw


def disassembled(compiler, kernel, arch):
    """The listing of a kernel's machine code, and what cuobjdump says of its resources."""
    image = compiler.compile(kernel, arch)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        commands = [tool("nvdisasm"), file.name], [tool("cuobjdump"), "-res-usage", file.name]
        return [subprocess.run(run, capture_output=True, text=True, check=True).stdout for run in commands]


def code_of(compiler, kernel, arch):
    listing, usage = disassembled(compiler, kernel, arch)
    spills = len(re.findall(r"\b(?:LDL|STL)\b", listing))
    registers = max(int(found) for found in re.findall(r"REG:(\d+)", usage))
    return Code(*count(listing, kernel), registers, spills, len(lines_of(listing)[0]) * 16 / 1024)


# ---- the model

CARDS = {"H100": 3.0, "H200": 4.3}  # what copies reach, TB/s
MULTIPROCESSORS, CLOCK = 132, 1.755e9


def bound(code):
    """(TB/s, the pipe that limits them)."""
    clocks = {pipe: code.pipes[pipe] / lanes for pipe, lanes in LANES.items()}
    pipe = max(clocks, key=clocks.get)
    return code.bytes / clocks[pipe] * MULTIPROCESSORS * CLOCK / 1e12, pipe


def teraflops(listing):
    """The bound of a product, of the loop that has the most multiply-adds; each is two operations."""
    instructions, found = multiply_adds(listing)
    lanes = LANES["fp64" if "DFMA" in listing else "issue"]
    clocks = max(instructions / LANES["issue"], found / lanes)
    return 2 * found / clocks * MULTIPROCESSORS * CLOCK / 1e12


def expected(tbps, card):
    """The part of the bandwidth: below 1.2 times of it a kernel does not hide its instructions."""
    return min(0.95, tbps / (1.2 * CARDS[card]))


def table(codes):
    """Lines of a table in Markdown, of kernels and their codes."""
    yield f"| kernel | instructions per byte | registers | bound, TB/s | limited by | {' | '.join(CARDS)} |"
    yield "| --- | --- | --- | --- | --- |" + " --- |" * len(CARDS)
    for kernel, code in codes:
        if not code.bytes:
            yield f"| {kernel.name} | - | {code.registers} | - | not memory |" + " - |" * len(CARDS)
            continue
        tbps, pipe = bound(code)
        parts = " | ".join(f"{expected(tbps, card):.2f}" for card in CARDS)
        speed = f"{tbps:.0f}" if tbps >= 10 else f"{tbps:.1f}"
        yield f"| {kernel.name} | {code.per_byte:.2f} | {code.registers} | {speed} | {pipe} | {parts} |"


def limits_of(compiler, kernel):
    codes = [code_of(compiler, kernel, arch) for arch in ARCHITECTURES]
    costs = tuple(math.ceil(105 * code.per_byte) / 100 if code.bytes else None for code in codes)
    return Limit(costs, tuple(code.registers for code in codes), max(code.spills for code in codes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", type=int, default=90, help="the architecture, 90 for H100 and H200")
    parser.add_argument("--only", default="", help="kernels with this in their names")
    parser.add_argument(
        "--limits", action="store_true", help="print the limits of the code as it is now, for all architectures"
    )
    arguments = parser.parse_args()
    compiler = Compiler()
    kernels = [kernel for kernel in KERNELS if arguments.only in kernel.name]
    if arguments.limits:
        print("LIMITS = {")
        for kernel in kernels:
            costs, registers, spills = limits_of(compiler, kernel)
            print(f'    "{kernel.name}": Limit({costs}, {registers}, {spills}),', flush=True)
        print("}")
        return
    for line in table((kernel, code_of(compiler, kernel, arguments.arch)) for kernel in kernels):
        print(line, flush=True)


if __name__ == "__main__":
    main()
