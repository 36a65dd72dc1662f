# SPDX-License-Identifier: Apache-2.0
"""Tools that run, compilers, include folders and foreign headers for tests. No tests here."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "src" / "dltensor" / "include"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
# For public headers: projects that turn these on must be able to include them.
STRICT = [*WARNINGS, "-Wconversion", "-Wsign-conversion"]

# Where wheels keep the standard's header, relative to site-packages.
HEADERS = [
    "tvm_ffi/include/dlpack/dlpack.h",
    "torch/include/ATen/dlpack.h",
    "metatensor/include/metatensor/dlpack/dlpack.h",
    "pyarrow/include/arrow/c/dlpack_abi.h",
]

_PACKAGE = importlib.util.find_spec("dltensor")
has_own_files = pytest.mark.skipif(
    _PACKAGE is not None and Path(_PACKAGE.origin).is_relative_to(ROOT / "src"),
    reason="an editable installation uses files of the tree and of the build",
)


@functools.cache
def absence(name):
    """Why a tool cannot be used, or None. One that is on PATH may still not run, as rustc without a toolchain."""
    if shutil.which(name) is None:
        return f"{name} is not installed"
    try:
        done = subprocess.run(
            [name, "--version"], check=False, capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not run: {error}"
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"{name} does not run: {lines[0] if lines else done.returncode}" if done.returncode else None


def runnable(name):
    """The path of a tool that runs, else None."""
    return shutil.which(name) if absence(name) is None else None


def require(name):
    """The path of a tool that runs; otherwise skips the test with the reason."""
    return runnable(name) or pytest.skip(absence(name))


def require_module(name, package=None):
    """Skip the test without a module, which a program of its own imports, and not this process."""
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # of a parent
        found = None
    if found is None:
        pytest.skip(f"{package or name} is not installed (pip install {package or name})")


def run_with_pyarrow_25(code):
    """Run a program with the older pyarrow that `make .venv/peers` puts beside the environment; skips without it."""
    folder = Path(sys.prefix) / "pyarrow-25"
    if not folder.is_dir():
        pytest.skip(f"{folder} has no pyarrow 25 (make .venv/peers)")
    code = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{code}"
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)


def compiler(mode):
    """The command for a language mode such as "c99" or "c++20"; a missing compiler skips the test by name."""
    name = os.environ.get("CXX", "c++") if "++" in mode else os.environ.get("CC", "cc")
    require(name.split()[0])
    return [*name.split(), "-x", "c++" if "++" in mode else "c", f"-std={mode}"]


def compile_program(folder, source, mode, *flags):
    """Build `source` in `mode` with every warning an error and return the program's path."""
    program = Path(folder) / (Path(source).stem + "-" + mode)
    command = [*compiler(mode), *WARNINGS, f"-I{INCLUDE}", *flags, str(source), "-o", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return program


@functools.cache
def installed(family):
    """Every version of "gcc" or "clang" on PATH, as {"clang-19.1.7": command}; each of them compiles C and C++."""
    names = re.compile(re.escape(family) + r"(-\d+)?")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_dir()]
    found = {}
    for command in sorted(path for folder in folders for path in folder.iterdir() if names.fullmatch(path.name)):
        version = [command, "-dumpfullversion", "-dumpversion"] if family == "gcc" else [command, "-dumpversion"]
        if absence(str(command)) is None:
            done = subprocess.run(version, check=False, capture_output=True, text=True, timeout=60)
            found.setdefault(f"{family}-{done.stdout.strip()}", str(command))
    return found


def compilers():
    """The commands of installed(), as pytest parameters; a family that is not installed skips by its name."""
    found = []
    for family in ("gcc", "clang"):
        missing = pytest.mark.skip(reason=f"compiler {family} is not installed")
        some = [pytest.param(command, id=name) for name, command in sorted(installed(family).items())]
        found += some or [pytest.param(None, marks=missing, id=family)]
    return found


def original_headers():
    """The standard's header in each installed wheel, as pytest parameters; one that skips itself if there is none."""
    folders = dict.fromkeys(Path(sysconfig.get_path(key)) for key in ("purelib", "platlib"))
    found = [
        pytest.param(folder / header, id=header.partition("/")[0])
        for folder in folders
        for header in HEADERS
        if (folder / header).is_file()
    ]
    missing = pytest.mark.skip(reason="no installed wheel brings a dlpack.h (tvm_ffi, torch, metatensor, pyarrow)")
    return found or [pytest.param(None, marks=missing, id="none")]
