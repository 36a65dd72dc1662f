# SPDX-License-Identifier: Apache-2.0
"""repr and str of tensors: NumPy's own layout is the oracle for the values."""

import gc
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl
from dltensor._core.format import values_text

SHAPES = [(), (3,), (2, 3), (2, 0), (30,), (1001,), (40, 40), (2, 3, 4), (11, 11, 11), (1, 1, 1, 1)]


def assert_like_numpy(array):
    array = np.asarray(array)
    assert values_text(dl.from_dlpack(array), 7) == np.array2string(array, separator=", ", prefix="Tensor(", suffix=")")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", list("bhilBHIL?"))
def test_whole_numbers_are_laid_out_as_numpy_does(dtype, shape):
    numbers = np.random.default_rng(7).integers(0, 100, shape) - (50 if dtype in "bhil" else 0)
    assert_like_numpy(np.asarray(numbers).astype(dtype))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1, 1e-3, 1e3, 1e-5, 1e5, 1e-7])
@pytest.mark.parametrize("dtype", list("efdFD"))
def test_real_and_complex_numbers_are_laid_out_as_numpy_does(dtype, scale, shape):
    random = np.random.default_rng(7)
    numbers = np.asarray(random.normal(size=shape) * scale)
    if dtype in "FD":
        numbers = numbers + 1j * random.normal(size=shape)
    with np.errstate(over="ignore"):
        assert_like_numpy(numbers.astype(dtype))
        assert_like_numpy(np.round(numbers, 1).astype(dtype))


@given(st.lists(st.floats(width=64), max_size=6))
def test_any_doubles_are_written_as_numpy_does(numbers):
    assert_like_numpy(np.array(numbers, dtype=np.float64))


@given(st.lists(st.floats(width=32), max_size=6))
def test_any_singles_are_written_as_numpy_does(numbers):
    assert_like_numpy(np.array(numbers, dtype=np.float32))


@given(st.lists(st.floats(width=16), max_size=6))
def test_any_halves_are_written_as_numpy_does(numbers):
    assert_like_numpy(np.array(numbers, dtype=np.float16))


@pytest.mark.parametrize("numbers", [[np.nan], [np.inf, -np.inf], [np.nan, 1.0], [complex(np.nan, -np.inf), 1]])
def test_what_is_not_finite_is_aligned_as_numpy_does(numbers):
    assert_like_numpy(np.array(numbers))


@pytest.mark.parametrize("number", [0.0001, 1e8, 1e16, 123456789.0, 1 / 3, 1e-45, 3.4e38, -0.0, 65504.0])
def test_a_single_number_is_written_as_numpy_does(number):
    assert_like_numpy(np.array(number))
    assert_like_numpy(np.array(number, dtype=np.float32))


def test_strided_tensors_show_what_they_see():
    assert (
        values_text(dl.from_dlpack(np.arange(12).reshape(3, 4))[::-1, ::2], 0) == "[[ 8, 10],\n [ 4,  6],\n [ 0,  2]]"
    )


def test_the_repr_ends_with_shape_device_and_dtype():
    expected = "Tensor([[0, 1],\n        [2, 3]], shape=(2, 2), device=cpu, dtype=int64)"
    assert repr(dl.asarray([[0, 1], [2, 3]])) == str(dl.asarray([[0, 1], [2, 3]])) == expected


def test_what_describes_the_tensor_goes_to_its_own_line_when_the_last_is_full():
    lines = repr(dl.arange(16)).splitlines()
    assert lines[-1] == "       shape=(16,), device=cpu, dtype=int64)"


def test_no_line_is_longer_than_numpys():
    for size in range(60):
        assert max(map(len, repr(dl.arange(size)).splitlines())) <= 75


def test_read_only_tensors_say_so():
    assert repr(dl.asarray(b"a")) == "Tensor([97], shape=(1,), device=cpu, dtype=uint8, readonly=True)"


def test_empty_tensors_show_their_shape():
    assert repr(dl.zeros((2, 0))) == "Tensor([], shape=(2, 0), device=cpu, dtype=float32)"


def test_memory_the_host_cannot_read_shows_what_describes_it():
    t = dl.wrap(4096, (3,), "int8", device="cuda:1", owner=object())
    assert repr(t) == "Tensor(shape=(3,), device=cuda:1, dtype=int8)"


def test_unknown_types_show_their_bytes():
    t = dl.asarray(bytes(range(4))).view(dl.DType(99, 16))
    assert "Tensor([<00 01>, <02 03>]" in repr(t)


def test_unknown_types_below_a_byte_show_nothing():
    assert "[<...>, <...>]" in repr(dl.zeros(2, dtype=dl.DType(99, 4)))


