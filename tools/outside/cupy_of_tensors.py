# SPDX-License-Identifier: Apache-2.0
"""A module "cupy" whose arrays are tensors of dltensor, for Dask's tests of CuPy. A pytest plugin that installs it.

What CuPy has as a function, and the tests call, is NumPy's function with tensors for arrays.
"""

import importlib.machinery
import sys
import types

import numpy

import dltensor as dl
import dltensor.distributed.dask as registered

# Functions of NumPy that make arrays from nothing: with `like=` they make tensors.
CREATING = ("arange", "array", "asarray", "asfortranarray", "empty", "eye", "full", "ones", "tri", "zeros")


def creating(name):
    function = getattr(numpy, name)

    def create(*args, **options):
        options.setdefault("order", None) if name == "array" else None
        return dl.asarray(function(*map(as_array, args), **{k: v for k, v in options.items() if v is not None}))

    return create


def as_array(x):
    return x.numpy() if isinstance(x, dl.Tensor) else x


class Generator:
    """``cupy.random.default_rng()``: NumPy's numbers as tensors."""

    def __init__(self, seed=None):
        self.generator = numpy.random.default_rng(seed)

    def __getattr__(self, name):
        function = getattr(self.generator, name)
        if not callable(function):
            return function
        return lambda *args, **options: dl.asarray(function(*args, **options))


class Cupy(types.ModuleType):
    """The module: its own names, else NumPy's."""

    __version__ = "14.0.0"
    ndarray = dl.Tensor

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(numpy, name)
        if not callable(found) or isinstance(found, type):
            return found
        return lambda *args, **options: registered.as_tensors(found(*args, **options))


def module():
    made = Cupy("cupy")
    for name in CREATING:
        setattr(made, name, creating(name))
    made.asnumpy = as_array
    made.random = types.SimpleNamespace(default_rng=Generator, RandomState=registered.RandomState)
    made.linalg = numpy.linalg
    made.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    return made


def pytest_configure(config):
    sys.modules["cupy"] = module()
    # The creation functions of the backend "cupy" are those of the backend "dltensor".
    from dask.array.backends import array_creation_dispatch

    array_creation_dispatch.register_backend("cupy", registered.Backend())
    config.addinivalue_line("markers", "gpu: Dask's mark of tests of CuPy")
