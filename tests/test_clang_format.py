# SPDX-License-Identifier: Apache-2.0
"""The settings of clang-format find unformatted code and leave tables unchanged. tools/check.sh checks all files."""

import subprocess
import sys
from pathlib import Path

import pytest
from native_tools import ROOT, absence, runnable

TOOL = runnable(str(Path(sys.executable).with_name("clang-format"))) or runnable("clang-format")
GOOD = "int one(const char* a) { return a != nullptr; }\n"
TABLE = "// clang-format off\n#define ROWS(X)   \\\n  X(a,   1)         \\\n  X(long_name, 2)\n// clang-format on\n"
pytestmark = pytest.mark.skipif(TOOL is None, reason=str(absence("clang-format")))


def check(folder, text, name="file.cc"):
    (folder / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    (folder / name).write_text(text)
    command = [TOOL, "--dry-run", "--Werror", folder / name]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", ["file.cc", "file.h", "file.hpp", "file.cuh", "file.c", "file.cpp"])
def test_the_style_of_the_sources_passes(name, tmp_path):
    done = check(tmp_path, TABLE + GOOD, name)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("right", "wrong"), [("char* a", "char *a"), ("{ return", "{return"), ("int one", "int  one")])
def test_a_planted_violation_is_found(right, wrong, tmp_path):
    assert right in GOOD
    done = check(tmp_path, GOOD.replace(right, wrong))
    assert done.returncode == 1
    assert "[-Wclang-format-violations]" in done.stderr


def test_a_table_without_guards_is_found(tmp_path):
    done = check(tmp_path, TABLE.replace("// clang-format off\n", "").replace("// clang-format on\n", ""))
    assert done.returncode == 1
