# SPDX-License-Identifier: Apache-2.0
"""Programs that run in an interpreter of their own, so that a crash fails one test. No tests here."""

import os
import subprocess
import sys
from pathlib import Path

# The path of modules for a program that imports from tests: this folder, and what was given to this process.
MODULES = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
# How a process ends that reads memory which is not there: sanitizers turn the signal into an abort.
BUS_ERROR = -6 if "DLTENSOR_SANITIZED" in os.environ else -7


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


def output_of(program, **variables):
    """What a program prints in a process whose environment is this one's, without the project's own variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DLTENSOR_")}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, env=kept | variables, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
