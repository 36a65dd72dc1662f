# SPDX-License-Identifier: Apache-2.0
"""What it costs to hand a tensor over, beside the peers that do the same thing.

Run: ``make bench`` or ``python benchmarks/bench_exchange.py [--json FILE]``. Each row times our call and the peer's
alternately in one process; medians, the empty loop taken off. Rows whose peer is not installed are left out and named.
Bias: small tensors, warm caches, one thread; the peers do more in some of their calls and less in others.
"""

import argparse
import json

from dltensor._cli.bench import exchange
from dltensor._tools.timing import by_turns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures here too")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    names, missing = exchange.names()
    cases = {"empty call": "empty_call(t)"}
    for what, ours, _, peer, needed in exchange.ROWS:
        if not missing & set(needed.split()):
            cases[what], cases[f"peer of {what}"] = ours, peer
    for what, ours, _ in exchange.ALONE:
        cases[what] = ours
    took = by_turns(cases.values(), names, options.rounds, sample=2e-4)
    result = {what: took[statement] * 1e9 for what, statement in cases.items()}
    print(f"{'call':34}{'ns':>8}{'peer ns':>9}{'ratio':>8}{'goal':>7}")
    for what, _, goal, peer, needed in exchange.ROWS:
        if what in result:
            mine, other = result[what], result[f"peer of {what}"]
            print(
                f"{what:34}{mine:8.0f}{other:9.0f}{mine / other:8.2f}{goal:7.2f}  {'met' if mine <= goal * other else 'MISSED'}  ({peer})"
            )
        else:
            print(f"{what:34} not measured: needs {needed}")
    for what, _, goal in exchange.ALONE:
        over = result[what] - result["empty call"]
        print(
            f"{what:34}{result[what]:8.0f}{'':9}{over:+8.0f}{goal:7}  {'met' if over <= goal else 'MISSED'}  (ns above an empty call)"
        )
    milliseconds, numpy_came = exchange.import_time()
    print(
        f"{'import dltensor':34}{milliseconds:8.1f} ms, goal 30 ms, NumPy {'imported' if numpy_came else 'not imported'}"
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ns": result, "import_ms": milliseconds}, file, indent=1)


if __name__ == "__main__":
    main()
