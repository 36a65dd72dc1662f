# SPDX-License-Identifier: Apache-2.0
"""Our declarations of the CUDA interfaces against the original headers of whatever is installed. Nothing runs."""

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tests" / "cuda" / "abi_check.cc"
ORIGINALS = {
    "ORIGINAL_DRIVER": ("cuda.h", "nvidia-cuda-runtime"),
    "ORIGINAL_NVRTC": ("nvrtc.h", "nvidia-cuda-nvrtc"),
    "ORIGINAL_CUBLAS": ("cublas_api.h", "nvidia-cublas with nvidia-cuda-runtime and nvidia-cuda-crt"),
}


def include_folders():
    """Folders with CUDA headers: wheels first, then an installed toolkit."""
    found = []
    for packages in [*site.getsitepackages(), *sys.path]:
        found += sorted(Path(packages or ".").glob("nvidia/*/include"), reverse=True)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home and Path(home, "include").is_dir():
            found.append(Path(home, "include"))
    return list(dict.fromkeys(found))


def compile_check(*definitions, prefix=()):
    command = ["g++", "-std=c++20", "-fsyntax-only", *prefix, f"-I{ROOT / 'src' / 'dltensor'}"]
    command += [part for folder in include_folders() for part in ("-isystem", str(folder))]
    command += [f"-D{name}" for name in definitions] + [str(CHECK)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def needs(original):
    header, wheel = ORIGINALS[original]
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    if not any((folder / header).is_file() for folder in include_folders()):
        pytest.skip(f"{header} is not installed (pip install {wheel})")
    if original == "ORIGINAL_CUBLAS" and not any((f / "crt" / "host_defines.h").is_file() for f in include_folders()):
        pytest.skip(f"crt/host_defines.h is not installed (pip install {wheel})")


@pytest.mark.parametrize("original", ORIGINALS)
def test_our_declarations_equal_the_originals(original):
    needs(original)
    result = compile_check(original)
    assert result.returncode == 0, result.stderr


def test_the_check_finds_a_wrong_declaration(tmp_path):
    """A constant and a parameter that are off by one must both be reported, or the test above proves nothing."""
    needs("ORIGINAL_DRIVER")
    header = (ROOT / "src/dltensor/native/cuda/abi.h").read_text()
    wrong = header.replace("X(kNotReady, 600,", "X(kNotReady, 601,").replace(
        "(CUevent event, CUstream stream))", "(CUevent event))"
    )
    assert wrong != header
    folder = tmp_path / "native" / "cuda"
    folder.mkdir(parents=True)
    (folder / "abi.h").write_text(wrong)
    result = compile_check("ORIGINAL_DRIVER", prefix=(f"-I{tmp_path}",))
    assert result.returncode != 0
    assert "CUDA_ERROR_NOT_READY" in result.stderr
    assert "another number of parameters" in result.stderr
