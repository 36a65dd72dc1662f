# SPDX-License-Identifier: Apache-2.0
"""The calls that docs/architecture.md follows enter the functions that are its steps, in that order."""

import re
from pathlib import Path

import function_trace
import pytest
from test_architecture import TEXTS, documented_calls

PAGE = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
SECTIONS = dict(documented_calls(PAGE.read_text()))
IMPORT = "import dltensor as dl\n"
# Calls of the sections: a word of the title, statements before, the call, and the number of threads.
CALLS = [
    ("small", f"{IMPORT}a, b = dl.ones(2), dl.ones(2)", "a + b", 1),
    ("large", f"{IMPORT}a, b = dl.ones((2000, 3000)).T, dl.ones(2000)", "a + b", 2),
    ("sum", f"{IMPORT}x = dl.ones((10000, 20), dtype='float64')", "x.sum(axis=0)", 1),
    ("mask", f"{IMPORT}x = dl.ones((30, 20))\nmask = x > 0", "x.__setitem__(mask, 1.0)", 1),
    (
        "OpaqueArray",
        f"{IMPORT}from dltensor.opaque import OpaqueArray\nx = dl.ones(6)",
        "OpaqueArray(x).reshape((2, 3))",
        1,
    ),
    (
        "open_file",
        f"{IMPORT}import os, tempfile\npath = os.path.join(tempfile.mkdtemp(), 'a.safetensors')\n"
        "dl.save(path, {'w': dl.ones(3)})\ndl.open_file(path)['w']",
        "dl.open_file(path)['w']",
        1,
    ),
]
FROM_TORCH = ("from_dlpack", f"{IMPORT}import torch\nx = torch.ones(3)\ndl.from_dlpack(x)", "dl.from_dlpack(x)", 1)


def steps_of(word):
    (steps,) = [steps for title, steps in SECTIONS.items() if word in title]
    return steps


def is_entry(step, names):
    """Test if a symbol is the function of a step."""
    file, function = step
    if file.endswith(".py"):
        return f"{file}:{function}" in names
    if not file.endswith((".pyx", ".pxi")):
        return function in names
    # Cython writes the folders and the file with their lengths; a .pxi is part of the file that includes it.
    parts = file.replace("_fast.pxi", ".pyx").removesuffix(".pyx").split("/")
    module = "_".join(f"{len(part)}{part}" for part in parts)
    return any(re.search(rf"_8dltensor_{module}_(?:\w+_)?\d*{function}$", name) for name in names)


def body_of(file, function):
    """The text of the functions of that name in a file."""
    lines, found = TEXTS[file].splitlines(), []
    for number, line in enumerate(lines):
        if not re.search(rf"(?<![\w.]){function}\(", line) or line.rstrip().endswith(";"):
            continue
        indent = len(line) - len(line.lstrip())
        for each in lines[number:]:
            found.append(each)
            if (
                each.strip()
                and len(each) - len(each.lstrip()) <= indent
                and each is not line
                and not each.startswith(")")
            ):
                break
    return "\n".join(found)


def problems(steps, entered, symbols):
    """Steps that were not entered in their order, as messages."""
    before = -1
    for number, (file, function) in enumerate(steps):
        at = [place for place, names in enumerate(entered) if place > before and is_entry((file, function), names)]
        if at:
            before = at[0]
        elif file.endswith(".py") or any(is_entry((file, function), names) for names in symbols):
            yield f"{file}: {function} is not entered after the steps before it"
        else:
            callers = [body_of(*step) for step in steps[:number]]
            if not any(re.search(rf"\b{function}(?:<[^()]*>)?\(", text) for text in callers):
                yield f"{file}: {function} is called by no step before it"


def all_symbols():
    found = [
        function_trace.identifiers(one) for each in function_trace.function_symbols().values() for one in each.values()
    ]
    if not found:
        pytest.skip("the libraries have no symbols")
    return found


def traced(call):
    word, prepare, statement, threads = call
    try:
        return steps_of(word), function_trace.trace(statement, prepare, DLTENSOR_NUM_THREADS=str(threads))
    except function_trace.Denied as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_the_call_enters_the_documented_functions_in_their_order(call):
    symbols = all_symbols()
    steps, entered = traced(call)
    assert list(problems(steps, entered, symbols)) == []
    assert sum(any(is_entry(step, names) for names in entered) for step in steps) > len(steps) // 2


@pytest.mark.peers
def test_the_import_from_torch_enters_the_documented_functions_in_their_order():
    pytest.importorskip("torch", reason="torch is not installed")
    symbols = all_symbols()
    steps, entered = traced(FROM_TORCH)
    assert list(problems(steps, entered, symbols)) == []


def test_every_call_of_the_page_is_made():
    called = [steps_of(word) for word, *_ in [*CALLS, FROM_TORCH]]
    assert sorted(called) == sorted(SECTIONS.values())


def test_wrong_steps_are_found():
    symbols = all_symbols()
    steps, entered = traced(CALLS[0])
    assert list(problems([steps[1], steps[0]], entered, symbols)) == [
        "_core/tensor.pyx: __add__ is not entered after the steps before it"
    ]
    assert list(problems([("_ops/elementwise.pyx", "_general")], entered, symbols)) == [
        "_ops/elementwise.pyx: _general is not entered after the steps before it"
    ]
    assert list(problems([steps[0], ("_ops/elementwise_fast.pxi", "_absent")], entered, symbols)) == [
        "_ops/elementwise_fast.pxi: _absent is called by no step before it"
    ]
    assert list(problems([("io/_files.py", "memmap")], entered, symbols)) == [
        "io/_files.py: memmap is not entered after the steps before it"
    ]


def test_names_are_found_in_symbols():
    assert function_trace.identifiers("_ZN3dlt12_GLOBAL__N_19run_chunkEPvl")[-1] == "run_chunk"
    assert function_trace.identifiers("dlt_check_tensor.part.0") == ["dlt_check_tensor"]
    assert is_entry(("_core/tensor.pyx", "__add__"), ["__pyx_pw_8dltensor_5_core_6tensor_6Tensor_101__add__"])
    assert not is_entry(("_core/tensor.pyx", "add"), ["__pyx_pw_8dltensor_5_core_6tensor_6Tensor_101__add__"])
