# SPDX-License-Identifier: Apache-2.0
"""Append the ratios of a run of `make bench` to benchmarks/results, and name the rows that became slower.

Run: python benchmarks/record.py build/bench/*.json [--results FOLDER] [--dry-run]. One file per processor, one JSON line
per run: date, commit, version, processor, threads, limits of the machine, packages, and the ratio of every row, always
the fastest peer's time over ours. A run is compared with the last one of the same processor that has the row, at another
commit; a ratio that fell by more than a tenth is named. Ratios, not times: both sides of a ratio ran alternately in one
process.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dltensor as dl
from dltensor._cli.bench import exchange

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PEERS = ("numpy", "torch", "apache-tvm-ffi", "scipy-openblas32", "torchao", "gguf", "ml_dtypes")
FALL = 0.10


def ratios_of(name, found):
    """Return the ratio of each row in a JSON file of a benchmark: the fastest peer's time over ours."""
    if "rows" in found:
        return {row["name"]: row["ratio"] for row in found["rows"]}
    if "ns" in found:
        peers = {what: found["ns"].get(f"peer of {what}") for what, *_ in exchange.ROWS}
        return {f"exchange: {what}": peer / found["ns"][what] for what, peer in peers.items() if peer}
    if "families" in found:  # of bench_wide.py: too many rows to keep each
        rows = {}
        for family, line in found["families"].items():
            for peer in (peer for peer in ("numpy", "torch") if line[peer] > 0):  # NaN: it was not there
                rows[f"{family}: geometric mean beside {peer}"] = line[peer]
                rows[f"{family}: share of rows at least 0.8 of {peer}"] = (
                    1 - line[f"below 0.8 of {peer}"] / line["rows"]
                )
        return rows
    raise ValueError(
        f"{name}: expected the JSON of a benchmark, with 'rows', 'ns' or 'families'; got the keys {sorted(found)[:8]}"
    )


def processor():
    """Return the processor's name, and what the machine lets this process use of it."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    fields = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.*)$", text, re.M))
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields:
        name += f" (family {fields['cpu family']} model {fields['model']})"
    return name


def limits():
    """Return what bounds a row on this machine: threads, instruction set, and the speed of plain copies in GB/s."""
    features = dl.cpu_features()
    speeds = {}
    for key, nbytes in (("copy of 256 KiB", 1 << 18), ("copy of 128 MiB", 1 << 27)):
        source, target = dl.zeros(nbytes, dtype="uint8"), dl.empty(nbytes, dtype="uint8")
        times = []
        for _ in range(max(5, (1 << 28) // nbytes)):
            start = time.perf_counter()
            dl.copy(source, target)
            times.append(time.perf_counter() - start)
        speeds[key] = round(2 * nbytes / min(times) / 1e9, 1)
    return {"threads": features["threads"], "level": features["used"], "GB/s": speeds}


def git(*arguments):
    """Return what git says of this checkout, or an empty text outside of one and without git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def describe(rows):
    """Return the line that is recorded for a run with these ratios."""
    changed = bool(git("status", "--porcelain", "--untracked-files=no", "--", "src", "meson.build"))
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "commit": git("rev-parse", "--short=10", "HEAD") + ("+" if changed else ""),
        "version": dl.__version__,
        "processor": processor(),
        "limits": limits(),
        "packages": {name: found for name in PEERS if (found := _installed(name))},
        "python": platform.python_version(),
        "rows": {name: round(ratio, 3) for name, ratio in sorted(rows.items())},
    }


def file_of(line, results=RESULTS):
    """Return the file of a processor."""
    return results / (re.sub(r"[^a-z0-9]+", "-", line["processor"].lower()).strip("-") + ".jsonl")


def read(path):
    """Return the runs of a file, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


def fallen(line, before):
    """Return (row, earlier ratio, earlier commit, ratio) of each row that fell by more than a tenth.

    `before` are the earlier runs of the processor. A row is compared with the last run at another commit that has it, with
    the same number of threads and instruction set.
    """
    key = line["limits"]["threads"], line["limits"]["level"]
    earlier = {}
    for run in before:
        if (run["limits"]["threads"], run["limits"]["level"]) == key and run["commit"] != line["commit"]:
            earlier.update({row: (ratio, run["commit"]) for row, ratio in run["rows"].items()})
    found = []
    for row, ratio in line["rows"].items():
        if row in earlier and ratio < (1 - FALL) * earlier[row][0]:
            found.append((row, *earlier[row], ratio))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--dry-run", action="store_true", help="compare and record nothing")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a row fell")
    options = parser.parse_args()
    rows, wide = {}, set()
    for path in options.files:
        found = json.loads(path.read_text())
        rows |= ratios_of(path.name, found)
        wide.add("families" in found)
    if not rows:
        sys.exit("record: the files have no rows")
    if len(wide) == 2:
        sys.exit("record: bench_wide.py has a record of its own; call record.py with its file alone")
    line = describe(rows)
    line["processor"] += "; bench_wide" * wide.pop()
    path = file_of(line, options.results)
    before = read(path)
    worse = fallen(line, before)
    for row, old, commit, new in worse:
        print(f"slower by {1 - new / old:.0%}: {row}: {old:.2f} at {commit}, now {new:.2f}")
    if not options.dry_run:
        options.results.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    kept = os.path.relpath(path) if not options.dry_run else "not recorded"
    print(
        f"record: {len(rows)} rows at {line['commit'] or 'no commit'}, {len(before)} runs before, {len(worse)} slower; {kept}"
    )
    sys.exit(1 if worse and options.strict else 0)


if __name__ == "__main__":
    main()
