# SPDX-License-Identifier: Apache-2.0
"""A module "cupy" whose arrays are NumPy's, for CuPy's own tests. A pytest plugin that installs it.

The tests run each function by NumPy and by CuPy. Here the second run is NumPy's too, and each call in it is repeated by
our function of the same name (``shadow.py``). Modules of CuPy's that need a GPU are empty; ``cupy.testing`` is its own.
"""

import importlib
import importlib.abc
import importlib.machinery
import math
import os
import sys
import types
from pathlib import Path
from unittest import mock

import namespaces
import numpy

import dltensor as dl

ROOT = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0])
OWN = ("cupy.testing", "cupy.exceptions")
# Functions that files of tests call while they are imported, and those that build their arguments.
KNOWN = {"cupy.cuda.runtime.is_hip": False, "cupy._core.internal.prod": math.prod}


class Empty(types.ModuleType):
    """A module of which nothing can be used."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("Warning"):  # pytest reads the filters of tests, and needs a class
            return UserWarning
        path = f"{self.__name__}.{name}"
        known = {key.removeprefix(f"{path}."): value for key, value in KNOWN.items() if key.startswith(f"{path}.")}
        return KNOWN.get(path, mock.MagicMock(name=path, **known))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of CuPy, all empty except its own that need no GPU."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] not in ("cupy", "cupyx") or name.startswith(OWN):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        pass


class Cupy(namespaces.Namespace):
    """NumPy's namespace with the names that CuPy adds."""

    __version__ = "14.0.0"
    __path__ = (str(ROOT / "cupy"),)
    ndarray = numpy.ndarray
    asnumpy = staticmethod(numpy.asarray)

    def __getattr__(self, name):
        own = f"cupy.{name}" in OWN
        if (hasattr(numpy, name) and not own) or name.startswith("__"):
            return super().__getattr__(name)
        return importlib.import_module(f"cupy.{name}")


class Random(types.ModuleType):
    """NumPy's random numbers, with the states that CuPy's tests keep."""

    def __init__(self):
        super().__init__("cupy.random")
        self.reset_states()

    def reset_states(self):
        self._generator = types.SimpleNamespace(_random_states={})

    def __getattr__(self, name):
        return getattr(numpy.random, name)


def pytest_configure(config):
    sys.meta_path.insert(0, Finder())
    sys.modules["cupy"] = Cupy(numpy, dl, namespaces.Shadowed)
    for name in ("fft", "linalg"):  # an import of them by a test gives no empty module, and one of their parts does
        part = sys.modules[f"cupy.{name}"] = getattr(sys.modules["cupy"], name)
        part.__name__, part.__path__ = f"cupy.{name}", ()
    sys.modules["cupy"].random = sys.modules["cupy.random"] = Random()
