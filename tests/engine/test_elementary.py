# SPDX-License-Identifier: Apache-2.0
"""Functions of ops/elementary: the same bits on every instruction set, one number at a time, and as recorded."""

import ctypes
import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import native
import numpy as np
import pytest

RECORDED = Path(__file__).parent / "elementary_hashes.json"
NAMES = """acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 gammaln log log1p log2 log10 sigmoid
sin sinc sinh tan tanh atan2 hypot logaddexp pow""".split()  # noqa: SIM905
ROWS = [(name, dtype) for name in NAMES for dtype in ("float32", "float64")]
COUNT = 1 << 20


def words(seed):
    """Random words of 64 bits by SplitMix64: integers alone, so that every machine has the same."""
    z = np.arange(1, COUNT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


@functools.cache
def points(dtype, seed):
    """A quarter each: any bits, -100 to 100, near 0, near 1; in runs of 64, so that whole registers are of one kind."""
    w = words(seed)
    narrow = (w >> np.uint64(32)).astype(np.uint32).view(np.float32) if dtype == "float32" else w.view(np.float64)
    unit = (w >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    small = np.ldexp(unit, -(w % np.uint64(40)).astype(np.int32))
    kind = np.arange(COUNT) // 64 % 4
    with np.errstate(invalid="ignore"):
        x = np.choose(kind, [narrow.astype(np.float64), unit * 100, small, 1 + small])
    return x.astype(dtype)


def operands(name, dtype):
    return [points(dtype, seed) for seed in range(native.ROWS[name].operands)]


def hash_of(result):
    """The hash of the bits of a result, in which all NaNs are one."""
    result = np.where(np.isnan(result), np.array(np.nan, result.dtype), result)
    return hashlib.sha256(result.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_every_instruction_set_gives_the_recorded_bits(name, dtype, level):
    x = operands(name, dtype)
    assert hash_of(native.run(name, *x, out=np.empty_like(x[0]))) == json.loads(RECORDED.read_text())[f"{name} {dtype}"]


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_one_number_at_a_time_gives_the_recorded_bits(name, dtype):
    x = operands(name, dtype)
    out = np.empty_like(x[0])
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (out, x[0], x[-1])]
    assert native.library.engine_numbers(native.OPS[name], dtype == "float64", *pointers, ctypes.c_int64(COUNT)) == 0
    assert hash_of(out) == json.loads(RECORDED.read_text())[f"{name} {dtype}"]


def test_the_c_library_takes_no_part():
    """A C library that is told to use other instructions leaves all bits as they are."""
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"}
    command = [sys.executable, __file__]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=1800)
    assert json.loads(answer.stdout) == json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("atan2", "hypot", "logaddexp", "pow")])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_correctly_rounded_on_every_value(name, dtype, level):
    narrow = np.dtype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    x = np.arange(1 << 16, dtype=np.uint16).view(narrow)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = native.run(name, x.astype(np.float64), out=np.empty(x.shape))
        expected = wide.astype(narrow) if dtype == "float16" else to_bfloat16(wide)
    result = native.run(name, x, out=np.empty_like(x))
    wrong = (result.view(np.uint16) != expected.view(np.uint16)) & ~(
        np.isnan(wide) & np.isnan(result.astype(np.float64))
    )
    assert not wrong.any(), (x[wrong][:5], result[wrong][:5], expected[wrong][:5])


def to_bfloat16(wide):
    """Round float64 to bfloat16 once: to odd in float32, then to nearest."""
    near = wide.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = (near.astype(np.float64) != wide) & np.isfinite(near)
    toward = np.where(np.abs(near.astype(np.float64)) > np.abs(wide), bits - 1, bits)
    odd = np.where(inexact, toward | 1, bits).astype(np.uint32).view(np.float32)
    return odd.astype(ml_dtypes.bfloat16)


if __name__ == "__main__":  # > tests/engine/elementary_hashes.json
    rows = {}
    for name, dtype in ROWS:
        x = operands(name, dtype)
        rows[f"{name} {dtype}"] = hash_of(native.run(name, *x, out=np.empty_like(x[0])))
    print(json.dumps(rows, indent=1))
