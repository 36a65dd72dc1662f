# SPDX-License-Identifier: Apache-2.0
"""The documents: every example on a page prints the shown output, every link has a target, every rule
and decision is listed. Examples in docstrings are in test_docstrings.py."""

import ast
import contextlib
import doctest
import importlib.util
import io
import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from native_tools import require

import dltensor as dl

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"])
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def relative(path):
    return path.relative_to(ROOT).as_posix()


def missing_package(source):
    """The first package that an example imports and that is not installed, or None."""
    for node in ast.walk(ast.parse(source)):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
        for name in names:
            package = name.partition(".")[0]
            if importlib.util.find_spec(package) is None:
                return package
    return None


def run_blocks(blocks, path):
    """Run examples in one namespace and compare what they print; those of packages that are missing are left out, with
    later ones that use their names. Skip when none is left; the reason names the package."""
    names = {"__name__": "__page__"}  # a page imports what it uses
    missing, count = None, 0
    for source, expected in blocks:
        if package := missing_package(source):
            missing = missing or package
            continue
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(source, relative(path), "exec"), names)
        except NameError:
            if missing is None:
                raise
            continue
        check(expected, printed.getvalue(), source)
        count += 1
    if not count:
        pytest.skip(f"{missing} is not installed")


def check(expected, got, source):
    if not CHECKER.check_output(expected, got, FLAGS):
        pytest.fail(f"{source}\nexpected:\n{expected}\ngot:\n{got}", pytrace=False)


# Pages about CUDA need a driver of their own: tests/cuda/test_cuda_page.py runs them.
ON_CUDA = ("cuda.md", "cuda-emulator.md")
EXAMPLES = [path for path in PAGES if BLOCK.search(path.read_text()) and path.name not in ON_CUDA]


@pytest.mark.parametrize("path", EXAMPLES, ids=relative)
def test_a_page_prints_what_it_says(path):
    run_blocks(BLOCK.findall(path.read_text()), path)


def test_the_notebook_is_made_from_its_page_and_prints_what_it_says():
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "tools" / "notebook.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.NOTEBOOK.read_text()
    assert text == tool.notebook(tool.PAGE.read_text()), "run python -m tools notebook"
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 10
    blocks = [
        ("".join(cell["source"]), "".join(line for output in cell["outputs"] for line in output["text"]))
        for cell in cells
    ]
    run_blocks(blocks, tool.NOTEBOOK)


def test_the_pages_have_examples():
    found = {relative(path): len(BLOCK.findall(path.read_text())) for path in PAGES}
    assert found["README.md"] >= 1
    assert found["docs/dlpack.md"] >= 3
    assert sum(found.values()) >= 6


def test_every_python_block_is_one_that_is_run():
    for path in PAGES:
        text = path.read_text()
        assert text.count("```python") == len(BLOCK.findall(text)), relative(path)


def test_every_link_leads_somewhere():
    links = 0
    for path in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
            if not target.startswith(("http://", "https://", "#")):
                assert (path.parent / target.partition("#")[0]).exists(), f"{relative(path)}: {target}"
                links += 1
    assert links > 20


def test_the_validation_rules_are_listed_as_they_are():
    header = (ROOT / "src/dltensor/include/dltensor/validate.h").read_text().replace("\\\n", "\n")
    table = header[header.index("#define DLT_RULES(X)") : header.index("DLT_RULE_NONE")]
    rows = re.findall(r"X\(\w+,\s*\"([^\"]+)\",\s*(\w+),\s*'.',\s*\d+,\s*\"([^\"]*)\",\s*\"([^\"]*)\"\)", table)
    assert len(rows) == table.count("X(") > 20
    page = (ROOT / "docs/errors.md").read_text()
    listed = re.findall(r"^\| `([\w.]+)` \| (\w+) \| (.*?) \| (.*?) \|$", page, re.M)
    assert listed == [
        (rule, severity.lower(), expected or "depends on the tensor", remedy)
        for rule, severity, expected, remedy in rows
    ]


def test_every_decision_is_listed():
    pages = sorted(path.name for path in (ROOT / "docs/decisions").glob("0*.md"))
    assert len(pages) > 10
    index = (ROOT / "docs/decisions/README.md").read_text()
    numbers = [int(name[:4]) for name in pages]
    assert numbers[0] == 1
    assert numbers == sorted(set(numbers))
    for number, name in zip(numbers, pages, strict=True):
        first = (ROOT / "docs/decisions" / name).read_text().splitlines()[0]
        assert first.startswith(f"# {number}. ")
        assert f"{number}. [{first.partition('. ')[2]}]({name})" in index


def test_the_map_names_every_file_and_folder_of_the_package():
    page = (ROOT / "docs/architecture.md").read_text()
    package = ROOT / "src/dltensor"
    names = {f"{path.name}/" for path in package.iterdir() if path.is_dir()}
    for folder in (package, package / "_core", package / "_ops", package / "cuda", package / "opaque"):
        names |= {path.name for path in folder.iterdir() if path.is_file() and path.suffix not in (".pyi", ".pxd")}
    names = {
        name
        for name in names
        if not name.startswith(("__pycache__", "__init__", "__main__", "meson.build", "py.typed"))
    }
    assert len(names) > 50
    missing = [name for name in sorted(names) if name not in page]
    assert missing == []


def test_the_map_names_only_what_is_there():
    page = (ROOT / "docs/architecture.md").read_text()
    names = set(re.findall(r"`([\w/]+\.(?:h|py|pyx|pxi|cc))`", page))
    files = [
        relative(path)
        for folder in ("src", "tests", "benchmarks", "tools", "fuzz")
        for path in (ROOT / folder).rglob("*.*")
    ]
    assert len(names) > 20
    assert [name for name in names if not any(f"/{file}".endswith(f"/{name}") for file in files)] == []


def test_the_page_of_operations_is_made_from_the_rows():
    spec = importlib.util.spec_from_file_location("operations", ROOT / "tools" / "operations.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text() == tool.page(), "run python tools/operations.py"
    assert all(f"| `{name}` |" in tool.page() for name in dl.OPS)


def test_the_extension_on_the_page_compiles_and_validates(tmp_path):
    compiler = require("cc")
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        pytest.skip("Python.h is not installed")
    pytest.importorskip("numpy", reason="numpy is not installed")
    page = (ROOT / "docs/using-in-extensions.md").read_text()
    (source,) = re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S)
    program = re.search(r'^python -c "\n(.*?)"$', page, re.M | re.S)[1]
    (tmp_path / "total.c").write_text(source)
    flags = [f"-I{headers}", f"-I{ROOT / 'src/dltensor/include'}"]
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [compiler, *warnings, "-shared", "-fPIC", *flags, "total.c", "-o", "total.so"], cwd=tmp_path, check=True
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "15.0\n"
    assert done.stderr.splitlines()[-1] == "BufferError: total: dtype: expected float32"
