# SPDX-License-Identifier: Apache-2.0
"""The Makefile and `python -m tools`."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import levels  # noqa: E402
import wheels  # noqa: E402

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.M))
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def run(*command):
    """Run a command at the root, without the flags of a make that runs these tests."""
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


# -- the Makefile


def test_the_makefile_has_at_most_130_lines():
    assert len(MAKEFILE.splitlines()) <= 130


@needs_make
def test_make_lists_ten_targets_and_help_all_every_target():
    listed, all_listed = (
        [line.split()[1] for line in run("make", *words).stdout.splitlines()] for words in ((), ("help-all",))
    )
    assert len(listed) == 10
    assert set(listed) < set(all_listed)
    assert sorted([*all_listed, "help"]) == sorted(TARGETS)


def test_every_variable_of_the_makefile_is_set_once():
    # A recipe sees the last value.
    names = re.findall(r"^([A-Za-z_]+) *[:?]?=", MAKEFILE, re.M)
    assert len(names) > 5
    assert sorted(set(names)) == sorted(names)


def test_every_environment_is_a_group_of_pyproject():
    used = set(re.findall(r"\$\(VENV\)/([a-z-]+)(?=[ \n])", re.sub(r"^\t.*$", "", MAKEFILE, flags=re.M)))
    assert len(used) > 5
    assert used <= set(GROUPS)


def test_tools_ignore_the_tests_that_make_test_ignores():
    ignored = re.search(r"^NOT_LIGHT := (.*)$", MAKEFILE, re.M)[1].split()
    assert ignored == [f"tests/{name}" for name in wheels.NOT_LIGHT]


def test_every_test_that_levels_leaves_out_exists():
    assert [path for path in levels.ignored() if not (ROOT / path).exists()] == []


# A command in backticks, or in a line of its own.
COMMAND = re.compile(r"(?:`|^ *)(?:make(?: -j2)? ([a-z0-9][a-z0-9-]*)|(?:\S*/)?python -m tools ([a-z0-9_]+))", re.M)
PAGES = [
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "tools/*",
        "tests/**/*.py",
        "src/**/*.py",
        "benchmarks/*",
        "fuzz/*.py",
        ".github/**/*",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and path.name not in ("CHANGELOG.md", Path(__file__).name)
]


def unknown(text):
    """Return the commands of a text that have no target and no program."""
    programs = {path.stem for path in (ROOT / "tools").iterdir()}
    found = COMMAND.findall(text)
    return [
        target or name for target, name in found if target not in {*TARGETS, ""} or name not in {*programs, ""}
    ], len(found)


def test_every_command_of_a_page_exists():
    answers = {path.relative_to(ROOT).as_posix(): unknown(path.read_text()) for path in PAGES}
    assert {name: wrong for name, (wrong, _) in answers.items() if wrong} == {}
    assert sum(count for _, count in answers.values()) > 50


def test_a_command_that_does_not_exist_is_found():
    assert unknown("Run `make nothing`, or\nmake nowhere\n`.venv/bin/python -m tools none`; `make test` exists.") == (
        ["nothing", "nowhere", "none"],
        4,
    )


# -- python -m tools


def test_the_readme_has_one_line_for_every_tool():
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "tools" / "README.md").read_text(), re.M)
    files = {path.stem for path in (ROOT / "tools").iterdir() if path.suffix in (".py", ".sh")} - {"__main__"}
    folders = {path.parent.name for path in (ROOT / "tools").glob("*/__main__.py")}
    assert [name for name, _ in rows] == sorted(files | folders)
    assert run(sys.executable, "-m", "tools").stdout == "".join(f"{name:21} {purpose}\n" for name, purpose in rows)


def test_a_tool_is_run_by_its_name_with_its_arguments():
    program = run(sys.executable, "-m", "tools", "array-api-suite", "--nothing")
    script = run(sys.executable, "-m", "tools", "environment", "/nowhere", "light")
    assert "array_api_suite.py: error: " in program.stderr
    assert script.stdout == "environment: installing the group light into /nowhere\n"
    assert script.returncode == 127


def test_an_unknown_tool_is_an_error_that_says_where_the_names_are():
    done = run(sys.executable, "-m", "tools", "nothing")
    assert (done.returncode, done.stderr) == (
        1,
        "tools: expected the name of a program, got 'nothing'; `python -m tools` lists them\n",
    )
