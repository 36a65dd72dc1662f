# SPDX-License-Identifier: Apache-2.0
"""Fused functions of `dl.fuse`: ten expressions, beside our own eager calls and the libraries that fuse or do not.

Run: python benchmarks/bench_fuse.py [part of a row's name ...] [--compile] [--large] [--json FILE] [--plot FILE]
Each expression has a row beside the fastest library, and one beside the same calls without `fuse`. The peers are NumPy,
and torch, numexpr and jax.jit where they are installed. --compile adds torch.compile, which takes seconds for each row,
and --large tensors beyond the caches. numexpr and jax take all processors: for one thread of all, run it as
`taskset -c 0 python benchmarks/bench_fuse.py --threads 1`. The last lines are the time of a call of two steps, and of a
recording.
"""

import math
import re
import time
from dataclasses import dataclass

import numpy as np
from compare import Row, main, torch

import dltensor as dl

try:
    import jax
except ImportError:
    jax = None
else:
    jax.config.update("jax_enable_x64", True)
try:
    import numexpr
except ImportError:
    numexpr = None

REST = 0.2  # seconds before a turn, in which the threads of other libraries fall asleep
SIZES = (10**2, 10**4, 10**6)
LARGE, COSTLY = 3 * 10**7, 10**7  # beyond the caches; of expressions with many steps or costly ones
EAGER = {10**2: (0.6, 1.0), 10**4: (0.9, 1.2), 10**6: (1.0, 1.8)}  # gate and goal beside our own eager calls
COEFFICIENTS = (0.25, -1.5, 0.75, 2.0, -0.5, 1.25, -0.125, 3.0)  # of the polynomial, after the first


# -- the expressions, of any library `xp` ------------------------------------------------------------------------------


def scale(xp, x):
    return x * 2 + 1


def length(xp, x, y):
    return xp.sqrt(x * x + y * y)


def standardise(xp, x):
    return (x - xp.mean(x, axis=-1, keepdims=True)) / xp.std(x, axis=-1, correction=0, keepdims=True)


def waves(xp, x, y):
    return 2.5 * xp.exp(-x * x) + 1.5 * xp.sin(y)


def leaky(xp, x):
    return xp.where(x > 0, xp.log1p(x), x * 0.1)


def distance(xp, x, y):
    return xp.sum((x - y) ** 2)


def brighten(xp, image, factor, offset):
    return xp.asarray(xp.clip(xp.round(image * factor + offset), 0, 255), dtype=xp.uint8)


def black_scholes(xp, spot, strike, time):
    """Price of a call; a logistic function stands for the normal distribution."""
    root = 0.3 * xp.sqrt(time)
    d1 = (xp.log(spot / strike) + 0.065 * time) / root
    d2 = d1 - root
    return spot / (1 + xp.exp(-1.702 * d1)) - strike * xp.exp(-0.02 * time) / (1 + xp.exp(-1.702 * d2))


def softmax(xp, x):
    powers = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def polynomial(xp, x):
    result = 0.5
    for coefficient in COEFFICIENTS:
        result = result * x + coefficient
    return result


@dataclass
class Expression:
    """A function, its operands, the same as text for numexpr, and the goals by size beside other libraries."""

    what: str
    function: object
    goals: tuple  # by size, that of large tensors last
    operands: str = "x"
    numexpr: str = ""  # numexpr has neither reductions along an axis nor uint8
    kinds: tuple = ("f4", "f8")
    numbers: tuple = ()
    large: int = LARGE


HORNER = "0.5"
for coefficient in COEFFICIENTS:
    HORNER = f"({HORNER}) * x + {coefficient}"
EXPRESSIONS = (
    Expression("x*2+1", scale, (2.4, 1.5, 1.4, 1.9), "x", "x*2 + 1"),
    Expression("sqrt(x*x+y*y)", length, (2.4, 1.5, 1.4, 1.9), "x y", "sqrt(x*x + y*y)"),
    Expression("(x-mean)/std of rows", standardise, (2.4, 1.5, 1.4, 1.9)),
    Expression(
        "2.5*exp(-x*x)+1.5*sin(y)", waves, (2.4, 1.0, 1.1, 3), "x y", "2.5*exp(-x*x) + 1.5*sin(y)", large=COSTLY
    ),
    Expression(
        "where(x>0, log1p(x), x*0.1)", leaky, (2, 1.5, 1.5, 1.5), "x", "where(x > 0, log1p(x), x*0.1)", large=COSTLY
    ),
    Expression("sum((x-y)**2)", distance, (3, 1.4, 1.0, 1.2), "x y", "sum((x - y)**2)"),
    Expression("clip(round(img*1.3-12.5))", brighten, (5, 2, 1.0, 1.0), kinds=("u1",), numbers=(1.3, -12.5)),
    Expression(
        "Black-Scholes", black_scholes, (8, 1.6, 1.0, 2.4), "x y z",
        "x / (1 + exp(-1.702*((log(x/y) + 0.065*z) / (0.3*sqrt(z)))))"
        " - y*exp(-0.02*z) / (1 + exp(-1.702*((log(x/y) + 0.065*z) / (0.3*sqrt(z)) - 0.3*sqrt(z))))",
        large=COSTLY,
    ),
    Expression("softmax of rows", softmax, (2.4, 1.0, 1.1, 3), large=COSTLY),
    Expression("polynomial of degree 8", polynomial, (8, 1.6, 0.9, 3), "x", HORNER),
)  # fmt: skip


