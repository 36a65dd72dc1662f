#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random sums, means, variances, deviations and quantiles of floats and integers against exact integers.

Magnitudes go from subnormal to overflow, with cancellation, ties, signed zeros and infinities, in several layouts, with
initial values beyond the dtype of the elements and results in another one. Prints what differs and the seed that
repeats it, and exits 1 then.
"""

import argparse
import math
import sys
from fractions import Fraction

import numpy as np

import dltensor as dl

# Significant bits, the exponent of the smallest value and that of the first power of two that is too large.
FORMATS = {
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
}
UNIT = 1074  # elements are integers times 2**-UNIT
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def round_ratio(top, bottom, form):
    """The value of a format nearest to top / bottom, half to even, as a float; -0.0 never."""
    digits, lowest, limit = form
    size, negative = abs(top), top < 0
    if size == 0:
        return 0.0
    last = max(size.bit_length() - bottom.bit_length() - digits, lowest)
    while True:
        quotient, rest = divmod(size << max(-last, 0), bottom << max(last, 0))
        if quotient.bit_length() <= digits:
            break
        last += 1
    twice = 2 * rest - (bottom << max(last, 0))
    quotient += twice > 0 or (twice == 0 and quotient & 1)
    if quotient.bit_length() + last > limit:
        return -math.inf if negative else math.inf
    value = math.ldexp(quotient, last)
    return -value if negative else value


def round_root(top, bottom, form):
    """The same of the square root of top / bottom."""
    if top == 0:
        return 0.0
    places = max(0, 2 * (form[0] + 8) - (top.bit_length() - bottom.bit_length())) // 2 + 1
    scaled, rest = divmod(top << 2 * places, bottom)
    root = math.isqrt(scaled)
    sticky = rest != 0 or root * root != scaled
    return round_ratio(2 * root + sticky, 2 << places, form)


def as_integers(values):
    """Finite floats as integers times 2**-UNIT."""
    found = []
    for value in values:
        top, bottom = value.as_integer_ratio()
        found.append(top * ((1 << UNIT) // bottom))
    return found


def expected(name, values, form, correction=0):
    """What a reduction of finite real values must give."""
    count = len(values)
    if name == "sum":
        return round_ratio(sum(as_integers(values)), 1 << UNIT, form)
    if name == "mean":
        return round_ratio(sum(as_integers(values)), count << UNIT, form)
    top, bottom = squares_of([values], correction)
    return (round_root if name == "std" else round_ratio)(top, bottom, form)


def squares_of(parts, correction):
    """The variance of the parts of complex values, or of one, as a ratio."""
    count = len(parts[0])
    top = 0
    for values in parts:
        integers = as_integers(values)
        top += count * sum(x * x for x in integers) - sum(integers) ** 2
    return top, count * (count - correction) << 2 * UNIT


def draw(rng, name, rows, n):
    """Rows of `n` values of one format, each row of another character."""
    digits, lowest, limit = FORMATS[name]
    low, high = lowest + digits, limit - 2
    values = np.empty((rows, n))
    for row in values:
        kind = rng.integers(0, 10)
        row[:] = rng.standard_normal(n)
        if kind == 1:  # over the whole range
            row *= np.ldexp(1.0, rng.integers(max(low, -1020), high - 2, n))
        elif kind == 2:  # few bits, far apart: ties
            spread = min(60, (high - low) // 3)
            row[:] = np.ldexp(rng.integers(-4, 5, n).astype(float), rng.integers(-spread, spread // 2, n))
        elif kind == 3 and n > 2:  # cancellation
            half = n // 2
            row[:half] *= np.ldexp(1.0, rng.integers(-min(50, -low), min(50, high) - 2, half))
            row[half : 2 * half] = -row[:half]
            rng.shuffle(row)
        elif kind == 4:  # integers
            row[:] = rng.integers(-(2 ** min(digits, 40)), 2 ** min(digits, 40), n)
        elif kind == 5:  # subnormal
            row[:] = rng.integers(-1000, 1000, n) * np.ldexp(1.0, lowest)
        elif kind == 6:  # a small part beside one
            row[:] = np.ldexp(1.0, -digits)
            row[0] = 1
        elif kind == 7:  # overflow in between
            row[:] = rng.uniform(0.3, 1, n) * np.ldexp(1.0, limit - 1) * rng.choice([-1, 1], n)
        elif kind == 8:  # a mean far from 0
            row[:] = row * 2.0 ** -int(rng.integers(0, digits)) + rng.integers(1, 100)
        elif kind == 9:  # a mean of a few deviations
            row[:] += rng.uniform(0, 8)
    zeros = rng.random((rows, n)) < 0.03
    values[zeros] = rng.choice([0.0, -0.0], int(zeros.sum()))
    return values


def tensor_of(values, name):
    """Float64 values as a tensor of a format, and what it holds as float64; what is infinite there is 1."""
    with np.errstate(over="ignore"):
        made = dl.astype(dl.asarray(values), name)
    held = dl.astype(made, "float64").numpy().copy()
    held[~np.isfinite(held)] = 1
    return dl.astype(dl.asarray(held), name), held


def same(got, wanted):
    return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)


def arranged(tensor, way):
    """The same rows in another layout, and the axis along which they lie."""
    if way == 0:
        return tensor, 1
    if way == 1:
        return dl.asarray(tensor.T.copy()), 0
    if way == 2:
        return dl.flip(tensor, axis=1), 1
    wide = dl.zeros((tensor.shape[0], 2 * tensor.shape[1]), dtype=tensor.dtype)
    wide[:, ::2] = tensor
    return wide[:, ::2], 1


def check(rng, name, rows, n, report):
    """One batch; returns how many results were compared."""
    tensor, held = tensor_of(draw(rng, name, rows, n), name)
    if rng.integers(0, 2):
        order = rng.permutation(n)
        tensor, held = dl.asarray(np.ascontiguousarray(held[:, order])).astype(name), held[:, order]
    correction = int(rng.integers(0, 2))
    compared = 0
    for reduction in ("sum", "mean", "var", "std"):
        if reduction in ("var", "std") and n <= correction:
            continue
        options = {"correction": correction} if reduction in ("var", "std") else {}
        x, axis = arranged(tensor, int(rng.integers(0, 4)))
        named = str(rng.choice([name, *FORMATS]))
        first = [draw_initial(rng, held)] if reduction == "sum" and rng.random() < 0.5 else []
        given = {**options, **({"initial": first[0]} if first else {}), **({"dtype": named} if named != name else {})}
        got = dl.astype(getattr(dl, reduction)(x, axis=axis, **given), "float64").tolist()
        for k in range(rows):
            wanted = expected(reduction, held[k].tolist() + first, FORMATS[named], **options)
            ok = same(got[k], wanted)
            if not ok and name == "float64" and options:  # within a unit in the last place
                ok = abs(got[k] - wanted) <= math.ulp(wanted) if math.isfinite(wanted) else False
            compared += 1
            if not ok:
                report(f"{reduction} of {name}, {given}, {n} elements: expected {wanted!r}, "
                       f"got {got[k]!r} of {held[k].tolist()}")  # fmt: skip
    return compared + check_order(rng, name, tensor, held, report)


def draw_initial(rng, held):
    """A float64 of any size, near what a row adds up to, or an integer."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return float(rng.standard_normal() * 2.0 ** int(rng.integers(-1000, 1000)))
    if kind == 1:
        total = sum(map(Fraction, held[int(rng.integers(0, len(held)))].tolist()))
        return -float(total) * (1 + 2.0 ** -int(rng.integers(20, 60))) if abs(total) < 2**1000 else 1.0
    return int(rng.integers(-(2**53), 2**53)) if kind == 2 else float(rng.choice([1e5, -1e39, 0.0, -0.0, 2.0**-1000]))


