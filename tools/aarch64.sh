#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests on aarch64 without such a machine: cross compiled, and run by QEMU with Debian's Python for that processor.
# Slow, and no word about speed. What follows is given to pytest instead of the choice below: tools/aarch64.sh .venv tests/...
# tools/aarch64.sh .venv setup makes ready what tools/wheel_aarch64.py needs too: that Python, NumPy and pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/$1
shift
here=$PWD/build/aarch64
root=$here/root

missing() {
  echo "aarch64: needs $1; as root on Debian: dpkg --add-architecture arm64 && apt-get update && apt-get install $2" >&2
  exit 2
}
command -v aarch64-linux-gnu-g++ > /dev/null || missing "a cross compiler" g++-aarch64-linux-gnu
command -v qemu-aarch64-static > /dev/null || missing QEMU qemu-user-static
dpkg --print-foreign-architectures | grep -q arm64 || missing "packages for arm64" qemu-user-static

if [ ! -x "$here/python" ]; then
  mkdir -p "$here/packages"
  packages=(python3.11 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev libc6 libgcc-s1 libstdc++6
    libgomp1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libncursesw6 libtinfo6 libreadline8
    libcrypt1 libdb5.3)
  (cd "$here/packages" && apt-get download -qq "${packages[@]/%/:arm64}")
  for package in "$here"/packages/*.deb; do dpkg -x "$package" "$root"; done
  "$venv/bin/python" -m pip download -q --disable-pip-version-check --only-binary=:all: --python-version 3.11 \
    --implementation cp --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
    -d "$here/wheels" numpy ml_dtypes pytest hypothesis
  for wheel in "$here"/wheels/*.whl; do unzip -qo "$wheel" -d "$here/site"; done
  # Child processes are started by the name that Python believes to have: this one.
  cat > "$here/python" << END
#!/bin/sh
PYTHONHOME=$root/usr PYTHONPATH=$here/installed/site:$here/site exec qemu-aarch64-static -L $root -0 $here/python \
  $root/usr/bin/python3.11 "\$@"
END
  chmod +x "$here/python"
  cat > "$here/cross.ini" << END
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
python = '$here/python'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']
[built-in options]
c_args = ['-idirafter$root/usr/include']
cpp_args = ['-idirafter$root/usr/include']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
fi
[ "${1:-}" != setup ] || exit 0

export PATH=$venv/bin:$PATH
[ -d "$here/build" ] || meson setup "$here/build" --cross-file "$here/cross.ini" --prefix /usr \
  -Dpython.purelibdir=/site -Dpython.platlibdir=/site
ninja -C "$here/build" all tests/engine/engine_binding.so
DESTDIR=$here/installed meson install -C "$here/build" --no-rebuild --quiet

# What inspects memory that is not there needs a system call that QEMU lacks; what measures or compiles is left to others.
[ $# -gt 0 ] || set -- tests/cases tests/engine tests/test_{broadcast,creation,data_types,debug,dlpack,format,foreign_operands,functions}.py \
  tests/test_{indexing,layout,manipulation,numbers,pickle,products,protocols,random,reductions,special_cases,statistics,views}.py
BUILD=build/aarch64/build DLTENSOR_TEST_RUNNER="qemu-aarch64-static -L $root" CPLUS_INCLUDE_PATH=$root/usr/include \
  CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ PYTHONDONTWRITEBYTECODE=1 \
  "$here/python" -m pytest -p no:cacheprovider -m "not peers and not gpu" "$@"
