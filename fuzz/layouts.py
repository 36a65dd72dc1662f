#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of operands with random strides: results are those of copies in C order, whatever the steps and offsets.

    python fuzz/layouts.py                              # 20,000 calls
    python fuzz/layouts.py --seconds 3600 --seed 7      # for an hour, beginning with seed 7
    python fuzz/layouts.py --seed 123 --cases 1         # one call again
    python fuzz/layouts.py --device hostcuda            # with CUDA tensors, by the CUDA driver that runs on the host

Dtypes, broadcasts, permutations, steps of either sign, offsets and `out` are random. Prints what differs and the seed
that repeats it, and exits 1 then.
"""

import argparse
import random
import sys
import time

import numpy as np
from programs import bits

import dltensor as dl

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"]
DTYPES += ["complex128"]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "pow",
    "hypot",
    "atan2",
    "floor_divide",
    "remainder",
    "maximum",
    "less",
]
BINARY += [
    "minimum",
    "equal",
    "copysign",
    "logaddexp",
    "bitwise_and",
    "logical_or",
    "nextafter",
    "fmod",
    "gcd",
]
WITHOUT_OUT = {"fmod", "gcd"}
UNARY = [
    "exp",
    "sqrt",
    "negative",
    "abs",
    "sin",
    "floor",
    "isnan",
    "sign",
    "square",
    "logical_not",
    "log1p",
    "tanh",
    "erf",
]
UNARY += ["round", "conj", "bitwise_invert", "copy"]
REDUCING = [
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "std",
    "var",
    "count_nonzero",
    "nansum",
]
REDUCING += [
    "logsumexp",
    "softmax",
    "cumulative_sum",
    "cumulative_prod",
    "sort",
    "argsort",
    "median",
    "diff",
    "nanmean",
]
EXTENTS = (1, 2, 3, 4, 5, 7, 17)


def draw_elements(rng, shape, dtype):
    values = np.random.default_rng(rng.randrange(1 << 30)).integers(-4, 9, shape)
    t = dl.asarray(np.abs(values) if dtype in ("uint8", "bool") else values * (1.25 if dtype[0] in "fbc" else 1))
    return (t + 1j * dl.flip(t) if dtype.startswith("complex") else t).astype(dtype)


def draw_operand(rng, shape, dtype, device):
    """A view of a shape: its axes in any order of memory, with steps of either sign, and elements around them."""
    order = rng.sample(range(len(shape)), len(shape))
    steps = [rng.choice((1, 1, 1, 2, 3, -1, -1, -2)) for _ in order]
    starts = [rng.randrange(3) for _ in order]
    extents = [
        start + shape[axis] * abs(step) + rng.randrange(3)
        for axis, step, start in zip(order, steps, starts, strict=True)
    ]
    t = draw_elements(rng, extents, dtype).to(device)
    for place, (axis, step, start) in enumerate(zip(order, steps, starts, strict=True)):
        t = t[(slice(None),) * place + (slice(start, start + shape[axis] * abs(step), abs(step)),)]
        t = dl.flip(t, axis=place) if step < 0 else t
    return dl.permute_dims(t, [order.index(axis) for axis in range(len(shape))]) if shape else t


def draw_part(rng, shape):
    """A shape that broadcasts to another one."""
    return tuple(1 if rng.random() < 0.35 else n for n in shape)[
        rng.randrange(len(shape) + 1) if rng.random() < 0.2 else 0 :
    ]


def draw_call(rng, device):
    """A function, its operands, and what else it takes."""
    shape = tuple(rng.choice(EXTENTS) for _ in range(rng.randrange(1, 4)))
    if rng.random() < 0.2:
        shape = (*shape, rng.choice((1, 2, 3)))
    kind = rng.random()

    def draw(part, dtype=None):
        return draw_operand(rng, part, dtype or rng.choice(DTYPES), device)

    if kind < 0.6:
        return rng.choice(BINARY), [draw(draw_part(rng, shape)), draw(draw_part(rng, shape))], {}
    if kind < 0.7:
        return "where", [draw(draw_part(rng, shape), "bool"), draw(shape), draw(draw_part(rng, shape))], {}
    if kind < 0.8:
        return "astype", [draw(shape)], {"dtype": rng.choice(DTYPES)}
    if kind < 0.88:
        return rng.choice(UNARY), [draw(shape)], {}
    name = rng.choice(REDUCING)
    axes = (
        [*range(len(shape))]
        if name in ("cumulative_sum", "cumulative_prod", "sort", "argsort", "diff")
        else [None, 0, -1]
    )
    return name, [draw(shape)], {"axis": rng.choice(axes)}


def check_call(seed, device="cpu"):
    """Make one call; False where it is refused, as are some dtypes."""
    rng = random.Random(seed)
    name, operands, options = draw_call(rng, device)
    function = getattr(dl, name)
    layouts = [(t.shape, t.strides, t.dtype) for t in operands]
    try:
        result = function(*operands, **options)
    except TypeError:
        return False
    expected = bits(function(*[t.copy() for t in operands], **options))
    assert bits(result) == expected, (seed, name, layouts, options)
    if len(operands) == 2:
        shape = result.shape
        whole = [dl.broadcast_to(t, shape).copy() for t in operands]
        assert bits(function(*whole)) == expected, (seed, name, layouts)
        out = draw_operand(rng, shape, str(result.dtype).rsplit(".", 1)[-1], device)
        if name not in WITHOUT_OUT:
            function(*operands, out=out)
            assert bits(out) == expected, (seed, name, layouts, out.strides)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first call")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, help="as many calls as that time allows")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "hostcuda"])
    options = parser.parse_args()
    if options.device == "hostcuda":
        from dltensor.testing import hostcuda

        hostcuda.load()
        options.device = "cuda"
    end, seed, made = time.monotonic() + (options.seconds or 0), options.seed, 0
    while time.monotonic() < end if options.seconds else seed < options.seed + options.cases:
        try:
            made += check_call(seed, options.device)
        except AssertionError as error:
            print(f"fuzz: the call of seed {seed} differs from that of copies: {error}")
            return 1
        seed += 1
    print(f"fuzz: {made} calls of any layout have the results of copies, {seed - options.seed - made} were refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
