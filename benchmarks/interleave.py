# SPDX-License-Identifier: Apache-2.0
"""Timing by turns: every case is sampled once per round, so that noise falls on all alike. No cases in here."""

import gc
import statistics
import time


def _loop(statement, names):
    """A function that runs `statement` n times with `names` as locals, and returns nanoseconds."""
    source = f"def loop(n, clock, {', '.join(names)}):\n start = clock()\n for _ in range(n):\n  {statement}\n return clock() - start"
    space = {}
    exec(source, space)
    return lambda n: space["loop"](n, time.perf_counter_ns, *names.values())


def measure(cases, names, rounds=31, budget=2e5):
    """Median nanoseconds per run of each statement, the cost of the empty loop taken off.

    Parameters
    ----------
    cases : dict of label to statement
    names : dict of name to object, the locals of every statement
    rounds : how often each case is sampled; the median is what counts
    budget : nanoseconds that one sample should last

    Returns
    -------
    dict of label to nanoseconds
    """
    loops = {label: _loop(statement, names) for label, statement in cases.items()}
    loops[""] = _loop("pass", names)
    counts = {}
    for label, loop in loops.items():
        loop(100)  # first calls find things out that later ones remember
        n = 16
        while (spent := loop(n)) < budget / 10:
            n *= 4
        counts[label] = max(1, int(n * budget / spent))
    samples = {label: [] for label in loops}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for label, loop in loops.items():
                samples[label].append(loop(counts[label]) / counts[label])
    finally:
        if enabled:
            gc.enable()
    medians = {label: statistics.median(values) for label, values in samples.items()}
    empty = medians.pop("")
    return {label: value - empty for label, value in medians.items()}
