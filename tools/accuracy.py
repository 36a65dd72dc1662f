#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the largest error of every function of real floats in ULP, and write docs/accuracy.md and its plot.

Run: python tools/accuracy.py [--points N] [--only NAME ...] [--check] [--all-floats]. The true values are those of
GCC's libquadmath (113 bits). Each instruction set that this processor has is measured in a process of its own
(DLTENSOR_CPU) on the same points and must give the same bits; NumPy and, where they are installed, PyTorch and JAX are
measured beside them. Points are patterns of bits, so that every binade is reached, a quarter each within the range in
which the function is usually called and near 0, and the neighbours of special points.

--all-floats measures the functions of one float32 on all 2^32 patterns; their float64 functions are the true values.
--check only reads the page: it fails when a function has no row.
"""

import argparse
import ctypes
import hashlib
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

TOOLS = Path(__file__).resolve().parent
PAGE, PLOT = TOOLS.parent / "docs" / "accuracy.md", TOOLS.parent / "docs" / "accuracy.svg"
BEGIN, END = "<!-- measured by tools/accuracy.py -->\n", "<!-- end -->\n"
ALL_BEGIN, ALL_END = "<!-- measured by tools/accuracy.py --all-floats -->\n", "<!-- end of all floats -->\n"
# Functions of floats that are exact or rounded once, which other tests compare bit by bit.
EXACT = {"reciprocal", "sqrt", "divide", "copysign", "nextafter"}
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
    "pow": (0, math.inf),
}
DTYPES = ("float64", "float32")


def functions():
    """Return the element-wise functions of floats that round, with the number of their operands."""
    return {
        name: row["operands"]
        for name, row in dl.OPS.items()
        if name == row["row"] and name not in EXACT and row["result"] == "same"
        and (("floats" in row["kinds"] and "integers" not in row["kinds"]) or name == "pow")
    }  # fmt: skip


def library():
    """Return the functions of accuracy_reference.cc, which is compiled here."""
    source = TOOLS / "accuracy_reference.cc"
    built = Path(tempfile.gettempdir()) / f"dltensor-accuracy-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}.so"
    if not built.exists():
        command = [
            "g++",
            "-std=gnu++20",
            "-O2",
            "-shared",
            "-fPIC",
            source,
            "-o",
            built.with_suffix(".new"),
            "-lquadmath",
        ]
        subprocess.run(command, check=True)
        built.with_suffix(".new").replace(built)
    found = ctypes.CDLL(str(built))
    found.compare_floats.restype = ctypes.c_int64
    return found


def _address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def points(name, operands, dtype, count, generator):
    """Return the operands of a function as arrays of float64 whose values a dtype has."""
    low, high = DOMAINS.get(name, (-math.inf, math.inf))
    narrow = np.float32 if dtype == "float32" else np.float64
    drawn = []
    for place in range(operands):
        word = np.uint32 if dtype == "float32" else np.uint64
        anywhere = generator.integers(0, np.iinfo(word).max, 4 * count, dtype=word, endpoint=True).view(narrow)
        usual = np.exp2(generator.uniform(*USUAL, 2 * count)) * generator.choice([-1.0, 1.0], 2 * count)
        near = generator.uniform(max(low, -4), min(high, 4), 2 * count)
        parts = [anywhere, usual.astype(narrow), near.astype(narrow)]
        if operands == 1:
            parts.append(corners(narrow))
        values = np.concatenate(parts).astype(np.float64)
        drawn.append(values if place == 0 else generator.permutation(values))
    with np.errstate(invalid="ignore"):
        keep = np.isfinite(drawn[0]) & (drawn[0] >= low) & (drawn[0] <= high)
    for one in drawn if operands > 1 else []:
        keep &= np.isfinite(one) & (one != 0)  # special values have tests of their own
    chosen = np.flatnonzero(keep)
    special = chosen[chosen >= 8 * count]
    if len(chosen) > count:
        chosen = np.concatenate([generator.permutation(chosen)[:count], special])
    return [one[chosen] for one in drawn]


def corners(narrow):
    """Multiples of pi / 2 and 1 / 2, powers of two, and the three values on each side of each."""
    info = np.finfo(narrow)
    powers = np.exp2(np.arange(info.minexp - info.nmant, info.maxexp, dtype=np.float64))
    middle = np.concatenate([np.arange(1, 2000) * (np.pi / 2), np.arange(1, 2000) / 2, powers]).astype(narrow)
    middle = np.concatenate([middle, -middle])
    found = [middle]
    for toward in (np.inf, -np.inf):
        beside = middle
        for _ in range(3):
            beside = np.nextafter(beside, narrow(toward))
            found.append(beside)
    return np.concatenate(found)


def references(name, drawn):
    """Return the true values as float64, and what these lack in their units in the last place."""
    a, b = np.ascontiguousarray(drawn[0]), np.ascontiguousarray(drawn[-1])
    high, low = np.empty_like(a), np.empty_like(a)
    if library().reference(
        name.encode(), _address(a), _address(b), ctypes.c_int64(a.size), _address(high), _address(low)
    ):
        raise ValueError(f"accuracy: accuracy_reference.cc has no {name}")
    return high, low


def unit(values, dtype):
    """Return the distance of neighbours of a dtype at the values."""
    info = np.finfo(dtype)
    exponent = np.maximum(np.where(values == 0, info.minexp, np.frexp(values)[1] - 1), info.minexp)
    return np.ldexp(1.0, (exponent - info.nmant).astype(int))


def errors(got, high, low, dtype):
    """Return the errors in ULP of the dtype; NaN where the true value has no finite neighbour of the dtype."""
    with np.errstate(all="ignore"):
        # Beyond the greatest value the result is infinite; half a unit below it both are right.
        inside = np.isfinite(high) & (np.abs(high) <= float(np.finfo(dtype).max))
        high = np.where(inside, high, 1.0)
        of_float64 = low * (unit(high, np.float64) / unit(high, dtype))
        return np.where(inside, np.abs((got - high) / unit(high, dtype) - of_float64), np.nan)


def measure_here(folder):
    """Write what dltensor computes with the instruction set of this process for the points of a folder."""
    for path in sorted(Path(folder).glob("*.npz")):
        name, dtype = path.stem.split("-")
        with np.load(path) as kept:
            drawn = [dl.asarray(kept[key].astype(dtype)) for key in sorted(kept)]
        np.save(Path(folder) / f"{path.stem}.{dl.cpu_features()['used']}.npy", getattr(dl, name)(*drawn).numpy())


def peers():
    """Return {name: function of (name, operands) -> result or None} of the libraries that are here."""
    renamed = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan"}
    renamed |= {"atanh": "arctanh", "atan2": "arctan2", "pow": "power"}

    def numpy_result(name, drawn):
        function = getattr(np, renamed.get(name, name), None)
        with np.errstate(all="ignore"):
            return function(*drawn) if function else None

    found = {f"NumPy {np.__version__}": numpy_result}
    try:
        import torch

        def torch_result(name, drawn):
            function = getattr(torch, {"gammaln": "lgamma"}.get(name, name), None)
            return function(*map(torch.from_numpy, drawn)).numpy() if function else None

        found[f"PyTorch {torch.__version__.partition('+')[0]}"] = torch_result
    except ImportError:
        pass
    try:
        import jax

        jax.config.update("jax_enable_x64", True)

        def jax_result(name, drawn):
            places = (jax.numpy, jax.scipy.special, jax.nn)
            function = next(
                (getattr(p, renamed.get(name, name)) for p in places if hasattr(p, renamed.get(name, name))), None
            )
            return np.asarray(function(*drawn)) if function else None

        found[f"JAX {jax.__version__}"] = jax_result
    except ImportError:
        pass
    return found


def measure(names, count, folder):
    """Return {dtype: {function: row}}; a row has "points", and for "ours" and the peers what `one_function` says."""
    levels = dl.cpu_features()["supported"]
    for name, operands in names.items():
        for dtype in DTYPES:
            drawn = points(name, operands, dtype, count, np.random.default_rng([len(name), *name.encode()]))
            np.savez(folder / f"{name}-{dtype}.npz", **{f"x{at}": one for at, one in enumerate(drawn)})
    for level in levels:
        environment = {**os.environ, "DLTENSOR_CPU": level}
        subprocess.run([sys.executable, __file__, "--measure", str(folder)], check=True, env=environment)
    found = {dtype: {} for dtype in DTYPES}
    others = peers()
    for name in names:
        for dtype in DTYPES:
            with np.load(folder / f"{name}-{dtype}.npz") as kept:
                drawn = [kept[key] for key in sorted(kept)]
            found[dtype][name] = one_function(name, dtype, drawn, folder, levels, others)
        print(name, {dtype: round(found[dtype][name]["ours"][0], 3) for dtype in DTYPES}, flush=True)
    return found


def one_function(name, dtype, drawn, folder, levels, others):
    """Return for "ours" and each peer the largest error, its argument and the share of results that are nearest."""
    high, low = references(name, drawn)
    ways = {level: np.load(folder / f"{name}-{dtype}.{level}.npy") for level in levels}
    ours = ways[levels[-1]]
    for level, got in ways.items():
        if not np.array_equal(got, ours, equal_nan=True):
            sys.exit(f"accuracy: {name} of {dtype} has other bits on {level} than on {levels[-1]}")
    results = {"ours": ours} | {peer: call(name, [x.astype(dtype) for x in drawn]) for peer, call in others.items()}
    row = {"points": len(high)}
    for way, got in results.items():
        if got is None:
            continue
        off = errors(got.astype(np.float64), high, low, dtype)
        missing = ~np.isnan(off) & ~np.isfinite(got)
        if way == "ours" and missing.any():
            sys.exit(f"accuracy: {name} of {dtype} is not finite at {[float(x[missing][0]) for x in drawn]}")
        off = np.where(missing, math.inf, off)
        at = int(np.nanargmax(off))
        row[way] = float(off[at]), [float(x[at]) for x in drawn], float(np.mean(off[~np.isnan(off)] <= 0.5))
    return row


def table(found):
    """Return the tables of the page."""
    text = ""
    for dtype in DTYPES:
        others = sorted({way for row in found[dtype].values() for way in row} - {"points", "ours"}, key=str.lower)
        text += f"\n| {dtype} | points | dltensor | nearest | {' | '.join(others)} | worst argument |\n"
        text += f"| --- | ---: | ---: | ---: | {' | '.join('---:' for _ in others)} | --- |\n"
        for name, row in sorted(found[dtype].items()):
            largest, worst, share = row["ours"]
            cells = " | ".join(_number(row[way][0]) if way in row else "" for way in others)
            at = ", ".join(f"{value:.9g}" for value in worst)
            text += f"| `{name}` | {row['points']:,} | {largest:.2f} | {100 * share:.1f} % | {cells} | {at} |\n"
    return text


def _number(error):
    if math.isinf(error):
        return "not finite"
    return f"{error:.2f}" if error < 100 else f"{error:.0f}" if error < 1e5 else f"{error:.0e}"


def plot(found):
    """Return an SVG: a row for each function and dtype, a mark for each library."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "accuracy"
    from matplotlib import pyplot

    names = sorted(found["float32"])
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 0.26 * len(names) + 1.2), sharey=True, layout="constrained")
    for axis, dtype in zip(axes, DTYPES[::-1], strict=True):
        ways = ["ours", *sorted({way for row in found[dtype].values() for way in row} - {"points", "ours"})]
        for way, mark, colour in zip(ways, "osD^", ("#2a7f62", "#d08020", "#7a4fbf", "#3070c0"), strict=False):
            shown = [
                (min(found[dtype][name][way][0], 1e4), at) for at, name in enumerate(names) if way in found[dtype][name]
            ]
            axis.plot(*zip(*shown, strict=True), mark, color=colour, label="dltensor" if way == "ours" else way, ms=5)
        axis.axvline(1, color="#888", lw=0.8)
        axis.set(xscale="log", xlim=(0.45, 1.3e4), title=dtype, xlabel="largest error, ULP")
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[1].legend(loc="lower right")
    with tempfile.TemporaryDirectory() as folder:
        figure.savefig(Path(folder) / "plot.svg", metadata={"Date": None})
        return (Path(folder) / "plot.svg").read_text()


