#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Try a wheel and the source distribution in empty systems: chroots of Debian's suites that hold little but Python.

Usage::

    chroots.py make [SUITE ...]      bookworm, trixie and sid by default, in build/chroots
    chroots.py wheel [SUITE ...]     install the wheel of tools/wheels.py, run a program and that of README
    chroots.py others [SUITE]        the same of Pythons that no suite has, copied from here; bookworm by default
    chroots.py source [SUITE ...]    `pip install` of the source distribution with the packages that README names
    chroots.py tests [SUITE ...]     the tests of `make test` with what `source` has built, in its system

Needs root, debootstrap and Debian's packages. `wheel` ends if a compiler is found; `source` makes its own systems. The
Python of a suite can also be run outside its chroot, as python3.14-here, for which tools/wheels.py builds.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from try_wheel import PLAIN, PRINTED, TOOLS, compare, first_program
from wheels import BUILD_TOOLS, NOT_LIGHT, ask, built, find_pythons

ROOT = Path(__file__).resolve().parent.parent
CHROOTS = ROOT / "build" / "chroots"
DIST = ROOT / "build" / "wheels" / "dist"
SUITES = ("bookworm", "trixie", "sid")
# Packages that a build needs, as README says; build tools are installed by pip.
BUILD_PACKAGES = ("python3-venv", "python3-dev", "g++")
MOUNTED = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$@"'
HERE = """#!/bin/sh
# This Python outside its chroot, with the libraries of its system.
R={root}
exec $R/usr/lib64/ld-linux-x86-64.so.2 --argv0 "$0" --library-path $R/usr/lib/x86_64-linux-gnu $R/usr/bin/{name} "$@"
"""


def run(*command, **options):
    """Run a command that must succeed; return what it printed."""
    options = {"text": True, **options}
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=False, **options)
    if done.returncode:
        sys.exit(f"chroots: exit {done.returncode} of {' '.join(str(part) for part in command)[:200]}\n{done.stdout}")
    return done.stdout


def inside(root, *command):
    """Run a command in a chroot, with an environment of its own."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    return run("chroot", root, *command, env=environment, cwd="/")


def install(root, *packages):
    """Install packages of Debian without what they recommend."""
    inside(root, "apt-get", "-o", "Acquire::Check-Valid-Until=false", "update", "-qq")
    inside(root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)


def make(suite):
    """Make a system with Python and pip."""
    root = CHROOTS / suite
    if not (root / "usr" / "bin" / "python3").exists():
        CHROOTS.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", suite, root)
        install(root, "python3", "python3-venv")
    name = os.path.basename(os.path.realpath(root / "usr" / "bin" / "python3"))
    if not (root / "usr" / "include" / name / "Python.h").exists():
        install(root, f"lib{name}-dev")  # headers, for builds outside
    here = root / "usr" / "bin" / f"{name}-here"
    here.write_text(HERE.format(root=root, name=name))
    here.chmod(0o755)
    print(f"chroots: {suite}: {inside(root, 'python3', '--version').strip()}")


def version_of(root):
    """Return the version of a system's Python, as in the tag of its wheel."""
    return inside(root, "python3", "-c", "import sys; print('cp%d%d' % sys.version_info[:2])").strip()


