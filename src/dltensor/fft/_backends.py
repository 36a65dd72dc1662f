# SPDX-License-Identifier: Apache-2.0
"""The library that computes Fourier transforms: which one, and its three transforms of NumPy arrays. No tensors."""

import importlib
from collections.abc import Callable
from typing import NamedTuple

from .._core.once import Once
from .._core.optional_libraries import choose_library
from .._ops.promotion import num_threads

# The fastest first.
LIBRARIES = ("ducc0", "scipy", "numpy")
# Smaller arrays take one thread: waking others costs more than the transform.
SMALL = 1 << 16


class Backend(NamedTuple):
    """A library and its transforms of an array along axes; of the real ones, the last axis is halved."""

    name: str
    complex_to_complex: Callable  # (array, axes, forward, norm)
    real_to_complex: Callable  # (array, axes, forward, norm)
    complex_to_real: Callable  # (array, axes, size of the last axis in the result, forward, norm)
    # By the name of the function: transforms of an array of less than SMALL elements along its last axis with norm
    # "backward". They take no other argument, because to read arguments costs a library more than a short transform.
    # There are none for a library that computes in float64 what is float32.
    small: dict


def _threads(array):
    return num_threads() if array.size >= SMALL else 1


def _from_ducc0(library):
    # ducc0's argument inorm: 0 leaves the result, 1 divides by sqrt(n), 2 by n.
    scale = {
        (True, "backward"): 0,
        (True, "ortho"): 1,
        (True, "forward"): 2,
        (False, "backward"): 2,
        (False, "ortho"): 1,
        (False, "forward"): 0,
    }
    c2c, r2c, c2r = library.c2c, library.r2c, library.c2r

    def complex_to_complex(array, axes, forward, norm):
        return c2c(array, axes, forward, scale[forward, norm], None, _threads(array))

    def real_to_complex(array, axes, forward, norm):
        return r2c(array, axes, forward, scale[forward, norm], None, _threads(array))

    def complex_to_real(array, axes, size, forward, norm):
        return c2r(array, axes, size, forward, scale[forward, norm], nthreads=_threads(array))

    def few(function, forward, norm):
        def transform(array):  # None for all axes is read faster than a tuple
            return function(array, None if array.ndim == 1 else (array.ndim - 1,), forward, norm, None, 1)

        return transform

    small = {
        "fft": few(c2c, True, 0),
        "ifft": few(c2c, False, 2),
        "rfft": few(r2c, True, 0),
        "ihfft": few(r2c, False, 2),
    }
    return Backend("ducc0", complex_to_complex, real_to_complex, complex_to_real, small)


def _from_functions(name, library, threaded):
    """The transforms of a library whose functions have NumPy's names; `threaded` if they take a number of workers."""
    from numpy import zeros  # not at import: the package needs no NumPy

    def options(array):
        return {"workers": _threads(array)} if threaded else {}

    fft, ifft, rfft, ihfft = library.fft, library.ifft, library.rfft, library.ihfft

    def complex_to_complex(array, axes, forward, norm):
        if len(axes) == 1:
            function = fft if forward else ifft
            if array.size < SMALL:  # without key words, which cost more than the rest
                return function(array, None, axes[0], norm)
            return function(array, None, axes[0], norm, **options(array))
        function = library.fftn if forward else library.ifftn
        return function(array, axes=axes, norm=norm, **options(array))

    def real_to_complex(array, axes, forward, norm):
        if len(axes) == 1:
            function = rfft if forward else ihfft
            if array.size < SMALL:
                return function(array, None, axes[0], norm)
            return function(array, None, axes[0], norm, **options(array))
        return library.rfftn(array, axes=axes, norm=norm, **options(array))

    def complex_to_real(array, axes, size, forward, norm):
        if len(axes) == 1:
            function = library.hfft if forward else library.irfft
            return function(array, size, axis=axes[0], norm=norm, **options(array))
        sizes = [*(array.shape[axis] for axis in axes[:-1]), size]
        return library.irfftn(array, sizes, axes=axes, norm=norm, **options(array))

    def few(function):
        return lambda array: function(array, None, -1, "backward")

    keeps = fft(zeros(1, "complex64")).dtype == "complex64"
    small = {"fft": few(fft), "ifft": few(ifft), "rfft": few(rfft), "ihfft": few(ihfft)} if keeps else {}
    return Backend(name, complex_to_complex, real_to_complex, complex_to_real, small)


def _load(name):
    """The backend over a library; ImportError without it."""
    library = importlib.import_module(f"{name}.fft")
    if name == "ducc0":
        return _from_ducc0(library)
    if name == "scipy":
        return _from_functions(name, library, True)
    return _from_functions(name, library, False)


def _choose():
    """Return the backend, chosen once: over the fastest installed library, or the one that ``DLTENSOR_FFT`` names."""
    return choose_library(
        LIBRARIES,
        _load,
        variable="DLTENSOR_FFT",
        func="fft",
        absent="ducc0, SciPy and NumPy are not",
        extra="fft",
        brings="SciPy",
    )


find = Once(_choose)
