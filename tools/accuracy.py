#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the largest error of every function of real floats in ULP against mpmath, and write docs/accuracy.md.

Run: python tools/accuracy.py [--points N] [--only NAME ...] [--check]. Each instruction set that this processor has is
measured in a process of its own (DLTENSOR_CPU), on the same points; NumPy is measured beside it. Points are patterns of
bits, so every binade is reached, half of them within the range in which the function is usually called. float16 and
bfloat16 are measured on every value. --check only reads the page: it fails when a function has no row.
"""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dltensor as dl

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
BEGIN, END = "<!-- measured by tools/accuracy.py -->\n", "<!-- end -->\n"
# Functions that IEEE 754 rounds once are tested bit by bit elsewhere. The rest takes its value from mpmath by the
# same name, or by the one that is given here.
NAMES = {
    "pow": lambda mp: lambda a, b: mp.power(a, b),
    "log2": lambda mp: lambda a: mp.log(a, 2),
    "logaddexp": lambda mp: lambda a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))),
    "reciprocal": lambda mp: lambda a: 1 / a,
}
# Where functions are usually called, as powers of two, and the domain of each that has one.
USUAL = (-6, 6)
DOMAINS = {
    "acos": (-1, 1),
    "asin": (-1, 1),
    "atanh": (-1, 1),
    "acosh": (1, math.inf),
    "log": (0, math.inf),
    "log10": (0, math.inf),
    "log1p": (-1, math.inf),
    "log2": (0, math.inf),
    "sqrt": (0, math.inf),
    "pow": (0, math.inf),
}
WIDE = ("float64", "float32")
NARROW = ("float16", "bfloat16")


def functions():
    """Return the element-wise functions of floats that mpmath has, with the number of their operands."""
    import mpmath

    found = {}
    for name, row in dl.OPS.items():
        if name != row["row"] or "floats" not in row["kinds"] or row["result"] != "same" or row["swapped"]:
            continue
        if row["symbol"] and name not in NAMES:
            continue  # operators: arithmetic, rounded once
        if name in NAMES or (hasattr(mpmath.mp, name) and callable(getattr(mpmath.mp, name))):
            found[name] = row["operands"]
    for exact in ("ceil", "floor", "sign", "sqrt", "square", "reciprocal", "fabs", "conj"):
        found.pop(exact, None)
    return found


def points(name, operands, dtype, count, generator):
    """Return the operands of a function as arrays of float64 whose values a dtype has."""
    low, high = DOMAINS.get(name, (-math.inf, math.inf))
    bits = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}[dtype]
    if bits == 16 and operands == 1:
        patterns = np.arange(1 << 16, dtype=np.uint16)
        drawn = [dl.cast(dl.asarray(patterns).view(dtype), "float64").numpy()]
    else:
        drawn = []
        for _ in range(operands):
            anywhere = _rounded(
                generator.integers(0, 1 << 64, 4 * count, dtype=np.uint64).view(np.float64), dtype, generator
            )
            usual = np.exp2(generator.uniform(*USUAL, 2 * count)) * generator.choice([-1.0, 1.0], 2 * count)
            near = generator.uniform(max(low, -4), min(high, 4), 2 * count)
            drawn.append(np.concatenate([anywhere, _rounded(usual, dtype), _rounded(near, dtype)]))
    keep = np.isfinite(drawn[0]) & (drawn[0] >= low) & (drawn[0] <= high)
    for one in drawn if operands > 1 else []:
        keep &= np.isfinite(one) & (one != 0)  # mpmath has no signed zeros; special values have tests of their own
    drawn = [one[keep] for one in drawn]
    if len(drawn[0]) > count and bits > 16:
        chosen = generator.permutation(len(drawn[0]))[:count]
        drawn = [one[chosen] for one in drawn]
    return drawn


def _rounded(values, dtype, generator=None):
    if dtype == "float64":
        return values
    if generator is not None:  # patterns of the narrower type, so that all its binades are reached
        values = generator.integers(0, 1 << 32, len(values), dtype=np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        return dl.cast(dl.cast(values, dtype), "float64").numpy()


def references(name, drawn):
    """Return the true values as a sum of two float64, and where mpmath has none or it is beyond float64."""
    import mpmath

    mp = mpmath.mp
    mp.prec = 160
    function = NAMES[name](mp) if name in NAMES else getattr(mp, name)
    high, low = np.empty(len(drawn[0])), np.zeros(len(drawn[0]))
    for at, values in enumerate(zip(*(one.tolist() for one in drawn), strict=True)):
        try:
            true = function(*(mp.mpf(value) for value in values))
            real = mp.isfinite(true) and (not hasattr(true, "imag") or true.imag == 0)
            high[at] = float(true.real) if real else math.nan
            if math.isfinite(high[at]):
                low[at] = float(true.real - mp.mpf(high[at]))
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            high[at] = math.nan
    return high, low


def errors(got, high, low, dtype):
    """Return the errors in ULP of the dtype; NaN where the true value has no finite neighbour of the dtype."""
    info = dl.finfo(dtype)
    digits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[dtype]
    least = math.log2(info.smallest_normal)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(high))), least)
        exponent = np.where(high == 0, least, exponent)
        unit = np.ldexp(1.0, (exponent - digits + 1).astype(int).clip(-1074, 1023))
        # Beyond the greatest value the result is infinite; half a unit below it both are right.
        inside = np.isfinite(high) & (np.abs(high) <= float(info.max))
        return np.where(inside, np.abs((got - high) - low) / unit, np.nan)


def measure_here(folder):
    """Write what dltensor computes with the instruction set of this process for the points of a folder."""
    for path in sorted(Path(folder).glob("*.npz")):
        name, dtype = path.stem.split("-")
        with np.load(path) as kept:
            drawn = [dl.cast(kept[f"x{at}"], dtype) for at in range(len([key for key in kept if key.startswith("x")]))]
        np.save(
            Path(folder) / f"{path.stem}.{dl.cpu_features()['used']}.npy",
            dl.cast(getattr(dl, name)(*drawn), "float64").numpy(),
        )


def numpy_result(name, drawn, dtype):
    """Return NumPy's result, or None where it has no such function."""
    known = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan"}
    known |= {"atanh": "arctanh", "atan2": "arctan2", "pow": "power"}
    function = getattr(np, known.get(name, name), None)
    if function is None or dtype not in WIDE:
        return None
    with np.errstate(all="ignore"):
        return function(*(one.astype(dtype) for one in drawn)).astype(np.float64)


