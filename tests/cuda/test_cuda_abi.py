# SPDX-License-Identifier: Apache-2.0
"""Our declarations of the CUDA interfaces against the original headers of whatever is installed. Nothing runs."""

import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest
from native_tools import require

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tests" / "cuda" / "abi_check.cc"
ORIGINALS = {
    "ORIGINAL_DRIVER": ("cuda.h", "nvidia-cuda-runtime"),
    "ORIGINAL_NVRTC": ("nvrtc.h", "nvidia-cuda-nvrtc"),
    "ORIGINAL_CUBLAS": ("cublas_api.h", "nvidia-cublas"),
    "ORIGINAL_CUFFT": ("cufft.h", "nvidia-cufft"),
    "ORIGINAL_CUSOLVER": ("cusolverDn.h", "nvidia-cusolver with nvidia-cublas"),
}
# Other headers that those of libraries include.
TOOLKIT = {
    "driver_types.h": "nvidia-cuda-runtime",
    "crt/host_defines.h": "nvidia-cuda-crt",
    "nv/target": "nvidia-cuda-cccl",
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
    require("g++")
    header, wheel = ORIGINALS[original]
    wanted = {header: wheel}
    if original not in ("ORIGINAL_DRIVER", "ORIGINAL_NVRTC"):
        wanted |= TOOLKIT
    for header, wheel in wanted.items():
        if not any((folder / header).is_file() for folder in include_folders()):
            pytest.skip(f"{header} is not installed (make .venv/cuda-headers, or pip install {wheel})")


@pytest.mark.parametrize("original", ORIGINALS)
def test_our_declarations_equal_the_originals(original):
    needs(original)
    result = compile_check(original)
    assert result.returncode == 0, result.stderr


# By original: what is changed in our declarations, to what, and what the compiler must say.
WRONG = {
    "ORIGINAL_DRIVER": [
        ("X(kNotReady, 600,", "X(kNotReady, 601,", "CUDA_ERROR_NOT_READY"),
        ("(CUevent event, CUstream stream))", "(CUevent event))", "another number of"),
    ],
    "ORIGINAL_NVRTC": [("const char* const* options", "const char* options", "points to something of another size")],
    "ORIGINAL_CUBLAS": [
        ("X(kBlasC64F, 5,", "X(kBlasC64F, 6,", "CUDA_C_64F"),
        ("long long stride_c, int batch", "int stride_c, int batch", "a parameter is passed differently"),
        ("X(kLtScaleOfB, 18,", "X(kLtScaleOfB, 17,", "CUBLASLT_MATMUL_DESC_B_SCALE_POINTER"),
        ("uint64_t data[8];", "uint64_t data[9];", "cublasLtMatmulAlgo_t"),
    ],
    "ORIGINAL_CUFFT": [
        ("X(kFftC2R, 0x2c,", "X(kFftC2R, 0x2d,", "CUFFT_C2R"),
        ("X(kFftInverse, 1,", "X(kFftInverse, -1,", "CUFFT_INVERSE"),
        ("int rank, long long* sizes", "int rank, int* sizes", "points to something of another size"),
        ("long long batch, size_t* workspace", "int batch, size_t* workspace", "a parameter is passed differently"),
        ("cufftExecC2R, (cufftHandle plan, void* in, ", "cufftExecC2R, (cufftHandle plan, ", "another number of"),
    ],
    "ORIGINAL_CUSOLVER": [
        ("X(kSolverVectors, 1,", "X(kSolverVectors, 0,", "CUSOLVER_EIG_MODE_VECTOR"),
        ("X(kBlasUpper, 1,", "X(kBlasUpper, 2,", "CUBLAS_FILL_MODE_UPPER"),
        ("int64_t* pivots, int compute", "int* pivots, int compute", "points to something of another size"),
        ("int64_t lda, const int64_t* pivots", "int64_t lda, int64_t* pivots", "a pointer to const stands against"),
        ("signed char left, signed char right", "int left, signed char right", "a parameter is passed differently"),
        ("int lda, const void* tau, int* elements", "long lda, const void* tau, int* elements", "passed differently"),
    ],
}


@pytest.mark.parametrize(
    ("original", "right", "wrong", "message"), [(original, *row) for original, rows in WRONG.items() for row in rows]
)
def test_the_check_finds_a_wrong_declaration(tmp_path, original, right, wrong, message):
    """Or the test above proves nothing."""
    needs(original)
    header = (ROOT / "src/dltensor/native/cuda/runtime/abi.h").read_text()
    assert right in header
    folder = tmp_path / "native" / "cuda" / "runtime"
    folder.mkdir(parents=True)
    (folder / "abi.h").write_text(header.replace(right, wrong))
    result = compile_check(original, prefix=(f"-I{tmp_path}",))
    assert result.returncode != 0
    assert message in result.stderr


def test_a_function_or_constant_that_no_row_declares_is_found():
    """Every table of a library that the engine loads is compared, and every constant."""
    declared = set(
        re.findall(r"#define (DLT_CUDA_\w+)\(X\)", (ROOT / "src/dltensor/native/cuda/runtime/abi.h").read_text())
    )
    compared = set(re.findall(r"^(DLT_CUDA_\w+)\(SAME_\w+\)", CHECK.read_text(), re.M))
    assert len(declared) > 8
    assert declared == compared
