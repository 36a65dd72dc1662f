# SPDX-License-Identifier: Apache-2.0
"""Programs that run in an interpreter of their own, so that a crash fails one test. No tests here."""

import subprocess
import sys


def run_python(program, timeout=300):
    """Run a program; the test fails with what it printed unless it ends with 0."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"the program ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
