#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel and tries it as a user has it: in an empty environment with no compiler, no build tool and no NumPy on
# the way, then with the extra that README names. Usage: tools/wheel.sh VENV BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath "$1")
folder=$PWD/build/wheel
rm -rf "$folder"
mkdir -p "$folder"
PATH="$venv/bin:$PATH" "$venv/bin/python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    -Cbuild-dir="$2" -w "$folder" .
"$venv/bin/python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --disable-pip-version-check --no-index "$folder"/dltensor-*.whl
"$venv/bin/python" tools/try_wheel.py "$folder" bare
"$folder/venv/bin/python" -m pip install -q --disable-pip-version-check "$(echo "$folder"/dltensor-*.whl)[numpy]"
"$venv/bin/python" tools/try_wheel.py "$folder" numpy
