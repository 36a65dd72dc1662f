# SPDX-License-Identifier: Apache-2.0
"""The probe of drivers, tools/gpu_probe.py: on the host driver every answer is the one that it expects."""

import os
import subprocess
import sys
from pathlib import Path

import conftest as setup
import pytest

PROBE = Path(__file__).resolve().parents[2] / "tools" / "gpu_probe.py"
pytestmark = pytest.mark.skipif(setup.ON_CARD, reason="needs the host driver, this run uses a card")


def test_the_host_driver_answers_as_the_probe_expects(machine):
    folder = str(machine.build.driver.parent)
    env = {**os.environ, "LD_LIBRARY_PATH": folder}
    done = subprocess.run(
        [sys.executable, str(PROBE)], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "DIFFERS" not in done.stdout, done.stdout
    count = done.stdout.count("same ")
    assert f"{count} of {count} probes" in done.stdout, done.stdout
    assert count > 15
