# SPDX-License-Identifier: Apache-2.0
"""The array API's functions on dtypes and on the namespace, against NumPy and ml_dtypes; clip and promotion."""

import copy
import ctypes
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl
from dltensor._core.types import COMPUTED


@pytest.mark.parametrize(
    ("numbers", "error", "words"),
    [
        ((2, 0, 1), ValueError, "bits must be from 1 to 255, got 0"),
        ((2, 32, 0), ValueError, "lanes must be from 1 to 65535, got 0"),
        ((-1, 8, 1), ValueError, "code must be from 0 to 255, got -1"),
        ((2, 2**70, 1), ValueError, "bits must be from 1 to 255"),
        ((2, 32), TypeError, r"must give three integers \(code, bits, lanes\), got \(2, 32\)"),
        (None, TypeError, "must give three integers"),
    ],
)
def test_numbers_that_are_no_dtype_are_refused(numbers, error, words):
    """An element of no bits ended the process: sizes are divided by it."""

    class Kind:
        def __dlpack_data_type__(self):
            return numbers

    with pytest.raises(error, match=words):
        dl.empty(3, dtype=Kind())


@pytest.mark.parametrize(("text", "meant"), [("cdua", "'cuda'"), ("cuda_hots", "'cuda_host'"), ("cdua:1", "'cuda'")])
def test_a_device_that_is_almost_known_is_asked_about(text, meant):
    with pytest.raises(ValueError, match=rf"device must be one of cpu, .* got '{text}'; did you mean {meant}\?$"):
        dl.zeros(2, device=text)


@pytest.mark.parametrize("text", ["zzz", "cpu:x", "\ud800", "x" * 10_000])
def test_a_device_that_is_not_known_is_not_asked_about(text):
    with pytest.raises(ValueError, match=r"device must be one of cpu, ") as caught:
        dl.zeros(2, device=text)
    assert len(str(caught.value)) < 500


def test_a_class_may_say_anything_for_its_module():
    class Odd:
        __module__ = property(lambda self: 3)

    with pytest.raises(TypeError, match="dtype must be"):
        dl.empty(3, dtype=Odd())
    with pytest.raises(TypeError, match="device must be"):
        dl.empty(3, device=Odd())


REAL = [name for name in COMPUTED if name not in ("bool", "bfloat16")]


def foreign(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("name", [name for name in dl.DTYPES if dl.isdtype(dl.DTYPES[name], "real floating")])
def test_limits_of_floats_are_those_of_ml_dtypes(name):
    ours, theirs = dl.finfo(name), ml_dtypes.finfo(foreign(name))
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(ours, field) == float(getattr(theirs, field)), field
    assert ours.dtype == dl.DTYPES[name]


@pytest.mark.parametrize("name", [name for name in dl.DTYPES if dl.isdtype(dl.DTYPES[name], "integral")])
def test_limits_of_integers_are_those_of_ml_dtypes(name):
    ours, theirs = dl.iinfo(name), ml_dtypes.iinfo(foreign(name))
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


def test_limits_take_tensors_and_complex_numbers():
    assert dl.finfo(dl.ones(2, dtype="complex128")) == dl.finfo(dl.float64)
    assert dl.iinfo(np.zeros(1, np.int8)).max == 127
    assert dl.finfo("float32") is dl.finfo(dl.float32)
    assert copy.copy(dl.iinfo("int8")) == pickle.loads(pickle.dumps(dl.iinfo("int8"))) == dl.iinfo("int8")
    with pytest.raises(AttributeError, match="finfo: eps is constant"):
        dl.finfo("float32").eps = 1.0
    with pytest.raises(AttributeError, match="iinfo: max is constant"):
        del dl.iinfo("int8").max
    with pytest.raises(TypeError, match=r"finfo: expected a float dtype, got int8; use iinfo\(\) for integers"):
        dl.finfo("int8")
    with pytest.raises(TypeError, match=r"iinfo: expected an integer dtype, got float32; use finfo\(\)"):
        dl.iinfo("float32")


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(REAL, 2)))
def test_promotion_within_a_kind_is_numpys(a, b):
    kinds = [
        next(kind for kind in ("bool", "integral", "real floating", "complex floating") if dl.isdtype(name, kind))
        for name in (a, b)
    ]
    if {a, b} == {"int64", "uint64"} or (
        {"uint64"} < {a, b} and dl.isdtype(a, "signed integer") | dl.isdtype(b, "signed integer")
    ):
        with pytest.raises(TypeError, match="have no dtype in common"):
            dl.result_type(a, b)
    elif kinds[0] == kinds[1]:
        assert dl.result_type(a, b).name == np.result_type(foreign(a), foreign(b)).name
    elif "integral" in kinds:
        assert dl.result_type(a, b).name == (b if kinds[0] == "integral" else a)
    assert dl.can_cast(a, a)


