# SPDX-License-Identifier: Apache-2.0
"""Every docstring example of the package, compiled modules included, prints the shown output. Pages: test_docs.py."""

import doctest
import importlib
import importlib.util
import io
import pkgutil
import sys
from pathlib import Path

import pytest
from test_docs import CHECKER, FLAGS, missing_package

import dltensor as dl

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from typestubs import operation_docs, reduction_docs


def documented():
    """Name, docstring and the names of its module, for everything in the package that has an example."""
    seen = set()
    for found in pkgutil.walk_packages(dl.__path__, "dltensor."):
        if found.name.endswith(("__main__", ".libdltensor")):  # runs when imported; is no module
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            if error.name is None or error.name.startswith("dltensor"):
                raise
            continue  # it needs a package that is not installed; its own tests say so
        stack = [(found.name, module)]
        while stack:
            name, thing = stack.pop()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if isinstance(thing, type) or thing is module:
                for key, value in list(vars(thing).items()):
                    home = getattr(value, "__module__", None) or getattr(value, "__objclass__", None)
                    if thing is module and home not in (found.name, "dltensor"):
                        continue
                    stack.append((f"{home if thing is module else name}.{key}", value))
            text = getattr(thing, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield name, text, vars(module)


DOCUMENTED = list(documented())


@pytest.mark.parametrize(("name", "text", "names"), DOCUMENTED, ids=[name for name, _, _ in DOCUMENTED])
def test_a_docstring_prints_what_it_says(name, text, names):
    test = doctest.DocTestParser().get_doctest(text, {**names, "dl": dl}, name, None, None)
    assert test.examples
    if name.startswith("dltensor._cli.demo"):
        pytest.importorskip("matplotlib", reason="matplotlib brings the photograph")
    for package in filter(None, (missing_package(example.source) for example in test.examples)):
        pytest.skip(f"{package} is not installed")
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(CHECKER, verbose=False, optionflags=FLAGS).run(test, out=report.write)
    if failed:
        pytest.fail(report.getvalue(), pytrace=False)


def test_examples_of_operations_show_values():
    """Rows without an entry in EXAMPLES have none."""
    assert {row["row"] for row in dl.OPS.values()} == set(operation_docs.EXAMPLES)
    assert all(f">>> dl.{name}(" in row_docstring(name) for name in dl.OPS)


def test_examples_of_reductions_show_values():
    from dltensor._ops.reduce import REDUCTIONS

    assert set(REDUCTIONS) == set(reduction_docs.EXAMPLES)
    assert all(f">>> dl.{name}(" in row_docstring(name) for name in REDUCTIONS)


def row_docstring(name):
    return getattr(dl, name).__doc__


def docstring_tool():
    pytest.importorskip("numpydoc", reason="numpydoc is not installed")
    path = Path(__file__).parent.parent / "tools" / "docstrings.py"
    spec = importlib.util.spec_from_file_location("docstrings_tool", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Add.\n\nExamples\n--------\n>>> 1\n1\n", {"PR01"}),
        (None, {"GL08"}),
        ("add two numbers", {"SS02", "SS03", "PR01", "EX01"}),
    ],
)
def test_the_check_of_docstrings_finds_planted_errors(monkeypatch, text, codes):
    def add(a, b):
        return a + b

    tool = docstring_tool()
    add.__doc__, add.__module__ = text, "dltensor"
    monkeypatch.setattr(dl, "add", add)
    assert codes <= {code for code, _ in tool.errors("dltensor.add", add)}


def test_the_check_of_docstrings_fails_when_it_examined_nothing(monkeypatch):
    tool = docstring_tool()
    monkeypatch.setattr(tool, "public", lambda: iter(()))
    with pytest.raises(SystemExit, match="only 0 names"):
        tool.main()


def test_compiled_docstrings_are_among_them():
    names = {name for name, _, _ in DOCUMENTED}
    assert {"dltensor.from_dlpack", "dltensor.Tensor.reshape", "dltensor.DType"} <= names
    assert len(names) > 25
