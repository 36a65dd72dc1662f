# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PT017  these run without pytest
"""Sections C and F of the fault catalogue: ourselves as the producer, and memory that belongs to files.

One function per behaviour; each gets the kit and the package, and says by `assert` what must hold.
"""

import ctypes
import mmap
import struct
import sys
import tempfile

from .producer import Legacy, Versioned, capsule, name_of, take_struct
from .register import case, collect_garbage, raises
from .structure import SIX

# -- C: ourselves as the producer -------------------------------------------------------------------------------------


@case(76, "2000 deleters on 8 foreign threads, versioned", version=(1, 3))
@case(76, "2000 deleters on 8 foreign threads, legacy", version=None)
def foreign_threads(kit, dl, version):
    made = kit.make(data=SIX, deleter="delete_running_python")
    tensor = dl.from_dlpack(made.capsule())
    own = dl.zeros((4, 4))
    blocks = dl.debug.live_blocks()
    structs, capsules = (ctypes.c_void_p * 2000)(), []
    for i in range(2000):
        capsules.append((tensor if i % 2 else own).__dlpack__(max_version=version))
        structs[i], legacy = take_struct(capsules[-1])
        assert legacy == (version is None)
    del tensor
    collect_garbage()
    assert made.deleted == 0
    assert kit.lib.fault_delete_on_threads(ctypes.addressof(structs), 2000, 8, version is None) == 0
    collect_garbage()
    assert made.deleted == 1  # the last export was deleted on a thread that Python does not know
    assert dl.debug.live_blocks() == blocks - 1
    assert own.tolist() == [[0.0] * 4] * 4


@case(76, "foreign threads release NumPy's memory", "numpy")
def foreign_threads_numpy(kit, dl):
    import numpy as np

    array = np.arange(6.0)
    references = sys.getrefcount(array)
    structs, capsules = (ctypes.c_void_p * 500)(), []
    for i in range(500):
        capsules.append(dl.from_dlpack(array).__dlpack__(max_version=(1, 3)))
        structs[i], _ = take_struct(capsules[-1])
    assert sys.getrefcount(array) > references
    assert kit.lib.fault_delete_on_threads(ctypes.addressof(structs), 500, 4, 0) == 0
    collect_garbage()
    assert sys.getrefcount(array) == references


@case(78, "read-only as legacy")
def read_only_legacy(kit, dl):
    tensor = dl.from_dlpack(kit.make(data=SIX, flags=1).capsule())
    with raises(BufferError, "__dlpack__"):
        tensor.__dlpack__()
    exported = tensor.__dlpack__(max_version=(1, 0))
    address, _ = take_struct(exported)
    assert Versioned.from_address(address).flags & 1
    exported = dl.from_dlpack(_Again(address, kit))
    assert exported.readonly
    with raises((ValueError, BufferError, TypeError)):
        exported[0, 0] = 1.0


class _Again:
    """Hands out a struct that was taken from a capsule."""

    def __init__(self, address, kit):
        self.address, self.end = address, kit.address_of("end_capsule")

    def __dlpack__(self, **_):
        return capsule(self.address, "dltensor_versioned", self.end)

    def __dlpack_device__(self):
        return (1, 0)


for _what in ("datetime64[s]", "object", "longdouble", "S4", "U3", ">f4", ">i8", "V5", "f4,i2"):

    @case(79, f"NumPy dtype {_what}", "numpy", what=_what)
    def unsupported_dtype(kit, dl, what):
        import numpy as np

        with raises(BufferError):
            dl.from_dlpack(np.zeros(3, what))


@case(79, "strides that are no multiple of the item size", "numpy")
def odd_strides(kit, dl):
    import numpy as np

    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "f4")]))
    with raises(BufferError):
        dl.from_dlpack(packed["b"])


