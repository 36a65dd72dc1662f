#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the commit that has the defects of fuzz/planted.py, apart from the package, and look for each of them.
#
#   tools/planted.sh [venv] [options of fuzz/planted.py]
set -eu
venv=$(realpath "${1:-.venv}")
[ $# -eq 0 ] || shift
python=$venv/bin/python
cd "$(dirname "$0")/.."
commit=812f087
place=$PWD/build/planted
if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
  echo "planted: expected commit $commit in the history; fetch it with git fetch --unshallow" >&2
  exit 2
fi
if [ ! -d "$place/site/dltensor" ]; then
  rm -rf "$place"
  mkdir -p "$place/source"
  git archive "$commit" | tar -x -C "$place/source"
  PATH="$venv/bin:$PATH" "$python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
    --target "$place/site" "$place/source"
fi
PYTHONPATH="$place/site" exec "$python" fuzz/planted.py "$@"
