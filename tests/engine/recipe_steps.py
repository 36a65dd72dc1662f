# SPDX-License-Identifier: Apache-2.0
"""Carries out the steps of a recipe of CONTRIBUTING on a copy of the sources, and builds the result. No tests here."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest
from building import FLAGS, ROOT, compiler
from native_tools import require

import dltensor as dl

SOURCE = ROOT / "src" / "dltensor"
INSERTION = re.compile(r"\AIn `([^`]+)`, (before|after) `([^`]+)`,")


class Step(NamedTuple):
    """One step: its text, what it inserts where ("" for a step that inserts nothing), and its block of code."""

    text: str
    file: str
    side: str
    anchor: str
    block: str


def steps(title):
    """The steps of a recipe by its title."""
    page = (ROOT / "CONTRIBUTING.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = []
    for text in re.split(r"(?m)^\d+\. ", page)[1:]:
        code = re.search(r"   ```\w+\n(.*?)   ```", text, re.S)
        block = re.sub(r"(?m)^   ", "", code[1]) if code else ""
        where = INSERTION.match(text)
        found.append(Step(text, *(where.groups() if where else ("", "", "")), block))
    assert found, f"CONTRIBUTING has no steps for: {title}"
    return found


def carry_out(title, folder):
    """Insert the blocks of a recipe in a copy of the package's sources below `folder`; returns the copy."""
    copy = folder / "dltensor"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    inserting = [step for step in steps(title) if step.file]
    assert inserting, f"no step says: In `file`, before or after `line`, ... ({title})"
    for step in inserting:
        path = copy / step.file
        lines = path.read_text().splitlines(keepends=True)
        at = [i for i, line in enumerate(lines) if line.strip().startswith(step.anchor)]
        assert len(at) == 1, f"{step.file} has {len(at)} lines that begin with {step.anchor!r}"
        assert step.block, f"a step has no block to insert: {step.text}"
        lines.insert(at[0] + (step.side == "after"), step.block)
        path.write_text("".join(lines))
    return copy


def package_with(copy, folder, *modules):
    """A copy of the installed package below `folder`, with Cython modules of changed sources in it."""
    pytest.importorskip("Cython")
    installed = Path(dl.__file__).parent
    target = folder / "dltensor"
    shutil.copytree(installed, target, ignore=shutil.ignore_patterns("__pycache__"))
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    options = re.findall(r"'-X', '([^']+)'", (SOURCE / "meson.build").read_text())
    assert "language_level=3" in options
    build = ROOT / os.environ.get("BUILD", "build/release") / "src" / "dltensor"
    archives = [path for path in build.rglob("lib*.a") if "native" not in path.parts]
    parts = {path.stem.removeprefix("lib"): path for path in archives}
    if not parts:
        pytest.skip(f"{build} has no modules to link with those of changed sources")
    for module in modules:
        source = copy / f"{module}.pyx"
        _run(
            [sys.executable, "-m", "cython", "--cplus", *(part for option in options for part in ("-X", option)),
             source.relative_to(copy.parent)],
            copy.parent,
        )  # fmt: skip
        assert source.stem in parts, f"{module} is no part of _core/compiled.c"
        parts[source.stem] = source.with_suffix(".o")
        _run(
            [*compiler(), "-std=c++20", "-fPIC", "-O0", "-w", "-c", f"-I{copy}", f"-I{copy / 'include'}",
             f"-I{sysconfig.get_path('include')}", f'-DDLT_PACKAGE_VERSION="{version}"', source.with_suffix(".cpp"),
             "-o", parts[source.stem]],
            copy.parent,
        )  # fmt: skip
    made = target / "_core" / f"compiled{sysconfig.get_config_var('EXT_SUFFIX')}"
    made.unlink()
    _run(
        [*compiler(), "-shared", "-Wl,--whole-archive", *parts.values(), "-Wl,--no-whole-archive",
         *build.glob("compiled.*.p/*.o"), "-o", made, f"-L{target}", "-ldltensor", "-Wl,-rpath,$ORIGIN/.."],
        copy.parent,
    )  # fmt: skip
    return folder


def library_of(copy, *sources):
    """Compile C++ files against the changed headers to a shared library, without optimization."""
    made = copy.parent / "recipe.so"
    _run(
        [
            *compiler(),
            *FLAGS,
            "-O0",
            "-DDLT_LEVEL=base",
            f"-I{copy}",
            f"-I{copy / 'include'}",
            "-shared",
            *sources,
            "-o",
            made,
        ],
        copy.parent,
    )
    return made


def _run(command, folder):
    require(str(command[0]))
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def answer(folder, program):
    """What a program prints as JSON, run by a fresh process with the package of `folder`."""
    check = f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport dltensor as dl\n"
    check += f"assert dl.__file__.startswith({str(folder)!r}), dl.__file__\n"
    done = subprocess.run([sys.executable, "-c", check + program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
