# SPDX-License-Identifier: Apache-2.0
"""Arrays behind one struct of function pointers, for C, C++, Fortran and Rust: made from any tensor, and read."""

from pathlib import Path

from .._core.introspect import engine_path as _engine_path
from .._core.naming import set_module as _set_module
from ._array import OpaqueArray, callback, from_pointer, hold, live_arrays, origin_name, register_origin, unwrap
from ._metatensor import metatensor_block, metatensor_labels, metatensor_load, register_metatensor

__all__ = [
    "OpaqueArray",
    "callback",
    "from_pointer",
    "hold",
    "include_dir",
    "library_path",
    "live_arrays",
    "metatensor_block",
    "metatensor_labels",
    "metatensor_load",
    "origin_name",
    "register_metatensor",
    "register_origin",
    "unwrap",
]

_ROOT = Path(__file__).resolve().parent.parent


def include_dir() -> str:
    """Return the include directory for C, C++ and Fortran compilers, which has ``dltensor/array.h``.

    Returns
    -------
    str
        Path of the directory.

    Raises
    ------
    FileNotFoundError
        The headers are not installed with the package.

    See Also
    --------
    library_path : Return the library to link.

    Examples
    --------
    >>> import os
    >>> sorted(os.listdir(os.path.join(dl.opaque.include_dir(), "dltensor")))
    ['array.h', 'array.hpp', 'dlpack.h', 'dltensor.f90', 'validate.h', 'version.h']
    """
    return str(_there(_ROOT / "include", "include_dir"))


def library_path() -> str:
    """Return the path of the shared library that native programs link to.

    Returns
    -------
    str
        Path of ``libdltensor.so.2``, whose name ends with the number of the binary interface.

    Raises
    ------
    FileNotFoundError
        The library is not installed with the package.

    See Also
    --------
    include_dir : Return the include directory.

    Examples
    --------
    >>> import ctypes
    >>> ctypes.CDLL(dl.opaque.library_path()).dlt_array_struct_size()
    104
    """
    return str(_there(Path(_engine_path()).resolve(), "library_path"))


def _there(path, func):
    if not path.exists():
        raise FileNotFoundError(
            f"{func}: {path.name} of dltensor is not where it was installed to ({path}); install it again"
        )
    return path


_set_module(globals())
