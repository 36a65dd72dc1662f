# SPDX-License-Identifier: Apache-2.0
"""The house itself: layers look only downward, files stay small, nothing is forgotten. Each gate counts what it read."""

import ast
import re
from pathlib import Path

import pytest

import dltensor as dl

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "dltensor"
LAYERS = ["include", "native", "doors", "tensor", "held", "faces", "names"]
# Which layer a file of the package root belongs to; plain Python that is not named here is a face.
MODULES = {
    "_words": "doors", "_index": "doors", "_scalar": "doors", "_dlpack": "doors", "_arrays": "doors", "guard.h": "doors",
    "numpy_abi.h": "doors", "instruction.h": "tensor", "_tensor": "tensor", "_exchange": "tensor", "_views": "tensor", "_functions": "tensor",
    "_operands": "tensor", "_casts": "tensor", "_products": "tensor", "_engine": "tensor", "builtins.h": "tensor",
    "_debug": "tensor", "_cuda": "tensor", "_cuda_tensor": "tensor", "_cuda_exchange": "tensor",
    "_form": "tensor", "_report": "doors", "_native": "doors", "_opaque": "held", "held.h": "held",
    "__init__": "names",
}


def sources(*patterns):
    found = [path for pattern in patterns for path in PACKAGE.rglob(pattern)
             if "build" not in path.relative_to(PACKAGE).parts]
    assert found, f"no file matches {patterns}"
    return found


def layer_of(path):
    relative = path.relative_to(PACKAGE)
    if relative.parts[0] in ("include", "native"):
        return relative.parts[0]
    name = relative.parts[0]
    # What a module includes is a part of it: _tensor_memory.pxi of _tensor.
    stem = re.match(r"_\w+?(?=_)", name)[0] if path.suffix == ".pxi" and len(relative.parts) == 1 else name.split(".")[0]
    return MODULES.get(name, MODULES.get(stem, "faces"))


def imports_of(path):
    """Names of sibling files that a file depends on: includes, cimports and imports that run when it is loaded."""
    text = path.read_text()
    if path.suffix in (".h", ".hpp", ".cc", ".cuh", ".cpp"):
        for name in re.findall(r'#include "([^"]+)"', text):
            yield PACKAGE / ("include/" + name if name.startswith("dltensor/") else name)
        return
    if path.suffix in (".pyx", ".pxd", ".pxi"):
        for name in set(re.findall(r'cdef extern from "([^"]+)"', text)) - {"Python.h"}:
            yield PACKAGE / ("include/" + name if name.startswith("dltensor/") else name)
        for name in re.findall(r"^from \.(\w+) c?import", text, re.M):
            yield PACKAGE / f"{name}.pyx"
        return
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and path.name != "__init__.py":
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            for name in names:
                yield PACKAGE / f"{name}.py"


def test_layers_look_only_downward():
    arrows = 0
    for path in sources("*.h", "*.hpp", "*.cc", "*.pyx", "*.pxd", "*.pxi", "*.py"):
        if {"testing", "demo"} & set(path.relative_to(PACKAGE).parts):
            continue
        for target in imports_of(path):
            if not target.exists():
                continue  # a header of Python or the system
            here, there = LAYERS.index(layer_of(path)), LAYERS.index(layer_of(target))
            assert there <= here, f"{path.name} ({LAYERS[here]}) looks up at {target.name} ({LAYERS[there]})"
            arrows += 1
    assert arrows > 50


def test_the_engine_does_not_know_python():
    files = sources("native/**/*.h", "native/**/*.cc", "include/**/*.h")
    spellers = [path.name for path in files if re.search(r"Python\.h|\bPy[A-Z_]\w+\(", path.read_text())]
    assert spellers == []


def test_few_headers_know_python():
    spellers = {path.name for path in sources("*.h", "*.hpp") if "<Python.h>" in path.read_text()}
    assert spellers <= {"guard.h", "numpy_abi.h", "builtins.h", "probe.h", "instruction.h"}
    assert "guard.h" in spellers


def test_public_headers_stand_alone():
    for path in sources("include/**/*.h"):
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            assert not name.startswith("native/"), f"{path.name} includes {name}"


def test_every_file_says_what_it_holds():
    for path in sources("*.h", "*.hpp", "*.cc", "*.cuh", "*.pyx", "*.pxi", "*.py", "*.pyi"):
        lines = path.read_text().splitlines()
        assert "SPDX-License-Identifier: Apache-2.0" in "".join(lines[:2]), path.name
        opening = lines[1].strip().lstrip('/*#"').strip()
        assert len(opening) > 20 or path.suffix == ".pxd", f"{path.name} does not open with a sentence"


def test_every_source_is_listed_for_the_build():
    listed = "\n".join(path.read_text() for path in PACKAGE.rglob("meson.build"))
    missing = []
    for path in sources("*.cc", "*.pyx", "*.py", "*.pyi"):
        name = path.stem if path.suffix == ".pyx" else path.name
        if f"'{name}'" not in listed and f"/{name}'" not in listed and path.parent.name not in listed:
            missing.append(path.name)
    assert missing == []


def test_every_public_name_exists_and_is_documented():
    checked = 0
    for name in dl.__all__:
        thing = getattr(dl, name)
        if callable(thing) and not isinstance(thing, type):
            assert thing.__doc__, f"dl.{name} has no docstring"
            checked += 1
    assert checked > 10


# Functions that can fail and do not say how teach nobody.
@pytest.mark.parametrize("name", [n for n in dl.__all__ if callable(getattr(dl, n))])
def test_public_functions_say_what_they_raise(name):
    thing = getattr(dl, name)
    text = thing.__doc__ or ""
    if isinstance(thing, type) and issubclass(thing, (Exception, int)):
        assert text
        return
    assert "Raises" in text, f"dl.{name} does not document what it raises"
    assert ">>>" in text, f"dl.{name} shows no example"


def test_an_exception_stands_above_its_reason_in_every_docstring():
    """As numpydoc has it: what follows the name on the same line would be taken for a part of it."""
    sections = beside = 0
    for path in sources("*.py", "*.pyx", "*.pxi"):
        for section in re.findall(r"^ *Raises\n *-+\n((?:.+\n)*)", path.read_text(), re.M):
            sections += 1
            beside += len(re.findall(r"^ *\w+(?:Error|Exit|Missing)   *\w", section, re.M))
    assert (beside, sections > 100) == (0, True)


def test_the_project_speaks_of_itself_alone():
    words = re.compile(r"\b(this session|workplace|steering|helper-\d)\b|/work/|/farm/|/root/", re.I)
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *sources("*.py", "*.pyx", "*.h", "*.cc")]:
        assert not words.search(path.read_text()), path.name
