# SPDX-License-Identifier: Apache-2.0
"""Compiles the engine and native test programs, plain or under a sanitizer, and keeps them. No tests here."""

import concurrent.futures
import functools
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import native_tools

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = ROOT / "src" / "dltensor"
INCLUDE = SOURCE / "include"
ABI = re.search(r"#define DLT_ARRAY_ABI_VERSION (\d+)", (INCLUDE / "dltensor" / "array.h").read_text())[1]
LIBRARY = f"libdltensor.so.{ABI}"
FOLDERS = ["os", "memory", "layout", "opaque"]  # what arrays are made of
VARIANTS = {
    "plain": ["-O2", "-gdwarf-4"],  # which every valgrind reads
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-O1", "-g", "-fsanitize=thread"],
}


def run(command, **options):
    """Run a command; its own words are the error."""
    done = subprocess.run([str(c) for c in command], check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


_building = threading.RLock()


def once(build):
    """Cache what is built; a second thread waits for the first."""
    kept = functools.cache(build)

    @functools.wraps(build)
    def wait(*arguments):
        with _building:
            return kept(*arguments)

    return wait


def cache() -> pathlib.Path:
    """Return the folder that compiled programs are kept in between runs."""
    folder = pathlib.Path(
        os.environ.get("DLTENSOR_TEST_CACHE", pathlib.Path(tempfile.gettempdir()) / "dltensor-opaque")
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(paths, *more) -> str:
    """Name the contents of files, so that what was compiled from them is found again."""
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted(paths)) + repr(more).encode()).hexdigest()[:16]


def command(name: str, variant: str = "plain") -> str:
    """Return the name of a tool: CC, CXX and FC win over the usual ones, but for sanitizers, linked as GCC does."""
    variable = {"gcc": "CC", "g++": "CXX", "gfortran": "FC"}.get(name) if variant == "plain" else None
    return os.environ.get(variable, name) if variable else name


def tool(name: str, variant: str = "plain") -> str | None:
    """Return the path of a tool that runs, or None."""
    return native_tools.runnable(command(name, variant))


def require(name: str, variant: str = "plain") -> str:
    """Return the path of a tool that runs; otherwise skip the test with the reason."""
    return native_tools.require(command(name, variant))


def engine_sources() -> list[pathlib.Path]:
    """Return the files of the engine that arrays need, as the build file lists them."""
    listed = re.findall(r"'([\w/]+\.cc)'", (SOURCE / "native" / "meson.build").read_text())
    return [SOURCE / "native" / name for name in listed if "/" not in name or name.split("/")[0] in FOLDERS]


@once
def engine(variant: str = "plain") -> pathlib.Path:
    """Compile the library, write the linker script beside it and return the folder they are in."""
    headers = [*INCLUDE.rglob("*.h"), *(SOURCE / "native").rglob("*.h")]
    flags = VARIANTS[variant]
    folder = cache() / f"engine-{variant}-{digest([*engine_sources(), *headers], flags, tool('g++', variant))}"
    if (folder / LIBRARY).exists():
        return folder
    work = pathlib.Path(tempfile.mkdtemp(dir=cache()))
    options = ["-std=c++20", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", *flags]
    options += [f"-I{SOURCE}", f"-I{INCLUDE}"]

    def compile_one(path):
        made = work / f"{path.parent.name}-{path.stem}.o"
        run([tool("g++", variant), *options, "-c", path, "-o", made])
        return made

    with concurrent.futures.ThreadPoolExecutor(2) as two:
        objects = list(two.map(compile_one, engine_sources()))
    link = ["-shared", "-Wl,-z,defs", "-Wl,-z,nodelete", f"-Wl,-soname,{LIBRARY}", *flags, "-lpthread", "-ldl"]
    run([tool("g++", variant), *objects, *link, "-o", work / LIBRARY])
    (work / "libdltensor.so").write_text(f"INPUT({LIBRARY})\n")
    try:
        work.rename(folder)
    except OSError:  # another run was first
        shutil.rmtree(work)
    return folder


@once
def program(name: str, variant: str = "plain", *more: str) -> pathlib.Path:
    """Compile one test program against the engine of the same variant."""
    source = HERE / name
    library = engine(variant)
    inputs = [source, *HERE.glob("*.h"), *INCLUDE.rglob("*.h*"), *(SOURCE / "native").rglob("*.h")]
    made = cache() / f"{source.stem}-{variant}-{digest(inputs, library, more)}"
    if made.exists():
        return made
    c, cpp = tool("gcc", variant), tool("g++", variant)
    compiler = [c, "-std=gnu99"] if source.suffix == ".c" else [cpp, "-std=c++17"]
    partial = made.with_suffix(f".{os.getpid()}")
    if "native/" in source.read_text():  # looks behind the public headers
        compiler = [cpp, "-std=c++20", f"-I{SOURCE}"]
    flags = ["-Wall", "-Wextra", "-Werror", *VARIANTS[variant], f"-I{INCLUDE}", f"-I{HERE}"]
    run([*compiler, *flags, source, f"-L{library}", "-ldltensor", *more, "-lpthread", "-ldl", f"-Wl,-rpath,{library}",
         "-o", partial])  # fmt: skip
    partial.rename(made)
    return made


def cases(name: str) -> list[str]:
    """Return the cases that a program lists, read from its source."""
    found = re.findall(r"CASE\((\w+)\)", (HERE / name).read_text())
    found = [case for case in found if case != "name"]
    assert found, f"{name} lists no cases"
    return found


def metatensor() -> pathlib.Path | None:
    """Return the folder of an installed metatensor-core, without importing it."""
    spec = importlib.util.find_spec("metatensor")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (pathlib.Path(place) / "include" / "metatensor.h").exists():
            return pathlib.Path(place)
    return None
