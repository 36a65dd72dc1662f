# SPDX-License-Identifier: Apache-2.0
"""The older protocols as NumPy reads them, the array API's namespace, and what may be assigned to a tensor."""

import math
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl

COMMON = ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128"]


def interface_alone(t):
    """An object that offers nothing but the array interface of a tensor."""
    return type("Fake", (), {"__array_interface__": t.__array_interface__, "owner": t})()


def test_the_class_takes_data_or_extents_as_torchs():
    assert (dl.Tensor([3]).tolist(), dl.Tensor([3]).dtype, dl.Tensor().shape) == ([3.0], dl.float32, (0,))
    assert dl.Tensor(2, 3).shape == (2, 3)
    x = dl.zeros(2)
    x.data[0] = 1.0
    assert dl.Tensor(x).data_ptr != x.data_ptr
    for t in (x, dl.zeros(0), dl.asarray(1)):
        with pytest.raises(TypeError, match=r"^Tensor: __init__ cannot be called for a tensor; use asarray\(\)"):
            t.__init__([3.0])
    assert x.tolist() == [1.0, 0.0]
    for arguments in (("a",), (2, [1.0]), (None,)):
        with pytest.raises(TypeError, match=r"^Tensor: "):
            dl.Tensor(*arguments)
    with pytest.raises(ValueError, match="at least 0"):
        dl.Tensor(-1)


def test_no_tensor_without_memory_can_be_made():
    for make in (dl.Tensor.__new__, object.__new__):
        with pytest.raises(TypeError, match="not safe"):
            make(dl.Tensor)


def test_array_gives_numpy_the_same_memory():
    t = dl.asarray([1.0, 2.0])
    assert t.__array__().ctypes.data == t.data_ptr


def test_array_converts_when_asked():
    t = dl.asarray([1.5, 2.5])
    assert t.__array__(np.int16).dtype == np.int16
    assert t.__array__("float64").tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match=r"float32 to .*float64.* needs a copy, but copy=False"):
        t.__array__(np.dtype("float64"), copy=False)


def test_array_copies_when_asked():
    t = dl.asarray([1.5, 2.5])
    assert t.__array__(copy=True).ctypes.data != t.data_ptr
    assert t.__array__(copy=False).ctypes.data == t.data_ptr


def test_array_knows_the_types_of_ml_dtypes():
    assert dl.ones(2, dtype="bfloat16").__array__().dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("dtype", COMMON)
def test_array_interface_is_read_back_by_numpy(dtype):
    t = dl.ones((3, 4), dtype=dtype)[::2, ::-1]
    array = np.asarray(interface_alone(t))
    assert array.dtype == dtype
    assert array.ctypes.data == t.data_ptr
    assert array.tolist() == t.tolist()


def test_array_interface_says_read_only_and_contiguous():
    interface = dl.asarray(b"abc").__array_interface__
    assert interface["data"][1] is True
    assert interface["strides"] is None
    assert interface["version"] == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "float8_e5m2", "complex32", dl.DType(2, 32, 4), dl.DType(99, 8)])
def test_array_interface_is_absent_where_it_cannot_say_the_type(dtype):
    assert not hasattr(dl.empty(2, dtype=dtype), "__array_interface__")


def on_cuda():
    return dl.wrap(0x1000, (3, 4), "float32", device="cuda", owner=object())


def test_array_interface_is_absent_where_the_host_cannot_read():
    assert not hasattr(on_cuda(), "__array_interface__")


def test_cuda_array_interface_describes_device_memory():
    t = on_cuda()[:, ::2]
    assert t.__cuda_array_interface__ == {
        "version": 3,
        "shape": (3, 2),
        "typestr": "<f4",
        "data": (0x1000, False),
        "strides": (16, 8),
        "stream": 1,
    }


def test_cuda_array_interface_is_absent_on_the_host():
    assert not hasattr(dl.zeros(2), "__cuda_array_interface__")


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])
def test_the_namespace_is_the_package(version):
    assert dl.zeros(1).__array_namespace__(api_version=version) is dl


def test_unknown_versions_of_the_array_api_are_refused():
    with pytest.raises(ValueError, match=r"api_version must be one of 2021.12, .* got '2020.01'"):
        dl.zeros(1).__array_namespace__(api_version="2020.01")


def test_sequences_are_assigned_in_the_type_of_the_tensor():
    t = dl.zeros((2, 2), dtype="int8")
    t[...] = [[1, 2], [3, 4]]
    t[0] = (5, 6)
    assert t.tolist() == [[5, 6], [3, 4]]


def test_tensors_of_other_frameworks_are_assigned():
    t = dl.zeros((2, 2), dtype="float64")
    t[:, 0] = np.asarray([1.0, 2.0])
    assert t.tolist() == [[1, 0], [2, 0]]


def test_a_number_outside_the_type_is_refused_in_the_name_of_the_assignment():
    t = dl.zeros(2, dtype="int8")
    with pytest.raises(OverflowError, match="300 is outside int8"):
        t[...] = [1, 300]
    with pytest.raises(TypeError, match=r"__setitem__: expected numbers, nested sequences of numbers, .* got object"):
        t[...] = object()
    with pytest.raises(ValueError, match="__setitem__: sequences are ragged"):
        t[...] = [[1, 2], [3]]
    assert t.tolist() == [0, 0]


