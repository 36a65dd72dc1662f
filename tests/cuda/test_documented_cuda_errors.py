# SPDX-License-Identifier: Apache-2.0
"""Every error that a docstring of `dltensor.cuda` documents is raised, on the host driver or without one."""

import json
import re
from pathlib import Path

import conftest as setup
import cuda_errors as table
import documented_errors
import pytest
from children import output_of
from error_calls import calls, description, documented, fault, faults, unmatched
from public_names import public

import dltensor as dl

pytestmark = pytest.mark.skipif(setup.ON_CARD, reason="needs two devices, and a driver that can be told to fail")
THINGS = table.things()
HERE = Path(__file__).parent

# Prints how many rows of a table are called, and their faults.
CHILD = """
import json, sys
sys.path[:0] = [{here!r}, {tests!r}]
import cuda_errors as table
import documented_errors
from error_calls import faults
if {loads}:
    table.hostcuda.load()
things, rows, found = table.things(), getattr(table, {rows!r})[{first}:{last}], {{}}
for error, call, text in rows:
    found |= faults(things, error, call, text, [*table.BEGINNINGS, (text, "the CUDA driver|numpy")])
print(json.dumps([len(rows), found]))
"""


def faults_in_a_process(rows, first, last, **variables):
    loads = "DLTENSOR_CUDA_DRIVER" not in variables
    code = CHILD.format(here=str(HERE), tests=str(HERE.parent), rows=rows, first=first, last=last, loads=loads)
    return json.loads(output_of(code, **variables))


def test_every_documented_error_has_a_call_and_every_call_is_documented():
    every = table.ROWS + table.WITHOUT_DRIVER + table.ALONE
    assert unmatched(THINGS, every) == []
    assert len(calls(every)) > 75


@pytest.mark.parametrize(("error", "call", "names"), table.ROWS, ids=[f"{row[0]} {row[2][:60]}" for row in table.ROWS])
def test_the_error_is_raised(eager_machine, error, call, names):
    assert faults(THINGS, error, call, names, table.BEGINNINGS) == {}


def test_the_errors_of_a_process_without_a_driver_are_raised():
    count = len(table.WITHOUT_DRIVER)
    assert faults_in_a_process("WITHOUT_DRIVER", 0, count, DLTENSOR_CUDA_DRIVER="/absent/libcuda.so.1") == [count, {}]


@pytest.mark.parametrize("row", range(len(table.ALONE)), ids=[row[2] for row in table.ALONE])
def test_the_error_is_raised_in_a_process_of_its_own(machine, row):
    cache = str(table.hostcuda.cache_folder().parent)
    assert faults_in_a_process("ALONE", row, row + 1, DLTENSOR_CACHE_DIR=cache, DLTENSOR_CUDA_NVRTC="off") == [1, {}]


# Sentences by which a docstring documents an error for CUDA tensors.
ON_THE_HOST = re.compile(r"not on the host|host cannot read|other device than the host")


def claims_of_the_host(things):
    """Names of functions whose DeviceError is documented as that of tensors that are not on the host."""
    return {name for name, thing in things.items() if ON_THE_HOST.search(description(thing.__doc__, "DeviceError"))}


def computed(things, names_of_functions):
    """Return the functions that take a tensor on a CUDA device in their call of the table."""
    rows = [row for row in documented_errors.ROWS if row[0] == "DeviceError"]
    called = {name: call for name, _, call in calls(rows) if name in names_of_functions}
    assert called.keys() == set(names_of_functions)
    found = {name: fault(things[name], name, "DeviceError", call) or "" for name, call in called.items()}
    return [name for name, why in found.items() if why.startswith("no DeviceError")]


def test_functions_that_document_an_error_off_the_host_do_not_compute_on_a_cuda_device(eager_machine, monkeypatch):
    monkeypatch.setattr(documented_errors, "FAR", dl.ones((2, 2), device="cuda"))
    claims = claims_of_the_host(public())
    assert len(claims) >= 4
    assert computed(public(), claims) == []


def test_a_function_that_computes_in_spite_of_its_docstring_is_found(eager_machine, monkeypatch):
    monkeypatch.setattr(documented_errors, "FAR", dl.ones((2, 2), device="cuda"))

    def tolist(x):
        """Return the elements.

        Raises
        ------
        DeviceError
            The host cannot read
            the memory.
        """
        return x.tolist()

    assert claims_of_the_host({"Tensor.tolist": tolist, "len": len}) == {"Tensor.tolist"}
    assert computed({"Tensor.tolist": tolist}, ["Tensor.tolist"]) == ["Tensor.tolist"]


def test_a_false_documented_error_is_found(eager_machine):
    assert documented(THINGS["cuda.Stream.query"].__doc__) == ["DeviceError", "BufferError"]
    made = faults(THINGS, "DeviceError", lambda f: f(table.cuda.Stream()), "cuda.Stream.query")
    assert made == {"cuda.Stream.query": "no DeviceError: True"}
