# SPDX-License-Identifier: Apache-2.0
"""Run the DLPack tests of NumPy, torch, tvm-ffi and nanobind with tensors of dltensor in place of their own.

Run: ``python -m tools outside_tests FOLDER ...``. A folder is a
checkout of one of these projects or holds such checkouts; nothing is downloaded. nanobind's tests need its
``test_ndarray_ext``, built in the checkout as nanobind documents it.

Each file runs three times: as it is, with our tensors as producers, and with ``dltensor.from_dlpack`` as consumer
(``tools/outside/substitutes.py``). A test counts if it passes as it is and a tensor of ours takes part in it. A test
that fails is listed with its reason in ``tools/outside/reasons.toml``; the exit status is 1 if one is not.
"""

import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent / "outside"
ROLES = ("producer", "consumer")
SHOWN = 8  # test names under a reason
KINDS = ("passed", "listed", "unlisted", "not applicable")
FILES = {
    "numpy": ["numpy/_core/tests/test_dlpack.py"],
    "torch": ["test/test_dlpack.py"],
    "tvm-ffi": [
        "tests/python/test_tensor.py",
        "tests/python/test_container_dlpack_conversion.py",
        "tests/python/test_dlpack_exchange_api.py",
    ],
    "nanobind": ["tests/test_ndarray.py"],
}


def find_files(folders):
    """Project name -> its test files, in the first folder that has them all: the folder itself or one below."""
    found = {}
    for folder in map(Path, folders):
        for checkout in [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]:
            for project, names in FILES.items():
                files = [(checkout / name).resolve() for name in names]
                if project not in found and all(file.is_file() for file in files):
                    found[project] = files
    return found


def run_child(role, files, skipped):
    """Test name -> its last line. A test that ends the process has failed, and the others run again without it."""
    skipped, crashed = list(skipped), {}
    while True:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "results.jsonl"
            command = [
                sys.executable,
                str(HERE / "child.py"),
                role,
                folder,
                str(output),
                *map(str, files),
                "--skip",
                *skipped,
            ]
            alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
            ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=alone)
            lines = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
        results = {line["test"]: line for line in lines}
        unfinished = [name for name, line in results.items() if "outcome" not in line]
        if not unfinished:
            if ended.returncode:
                sys.exit(f"outside_tests: {files[0].name} could not be run:\n{ended.stderr[-2000:]}")
            return results | crashed
        for name in unfinished:
            crashed[name] = {"outcome": "failed", "used": 1, "why": f"the process ended with status {ended.returncode}"}
        skipped += unfinished


def reason_of(reasons, name):
    return next((text for pattern, text in reasons.items() if fnmatch.fnmatchcase(name, pattern)), None)


def classify(name, plain, result, reasons):
    """(verdict, reason) of one test in one role."""
    if plain["outcome"] != "passed":
        skipped = plain["outcome"] == "skipped"
        return "not applicable", plain[
            "why"
        ] if skipped else "fails with the project's own objects too, on the installed versions"
    if result is None:
        return "unlisted", "was not run"
    if result["outcome"] == "passed":
        return ("passed", "") if result["used"] else ("not applicable", "no tensor of ours takes part")
    reason = reason_of(reasons, name)
    return ("listed", reason) if reason else ("unlisted", f"{result['outcome']}: {result['why']}")


def classify_project(files, reasons):
    """Yield (role, test, verdict, reason) for every test of a project."""
    not_run = reasons.get("not-run", {})
    plain = run_child("none", files, not_run)
    for role in ROLES:
        results = run_child(role, files, not_run)
        for name, text in not_run.items():
            yield role, name, "not applicable", text
        for name, line in results.items():
            if name not in plain:
                yield role, name, "unlisted", line["why"]
        for name, line in plain.items():
            yield (role, name, *classify(name, line, results.get(name), reasons.get(role, {})))


def print_grouped(title, verdicts):
    """One line per reason, with the tests that it holds for."""
    grouped = {}
    for name, reason in verdicts:
        grouped.setdefault(reason, []).append(name)
    for reason, names in grouped.items():
        shown = names if len(names) <= SHOWN else [*names[:SHOWN], f"{len(names) - SHOWN} more"]
        print(f"  {title}, {len(names)}: {reason}\n      {', '.join(shown)}")


def print_project(project, verdicts, reasons):
    """Print counts and reasons, and return the number of unlisted failures."""
    for role in ROLES:
        of_role = [row[1:] for row in verdicts if row[0] == role]
        counts = {kind: [row[::2] for row in of_role if row[1] == kind] for kind in KINDS}
        applicable = len(of_role) - len(counts["not applicable"])
        print(
            f"{project}, dltensor as {role}: {len(counts['passed'])} of {applicable} pass, "
            f"{len(counts['listed'])} fail for a listed reason, {len(counts['unlisted'])} for none, "
            f"{len(counts['not applicable'])} not applicable"
        )
        for kind, title in (("unlisted", "FAILED"), ("listed", "failed"), ("not applicable", "not applicable")):
            print_grouped(title, counts[kind])
        for pattern in reasons.get(role, {}):
            if not fnmatch.filter([name for name, _ in counts["listed"]], pattern):
                print(f"  note: no test fails for the reason listed for {pattern}")
    return sum(row[2] == "unlisted" for row in verdicts)


def main(*folders):
    reasons = tomllib.loads((HERE / "reasons.toml").read_text())
    found = find_files(folders)
    failed = 0
    for project in FILES:
        if project not in found:
            print(f"{project}: not found ({FILES[project][0]})")
            continue
        listed = reasons.get(project, {})
        verdicts = list(classify_project(found[project], listed))
        failed += print_project(project, verdicts, listed)
        if all(row[2] == "not applicable" for row in verdicts):
            failed += 1
            print(f"{project}: FAILED, no test was examined")
    if not found:
        sys.exit(f"outside_tests: no project was found in: {' '.join(folders) or 'no folder'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
