# SPDX-License-Identifier: Apache-2.0
"""Tensors on CUDA devices against the same tensors on the CPU, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import ctypes
import gc

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(3)


def live_blocks():
    """Blocks that live once all work is done and what waited for it has gone."""
    gc.collect()
    for _ in range(2):
        cuda.synchronize()
        cuda.empty_cache()
    return cuda.memory_stats()["live_blocks"]


@pytest.fixture(params=setup.ORDERS)
def machine_order(request):
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, request.param)
    live = live_blocks()
    yield machine
    setup.clean(machine, "eager")
    assert live_blocks() == live, "the test left blocks behind"
    assert machine is None or machine.context_depth() == 0, "the test left a CUDA context on this thread's stack"


def numbers(shape, dtype):
    size = int(np.prod(shape))
    if dtype == "bool":
        values = dl.asarray(RNG.integers(0, 2, size).astype(bool))
    elif dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        values = dl.asarray(RNG.integers(info.min, info.max, size, dtype=dtype, endpoint=True))
    elif dtype.startswith("complex"):
        values = dl.asarray((RNG.standard_normal(size) + 1j * RNG.standard_normal(size)).astype(dtype))
    else:
        values = dl.asarray(RNG.standard_normal(size).astype("float32")).astype(dtype)
    return values.reshape(shape)


def bits(t):
    return t.dtype, t.shape, t.to("cpu").copy().view("uint8" if t.ndim else t.dtype).tolist()


def same(on_cuda, on_cpu):
    assert str(on_cuda.device) == "cuda:0"
    assert bits(on_cuda) == bits(on_cpu)


def same_numbers(on_cuda, on_cpu):
    """The same, of results of arithmetic: see setup.one_nan."""
    assert (str(on_cuda.device), on_cuda.dtype) == ("cuda:0", on_cpu.dtype)
    assert setup.one_nan(on_cuda.numpy()).tobytes() == setup.one_nan(on_cpu.numpy()).tobytes()


# -- operations -------------------------------------------------------------------------------------------------------

DTYPES_OF = {
    "bool": ["bool"],
    "integers": ["int32", "uint8"],
    "floats": ["float32", "bfloat16"],
    "complex": ["complex64"],
}
# Single IEEE operations, or exact ones: these may not differ by a bit. What a math library computes may, by little.
EXACT = {"add", "subtract", "multiply", "divide", "fma", "negative", "abs", "sqrt"}
ROWS = sorted({row["row"] for row in dl.OPS.values()})


@pytest.mark.parametrize("name", ROWS)
def test_every_operation_gives_what_the_cpu_gives(eager_machine, name):
    row = dl.OPS[name]
    # Compiling a kernel for the host takes a second or more: bools and complex numbers where there is nothing else.
    usual = [kind for kind in row["kinds"] if kind in ("integers", "floats")]
    for kind in row["kinds"] if setup.ON_CARD else usual or row["kinds"][:1]:
        for dtype in DTYPES_OF[kind][:1]:
            given = [numbers((3, 5), dtype) for _ in range(row["operands"])]
            if "shift" in name or (name == "pow" and kind == "integers"):
                given[1] = dl.asarray(np.abs(RNG.integers(0, 7, (3, 5))).astype(dtype))
            if name in ("floor_divide", "remainder") and kind == "integers":
                given[1] = dl.where(given[1] == 0, 1, given[1]).astype(dtype)
            try:
                want = getattr(dl, name)(*given)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(dl, name)(*[g.to("cuda") for g in given])
                continue
            got = getattr(dl, name)(*[g.to("cuda") for g in given])
            whole = kind in ("bool", "integers") and want.dtype != dl.float32
            if whole:
                same(got, want)
            elif name in EXACT and kind == "floats":
                same_numbers(got, want)
            else:
                assert got.dtype == want.dtype
                assert str(got.device) == "cuda:0"
                np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-6, atol=1e-6)


LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.mT,
    "every other, backwards": lambda t: t[::-1, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "bfloat16", "float64"])
def test_arithmetic_has_the_cpus_bits_in_every_layout(eager_machine, dtype, layout):
    view = LAYOUTS[layout]
    a, b = numbers((6, 8), dtype), numbers((6, 8), dtype)
    x, y = view(a.to("cuda")), view(b.to("cuda"))
    for function in (dl.add, dl.multiply):
        same(function(x, y), function(view(a), view(b)))


@pytest.mark.parametrize(
    "shapes", [((1, 5), (4, 5)), ((4, 1), (5,)), ((2, 1, 4), (2, 3, 4)), ((), (4, 5)), ((0, 3), (1, 3))]
)
def test_broadcasting_is_the_cpus(machine_order, shapes):
    a, b = (numbers(shape, "int32") for shape in shapes)
    same(a.to("cuda") - b.to("cuda"), a - b)
    same(b.to("cuda") - a.to("cuda"), b - a)


def test_promotion_is_the_cpus(eager_machine):
    a, b = numbers((7,), "int16"), numbers((7,), "uint8")
    same(a.to("cuda") + b.to("cuda"), a + b)
    same(a.to("cuda") + 1.5, a + 1.5)
    same(2 - b.to("cuda"), 2 - b)
    with pytest.raises(TypeError, match="have no dtype in common"):
        numbers((3,), "int64").to("cuda") + numbers((3,), "uint64").to("cuda")


@pytest.mark.parametrize("number", [0, 3, -1, 300, 2.5, float("inf"), float("nan"), 1 << 70])
def test_comparisons_with_numbers_are_exact(eager_machine, number):
    a = dl.asarray([0, 3, 255], dtype="uint8")
    for function in (dl.less, dl.equal, dl.greater_equal):
        same(function(a.to("cuda"), number), function(a, number))
        same(function(number, a.to("cuda")), function(number, a))


@pytest.mark.parametrize("number", [200, -7, 0.5, 300.25, -1e9])
def test_saturation_is_the_cpus(eager_machine, number):
    a, b = numbers((33,), "uint8"), numbers((33,), "uint8")
    x, y = a.to("cuda"), b.to("cuda")
    for function in (dl.add, dl.subtract, dl.multiply, dl.divide):
        same(function(x, y, saturate=True), function(a, b, saturate=True))
        same(function(x, number, saturate=True), function(a, number, saturate=True))
        same(function(number, x, saturate=True), function(number, a, saturate=True))
    same(dl.fma(number, x, y, saturate=True), dl.fma(number, a, b, saturate=True))


def test_saturating_fma_takes_signed_factors_to_an_unsigned_sum(eager_machine):
    a, b, c = numbers((40,), "int8"), numbers((40,), "int8"), numbers((40,), "uint8")
    x, y, z = a.to("cuda"), b.to("cuda"), c.to("cuda")
    same(dl.fma(x, y, z, saturate=True), dl.fma(a, b, c, saturate=True))
    same(dl.fma(2, y, z, saturate=True), dl.fma(2, b, c, saturate=True))


def test_saturation_of_64_bits_with_a_fraction_says_what_to_do(eager_machine):
    x = numbers((4,), "int64").to("cuda")
    with pytest.raises(
        TypeError, match="64-bit integers with saturate=True take integer scalars only on CUDA; compute on"
    ):
        dl.add(x, 0.5, saturate=True)


def test_outputs_are_written_in_place(machine_order):
    a = numbers((4, 6), "float32")
    x, out = a.to("cuda"), dl.zeros((4, 12), device="cuda")
    view = out[:, ::2]
    assert dl.add(x, 1, view) is view
    same(view, a + 1)
    x += 2
    same(x, a + 2)
    flags = dl.zeros((4, 6), dtype="uint8", device="cuda")
    dl.less(x, 2, out=flags)
    assert flags.tolist() == (a + 2 < 2).astype("uint8").tolist()


def test_an_output_elsewhere_is_refused(eager_machine):
    x = dl.ones(3, device="cuda")
    with pytest.raises(ValueError, match="add: the operands are on cuda:0, out is on cpu"):
        dl.add(x, 1, dl.ones(3))
    with pytest.raises(ValueError, match="add: tensors are on cuda:0 and cpu; move one with to"):
        x + dl.ones(3)
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(4,\) do not broadcast"):
        x + dl.ones(4, device="cuda")


def test_overlapping_output_is_as_if_through_a_temporary(machine_order):
    x = dl.arange(50, dtype="int32").to("cuda")
    dl.add(x[:-1], 1, x[1:])
    assert x.tolist() == [0, *range(1, 50)]


@pytest.mark.parametrize("threads", [1, 96, 1024])
@pytest.mark.parametrize("blocks", [1, 32])
def test_a_launch_changes_no_result(eager_machine, blocks, threads):
    a, b = numbers((3, 700), "int32"), numbers((700,), "int32")
    x, y = a.to("cuda"), b.to("cuda")
    same(dl.add(x, y, launch=cuda.Launch(blocks, threads)), a + b)
    with cuda.launch(blocks, threads, 3):
        same(x * y, a * b)


def test_wrong_launch_settings_are_refused_on_every_device(eager_machine):
    for device in ("cpu", "cuda"):
        x = dl.ones(2, device=device)
        with pytest.raises(ValueError, match="num_threads must be 0 to 1024, got 1025"):
            dl.add(x, 1, launch=cuda.Launch(num_threads=1025))
        with pytest.raises(TypeError, match=r"add: launch must be a Launch or three integers, got 8"):
            dl.add(x, 1, launch=8)


# -- elements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair",
    [
        ("float32", "uint8"),
        ("float64", "float16"),
        ("int16", "bfloat16"),
        ("uint8", "float32"),
        ("float32", "float8_e4m3fn"),
        ("bool", "int64"),
    ],
    ids="-".join,
)
def test_casts_have_the_cpus_bits(eager_machine, pair):
    a = numbers((5, 7), pair[0])
    x = a.to("cuda")
    same(x.astype(pair[1]), a.astype(pair[1]))
    same(x.mT.astype(pair[1]), a.mT.astype(pair[1]))


def test_casts_scale_round_and_saturate(eager_machine):
    a = numbers((100,), "float32") * 100
    options = {"rounding": "nearest", "saturate": True, "scale": 1.5, "offset": 3.0}
    same(dl.cast(a.to("cuda"), "uint8", **options), dl.cast(a, "uint8", **options))
    out = dl.zeros(100, dtype="int16", device="cuda")
    assert dl.cast(a.to("cuda"), out) is out
    same(out, dl.cast(a, "int16"))
    with pytest.raises(ValueError, match="cast: tensors are on cuda:0 and cpu"):
        dl.cast(a.to("cuda"), dl.zeros(100))


def test_where_takes_tensors_and_numbers(eager_machine):
    a, b = numbers((4, 5), "int32"), numbers((5,), "int32")
    x, y = a.to("cuda"), b.to("cuda")
    same(dl.where(x > 0, x, y), dl.where(a > 0, a, b))
    same(dl.where(x > 0, 1, y), dl.where(a > 0, 1, b))
    same(dl.where(True, x, y), dl.where(True, a, b))
    same(dl.where(False, x, 7), dl.where(False, a, 7))


def test_filling_and_assigning(machine_order):
    a = numbers((4, 6), "int16")
    x = a.to("cuda")
    for t in (a, x):
        t[1] = 7
        t[:, ::2] = t[:, 1::2]
        t[2] = dl.asarray([1.5, 2, 3, 4, 5, 6])
        t[3:, :2] = [[8, 9]]
    same(x, a)
    x[...] = dl.asarray(3)
    assert x.tolist() == [[3] * 6] * 4
    host = dl.zeros((2, 4, 6), dtype="float64")
    host[...] = x
    assert host.tolist() == [[[3.0] * 6] * 4] * 2
    assert dl.fill(1 << 40, x, saturate=True).tolist() == [[32767] * 6] * 4
    with pytest.raises(OverflowError):
        x.fill(1 << 40)
    with pytest.raises(ValueError, match=r"shape \(5,\) does not broadcast to \(4, 6\)"):
        x[...] = dl.ones(5, dtype="int16")


def test_creation_functions_make_tensors_there(eager_machine):
    same(dl.full((2, 3), 2.5, device="cuda"), dl.full((2, 3), 2.5))
    same(dl.arange(5, device="cuda"), dl.arange(5))
    same(dl.zeros_like(dl.ones((2, 2), dtype="complex64", device="cuda")), dl.zeros((2, 2), dtype="complex64"))
    same(dl.asarray([[1, 2]], device="cuda"), dl.asarray([[1, 2]]))
    assert dl.empty((0, 3), device="cuda").tolist() == []
    with pytest.raises(ValueError, match=r"shape\[0\] must be at least 0"):
        dl.empty(-1, device="cuda")


# -- moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["bool", "int16", "bfloat16", "complex128", "float8_e5m2"])
def test_there_and_back_again(machine_order, dtype, layout):
    a = LAYOUTS[layout](numbers((6, 8), "float32" if dtype in ("bfloat16", "float8_e5m2") else dtype).astype(dtype))
    x = a.to("cuda")
    assert x.is_contiguous
    assert bits(x) == bits(a)
    assert bits(LAYOUTS["transposed"](x)) == bits(LAYOUTS["transposed"](a))
    assert x.to("cuda") is x
    assert bits(x.copy()) == bits(a)
    assert not x.copy().same_memory(x)


def test_packed_elements_travel_whole(eager_machine):
    a = dl.asarray([1, -2, 3, 4, 5, -6, 7], dtype="int4")
    x = a.to("cuda")
    assert x.tolist() == a.tolist()
    assert x.item(1) == -2
    with pytest.raises(TypeError, match="int4"):
        x + x


def test_between_devices_with_strides(machine_order):
    if cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    a = numbers((6, 8), "int32")
    x = a.to("cuda:0").mT[::2]
    y = x.to("cuda:1")
    assert str(y.device) == "cuda:1"
    assert y.tolist() == a.mT[::2].tolist()
    y[...] = x + 1
    assert y.tolist() == (a.mT[::2] + 1).tolist()
    with pytest.raises(ValueError, match="tensors are on cuda:0 and cuda:1"):
        x + y


def test_pinned_memory_is_host_memory(eager_machine):
    p = dl.zeros((3, 4), dtype="int32", device="cuda_host")
    assert str(p.device).startswith("cuda_host")
    p[...] = dl.arange(12, dtype="int32").reshape((3, 4))
    x = p.to("cuda")
    assert x.to("cuda_host").tolist() == p.tolist() == x.tolist()


def test_copies_that_need_not_block_wait_only_for_values_on_the_host(machine_order):
    x = dl.ones(1000, device="cuda")
    y = x + 1
    if machine_order is not None:
        waiting = machine_order.pending()
    there = [dl.arange(8).to("cuda", non_blocking=True), dl.arange(8).cuda(non_blocking=True)]
    if machine_order is not None:
        assert machine_order.pending() >= waiting  # nothing of it was waited for
    assert y.to("cpu", non_blocking=True).tolist() == [2] * 1000
    assert [t.tolist() for t in there] == [list(range(8))] * 2


def test_numpy_waits_and_a_transfer_says_when(machine_order):
    a = numbers((40, 50), "float32")
    x = a.to("cuda") + 1
    np.testing.assert_array_equal(x.numpy(), (a + 1).numpy())
    transfer = x.mT.numpy(non_blocking=True)
    x.fill(0)
    transfer.wait()
    assert transfer.done
    array = transfer.result()
    assert array is transfer.result()
    np.testing.assert_array_equal(array, (a + 1).mT.numpy())
    del transfer, x
    np.testing.assert_array_equal(array, (a + 1).mT.numpy())
    with pytest.raises(ValueError, match="the data is on cuda:0, which NumPy cannot show without a copy"):
        dl.ones(2, device="cuda").numpy(copy=False)
    assert dl.arange(3).numpy(non_blocking=True).result().tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"made by Tensor.numpy\(non_blocking=True\)"):
        cuda.Transfer()


def test_numpy_does_not_copy_by_itself(eager_machine):
    with pytest.raises(dl.DeviceError, match=r"__array__: the data is on cuda:0, .* call numpy\(\)"):
        np.asarray(dl.ones(2, device="cuda"))


def test_index_arrays_on_the_device_do_not_index_host_tensors(eager_machine):
    here = dl.arange(4)
    first, large = dl.asarray([0]).to("cuda"), (here > 1).to("cuda")
    for call in (
        lambda: here[first],
        lambda: here[large],
        lambda: dl.take(here, first),
        lambda: dl.add_at(here, first, 1),
        lambda: here.__setitem__(first, 9),
        lambda: here.__setitem__(large, 9),
    ):
        with pytest.raises(dl.DeviceError, match=r'move it with \.to\("cpu"\)'):
            call()
    assert here.tolist() == [0, 1, 2, 3]


def test_host_index_arrays_lists_and_masks_index_device_tensors(eager_machine):
    x, here = dl.arange(4).to("cuda"), dl.arange(4)
    for got, want in (
        (x[here > 1], [2, 3]),
        (x[[3, 0]], [3, 0]),
        (x[dl.asarray([-1])], [3]),
        (dl.take(x, dl.asarray([2, 2])), [2, 2]),
        (dl.nonzero(x)[0], [1, 2, 3]),
        (dl.where(x)[0], [1, 2, 3]),
    ):
        assert str(got.device) == "cuda:0"
        assert got.cpu().tolist() == want
    x[[0]] = 9
    x[here > 2] = dl.asarray([7])
    dl.add_at(x, [1, 1], 1)
    assert x.cpu().tolist() == [9, 3, 2, 7]
    here[[0, 3]] = x[1:3]
    assert here.tolist() == [3, 1, 2, 2]
    assert x[dl.asarray(1)].item() == 3


def test_elements_are_read_and_shown(eager_machine):
    x = dl.arange(2000, dtype="int32").to("cuda")
    assert x[::-1].item(3) == 1996
    assert int(x[5]) == 5
    assert bool(x[0]) is False
    assert repr(x).split() == repr(x.to("cpu")).replace("cpu", "cuda:0").split()
    assert f"{x[:2]:03d}" == "[000, 001]"


# -- exchange ---------------------------------------------------------------------------------------------------------


class Consumer:
    """A producer seen from outside: hands on what a tensor exports, and notes the stream it was asked for."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.streams = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, **options)


