# SPDX-License-Identifier: Apache-2.0
"""Spellings of NumPy and torch: methods, positional arguments, operators on bools, round() and bool()."""

import collections
import copy
import io
import json
import math
import operator as op
import pickle
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl

CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def same(ours, theirs):
    assert isinstance(ours, dl.Tensor)
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()


# -- reshape ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 4), (-1, 3), (24,), (2, -1, 2), (1, 24, 1), (-1,)])
def test_reshape_takes_extents_one_by_one_or_as_one_sequence(shape):
    t = dl.asarray(CUBE)
    same(t.reshape(*shape), CUBE.reshape(shape))
    same(t.reshape(shape), CUBE.reshape(shape))
    same(t.reshape(list(shape)), CUBE.reshape(shape))


def test_reshape_takes_copy_by_keyword_only():
    t = dl.asarray(CUBE)
    assert t.reshape(24, copy=True).same_memory(t) is False
    assert t.reshape((24,), copy=False).same_memory(t)
    with pytest.raises(ValueError, match=r"reshape: shape \(2, 3, 4\) has 24 elements, shape \(24, 0\) has 0"):
        t.reshape(24, False)
    with pytest.raises(ValueError, match="allow a copy with copy=None"):
        t.permute(2, 1, 0).reshape(24, copy=False)


def test_reshape_without_a_shape_is_an_error_and_to_no_dimensions_is_not():
    with pytest.raises(TypeError, match="reshape: expected a shape, got nothing"):
        dl.zeros(1).reshape()
    assert dl.zeros(1).reshape(()).shape == ()
    with pytest.raises(TypeError, match="reshape: a shape is an integer or a sequence of integers"):
        dl.zeros(6).reshape((2, 3), 1)


# -- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(), (None,), (2, 0, 1), ((1, 2, 0),), ([0, 2, 1],), (-1, 0, -2)])
def test_transpose_is_numpys(axes):
    t = dl.asarray(CUBE)
    same(t.transpose(*axes), CUBE.transpose(*axes))
    assert t.transpose(*axes).same_memory(t)


def test_transpose_of_two_dimensions_and_of_none():
    same(dl.asarray(CUBE[0]).transpose(), CUBE[0].T)
    same(dl.asarray(CUBE[0]).transpose(1, 0), CUBE[0].T)
    same(dl.asarray(CUBE[0]).transpose(0, 1), CUBE[0])
    assert dl.asarray(3).transpose().shape == ()


@pytest.mark.parametrize("dims", [(2, 0, 1), ((1, 2, 0),), (-1, 0, 1)])
def test_permute_is_torchs(dims):
    order = dims[0] if isinstance(dims[0], tuple) else dims
    same(dl.asarray(CUBE).permute(*dims), CUBE.transpose(order))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: t.transpose(0, 3), IndexError, r"transpose: axis 3 is out of range for 3 dimensions"),
        (lambda t: t.transpose(0, 1.0), TypeError, r"transpose: axis must be an integer, got 1.0"),
        (
            lambda t: t.transpose((0, 1)),
            ValueError,
            r"transpose: axes \(0, 1\) must name each of the 3 dimensions once",
        ),
        (lambda t: t.transpose(0), ValueError, r"transpose: axes \(0,\) must name each of the 3 dimensions once"),
        (lambda t: t.transpose(0, 1, 1), ValueError, r"transpose: axes \(0, 1, 1\) name a dimension of 3 twice"),
        (lambda t: t.transpose(0, 1, 3), IndexError, "transpose: axis 3 is out of range for 3 dimensions"),
        (lambda t: t.transpose("abc"), ValueError, "transpose: axes .* must name each"),
        (lambda t: t.transpose(0, 1, "c"), TypeError, "transpose: axis must be an integer, got 'c'"),
        (lambda t: t.permute(), ValueError, r"permute: axes \(\) must name each of the 3 dimensions once"),
        (lambda t: t.permute(0, -3, 1), ValueError, r"permute: axes \(0, -3, 1\) name a dimension of 3 twice"),
        (lambda t: dl.permute_dims(t, (0, 1)), ValueError, r"permute_dims: axes \(0, 1\) must name each"),
        (lambda t: t.squeeze(0), ValueError, r"squeeze: axis 0 of shape \(2, 3, 4\) has 2 elements, expected 1"),
        (lambda t: t[:1].squeeze((0, -3)), ValueError, r"squeeze: axes \(0, -3\) name a dimension of 3 twice"),
        (lambda t: t.squeeze(3), IndexError, "squeeze: axis 3 is out of range for 3 dimensions"),
        (lambda t: t.cuda("cpu"), ValueError, r"cuda: expected a CUDA device, got 'cpu'; use to\(\)"),
    ],
)
def test_wrong_axes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(dl.asarray(CUBE))


def test_to_takes_a_device_a_dtype_both_or_a_tensor():
    t, other = dl.asarray([1.5, 2.5]), dl.zeros(1, dtype="int8")
    assert t.to("cpu", "int32").tolist() == t.to(device="cpu", dtype=dl.int32).tolist() == [1, 2]
    assert t.to(other).dtype == t.to(dtype="int8", non_blocking=True).dtype == dl.int8
    assert t.to("cpu", dl.float32) is t.to(t) is t.to(dtype="float32") is t
    for call in (t.to, lambda: t.to("float32", "int8"), lambda: t.to(other, "int8")):
        with pytest.raises(TypeError, match=r"^to: expected "):
            call()


def test_a_keyword_of_torch_is_refused_where_torch_returns_something_else():
    t = dl.zeros((2, 3))
    for call in (t.max, t.min, t.std, t.var):
        with pytest.raises(TypeError, match="PyTorch"):
            call(1, keepdim=True)
    assert t.std(1, keepdim=True, unbiased=False).shape == t.sum(1, keepdim=True).shape == (2, 1)


