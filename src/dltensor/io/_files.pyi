# SPDX-License-Identifier: Apache-2.0
# Types of _files.py: saving, loading and mapping files.
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self, SupportsIndex, TypeAlias, TypeVar, overload

from .._core.tensor import Tensor
from .._core.types import DType
from ..typing import DeviceLike, DTypeLike, Sequences, ShapeLike, TensorLike

_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
_Mapped: TypeAlias = bool | Literal["auto"]
_Out = TypeVar("_Out", bound=TensorLike)

class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...

class _Writable(Protocol):
    def write(self, data: memoryview, /) -> int: ...

_Source: TypeAlias = str | PathLike[str] | PathLike[bytes] | bytes | bytearray | memoryview | _Readable
_Mode: TypeAlias = Literal["r", "r+", "c"]

class TensorInfo(NamedTuple):
    dtype: DType | None
    shape: tuple[int, ...]
    nbytes: int
    offset: int | None

class TensorFile:
    def __init__(self, file: _Source, mmap: _Mapped = "auto", mode: _Mode = "r") -> None: ...
    @property
    def path(self) -> str | bytes | None: ...
    @property
    def format(self) -> Literal["npy", "npz", "safetensors"]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object) -> bool: ...
    def __getitem__(self, name: str) -> Tensor: ...
    def keys(self) -> list[str]: ...
    def info(self, name: str) -> TensorInfo: ...
    @overload
    def read(self, name: str | None = None, *, out: None = None) -> Tensor: ...
    @overload
    def read(self, name: str | None = None, *, out: _Out) -> _Out: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

def open_file(file: _Source, *, mmap: _Mapped = "auto", mode: _Mode = "r") -> TensorFile: ...
def load(
    file: _Source,
    *,
    mmap: _Mapped = "auto",
    names: Sequence[str] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    packed: bool = False,
) -> Any: ...
def save(
    file: _Path | _Writable,
    tensors: TensorLike | Sequences | Mapping[str, TensorLike | Sequences],
    *,
    format: Literal["npy", "npz", "safetensors"] | None = None,
    metadata: Mapping[str, str] | None = None,
    fsync: bool = False,
) -> None: ...
def memmap(
    path: _Path,
    shape: ShapeLike,
    dtype: DTypeLike,
    *,
    mode: Literal["r", "r+", "c", "w+"] = "r",
    offset: SupportsIndex = 0,
) -> Tensor: ...
