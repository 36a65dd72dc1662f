# SPDX-License-Identifier: Apache-2.0
"""The ABI against the standard: our dlpack.h beside the original header of every installed wheel. No package needed."""

import re
import subprocess

import pytest
from native_tools import INCLUDE, ROOT, WARNINGS, compiler, original_headers

OURS = INCLUDE / "dltensor" / "dlpack.h"

# On the standard's main branch, after the 1.3 that wheels carry today; a newer original header may have them too.
AFTER_1_3 = {"kDLBcomplex", "kDLTPU", "kDLTPUHost", "kDLAscend"}

STRUCTS = {
    "DLPackVersion": ["major", "minor"],
    "DLDevice": ["device_type", "device_id"],
    "DLDataType": ["code", "bits", "lanes"],
    "DLTensor": ["data", "device", "ndim", "dtype", "shape", "strides", "byte_offset"],
    "DLManagedTensor": ["dl_tensor", "manager_ctx", "deleter"],
    "DLManagedTensorVersioned": ["version", "manager_ctx", "deleter", "flags", "dl_tensor"],
    "DLPackExchangeAPIHeader": ["version", "prev_api"],
    "DLPackExchangeAPI": [
        "header",
        "managed_tensor_allocator",
        "managed_tensor_from_py_object_no_sync",
        "managed_tensor_to_py_object_no_sync",
        "dltensor_from_py_object_no_sync",
        "current_work_stream",
    ],
}


def enumerators(header):
    """Names in the header's enums, comments aside; ours come out of the preprocessor, as they are macro rows."""
    text = subprocess.run([*compiler("c99"), "-E", "-P", header], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"\b(kDL\w+)\s*=\s*\d+", text)
    assert len(names) >= 30, f"{header}: found only {len(names)} enumerators"
    return set(names)


def macros(header):
    """Object-like DLPACK_ macros with a value: version and flags."""
    text = subprocess.run([*compiler("c99"), "-E", "-dM", header], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"#define (DLPACK_(?:MAJOR_VERSION|MINOR_VERSION|FLAG_BITMASK_\w+)) \S", text)
    assert len(names) >= 4, f"{header}: found only {names}"
    return set(names)


def functions(header):
    """Typedefs of functions in the exchange table."""
    names = set(re.findall(r"typedef int \(\*\s*(DLPack\w+)\)", header.read_text()))
    assert len(names) == 5, f"{header}: found only {names}"
    return names


def table(header, values, types, folder):
    """What a C++ program that includes `header` sees: values, sizes, offsets and mangled types, line by line."""
    lines = [
        f'  std::printf("{name} %llu %s\\n", (unsigned long long)({name}), typeid({name}).name());'
        for name in sorted(values)
    ]
    lines += [f'  std::printf("{name} %s\\n", typeid({name}).name());' for name in sorted(types)]
    for struct, fields in STRUCTS.items():
        lines.append(f'  std::printf("{struct} %zu %zu\\n", sizeof({struct}), alignof({struct}));')
        lines += [
            f'  std::printf("{struct}.{field} %zu %s\\n", offsetof({struct}, {field}), '
            f"typeid(decltype({struct}::{field})).name());"
            for field in fields
        ]
    source, program = folder / f"{header.parent.name}.cc", folder / f"{header.parent.name}.out"
    body = "\n".join(lines)
    source.write_text(
        f'#include <cstddef>\n#include <cstdio>\n#include <typeinfo>\n#include "{header}"\nint main() {{\n{body}\n}}\n'
    )
    subprocess.run([*compiler("c++17"), "-Wall", "-Wextra", "-Werror", source, "-o", program], check=True, timeout=120)
    return subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


@pytest.mark.parametrize("mode", ["c99", "c11", "c++17", "c++20"])
def test_sizes_offsets_and_values_are_the_standard_s(mode):
    command = [*compiler(mode), *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", ROOT / "tests/abi/layout.c"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", ["c99", "c11", "c++17", "c++20"])
def test_a_wrong_offset_would_not_compile(mode, tmp_path):
    text = (ROOT / "tests/abi/layout.c").read_text()
    for right, wrong in [
        ("ndim, 16, 4", "ndim, 20, 4"),
        ("kDLTrn, 18", "kDLTrn, 17"),
        ("DLDataType, 4", "DLDataType, 8"),
    ]:
        assert text.count(right) == 1
        (tmp_path / "wrong.c").write_text(text.replace(right, wrong))
        command = [*compiler(mode), f"-I{INCLUDE}", "-fsyntax-only", tmp_path / "wrong.c"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode != 0, f"{wrong} was not noticed"


@pytest.mark.parametrize("header", original_headers())
def test_everything_in_the_original_header_is_the_same_here(header, tmp_path):
    values, types = enumerators(header) | macros(header), functions(header)
    theirs = table(header, values, types, tmp_path)
    ours = table(OURS, values, types, tmp_path)
    assert len(theirs) > 60
    assert ours == theirs


@pytest.mark.parametrize("header", original_headers())
def test_nothing_is_added_but_what_the_standard_added_since(header):
    assert enumerators(OURS) - enumerators(header) <= AFTER_1_3
    assert macros(OURS) == macros(header)


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
@pytest.mark.parametrize("mode", ["c99", "c11", "c++17", "c++20"])
@pytest.mark.parametrize("header", original_headers())
def test_both_headers_live_in_one_file(header, mode, order, tmp_path):
    includes = [f'#include "{OURS}"', f'#include "{header}"']
    if order == "theirs first":
        includes.reverse()
    use = "int use(const DLManagedTensorVersioned* t) { return dlt_check_tensor(&t->dl_tensor); }\n"
    (tmp_path / "both.c").write_text("\n".join([*includes, '#include "dltensor/validate.h"', use]))
    command = [*compiler(mode), "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-fsyntax-only", tmp_path / "both.c"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