def test_max_and_min_of_two_tensors_are_torchs():
    x, y = dl.asarray([[1.0, 5.0]]), dl.asarray([[2.0], [3.0]])
    assert dl.max(x, y).tolist() == x.max(y).tolist() == dl.maximum(x, y).tolist() == [[2.0, 5.0], [3.0, 5.0]]
    assert dl.min(x, dl.asarray(2.0)).tolist() == [[1.0, 2.0]]
    out = dl.zeros((2, 2))
    assert dl.min([1.0, 5.0], y, out=out) is out
    assert out.tolist() == [[1.0, 2.0], [1.0, 3.0]]
    assert dl.max(x, dl.asarray(1)).tolist() == [5.0], "one integer is an axis, as in NumPy"
    for call in (
        lambda: dl.max(x, axis=y),
        lambda: dl.max(x, y, keepdims=True),
        lambda: dl.sum(x, y),
        lambda: dl.argmax(x, y),
    ):
        with pytest.raises(TypeError, match=r"axis must be an integer.* got Tensor$"):
            call()


def test_two_numbers_for_more_than_two_dimensions_are_swapped():
    t = dl.asarray(CUBE)
    same(t.transpose(1, 2), CUBE.swapaxes(1, 2))
    same(t.transpose(-1, 0), CUBE.swapaxes(-1, 0))
    same(t.transpose(1, 1), CUBE)
    same(dl.asarray(CUBE[0]).transpose(0, 1), CUBE[0].transpose(0, 1))


def test_transpose_takes_the_order_of_numpy_or_two_dimensions_of_torch():
    same(dl.transpose(CUBE, (2, 0, 1)), CUBE.transpose(2, 0, 1))
    same(dl.transpose(CUBE, 0, 2), CUBE.swapaxes(0, 2))
    same(dl.transpose(CUBE[0], -2, -1), CUBE[0].T)
    same(dl.transpose(CUBE), CUBE.T)
    with pytest.raises(IndexError, match=r"^transpose: axis 5 is out of range"):
        dl.transpose(CUBE, 0, 5)
    assert dl.t([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"^t: expected at most 2 dimensions, got 3"):
        dl.t(CUBE)


def test_constructors_of_torch_take_data_or_extents():
    assert dl.FloatTensor(2, 3).shape == (2, 3)
    assert dl.LongTensor([1, 2]).tolist() == [1, 2]
    assert dl.LongTensor(dl.asarray([1.5])).dtype == dl.int64
    assert (dl.FloatTensor().shape, dl.FloatTensor([[1, 2]]).dtype) == ((0,), dl.float32)
    assert dl.BoolTensor(True).shape == ()
    data = dl.zeros(2)
    dl.FloatTensor(data)[0] = 1
    assert data.tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"^FloatTensor: expected one sequence or extents, got 2 positional arguments"):
        dl.FloatTensor([1], [2])
    assert (dl.float, dl.int, dl.ubyte, dl.uint) == (dl.float32, dl.int32, dl.uint8, dl.uint64)
    assert dl.linalg.LinAlgError is dl.LinAlgError


def test_new_tensors_have_the_dtype_of_another_or_the_one_that_is_given():
    t = dl.zeros(2, dtype="int16")
    assert t.new_zeros(3).dtype == t.new_empty((2, 0)).dtype == t.new_tensor([1.0]).dtype == dl.int16
    assert t.new_zeros((3, 1), dtype=dl.bool, device=None).dtype == dl.bool
    assert t.new_full((2,), 7, dtype="float64").tolist() == [7, 7]
    with pytest.raises(TypeError, match=r"'requires_grad'.*tensors have no gradients"):
        t.new_ones(2, requires_grad=True)


def test_repeat_says_what_to_write_for_extents_of_torch():
    with pytest.raises(IndexError, match=r"PyTorch's repeat is tile: write t.tile\(\(3, 1\)\)"):
        dl.zeros(2).repeat(3, 1)
    with pytest.raises(ValueError, match="PyTorch's numbers begin with the last axis"):
        dl.pad(dl.zeros((2, 2)), (1, 1, 0, 0))
    with pytest.raises(ValueError, match=r"^triu_indices_from: expected 2 dimensions, got 1"):
        dl.triu_indices_from([1, 2])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 3), [0]])
def test_squeeze_is_numpys_as_a_method_and_as_a_function(axis):
    thin = CUBE.reshape(1, 6, 4, 1)
    t = dl.asarray(thin)
    same(t.squeeze(axis), thin.squeeze(tuple(axis) if isinstance(axis, list) else axis))
    same(dl.squeeze(t, axis), thin.squeeze(tuple(axis) if isinstance(axis, list) else axis))
    assert t.squeeze(axis).same_memory(t)


def test_squeeze_without_an_axis_drops_every_dimension_of_one_element():
    same(dl.squeeze(CUBE.reshape(1, 24, 1)), CUBE.reshape(24))
    assert dl.squeeze(dl.zeros((1, 1))).shape == ()
    assert dl.squeeze(dl.zeros((1, 0))).shape == (0,)


def test_flatten_copies_and_ravel_shares_where_it_can():
    t = dl.asarray(CUBE)
    for view in (t, t[:, ::-1], t.permute(2, 0, 1), t[0, 0, 0], t[:0]):
        same(view.flatten(), view.numpy().flatten())
        same(view.ravel(), view.numpy().ravel())
        assert not view.flatten().same_memory(t)
    assert t.ravel().same_memory(t)
    assert not t.permute(2, 0, 1).ravel().same_memory(t)


def test_clone_cpu_and_numel_are_torchs():
    t = dl.asarray(CUBE)
    same(t.clone(), CUBE)
    assert not t.clone().same_memory(t)
    assert t.cpu() is t
    assert t.numel() == t.size == 24
    assert type(t.numel()) is int
    assert isinstance(t.size, int)


@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a[0].T, lambda a: a[:, ::-1], lambda a: a[:0], lambda a: a[0, 0, 0]]
)
def test_tobytes_is_numpys(view):
    assert view(dl.asarray(CUBE)).tobytes() == view(CUBE).tobytes()


