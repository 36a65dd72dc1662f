#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the wheel dltensor-cuda-kernels: the CUDA kernels of common calls, compiled beforehand.

Usage::

    cuda_kernels.py build [--folder FOLDER] [--parts PART ...] [-- ARCHITECTURE ...]
        the wheel, for 75 80 90 100 120
    cuda_kernels.py calls [--parts PART ...] -- ARCHITECTURE CACHE
        what compiles the kernels of one architecture

With it the first use of those calls needs no compiler. It has kernels for the version of dltensor that builds it:
another version does not find them, and compiles its own. Needs NVRTC (the package nvidia-cuda-nvrtc, or
DLTENSOR_CUDA_NVRTC), g++ and no GPU: the calls run on the host driver with launches switched off, and what NVRTC makes
of their kernels goes into the wheel (docs/decisions, 53).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "dltensor_cuda_kernels"
ARCHITECTURES = ("75", "80", "90", "100", "120")  # others run the code of the next older one of their major version
FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES = ("uint8", "int32", "int64", *FLOATS)
INIT = '''"""CUDA kernels of dltensor {version}, compiled beforehand; dltensor finds them by this package's name."""
'''
METADATA = """Metadata-Version: 2.4
Name: dltensor-cuda-kernels
Version: {version}
Summary: CUDA kernels of dltensor, compiled beforehand
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11
Requires-Dist: dltensor=={version}
Description-Content-Type: text/markdown

The kernels of common calls of dltensor {version} on CUDA tensors, compiled for compute capabilities {architectures} and
later ones of the same major versions. With them the first use of such a call takes milliseconds and needs no NVRTC.
"""
WHEEL = """Wheel-Version: 1.0
Generator: tools/cuda_kernels.py of dltensor
Root-Is-Purelib: true
Tag: py3-none-any
"""


# -- the calls ---------------------------------------------------------------------------------------------------------
def elementwise(dl):
    """Arithmetic, comparisons and functions: tensor with tensor, with a number on either side, with a row."""
    for name in TYPES:
        x, y, row = (dl.empty(shape, dtype=name, device="cuda") for shape in ((256, 320), (256, 320), (320,)))
        for operation in (dl.add, dl.subtract, dl.multiply, *[dl.divide] * (name in FLOATS)):
            for operands in ((x, y), (x, 2), (2, x), (x, row)):
                operation(*operands)
        comparisons = (dl.equal, dl.not_equal, dl.less, dl.less_equal, dl.greater, dl.greater_equal)
        for operation in (dl.minimum, dl.maximum, *comparisons):
            operation(x, y), operation(x, 2)
        dl.where(dl.less(x, y), x, y)
        functions = [dl.abs, dl.square] + [dl.negative] * (name != "uint8")
        if name in FLOATS:
            functions += [dl.sqrt, dl.exp, dl.log, dl.tanh, dl.sin, dl.cos, dl.isnan, dl.isfinite, dl.floor, dl.round]
            dl.pow(x, y), dl.fma(x, y, x)
        for function in functions:
            function(x)


def copies(dl):
    """Copies between layouts and dtypes, and filling."""
    for name in (*TYPES, "bool"):
        x = dl.empty((256, 320), dtype=name, device="cuda")
        x.copy(), x.T.copy(), x[:, 1:].copy(), x[::2].copy(), x[:, ::2].copy()
        x.fill(1)
        x[1:, 1:] = 0
        dl.concat([x, x], axis=1)
        for other in (*TYPES, "bool"):
            x.astype(other)


def reductions(dl):
    """Reductions, running sums and sorts."""
    for name in TYPES:
        x, line = dl.empty((256, 320), dtype=name, device="cuda"), dl.empty((1 << 20,), dtype=name, device="cuda")
        for reduce in (dl.sum, dl.max, dl.min, dl.argmax, dl.argmin) + (dl.mean, dl.var, dl.std) * (name in FLOATS):
            reduce(x), reduce(x, axis=0), reduce(x, axis=1), reduce(line)
        dl.cumulative_sum(line), dl.cumulative_sum(x, axis=1)
    mask = dl.empty((256, 320), dtype="bool", device="cuda")
    for reduce in (dl.all, dl.any, dl.count_nonzero, dl.sum):
        reduce(mask), reduce(mask, axis=0), reduce(mask, axis=1)
    for name in ("int32", "int64", "float32", "float64"):
        x = dl.empty((1 << 16,), dtype=name, device="cuda")
        dl.sort(x), dl.argsort(x)
    for name in ("uint8", "float16", "float32", "float64"):  # short lines, which one kernel sorts: those of each width
        dl.sort(dl.empty((1000,), dtype=name, device="cuda"))


