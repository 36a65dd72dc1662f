# SPDX-License-Identifier: Apache-2.0
"""Run array-api-tests, from a checkout with its submodule, on our namespace.

python -m tools array_api_suite [--examples 20] [--device cuda] FOLDER [TEST ...]     CUDA tensors are on the emulator
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("tests", nargs="*", default=["array_api_tests"])
    parser.add_argument("--examples", default="20")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    on_cuda = options.device.startswith("cuda")
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "tests"),
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "ARRAY_API_TESTS_MODULE": "array_api_on_cuda" if on_cuda else "dltensor",
    }
    command = [sys.executable, "-m", "pytest", *options.tests, "--max-examples", options.examples, "-q"]
    # A deadline would measure the load of the machine, and the compilation of kernels at their first use.
    command += ["-p", "no:cacheprovider", "--disable-warnings", "--disable-deadline"]
    if on_cuda:
        command += ["--xfails-file", str(ROOT / "tests/array_api_on_cuda_xfails.txt"), "-o", "xfail_strict=true"]
    sys.exit(subprocess.run(command, cwd=options.folder, env=environment).returncode)


if __name__ == "__main__":
    main()
