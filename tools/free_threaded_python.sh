#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build a free-threaded CPython from Debian's source archive, for `make test-free-threading`.
# tools/free_threaded_python.sh FOLDER: afterwards FOLDER/bin/python3 runs without the GIL. It takes two minutes on two cores.
# The sources come from the suite of Debian that SUITE names, by apt with lists of its own, so that nothing of the system
# changes. It needs a C compiler, dpkg-dev, xz, and the headers of zlib, libffi and OpenSSL (pip needs these three).
set -eu
[ $# = 1 ] || { echo "free_threaded_python.sh: expected the folder to install into" >&2; exit 2; }
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
suite=${SUITE:-trixie}
version=${VERSION:-3.13}
if [ -x "$prefix/bin/python3" ]; then exit 0; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/free-threaded-XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
mkdir -p lists/partial archives
mirror=${MIRROR:-http://deb.debian.org/debian}
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > sources.list
options="-o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$work/lists \
  -o Dir::Cache=$work/archives -o APT::Sandbox::User=root"
apt-get -qq $options update
apt-get -qq $options source --download-only "python$version"
mkdir source
tar -xf "python${version}_"*.orig.tar.xz -C source --strip-components=1

# No profile-guided optimization: the tests need the interpreter, not its speed. The tests of CPython are left out.
cd source
./configure --quiet --prefix="$prefix" --disable-gil --disable-test-modules --with-ensurepip=install > "$work/log" 2>&1 &&
  make -s -j2 >> "$work/log" 2>&1 && make -s install >> "$work/log" 2>&1 || {
  tail -40 "$work/log" >&2
  exit 1
}
"$prefix/bin/python3" -c 'import sys; assert not sys._is_gil_enabled(), "the interpreter has a GIL"; import ssl, ctypes, zlib'