for _lazy in ("conj", "neg", "requires_grad", "sparse", "meta", "quantized"):

    @case(80, f"torch, {_lazy}", "torch", lazy=_lazy)
    def lazy_torch(kit, dl, lazy):
        import torch

        source = torch.tensor([1 + 2j, 3 - 4j])
        truth = {"conj": [1 - 2j, 3 + 4j], "neg": [-2.0, 4.0], "requires_grad": [1 + 2j, 3 - 4j]}.get(lazy)
        source = {
            "conj": source.conj,
            "neg": lambda: source.conj().imag,
            "requires_grad": source.requires_grad_,
            "sparse": source.to_sparse,
            "meta": lambda: source.to("meta"),
            "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        }[lazy]()
        try:
            got = dl.from_dlpack(source).tolist()
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            assert str(error), "an error without words"
            return
        assert truth is not None, f"a {lazy} tensor came through as {got}"
        assert got == truth


@case(81, "streams on the CPU")
def streams_on_cpu(kit, dl):
    tensor = dl.zeros((2,))
    for fine in (None, -1):
        assert name_of(tensor.__dlpack__(stream=fine)) == "dltensor"
    for wrong in (0, 1, 5, -2, 2**70):
        with raises((ValueError, OverflowError), "stream"):
            tensor.__dlpack__(stream=wrong)
    for wrong in ("x", 1.5, object()):
        with raises((TypeError, ValueError), "stream"):
            tensor.__dlpack__(stream=wrong)


@case(82, "CUDA stream 0")
def cuda_stream_zero(kit, dl):
    made = kit.make(device=(2, 0))
    tensor = dl.from_dlpack(made.capsule())
    with raises(ValueError, "stream", "0"):
        tensor.__dlpack__(stream=0, max_version=(1, 3))
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(83, "max_version of the wrong form")
def bad_max_version(kit, dl):
    tensor = dl.zeros((2,))
    for wrong in (5, "1.0", (1,), (1, 2, 3), ("1", "0"), 1.0):
        with raises(TypeError, "max_version"):
            tensor.__dlpack__(max_version=wrong)
    for version, name in (
        ((0, 5), "dltensor"),
        (None, "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 3), "dltensor_versioned"),
        ((1, 99), "dltensor_versioned"),
        ((2, 0), "dltensor_versioned"),
    ):
        exported = tensor.__dlpack__(max_version=version)
        assert name_of(exported) == name, version
        if name == "dltensor_versioned":
            struct_ = Versioned.from_address(take_struct(exported)[0])
            assert (struct_.major, struct_.minor) == (1, 3)


@case(84, "device and copy that cannot be")
def impossible_export(kit, dl):
    tensor = dl.zeros((2,))
    with raises((BufferError, dl.DeviceError)):
        tensor.__dlpack__(dl_device=(2, 63), max_version=(1, 3))
    with raises((BufferError, dl.DeviceError)):
        tensor.__dlpack__(dl_device=(2, 63), copy=False, max_version=(1, 3))
    for wrong in ((1,), "cpu!", 5, (1, 0, 0)):
        with raises((TypeError, ValueError, BufferError)):
            tensor.__dlpack__(dl_device=wrong)
    copied = Versioned.from_address(take_struct(tensor.__dlpack__(copy=True, max_version=(1, 3)))[0])
    assert copied.flags & 2
    assert copied.tensor.data != tensor.data_ptr
    shared = Versioned.from_address(take_struct(tensor.__dlpack__(copy=False, max_version=(1, 3)))[0])
    assert not shared.flags & 2
    assert shared.tensor.data + shared.tensor.byte_offset == tensor.data_ptr


@case(86, "what we export of odd shapes")
def odd_exports(kit, dl):
    for shape, strides in (((0, 3), (3, 1)), ((3, 0), (0, 1)), ((), ()), ((1, 4, 1), (4, 1, 1)), ((2, 3), (3, 1))):
        tensor = dl.zeros(shape)
        for version in ((1, 3), None):
            exported = tensor.__dlpack__(max_version=version)
            address, legacy = take_struct(exported)
            t = (
                Versioned.from_address(address) if not legacy else ctypes.cast(address, ctypes.POINTER(Legacy))[0]
            ).tensor
            assert t.ndim == len(shape)
            assert t.byte_offset == 0
            if shape:
                assert list((ctypes.c_int64 * t.ndim).from_address(t.shape)) == list(shape)
                assert t.strides, "strides must not be NULL since DLPack 1.2"
            if 0 in shape:
                assert not t.data, "data is NULL for size 0"
            elif shape:
                assert list((ctypes.c_int64 * t.ndim).from_address(t.strides)) == list(strides)


@case(90, "a read-only mmap stays read-only")
def mapped_file(kit, dl):
    with tempfile.TemporaryFile() as file:
        file.write(struct.pack("4f", 1, 2, 3, 4))
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            tensor = dl.asarray(mapped)
            assert tensor.readonly
            with raises((ValueError, BufferError, TypeError)):
                tensor[0] = 7
            with raises(BufferError):
                tensor.__dlpack__()
            del tensor
            collect_garbage()


@case(90, "bytes stay read-only")
def read_only_bytes(kit, dl):
    text = b"Hello world"
    tensor = dl.asarray(text)
    assert tensor.readonly
    with raises((ValueError, BufferError, TypeError)):
        tensor[0] = 74
    assert text == b"Hello world"


@case(90, "a NumPy memmap for reading", "numpy")
def numpy_memmap(kit, dl):
    import numpy as np

    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(64))
        file.flush()
        array = np.memmap(file.name, dtype="f4", mode="r", shape=(4, 4))
        tensor = dl.from_dlpack(array)
        assert tensor.readonly
        with raises((ValueError, BufferError, TypeError)):
            tensor[0, 0] = 1.0
        del tensor, array
        collect_garbage()


@case(90, "an exported bytearray cannot be resized")
def resize_while_exported(kit, dl):
    buffer = bytearray(16)
    tensor = dl.asarray(buffer)
    with raises(BufferError):
        buffer.extend(b"more")
    del tensor
    collect_garbage()
    buffer.extend(b"more")
    assert len(buffer) == 20