def test_tobytes_of_packed_elements_are_packed():
    assert dl.asarray([1, 2, 3], dtype="int4").tobytes() == b"\x21\x03"
    used = dl.ones(64, dtype="uint8") * 255
    del used  # its memory is the next one's
    assert dl.asarray([1] * 63 + [2] * 64, dtype="int4").tobytes()[-1] == 2
    assert dl.asarray([1, 2, 3], dtype="bfloat16").tobytes() == b"\x80\x3f\x00\x40\x40\x40"


# -- positional arguments and defaults --------------------------------------------------------------------------------


def test_an_axis_may_come_by_its_place():
    a, b = CUBE[0], CUBE[1]
    same(dl.stack((a, b), 1), np.stack((a, b), 1))
    same(dl.concat((a, b), 1), np.concatenate((a, b), 1))
    same(dl.flip(a, 0), np.flip(a, 0))
    same(dl.roll(a, 1, 0), np.roll(a, 1, 0))
    same(dl.repeat(a, 2, 0), np.repeat(a, 2, 0))
    same(dl.unstack(a, 1)[2], a[:, 2])


def test_linspace_makes_fifty_numbers_when_no_number_is_given():
    np.testing.assert_allclose(dl.linspace(0, 1, dtype="float64").numpy(), np.linspace(0, 1), rtol=1e-15)


# -- bool -------------------------------------------------------------------------------------------------------------

TRUTHS = np.array([True, True, False, False]), np.array([True, False, True, False])


def test_the_sum_of_bools_is_their_or_and_the_product_their_and():
    a, b = (dl.asarray(truth) for truth in TRUTHS)
    for ours, theirs in ((a + b, TRUTHS[0] + TRUTHS[1]), (a * b, TRUTHS[0] * TRUTHS[1]), (a + True, TRUTHS[0] + True)):
        same(ours, theirs)
        assert ours.dtype == dl.bool
    same(dl.add(a, b), np.logical_or(*TRUTHS))
    same(dl.multiply(a, b), np.logical_and(*TRUTHS))
    assert (a + 1).dtype == dl.int64
    a += b
    same(a, np.logical_or(*TRUTHS))


@pytest.mark.parametrize("operation", [lambda a, b: a - b, lambda a, b: -a, lambda a, b: a // b, lambda a, b: a**b])
def test_other_arithmetic_of_bools_is_refused(operation):
    with pytest.raises(TypeError, match="not defined for bool"):
        operation(*(dl.asarray(truth) for truth in TRUTHS))


@pytest.mark.parametrize("shape", [(2,), (3, 1), (0,)])
def test_the_truth_of_many_elements_names_the_remedy(shape):
    t = dl.ones(shape)
    with pytest.raises(ValueError, match=r"^bool: .* is ambiguous; use ") as caught:
        bool(t)
    some, every = str(caught.value).rpartition("use ")[2].split(" or ")
    assert eval(some, {"t": t}).item() == bool(t.size)
    assert eval(every, {"t": t}).item()


# -- round ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("digits", [0, 1, 2, 5, -1, -2])
def test_round_with_digits_gives_a_tensor_as_numpy_rounds(dtype, digits):
    values = np.array([[0.5, 1.5, -2.671, 1234.567], [2.25, -0.049, 3.14159, 98765.4321]])
    values = (values + values[::-1] * 1j if dtype == "complex128" else values).astype(dtype)
    made = round(dl.asarray(values), digits)
    assert (made.shape, made.dtype.name) == (values.shape, dtype)
    np.testing.assert_allclose(made.numpy(), np.round(values, digits), rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,), (0,)])
def test_round_with_digits_keeps_every_shape(shape):
    made = round(dl.full(shape, 2.567, dtype="float64"), 2)
    assert isinstance(made, dl.Tensor)
    assert made.shape == shape
    assert made.tolist() == np.full(shape, 2.57).tolist()


def test_round_of_one_number_without_digits_is_a_python_integer():
    assert round(dl.asarray(2.5)) == 2
    assert type(round(dl.asarray(2.5))) is int
    with pytest.raises(ValueError, match=r"round: expected a tensor of one element, .*; .* dl\.round\(\)"):
        round(dl.zeros(2))


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), 1e308, -1.7e308, 5e-324, 0.0, -0.0])
@pytest.mark.parametrize("digits", [0, 2, 300, 308, 400, -300, -308, -400])
def test_round_neither_overflows_nor_makes_nan(number, digits):
    got = round(dl.asarray([number], dtype="float64"), digits).tolist()[0]
    if math.isinf(number) or digits >= 324:
        want = number
    elif digits < -308:
        want = 0.0
    else:
        want = round(number, digits) if abs(number) < 1.5e308 else number
    assert math.isclose(got, want, rel_tol=1e-15)


def test_round_keeps_nan_and_the_sign_of_zero():
    made = round(dl.asarray([float("nan"), -0.0, -0.001]), 2).tolist()
    assert str(made) == "[nan, -0.0, -0.0]"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64"])
@pytest.mark.parametrize("digits", [3, 0, -1, -2, -5, -18, -19, -20, -40])
def test_round_of_integers_is_pythons_and_wraps(dtype, digits):
    info = np.iinfo(dtype)
    values = [int(n) for n in (info.min, info.max, 0, 5, 15, 25, 35, 45, 50, 75, 125, 99) if info.min <= n <= info.max]
    want = np.array([round(n, digits) % 2**64 for n in values], dtype="uint64").astype(dtype).tolist()
    assert round(dl.asarray(values, dtype=dtype), digits).tolist() == want


def test_round_refuses_what_is_no_number_of_digits():
    with pytest.raises(TypeError, match=r"round: ndigits must be an integer, got 1\.5"):
        round(dl.zeros(2), 1.5)
    with pytest.raises(TypeError, match="round: not defined for bool"):
        round(dl.asarray([True]), 1)


