# SPDX-License-Identifier: Apache-2.0
"""nanobind's ndarray takes a struct of DLPack 2.0, whose layout is undefined. Compiles an extension with g++."""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import nanobind
from by_hand import Source, report

CODE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
NB_MODULE(taker, m) {
  m.def("size", [](nanobind::ndarray<nanobind::ro> x) { return x.size(); });
}
"""
root = Path(nanobind.__file__).parent
with tempfile.TemporaryDirectory() as folder:
    source = Path(folder, "taker.cc")
    source.write_text(CODE)
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing",
               f"-I{nanobind.include_dir()}", f"-I{root / 'ext/robin_map/include'}",
               f"-I{sysconfig.get_path('include')}", source, root / "src/nb_combined.cpp", "-o",
               Path(folder, "taker" + sysconfig.get_config_var("EXT_SUFFIX"))]  # fmt: skip
    subprocess.run(command, check=True)
    sys.path.insert(0, folder)
    import taker

    try:
        got = f"an array of {taker.size(Source(version=(2, 0)))} elements"
    except Exception as error:
        got = type(error).__name__
report("nanobind", "an exception", got, got.startswith("an array"))
