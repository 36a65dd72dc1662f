# SPDX-License-Identifier: Apache-2.0
"""What every gcc and clang here compiles without a warning; tools/lint_cpp.sh has clang look at the rest."""

import shutil
import subprocess

import building
import pytest
from native_tools import INCLUDE, ROOT, compilers, installed

NATIVE = ROOT / "src/dltensor/native"
OPS = sorted((NATIVE / "ops").rglob("*.h"))
FLAGS = [
    "-x",
    "c++",
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsyntax-only",
    f"-I{NATIVE.parent}",
    f"-I{INCLUDE}",
]
# They need to be told what a lane is, and are compiled by the file that tells them.
LANES = ["lane_numbers.h", "small_matrices.h"]
# As clang saw it in the bodies of operations: computed without branches on purpose, or by mistake?
PLANTED = "bool called(int);\nbool planted(int a) { return called(a) & called(a + 1); }\n"


def compile_source(command, *source):
    return subprocess.run([command, *FLAGS, *source], check=False, capture_output=True, text=True, timeout=300)


def lint(*arguments, **variables):
    command = ["env", *(f"{name}={value}" for name, value in variables.items()), ROOT / "tools/lint_cpp.sh", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("command", compilers())
def test_the_headers_of_operations(command, tmp_path):
    assert len(OPS) >= 8
    for header in OPS:
        if header.name in LANES:
            continue
        (tmp_path / "alone.cc").write_text(f'#include "{header.relative_to(NATIVE.parent)}"\n')
        done = compile_source(command, tmp_path / "alone.cc")
        assert done.returncode == 0, done.stderr
    for name in LANES:
        assert name in {header.name for header in OPS}
    done = compile_source(command, "-DDLT_LEVEL=v2", NATIVE / "cpu/linalg/kernels/small_matrices.cc")
    assert done.returncode == 0, done.stderr


def test_no_file_of_the_engine_narrows_a_size():
    building.check_engine()


def test_a_size_that_is_narrowed_is_found(tmp_path):
    source = tmp_path / "planted.cc"
    source.write_text("long size();\nint planted() { return size(); }\n")
    with pytest.raises(RuntimeError, match="may change value"):
        building.check(source)


@pytest.mark.parametrize("command", compilers())
def test_the_choice_of_instruction_sets(command):
    done = compile_source(command, NATIVE / "cpu/runtime/features.cc")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not installed("clang"), reason="compiler clang is not installed")
def test_the_check_by_clang_finds_a_planted_warning(tmp_path):
    clang = max(installed("clang").items())[1]
    (tmp_path / "planted.cc").write_text(PLANTED)
    passing = NATIVE / "environment.cc"
    done = lint(passing, CLANGXX=f"{clang} --driver-mode=g++")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("lint-cpp: 1 files pass ")
    done = lint(passing, tmp_path / "planted.cc", CLANGXX=f"{clang} --driver-mode=g++")
    assert done.returncode == 1
    assert "bitwise" in done.stderr
    assert done.stdout == "lint-cpp: FAILED\n"


def test_the_check_by_clang_says_that_there_is_no_clang(tmp_path):
    for tool in ("sh", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = lint(PATH=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lint-cpp: skipped, no clang++ found")
