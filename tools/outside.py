# SPDX-License-Identifier: Apache-2.0
"""Run other projects' own tests with tensors of dltensor, and compare the failures with a list.

python -m tools outside SUITE[,SUITE] [--checkout DIR] [--run NAME] [--tests PATHS] [--short] [--record]
                                      [-- PYTEST OPTIONS]
python -m tools outside SUITE --again    compare the results of the last run with the list again
python -m tools outside --page           write the table of docs/clients.md from the recorded runs

A suite is a file ``tools/outside/SUITE.toml``; ``suites.py`` describes it. Its tests are those of the checkout DIR, or
of the folder below it that has them, else of the installed package; nothing is downloaded. Package and tests are
copied, and the diffs of ``examples/upstream`` are applied to the copy. ``--short`` runs the tests that the suite names
for it, ``--tests`` other ones, separated by commas. ``--record`` keeps the counts of complete runs for the page, also
with ``--again``. ``--keep-control`` takes what passed without tensors from the last run, ``--failed`` all but the
failures. ``--suites-in`` names another folder of suites.

The exit status is 1 if a test fails that the suite does not list, or if no test was examined.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent / "outside"
sys.path.insert(0, str(HERE))

import records  # noqa: E402
import suites  # noqa: E402

KEPT = HERE.parent.parent / "build" / "outside"
SHOWN = 8  # names of tests under a reason
COUNTED = ("passed", "failed", "skipped", "xfailed")


def pytest_command(suite, run, copy, options):
    """Return the command of a run in the copy of a suite's files."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", str(copy / "pytest.ini"), "--rootdir", str(copy)]
    for plugin in ("recorder", *run.plugins, "no:cacheprovider", "no:randomly"):
        command += ["-p", plugin]
    return [*command, "--continue-on-collection-errors", *suite.arguments, *options, *run.tests]


