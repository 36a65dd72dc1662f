# SPDX-License-Identifier: Apache-2.0
"""What it costs to hand a tensor over, beside the peers that do the same thing.

Run: ``make bench`` or ``python benchmarks/bench_exchange.py [--json FILE]``. Each row times our call and the peer's
alternately in one process; medians and minima, the empty loop taken off. Rows whose peer is not installed are left out
and named. Bias: small tensors, warm caches, one thread; the peers do more in some of their calls and less in others.
"""

import argparse
import json
import statistics

from dltensor._cli.bench import exchange
from dltensor._tools.timing import processor, samples_by_turns


def measure(rounds):
    """Nanoseconds of every statement: the median and the minimum, and which modules are missing."""
    names, missing = exchange.names()
    cases = {"empty call": "empty_call(t)"}
    for what, ours, _, _, peer, needed in exchange.ROWS:
        if not missing & set(needed.split()):
            cases[what], cases[f"peer of {what}"] = ours, peer
    for what, ours, _ in exchange.ALONE:
        cases[what] = ours
    samples = samples_by_turns(cases.values(), names, rounds, sample=2e-4)
    empty = samples["pass"]
    took = {}
    for of in (statistics.median, min):
        took[of.__name__] = {what: (of(samples[case]) - of(empty)) * 1e9 for what, case in cases.items()}
    return took["median"], took["min"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures here too")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    median, least = measure(options.rounds)
    print(f"processor: {processor()}")
    print(f"{'call':34}{'ns':>8}{'peer ns':>9}{'ratio':>8}{'minima':>8}{'gate':>6}{'goal':>6}")
    for what, _, gate, goal, peer, needed in exchange.ROWS:
        if what not in median:
            print(f"{what:34} not measured: needs {needed}")
            continue
        ratio, of_minima = (found[what] / found[f"peer of {what}"] for found in (median, least))
        verdict = "goal" if ratio <= goal else "met" if ratio <= gate else "MISSED"
        print(
            f"{what:34}{median[what]:8.0f}{median[f'peer of {what}']:9.0f}{ratio:8.2f}{of_minima:8.2f}{gate:6.2f}{goal:6.2f}"
            f"  {verdict:6}  ({peer})"
        )
    for what, _, goal in exchange.ALONE:
        over = median[what] - median["empty call"]
        print(
            f"{what:34}{median[what]:8.0f}{'':9}{over:+8.0f}{goal:14}  {'met' if over <= goal else 'MISSED'}  (ns above an empty call)"
        )
    milliseconds, numpy_came = exchange.import_time()
    print(
        f"{'import dltensor':34}{milliseconds:8.1f} ms, goal 15 ms, NumPy {'imported' if numpy_came else 'not imported'}"
    )
    if options.json:
        with open(options.json, "w") as file:
            found = {"processor": processor(), "ns": median, "least_ns": least, "import_ms": milliseconds}
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
