# SPDX-License-Identifier: Apache-2.0
"""What type checkers must say about programs that use the package; `make check` asks them.

A line with ``type: ignore`` holds a mistake that mypy and pyright must both find: an ignore that ignores nothing is an
error itself.
"""

import array
import ctypes
import tempfile
from collections.abc import Hashable
from pathlib import Path
from typing import Any, assert_type

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import dltensor as dl
from dltensor import typing as dlt


def tensors_in_and_out(values: NDArray[np.float32], flags: NDArray[np.bool_]) -> None:
    t = dl.from_dlpack(values)
    assert_type(t, dl.Tensor)
    assert_type(dl.from_dlpack(flags, copy=True), dl.Tensor)
    assert_type(dl.from_dlpack(t.__dlpack__(max_version=(1, 3))), dl.Tensor)
    assert_type(dl.asarray([[1, 2.5], [3, 4]]), dl.Tensor)
    assert_type(dl.asarray((True, False), dtype=dl.uint8), dl.Tensor)
    assert_type(dl.asarray(3j, device="cpu"), dl.Tensor)
    assert_type(dl.asarray(b"ab"), dl.Tensor)
    assert_type(dl.asarray(array.array("i", [1])), dl.Tensor)
    again: NDArray[Any] = dl.into(t, np.ndarray)
    assert_type(again.shape, tuple[Any, ...])
    assert_type(t.numpy(), NDArray[Any])
    buffer = ctypes.create_string_buffer(8)
    assert_type(dl.wrap(ctypes.addressof(buffer), (2,), "float32", owner=buffer, readonly=True), dl.Tensor)
    assert_type(dl.data_ptr(values), int)
    memory: memoryview = memoryview(t)
    assert_type(memory.nbytes, int)
    assert_type(np.asarray(t), NDArray[Any])
    dl.from_dlpack([1, 2])  # type: ignore[arg-type]
    dl.from_dlpack(t, True)  # type: ignore[call-arg, arg-type]
    dl.asarray("12")  # type: ignore[arg-type]
    dl.asarray({3})  # type: ignore[arg-type]
    dl.asarray({1: 2})  # type: ignore[arg-type]
    dl.into(t, "numpy")  # type: ignore[call-overload]
    dl.wrap(buffer, (2,), "float32")  # type: ignore[arg-type]


def what_a_tensor_says(t: dl.Tensor) -> None:
    assert_type(t.shape, tuple[int, ...])
    assert_type(t.strides, tuple[int, ...])
    assert_type(t.dtype, dl.DType)
    assert_type(t.device, dl.Device)
    assert_type(t.device.type, dl.DeviceType | int)
    assert_type(t.flags, dl.Flags)
    assert_type(dl.Flags.READ_ONLY in t.flags, bool)
    assert_type(t.readonly, bool)
    assert_type(t.T.mT, dl.Tensor)
    assert_type(t.reshape(4), dl.Tensor)
    assert_type(t.reshape(2, -1, copy=False), dl.Tensor)
    assert_type(t.reshape((4,)).reshape([2, 2]), dl.Tensor)
    assert_type(t.transpose().transpose(1, 0).transpose((0, 1)), dl.Tensor)
    assert_type(t.permute(1, 0).squeeze().flatten().ravel().clone().cpu(), dl.Tensor)
    assert_type(t.numel(), int)
    assert_type(t.tobytes(), bytes)
    assert_type(round(t, 1), dl.Tensor)
    assert_type(round(t[0, 0]), int)
    assert_type(dl.squeeze(dl.stack((t, t), 1)), dl.Tensor)
    assert_type(dl.linspace(0, 1), dl.Tensor)
    t.reshape("4")  # type: ignore[arg-type]
    t.permute("10")  # type: ignore[arg-type]
    assert_type(len(t), int)
    assert_type(float(t[0, 0]), float)
    assert_type([row for row in t], list[dl.Tensor])
    assert_type(t[..., None, ::2], dl.Tensor)
    assert_type(f"{t:.1f}", str)
    assert_type(t[[0, 1]], dl.Tensor)
    assert_type(t[t > 0], dl.Tensor)
    assert_type(t[:, np.asarray([0]), True], dl.Tensor)
    assert_type(t.take([0], axis=0), dl.Tensor)
    assert_type(dl.nonzero(t), tuple[dl.Tensor, ...])
    assert_type(dl.where(t), tuple[dl.Tensor, ...])
    assert_type(dl.take_along_axis(t, dl.asarray([[0]])), dl.Tensor)
    assert_type(dl.add_at(t, 0, 1), dl.Tensor)
    t[t > 0] = 2
    t[1:, 0] = 3
    t[0] = [1, 2]
    t[:, 1] = np.zeros(2)
    t[0] += 1
    t.shape = (4,)  # type: ignore[misc]
    assert_type(t.size(), tuple[int, ...])
    assert_type(t.size(0), int)
    assert_type(t.size + 1, int)
    t["a"]  # type: ignore[index]
    t[1.5]  # type: ignore[index]
    t[0] = "one"  # type: ignore[assignment]
    key: Hashable = t  # type: ignore[assignment]
    assert key is not None
    assert_type(dl.Tensor([1.0]), dl.Tensor)
    dl.Tensor("a")  # type: ignore[arg-type]
    dl.random.seed(0)
    assert_type(dl.random.normal(0, 1, (2, 3)), dl.Tensor)
    assert_type(dl.random.rand(2, 3), dl.Tensor)
    assert_type(dl.randn(2, 3, device="cpu"), dl.Tensor)
    dl.manual_seed(0)
    dl.random.rand("a")  # type: ignore[arg-type]


