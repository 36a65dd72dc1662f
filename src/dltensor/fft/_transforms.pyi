# SPDX-License-Identifier: Apache-2.0
# Types of _transforms.py: Fourier transforms, frequencies and shifts.
from collections.abc import Sequence
from typing import Literal, TypeAlias

from .._core.tensor import Tensor
from ..typing import DeviceLike, DTypeLike, TensorLike

_Norm: TypeAlias = Literal["backward", "ortho", "forward"]

def backend() -> str: ...
def fft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def ifft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def fftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: _Norm = "backward",
) -> Tensor: ...
def ifftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: _Norm = "backward",
) -> Tensor: ...
def rfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def irfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def rfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: _Norm = "backward",
) -> Tensor: ...
def irfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: _Norm = "backward",
) -> Tensor: ...
def hfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def ihfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: _Norm = "backward") -> Tensor: ...
def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor: ...
def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor: ...
def fftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor: ...
def ifftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor: ...