def test_numbers_take_part_with_their_kind():
    assert dl.result_type(dl.zeros(1, dtype="int8"), 300) == dl.int8
    assert dl.result_type("int8", 0.5) == dl.float32
    assert dl.result_type("float64", 1j) == dl.complex128
    assert dl.result_type("bool", True) == dl.bool
    assert dl.result_type("float16", "bfloat16") == dl.float32
    assert [dl.result_type(*numbers) for numbers in ((1, 2.0), (True,), (True, 1), (1j, 1))] == [
        dl.float32,
        dl.bool,
        dl.int64,
        dl.complex64,
    ]
    with pytest.raises(ValueError, match="result_type: expected at least one tensor or dtype, got nothing"):
        dl.result_type()
    with pytest.raises(TypeError, match="float8_e5m2"):
        dl.result_type("float8_e5m2", "float32")


def test_the_functions_promote_as_result_type_says():
    names = [name for name in COMPUTED if name != "bool"]
    for a, b in itertools.product(names, names):
        x, y = dl.ones(3, dtype=a), dl.ones(3, dtype=b)
        try:
            want = dl.result_type(a, b)
        except TypeError:
            with pytest.raises(TypeError, match="no dtype in common"):
                dl.add(x, y)
            continue
        assert dl.add(x, y).dtype == want
        assert dl.concat([x, y]).dtype == want
        assert dl.stack([x, y]).dtype == want


def test_a_dtype_is_of_its_kind_and_of_no_other():
    assert dl.isdtype("bool", "bool")
    assert not dl.isdtype("uint8", "bool")
    assert dl.isdtype("bfloat16", ("integral", "real floating"))
    assert dl.isdtype("int4", "signed integer")
    assert dl.isdtype("complex64", "numeric")
    assert not dl.isdtype("bool", "numeric")
    assert dl.isdtype(dl.float32, np.float32)
    with pytest.raises(ValueError, match="isdtype: kind must be one of bool, signed integer"):
        dl.isdtype("int8", "integer")


def test_what_can_be_cast():
    assert dl.can_cast("int8", "int16")
    assert not dl.can_cast("int16", "int8")
    assert not dl.can_cast("uint8", "int8")
    assert dl.can_cast(np.zeros(1, np.uint8), "int16")
    assert not dl.can_cast("uint64", "int64")
    assert dl.can_cast("float8_e5m2", "float8_e5m2")
    assert not dl.can_cast("float8_e5m2", "float32")


@pytest.mark.parametrize("casting", ["no", "equiv", "same_kind", "unsafe"])
def test_casts_of_a_rule_are_those_of_numpy(casting):
    names = ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")
    for a, b in itertools.product(names, names):
        assert dl.can_cast(a, b, casting) == np.can_cast(a, b, casting), (a, b)
    assert dl.can_cast("float32", "bfloat16", casting) == (casting in ("same_kind", "unsafe"))


def test_the_namespace_tells_of_itself():
    info = dl.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert isinstance(info.devices(), tuple)
    assert set(info.dtypes()) == set(COMPUTED) - {"float16", "bfloat16"}  # which the standard does not have
    assert list(info.dtypes(kind="bool")) == ["bool"]
    assert info.default_dtypes(device="cpu")["integral"] == dl.arange(3).dtype
    assert info.capabilities()["max dimensions"] == 64
    with pytest.raises(ValueError, match="expected a device that is here"):
        info.dtypes(device="vulkan")
    assert dl.zeros(1).__array_namespace__(api_version=dl.__array_api_version__) is dl


def test_clip_takes_one_bound_two_or_none():
    x = np.array([-3, 0, 4, 9], np.int16)
    assert dl.clip(x, 0, 5).tolist() == [0, 0, 4, 5]
    assert dl.clip(x, min=1).tolist() == [1, 1, 4, 9]
    assert dl.clip(x, max=dl.asarray([[1], [5]], dtype="int16")).tolist() == [[-3, 0, 1, 1], [-3, 0, 4, 5]]
    same = dl.clip(x)
    assert same.tolist() == x.tolist()
    assert not same.same_memory(dl.asarray(x))
    out = np.zeros(4, np.int16)
    assert dl.clip(x, 0, 5, out=out) is out
    assert out.tolist() == [0, 0, 4, 5]
    assert dl.clip(np.array([np.nan, 2.0]), 0, 1).tolist()[1] == 1.0
    assert np.isnan(dl.clip(np.array([np.nan, 2.0]), max=1).tolist()[0])
    assert dl.clip(dl.asarray([-128, 127], dtype="int8"), -300, 300).tolist() == [-128, 127]


