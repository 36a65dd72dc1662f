# SPDX-License-Identifier: Apache-2.0
"""The published report claims what its reproducers show: every one is listed, and says here what the page says."""

import re
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "conformance.md"
FOLDER = ROOT / "examples" / "upstream"
REPRODUCERS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "by_hand.py")
ROW = re.compile(
    r"^\| \[`(?P<name>\w+\.py)`\]\(\.\./examples/upstream/(?P=name)\) \| (?P<package>[\w-]+) "
    r"(?P<first>[\w.+]+)(?: to (?P<last>[\w.+]+))? "
    r"\| (?P<what>[^|]+) \| (?P<expected>[^|]+) \| (?P<got>[^|]+) \|$",
    re.M,
)


@cache
def rows():
    return {row["name"]: row for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}


def test_the_page_lists_every_reproducer_once():
    assert sorted(rows()) == REPRODUCERS
    assert len(REPRODUCERS) >= 15


@pytest.mark.parametrize("name", REPRODUCERS)
def test_a_reproducer_says_what_it_is_about(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert "dltensor as dl" not in text  # to be sent to people who do not have it
    assert "report(" in text
    assert text.splitlines()[1].startswith('"""')
    assert len(text.splitlines()) <= 50


@pytest.mark.peers
@pytest.mark.parametrize("name", REPRODUCERS)
def test_a_reproducer_shows_what_the_page_says(name):
    row = rows()[name]
    try:
        installed = version(row["package"]).partition("+")[0]
    except PackageNotFoundError:
        pytest.skip(f"{row['package']} is not installed")
    if installed not in (row["first"], row["last"]):
        about = " and ".join(filter(None, (row["first"], row["last"])))
        pytest.skip(f"{row['package']} {installed} is installed, the page is about {about}")
    done = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, timeout=300, cwd=FOLDER)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "DEFECT"
    assert f"expected: {row['expected'].strip('`')}" in lines
    assert f"got:      {row['got'].strip('`')}" in lines
