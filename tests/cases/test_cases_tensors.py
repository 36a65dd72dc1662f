# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases 1 to 42 and 92 to 101: types, views, indexing, copies, casts, exchange."""

import gc

import numpy as np
import pytest
from case_tools import values

import dltensor as dl

INF, NAN = float("inf"), float("nan")


def fill(dtype, number, device):
    return dl.fill(number, dl.zeros(1, dtype=dtype).to(device), saturate=True).to("cpu").item()


# -- types, construction, views ------------------------------------------------------------------------------------


def test_case_1_constants():
    for name, code, bits in [
        ("int8", 0, 8),
        ("int16", 0, 16),
        ("int32", 0, 32),
        ("int64", 0, 64),
        ("uint8", 1, 8),
        ("uint16", 1, 16),
        ("uint32", 1, 32),
        ("uint64", 1, 64),
        ("float16", 2, 16),
        ("float32", 2, 32),
        ("float64", 2, 64),
    ]:
        dtype = getattr(dl, name)
        assert (dtype.code, dtype.bits, dtype.lanes) == (code, bits, 1)


def test_case_2_types_are_values():
    assert dl.DType(1, 8, 1) == dl.DType(1, 8, 1)
    assert dl.DType(1, 8) != dl.DType(0, 8)
    assert dl.DType(1, 8) != dl.DType(1, 8, 2)
    assert len({dl.DType(1, 8), dl.DType(1, 8), dl.DType(1, 8, 2)}) == 2


def test_case_3_item_sizes():
    assert [dl.DType(*numbers).itemsize for numbers in ((2, 32, 4), (0, 4, 1), (2, 16, 1))] == [16, 1, 2]


def test_case_4_a_new_tensor(device):
    x = dl.empty((2, 3), dtype="int32", device=device)
    assert (x.strides, x.byte_offset, x.size, x.itemsize, x.is_contiguous, x.ndim) == ((3, 1), 0, 6, 4, True, 2)


def test_case_5_no_dimensions(device):
    x = dl.empty((), device=device)
    assert (x.ndim, x.size, x.shape, x.strides) == (0, 1, (), ())


def test_case_6_no_elements(device):
    x = dl.empty((2, 0, 3), device=device)
    assert (x.size, x.is_contiguous) == (0, True)


def test_case_7_seven_dimensions(device):
    assert values(dl.zeros((1, 2, 1, 1, 1, 1, 2), device=device).reshape((4,))) == [0.0] * 4


def test_case_8_negative_extents(device):
    with pytest.raises(ValueError, match="-1"):
        dl.empty((2, -1), device=device)


def test_case_9_a_view_with_steps(device):
    parent = dl.arange(10, dtype="int32").to(device)
    view = parent[2:8:2]
    assert (view.shape, view.strides, view.byte_offset) == ((3,), (2,), 8)
    assert values(view) == [2, 4, 6]
    view[0] = 99
    assert parent[2].item() == 99


def test_case_10_a_view_of_a_view(device):
    x = dl.arange(6).to(device)
    view = x[::2][:]
    assert (values(view), view.strides, view.same_memory(x)) == ([0, 2, 4], (2,), True)


def test_case_11_a_view_outlives_its_parent(device):
    x = dl.arange(10).to(device)
    view = x[2:5]
    del x
    gc.collect()
    dl.zeros(10, dtype="int64", device=device)
    assert values(view) == [2, 3, 4]


def test_case_12_repr(device):
    x = dl.zeros((1, 2, 3), dtype="uint8").to(device)
    assert f"shape=(1, 2, 3), device={x.device}, dtype=uint8" in repr(x)


# -- indexing --------------------------------------------------------------------------------------------------------


def test_case_13_the_last(cube):
    assert (cube[-1].shape, cube[-1].byte_offset, cube[-1][0, 0].item()) == ((3, 4), 48, 12)


def test_case_14_beyond(cube):
    for index in (2, 25):
        with pytest.raises(IndexError, match=str(index)):
            cube[index]


def test_case_15_before(cube):
    with pytest.raises(IndexError, match="-3"):
        cube[-3]


def test_case_16_reversed(cube):
    x = cube[::-1]
    assert (x.strides, x.byte_offset, x[0, 0, 0].item()) == ((-12, 4, 1), 48, 12)


def test_case_17_two_slices(cube):
    x = cube[0:2, ::2]
    assert (x.shape, x.strides) == ((2, 2, 4), (12, 8, 1))
    assert values(x.reshape((16,), copy=True)) == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23]


def test_case_18_integers_and_a_slice(cube):
    x = cube[1, ::-1, -1]
    assert (x.shape, x.strides, x.byte_offset, values(x)) == ((3,), (-4,), 92, [23, 19, 15])


def test_case_19_one_element(cube):
    assert (cube[1, 2, 3].ndim, cube[1, 2, 3].item()) == (0, 23)


