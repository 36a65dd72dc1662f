# SPDX-License-Identifier: Apache-2.0
"""Run all benchmarks, draw their pictures in build/bench and append the ratios to benchmarks/results."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path("build/bench")
RECORDED = ("exchange", "call", "elementwise", "layout", "indexing", "gemm", "reductions", "fuse", "quantize")
# Name, whether it draws, further options.
BENCHMARKS = [
    ("exchange", False), ("call", True), ("functions", False, "--seconds", "0.1"), ("elementwise", True), ("memory", False),
    ("layout", True), ("indexing", True), ("gemm", True), ("reductions", True), ("files", True), ("linalg", True),
    ("fft", False), ("fuse", True), ("quantize", True),
]  # fmt: skip


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name, draws, *options in BENCHMARKS:
        command = [sys.executable, str(HERE / f"bench_{name}.py"), *options, "--json", str(OUT / f"{name}.json")]
        if subprocess.run(command + (["--plot", str(OUT / f"{name}.png")] if draws else [])).returncode:
            failed.append(name)
    record = [
        sys.executable,
        str(HERE / "record.py"),
        *[str(OUT / f"{name}.json") for name in RECORDED if name not in failed],
    ]
    if subprocess.run(record).returncode:
        failed.append("record")
    sys.exit(f"bench: failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