def test_import_names_our_stream(machine_order):
    foreign = Consumer(dl.arange(5).to("cuda"))
    dl.from_dlpack(foreign)
    with cuda.Stream() as stream:
        t = dl.from_dlpack(foreign)
    assert foreign.streams == [1, stream.handle]
    assert t.tolist() == [0, 1, 2, 3, 4]


def test_a_consumers_stream_sees_the_data(machine_order):
    producer, consumer = cuda.Stream(), cuda.Stream()
    with producer:
        x = dl.zeros(3000, device="cuda")
        for _ in range(3):
            x += 1
    with consumer:
        y = dl.from_dlpack(x) * 2
        # The release: the memory goes back to the producer's stream, which must not reuse it before y is computed.
        del x
    with producer:
        z = dl.full(3000, -1.0, device="cuda")
    consumer.synchronize()
    assert set(y.numpy()) == {6.0}
    assert set(z.numpy()) == {-1.0}


def test_a_stream_waits_for_who_wrote_managed_memory_last(machine_order):
    producer, consumer = cuda.Stream(), cuda.Stream()
    with producer:
        x = dl.full(3000, 1.0, device="cuda_managed")
        for _ in range(3):
            x += 1
    with consumer:
        y = x * 2
    consumer.synchronize()
    assert set(y.numpy()) == {8.0}


