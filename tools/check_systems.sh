#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The engine through the front ends of compilers for other systems: MinGW for Windows, clang for macOS on ARM. Nothing is linked
# or run. The headers of macOS and of libc++ come from the package ziglang. About a minute on two processors.
#
#   tools/check_systems.sh VENV [file.cc ...]     every .cc of src/dltensor/native by default
#
# A compiler that is not there is named and skipped; without any the check fails if REQUIRE_SYSTEMS is set.
set -eu
python=$(realpath "${1:-.venv}")/bin/python
[ $# -gt 0 ] && shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(find src/dltensor/native -name '*.cc' | sort)
[ $# -gt 0 ] || { echo "check-systems: FAILED, no file to examine"; exit 1; }
common='-std=c++20 -fsyntax-only -Isrc/dltensor -Isrc/dltensor/include'
run=0

# What a file of kernels is compiled with; the other levels differ in few lines.
each() { # NAME, LEVEL, COMMAND
  name=$1 level=$2 command=$3
  shift 3
  export level command
  printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 sh -c '
    case $0 in */cpu/*/kernels/*) ;; *) level= ;; esac
    $command $level "$0" || { echo "$0: refused"; exit 255; }' || { echo "check-systems: FAILED for $name"; exit 1; }
  echo "check-systems: $# files pass for $name"
  run=$((run + 1))
}

windows=x86_64-w64-mingw32-g++
if command -v $windows-posix > /dev/null; then windows=$windows-posix; fi
if command -v $windows > /dev/null; then
  each Windows '-DDLT_LEVEL=v3 -march=x86-64-v3' "$windows $common -Wno-attributes" "$@"
else
  echo "check-systems: Windows skipped, no $windows (Debian: apt-get install g++-mingw-w64-x86-64-posix)"
fi

clang=$(for suffix in -22 -21 -20 -19 -18 -17 ''; do command -v "clang++$suffix" || true; done | head -1)
msvc=/usr/x86_64-w64-mingw32/include # a C library for it
if [ -n "$clang" ] && [ -d $msvc ]; then
  for file in tests/headers/use_*_h.c; do
    "${clang%/*}/clang${clang##*/clang++}" --target=x86_64-pc-windows-msvc -fms-compatibility -U__clang__ -U__GNUC__ -std=c99 -Wall -Wextra \
      -Werror -Wno-builtin-macro-redefined -fsyntax-only -isystem $msvc -Isrc/dltensor/include "$file" ||
      { echo "check-systems: FAILED for the headers in MSVC's dialect of C"; exit 1; }
  done
  echo "check-systems: the headers pass in MSVC's dialect of C, without GNU's extensions"
fi
headers=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/lib")' 2> /dev/null || true)
if [ -n "$clang" ] && [ -n "$headers" ]; then
  # libc++ as zig sets it up; the headers leave NAN and INFINITY to the float.h of a newer clang.
  each "macOS on ARM" '-DDLT_LEVEL=base' "$clang --target=arm64-apple-macos13 $common -Werror -nostdinc++ -isystem $headers/libcxx/include
    -isystem $headers/libcxxabi/include -isystem $(dirname "$($clang -print-file-name=include/stddef.h)")
    -isystem $headers/libc/include/any-darwin-any -D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1 -D_LIBCPP_HAS_THREADS=1
    -D_LIBCPP_HAS_THREAD_API_PTHREAD=1 -D_LIBCPP_HAS_MONOTONIC_CLOCK=1 -D_LIBCPP_HAS_LOCALIZATION=1 -D_LIBCPP_HAS_FILESYSTEM=1
    -D_LIBCPP_HARDENING_MODE_DEFAULT=2 -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE -Wno-#warnings -DNAN=(0.0f/0.0f) -DINFINITY=__builtin_inff() -D_LIBCPP_PSTL_BACKEND_SERIAL -D_LIBCPP_HAS_RANDOM_DEVICE=1
    -D_LIBCPP_HAS_TERMINAL=1 -D_LIBCPP_HAS_UNICODE=1 -D_LIBCPP_HAS_WIDE_CHARACTERS=1 -D_LIBCPP_HAS_TIME_ZONE_DATABASE=0
    -D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0" "$@"
else
  echo "check-systems: macOS skipped, needs clang++ (Debian: apt-get install clang-19) and the package ziglang in the environment"
fi
[ $run -gt 0 ] || [ -z "${REQUIRE_SYSTEMS:-}" ] || { echo "check-systems: FAILED, no compiler found"; exit 1; }