def download(tag, folder, *packages):
    """Fetch wheels for another Python on this machine: a chroot may not reach an index."""
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_27", "manylinux2014")]
    pip = (sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary=:all:")
    version = f"--python-version={tag[2]}.{tag[3:].rstrip('t')}"
    abi = (f"--abi={tag}",) if tag.endswith("t") else ()
    run(*pip, version, *abi, *platforms, "-d", folder, *packages)


def without_tools(suite):
    """Return the folder of a suite's system; it ends the program if a compiler is found there."""
    root = CHROOTS / suite
    found = [name for name in TOOLS if inside(root, "sh", "-c", f"command -v {name} || true").strip()]
    if found:
        sys.exit(f"chroots: {suite} should have no build tools, has {found}")
    return root


def try_wheel(root, python, tag, name):
    """Install the wheel of a tag for a Python of a system, and run the programs without and with NumPy."""
    wheels = built(tag)
    if len(wheels) != 1:
        sys.exit(f"chroots: expected one wheel for {tag} in {DIST}, found {len(wheels)}; build it by tools/wheels.py")
    place = root / "root" / "wheels"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copy(wheels[0], place)
    download(tag, place, "numpy>=1.26", "ml_dtypes>=0.5")
    shutil.rmtree(root / "root" / "venv", ignore_errors=True)
    inside(root, python, "-m", "venv", "/root/venv")
    python, pip = (
        "/root/venv/bin/python",
        ("/root/venv/bin/pip", "install", "-q", "--no-index", "--find-links", "/root/wheels"),
    )
    inside(root, *pip, "dltensor")
    compare(f"{name}: the program without NumPy", inside(root, python, "-I", "-c", PLAIN.format(tools=TOOLS)), PRINTED)
    if "/root/venv" not in inside(root, "/root/venv/bin/dltensor", "info"):
        sys.exit(f"chroots: {name}: dltensor info does not name its place")
    inside(root, *pip, "dltensor[numpy]")
    for page in ("README.md", "docs/reproducible-results.md"):  # the second prints a hash of results
        program, expected = first_program(page)
        compare(f"{name}: the first program of {page}", inside(root, python, "-I", "-c", program), expected)
    print(f"chroots: {name}: {wheels[0].name} runs the programs without and with NumPy", flush=True)


def wheel(suite):
    """Try the wheel for a suite's own Python where no compiler is."""
    root = without_tools(suite)
    try_wheel(root, "python3", version_of(root), suite)


def others(suite):
    """Try the wheels for the other Pythons of this machine, with each copied into the system at its own path."""
    root = without_tools(suite)
    have = {version_of(CHROOTS / name) for name in SUITES if (CHROOTS / name / "usr" / "bin" / "python3").exists()}
    for tag, (path, _) in find_pythons().items():
        if tag in have:
            continue
        prefix = Path(ask(path)[2])
        if len(prefix.parts) < 4:  # / or /usr, whose place the system's own files have
            sys.exit(f"chroots: expected a Python for {tag} in a folder of its own, got {path} of {prefix}")
        copy = root / prefix.relative_to("/")
        shutil.rmtree(copy, ignore_errors=True)
        left_out = shutil.ignore_patterns("__pycache__", "test", "site-packages", "*.a", "include")
        shutil.copytree(prefix, copy, symlinks=True, ignore=left_out)
        try_wheel(root, prefix / "bin" / "python3", tag, f"{suite} with Python of {tag}")
        shutil.rmtree(copy)


def source(suite):
    """Install the source distribution in a copy of the system, with the packages that README names and no others."""
    text = (ROOT / "README.md").read_text()
    if unnamed := [name for name in BUILD_PACKAGES if not re.search(rf"`[^`]*{re.escape(name)}[^`]*`", text)]:
        sys.exit(f"chroots: README does not name {unnamed}")
    root = CHROOTS / f"{suite}-source"
    shutil.rmtree(root, ignore_errors=True)
    run("debootstrap", "--variant=minbase", suite, root)
    install(root, *BUILD_PACKAGES)
    place = root / "root" / "sources"
    place.mkdir()
    run(sys.executable, "-c", f"import mesonpy; mesonpy.build_sdist({str(place)!r})", cwd=ROOT)
    download(version_of(root), place, *BUILD_TOOLS)
    inside(root, "python3", "-m", "venv", "/root/venv")
    (archive,) = place.glob("dltensor-*.tar.gz")
    inside(
        root,
        "/root/venv/bin/pip",
        "install",
        "-q",
        "--no-index",
        "--find-links",
        "/root/sources",
        f"/root/sources/{archive.name}",
    )
    printed = inside(root, "/root/venv/bin/python", "-I", "-c", PLAIN.format(tools=()))
    compare(f"{suite}: the program without NumPy", printed, PRINTED)
    print(
        f"chroots: {suite}: {inside(root, 'g++', '--version').splitlines()[0]}: {archive.name} builds and runs",
        flush=True,
    )


def tests(suite):
    """Run the light tests in the system that source() has made, with the package installed there."""
    root = CHROOTS / f"{suite}-source"
    if not (root / "root" / "venv" / "bin" / "pip").exists():
        sys.exit(f"chroots: {suite}: `chroots.py source {suite}` builds the package first")
    place, tree = root / "root" / "packages", root / "root" / "tree"
    download(version_of(root), place, "numpy>=1.26", "ml_dtypes>=0.5", "pytest>=8", "hypothesis>=6.100")
    names = ("numpy", "ml_dtypes", "pytest", "hypothesis")
    inside(root, "/root/venv/bin/pip", "install", "-q", "--no-index", "--find-links", "/root/packages", *names)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    archive = run("git", "archive", "HEAD", text=False, cwd=ROOT)
    subprocess.run(["tar", "x", "-C", tree], input=archive, check=True)
    python = ("-C", "/root/tree", "HOME=/root", "LANG=C.UTF-8", "PATH=/root/venv/bin:/usr/bin:/bin", "python")
    test = ("-m", "pytest", "-p", "no:cacheprovider", "-m", "not peers and not gpu", "tests")
    left_out = (f"--ignore=tests/{name}" for name in NOT_LIGHT)
    done = run("unshare", "--mount", "sh", "-c", MOUNTED, "sh", root, "env", "-i", *python, *test, *left_out)
    print(done[-3000:])
    print(f"chroots: {suite}: {inside(root, 'g++', '--version').splitlines()[0]}: the light tests pass", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = {"make": make, "wheel": wheel, "others": others, "source": source, "tests": tests}
    parser.add_argument("command", choices=commands)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    options = parser.parse_args()
    for suite in options.suites or (SUITES[:1] if options.command == "others" else SUITES):
        commands[options.command](suite)


if __name__ == "__main__":
    main()
