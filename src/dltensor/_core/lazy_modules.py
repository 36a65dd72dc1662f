# SPDX-License-Identifier: Apache-2.0
"""Modules of the package that are loaded when they are first used."""

import sys
from _thread import RLock  # threading.RLock, without loading threading
from types import ModuleType


def _attributes(module):
    """Return the dictionary of a lazy module without loading it."""
    return ModuleType.__getattribute__(module, "__dict__")


class _LazyModule(ModuleType):
    """A module that is loaded in place when one of its attributes is first used, and an ordinary one from then on.

    As ``importlib.util.LazyLoader`` makes them, but threads wait until the first one has loaded it, and nothing is
    looked for on the disk before. The import of a submodule, all of which are private, reads ``__path__``,
    ``__spec__``, ``__name__`` and ``_x``, and sets ``_x``; none of these loads the package, whose code would import
    the submodule a second time.
    """

    def __init__(self, name):
        super().__init__(name)
        _attributes(self)["_loading"] = _Loading()

    def __getattribute__(self, name):
        if name in ("__path__", "__spec__"):
            _find(self)
        elif name != "__name__" and (name.startswith("__") or not name.startswith("_")):
            _load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if sys.modules.get(f"{_attributes(self)['__name__']}.{name}") is not value:
            _load(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name):
        _load(self)
        ModuleType.__delattr__(self, name)


class _Loading:
    """The lock of one lazy module, and whether its code runs now."""

    def __init__(self):
        self.lock = RLock()  # one per module: a thread that loads another one is not waited for
        self.runs = False


def _find(module):
    """Set what the import system knows of a lazy module before it is loaded."""
    attributes = _attributes(module)
    if attributes["__spec__"] is None:
        name = attributes["__name__"]
        path = sys.modules["dltensor"].__path__
        spec = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)), None)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if spec.submodule_search_locations is not None:
            attributes["__path__"] = spec.submodule_search_locations
        attributes |= {"__loader__": spec.loader, "__package__": spec.parent, "__file__": spec.origin, "__spec__": spec}


def _load(module):
    """Run the code of a lazy module, once, in whichever thread uses it first."""
    attributes = _attributes(module)
    loading = attributes.get("_loading")
    if loading is None:  # another thread has loaded it since
        return
    with loading.lock:
        if loading.runs or "_loading" not in attributes:  # the module's own code uses its attributes too
            return
        loading.runs = True
        try:
            _find(module)
            attributes["__spec__"].loader.exec_module(module)
            del attributes["_loading"]
            module.__class__ = ModuleType
        finally:
            loading.runs = False


def lazy_module(name):
    """Return the module of the package with that name, which is loaded when it is first used.

    It is in ``sys.modules`` from the start, so that every way of importing gives this one object.
    """
    full = f"dltensor.{name}"
    return sys.modules.setdefault(full, _LazyModule(full))
