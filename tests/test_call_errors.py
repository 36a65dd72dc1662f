# SPDX-License-Identifier: Apache-2.0
"""Calls with arguments that a function does not take: the message has the name, what was wrong, and the signature."""

import pickle
import re

import pytest
from public_names import public

import dltensor as dl
from dltensor._core.call_errors import explain, rename, text_signature

THINGS = public()
X = dl.ones((2, 2))
RECEIVERS = {"Tensor": (X,), "random.Generator": (dl.random.Generator(1),)}
# The interpreter answers for functions of one positional argument or none, and those of a table list their keywords.
ANSWERS = r"call it as {0}\(|there are out|positional argument.*perhaps out|by keyword|help\(dltensor|"
ANSWERS += r"takes (exactly one|no) (keyword )?argument"


def functions():
    """Public functions, and the methods of tensors and generators."""
    for name, thing in THINGS.items():
        owner, _, last = name.rpartition(".")
        is_method = isinstance(THINGS.get(owner), type)
        plain = callable(thing) and not isinstance(thing, type) and not last.startswith("_")
        if plain and (not is_method or owner in RECEIVERS) and not hasattr(thing, "__code__"):
            yield name, thing, RECEIVERS.get(owner, ())


@pytest.mark.parametrize("keywords", [{"nonsense": 1}, {}], ids=["unknown keyword", "too many"])
def test_a_call_that_a_function_does_not_take_is_answered_with_its_signature(keywords):
    tried, bad = 0, {}
    for name, function, receiver in functions():
        if not keywords and re.search(r"\*\w", getattr(function, "__text_signature__", "") or ""):
            continue  # takes any number
        arguments = () if keywords else [object()] * 20
        try:
            function(*receiver, *arguments, **keywords)
        except TypeError as error:
            tried += 1
            last = name.rpartition(".")[2]
            if not re.search(ANSWERS.format(re.escape(last)), str(error)) or last not in str(error):
                bad[name] = str(error)
    assert tried > 250
    # Objects that are called, and functions with any number of arguments.
    assert {name: text for name, text in bad.items() if "__call__" not in text and "expected" not in text} == {}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dl.zeros((3,), 4), r"^zeros: dtype must be .*, got 4"),
        (lambda: dl.zeros((3,), 4, 5), r"^zeros: takes at most 2 .*\(3 given\); call it as zeros\(shape, dtype=None"),
        (
            lambda: dl.fft.irfft(X, 1, 2, 3, 4),
            r"^irfft: takes .* 5 were given; call it as irfft\(x, /, n=None, axis=-1",
        ),
        (lambda: dl.nanmax(X, 0, 1), r"^nanmax: .*call it as nanmax\(x, /, axis=None, \*, keepdims"),
        (
            lambda: dl.ones(3, requires_grad=True),
            "^ones: got .* 'requires_grad'; call it as .*; tensors have no gradients",
        ),
        (
            lambda: dl.sort([1], dim=0),
            r"^sort: got .* 'dim'; call it as .*; PyTorch's sort returns indices too, call sort",
        ),
        (lambda: dl.linspace(0, 1, dim=0), r"^linspace: got .* 'dim'; call it as [^;]*$"),
        (lambda: dl.zeros(3, order="F"), r"^zeros: got .* 'order'; call it as .*; results are in C order, t\.T\."),
        (lambda: dl.concat([X, X], casting="no"), r"^concat: got .* 'casting'; .*; types are promoted .* astype\(\)"),
        (lambda: dl.sort(X, dim=0), r"^sort: got an unexpected .*'dim'; call it as sort\(x, /, axis=-1"),
        (lambda: dl.cumulative_sum(X, axis=0, dim=1), r"^cumulative_sum: got an unexpected .*'dim'"),
        (lambda: dl.cumulative_sum(X, 0, dim=1), r"^cumulative_sum: got multiple values .*'axis'"),
        (lambda: dl.softmax(X, axis=0, dim=1), r"^softmax: got an unexpected .*'dim'"),
        (lambda: X.max(dim=0), r"^max: PyTorch's dim returns indices too; call max\(x, axis=...\) and argmax"),
        (lambda: dl.std(X, dim=0), r"^std: PyTorch divides by n - 1, NumPy by n; give correction=1 or correction=0"),
        (lambda: X.reshape(4, cop=1), r"^reshape: got an unexpected .*; call it as reshape\(\*shape, copy=None"),
        (lambda: X.to_device(), r"^to_device: .*; call it as to_device\(device, /, \*, stream=None\)"),
        (lambda: dl.random.Generator(1, 2), r"^Generator: takes at most 1 .*; call it as Generator\(seed=None"),
        (lambda: dl.random.Generator(1).normal((3,)), r"^normal: mean must be a number, got \(3,\)"),
        (lambda: dl.concat(X, X), r"^concat: expected all tensors in one sequence, .*; write concat\(\[a, b\]\)"),
        (lambda: dl.stack(X, X), r"^stack: expected all tensors in one sequence, .*; write stack\(\[a, b\]\)"),
        (lambda: dl.flip(X, X), r"^flip: axis must be an integer, got Tensor"),
    ],
)
def test_the_message_of_a_wrong_call(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, thing in THINGS.items()
        if getattr(thing, "__text_signature__", 0) and isinstance(thing, type) and thing is not tuple  # dl.Size
    ],
)
def test_a_class_called_with_too_much_names_itself(name):
    with pytest.raises(TypeError) as caught:
        THINGS[name](*[object()] * 20)
    last = THINGS[name].__name__
    assert re.search(rf"^{last}: takes .*; call it as {last}\(|^{last}.* positional argument", str(caught.value))


