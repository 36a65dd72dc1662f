# SPDX-License-Identifier: Apache-2.0
"""Arrays made from Python objects, used through their methods and through the bare struct, and arrays of others read.

Numbers in names are those of the acceptance list.
"""

import ctypes
import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl
from dltensor.opaque import OpaqueArray, callback, from_pointer, hold, live_arrays, unwrap

P = ctypes.c_void_p
STATUS = ctypes.c_int32
MEMBERS = [
    "ptr",
    "destroy",
    "origin",
    "device",
    "dtype",
    "as_dlpack",
    "from_dlpack",
    "shape",
    "reshape",
    "swap_axes",
    "create",
    "copy",
    "move_data",
]
PROTOTYPES = {
    "origin": ctypes.CFUNCTYPE(STATUS, P, P),
    "device": ctypes.CFUNCTYPE(STATUS, P, P),
    "dtype": ctypes.CFUNCTYPE(STATUS, P, P),
    "shape": ctypes.CFUNCTYPE(STATUS, P, P, P),
    "as_dlpack": ctypes.CFUNCTYPE(STATUS, P, P, ctypes.c_uint64, P, ctypes.c_uint64),
    "swap_axes": ctypes.CFUNCTYPE(STATUS, P, ctypes.c_size_t, ctypes.c_size_t),
    "reshape": ctypes.CFUNCTYPE(STATUS, P, P, ctypes.c_size_t),
    "destroy": ctypes.CFUNCTYPE(None, P),
}


class Struct(ctypes.Structure):
    """The 104 bytes, members as addresses."""

    _fields_ = tuple((name, P) for name in MEMBERS)

    @property
    def address(self):
        return ctypes.addressof(self)


PROTOTYPES |= {
    "from_dlpack": ctypes.CFUNCTYPE(STATUS, P, P, P),
    "create": ctypes.CFUNCTYPE(STATUS, P, P, ctypes.c_size_t, Struct, P),
    "copy": ctypes.CFUNCTYPE(STATUS, P, ctypes.c_uint64, P),
    "move_data": ctypes.CFUNCTYPE(STATUS, P, P, P, ctypes.c_size_t),
}


class OnlyDLPack:
    """The least that speaks DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


MAKERS = {
    "numpy": lambda a: a,
    "ours": dl.asarray,
    "minimal": OnlyDLPack,
    "buffer": lambda a: memoryview(a),
}


def replaced(array, **functions):
    """A copy of the array's struct with some functions written in Python, and what keeps it all alive."""
    struct = Struct.from_buffer_copy(ctypes.string_at(array.pointer, 104))
    struct.destroy = None
    struct.keep = [array]
    for name, function in functions.items():
        made = function if isinstance(function, int | None) else PROTOTYPES[name](function)
        struct.keep.append(made)
        setattr(struct, name, made if isinstance(made, int | None) else ctypes.cast(made, P).value)
    return struct


@pytest.fixture(autouse=True)
def no_array_is_left():
    before = live_arrays()
    yield
    gc.collect()
    assert live_arrays() == before


def test_01_the_struct_has_the_released_layout():
    assert ctypes.CDLL(dl.opaque.library_path()).dlt_array_struct_size() == ctypes.sizeof(Struct) == 104
    struct = Struct.from_address((array := OpaqueArray([1.0])).pointer)
    assert all(getattr(struct, name) for name in MEMBERS)
    assert array.pointer % 8 == 0


def test_04_05_origins_have_numbers_and_names():
    one = dl.opaque.register_origin("test.python")
    assert dl.opaque.register_origin("test.python") == one != dl.opaque.register_origin("test.python.2")
    assert dl.opaque.origin_name(one) == "test.python"
    assert dl.opaque.origin_name(0) == dl.opaque.origin_name(2**60) == "unregistered origin"


@pytest.mark.parametrize("name", ["half \ud800", "nul\0", "x" * 65536])
def test_06_odd_names_are_refused(name):
    with pytest.raises(ValueError, match="register_origin"):
        dl.opaque.register_origin(name)
    with pytest.raises(ValueError, match="origin"):
        OpaqueArray([1.0], origin=name)


