# SPDX-License-Identifier: Apache-2.0
"""Bytes of torchao and numbers of gguf: the formats of other libraries; the blocks that differ are listed."""

import numpy as np
import pytest

import dltensor as dl

pytestmark = pytest.mark.peers
FORMATS = {"mxfp4": "float4_e2m1fn_x2", "mxfp8": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2"}
RULES = {"floor": "FLOOR", "even": "EVEN", "ceil": "RCEIL"}


@pytest.fixture(scope="module")
def torchao():
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("torchao", reason="torchao is not installed")
    from torchao.prototype.mx_formats import mx_tensor

    return mx_tensor


@pytest.fixture(scope="module")
def gguf():
    pytest.importorskip("gguf", reason="gguf is not installed")
    import gguf

    return gguf


def numbers(rows=4096):
    """Rows of 128 numbers of all magnitudes at which no scale is subnormal or beyond the range."""
    rng = np.random.default_rng(11)
    return rng.standard_normal((rows, 128), np.float32) * np.exp2(rng.integers(-100, 100, (rows, 1))).astype(np.float32)


def ties():
    """Rows whose elements lie half way between two values of a format, for scales of all sizes."""
    steps = np.arange(1, 129, dtype=np.float32)[None] / 16
    signs = np.where(np.arange(128) % 3, 1, -1).astype(np.float32)
    return steps * signs * np.exp2(np.arange(-60, 60, dtype=np.float32))[:, None]


def of_torchao(torchao, x, format, rule):
    """Scales and codes as bytes, by torchao."""
    import torch

    mode = getattr(torchao.ScaleCalculationMode, RULES[rule])
    scale, values = torchao.to_mx(torch.from_numpy(x), getattr(torch, FORMATS[format]), 32, mode)
    return (t.contiguous().view(torch.uint8).numpy().reshape(x.shape[0], -1) for t in (scale, values))


def bytes_of(t, rows):
    return np.frombuffer(t.tobytes(), np.uint8).reshape(rows, -1)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [numbers, ties])
def test_bytes_are_those_of_torchao(torchao, make, format, rule):
    x = make()
    scale, values = of_torchao(torchao, x, format, rule)
    q = dl.quantize(x, format, rule=rule)
    assert np.array_equal(bytes_of(q.scale, len(x)), scale)
    assert np.array_equal(bytes_of(q.values, len(x)), values)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("format", FORMATS)
def test_numbers_are_those_of_torchao(torchao, format, rule):
    import torch

    x = numbers(64)
    mode = getattr(torchao.ScaleCalculationMode, RULES[rule])
    there = torchao.MXTensor.to_mx(torch.from_numpy(x), getattr(torch, FORMATS[format]), 32, mode)
    want = there.dequantize(torch.float32).numpy()
    got = dl.dequantize(*dl.quantize(x, format, rule=rule)).numpy()
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("format", FORMATS)
def test_blocks_that_differ_from_those_of_torchao_are_documented(torchao, format, rule):
    """Blocks with an infinity, and those whose scale is 2^-127, whose elements torchao halves or makes 0."""
    rng = np.random.default_rng(16)
    x = rng.standard_normal((3000, 32), np.float32) * np.exp2(rng.integers(-149, 127, (3000, 1))).astype(np.float32)
    x[:300][rng.random((300, 32)) < 0.05] = np.inf
    x[300:600][rng.random((300, 32)) < 0.05] = np.nan
    x[600:700] = 0
    x[700:800] = -0.0
    there = of_torchao(torchao, x, format, rule)
    q = dl.quantize(x, format, rule=rule)
    here = bytes_of(q.scale, len(x)), bytes_of(q.values, len(x))
    has_nan, has_infinity = np.isnan(x).any(1), np.isinf(x).any(1)
    scales, values = ((a == b).all(1) for a, b in zip(here, there, strict=True))
    assert np.array_equal(scales, ~(has_infinity & ~has_nan))
    is_smallest = (here[0][:, 0] == 0) & (x != 0).any(1)
    is_broken = has_nan | has_infinity  # of which torchao has codes that nothing reads
    assert values[~is_smallest & ~is_broken].all()
    assert not values[is_smallest].all()
    assert (here[0][has_infinity | has_nan] == 255).all()
    assert (here[1][is_broken] == 0).all()


def test_second_scales_are_those_of_torchao(torchao):
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    x = np.random.default_rng(12).standard_normal((512, 256), np.float32)
    t = torch.from_numpy(x)
    second = per_tensor_amax_to_scale(t.abs().max())
    scale, values = nvfp4_quantize(t, 16, second)
    q = dl.quantize(x, "nvfp4")
    assert float(q.scale2) == float(second)
    assert np.array_equal(bytes_of(q.scale, 512), scale.view(torch.uint8).numpy().reshape(512, -1))
    assert np.array_equal(bytes_of(q.values, 512), values.view(torch.uint8).numpy().reshape(512, -1))


# Types of GGUF: elements of 4 bits lie as the low halves of all bytes of a block, then the high ones.
VALUES = dl.asarray([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])  # without -0


def half_bytes(codes):
    return dl.concat([codes & 15, codes >> 4], axis=-1)


GGUF = {
    "Q8_0": lambda raw: dl.dequantize(raw[..., 2:].copy().view("int8"), raw[..., :2].copy().view("float16")),
    "Q4_0": lambda raw: dl.dequantize(half_bytes(raw[..., 2:]), raw[..., :2].copy().view("float16"), zero=8),
    "MXFP4": lambda raw: dl.dequantize(
        dl.take(VALUES, half_bytes(raw[..., 1:])), raw[..., :1].copy().view("float8_e8m0fnu")
    ),
}


@pytest.mark.parametrize("name", GGUF)
def test_numbers_are_those_of_gguf(gguf, name):
    kind = getattr(gguf.GGMLQuantizationType, name)
    x = numbers(64) if name == "MXFP4" else np.random.default_rng(13).standard_normal((64, 512), np.float32)
    data = gguf.quants.quantize(x, kind)
    want = gguf.quants.dequantize(data, kind)
    got = GGUF[name](dl.asarray(data).reshape((64, -1, gguf.GGML_QUANT_SIZES[kind][1]))).numpy()
    assert np.array_equal(got.reshape(want.shape).view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("name", GGUF)
def test_every_code_of_gguf(gguf, name):
    """Blocks of any bytes, whose scales are finite."""
    kind = getattr(gguf.GGMLQuantizationType, name)
    size = gguf.GGML_QUANT_SIZES[kind][1]
    data = np.random.default_rng(14).integers(0, 256, (64, 8 * size), dtype=np.uint8)
    blocks = data.reshape(-1, size)
    if name == "MXFP4":
        blocks[:, 0] %= 250
    else:
        blocks[:, 1] &= 0xBF
    want = gguf.quants.dequantize(data, kind)
    got = GGUF[name](dl.asarray(blocks)).numpy()
    assert np.array_equal(got.reshape(want.shape).view(np.uint32), want.view(np.uint32))
