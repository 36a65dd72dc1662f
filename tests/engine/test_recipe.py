# SPDX-License-Identifier: Apache-2.0
"""The steps of CONTRIBUTING that add an operation, carried out on a copy of the headers: loop and table have it."""

import re
import shutil
import subprocess

from building import FLAGS, ROOT

PROGRAM = """
#include <stdio.h>

#include "native/cpu/engine.h"
#include "native/cpu/features.h"
#include "native/cpu/kernels/loops.h"

namespace dlt {
static Kernels table;
const Kernels& kernels() noexcept { return table; }
}  // namespace dlt

int main() {
  dlt::base::fill_column<float>(&dlt::table, dlt::type_float32);
  dlt::base::fill_column<int8_t>(&dlt::table, dlt::type_int8);
  const int op = dlt::find_op("cube", nullptr);
  if (op < 0) return 1;
  const dlt::OpRow& row = dlt::op_table[op];
  const float in[3] = {1, -2, 0.5f};
  float out[3];
  dlt::find_loop(op, dlt::type_float32)(out, in, nullptr, nullptr, 3, 0);
  const int8_t small[2] = {5, 7};
  int8_t wrapped[2];
  dlt::find_loop(op, dlt::type_int8)(wrapped, small, nullptr, nullptr, 2, 0);
  printf("%s %d %s | %g %g %g | %d %d\\n", row.name, row.operands, row.text, out[0], out[1], out[2], wrapped[0],
         wrapped[1]);
}
"""


def test_the_recipe_for_an_operation_works(tmp_path):
    page = (ROOT / "CONTRIBUTING.md").read_text()
    steps = page.split("## How to add an operation")[1].split("\n## ")[0]
    body, row = re.findall(r"   ```cpp\n(.*?)   ```", steps, re.S)
    shutil.copytree(ROOT / "src" / "dltensor" / "include", tmp_path / "include")
    shutil.copytree(ROOT / "src" / "dltensor" / "native", tmp_path / "native")
    bodies, rows = (tmp_path / "include" / "dltensor" / name for name in ("bodies.h", "ops.h"))
    anchor = "template <class T>\nDLT_FN T divide(T a, T b) {"
    assert anchor in bodies.read_text()
    bodies.write_text(bodies.read_text().replace(anchor, re.sub(r"(?m)^   ", "", body) + anchor))
    before = "  X(exp, 1,"
    assert before in rows.read_text()
    rows.write_text(rows.read_text().replace(before, f"  {row.strip()}\n{before}"))
    main = tmp_path / "main.cc"
    main.write_text(PROGRAM)
    sources = [main, *(tmp_path / "native" / "cpu" / name for name in ("engine.cc", "dtype.cc", "scalar.cc"))]
    built = subprocess.run(
        [
            "g++",
            *FLAGS,
            "-O0",
            "-DDLT_LEVEL=base",
            f"-I{tmp_path}",
            f"-I{tmp_path / 'include'}",
            *sources,
            "-o",
            tmp_path / "program",
        ],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr[-3000:]
    made = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert made.stdout == "cube 1 a * a * a | 1 -8 0.125 | 125 87\n"
