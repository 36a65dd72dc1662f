# SPDX-License-Identifier: Apache-2.0
"""Compiles a C++ test binding against the sources of the engine and loads it. No tests here."""

import concurrent.futures
import ctypes
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDES = [ROOT / "src" / "dltensor", ROOT / "src" / "dltensor" / "include"]
FLAGS = [
    "-std=c++20",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
]
if "clang" in os.environ.get("CXX", ""):
    FLAGS.append("-Wno-deprecated-declarations")  # stable_sort of libstdc++ 12 calls what C++17 deprecates


# Sizes and indices have 64 bits: one that gets lost on the way to an int is an error.
NARROWING = ["-Wconversion", "-Wno-sign-conversion", "-Wno-float-conversion", "-Wno-implicit-float-conversion"]


def compiler() -> list[str]:
    """Return the command of the C++ compiler, as ``ccache g++``; it is part of every key of the cache."""
    return os.environ.get("CXX", "g++").split()


def started(program: object) -> list:
    """Return the command that runs a compiled program: DLTENSOR_TEST_RUNNER names an emulator, if it needs one."""
    return [*os.environ.get("DLTENSOR_TEST_RUNNER", "").split(), program]


def sanitizers_run() -> bool:
    """Return whether programs with sanitizers can be run: not by an emulator, which has another map of addresses."""
    return not os.environ.get("DLTENSOR_TEST_RUNNER")


