# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize and casts of 4 and 6 bits beside a copy of the float32 numbers, which is close to what memory allows.

Run: python benchmarks/bench_quantize.py [part of a row's name ...] [--json FILE] [--plot FILE]
The peer of every row is the copy of 4096 x 4096 float32; torch has no function of these formats.
"""

from compare import Row, main

import dltensor as dl

SIDE = 4096
# Format, block, gate and goal of quantize, of dequantize.
FORMATS = [
    ("mxfp4", None, 0.55, 1.1, 1.1, 2.0),
    ("mxfp8", None, 0.55, 1.1, 1.1, 2.0),
    ("nvfp4", None, 0.41, 0.8, 1.1, 2.0),
    ("int4", 128, 0.55, 0.8, 1.1, 2.0),
    ("int8", (1, -1), 0.55, 0.8, 1.1, 2.0),
    ("float8_e4m3fn", None, 0.8, 1.1, 1.1, 2.0),
]
CAST = ("float4_e2m1fn", "int4", "float6_e2m3fn", "float6_e3m2fn")


def rows():
    x = dl.astype(dl.random.Generator(0).normal(size=(SIDE, SIDE)), "float32")
    names = {"dl": dl, "x": x, "o": dl.zeros((SIDE, SIDE))}
    peers = {"copy": "dl.copy(x, o)"}
    for name, block, *gates in FORMATS:
        q = dl.quantize(x, name, block=block)
        statement = f"dl.quantize(x, {name!r}, block={block})"
        yield Row("quantize", name, *gates[:2], statement, peers, names)
        yield Row("dequantize", name, *gates[2:], "dl.dequantize(*q)", peers, names | {"q": q})
    for name in CAST:
        codes = dl.cast(x, name, saturate=True)
        yield Row("cast", f"to {name}", 1.1, 1.3, f"dl.cast(x, {name!r}, saturate=True)", peers, names)
        yield Row("cast", f"from {name}", 1.1, 1.3, "dl.astype(c, 'float32')", peers, names | {"c": codes})


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