def run_tests(suite, run, source, options, known=()):
    """Return a dict from test to its last line: one that ends the process has failed, and the others run without it.

    Tests of `known`, lines of a run before, are left out and have the same results.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        suites.copy_files(suite, run, source, copy)
        output, done = Path(folder) / "results.jsonl", Path(folder) / "done.json"
        libraries = [source / path for path in suite.libraries]
        paths = [copy / suite.path, HERE, *libraries, os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            **run.environment,
            "PYTHONPATH": os.pathsep.join(str(path) for path in paths if path),
            "PYTEST_ADDOPTS": "",
            "OUTSIDE_RESULTS": str(output),
            "OUTSIDE_DONE": str(done),
        }
        results = {line["test"]: line for line in known}
        while True:
            done.write_text(json.dumps(list(results)))
            command = pytest_command(suite, run, copy, options)
            ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
            lines = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
            earlier = {name: line for name, line in results.items() if line in known or "crashed" in line}
            results = {line["test"]: line for line in lines} | earlier
            unfinished = [name for name, line in results.items() if "outcome" not in line]
            for name in unfinished:
                why = f"the process ended with status {ended.returncode}"
                results[name] = {"test": name, "outcome": "failed", "used": 1, "why": why, "crashed": True}
            if not unfinished:
                break
        if ended.returncode not in (0, 1, 5):
            sys.exit(f"outside: {suite.name} could not be run:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        return results


class Report:
    """The results of a run beside the list: counts, failures of each entry, failures without one, entries that pass."""

    def __init__(self, run, results, control, failures):
        if control is not None:  # a failure without tensors says nothing of them
            results = {name: line for name, line in results.items() if control.get(name, "passed") == "passed"}
        if run.tensors_only:
            kept = ("failed",) if not run.calls else ()  # each use is counted before it can fail
            results = {
                name: line
                for name, line in results.items()
                if line["used"] or line["outcome"] in kept or name.endswith("(collecting)")
            }
        self.counts = {kind: sum(line["outcome"] == kind for line in results.values()) for kind in COUNTED}
        self.examined = self.counts["passed"] + self.counts["failed"]
        self.uses = sum(line["used"] for line in results.values()) if run.calls else 0
        self.listed, self.unlisted, self.stale = {}, {}, {}
        failures = [entry for entry in failures if entry.run in (None, run.name)]
        for name, line in results.items():
            entry = next((entry for entry in failures if entry.matches(name, line["why"])), None)
            if line["outcome"] == "failed" and entry is None:
                self.unlisted[name] = line["why"]
            elif line["outcome"] == "failed":
                self.listed.setdefault(entry, []).append(name)
        failed = {name for names in self.listed.values() for name in names}
        for entry in failures:
            for pattern in entry.patterns:
                names = [name for name in results if suites.matches(pattern, name)]
                passed = [name for name in names if results[name]["outcome"] == "passed"]
                if passed and not failed.intersection(names):
                    self.stale[pattern] = passed

    def classes(self):
        """Return the number of listed failures of each class."""
        counts = dict.fromkeys(suites.CLASSES, 0)
        for entry, names in self.listed.items():
            counts[entry.kind] += len(names)
        return {kind: count for kind, count in counts.items() if count}

    def show(self, title):
        numbers = ", ".join(f"{count} {kind}" for kind, count in self.counts.items() if count)
        calls = f", {self.uses} calls with tensors" if self.uses else ""
        print(f"{title}: {numbers or 'no test'}{calls}; {len(self.unlisted)} failures are not listed")
        for entry, names in self.listed.items():
            shown = names if len(names) <= SHOWN else [*names[:SHOWN], f"{len(names) - SHOWN} more"]
            print(f"  failed, {len(names)}, {entry.kind}: {entry.reason}")
            print("".join(f"      {name}\n" for name in shown), end="")
        for name, why in self.unlisted.items():
            print(f"  FAILED, not listed: {name}\n      {why}")
        for pattern, names in self.stale.items():
            print(f"  listed, but passes ({len(names)}): {pattern}")
        if not self.examined:
            print("  FAILED: no test was examined")
        sys.stdout.flush()
        return not self.unlisted and self.examined > 0


def kept_file(suite, run, options):
    """Return the file with the results of the last run."""
    folder = KEPT if options.suites_in == HERE else options.suites_in / "results"
    return folder / f"{suite.name}-{run.name}.json"


def measure(suite, run, source, options):
    """Run the tests, and without tensors where the suite says so; keep and return what became of each."""
    started = datetime.now(UTC)
    control = None
    if run.control is not None and options.keep_control and kept_file(suite, run, options).exists():
        control = json.loads(kept_file(suite, run, options).read_text())["control"]
    elif run.control is not None:
        plain = run_tests(suite, suites.control_of(run), source, options.pytest)
        control = {name: line["outcome"] for name, line in plain.items()}
    known = []
    if options.failed and kept_file(suite, run, options).exists():
        last = json.loads(kept_file(suite, run, options).read_text())["results"]
        known = [line for line in last.values() if line["outcome"] != "failed"]
    results = run_tests(suite, run, source, options.pytest, known)
    versions = {name: version(name) for name in suite.versions} | {"Python": platform.python_version()}
    if options.checkout:
        versions["checkout"] = suites.revision_of(source)
    measured = {
        "results": results,
        "control": control,
        "versions": versions,
        "commit": suites.revision_of(HERE),
        "date": started.date().isoformat(),
        "seconds": round((datetime.now(UTC) - started).total_seconds()),
        "whole": not (options.short or options.tests or options.pytest or options.failed),
    }
    kept = kept_file(suite, run, options)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(measured))
    return measured


def run_suite(suite, options):
    """Run a suite, print its reports, and return whether all failures are listed."""
    source = None if options.again else suites.find_source(suite, options.checkout)
    accepted = True
    runs = [run for run in suite.runs if options.run in (None, run.name) and (run.short or not options.short)]
    if not runs:
        sys.exit(f"outside: {suite.name} has no such run; it has {', '.join(run.name or 'one' for run in suite.runs)}")
    for run in runs:
        if options.tests:
            run.tests = options.tests.split(",")
        elif options.short:
            run.tests = run.short
        if options.again:
            kept = kept_file(suite, run, options)
            if not kept.exists():
                sys.exit(
                    f"outside: --again: expected the results of a run in {kept}; run the suite without --again first"
                )
            measured = json.loads(kept.read_text())
        else:
            measured = measure(suite, run, source, options)
        report = Report(run, measured["results"], measured["control"], suite.failures)
        title = f"{suite.name}, {run.name}" if run.name else suite.name
        accepted &= report.show(f"{title} ({measured['seconds']} s)")
        if options.record:
            if not (measured["whole"] and report.examined):
                sys.exit(
                    "outside: --record keeps complete runs: leave out --short, --tests, --failed and options of pytest"
                )
            records.keep(suite.name, run.name, report, measured)
    return accepted


def main():
    parser = argparse.ArgumentParser(prog="outside", usage=__doc__)
    parser.add_argument("suites", nargs="?", default="")
    parser.add_argument("--suites-in", type=Path, default=HERE)
    parser.add_argument("--checkout", type=Path)
    parser.add_argument("--run")
    parser.add_argument("--tests")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--keep-control", action="store_true")
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--page", action="store_true")
    given, own = sys.argv[1:], []
    if "--" in given:
        given, own = given[: given.index("--")], given[given.index("--") + 1 :]
    options = parser.parse_args(given, argparse.Namespace(pytest=own))
    if options.page:
        records.write_page()
    elif not options.suites:
        parser.error(f"expected the name of a suite: {', '.join(suites.names(HERE))}")
    loaded = [suites.load(name, options.suites_in) for name in filter(None, options.suites.split(","))]
    accepted = [run_suite(suite, options) for suite in loaded]
    sys.exit(not all(accepted))


if __name__ == "__main__":
    main()
