# SPDX-License-Identifier: Apache-2.0
"""An output that shares memory with its operands in another order: the result is as if they had been copied first."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dltensor as dl

# Two views of one array: what is written, and what is read.
VIEWS = {
    "the same elements": lambda x: (x, x),
    "shifted along the first axis": lambda x: (x[1:], x[:-1]),
    "shifted back along the first axis": lambda x: (x[:-1], x[1:]),
    "shifted along the last axis": lambda x: (x[..., 1:], x[..., :-1]),
    "shifted back along the last axis": lambda x: (x[..., :-1], x[..., 1:]),
    "the first axis reversed": lambda x: (x, x[::-1]),
    "the last axis reversed": lambda x: (x, x[..., ::-1]),
    "every axis reversed": lambda x: (x, x[(slice(None, None, -1),) * x.ndim]),
    "transposed": lambda x: (x, x.T),
    "into the transposed": lambda x: (x.T, x),
    "the first row broadcast": lambda x: (x, as_strided(x, x.shape, (0, *x.strides[1:]))),
    "the first column broadcast": lambda x: (x, as_strided(x, x.shape, (*x.strides[:-1], 0))),
    "every second row": lambda x: (x[: (len(x) + 1) // 2], x[::2]),
}
# Each call that writes to a given output, and what NumPy does with copies: `o` is the output as it was before.
CALLS = {
    "negative": (lambda i, o: dl.negative(i, out=o), lambda i, o: -i),
    "sqrt": (lambda i, o: dl.sqrt(i, out=o), lambda i, o: np.sqrt(i)),
    "subtract": (lambda i, o: dl.subtract(o, i, out=o), lambda i, o: o - i),
    "subtract from": (lambda i, o: dl.subtract(i, o, out=o), lambda i, o: i - o),
    "subtract from a number": (lambda i, o: dl.subtract(7, i, out=o), lambda i, o: 7 - i),
    "fma": (lambda i, o: dl.fma(i, o, i, out=o), lambda i, o: i * o + i),
    "fma with a number": (lambda i, o: dl.fma(o, 2, i, out=o), lambda i, o: o * 2 + i),
    "clip": (lambda i, o: dl.clip(i, 3, 20, out=o), lambda i, o: np.clip(i, 3, 20)),
    "cast": (lambda i, o: dl.cast(i, o), lambda i, o: i),
    "cast with a scale": (lambda i, o: dl.cast(i, o, scale=2.0, offset=1.0), lambda i, o: i * 2 + 1),
    "assignment": (lambda i, o: o.__setitem__(..., i), lambda i, o: i),
}
# Few elements and many, which are computed in other ways.
SHAPES = [(3,) * ndim for ndim in range(1, 6)] + [(17,), (4099,), (67, 67), (17, 17, 17), (9, 9, 9, 9)]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
@pytest.mark.parametrize("call", CALLS)
def test_overlapping_operands_of_any_dimensions_are_read_before_they_are_written(call, dtype):
    if call == "sqrt" and dtype == "int32":
        dtype = "float64"
    ours, numpys = CALLS[call]
    changed = 0
    for shape in SHAPES:
        for name, views in VIEWS.items():
            array = (np.arange(np.prod(shape)) * 7 % 32).astype(dtype).reshape(shape)
            want = array.copy()
            (to, source), (want_to, want_source) = views(array), views(want)
            want_to[...] = numpys(want_source.copy(), want_to.copy())
            ours(dl.from_dlpack(source), dl.from_dlpack(to))
            np.testing.assert_array_equal(array, want, err_msg=f"{name}, shape {shape}")
            changed += name not in ("the same elements", "transposed")
    assert changed > 100


@pytest.mark.parametrize("name", ["int4", "int2", "float6_e2m3fn"])
def test_packed_results_beside_their_operand_need_no_copy_of_it(name):
    bits, n = dl.DTYPES[name].bits, 4096
    raw = dl.zeros(n * bits // 8 + 4 * n + n * bits // 8, dtype="uint8")
    x = raw[n * bits // 8 : n * bits // 8 + 4 * n].view("float32")
    x[...] = dl.arange(n) % 2
    for out in (raw[: n * bits // 8], raw[n * bits // 8 + 4 * n :]):
        with dl.debug.trace() as trace:
            dl.cast(x, out.view(name))
        assert [event.event for event in trace.events if event.event == "allocated" and event.bytes >= n] == []
        assert dl.array_equal(dl.astype(out.view(name), "float32"), x)
    shared = raw[4 : 4 + n * bits // 8].view(name)  # the operand begins within it
    x[...] = dl.arange(n) % 2
    with dl.debug.trace() as trace:
        dl.cast(x, shared)
    assert [event.bytes for event in trace.events if event.event == "allocated"][:1] == [4 * n]
    assert dl.array_equal(dl.astype(shared, "float32"), dl.arange(n) % 2)
