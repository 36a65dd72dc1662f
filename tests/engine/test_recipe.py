# SPDX-License-Identifier: Apache-2.0
"""The steps of CONTRIBUTING that add an operation, run on a copy of the headers: what comes from body and row.

That is loops, a Python function with signature and docstring, a CUDA kernel, stubs and the page of operations.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
from building import FLAGS, ROOT, compiler, started

import dltensor as dl
from dltensor._ops import elementwise as _functions

sys.path.insert(0, str(ROOT / "tools"))

from typestubs.module import Stub
from typestubs.operation_docs import described
from typestubs.tables import Tables

# On a fresh process, which can load the module: its rows, or the function after it got its text.
ROWS = "import json, recipe; print(json.dumps(recipe.rows()))"
CALLS = """
import inspect, json, sys
import recipe
recipe.install([text.encode() for text in json.load(sys.stdin)])
print(json.dumps([recipe.cube(-2.0), recipe.cube(0.5), recipe.cube(5), recipe.cube(7), recipe.multiply(3.0, 4.0),
                  str(inspect.signature(recipe.cube)), recipe.cube.__doc__]))
"""
KERNEL = """
#include <stdio.h>

#include "simt.h"
#include "native/cuda/kernels/elementwise/element.cuh"
HOSTCUDA_KERNEL(dlt::kernels::element::contiguous<dlt::kernels::op_cube, 1, float, float, float, float, float, 4, 0>)

int main() {
  const float in[5] = {1, -2, 0.5f, 3, 10};
  float out[5];
  dlt::kernels::Contiguous p{};
  p.in[0] = in;
  p.out = out;
  p.count = 5;
  void* arguments[] = {&p};
  hostcuda::launch(hostcuda_kernel, arguments, {1, 1, 1}, {32, 1, 1}, 0, nullptr);
  printf("%g %g %g %g %g", out[0], out[1], out[2], out[3], out[4]);
}
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A copy of the sources with the body and the row of CONTRIBUTING in them."""
    folder = tmp_path_factory.mktemp("recipe")
    page = (ROOT / "CONTRIBUTING.md").read_text()
    steps = page.split("## How to add an operation")[1].split("\n## ")[0]
    body, row = re.findall(r"   ```cpp\n(.*?)   ```", steps, re.S)
    source = ROOT / "src" / "dltensor"
    for name in ("include", "native", "testing"):
        shutil.copytree(source / name, folder / name)
    (folder / "_ops").mkdir()
    shutil.copy(source / "_ops" / "builtins.h", folder / "_ops")
    bodies, rows = (folder / "native" / "ops" / "elementwise" / name for name in ("bodies.h", "ops.h"))
    anchor = "template <class T>\nDLT_FN T divide(T a, T b) {"
    assert anchor in bodies.read_text()
    bodies.write_text(bodies.read_text().replace(anchor, re.sub(r"(?m)^   ", "", body) + anchor))
    before = "  X(exp, 1,"
    assert before in rows.read_text()
    rows.write_text(rows.read_text().replace(before, f"  {row.strip()}\n{before}"))
    return folder


def compiled(folder, source, made, *options):
    sources = [source, *options]
    built = subprocess.run(
        [*compiler(), *FLAGS, "-O0", f"-I{folder}", f"-I{folder / 'include'}", *sources, "-o", folder / made],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return folder / made


@pytest.fixture(scope="module")
def module(scratch):
    """The folder of a Python module made of the table's builtins."""
    cpu = scratch / "native" / "cpu"
    compiled(
        scratch,
        ROOT / "tests" / "engine" / "recipe.cc",
        f"recipe{sysconfig.get_config_var('EXT_SUFFIX')}",
        *(cpu / name for name in ("runtime/engine.cc", "runtime/dtype.cc", "copy/scalar.cc")),
        "-DDLT_LEVEL=base",
        f"-I{sysconfig.get_path('include')}",
        "-shared",
    )
    return scratch


def answer(folder, program, given=None):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, input=json.dumps(given), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def rows(module):
    """What the scratch table says, as OPS has it."""
    found = {row["name"]: row for row in answer(module, ROWS)}
    for row in found.values():
        row["kinds"] = [name for bit, name in enumerate(_functions._KIND_NAMES) if row["kinds"] >> bit & 1]
    return found


def test_the_new_row_stands_among_those_that_are_compiled(rows):
    assert {name: rows[name] for name in dl.OPS} == dl.OPS
    assert [name for name in rows if name not in dl.OPS] == ["cube"]
    assert rows["cube"]["text"] == "a * a * a"


def test_loops_and_a_function_with_signature_and_docstring_come_from_the_row(module, rows):
    texts = [described(row) for row in rows.values()]
    *values, signature, doc = answer(module, CALLS, texts)
    assert values == [-8, 0.125, 125, 343 - 256, 12]
    assert signature == "(a, /, out=None, *, launch=None)"
    assert doc.startswith("Raise to the third power.\n\nEach element of the result is ``a * a * a``.")


def test_a_cuda_kernel_comes_from_the_row(scratch):
    source = scratch / "kernel.cc"
    source.write_text(KERNEL)
    simt = scratch / "testing" / "hostcuda"
    program = compiled(scratch, source, "kernel", f"-I{simt}", simt / "simt.cc", "-fno-strict-aliasing", "-w")
    made = subprocess.run(started(program), capture_output=True, text=True, check=True)
    assert made.stdout == "1 -8 0.125 27 1000"


def test_the_page_comes_from_the_row(rows, monkeypatch):
    spec = importlib.util.spec_from_file_location("operations", ROOT / "tools" / "operations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    line = "| `cube` |  | `a * a * a` | integers, floats, complex | its dtype |  | Raise to the third power. |"
    assert line not in module.page().splitlines()
    monkeypatch.setattr(dl, "OPS", rows)
    assert line in module.page().splitlines()


def test_the_stub_comes_from_the_row(scratch):
    line = "def cube(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:"
    stub = Stub(ROOT / "src" / "dltensor", "_ops/elementwise.pyx")
    assert line not in stub.body()
    stub.tables = Tables(stub.package)
    stub.tables.operations = Tables(scratch).operations
    assert line in stub.body()
