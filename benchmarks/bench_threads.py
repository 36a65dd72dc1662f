#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How calls on small tensors scale over the threads of a program, in a Python without a GIL.

Each thread adds two tensors of its own. Rounds of one thread and of several take turns, and the median ratio of the calls
per second is printed: 2.0 is twice the calls by two threads. With a GIL it is near 1.

    bench_threads.py [--threads 2] [--elements 1000] [--rounds 15] [--json FILE]
"""

import argparse
import json
import statistics
import sys
import threading
import time

import dltensor as dl

CALLS = 100_000


def work(start, elements, calls):
    """Add two tensors of this thread; they are made before the start, so that nothing of them is shared."""
    a, b = dl.ones(elements, dtype="float32"), dl.ones(elements, dtype="float32")
    a + b
    start.wait()
    for _ in range(calls):
        a + b


def rate(threads, elements, calls):
    """Return the calls per second of some threads together."""
    start = threading.Barrier(threads + 1)
    running = [threading.Thread(target=work, args=(start, elements, calls)) for _ in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    begin = time.perf_counter()
    for thread in running:
        thread.join()
    return threads * calls / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--elements", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", metavar="FILE", help="where to write the result")
    options = parser.parse_args()
    rates = {1: [], options.threads: []}
    for _ in range(options.rounds):
        for threads, seen in rates.items():
            seen.append(rate(threads, options.elements, CALLS))
    ratio = statistics.median(many / one for one, many in zip(*rates.values(), strict=True))
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    single = statistics.median(rates[1])
    print(
        f"{options.elements} elements, GIL {'on' if gil else 'off'}: {1e9 / single:.0f} ns a call by one thread, "
        f"{ratio:.2f} times the calls by {options.threads}"
    )
    if options.json:
        result = {"threads": options.threads, "elements": options.elements, "gil": gil, "ratio": ratio, "rate": single}
        with open(options.json, "w") as file:
            json.dump(result, file)


if __name__ == "__main__":
    main()
