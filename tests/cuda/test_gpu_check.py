# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_check.sh: how a stage is counted. The script itself needs a card, or a rehearsal of minutes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "gpu_check.sh"


def suite(tests, failures=0, errors=0, skipped=0):
    return f'<testsuite tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"></testsuite>'


@pytest.mark.parametrize(
    ("report", "code", "words"),
    [
        (suite(5), 0, "5 passed, 0 failed, 0 errors, 0 skipped"),
        (suite(5, skipped=2), 0, "3 passed, 0 failed, 0 errors, 2 skipped"),
        (suite(5, skipped=3), 6, "2 passed, 0 failed, 0 errors, 3 skipped"),
        (suite(5, skipped=5), 5, "0 passed, 0 failed, 0 errors, 5 skipped"),
        (suite(0), 5, "0 passed"),
        (suite(5, failures=1), 1, "4 passed, 1 failed"),
        (suite(5, errors=1), 1, "1 errors"),
        ("<cut off", 3, "no report"),
        (None, 3, "no report"),
    ],
)
def test_a_stage_that_skips_or_breaks_off_is_red(tmp_path, report, code, words):
    counter = tmp_path / "count.py"
    counter.write_text(re.search(r"<<'COUNT'\n(.*?)\nCOUNT\n", SCRIPT.read_text(), re.S)[1])
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(f"<testsuites>{report}</testsuites>" if report.startswith("<testsuite ") else report)
    done = subprocess.run([sys.executable, str(counter), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("name", ["gpu_check.sh", "gpu_pack.sh"])
def test_the_scripts_are_well_formed(name):
    done = subprocess.run(["bash", "-n", str(SCRIPT.with_name(name))], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