def arithmetic(t: dl.Tensor, values: NDArray[np.float32], out: dl.Tensor | None = None) -> None:
    assert_type(t + 1, dl.Tensor)
    assert_type(2.5 * t, dl.Tensor)
    assert_type(-t // t % 3, dl.Tensor)
    assert_type(t @ t, dl.Tensor)
    assert_type(t + values, dl.Tensor)
    assert_type(pow(t, 2), dl.Tensor)
    assert_type(abs(t), dl.Tensor)
    assert_type(t == t, dl.Tensor)
    assert_type(t < 3, dl.Tensor)
    assert_type((t > 1) & ~(t != 2), dl.Tensor)
    assert_type(dl.add(t, values), dl.Tensor)
    assert_type(dl.add(t, 1, out=values), NDArray[np.float32])
    assert_type(dl.multiply(t, 2, t, saturate=True), dl.Tensor)
    assert_type(dl.sqrt(values, out=out), dl.Tensor)
    assert_type(dl.fma(2.0, t, t), dl.Tensor)
    assert_type(dl.lt(t, 1), dl.Tensor)
    assert_type(dl.where(t > 0, t, 0), dl.Tensor)
    assert_type(dl.clip(t, max=1), dl.Tensor)
    assert_type(dl.gemm(t, t, alpha=2), dl.Tensor)
    assert_type(dl.matmul(values, t, values), NDArray[np.float32])
    assert_type(t.cumsum(np.int64(1), out=values), NDArray[np.float32])
    assert_type(dl.median(t), dl.Tensor)
    assert_type(dl.histogram(t, bins=4), tuple[dl.Tensor, dl.Tensor])
    t += 1
    assert_type(t, dl.Tensor)
    t + "1"  # type: ignore[operator]
    assert_type(t + [1, 2], dl.Tensor)
    dl.add(t)  # type: ignore[call-overload]
    dl.quantile("1", 0.5)  # type: ignore[arg-type]
    dl.add(t, "1")  # type: ignore[call-overload]
    dl.add(a=t, b=t)  # type: ignore[call-overload]
    dl.sqrt(t, saturate=True)  # type: ignore[call-overload]
    dl.add(t, t, None, True)  # type: ignore[call-overload]
    dl.add(t, t, out=[1])  # type: ignore[call-overload]


def dtypes_and_devices(t: dl.Tensor, values: NDArray[np.float32]) -> None:
    assert_type(dl.float32, dl.DType)
    assert_type(dl.bool, dl.DType)
    assert_type(dl.DType(2, 32) == dl.float32, bool)
    assert_type({dl.float32: dl.Device("cuda", 1)}, dict[dl.DType, dl.Device])
    assert_type(dl.DTYPES["int4"].bits, int)
    for dtype in (dl.bfloat16, "float8_e4m3fn", np.float32, np.dtype("int16"), ml_dtypes.bfloat16, bool):
        assert_type(dl.as_dtype(dtype), dl.DType)
    assert_type(t.astype(np.float64).view("int64"), dl.Tensor)
    assert_type(dl.cast(t, "uint8", rounding="nearest", saturate=True), dl.Tensor)
    same: NDArray[np.float32] = dl.cast(t, values)
    assert_type(dl.copy(t, same), NDArray[np.float32])
    assert_type(t.to(dl.DeviceType.kDLCPU), dl.Tensor)
    assert_type(dl.as_device((1, 0)), dl.Device)
    assert_type(dl.DLPACK_VERSION, tuple[int, int])
    names: tuple[dlt.DTypeName, dlt.DTypeName, dlt.DeviceName] = ("float8_e4m3fn", "f4", "cuda:1")
    read: str = str(t.dtype)
    assert_type(dl.zeros(3, dtype=names[0]), dl.Tensor)
    assert_type(dl.zeros(3, dtype=dl.as_dtype(read)), dl.Tensor)
    assert_type(dl.isdtype("int8", ("signed integer", "bool")), bool)
    assert_type(dl.Device(str(t.device)), dl.Device)
    dl.zeros(3, dtype="flaot32")  # type: ignore[arg-type]
    dl.zeros(3, device="cudda")  # type: ignore[arg-type]
    t.astype("int23")  # type: ignore[arg-type]
    t.to("gpu")  # type: ignore[arg-type]
    dl.isdtype("int8", "signed")  # type: ignore[arg-type]
    dl.zeros(3, dtype=bytes)  # type: ignore[arg-type]
    dl.zeros(3, dtype=32)  # type: ignore[arg-type]
    dl.cast(t, "uint8", rounding="up")  # type: ignore[call-overload]
    dl.zeros(3, device=1.0)  # type: ignore[arg-type]
    dl.DType(2)  # type: ignore[call-overload]
    dl.float33  # type: ignore[attr-defined]


def making_and_rearranging(t: dl.Tensor) -> None:
    assert_type(dl.zeros((2, 3)), dl.Tensor)
    assert_type(dl.full(np.int64(2), 1.5, dtype="float16"), dl.Tensor)
    assert_type(dl.arange(1, 2, 0.25), dl.Tensor)
    assert_type(dl.linspace(0, 1, 5, endpoint=False), dl.Tensor)
    assert_type(dl.meshgrid(dl.arange(2), dl.arange(3), indexing="ij"), tuple[dl.Tensor, ...])
    assert_type(dl.concat([t, t], axis=None), dl.Tensor)
    assert_type(dl.unstack(t), tuple[dl.Tensor, ...])
    assert_type(dl.permute_dims(t, (1, 0)), dl.Tensor)
    assert_type(dl.repeat(t, [1, 2], axis=0), dl.Tensor)
    assert_type(dl.broadcast_shapes((2, 1), (3,)), tuple[int, ...])
    dl.zeros("3")  # type: ignore[arg-type]
    dl.zeros((2, 3.5))  # type: ignore[arg-type]
    assert_type(dl.zeros((2, 3), "float32"), dl.Tensor)
    dl.meshgrid(t, indexing="yx")  # type: ignore[arg-type]
    dl.concat(t, t)  # type: ignore[arg-type]
    dl.permute_dims(t)  # type: ignore[call-arg]


def modules(t: dl.Tensor) -> None:
    assert_type(dl.layout.contiguous_strides((2, 3), order="F"), tuple[int, ...])
    assert_type(dl.layout.coalesce((2, 3), [(3, 1)]), tuple[tuple[int, ...], tuple[tuple[int, ...], ...]])
    with dl.default_dtype("float64"):
        assert_type(dl.get_default_dtype(), dl.DType)
    assert_type(dl.default_dtype(dl.float32)(len)([]), int)
    assert_type(dl.reproducible()(len)([]), int)
    assert_type(dl.get_blas(), str | None)
    info = dl.__array_namespace_info__()
    assert_type(info.default_dtypes(), dict[str, dl.DType])
    assert_type(dl.finfo(t).eps, float)
    assert_type(dl.iinfo("int8").max, int)
    assert_type(dl.isdtype(t.dtype, ("integral", dl.float32)), bool)
    assert_type(dl.result_type(t, dl.int8, 1), dl.DType)
    assert_type(dl.pi, float)
    array = dl.opaque.OpaqueArray(t)
    assert_type(dl.opaque.from_pointer(array.pointer, owner=array), dl.Tensor)
    assert_type(dl.from_dlpack(array), dl.Tensor)
    assert_type(dl.layout.extent((2,), (-1,)), tuple[int, int])
    dl.checks.check_same_device(t, np.zeros(3))
    assert_type(dl.debug.live_blocks(), int)
    with dl.debug.trace(capacity=10) as trace:
        assert_type(trace, dl.debug.Trace)
        assert_type([event.bytes for event in trace.events], list[int])
    dl.layout.contiguous_strides((2, 3), order="K")  # type: ignore[arg-type]
    dl.checks.check_tensor([1])  # type: ignore[arg-type]
    dl.layout.numel(3)  # type: ignore[arg-type]
    dl.opaque.from_pointer(array)  # type: ignore[arg-type]
    dl.opaque.OpaqueArray(t, "here")  # type: ignore[call-arg]


class Image:
    """What a library author writes: an object that others read by DLPack, and a function that takes any."""

    def __init__(self, pixels: dlt.TensorLike) -> None:
        self.pixels = dl.asarray(pixels)

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> object:
        return self.pixels.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.pixels.__dlpack_device__()


def brighter(image: dlt.Operand, shape: dlt.ShapeLike, dtype: dlt.DTypeLike, device: dlt.DeviceLike) -> dl.Tensor:
    return dl.add(image, dl.ones(shape, dtype=dtype, device=device))


def protocols() -> None:
    image = Image(np.zeros((2, 3), dtype=np.float32))
    assert_type(brighter(image, (2, 3), "float32", "cpu"), dl.Tensor)
    assert_type(dl.from_dlpack(image), dl.Tensor)
    assert_type(dl.empty(1, device=image), dl.Tensor)
    exporter: dlt.SupportsDLPack = dl.zeros(3)
    assert_type(dl.from_dlpack(exporter), dl.Tensor)
    wrong: dlt.SupportsDLPack = 3  # type: ignore[assignment]
    dl.from_dlpack(object())  # type: ignore[arg-type]
    dl.add(wrong, object())  # type: ignore[call-overload]


def files_and_shared_memory(values: NDArray[np.float32]) -> dict[str, dl.Tensor]:
    folder = Path(tempfile.mkdtemp())
    dl.save(folder / "a.npz", {"x": dl.zeros(3), "y": values}, format="npz")
    dl.save(folder / "a.npy", [[1, 2], [3, 4]])
    with dl.open_file(folder / "a.npz", mmap=False) as f:
        assert_type(f.names, list[str])
        assert_type(f["x"], dl.Tensor)
        assert_type(f.read("y", out=values), NDArray[np.float32])
        assert_type(f.info("x").shape, tuple[int, ...])
    assert_type(dl.memmap(folder / "a.npy", 2, "uint8", mode="c"), dl.Tensor)
    assert_type(dl.shared.pack({"x": dl.zeros(3)})["x"].share().is_shared, bool)
    dl.load(3)  # type: ignore[arg-type]
    dl.load(folder / "a.npz", mmap="no")  # type: ignore[arg-type]
    dl.save(3, dl.zeros(3))  # type: ignore[arg-type]
    dl.memmap(folder / "a.npy", 2, "uint8", mode="w")  # type: ignore[arg-type]
    return dl.load(folder / "a.npz")
