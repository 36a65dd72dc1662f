# SPDX-License-Identifier: Apache-2.0
"""The module that public names say they are from."""

from types import BuiltinFunctionType, FunctionType

from .call_errors import answer, has_plain_defaults, text_signature
from .errors import compiled_function, python_function
from .types import DType

# Other names of parameters in NumPy and PyTorch, each followed by the name here.
_RENAMINGS = (
    ("dim", "axis"), ("dims", "axis"), ("dim", "axes"), ("dims", "axes"), ("shifts", "shift"), ("keepdim", "keepdims"),
    ("ddof", "correction"), ("unbiased", "correction"), ("diagonal", "k=0"),
)  # fmt: skip
# Functions that return something else with `dim`: PyTorch's median is the lower one, and both return indices, too.
# Functions whose shape may come as extents one by one.
_SHAPED = ("empty", "ones", "zeros")
_UNLIKE_TORCH = ("median", "nanmedian", "sort")
_builtins = {}  # by the function, which two modules may show
_loaded_later = {}  # by the module and the name of the function


def _renamings_of(text):
    """Other names of the parameters of a function, by the text of its builtin: signature and docstring."""
    name, _, signature = text.partition("\n")[0].partition("(")
    parameters = f" {signature[:-1]}, {signature[:-1].replace('=', ',')},"
    pairs = [pair for pair in _RENAMINGS if f" {pair[1]}," in parameters and f" {pair[0]}," not in parameters]
    return () if name in _UNLIKE_TORCH else tuple(name.partition("=")[0] for pair in pairs for name in pair)


def builtin_of(function):
    """The builtin that calls a function, answers its errors and renames its keywords."""
    name = function.__name__
    builtin = _builtins.get(function) or _loaded_later.get((function.__module__, name))
    if builtin is None:
        if _is_cythons(function):
            text = f"{name}{function.__text_signature__}\n--\n\n{function.__doc__}"
            builtin = compiled_function(function, text, _renamings_of(text), name in _SHAPED)
        else:
            text = f"{name}{text_signature(function)}\n--\n\n{function.__doc__ or ''}"
            builtin = python_function(name, function, None, text, answer, _renamings_of)
        _builtins[function] = builtin
    return builtin


def add_functions(namespace, functions):
    """Add builtins of functions in Python, whose modules are loaded by the first call of one of them.

    Parameters
    ----------
    namespace : dict
        Of the module that shows them.
    functions : dict
        The module and the text of each function, its signature and docstring, by its name.
    """
    for name, (module, text) in functions.items():
        builtin = python_function(name, None, _Loader(module, name), text, answer, _renamings_of)
        builtin.__module__ = namespace["__name__"]
        _loaded_later[module, name] = namespace[name] = builtin


class _Loader:
    """The function of a name in a module, which a call loads."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        return getattr(__import__(self.module, fromlist=(self.name,)), self.name)


def _is_cythons(thing):
    """Test whether a function is compiled by Cython: unlike builtins of tables, its ``self`` is no module."""
    return type(thing) is BuiltinFunctionType and thing.__self__ is None


def _has_renamings(name, signature):
    can_have = (
        "ax" in signature or "shift" in signature or "correction" in signature or "k=0" in signature
    )  # few functions do
    return can_have and _renamings_of(name + signature) != ()


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
        if (type(thing) is FunctionType and not thing.__annotations__ and has_plain_defaults(thing)) or (
            _is_cythons(thing) and (name in _SHAPED or _has_renamings(name, thing.__text_signature__))
        ):
            thing = namespace[name] = builtin_of(thing)
        if type(thing) is DType:
            continue
        # Extension types have the module in their name; what the package itself shows keeps its name elsewhere.
        if callable(thing) and thing.__module__ not in (module, "dltensor"):
            thing.__module__ = module
