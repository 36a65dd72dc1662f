# SPDX-License-Identifier: Apache-2.0
"""Every error that a docstring documents is raised, with a message that begins with the name of the function."""

import documented_errors as table
import pytest
from error_calls import calls, documented, fault, faults, unmatched
from public_names import MODULES, public, with_members

import dltensor as dl

THINGS = public((*MODULES, dl.conformance)) | with_members("inspect.Report", type(dl.inspect(1)))


def test_every_documented_error_has_a_call_and_every_call_is_documented():
    assert unmatched(THINGS, table.ROWS + table.WITH_METATENSOR) == []
    assert len(calls(table.ROWS)) > 900


@pytest.mark.parametrize(("error", "call", "names"), table.ROWS, ids=[f"{row[0]} {row[2][:40]}" for row in table.ROWS])
def test_the_error_is_raised(error, call, names):
    assert faults(THINGS, error, call, names, table.BEGINNINGS) == {}


@pytest.mark.peers
@pytest.mark.parametrize(("error", "call", "names"), table.WITH_METATENSOR)
def test_the_error_is_raised_with_metatensor(error, call, names):
    pytest.importorskip("metatensor", reason="metatensor-core is not installed")
    assert faults(THINGS, error, call, names) == {}


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


def test_the_exceptions_of_a_docstring_are_found():
    assert documented(ravel.__doc__) == ["DeviceError", "TypeError", "ValueError"]


def test_a_false_documented_error_is_found():
    assert fault(ravel, "ravel", "ValueError", lambda f: f(1)) == "no ValueError: 1"
    assert fault(len, "len", "ValueError", lambda f: f(1)).startswith("TypeError instead of ValueError: ")
    assert fault(squeeze, "squeeze", "ValueError", lambda f: f(1)).startswith("the message does not begin with squeeze")
    assert fault(squeeze, "reshape", "ValueError", lambda f: f(1)) is None
    assert fault(squeeze, "a.squeeze", "ValueError", lambda f: f(1), [("b a.(c squeeze)", "reshape")]) is None
    assert faults({"a": ravel, "b": squeeze}, "ValueError", lambda f: f(1), "a b", [("b", "reshape")]) == {
        "a": "no ValueError: 1"
    }


def test_documented_errors_without_a_call_and_calls_of_others_are_found():
    rows = [("TypeError", len, "ravel"), ("KeyError", len, "ravel"), ("ValueError", len, "ravel ravel")]
    missing = [("ravel", "DeviceError"), ("ravel", "KeyError"), ("ravel", "ValueError")]
    assert unmatched({"ravel": ravel}, rows) == missing