def test_threads_and_instruction_sets_are_told_and_checked():
    before = dl.num_threads()
    try:
        dl.set_num_threads(3)
        assert dl.num_threads() == 3 == dl.cpu_features()["threads"]
    finally:
        dl.set_num_threads(before)
    with pytest.raises(ValueError, match="set_num_threads: expected 1 to 64, got 0"):
        dl.set_num_threads(0)
    with pytest.raises(TypeError, match="set_num_threads: count must be an integer, got '2'"):
        dl.set_num_threads("2")
    features = dl.cpu_features()
    assert set(features["supported"]) <= set(features["compiled"])


def test_results_and_ranges_of_dimensions():
    assert dl.layout.array_equals((), ())
    assert dl.layout.array_equals((1, 2), (3, 4), 1, 1)
    with pytest.raises(ValueError, match="array_equals: dimensions 0 to 3 are not all in"):
        dl.layout.array_equals((1, 2), (1, 2, 3), 0, 3)
    made = dl.layout.create_output_tensor([np.ones((2, 3), np.int16), None, np.ones(2)], align="leading")
    assert (made.shape, made.dtype) == ((2, 3), dl.int16)
    with pytest.raises(ValueError, match=r"create_output_tensor: .* do not broadcast"):
        dl.layout.create_output_tensor([np.ones((2, 3)), np.ones(2)])
    with pytest.raises(ValueError, match="create_output_tensor: expected at least one tensor, got none"):
        dl.layout.create_output_tensor([None])


def test_a_name_may_be_any_string():
    assert dl.as_dtype(np.str_("int8")) == dl.int8