def test_vectors_show_their_lanes():
    t = dl.asarray([[1.0, 2.5], [3.0, 4.0]]).view(dl.DType(2, 32, 2))
    assert values_text(t, 0) == "[[(1. , 2.5)],\n [(3. , 4. )]]"


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"])
def test_packed_types_are_unpacked(dtype):
    assert values_text(dl.full((2, 3), 1, dtype=dtype), 0).replace(".", "") == "[[1, 1, 1],\n [1, 1, 1]]"


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_narrow_floats_are_written_with_the_fewest_digits_that_name_them(name):
    kind = getattr(ml_dtypes, name)
    for number in (0.1, 1 / 3, 1.75, 3.5, 0.25):
        text = values_text(dl.full((), number, dtype=name), 0)
        assert kind(float(text)) == kind(number)
        assert len(text) <= 6


def test_the_middle_of_large_tensors_is_left_out():
    text = repr(dl.zeros((2000, 2000)))
    assert text.count("...") == 7
    assert len(text) < 600


def test_a_billion_dimensions_worth_of_values_is_not_attempted():
    text = repr(dl.broadcast_to(dl.zeros(()), (2,) * 60))
    assert text.startswith("Tensor(shape=(2, 2,")


def test_showing_a_tensor_does_not_keep_it_alive():
    gc.collect()
    gc.disable()
    try:
        blocks = dl.debug.live_blocks()
        for t in (dl.zeros((50, 50)), dl.zeros(2, dtype=dl.DType(99, 8))):
            repr(t)
            f"{t}"
        del t
        assert dl.debug.live_blocks() == blocks
    finally:
        gc.enable()


def test_a_format_applies_to_every_element():
    assert f"{dl.asarray([[1.0, 2.5], [10.0, -3.0]]):.1f}" == "[[ 1.0,  2.5],\n [10.0, -3.0]]"
    assert f"{dl.asarray([1, 255]):#x}" == "[ 0x1, 0xff]"
    assert f"{dl.asarray([1 + 2j]):.1f}" == "[1.0+2.0j]"


def test_a_format_of_one_number_is_that_of_the_number():
    assert f"{dl.asarray(3.14159):.2f}" == "3.14"


def test_an_empty_format_is_str():
    t = dl.asarray([1, 2])
    assert f"{t}" == str(t)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (5.5, "float32", "5.5"), (0.1, "float32", "0.1"), (0.1, "bfloat16", "0.1"), (1e-7, "float64", "1e-07"),
        (-0.0, "float16", "-0.0"), (float("nan"), "float32", "nan"), (float("-inf"), "float64", "-inf"),
        (3, "int64", "3"), (True, "bool", "True"), (1 + 2j, "complex64", "(1+2j)"), (0.5, "float8_e5m2", "0.5"),
    ],
)  # fmt: skip
def test_an_empty_format_of_no_dimensions_is_the_number(value, dtype, text):
    assert f"{dl.asarray(value, dtype=dtype)}" == text
    assert f"{dl.asarray([value], dtype=dtype)}" == str(dl.asarray([value], dtype=dtype))


def test_an_empty_format_of_memory_that_the_host_cannot_read_is_str():
    t = dl.wrap(4096, (), "float32", device="rocm", owner=object())
    assert f"{t}" == str(t)


def test_a_format_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"format: '.2d' does not fit elements of float32: "):
        f"{dl.ones(2):.2d}"
    with pytest.raises(ValueError, match=r"format: elements of dtype\(99, 8\) take no format"):
        f"{dl.zeros(2, dtype=dl.DType(99, 8)):.2f}"
    with pytest.raises(dl.DeviceError, match=r"the data is on rocm:0, which the host cannot read"):
        f"{dl.wrap(4096, (3,), 'int8', device='rocm', owner=object()):d}"


def test_no_text_imports_numpy():
    code = "import sys, dltensor as dl; repr(dl.arange(5)); f'{dl.ones(2):.2f}'; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


PRINTED = [
    np.array([0.123456789, 20.5, -3.0]),
    np.array([1e-7, 0.5, 300.0]),
    np.array([1e9, 1.0]),
    np.array([1.23456789e-12 + 2j, 0.5]),
    np.arange(24.0).reshape(2, 3, 4) / 7,
    np.arange(60).reshape(3, 20),
]


@pytest.mark.parametrize("array", PRINTED, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"precision": 0}, {"precision": 3}, {"precision": 17}, {"suppress": True}, {"precision": 4, "suppress": True},
        {"threshold": 0}, {"threshold": 5, "edgeitems": 1}, {"linewidth": 30},
    ],
    ids=str,
)  # fmt: skip
def test_options_change_the_text_as_numpys_do(options, array):
    with dl.printoptions(**options), np.printoptions(**options):
        assert_like_numpy(array)


