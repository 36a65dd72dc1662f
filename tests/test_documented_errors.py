# SPDX-License-Identifier: Apache-2.0
"""Every error that a docstring documents is raised, with a message that begins with the name of the function."""

import inspect
import re

import documented_errors as table
import pytest
from public_names import public


def documented(text):
    """The exceptions in the section "Raises" of a docstring."""
    section = re.search(r"^Raises\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", inspect.cleandoc(text or ""), re.M | re.S)
    names = re.findall(r"^(\w[\w., ]*)$", section[1], re.M) if section else []
    return [name for line in names for name in line.split(", ")]


def calls(rows):
    return [(name, error, call) for error, call, names in rows for name in table.names(names)]


def fault(function, name, error, call):
    """What is wrong with an error that a call should raise; None if nothing is."""
    last = name.rpartition(".")[2]
    begins = next((begin for names, begin in table.BEGINNINGS.items() if name in table.names(names)), last)
    try:
        result = call(function)
    except Exception as raised:
        if error.rpartition(".")[2] not in [kind.__name__ for kind in type(raised).__mro__]:
            return f"{type(raised).__name__} instead of {error}: {raised}"
        # The system's errors begin with their number, those of mappings with the key; metatensor has its own.
        if getattr(raised, "errno", None) or isinstance(raised, KeyError) or "metatensor" in name:
            return None
        named = re.match(rf"(Generator: |\w+\.)*{re.escape(last)}\b|{re.escape(begins)}\b", str(raised))
        return None if named else f"the message does not begin with {begins}: {raised}"
    return f"no {error}: {result!r:.80}"


THINGS = public()
CALLS = calls(table.ROWS)


def test_every_documented_error_has_a_call_and_every_call_is_documented():
    documents = {(name, error) for name, thing in THINGS.items() for error in documented(thing.__doc__)}
    called = [(name, error) for name, error, _ in CALLS + calls(table.WITH_METATENSOR)]
    assert len(documents) > 900
    assert sorted(documents - set(called)) == []
    assert sorted(set(called) - documents) == []
    assert len(called) == len(set(called))


@pytest.mark.parametrize(("error", "call", "names"), table.ROWS, ids=[f"{row[0]} {row[2][:40]}" for row in table.ROWS])
def test_the_error_is_raised(error, call, names):
    faults = {name: fault(THINGS[name], name, error, call) for name in table.names(names)}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.peers
@pytest.mark.parametrize(("name", "error", "call"), calls(table.WITH_METATENSOR))
def test_the_error_is_raised_with_metatensor(name, error, call):
    pytest.importorskip("metatensor", reason="metatensor-core is not installed")
    assert fault(THINGS[name], name, error, call) is None


def test_a_false_documented_error_is_found():
    def ravel(x):
        """Return the elements.

        Raises
        ------
        DeviceError, TypeError
            The tensor is elsewhere.
        ValueError
            It has no
            elements.

        Examples
        --------
        """
        return x

    def squeeze(x):
        raise ValueError("reshape: not so")

    assert documented(ravel.__doc__) == ["DeviceError", "TypeError", "ValueError"]
    assert fault(ravel, "ravel", "ValueError", lambda f: f(1)) == "no ValueError: 1"
    assert fault(len, "len", "ValueError", lambda f: f(1)).startswith("TypeError instead of ValueError: ")
    assert fault(squeeze, "squeeze", "ValueError", lambda f: f(1)).startswith("the message does not begin with squeeze")
    assert fault(squeeze, "reshape", "ValueError", lambda f: f(1)) is None
