# SPDX-License-Identifier: Apache-2.0
"""References in docstrings are replaced by the text that they name, when the package is built."""

import importlib.util
import inspect
import os
import re
from pathlib import Path

import pytest
from public_names import MODULES, public

import dltensor as dl

TOOL = Path(__file__).resolve().parent.parent / "tools" / "fill_docstrings.py"
spec = importlib.util.spec_from_file_location("fill_docstrings", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

TAKE = '''
def take(x, indices, /, *, axis=None, out=None):
    """Return elements of `x`, as ``x[indices]`` and ``take(x, indices)`` do.

    Parameters
    ----------
    x : array_like
        Tensor.
    indices : array_like
        Positions in `x`.
    axis : int, optional
        Dimension.
    out : array_like, optional
        Tensor for the result.

    Returns
    -------
    Tensor
        A copy. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype is not supported.
    ValueError
        `out` is read-only.

    Examples
    --------
    >>> [dl.take(dl.asarray([1, 2]), [0], axis=0).item() for _ in range(2)]
    [1, 1]
    """
'''


def filled(folder, source, name="operations.py", **others):
    """The text of a file of a package below `folder` with complete docstrings."""
    for file, text in {name: source, **{f"{stem}.py": text for stem, text in others.items()}}.items():
        (folder / file).write_text(text)
    return tool.complete((folder / name).resolve(), tool.Package(folder), keep_lines=name.endswith(".pyx"))


def docstring(text, name):
    """The docstring of the last function in a source, as inspect.getdoc() shows it."""
    found = [one for one in tool.docstrings(text) if one.name == name]
    return inspect.cleandoc("\n".join(found[-1].text()))


def test_a_reference_to_sections_copies_them_with_their_titles(tmp_path):
    text = filled(tmp_path, TAKE + 'def f(x):\n    """Do.\n\n    {take: Returns, Raises}\n    """\n')
    expected = docstring(TAKE, "take")
    assert docstring(text, "f") == "Do.\n\n" + expected[expected.index("Returns\n") : expected.index("\n\nExamples")]


def test_a_reference_to_entries_copies_them_without_a_title(tmp_path):
    text = filled(tmp_path, TAKE + 'def f(x):\n    """Do.\n\n    {take: axis, ValueError}\n    """\n')
    assert docstring(text, "f") == "Do.\n\naxis : int, optional\n    Dimension.\nValueError\n    `out` is read-only."


def test_a_reference_to_lines_copies_the_first_ones(tmp_path):
    text = filled(tmp_path, TAKE + 'def f(x):\n    """Do.\n\n    {take: 1 lines of Examples}\n    """\n')
    assert docstring(text, "f").splitlines()[2:] == docstring(TAKE, "take").splitlines()[-2:-1]


METHOD = """Return elements of the tensor, as ``t[indices]`` and ``t.take(indices)`` do.

Parameters
----------
indices : array_like
    Positions in the tensor.
axis : int, optional
    Dimension.

Returns
-------
Tensor
    A copy.

Raises
------
TypeError
    The dtype is not supported.

See Also
--------
dltensor.take : The same as a function, of any object.

Examples
--------
>>> [dl.asarray([1, 2]).take([0], axis=0).item() for _ in range(2)]
[1, 1]"""


def test_a_method_has_the_docstring_of_its_function_without_the_tensor_and_what_it_lacks(tmp_path):
    source = 'class Tensor:\n    def take(self, indices, axis=None):\n        """{gather.take}"""\n'
    assert docstring(filled(tmp_path, source, gather=TAKE), "Tensor.take") == METHOD


def test_lines_of_a_cython_file_keep_their_numbers(tmp_path):
    source = TAKE + 'def f(x):\n    """Do.\n\n    {take: Returns}\n    """\n    return x\n'
    text = filled(tmp_path, source, "operations.pyx")
    assert text.count("\n") == source.count("\n")
    assert text.splitlines().index("    return x") == source.splitlines().index("    return x")
    namespace = {}
    exec(text, namespace)
    assert inspect.getdoc(namespace["f"]) == docstring(filled(tmp_path, source, "python.py"), "f")


MERGED = """Do.

Parameters
----------
axis : int
    Another text.
out : array_like, optional
    Tensor for the result.

Returns
-------
Tensor
    A copy. `out`, when it is given.

Raises
------
TypeError
    `x` is not a tensor, or its dtype is not supported.
ValueError
    `axis` is negative.
MemoryError
    Always.

Examples
--------
>>> 1
1"""


def test_copied_sections_have_the_parameters_of_the_function_and_leave_what_the_docstring_says_itself(tmp_path):
    source = """def f(axis, *, out=None):
    \"\"\"Do.

    Parameters
    ----------
    axis : int
        Another text.

    {take: Parameters, Returns, Raises}

    Raises
    ------
    MemoryError
        Always.
    ValueError
        `axis` is negative.

    Examples
    --------
    >>> 1
    1
    \"\"\"
"""
    assert docstring(filled(tmp_path, TAKE + source), "f") == MERGED


def test_a_section_is_copied_beside_none_of_its_title(tmp_path):
    source = (
        'def f(x):\n    """Do.\n\n    Returns\n    -------\n    int\n        One.\n\n    {take: Returns}\n    """\n'
    )
    with pytest.raises(ValueError, match=r"operations.py: f: the section Returns is there and copied too"):
        filled(tmp_path, TAKE + source)


def test_related_functions_are_described_by_their_summaries(tmp_path):
    methods = """class Maker(object):
    \"\"\"Maker(seed)\\n--\\n\\nMake things.\"\"\"

    def take(self):
        \"\"\"Take a thing.

        {See Also: put, give, Maker, sort.put}
        \"\"\"

    def put(self):
        \"\"\"Put a thing back.\"\"\"
"""
    others = {"gather": 'def give(x):\n    """Give `x`."""\n', "sort": 'def put(x):\n    """Sort."""\n'}
    expected = "put : Put a thing back.\ngive : Give `x`.\nMaker : Make things.\nput : Sort."
    text = filled(tmp_path, methods, **others)
    assert docstring(text, "Maker.take") == f"Take a thing.\n\nSee Also\n--------\n{expected}"
    with pytest.raises(ValueError, match=r"operations.py: expected one docstring gone, found 0"):
        filled(tmp_path, methods.replace("put, give", "gone"), **others)


def test_a_function_of_a_row_is_described_by_the_summary_of_the_row(tmp_path):
    header = tmp_path / tool.ROWS[0]
    header.parent.mkdir(parents=True)
    header.write_text(
        '#define ROWS(X) \\\n  X(add, 2, "+", "a + b", "Add.") \\\n  X(sub, 2, \\\n    "-", "Subtract; wrap.")\n'
    )
    text = filled(tmp_path, 'def f(x):\n    """Do.\n\n    {See Also: sub, add}\n    """\n')
    assert docstring(text, "f") == "Do.\n\nSee Also\n--------\nsub : Subtract; wrap.\nadd : Add."


def test_counterparts_are_named_in_the_notes_before_the_example(tmp_path):
    (tmp_path / "ops").mkdir()
    (tmp_path / tool.COUNTERPARTS).write_text(
        '[A]\nops = ["a.", "take"]\nTensor = ["array.", "T"]\n["B 1.0"]\nops = ["", "take"]\n'
    )
    methods = 'class Tensor:\n    def T(self):\n        """Do."""\n\n    def f(self):\n        """Do."""\n'
    (tmp_path / "ops" / "operations.py").write_text(TAKE + methods)
    text = tool.complete((tmp_path / "ops" / "operations.py").resolve(), tool.Package(tmp_path))
    assert "\n\nNotes\n-----\nA: ``a.take``. B 1.0: ``take``.\n\nExamples\n" in docstring(text, "take")
    assert docstring(text, "Tensor.T") == "Do.\n\nNotes\n-----\nA: ``array.T``."
    assert docstring(text, "Tensor.f") == "Do."


def test_a_section_of_one_line(tmp_path):
    text = filled(
        tmp_path, 'def f(x):\n    """Do.\n\n    {Notes: NumPy: ``f``.}\n\n    See Also\n    --------\n    g\n    """\n'
    )
    assert docstring(text, "f") == "Do.\n\nNotes\n-----\nNumPy: ``f``.\n\nSee Also\n--------\ng"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("{absent: Returns}", "operations.py: expected one docstring absent, found 0"),
        ("{gather.absent}", "operations.py: expected one docstring gather.absent, found 0"),
        ("{take: Notes}", r"operations.py: f: {take: Notes}: expected one section or entry Notes, found 0"),
        ("{take: axis, Returns}", "expected one section or entry Returns, found 0"),
        ("{f: Returns}", "operations.py: the docstring of f refers to itself"),
    ],
)
def test_a_reference_to_nothing_is_refused(tmp_path, reference, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        filled(tmp_path, f'{TAKE}def f(x):\n    """Do.\n\n    {reference}\n    """\n')


def test_no_public_docstring_shows_a_reference():
    texts = {name: inspect.cleandoc(thing.__doc__ or "") for name, thing in public((*MODULES, dl.cuda)).items()}
    assert len(texts) > 500
    assert [name for name, text in texts.items() if any(map(tool.REFERENCE.match, text.splitlines()))] == []


def test_methods_of_a_tensor_do_not_name_a_parameter_of_the_function():
    methods = {name: thing for name, thing in vars(dl.Tensor).items() if not name.startswith("_") and callable(thing)}
    assert len(methods) > 40
    assert [name for name, method in methods.items() if re.search("(?<!`)`x`", method.__doc__)] == []


def test_a_module_is_compiled_again_when_a_declaration_that_it_reads_changes(tmp_path, monkeypatch):
    folder, out, depfile = tmp_path / "package", tmp_path / "out", tmp_path / "deps"
    (folder / "core").mkdir(parents=True)
    out.mkdir()
    for name, text in {
        "core/a.pxd": "from .b cimport f\n",
        "core/b.pxd": "cdef int f()\n",
        "core/c.pxd": "cdef int g()\n",
        "one.pyx": "from .core.a cimport (f as\n    g)\n",
        "two.pyx": "from .core cimport c\n",
    }.items():
        (folder / name).write_text(text)
    names = ("one.pyx", "two.pyx")
    monkeypatch.setattr(tool, "PACKAGE", folder)
    options = ["--depfile", str(depfile), str(out), *(str(folder / name) for name in names)]
    monkeypatch.setattr("sys.argv", ["fill_docstrings", *options])

    def run():
        tool.main()
        return [(out / name).stat().st_mtime_ns for name in names]

    first = run()
    assert all(f"{name}.pxd" in depfile.read_text() for name in "abc")
    assert run() == first
    os.utime(folder / "core" / "b.pxd", ns=(max(first) + 1, max(first) + 1))
    again = run()
    assert again[0] > first[0]
    assert again[1] == first[1]
