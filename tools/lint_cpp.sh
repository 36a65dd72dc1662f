#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file of the engine through clang's front end, with its warnings as errors. g++ builds what is shipped; clang warns
# about other things. Nothing is kept.
#
#   tools/lint_cpp.sh [file.cc ...]     every .cc of src/dltensor/native by default, about a minute on one processor
#
# CLANGXX chooses another compiler than the newest one found.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${CLANGXX:-}" ]; then
  for suffix in -22 -21 -20 -19 -18 -17 -16 -15 -14 ''; do
    if command -v "clang++$suffix" >/dev/null 2>&1; then
      CLANGXX=clang++$suffix
      break
    fi
  done
fi
if [ -z "${CLANGXX:-}" ]; then
  echo "lint-cpp: skipped, no clang++ found (Debian: apt-get install clang-19)"
  exit 0
fi
case $(uname -m) in
  x86_64) level='-DDLT_LEVEL=v3 -march=x86-64-v3' ;;
  *) level='-DDLT_LEVEL=base' ;;
esac
# std::stable_sort of g++ 12 calls a function that g++ 12 calls deprecated.
flags='-std=c++20 -Wall -Wextra -Werror -Wno-deprecated-declarations -fsyntax-only -Isrc/dltensor -Isrc/dltensor/include'
[ $# -gt 0 ] || set -- $(find src/dltensor/native -name '*.cc' | sort)
[ $# -gt 0 ] || { echo "lint-cpp: FAILED, no file to examine"; exit 1; }

# The kernels are compiled for one instruction set; the other levels differ in few lines.
export CLANGXX level flags
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 sh -c '
  case $0 in */cpu/*/kernels/*) ;; *) level= ;; esac
  $CLANGXX $flags $level "$0"' || { echo "lint-cpp: FAILED"; exit 1; }

# What modules that are compiled without exceptions include.
echo '#include "native/status.h"' | $CLANGXX $flags -fno-exceptions -x c++ - || { echo "lint-cpp: FAILED without exceptions"; exit 1; }
echo "lint-cpp: $# files pass $CLANGXX"
