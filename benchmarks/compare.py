# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark, timed alternately with their peers and written as a table, as JSON and as a picture."""

import argparse
import gc
import json
import statistics
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field

import dltensor as dl
from dltensor._tools.timing import processor

try:
    import torch
except ImportError:
    torch = None


THREADED = ("torch", "torch.compile", "torchao", "eager")  # peers that run once with each number of threads
LONGEST_TURN = 0.5  # seconds: work of this length is timed once in a turn, shorter work up to ten times


@dataclass
class Row:
    """One thing to do: how we write it, how each peer does, and what ratio it should reach.

    `gate` must hold and `goal` is what the machine could give, both as the best peer's time over ours. Statements run with
    `names` as locals; those of torch, and of our own calls without `fuse`, run once with one thread and once with two.
    """

    group: str
    what: str
    gate: float
    goal: float
    ours: str
    peers: dict
    names: dict = field(repr=False)
    # Seconds before each turn, in which the threads of others that wait by spinning fall asleep: OpenBLAS's do after
    # 0.11 s, OpenMP's (torch) after 0.007. Work that threads may share rests at least that long. After a rest each way
    # is run until its own threads are awake.
    rest: float = 0.0


def _loop(statement, names):
    source = f"def loop(n, clock, {', '.join(names)}):\n start = clock()\n for _ in range(n):\n  {statement}\n return clock() - start"
    space = {}
    exec(source, space)
    return lambda n: space["loop"](n, time.perf_counter_ns, *names.values())


def _single(threads):
    dl.set_num_threads(threads)
    if torch is not None:
        torch.set_num_threads(threads)


def run(row, seconds=0.6, threads=2, turns=5):
    """Return median and least nanoseconds of each way to do a row: "ours 1", "ours 2", "numpy", "torch 1" ...

    The ways take turns for `seconds`, and at least `turns` times.
    """
    ways = {f"ours {count}": (row.ours, count) for count in range(1, threads + 1)}
    for peer, statement in row.peers.items():
        if peer in THREADED:
            if torch is not None or peer == "eager":
                ways |= {f"{peer} {count}": (statement, count) for count in range(1, threads + 1)}
        else:
            ways[peer] = statement, 1
    loops = {way: (_loop(statement, row.names), count) for way, (statement, count) in ways.items()}
    empty = _loop("pass", row.names)
    counts, repeats, shared = {}, {}, False
    for way, (loop, count) in loops.items():
        _single(count)
        loop(2)
        n = 1
        while (spent := loop(n)) < 2e4 and n < 1 << 16:
            n *= 4
        counts[way] = max(1, int(n * 2e5 / max(spent, 1)))
        repeats[way] = min(10, max(1, int(LONGEST_TURN * 1e9 * n / max(spent, 1))))
        shared |= spent / n > 3e3  # from there on threads may share the work
    rest = row.rest or (0.01 if shared else 0.0)
    samples = {way: [] for way in loops}
    nothing = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(nothing) < turns:
            nothing.append(empty(1000) / 1000)
            for way, (loop, count) in loops.items():
                _single(count)
                time.sleep(rest)
                awake = time.perf_counter() + rest / 5
                loop(1)  # a change of threads is not what is timed
                while time.perf_counter() < awake:
                    loop(1)
                samples[way] += [loop(counts[way]) / counts[way] for _ in range(repeats[way] if rest else 1)]
    finally:
        if collecting:
            gc.enable()
    return tuple(
        {way: max(of(taken) - of(nothing), 0.1) for way, taken in samples.items()} for of in (statistics.median, min)
    )


def verdict_on(row, took):
    """Return the ratios of a row: best peer over ours with all threads, and the same with one thread on both sides."""
    peers = {way: ns for way, ns in took.items() if not way.startswith("ours")}
    best = min(peers, key=peers.get)
    ours = took[max(way for way in took if way.startswith("ours"))]
    alone = min((ns for way, ns in peers.items() if not way.endswith(" 2")), default=None)
    return {"best": best, "ratio": peers[best] / ours, "ratio_1": alone / took["ours 1"], "ours": ours}


def _time(ns):
    for unit, size in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 1000 * size or unit == "ms":
            return f"{ns / size:.3g} {unit}"


