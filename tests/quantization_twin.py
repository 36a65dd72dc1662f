# SPDX-License-Identifier: Apache-2.0
"""Quantization of one block with exact rationals: the oracle of test_quantization.py. Nothing of dltensor is used.

    python tests/quantization_twin.py

writes data/quantization.json, the vectors that other implementations can be tested with.
"""

import json
import math
import struct
from fractions import Fraction
from pathlib import Path

VECTORS = Path(__file__).parent / "data/quantization.json"
# Exponent bits, mantissa bits, bias, the code of the largest magnitude.
FLOATS = {
    "float8_e4m3fn": (4, 3, 7, 0x7E),
    "float8_e5m2": (5, 2, 15, 0x7B),
    "float8_e3m4": (3, 4, 3, 0x6F),
    "float6_e2m3fn": (2, 3, 1, 0x1F),
    "float6_e3m2fn": (3, 2, 3, 0x1F),
    "float4_e2m1fn": (2, 1, 1, 0x07),
}
INTEGERS = {"int8": 8, "int4": 4, "int2": 2}
POWERS = {
    "mxfp8": "float8_e4m3fn",
    "mxfp8_e5m2": "float8_e5m2",
    "mxfp6_e2m3": "float6_e2m3fn",
    "mxfp6_e3m2": "float6_e3m2fn",
    "mxfp4": "float4_e2m1fn",
}
NAN = 0x7FC00000


def from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def to_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def float32(exact):
    """Round a positive rational to float32, half to even; infinity where it is too large."""
    if exact == 0:
        return 0.0
    exponent = max(math.floor(math.log2(exact)) if exact < 2**1000 else 1000, -126)
    exponent += (exact >= Fraction(2) ** (exponent + 1)) - (exponent > -126 and exact < Fraction(2) ** exponent)
    unit = Fraction(2) ** (exponent - 23)
    rounded = round(exact / unit) * unit  # of a Fraction: half to even
    return float(rounded) if rounded < 2**128 else math.inf


def magnitude(code, dtype):
    _, mantissa_bits, bias, _ = FLOATS[dtype]
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    return Fraction((1 << mantissa_bits) + mantissa) * Fraction(2) ** (exponent - bias - mantissa_bits)


def largest(dtype):
    return Fraction(2 ** (INTEGERS[dtype] - 1) - 1) if dtype in INTEGERS else magnitude(FLOATS[dtype][3], dtype)


def encode(number, dtype):
    """The code of the nearest element; `number` is a float32."""
    exact = Fraction(number)
    if dtype in INTEGERS:
        width = INTEGERS[dtype]
        return max(-(2 ** (width - 1)), min(2 ** (width - 1) - 1, round(exact))) & (2**width - 1)
    exponent_bits, mantissa_bits, _, last = FLOATS[dtype]
    best = min(range(last + 1), key=lambda code: (abs(magnitude(code, dtype) - abs(exact)), code & 1))
    return best | (math.copysign(1, number) < 0) << (exponent_bits + mantissa_bits)


def power_byte(amax, dtype, rule):
    """The byte of the power of two for the largest magnitude of a block."""
    if not math.isfinite(amax):
        return 255
    exact = Fraction(amax)
    if exact == 0:
        return 0
    if rule == "even":  # the magnitude rounded to the digits of the element, half away from zero
        exponent = math.frexp(amax)[1] - 1
        unit = Fraction(2) ** (exponent - FLOATS[dtype][1])
        exact = math.floor(exact / unit + Fraction(1, 2)) * unit if exponent >= -126 else exact
    if rule == "ceil":
        return next(byte for byte in range(255) if exact <= largest(dtype) * Fraction(2) ** (byte - 127))
    top = largest(dtype)
    bytes_ = [
        byte for byte in range(255) if Fraction(2) ** (byte - 127) * Fraction(2) ** math.floor(math.log2(top)) <= exact
    ]
    return bytes_[-1] if bytes_ else 0


def ratio(amax, most):
    if not math.isfinite(amax):
        return math.nan
    return float32(Fraction(amax) / most) or 1.0


def quotients(x, divisor):
    return [math.copysign(float32(abs(Fraction(v)) / Fraction(divisor)), v) for v in x]


