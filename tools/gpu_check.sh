#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything about the package that only a card can tell, with nothing built there: run it in a folder made by
# tools/gpu_pack.sh, or in a checkout (then it builds).
#
#   OUT=results PYTHON=python3 ./gpu_check.sh [all | a | b | c]
#
#   a    what the driver does, correctness, random calls, PyTorch and CuPy, sanitizers, a short benchmark  10 minutes
#   b    PyTorch and CuPy again, every goal beside peers                                     10 minutes
#   c    launch variants, and Nsight Compute of eight kernels                                10 minutes
#   all  a and b, without sanitizers                                                         10 minutes (LIMIT=seconds for another)
#
# Plans: 10 minutes: all. 30 minutes: a, read, b, half of c. 45 minutes: a, read and mend, b, c, then b again with what
# c showed. The benchmark of b takes bandwidth first, then reductions, running sums, masks, index arrays and sorts, then products:
# what does not fit is named at its end, and `gpu_bench.py --budget 500` by itself takes all of it. If a's smoke test fails, spend the time on the probe's answers and not on benchmarks.
#
# ONLY="engine streams" runs these stages of the call alone. Stages of tests, and those of a sanitizer, run beside each other: a card
# is mostly idle during them; benchmarks run alone.
#
# REHEARSE=1 runs it on the host driver, which compiles kernels with g++, with thirty times the limits. HOSTCUDA_CACHE=folder names
# the compiled kernels of earlier runs on it; LIMIT_REHEARSE=seconds, 3600 unless given, is then the limit of all.
#
# $OUT gets verdict.txt, probe.txt, bench.json and logs.tgz, whatever happens. A stage is red when a command fails, when a test
# failed, when no test passed, or when more were skipped than passed. The card's settings are left alone.
set -u -o pipefail
CALL=${1:-all}
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=$(realpath -m "${OUT:-gpu_check_out}")
PYTHON=${PYTHON:-python3}
AT=${AT:-/var/tmp/dltensor-gpu}
SITE=$AT/site
LOGS=$AT/logs
START=$(date +%s)
LIMIT=${LIMIT:-570}
mkdir -p "$OUT" "$LOGS" "$SITE"
rm -f "$LOGS"/*
: > "$OUT/verdict.txt"

report() { printf '%-10s rc %-4s %4ss  %s\n' "$@" >> "$OUT/verdict.txt"; }
finish() {
  tar czf "$OUT/logs.tgz" -C "$LOGS" . 2>/dev/null
  cp "$LOGS/probe.txt" "$LOGS/bench.json" "$OUT" 2>/dev/null
  grep -qE ' rc 0 ' "$OUT/verdict.txt" || report none 1 0 "no stage passed"
  echo
  cat "$OUT/verdict.txt"
}
trap finish EXIT
trap 'report stopped 143 0 "from outside"; kill $(jobs -p) 2>/dev/null; exit 143' TERM INT HUP
left() { echo $((LIMIT - ($(date +%s) - START))); }

# What the tests of a stage came to, from its junit file: no words of pytest are parsed, which its options change.
cat > "$AT/count.py" <<'COUNT'
import sys
import xml.etree.ElementTree as tree

try:
    suites = list(tree.parse(sys.argv[1]).getroot().iter("testsuite"))
except (OSError, tree.ParseError) as error:
    print(f"no report: {error}")
    sys.exit(3)
total, failed, errors, skipped = (sum(int(s.get(k, 0)) for s in suites) for k in ("tests", "failures", "errors", "skipped"))
passed = total - failed - errors - skipped
print(f"{passed} passed, {failed} failed, {errors} errors, {skipped} skipped")
sys.exit(1 if failed or errors else 5 if not passed else 6 if skipped > passed else 0)
COUNT

# stage NAME SECONDS COMMAND...: a row of the verdict. Run in the background and waited for, so that a signal is heard.
stage() {
  local name=$1 limit=$2 began code words=""
  shift 2
  case " unpack smoke ${ONLY:-$name} " in *" $name "*) ;; *) return 0 ;; esac
  [ -z "${REHEARSE:-}" ] || limit=$((limit * 30))
  [ "$limit" -le $(($(left) - 5)) ] || limit=$(($(left) - 5))
  if [ "$limit" -lt 5 ]; then
    report "$name" 124 0 "no time was left"
    return 124
  fi
  began=$(date +%s)
  printf '[%4ds] --- %s (limit %ss)\n' $((began - START)) "$name" "$limit"
  rm -f "$LOGS/$name.xml"
  timeout -k 5 "$limit" "$@" > "$LOGS/$name.txt" 2>&1 &
  wait $!
  code=$?
  case " $* " in
    *" --junitxml=$LOGS/$name.xml "*)
      words=$("$PYTHON" "$AT/count.py" "$LOGS/$name.xml")
      local counted=$?
      [ "$code" -ne 0 ] || code=$counted
      ;;
    *) words=$(tail -n 1 "$LOGS/$name.txt" | cut -c1-110) ;;
  esac
  tail -n 15 "$LOGS/$name.txt" | cut -c1-300
  report "$name" "$code" $(($(date +%s) - began)) "$words"
  return "$code"
}

unpack() {
  if [ -e "$HERE/tree.tar.xz" ]; then
    mkdir -p "$AT/tree" && tar xJf "$HERE/tree.tar.xz" -C "$AT/tree" || return 1
    tar xJf "$HERE/engine.tar.xz" -C "$AT" && tar xJf "$HERE/kernels.tar.xz" -C "$AT" || return 1
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-index --no-deps --upgrade --target "$SITE" "$HERE"/dltensor-*.whl ||
      return 1
    # As the package of compiled kernels: those count for every minor version of the compiler.
    mkdir -p "$SITE/dltensor_cuda_kernels" && touch "$SITE/dltensor_cuda_kernels/__init__.py" &&
      cp -r "$AT"/kernels/. "$SITE/dltensor_cuda_kernels"
  else
    ln -sfn "$(cd "$HERE/.." && pwd)" "$AT/tree"
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --upgrade --target "$SITE" "$AT/tree/" ||
      return 1
  fi
}
describe() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv,noheader || true
  uname -r
  "$PYTHON" -VV
  g++ --version | head -1
  "$PYTHON" -m pip list --disable-pip-version-check 2>/dev/null |
    grep -iE '^(torch|cupy|jax|numba|cuda-|nvidia-|numpy|ml.dtypes|pytest|hypothesis) ' || true
  for tool in compute-sanitizer ncu nvdisasm; do command -v $tool || echo "no $tool"; done
}
SMOKE='
import dltensor as dl
print(dl.cuda.properties(0))
x = dl.arange(6, dtype="float32").to("cuda")
print((x + x).tolist(), dl.cuda.memory_stats())
from dltensor.cuda import _driver
print("kernels compiled, from disk, refused, seconds:", _driver.compiled(), [_driver.loaded_from(i) for i in range(3)])
assert (x + x).tolist() == [0, 2, 4, 6, 8, 10]
'
export -f unpack describe
export HERE AT SITE PYTHON
[ -z "${REHEARSE:-}" ] || LIMIT=${LIMIT_REHEARSE:-3600}
stage unpack 200 bash -c unpack || exit 1
PATH=$(dirname "$("$PYTHON" -c 'import sys; print(sys.executable)')"):$PATH
export PATH PYTHONPATH=$SITE DLTENSOR_CACHE_DIR=$SITE/cache DLTENSOR_TEST_CACHE=$AT/tests DLTENSOR_TEST_GPU=1 PYTHONUNBUFFERED=1
# Plugins of the machine's own may warn, and a warning is an error here.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
cd "$AT/tree/" || exit 1
RANDOM_CALLS="--seconds 30"
if [ -n "${REHEARSE:-}" ]; then  # the host driver as libcuda.so.1
  eval "$("$PYTHON" tools/gpu_rehearse.py)"
  BENCH="--size 65536 --rounds 1"
  RANDOM_CALLS="--calls 20 --most 2000"
fi

# `-o addopts=`: the project's own -q beside another would leave out pytest's summary, and what else it adds is not wanted here.
ONE=("$PYTHON" -m pytest -p no:cacheprovider -o addopts= --strict-markers --tb short --maxfail 60)
MANY=("${ONE[@]}")
"$PYTHON" -c 'import xdist' 2>/dev/null && MANY+=(-p xdist -n 4)
ENGINE=(tests/cuda/test_cuda_elements.py tests/cuda/test_cuda_moves.py tests/cuda/test_cuda_launch.py)
TENSORS=(tests/cuda/test_tensor_cuda.py tests/cuda/test_tensor_products.py tests/cuda/test_tensor_short.py
  tests/cuda/test_cuda_rows.py tests/cuda/test_cuda_shapes.py)
FUNCTIONS=(tests/cuda/test_cuda_reductions.py tests/cuda/test_cuda_scans.py tests/cuda/test_cuda_random.py
  tests/cuda/test_tensor_gathers.py tests/cuda/test_tensor_masks.py tests/cuda/test_tensor_scatters.py
  tests/cuda/test_tensor_sorts.py tests/cuda/test_user_kernels.py)
MATRICES=(tests/cuda/test_tensor_counts.py tests/cuda/test_tensor_linalg.py tests/cuda/test_tensor_fft.py)  # cuSOLVER, cuFFT
STREAMS=(tests/cuda/test_cuda_memory.py tests/cuda/test_cuda_captures.py)
# It keeps the frames of Python that launch kernels, and with them their tensors.
SANITIZE=(env DLTENSOR_TEST_KEEPS_FRAMES=1 compute-sanitizer --error-exitcode 9 --print-limit 5 --target-processes all)
# Beside the next ones, until `wait`; a rehearsal has too few processors for that.
beside() { if [ -n "${REHEARSE:-}" ]; then "$@"; else "$@" & fi; }
tests() {  # NAME SECONDS COMMAND-ARRAY... : a stage of pytest
  local name=$1 limit=$2
  shift 2
  stage "$name" "$limit" "$@" --junitxml="$LOGS/$name.xml" -rs
}
sanitizer() {  # TOOL SECONDS WHICH
  command -v compute-sanitizer > /dev/null || { report "$1" 0 0 "compute-sanitizer is not installed"; return; }
  tests "$1" "$2" "${SANITIZE[@]}" --tool "$1" "${ONE[@]}" "${ENGINE[@]:0:2}" -k "$3"
}
races() {  # SECONDS
  command -v compute-sanitizer > /dev/null || { report races 0 0 "compute-sanitizer is not installed"; return; }
  stage races "$1" "${SANITIZE[@]}" --tool memcheck --track-stream-ordered-races all "$PYTHON" -c '
import dltensor as dl
dl.cuda.set_cache_limit(0)
x = dl.ones((5000,), device="cuda")
for i in range(30):
    with dl.cuda.Stream():
        y = x + i
    z = y * 2
    del y
print(z.tolist()[:2])'
}
bench() { stage bench "$1" "$PYTHON" tools/gpu_bench.py --budget $(($1 > $(left) ? $(left) - 15 : $1 - 10)) --json "$LOGS/bench.json" ${BENCH:-} "${@:2}"; }

stage machine 20 bash -c describe
stage smoke 40 "$PYTHON" -c "$SMOKE"
SMOKE_CODE=$?
stage probe 60 "$PYTHON" tools/gpu_probe.py
[ "$SMOKE_CODE" -eq 0 ] || exit 1
case $CALL in
  a | all)
    beside tests engine 200 "${MANY[@]}" "${ENGINE[@]}"
    beside tests streams 200 "${ONE[@]}" "${STREAMS[@]}"
    beside tests tensors 200 "${MANY[@]}" -m gpu "${TENSORS[@]}"
    beside tests functions 200 "${MANY[@]}" -m gpu "${FUNCTIONS[@]}"
    beside tests matrices 200 "${MANY[@]}" -m gpu "${MATRICES[@]}"
    beside tests cases 200 "${MANY[@]}" --device cuda tests/cases tests/test_special_cases.py
    for seed in 1 2 3; do beside stage "random$seed" 60 "$PYTHON" tools/gpu_random.py --seed "$seed" $RANDOM_CALLS; done
    ;;&
  a | b | all)
    beside tests peers 200 "${ONE[@]}" -m gpu tests/cuda/test_cuda_card.py
    wait
    ;;&
  a)
    [ -n "${REHEARSE:-}" ] || beside stage large 90 "$PYTHON" tools/gpu_random.py --seconds 0 --large
    beside sanitizer memcheck 90 "views or broadcasting or permuted or batches or widths"
    beside sanitizer racecheck 90 "permuted or batches or product"
    beside sanitizer initcheck 90 "permuted or batches or widths"
    beside sanitizer synccheck 90 "permuted or batches"
    beside races 90
    wait
    bench 110 --short
    ;;
  b | all) bench "$(left)" ;;
  c)
    stage launches 240 "$PYTHON" tools/gpu_bench.py --launches --budget 230 --json "$LOGS/launches.json"
    if command -v ncu > /dev/null; then
      stage ncu 240 ncu --clock-control none --set basic --launch-count 24 --csv "$PYTHON" tools/gpu_bench.py --once
    else
      report ncu 0 0 "ncu is not installed"
    fi
    ;;
esac
! grep -qE ' rc +[1-9]' "$OUT/verdict.txt"