def all_floats(names):
    """Return the table of functions of one float32 over all patterns."""
    compare = library().compare_floats
    text = "\n| float32, all values | largest error | nearest | at |\n| --- | ---: | ---: | --- |\n"
    size = 1 << 22
    x32 = np.empty(size, np.uint32)
    for name in names:
        largest, wrong, at = ctypes.c_double(0.5), ctypes.c_int64(0), math.nan
        function = getattr(dl, name)
        for start in range(0, 1 << 32, size):
            x32[:] = np.arange(start, start + size, dtype=np.int64)
            x = x32.view(np.float32)
            with np.errstate(invalid="ignore"):  # signaling NaN
                wide = x.astype(np.float64)
            got, exact = function(dl.asarray(x)).numpy(), function(dl.asarray(wide)).numpy()
            place = compare(
                _address(got), _address(exact), ctypes.c_int64(size), ctypes.byref(largest), ctypes.byref(wrong)
            )
            if place < -1:
                sys.exit(f"accuracy: {name}({x[-2 - place]!r}) is {got[-2 - place]}, not {exact[-2 - place]}")
            at = float(x[place]) if place >= 0 else at
        text += f"| `{name}` | {largest.value:.3f} | {100 * (1 - wrong.value / 2**32):.3f} % | {at:.9g} |\n"
        print(text.splitlines()[-1], flush=True)
    return text


