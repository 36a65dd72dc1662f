# SPDX-License-Identifier: Apache-2.0
"""The sources that the command line inspects: an expression of a module, or a file of tensors. Inspects nothing."""

import ast
import importlib
from pathlib import Path

from .._core.foreign_text import describe_error, first_line
from ..io._files import open_for

_SUFFIXES = (".npy", ".npz", ".safetensors")


class SourceError(Exception):
    """The source cannot be read; the message has the reason and the remedy."""


def evaluate(text):
    """Return the value of ``module:expression``.

    >>> evaluate("dltensor:arange(4)[::-1]").strides
    (-1,)
    """
    name, _, expression = text.partition(":")
    if not expression.strip():
        raise SourceError(f"expected 'module:expression', such as 'numpy:arange(4)', got {_quoted(text)}")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.partition(".")[0]:
            raise SourceError(
                f"no module named {_quoted(name)}; is it installed, and is this the right Python?"
            ) from None
        raise SourceError(f"module {_quoted(name)} cannot be imported: {first_line(str(error))}") from error
    except (Exception, SystemExit) as error:
        raise SourceError(f"module {_quoted(name)} cannot be imported: {describe_error(error)}") from error
    names = vars(module) | {name.partition(".")[0]: importlib.import_module(name.partition(".")[0])}
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        if hasattr(module, "__getattr__"):
            # For modules with a lazy __getattr__: only the names of the expression are looked up.
            for node in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(names):
                if hasattr(module, node):
                    names[node] = getattr(module, node)
        return eval(compile(tree, "<expression>", "eval"), names)
    except SyntaxError as error:
        raise SourceError(f"{_quoted(expression)} is not a Python expression: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise SourceError(f"evaluating {_quoted(expression)} in {name} raised {describe_error(error)}") from error


def _quoted(text):
    return f"'{first_line(text, 120)}'"


def open_tensors(path):
    """Return an open file of tensors; its headers are read, its elements are not."""
    try:
        return open_for("inspect", path, True)
    except OSError as error:
        raise SourceError(f"{first_line(str(path))}: {error.strerror or first_line(str(error))}") from None
    except (ValueError, TypeError) as error:
        raise SourceError(first_line(str(error), 400)) from None


def open_npy(path):
    """Return a read-only tensor over a .npy file, mapped and not read."""
    with open_tensors(path) as file:
        try:
            return file[file.names[0]]
        except (OSError, ValueError, TypeError) as error:
            raise SourceError(first_line(str(error), 400)) from None


def find(text):
    """Return (object, True if it is a file) for an argument of the command line."""
    if text.endswith(_SUFFIXES) or _is_file(text):
        file = open_tensors(text)
        if file.format != "npy":
            return file, True
        with file:
            return open_npy(text), True
    if ":" not in text:
        raise SourceError(
            f"{_quoted(text)} is neither a file nor 'module:expression'; for a variable of a module write "
            f"'module:name', for an array of NumPy 'numpy:zeros((2, 3))'"
        )
    return evaluate(text), False


def _is_file(text):
    try:
        return Path(text).is_file()
    except OSError:
        return False  # longer than the name of any file, as an expression may be
