# SPDX-License-Identifier: Apache-2.0
# Types of dl.random. The class is made in random/_generator.pyx.
from collections.abc import Sequence
from typing import TypedDict, TypeVar, final, overload

from .._core.tensor import Tensor
from ..typing import DeviceLike, DTypeLike, Sequences, ShapeLike, TensorLike

__all__ = ["Generator", "philox"]

_Out = TypeVar("_Out")

class _State(TypedDict):
    algorithm: str
    key: int
    stream: int
    position: int
    children: int

def philox(counter: Sequence[int], key: Sequence[int], /) -> tuple[int, int, int, int]: ...

@final
class Generator:
    def __init__(self, seed: int | Sequence[int] | None = None, *, stream: int | None = None) -> None: ...
    def __setstate__(self, state: _State) -> None: ...
    @property
    def state(self) -> _State: ...
    @state.setter
    def state(self, value: _State) -> None: ...
    @overload
    def random(
        self,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: None = None,
        device: DeviceLike | None = None,
    ) -> Tensor: ...
    @overload
    def random(
        self, shape: ShapeLike = (), *, dtype: DTypeLike | None = None, out: _Out, device: DeviceLike | None = None
    ) -> _Out: ...
    @overload
    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: None = None,
        device: DeviceLike | None = None,
    ) -> Tensor: ...
    @overload
    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: _Out,
        device: DeviceLike | None = None,
    ) -> _Out: ...
    @overload
    def integers(
        self,
        low: int,
        high: int | None = None,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: None = None,
        device: DeviceLike | None = None,
        endpoint: bool = False,
    ) -> Tensor: ...
    @overload
    def integers(
        self,
        low: int,
        high: int | None = None,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: _Out,
        device: DeviceLike | None = None,
        endpoint: bool = False,
    ) -> _Out: ...
    @overload
    def normal(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: None = None,
        device: DeviceLike | None = None,
    ) -> Tensor: ...
    @overload
    def normal(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: _Out,
        device: DeviceLike | None = None,
    ) -> _Out: ...
    @overload
    def exponential(
        self,
        scale: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: None = None,
        device: DeviceLike | None = None,
    ) -> Tensor: ...
    @overload
    def exponential(
        self,
        scale: float = 1.0,
        shape: ShapeLike = (),
        *,
        dtype: DTypeLike | None = None,
        out: _Out,
        device: DeviceLike | None = None,
    ) -> _Out: ...
    def permutation(self, x: int | TensorLike | Sequences, /) -> Tensor: ...
    def shuffle(self, x: TensorLike, /) -> None: ...
    def choice(
        self,
        x: int | TensorLike | Sequences,
        /,
        shape: ShapeLike = (),
        *,
        replace: bool = True,
        p: TensorLike | Sequences | None = None,
    ) -> Tensor: ...
    def spawn(self, n: int, /) -> list[Generator]: ...
    def jump(self, n: int, /) -> None: ...
