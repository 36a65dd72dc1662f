# SPDX-License-Identifier: Apache-2.0
"""The view primitives: they refuse views that would leave the memory of the tensor."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import stride_tricks

import dltensor as dl
from dltensor import layout
from dltensor._core.types import COMPUTED
from dltensor._core.views import as_strided, element_bytes, from_raw, raw_bytes

small = st.integers(-7, 7)


@given(st.lists(st.tuples(st.integers(0, 4), small), max_size=3), st.integers(-2, 25), st.booleans())
def test_restride_gives_exactly_the_views_that_stay_inside(dims, offset, backwards):
    source = dl.from_dlpack(np.arange(24))
    if backwards:
        source = source[::-1]
    shape, strides = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    low, high = layout.extent(shape, strides)
    start, end = layout.extent(source.shape, source.strides)
    if 0 not in shape and not (start <= offset + low and offset + high <= end):
        with pytest.raises(ValueError, match="leaves the elements"):
            as_strided(source, shape, strides, offset)
        return
    made = as_strided(source, shape, strides, offset)
    where = [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    expected = [23 - at * -1 if backwards else at for at in where]
    assert np.array(made.tolist()).ravel().tolist() == expected


@pytest.mark.parametrize("stride", [2**62, -(2**63), 2**63 - 1])
def test_restride_is_not_fooled_by_overflow(stride):
    with pytest.raises(ValueError, match="leaves the elements"):
        as_strided(dl.zeros(8), (4, 4), (stride, stride))


def test_restride_of_an_empty_tensor_shows_nothing():
    with pytest.raises(ValueError, match="leaves the elements"):
        as_strided(dl.zeros((0,)), (1,), (1,))
    assert as_strided(dl.zeros((0,)), (0, 5), (1, 1), 99).shape == (0, 5)


def test_a_read_only_tensor_stays_so():
    assert as_strided(dl.asarray(b"abc"), (1,), (1,)).readonly


@pytest.mark.parametrize("dtype", dl.DTYPES.values(), ids=str)
def test_bytes_and_back_for_every_dtype(dtype):
    source = dl.empty((3, 5), dtype=dtype)
    data = raw_bytes(source)
    data[:] = np.arange(source.nbytes, dtype=np.uint8)
    assert data.shape == (source.nbytes,)
    back = from_raw(data, (3, 5), dtype)
    assert back.dtype == dtype
    assert back.same_memory(source)
    assert raw_bytes(back).tolist() == list(range(source.nbytes))


def test_from_raw_counts_the_bytes():
    with pytest.raises(ValueError, match=r"shape \(2, 2\) of float32 takes 16 bytes, got 15"):
        from_raw(dl.asarray(bytes(15)), (2, 2), "float32")
    with pytest.raises(ValueError, match=r"from_raw: shape .* of float32 takes more than 2\^63 - 1 bytes"):
        from_raw(dl.asarray(b""), (2**40, 2**40, 2**40), "float32")


def test_element_bytes_reads_one_element_where_it_has_bytes_of_its_own():
    assert element_bytes(dl.asarray([[1, 2], [3, 4]], dtype="int16").T, 0, 1) == b"\x03\x00"
    assert element_bytes(dl.empty(3, dtype="int4"), 1) is None
    with pytest.raises(IndexError, match="index 2 is out of range for axis 0 with size 2"):
        element_bytes(dl.zeros(2), 2)


# -- elements of uncommon widths and places ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [dl.DType(17, 4, 3), dl.DType(16, 6, 2), dl.DType(200, 7, 3), dl.DType(200, 3, 5)])
def test_packed_lanes_wider_than_a_byte_are_moved_bit_by_bit(dtype):
    """Each was moved as whole bytes, into memory that was counted in bits."""
    width = dtype.bits * dtype.lanes
    whole = int.from_bytes(np.random.default_rng(7).bytes(100), "little") & ((1 << 12 * width) - 1)
    raw = np.frombuffer(whole.to_bytes(-(-12 * width // 8), "little"), np.uint8).copy()
    t = dl.wrap(raw.ctypes.data, (3, 4), dtype, owner=raw)
    assert t.nbytes == raw.size
    before = dl.debug.live_bytes()
    copy, turned = t.copy(), t.T.copy()
    assert dl.debug.live_bytes() - before == 2 * raw.size

    def elements(made):
        bits = int.from_bytes(bytes(raw_bytes(made)), "little")
        return [bits >> i * width & ((1 << width) - 1) for i in range(12)]

    was = [whole >> i * width & ((1 << width) - 1) for i in range(12)]
    assert elements(copy) == was
    assert elements(turned) == [was[row * 4 + column] for column in range(4) for row in range(3)]


def test_elements_of_odd_bits_that_are_no_sub_byte_types_have_whole_bytes():
    raw = np.arange(8, dtype=np.uint8)
    t = dl.wrap(raw.ctypes.data, (4,), dl.DType(200, 12), owner=raw)
    assert (t.itemsize, t.nbytes) == (2, 8)
    assert bytes(raw_bytes(t[::-1].copy())) == bytes([6, 7, 4, 5, 2, 3, 0, 1])


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("steps", [slice(None), slice(None, None, 2), slice(None, None, -1)])
def test_elements_at_any_address_are_read_and_written(name, steps):
    """A sanitizer sees whether one is taken for aligned that is not."""
    dtype = dl.as_dtype(name)
    memory = np.zeros(41 * dtype.itemsize, np.uint8)
    t = dl.wrap(memory.ctypes.data, (40,), dtype, byte_offset=1, owner=memory)[steps]
    t.fill(1)
    t[::2] = 0
    expected = [float(i % 2) for i in range(t.size)]
    wide = "complex128" if name.startswith("complex") else "float64"
    assert t.astype(wide).tolist() == t.copy().astype(wide).tolist() == expected
    assert dl.where(t == 0, t, t).astype(wide).tolist() == dl.logical_or(t, t).astype("float64").tolist() == expected
    assert dl.cast(dl.asarray(expected), t).astype(wide).tolist() == expected
    assert dl.repeat(t, 2).astype(wide).tolist() == [x for x in expected for _ in range(2)]


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64"])
def test_a_byte_for_each_element_is_only_for_those_that_have_less(dtype):
    """`padded` gave one byte to each element of any dtype."""
    before = dl.debug.live_bytes()
    made = dl.ones(1000).astype(dtype, padded=True)
    assert dl.debug.live_bytes() - before == made.nbytes == 1000 * made.itemsize
    assert not made.flags & dl.Flags.IS_SUBBYTE_TYPE_PADDED
    assert made.tolist() == [1] * 1000


def test_padded_elements_seen_as_bytes_are_padded_no_more_and_keep_the_other_flags():
    t = dl.asarray([1, -2, 3]).astype("int4", padded=True)
    made = t.view("uint8")
    assert (made.flags, made.readonly) == (0, False)
    assert made.tolist()[::2] == [1, 3]
    kept = dl.from_dlpack(dl.broadcast_to(t, (2, 3))).view("uint8")
    assert kept.flags == dl.broadcast_to(t, (2, 3)).flags & ~dl.Flags.IS_SUBBYTE_TYPE_PADDED


def test_reshape_shares_memory_where_numpy_does_and_has_its_strides():
    """Also where an extent is 1, whose stride is that of a longer dimension there."""
    memory = np.arange(4096)
    shared = copied = 0
    for shape in [(4, 1), (4, 1, 1), (1, 4, 1), (4, 3), (2, 2, 1, 3), (4, 1, 3, 1), (6, 1), (3, 2, 2)]:
        for gaps in itertools.product((1, 2, 3), repeat=len(shape)):
            strides, step = [], 8
            for size, gap in zip(shape[::-1], gaps, strict=True):
                strides.insert(0, step * gap)
                step *= gap * size
            array = stride_tricks.as_strided(memory, shape, strides)
            half = array.size // 2
            for to in [(2 * half,), (2 * half, 1), (1, 2 * half, 1, 1), (2, half), (2, 1, half, 1), (half, 1, 2)]:
                want, got = array.reshape(to), dl.from_dlpack(array).reshape(to)
                np.testing.assert_array_equal(got.numpy(), want)
                if not np.shares_memory(want, memory):
                    assert got.data_ptr != memory.ctypes.data
                    copied += 1
                elif to != shape:
                    assert got.data_ptr == memory.ctypes.data
                    assert got.strides == tuple(stride // 8 for stride in want.strides), (shape, array.strides, to)
                    shared += 1
    assert shared > 300
    assert copied > 100


# -- NumPy's orders and flags -----------------------------------------------------------------------------------------

LAYOUTS = {
    "C": lambda: np.arange(24).reshape(2, 3, 4),
    "F": lambda: np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
    "neither": lambda: np.arange(48).reshape(2, 3, 8)[..., ::2],
    "backwards": lambda: np.arange(24).reshape(2, 3, 4)[::-1, :, ::-1],
    "transposed in part": lambda: np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "empty": lambda: np.zeros((2, 0, 4), int),
    "0-d": lambda: np.array(5),
    "one axis": lambda: np.arange(24)[::2],
}


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_reshape_in_an_order_is_that_of_numpy(name, order):
    array = LAYOUTS[name]()
    shapes = [(-1,), (array.size, 1), (1, array.size), *([(4, 6), (4, 3, 2), (2, -1)] if array.size == 24 else [])]
    for shape in shapes:
        if array.size == 0 and -1 in shape:
            continue
        assert dl.asarray(array).reshape(shape, order=order).tolist() == array.reshape(shape, order=order).tolist()
        assert dl.reshape(array, shape, order=order).tolist() == array.reshape(shape, order=order).tolist()


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_ravel_flatten_and_tobytes_in_an_order_are_those_of_numpy(name, order):
    array = LAYOUTS[name]()
    t = dl.asarray(array)
    assert t.ravel(order).tolist() == array.ravel(order).tolist()
    assert t.flatten(order).tolist() == array.flatten(order).tolist()
    assert t.tobytes(order) == array.tobytes(order)


def test_reshape_in_fortran_order_shares_memory_where_it_can():
    t = dl.arange(24).reshape(4, 6).T
    assert t.reshape(-1, order="F").same_memory(t)
    assert t.reshape(-1, order="A").same_memory(t)
    with pytest.raises(ValueError, match=r"reshape: .* copy"):
        t.reshape(-1, order="C", copy=False)


@pytest.mark.parametrize("order", ["K", "k", None, 1, "\ud800"])
def test_an_unknown_order_is_refused(order):
    with pytest.raises(ValueError, match=r"reshape: order must be 'C', 'F' or 'A', got "):
        dl.zeros((2, 3)).reshape(-1, order=order)


def test_numpy_reshape_of_a_tensor_takes_an_order():
    assert np.reshape(dl.arange(6), (2, 3), order="F").tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_flags_of_a_tensor_are_those_of_numpy(name):
    array = LAYOUTS[name]()
    for one in (array, np.broadcast_to(array, (2, *array.shape))):
        flags = dl.asarray(one).flags
        assert flags.c_contiguous == one.flags.c_contiguous
        assert flags.f_contiguous == one.flags.f_contiguous
        assert (flags.fnc, flags.forc) == (one.flags.fnc, one.flags.forc)
        assert flags.writeable == one.flags.writeable


def test_flags_with_a_layout_equal_those_without_one():
    flags = dl.asarray(b"ab").flags
    assert flags == dl.Flags.READ_ONLY
    assert hash(flags) == hash(dl.Flags.READ_ONLY)
    assert (flags | dl.Flags.IS_COPIED) & dl.Flags.READ_ONLY == flags
    assert repr(flags) == repr(dl.Flags.READ_ONLY)
    assert isinstance(flags, dl.Flags)
    assert pickle.loads(pickle.dumps(flags)) == flags


def test_flags_of_no_tensor_have_no_layout():
    assert not dl.Flags.READ_ONLY.writeable
    with pytest.raises(AttributeError, match=r"Flags.c_contiguous: expected the flags of a tensor.*tensor.flags"):
        _ = dl.Flags.READ_ONLY.c_contiguous


@pytest.mark.parametrize(("dtype", "width"), [("uint8", 1), ("float16", 2), ("float32", 4), ("int64", 8)])
def test_a_view_as_bytes_without_a_meaning_is_one_of_unsigned_integers(dtype, width):
    t = dl.asarray([1, 2, 3], dtype=dtype)
    for spelling in (f"V{width}", f"|V{width}", np.dtype(f"V{width}")):
        assert t.view(spelling).dtype == f"uint{8 * width}"
        assert t.view(spelling).tobytes() == t.tobytes()


@pytest.mark.parametrize("dtype", ["V3", "V16", "V", np.dtype("i4,f4"), np.dtype(("V4", (2,)))])
def test_a_view_as_bytes_of_another_width_or_as_a_record_is_refused(dtype):
    with pytest.raises(TypeError, match="view: "):
        dl.zeros(6).view(dtype)


def test_a_view_as_a_small_float_is_not_taken_for_bytes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn"):
        dtype = np.dtype(getattr(ml_dtypes, name))
        assert dl.zeros(2, dtype=f"uint{8 * dtype.itemsize}").view(dtype).dtype == name


# -- parts of complex numbers, and attributes that may be called ------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "complex32"])
def test_real_and_imag_are_views(dtype):
    z = dl.asarray([[1 + 2j, 3 - 4j], [5j, 6]], dtype=dtype)[:, ::-1]
    assert z.real.tolist() == [[3, 1], [6, 0]]
    assert z.imag.tolist() == [[-4, 2], [0, 5]]
    z.imag[...] = 7
    assert z.tolist() == [[3 + 7j, 1 + 7j], [6 + 7j, 7j]]
    assert z.real.same_memory(z)
    assert z[0, 1].imag.item() == 7


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int4", "int64", "float16", "float8_e5m2"])
def test_a_real_tensor_is_its_real_part_and_has_imaginary_zeros(shape, dtype):
    t = dl.ones(shape, dtype=dtype)
    assert t.real.same_memory(t)
    assert t.imag.dtype == t.dtype
    assert t.imag.shape == shape
    assert t.imag.tolist() == dl.zeros(shape, dtype=dtype).tolist()
    assert t.imag.readonly


def test_parts_of_a_read_only_tensor_are_read_only():
    z = dl.broadcast_to(dl.asarray([1 + 1j]), (3,))
    assert z.real.readonly
    assert z.imag.readonly


def test_the_conjugate_transpose_of_complex_matrices():
    z = np.arange(12).reshape(2, 3, 2) * (1 + 2j)
    assert dl.asarray(z).mH.tolist() == z.conj().mT.tolist()
    assert dl.asarray(z[0]).H.tolist() == z[0].conj().T.tolist()
    real = dl.ones((2, 3))
    assert real.H.same_memory(real)


def test_data_ptr_may_be_read_and_called():
    t = dl.arange(3)
    assert t.data_ptr == t.data_ptr() == t.numpy().ctypes.data
    assert type(t.data_ptr()) is type(pickle.loads(pickle.dumps(t.data_ptr))) is int


def test_is_contiguous_may_be_read_and_called():
    t = dl.zeros((2, 3))
    assert t.is_contiguous
    assert not t.T.is_contiguous
    assert t.is_contiguous() is True
    assert t.T.is_contiguous() is False
    assert str(t.is_contiguous) == "True"
    assert pickle.loads(pickle.dumps(t.T.is_contiguous)) is False