@pytest.mark.parametrize("kind", MAKERS)
def test_09_10_wrapping_shares_memory_and_says_what_it_is(kind):
    a = np.arange(24.0).reshape(2, 3, 4)
    array = OpaqueArray(MAKERS[kind](a), origin=f"test.{kind}")
    assert (array.shape, str(array.dtype), str(array.device), array.origin) == (
        (2, 3, 4),
        "float64",
        "cpu",
        f"test.{kind}",
    )
    tensor = array.tensor()
    assert tensor.data_ptr == a.ctypes.data
    assert tensor.strides == (12, 4, 1)


@pytest.mark.parametrize("name", list(dl.DTYPES))
def test_09_19_every_dtype_is_held_copied_and_created(name):
    t = dl.empty((2, 3), dtype=name)
    array = OpaqueArray(t)
    assert str(array.dtype) == name
    made = array.create(
        (2, 2),
        array.create((), 1) if name != "complex32" and not name.startswith("float8_e8m0") else dl.empty((), dtype=name),
    )
    assert (made.shape, str(made.dtype), made.origin) == ((2, 2), name, array.origin)
    if name not in ("complex32", "float8_e8m0fnu"):
        assert made.copy().tensor().astype("float32" if "complex" not in name else name).tolist() == [[1, 1], [1, 1]]
    assert array.create((0, 3), dl.empty((), dtype=name)).shape == (0, 3)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float4_e2m1fn", "int4"])