def test_a_capsule_remembers_the_consumer_at_the_release(machine_order):
    producer, consumer = cuda.Stream(), cuda.Stream()
    with producer:
        x = dl.full(3000, 5.0, device="cuda")
    capsule = x.__dlpack__(stream=consumer.handle, max_version=(1, 3))
    del x
    with consumer:
        t = dl.from_dlpack(capsule)
        y = t + 1
    del t, capsule
    with producer:
        dl.full(3000, -1.0, device="cuda")
    assert set(y.numpy()) == {6.0}


@pytest.mark.parametrize("stream", [None, -1, 1, 2])
def test_the_standards_streams_are_taken(machine_order, stream):
    x = dl.arange(4).to("cuda")
    assert dl.from_dlpack(x.__dlpack__(stream=stream, max_version=(1, 3))).tolist() == [0, 1, 2, 3]


def test_other_streams_are_refused(eager_machine):
    x = dl.ones(2, device="cuda")
    with pytest.raises(ValueError, match="0 is ambiguous"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream must be None or an integer"):
        x.__dlpack__(stream="1")


def test_a_host_consumer_gets_a_copy(machine_order):
    x = dl.arange(4).to("cuda") + 1
    t = dl.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    assert str(t.device) == "cpu"
    assert t.tolist() == [1, 2, 3, 4]
    assert dl.from_dlpack(x, device="cpu").tolist() == [1, 2, 3, 4]
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(ValueError, match="has no streams"):
        x.__dlpack__(dl_device=(1, 0), stream=2)
    assert not dl.from_dlpack(x.__dlpack__(copy=True, max_version=(1, 3))).same_memory(x)


class Interface:
    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        return self.tensor.__cuda_array_interface__ | self.changes


def test_the_cuda_array_interface_names_a_stream_both_ways(machine_order):
    producer, consumer = cuda.Stream(), cuda.Stream()
    with producer:
        x = dl.zeros((30, 40), device="cuda")
        x += 1
        assert x.__cuda_array_interface__["stream"] == producer.handle
        shown = Interface(x.mT, stream=producer.handle)
        with consumer:
            t = dl.asarray(Interface(x))
            y = t + 1
            assert shown.tensor.__cuda_array_interface__["stream"] == consumer.handle
    assert t.data_ptr == x.data_ptr
    assert set(y.numpy().ravel()) == {2.0}
    assert dl.asarray(shown).strides == (1, 40)
    with pytest.raises(ValueError, match="stream of __cuda_array_interface__ must be None, 1, 2 or a handle, got 0"):
        dl.asarray(Interface(x, stream=0))


def test_the_interface_tells_the_device_from_the_pointer(eager_machine):
    if cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    x = dl.ones(3, device="cuda:1")
    assert str(dl.asarray(Interface(x)).device) == "cuda:1"


def test_foreign_memory_is_kept_until_our_work_is_done(machine_order):
    freed = []
    source = dl.full(2000, 4.0, device="cuda")
    cuda.synchronize()
    with cuda.Stream() as stream:
        foreign = dl.wrap(
            source.data_ptr, (2000,), "float32", device="cuda", deleter=lambda: freed.append(stream.query())
        )
        y = foreign + 1
        del foreign
        stream.synchronize()
        dl.ones(1, device="cuda")
    cuda.empty_cache()
    assert freed == [True]
    assert set(y.numpy()) == {5.0}


class Capture:
    """A graph that is being captured on a stream, by the driver's own functions."""

    def __init__(self, library, stream):
        self.library, self.stream = library, ctypes.c_void_p(stream.handle)
        self.context, self.graph = ctypes.c_void_p(), ctypes.c_void_p()

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, name

    def __enter__(self):
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuStreamBeginCapture_v2", self.stream, 2)
        return self

    def __exit__(self, *error):
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(self.graph))

    def run(self):
        executable = ctypes.c_void_p()
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), self.graph, ctypes.c_uint64(0))
        self.call("cuGraphLaunch", executable, self.stream)
        self.call("cuStreamSynchronize", self.stream)
        self.call("cuGraphExecDestroy", executable)

    def end(self):
        self.call("cuGraphDestroy", self.graph)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(self.context))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)