@pytest.mark.parametrize("digits", [-20, -21, -1000, -(2**31) - 1, -(2**200)])
def test_integers_rounded_to_more_than_their_digits_are_0_at_once(digits):
    for dtype in ("int8", "int64", "uint64"):
        assert round(dl.asarray([0, 127, 99], dtype=dtype), digits).tolist() == [0, 0, 0]
    assert round(dl.asarray([2**64 - 1, 5 * 10**18], dtype="uint64"), digits).tolist() == [0, 0]
    assert round(dl.asarray([-(2**63), 2**63 - 1]), digits).tolist() == [0, 0]


OPERATORS = [op.add, op.sub, op.mul, op.truediv, op.floordiv, op.mod, op.pow, op.lt, op.eq, divmod]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("values", [[1, 2], (3, 4.5), [[1], [2]], range(1, 3), [], [[True, False]]])
def test_lists_are_operands_as_tensors_of_them_are(operator, values):
    t = dl.asarray([[5, 6], [7, 8]]) if values else dl.zeros((2, 0))
    other = dl.asarray(values)
    for made, want in ((operator(t, values), operator(t, other)), (operator(values, t), operator(other, t))):
        assert repr(made) == repr(want)


def test_functions_take_lists_on_both_sides():
    assert repr(dl.add([1, 2], [0.5, 1.5])) == repr(dl.asarray([1.5, 3.5]))
    assert (dl.asarray([[1, 2]]) @ [[3], [4]]).tolist() == [[11]]
    t = dl.asarray([1, 2])
    t *= [3, 4]
    assert t.tolist() == [3, 8]


def test_divmod_reads_a_numpy_number_once_and_exactly():
    x = dl.asarray([1.0], dtype="float64")
    quotient, rest = divmod(x, np.float64(0.1))
    assert (quotient.item(), rest.item()) == divmod(1.0, 0.1)


def test_an_integer_of_no_dimensions_repeats_a_list():
    three = dl.asarray([True, True, True]).sum()
    assert [0] * three == three * [0] == [0, 0, 0]
    assert "ab" * three == "ababab"


@pytest.mark.parametrize("other", ["a", b"", collections.deque([1])], ids=["str", "empty bytes", "deque"])
def test_a_product_with_a_sequence_that_is_no_operand_names_its_type(other):
    t = dl.asarray([1, 2])
    for call in (lambda: t * other, lambda: other * t):
        with pytest.raises((TypeError, ValueError), match=r"^multiply: ") as caught:
            call()
        assert "__index__" not in str(caught.value)


def test_a_bool_in_the_place_of_an_axis_is_pytorchs_unbiased():
    x = dl.asarray([[1.0, 2.0], [3.0, 6.0]])
    assert dl.var_mean(x, True) == (dl.var(x, correction=1), 3)
    assert dl.std_mean(x, False) == (dl.std(x), 3)


# -- extents one by one, views by a shape, dtypes that convert ---------------------------------------------------------


@pytest.mark.parametrize("make", [dl.zeros, dl.ones, dl.empty], ids=lambda make: make.__name__)
def test_extents_come_one_by_one_as_in_torch(make):
    for call in (make(2, 3), make(2, np.int64(3)), make(2, 3, dtype="float32"), make((2, 3)), make([2, 3], "float32")):
        assert call.shape == (2, 3)
        assert call.dtype == dl.float32
    assert make(2, 3, "int8").dtype == dl.int8
    assert make(2, 3, 4, 5, dtype=dl.int16, device="cpu").shape == (2, 3, 4, 5)
    assert make(0, 3).shape == (0, 3)
    with pytest.raises(ValueError, match=rf"^{make.__name__}: "):
        make(2, -1)
    with pytest.raises(TypeError, match=rf"^{make.__name__}: "):
        make(2, True)
    with pytest.raises(TypeError, match=rf"^{make.__name__}: takes at most 2 positional arguments"):
        make((2,), 3, 4)


def test_view_takes_a_shape_as_in_torch():
    t = dl.arange(24).view(2, 3, 4)
    assert t.view(-1).shape == t.view((24,)).shape == (24,)
    assert t.view(6, -1).same_memory(t)
    assert t.view("uint64").dtype == dl.uint64
    with pytest.raises(ValueError, match=r"^view: "):
        t.permute(2, 1, 0).view(-1)
    with pytest.raises(ValueError, match=r"^view: "):
        t.view(5, 5)


def test_item_takes_one_index_for_all_elements_as_in_numpy():
    t = dl.asarray(CUBE).permute(2, 0, 1)
    assert [t.item(i) for i in range(-24, 24)] == [CUBE.transpose(2, 0, 1).item(i) for i in range(-24, 24)]
    with pytest.raises(IndexError, match=r"^item: index 24 is out of range for 24 elements"):
        t.item(24)


def test_a_dtype_converts_as_numpys_scalar_types():
    assert dl.float64(0.1).item() == 0.1
    assert dl.int32(-3.7).item() == -3
    assert dl.uint8([1, 2]).tolist() == [1, 2]
    assert dl.float32(dl.asarray([1.5], dtype="float64")).dtype == dl.float32
    assert dl.int8().item() == 0
    x = dl.asarray([1.0])
    assert not dl.float32(x).same_memory(x)
    with pytest.raises(OverflowError, match=r"^int8: 300 is outside int8"):
        dl.int8(300)


def test_unbiased_and_diagonal_are_taken_as_in_torch():
    x = dl.asarray([[1.0, 2.0], [4.0, 8.0]])
    assert dl.std(x, unbiased=True).item() == dl.std(x, correction=1).item()
    assert x.var(dim=0, unbiased=False).tolist() == dl.var(x, axis=0).tolist()
    assert dl.tril(x, diagonal=-1).tolist() == dl.tril(x, k=-1).tolist()
    assert dl.diag(x, diagonal=1).tolist() == [2.0]


# -- objects of NumPy that are indexed --------------------------------------------------------------------------------


