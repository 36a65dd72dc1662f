# SPDX-License-Identifier: Apache-2.0
"""Show what is installed here: versions, devices, optional packages, and the flags to build against this package."""

import ctypes
import json
import os
import platform
import sys
import textwrap
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dltensor as dl

from .._core.introspect import engine_path
from .._tools.terminal import labelled, say, width

# Optional packages, and what each adds. None of them is imported to detect it.
PACKAGES = {
    "numpy": "numpy(), and exchange with NumPy arrays",
    "ml_dtypes": "bfloat16, fp8, fp4 and int4 in NumPy",
    "matplotlib": "the demo's photograph and pictures",
    "torch": "peer",
    "jax": "peer",
    "apache-tvm-ffi": "peer",
    "pyarrow": "peer",
    "metatensor-core": "peer",
    "cupy": "peer",
    "nvidia-cuda-nvrtc": "CUDA kernels",
}


# The build flags; several requested at once are printed in this order, on one line.
FLAGS = {
    "cflags": "the compiler's flags",
    "libs": "the linker's flags",
    "cmake": "the folder for CMAKE_PREFIX_PATH",
    "pkgconfig": "the folder for PKG_CONFIG_PATH",
    "fortran": "the Fortran module to compile with a program",
    "examples": "the folder of example programs in C, C++ and Fortran",
}
# Run path of an extension in a wheel, site-packages/NAME/extension.so, to the library.
WHEEL_RPATH = "$ORIGIN/../dltensor"
# Build front ends set one of them for the processes that build a wheel; pyproject-hooks before 1.1 sets the second.
BUILDS_A_WHEEL = {"_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND"}


def _has_driver():
    """Test whether NVIDIA's driver library is on this machine. Loading it does not initialize a device."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _found(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def collect(rpath=None):
    """Return all that `run` prints as plain data, ready for JSON.

    `rpath` is where a program finds the library when it runs: by default the folder of this package, and in the build
    of a wheel, whose environment may be a temporary one, ``$ORIGIN/../dltensor``.

    >>> collect()["dlpack"]
    '1.3'
    """
    root = Path(dl.__file__).resolve().parent
    if rpath is None:
        rpath = WHEEL_RPATH if BUILDS_A_WHEEL & os.environ.keys() else str(root)
    return {
        "dltensor": version("dltensor"),
        "dlpack": ".".join(map(str, dl.DLPACK_VERSION)),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "devices": {
            "cpu": "host memory",
            "cuda": "driver library found" if _has_driver() else "no driver library (libcuda.so.1) found",
        },
        "dtypes": list(dl.DTYPES),
        "exchange tables": "off (DLTENSOR_NO_EXCHANGE_API)"
        if os.environ.get("DLTENSOR_NO_EXCHANGE_API") == "1"
        else "on",
        "include": str(root / "include"),
        "library": str(Path(engine_path()).resolve()),
        "cflags": f"-I{root / 'include'}",
        "libs": f"-L{root} -Wl,-rpath,{rpath} -ldltensor",
        "cmake": str(root),
        "pkgconfig": str(root / "lib" / "pkgconfig"),
        "fortran": str(root / "include" / "dltensor" / "dltensor.f90"),
        "examples": str(root / "examples" / "native"),
        "packages": {name: _found(name) for name in PACKAGES},
    }


def arguments(parser):
    """Declare the options of the command."""
    for name, what in FLAGS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"print {what} only")
    parser.add_argument(
        "--rpath",
        metavar="PATH",
        help="the run path in --libs; default: the folder of the package, in the build of a wheel $ORIGIN/../dltensor",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def _show(label, text, indent, columns):
    """Print a label and a text next to it, or below it where a path is too long for that."""
    lines = labelled(label, text, indent, columns)
    if max(map(len, lines)) > columns:
        lead = " " * (len(label) - len(label.lstrip()) + 2)
        below = textwrap.wrap(text, columns, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
        lines = [label, *below]
    say("\n".join(lines))


def run(options):
    """Print the result of `collect` and return the exit status, always 0."""
    facts = collect(options.rpath)
    if wanted := [name for name in FLAGS if getattr(options, name)]:
        say(" ".join(facts[name] for name in wanted))
        return 0
    if options.json:
        say(json.dumps(facts, indent=2))
        return 0
    columns = width()
    rows = [(name, facts[name]) for name in ("dltensor", "dlpack", "python", "platform", "exchange tables")]
    rows += [(name, facts[name]) for name in ("include", "library")]
    rows.append(("dtypes", f"{len(facts['dtypes'])} by name, any other code, width and lanes as they come"))
    for name, text in rows:
        _show(name, text, 17, columns)
    say("\ndevices", "bold")
    for name, text in facts["devices"].items():
        _show(f"  {name}", text, 20, columns)
    say("\noptional packages", "bold")
    for name, found in facts["packages"].items():
        _show(f"  {name:<18}{found or '-'}", PACKAGES[name], 36, columns)
    return 0