WAITING = {
    "numpy": lambda x, out, stream: x.numpy(),
    "item": lambda x, out, stream: x.item(0),
    "tolist": lambda x, out, stream: x.tolist(),
    "to the host": lambda x, out, stream: x.to("cpu"),
    "to pinned memory": lambda x, out, stream: x.to("cuda_host"),
    "from the host": lambda x, out, stream: dl.ones(8).to("cuda"),
    "synchronize": lambda x, out, stream: stream.synchronize(),
    "query": lambda x, out, stream: stream.query(),
    "the legacy stream": lambda x, out, stream: x.__dlpack__(stream=1),
}


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
@pytest.mark.parametrize("what", WAITING)
def test_what_would_wait_in_a_capture_is_refused_and_the_graph_runs(eager_machine, what):
    with cuda.Stream() as stream:
        x, out = dl.ones(8, device="cuda"), dl.zeros(8, device="cuda")
        dl.add(x, 1, out)
        stream.synchronize()
        capture = Capture(eager_machine.library, stream)
        with capture:
            dl.add(out, x, out)
            with pytest.raises(BufferError, match="being captured"):
                WAITING[what](x, out, stream)
            dl.add(out, x, out)
        assert out.tolist() == [2.0] * 8
        capture.run()
        assert out.tolist() == [4.0] * 8
        capture.end()


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_a_capture_is_not_broken_by_an_export(eager_machine):
    with cuda.Stream() as stream:
        x = dl.ones(8, device="cuda")
        capture = Capture(eager_machine.library, stream)
        with capture:
            with pytest.raises(BufferError, match="being captured on the current stream"):
                x.__dlpack__(stream=1)
            assert "shape=(8,)" in repr(x)
            assert x.__dlpack__(stream=stream.handle) is not None
        capture.end()