# ---- quantiles

QUANTILES = [0.0, 0.25, 0.5, 0.3, 0.75, 0.9, 1.0]


def quantile_of(ordered, q, form):
    """The linear quantile of ascending numbers, whose place is a float64."""
    place = (len(ordered) - 1) * q
    at = math.floor(place)
    low, high = ordered[at], ordered[min(at + 1, len(ordered) - 1)]
    if place == at or low == high:
        return low if isinstance(low, float) and math.isinf(low) else rounded_once(low, form)
    if math.isinf(low) or math.isinf(high):
        return low + high if math.isinf(low) else high
    return rounded_once(Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(place - at), form)


def rounded_once(value, form):
    value = Fraction(value)
    return round_ratio(value.numerator, value.denominator, form)


def check_order(rng, name, tensor, held, report):
    """Medians and quantiles of rows into which infinities and the ends of the dtype are mixed."""
    rows, n = held.shape
    if n > 200:
        return 0
    mixed = held.copy()
    top = float(dl.finfo(name).max)
    places = rng.random((rows, n)) < rng.choice([0, 0.1, 0.6])
    mixed[places] = rng.choice([math.inf, -math.inf, top, -top, 0.75 * top], int(places.sum()))
    x, axis = arranged(dl.astype(dl.asarray(mixed), name), int(rng.integers(0, 4)))
    values = [sorted(row) for row in dl.astype(dl.astype(dl.asarray(mixed), name), "float64").tolist()]
    return compare_quantiles(rng, x, axis, values, name, report)


