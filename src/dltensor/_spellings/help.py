# SPDX-License-Identifier: Apache-2.0
"""`dl.help`: the name here of a name of NumPy, PyTorch or JAX, or what to write in its place."""

import sys

from .._core.foreign_text import first_line
from .._core.tensor import Tensor
from .answers import OF_MODULE, OF_TENSOR

__all__ = ["help"]


def help(name: str, /) -> None:
    """Print what a name of NumPy, PyTorch or JAX is here, or what to write in its place.

    Parameters
    ----------
    name : str
        Name of a function, or of an attribute of tensors.

    Raises
    ------
    TypeError
        `name` is not a str.

    Notes
    -----
    Modules cannot add words to their AttributeError without slowing down the look-up of all their names; attributes of
    `Tensor` that are not there say the same in theirs.

    Examples
    --------
    >>> dl.help("vectorize")
    dltensor has no vectorize; write the function with operations of tensors, or dl.asarray([f(x) for x in t.tolist()])
    >>> dl.help("cat")
    dl.cat(arrays, /, axis=0): Join tensors along an existing dimension.
    """
    if not isinstance(name, str):
        raise TypeError(f"help: name must be a str, got {type(name).__qualname__}")
    last = name.rpartition(".")[2]
    package = sys.modules["dltensor"]
    lines = [
        _line(f"{prefix}.{last}", names[last])
        for prefix, names in (("dl", {one: getattr(package, one) for one in package.__all__}), ("t", vars(Tensor)))
        if last in names and last not in OF_TENSOR
    ]
    lines = lines or [f"{what} has no {last}; {rows[last]}" for what, rows in _ANSWERS.items() if last in rows]
    shown = first_line(ascii(last)[1:-1], 80)  # any standard output can print it
    print("\n".join(lines or [f"dltensor has no {shown}; docs/coming-from.md lists names of NumPy and PyTorch"]))


def _line(name, thing):
    if isinstance(thing, (str, tuple, float)):
        return f"{name} = {thing!r}"
    return f"{name}{_arguments(thing)}: {(thing.__doc__ or '').strip().partition(chr(10))[0]}"


def _arguments(function):
    text = getattr(function, "__text_signature__", None) or ""
    for receiver in ("$self, /, ", "$self, /", "$self, ", "$self"):
        text = text.replace(receiver, "")
    return text


_ANSWERS = {"dltensor": OF_MODULE, "Tensor": OF_TENSOR}