def test_in_asks_whether_any_element_is_equal():
    t = dl.asarray([[1, 2], [3, 250]], dtype="uint8")
    assert 250 in t
    assert 2.0 in t[:, ::-1]
    assert 4 not in t
    assert -6 not in t  # by value: no wrapping
    assert dl.asarray([3, 250], dtype="uint8") in t
    assert 2.5 in dl.asarray(2.5)
    assert float("nan") not in dl.asarray([float("nan")])
    assert 0 not in dl.empty((0, 3))
    assert None not in t
    assert "1" not in t
    with pytest.raises(ValueError, match="do not broadcast"):
        dl.zeros(3) in t  # noqa: B015


def test_divmod_is_both_its_halves():
    t = dl.asarray([7, -7, 0])
    for made, wants in ((divmod(t, 2), ([3, -4, 0], [1, 1, 0])), (divmod(7, t), ([1, -1, 0], [0, 0, 0]))):
        assert [half.tolist() for half in made] == list(wants)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for divmod"):
        divmod(t, "2")


def test_conversions_to_one_number_name_themselves():
    for kind in (bool, int, float, complex):
        with pytest.raises(ValueError, match=rf"{kind.__name__}: .*shape \(2,\)"):
            kind(dl.zeros(2))
        assert kind(dl.ones((1, 1))) == 1


@pytest.mark.parametrize("number", [2.5, -3.75, 7, 2**62 + 1, True])
def test_one_element_rounds_as_its_number_does(number):
    x = dl.asarray(number)
    for function in (round, math.trunc, math.floor, math.ceil):
        assert function(x) == function(number)
        assert type(function(x)) is type(function(number))
    assert round(dl.asarray([number])) == round(number)


def test_what_does_not_round_says_so():
    with pytest.raises(ValueError, match=r"round: expected a tensor of one element, got shape \(2,\)"):
        round(dl.ones(2))
    for function in (round, math.trunc, math.floor, math.ceil):
        with pytest.raises(TypeError):
            function(dl.asarray(1j))


def test_to_device_is_the_name_of_the_array_api():
    t = dl.zeros(2)
    assert t.to_device("cpu") is t
    with pytest.raises(ValueError, match="to_device: stream must be None, got 1"):
        t.to_device("cpu", stream=1)


def test_elements_cannot_be_taken_away():
    with pytest.raises(TypeError, match="__delitem__: elements of a tensor cannot be deleted"):
        del dl.zeros(2)[0]


def test_without_numpy_its_absence_is_named():
    code = """
import sys
class Nothing:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == "numpy":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
import dltensor as dl
t = dl.asarray([1, 2]) + 1
assert t.tolist() == [2, 3]
try:
    t.numpy()
except ImportError as error:
    print(error)
"""
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert made.stdout.strip() == "numpy: NumPy is not installed; pip install numpy"


# -- sys.getsizeof ----------------------------------------------------------------------------------------------------

SMALL = 400  # bytes that are enough for any object without its elements


def test_the_size_of_an_owner_counts_its_memory_and_that_of_a_view_does_not():
    t = dl.zeros((1000, 1000))
    array = np.zeros((1000, 1000), np.float32)
    assert 0 < sys.getsizeof(t) - t.nbytes < SMALL
    for view in (
        lambda x: x[:],
        lambda x: x[1:],
        lambda x: x.reshape((10, -1)),
        lambda x: x.T,
        lambda x: x.view("int32"),
    ):
        assert sys.getsizeof(view(t)) < SMALL
        assert sys.getsizeof(view(array)) < SMALL
    assert sys.getsizeof(dl.from_dlpack(t)) < SMALL
    assert sys.getsizeof(dl.from_dlpack(t.__dlpack__(max_version=(1, 3)))) < SMALL
    assert sys.getsizeof(t) > t.nbytes


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t + 1,
        lambda t: t.copy(),
        lambda t: t.astype("float64"),
        lambda t: dl.concat((t, t)),
        lambda t: dl.sin(t),
        lambda t: t.to("cpu").copy(),
        lambda t: dl.ones_like(t),
        lambda t: dl.asarray(list(range(1000))),
        lambda t: dl.matmul(t, t),
    ],
)
def test_the_size_of_a_result_counts_its_memory(make):
    made = make(dl.ones((100, 100)))
    assert 0 < sys.getsizeof(made) - made.nbytes < SMALL


def test_the_last_view_of_memory_counts_it():
    reshaped = dl.zeros(10000).reshape((100, 100))
    assert sys.getsizeof(reshaped) > 40000
    t = dl.zeros(10000)
    view = t[5000:]
    assert sys.getsizeof(view) < SMALL
    del t
    assert sys.getsizeof(view) > 40000  # all of it stays alive


def test_memory_of_others_is_not_counted():
    for foreign in (np.zeros(10000), bytearray(80000)):
        assert sys.getsizeof(dl.asarray(foreign)) < SMALL
    assert sys.getsizeof(dl.wrap(4096, (10000,), "float32", device="cuda", owner=object())) < SMALL


def test_many_dimensions_count():
    assert sys.getsizeof(dl.zeros((1,) * 60)) - sys.getsizeof(dl.zeros(1)) == 60 * 16