def main(rows, description, extra=None, flags=None):
    """Run the rows that the command line asks for, print them, and write what it asks to be written.

    `flags` are further options without a value and their help; with them `rows` takes the options.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("part", nargs="*", help="parts of names of rows; without one, all rows")
    parser.add_argument("--seconds", type=float, default=0.6, help="how long each row is sampled")
    parser.add_argument("--threads", type=int, default=2, help="the most threads, ours and the peers'")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE", help="a picture of the ratios (needs matplotlib)")
    parser.add_argument("--most", type=int, default=22, help="pictures by size end at 2**MOST elements")
    for flag, text in (flags or {}).items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    options = parser.parse_args()
    before = dl.num_threads()
    kept = []
    print(f"processor: {processor()}")
    print(f"{'work':58}{'ours':>9}{'best peer':>18}{'ratio':>7}{'minima':>7}{'1 thread':>9}{'gate':>6}{'goal':>6}")
    try:
        for row in rows(options) if flags else rows():
            name = f"{row.group}: {row.what}"
            if options.part and not any(part in name for part in options.part):
                continue
            took, least = run(row, options.seconds, options.threads)
            found = verdict_on(row, took) | {"ratio_minima": verdict_on(row, least)["ratio"]}
            verdict = "goal" if found["ratio"] >= row.goal else "met" if found["ratio"] >= row.gate else "MISSED"
            kept.append(
                {
                    "name": name,
                    "gate": row.gate,
                    "goal": row.goal,
                    "ns": took,
                    "least_ns": least,
                    "statement": row.ours,
                    **found,
                }
            )
            peer = f"{found['best']} {_time(took[found['best']])}"
            print(
                f"{name:58}{_time(found['ours']):>9}{peer:>18}{found['ratio']:7.2f}{found['ratio_minima']:7.2f}{found['ratio_1']:9.2f}"
                f"{row.gate:6.2f}{row.goal:6.2f}  {verdict}",
                flush=True,
            )
        if extra is not None:
            extra(options, kept)
    finally:
        _single(before)
    if not kept:
        sys.exit("no row has such a name")
    missed = sum(row["ratio"] < row["gate"] for row in kept)
    print(
        f"{len(kept)} rows, {missed} below their gate, {sum(row['ratio'] >= row['goal'] for row in kept)} at their goal"
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "features": dl.cpu_features(), "rows": kept}, file, indent=1)
    if options.plot:
        plot(kept, options.plot)


def plot(rows, path):
    """Draw the ratios as bars, with gate and goal of each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.22 * len(rows)), layout="constrained")
    places = range(len(rows))
    colours = ["#2a7f62" if row["ratio"] >= row["gate"] else "#c0392b" for row in rows]
    axes.barh(places, [row["ratio"] for row in rows], color=colours, height=0.7)
    for place, row in zip(places, rows, strict=True):
        axes.plot([row["gate"]] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.2)
        axes.plot([row["goal"]] * 2, [place - 0.4, place + 0.4], color="#888888", linewidth=1.2, linestyle=":")
    axes.set(
        yticks=list(places),
        yticklabels=[row["name"] for row in rows],
        xscale="log",
        xlabel="best peer's time / ours (bar: gate, dots: goal)",
    )
    axes.tick_params(axis="y", labelsize=7)
    axes.axvline(1, color="#444444", linewidth=0.6)
    axes.invert_yaxis()
    with suppress(ValueError):
        axes.margins(y=0.01)
    figure.savefig(path, dpi=150)


def linear(cases, path, most, seconds=0.1):
    """Draw nanoseconds per element from 1 to 2**most elements, a panel for each case; return them by case, way and size.

    A case is its title and a function that takes a number of elements and returns a row.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(cases), figsize=(8, 1 + 4 * len(cases)), layout="constrained", squeeze=False)
    found = {}
    for axes, (title, make) in zip(panels[:, 0], cases.items(), strict=True):
        kept = found[title] = {}
        for power in range(0, most + 1, 2):
            for way, ns in run(make(1 << power), seconds, turns=3)[0].items():
                kept.setdefault(way, {})[1 << power] = ns / (1 << power)
        for way, points in kept.items():
            width = 2 if way.startswith("ours") else 1
            axes.plot(list(points), list(points.values()), marker="o", markersize=3, label=way, linewidth=width)
        axes.set(xscale="log", yscale="log", xlabel="elements", ylabel="ns per element", title=title)
        axes.legend()
    figure.savefig(path, dpi=150)
    return found