def compare_quantiles(rng, x, axis, values, name, report):
    named = str(rng.choice([name, *FORMATS]))
    made = [(0.5, dl.median(x, axis=axis, dtype=named))]
    made += [(q, dl.quantile(x, q, axis=axis, dtype=named)) for q in rng.choice(QUANTILES, 2)]
    for q, results in made:
        for got, row in zip(dl.astype(results, "float64").tolist(), values, strict=True):
            if any(0 < abs(value) < 2.0**-960 for value in row):
                continue  # what rounding takes from a product may be no float64
            wanted = quantile_of(row, float(q), FORMATS[named])
            if not (same(got, wanted) or (math.isnan(got) and math.isnan(wanted))):
                report(f"quantile {q} of {x.dtype} as {named}: expected {wanted!r}, got {got!r} of {row}")
    return 3 * len(values)


# ---- sums of products


def check_dots(rng, name, rows, n, report):
    """One batch of rows whose products are added; returns how many results were compared."""
    # Products of numbers of 24 bits are exact, and many of their sums lie in the middle of two.
    held_by = ["float32" if name == "float64" and rng.integers(0, 2) else name for _ in "ab"]
    made = [tensor_of(tensor_of(draw(rng, by, rows, n), by)[1], name) for by in held_by]
    x, y = (
        arranged(tensor, 0 if way < 2 else 3)[0] for (tensor, _), way in zip(made, rng.integers(0, 4, 2), strict=True)
    )
    got, (a, b) = dl.vecdot(x, y).astype("float64").tolist(), (held for _, held in made)
    done = 0
    with np.errstate(over="ignore", under="ignore"):
        size = abs(a * b)
    # The rest of a product outside of this range is no number of its own.
    usual = ((size > 2.0**-900) | ((a == 0) | (b == 0))).all(axis=1) & (size < 2.0**900).all(axis=1)
    for r in np.flatnonzero(usual):
        total = sum(Fraction(u) * Fraction(v) for u, v in zip(a[r].tolist(), b[r].tolist(), strict=True))
        wanted = round_ratio(total.numerator, total.denominator, FORMATS[name])
        if got[r] != wanted:
            report(f"vecdot of {name}: expected {wanted!r}, got {got[r]!r} of {a[r].tolist()} and {b[r].tolist()}")
        done += 1
    return done


