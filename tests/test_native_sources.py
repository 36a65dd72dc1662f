# SPDX-License-Identifier: Apache-2.0
"""The sources of the engine: how many objects an edited header compiles again, the sizes of files and functions,
and names that NVRTC lacks."""

import re
import shutil
import subprocess
from collections import defaultdict

import pytest
from test_architecture import IMPORT, INCLUDE, PACKAGE, TEXTS, imported

# -- compile steps ----------------------------------------------------------------------------------------------------

LEVELS = 3  # instruction sets of x86-64 that kernels are compiled for
# Objects that an edit may compile again, for the tables of operations and headers of a noun. Headers that all nouns
# share have no limit.
MOST_OF_NOUN = 25
MOST = {
    "native/ops/random/draws.h": 12,
    "native/ops/scans.h": 10,
    "native/ops/linalg/product_order.h": 40,  # in kernels.h of linalg
    "native/ops/elementwise/ops.h": 56,
    "native/ops/elementwise/bodies.h": 89,
    "native/ops/elementwise/functions.h": 89,
    "native/ops/reduce/rows.h": 61,
    "native/cpu/reduce/kernels.h": 29,
    "native/cpu/elementwise/op_numbers.h": 56,
    "native/cpu/copy/kernels.h": 40,  # every noun moves elements
    "native/cpu/linalg/kernels.h": 39,  # seven files of loops for each instruction set
    "native/cpu/elementwise/kernels.h": 45,
    "native/cpu/elementwise/kernels/loops.h": 36,
}
NOUNS = ("copy", "elementwise", "index", "linalg", "quantize", "random", "reduce", "scan", "sort")
# Headers of nouns that the modules of Python read too.
INTERFACES = re.compile(r"native/cpu/(?:copy/(?:copy|scalar)|index/gather|linalg/batch|reduce/reduce|random/arange)\.h")


def kernel_counts(meson):
    """How often the build compiles each kernel source."""
    lowest = set(re.findall(r"'(cpu/[^']+\.cc)'", re.search(r"lowest_sources = \{.*?\n\}", meson, re.S)[0]))
    every = set(re.findall(r"'(cpu/[^']+\.cc)'", re.search(r"kernel_sources = \{.*?\n\}", meson, re.S)[0]))
    assert len(every) > 15 and len(lowest) > 2  # noqa: PT018
    return {f"native/{name}": LEVELS if name in every else 1 for name in every | lowest}


def included(name, texts):
    """The files that a file reads when it is compiled, as paths below the package."""
    text = re.sub(r'"""(.*?)"""', lambda m: m[0] if "#include" in m[0] else "", texts[name], flags=re.S)
    folder, stem = name.rpartition("/")[0], name.rpartition(".")[0]
    for path in INCLUDE.findall(text):
        yield from (p for p in (path, f"include/{path}", f"{folder}/{path}") if p in texts)
    if name.endswith((".pyx", ".pxd", ".pxi")):
        yield from (p for p in (f"{stem}.pxd",) if p in texts and p != name)
        for match in IMPORT.finditer(text):
            if "cimport" in match[0]:
                names = [item.split()[0] for item in match[4].strip("()").split(",") if item.strip()]
                yield from (f"{t}.pxd" for t in imported(name, len(match[2]), match[3], names) if f"{t}.pxd" in texts)


def compile_steps(texts):
    """How many objects are compiled again after an edit of each file."""
    counts = kernel_counts((PACKAGE / "native" / "meson.build").read_text())
    direct = {name: set(included(name, texts)) for name in texts}
    steps = defaultdict(int)
    for name in texts:
        if not name.endswith((".cc", ".pyx")) or name.startswith("testing/"):
            continue
        seen, waiting = set(), [name]
        while waiting:
            for file in direct[waiting.pop()] - seen:
                seen.add(file)
                waiting.append(file)
        for file in seen:
            steps[file] += counts.get(name, 1)
    return steps


def limit_of(name):
    """The most objects that an edit of a header may compile again; None for shared headers and for interfaces."""
    if name in MOST:
        return MOST[name]
    parts = name.split("/")
    of_noun = name.startswith(("native/ops/", "native/cpu/")) and name.endswith(".h") and len(parts) > 3
    return MOST_OF_NOUN if of_noun and parts[2] in NOUNS and not INTERFACES.fullmatch(name) else None


def costly_headers(texts):
    """Headers above their limit, as messages."""
    for name, steps in sorted(compile_steps(texts).items()):
        if limit_of(name) is not None and steps > limit_of(name):
            yield f"{name}: an edit compiles {steps} objects, at most {limit_of(name)} are wanted"


def test_an_edited_header_compiles_few_objects():
    assert list(costly_headers(TEXTS)) == []
    assert sum(limit_of(name) is not None for name in compile_steps(TEXTS)) > 50


