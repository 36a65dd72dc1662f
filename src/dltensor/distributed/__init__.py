# SPDX-License-Identifier: Apache-2.0
"""Tensors in distributed computations: chunks of Dask arrays (`dask`), messages and reductions of MPI (`mpi`).

Ray, joblib, `multiprocessing` and Dask's own messages need no function of this package: they take tensors by pickle
protocol 5.
The submodules are loaded when they are first used, and need the libraries that they are named after.
"""

from importlib import import_module as _import_module

__all__ = ["dask", "mpi"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"{__name__}.{name}")


def __dir__():
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