def cache() -> pathlib.Path:
    """Return the folder that compiled bindings are kept in between runs."""
    folder = pathlib.Path(os.environ.get("DLTENSOR_TEST_CACHE", pathlib.Path(tempfile.gettempdir()) / "dltensor-tests"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: list) -> None:
    """Run a compiler; its own words are the error."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")


def binding(name: str, *flags: str) -> ctypes.CDLL:
    """Compile tests/engine/`name` alone (headers only) and load it."""
    source = pathlib.Path(__file__).parent / name
    headers = sorted(p for folder in INCLUDES for p in folder.rglob("*.h"))
    key = hashlib.sha256(
        b"".join(p.read_bytes() for p in [source, *headers]) + repr((compiler(), flags)).encode()
    ).hexdigest()[:16]
    library = cache() / f"{source.stem}-{key}{sysconfig.get_config_var('SHLIB_SUFFIX')}"
    if not library.exists():
        made = library.with_suffix(f".{os.getpid()}.tmp")
        run(
            [
                *compiler(),
                *FLAGS,
                "-O2",
                *flags,
                *[f"-I{i}" for i in INCLUDES],
                "-shared",
                source,
                "-o",
                made,
            ]
        )
        made.rename(library)
    return ctypes.CDLL(str(library))


def _lists() -> tuple:
    """Read from native/meson.build which files there are, and each kernel's level and options."""
    text = (ROOT / "src" / "dltensor" / "native" / "meson.build").read_text()
    base = [name for name in re.findall(r"'([\w/]+\.cc)'", text) if "/kernels/" not in name]
    groups, lowest = (
        {
            group: re.findall(r"'(cpu/\w+/kernels/[\w/]+\.cc)'", files)
            for group, files in re.findall(r"^  '(\w+)': \[(.*?)\],$", table, re.M | re.S)
        }
        for table in re.findall(r"^(?:kernel|lowest)_sources = \{(.*?)^\}", text, re.M | re.S)
    )
    named = {
        name: re.findall(r"'(-[^']+)'", flags)
        for name, flags in re.findall(r"^(\w+) = cpp\.get_supported_arguments\((.*)\)", text, re.M)
    }
    if "clang" in compiler()[-1]:
        named = {name: [] for name in named}  # which of them it supports is asked by the build alone
    by_group = re.search(r"^by_group = \{(.*)\}", text, re.M)
    levels = {}
    for name, own, choice in re.findall(r"^ +'(v\d)': \[\[([^]]*)\](?: \+ \w+)?, (.*)\],$", text, re.M):
        choices = dict(re.findall(r"'(\w+)': (\w+|\[\])", by_group[1] if choice == "by_group" else choice))
        levels[name] = {group: [*re.findall(r"'(-[^']+)'", own), *named.get(choices[group], [])] for group in groups}
    if platform.machine() != "x86_64":
        levels = {"base": {group: [] for group in groups}}
    kernels = [
        (name, level, options[group])
        for level, options in levels.items()
        for group, files in groups.items()
        for name in files
    ]
    level, options = next(iter(levels.items()))
    kernels += [(name, level, options[group]) for group, files in lowest.items() for name in files]
    native = ROOT / "src/dltensor/native"
    on_disk = {str(path.relative_to(native)) for path in (native / "cpu").glob("*/kernels/**/*.cc")}
    has_levels = platform.machine() != "x86_64" or len(levels) == text.count("-march=")
    if not base or not has_levels or {name for name, _, _ in kernels} != on_disk:
        raise RuntimeError("native/meson.build no longer lists its files as this reads them")
    return kernels, base


def objects(units: list, *flags: str) -> list[pathlib.Path]:
    """Compile files, each with options of its own, and return the objects; what was compiled before is found again."""
    headers = hashlib.sha256(b"".join(p.read_bytes() for f in INCLUDES[:1] for p in sorted(f.rglob("*.h")))).hexdigest()

    def compiled(unit: tuple) -> pathlib.Path:
        source, options = unit
        key = hashlib.sha256(
            source.read_bytes() + repr((compiler(), headers, options, flags, NARROWING)).encode()
        ).hexdigest()[:16]
        target = cache() / f"{source.stem}-{key}.o"
        if not target.exists():
            made = target.with_suffix(f".{os.getpid()}.tmp")
            includes = [f"-I{i}" for i in INCLUDES]
            run(
                [
                    *compiler(),
                    *FLAGS,
                    *NARROWING,
                    "-fvisibility=hidden",
                    *options,
                    *flags,
                    *includes,
                    "-c",
                    source,
                    "-o",
                    made,
                ]
            )
            made.rename(target)
        return target

    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        return list(workers.map(compiled, units))


def link(name: str, parts: list[pathlib.Path], *flags: str) -> pathlib.Path:
    """Link objects to a file of the cache, unless that was done before."""
    times = [path.stat().st_mtime_ns for path in parts]
    key = hashlib.sha256(repr((compiler(), parts, times, flags)).encode()).hexdigest()[:16]
    target = cache() / name.format(key)
    if not target.exists():
        made = target.with_suffix(f".{os.getpid()}.tmp")
        run([*compiler(), *flags, *parts, "-o", made, "-lpthread", "-ldl"])
        made.rename(target)
    return target


def sources(*folders: str) -> list[pathlib.Path]:
    """Return the engine's files of some folders, as the build lists them."""
    _, base = _lists()
    found = [
        ROOT / "src" / "dltensor" / "native" / name for name in base if "/" not in name or name.split("/")[0] in folders
    ]
    if not found:
        raise RuntimeError(f"native/meson.build lists no file of {', '.join(folders)}")
    return found


def built(target: str) -> pathlib.Path | None:
    """Return a library that the build of the package has from these sources, or None."""
    folder = ROOT / os.environ.get("BUILD", "build/release")
    if os.environ.get("DLTENSOR_TEST_RUNNER"):  # tools/aarch64.sh has just built it
        return folder / target if (folder / target).exists() else None
    ninja = pathlib.Path(sys.executable).with_name("ninja")
    if os.environ.get("CXX") or not ninja.exists() or not (folder / "build.ninja").exists():
        return None
    done = subprocess.run([ninja, "-C", folder, "-n", target], capture_output=True, text=True)
    return folder / target if "no work to do" in done.stdout else None


def check(source: pathlib.Path, *options: str) -> None:
    """Compile a file without writing anything; a warning, or a size that is narrowed, is a RuntimeError."""
    run([*compiler(), *FLAGS, *NARROWING, *options, *[f"-I{i}" for i in INCLUDES], "-fsyntax-only", source])


def check_engine() -> None:
    """Check every file of the engine, kernels for one level."""
    kernels, base = _lists()
    native = ROOT / "src" / "dltensor" / "native"
    options = {name: (f"-DDLT_LEVEL={level}", *flags) for name, level, flags in kernels} | {name: () for name in base}
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        list(workers.map(lambda name: check(native / name, *options[name]), options))


def engine() -> ctypes.CDLL:
    """Load the engine with engine_binding.cc: the library of meson.build here, or else one that is compiled now."""
    library = built("tests/engine/engine_binding.so")
    if library is None:
        kernels, base = _lists()
        native = ROOT / "src" / "dltensor" / "native"
        units = [(native / name, ("-O3", f"-DDLT_LEVEL={level}", *options)) for name, level, options in kernels]
        units += [(native / name, ("-O2",)) for name in base]
        parts = objects([*units, (pathlib.Path(__file__).parent / "engine_binding.cc", ("-O2",))])
        library = link(f"engine-{{}}{sysconfig.get_config_var('SHLIB_SUFFIX')}", parts, "-shared")
    return ctypes.CDLL(str(library))
