#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run programs with a wheel that tools/wheel.sh installed into an empty environment, and compare what they print.

Usage: try_wheel.py FOLDER bare|numpy. Without NumPy: the command ``dltensor info`` and a program over memory of the
standard library. With it: the first program of README.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "as", "meson", "ninja", "cython", "make")
# Files that a build leaves and no wheel contains: sources of modules, tests, compiled caches.
FOREIGN = re.compile(r"\.(pyx|pxd|pxi|o|a|pyc)$|meson\.build$|(^|/)tests?/")
PLAIN = """
import array, shutil, sys, importlib.util
found = [name for name in {tools!r} if shutil.which(name)]
assert not found, f"on PATH: {{found}}"
assert importlib.util.find_spec("numpy") is None
import dltensor as dl
assert dl.__file__.startswith(sys.prefix), dl.__file__
memory = array.array("f", [1.0, 2.0, 3.0, 4.0])
t = dl.asarray(memory).reshape(2, 2)
t[0, 1] = 20.0
print(memory[1], (t @ t).tolist(), t.sum().item())
print(dl.from_dlpack(t.T).strides, dl.add(t.astype("uint8"), 250, saturate=True).tolist())
print(t)
assert "numpy" not in sys.modules
"""
PRINTED = """20.0 [[61.0, 100.0], [15.0, 76.0]] 28.0
(1, 2) [[251, 255], [253, 254]]
Tensor([[ 1., 20.],
        [ 3.,  4.]], shape=(2, 2), device=cpu, dtype=float32)
"""


def run(folder, *command):
    """Return what a command of the environment prints, run elsewhere than in the checkout with nothing else on PATH."""
    binaries = folder / "venv" / "bin"
    environment = {"PATH": str(binaries), "HOME": str(folder), "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [binaries / command[0], *command[1:]], cwd=elsewhere, env=environment, capture_output=True, text=True
        )
    if done.returncode:
        sys.exit(f"{' '.join(command)[:60]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compare(what, printed, expected):
    """End with both texts unless they are equal."""
    if printed != expected:
        sys.exit(f"{what} printed\n{printed}\nexpected\n{expected}")


def first_program(page):
    """Return the first program of a page and what the page says that it prints."""
    found = re.search(r"^```python\n(.*?)^```\n```text\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    if found is None:
        sys.exit(f"try_wheel: {page} has no program with its output")
    return found[1], found[2]


def check_contents(folder):
    """End unless the one wheel of the folder has the package and nothing of the build."""
    (wheel,) = folder.glob("dltensor-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    left = [name for name in names if FOREIGN.search(name)]
    missing = {"dltensor/__init__.py", "dltensor/libdltensor.so", "dltensor/py.typed"} - set(names)
    if left or missing:
        sys.exit(f"{wheel.name}: should not contain {left[:5]}, lacks {sorted(missing)}")
    return wheel, len(names)


def main(folder, part):
    folder = Path(folder).resolve()
    if part == "bare":
        wheel, count = check_contents(folder)
        compare("the program without NumPy", run(folder, "python", "-I", "-c", PLAIN.format(tools=TOOLS)), PRINTED)
        version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
        info = run(folder, "dltensor", "info")
        if version not in info or str(folder / "venv") not in info:
            sys.exit(f"dltensor info does not name version {version} and its place:\n{info}")
        size = wheel.stat().st_size / 2**20
        print(f"wheel: {wheel.name}, {count} files, {size:.1f} MiB; dltensor info and a program run without NumPy")
    elif part == "numpy":
        program, expected = first_program("README.md")
        compare("the first program of README", run(folder, "python", "-I", "-c", program), expected)
        print("wheel: with NumPy the first program of README prints what README says")
    else:
        sys.exit(f"try_wheel: expected bare or numpy, got {part!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
