# SPDX-License-Identifier: Apache-2.0
"""Programs in examples/fused run, and their results are those of the steps."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "fused"
PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if path.name != "timing.py")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_runs(path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    times = runpy.run_path(str(path))["main"]()  # it compares the bits
    assert set(times) == {"fused", "step by step"}
    sys.modules.pop("timing", None)


def test_there_are_programs():
    assert len(PROGRAMS) == 3
