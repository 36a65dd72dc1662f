# SPDX-License-Identifier: Apache-2.0
"""The module that public names say they are from."""

import sys
from types import BuiltinFunctionType, FunctionType

from .errors import can_be_renamed, compiled_function, python_function
from .members import listed_builtin
from .types import DType

# Other names of parameters in NumPy and PyTorch, each followed by the name here.
_RENAMINGS = (
    ("dim", "axis"), ("dims", "axis"), ("dim", "axes"), ("dims", "axes"), ("shifts", "shift"), ("keepdim", "keepdims"),
    ("ddof", "correction"), ("unbiased", "correction"), ("diagonal", "k=0"),
)  # fmt: skip
# Functions whose shape may come as extents one by one, and others that take what PyTorch's take and changes nothing.
_SHAPED = ("empty", "ones", "zeros")
_MAKING = ("arange", "empty_like", "eye", "full", "full_like", "linspace", "ones_like", "zeros_like", *_SHAPED)
# Functions that return something else with `dim`: PyTorch's median is the lower one, and both return indices, too.
_UNLIKE_TORCH = ("median", "nanmedian", "sort")
# Types of default values that Python can read in the text of a signature.
_PLAIN = frozenset((type(None), bool, int, float, str))
_builtins = {}  # by the function, which two modules may show


def renamings_of(text):
    """Return other names of the parameters of a function, each followed by the name, by the text of its builtin.

    >>> renamings_of("flip(x, /, *, axis=None)")
    ('dim', 'axis', 'dims', 'axis')
    """
    name, _, signature = text.partition("\n")[0].partition("(")
    parameters = f" {signature[:-1]}, {signature[:-1].replace('=', ',')},"
    pairs = [pair for pair in _RENAMINGS if f" {pair[1]}," in parameters and f" {pair[0]}," not in parameters]
    return () if name in _UNLIKE_TORCH else tuple(name.partition("=")[0] for pair in pairs for name in pair)


def builtin_of(function):
    """The builtin that calls a function, answers its errors and renames its keywords."""
    name = function.__name__
    builtin = _builtins.get(function) or listed_builtin(function.__module__, name)
    if builtin is None:
        if _is_cythons(function):
            builtin = compiled_function(function, sys.modules["dltensor"], name in _SHAPED)
        else:
            text = f"{name}{text_signature(function)}\n--\n\n{function.__doc__ or ''}"
            builtin = python_function(name, function, None, text, None, renamings_of)
        _builtins[function] = builtin
    return builtin


def _is_cythons(thing):
    """Test whether a function is compiled by Cython: unlike builtins of tables, its ``self`` is no module."""
    return type(thing) is BuiltinFunctionType and thing.__self__ is None


def set_module(namespace):
    """Set ``__module__`` of everything in ``__all__`` of a module's namespace to the name of that module.

    Messages, documentation and pickles then name the place that users import from, wherever the code lies. Functions in
    Python that have their types in a stub become builtins, whose errors name them. Functions with axes take them under
    the names of PyTorch, too: ``dim`` for ``axis``.

    >>> dl.reshape.__module__, dl.DeviceError.__module__
    ('dltensor', 'dltensor')
    """
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        thing = namespace[name]
        if type(thing) is DType or (type(thing) is BuiltinFunctionType and thing.__module__ == module):
            continue
        if (type(thing) is FunctionType and not thing.__annotations__ and has_plain_defaults(thing)) or (
            _is_cythons(thing) and name not in _UNLIKE_TORCH and (name in _MAKING or can_be_renamed(thing))
        ):
            thing = namespace[name] = builtin_of(thing)
        # Extension types have the module in their name; what the package itself shows keeps its name elsewhere.
        if callable(thing) and thing.__module__ not in (module, "dltensor", "builtins"):
            thing.__module__ = module


def has_plain_defaults(function):
    """Test whether Python can read the default values in the text of a signature, which it does not with tuples.

    >>> has_plain_defaults(lambda x=1: x), has_plain_defaults(lambda x=(): x)
    (True, False)
    """
    values = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return _PLAIN.issuperset(map(type, values))


def text_signature(function):
    """Return the signature of a Python function without annotations, as text.

    >>> def example(x, /, n=1, *rest, axis=-1, **options): pass
    >>> text_signature(example)
    '(x, /, n=1, *rest, axis=-1, **options)'
    """
    code, by_name = function.__code__, function.__kwdefaults__ or {}
    names, positional, keywords = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    shown = list(names[:positional])
    if function.__defaults__:
        for i, value in enumerate(function.__defaults__, positional - len(function.__defaults__)):
            shown[i] += f"={value!r}"
    if code.co_posonlyargcount:
        shown.insert(code.co_posonlyargcount, "/")
    rest = list(names[positional + keywords :])
    if code.co_flags & 0x04:  # CO_VARARGS
        shown.append(f"*{rest.pop(0)}")
    elif keywords:
        shown.append("*")
    for name in names[positional : positional + keywords]:
        shown.append(f"{name}={by_name[name]!r}" if name in by_name else name)
    if code.co_flags & 0x08:  # CO_VARKEYWORDS
        shown.append(f"**{rest.pop(0)}")
    return f"({', '.join(shown)})"
