# SPDX-License-Identifier: Apache-2.0
"""The architecture: a file's layer is its folder, imports go down only, and everything is documented.

Every import, cimport and include is resolved, those inside functions and names of modules in strings too. Each gate
counts what it read, and one violation of each rule is planted to see that it is caught.
"""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from native_tools import has_own_files

import dltensor as dl
from dltensor._core.members import SPELLINGS as ALIASES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "dltensor"
# From the bottom up. A file belongs to the longest of these that its path begins with; those of one line are siblings,
# which may not import each other.
ORDER = [
    ["include"],
    ["native/ops"],
    ["native"],
    ["native/os"],
    ["native/layout"],
    ["native/memory"],
    ["native/cpu"],
    ["native/cuda"],
    ["native/opaque"],
    ["_core"],
    ["_ops"],
    [
        "checks",
        "cuda",
        "debug",
        "einops",
        "fft",
        "io",
        "layout",
        "linalg",
        "opaque",
        "random",
        "shared",
        "typing",
        "xarray",
    ],
    ["_spellings"],
    ["__init__"],
    ["lib"],
    ["_tools"],
    ["conformance", "distributed", "inspection"],
    ["testing"],
    ["_cli"],
    ["__main__"],
]
LAYERS = {name: level for level, names in enumerate(ORDER) for name in names}
# Imports that go up, each with its reason. They run when a function is called, except those into __init__.
ALLOWED = {
    ("_core/tensor.pyx", "_ops"): "methods of Tensor that are Python and rarely called: NumPy's functions, round, in",
    ("_core/tensor.pyx", "cuda"): "loaded with the first CUDA tensor; it registers the table of device operations",
    ("_core/tensor.pyx", "shared"): "share(): shared memory is loaded with the first tensor in it",
    ("shared/_devices.py", "cuda"): "loaded with the first memory of a CUDA device that processes share",
    ("io/_progress.py", "_tools"): "a line of progress, for files over 1 GB",
    ("_core/tensor.pyx", "distributed"): "__dask_tokenize__, which Dask alone calls; it registers the tensors there",
    ("_core/protocols.py", "cuda"): "the stream of __cuda_array_interface__, which only CUDA tensors have",
    ("_ops/elementwise.pyx", "cuda"): "the launch= argument is checked where CUDA reads it",
    ("_ops/engine.pyx", "cuda"): "loaded with the first operation on a CUDA tensor; it registers what computes there",
    ("_ops/numpy_dispatch.py", "linalg"): "loaded with the first call of a function of numpy.linalg",
    ("_ops/array_api.py", "cuda"): "the list of devices",
}


class Import(NamedTuple):
    """One file that another one names."""

    file: str
    target: str
    line: int
    lazy: bool


def layer_of(name):
    """The layer of a file, by its path below the package without a suffix; None outside of all layers."""
    parts = name.split("/")
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in LAYERS:
            return "/".join(parts[:length])
    return None


def sources(*patterns):
    """Files of the package by their path in it."""
    found = {p.relative_to(PACKAGE).as_posix(): p for pattern in patterns for p in sorted(PACKAGE.rglob(pattern))}
    assert found, f"no file matches {patterns}"
    return found


CODE = ("*.py", "*.pyi", "*.pyx", "*.pxd", "*.pxi", "*.h", "*.hpp", "*.cc", "*.cuh", "*.c", "*.f90")
TEXTS = {name: path.read_text() for name, path in sources(*CODE).items()}
STEMS = {name.rpartition(".")[0] for name in TEXTS}


def module_file(parts):
    """The path, without suffix, of a module or package below dltensor; None when there is none."""
    name = "/".join(parts)
    if f"{name}/__init__".lstrip("/") in STEMS:
        return f"{name}/__init__".lstrip("/")
    return name if name in STEMS else None


def imported(file, dots, module, names):
    """The files that ``from module import names`` names."""
    base = file.split("/")[:-1]
    if dots:
        assert dots - 1 <= len(base), f"{file}: an import leaves the package"
        parts = base[: len(base) - dots + 1] + [part for part in module.split(".") if part]
    elif module == "dltensor" or module.startswith("dltensor."):
        parts = module.split(".")[1:]
    else:
        return
    for name in names or [""]:
        found = (module_file([*parts, name]) if name else None) or module_file(parts)
        while found is None and parts:  # an extension of the installed package, or a name in a string
            parts = parts[:-1]
            found = module_file(parts)
        yield found


