# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize, casts of 4 and 6 bits and products of quantised weights, beside what memory allows and beside peers.

Run: python benchmarks/bench_quantize.py [part of a row's name ...] [--json FILE] [--plot FILE]
The peer of most rows is the copy of 4096 x 4096 float32, which is close to what memory allows. Rows of the group "peers" have
torchao, gguf and ml_dtypes instead, as far as they are installed; those of "weights" the product of float32 weights, the product
after dequantize(), and functions of torch that are not public.
"""

from contextlib import suppress
from functools import partial

from compare import Row, main, torch

import dltensor as dl

SIDE = 4096
# Format, block, gate and goal of quantize, of dequantize, and of the product with a vector beside float32 weights.
FORMATS = [
    ("mxfp4", None, (0.55, 1.1), (1.1, 2.0), (1.3, 3.1)),
    ("mxfp8", None, (0.55, 1.1), (1.1, 2.0), (1.3, 2.0)),
    ("nvfp4", None, (0.41, 0.8), (1.1, 2.0), (1.3, 3.1)),
    ("int4", 128, (0.55, 0.8), (1.1, 2.0), (1.3, 3.1)),
    ("int8", (1, -1), (0.55, 0.8), (1.1, 2.0), (1.3, 2.0)),
    ("float8_e4m3fn", None, (0.8, 1.1), (1.1, 2.0), (1.3, 2.0)),
]
CAST = ("float4_e2m1fn", "int4", "float6_e2m3fn", "float6_e3m2fn")


def _torchao(name, t):
    """What quantizes and dequantizes by torchao, as two functions of no arguments."""
    if name.startswith("mxfp"):
        from torchao.prototype.mx_formats.mx_tensor import MXTensor

        dtype = torch.float8_e4m3fn if name == "mxfp8" else torch.float4_e2m1fn_x2
        make = partial(MXTensor.to_mx, t, dtype, 32)
        return make, make().dequantize
    if name == "nvfp4":
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

        make = partial(NVFP4Tensor.to_nvfp4, t, per_tensor_scale=per_tensor_amax_to_scale(t.abs().max()))
        return make, partial(make().dequantize, torch.float32)
    from torchao.quantization import quant_primitives as primitives

    symmetric = primitives.MappingType.SYMMETRIC
    if name == "float8_e4m3fn":
        scale = t.abs().max() / 448
        make = partial(primitives._quantize_affine_float8, t, scale, torch.float8_e4m3fn)
        return make, partial(primitives._dequantize_affine_float8, make(), scale)
    block, low, high = ((1, SIDE), -127, 127) if name == "int8" else ((1, 128), -7, 7)  # int4 a byte each
    scale, zero = primitives.choose_qparams_affine(t, symmetric, block, torch.int8, low, high)
    make = partial(primitives.quantize_affine, t, block, scale, zero, torch.int8, low, high)
    return make, partial(primitives.dequantize_affine, make(), block, scale, zero, torch.int8, low, high)


def _gguf(name, array):
    import gguf

    kind = {"mxfp4": "MXFP4", "int8": "Q8_0", "int4": "Q4_0"}[name]
    make = partial(gguf.quants.quantize, array, getattr(gguf.GGMLQuantizationType, kind))
    return make, partial(gguf.quants.dequantize, make(), getattr(gguf.GGMLQuantizationType, kind))


def _ml_dtypes(name, array):
    """Of the scale of one number only: ml_dtypes has no blocks."""
    import ml_dtypes
    import numpy as np

    dtype = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn}[name]
    scale = np.float32(np.abs(array).max() / 448)
    codes = (array / scale).astype(dtype)
    return lambda: (array / scale).astype(dtype), lambda: codes.astype(np.float32) * scale


def _beside_peers(name, block, x):
    makers = {"torchao": lambda: _torchao(name, torch.from_dlpack(x)), "gguf": lambda: _gguf(name, x.numpy())}
    makers["ml_dtypes"] = lambda: _ml_dtypes(name, x.numpy())
    ways, names = {}, {"dl": dl, "x": x, "q": dl.quantize(x, name, block=block)}
    for peer, make in makers.items():
        with suppress(ImportError, AttributeError, KeyError):
            names[f"make_{peer}"], names[f"back_{peer}"] = make()
            ways[peer] = peer
    if not ways:
        return
    statement = f"dl.quantize(x, {name!r}, block={block})"
    yield Row("peers", f"quantize {name}", 1.0, 4.0, statement, {p: f"make_{p}()" for p in ways}, names)
    yield Row("peers", f"dequantize {name}", 1.0, 4.0, "dl.dequantize(*q)", {p: f"back_{p}()" for p in ways}, names)


def _of_torch(name, v):
    """Products of quantised weights that torch has, in bfloat16, and their operands."""
    n = SIDE
    if name == "int8":
        weights = torch.ones((n, n), dtype=torch.int8), torch.ones(n, dtype=torch.bfloat16)
        return {"torch": "torch._weight_int8pack_mm(tv, *tw)"}, {"tv": v.bfloat16(), "tw": weights, "torch": torch}
    codes = torch.ones((n, n), dtype=torch.int32)
    weights = (
        torch._convert_weight_to_int4pack_for_cpu(codes, 1),
        128,
        torch.ones((n // 128, n, 2), dtype=torch.bfloat16),
    )
    return {"torch": "torch._weight_int4pack_mm_for_cpu(tv, *tw)"}, {"tv": v.bfloat16(), "tw": weights, "torch": torch}


def _weights(name, block, gates, x, rows):
    q, v = dl.quantize(x, name, block=block), dl.copy(x[:rows])
    names = {"dl": dl, "x": x, "q": q, "v": v}
    peers = {"float32": "dl.matmul(v, x.T)", "dequantize": "dl.matmul(v, dl.dequantize(*q).T)"}
    private = {}
    if torch is not None and name in ("int8", "int4"):
        with suppress(AttributeError, RuntimeError):
            private, more = _of_torch(name, torch.from_dlpack(v))
            names |= more
    what = f"{rows} x {SIDE} x {SIDE}, {name}"
    yield Row("weights", what, *(gates if rows == 1 else (0.7, 1.0)), "dl.quantized_matmul(v, *q)", peers, names, 0.02)
    if private:
        yield Row(
            "weights", f"{what} beside bfloat16 of torch", 0.3, 1.0, "dl.quantized_matmul(v, *q)", private, names, 0.02
        )


def rows():
    x = dl.astype(dl.random.Generator(0).normal(size=(SIDE, SIDE)), "float32")
    names = {"dl": dl, "x": x, "o": dl.zeros((SIDE, SIDE))}
    peers = {"copy": "dl.copy(x, o)"}
    for name, block, quantizing, dequantizing, _ in FORMATS:
        q = dl.quantize(x, name, block=block)
        statement = f"dl.quantize(x, {name!r}, block={block})"
        yield Row("quantize", name, *quantizing, statement, peers, names)
        yield Row("dequantize", name, *dequantizing, "dl.dequantize(*q)", peers, names | {"q": q})
    for name in CAST:
        codes = dl.cast(x, name, saturate=True)
        yield Row("cast", f"to {name}", 1.1, 1.3, f"dl.cast(x, {name!r}, saturate=True)", peers, names)
        yield Row("cast", f"from {name}", 1.1, 1.3, "dl.astype(c, 'float32')", peers, names | {"c": codes})
    for name, block, _, _, gates in FORMATS:
        for count in (1, 8):
            yield from _weights(name, block, gates, x, count)
    for name, block, *_ in FORMATS:
        yield from _beside_peers(name, block, x)


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
