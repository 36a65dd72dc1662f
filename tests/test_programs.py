# SPDX-License-Identifier: Apache-2.0
"""Programs of NumPy in examples/programs give NumPy's numbers with the changed import and few other edited lines."""

import re
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("ml_dtypes")

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples" / "programs").glob("*.py"))
PAGE = ROOT / "docs" / "numpy-programs.md"
EDITED = re.compile(r"^( *)\S.*  # NumPy: (.*)$", re.M)
IMPORT = "import numpy as np"
RANDOM = {"monte_carlo.py": 0.02}  # the generators draw other numbers: the relative distance of two estimates


def edited_lines(source):
    """The lines of NumPy that a program has in other words, without the import."""
    lines = [line for _, line in EDITED.findall(source)]
    assert lines.count(IMPORT) == 1
    return [line for line in lines if line != IMPORT]


def results(source, name):
    names = {"__name__": "program"}
    exec(compile(source, name, "exec"), names)
    return names["main"]()


def numbers(value):
    """The numbers of a result as an array of NumPy."""
    return np.asarray([float(item) for item in value] if isinstance(value, tuple) else value, dtype=float)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_gives_the_numbers_of_its_numpy_twin(path):
    source = path.read_text()
    twin = EDITED.sub(r"\1\2", source)
    assert "dltensor" not in twin
    expected, got = results(twin, "numpy"), results(source, path.name)
    assert list(got) == list(expected)
    for name, value in expected.items():
        if isinstance(value, str):
            assert got[name] == value, name
        else:
            wanted, near = numbers(value), RANDOM.get(path.name, 1e-4)
            np.testing.assert_allclose(numbers(got[name]), wanted, near, near * np.abs(wanted).max(), err_msg=name)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_has_at_most_three_edited_lines_beside_the_import(path):
    source = path.read_text()
    lines = edited_lines(source)
    assert len(lines) <= 3
    assert 30 <= len(source.splitlines()) <= 100
    (row,) = re.findall(rf"^\| \[.*\(\.\./examples/programs/{path.name}\).* \|$", PAGE.read_text(), re.M)
    assert row.split("|")[2].strip() == str(len(lines))
    assert [line for line in lines if line not in row] == []


def test_there_are_ten_programs():
    assert len(PROGRAMS) >= 10
