# SPDX-License-Identifier: Apache-2.0
"""Strides that lead to no other element, of one element or none, may be any number, and change no result."""

import numpy as np
import pytest

import dltensor as dl

FAR = 2**62
MEMORY = np.arange(1.0, 65.0)


def tensor(shape, strides):
    memory = MEMORY.copy()
    return dl.wrap(memory.ctypes.data, shape, "float64", strides=strides, owner=memory)


ROW, COLUMN = ((1, 12), (FAR, 1)), ((12, 1), (1, -FAR))
EMPTY, ROWS_OF_NONE = ((0, 3, 5), (FAR, -FAR, 2**61)), ((3, 3, 0), (FAR, -FAR, -(2**63)))
CALLS = {
    "sum": (lambda x: dl.sum(x, axis=1), ROW),
    "sum of all": (dl.sum, ((1, 5, 1), (2**59, 1, -FAR))),
    "sum where": (lambda x: dl.sum(x, axis=1, where=x > 3), ROW),
    "var": (lambda x: dl.var(x, axis=0), ROW),
    "prod": (dl.prod, ROW),
    "argmax": (lambda x: dl.argmax(x, axis=1), ROW),
    "sum of none": (lambda x: dl.sum(x, axis=0), EMPTY),
    "prod of none": (dl.prod, EMPTY),
    "cumulative_sum": (lambda x: dl.cumulative_sum(x, axis=1), ROW),
    "sort": (dl.sort, ROW),
    "add": (dl.add, ROW, ROW),
    "where": (lambda x, y: dl.where(x > 4, x, y), ROW, ROW),
    "concat": (lambda x, y: dl.concat([x, y]), ROW, ROW),
    "take": (lambda x: dl.take(x, [0, 0], axis=0), ROW),
    "vecdot": (dl.vecdot, ROW, ((1, 12), (2**60 + 3, 1))),
    "vecdot of none": (dl.vecdot, ((3, 0), (-FAR, FAR)), ((1, 0), (1, FAR))),
    "matmul of vectors": (dl.matmul, ROW, COLUMN),
    "matmul by a vector": (dl.matmul, ROW, ((12,), (1,))),
    "matmul outer": (dl.matmul, COLUMN, ROW),
    "matmul of few terms": (dl.matmul, ((1, 5), (-(2**59), 1)), ((5, 1), (1, -(2**59)))),
    "matmul of a stack": (dl.matmul, ((1, 1, 12), (FAR, -FAR, 1)), ((1, 12, 1), (FAR, 1, FAR))),
    "matmul of no terms": (dl.matmul, ((3, 0), (FAR, FAR)), ((0, 2), (-FAR, FAR))),
    "matmul of a stack of no terms": (dl.matmul, ((3, 2, 0), (FAR, FAR, 1)), ((3, 0, 2), (-FAR, FAR, 1))),
    "gemm": (lambda x, y: dl.gemm(x, y, alpha=2.0), ROW, COLUMN),
    "einsum": (lambda x: dl.einsum("ii->", x), ((1, 1), (FAR, FAR))),
    "einsum of none": (lambda x: dl.einsum("bii->b", x), ((0, 3, 3), (1, FAR, FAR))),
    "norm": (dl.linalg.vector_norm, ROW),
    "argsort": (lambda x: dl.argsort(x, axis=0), ROW),
    "abs in place": (lambda x: dl.abs(x, out=x), EMPTY),
    "abs of the lowest stride": (dl.abs, ((3, 1), (1, -(2**63)))),
    "flip": (dl.flip, ((1, 12), (-FAR, 1))),
    "flip of none": (dl.flip, ROWS_OF_NONE),
    "slices of none": (lambda x: x[1:, ::-1], ROWS_OF_NONE),
    "rows of none": (lambda x: x[2, 1], ROWS_OF_NONE),
    "as bytes": (lambda x: x.view("uint8"), ROWS_OF_NONE),
    "diagonal of none": (dl.linalg.diagonal, ROWS_OF_NONE),
    "diagonal of one": (dl.linalg.diagonal, ((1, 1), (FAR, FAR))),
    "trace of none": (dl.linalg.trace, ((3, 0), (FAR, FAR))),
    "NumPy and back": (lambda x: dl.asarray(np.asarray(x)), ROW),
    "a buffer and back": (lambda x: dl.asarray(memoryview(x)), ROW),
    "a buffer of none": (lambda x: dl.asarray(memoryview(x)), EMPTY),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_stride_that_is_not_used_may_be_anything(call):
    function, *layouts = CALLS[call]
    operands = [tensor(*layout) for layout in layouts]
    plain = [dl.asarray(x.tolist(), dtype="float64").reshape(x.shape) for x in operands]
    made, want = function(*operands), function(*plain)
    assert made.shape == want.shape
    assert made.tolist() == want.tolist()


def test_an_output_may_have_such_strides():
    memory = np.zeros(4)
    out = dl.wrap(memory.ctypes.data, (1, 1), "float64", strides=(FAR, -FAR), owner=memory)
    dl.matmul(tensor(*ROW), tensor(*COLUMN), out=out)
    assert memory.tolist() == [sum(k * k for k in range(1, 13)), 0, 0, 0]
    line = dl.wrap(memory.ctypes.data, (1,), "float64", strides=(FAR,), owner=memory)
    dl.sum(tensor(*ROW), axis=1, out=line)
    assert memory.tolist() == [78, 0, 0, 0]


def test_nothing_is_written_to_none_whatever_the_strides():
    memory = np.zeros(4)
    none = dl.wrap(memory.ctypes.data, (2, 0), "float64", strides=(-(2**63), 1), owner=memory)
    dl.fill(0, none)
    dl.copy(none)
    assert dl.gemm(dl.zeros((2, 3), dtype="float64"), dl.zeros((3, 0), dtype="float64"), none) is none
    wide = dl.wrap(memory.ctypes.data, (1, 3), "float64", strides=(2**63 - 1, 1), owner=memory)
    assert dl.linalg.diagonal(wide).tolist() == [0]


# -- every function ----------------------------------------------------------------------------------------------------

LAYOUTS = {
    "a row": ROW,
    "a column": COLUMN,
    "a row, other strides": ((1, 12), (-(2**60) - 3, 1)),
    "one between": ((2, 1, 6), (6, FAR, 1)),
    "one of one": ((1, 1), (FAR, -(2**63))),
    "every other": ((1, 4), (FAR, 2)),
    "a line of one": ((1,), (FAR,)),
    "none": EMPTY,
    "rows of none": ROWS_OF_NONE,
}
ARGUMENTS = [
    lambda x: (x,),
    lambda x: (x, x),
    lambda x: ([x, x],),
    lambda x: (x, 0),
    lambda x: (x, -1),
    lambda x: (x, 2.0),
    lambda x: (x, (0,)),
    lambda x: (x, dl.asarray([0])),
    lambda x: (x != 3, x, x),
    lambda x: (x, x.mT if x.ndim > 1 else x),
    lambda x: (x, slice(None, None, -1)),
]
KEYWORDS = [{}, {"axis": 0}, {"axis": -1}, {"k": 1}]
# Results of uninitialised memory, random numbers, addresses, bytes of a buffer, and findings about strides.
OTHERWISE = {
    "empty", "empty_like", "Tensor.new_empty", "frombuffer", "wrap", "validate", "rand", "randn", "rand_like",
    "randn_like", "randint", "randperm", "normal", "bernoulli", "Tensor.bernoulli", "multinomial",
    "Tensor.multinomial", "dropout", "fromfile",
}  # fmt: skip


def functions():
    """What takes tensors: functions of the package, of linalg and fft, and methods."""
    places = [("", dl), ("linalg.", dl.linalg), ("fft.", dl.fft)]
    found = {prefix + name: getattr(place, name) for prefix, place in places for name in place.__all__}
    found |= {f"Tensor.{name}": getattr(dl.Tensor, name, None) for name in dir(dl.Tensor) if not name.startswith("__")}
    found |= {f"Tensor.{name}": getattr(dl.Tensor, name) for name in ("__getitem__", "__matmul__", "__add__")}
    return {
        name: one
        for name, one in found.items()
        if callable(one) and not isinstance(one, type) and name not in OTHERWISE and not name.startswith("set_")
    }


def outcome(function, operand, arguments, keywords):
    try:
        return function(*arguments(operand), **keywords)
    except Exception as error:
        return type(error)


def alike(made, want):
    if isinstance(made, tuple | list):
        return type(made) is type(want) and len(made) == len(want) and all(map(alike, made, want))
    if not isinstance(made, dl.Tensor):
        return type(made) is type(want)
    if made.shape != want.shape or made.dtype != want.dtype:
        return False
    if made.dtype.name in ("int4", "uint4", "int2", "uint2", "complex32"):  # which have no arithmetic
        return made.tobytes() == want.tobytes()
    return dl.array_equal(made, want, equal_nan=True)


@pytest.mark.parametrize("name", functions())
@pytest.mark.filterwarnings("ignore")
def test_no_function_uses_them(name):
    """Results and errors are those of the same elements in C order; sanitizers look for the arithmetic."""
    function = functions()[name]
    for layout in LAYOUTS:
        for arguments in ARGUMENTS:
            for keywords in KEYWORDS:
                plain = dl.copy(tensor(*LAYOUTS[layout]))
                made = outcome(function, tensor(*LAYOUTS[layout]), arguments, keywords)
                want = outcome(function, plain, arguments, keywords)
                assert alike(made, want), (layout, ARGUMENTS.index(arguments), keywords, made, want)
