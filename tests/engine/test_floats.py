# SPDX-License-Identifier: Apache-2.0
"""The conversions of floats.h, element by element, against NumPy, ml_dtypes and exact rounding."""

import ctypes
import math

import numpy as np
import pytest
from building import binding

ml_dtypes = pytest.importorskip("ml_dtypes")
FLOATS = [
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip
WIDTH = {"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}


@pytest.fixture(scope="module", params=["-O2", "-O3"])
def library(request):
    return binding("floats_binding.cc", request.param)


def convert(function, source, dtype):
    out = np.empty(source.size, dtype)
    function(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(source.size))
    return out


def oracle(name):
    return np.dtype(np.float16) if name == "float16" else np.dtype(getattr(ml_dtypes, name))


def patterns():
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    low = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]
    return np.concatenate([high | np.uint32(k) for k in low]).view(np.float32)


@pytest.mark.parametrize("name", FLOATS)
def test_every_pattern_becomes_the_float_that_the_oracle_says(library, name):
    dtype = oracle(name)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    source = np.arange(1 << WIDTH.get(name, 8 * dtype.itemsize)).astype(unsigned)
    with np.errstate(all="ignore"):
        want = source.view(dtype).astype(np.float32)
    got = convert(library[f"to_{name}"], source, np.float32)
    same = want.view(np.uint32) == got.view(np.uint32)
    if name == "float16":  # a signalling NaN comes back quiet, as from the processor's instruction
        same |= np.isnan(want) & ((want.view(np.uint32) | 0x400000) == got.view(np.uint32))
    assert same.all()


@pytest.mark.parametrize("name", FLOATS)
def test_every_float_rounds_to_the_pattern_that_the_oracle_says(library, name):
    dtype = oracle(name)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    source = patterns()
    with np.errstate(all="ignore"):
        want = source.astype(dtype).view(unsigned)
    got = convert(library[f"of_{name}"], source, unsigned)
    same = want == got
    if name == "float16":
        same |= np.isnan(source) & ((want | 0x201) == (got | 0x201))  # and quiet when written
    assert same.all()


@pytest.mark.parametrize("name", [n for n in FLOATS if n != "float8_e8m0fnu"])
def test_a_double_is_rounded_once(library, name):
    """Just above and below every half way point, where rounding to float first goes wrong."""
    dtype = oracle(name)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    every = np.arange(1 << (WIDTH.get(name, 8 * dtype.itemsize) - 1)).astype(unsigned)
    with np.errstate(invalid="ignore"):
        values = every.view(dtype).astype(np.float64)
    ordered = values[np.isfinite(values)]
    low, high = ordered[:-1], ordered[1:]
    middle = (low + high) / 2
    assert (high > low).all()
    assert high.size > 6
    above = convert(library[f"of_double_{name}"], np.nextafter(middle, math.inf), unsigned)
    below = convert(library[f"of_double_{name}"], np.nextafter(middle, -math.inf), unsigned)
    np.testing.assert_array_equal(above, every[1 : high.size + 1])
    np.testing.assert_array_equal(below, every[: high.size])
    tie = convert(library[f"of_double_{name}"], middle, unsigned)
    even = np.where(every[: high.size] % 2 == 0, every[: high.size], every[1 : high.size + 1])
    np.testing.assert_array_equal(tie, even)


@pytest.mark.parametrize(("name", "low"), [("int4", -8), ("uint4", 0), ("int2", -2), ("uint2", 0)])
def test_small_integers_are_the_low_bits(library, name, low):
    bits = int(name[-1])
    source = np.arange(256, dtype=np.uint8)
    value = (source & ((1 << bits) - 1)).astype(np.float32)
    want = np.where((low < 0) & (value >= 1 << (bits - 1)), value - (1 << bits), value)
    np.testing.assert_array_equal(convert(library[f"to_{name}"], source, np.float32), want)
    np.testing.assert_array_equal(
        convert(library[f"of_{name}"], np.arange(-100, 100, dtype=np.float32), np.uint8),
        np.arange(-100, 100) % (1 << bits),
    )


def test_the_header_compiles_for_cuda():
    """NVRTC reads floats.h without any other header."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    from building import ROOT

    header = (ROOT / "src/dltensor/native/ops/floats.h").read_bytes()
    program = (
        b'#include "native/ops/floats.h"\nextern "C" __global__ void '
        b"k(const float* a, dlt::float16* h, dlt::float8_e5m2* f, double* d)"
        b"{ h[0] = dlt::from<dlt::float16>(a[0]); f[0] = dlt::from<dlt::float8_e5m2>(d[0]); "
        b"d[1] = dlt::to_double(h[1]); }"
    )
    _, handle = nvrtc.nvrtcCreateProgram(program, b"k.cu", 1, [header], [b"native/ops/floats.h"])
    (result,) = nvrtc.nvrtcCompileProgram(handle, 2, [b"--std=c++17", b"-arch=sm_90"])
    _, size = nvrtc.nvrtcGetProgramLogSize(handle)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(handle, log)
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