def test_r_and_c_join_what_numpys_join():
    a, b = np.arange(4.0).reshape(2, 2), np.array([7.0, 8.0])
    ours, theirs = dl.r_[dl.asarray(b), 0, 1:4, 0:1:3j], np.r_[b, 0, 1:4, 0:1:3j]
    assert ours.tolist() == theirs.tolist()
    same(dl.r_[dl.asarray(a), dl.asarray(a)], np.r_[a, a])
    same(dl.c_[dl.asarray(a), dl.asarray(b)], np.c_[a, b])
    same(dl.c_[1, 2], np.c_[1, 2])
    assert dl.r_[1:3, True].dtype == dl.int64
    with pytest.raises(TypeError, match=r"^r_: directives are not supported, got .*; call dl.concat"):
        dl.r_["0,2", [1, 2]]
    with pytest.raises(ValueError, match=r"^r_: a slice needs an end"):
        dl.r_[1:]


def test_grids_are_numpys():
    same(dl.mgrid[0:2, 1:3], np.mgrid[0:2, 1:3])
    same(dl.mgrid[3:0:-1], np.mgrid[3:0:-1])
    for ours, theirs in zip(dl.ogrid[0:2, 1:3], np.ogrid[0:2, 1:3], strict=True):
        same(ours, theirs)
    for ours, theirs in zip(
        dl.meshgrid([1, 2], [3, 4, 5], sparse=True), np.meshgrid([1, 2], [3, 4, 5], sparse=True), strict=True
    ):
        same(ours, theirs)
    assert dl.s_[1:, ...] == np.s_[1:, ...]
    assert dl.index_exp[2] == np.index_exp[2]
    with pytest.raises(TypeError, match=r"^ogrid: expected slices"):
        dl.ogrid[3]


def test_names_of_classes_and_kinds():
    assert dl.ndarray is dl.Tensor
    assert dl.dtype is dl.DType
    assert dl.device is dl.Device
    assert dl.long is dl.int64
    assert dl.half is dl.float16
    for dtype in (np.dtype("f4"), "bfloat16", dl.float8_e4m3fn):
        assert dl.issubdtype(dtype, dl.floating)
        assert dl.issubdtype(dtype, dl.inexact)
        assert not dl.issubdtype(dtype, dl.integer)
    assert dl.issubdtype("uint8", dl.unsignedinteger)
    assert dl.issubdtype("complex64", dl.number)
    assert dl.issubdtype("float32", np.float32)
    assert not dl.issubdtype("float32", float)


def test_floats_give_no_warnings_and_nothing_else_can_be_asked_for():
    with dl.errstate(divide="ignore", invalid="ignore") as state:
        assert state is None
        assert (dl.ones(1) / 0).item() == math.inf

    @dl.errstate(all="ignore")
    def quotient(x):
        return x / 0

    assert quotient(dl.ones(1)).item() == math.inf
    with pytest.raises(ValueError, match=r"^errstate: .* expected over='ignore', got 'raise'"):
        dl.errstate(over="raise")
    assert set(dl.seterr(all="ignore").values()) == {"ignore"}


# -- functions that write ---------------------------------------------------------------------------------------------


def test_copyto_and_put_write_as_numpys():
    ours, theirs = dl.asarray(CUBE, copy=True), CUBE.copy()
    mask = CUBE % 2 == 0
    dl.copyto(ours, -1, where=dl.asarray(mask))
    np.copyto(theirs, -1, where=mask)
    same(ours, theirs)
    dl.put(ours.permute(2, 1, 0), [0, -1, 5], [70, 80])
    np.put(theirs.transpose(2, 1, 0), [0, -1, 5], [70, 80])
    same(ours, theirs)
    dl.copyto(ours, dl.arange(4))
    np.copyto(theirs, np.arange(4))
    same(ours, theirs)
    before = ours.tolist()
    for index in (24, -25):
        with pytest.raises(IndexError, match=r"^put: "):
            dl.put(ours, [index], [1])
    with pytest.raises(ValueError, match=r"^put: mode must be"):
        dl.put(ours, [0], [1], mode="wrapped")
    dl.put(ours, [0], [])
    assert ours.tolist() == before
    for mode in ("wrap", "clip"):
        dl.put(ours, [-30, 26], [3, 4], mode=mode)
        np.put(theirs, [-30, 26], [3, 4], mode=mode)
        same(ours, theirs)
    one = dl.asarray(3)
    dl.put(one, [0, 0], [4, 5])
    assert one.item() == 5


def test_savez_writes_what_numpy_reads(tmp_path):
    dl.savez(tmp_path / "a", dl.arange(3), [1.5], x=dl.ones((2, 2)))
    with np.load(tmp_path / "a.npz") as found:
        assert {name: found[name].tolist() for name in found} == {"arr_0": [0, 1, 2], "arr_1": [1.5], "x": [[1, 1]] * 2}
    with pytest.raises(ValueError, match=r"^savez: arr_0 is the name of two tensors"):
        dl.savez(tmp_path / "b.npz", 1, arr_0=2)
    assert not (tmp_path / "b.npz").exists()


def test_views_of_complex_numbers_share_their_memory():
    z = dl.asarray([[1 + 2j, 3 - 4j]])
    pairs = dl.view_as_real(z)
    assert pairs.tolist() == [[[1.0, 2.0], [3.0, -4.0]]]
    assert pairs.same_memory(z)
    assert dl.view_as_complex(pairs).tolist() == z.tolist()
    assert dl.view_as_complex(pairs).same_memory(z)
    assert str(dl.complex([math.inf], [math.nan]).item()) == "(inf+nanj)"
    with pytest.raises(TypeError, match=r"^view_as_complex: expected float32 or float64 of shape"):
        dl.view_as_complex(dl.zeros(3))


# -- layers and losses, beyond the examples of their rows --------------------------------------------------------------


def test_layer_norm_of_16_bits_is_rounded_once():
    x = dl.asarray(np.random.default_rng(3).normal(3, 0.1, (4, 64)), dtype="bfloat16")
    exact = dl.layer_norm(x.astype("float64"), 64)
    assert dl.layer_norm(x, 64).dtype == dl.bfloat16
    assert dl.max(dl.abs(dl.layer_norm(x, (64,)).astype("float64") - exact)) <= 2**-8 * dl.max(dl.abs(exact))