def test_memory_of_two_streams_is_not_mixed(machine_order):
    """A tensor made and used on one stream, given up, and its size asked for on another at once."""
    results = []
    for _ in range(4):
        with cuda.Stream():
            a = dl.full(5000, 2.0, device="cuda")
            b = a * 3
            del a
        with cuda.Stream():
            dl.full(5000, -9.0, device="cuda")
        results.append(b)
    for b in results:
        assert set(b.numpy()) == {6.0}


def test_failures_leave_no_memory_behind(eager_machine):
    x, y = dl.ones((3, 4), device="cuda"), dl.ones((2, 5), device="cuda")
    before = cuda.memory_stats()["live_bytes"]
    for _ in range(100):
        with pytest.raises(ValueError):
            x + y
    assert cuda.memory_stats()["live_bytes"] == before


def test_two_threads_with_streams_of_their_own(machine_order):
    import threading

    found = []

    def work(start):
        with cuda.Stream():
            t = dl.full(64, start, dtype="int32", device="cuda")
            for _ in range(50):
                t = t + 1
            found.append(set(t.tolist()))

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(min, found)) == [50, 1050]
    assert [len(values) for values in found] == [1, 1]


@pytest.mark.skipif(setup.ON_CARD, reason="injects faults into the host driver")
def test_a_driver_that_has_no_memory_says_so_and_loses_nothing(eager_machine):
    cuda.empty_cache()
    live = cuda.memory_stats()["live_blocks"]
    eager_machine.fail("cuMemAllocFromPoolAsync", times=50)
    eager_machine.fail("cuMemAllocAsync", times=50)
    with pytest.raises(MemoryError):
        dl.empty(1 << 20, device="cuda")
    eager_machine.fail_no_more()
    assert cuda.memory_stats()["live_blocks"] == live