def test_the_name_of_an_inner_function_becomes_that_of_the_called_one():
    for call, name in [
        (lambda: dl.nanmin(dl.zeros(2, dtype="int4")), "nanmin"),
        (lambda: dl.sub(X, "a"), "sub"),
        (lambda: X.cumsum(axis=5), "cumsum"),
        (lambda: X.dot([1, 2, 3]), "dot"),
        (lambda: dl.asarray([True]).conj(), "conj"),
        (lambda: dl.diff(X, append="a"), "diff"),
    ]:
        with pytest.raises((TypeError, ValueError, IndexError), match=f"^{name}: "):
            call()


def test_errors_of_other_code_keep_their_text():
    class Producer:
        __array_interface__ = property(lambda self: (_ for _ in ()).throw(TypeError("max: mine")))

    for call in (dl.nanmax, dl.softmax, dl.max):
        with pytest.raises(TypeError, match=r"^max: mine$"):
            call(Producer())


def test_functions_in_python_are_builtins_that_can_be_pickled():
    for function in (dl.softmax, dl.isclose, dl.linalg.norm, dl.fft.fft):
        assert pickle.loads(pickle.dumps(function)) is function
    assert dl.linalg.outer is dl.outer
    assert dl.softmax.__text_signature__ == "(x, /, axis=None, *, out=None)"
    assert dl.softmax.__doc__.startswith("Return")


def test_the_signature_of_a_function_as_text():
    def example(x, /, n=1, *rest, axis=-1, norm="a", **options):
        """Nothing."""

    assert text_signature(example) == "(x, /, n=1, *rest, axis=-1, norm='a', **options)"
    assert text_signature(lambda: None) == "()"
    assert text_signature(lambda a, *, b: None) == "(a, *, b)"


def test_what_cannot_be_explained_is_left_as_it_is():
    with pytest.raises(LookupError):
        explain("dltensor/_ops/creation.so.p/creation.pyx.cpp", "absent() takes 1")
    for error in (ValueError("mine: a"), ValueError(), ValueError(3), OSError(2, "max: a")):
        before = error.args
        rename(error, "sum")
        assert error.args == before