# -- rows --------------------------------------------------------------------------------------------------------------


def _arrays(expression, n, kind):
    """Operands of n elements in a square matrix, by name."""
    shape = (math.isqrt(n), math.isqrt(n))
    random = np.random.default_rng(0)
    if kind == "u1":
        return {name: random.integers(0, 256, shape, np.uint8) for name in expression.operands.split()}
    if expression.function is black_scholes:
        limits = {"x": (10, 50), "y": (10, 50), "z": (0.1, 2)}
        return {name: random.uniform(*limits[name], shape).astype(kind) for name in limits}
    return {name: random.standard_normal(shape).astype(kind) for name in expression.operands.split()}


def _of(xp, expression):
    """The expression as a function of a library's arrays."""
    return lambda *operands: expression.function(xp, *operands)


def _call(function, prefix, expression, numbers="pn"):
    operands = [prefix + name for name in expression.operands.split()]
    return f"{function}({', '.join(operands + [f'{numbers}{k}' for k in range(len(expression.numbers))])})"


def _ours(expression, arrays):
    """Names of our side, with numbers as they are and as float32 for the libraries where float32 needs that."""
    names = {name: dl.asarray(array) for name, array in arrays.items()}
    names |= {f"pn{k}": number for k, number in enumerate(expression.numbers)}
    names |= {f"fn{k}": np.float32(number) for k, number in enumerate(expression.numbers)}
    return names | {"fused": dl.fuse(_of(dl, expression)), "eager": _of(dl, expression)}


def _numexpr_constants(text, dtype):
    """The text with names for its fractions, and those as the dtype: in numexpr 0.5 makes float64 of float32."""
    constants = {}

    def name(match):
        return constants.setdefault(match[0], (f"c{len(constants)}", dtype.type(match[0])))[0]

    text = re.sub(r"\d+\.\d+", name, text)
    return text, dict(constants.values())


def _library_peers(expression, arrays, compiles):
    """Statements of other libraries and the names in them."""
    peers = {"numpy": _call("numpy", "n_", expression, "fn")}
    names = {f"n_{name}": array for name, array in arrays.items()} | {"numpy": _of(np, expression)}
    if torch is not None:
        peers["torch"] = _call("t_eager", "t_", expression)
        names |= {f"t_{name}": torch.from_numpy(array) for name, array in arrays.items()}
        names["t_eager"] = _of(torch, expression)
        if compiles:
            peers["torch.compile"] = _call("t_compiled", "t_", expression)
            names["t_compiled"] = torch.compile(_of(torch, expression), dynamic=False)
    if numexpr is not None and expression.numexpr:
        text, constants = _numexpr_constants(expression.numexpr, next(iter(arrays.values())).dtype)
        peers["numexpr 2"] = "evaluate(text, n_names)"  # takes all processors, as jax does
        names |= {"evaluate": numexpr.evaluate, "text": text, "n_names": arrays | constants}
    if jax is not None:
        peers["jax.jit 2"] = _call("j_jit", "j_", expression, "fn") + ".block_until_ready()"
        names |= {f"j_{name}": jax.numpy.asarray(array) for name, array in arrays.items()}
        names["j_jit"] = jax.jit(_of(jax.numpy, expression))
    return peers, names


def rows(options):
    np.seterr(invalid="ignore")  # of log1p, whose result `where` leaves out
    for expression in EXPRESSIONS:
        for kind in expression.kinds:
            sizes = (*SIZES, expression.large) if options.large else SIZES
            for n, goal in zip(sizes, expression.goals, strict=False):
                arrays = _arrays(expression, n, kind)
                ours, names = _call("fused", "", expression), _ours(expression, arrays)
                what = f"{expression.what}, {n}"
                peers, others = _library_peers(expression, arrays, options.compile)
                yield Row(f"fuse {kind}", what, goal / 2, goal, ours, peers, names | others, REST)
                eager, limits = {"eager": _call("eager", "", expression)}, EAGER.get(n, EAGER[10**6])
                yield Row(f"eager {kind}", what, *limits, ours, eager, names)


# -- a call, and a recording -------------------------------------------------------------------------------------------


def least(function, count, turns=200):
    """Return the least nanoseconds of one of `count` calls."""
    best = math.inf
    for _ in range(turns):
        start = time.perf_counter_ns()
        for _ in range(count):
            function()
        best = min(best, (time.perf_counter_ns() - start) / count)
    return best


def print_calls(options, kept):
    """Print what a call of two steps on 100 elements takes, and the recording and planning of ten steps."""
    dl.set_num_threads(1)
    x = dl.ones(100)
    fused = dl.fuse(lambda x: x * 2 + 1)
    fused(x)
    loop = least(lambda: fused(x), 1000) - least(lambda: x, 1000)

    def steps(x):
        for k in range(5):
            x = x * COEFFICIENTS[k] + 0.5
        return x

    recording = least(lambda: dl.fuse(steps)(x), 1, 2000) - least(lambda: steps(x), 1, 2000)
    print(
        f"a call of two steps on 100 elements: {loop:.0f} ns; recording and planning of ten: {recording / 1e3:.0f} us"
    )


if __name__ == "__main__":
    flags = {"compile": "with torch.compile", "large": "with tensors beyond the caches"}
    main(rows, __doc__.splitlines()[0], print_calls, flags)
