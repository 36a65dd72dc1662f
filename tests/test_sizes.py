# SPDX-License-Identifier: Apache-2.0
"""Sizes at the ends of 64 bits: sizes that overflow raise ValueError, sizes beyond memory raise MemoryError."""

import numpy as np
import pytest

import dltensor as dl
from dltensor._core.views import as_strided, from_raw

# Views that repeat one byte: any extent without memory.
BYTE = dl.zeros((), dtype="uint8")
ROW = dl.broadcast_to(BYTE, (2**40,))
LIMIT = r"2\^63 - 1"


def bytes_over(*shape, dtype="uint8"):
    return dl.broadcast_to(dl.zeros((), dtype=dtype), shape)


UNCOUNTED = {
    "broadcast_to": [
        lambda: dl.broadcast_to(BYTE, (2**31, 2**32)),  # 2^63, which was a negative size
        lambda: dl.broadcast_to(BYTE, (2**32, 2**32)),  # 2^64, which was a size of 0
        lambda: dl.broadcast_to(dl.zeros(()), (2**61,)),  # 2^63 bytes
        lambda: dl.broadcast_to(dl.zeros((), dtype="int4"), (2**62, 2)),
        lambda: dl.broadcast_to(dl.zeros((0,)), (2**40, 2**40, 0)),
    ],
    "broadcast_arrays": [lambda: dl.broadcast_arrays(ROW, bytes_over(2**40, 1))],
    "broadcast_shapes": [
        lambda: dl.broadcast_shapes((2**40, 1), (2**40,)),
        lambda: dl.layout.broadcast_shapes((2**40, 1), (2**40,)),
    ],
    "meshgrid": [lambda: dl.meshgrid(ROW, ROW), lambda: dl.meshgrid(ROW, ROW, indexing="ij")],
    "tile": [lambda: dl.tile(ROW, 2**23), lambda: dl.tile(dl.zeros(3), (2**62, 1)), lambda: dl.tile(BYTE, 2**70)],
    "repeat": [lambda: dl.repeat(ROW, 2**23), lambda: dl.repeat(dl.zeros(3), 2**62), lambda: dl.repeat(BYTE, 2**70)],
    "concat": [lambda: dl.concat([bytes_over(2**62)] * 3), lambda: dl.concat([bytes_over(2**62), dl.zeros(1)])],
    "stack": [lambda: dl.stack([bytes_over(2**62)] * 2)],
    "reshape": [
        lambda: dl.zeros((0,)).reshape(2**40, 2**40, 0),
        lambda: dl.reshape(dl.zeros((0,)), (2**62, -1, 2**62)),
        lambda: dl.zeros(4).reshape(2**40, 2**40),
    ],
    "view": [lambda: bytes_over(2**62, 1).view("int4"), lambda: bytes_over(2**62, 1).view("int2")],
    "as_strided": [lambda: as_strided(BYTE, (2**32, 2**32), (0, 0))],
    "from_raw": [lambda: from_raw(dl.asarray(b""), (2**40, 2**40, 0), "uint8")],
    "empty": [lambda: dl.empty((2**31, 2**32), dtype="uint8"), lambda: dl.empty((2**40, 2**40, 0))],
    "zeros": [lambda: dl.zeros(2**61)],
    "full": [lambda: dl.full((2**32, 2**32), 1)],
    "eye": [lambda: dl.eye(2**32)],
    "arange": [lambda: dl.arange(2**62), lambda: dl.arange(2**70), lambda: dl.arange(-1e300, 1e300, 1.0)],
    "linspace": [lambda: dl.linspace(0, 1, 2**62), lambda: dl.linspace(0, 1, 2**70)],
    "add": [lambda: bytes_over(2**40, 1) + ROW],
    "where": [lambda: dl.where(bytes_over(2**40, 1, dtype="bool"), ROW, ROW)],
    "numel": [lambda: dl.layout.numel((2**40, 2**40)), lambda: dl.layout.numel((2**63,))],
    "nbytes": [lambda: dl.layout.nbytes((2**60, 2), "float32")],
    "contiguous_strides": [
        lambda: dl.layout.contiguous_strides((2**40, 2**40, 2**40)),
        lambda: dl.layout.contiguous_strides((2**40, 2**40, 0), order="F"),
    ],
    "broadcast_strides": [lambda: dl.layout.broadcast_strides((1,), (1,), (2**64,))],
    "extent": [lambda: dl.layout.extent((2**40,), (2**40,)), lambda: dl.layout.extent((2**40,), (-(2**40),))],
    "coalesce": [lambda: dl.layout.coalesce((2**40, 2**40), [(0, 0)])],
    "is_contiguous": [lambda: dl.layout.is_contiguous((3,), (2**63,))],
    "create_output_tensor": [lambda: dl.layout.create_output_tensor([ROW, bytes_over(2**40, 1)])],
}
CALLS = [(name, number) for name, calls in UNCOUNTED.items() for number in range(len(calls))]


@pytest.mark.parametrize(("name", "number"), CALLS)
def test_what_64_bits_do_not_count_is_a_value_error_that_names_the_limit(name, number):
    with pytest.raises(ValueError, match=rf"^{name}: (?s:.)*({LIMIT}|below 2\^63)"):
        UNCOUNTED[name][number]()


