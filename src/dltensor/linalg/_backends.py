# SPDX-License-Identifier: Apache-2.0
"""The library that computes eigenvalues and singular values of larger matrices: which one. No tensors."""

import os
from importlib.util import find_spec

from .._core.once import Once
from ._factorizations import load_lapack

# The first that is installed computes.
LIBRARIES = ("scipy-openblas32", "numpy")


def _load(name):
    """Whether a library is installed and loaded; of ``scipy-openblas32``, into the engine."""
    if name == "numpy":
        return find_spec("numpy") is not None
    if find_spec("scipy_openblas32") is None:
        return False
    from pathlib import Path

    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    return any(load_lapack(str(path)) for path in sorted(folder.glob("libscipy_openblas*.so*")))


def _choose(where):
    """Return the name of the library, which is chosen once: the first installed, or what ``DLTENSOR_LAPACK`` names.

    Raises
    ------
    ImportError
        No library, or not the selected one, is installed.
    ValueError
        ``DLTENSOR_LAPACK`` names another library.
    """
    selected = os.environ.get("DLTENSOR_LAPACK", "")
    if selected and selected not in LIBRARIES:
        raise ValueError(f"{where}: DLTENSOR_LAPACK must be one of {', '.join(LIBRARIES)}, got {selected[:40]!r}")
    for name in (selected,) if selected else LIBRARIES:
        if _load(name):
            return name
    what = f"DLTENSOR_LAPACK selects {selected}, which is" if selected else "neither scipy-openblas32 nor NumPy is"
    raise ImportError(
        f"{where}: {what} installed; install the extra: pip install 'dltensor[linalg]' brings scipy-openblas32",
        name=selected or None,
    )


find = Once(_choose)


def by_numpy(name, matrix, **options):
    """What NumPy's function of one matrix returns, as a tuple of arrays; None where it did not converge."""
    import numpy

    try:
        made = getattr(numpy.linalg, name)(matrix, **options)
    except numpy.linalg.LinAlgError:
        return None
    return tuple(made) if isinstance(made, tuple) else (made,)
