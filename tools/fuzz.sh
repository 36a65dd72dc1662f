#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzz the validator under ASAN and UBSAN, then say how many of its branches the corpus takes.
#
#   tools/fuzz.sh [runs]     10,000,000 by default, about two minutes; 100,000,000 before a release
#
# CLANG and LLVM_SUFFIX choose another compiler than the newest one found. New inputs stay in build-fuzz/corpus;
# KEEP=1 merges those that reach something new into fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-10000000}
case $runs in
  '' | *[!0-9]*) echo "fuzz: expected a number of runs, got '$runs'" >&2; exit 2 ;;
esac

if [ -z "${CLANG:-}" ]; then
  for suffix in -22 -21 -20 -19 -18 -17 -16 -15 -14 ''; do
    if command -v "clang$suffix" >/dev/null 2>&1; then
      CLANG=clang$suffix
      LLVM_SUFFIX=${LLVM_SUFFIX-$suffix}
      break
    fi
  done
fi
if [ -z "${CLANG:-}" ]; then
  echo "fuzz: skipped, no clang found (Debian: apt-get install clang-19 libclang-rt-19-dev llvm-19)"
  exit 0
fi

build=build-fuzz
corpus=$build/corpus
mkdir -p "$corpus"
common="-std=gnu11 -g -Wall -Wextra -Werror -Isrc/dltensor/include"
if ! echo 'int LLVMFuzzerTestOneInput(const char* d, unsigned long n) { return (void)d, (void)n, 0; }' |
    "$CLANG" -x c -fsanitize=fuzzer,address,undefined - -o "$build/probe" 2>"$build/probe.log"; then
  echo "fuzz: skipped, $CLANG cannot link libFuzzer (Debian: apt-get install libclang-rt${LLVM_SUFFIX:-}-dev)"
  exit 0
fi

"$CLANG" $common -O2 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  fuzz/validate_fuzzer.c -o "$build/validate_fuzzer"

# One fuzzer on each processor; what one finds new, the others read too.
workers=$(nproc)
rm -f "$build"/fuzz-*.log
each=$(((runs + workers - 1) / workers))
fuzzers=
for worker in $(seq "$workers"); do
  ASAN_OPTIONS=quarantine_size_mb=4 UBSAN_OPTIONS=print_stacktrace=1 "$build/validate_fuzzer" -runs="$each" -max_len=256 \
    -entropic=0 -reload=1 -artifact_prefix="$build/" -print_final_stats=1 "$corpus" fuzz/corpus/validate \
    >"$build/fuzz-$worker.log" 2>&1 &
  fuzzers="$fuzzers $!"
done
for fuzzer in $fuzzers; do
  wait "$fuzzer" || {
    tail -n 40 "$build"/fuzz-*.log
    echo "fuzz: FAILED, the input is in $build/"
    exit 1
  }
done
total() { cat "$build"/fuzz-*.log | awk -v row="stat::$1:" '$1 == row { sum += $2 } END { print sum + 0 }'; }
done=$(total number_of_executed_units)
speed=$(total average_exec_per_sec)
[ "${done:-0}" -ge "$runs" ] || { echo "fuzz: FAILED, only ${done:-0} of $runs runs were made"; exit 1; }

if [ "${KEEP:-0}" = 1 ]; then
  mkdir -p "$build/merged"
  rm -f "$build/merged/"*
  "$build/validate_fuzzer" -merge=1 "$build/merged" fuzz/corpus/validate "$corpus" >"$build/merge.log" 2>&1
  rm -f fuzz/corpus/validate/*
  cp "$build/merged/"* fuzz/corpus/validate/
fi

branches="branches not measured, llvm-cov${LLVM_SUFFIX:-} is not installed"
if command -v "llvm-cov${LLVM_SUFFIX:-}" >/dev/null 2>&1; then
  "$CLANG" $common -O0 -fprofile-instr-generate -fcoverage-mapping -fsanitize=fuzzer \
    fuzz/validate_fuzzer.c -o "$build/validate_coverage"
  LLVM_PROFILE_FILE=$build/raw "$build/validate_coverage" -runs=0 "$corpus" fuzz/corpus/validate >/dev/null 2>&1
  "llvm-profdata${LLVM_SUFFIX:-}" merge "$build/raw" -o "$build/profile"
  branches=$("llvm-cov${LLVM_SUFFIX:-}" report "$build/validate_coverage" -instr-profile="$build/profile" \
    src/dltensor/include/dltensor/validate.h | awk '/TOTAL/ { print $NF " of " $(NF-2) " branches, " $10 " of lines" }')
fi
echo "fuzz: validate.h, $done runs, $speed a second, 0 findings; the corpus takes $branches"
