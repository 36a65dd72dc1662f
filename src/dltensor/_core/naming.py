# SPDX-License-Identifier: Apache-2.0
"""The module that public names say they are from."""

from types import BuiltinFunctionType, FunctionType

from .call_errors import answer, has_plain_defaults, text_signature
from .errors import public_function

# Other names of parameters in NumPy and PyTorch, each followed by the name here.
_RENAMINGS = (
    ("dim", "axis"), ("dims", "axis"), ("dim", "axes"), ("dims", "axes"), ("shifts", "shift"), ("keepdim", "keepdims"),
    ("ddof", "correction"),
)  # fmt: skip
# Functions that return something else with `dim`: PyTorch's median is the lower one, and both return indices, too.
_UNLIKE_TORCH = ("median", "nanmedian", "sort")
_builtins = {}  # by the function, which two modules may show


def _renamings_of(name, signature):
    """The other names of the parameters of a function, by its signature as text."""
    if "ax" not in signature and "shift" not in signature and "correction" not in signature:  # most functions
        return ()
    parameters = f" {signature[1:-1].replace('=', ',')},"
    pairs = [pair for pair in _RENAMINGS if f" {pair[1]}," in parameters and f" {pair[0]}," not in parameters]
    return () if name in _UNLIKE_TORCH else tuple(name for pair in pairs for name in pair)


def builtin_of(function):
    """The builtin that calls a function, answers its errors and renames its keywords."""
    if function not in _builtins:
        name = function.__name__
        signature = function.__text_signature__ if _is_cythons(function) else text_signature(function)
        text = f"{name}{signature}\n--\n\n{function.__doc__ or ''}"
        _builtins[function] = public_function(function, text, answer, _renamings_of(name, signature))
    return _builtins[function]


def _is_cythons(thing):
    """Test whether a function is compiled by Cython: unlike builtins of tables, its ``self`` is no module."""
    return type(thing) is BuiltinFunctionType and thing.__self__ is None


def set_module(namespace):
    """Set ``__module__`` of everything in ``__all__`` of a module's namespace to the name of that module.

    Messages, documentation and pickles then name the place that users import from, wherever the code lies. Functions in
    Python that have their types in a stub become builtins, whose errors name them. Functions with axes take them under
    the names of PyTorch, too: ``dim`` for ``axis``.

    Examples
    --------
    >>> dl.reshape.__module__, dl.DeviceError.__module__
    ('dltensor', 'dltensor')
    """
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        thing = namespace[name]
        if (type(thing) is FunctionType and not thing.__annotations__ and has_plain_defaults(thing)) or (
            _is_cythons(thing) and _renamings_of(name, thing.__text_signature__)
        ):
            thing = namespace[name] = builtin_of(thing)
        # Extension types have the module in their name; what the package itself shows keeps its name elsewhere.
        if callable(thing) and thing.__module__ not in (module, "dltensor"):
            thing.__module__ = module