def test_attention_of_a_query_without_keys_is_zero():
    one = dl.ones((1, 2, 4))
    mask = dl.asarray([[False, False], [True, False]])
    assert dl.scaled_dot_product_attention(one, one, one, mask).tolist() == [[[0.0] * 4, [1.0] * 4]]


def test_cross_entropy_leaves_out_what_is_to_be_ignored():
    x = dl.asarray([[2.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    expected = -dl.log_softmax(x, axis=1)[0, 0].item()
    assert dl.cross_entropy(x, [0, -100, -100]).item() == pytest.approx(expected)
    assert dl.cross_entropy(x, [0, 1, -100], reduction="none").tolist()[2] == 0
    assert dl.cross_entropy(x, [[1.0, 0.0]] * 3, reduction="none").tolist()[0] == pytest.approx(expected)
    assert dl.cross_entropy(x[0], 0).item() == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"^cross_entropy: target must have the shape \(3,\), got \(2,\)"):
        dl.cross_entropy(x, [0, 1])


def test_help_shows_values_of_constants_and_objects(capsys):
    for name in ("floating", "r_", "long"):
        dl.help(name)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "dl.floating = 'real floating'"
    assert shown[1].startswith("dl.r_: Arrays, numbers and slices")
    assert shown[2].startswith("dl.long: Element type")
    assert [repr(one) for one in (dl.r_, dl.mgrid)] == ["dltensor.r_", "dltensor.mgrid"]


def test_save_with_its_arguments_the_other_way_round_says_what_to_write():
    with pytest.raises(TypeError, match=r"^save: file must be .*, got dict; write save\('a\.npz', tensors\)"):
        dl.save({"x": dl.ones(1)}, "a.pt")


def test_an_operand_of_a_row_is_read_once_and_not_kept():
    class Number(float):
        pass

    number, many = Number(0.5), dl.ones(5000)
    alive = weakref.ref(number)
    assert dl.lerp(many, number, 0.5)[0].item() == 0.75
    assert dl.addcmul(many, many, number).dtype == dl.float32
    assert dl.lerp(many, np.float64(0.5), 0.5).dtype == (many + np.float64(0.5)).dtype
    del number
    assert alive() is None


def test_elements_that_copyto_leaves_alone_keep_their_bits():
    x = dl.asarray([2**53 + 1, 5])
    dl.copyto(x, 1.0, where=[False, True])
    assert x.tolist() == [2**53 + 1, 1]
    dl.copyto(x, dl.asarray([7.0, 8.0]), where=[[False, True]][0])
    assert x.tolist() == [2**53 + 1, 8]
    for call in (lambda: dl.copyto(x, 1, where=[0, 1]), lambda: dl.masked_scatter(x, [0, 1], x)):
        with pytest.raises(TypeError, match="the mask must be of bool, got int64"):
            call()
    with pytest.raises(ValueError, match=r"^r_: expected one array"):
        dl.r_[()]


def test_a_fused_row_inside_of_a_fused_function_holds_for_every_size():
    calls = []

    @dl.fuse
    def steps(x):
        calls.append(1)
        return dl.gelu(x) + 1

    for size in (10, 20, 5000, 6000):
        x = dl.linspace(-2, 2, size)
        assert steps(x).tobytes() == (dl.gelu(x) + 1).tobytes()
    recorded = len(calls)
    steps(dl.ones(7000))
    assert len(calls) == recorded


# -- names that are taken since their meaning is one ------------------------------------------------------------------


def test_the_size_is_a_number_that_may_be_called():
    t = dl.zeros((2, 3, 4))
    assert (t.size, t.size(), t.size(0), t.size(-1), t.size(dim=1)) == (24, (2, 3, 4), 2, 4, 3)
    assert isinstance(t.size, int)
    assert {24: "found"}[t.size] == "found"
    assert (repr(t.size), f"{t.size:04d}", json.dumps(t.size), [0] * t.size) == ("24", "0024", "24", [0] * 24)
    for same_number in (
        copy.copy(t.size),
        copy.deepcopy(t.size),
        pickle.loads(pickle.dumps(t.size)),
        t.size + 0,
        +t.size,
    ):
        assert type(same_number) is int
        assert same_number == 24
    assert type(t.size)(7) == 7
    assert (dl.zeros(()).size, dl.zeros(()).size()) == (1, ())
    assert (dl.zeros((0, 3)).size, dl.zeros((0, 3)).size(), bool(dl.zeros(0).size)) == (0, (0, 3), False)
    for refused in (lambda: int.__new__(type(t.size), 3), lambda: object.__new__(type(t.size))):
        with pytest.raises(TypeError, match="not safe"):
            refused()


def test_the_size_is_an_operand_as_a_plain_integer():
    t = dl.ones((2, 3))
    for of_kind in ("int8", "float16", "bfloat16", "float32"):
        x = dl.ones(2, dtype=of_kind)
        for function in (op.mul, op.add, op.sub, op.truediv, op.floordiv, op.mod, op.pow, op.lt):
            for ours, plain in ((function(x, t.size), function(x, 6)), (function(t.size, x), function(6, x))):
                assert (ours.tolist(), ours.dtype) == (plain.tolist(), plain.dtype)
    for theirs in (np.ones(2, np.float32), np.float32(2), np.ones(2, np.int8)):
        for ours, plain in (
            (theirs / t.size, theirs / 6),
            (t.size * theirs, 6 * theirs),
            (np.add(theirs, t.size), theirs + 6),
        ):
            assert (ours.tolist(), ours.dtype) == (plain.tolist(), plain.dtype)
    theirs = np.ones(2, np.float32)
    theirs /= t.size
    assert theirs.tolist() == np.divide(np.ones(2, np.float32), 6).tolist()
    assert dl.Tensor(t.size, 2).shape == dl.zeros((t.size, 2)).shape == t.reshape(t.size, 1).expand(6, 2).shape
    assert dl.result_type("int8", t.size) == dl.int8
    with pytest.raises(TypeError, match="ufunc"):
        type(t.size).__array_ufunc__(t.size)


@pytest.mark.parametrize("size", [0, 1, 2**15, 2**30 - 1, 2**30, 2**31, 2**60, 2**62 + 3, 2**63 - 1])
@pytest.mark.parametrize("ndim", [1, 2, 9, 64])
def test_sizes_of_any_number_of_digits_and_dimensions(size, ndim):
    shape = (1,) * (ndim - 1) + (size,)
    t = dl.as_strided(dl.zeros(1, dtype="uint8"), shape, (0,) * ndim, writeable=False)
    count = t.size
    assert count == size
    assert count() == shape
    assert (count // 7, count - 1, -count, count & 255, count % 1000) == (
        size // 7,
        size - 1,
        -size,
        size & 255,
        size % 1000,
    )
    assert (hash(count), str(count), float(count)) == (hash(size), str(size), float(size))
    kept = [dl.zeros((n, 2)).size for n in range(30)]
    assert [one() for one in kept] == [(n, 2) for n in range(30)]
    assert count() == shape


@pytest.mark.parametrize(
    ("dim", "error"),
    [((3,), IndexError), ((-4,), IndexError), ((2**80,), IndexError), ((1.0,), TypeError), (("a",), TypeError),
     ((0, 1), TypeError)],
)  # fmt: skip
def test_a_dimension_that_is_not_there_has_no_extent(dim, error):
    with pytest.raises(error, match=r"^size(: |\(\) takes)"):
        dl.zeros((2, 3, 4)).size(*dim)


def test_arguments_that_change_nothing_are_taken():
    x = dl.zeros((2, 2))
    for make in (
        lambda **how: dl.zeros(2, **how),
        lambda **how: dl.ones(2, 3, device="cpu", **how),
        lambda **how: dl.zeros_like(x, **how),
        lambda **how: dl.empty_like(x, **how),
        lambda **how: dl.full((2,), 1.0, **how),
        lambda **how: dl.arange(3, **how),
        lambda **how: dl.linspace(0, 1, 3, **how),
        lambda **how: dl.eye(2, **how),
        lambda **how: dl.tensor([1.0], **how),
        lambda **how: x.new_zeros(2, 3, **how),
        lambda **how: dl.hann_window(8, **how),
    ):
        shape = make().shape
        assert make(requires_grad=False, pin_memory=False).shape == shape
        assert make(memory_format=dl.preserve_format).shape == make(memory_format=dl.contiguous_format).shape == shape
        for refused in (
            {"requires_grad": True},
            {"requires_grad": 0},
            {"pin_memory": True},
            {"memory_format": "other"},
        ):
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(refused))}'"):
                make(**refused)
        with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
            make(requires_grad=False, foo=1)
    with pytest.raises(TypeError, match="requires_grad"):
        dl.tile(x, 2, requires_grad=False)