def measure(names, count, folder):
    """Return {dtype: {function: {level or "numpy": (largest error, its argument)}}}."""
    levels = dl.cpu_features()["supported"]
    true = {}
    for name, operands in names.items():
        for dtype in (*WIDE, *NARROW):
            generator = np.random.default_rng([len(name), *name.encode()])
            drawn = points(name, operands, dtype, count if dtype in WIDE else count // 2, generator)
            true[name, dtype] = drawn, *references(name, drawn)
            np.savez(folder / f"{name}-{dtype}.npz", **{f"x{at}": one for at, one in enumerate(drawn)})
        print(f"{name}: {sum(len(true[name, dtype][0][0]) for dtype in (*WIDE, *NARROW))} points", flush=True)
    for level in levels:
        environment = {**os.environ, "DLTENSOR_CPU": level}
        subprocess.run([sys.executable, __file__, "--measure", str(folder)], check=True, env=environment)
    found = {}
    for (name, dtype), (drawn, high, low) in true.items():
        results = {level: np.load(folder / f"{name}-{dtype}.{level}.npy") for level in levels}
        results["numpy"] = numpy_result(name, drawn, dtype)
        for way, got in results.items():
            if got is None:
                continue
            off = errors(got, high, low, dtype)
            wrong = int(np.sum(~np.isnan(high) & (np.abs(high) <= float(dl.finfo(dtype).max)) & ~np.isfinite(got)))
            at = int(np.nanargmax(np.where(np.isfinite(off), off, -1)))
            row = found.setdefault(dtype, {}).setdefault(name, {"points": int(np.sum(~np.isnan(off)))})
            row[way] = {"ulp": float(off[at]), "at": [float(one[at]) for one in drawn], "not finite": wrong}
    return found


def table(found, levels):
    """Return the tables of the page."""
    text = ""
    for dtype in (*WIDE, *NARROW):
        ways = [*levels, *(["numpy"] if dtype in WIDE else [])]
        heads = {"numpy": f"NumPy {np.__version__}"}
        text += f"\n| {dtype} | points | {' | '.join(heads.get(way, way) for way in ways)} | worst argument |\n"
        text += f"| --- | ---: | {' | '.join('---:' for _ in ways)} | --- |\n"
        for name, row in sorted(found[dtype].items()):
            worst = max((row[level] for level in levels), key=lambda one: one["ulp"])
            at = ", ".join(f"{value:.9g}" for value in worst["at"])
            cells = " | ".join(f"{row[way]['ulp']:.2f}" if way in row else "" for way in ways)
            text += f"| `{name}` | {row['points']:,} | {cells} | {at} |\n"
    return text


def _processor():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    named = re.search(r"^model name\s*: (.*)$", text, re.M)
    return named[1] if named else platform.machine()


def check(text):
    """Exit with a message if a function of the package has no row on the page."""
    part = text[text.index(BEGIN) : text.index(END)]
    missing = [f"{name} of {dtype}" for dtype in (*WIDE, *NARROW) for name in functions()
               if not re.search(rf"^\| `{name}` \|", part[part.index(f"| {dtype} |") :], re.M)]  # fmt: skip
    if missing:
        sys.exit(f"accuracy: {PAGE.name} has no row for {', '.join(missing)}; run python -m tools accuracy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure_here(options.measure)
    if options.check:
        return check(PAGE.read_text())
    names = {name: count for name, count in functions().items() if not options.only or name in options.only}
    with tempfile.TemporaryDirectory() as folder:
        found = measure(names, options.points, Path(folder))
    wrong = {f"{name} of {dtype}": way for dtype, rows in found.items() for name, row in rows.items()
             for way, one in row.items() if way not in ("points", "numpy") and one["not finite"]}  # fmt: skip
    if wrong:
        sys.exit(f"accuracy: the true value is finite and the result is not: {wrong}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    made = table(found, dl.cpu_features()["supported"])
    library = "-".join(platform.libc_ver())
    about = f"\nMeasured with Python {platform.python_version()}, dltensor {dl.__version__}, C library {library}, "
    about += f"{_processor()}.\n"
    print(made, about)
    if not options.only:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(head + BEGIN + made + about + END + rest.split(END)[1])
    return None


if __name__ == "__main__":
    main()
