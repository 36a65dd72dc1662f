# SPDX-License-Identifier: Apache-2.0
"""Functions in Python that the package knows before their modules are loaded, and the tool that writes their table."""

import ast
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl
from dltensor._core.errors import python_function
from dltensor._core.members import FUNCTIONS as NAMES
from dltensor._core.members import described
from dltensor._core.naming import text_signature

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import public_functions  # noqa: E402

FUNCTIONS = {name: described()[name] for name in NAMES}


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_import_loads_no_module_of_a_function_in_python():
    modules = {module for module, _ in FUNCTIONS.values()}
    assert len(modules) > 10
    loaded = run("import sys, dltensor; print(*sys.modules)").split()
    assert "dltensor._ops.reduce" in loaded
    assert modules.intersection(loaded) == set()


def test_threads_that_call_first_get_the_same_function():
    code = """
import threading, dltensor as dl
start, found = threading.Barrier(8), []
def call():
    start.wait()
    found.append(dl.pad([1, 2], 1, mode="edge").tolist())
threads = [threading.Thread(target=call) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(found == [[1, 1, 2, 2]] * 8)
"""
    assert run(code) == "True\n"


def test_a_function_whose_module_cannot_be_loaded_raises_and_is_asked_again():
    functions = [None, 5]

    def load():
        if functions.pop() == 5:
            raise ImportError("no such module")
        return lambda x, axis: (x, axis)

    function = python_function("pair", None, load, "pair(x, axis)", print, lambda text: ("dim", "axis"))
    with pytest.raises(ImportError, match="no such module"):
        function(1, 2)
    assert function(1, dim=2) == (1, 2)


def test_other_names_of_parameters_that_cannot_be_found_are_refused_by_the_function():
    function = python_function("one", lambda x: x, None, "one(x)", lambda function, error: None, lambda text: 1 / 0)
    assert function(x=2) == 2
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        function(dim=2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_table_says_what_the_source_does(name):
    module, text = FUNCTIONS[name]
    function, builtin = getattr(importlib.import_module(module), name), getattr(dl, name)
    assert text.partition("\n--\n\n")[0] == f"{name}{text_signature(function)}"
    assert builtin.__doc__.startswith(text.partition("\n--\n\n")[2][:40])
    assert (builtin.__name__, builtin.__module__) == (name, "dltensor")
    assert list(inspect.signature(builtin).parameters) == list(inspect.signature(function).parameters)
    assert pickle.loads(pickle.dumps(builtin)) is builtin


def test_copies_have_no_docstrings_and_the_same_lines():
    text = 'def one(x):\n    """First.\n\n    Second.\n    """\n    return x\n'
    (node,) = public_functions.definitions(text, ["one"], "file.py")
    assert list(public_functions.rows("dltensor.file", [node])) == [
        '    {"one", "dltensor.file",\n'
        '    "one(x)\\n"\n    "--\\n"\n    "\\n"\n    "First.\\n"\n    "\\n"\n    "Second.\\n"\n    ""},\n'
    ]
    copy = public_functions.without_docstrings(text, [node])
    assert copy == "def one(x):\n\n\n\n\n    return x\n"
    assert ast.parse(copy).body[0].body[0].lineno == node.body[1].lineno


@pytest.mark.parametrize("text", ['def one(x):\n    """Only words."""\n', "def one(x):\n    return x\n", "one = 5\n"])
def test_functions_without_a_docstring_or_a_body_are_refused(text):
    with pytest.raises(ValueError, match="expected functions with a docstring and a body"):
        public_functions.definitions(text, ["one"], "file.py")


@pytest.mark.parametrize(
    "signature", ["()", "(x, /, n=1, *rest, axis=-1, **options)", "(x, *, out=None)", "(*, a, b='c')", "(a, b=2.5)"]
)
def test_signatures_are_those_of_the_definitions(signature):
    space = {}
    exec(f"def f{signature}: pass", space)
    assert public_functions.signature(ast.parse(f"def f{signature}: pass").body[0]) == signature
    assert text_signature(space["f"]) == signature


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(np, name)])
def test_arguments_may_be_passed_by_the_names_that_numpy_has(name):
    theirs = list(inspect.signature(getattr(np, name)).parameters.values())[1:]
    by_name = {one.name for one in theirs if one.kind is not one.POSITIONAL_ONLY}
    ours = list(inspect.signature(getattr(dl, name)).parameters.values())[1:]
    assert [one.name for one in ours if one.kind is one.POSITIONAL_ONLY and one.name in by_name] == []