def random(dl):
    """Random numbers."""
    generator = dl.random.Generator(1)
    for name in ("float32", "float64"):
        generator.random((1000,), dtype=name, device="cuda")
        dl.arange(1000, dtype=name, device="cuda")
        generator.normal(0.0, 1.0, (1000,), dtype=name, device="cuda")


# Not index arrays and masks: those calls wait for what their kernels find, and kernels do not run here.
PARTS = {part.__name__: part for part in (elementwise, copies, reductions, random)}


def compile_calls(architecture, cache, parts):
    """Compile what the calls need into a kernel cache of its own."""
    import dltensor as dl
    from dltensor.testing import hostcuda

    hostcuda.load(capability=int(architecture), launches=False)  # built once, in the cache of all
    os.environ["DLTENSOR_CACHE_DIR"] = str(cache)
    for part in parts:
        PARTS[part](dl)


# -- the wheel ---------------------------------------------------------------------------------------------------------
def compile_for(architecture, cache, parts):
    """Run the calls in a process of their own; return the folder of kernels."""
    done = subprocess.run(
        [sys.executable, __file__, "calls", "--parts", *parts, "--", architecture, str(cache / architecture)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"cuda_kernels: exit {done.returncode} for sm_{architecture}\n{done.stderr[-4000:]}")
    return cache / architecture / "cuda"


def maker_of(kernels):
    """The major version of the NVRTC that made them."""
    return kernels[0].stem.partition("-")[2].partition(".")[0]


def build(architectures, folder, parts):
    """Compile the kernels of all architectures and pack them."""
    import dltensor as dl

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        cache, tree = Path(work) / "cache", Path(work) / "tree"
        # NVRTC compiles in one thread.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = list(pool.map(lambda architecture: compile_for(architecture, cache, parts), architectures))
        count = 0
        for place in compiled:
            kernels = list(place.glob("*.kernel"))  # KEY-MAJOR.MINOR.kernel, of one NVRTC
            for path in [*kernels, *place.glob("*.code")]:
                target = tree / PACKAGE / maker_of(kernels) / f"{path.stem.partition('-')[0]}{path.suffix}"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            count += len(kernels)
        if count == 0:
            sys.exit("cuda_kernels: nothing was compiled; is NVRTC installed (pip install nvidia-cuda-nvrtc)?")
        words = {"version": dl.__version__, "architectures": ", ".join(f"{int(a) / 10:.1f}" for a in architectures)}
        (tree / PACKAGE / "__init__.py").write_text(INIT.format(**words))
        info = tree / f"{PACKAGE}-{dl.__version__}.dist-info"
        (info / "licenses").mkdir(parents=True)
        (info / "METADATA").write_text(METADATA.format(**words))
        (info / "WHEEL").write_text(WHEEL)
        shutil.copyfile(ROOT / "LICENSE", info / "licenses" / "LICENSE")
        subprocess.run(
            [sys.executable, "-m", "wheel", "pack", "-d", str(folder), str(tree)],
            env={"SOURCE_DATE_EPOCH": "315532800"} | os.environ,  # 1980, the first that a zip file can say
            stdout=subprocess.DEVNULL,
            check=True,
        )
    wheel = folder / f"{PACKAGE}-{dl.__version__}-py3-none-any.whl"
    print(f"cuda_kernels: {count} kernels, {len(architectures)} architectures, {wheel.stat().st_size:,} bytes: {wheel}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    build_command, calls_command = commands.add_parser("build"), commands.add_parser("calls")
    for command in (build_command, calls_command):
        command.add_argument(
            "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which calls; all unless given"
        )
    build_command.add_argument("architectures", nargs="*", default=ARCHITECTURES, metavar="ARCHITECTURE")
    build_command.add_argument("--folder", type=Path, default=ROOT / "build" / "wheels" / "cuda-kernels")
    calls_command.add_argument("architecture")
    calls_command.add_argument("cache", type=Path)
    options = parser.parse_args()
    if options.command == "build":
        build(options.architectures, options.folder, options.parts)
    else:
        compile_calls(options.architecture, options.cache, options.parts)


if __name__ == "__main__":
    main()
