# SPDX-License-Identifier: Apache-2.0
"""Lines as NumPy and PyTorch people type them give the same here, or an error that says what to write."""

import copy
import re
import sys

import numpy as np
import program_lines
import pytest
from numpy_twins import DATA, HERE, IN_NUMPY, same
from typed_lines import NUMPY, TORCH

import dltensor as dl
from dltensor._spellings.answers import OF_MODULE, OF_TENSOR

BUILTINS = {"np": dl, "torch": dl, "F": dl}
# Lines of public programs that rules refuse, by the rule.
REFUSED = {name: getattr(program_lines, name).split("\n")[1:-1] for name in ("GRADIENTS", "IN_PLACE", "OTHER_MEANING")}
# Lines that give something else here; docs/coming-from.md says so.
DIFFERENT = {
    "x.device.type == \"cpu\"": "a DeviceType",
    "torch.det": "dl.linalg.det",
    "torch.nonzero(i, as_tuple=True)": "dl.nonzero, always a tuple",
    "torch.nonzero(i)": "dl.nonzero, always a tuple",
    "torch.meshgrid(v, four)": "NumPy's order",
    "torch.max(x, 1)": "values alone",
    "torch.sort(torch.cat([x, y], -1), -1)": "values alone",
    "v.sort()": "values alone",
    "torch.equal(mask, mask)": "elements one by one",
    "torch.split(x, [1, 3], 1)": "places, not sizes",
    "torch.triu_indices(3, 3)": "a tuple, of (n, k)",
    "torch.is_grad_enabled()": "there are no gradients",
}  # fmt: skip
# Lines whose error is the interpreter's own, of an attribute of a function.
WITHOUT_WORDS = re.compile(r"np\.\w+\.(reduce|outer|at|accumulate)\(")


@pytest.fixture(autouse=True)
def _choices_are_restored():
    """Some lines set options of the process."""
    options, dtype, of_numpy = dl.get_printoptions(), dl.get_default_dtype(), np.get_printoptions()
    yield
    dl.set_printoptions(**options)
    dl.set_default_dtype(dtype)
    np.set_printoptions(**of_numpy)
    if "torch" in sys.modules:
        sys.modules["torch"].set_printoptions(profile="default")
        sys.modules["torch"].set_grad_enabled(True)


def lines(text, refused):
    found = [line for line in text.splitlines() if line and line.startswith("!") == refused]
    return [line.lstrip("!") for line in found if line.lstrip("!") not in DIFFERENT]


def of_random(module):
    return [line for line in lines(program_lines.RANDOM, False) if module in line]


def answered():
    """The lines that raise an error that says what to write."""
    texts = (NUMPY, TORCH, program_lines.NUMPY, program_lines.TORCH, program_lines.RANDOM)
    found = [line for text in texts for line in lines(text, True)]
    found += [line for ruled in REFUSED.values() for line in ruled if line not in DIFFERENT]
    return [line for line in found if not WITHOUT_WORDS.search(line)]


def evaluated(line, names):
    """The value of a line; what it writes to is a copy."""
    copied = {name: copy.deepcopy(one) if hasattr(one, "__array__") else one for name, one in names.items()}
    return eval(line, copied)


def outcome(line):
    """None, or what a line raises here."""
    try:
        evaluated(line, {**HERE, **BUILTINS})
    except Exception as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("line", [*lines(NUMPY, False), *lines(program_lines.NUMPY, False), *of_random("np.")])
def test_a_line_of_numpy_gives_the_same(line):
    check(line, {**IN_NUMPY, "np": np})


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:reduction. 'mean'", "ignore:torch.range")
@pytest.mark.parametrize("line", [*lines(TORCH, False), *lines(program_lines.TORCH, False), *of_random("torch.")])
def test_a_line_of_torch_gives_the_same(line):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if line == "x.size":  # a method there, which is called in other lines
        return
    tensors = {name: torch.from_numpy(array) for name, array in DATA.items()}
    theirs = {**tensors, "array": np.arange(3), "torch": torch, "F": torch.nn.functional}
    check(line, theirs)


def check(line, theirs):
    """Compare what a line gives here and there."""
    ours, theirs = evaluated(line, {**HERE, **BUILTINS}), evaluated(line, theirs)
    (same_form if RANDOM_LINE.search(line) else same)(ours, theirs)


RANDOM_LINE = re.compile(r"torch\.(rand|multinomial|manual_seed|normal|bernoulli)|np\.random\.(?!default_rng)")


def same_form(ours, theirs):
    """Compare results whose numbers are random: their shapes, and whether they are integers."""
    if not hasattr(theirs, "tolist") and not isinstance(theirs, (int, float)):
        assert (ours is None) == (theirs is None)
        return
    ours, theirs = np.asarray(ours.tolist()), np.asarray(theirs.tolist() if hasattr(theirs, "tolist") else theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind


@pytest.mark.parametrize("line", answered())
def test_a_line_that_is_not_taken_says_what_to_write(line, capsys):
    error = outcome(line)
    assert error is not None
    text = str(error)
    missing = re.search(r"module 'dltensor' has no attribute '(\w+)'", text)
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


def test_few_lines_of_public_programs_raise():
    """At most 63 of 901 lines raise or give something else."""
    texts = (program_lines.NUMPY, program_lines.TORCH, program_lines.RANDOM)
    taken = [line for text in texts for line in lines(text, False)]
    raising = {line: error for line in taken if (error := outcome(line)) is not None}
    refused = [line for text in texts for line in lines(text, True)]
    ruled = {name: len(of_rule) for name, of_rule in REFUSED.items()}
    total = len(taken) + len(refused) + sum(ruled.values())
    print(f"{total} lines, {len(refused)} are not taken, and by rules {ruled}")
    assert raising == {}
    assert total == 901
    assert len(refused) + sum(ruled.values()) <= 63
    assert len(lines(program_lines.NUMPY, False)) > 350 < len(lines(program_lines.TORCH, False))


def test_no_line_is_there_twice():
    ruled = [line for of_rule in REFUSED.values() for line in of_rule]
    for texts in ((NUMPY, program_lines.NUMPY), (TORCH, program_lines.TORCH)):
        every = [line.lstrip("!") for text in (*texts, program_lines.RANDOM) for line in text.splitlines() if line]
        every += ruled
        assert len(every) == len(set(every)) > 600


def test_few_lines_raise_an_error_that_does_not_say_what_to_write():
    found = [line for line in program_lines.NUMPY.splitlines() if WITHOUT_WORDS.search(line)]
    assert all(outcome(line.lstrip("!")) is not None for line in found)
    assert 0 < len(found) < 5


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