def _about():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    named = re.search(r"^model name\s*: (.*)$", text, re.M)
    return f"\nMeasured with dltensor {dl.__version__} on {named[1] if named else platform.machine()}.\n"


def write(begin, end, text):
    page = PAGE.read_text()
    head, rest = page.split(begin)
    PAGE.write_text(head + begin + text + end + rest.split(end, 1)[1])


def check(text):
    """Exit with a message if a function of the package has no row on the page."""
    part = text[text.index(BEGIN) : text.index(END)]
    missing = [f"{name} of {dtype}" for dtype in DTYPES for name in functions()
               if not re.search(rf"^\| `{name}` \|", part[part.index(f"| {dtype} |") :], re.M)]  # fmt: skip
    if missing:
        sys.exit(f"accuracy: {PAGE.name} has no row for {', '.join(missing)}; run python -m tools accuracy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--all-floats", action="store_true")
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure_here(options.measure)
    if options.check:
        return check(PAGE.read_text())
    names = {name: count for name, count in functions().items() if not options.only or name in options.only}
    if options.all_floats:
        text = all_floats([name for name, operands in names.items() if operands == 1]) + _about()
        return None if options.only else write(ALL_BEGIN, ALL_END, text)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(names, options.points, Path(folder))
    text = table(found) + _about()
    print(text)
    if not options.only:
        write(BEGIN, END, text)
        PLOT.write_text(plot(found))
    return None


if __name__ == "__main__":
    main()