def quantize_block(x, format, rule="floor", tensor_scale=None):
    """Codes of the elements of a block and its scale: a byte, or the bits of a float32."""
    amax = max((abs(v) for v in x if math.isfinite(v)), default=0.0) if all(map(math.isfinite, x)) else math.inf
    if format in POWERS:
        dtype, scale = POWERS[format], power_byte(amax, POWERS[format], rule)
        divisor = Fraction(2) ** (scale - 127)
    elif format == "nvfp4":
        dtype = "float4_e2m1fn"
        divisor = scale = 0x7F
        if math.isfinite(amax):
            wanted = float32(Fraction(amax) / Fraction(float32(Fraction(tensor_scale) * 6)))
            scale = max(encode(min(wanted, 448.0), "float8_e4m3fn"), 1) if amax else 0x38
            divisor = float32(magnitude(scale, "float8_e4m3fn") * Fraction(tensor_scale)) or 1.0
    else:
        dtype, divisor = format, ratio(amax, largest(format))
        scale = NAN if math.isnan(divisor) else to_bits(divisor)
    if not math.isfinite(amax):
        return [0] * len(x), scale
    return [encode(v, dtype) for v in quotients(x, divisor)], scale


def tensor_scale_of(x, block=16):
    """The second scale of nvfp4, out of the blocks without infinities and NaN."""
    blocks = [x[i : i + block] for i in range(0, len(x), block)]
    amax = max((abs(v) for b in blocks if all(map(math.isfinite, b)) for v in b), default=0.0)
    return ratio(amax, 6 * 448)


def special_blocks():
    """Blocks of 32 elements by name, as bits of float32."""
    numbers = {
        "ties": [(-1) ** k * (k + 0.5) / 4 for k in range(32)],
        "codes": [(-1) ** k * (k % 8) * 0.5 * 2.0 ** (k // 8) for k in range(32)],
        "ramp": [math.sin(k) * 1.1**k for k in range(32)],
        "clamped": [6.9999995] + [-7.5] * 3 + [k * 0.24 for k in range(28)],
        "zeros": [0.0, -0.0] * 16,
        "tiny": [(-1) ** k * k * 2.0**-149 for k in range(32)],
        "subnormal": [k * 2.0**-130 for k in range(32)],
        "least normal": [2.0**-126] * 31 + [-(2.0**-127)],
        "huge": [(-1) ** k * 3.4028234663852886e38 / (k + 1) for k in range(32)],
        "one": [0.0] * 31 + [1.0],
    }
    blocks = {name: [to_bits(v) for v in values] for name, values in numbers.items()}
    for name, bits in {
        "power of two less": 0x3F7FFFFF,
        "largest element": 0x40C00000,
        "one beyond": 0x40C00001,
    }.items():
        blocks[name] = [bits, *blocks["ties"][:8], *[to_bits(k / 16) for k in range(23)]]
    blocks["infinity"] = [*blocks["ties"][:31], 0x7F800000]
    blocks["negative infinity"] = [0xFF800000, *blocks["ties"][:31]]
    blocks["not a number"] = [*blocks["ties"][:5], 0x7FC00001, *blocks["ties"][:26]]
    return blocks


def vectors():
    """Every format and rule of every special block."""
    found = {
        "blocks": {name: "".join(f"{b:08x}" for b in bits) for name, bits in special_blocks().items()},
        "cases": [],
    }
    for name, bits in special_blocks().items():
        x = [from_bits(b) for b in bits]
        for format in (*POWERS, "nvfp4", "int8", "int4", "float8_e4m3fn", "float8_e5m2"):
            for rule in ("floor", "even", "ceil") if format in POWERS else ("floor",):
                case = {"block": name, "format": format, "rule": rule}
                if format == "nvfp4":
                    second = tensor_scale_of(x)
                    parts = [quantize_block(x[i : i + 16], format, rule, second) for i in (0, 16)]
                    codes = parts[0][0] + parts[1][0]
                    case["scale"] = "".join(f"{scale:02x}" for _, scale in parts)
                    case["scale2"] = f"{to_bits(second):08x}"
                else:
                    codes, scale = quantize_block(x, format, rule)
                    case["scale"] = f"{scale:02x}" if format in POWERS else f"{scale:08x}"
                case["codes"] = "".join(f"{code:02x}" for code in codes)
                found["cases"].append(case)
    return found


def text():
    """The file: a line for each block and case."""
    found = vectors()
    blocks = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in found["blocks"].items())
    cases = ",\n".join(f"  {json.dumps(case)}" for case in found["cases"])
    return f'{{"blocks": {{\n{blocks}\n}},\n"cases": [\n{cases}\n]}}\n'


if __name__ == "__main__":
    VECTORS.parent.mkdir(exist_ok=True)
    VECTORS.write_text(text())
