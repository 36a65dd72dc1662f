# SPDX-License-Identifier: Apache-2.0
"""Pickle: every type and layout comes back, large memory may be passed out of band, broken pickles are refused."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dltensor as dl
from dltensor._core.pickling import rebuild
from dltensor._core.views import as_strided, from_raw, raw_bytes

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def sample(dtype):
    t = dl.empty((3, 5), dtype=dtype)
    raw_bytes(t)[...] = np.arange(1, t.nbytes + 1, dtype=np.uint8)
    return t


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", [*dl.DTYPES.values(), dl.DType(99, 24), dl.DType(2, 32, 4)], ids=str)
def test_every_type_comes_back(dtype, protocol):
    t = sample(dtype)
    back = pickle.loads(pickle.dumps(t, protocol))
    assert (back.shape, back.dtype, back.flags) == (t.shape, t.dtype, t.flags)
    assert raw_bytes(back).tolist() == raw_bytes(t).tolist()
    assert not back.same_memory(t)


LAYOUTS = {
    "C order": lambda t: t,
    "Fortran order": lambda t: t.T,
    "backwards": lambda t: t[::-1, ::-1],
    "every second": lambda t: t[::-1, ::2],
    "a row": lambda t: t[1],
    "a column": lambda t: t[:, 1],
    "one element": lambda t: t[0, 0],
    "no element": lambda t: t[:0],
    "an axis of one": lambda t: t[None],
    "broadcast": lambda t: dl.broadcast_to(t, (4, 3, 5)),
    "one element many times": lambda t: dl.broadcast_to(t[1, 2], (100, 100)),
    "a broadcast column": lambda t: dl.broadcast_to(t[:, 1:2], (3, 7)),
    "windows": lambda t: as_strided(t, (13, 3), (1, 1)),
    "windows apart": lambda t: as_strided(t, (2, 3), (1, 4)),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_comes_back(layout, protocol):
    t = LAYOUTS[layout](dl.from_dlpack(np.arange(15).reshape(3, 5)))
    back = pickle.loads(pickle.dumps(t, protocol))
    assert back.tolist() == t.tolist()
    assert (back.shape, back.readonly) == (t.shape, t.readonly)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_more_bytes_travel_than_the_elements_or_their_memory_take(layout):
    t = LAYOUTS[layout](dl.from_dlpack(np.arange(15).reshape(3, 5)))
    buffers = []
    pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    low, high = dl.layout.extent(t.shape, t.strides)
    apart = np.unique(t.numpy()).size
    assert len(buffers[0].raw()) <= min((high - low) * 8, t.nbytes)
    assert len(buffers[0].raw()) == apart * 8 or layout == "windows apart"


@pytest.mark.parametrize("layout", ["Fortran order", "backwards", "broadcast", "one element many times", "windows"])
def test_what_lies_close_together_travels_as_it_lies_without_a_copy(layout):
    t = LAYOUTS[layout](dl.arange(15).reshape((3, 5)))
    buffers = []
    data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    back = pickle.loads(data, buffers=buffers)
    assert (back.data_ptr, back.strides) == (t.data_ptr, t.strides)
    assert back.tolist() == t.tolist()


def test_a_broadcast_tensor_is_as_large_in_a_pickle_as_what_it_repeats():
    t = dl.broadcast_to(dl.arange(4), (1 << 20, 4))
    assert len(pickle.dumps(t)) < 300
    assert pickle.loads(pickle.dumps(t)).strides == (0, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_padded_and_packed_elements_keep_their_values_in_every_order(protocol):
    padded = from_raw(dl.asarray(bytearray([1, 2, 3, 4, 5, 6])), (2, 3), "int4", padded=True)
    packed = dl.asarray([[1, 2], [3, 4]], dtype="int4")
    for t in (padded.T, padded[:, ::2], packed.T, dl.broadcast_to(packed, (3, 2, 2))):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert back.tolist() == t.tolist()
        assert back.flags == t.flags


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_stays_read_only_and_writable_writable(protocol):
    assert pickle.loads(pickle.dumps(dl.asarray(b"abc"), protocol)).readonly
    back = pickle.loads(pickle.dumps(dl.asarray([1, 2, 3]), protocol))
    back[0] = 9
    assert back.tolist() == [9, 2, 3]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_padded_elements_stay_padded(protocol):
    t = from_raw(dl.asarray(bytearray([1, 2, 3])), (3,), "int4", padded=True)
    back = pickle.loads(pickle.dumps(t, protocol))
    assert back.flags == t.flags == dl.Flags.IS_SUBBYTE_TYPE_PADDED
    assert back.tolist() == [1, 2, 3]


def test_out_of_band_the_pickle_is_small_and_the_memory_is_the_tensors_own():
    t = dl.zeros((1000, 1000))
    buffers = []
    data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 300
    back = pickle.loads(data, buffers=buffers)
    assert back.data_ptr == t.data_ptr
    back[0, 0] = 5
    assert t[0, 0].item() == 5


def test_out_of_band_memory_keeps_the_tensor_alive():
    t = dl.arange(1000)
    buffers = []
    data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    del t
    assert pickle.loads(data, buffers=buffers).tolist() == list(range(1000))


def test_out_of_band_buffers_that_cannot_be_written_give_a_read_only_tensor():
    buffers = []
    data = pickle.dumps(dl.asarray([1, 2]), protocol=5, buffer_callback=buffers.append)
    assert pickle.loads(data, buffers=[bytes(b) for b in buffers]).tolist() == [1, 2]


def test_strided_tensors_are_copied_before_they_are_pickled():
    t = dl.arange(10)[::2]
    buffers = []
    data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    assert len(buffers[0].raw()) == 5 * 8
    assert pickle.loads(data, buffers=buffers).tolist() == [0, 2, 4, 6, 8]


def test_another_process_reads_what_this_one_wrote():
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).tolist())"
    data = pickle.dumps(dl.asarray([1.5, -2.0]))
    told = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True).stdout
    assert told.decode().strip() == "[1.5, -2.0]"


def test_deepcopy_copies_and_shares_within_one_structure():
    t = dl.asarray([1, 2])
    one, two = copy.deepcopy([t, t])
    assert one.tolist() == [1, 2]
    assert not one.same_memory(t)
    assert two.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((b"1234567", (2,), (2, 32, 1), False, False), ValueError, "takes 8 bytes, got 7"),
        ((b"", (2**40, 2**40), (2, 32, 1), False, False), ValueError, r"takes .* bytes"),
        ((b"1234", (-1,), (2, 32, 1), False, False), ValueError, r"shape\[0\] must be at least 0, got -1"),
        ((b"1234", (1,), (2, 320, 1), False, False), ValueError, "bits must be from 1 to 255, got 320"),
        ((b"1234", (1,), (2, 32, 1), True, False), ValueError, "only types below a byte are padded, got float32"),
        ((1234, (1,), (2, 32, 1), False, False), TypeError, "pickle: expected bytes, got int"),
        ((np.zeros(1, np.float32), (1,), (2, 32, 1), False, False), TypeError, "pickle: expected bytes, got ndarray"),
        ((b"1234", (2,), (1, 8, 1), False, False, (4,), 0), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (2,), (1, 8, 1), False, False, (-1,), 0), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (2,), (1, 8, 1), False, False, (1,), 3), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (2,), (1, 8, 1), False, False, (1,), -1), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (2,), (1, 8, 1), False, False, (2**62,), 0), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (3,), (1, 8, 1), False, False, (-(2**63),), 0), ValueError, "leaves the elements 0 to 3"),
        ((b"1234", (2,), (1, 8, 1), False, False, (2**63,), 0), ValueError, "a stride must be below 2"),
        ((b"1234", (2,), (1, 8, 1), False, False, (1,), 2**63), ValueError, "offset must be from 0 to 3"),
        ((b"1234", (2**62, 4), (1, 8, 1), False, False, (0, 0), 0), ValueError, "more than 2.63 bytes"),
        ((b"1234", (2**60,), (2, 64, 1), False, False, (0,), 0), ValueError, "more than 2.63 bytes"),
        ((b"1234", (2, 2), (1, 8, 1), False, False, (1,), 0), ValueError, "differ in length"),
        ((b"1234", (-1,), (1, 8, 1), False, False, (1,), 0), ValueError, r"shape\[0\] must be at least 0, got -1"),
        ((b"12345", (2,), (1, 16, 1), False, False, (1,), 0), ValueError, "takes 4 bytes, got 5"),
        ((b"", (1,), (1, 8, 1), False, False, (0,), 0), ValueError, "leaves the elements"),
        ((b"1234", (2,), (0, 4, 1), False, False, (1,), 0), ValueError, "packed elements of int4 have no strides"),
        ((b"1234", (2,), (1, 8, 1), False, False, (1.0,), 0), TypeError, "strides are an integer or a sequence"),
    ],
)
def test_pickles_that_do_not_add_up_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        rebuild(*arguments)


FLOAT32 = 2 | 32 << 8 | 1 << 16  # code, bits and lanes, as pickles of writable tensors in C order have them


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((b"1234567", (2,), FLOAT32), ValueError, "takes 8 bytes, got 7"),
        ((bytearray(b"123456789"), (2,), FLOAT32), ValueError, "takes 8 bytes, got 9"),
        ((b"", (2**40, 2**40), FLOAT32), ValueError, r"takes .* bytes"),
        ((b"1234", (-1,), FLOAT32), ValueError, r"shape\[0\] must be at least 0, got -1"),
        ((b"1234", (1,), -1), ValueError, "code, bits and lanes of a type in 32 bits, got -1"),
        ((b"1234", (1,), 1 << 32), ValueError, "in 32 bits, got 4294967296"),
        ((b"1234", (1,), 2 | 1 << 16), ValueError, "bits must be from 1 to 255, got 0"),
        ((b"1234", (1,), 2 | 32 << 8), ValueError, "lanes must be from 1 to"),
        ((1234, (1,), FLOAT32), TypeError, "pickle: expected bytes, got int"),
    ],
)
def test_short_pickles_that_do_not_add_up_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        dl._rebuild(*arguments)


@pytest.mark.parametrize("nbytes", [0, 8, 16_384, 16_388, 100_000])
def test_bytes_of_every_length_come_back_writable(nbytes):
    t = dl.arange(nbytes // 4, dtype="float32")
    for protocol in PROTOCOLS:
        back = pickle.loads(pickle.dumps(t, protocol))
        assert (back.readonly, back.tolist()) == (False, t.tolist())
        back.fill(1)
    assert dl._rebuild(bytearray(raw_bytes(t).numpy()), (nbytes // 4,), FLOAT32).tolist() == t.tolist()


def test_memory_the_host_cannot_read_cannot_be_pickled():
    t = dl.wrap(4096, (3,), "int8", device="vulkan", owner=object())
    with pytest.raises(dl.DeviceError, match="pickle: the data is on vulkan:0, and cannot be copied to the host: "):
        pickle.dumps(t)


def test_pickles_name_one_function_of_the_package():
    for protocol in PROTOCOLS:
        data = pickle.dumps(dl.asarray([[0, 1, 2], [3, 4, 5]]).T, protocol)
        assert b"dltensor" in data
        assert b"_rebuild" in data
        assert b"_core" not in data
    assert pickle.loads(pickle.dumps(dl.add)) is dl.add
    assert b"dltensor.\n" not in pickle.dumps(dl.reshape, 0)
    assert pickle.dumps(dl.reshape, 0).startswith(b"cdltensor\nreshape\n")
