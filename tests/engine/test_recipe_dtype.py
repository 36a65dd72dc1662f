# SPDX-License-Identifier: Apache-2.0
"""The steps of CONTRIBUTING that add an element type, run on a copy of the sources: what comes from the row.

That is the row itself, reading and writing an element, and the loops of conversions, in the engine; and in Python the
name, the enumeration of dtypes, sizes, printing and pickling.
"""

import ctypes
import re

import numpy as np
import pytest
from building import ROOT
from recipe_steps import answer, carry_out, library_of, package_with, steps

import dltensor as dl

TITLE = "How to add an element type"
NAME, CODE, BITS = "bcomplex32", 18, 32


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return carry_out(TITLE, tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def engine(scratch):
    cpu = scratch / "native" / "cpu"
    names = ("runtime/dtype.cc", "copy/scalar.cc", "copy/cast_pipeline.cc", "copy/kernels/small_casts.cc")
    return ctypes.CDLL(
        str(library_of(scratch, ROOT / "tests" / "engine" / "recipe_dtype.cc", *(cpu / n for n in names)))
    )


def bfloat16_pairs(values):
    """Real and imaginary parts that bfloat16 holds, as its bits."""
    parts = np.ascontiguousarray(values, np.complex64).view(np.float32).view(np.uint32)
    assert (parts & 0xFFFF == 0).all()
    return (parts >> 16).astype(np.uint16)


def cast(engine, source, start, end, dtype, words):
    out = np.zeros(words * len(source) if words else len(source), dtype)
    loops = engine.recipe_cast(
        engine.recipe_type(start), engine.recipe_type(end), ctypes.c_void_p(source.ctypes.data),
        ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(len(source) if start != NAME.encode() else len(source) // 2),
    )  # fmt: skip
    return loops, out


def test_the_headers_have_the_code_and_the_widths_that_the_first_step_shows():
    code, widths = steps(TITLE)[0].block.splitlines()
    include = ROOT / "src" / "dltensor" / "include" / "dltensor"
    assert code in (include / "dlpack.h").read_text()
    assert widths in (include / "validate.h").read_text()


def test_the_example_is_new_and_the_row_says_what_the_step_says():
    assert NAME not in dl.DTYPES
    row = steps(TITLE)[2].block
    assert re.search(rf"X\({NAME}, dlt::{NAME}, kDLBcomplex, {BITS}, \"\"\)", row)


def test_the_engine_has_a_row_from_name_to_dtype_and_back(engine):
    dtype, text, kind, size = (ctypes.c_uint8 * 4)(), ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
    number = engine.recipe_type(NAME.encode())
    assert number > engine.recipe_type(b"complex128")  # after those that are computed with
    assert engine.recipe_row(number, dtype, ctypes.byref(text), ctypes.byref(kind), ctypes.byref(size)) == 1
    assert (list(dtype), text.value, kind.value, size.value) == ([CODE, BITS, 1, 0], b"", 4, 4)
    assert engine.recipe_type(b"bcomplex33") == -1


def test_one_element_is_read_and_written(engine):
    number = engine.recipe_type(NAME.encode())
    memory = np.zeros(6, np.uint16)
    at = ctypes.c_void_p(memory.ctypes.data)
    assert engine.recipe_store(number, at, ctypes.c_int64(1), ctypes.c_double(1.5), ctypes.c_double(-2.0)) == 1
    assert memory.tolist() == [0, 0, 0x3FC0, 0xC000, 0, 0]
    re_, im = ctypes.c_double(), ctypes.c_double()
    assert engine.recipe_load(number, at, ctypes.c_int64(1), ctypes.byref(re_), ctypes.byref(im)) == 1
    assert (re_.value, im.value) == (1.5, -2.0)


def test_complex64_becomes_the_nearest_pair_and_comes_back(engine):
    exact = np.array([0, 1.5 - 2j, np.inf + 3j, -0.0 + 1e-38j], np.complex64)
    exact = (exact.view(np.uint32) & 0xFFFF0000).view(np.complex64)
    loops, out = cast(engine, exact, b"complex64", NAME.encode(), np.uint16, 2)
    assert loops == 1
    assert out.tolist() == bfloat16_pairs(exact).tolist()
    loops, back = cast(engine, out, NAME.encode(), b"complex64", np.uint64, 1)
    assert loops == 1
    assert back[: len(exact)].tolist() == exact.view(np.uint64).tolist()
    # Half way between two bfloat16: to the even one.
    half = np.array([complex(1 + 2**-8, 1 + 3 * 2**-8)], np.complex64)
    assert cast(engine, half, b"complex64", NAME.encode(), np.uint16, 2)[1].tolist() == [0x3F80, 0x3F82]


def test_float32_and_int64_become_real_parts(engine):
    real = np.array([0.5, -3.0, 1 + 2**-8], np.float32)
    assert cast(engine, real, b"float32", NAME.encode(), np.uint16, 2)[1].tolist() == [0x3F00, 0, 0xC040, 0, 0x3F80, 0]
    # One rounding over two loops: 2^53 + 1 and its neighbours are 2^53 in eight digits.
    whole = np.array([7, -256, 2**53 + 1], np.int64)
    loops, out = cast(engine, whole, b"int64", NAME.encode(), np.uint16, 2)
    assert (loops, out.tolist()) == (2, [0x40E0, 0, 0xC380, 0, 0x5A00, 0])
    loops, back = cast(engine, out, NAME.encode(), b"float32", np.float32, 0)
    assert (loops, back[:3].tolist()) == (2, [7.0, -256.0, 2.0**53])


PROGRAM = """
import json, pickle
import dltensor as dl
d = dl.bcomplex32
made = dl.empty((2, 3), dtype="bcomplex32")
print(json.dumps({
    "name": [d.name, str(d), repr(d)],
    "numbers": [d.code, d.bits, d.lanes, d.itemsize, list(d.__dlpack_data_type__())],
    "listed": ["bcomplex32" in dl.DTYPES, "bcomplex32" in dl.__all__, dl.DType("bcomplex32") == d],
    "others": list(dl.DTYPES),
    "vector": dl.DType(18, 32, 4).name,
    "pickled": pickle.loads(pickle.dumps(d)) == d,
    "tensor": [str(made.dtype), made.nbytes, list(made.T.shape)],
    "shared": str(dl.from_dlpack(made).dtype),
}))
"""


def test_python_has_the_name_the_sizes_and_tensors_of_the_type(scratch, tmp_path):
    got = answer(package_with(scratch, tmp_path, "_core/types"), PROGRAM)
    assert got["name"] == [NAME, NAME, f"dltensor.{NAME}"]
    assert got["numbers"] == [CODE, BITS, 1, 4, [CODE, BITS, 1]]
    assert got["listed"] == [True, True, True]
    assert [name for name in got["others"] if name != NAME] == list(dl.DTYPES)
    assert got["vector"] == "bcomplex32x4"
    assert got["pickled"] is True
    assert got["tensor"] == [NAME, 24, [3, 2]]
    assert got["shared"] == NAME