def test_a_header_that_is_included_everywhere_is_found():
    name = "native/cpu/runtime/kernels.h"
    found = list(costly_headers(TEXTS | {name: TEXTS[name] + '#include "native/ops/random/draws.h"\n'}))
    assert any(message.startswith("native/ops/random/draws.h: ") for message in found)


# -- sizes ------------------------------------------------------------------------------------------------------------

MOST_LINES, MOST_LINES_OF_FUNCTION, MOST_BRANCHES = 500, 70, 30
MOST_NOUNS = 12  # of a folder; files of one stem are about one noun
LARGE = {"include/dltensor/validate.h": "a library of one header, which users copy"}
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M
)
BRANCH = re.compile(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?")
NO_FUNCTION = re.compile(r"\s*(?:if|for|while|switch|do|else|try|catch|namespace|struct|class|union|enum|extern)\b")
FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|mutable|->[^{;]*|:[^{;]*[)}]|\s)*$", re.S)


def functions(text):
    """Each function of a C++ file: its first line, its lines without comments and blank ones, and 1 + its branches."""
    code = NOT_CODE.sub(lambda m: "\n" * m[0].count("\n"), text)
    depth, opened, begin = 0, None, 0
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match[0]
        head = code[begin:at]
        if mark == "{":
            if opened is None and FUNCTION.search(head) and not NO_FUNCTION.match(head):
                opened, first = depth, begin + len(head) - len(head.lstrip())
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == opened:
                body = code[first : at + 1]
                lines = sum(bool(line.strip()) for line in body.splitlines())
                yield code.count("\n", 0, first) + 1, lines, 1 + len(BRANCH.findall(body))
                opened = None
        if opened is None:
            begin = at + 1


def large_sources(texts):
    """Files and functions above the limits, as messages."""
    for name, text in texts.items():
        if not name.endswith((".h", ".hpp", ".cc", ".cuh")) or name in LARGE:
            continue
        if text.count("\n") > MOST_LINES:
            yield f"{name}: {text.count(chr(10))} lines"
        for line, lines, branches in functions(text):
            if lines > MOST_LINES_OF_FUNCTION or branches > MOST_BRANCHES:
                yield f"{name}:{line}: a function of {lines} lines and {branches} branches"


def test_files_and_functions_of_the_engine_are_small():
    assert list(large_sources(TEXTS)) == []
    assert sum(len(list(functions(text))) for name, text in TEXTS.items() if name.endswith(".cc")) > 1000


LONG = "int f(int a) {\n" + "  a += 1;\n" * 69 + "  return a;\n}\n"
PLANTED = {
    "a long file": ("// x\n" * 501, "501 lines"),
    "a long function": (LONG, "a function of 72 lines and 1 branches"),
    "a long member": ("struct S {\n" + LONG + "};\n", "a function of 72 lines"),
    "many branches": ("void f() {\n" + "  if (a && b) c();\n" * 15 + "}\n", "a function of 17 lines and 31 branches"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_large_file_or_function_is_found(what):
    text, words = PLANTED[what]
    found = list(large_sources({"native/planted.cc": text}))
    assert len(found) == 1
    assert words in found[0]


def full_folders(texts):
    """Folders of kernels and hosts of more nouns than the limit, as messages."""
    nouns = defaultdict(set)
    for name in texts:
        folder, _, file = name.rpartition("/")
        if folder.startswith(("native/cpu", "native/cuda")):
            nouns[folder].add(file.partition(".")[0])
    return [f"{folder}: {len(found)} nouns" for folder, found in nouns.items() if len(found) > MOST_NOUNS]


def test_folders_of_the_engine_hold_few_nouns():
    assert full_folders(TEXTS) == []


def test_a_full_folder_is_found():
    planted = {f"native/cpu/planted/{noun}{end}": "" for noun in "abcdefghijklm" for end in (".h", ".cc")}
    assert full_folders(TEXTS | planted) == ["native/cpu/planted: 13 nouns"]


def test_texts_for_nvrtc_name_no_functions_that_only_gcc_has():
    """NVRTC is not installed where these tests run: what it reads is preprocessed as it would be."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    headers = sorted(path.relative_to(PACKAGE) for path in (PACKAGE / "native/ops").rglob("*.h"))
    text = "".join(f'#include "{path}"\n' for path in headers)
    command = ["g++", "-std=c++20", "-E", "-P", "-D__CUDACC_RTC__", f"-I{PACKAGE}", f"-I{PACKAGE}/include"]
    done = subprocess.run([*command, "-x", "c++", "-"], input=text, capture_output=True, text=True, check=True)
    assert set(re.findall(r"\b__builtin_\w+", done.stdout)) <= {"__builtin_bit_cast", "__builtin_expect"}