# ---- integers


def check_integers(rng, name, rows, n, report):
    """One batch of integers; returns how many results were compared."""
    bounds = np.iinfo(name)
    a = rng.integers(bounds.min, bounds.max, (rows, n), dtype=name, endpoint=True)
    for row in a[::3]:  # deviations far smaller than the elements
        row[:] = bounds.max - rng.integers(0, 5, n).astype(name)
    x, axis = arranged(dl.asarray(a), max(0, int(rng.integers(-2, 4))))
    wide = "uint64" if name.startswith("u") else "int64"
    first = int(rng.integers(np.iinfo(wide).min, np.iinfo(wide).max, dtype=wide, endpoint=True))
    named = str(rng.choice(list(FORMATS)))
    correction = int(rng.integers(0, 2)) if n > 1 else 0
    results = {
        "sum": dl.sum(x, axis=axis, initial=first),
        "sum, saturated": dl.sum(x, axis=axis, initial=first, saturate=True),
        **{key: getattr(dl, key)(x, axis=axis) for key in ("max", "min")},
        "sum alone": dl.sum(x, axis=axis),
        **{key: getattr(dl, key)(x, axis=axis, dtype=named) for key in ("mean",)},
        **{key: getattr(dl, key)(x, axis=axis, dtype=named, correction=correction) for key in ("var", "std")},
    }
    for key, made in results.items():
        plain = made.astype("float64") if key in ("mean", "var", "std") else made
        for got, row in zip(plain.tolist(), a.tolist(), strict=True):
            wanted = expected_of_integers(key, row, first, correction, named, name)
            if got != wanted:
                report(f"{key} of {name} as {named}, initial {first}: expected {wanted!r}, got {got!r} of {row}")
    done = len(results) * rows
    if n <= 200:
        default = "float64" if bounds.bits >= 32 else "float32"
        done += compare_quantiles(rng, x, axis, [sorted(row) for row in a.tolist()], default, report)
    return done


def expected_of_integers(key, row, first, correction, named, name):
    form, total, count = FORMATS[named], sum(row), len(row)
    if key in ("max", "min"):
        return max(row) if key == "max" else min(row)
    if key == "sum alone":
        key, first = "sum", 0
    if key == "sum":
        wrapped = (total + first) % 2**64
        return wrapped - 2**64 if wrapped >= 2**63 and name[0] == "i" else wrapped
    if key == "sum, saturated":
        return min(max(total + first, np.iinfo(name).min), np.iinfo(name).max)
    if key == "mean":
        return round_ratio(total, count, form)
    top = count * sum(value * value for value in row) - total * total
    return (round_root if key == "std" else round_ratio)(top, count * (count - correction), form)


LENGTHS = [1, 2, 3, 5, 8, 13, 40, 150, 700, 5000]
SHARES = [0.1, 0.1, 0.15, 0.15, 0.15, 0.1, 0.14, 0.099, 0.01, 0.001]


def run(cases, seed, report):
    """Compare at least `cases` results; returns how many were."""
    rng = np.random.default_rng(seed)
    done = 0
    while done < cases:
        name = str(rng.choice([*FORMATS, *FORMATS, *INTEGERS]))
        n, rows = int(rng.choice([rng.choice(LENGTHS, p=SHARES), rng.integers(1, 140)])), int(rng.choice([1, 20, 70]))
        done += (check_integers if name in INTEGERS else check)(rng, name, rows, n, report)
        if n <= 200:
            done += check_dots(rng, str(rng.choice(["float32", "float64"])), rows, n, report)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = []

    def report(text):
        wrong.append(text)
        if len(wrong) <= 20:
            print(f"WRONG {text[:400]}")

    done = run(options.cases, options.seed, report)
    level = dl.cpu_features()["used"]
    print(f"{done} results compared at {level}, {len(wrong)} differ; --seed {options.seed} --cases {options.cases}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
