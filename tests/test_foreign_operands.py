# SPDX-License-Identifier: Apache-2.0
"""Tensors of other frameworks as operands and as `out`, without wrapping: torch, jax, tvm_ffi, buffers, ctypes."""

import array
import ctypes

import numpy as np
import pytest

import dltensor as dl


def made_by(name):
    """A function that makes a framework's tensor of [1, 2, 3] in float32, and whether it may be written to."""
    if name == "torch":
        return pytest.importorskip("torch").tensor([1.0, 2.0, 3.0]), True
    if name == "jax":
        return pytest.importorskip("jax.numpy").asarray([1.0, 2.0, 3.0]), False
    if name == "tvm_ffi":
        return pytest.importorskip("tvm_ffi").from_dlpack(np.array([1, 2, 3], np.float32)), True
    if name == "array":
        return array.array("f", [1, 2, 3]), True
    if name == "ctypes":
        return (ctypes.c_float * 3)(1, 2, 3), True
    if name == "memoryview":
        return memoryview(array.array("f", [1, 2, 3])), True
    if name == "bytes":
        return memoryview(np.array([1, 2, 3], np.float32).tobytes()).cast("f"), False
    return np.array([1, 2, 3], np.float32), True


HEAVY = [pytest.param(name, marks=pytest.mark.peers) for name in ("torch", "jax", "tvm_ffi")]
LIGHT = ["numpy", "array", "ctypes", "memoryview", "bytes"]


@pytest.mark.parametrize("name", HEAVY + LIGHT)
def test_anybodys_tensor_is_an_operand(name):
    x, _ = made_by(name)
    assert dl.add(x, x).tolist() == [2, 4, 6]
    assert dl.less(x, 2.5).tolist() == [True, True, False]
    assert dl.fma(2.0, x, dl.ones(3)).tolist() == [3, 5, 7]
    assert dl.cast(x, "uint8").tolist() == [1, 2, 3]
    assert dl.where(dl.asarray([True, False, True]), x, 0.0).tolist() == [1, 0, 3]
    assert dl.clip(x, 1.5, 2.5).tolist() == [1.5, 2, 2.5]
    assert dl.concat([x, dl.ones(1)]).tolist() == [1, 2, 3, 1]
    assert dl.matmul(x, x).item() == 14
    assert type(dl.ones(3) + dl.asarray(x)) is dl.Tensor


@pytest.mark.parametrize("name", HEAVY + LIGHT)
def test_anybodys_tensor_is_an_output_or_says_why_not(name):
    out, writable = made_by(name)
    if not writable:
        with pytest.raises(ValueError, match=r"immutable|read-only"):
            dl.add(dl.ones(3), 1, out=out)
        return
    assert dl.add(dl.ones(3), 1, out=out) is out
    assert dl.asarray(out).tolist() == [2, 2, 2]
    dl.multiply(out, out, out=out)
    assert dl.asarray(out).tolist() == [4, 4, 4]
    assert dl.fill(7, out) is out
    assert dl.copy(dl.zeros(3), out) is out
    assert dl.cast(np.array([1, 2, 3], np.uint8), out) is out
    assert dl.asarray(out).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"add: the result has shape \(2,\), out has shape \(3,\)"):
        dl.add(dl.ones(2), 1, out=out)


@pytest.mark.peers
def test_operands_and_output_of_three_frameworks_in_one_call():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    out = np.zeros(3, np.float32)
    assert dl.add(torch.ones(3), jnp.ones(3), out=out) is out
    assert out.tolist() == [2, 2, 2]
    strided = torch.zeros(6)[::2]
    dl.add(torch.arange(6.0)[::2], 1, out=strided)
    assert strided.tolist() == [1, 3, 5]
    assert dl.multiply(torch.ones(2, 3).T, np.float32(2)).shape == (3, 2)


@pytest.mark.parametrize(
    "call",
    [
        dl.sum, dl.max, dl.argmin, dl.std, dl.median, dl.nansum, dl.sort, dl.argsort, dl.unique_values, dl.nonzero,
        dl.cumulative_sum, dl.diff, dl.exp, dl.negative, dl.flip, dl.copy, dl.bincount, dl.count_nonzero,
        lambda x: dl.astype(x, "float64"),
        lambda x: dl.top_k(x, 2)[0],
        lambda x: dl.take(x, [0, 2]),
        lambda x: dl.take_along_axis(x, [1, 0], axis=0),
        lambda x: dl.searchsorted(x, [2, 9]),
        lambda x: dl.searchsorted(dl.asarray([1, 5]), x),
        lambda x: dl.isin(x, [3, 4]),
        lambda x: dl.where([True, False, True], x, [7, 8, 9]),
        lambda x: dl.matmul(x, [1, 2, 3]),
        lambda x: dl.reshape(x, (3, 1)),
        lambda x: dl.concat([x, [1]]),
    ],
)  # fmt: skip
def test_functions_take_lists_as_they_take_tensors(call):
    of_list, of_tensor = call([1, 3, 2]), call(dl.asarray([1, 3, 2]))
    of_list, of_tensor = (r if isinstance(r, tuple) else (r,) for r in (of_list, of_tensor))
    assert [(t.tolist(), t.dtype) for t in of_list] == [(t.tolist(), t.dtype) for t in of_tensor]
