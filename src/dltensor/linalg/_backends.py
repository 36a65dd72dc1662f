# SPDX-License-Identifier: Apache-2.0
"""The library that computes eigenvalues and singular values of larger matrices: which one. No tensors."""

from .._core.once import Once
from .._core.optional_libraries import choose_library, load_openblas
from ._factorizations import load_lapack

# The first that is installed computes.
LIBRARIES = ("scipy-openblas32", "numpy")


def _load(name):
    """The name of a library that is installed, else None; scipy-openblas32 is loaded into the engine."""
    if name == "numpy":
        from importlib.util import find_spec

        found = find_spec("numpy") is not None
    else:
        found = load_openblas(load_lapack)
    return name if found else None


def _choose(func):
    """Return the name of the library, which is chosen once: the first installed, or what ``DLTENSOR_LAPACK`` names."""
    return choose_library(
        LIBRARIES,
        _load,
        variable="DLTENSOR_LAPACK",
        func=func,
        absent="neither scipy-openblas32 nor NumPy is",
        extra="linalg",
        brings="scipy-openblas32",
    )


find = Once(_choose)


def by_numpy(name, matrix, **options):
    """Call NumPy's function of one matrix; return a tuple of arrays, or None where it did not converge."""
    import numpy

    try:
        result = getattr(numpy.linalg, name)(matrix, **options)
    except numpy.linalg.LinAlgError:
        return None
    return tuple(result) if isinstance(result, tuple) else (result,)
