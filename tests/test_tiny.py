# SPDX-License-Identifier: Apache-2.0
"""Read this first: the whole package in a few short tests. Details are in the other files."""

import copy
import pickle
import weakref

import numpy as np
import pytest

import dltensor as dl


def test_a_numpy_array_comes_in_without_a_copy():
    array = np.arange(6.0).reshape(2, 3)
    tensor = dl.from_dlpack(array)
    tensor[0, 0] = 9
    assert array[0, 0] == 9
    assert tensor.data_ptr == array.ctypes.data


def test_a_tensor_goes_out_without_a_copy():
    tensor = dl.asarray([[1, 2], [3, 4]])
    assert np.from_dlpack(tensor).ctypes.data == tensor.data_ptr
    assert tensor.numpy().tolist() == [[1, 2], [3, 4]]


def test_any_object_that_speaks_dlpack_comes_in():
    class Producer:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return 1, 0

    assert dl.from_dlpack(Producer(np.arange(3))).tolist() == [0, 1, 2]


def test_indexing_gives_views():
    tensor = dl.asarray([[1, 2, 3], [4, 5, 6]])
    view = tensor[:, ::-2]
    assert view.tolist() == [[3, 1], [6, 4]]
    assert view.strides == (3, -2)
    assert view.same_memory(tensor)


def test_memory_outlives_the_tensor_that_made_it():
    tensor = dl.asarray([1, 2, 3])
    array = tensor.numpy()
    del tensor
    assert array.tolist() == [1, 2, 3]


def test_read_only_stays_read_only():
    array = np.arange(3)
    array.flags.writeable = False
    tensor = dl.from_dlpack(array)
    assert tensor.readonly
    with pytest.raises(ValueError, match="read-only"):
        tensor[0] = 1
    assert not np.from_dlpack(tensor).flags.writeable


def test_the_words_of_the_standard_are_values():
    assert dl.DLPACK_VERSION == (1, 3)
    assert dl.DeviceType.kDLCUDA == 2
    assert dl.DType(2, 32) == dl.as_dtype("float32")
    assert str(dl.Device("cuda:1")) == "cuda:1"


def test_a_tensor_can_be_kept_copied_and_sent():
    tensor = dl.asarray([1, 2, 3])
    assert weakref.ref(tensor)() is tensor
    assert copy.deepcopy(tensor).tolist() == [1, 2, 3]
    assert pickle.loads(pickle.dumps(tensor)).tolist() == [1, 2, 3]


def test_what_cannot_be_used_is_refused_with_a_reason():
    with pytest.raises(BufferError, match=r"shape\[0\].*at least 0, got -3"):
        dl.wrap(4096, (-3,), "float32")