def test_09_19_types_of_ml_dtypes_are_held_as_they_lie(name):
    a = np.arange(4).astype(getattr(ml_dtypes, name))
    array = OpaqueArray(a)
    assert str(array.dtype) == name
    assert np.array_equal(array.copy().tensor().numpy().astype("f4"), a.astype("f4"))
    assert array.create((3,), 2).tensor().astype("float32").tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "a",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(10.0)[::-3],
        np.broadcast_to(np.arange(3.0), (2, 3)),
        np.zeros((0, 3)),
        np.array(3.0),
        np.zeros((1,) * 64),
    ],
    ids=["transposed", "negative", "broadcast", "empty", "scalar", "64 dims"],
)
def test_10_strides_are_kept(a):
    array = OpaqueArray(a)
    assert array.shape == a.shape
    assert np.array_equal(np.from_dlpack(array), a)
    assert array.tensor().readonly == (not a.flags.writeable)
    if a.size > 1:
        assert array.tensor().strides == tuple(s // 8 for s in a.strides)


@pytest.mark.parametrize(
    ("version", "works"), [((1, 0), True), ((1, 1), True), ((1, 5), True), ((2, 0), True), ((0, 8), False)]
)
def test_11_the_version_is_what_the_reader_can_read(version, works):
    array = OpaqueArray([1.0])
    if works:
        assert dl.from_dlpack(array.as_dlpack(max_version=version)).tolist() == [1.0]
    else:
        with pytest.raises(BufferError, match=r"max_version 0\.8"):
            array.as_dlpack(max_version=version)


@pytest.mark.parametrize("version", [{}, 1, (1,), (1, 0, 0), "13", (1, -1), (1, None)])
def test_11_a_version_of_another_form_is_refused(version):
    with pytest.raises(TypeError, match="max_version must be None or two integers"):
        OpaqueArray([1.0]).as_dlpack(max_version=version)


def test_12_13_streams_and_absent_devices_are_refused():
    array = OpaqueArray([1.0])
    for stream in (-1, 0, 1, 7):
        with pytest.raises(BufferError, match="expected no stream"):
            array.as_dlpack(stream=stream)
    with pytest.raises(BufferError, match="cannot be brought to cuda:0"):
        array.as_dlpack(device="cuda")
    with pytest.raises(dl.DeviceError, match="cuda:0"):
        array.copy("cuda")


def test_14_an_export_outlives_its_array():
    a = OnlyDLPack(np.arange(3.0))
    seen = weakref.ref(a)
    array = OpaqueArray(a)
    t = array.tensor()
    del array, a
    gc.collect()
    assert seen() is None  # the object is gone, its memory is not
    assert t.tolist() == [0, 1, 2]


def test_15_from_dlpack_keeps_dtype_and_flag():
    values = np.arange(6, dtype="i4").reshape(3, 2)[:, ::-1]
    values.flags.writeable = False
    array = OpaqueArray(np.zeros(2), origin="test.labels").from_dlpack(values)
    assert (array.origin, str(array.dtype), array.shape) == ("test.labels", "int32", (3, 2))
    assert array.tensor().readonly
    assert array.tensor().tolist() == values.tolist()


def test_16_reshape_is_a_view_or_a_copy():
    a = np.arange(6.0)
    array = OpaqueArray(a)
    array.reshape((2, 3))
    assert array.tensor().data_ptr == a.ctypes.data
    array.swap_axes(0, 1)
    array.reshape((6,))
    assert array.tensor().tolist() == [0, 3, 1, 4, 2, 5]
    for shape in ((5,), (2**62, 8), (-1, 6)):
        with pytest.raises(ValueError, match="reshape"):
            array.reshape(shape)
    assert array.shape == (6,)


@pytest.mark.parametrize("ndim", [2, 3, 4, 5])
def test_17_swap_axes_moves_the_elements(ndim):
    a = np.arange(2.0 * 3 * 4 * 5 * 2).reshape(*(2, 3, 4, 5, 2)[: ndim - 1], -1)
    for i in range(ndim):
        for j in range(-ndim, ndim):
            array = OpaqueArray(a)
            array.swap_axes(i, j)
            assert np.array_equal(np.from_dlpack(array), a.swapaxes(i, j))
    with pytest.raises(IndexError, match=f"axes below {ndim}"):
        OpaqueArray(a).swap_axes(0, ndim)


def test_18_a_copy_is_apart():
    a = np.arange(6.0).reshape(2, 3).T
    copy = OpaqueArray(a, origin="test.copy").copy()
    a[:] = 9
    assert copy.tensor().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert copy.origin == "test.copy"


def test_20_create_converts_nothing():
    array = OpaqueArray(np.zeros(2, "f8"))
    for fill in (np.float32(1) * np.ones((), "f4"), np.ones((), "c16"), np.ones((1,)), np.ones((), "i8")):
        with pytest.raises(ValueError, match="fill_value"):
            array.create((2,), OpaqueArray(fill))
        with pytest.raises(ValueError, match="fill_value"):
            array.create((2,), fill)
    with pytest.raises(OverflowError):
        OpaqueArray(np.zeros(2, "u1")).create((2,), 300)
    fill = OpaqueArray(np.ones(()))
    assert array.create((2,), fill).tensor().tolist() == [1, 1]
    assert fill.shape == ()  # a fill that is an array of its own stays the caller's


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_21_move_data_is_the_plain_loop(seed, as_table):
    rng = np.random.default_rng(seed)
    shape = (5, *rng.integers(1, 4, rng.integers(0, 3)).tolist(), 6)
    to, of = np.zeros(shape), rng.random(shape)
    wanted, listed = to.copy(), []
    for _ in range(40):
        length = int(rng.integers(0, 4))
        i, o, si, so = (int(rng.integers(0, n)) for n in (5, 5, 6 - length, 6 - length))
        listed.append((i, o, si, so, length))
        wanted[o, ..., so : so + length] = of[i, ..., si : si + length]
    OpaqueArray(to).move_data(OpaqueArray(of), np.array(listed) if as_table else listed)
    assert np.array_equal(to, wanted)


@pytest.mark.parametrize(
    "bad",
    [
        (4, 0, 0, 0, 1),
        (0, 4, 0, 0, 1),
        (0, 0, 2, 0, 2),
        (0, 0, 0, 2, 2),
        (2**64 - 1, 0, 0, 0, 1),
        (0, 0, 2**64 - 1, 0, 2),
    ],
)
def test_22_a_wrong_movement_writes_nothing(bad):
    to, of = np.zeros((4, 3)), np.ones((4, 3))
    with pytest.raises(ValueError, match="movement 1"):
        OpaqueArray(to).move_data(OpaqueArray(of), [(0, 0, 0, 0, 3), bad])
    assert not to.any()


def test_22_arrays_that_do_not_fit_are_refused():
    to, good = np.zeros((4, 2, 3)), [(0, 0, 0, 0, 1)]
    others = {
        "dimensions": OpaqueArray(np.ones((4, 3))),
        "dtype": OpaqueArray(np.ones((4, 2, 3), "f4")),
        "equal dimensions": OpaqueArray(np.ones((4, 1, 3))),
        "origin": OpaqueArray(np.ones((4, 2, 3)), origin="else"),
    }
    for words, other in others.items():
        with pytest.raises(ValueError, match=words):
            OpaqueArray(to).move_data(other, good)
    assert not to.any()
    to.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        OpaqueArray(to).move_data(OpaqueArray(np.ones((4, 2, 3))), good)
    with pytest.raises(TypeError, match="OpaqueArray"):
        OpaqueArray(to).move_data(np.ones((4, 2, 3)), good)


def test_23_moving_within_one_array_is_as_if_through_a_temporary():
    a = np.arange(8.0).reshape(4, 2)
    array = OpaqueArray(a)
    array.move_data(array, [(0, 1, 0, 0, 2), (1, 2, 0, 0, 2), (2, 3, 0, 0, 2)])
    assert a.tolist() == [[0, 1], [0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(
    "a",
    [np.zeros(2, ">f8"), np.zeros(2, "g"), np.array([{}]), np.array(["2020"], "M8[D]"), np.zeros(2, [("x", "f8")])],
    ids=["big-endian", "longdouble", "object", "datetime", "record"],
)
def test_24_what_dlpack_cannot_say_is_refused(a):
    with pytest.raises((BufferError, TypeError, ValueError)):
        OpaqueArray(a)


def test_25_subclasses_and_masks_show_their_memory():
    matrix = np.arange(4.0).reshape(2, 2).view(type("Sub", (np.ndarray,), {}))
    assert unwrap(OpaqueArray(matrix).pointer) is matrix
    assert OpaqueArray(matrix).tensor().tolist() == [[0, 1], [2, 3]]


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("one"),
        KeyboardInterrupt(),
        SystemExit(3),
        MemoryError("two"),
        ValueError("a\0b"),
        ValueError("half \ud800"),
        Unprintable(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_08_26_exceptions_travel_and_come_back_as_themselves(error, capfd):
    def bad(*arguments):
        raise error

    array = OpaqueArray([1.0, 2.0])
    struct = replaced(array, as_dlpack=callback(bad))
    with pytest.raises(type(error)) as caught:
        from_pointer(struct.address)
    assert caught.value is error
    assert capfd.readouterr() == ("", "")
    error.__traceback__ = None


def test_26_an_exception_in_a_fill_comes_through_create():
    error = KeyError("in the fill")

    def bad(*arguments):
        raise error

    struct = replaced(OpaqueArray(1.0), as_dlpack=callback(bad))
    with pytest.raises(KeyError) as caught:
        OpaqueArray(np.zeros(2)).create((2,), hold(struct.address))
    assert caught.value is error


def test_26_a_callback_needs_a_function():
    with pytest.raises(TypeError, match="callback"):
        callback(3)


def test_28_an_error_that_was_read_keeps_nothing_alive():
    class Payload:
        pass

    def use():
        payload = Payload()
        seen = weakref.ref(payload)

        def bad(*arguments):
            raise ValueError(payload)

        struct = replaced(OpaqueArray([1.0]), as_dlpack=callback(bad))
        with pytest.raises(ValueError):
            from_pointer(struct.address)
        return seen

    seen = use()
    gc.collect()
    assert seen() is None


def test_30_an_array_is_handed_over_once():
    array = OpaqueArray(np.ones(2))
    into = Struct()
    assert array.release(into=into.address) == into.address
    with pytest.raises(ValueError, match="handed over"):
        array.release()
    assert array.shape == (2,)  # still asks the array, which now belongs to `into`
    PROTOTYPES["destroy"](into.destroy)(into.ptr)
    PROTOTYPES["destroy"](into.destroy)(into.ptr)  # nothing happens
    with pytest.raises(BufferError, match="destroyed"):
        _ = array.shape


@pytest.mark.parametrize("call", ["reshape", "swap_axes", "move_data", "create", "copy", "from_dlpack"])
def test_an_array_that_an_argument_hands_over_is_not_used_after(call):
    """Converting an argument may run code that gives the array away; its new owner has ended it when it is used."""
    ended = []

    class Ends:
        def __index__(self):
            if not ended:
                hold(array.release(), take=True)
            return 0

    class Exports(OnlyDLPack):
        def __dlpack_device__(self):
            Ends().__index__()
            return super().__dlpack_device__()

    def destroy(pointer):
        ended.append(pointer)

    def used(*arguments):
        return 0 if not ended else 77

    inner = OpaqueArray(np.arange(6.0).reshape(2, 3))
    struct = replaced(inner, destroy=destroy, reshape=used, swap_axes=used)
    array = hold(struct.address, take=True)
    calls = {
        "reshape": lambda: array.reshape((Ends(), 6)),
        "swap_axes": lambda: array.swap_axes(Ends(), 1),
        "move_data": lambda: array.move_data(OpaqueArray([0.0]), [[Ends(), 0, 0, 0, 0]]),
        "create": lambda: array.create((Ends(), 2), 1.0),
        "copy": lambda: array.copy(Exports(np.zeros(3))),
        "from_dlpack": lambda: array.from_dlpack(Exports(np.zeros(3))),
    }
    with pytest.raises(ValueError, match="handed over"):
        calls[call]()
    assert len(ended) == 1


def test_an_array_is_not_handed_over_while_its_functions_run():
    """A receiver could end what the running function reads."""
    inner = OpaqueArray(np.arange(6.0).reshape(2, 3))
    errors = []

    def refuse(*arguments):
        try:
            array.release()
        except BufferError as error:
            errors.append(str(error))
        return 77

    struct = replaced(inner, **dict.fromkeys(MEMBERS[2:], refuse))
    array = hold(struct.address, owner=inner, take=True)
    calls = [
        lambda: array.shape,
        lambda: array.dtype,
        lambda: array.device,
        lambda: array.origin,
        array.tensor,
        array.unwrap,
        lambda: array.as_dlpack(device="cpu"),
        array.__dlpack__,
        array.__dlpack_device__,
        lambda: array.from_dlpack(np.zeros(3)),
        lambda: array.reshape((3, 2)),
        lambda: array.swap_axes(0, 1),
        lambda: array.create((2,), array),
        lambda: array.copy("cpu"),
        lambda: array.move_data(array, [(0, 0, 0, 0, 1)]),
        lambda: array.move_data(array, np.zeros((1, 5), "int64")),
    ]
    for call in calls:
        errors.clear()
        with pytest.raises((BufferError, ValueError, IndexError, dl.DeviceError)):
            call()
        assert errors
        assert all("release: a method of this array is running" in text for text in errors)
    array.release()  # and afterwards it is
    with pytest.raises(ValueError, match="handed over already"):
        array.release()


def test_numbers_of_axes_and_movements_are_integers():
    array = OpaqueArray([[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="swap_axes: axis_1 must be an integer, got 0"):
        array.swap_axes(0.5, 1)
    with pytest.raises(TypeError, match="move_data: each number of a movement must be an integer, got 1"):
        array.move_data(OpaqueArray([[0, 0]]), [(0, 0, 0, 0, 1.5)])
    array.swap_axes(np.int64(0), dl.asarray(1))
    assert array.tensor().tolist() == [[1, 3], [2, 4]]


def test_34_a_failing_producer_raises_at_once_and_leaks_nothing():
    class Bad:
        def __dlpack__(self, **keywords):
            raise RuntimeError("no export today")

        def __dlpack_device__(self):
            return (1, 0)

    bad, before = Bad(), None
    for _ in range(10000):
        with pytest.raises(RuntimeError, match="today"):
            OpaqueArray(bad)
        before = before or sys.getrefcount(bad)
    assert sys.getrefcount(bad) == before


def test_35_the_owner_goes_after_the_last_view():
    class Owner:
        pass

    order = []
    a = np.arange(6.0).reshape(2, 3)
    inner = OpaqueArray(a)
    owner = Owner()
    weakref.finalize(owner, order.append, "owner")
    struct = replaced(inner, shape=foreign_shape((2, 3)))
    t = from_pointer(struct.address, owner=owner)
    assert t.data_ptr == a.ctypes.data
    row = t[1]
    del owner, t
    assert order == []
    assert row.tolist() == [3, 4, 5]
    del row
    assert order == ["owner"]


def foreign_shape(dims):
    """A `shape` function in Python, which makes an array count as foreign."""
    held = (ctypes.c_size_t * max(len(dims), 1))(*dims)

    @callback
    def shape(ptr, out, count):
        ctypes.c_void_p.from_address(out).value = ctypes.addressof(held)
        ctypes.c_size_t.from_address(count).value = len(dims)

    return shape


def writes(size, value):
    """A function that answers with `value` in `size` bytes."""

    @callback
    def answer(ptr, out):
        ctypes.memmove(out, value.to_bytes(size, "little"), size)

    return answer


@pytest.mark.parametrize("name", ["origin", "device", "dtype", "shape", "as_dlpack"])
def test_36_a_missing_function_is_named(name):
    struct = replaced(OpaqueArray([1.0]), **{name: None})
    with pytest.raises(BufferError, match=f"'{name}' is NULL"):
        from_pointer(struct.address)


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"as_dlpack": lambda *a: 0}, "without returning a tensor"),
        ({"as_dlpack": lambda *a: 77}, "status 77"),
        ({"dtype": lambda *a: 254}, "status 254"),
        ({"dtype": writes(4, 99 | 32 << 8 | 1 << 16)}, "dtype of DLPack 1.3"),
        ({"device": writes(8, 99)}, "device of DLPack 1.3"),
        ({"device": lambda *a: 0}, "device of DLPack 1.3"),
        ({"dtype": writes(4, 1 | 8 << 8 | 1 << 16)}, "the array reports uint8"),
    ],
)
def test_36_a_broken_array_raises(functions, words):
    struct = replaced(OpaqueArray([1.0]), **functions)
    with pytest.raises(BufferError, match=words):
        from_pointer(struct.address)


def test_36_a_shape_that_disagrees_raises():
    for dims in ((3, 2), (6,), (2, 3, 1)):
        struct = replaced(OpaqueArray(np.zeros((2, 3))), shape=foreign_shape(dims))
        with pytest.raises(BufferError, match="the array reports"):
            from_pointer(struct.address)
    struct = replaced(OpaqueArray([1.0]), shape=foreign_shape((1,) * 65))
    with pytest.raises(BufferError, match="at most 64"):
        from_pointer(struct.address)


@pytest.mark.parametrize("address", [0, -8, 3, 2**64, 12])
def test_36_what_cannot_be_an_address_is_refused(address):
    with pytest.raises(ValueError, match="address of a struct"):
        from_pointer(address)
    with pytest.raises(TypeError):
        from_pointer("0x10")


@pytest.mark.parametrize("kind", MAKERS)
def test_37_what_was_wrapped_comes_back_as_itself(kind):
    thing = MAKERS[kind](np.arange(6.0).reshape(2, 3))
    array = OpaqueArray(thing)
    assert unwrap(array.pointer) is thing
    assert array.unwrap() is thing
    array.swap_axes(0, 1)
    assert unwrap(array.pointer) is not thing
    assert array.unwrap().shape == (3, 2)


def test_38_a_view_of_an_array_that_is_gone_is_an_error():
    array = OpaqueArray(np.ones(3))
    view = Struct.from_buffer_copy(ctypes.string_at(array.pointer, 104))
    view.destroy = None
    del array
    others = [OpaqueArray(np.zeros(3)) for _ in range(100)]
    with pytest.raises(BufferError, match="destroyed"):
        from_pointer(view.address)
    assert len(others) == 100


def test_a_taken_array_ends_with_the_last_view():
    before = live_arrays()
    array = OpaqueArray(np.ones(3))
    t = from_pointer(array.release(), take=True)
    assert live_arrays() == before  # the export keeps the memory, the array is not needed
    assert t.tolist() == [1, 1, 1]


class Differentiable:
    """A torch tensor that requires grad: it refuses to be exported, and gives another one over the same memory."""

    requires_grad = True

    def __init__(self):
        self.memory = dl.asarray([1.0, 2.0])

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        raise BufferError("requires grad; use detach()")

    def detach(self):
        return self.memory


def test_an_object_that_requires_grad_is_held_as_it_is_and_read_detached():
    x = Differentiable()
    array = OpaqueArray(x)
    assert array.unwrap() is x
    assert unwrap(array.pointer) is x
    assert array.tensor().data_ptr == x.memory.data_ptr
    assert from_pointer(array.pointer).tolist() == [1, 2]
    with pytest.raises(BufferError, match="requires grad"):
        dl.asarray(x)
    with pytest.raises(BufferError, match="requires grad"):
        array.create((2,), x)
