# SPDX-License-Identifier: Apache-2.0
"""Run the tests of array-api-extra and array-api-compat with this package in place of array-api-strict.

Run: ``python -m tools namespace_suites FOLDER ...``. A folder is a
checkout of one of these projects; nothing is downloaded. A copy of each runs twice: as it is, for array-api-strict, and
with the name replaced by ``dltensor``. A test counts if it passes for array-api-strict. One that fails for us is
listed with its reason in ``tools/outside/namespace_reasons.toml``; the exit status is 1 if one is not, or if a listed
one passes.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).parent / "outside"
STRICT = "array_api_strict"
NAME = re.compile(rf"(?<!\w){STRICT}(?!\w)")
FLAGS = re.compile(r"\w+\.set_array_api_strict_flags\([^)]*\)")
VIRTUAL_DEVICE = 'xp.Device("device1")'  # array-api-strict makes devices up
# Project: the folders that are copied, where its package is, its tests, and what selects those of array-api-strict.
PROJECTS = {
    "array-api-extra": (("src/array_api_extra", "tests/main"), "src", "tests/main", STRICT),
    "array-api-compat": (("src/array_api_compat", "tests"), "src", "tests", ""),
}


def copy_project(checkout, to, folders, ours):
    """Copy a project's package and tests, with its name of array-api-strict replaced by ours where `ours`."""
    for folder in folders:
        shutil.copytree(checkout / folder, to / folder)
    for name in ("pyproject.toml", "tests/__init__.py"):
        if (checkout / name).is_file() and not (to / name).exists():
            shutil.copy(checkout / name, to / name)
    (to / "pytest.ini").write_text("[pytest]\nxfail_strict = false\naddopts =\n")
    for file in to.rglob("*.py") if ours else ():
        text = file.read_text()
        text = text.replace(VIRTUAL_DEVICE, 'xp.Device("cpu")')
        file.write_text(NAME.sub("dltensor", FLAGS.sub("pass", text)))


def run_suite(checkout, project, ours):
    """Test name -> (outcome, message)."""
    folders, package, tests, selected = PROJECTS[project]
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder)
        copy_project(checkout, to, folders, ours)
        command = [sys.executable, "-m", "pytest", tests, "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command += ["--junitxml", str(to / "results.xml")]
        if selected:
            command += ["-k", f"{selected} and not strictest"]
        path = os.pathsep.join(filter(None, [str(to / package), os.environ.get("PYTHONPATH")]))
        alone = {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""}
        ended = subprocess.run(command, cwd=to, capture_output=True, text=True, env=alone)
        if not (to / "results.xml").exists():
            sys.exit(f"namespace_suites: {project} could not be run:\n{(ended.stdout + ended.stderr)[-3000:]}")
        found = {}
        for case in ET.parse(to / "results.xml").iter("testcase"):
            name = f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"
            bad = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
            if bad is not None:
                found[name] = "failed", (bad.get("message") or "").splitlines()[:1]
            else:
                found[name] = "skipped" if case.find("skipped") is not None else "passed", []
        return {NAME.sub("dltensor", name): line for name, line in found.items()}


def reason_of(reasons, name):
    return next((text for pattern, text in reasons.items() if fnmatch.fnmatchcase(name, pattern)), None)


def check_project(checkout, project, reasons):
    """Print how many tests pass, and those that do not; return the number of failures that are not explained."""
    strict, ours = (run_suite(checkout, project, which) for which in (False, True))
    counted = [name for name, (outcome, _) in strict.items() if outcome == "passed"]
    passed = [name for name in counted if ours.get(name, ("", ""))[0] == "passed"]
    listed, unlisted = {}, []
    for name in counted:
        outcome, message = ours.get(name, ("was not run", []))
        if outcome == "passed":
            continue
        reason = reason_of(reasons, name)
        if reason is None:
            unlisted.append((name, outcome, *message))
        else:
            listed.setdefault(reason, []).append(name)
    print(
        f"{project}: array-api-strict passes {len(counted)}; of these dltensor passes {len(passed)}, "
        f"{sum(map(len, listed.values()))} fail for a listed reason, {len(unlisted)} for none"
    )
    for reason, names in listed.items():
        print(f"  failed, {len(names)}: {reason}\n      {', '.join(names)}")
    for line in unlisted:
        print("  FAILED:", *line)
    stale = [pattern for pattern in reasons if any(fnmatch.fnmatchcase(name, pattern) for name in passed)]
    for pattern in stale:
        print(f"  FAILED: passes, and is listed as {pattern}")
    if not counted:
        print("  FAILED: no test was examined")
    return len(unlisted) + len(stale) + (not counted)


def main(*folders):
    reasons = tomllib.loads((HERE / "namespace_reasons.toml").read_text())
    failed = examined = 0
    for folder in map(Path, folders):
        for project, (parts, *_) in PROJECTS.items():
            if all((folder / part).is_dir() for part in parts):
                examined += 1
                failed += check_project(folder.resolve(), project, reasons.get(project, {}))
    if not examined:
        sys.exit(f"namespace_suites: no project was found in: {' '.join(folders) or 'no folder'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