def test_case_20_an_index_into_a_view(cube):
    assert values(cube[1:][0, 1]) == [16, 17, 18, 19]


def test_case_21_empty_slices(cube):
    assert [cube[1:1].shape, cube[:, 1:1].shape, cube[:, 3:].shape] == [(0, 3, 4), (2, 0, 4), (2, 0, 4)]


def test_case_22_too_many_indices(cube):
    with pytest.raises(IndexError):
        cube[0, 0, 0, 0]
    with pytest.raises(IndexError):
        cube[0, 0, 0][0]


def test_case_23_none_and_ellipsis(cube):
    assert cube[None, 0].shape == (1, 3, 4)
    assert values(cube[..., 0]) == [[0, 4, 8], [12, 16, 20]]


def test_case_24_iteration(device):
    x = dl.asarray([1, 2, 3]).to(device)
    assert ([one.item() for one in x], len(x)) == ([1, 2, 3], 3)


def test_case_25_reshape(cube):
    assert cube.reshape((4, 6)).same_memory(cube)
    with pytest.raises(ValueError, match=r"\(5, 5\)"):
        cube.reshape((5, 5))
    with pytest.raises(ValueError):
        cube[:, ::2].reshape((16,), copy=False)


def test_case_26_reversed_to_numpy(device):
    x = dl.arange(10).to(device)
    assert x[::-1].to("cpu").numpy().tolist() == list(range(9, -1, -1))
    assert x[8:2:-2].to("cpu").numpy().tolist() == [8, 6, 4]


def test_case_27_crops_and_flips_of_images(device):
    plain = np.arange(384, dtype=np.int32).reshape(2, 3, 8, 8)
    x = dl.asarray(plain).to(device)
    np.testing.assert_array_equal(x[:, :, 2:6, 2:6].to("cpu").numpy(), plain[:, :, 2:6, 2:6])
    np.testing.assert_array_equal(x[:, :, :, ::-1].to("cpu").numpy(), plain[:, :, :, ::-1])


# -- set, fill, copy, cast -------------------------------------------------------------------------------------------


def test_case_28_fill_rounds_and_clamps(device):
    assert [fill("uint8", number, device) for number in (300, -1, 2.5, 3.5, 254.5)] == [255, 0, 2, 4, 254]


def test_case_29_fill_clamps_64_bits(device):
    assert [fill("int64", number, device) for number in (1e19, -1e19)] == [2**63 - 1, -(2**63)]


def test_case_30_fill_with_nan(device):
    assert fill("int32", NAN, device) == 0
    with pytest.raises(ValueError, match="fill: NaN cannot be converted to int32"):
        dl.fill(NAN, dl.zeros(1, dtype="int32", device=device))


def test_case_31_assigning_numbers(t):
    x = t("uint8", [[0, 0]] * 3)
    dl.fill(5.7, x[1], saturate=True)
    x[:, 0] = 7
    x[-1, ::-1] = 9
    assert values(x) == [[7, 0], [7, 6], [9, 9]]


def test_case_32_assigning_broadcasts(t):
    x = t("int32", [[0] * 4] * 3)
    x[0:2] = t("int32", [[1, 2, 3, 4]])
    assert values(x) == [[1, 2, 3, 4], [1, 2, 3, 4], [0] * 4]


def test_case_33_filling_a_crop(device):
    x = dl.zeros((2, 3, 8, 8), dtype="int32").to(device)
    x[:, :, 2:6, 2:6] = 5
    array = x.to("cpu").numpy()
    assert array.sum() == 480
    assert array[:, :, 0].sum() == array[:, :, :, 7].sum() == 0


def test_case_34_copy_broadcasts(t):
    to = t("float32", [[0.0] * 5] * 4)
    assert dl.copy(t("float32", [[0.0], [1.0], [2.0], [3.0]]), to) is to
    assert values(to) == [[float(row)] * 5 for row in range(4)]


def test_case_35_copy_does_not_convert(t):
    for a, b in (("uint8", "uint16"), ("int8", "uint8")):
        with pytest.raises(TypeError, match=f"copy: src is {a}, dst is {b}"):
            dl.copy(t(a, [1]), t(b, [1]))


def test_case_36_overlapping_assignment(t):
    x = t("int64", [0, 1, 2, 3, 4])
    x[1:] = x[:-1]
    assert values(x) == [0, 0, 1, 2, 3]


def test_case_37_float_to_uint8(t):
    x = t("float32", [-1, 0.5, 1.5, 2.5, 254.5, 255.4, 255.5, 256, 1e9, INF, -INF])
    assert values(dl.cast(x, "uint8", rounding="nearest")) == [0, 0, 2, 2, 254, 255, 255, 255, 255, 255, 0]


