# SPDX-License-Identifier: Apache-2.0
"""Draw the recorded benchmark runs (benchmarks/results) and write the page that shows them."""

import math
import statistics
import sys

import stage

sys.path.insert(0, str(stage.ROOT / "benchmarks"))
import record

PAGE = "benchmark-history.md"
HEAD = """# Benchmark history
Ratios of the recorded runs of `make bench`: the fastest peer's time over ours, so above 1 dltensor is faster. Each run
names its commit, processor and the limits of the machine. Ratios of one processor are compared with each other only. A
row that fell by more than a tenth since the last run at another commit is named. [How the rows are
measured](benchmarks.md) explains the method and its bias.
"""


def _group(row):
    return row.partition(":")[0]


def _geometric(values):
    return statistics.geometric_mean(max(value, 1e-3) for value in values)


def draw_last(runs, path):
    """Draw the ratios of each group of rows of the last run: every row a point, the geometric mean a line."""
    import matplotlib.pyplot as plt

    groups = {}
    for row, ratio in runs[-1]["rows"].items():
        groups.setdefault(_group(row), []).append(ratio)
    names = sorted(groups, key=lambda name: -_geometric(groups[name]))
    figure, place = plt.subplots(figsize=(8, 1.1 + 0.34 * len(names)), layout="constrained")
    for at, name in enumerate(names):
        place.plot(groups[name], [at] * len(groups[name]), "o", color="#2a7f62", alpha=0.45, markersize=5)
        place.plot([_geometric(groups[name])] * 2, [at - 0.35, at + 0.35], color="#222222", linewidth=2)
    place.axvline(1, color="#c0392b", linewidth=1)
    place.set(xscale="log", yticks=range(len(names)), yticklabels=names, xlabel="fastest peer's time / ours")
    ticks = [tick for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32) if tick < 2 * max(map(max, groups.values()))]
    place.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    place.minorticks_off()
    place.invert_yaxis()
    figure.savefig(path)
    plt.close(figure)


def _apart(heights, gap):
    """Return heights for labels, each at least `gap` from the next, in the order of the given ones."""
    places = []
    for height in heights:
        places.append(max(height, places[-1] + gap) if places else height)
    shift = statistics.fmean(places) - statistics.fmean(heights)
    return [place - shift for place in places]


def draw_course(runs, path):
    """Draw the geometric mean of each group over the runs; red: it fell by more than a tenth since the run before."""
    import matplotlib.pyplot as plt

    courses = {}
    for at, run in enumerate(runs):
        groups = {}
        for row, ratio in run["rows"].items():
            groups.setdefault(_group(row), []).append(ratio)
        for name, ratios in groups.items():
            courses.setdefault(name, []).append((at, _geometric(ratios)))
    names = sorted(courses, key=lambda name: courses[name][-1][1])
    heights = [math.log2(courses[name][-1][1]) for name in names]
    tall = 1.2 + 0.22 * len(names)
    gap = 1.15 * (heights[-1] - heights[0] + 1) / max(1, len(names))
    figure, place = plt.subplots(figsize=(8, tall), layout="constrained")
    last = len(runs) - 1
    for name, height, label in zip(names, heights, _apart(heights, gap), strict=True):
        course = courses[name]
        fell = len(course) > 1 and course[-1][1] < 0.9 * course[-2][1]
        color = "#c0392b" if fell else "#2a7f62"
        place.plot([at for at, _ in course], [math.log2(ratio) for _, ratio in course], "o-", color=color, markersize=4)
        end = course[-1][0]
        place.plot([end, last * 1.06 + 0.06], [height, label], color="#999999", linewidth=0.6)
        place.text(last * 1.07 + 0.07, label, name, fontsize=8, va="center", color=color)
    place.plot([-0.1, last + 0.05], [0, 0], color="#222222", linewidth=1)
    ticks = range(math.floor(heights[0]), math.ceil(heights[-1]) + 1)
    place.set_yticks(ticks, [f"{2.0**tick:g}" for tick in ticks])
    place.set(xticks=range(len(runs)), xlim=(-0.1, last * 1.45 + 0.45))
    place.set_ylabel("fastest peer's time / ours, geometric mean")
    place.set_xticklabels([run["commit"] for run in runs], rotation=30, fontsize=8)
    place.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
    plt.close(figure)


def section(runs, name):
    """Return the part of the page about one processor; its pictures are named after `name`."""
    last = runs[-1]
    limits = last["limits"]
    speeds = ", ".join(f"{key} {value} GB/s" for key, value in limits["GB/s"].items())
    text = f"\n## {last['processor']}\nLimits of the machine in the last run: {limits['threads']} threads, "
    text += f"level {limits['level']}, {speeds}.\n\n"
    text += f"![Ratios of the last run by group; every row is a point](_static/{name}-last.svg)\n\n"
    if len(runs) > 1:
        text += f"![Geometric mean of each group over the recorded commits](_static/{name}-course.svg)\n\n"
    text += "| date | commit | version | rows | at least 1 | slower by more than a tenth |\n"
    text += "| --- | --- | --- | ---: | ---: | --- |\n"
    for at, run in enumerate(runs):
        worse = record.fallen(run, runs[:at])
        named = "; ".join(f"{row} {old:.2f} to {new:.2f}" for row, old, _, new in worse) or "none"
        ahead = sum(ratio >= 1 for ratio in run["rows"].values())
        text += f"| {run['date'][:10]} | `{run['commit']}` | {run['version']} | {len(run['rows'])} | {ahead} "
        text += f"| {named if at else 'first run'} |\n"
    text += "\n| row of the last run | ratio |\n| --- | ---: |\n"
    for row, ratio in last["rows"].items():
        text += f"| {row.replace('|', chr(92) + '|')} | {ratio:.2f} |\n"
    return text


def plots(results):
    """Return a section with the pictures of the last runs, for the page about performance."""
    text = "\n## Plots\nThe rows of the last recorded run on each processor. "
    text += "[Benchmark history](benchmark-history.md) has the figures.\n"
    for path in sorted(results.glob("*.jsonl")):
        name, picture = record.read(path)[-1]["processor"], f"_static/{path.stem}-last.svg"
        text += f"\n### {name}\n![Ratios of the last run by group; every row is a point]({picture})\n"
    return text


def write(target, results=record.RESULTS):
    """Write the page and its pictures below `target`; return the number of runs."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dltensor"
    text, count = HEAD, 0
    (target / "_static").mkdir(exist_ok=True)
    for path in sorted(results.glob("*.jsonl")):
        runs = record.read(path)
        count += len(runs)
        draw_last(runs, target / "_static" / f"{path.stem}-last.svg")
        if len(runs) > 1:
            draw_course(runs, target / "_static" / f"{path.stem}-course.svg")
        text += section(runs, path.stem)
    if not count:
        text += "\nNo run has been recorded. `make bench` records one.\n"
    (target / PAGE).write_text(text)
    performance = target / "performance.md"
    if count and performance.exists():
        performance.write_text(performance.read_text() + plots(results))
    return count
