# SPDX-License-Identifier: Apache-2.0
"""Times statements alternately, so that disturbances of the machine affect all of them alike."""

import gc
import statistics
import timeit

SAMPLE = 60e-6
"""Seconds of one sample: long compared with the clock's resolution, short compared with a disturbance."""


def by_turns(statements, names, rounds=41, sample=SAMPLE):
    """Return the median seconds per run of each statement, the cost of the empty loop taken off.

    Parameters
    ----------
    statements : iterable of str
    names : dict of str to object
        What the statements refer to.
    rounds : int, default 41
        How often each is sampled.
    sample : float, default 60e-6
        Seconds that one sample should last.

    Returns
    -------
    dict of statement to seconds

    Raises
    ------
    Exception
        Whatever a statement raises.

    Examples
    --------
    >>> from dltensor._tools.timing import by_turns
    >>> took = by_turns(["sum(range(1000))", "sum(range(10))"], {}, rounds=5)
    >>> took["sum(range(1000))"] > took["sum(range(10))"]
    True
    """
    timers = {statement: timeit.Timer(statement, globals=names) for statement in dict.fromkeys([*statements, "pass"])}
    counts = {}
    for statement, timer in timers.items():
        timer.timeit(3)  # warm up: the first calls fill caches
        count = 1
        while (spent := timer.timeit(count)) < sample / 4:
            count *= 4
        counts[statement] = max(1, round(count * sample / spent))
    samples = {statement: [] for statement in timers}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for statement, timer in timers.items():
                samples[statement].append(timer.timeit(counts[statement]) / counts[statement])
    finally:
        if collecting:
            gc.enable()
    medians = {statement: statistics.median(times) for statement, times in samples.items()}
    empty = medians.pop("pass")
    return {statement: max(0.0, median - empty) for statement, median in medians.items()}
