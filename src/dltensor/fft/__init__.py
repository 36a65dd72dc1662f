# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms by ducc0, SciPy or NumPy on the memory of the tensors: the array API's extension fft."""

from .._core.naming import set_module as _set_module
from ._transforms import (
    backend,
    fft,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfftn,
    rfft,
    rfftfreq,
    rfftn,
)

__all__ = [
    "backend",
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
_set_module(globals())