def python_imports(file, text):
    """Imports of a Python file, lazy ones and names of modules in strings too."""
    tree = ast.parse(text)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    lazy = {id(inner) for node in ast.walk(tree) if isinstance(node, functions) for inner in ast.walk(node)}
    documented = (node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
    documentation = {id(node.body[0].value) for node in documented if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found = imported(file, node.level, node.module or "", [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            found = [target for alias in node.names for target in imported(file, 0, alias.name, [])]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
            and re.fullmatch(r"(dltensor|_core|_ops|cuda)(\.\w+)+", node.value)
        ):
            name = node.value if node.value.startswith("dltensor") else f"dltensor.{node.value}"
            found = [target for target in imported(file, 0, name, []) if target != "__init__"]
        else:
            continue
        for target in found:
            yield Import(file, target, node.lineno, id(node) in lazy or isinstance(node, ast.Constant))


IMPORT = re.compile(r"^([ \t]*)from[ \t]+(\.*)([\w.]*)[ \t]+c?import[ \t]*(\([^)]*\)|[^\n#]*)", re.M)
INCLUDE = re.compile(r'^[ \t]*(?:cdef extern from|include|#[ \t]*include)[ \t]+"([^"]+)"', re.M)


def compiled_imports(file, text):
    """Imports and cimports of a Cython file, its includes and those of C++ files."""
    code = re.sub(r'"""(.*?)"""', lambda m: m[0] if "#include" in m[0] else "\n" * m[0].count("\n"), text, flags=re.S)
    if file.endswith((".pyx", ".pxd", ".pxi")):
        for match in IMPORT.finditer(code):
            names = [item.split()[0] for item in match[4].strip("()").split(",") if item.strip()]
            for target in imported(file, len(match[2]), match[3], names):
                yield Import(file, target, code.count("\n", 0, match.start()) + 1, match[1] != "")
        for match in re.finditer(r"^([ \t]*)c?import (dltensor[\w.]*)", code, re.M):
            for target in imported(file, 0, match[2], []):
                yield Import(file, target, code.count("\n", 0, match.start()) + 1, match[1] != "")
    for match in INCLUDE.finditer(code):
        name = match[1]
        folder = file.rpartition("/")[0]
        for path in (name, f"include/{name}", f"{folder}/{name}"):
            if path in TEXTS:
                yield Import(file, path.rpartition(".")[0], code.count("\n", 0, match.start()) + 1, False)


def imports_of(texts):
    """Every import from one file of the package to another. Stubs name types of any layer, and are never run."""
    for file, text in texts.items():
        if file.endswith(".pyi") or file.startswith("testing/hostcuda/"):  # which is built apart
            continue
        found = python_imports if file.endswith(".py") else compiled_imports
        for one in found(file, text):
            if one.target is not None and one.target != file.rpartition(".")[0]:
                yield one


def violations(texts, used=None):
    """What breaks the order of layers, as messages; keys of ALLOWED that were needed go to `used`."""
    for one in imports_of(texts):
        here, there = layer_of(one.file.rpartition(".")[0]), layer_of(one.target)
        assert here is not None, f"{one.file} is in no layer of ORDER"
        assert there is not None, f"{one.target} is in no layer of ORDER"
        below = LAYERS[there] < LAYERS[here]
        if here == there or below:
            continue
        if (one.file, there) in ALLOWED and (one.lazy or one.file.startswith("__init__")):
            if used is not None:
                used.add((one.file, there))
            continue
        yield f"{one.file}:{one.line} ({here}) imports {one.target} ({there}){' when called' if one.lazy else ''}"


def test_imports_go_down_only():
    used = set()
    assert list(violations(TEXTS, used)) == []
    assert len(list(imports_of(TEXTS))) > 500


# A file, what is added to it, and what must be said.
PLANTED = [
    ("_core/indexing.pyx", "\ndef f():\n    from .._ops import creation\n", "imports _ops/creation"),
    ("_core/format.py", "\nfrom .. import debug\n", "imports debug"),
    ("_core/html.py", "\ndef f():\n    import dltensor\n", "imports __init__"),
    ("_core/tensor.pyx", "\nfrom .._ops.arguments cimport Operand\n", "imports _ops/arguments"),
    ("_core/views.pyx", "\nNAME = 1\nfrom dltensor.cuda import _device\n", "imports cuda/_device"),
    ("_core/rounding_plan.py", '\nTABLE = {"round": "dltensor._ops.rounding"}\n', "imports _ops/rounding"),
    ("_ops/creation.py", "\nfrom ..inspection import reading\n", "imports inspection/reading"),
    ("_ops/casting.pyx", '\ncdef extern from "opaque/python_refs.h":\n    pass\n', "imports opaque/python_refs"),
    ("checks.py", "\nfrom . import layout\n", "imports layout"),
    ("cuda/_device.py", "\ndef f():\n    from ..opaque import hold\n", "imports opaque/__init__"),
    ("_tools/timing.py", "\nfrom ..conformance.runner import cores\n", "imports conformance/runner"),
    ("conformance/pair.py", "\nfrom ..inspection.text import text\n", "imports inspection/text"),
    ("inspection/text.py", "\nfrom .._cli import info\n", "imports _cli/info"),
    ("include/dltensor/array.h", '\n#include "native/export.h"\n', "imports native/export"),
    ("native/ops/elementwise/ops.h", '\n#include "native/layout/layout.h"\n', "imports native/layout/layout"),
    ("native/memory/block.h", '\n#include "native/cuda/memory/memory.h"\n', "imports native/cuda/memory/memory"),
    ("native/layout/layout.h", '\n#include "native/memory/block.h"\n', "imports native/memory/block"),
    ("native/cpu/runtime/engine.cc", '\n#  include "native/opaque/array.h"\n', "imports native/opaque/array"),
    ("native/cuda/runtime/stream.cc", '\n#include "_core/interop/gil.h"\n', "imports _core/interop/gil"),
    ("_core/interop/numpy.pyx", "\nfrom ..._ops.arguments cimport Operand\n", "imports _ops/arguments"),
    ("_core/interop/torch_public.py", "\ndef f():\n    from ... import debug\n", "imports debug"),
]


@pytest.mark.parametrize(("file", "more", "words"), PLANTED, ids=[file for file, _, _ in PLANTED])
def test_every_planted_import_that_goes_up_is_caught(file, more, words):
    found = list(violations(TEXTS | {file: TEXTS.get(file, "") + more}))
    assert len(found) == 1
    assert words in found[0]


def test_every_allowed_import_is_there():
    used = set()
    list(violations(TEXTS, used))
    assert sorted(ALLOWED.keys() - used) == []


def spellers_of_python(texts):
    """Files that include Python's header, or call it."""
    return {name for name, text in texts.items() if re.search(r"Python\.h>|\bPy[A-Z]\w+\(", text) and
            name.endswith((".h", ".hpp", ".cc", ".cuh"))}  # fmt: skip


def test_the_engine_and_the_public_headers_do_not_know_python():
    known = spellers_of_python({n: t for n, t in TEXTS.items() if not n.startswith("testing/")})
    assert {name for name in known if name.startswith(("native/", "include/"))} == set()
    assert "_core/interop/gil.h" in known
    planted = spellers_of_python({"native/memory/block.h": "#include <Python.h>"})
    assert planted == {"native/memory/block.h"}


# Files that know structs of another library, and the only files that use them.
FOREIGN_STRUCTS = {
    "_core/interop/numpy_abi": {"_core/interop/numpy.pyx"},
    "_core/interop/torch_abi": {"_core/interop/torch.pyx"},
    "_core/interop/torch_fields": {"_core/interop/torch.pyx"},
    "_core/interop/type_table": {"_core/dlpack.pxd", "_core/dlpack.pyx"},
    "_core/interop/weak_references": {"_core/interop/numpy_abi.h"},
}


def users_of_foreign_structs(texts):
    """For each of these files, those that import or include it."""
    found = {target: set() for target in FOREIGN_STRUCTS}
    for one in imports_of(texts):
        if one.target in found:
            found[one.target].add(one.file)
    return found


def test_structs_of_another_library_are_known_to_one_module():
    assert users_of_foreign_structs(TEXTS) == FOREIGN_STRUCTS
    more = '\ncdef extern from "_core/interop/torch_abi.h":\n    pass\n'
    planted = users_of_foreign_structs(TEXTS | {"_core/convert.pyx": TEXTS["_core/convert.pyx"] + more})
    assert planted["_core/interop/torch_abi"] == {"_core/interop/torch.pyx", "_core/convert.pyx"}


# Where operations ask whether memory is the host's, how often, and why. All else computes through the engine table.
ASKS_FOR_THE_DEVICE = {
    "_ops/engine.pxd": (3, "the choice of the engine, and the devices that are one"),
    "_ops/arguments.pyx": (1, "memory of a device is owned, never borrowed"),
    "_ops/casting.pyx": (1, "elements padded to bytes are made on the host only"),
    "_ops/closeness.py": (1, "blocks of a large comparison are compared on the host"),
    "_ops/contractions.pyx": (1, "exact products of vectors: one pass on the host, sums of terms on a device"),
    "_ops/index.pyx": (2, "by mask on the host, by positions on a device"),
    "_ops/index_key.pyx": (1, "index arrays are moved to a device"),
    "_ops/manipulation.pyx": (1, "elements are interleaved in the caches of the host"),
    "_ops/nan_reductions.py": (1, "a test for NaN that would wait for a device"),
    "_ops/search.pyx": (2, "counts in one pass on the host"),
    "_ops/sets.pyx": (1, "values and members from sorted keys on the host, by operations on a device"),
    "_ops/sort.pyx": (1, "order statistics by selection on the host, by sorting on a device"),
    "linalg/_factorizations.pyx": (1, "general eigenvalues are computed on the host only"),
    "linalg/_functions.py": (1, "norms in one pass on the host, by sums on a device"),
    "random/_generator.pyx": (2, "weighted choices: one pass on the host, searches on a device"),
}


def test_operations_ask_for_the_device_only_with_a_reason():
    asks = re.compile(r"\b(?:is_host|on_host)\(")
    found = {}
    for name, text in TEXTS.items():
        if name.startswith(("_ops/", "linalg/", "random/")) and not name.endswith(".pyi"):
            found[name] = len([line for line in text.splitlines() if asks.search(line)])
    found = {name: count for name, count in found.items() if count}
    assert found == {name: count for name, (count, _) in ASKS_FOR_THE_DEVICE.items()}
    assert sum(found.values()) <= 20


def test_no_operation_has_a_twin_for_devices():
    twin = re.compile(r"^ *(?:def|cdef|cpdef)\b.*\b\w+_on_device\(", re.M)
    assert twin.search("cdef Tensor _sorted_on_device(Tensor t):\n")
    assert [name for name, text in TEXTS.items() if twin.search(text)] == []


def test_every_file_says_what_it_holds():
    for name, text in TEXTS.items():
        lines = text.splitlines()
        assert "SPDX-License-Identifier: Apache-2.0" in "".join(lines[:2]), name
        opening = lines[1].strip().lstrip('/*#"!').strip()
        assert len(opening) > 20 or name.endswith(".pxd"), f"{name} does not open with a sentence"


def test_every_compiled_source_is_named_in_the_build():
    listed = "\n".join(path.read_text() for path in PACKAGE.rglob("meson.build"))
    checked = 0
    for name in TEXTS:
        if name.endswith((".cc", ".pyx", ".c")) and not name.startswith("testing/"):
            stem = Path(name).name if not name.endswith(".pyx") else Path(name).stem
            assert f"'{stem}'" in listed or f"/{stem}'" in listed or f"'{stem}.pyx'" in listed, name
            checked += 1
    assert checked > 60


@has_own_files
def test_no_source_of_an_extension_is_installed():
    installed = Path(dl.__file__).parent
    sources = [path for kind in ("pyx", "pxd", "pxi", "o", "a") for path in installed.rglob(f"*.{kind}")]
    assert [path.relative_to(installed).as_posix() for path in sources] == []
    assert not list(installed.rglob("meson.build"))


@has_own_files
def test_every_python_file_and_stub_is_installed():
    installed = Path(dl.__file__).parent
    there = {path.relative_to(installed).as_posix() for pattern in ("*.py", "*.pyi", "*.toml", "*.html")
             for path in installed.rglob(pattern)}  # fmt: skip
    wanted = set(sources("*.py", "*.pyi", "*.toml", "*.html")) - {"counterparts.toml"}  # read by the build alone
    assert len(wanted) > 100
    assert wanted - there == set()
    assert not list(installed.rglob("*.pyx"))


# -- size -------------------------------------------------------------------------------------------------------------


def function_lengths(name, text):
    """Lines of each function of a Python or Cython file, by its name."""
    start = re.compile(r"^([ \t]*)(?:async )?(?:cpdef|cdef|def)\b[^=\n]*?(\w+)\(.*$")
    opened, lengths = [], Counter()
    lines = text.splitlines()
    for number, line in enumerate([*lines, "end"]):
        if not line.strip() or line.lstrip().startswith(("#", ")", '"""')):
            continue
        indent = len(line) - len(line.lstrip())
        while opened and indent <= opened[-1][0]:
            _, title, first, last = opened.pop()
            lengths[title] = last - first + 1
        for one in opened:
            one[3] = number
        match = start.match(line)
        if match and (line.rstrip().endswith((":", ",", "(")) or "):" in line):
            opened.append([indent, f"{name}:{match[2]}", number, number])
    return lengths


def test_sizes_are_printed(capsys):
    lengths = Counter()
    for name, text in TEXTS.items():
        if name.endswith((".py", ".pyx", ".pxi")):
            lengths |= function_lengths(name, text)
    total = sum(text.count("\n") for text in TEXTS.values())
    with capsys.disabled():
        print(f"\nsrc/dltensor: {len(TEXTS)} files, {total} lines; longest functions with their docstrings:")
        for title, length in lengths.most_common(8):
            print(f"  {length:4} {title}")
    assert len(lengths) > 800
    assert function_lengths("f", "def f(a):\n    b = 1\n\n    return b\nx = 1\n") == {"f:f": 4}


# -- public names -----------------------------------------------------------------------------------------------------


def test_every_public_name_exists_and_is_documented():
    checked = 0
    for name in dl.__all__:
        thing = getattr(dl, name)
        if callable(thing) and not isinstance(thing, type):
            assert thing.__doc__, f"dl.{name} has no docstring"
            checked += 1
    assert checked > 10


# Callables that raise nothing, whatever their arguments. All others have a section Raises.
RAISES_NOTHING = {
    "checks": set(),
    "debug": {"Event", "cached_bytes", "live_blocks", "live_bytes"},
    "fft": set(),
    "io": set(),
    "layout": set(),
    "linalg": {"EigResult", "EighResult", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult"},
    "opaque": {"live_arrays"},
    "random": set(),
    "shared": {"release_unreceived"},
    "": {"DataTypeCode", "DeviceType", "Flags", "ConformanceWarning", "DeviceError", "LinAlgError", "cpu_features",
         "empty_cache",
         "get_default_dtype", "get_printoptions", "inspect", "num_threads"},
}  # fmt: skip
CALLABLES = [
    (module, name)
    for module in RAISES_NOTHING
    for owner in [getattr(dl, module) if module else dl]
    for name in owner.__all__
    if callable(getattr(owner, name))
    and name not in ALIASES  # whose docstrings refer to what they call
    and getattr(owner, name) is not tuple
]


def sections(text):
    """Titles of the numpydoc sections of a docstring."""
    return re.findall(r"^ *(\w[\w ]*)\n *-{3,}$", text, re.M)


@pytest.mark.parametrize(("module", "name"), CALLABLES, ids=[".".join(filter(None, each)) for each in CALLABLES])
def test_public_functions_have_a_section_raises_exactly_if_they_can_raise(module, name):
    thing = getattr(getattr(dl, module) if module else dl, name)
    text = thing.__doc__ or ""
    assert text
    if isinstance(thing, type) and issubclass(thing, Exception):
        return
    assert ("Raises" in sections(text)) == (name not in RAISES_NOTHING[module])
    assert ">>>" in text, f"{module}.{name} shows no example"


def test_the_list_of_what_raises_nothing_has_public_names_only():
    assert len(CALLABLES) > len(dl.OPS) + 80
    assert {(module, name) for module, names in RAISES_NOTHING.items() for name in names} <= set(CALLABLES)
    assert sections("Do.\n\nRaises\n------\nValueError\n\nSee Also\n--------\nx : Y.") == ["Raises", "See Also"]


def test_no_docstring_says_that_nothing_is_raised():
    """numpydoc reads it as an exception of that name."""
    said = re.compile(r"^ *Raises\n *-+\n *Nothing", re.M)
    assert said.search("Do.\n\n    Raises\n    ------\n    Nothing.\n")
    assert [name for name, text in TEXTS.items() if said.search(text)] == []
    assert len(TEXTS) > 150


def test_no_docstring_begins_with_a_question_word():
    """A summary is imperative for a function, and a noun or "True if" for an attribute."""
    begins = re.compile(r'^ *r?"""(?:Whether|What|Which|Those|How|Of these)\b.*', re.M)
    assert begins.search('def f():\n    """Whether it is so."""\n')
    sources = [(name, text) for name, text in TEXTS.items() if name.endswith((".py", ".pyx", ".pxi"))]
    assert [(name, found) for name, text in sources for found in begins.findall(text)] == []
    assert len(sources) > 100


def test_no_comment_begins_with_a_question_word():
    """A comment begins with a verb, or with the noun that it is about."""
    begins = re.compile(r"^ *(?:#|//) (?:Whether|What|Which|Those|Of these)\b.*", re.M)
    assert begins.search("  // What it does.\n")
    assert [(name, found) for name, text in TEXTS.items() for found in begins.findall(text)] == []
    assert len(TEXTS) > 250


def test_an_exception_stands_above_its_reason_in_every_docstring():
    """As numpydoc has it: what follows the name on the same line would be taken for a part of it."""
    found = beside = 0
    for name, text in TEXTS.items():
        if not name.endswith((".py", ".pyx", ".pxi")):
            continue
        for section in re.findall(r"^ *Raises\n *-+\n((?:.+\n)*)", text, re.M):
            found += 1
            beside += len(re.findall(r"^ *\w+(?:Error|Exit|Missing)   *\w", section, re.M))
    assert (beside, found > 100) == (0, True)


def test_no_page_or_source_names_a_folder_of_one_machine():
    words = re.compile(r"(?<![\w.])/(root|home|Users)/\w")
    assert words.search("see /home/me/x") and not words.search("src/home/page")  # noqa: PT018
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *sources("*.py", "*.pyx", "*.h", "*.cc").values()]:
        assert not words.search(path.read_text()), path.name


# -- the calls that docs/architecture.md follows ----------------------------------------------------------------------

STEP = re.compile(r"^\d+\. `([^`]+)`: `(\w+)`", re.M)
MOST_STEPS = {"from_dlpack": 9, "small": 8, "large": 21, "sum": 14, "mask": 9, "OpaqueArray": 12, "open_file": 12}
# Tables of functions that a layer declares and a higher one fills: (file that calls, layer of the function).
THROUGH_TABLES = {("_core/tensor.pyx", "_ops")}


def documented_calls(text):
    """Each section of a call: its title and its steps as (file, function)."""
    part = text[text.index("## Seven calls") : text.index("## Around it")]
    for section in part.split("\n### ")[1:]:
        yield section.partition("\n")[0], STEP.findall(section)


def problems_of_call(steps):
    """Steps that name no function of that file, or go to a higher layer than any step before, as messages."""
    highest, caller = None, None
    for file, function in steps:
        if not re.search(rf"(?<![\w.]){function}\s*[(\[]", TEXTS.get(file, "")):
            yield f"{file} has no function {function}"
            continue
        layer = layer_of(file.rpartition(".")[0])
        if highest is not None and LAYERS[layer] > highest and (caller, layer) not in THROUGH_TABLES:
            yield f"{file}: {function} is higher than what calls it"
        highest = LAYERS[layer] if highest is None else max(highest, LAYERS[layer])
        caller = file


def test_the_calls_in_the_documents_exist_and_are_short():
    calls = list(documented_calls((PACKAGE.parent.parent / "docs" / "architecture.md").read_text()))
    assert len(calls) == len(MOST_STEPS)
    for (title, steps), (word, most) in zip(calls, MOST_STEPS.items(), strict=True):
        assert word in title
        assert 5 <= len(steps) <= most, (title, len(steps))
        assert list(problems_of_call(steps)) == []


def test_a_wrong_call_in_the_documents_is_found():
    assert list(problems_of_call([("_core/convert.pyx", "no_such_function")]))
    assert list(problems_of_call([("_core/no_file.pyx", "read")]))
    assert list(problems_of_call([("_core/convert.pyx", "read"), ("_ops/elementwise.pyx", "element")]))
    assert not list(problems_of_call([("_core/tensor.pyx", "operate"), ("_ops/elementwise.pyx", "element")]))
