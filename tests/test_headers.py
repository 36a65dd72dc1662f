# SPDX-License-Identifier: Apache-2.0
"""The public headers without a warning: each one alone and used, by every gcc and clang here, in every standard."""

import subprocess

import pytest
from native_tools import INCLUDE, ROOT, STRICT, compilers

C = ["c99", "c11", "c17", "c2x"]
CPP = ["c++17", "c++20", "c++2b"]
HEADERS = sorted(INCLUDE.glob("dltensor/*.h*"))
CASES = [(header.name, mode) for header in HEADERS for mode in (CPP if header.suffix == ".hpp" else C + CPP)]
# What can be defined before a header and changes what it declares.
DEFINES = {"validate.h": ["-DDLT_PORTABLE"], "array.h": ["-DDLT_ARRAY_MTS_NAMES"]}
# A line that each of the flags must find, in C and in C++.
PLANTED = {
    "-Wall": "static int planted(void) { int unset; return unset; }",
    "-Wextra": "static inline int planted(int unused) { return 0; }",
    "-pedantic": "struct planted { int n; int none[0]; };",
    "-Wconversion": "static inline short planted(int n) { return n; }",
    "-Wsign-conversion": "static inline unsigned planted(int n) { return n; }",
}


def source_of(header):
    """The file of tests/headers that uses a header."""
    name = "use_" + header.replace(".", "_")
    return ROOT / "tests/headers" / (name + (".cc" if header.endswith(".hpp") else ".c"))


def compile_object(command, mode, source, *flags):
    """Compile to nowhere with optimization, as some warnings need the flow of values, and return what was said."""
    language = "c++" if "++" in mode else "c"
    options = ["-x", language, f"-std={mode}", "-O2", *STRICT, *flags, f"-I{INCLUDE}", "-c", "-o", "/dev/null"]
    return subprocess.run([command, *options, source], check=False, capture_output=True, text=True, timeout=300)


def test_every_header_has_a_file_that_uses_it():
    assert len(HEADERS) >= 4
    used = {source_of(header.name): f'#include "dltensor/{header.name}"' for header in HEADERS}
    for source, line in used.items():
        text = source.read_text()
        assert line in text
        assert text.count("#include") == 1, f"{source}: expected the header alone"
    assert set(used) == set((ROOT / "tests/headers").iterdir())


@pytest.mark.parametrize(("header", "mode"), CASES)
@pytest.mark.parametrize("command", compilers())
def test_no_warning(command, header, mode):
    for flags in ([], DEFINES.get(header)):
        if flags is not None:
            done = compile_object(command, mode, source_of(header), *flags)
            assert done.returncode == 0, done.stderr
            assert done.stderr == ""


@pytest.mark.parametrize("mode", C + CPP)
@pytest.mark.parametrize("command", compilers())
def test_a_planted_violation_is_found(command, mode, tmp_path):
    (tmp_path / "dltensor").mkdir()
    original = (INCLUDE / "dltensor/dlpack.h").read_text()
    end = "#endif /* DLPACK_DLPACK_H_ */"
    assert original.count(end) == 1
    missed = []
    for flag, line in PLANTED.items():
        (tmp_path / "dltensor/dlpack.h").write_text(original.replace(end, line + "\n" + end))
        done = compile_object(command, mode, source_of("dlpack.h"), f"-I{tmp_path}")
        if "planted" not in done.stderr:
            missed.append(flag)
    assert not missed
