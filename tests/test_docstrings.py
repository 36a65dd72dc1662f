# SPDX-License-Identifier: Apache-2.0
"""Every docstring example of the package, compiled modules included, prints the shown output. Pages: test_docs.py."""

import doctest
import importlib
import io
import pkgutil

import pytest
from test_docs import CHECKER, FLAGS, skip_without

import dltensor as dl


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
    skip_without(example.source for example in test.examples)
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(CHECKER, verbose=False, optionflags=FLAGS).run(test, out=report.write)
    if failed:
        pytest.fail(report.getvalue(), pytrace=False)


def test_compiled_docstrings_are_among_them():
    names = {name for name, _, _ in DOCUMENTED}
    assert {"dltensor.from_dlpack", "dltensor.Tensor.reshape", "dltensor.DType"} <= names
    assert len(names) > 25