def test_contexts_without_gradients_change_nothing():
    for context in (dl.no_grad(), dl.inference_mode(), dl.inference_mode(False), dl.set_grad_enabled(False)):
        with context:
            assert not dl.is_grad_enabled()

    @dl.no_grad()
    def one():
        return 1

    assert (one(), dl.no_grad(len) is len, dl.inference_mode(len) is len) == (1, True, True)
    with pytest.raises(ValueError, match=r"^set_grad_enabled: tensors have no gradients"):
        dl.set_grad_enabled(True)
    t = dl.ones(2)
    assert (t.detach() is t, t.data is t, t.requires_grad) == (True, True, False)


def test_a_class_whose_source_was_replaced_is_refused(monkeypatch):
    monkeypatch.setattr(dl, "FloatTensor", lambda *data: None)
    with pytest.raises(TypeError, match="FloatTensor returned NoneType"):
        dl.Tensor([1.0])
    empty = dl.zeros(0)
    with pytest.raises(TypeError, match="cannot be called for a tensor"):
        empty.__init__([1.0])


def test_results_of_numpys_options():
    samples, step = dl.linspace(0, 1, 5, retstep=True)
    assert (samples.tolist(), step) == ([0.0, 0.25, 0.5, 0.75, 1.0], 0.25)
    assert dl.linspace(0, 1, 4, endpoint=False, retstep=True)[1] == 0.25
    assert math.isnan(dl.linspace(0, 1, 1, retstep=True)[1])
    assert math.isnan(dl.linspace(0, 1, 0, endpoint=False, retstep=True)[1])
    with pytest.raises(ValueError, match=r"^linspace: num"):
        dl.linspace(0, 1, -1, retstep=True)
    x, y = [3, 1, 3, 2], [2, 2, 3, 9]
    for ours, theirs in zip(
        dl.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True), strict=True
    ):
        assert ours.tolist() == theirs.tolist()
    assert dl.angle([1j, -1.0], deg=True).tolist() == [90.0, 180.0]
    assert dl.angle(-1, deg=True).item() == 180.0
    matrix = dl.asarray([[3.0, 0.0], [4.0, 5.0]])
    assert dl.linalg.svd(matrix, compute_uv=False).tolist() == dl.linalg.svdvals(matrix).tolist()


def test_compressed_archives_are_read_by_numpy_and_here(tmp_path):
    zeros = dl.zeros((100, 100))
    for place in (tmp_path / "a", str(tmp_path / "b.npz"), io.BytesIO()):
        dl.savez_compressed(place, zeros, x=[1.5, 2.5], nothing=dl.zeros(0))
        if isinstance(place, io.BytesIO):
            assert len(place.getvalue()) < 2000
            place.seek(0)
        found = place if isinstance(place, io.BytesIO) else tmp_path / f"{Path(place).stem}.npz"
        with np.load(found) as archive:
            assert archive["arr_0"].shape == (100, 100)
            assert (archive["x"].tolist(), archive["nothing"].size) == ([1.5, 2.5], 0)
    loaded = dl.load(tmp_path / "a.npz")
    assert (loaded["arr_0"].tolist(), loaded["x"].tolist()) == (zeros.tolist(), [1.5, 2.5])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with pytest.raises(ValueError, match=r"^savez_compressed: arr_0 is the name of two tensors"):
        dl.savez_compressed(tmp_path / "c", 1, arr_0=2)


