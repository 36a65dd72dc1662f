# SPDX-License-Identifier: Apache-2.0
"""Lines as NumPy and PyTorch people type them give the same here, or an error that says what to write."""

import re

import numpy as np
import pytest
from numpy_twins import DATA, HERE, IN_NUMPY, same
from typed_lines import NUMPY, TORCH

import dltensor as dl
from dltensor._spellings.answers import OF_MODULE, OF_TENSOR

BUILTINS = {"np": dl, "torch": dl}
# Lines that give something else here; docs/coming-from.md says so.
DIFFERENT = {
    "x.device.type == \"cpu\"": "a DeviceType",
    "torch.det": "dl.linalg.det",
    "torch.nonzero(i, as_tuple=True)": "dl.nonzero, always a tuple",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _choices_are_restored():
    """Some lines set options of the process."""
    options, dtype = dl.get_printoptions(), dl.get_default_dtype()
    yield
    dl.set_printoptions(**options)
    dl.set_default_dtype(dtype)


def lines(text, refused):
    found = [line for line in text.splitlines() if line and line.startswith("!") == refused]
    return [line.lstrip("!") for line in found if line.lstrip("!") not in DIFFERENT]


def evaluated(line, names):
    return eval(line, dict(names))


def outcome(line):
    """None, or what a line raises here."""
    try:
        evaluated(line, {**HERE, **BUILTINS})
    except Exception as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("line", lines(NUMPY, False))
def test_a_line_of_numpy_gives_the_same(line):
    same(evaluated(line, {**HERE, **BUILTINS}), evaluated(line, {**IN_NUMPY, "np": np}))


@pytest.mark.peers
@pytest.mark.parametrize("line", lines(TORCH, False))
def test_a_line_of_torch_gives_the_same(line):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if line == "x.size":
        return
    tensors = {name: torch.from_numpy(array) for name, array in DATA.items()}
    same(evaluated(line, {**HERE, **BUILTINS}), evaluated(line, {**tensors, "array": np.arange(3), "torch": torch}))


@pytest.mark.parametrize("line", lines(NUMPY, True) + lines(TORCH, True))
def test_a_line_that_is_not_taken_says_what_to_write(line, capsys):
    error = outcome(line)
    assert error is not None
    text = str(error)
    missing = re.search(r"module 'dltensor[.\w]*' has no attribute '(\w+)'", text)
    if missing:  # a module cannot say more without slowing down every look-up of a name
        dl.help(missing[1])
        text = capsys.readouterr().out
        assert text.startswith(f"dltensor has no {missing[1]}; ")
    assert re.search(r"write |call |give |leave it out|compute |use |several extents", text), text


def test_few_lines_raise():
    taken = lines(NUMPY, False) + lines(TORCH, False)
    raising = {line: error for line in taken if (error := outcome(line)) is not None}
    refused = lines(NUMPY, True) + lines(TORCH, True)
    share = (len(raising) + len(refused) + len(DIFFERENT)) / (len(taken) + len(refused) + len(DIFFERENT))
    print(f"{len(taken) + len(refused)} lines, {len(refused) + len(DIFFERENT)} are not taken")
    assert len(taken) > 450
    assert raising == {}
    assert share < 0.09


# -- names that are not taken -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_TENSOR)
def test_an_attribute_that_is_not_there_says_what_to_write(name):
    t = dl.zeros(2)
    for owner in (t, dl.Tensor):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError, match=f"^Tensor has no {name}; ") as raised:
            getattr(owner, name)
        assert raised.value.name == name
    assert name not in dir(t)


def test_other_attributes_are_refused_as_before():
    with pytest.raises(AttributeError, match=r"'dltensor.Tensor' object has no attribute 'nosuch'"):
        dl.zeros(2).nosuch  # noqa: B018
    assert {"shape", "sum", "softmax", "__add__"} <= set(dir(dl.zeros(2)))


@pytest.mark.parametrize("name", OF_MODULE)
def test_help_says_what_to_write_for_names_that_are_not_taken(name, capsys):
    assert not hasattr(dl, name)
    dl.help(name)
    assert capsys.readouterr().out.startswith((f"dltensor has no {name}; ", f"t.{name}"))


def test_help_shows_what_a_name_is(capsys):
    dl.help("torch.cat")
    dl.help("unsqueeze")
    dl.help("nosuch")
    dl.help("\ud800é")
    assert capsys.readouterr().out.splitlines() == [
        "dl.cat(arrays, /, axis=0): Join tensors along an existing dimension.",
        "dl.unsqueeze(x, /, axis=0): Return a view with new dimensions of one element.",
        "t.unsqueeze(axis=0): Return ``dltensor.expand_dims(t, ...)``, whose arguments it takes.",
        "dltensor has no nosuch; docs/coming-from.md lists names of NumPy and PyTorch",
        r"dltensor has no \ud800\xe9; docs/coming-from.md lists names of NumPy and PyTorch",
    ]


def test_what_an_answer_says_to_write_is_there():
    for text in [*OF_TENSOR.values(), *OF_MODULE.values()]:
        for names in re.findall(r"\bdl\.(\w+(?:\.\w+)*)", text):
            thing = dl
            for part in names.split("."):
                thing = getattr(thing, part)
        for name in re.findall(r"(?<![\w.])t\.([a-zA-Z_]+)", text):
            assert name in dir(dl.zeros(1)), text
