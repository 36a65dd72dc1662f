#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the wheel for CPython 3.11 on aarch64 by a cross compiler, and test it in emulation.

Usage::

    wheel_aarch64.py build     build/wheels/dist/*_aarch64.whl, over the libraries of Debian 11 as the wheels for x86-64
    wheel_aarch64.py test      README's first program, one without NumPy and two files of tests by QEMU

What runs in emulation (Python, NumPy, pytest) is made ready by `tools/aarch64.sh VENV setup`.
"""

import os
import shutil
import sys
import zipfile
from pathlib import Path

import wheels
from try_wheel import PLAIN, PRINTED, compare, first_program
from wheels import BUILD_TOOLS, DIST, NEWER_LIBRARY, OLDER_SYMBOLS, ROOT, SYSROOT_SUITE, TOOLS, WORK, run, tool

MULTIARCH = "aarch64-linux-gnu"
PLATFORM = "manylinux_2_28_aarch64"
HERE = WORK / "aarch64"
EMULATED = ROOT / "build" / "aarch64"  # of tools/aarch64.sh
PACKAGES = ("libc6", "libc6-dev", "linux-libc-dev", "libcrypt1", "libstdc++6", "libgcc-s1")
TESTS = ("tests/test_tiny.py", "tests/test_dlpack.py")
CROSS_FILE = """[binaries]
c = '{compiler}gcc'
cpp = '{compiler}g++'
ar = '{multiarch}-ar'
strip = '{multiarch}-strip'
python = '{python}'
exe_wrapper = ['qemu-aarch64-static', '-L', '{emulated}']
[built-in options]
c_args = {c_args}
cpp_args = {cpp_args}
c_link_args = {link_args}
cpp_link_args = {link_args}
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""
# Child processes are started by the name that Python believes to have: this one.
PYTHON = """#!/bin/sh
PYTHONHOME={root}/usr PYTHONPATH={path} exec qemu-aarch64-static -L {root} -0 {here} {root}/usr/bin/python3.11 "$@"
"""


def sysroot():
    """Return the folder of the older system, whose packages are downloaded at first use by lists of our own."""
    root, lists = HERE / "sysroot", HERE / "apt"
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        for folder in (lists / "lists" / "partial", lists / "archives" / "partial", lists / "packages"):
            folder.mkdir(parents=True, exist_ok=True)
        mirror, key = "http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg"
        (lists / "sources.list").write_text(f"deb [arch=arm64 signed-by={key}] {mirror} {SYSROOT_SUITE} main\n")
        (lists / "status").touch()
        options = {
            "Dir::Etc::sourcelist": lists / "sources.list",
            "Dir::Etc::sourceparts": os.devnull,
            "Dir::State::lists": lists / "lists",
            "Dir::State::status": lists / "status",
            "Dir::Cache": lists,
            "APT::Architecture": "arm64",
            "APT::Sandbox::User": "root",
            "Acquire::Check-Valid-Until": "false",
        }
        apt = ("apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items()))
        run(*apt, "update")
        run(*apt, "download", *PACKAGES, cwd=lists / "packages")
        for package in sorted((lists / "packages").glob("*.deb")):
            run("dpkg", "-x", package, root)
        for folder in (root / "usr" / "lib" / MULTIARCH, root / "lib" / MULTIARCH):
            for link in folder.iterdir():
                if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
                    link.unlink()
                    link.symlink_to(os.path.relpath(root / target[1:], folder))
        own = root / "dltensor"
        own.mkdir()
        directives = (f".symver {name},{name}@GLIBC_2.17" for name in OLDER_SYMBOLS)
        (own / "older.h").write_text("".join(f'__asm__("{line}");\n' for line in directives))
        (own / "newer.cc").write_text(NEWER_LIBRARY)
        run(f"{MULTIARCH}-g++", "-O2", "-fPIC", "-c", own / "newer.cc", "-o", own / "newer.o")
        run(f"{MULTIARCH}-ar", "rcsD", own / "libstdc++_nonshared.a", own / "newer.o")
        (own / "libstdc++.so").write_text(
            f"INPUT(/usr/lib/{MULTIARCH}/libstdc++.so.6 /dltensor/libstdc++_nonshared.a)\n"
        )
        (root / "done").touch()
    return root


def arguments(root):
    """Return the arguments for C, for C++ and for the linker.

    The cross compiler looks into its own folders, of a newer glibc, before those of a sysroot: they are named anew.
    Meson removes `-isystem` with a folder that the compiler knows, and leaves `-idirafter`.
    """
    asked = (f"{MULTIARCH}-g++", "-print-file-name=include")
    own = Path(run(*asked, capture_output=True, text=True).stdout.strip()).resolve()
    version = own.parent.name
    cpp = Path("/usr") / MULTIARCH / "include" / "c++" / version
    system = [
        own,
        root / "usr" / "include" / MULTIARCH,
        root / "usr" / "include",
        EMULATED / "root" / "usr" / "include",
    ]
    c = [f"--sysroot={root}", "-nostdinc", *(f"-idirafter{folder}" for folder in system)]
    headers = [cpp, cpp / MULTIARCH, cpp / "backward", *system]
    cpp = [f"--sysroot={root}", "-nostdinc", *(f"-idirafter{folder}" for folder in headers)]
    include = ["-include", str(root / "dltensor" / "older.h")]
    folders = [root / "dltensor", root / "usr" / "lib" / MULTIARCH, root / "lib" / MULTIARCH]
    link = [f"--sysroot={root}", "-Wl,--strip-all", "-Wl,--exclude-libs,libstdc++_nonshared.a"]
    link += [f"-B{folders[1]}", *(f"-L{folder}" for folder in folders)]
    return c + include, cpp + include, link


def emulated_python(name, *path):
    """Return a program that runs Python in emulation with packages of some folders."""
    program, root = HERE / name, EMULATED / "root"
    if not (EMULATED / "python").exists():
        sys.exit("wheel_aarch64: the emulated Python is missing; run `tools/aarch64.sh VENV setup`")
    program.write_text(PYTHON.format(root=root, path=":".join(map(str, path)), here=program))
    program.chmod(0o755)
    return program


def build():
    """Build the wheel and examine it as the others."""
    HERE.mkdir(parents=True, exist_ok=True)
    python = wheels.chosen(["cp311"])["cp311"]
    environment = HERE / "env"
    interpreter = environment / "bin" / "python"
    if not (environment / "done").exists():
        interpreter = wheels.new_environment(environment, python)
        wheels.pip(interpreter, "install", *BUILD_TOOLS)
        (environment / "done").touch()
    # By these two variables and this file Python names the other processor: suffix of modules, tag of the wheel.
    data = "_sysconfigdata__aarch64-linux-gnu"
    (HERE / "sysconfig").mkdir(exist_ok=True)
    target = emulated_python("python-bare")
    shutil.copy(EMULATED / "root" / "usr" / "lib" / "python3.11" / f"{data}.py", HERE / "sysconfig")
    c_args, cpp_args, link_args = arguments(sysroot())
    (HERE / "cross.ini").write_text(
        CROSS_FILE.format(
            compiler=f"{MULTIARCH}-",
            multiarch=MULTIARCH,
            python=target,
            emulated=EMULATED / "root",
            c_args=c_args,
            cpp_args=cpp_args,
            link_args=link_args,
        )
    )
    variables = {
        **os.environ,
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": data,
        "PYTHONPATH": str(HERE / "sysconfig"),
        "SOURCE_DATE_EPOCH": str(wheels.epoch()),
        "PYTHONHASHSEED": "0",
        "PKG_CONFIG_LIBDIR": os.devnull,
    }
    for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"):
        variables.pop(name, None)
    for name in ("build", "raw", "repaired"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / "raw").mkdir()
    # pip would look for wheels of the processor that those variables name: the backend is called directly.
    program = (
        "import mesonpy, sys; print(mesonpy.build_wheel(sys.argv[1], "
        "{'build-dir': sys.argv[2], 'setup-args': ['--cross-file=' + sys.argv[3]]}))"
    )
    run(interpreter, "-c", program, HERE / "raw", HERE / "build", HERE / "cross.ini", cwd=ROOT, env=variables)
    (wheel,) = (HERE / "raw").glob("*.whl")
    with_tools = {**os.environ, "PATH": f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    # It knows names of this machine's processor only; what it finds is compared below.
    retag = (tool("auditwheel"), "repair", "--plat", "auto", "--only-plat", "-w", HERE / "repaired", wheel)
    run(*retag, env=with_tools)
    (wheel,) = (HERE / "repaired").glob("*.whl")
    for old in DIST.glob("*_aarch64.whl"):
        old.unlink()
    run(TOOLS / "bin" / "python", ROOT / "tools" / "wheels.py", "finish", wheel, "--out", DIST, env=with_tools)
    wheels.examine(DIST / wheel.name, PLATFORM)


def test():
    """Unpack the wheel and run programs and tests with it in emulation."""
    found = list(DIST.glob("*-cp311-cp311-*_aarch64.whl"))
    if len(found) != 1:
        sys.exit(f"wheel_aarch64: expected one wheel in {DIST}, found {len(found)}; run `wheel_aarch64.py build`")
    site = HERE / "site"
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(found[0]) as archive:
        archive.extractall(site)
    bare, full = emulated_python("python-bare", site), emulated_python("python", site, EMULATED / "site")

    def printed(python, text):
        done = run(python, "-c", text, capture_output=True, text=True, cwd=HERE)
        return done.stdout

    compare(
        "the program without NumPy",
        printed(bare, PLAIN.format(tools=()).replace("sys.prefix", repr(str(site)))),
        PRINTED,
    )
    program, expected = first_program("README.md")
    compare("the first program of README", printed(full, program), expected)
    print("wheel_aarch64: README's first program and one without NumPy print what they should", flush=True)
    run(
        *(full, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not peers and not gpu", *TESTS),
        cwd=ROOT,
        env={
            **os.environ,
            "DLTENSOR_TEST_RUNNER": f"qemu-aarch64-static -L {EMULATED / 'root'}",
            "CPLUS_INCLUDE_PATH": str(EMULATED / "root" / "usr" / "include"),
            "CC": f"{MULTIARCH}-gcc",
            "CXX": f"{MULTIARCH}-g++",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    print(f"wheel_aarch64: {found[0].name}: passed in emulation", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("build", "test"):
        sys.exit(__doc__)
    {"build": build, "test": test}[sys.argv[1]]()