def test_fromfile_reads_what_numpy_reads(tmp_path):
    path = tmp_path / "raw"
    np.arange(7, dtype=np.int16).tofile(path)
    path.write_bytes(path.read_bytes() + b"x")
    for how in ({}, {"count": 3}, {"count": 99}, {"offset": 2}, {"offset": 2, "count": 2}, {"count": 0}):
        assert dl.fromfile(path, "int16", **how).tolist() == np.fromfile(path, np.int16, **how).tolist()
        with open(path, "rb") as ours, open(path, "rb") as theirs:
            ours.read(2), theirs.read(2)
            assert dl.fromfile(ours, "int16", **how).tolist() == np.fromfile(theirs, np.int16, **how).tolist()
    dl.fromfile(path, "int16")[0] = 5  # writeable
    assert dl.fromfile(path).dtype == dl.float64
    for wrong, error in (
        (lambda: dl.fromfile(path, sep=" "), ValueError),
        (lambda: dl.fromfile(1), TypeError),
        (lambda: dl.fromfile(tmp_path / "absent"), OSError),
        (lambda: dl.fromfile(path, "int16", offset=-3), (OSError, ValueError)),
        (lambda: dl.fromfile(path, "int16", count=1.5), TypeError),
        (lambda: dl.fromfile(io.StringIO("text of 8 letters")), TypeError),
    ):
        with pytest.raises(error):
            wrong()


def test_other_functions_of_numpy_give_its_values():
    assert [dl.isscalar(x) for x in (1, 2.0, 1j, "a", b"a", True, np.float32(1), np.bool_(1), Fraction(1, 2))] == [
        True
    ] * 9
    assert [dl.isscalar(x) for x in ([1], dl.asarray(1), np.asarray(1), None, ())] == [False] * 5
    for axis, start in ((2, 0), (0, 3), (1, -1), (-1, 1), (1, 1)):
        same(dl.rollaxis(CUBE, axis, start), np.rollaxis(CUBE, axis, start))
    with pytest.raises(IndexError, match=r"^rollaxis: start 4 is out of range"):
        dl.rollaxis(CUBE, 0, 4)
    for shape in (0, 5, (2, 7), (3, 0), ()):
        same(dl.resize(CUBE, shape), np.resize(CUBE, shape))
    assert dl.resize(dl.zeros(0), (2,)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="at least 0"):
        dl.resize(CUBE, (-1,))
    assert dl.fabs([-1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match=r"^fabs: not defined for complex"):
        dl.fabs([1j])
    assert dl.Size([2, 3]) == (2, 3)
    assert isinstance(dl.zeros((2, 3)).size(), dl.Size)


def test_windows_of_torch_end_before_their_last_point():
    assert dl.hann_window(4).tolist() == pytest.approx([0.0, 0.5, 1.0, 0.5])
    assert dl.hann_window(5, False).tolist() == dl.hanning(5).tolist()
    assert (dl.hann_window(0).tolist(), dl.hann_window(1).tolist()) == ([], [1.0])
    assert dl.hamming_window(3, dtype="float64").dtype == dl.float64
    with pytest.raises(TypeError, match=r"^hamming_window: window_length must be an integer"):
        dl.hamming_window(2.5)
    with dl.default_dtype("float64"):
        assert dl.hann_window(3).dtype == dl.float64
    with pytest.raises(ValueError, match="must be at least 0"):
        dl.hann_window(-1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dl.max_pool2d(dl.zeros(3), 2),
        lambda: dl.max_pool2d(dl.zeros((3, 3)), 0),
        lambda: dl.max_pool2d(dl.zeros((3, 3)), 2, 0),
        lambda: dl.avg_pool2d(dl.zeros((3, 3)), 2, padding=2),
        lambda: dl.avg_pool2d(dl.zeros((3, 3)), (1, 2, 3)),
        lambda: dl.avg_pool2d(dl.zeros((3, 3)), 4),
    ],
)
def test_windows_that_do_not_fit_are_refused(call):
    with pytest.raises(ValueError, match=r"pool2d: |sliding_window_view"):
        call()


def test_losses_at_the_ends_of_their_domains_are_torchs():
    assert dl.binary_cross_entropy([0.0, 1.0], [1.0, 1.0], reduction="none").tolist() == [100.0, 0.0]
    assert dl.kl_div([0.0, 0.0], [0.0, 1.0], reduction="none").tolist() == [0.0, 0.0]
    assert dl.smooth_l1_loss([3.0], [1.0], beta=0.0).item() == dl.l1_loss([3.0], [1.0]).item() == 2.0
    assert dl.nll_loss([[-1.0, -3.0], [-2.0, -4.0]], [1, -100]).item() == 3.0
    with pytest.raises(ValueError, match=r"^binary_cross_entropy: expected probabilities"):
        dl.binary_cross_entropy([1.5], [1.0])
    with pytest.raises(ValueError, match=r"^nll_loss: target must have the shape \(2,\), got \(1,\)"):
        dl.nll_loss([[-1.0, -3.0], [-2.0, -4.0]], [1])
    for loss in (dl.l1_loss, dl.smooth_l1_loss, dl.kl_div, dl.binary_cross_entropy, dl.nll_loss):
        target = [0, 0] if loss is dl.nll_loss else [[0.5, 0.5], [0.5, 0.5]]
        with pytest.raises(ValueError, match=f"^{loss.__name__}: reduction must be 'mean', 'sum' or 'none'"):
            loss([[0.5, 0.5], [0.5, 0.5]], target, reduction="all")
