# SPDX-License-Identifier: Apache-2.0
"""The module that public names say they are from."""

from types import FunctionType

from .call_errors import answer, has_plain_defaults, text_signature
from .errors import public_function

_builtins = {}  # by the function, which two modules may show


def _builtin_of(function):
    """The builtin that calls a function and answers its errors."""
    if function not in _builtins:
        text = f"{function.__name__}{text_signature(function)}\n--\n\n{function.__doc__ or ''}"
        _builtins[function] = public_function(function, text, answer)
    return _builtins[function]


def set_module(namespace):
    """Set ``__module__`` of everything in ``__all__`` of a module's namespace to the name of that module.

    Messages, documentation and pickles then name the place that users import from, wherever the code lies. Functions in
    Python that have their types in a stub become builtins, whose errors name them.

    Examples
    --------
    >>> dl.reshape.__module__, dl.DeviceError.__module__
    ('dltensor', 'dltensor')
    """
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        thing = namespace[name]
        if type(thing) is FunctionType and not thing.__annotations__ and has_plain_defaults(thing):
            thing = namespace[name] = _builtin_of(thing)
        # Extension types have the module in their name; what the package itself shows keeps its name elsewhere.
        if callable(thing) and thing.__module__ not in (module, "dltensor"):
            thing.__module__ = module
