# SPDX-License-Identifier: Apache-2.0
"""Run the light tests with the instructions of older processors.

python -m tools levels [--part K/N] [LEVEL ...]     v2 and v3 by default; a part is one test of N
"""

import argparse
import os
import subprocess
import sys

from wheels import NOT_LIGHT

import dltensor as dl

# Tests that read no instruction set, or that run under each by themselves.
LEVEL_FREE_FOLDERS = ("engine", "opaque", "faults")
LEVEL_FREE = """
abi adapt architecture arrow bench call_errors calls_fuzzer checks clang_format cli commit_message counters data_types
debug demo devices dlpack docs docstrings documented_calls documented_errors duck_arrays every_producer faults
faults_kit file_objects files files_fuzzer files_hostile fill_docstrings foreign_operands free_threading headers html
indexing inspect inspect_facts interpreters layout masks memory mutate native_sources native_tools numbers
operand_lifetime outside package pages pickle protocols public_functions public_reports quirks random_statistics
read_once shared signals site spelling_rows spellings stubs terminal tools torch_ownership typed_lines validate views
wheels words
"""


def ignored():
    """Return the paths of the tests that are left out."""
    names = [*NOT_LIGHT, *LEVEL_FREE_FOLDERS, *(f"test_{name}.py" for name in LEVEL_FREE.split())]
    return [f"tests/{name}" for name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("levels", nargs="*")
    parser.add_argument("--part")
    options = parser.parse_args()
    command = [sys.executable, "-m", "pytest", "-m", "not peers and not gpu", "tests"]
    command += [f"--ignore={path}" for path in ignored()] + ([f"--part={options.part}"] if options.part else [])
    for level in options.levels or ("v2", "v3"):
        if level == dl.cpu_features()["used"]:
            print(f"levels: {level} is the level that make test uses on this processor", flush=True)
        elif status := subprocess.run(command, env=os.environ | {"DLTENSOR_CPU": level}).returncode:
            sys.exit(status)


if __name__ == "__main__":
    main()