def test_no_elements_at_the_edges_leave_dots():
    with dl.printoptions(threshold=0, edgeitems=0):
        assert str(dl.arange(3)).startswith("Tensor([...], shape=(3,)")
        assert str(dl.ones((2, 2))).startswith("Tensor([...], shape=(2, 2)")


def test_scientific_notation_can_be_asked_for_and_refused():
    t = dl.asarray([1.5, 20.0])
    with dl.printoptions(sci_mode=True):
        assert str(t).startswith("Tensor([1.5e+00, 2.0e+01]")
    with dl.printoptions(sci_mode=False):
        assert str(dl.asarray([1e10, 1.0], dtype="float64")).startswith("Tensor([10000000000.,           1.]")


def test_a_threshold_of_infinity_prints_everything():
    t = dl.arange(20_000)
    with dl.printoptions(threshold=dl.inf):
        assert "..." not in str(t)
        assert "19999" in str(t)
    assert "..." in str(t)


def test_the_width_holds_for_what_follows_the_values():
    with dl.printoptions(linewidth=30):
        assert repr(dl.arange(3)) == "Tensor([0, 1, 2],\n       shape=(3,), device=cpu, dtype=int64)"


def test_formats_and_notebooks_follow_the_options():
    with dl.printoptions(threshold=2, edgeitems=1, precision=2):
        assert f"{dl.asarray([1.0, 2.0, 3.0]):.1f}" == "[1.0, ..., 3.0]"
        assert "0.33" in dl.full(1, 1 / 3)._repr_html_()
        assert "0.333" not in dl.full(1, 1 / 3)._repr_html_()


def test_options_end_with_their_block():
    before = dl.get_printoptions()
    with dl.printoptions(precision=1) as options:
        assert options["precision"] == 1
        dl.set_printoptions(edgeitems=7)
        with dl.printoptions(precision=2):
            assert (dl.get_printoptions()["precision"], dl.get_printoptions()["edgeitems"]) == (2, 7)
        assert dl.get_printoptions()["precision"] == 1
    assert dl.get_printoptions() == before


def test_options_end_with_an_error():
    before = dl.get_printoptions()
    with pytest.raises(RecursionError), dl.printoptions(precision=1):
        raise RecursionError
    assert dl.get_printoptions() == before


def test_options_of_a_block_are_those_of_its_thread():
    seen = []
    with dl.printoptions(precision=1):
        thread = threading.Thread(target=lambda: seen.append(dl.get_printoptions()["precision"]))
        thread.start()
        thread.join()
    assert seen == [8]


def test_options_that_are_set_hold_for_all_threads():
    seen, before = [], dl.get_printoptions()
    dl.set_printoptions(precision=3, sci_mode=True)
    try:
        thread = threading.Thread(target=lambda: seen.append(str(dl.asarray([1.23456]))))
        thread.start()
        thread.join()
    finally:
        dl.set_printoptions(**before)
    assert seen[0].startswith("Tensor([1.235e+00]")
    assert dl.get_printoptions() == before


@pytest.mark.parametrize("set_options", [dl.set_printoptions, dl.printoptions])
def test_an_option_that_is_wrong_changes_none(set_options):
    before = dl.get_printoptions()
    with pytest.raises(ValueError, match="printoptions: edgeitems must be at least 0, got -1"):
        set_options(precision=2, edgeitems=-1)
    with pytest.raises(ValueError, match="printoptions: threshold must be at least 0, got nan"):
        set_options(precision=2, threshold=dl.nan)
    with pytest.raises(TypeError, match="printoptions: precision"):
        set_options(precision=2.5)
    assert dl.get_printoptions() == before


@pytest.mark.parametrize(
    ("values", "text"), [([], "[]"), ([np.nan], "[nan]"), ([np.inf, -np.inf], "[ inf, -inf]")], ids=str
)
def test_values_without_digits_need_no_powers_of_ten(values, text):
    with dl.printoptions(sci_mode=True):
        assert str(dl.asarray(values, dtype="float32")).startswith(f"Tensor({text}, shape=")


def test_options_keep_numbers_and_not_the_objects_that_gave_them():
    class Number(float):
        def __float__(self):
            return 0.0

    class Setting:
        def __index__(self):
            dl.set_printoptions(edgeitems=7)
            return 5

    with dl.printoptions():
        dl.set_printoptions(threshold=Number(20.5), precision=Setting())
        options = dl.get_printoptions()
    assert (type(options["threshold"]), options["threshold"]) == (float, 20.5)
    assert (options["precision"], options["edgeitems"]) == (5, 7)
