#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The light tests under AddressSanitizer and UndefinedBehaviorSanitizer. The package is built apart, beside the other
# one.
#
#   tools/sanitize.sh [venv]            the tests
#   tools/sanitize.sh venv stress       calls by threads while shapes change, and rounds of the fuzzer of calls; both take
#                                       their rounds from STRESS_ROUNDS and CALLS
set -eu
venv=$(realpath "${1:-.venv}")
python=$venv/bin/python
here=$(realpath "$(dirname "$0")/..")
place=$here/build/sanitized
cd "$here"
rm -rf "$place/site" # what pip has put there is made anew; what was compiled stays
PATH="$venv/bin:$PATH" "$python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
    --target "$place/site" -Cbuild-dir="$place/build" -Csetup-args=-Dbuildtype=debugoptimized -Csetup-args=-Db_ndebug=false \
    -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
    -Csetup-args=-Dcpp_args=-fno-sanitize-recover=undefined .
"$venv/bin/ninja" -C "$place/build" tests/engine/engine_binding.so # which tests/engine load, sanitized too
# Not tests/opaque and the rest of tests/cuda, which build sanitized programs of their own, nor tests/conformance, whose
# planted defects break what a sanitizer guards, nor tests with other packages.
libraries="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
run() { # more of ASAN_OPTIONS, arguments of Python
    options=$1
    shift
    env LD_PRELOAD="$libraries" PYTHONPATH="$place/site" PYTHONMALLOC=malloc \
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:abort_on_error=1$options" \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 DLTENSOR_SANITIZED=1 BUILD="$place/build" \
        "$python" "$@"
}
sanitized() { # more of ASAN_OPTIONS, arguments of pytest
    options=$1
    shift
    # Not by file descriptors: a report would be lost when a sanitizer ends the process.
    run "$options" -m pytest -m "not peers and not gpu" -p no:cacheprovider --capture=sys "$@" ${PYTEST_ARGS:-}
}
if [ "${2:-tests}" = stress ]; then
    run "" fuzz/stress.py --rounds "${STRESS_ROUNDS:-40}"
    run "" fuzz/calls_fuzzer.py --rounds "${CALLS:-60}" --patience 120
    echo "sanitize: the calls passed under AddressSanitizer and UndefinedBehaviorSanitizer"
    exit
fi
# Tests that fork have a process of their own: a fork copies the tables of all pages, which are gigabytes after 30,000 tests.
forking="tests/test_shared.py tests/test_files.py tests/test_free_threading.py"
sanitized "" $forking
sanitized "" tests --ignore tests/opaque --ignore tests/cuda --ignore tests/conformance --ignore tests/extensions \
    --ignore tests/distributed --ignore tests/clients --ignore tests/test_calls_fuzzer.py \
    $(for file in $forking; do echo --ignore "$file"; done)
# The host driver carries a C++ library of its own: strings made there are freed by the system's.
sanitized ":alloc_dealloc_mismatch=0" tests/cuda/test_tensor_cuda.py tests/cuda/test_tensor_products.py \
    tests/cuda/test_cuda_public_api.py tests/test_calls_fuzzer.py
echo "sanitize: the tests passed under AddressSanitizer and UndefinedBehaviorSanitizer"
