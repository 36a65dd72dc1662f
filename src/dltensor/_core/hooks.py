# SPDX-License-Identifier: Apache-2.0
"""What is loaded when it is first asked for: functions that the Tensor class calls, and modules of the package."""

import sys
from _thread import RLock  # what threading.RLock is, without loading threading
from importlib import import_module
from types import ModuleType

from .tensor import set_hook

FACES = {
    "adopt": ("cuda._exchange", "adopt"),
    "array": ("_core.protocols", "to_numpy"),
    "array_function": ("_ops.numpy_dispatch", "call_function"),
    "array_interface": ("_core.protocols", "array_interface"),
    "array_ufunc": ("_ops.numpy_dispatch", "call_ufunc"),
    "contains": ("_ops.array_api", "contains"),
    "copy": ("cuda._backend", "copy"),
    "cuda_array_interface": ("_core.protocols", "cuda_array_interface"),
    "cuda_start": ("cuda._device", "start"),
    "engine": ("cuda._backend", "engine"),
    "export": ("cuda._exchange", "export"),
    "fill": ("cuda._backend", "fill"),
    "format": ("_core.format", "format_tensor"),
    "html": ("_core.html", "html_tensor"),
    "launch": ("cuda._launch", "settings_of"),
    "move": ("cuda._backend", "move"),
    "namespace": ("_ops.array_api", "namespace"),
    "reduce": ("_core.pickling", "reduce_tensor"),
    "repr": ("_core.format", "repr_tensor"),
    "round": ("_ops.rounding", "round_tensor"),
    "stream_for_readers": ("cuda._exchange", "stream_for_readers"),
    "to": ("cuda._backend", "to"),
    "transfer": ("cuda._backend", "transfer"),
}


def _loading(hook, module, name):
    def ask(*arguments):
        function = getattr(import_module(f"dltensor.{module}"), name)
        set_hook(hook, function)
        return function(*arguments)

    return ask


for _hook, (_module, _name) in FACES.items():
    set_hook(_hook, _loading(_hook, _module, _name))


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
    """Run the code of a lazy module, once, whoever asks."""
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
