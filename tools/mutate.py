#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plant small faults in a copy of the package, one at a time, and list those that no test finds.

Mutants have an order that the seed decides, spread over files, languages and kinds of fault; a run takes COUNT of them,
a part at a time. Results add up in build/mutate/log.json. Exit status 1 if a mutant of this run survived.
"""

import argparse
import fcntl
import fnmatch
import signal
import sys
import time
from pathlib import Path

from mutation import finding, records, testing
from mutation.building import BuildFailed, Copy, PythonCopy

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "src/dltensor"
SUFFIXES = (".cc", ".h", ".hpp", ".cuh", ".pyx", ".pxi", ".py")
# Drawings and reports are for the eye, `testing` is itself a test's tool, types are for checkers, and seed.cc runs only
# where wheels with compiled kernels are made.
EXCLUDED = (
    "_cli/demo/*",
    "_cli/bench/*",
    "testing/*",
    "typing.py",
    "_tools/timing.py",
    "_core/html.py",
    "_core/markup.py",
    "inspection/html.py",
    "conformance/matrix/drawing.py",
    "conformance/matrix/page.py",
    "native/cuda/seed.cc",
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1", help="which order of mutants")
    parser.add_argument("--count", type=int, default=10, help="mutants in this run")
    parser.add_argument("--part", type=int, default=1, help="the first COUNT mutants are part 1, the next part 2")
    parser.add_argument(
        "--files", nargs="*", default=["*"], metavar="PATTERN", help="only these of src/dltensor: native/*"
    )
    parser.add_argument("--skip", nargs="*", default=[], metavar="PATTERN", help="not these of src/dltensor")
    parser.add_argument("--survivors", action="store_true", help="try the log's survivors again, and nothing else")
    parser.add_argument(
        "--quick", action="store_true", help="without the light tests that take long, unless they are listed for a file"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutate", help="where the copy and the log are")
    return parser.parse_args()


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def sources(options):
    """Names and texts of the files that may be changed."""
    for path in sorted((ROOT / SOURCE).rglob("*")):
        name = path.relative_to(ROOT / SOURCE).as_posix()
        wanted = matches(name, options.files) and not matches(name, [*options.skip, *EXCLUDED])
        if path.suffix in SUFFIXES and wanted:
            yield f"{SOURCE}/{name}", path.read_text()


def chosen(options, texts, log):
    """The mutants of this run, each with what the log will say of it."""
    every = [mutant for file, text in texts.items() for mutant in finding.find(file, text)]
    if options.survivors:
        wanted = {records.key(row) for row in log.having("survived")}
        described = [(mutant, mutant.describe(texts[mutant.file])) for mutant in every]
        return [(mutant, row) for mutant, row in described if records.key(row) in wanted]
    first = (options.part - 1) * options.count
    taken = finding.in_order(every, options.seed)[first : first + options.count]
    return [(mutant, mutant.describe(texts[mutant.file])) for mutant in taken]


def examine(copy, mutant, quick):
    """What becomes of one mutant: its state and what found it."""
    try:
        copy.plant(mutant)
    except BuildFailed as refused:
        return "not compiled", str(refused).strip().splitlines()[-1][:200]
    for stage in list(testing.stages(mutant.file))[: 2 if quick else None]:
        killer = testing.run_tests(copy, stage)
        if killer:
            return "killed", killer
    return "survived", ""


def check_killer(copy, killer, sound):
    """End the program if a test fails without a fault, too. Each is asked once."""
    name = killer.rpartition(": ")[2]
    if "::" in name and name not in sound:
        if testing.run_tests(copy, [name]):
            sys.exit(f"mutate: {name} fails without a fault; see {copy.folder / 'output'}")
        sound.add(name)


def main():
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    log, known = records.Log(options.folder / "log.json"), records.equivalents()
    texts = dict(sources(options))
    run = chosen(options, texts, log)
    if not run:
        sys.exit(None if options.survivors else "mutate: no file that matches has anything to change")
    if options.list:
        print(*(records.show(row) for _, row in run), sep="\n")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what has been started is ended
    lock = open(options.folder / "lock", "w")  # noqa: SIM115 - held until the program ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"mutate: another run has the copy in {options.folder}; give this one --folder")
    kind = PythonCopy if all(mutant.file.endswith(".py") for mutant, _ in run) else Copy
    copy = kind(ROOT, options.folder.resolve(), sys.executable)
    copy.prepare()
    survived, sound = 0, set()
    for mutant, row in run:
        start = time.monotonic()
        if records.key(row) in known:
            state, killer = "equivalent", known[records.key(row)]
        else:
            try:
                state, killer = examine(copy, mutant, options.quick)
            finally:
                copy.restore()
            check_killer(copy, killer, sound)
        row |= {"state": state, "by": killer, "seconds": round(time.monotonic() - start, 1)}
        log.add(row)
        survived += state == "survived"
        print(f"{records.show(row)}\n  {state} {killer} ({row['seconds']} s)", flush=True)
    print(log.summary())
    sys.exit(survived > 0)


if __name__ == "__main__":
    main()
