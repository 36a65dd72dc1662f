# SPDX-License-Identifier: Apache-2.0
"""Elements at any address: every function gives on misaligned memory what it gives on an aligned copy."""

import re
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl

KERNELS = Path(__file__).parent.parent / "src" / "dltensor" / "native"
DTYPES = ("bool", "int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128")
INDEX = np.asarray([2, 0, 1, 1])
CALLS = {
    "x[..., True, -2]": lambda x: x[..., True, -2],
    "x[index]": lambda x: x[dl.asarray(INDEX)],
    "x[:, index]": lambda x: x[:, dl.asarray(INDEX)],
    "x[index, index]": lambda x: x[dl.asarray(INDEX), dl.asarray(INDEX)],
    "x[mask]": lambda x: x[x != 0],
    "x[mask] = 1": lambda x: assigned(x, x != 0, 1),
    "x[index] = 1": lambda x: assigned(x, dl.asarray(INDEX), 1),
    "x[index] = x": lambda x: assigned(x, dl.asarray(INDEX), x[dl.asarray(INDEX)]),
    "take": lambda x: dl.take(x, dl.asarray(INDEX), axis=1),
    "take_along_axis": lambda x: dl.take_along_axis(x, dl.asarray(INDEX[:3, None]), axis=1),
    "nonzero": lambda x: dl.nonzero(x)[1],
    "where": lambda x: dl.where(x != 0, x, x),
    "add": lambda x: x if x.dtype == dl.bool else x + x,
    "sum": dl.sum,
    "mean": lambda x: dl.mean(x, axis=0),
    "var": lambda x: dl.var(x, axis=1),
    "max": lambda x: x if "complex" in str(x.dtype) else dl.max(x, axis=0),
    "argmax": lambda x: x if "complex" in str(x.dtype) else dl.argmax(x, axis=1),
    "cumulative_sum": lambda x: dl.cumulative_sum(x, axis=1),
    "vecdot": lambda x: x if x.dtype == dl.bool else dl.vecdot(x, x),
    "sort": lambda x: x if "complex" in str(x.dtype) else dl.sort(x, axis=0),
    "argsort": lambda x: x if "complex" in str(x.dtype) else dl.argsort(x),
    "unique_values": dl.unique_values,
    "isin": lambda x: dl.isin(x, x),
    "copy": dl.copy,
    "astype": lambda x: dl.astype(x, "complex128"),
}


def assigned(x, key, value):
    x[key] = value
    return x


def at(dtype, offset, strides):
    """The numbers 0 to 8 as (3, 3) elements, `offset` bytes off an aligned address."""
    width = dl.as_dtype(dtype).itemsize
    memory = np.zeros(32 * width + 64, np.uint8)
    start = -memory.ctypes.data % 16 + offset
    t = dl.wrap(memory.ctypes.data + start, (3, 3), dtype, strides=strides, owner=memory)
    t[...] = dl.astype(dl.reshape(dl.arange(9), (3, 3)), dtype)
    return t


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_misaligned_elements(call, dtype):
    wanted = CALLS[call](at(dtype, 0, (3, 1)))
    for offset in (1, 2, 4, 7, 8, 9):
        for strides in ((3, 1), (1, 3), (7, 2)):
            found = CALLS[call](at(dtype, offset, strides))
            assert found.shape == wanted.shape
            assert found.tolist() == wanted.tolist()


AUTO = re.compile(r"auto\s*\*[^;]*loose_t")


def test_no_pointer_to_loose_elements_is_declared_auto():
    """`auto*` drops the attribute that allows any address."""
    files = [path for path in KERNELS.rglob("*") if path.suffix in (".cc", ".h")]
    assert len(files) > 50
    assert [path.name for path in files if AUTO.search(re.sub(r"//[^\n]*", "", path.read_text()))] == []
    assert AUTO.search("auto* out = static_cast<loose_t<U>*>(to);")
