#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything about the package that only a card can tell, with nothing built there, in two runs that together take 15 minutes with
# the starts of a machine. Run it in a folder made by tools/gpu_pack.sh, or in a checkout (then it builds).
#
#   OUT=results PYTHON=python3 ./gpu_check.sh a | b
#
#   a  290 s  correctness, PyTorch and CuPy, lifetimes, launch settings, a benchmark of what matters most. If the smoke test fails,
#             only the probe runs.
#   b  320 s  after mending and packing again: RED (tests that were red in a), Nsight Compute of eight functions, a benchmark of
#             CHANGED (names of steps of gpu_bench.py) with the earlier wheel of the pack and with this one, the other steps,
#             races between streams. SANITIZE="permuted or batches" runs compute-sanitizer on those tests of the engine.
#
# ONLY="engine streams" runs these stages of the call alone, LIMIT=seconds sets another limit. Stages of tests run beside each
# other: a card is mostly idle during them; benchmarks run alone.
#
# REHEARSE=1 runs it on the host driver, which compiles kernels with g++, without limits. HOSTCUDA_CACHE=folder has the
# driver and compiled kernels of earlier runs on it. With HOSTCUDA_LAUNCHES=off no kernel runs and none is compiled: all commands of the
# script are tried in minutes, and what asserts values is red.
#
# $OUT gets verdict.txt, probe.txt, bench.json (tools/gpu_bench.py --fold $OUT), cupy.tgz (what CuPy has compiled: put it into the
# pack for the next run) and logs.tgz, whatever happens. A stage is red when a command fails, when a test failed, when no test
# passed, or when more were skipped than passed. The card's settings are left alone.
set -u -o pipefail
CALL=${1:-a}
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=$(realpath -m "${OUT:-gpu_check_out}")
PYTHON=${PYTHON:-python3}
AT=${AT:-/var/tmp/dltensor-gpu}
SITE=$AT/site
LOGS=$AT/logs
START=$(date +%s)
case $CALL in
  a) LIMIT=${LIMIT:-290} ;;
  b) LIMIT=${LIMIT:-320} ;;
  *) echo "gpu_check: expected a or b, got $CALL"; exit 2 ;;
