# SPDX-License-Identifier: Apache-2.0
"""The steps of CONTRIBUTING that add an import protocol, run on a copy of the sources with a fake of five lines.

Its memory becomes a tensor without a copy, and what was imported is released once: with the last view, or on an error.
"""

import pytest
import recipe_steps
from recipe_steps import answer, carry_out, package_with, steps

import dltensor as dl

TITLE = "How to add an import protocol"
START = """
import ctypes, gc, json
import dltensor as dl

memory, released = (ctypes.c_int32 * 4)(1, 2, 3, 4), []
"""
SHARES = """
first = [t.tolist(), str(t.dtype), t.data_ptr == ctypes.addressof(memory), list(released)]
memory[3] = 40
part = t[1]
del t
gc.collect()
second = [part.tolist(), list(released)]
del part
gc.collect()
class WithDlpack(Producer):  # a faster way goes first
    __dlpack__, __dlpack_device__ = dl.arange(2).__dlpack__, dl.arange(2).__dlpack_device__
third = [list(released), dl.asarray(WithDlpack()).tolist(), list(released)]
computed = (dl.asarray(Producer()) + 1).tolist()
gc.collect()
print(json.dumps([first, second, third, computed, released]))
"""
ERRORS = """
address = ctypes.addressof(memory)
faulty = {
    "address": ("here", 4, "int32"), "range": (-1, 4, "int32"), "dtype": (address, 4, "int33"),
    "shape": (address, (2, "x"), "int32"),
    "negative": (address, (-2,), "int32"), "null": (0, 4, "int32"), "misfit": (address, (2**62, 2**62), "int32"),
    "dimensions": (address, (1,) * 65, "int32"),
}
class Faulty:
    def __init__(self, *items):
        self.items = items
    def __foreign_memory__(self):
        return (*self.items, lambda: released.append(1))
class Short:
    def __foreign_memory__(self):
        return address, 4
class Endless:
    def __foreign_memory__(self):
        return address, 4, "int32", None
class Failing:
    def __foreign_memory__(self):
        raise KeyError("no memory")
said = {}
for name, make in [*((n, lambda items=items: Faulty(*items)) for n, items in faulty.items()),
                   ("short", Short), ("endless", Endless), ("failing", Failing)]:
    released.clear()
    try:
        dl.asarray(make())
    except Exception as error:
        kind = type(error).__name__
        del error
    else:
        kind = "no error"
    gc.collect()
    said[name] = [kind, len(released)]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    scratch = carry_out(TITLE, tmp_path_factory.mktemp("sources"))
    # `dlpack.pxd` is read by every module that cimports it, but its structs keep their layout: two modules are enough.
    return package_with(scratch, tmp_path_factory.mktemp("package"), "_core/dlpack", "_core/convert")


def fake():
    return steps(TITLE)[-1].block


def test_the_example_is_new():
    with pytest.raises(TypeError, match="asarray"):
        dl.asarray(type("Producer", (), {"__foreign_memory__": lambda self: None})())


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("anchor", "elif has_no_such_branch", "0 lines that begin with 'elif has_no_such_branch'"),
        ("anchor", "return", "lines that begin with 'return'"),
        ("block", "", "a step has no block to insert"),
    ],
)
def test_a_step_that_does_not_fit_the_sources_is_found(monkeypatch, tmp_path, field, value, text):
    planted = [step._replace(**{field: value}) if step.file.endswith("dlpack.pyx") else step for step in steps(TITLE)]
    monkeypatch.setattr(recipe_steps, "steps", lambda title: planted)
    with pytest.raises(AssertionError, match=text):
        carry_out(TITLE, tmp_path)


def test_the_memory_of_the_fake_becomes_a_tensor_and_is_released_with_the_last_view(folder):
    first, second, third, computed, released = answer(folder, START + fake() + SHARES)
    assert first == [[[1, 2], [3, 4]], "int32", True, []]
    assert second == [[3, 40], []]
    assert third == [[1], [0, 1], [1]]
    assert (computed, released) == ([[2, 3], [4, 41]], [1, 1])


def test_every_error_releases_once(folder):
    said = answer(folder, START + ERRORS)
    assert {name: ends for name, (_, ends) in said.items()} == {
        **dict.fromkeys(("address", "range", "dtype", "shape", "negative", "null", "misfit", "dimensions"), 1),
        **dict.fromkeys(("short", "endless", "failing"), 0),  # which gave no function to call
    }
    assert "no error" not in {kind for kind, _ in said.values()}
    assert said["failing"][0] == "KeyError"
    assert said["endless"][0] == said["address"][0] == "TypeError"
