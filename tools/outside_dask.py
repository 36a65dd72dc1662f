#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask's tests of CuPy with tensors for CuPy's arrays, and Cubed's tests of the array API with our namespace.

Run: ``python -m tools outside_dask``. Both packages bring their tests; they are copied to a folder that is deleted
afterwards. A test counts if it is not skipped there. One that fails is listed with its reason in
``tools/outside/dask_reasons.toml``; the exit status is 1 if one is not listed, or if fewer than nine in ten pass.
"""

import fnmatch
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent / "outside"
SHARE = 0.9
# Files that test what tensors are not: sparse matrices of CuPy.
LEFT_OUT = {"test_cupy_sparse.py"}


def tests_of(package, pattern):
    spec = importlib.util.find_spec(package)
    if spec is None:
        return []
    folder = Path(spec.origin).parent
    return sorted(path for path in folder.glob(pattern) if path.name not in LEFT_OUT)


def copied(files, folder):
    """The files in a folder, with CuPy's way to NumPy under our name."""
    for path in files:
        (folder / path.name).write_text(re.sub(r"\.get\(\)", ".numpy()", path.read_text()))
    return [folder / path.name for path in files]


def run(files, plugin, **variables):
    """Test -> (outcome, kind and text of what was raised)."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    options = ["-q", "-s", "-p", "no:cacheprovider", "-c", "/dev/null", "-p", plugin]
    command = [sys.executable, "-m", "pytest", *options, *map(str, files)]
    ended = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths, **variables}
    )
    found = {}
    for line in ended.stdout.splitlines():
        if line.startswith("RESULT "):
            name, outcome, *why = line.removeprefix("RESULT ").split("\t")
            found[name] = outcome, ": ".join(why)
    if not found:
        sys.exit(f"outside_dask: no test ran:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return found


def report(title, found, reasons):
    """Print counts and reasons; return whether the result is accepted."""
    counted = {name: row for name, row in found.items() if row[0] in ("passed", "failed", "xpassed")}
    failed = {name: why for name, (outcome, why) in counted.items() if outcome == "failed"}
    passed = len(counted) - len(failed)
    share, others = passed / len(counted), len(found) - len(counted)
    print(f"{title}: {passed} of {len(counted)} pass ({share:.1%}), {others} skipped or expected to fail there")
    by_reason, unlisted = {}, {}
    for name, why in failed.items():
        reason = next((text for pattern, text in reasons.items() if fnmatch.fnmatchcase(name, pattern)), None)
        if reason is None:
            unlisted[name] = why
        else:
            by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        print(f"  {len(names)}: {reason}")
    for name, why in unlisted.items():
        print(f"  FAILED without a listed reason: {name}: {why}")
    for pattern in reasons:
        if not fnmatch.filter(failed, pattern):
            print(f"  note: no test fails for the reason listed for {pattern}")
    return not unlisted and passed >= SHARE * len(counted)


def main():
    reasons = tomllib.loads((HERE / "dask_reasons.toml").read_text())
    accepted = []
    with tempfile.TemporaryDirectory() as folder:
        files = tests_of("dask.array", "tests/test_cupy_*.py")
        if files:
            found = run(copied(files, Path(folder)), "cupy_of_tensors")
            accepted.append(report("Dask's tests of CuPy", found, reasons.get("dask", {})))
        else:
            print("dask[array]: not installed, or without its tests")
    files = tests_of("cubed", "tests/test_array_api.py")
    if files:
        plain = run(files, "result_lines")
        found = run(files, "result_lines", CUBED_BACKEND_ARRAY_API_MODULE="dltensor")
        # Failures that NumPy has too, for want of a network or of another executor, are not counted.
        found = {name: row for name, row in found.items() if plain.get(name, row)[0] != "failed"}
        accepted.append(report("Cubed's tests of the array API", found, reasons.get("cubed", {})))
    else:
        print("cubed: not installed, or without its tests")
    sys.exit(not (accepted and all(accepted)))


if __name__ == "__main__":
    main()
