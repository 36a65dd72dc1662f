# SPDX-License-Identifier: Apache-2.0
"""Modules of the package that are loaded when they are first used."""

import sys
from _thread import RLock  # what threading.RLock is, without loading threading
from types import ModuleType

_lock = RLock()
_being_loaded = set()


class _LazyModule(ModuleType):
    """A module that is loaded in place when one of its attributes is first used, and an ordinary one from then on.

    As ``importlib.util.LazyLoader`` makes them, but threads wait until the first one has loaded it, and nothing is
    looked for on the disk before.
    """

    def __getattribute__(self, name):
        _load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name, value):
        _load(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name):
        _load(self)
        ModuleType.__delattr__(self, name)


def _load(module):
    """Run the code of a lazy module, once, in whichever thread uses it first."""
    with _lock:
        name = ModuleType.__getattribute__(module, "__name__")
        if type(module) is ModuleType or name in _being_loaded:  # the module's own code uses its attributes too
            return
        _being_loaded.add(name)
        try:
            path = sys.modules["dltensor"].__path__
            spec = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)), None)
            if spec is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
            module.__file__ = spec.origin
            if spec.submodule_search_locations is not None:
                module.__path__ = spec.submodule_search_locations
            spec.loader.exec_module(module)
            module.__class__ = ModuleType
        finally:
            _being_loaded.discard(name)


def lazy_module(name):
    """Return the module of the package with that name, which is loaded when it is first used.

    It is in ``sys.modules`` from the start, so that every way of importing gives this one object.
    """
    full = f"dltensor.{name}"
    return sys.modules.setdefault(full, _LazyModule(full))
