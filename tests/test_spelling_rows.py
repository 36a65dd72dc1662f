# SPDX-License-Identifier: Apache-2.0
"""Every row of the table of spellings gives what NumPy's or PyTorch's function of that name gives."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy_twins import DATA, HERE, IN_NUMPY, same

import dltensor as dl
from dltensor._core.members import SPELLINGS as FUNCTIONS
from dltensor._core.members import methods
from dltensor._spellings.table import rows

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

import spellings

ROWS = list(rows())
# Rows of which only the form of the result is compared.
FORMED = [row for row in ROWS if {"r", "o"} & set(row.origins)]


def called(function, arguments, names):
    return eval(f"f({arguments})", {"f": function, **names})


def method(name, arguments, names):
    """The call of a method, whose first argument is the tensor."""
    first, _, rest = arguments.partition(", ")
    return eval(f"t.{name}({rest})", {"t": eval(first, dict(names)), **names})


def of(letters):
    return [pytest.param(row, id=row.name) for row in ROWS if set(letters) & set(row.origins) and row not in FORMED]


@pytest.mark.parametrize("row", of("n"))
def test_a_function_gives_what_numpys_gives(row):
    same(called(getattr(dl, row.name), row.example, HERE), called(getattr(np, row.name), row.example, IN_NUMPY))


@pytest.mark.parametrize("row", of("N"))
def test_a_method_gives_what_numpys_gives(row):
    same(method(row.method, row.example, HERE), method(row.method, row.example, IN_NUMPY))


def in_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = {name: torch.from_numpy(array) for name, array in DATA.items()}
    others = {"float32": torch.float32, "float64": torch.float64, "array": np.arange(3), "copy": torch.clone}
    return torch, tensors | others


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("row", of("t"))
def test_a_function_gives_what_torchs_gives(row):
    torch, names = in_torch()
    same(called(getattr(dl, row.name), row.example, HERE), called(getattr(torch, row.name), row.example, names))


@pytest.mark.peers
@pytest.mark.parametrize("row", of("f"))
def test_a_function_gives_what_that_of_torchs_nn_gives(row):
    torch, names = in_torch()
    theirs = getattr(torch.nn.functional, row.name)
    same(called(getattr(dl, row.name), row.example, HERE), called(theirs, row.example, names))


@pytest.mark.peers
@pytest.mark.parametrize("row", of("T"))
def test_a_method_gives_what_torchs_gives(row):
    _, names = in_torch()
    same(method(row.method, row.example, HERE), method(row.method, row.example, names))


@pytest.mark.peers
@pytest.mark.parametrize("row", FORMED, ids=lambda row: row.name)
def test_a_function_gives_the_shape_and_the_kind_of_torchs(row):
    torch, names = in_torch()
    called_in = (getattr(dl, row.name), row.example, HERE), (getattr(torch, row.name), row.example, names)
    ours, theirs = (called(*one) for one in called_in)
    torch.set_grad_enabled(True)
    shapes = [
        [x.shape for x in (one if isinstance(one, tuple) else [one]) if hasattr(x, "shape")] for one in (ours, theirs)
    ]
    assert shapes[0] == shapes[1]
    if isinstance(theirs, torch.Tensor):
        assert np.asarray(ours.tolist()).dtype.kind == np.asarray(theirs.tolist()).dtype.kind


def test_rows_whose_numbers_are_others_say_so():
    found = [row.name for row in ROWS if "r" in row.origins]
    assert all(getattr(dl, name).__doc__.rstrip().endswith("Numbers are others than there.") for name in found)
    assert len(found) > 8


@pytest.mark.parametrize("row", [row for row in ROWS if "NT" not in row.origins], ids=lambda row: row.name)
def test_a_row_is_public_where_it_says(row):
    assert row.origins
    assert set(row.origins) <= set("ntfNTro"), "unknown letters"
    assert not row.is_function or row.name in set(dl.__all__) & set(dir(dl))
    assert row.method is None or row.method in dir(dl.Tensor)


@pytest.mark.parametrize("row", [row for row in ROWS if row.is_fused], ids=lambda row: row.name)
def test_steps_that_run_together_have_the_bits_of_steps_one_by_one(row):
    few = called(getattr(dl, row.name), row.example, HERE)
    many = {name: dl.tile(t, (2048, 1)) if t.ndim == 2 else t for name, t in HERE.items() if isinstance(t, dl.Tensor)}
    together = called(getattr(dl, row.name), row.example, {**HERE, **many})
    assert together.size >= 4096
    assert together.tolist() == few.tolist() * 2048
    assert len([row for row in ROWS if row.is_fused]) > 5


def test_names_without_parameters_are_the_same_function():
    aliases = [row for row in ROWS if row.is_function and not row.parameters]
    assert all(getattr(dl, row.name) is getattr(dl, row.call) for row in aliases)
    assert len(aliases) > 20


def test_no_name_has_two_rows():
    assert len(FUNCTIONS) == len(set(FUNCTIONS)) == sum(row.is_function for row in ROWS)
    assert len(methods()) == sum(row.method is not None for row in ROWS)


def test_lists_and_numbers_are_taken():
    assert dl.absolute(-3).item() == 3
    assert dl.hstack(([1, 2], [3])).tolist() == [1, 2, 3]


def test_a_message_begins_with_the_name_that_was_called():
    with pytest.raises(IndexError, match=r"^amax: axis 3 is out of range"):
        dl.zeros(2).amax(3)
    with pytest.raises(IndexError, match=r"^index_select: axis 3 is out of range"):
        dl.index_select(dl.zeros(2), 3, [0])
    with pytest.raises(TypeError, match=r"^inner: expected numbers"):
        dl.inner("a", "b")
    for function in (dl.scatter, dl.scatter_add):
        with pytest.raises(IndexError, match=rf"^{function.__name__}: (add_at: )?index 5 is out of range for axis 0"):
            function(dl.zeros(3), 0, [5], [1.0])
    with pytest.raises(ValueError, match=r"^aminmax: .* the result of none is not defined$"):
        dl.aminmax(dl.zeros(0))


def test_the_page_has_the_rows():
    assert spellings.PAGE.read_text() == spellings.page(), "run python tools/spellings.py --page"


def test_masked_select_broadcasts_mask_and_tensor_as_in_torch():
    x = dl.reshape(dl.arange(6), (2, 3))
    assert dl.masked_select(x, dl.asarray([True, False, True])).tolist() == [0, 2, 3, 5]
    assert dl.masked_select(dl.arange(3), dl.asarray([[True, False, False], [False, True, False]])).tolist() == [0, 1]
    with pytest.raises(TypeError, match="the mask must be of bool, got int64"):
        dl.masked_select(x, dl.asarray([0, 1, 1]))


def test_ascontiguousarray_has_at_least_one_dimension_as_in_numpy():
    assert dl.ascontiguousarray(3).shape == np.ascontiguousarray(3).shape == (1,)