def test_the_message_names_the_shape_and_the_dtype():
    with pytest.raises(ValueError, match=r"shape \(2147483648, 4294967296\) of uint8 takes more than 2\^63 - 1 bytes"):
        dl.broadcast_to(BYTE, (2**31, 2**32))


@pytest.mark.parametrize(
    ("dtype", "shape", "size", "nbytes"),
    [
        ("uint8", (2**63 - 1,), 2**63 - 1, 2**63 - 1),
        ("float32", (2**30, 2**30), 2**60, 2**62),
        ("complex128", (2**59 - 1,), 2**59 - 1, 2**63 - 16),
        ("int4", (2**62,), 2**62, 2**61),
        ("int4", (2**62 - 1,), 2**62 - 1, 2**61),
        ("bool", (2**31, 2**31, 1, 1), 2**62, 2**62),
    ],
)
def test_the_largest_views_are_counted_right_and_come_back_from_an_export(dtype, shape, size, nbytes):
    made = dl.broadcast_to(dl.ones((), dtype=dtype), shape)
    assert (made.size, made.nbytes) == (size, nbytes)
    assert dl.from_dlpack(made).shape == shape
    assert made[-1].shape == shape[1:]
    assert made.reshape(-1).shape == (size,)


NO_MEMORY = {
    "empty": lambda: dl.empty((2**30, 2**30)),
    "copy": lambda: bytes_over(2**60).copy(),
    "clone": lambda: bytes_over(2**60).clone(),
    "flatten": lambda: bytes_over(2**30, 2**30).flatten(),
    "ravel": lambda: dl.broadcast_to(dl.zeros((2, 1), dtype="uint8"), (2, 2**60)).ravel(),
    "tobytes": lambda: bytes_over(2**62).tobytes(),
    "reshape": lambda: dl.reshape(dl.broadcast_to(dl.zeros((2, 1), dtype="uint8"), (2, 2**60)), (-1,)),
    "tile": lambda: dl.tile(bytes_over(2**50), 2),
    "repeat": lambda: dl.repeat(bytes_over(2**50), 2),
    "roll": lambda: dl.roll(bytes_over(2**50), 1, axis=0),
    "concat": lambda: dl.concat([bytes_over(2**50), bytes_over(2**50, dtype="float32")]),
    "stack": lambda: dl.stack([bytes_over(2**50), bytes_over(2**50)]),
    "tril": lambda: dl.tril(bytes_over(2**25, 2**25)),
    "triu": lambda: dl.triu(bytes_over(2**25, 2**25, dtype="float64"), k=1),
    "eye": lambda: dl.eye(2**25),
    "arange": lambda: dl.arange(2**50),
    "linspace": lambda: dl.linspace(0, 1, 2**50),
    "zeros_like": lambda: dl.zeros_like(bytes_over(2**50)),
    "create_output_tensor": lambda: dl.layout.create_output_tensor([bytes_over(2**50)]),
    "add": lambda: bytes_over(2**50) + 1,
}


@pytest.mark.parametrize("name", NO_MEMORY)
def test_what_no_memory_holds_is_a_memory_error_signed_by_the_function_that_was_called(name):
    with pytest.raises(MemoryError, match=rf"^{name}: cannot allocate \d+ bytes"):
        NO_MEMORY[name]()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_copies_that_change_the_shape_first_are_signed_by_the_function_that_was_called(axis):
    matrix = dl.broadcast_to(dl.zeros((2, 1), dtype="uint8"), (2, 2**60))
    for name, call in {
        "roll": lambda: dl.roll(matrix, 1, axis=axis),
        "repeat": lambda: dl.repeat(matrix, 1, axis=axis),
        "concat": lambda: dl.concat([matrix], axis=axis),
    }.items():
        with pytest.raises(MemoryError, match=rf"^{name}: cannot allocate"):
            call()


def test_results_without_elements_need_no_memory_whatever_the_other_extents():
    assert dl.tile(dl.zeros(0), 2**60).shape == (0,)
    assert dl.repeat(dl.zeros((0, 2)), 2**50, axis=1).shape == (0, 2**51)
    assert dl.broadcast_to(dl.zeros((0,)), (2**50, 0)).size == 0
    assert dl.zeros((0,)).reshape(2**50, 0).strides == (1, 1)


def test_strides_of_an_empty_tensor_may_be_anything():
    ends = (2**63 - 1, -(2**63))
    for stride in ends:
        empty = np.lib.stride_tricks.as_strided(np.zeros((3, 0)), (3, 0), (stride // 8 * 8, 8))
        made = dl.from_dlpack(empty)
        assert made[1].shape == (0,)
        assert made[::-2, :].shape == (2, 0)
        assert made[2, None].shape == (1, 0)
        assert made.copy().shape == (3, 0)


def test_a_view_with_another_width_counts_bits_that_64_of_them_do_not():
    made = bytes_over(2**60, 1).view("int4")
    assert (made.shape, made.nbytes) == ((2**60, 2), 2**60)
    wide = dl.broadcast_to(dl.zeros((1, 4)), (2**58, 4))
    assert wide.view("complex128").shape == (2**58, 1)
    assert wide[:, :1].view("uint8").shape == (2**58, 4)
