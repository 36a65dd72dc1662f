#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs of operations, casts and reductions: fused, they have the bits and the errors of their steps.

    python fuzz/programs.py                            # 400 programs
    python fuzz/programs.py --seconds 3600 --seed 7    # for an hour, beginning with seed 7
    python fuzz/programs.py --seed 123 --programs 1    # one program again
    python fuzz/programs.py --device hostcuda          # with CUDA tensors, by the CUDA driver that runs on the host

Dtypes, layouts, broadcasts, numbers and thread counts are random. Prints what differs and the seed that repeats it, and
exits 1 then.
"""

import argparse
import random
import sys
import time

import numpy as np

import dltensor as dl

DTYPES = [
    "float32",
    "float64",
    "int32",
    "uint8",
    "int64",
    "bool",
    "float16",
    "bfloat16",
    "int8",
    "complex64",
    "complex128",
]
UNARY = ["negative", "exp", "abs", "square", "sqrt", "sin", "logical_not", "isnan", "floor", "sign"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal", "logical_and", "hypot", "pow"]
BINARY += ["floor_divide", "remainder", "atan2"]
NUMBERED = ["add", "multiply", "subtract", "divide", "maximum", "minimum", "less"]
REDUCTIONS = ["sum", "max", "min", "mean", "any", "all", "prod", "std", "var", "count_nonzero"]
SATURATING = ["add", "subtract", "multiply"]


def draw_plain_step(rng, value, other, axis):
    """A step that converts nothing; reductions are along one axis."""
    return rng.choice(
        [
            ("binary", rng.choice(["add", "multiply", "subtract"]), value, other),
            ("number", rng.choice(["add", "multiply", "subtract"]), value, 3),
            ("unary", rng.choice(["negative", "square"]), value),
            ("reduce", rng.choice(["sum", "mean", "prod", "std", "max"]), value, axis, rng.random() < 0.7),
        ]
    )


def draw_steps(rng, arguments, plain=False):
    steps, count, axis = [], arguments, rng.choice([None, -1, -1, (-1, -2)])
    for _ in range(rng.randrange(4, 12) if plain else rng.randrange(1, 9)):
        value = rng.randrange(count)
        if plain:
            steps.append(draw_plain_step(rng, rng.randrange(max(count - 4, 0), count), value, axis))
            count += 1
            continue
        steps.append(
            rng.choice(
                [
                    ("unary", rng.choice(UNARY), value),
                    ("binary", rng.choice(BINARY), value, rng.randrange(count)),
                    ("binary", rng.choice(BINARY), value, rng.randrange(count)),
                    ("number", rng.choice(NUMBERED), value, rng.choice([2, 0.5, -1, 3])),
                    ("argument", rng.choice([*NUMBERED, "pow", "where", "clip", "saturate"]), value, rng.randrange(2)),
                    ("saturate", rng.choice(SATURATING), value, rng.choice([100, 0.5, -1])),
                    ("where", value, rng.randrange(count), rng.randrange(count)),
                    ("astype", rng.choice(DTYPES[:8]), value),
                    ("reduce", rng.choice(REDUCTIONS), value, rng.choice([None, 0, -1, (0, 1)]), rng.random() < 0.8),
                ]
            )
        )
        count += 1
    if plain:
        return steps, [count - 1]
    return steps, sorted({count - 1, *[rng.randrange(arguments, count) for _ in range(rng.randrange(3))]})


def apply(step, values, numbers):
    kind, name, value, *rest = step
    if kind == "where":
        return dl.where(values[name].astype("bool"), values[value], values[rest[0]])
    if kind == "astype":
        return values[value].astype(name)
    function = getattr(dl, name, None)
    if kind == "reduce":
        axes = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
        axes = tuple(a for a in axes if a is not None and -values[value].ndim <= a < values[value].ndim)
        return function(values[value], axis=axes or None, keepdims=rest[1])
    if kind == "saturate":
        return function(values[value], rest[0], saturate=True)
    if kind == "argument":
        return apply_number(name, values[value], numbers[rest[0]])
    if kind == "number":
        return function(values[value], rest[0])
    return function(values[value], *[values[k] for k in rest])


def apply_number(name, x, number):
    if name == "where":
        return dl.where(x.astype("bool"), number, 2)
    if name == "clip":
        return dl.clip(x, number, 10)
    if name == "saturate":
        return dl.add(x, number, saturate=True)
    return getattr(dl, name)(x, number)


def program(steps, returned):
    def run(first, second, *arguments):
        values = list(arguments)
        for step in steps:
            values.append(apply(step, values, (first, second)))
        results = tuple(values[k] for k in returned)
        return results if len(results) > 1 else results[0]

    return run


def draw_argument(rng, shape, device="cpu", plain=None):
    """A tensor of any dtype and layout, whose shape broadcasts to `shape`; with `plain` of that dtype, in C order."""
    dtype = plain or rng.choice(DTYPES)
    shape = shape if plain else tuple(1 if rng.random() < 0.15 else n for n in shape)
    if not plain and rng.random() < 0.2:
        shape = shape[rng.randrange(len(shape) + 1) :]
    values = np.random.default_rng(rng.randrange(1 << 30)).normal(size=shape) * rng.choice([1, 1, 10, 1000])
    t = dl.asarray(values)
    if dtype.startswith("complex"):
        t = t + 1j * t
    t = dl.clip(t, 0, 19).astype(dtype) if dtype in ("int32", "uint8", "int64", "int8") else t.astype(dtype)
    t, layout = t.to(device), 0 if plain else rng.randrange(4)
    if t.ndim > 1 and layout == 1:
        t = t.permute(*range(t.ndim)[::-1]).copy().permute(*range(t.ndim)[::-1])
    elif t.ndim and layout == 2:
        t = dl.concat([t, t], axis=0)[::2]
    elif t.ndim and layout == 3:
        t = dl.flip(t, axis=0)
    return t


def bits(results):
    """Shapes, dtypes and bytes of the elements; all NaNs are alike, since their signs and payloads are no result."""
    found = []
    for t in results if isinstance(results, tuple) else (results,):
        here = t.to("cpu")
        parts = (dl.real(here), dl.imag(here)) if dl.isdtype(t.dtype, "complex floating") else (here,)
        if dl.isdtype(t.dtype, ("real floating", "complex floating")):
            parts = [dl.where(dl.isnan(part), float("nan"), part) for part in parts]
        found.append((t.shape, t.dtype, b"".join(part.tobytes() for part in parts)))
    return found


def outcome(function, arguments):
    """The bits of the results, or the error."""
    try:
        return bits(function(*arguments))
    except (TypeError, ValueError, OverflowError) as error:
        return repr(error)


def check_program(seed, sizes, device="cpu"):
    rng = random.Random(seed)
    shape = tuple(rng.choice(sizes) for _ in range(rng.randrange(1, 4)))
    plain = rng.choice(DTYPES) if rng.random() < 0.3 else None  # few elements of such arguments have a way of their own
    arguments = [draw_argument(rng, shape, device, plain) for _ in range(rng.randrange(1, 4))]
    steps, returned = draw_steps(rng, len(arguments), plain is not None)
    function = program(steps, returned)
    fused = dl.fuse(function)
    for numbers in ((2, 0.5), (2, 0.5), (2, -1.5), (300, 2.0), (-1, 0.5)):  # recorded, again, and with other numbers
        called = (*numbers, *arguments)
        assert outcome(fused, called) == outcome(function, called), (seed, numbers, steps, returned)
    shorter = [t[tuple(slice(0, max(n - 1, 2)) if n > 1 else slice(None) for n in t.shape)] for t in arguments]
    if all(t.ndim == len(shape) for t in arguments):
        called = (2, 0.5, *shorter)
        assert outcome(fused, called) == outcome(function, called), (seed, steps, returned)


SIZES = [(2, 3, 5, 16, 40), (3, 70, 130, 300)]  # of a dimension, for small and for large programs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--seconds", type=float, help="as many programs as that time allows")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "hostcuda"])
    options = parser.parse_args()
    if options.device == "hostcuda":
        from dltensor.testing import hostcuda

        hostcuda.load()
        options.device = "cuda"
    end, seed = time.monotonic() + (options.seconds or 0), options.seed
    before = dl.num_threads()
    while time.monotonic() < end if options.seconds else seed < options.seed + options.programs:
        dl.set_num_threads(1 + seed % 2)
        try:
            check_program(seed, SIZES[seed % 8 == 7], options.device)
        except AssertionError as error:
            print(f"fuzz: the program of seed {seed} differs from its steps: {error}")
            return 1
        seed += 1
    dl.set_num_threads(before)
    print(f"fuzz: {seed - options.seed} programs have the bits and the errors of their steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
