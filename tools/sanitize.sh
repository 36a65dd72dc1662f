#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The light tests under AddressSanitizer and UndefinedBehaviorSanitizer. The package is built apart, beside the other one.
set -eu
venv=$(realpath "${1:-.venv}")
python=$venv/bin/python
here=$(realpath "$(dirname "$0")/..")
place=$here/build/sanitized
mkdir -p "$place"
cd "$here"
if [ ! -d "$place/build" ]; then
    PATH="$venv/bin:$PATH" meson setup "$place/build" . --prefix="$place/prefix" -Dpython.install_env=prefix \
        -Dbuildtype=debugoptimized -Db_ndebug=false -Db_sanitize=address,undefined -Db_lundef=false \
        -Dcpp_args=-fno-sanitize-recover=undefined >"$place/setup.log" || { cat "$place/setup.log"; exit 1; }
fi
PATH="$venv/bin:$PATH" meson compile -C "$place/build" >"$place/compile.log" || { tail -40 "$place/compile.log"; exit 1; }
PATH="$venv/bin:$PATH" meson install -C "$place/build" --quiet
site=$(find "$place/prefix" -type d -name dltensor -path '*-packages*' | head -n 1)
[ -n "$site" ] || { echo "sanitize: the build installed no package"; exit 1; }
# Not tests/opaque and tests/cuda, which build sanitized programs of their own, nor tests/conformance, whose planted defects
# break what a sanitizer guards. A copy of the tests, so that the sources beside them are found and the other package is not.
libraries="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
env LD_PRELOAD="$libraries" PYTHONPATH="$(dirname "$site")" PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:abort_on_error=1 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 DLTENSOR_SANITIZED=1 \
    "$python" -m pytest tests -m "not peers and not gpu" -p no:cacheprovider \
    --ignore tests/opaque --ignore tests/cuda --ignore tests/conformance ${PYTEST_ARGS:-}
echo "sanitize: the light tests passed under AddressSanitizer and UndefinedBehaviorSanitizer"
