# SPDX-License-Identifier: Apache-2.0
"""Random tensors beside NumPy's generators: calls of few values and large tensors.

Run: python benchmarks/bench_random.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import numpy as np
from compare import Row, main

import dltensor as dl

REST = 0.15  # seconds before a turn of work that threads may share


def rows():
    names = {"g": dl.random.Generator(1), "p": np.random.Generator(np.random.PCG64(1)),
             "s": np.random.Generator(np.random.SFC64(1))}  # fmt: skip

    def row(group, what, gates, ours, numpy, rest=0.0):
        return Row(group, what, *gates, ours, {"pcg64": f"p.{numpy}", "sfc64": f"s.{numpy}"}, names, rest)

    yield row("calls", "random of 10", (3, 8), "g.random(10)", "random(10, dtype='f4')")
    n = 10**7
    yield row("large", f"random {n}", (3, 8), f"g.random({n})", f"random({n}, dtype='f4')", REST)
    yield row("large", f"normal {n}", (5, 15), f"g.normal(shape={n})", f"standard_normal({n}, dtype='f4')", REST)
    yield row("large", f"integers {n}", (3, 5), f"g.integers(100, shape={n})", f"integers(100, size={n})", REST)
    calls = (
        "gamma(2.5, size={})",
        "beta(2.0, 3.0, size={})",
        "poisson(100.0, size={})",
        "binomial(1000, 0.3, size={})",
    )
    for call in calls:
        for count in (10, 10**4, 10**6):
            text = call.format(count)
            yield row("distributions", text, (0.8, 2), f"g.{text}", text)


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
