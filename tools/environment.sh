#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install a dependency group of pyproject.toml into a virtual environment, and packages that a group cannot express.
#
#   tools/environment.sh VENV GROUP
set -eu
python=$1/bin/python
group=$2
pip() {
  "$python" -m pip "$@" --disable-pip-version-check -q
}
# Packages without a wheel for this Python are named and left out: programs and tests do without them.
optional() {
  for package in "$@"; do
    pip install "$package" || echo "environment: $package cannot be installed; what needs it is skipped"
  done
}

echo "environment: installing the group $group into $1"
pip install --group "$group"
case $group in
  pictures) optional apache-tvm-ffi pyarrow ;;
  peers) # an older pyarrow in a folder of its own, whose __dlpack__ does not know max_version
    pip install --no-deps --upgrade --target "$1/pyarrow-25" "pyarrow==25.*"
    ;;
  distributed)
    optional "dask[array]" distributed xarray cubed "mpi4py>=4" ray joblib "pyarrow>=18"
    command -v mpirun > /dev/null || (apt-get update -qq && apt-get install -y -qq openmpi-bin > /dev/null) ||
      echo "environment: mpirun is not installed (Debian: openmpi-bin); its tests are skipped"
    ;;
  extensions) # build requirements of the examples as wheels, for isolated builds
    mkdir -p build/wheels
    pip download -d build/wheels "setuptools>=77" "cython>=3.1" "nanobind>=2.4" "scikit-build-core>=0.10" cmake ninja
    ;;
  cuda-peers) # only the headers of cuFFT and cuSOLVER: the libraries have 500 MB, and nothing runs them without a GPU
    wheels=$(mktemp -d)
    pip download --no-deps -d "$wheels" "nvidia-cufft>=12" "nvidia-cusolver>=12"
    "$python" - "$wheels" << 'PROGRAM'
import pathlib, sys, sysconfig, zipfile
for wheel in pathlib.Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sysconfig.get_path("purelib"), [name for name in archive.namelist() if "/include/" in name])
PROGRAM
    rm -r "$wheels"
    ;;
esac
