#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Style, types and stubs: what a reviewer should not have to say.
set -eu
bin=$(realpath "${1:-.venv}")/bin
cd "$(dirname "$0")/.."
PATH="$bin:$PATH" # cython-lint calls pycodestyle, pyright calls node
cython="$(find src/dltensor examples -name "*.pyx" -o -name "*.pxd" -o -name "*.pxi" | sort)"
native="$(find src tests fuzz examples -name "*.h" -o -name "*.hpp" -o -name "*.c" -o -name "*.cc" -o -name "*.cpp" -o -name "*.cuh" | sort)"

# A test or a fuzzer that writes where it runs leaves its files in the root, and a commit of everything takes them along.
named="CHANGELOG.md|CITATION.cff|CODE_OF_CONDUCT.md|CONTRIBUTING.md|LICENSE|Makefile|README.md|SECURITY.md"
stray="$(git ls-files | grep -v / | grep -Evx "\..*|$named|meson.build|pyproject.toml" || true)"
[ -z "$stray" ] || { echo "check: files that do not belong in the root: $stray"; exit 1; }
ruff check src tests benchmarks tools examples fuzz docs
ruff format --check --quiet src tests benchmarks tools examples fuzz docs
cython-lint $cython
echo "cython-lint: $(echo $cython | wc -w) files pass"
[ -n "$native" ]
clang-format --dry-run --Werror $native
echo "clang-format: $(echo $native | wc -w) files pass"
python tools/stubs.py --check
python tools/operations.py --check
python tools/docstrings.py
python tools/website/links.py
python tools/words.py
validate-pyproject pyproject.toml
# Workflows of a public CI and the recipe.
workflows="$(find .github/workflows -name "*.yml" | sort)"
check-jsonschema --builtin-schema vendor.github-workflows $workflows
yamllint --strict -c .github/yamllint.yml $workflows .github/*.yml packaging/conda/recipe.yaml
zizmor --offline --quiet --no-progress --config .github/zizmor.yml $workflows
# The long description and the metadata as an index reads them.
rm -rf build/sdist
mkdir -p build/sdist
python -c 'import mesonpy; mesonpy.build_sdist("build/sdist")' > build/sdist.log 2>&1 || { cat build/sdist.log; exit 1; }
twine check --strict build/sdist/*.tar.gz
# The stubs as users meet them: generated, in the installed package.
rm -rf build/stubs
mkdir -p build/stubs
ln -s "$(python -c 'import dltensor; print(dltensor.__path__[0])')" build/stubs/dltensor
stubs="$(find -L build/stubs/dltensor -name "*.pyi" | sort) build/stubs/dltensor/typing.py"
[ "$(echo "$stubs" | wc -l)" -gt 35 ]
MYPYPATH=build/stubs mypy --follow-imports=silent $stubs
mypy --python-executable "$bin/python" tests/typing/uses.py
pyright --pythonpath "$bin/python" $stubs tests/typing/uses.py
