# SPDX-License-Identifier: Apache-2.0
"""Names of NumPy and PyTorch: functions and methods with another name here, and answers for those not taken."""

from .._core.members import add_answers, add_methods
from .._core.naming import builtin_of
from .answers import OF_TENSOR
from .functions import METHODS


def _text(name, function):
    """Signature and docstring of a method that calls a function with the tensor first."""
    _, _, rest = (getattr(function, "__text_signature__", None) or "(x, /, *args, **kwargs)").partition("(")
    first = rest.partition(",")[0].rstrip(")")
    alias = function.__doc__.startswith("Alias")
    text = function.__doc__ if alias else f"Return ``dltensor.{function.__name__}(t, ...)``, whose arguments it takes."
    return f"{name}($self{rest[len(first) :]}\n--\n\n{text}"


def add_to_tensor(namespace):
    """Add the methods of the table to Tensor, and answers for names that it does not take.

    Parameters
    ----------
    namespace : dict
        The public names of the package, among which are the functions.
    """
    methods = {}
    for name, call in METHODS.items():
        if not isinstance(call, str):
            call.__name__ = call.__qualname__ = name
        function = namespace[call] if isinstance(call, str) else builtin_of(call)
        methods[name] = function, _text(name, function)
    add_methods(methods)
    add_answers(OF_TENSOR)