def test_case_38_integers_saturate(t):
    assert values(dl.cast(t("int16", [-5, 0, 255, 256, 32767]), "uint8", saturate=True)) == [0, 0, 255, 255, 255]
    assert values(dl.cast(t("uint8", [0, 127, 128, 255]), "int8", saturate=True)) == [0, 127, 127, 127]
    assert values(dl.cast(t("int8", [-1, -128, 127]), "uint64", saturate=True)) == [0, 0, 127]


def test_case_39_uint64_to_int64(t):
    assert values(dl.cast(t("uint64", [2**63, 2**64 - 1, 2**63 - 1]), "int64", saturate=True)) == [2**63 - 1] * 3


def test_case_40_float64_to_int32(t):
    x = t("float64", [2147483646.5, 2147483647.5, -2147483648.5, -0.5])
    assert values(dl.cast(x, "int32", rounding="nearest")) == [2147483646, 2147483647, -2147483648, 0]


def test_case_41_int64_to_float32(t):
    assert values(dl.cast(t("int64", [2**24 + 1]), "float32")) == [16777216.0]


def test_case_42_cast_into_other_shapes_and_to_half(t):
    with pytest.raises(ValueError, match="shape"):
        dl.cast(t("float32", [1, 2]), t("int32", [0, 0, 0]))
    assert values(dl.cast(t("float32", [1, 0.1]), "float16")) == [1.0, 0.0999755859375]


# -- exchange --------------------------------------------------------------------------------------------------------


def test_case_92_strided_arrays(device):
    array = np.arange(24).reshape(4, 6)
    for view in (array.T, array[:, ::2], array[::-1]):
        np.testing.assert_array_equal(dl.asarray(view).to(device).to("cpu").numpy(), view)


def test_case_93_round_trips(device):
    for dtype in (
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "bool",
    ):
        for shape in ((), (0, 3), (2, 3)):
            array = np.ones(shape, dtype)
            back = dl.asarray(array).to(device).to("cpu").numpy()
            assert back.dtype == array.dtype
            np.testing.assert_array_equal(back, array)


def test_case_94_foreign_dtypes():
    assert dl.asarray(np.ones(2, np.complex64)).dtype == dl.complex64
    for dtype in (">f4", [("a", "i4")]):
        with pytest.raises((TypeError, ValueError, BufferError)):
            dl.asarray(np.zeros(2, dtype))


def test_case_95_copies_into_arrays(t):
    x = t("int32", [1, 2, 3])
    with pytest.raises(ValueError, match="broadcast"):
        dl.copy(x.to("cpu"), np.zeros(2, np.int32))
    with pytest.raises(TypeError, match="int32, dst is int16"):
        dl.copy(x.to("cpu"), np.zeros(3, np.int16))
    locked = np.zeros(3, np.int32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        dl.copy(x.to("cpu"), locked)
    strided = np.zeros(6, np.int32)
    dl.copy(x.to("cpu"), strided[::2])
    assert strided.tolist() == [1, 0, 2, 0, 3, 0]


def test_case_96_copies_into_views(device):
    x = dl.zeros(10, dtype="int32", device=device)
    dl.copy(dl.asarray(np.ones(5, np.int32)).to(device), x[5:])
    assert values(x) == [0] * 5 + [1] * 5


def test_case_97_results_are_complete(device):
    x = dl.zeros(1 << 20, dtype="int32", device=device)
    for _ in range(20):
        x = x + 1
    assert (x.to("cpu").numpy() == 20).all()


def test_case_98_two_exports(device):
    x = dl.arange(4).to(device)
    before = x.data_ptr, x.byte_offset
    first, second = x.__dlpack__(max_version=(1, 3)), x.__dlpack__(max_version=(1, 3))
    taken = dl.from_dlpack(first)
    del second
    gc.collect()
    assert values(taken) == values(x) == [0, 1, 2, 3]
    assert (x.data_ptr, x.byte_offset) == before


def test_case_99_a_capsule_is_taken_once(device):
    capsule = dl.arange(4).to(device).__dlpack__()
    dl.from_dlpack(capsule)
    with pytest.raises((BufferError, ValueError, TypeError), match="used_dltensor"):
        dl.from_dlpack(capsule)


def test_case_100_unusual_imports():
    wide = np.zeros((1,) * 8, np.float32)
    assert dl.from_dlpack(wide).ndim == 8
    assert dl.from_dlpack(np.zeros((4, 6))[:, ::2]).strides == (6, 2)
    flat = dl.wrap(wide.ctypes.data, (1,), "float32", owner=wide)  # without strides
    assert flat.strides == (1,)
    lanes = dl.wrap(wide.ctypes.data, (1,), dl.DType(10, 8, 4), owner=wide)  # storage-only
    with pytest.raises(TypeError):
        lanes + 1


def test_case_101_wrong_capsules():
    import ctypes

    new = ctypes.PyDLL(None).PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"something"
    with pytest.raises((BufferError, ValueError, TypeError), match="something"):
        dl.from_dlpack(new(1, name, None))
