# SPDX-License-Identifier: Apache-2.0
"""The pages about CUDA print what they say, on the CUDA emulator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ON_CARD
from engine import scratch

pytest.importorskip("dltensor.cuda._driver", reason="the package is not installed")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(ON_CARD, reason="needs the CUDA emulator, this run uses a card")
@pytest.mark.parametrize("page", ["cuda.md", "cuda-emulator.md"])
def test_the_page_about_cuda_prints_what_it_says(page):
    environment = os.environ | {"DLTENSOR_CACHE_DIR": str(scratch()), "DLTENSOR_CUDA_NVRTC": "off"}
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import test_docs
test_docs.test_a_page_prints_what_it_says(test_docs.ROOT / "docs" / {page!r})
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