esac
[ -z "${REHEARSE:-}" ] || LIMIT=36000
mkdir -p "$OUT" "$LOGS" "$SITE"
rm -f "$LOGS"/*
: > "$OUT/verdict.txt"

report() { printf '%-10s rc %-4s %4ss  %s\n' "$@" >> "$OUT/verdict.txt"; }
finish() {
  tar czf "$OUT/logs.tgz" -C "$LOGS" . 2>/dev/null
  cp "$LOGS"/probe.txt "$LOGS"/bench.json "$OUT" 2>/dev/null
  [ ! -d "$AT/cupy" ] || tar czf "$OUT/cupy.tgz" -C "$AT" cupy
  grep -qE ' rc 0 ' "$OUT/verdict.txt" || report none 1 0 "no stage passed"
  echo
  cat "$OUT/verdict.txt"
}
trap finish EXIT
trap 'report stopped 143 0 "from outside"; kill $(jobs -p) 2>/dev/null; exit 143' TERM INT HUP
left() { echo $((LIMIT - ($(date +%s) - START))); }

# Count the results of a stage by its junit file: the text of pytest depends on its options.
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
  [ -z "${REHEARSE:-}" ] || limit=$((limit * 60))
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

install() { "$PYTHON" -m pip install -q --disable-pip-version-check --no-index --no-deps --no-compile --upgrade --target "$@"; }
unpack() {
  if [ -e "$HERE/tree.tar.xz" ]; then
    mkdir -p "$AT/tree" "$SITE/cache" && chmod 700 "$SITE/cache" && tar xJf "$HERE/tree.tar.xz" -C "$AT/tree" || return 1
    tar xJf "$HERE/engine.tar.xz" -C "$AT" && install "$SITE" "$HERE"/dltensor-*.whl || return 1
    [ ! -d "$HERE/before" ] || install "$AT/before" "$HERE"/before/dltensor-*.whl || return 1
    [ ! -e "$HERE/cupy.tgz" ] || tar xzf "$HERE/cupy.tgz" -C "$AT" || return 1
    for part in "$HERE" "$HERE/before"; do
      [ ! -e "$part/kernels.tar.xz" ] || tar xJf "$part/kernels.tar.xz" --no-same-owner -C "$SITE/cache" || return 1
    done
    # In the cache they count for the version of the compiler that made them, in the package for all of its major version.
    "$PYTHON" - "$SITE" <<'PACKAGE' || return 1
import os, sys
from pathlib import Path

site = Path(sys.argv[1])
package = site / "dltensor_cuda_kernels"
kernels, code = (list((site / "cache/cuda").glob(f"*.{kind}")) for kind in ("kernel", "code"))
makers = {path.stem.partition("-")[2].partition(".")[0] for path in kernels}  # KEY-MAJOR.MINOR.kernel
for maker in makers:
    (package / maker).mkdir(parents=True, exist_ok=True)
links = [(path, package / maker / path.name) for path in code for maker in makers]
for path in kernels:
    key, _, maker = path.stem.partition("-")
    links.append((path, package / maker.partition(".")[0] / (key + ".kernel")))
for path, target in links:
    target.exists() or os.link(path, target)
package.mkdir(exist_ok=True)
(package / "__init__.py").touch()
print(len(kernels), "kernels")
PACKAGE
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
  "$PYTHON" -m pip list --disable-pip-version-check 2>/dev/null |
    grep -iE '^(torch|cupy|jax|numba|cuda-|nvidia-|numpy|ml.dtypes|pytest|hypothesis) ' || true
  for tool in compute-sanitizer ncu nvdisasm g++; do command -v $tool || echo "no $tool"; done
}
SMOKE='
import dltensor as dl
print(dl.cuda.properties(0))
x = dl.arange(6, dtype="float32").to("cuda")
print((x + x).tolist(), dl.cuda.memory_stats())
from dltensor.cuda import _driver
print("kernels compiled, from disk, refused, seconds:", _driver.compiled(), [_driver.loaded_from(i) for i in range(3)])
import os
assert os.environ.get("HOSTCUDA_LAUNCHES") == "off" or (x + x).tolist() == [0, 2, 4, 6, 8, 10]
'
export -f unpack install describe
export HERE AT SITE PYTHON
stage unpack 60 bash -c unpack || exit 1
PATH=$(dirname "$("$PYTHON" -c 'import sys; print(sys.executable)')"):$PATH
export PATH PYTHONPATH=$SITE DLTENSOR_CACHE_DIR=$SITE/cache DLTENSOR_TEST_CACHE=$AT/tests DLTENSOR_TEST_GPU=1 PYTHONUNBUFFERED=1
export CUPY_CACHE_DIR=$AT/cupy
# Plugins of the machine's own may warn, and a warning is an error here.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
cd "$AT/tree/" || exit 1
RANDOM_CALLS="--seconds 30"
BENCH="--peers torch --rounds 5"
CARD=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null || echo "no card")
FILE=$(grep -l "$CARD" benchmarks/results/nvidia-*.json)
[ -z "$FILE" ] || BENCH="$BENCH --against $FILE"
if [ -n "${REHEARSE:-}" ]; then  # the host driver as libcuda.so.1
  eval "$(DLTENSOR_TEST_CACHE=${HOSTCUDA_CACHE:-$DLTENSOR_TEST_CACHE} "$PYTHON" tools/gpu_rehearse.py)"
  [ -z "${NVRTC:-}" ] || export DLTENSOR_CUDA_NVRTC=$NVRTC
  BENCH="--size $((1 << 24)) --rounds 1 --peers none"
  RANDOM_CALLS="--calls 20 --most 2000"
fi
[ ! -e "$HERE/commit" ] || BENCH="$BENCH --commit $(cat "$HERE/commit")"

# `-o addopts=`: the project's own -q beside another would leave out pytest's summary, and what else it adds is not wanted here.
ONE=("$PYTHON" -m pytest -p no:cacheprovider -o addopts= --strict-markers --tb short --maxfail 60)
MANY=("${ONE[@]}")
"$PYTHON" -c 'import xdist' 2>/dev/null && MANY+=(-p xdist -n "$([ -n "${REHEARSE:-}" ] && echo 2 || echo 4)")
ENGINE=(tests/cuda/test_cuda_elements.py tests/cuda/test_cuda_moves.py tests/cuda/test_cuda_launch.py)
TENSORS=(tests/cuda/test_tensor_cuda.py tests/cuda/test_tensor_products.py tests/cuda/test_reproducible_products.py
  tests/cuda/test_tensor_short.py
  tests/cuda/test_cuda_rows.py tests/cuda/test_cuda_shapes.py)
FUNCTIONS=(tests/cuda/test_cuda_reductions.py tests/cuda/test_cuda_scans.py tests/cuda/test_cuda_random.py
  tests/cuda/test_tensor_gathers.py tests/cuda/test_tensor_masks.py tests/cuda/test_tensor_scatters.py
  tests/cuda/test_tensor_sorts.py tests/cuda/test_user_kernels.py)
MATRICES=(tests/cuda/test_tensor_counts.py tests/cuda/test_tensor_linalg.py tests/cuda/test_tensor_fft.py)  # cuSOLVER, cuFFT
STREAMS=(tests/cuda/test_cuda_memory.py tests/cuda/test_cuda_captures.py)
PEERS=(tests/cuda/test_cuda_card.py)
# Where these fail, the context is lost for all tests of the process.
LIFETIMES=(tests/cuda/test_card_lifetimes.py tests/cuda/test_tensor_alignment.py)
# Files that other stages do not name.
for file in $(grep -lE 'pytest\.mark\.gpu' tests/cuda/test_*.py); do
  named=" ${ENGINE[*]} ${TENSORS[*]} ${FUNCTIONS[*]} ${MATRICES[*]} ${STREAMS[*]} ${PEERS[*]} ${LIFETIMES[*]} "
  case "$named tests/cuda/test_gpu_check.py " in *" $file "*) ;; *) TENSORS+=("$file") ;; esac
done
# It keeps the frames of Python that launch kernels, and with them their tensors.
SANITIZER=(env DLTENSOR_TEST_KEEPS_FRAMES=1 compute-sanitizer --error-exitcode 9 --print-limit 5 --target-processes all)
# Beside the next ones, until `wait`; a rehearsal has too few processors for that.
beside() { if [ -n "${REHEARSE:-}" ]; then "$@"; else "$@" & fi; }
tests() {  # NAME SECONDS COMMAND-ARRAY... : a stage of pytest
  local name=$1 limit=$2
  shift 2
  stage "$name" "$limit" "$@" --junitxml="$LOGS/$name.xml" -rs
}
sanitizer() {  # TOOL SECONDS WHICH
  command -v compute-sanitizer > /dev/null || { report "$1" 0 0 "compute-sanitizer is not installed"; return; }
  tests "$1" "$2" "${SANITIZER[@]}" --tool "$1" "${ONE[@]}" "${ENGINE[@]:0:2}" -k "$3"
}
races() {  # SECONDS
  command -v compute-sanitizer > /dev/null || { report races 0 0 "compute-sanitizer is not installed"; return; }
  stage races "$1" "${SANITIZER[@]}" --tool memcheck --track-stream-ordered-races all "$PYTHON" -c '
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
bench() {  # NAME SECONDS OPTIONS...: rows go to NAME.json
  local name=$1 limit=$2
  shift 2
  [ "$limit" -le $(($(left) - 5)) ] || limit=$(($(left) - 5))
  stage "$name" "$limit" "$PYTHON" tools/gpu_bench.py $BENCH --budget $((limit - 8)) --json "$LOGS/$name.json" "$@"
}

stage machine 20 bash -c describe
beside stage probe 60 "$PYTHON" tools/gpu_probe.py
stage smoke 40 "$PYTHON" -c "$SMOKE" || { wait; exit 1; }
MATTERS=(composed sorts scans reductions gathers masks statistics matrices selections creation latencies)
case $CALL in
  a)
    beside tests engine 95 "${MANY[@]}" "${ENGINE[@]}"
    beside tests streams 95 "${ONE[@]}" "${STREAMS[@]}"
    beside tests tensors 95 "${MANY[@]}" -m gpu "${TENSORS[@]}"
    beside tests functions 95 "${MANY[@]}" -m gpu "${FUNCTIONS[@]}"
    beside tests matrices 95 "${MANY[@]}" -m gpu "${MATRICES[@]}"
    beside tests cases 95 "${MANY[@]}" --device cuda tests/cases tests/test_special_cases.py
    for seed in 1 2; do beside stage "random$seed" 60 "$PYTHON" tools/gpu_random.py --seed "$seed" $RANDOM_CALLS; done
    wait
    beside tests peers 40 "${MANY[@]}" -m gpu "${PEERS[@]}"
    beside tests lifetimes 40 "${MANY[@]}" -m gpu "${LIFETIMES[@]}"
    wait
    bench launches 20 --launches
    bench bench "$(left)" --only "${MATTERS[@]}" ""
    ;;
  b)
    [ -z "${RED:-}" ] || beside tests red 60 "${MANY[@]}" $RED
    beside races 60
    if [ -n "${SANITIZE:-}" ]; then
      for tool in memcheck racecheck; do beside sanitizer $tool 60 "$SANITIZE"; done
    fi
    wait
    if command -v ncu > /dev/null; then
      stage ncu 60 ncu --clock-control none --set basic --profile-from-start off --csv --page raw \
        "$PYTHON" tools/gpu_bench.py --once
    else
      report ncu 0 0 "ncu is not installed"
    fi
    # Twice each, in turn: what differs between two runs of the same wheel is noise.
    if [ -n "${CHANGED:-}" ] && [ -d "$AT/before" ]; then
      for turn in 1 2; do
        PYTHONPATH=$AT/before:$SITE bench before$turn 40 --peers none --only $CHANGED
        bench after$turn 40 --peers none --only $CHANGED --against "$LOGS/before$turn.json"
      done
    fi
    bench bench "$(left)" --only ${CHANGED:-} ""
    ;;
esac
! grep -qE ' rc +[1-9]' "$OUT/verdict.txt"
