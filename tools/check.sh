#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Style, types and stubs: what a reviewer should not have to say.
set -eu
bin=$(realpath "${1:-.venv}")/bin
cd "$(dirname "$0")/.."
PATH="$bin:$PATH" # cython-lint calls pycodestyle, pyright calls node
stubs="src/dltensor/*.pyi src/dltensor/typing.py"

ruff check src tests benchmarks tools examples fuzz
ruff format --check --quiet src tests benchmarks tools examples fuzz
cython-lint src/dltensor/*.pyx src/dltensor/*.pxd src/dltensor/*.pxi
echo "cython-lint: $(ls src/dltensor/*.pyx src/dltensor/*.pxd src/dltensor/*.pxi | wc -l) files pass"
python tools/stubs.py --check
python tools/operations.py --check
MYPYPATH=src mypy --follow-imports=silent $stubs
mypy --python-executable "$bin/python" tests/typing/uses.py # as users meet the stubs: in the installed package
pyright --pythonpath "$bin/python" $stubs tests/typing/uses.py
