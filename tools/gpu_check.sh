#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One command on a machine with a GPU: build, test, sanitize, measure, and a table of verdicts last. At most 10 minutes.
#
#   OUT=results PYTHON=python3 tools/gpu_check.sh
#
# Wheels that the machine lacks, or the package's own, may lie in .wheels/: nothing is fetched. Stages have limits of
# their own, and none may begin or last so long that the table is late; it is printed however the run ends. A stage that
# ran no test has failed. The card's settings are left alone.
set -u -o pipefail
cd "$(dirname "$0")/.."
OUT=$(realpath -m "${OUT:-gpu_check_out}")
PYTHON=${PYTHON:-python3}
SITE=$(mktemp -d)
START=$(date +%s)
LIMIT=${LIMIT:-585}
mkdir -p "$OUT"
: > "$OUT/verdict.txt"
trap 'echo; cat "$OUT/verdict.txt"' EXIT
trap 'echo "stopped      rc 143 from outside" >> "$OUT/verdict.txt"; kill $(jobs -p) 2>/dev/null; exit 143' TERM INT HUP
# meson-python calls meson by name.
PATH=$(dirname "$($PYTHON -c 'import sys; print(sys.executable)')"):$SITE/bin:$PATH
export PATH SITE PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 DLTENSOR_CACHE_DIR="$SITE/cache"
export DLTENSOR_TEST_CACHE="$SITE/tests"

left() { echo $((LIMIT - ($(date +%s) - START))); }

# What a stage says of itself: the last line of pytest's report, or of whatever it wrote.
words_of() {
  grep -aE '[0-9]+ (passed|failed|skipped|error)' "$1" | tail -n 1 | tr -d '=' | xargs -0 echo -n | head -c 90
}

# stage NAME SECONDS COMMAND...: a row of the table. The command is run in the background and waited for, so that a
# signal is heard at once.
stage() {
  local name=$1 limit=$2 began code words
  shift 2
  # Five seconds to be killed in.
  [ "$limit" -le $(($(left) - 5)) ] || limit=$(($(left) - 5))
  if [ "$limit" -lt 5 ]; then
    printf '%-12s rc 124  no time was left\n' "$name" >> "$OUT/verdict.txt"
    return 124
  fi
  began=$(date +%s)
  printf '[%4ds] --- %s (limit %ss)\n' $((began - START)) "$name" "$limit"
  timeout -k 5 "$limit" "$@" > "$OUT/$name.log" 2>&1 &
  wait $!
  code=$?
  tail -n 40 "$OUT/$name.log"
  words=$(words_of "$OUT/$name.log")
  # pytest answers 0 when all that it found was skipped.
  case $words in *skipped*) case $words in *passed*) ;; *) [ "$code" -ne 0 ] || code=5 ;; esac ;; esac
  printf '%-12s rc %-4s %4ss  %s\n' "$name" "$code" $(($(date +%s) - began)) "$words" >> "$OUT/verdict.txt"
  return "$code"
}

report_environment() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  uname -r
  "$PYTHON" -VV
  g++ --version | head -1
  "$PYTHON" -m pip list 2>/dev/null |
    grep -iE '^(torch|cupy|numba|cuda-|nvidia-cu|cython|meson|ninja|numpy|pytest) ' || true
  command -v compute-sanitizer || true
}

install_package() {
  if ls .wheels/*.whl >/dev/null 2>&1; then
    "$PYTHON" -m pip install -q --no-index --no-deps --upgrade --target "$SITE" .wheels/*.whl || return 1
  fi
  export PYTHONPATH=$SITE
  if ! (cd / && "$PYTHON" -c 'import dltensor.cuda._driver'); then
    "$PYTHON" -m pip install -q --no-build-isolation --no-deps --upgrade --target "$SITE" . || return 1
  fi
  cd / && "$PYTHON" -c 'import dltensor.cuda as c; print(c.properties(0))'
}
export -f report_environment install_package
export PYTHON

# Where everything fails, some of it tells enough.
PYTEST=(-q -p no:cacheprovider --maxfail 40 --tb short)
SANITIZER="compute-sanitizer --error-exitcode 9 --print-limit 5 --target-processes all"
stage environment 20 bash -c report_environment
stage install 120 bash -c install_package
export PYTHONPATH=$SITE
# Formulas, protocols and the whole engine against NumPy, on the card: the host driver's tests with the real one.
stage engine 120 env DLTENSOR_TEST_GPU=1 "$PYTHON" -m pytest "${PYTEST[@]}" --junitxml="$OUT/engine.xml" \
  tests/cuda/test_cuda_elements.py tests/cuda/test_cuda_moves.py tests/cuda/test_cuda_launch.py
# The marked tests, which exist only with DLTENSOR_TEST_GPU, and the CPU's tests that take --device. No test is a failure.
stage tests 90 env DLTENSOR_TEST_GPU=1 "$PYTHON" -m pytest "${PYTEST[@]}" -m gpu --junitxml="$OUT/tests.xml" tests/cuda
stage cases 90 env DLTENSOR_TEST_GPU=1 "$PYTHON" -m pytest "${PYTEST[@]}" --device cuda \
  --junitxml="$OUT/cases.xml" tests/cases tests/test_special_cases.py
if command -v compute-sanitizer >/dev/null; then
  CHOICE="views or broadcasting or permuted or batches"
  for tool in memcheck racecheck initcheck; do
    # shellcheck disable=SC2086
    stage "$tool" 45 env DLTENSOR_TEST_GPU=1 $SANITIZER --tool "$tool" "$PYTHON" -m pytest "${PYTEST[@]}" \
      tests/cuda/test_cuda_elements.py tests/cuda/test_cuda_moves.py -k "$CHOICE"
  done
else
  echo "sanitizers   not installed (compute-sanitizer)" >> "$OUT/verdict.txt"
fi
stage bench "$(left)" "$PYTHON" tools/gpu_bench.py --budget $(($(left) - 20)) --json "$OUT/bench.json"
! grep -qE 'rc +[1-9]' "$OUT/verdict.txt"