class Sheet:
    """An object that names no dtype, and knows what it equals."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __eq__(self, other):
        return "its own answer"

    __hash__ = None


@pytest.mark.parametrize("name", list(dl.DTYPES))
def test_a_dtype_equals_what_names_it(name):
    dtype = dl.DTYPES[name]
    known = name != "complex32" and not name.startswith("float6_")  # to NumPy or ml_dtypes, as a dtype of its own
    for other in [name, foreign(name), foreign(name).type] if known else [name]:
        assert dtype == other, other
        assert other == dtype, other
        assert (dtype != other) is False, other
    others = [other for other in dl.DTYPES if other != name]
    assert [other for other in others if dtype == other or other == dtype] == []


def test_a_dtype_equals_numpys_other_spellings():
    for spelling in ("float32", "f4", "<f4", "=f4", "f", "single", np.float32, np.dtype("f4"), ctypes.c_float):
        assert dl.float32 == spelling
    for dtype, kind in ((dl.float64, float), (dl.int64, int), (dl.bool, bool), (dl.complex128, complex)):
        assert dtype == kind
        assert np.dtype(kind) == dtype
    assert dl.DType(2, 32, 4) == "float32x4"


@pytest.mark.parametrize(
    "other",
    [None, 0, 2.0, (2, 32, 1), [1], str, object(), "float31", "x" * 10000, ">f4", "O", np.dtype("O"), np.dtype(">f4"),
     np.floating, np.float32(1), type("Kind", (), {"__dlpack_data_type__": lambda self: 1 / 0})()],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_a_dtype_is_unequal_to_what_names_none_without_an_exception(other):
    assert (dl.float32 == other) is False
    assert (dl.float32 != other) is True


def test_what_is_no_dtype_answers_for_itself():
    assert (dl.float32 == Sheet()) == "its own answer"
    assert (dl.float32 == dl.zeros(2)) is False  # a tensor has a dtype and is none
    assert (dl.float32 == np.zeros(2, np.float32)).tolist() == [False, False]


def test_hashes_agree_among_dtypes_and_their_names():
    assert hash(dl.DType("float32")) == hash(dl.DType(2, 32)) == hash(dl.float32) == hash("float32")
    assert {dl.float32: 1}[dl.as_dtype(np.float32)] == {dl.float32: 1}["float32"] == {"float32": 1}[dl.float32] == 1


SPELLINGS = [
    *"?bBhHiIlLqQpPefdFD",
    *[
        "b1",
        "i1",
        "i2",
        "i4",
        "i8",
        "u1",
        "u2",
        "u4",
        "u8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
        "<f4",
        "=i8",
        "|u1",
        "|b1",
        "<d",
        ">i1",
    ],
    *["half", "single", "float", "double", "csingle", "cdouble", "complex"],
    *[
        "byte",
        "ubyte",
        "short",
        "ushort",
        "intc",
        "uintc",
        "int",
        "uint",
        "intp",
        "uintp",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "bool_",
        "int_",
    ],
    *(int, float, bool, complex, np.longlong, np.ulonglong, np.intc, np.bool_, np.dtype("longlong")),
    *(ctypes.c_double, ctypes.c_bool, ctypes.c_int8, ctypes.c_size_t),
]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
def test_spellings_mean_what_they_mean_to_numpy(spelling):
    assert dl.zeros(2, dtype=spelling).dtype.name == np.dtype(spelling).name
    assert dl.DType(spelling) == np.dtype(spelling)
    assert dl.asarray([1, 0]).astype(spelling).dtype == dl.as_dtype(spelling)


def test_pythons_float_is_float64_and_no_dtype_is_float32():
    assert dl.asarray([1.5], dtype=float).dtype == dl.float64
    assert dl.asarray([1.5]).dtype == dl.float32
    assert dl.isdtype("f4", "real floating")
    assert dl.isdtype("f4", float) is False


@pytest.mark.parametrize(
    ("dtype", "error", "words"),
    [
        ("float31", TypeError, "there is no dtype named 'float31'; did you mean 'float32'"),
        ("f1", TypeError, "there is no dtype named 'f1'"),
        ("f" + "9" * 5000, TypeError, r"there is no dtype named 'f9{60,80}\.\.\.; "),
        ("float32x0", TypeError, "there is no dtype named 'float32x0'"),
        ("", TypeError, "there is no dtype named ''"),
        (">f4", ValueError, "dtype '>f4' has non-native byte order"),
        (np.dtype(">f4"), ValueError, "NumPy dtype '>f4' has non-native byte order"),
        (ctypes.c_float.__ctype_be__, TypeError, "dtype must be a dltensor.DType"),
        (ctypes.c_char, TypeError, "dtype must be a dltensor.DType"),
        (np.floating, TypeError, "numpy.floating has no DLPack equivalent"),
        (np.float32(1), TypeError, "expected a dtype, got a tensor of type float32; pass its .dtype"),
        (str, TypeError, "dtype must be a dltensor.DType, its name, a type such as float, .* got <class 'str'>"),
    ],
    ids=lambda x: str(x)[:40],
)  # fmt: skip
def test_what_names_no_dtype_is_refused_in_few_words(dtype, error, words):
    with pytest.raises(error, match="zeros: " + words) as caught:
        dl.zeros(2, dtype=dtype)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("arguments", [(2,), ("float32", None, 4), (2, None, 1)])
def test_a_code_needs_bits(arguments):
    with pytest.raises(TypeError, match="DType: expected code and bits, or the name of a type only"):
        dl.DType(*arguments)


@pytest.mark.parametrize(
    ("array", "name", "remedy"),
    [
        (np.zeros(3, "O"), "O", "numbers with astype"),
        (np.zeros(3, "U4"), "<U4", "numbers with astype"),
        (np.zeros(3, "S4"), "S4", "view the bytes as 'uint8'"),
        (np.zeros(3, "M8[s]"), "<M8[s]", "view it as 'int64'"),
        (np.zeros(3, "m8[s]"), "<m8[s]", "view it as 'int64'"),
        (np.zeros(3, [("a", "i4")]), "V4", "take one field"),
        (np.zeros(3, "longdouble"), "<f16", "'float64' with astype"),
        (np.zeros(3, "clongdouble"), "<c32", "'complex128' with astype"),
    ],
    ids=lambda x: str(getattr(x, "dtype", x)),
)
def test_a_numpy_dtype_that_cannot_come_in_is_named_once_with_a_remedy(array, name, remedy):
    expected = f"NumPy dtype {name!r} has no DLPack equivalent; "
    for function in (dl.asarray, dl.from_dlpack, lambda x: dl.ones(3) + x):
        with pytest.raises(BufferError) as caught:
            function(array)
        assert expected in str(caught.value)
        assert remedy in str(caught.value)
        assert len(str(caught.value)) < 150
    with pytest.raises(TypeError, match="zeros: NumPy dtype"):
        dl.zeros(3, dtype=array.dtype)
