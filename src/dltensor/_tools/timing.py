# SPDX-License-Identifier: Apache-2.0
"""Times statements alternately, so that disturbances of the machine affect all of them alike; names the processor."""

import gc
import platform
import statistics
import timeit
from contextlib import suppress

SAMPLE = 60e-6
"""Seconds of one sample: long compared with the clock's resolution, short compared with a disturbance."""


def processor():
    """Return the processor's name, and its family and model where the system reports them.

    >>> len(processor()) > 0
    True
    """
    facts = {}
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file.read().split("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            facts[name.strip()] = value.strip()
    name = facts.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in facts:
        name += f" (family {facts['cpu family']}, model {facts.get('model', '?')})"
    return name


def samples_by_turns(statements, names, rounds=41, sample=SAMPLE):
    """Return the seconds per run of each statement in every round; the empty loop is the statement "pass".

    `names` holds the variables of the statements, `sample` is the time that one sample should last.

    >>> sorted(samples_by_turns(["1 + 1"], {}, rounds=3))
    ['1 + 1', 'pass']
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
                timer.timeit(3)  # the other statements took its code and data out of the caches
                samples[statement].append(timer.timeit(counts[statement]) / counts[statement])
    finally:
        if collecting:
            gc.enable()
    return samples


def by_turns(statements, names, rounds=41, sample=SAMPLE, of=statistics.median):
    """Return the seconds per run of each statement without the empty loop: the median of its samples, or `min`.

    >>> took = by_turns(["sum(range(1000))", "sum(range(10))"], {}, rounds=5)
    >>> took["sum(range(1000))"] > took["sum(range(10))"]
    True
    """
    found = {statement: of(times) for statement, times in samples_by_turns(statements, names, rounds, sample).items()}
    empty = found.pop("pass")
    return {statement: max(0.0, seconds - empty) for statement, seconds in found.items()}
