# SPDX-License-Identifier: Apache-2.0
"""What the command line can inspect: an expression of a module, or a .npy file mapped read-only. Inspects nothing."""

import ast
import importlib
import mmap
import os
from math import prod
from pathlib import Path

from .. import wrap
from .._core.foreign_text import describe_error, first_line
from .._core.layout import MOST_DIMENSIONS

_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
# A header is a short dict; longer ones are rejected. NumPy's own limit is 10,000.
_HEADER_LIMIT = 65536


class SourceError(Exception):
    """The source cannot be read; the message has the reason and the remedy.

    Raises
    ------
    Nothing.
    """


def evaluate(text):
    """Return the value of ``module:expression``.

    Raises
    ------
    SourceError
        There is no such module, or the expression fails.

    Examples
    --------
    >>> from dltensor.inspection.sources import evaluate
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


def read_npy_header(data, where):
    """Read the header of a .npy file: (dtype as text, whether in Fortran order, shape, where the elements begin).

    Parameters
    ----------
    data : bytes-like, the beginning of the file
    where : str, the file's name for messages

    Raises
    ------
    SourceError
        It is not a .npy file, or cannot be mapped.
    """
    if bytes(data[:6]) != b"\x93NUMPY" or len(data) < 10:
        raise SourceError(f"{where}: not a .npy file (it does not begin with \\x93NUMPY)")
    major = data[6]
    if major not in (1, 2, 3):
        raise SourceError(f"{where}: .npy version {major}.{data[7]} is not known; 1.0, 2.0 and 3.0 are")
    width = 2 if major == 1 else 4
    length = int.from_bytes(data[8 : 8 + width], "little")
    start = 8 + width + length
    if length > _HEADER_LIMIT or start > len(data):
        raise SourceError(f"{where}: the header length is {length} bytes, the file has {len(data)}")
    try:
        # Literals only: nothing in a file is ever run.
        header = ast.literal_eval(bytes(data[8 + width : start]).decode("utf-8" if major == 3 else "latin1").strip())
        kind, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, UnicodeDecodeError, RecursionError, MemoryError):
        raise SourceError(f"{where}: the header is not a dict of descr, fortran_order and shape") from None
    sizes = isinstance(shape, tuple) and all(type(n) is int and 0 <= n < 2**63 for n in shape)
    if not sizes or len(shape) > MOST_DIMENSIONS:
        got = first_line(repr(shape), 80)
        raise SourceError(f"{where}: shape must be a tuple of at most {MOST_DIMENSIONS} sizes, got {got}")
    if type(fortran) is not bool:
        raise SourceError(f"{where}: fortran_order must be True or False, got {first_line(repr(fortran), 80)}")
    if not isinstance(kind, str):
        raise SourceError(f"{where}: structured types ({first_line(repr(kind), 80)}) cannot be represented in DLPack")
    return kind, fortran, shape, start


def _dtype_of(kind, where):
    order, letter, digits = kind[:1], kind[1:2], kind[2:]
    if order == ">" and digits != "1":
        raise SourceError(
            f"{where}: big-endian elements ({first_line(kind, 80)}) cannot be represented in DLPack; "
            "byteswap the file first"
        )
    if order in "<|>=" and letter == "b" and digits == "1":
        return "bool", 1
    if order in "<|>=" and letter in _KINDS and digits in ("1", "2", "4", "8", "16"):
        name = f"{_KINDS[letter]}{int(digits) * 8}"
        from .. import DTYPES

        if name in DTYPES:
            return name, int(digits)
    raise SourceError(
        f"{where}: elements of type {first_line(repr(kind), 80)} cannot be represented in DLPack"
        + ("; bfloat16 and fp8 lose their type in .npy files" if letter == "V" else "")
    )


def open_npy(path):
    """Return a read-only tensor over a .npy file, mapped and not read.

    Raises
    ------
    SourceError
        The file cannot be opened, or cannot be mapped.
    """
    where = first_line(str(path))
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 10:
                raise SourceError(f"{where}: not a .npy file (it has {size} bytes)")
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise SourceError(f"{where}: {getattr(error, 'strerror', None) or first_line(str(error))}") from None
    kind, fortran, shape, start = read_npy_header(memory[: _HEADER_LIMIT + 12], where)
    name, width = _dtype_of(kind, where)
    if start + prod(shape) * width > len(memory):
        raise SourceError(
            f"{where}: {shape} elements of {kind} need {prod(shape) * width} bytes after the header, the "
            f"file has {len(memory) - start}"
        )
    strides = None
    if fortran:
        step, made = 1, []
        for n in shape:
            made.append(step)
            step *= max(n, 1)
        strides = tuple(made)
    from .. import asarray

    return wrap(asarray(memory).data_ptr + start, shape, name, strides=strides, owner=memory, readonly=True)


def find(text):
    """Return (object, whether it is a file) for an argument of the command line.

    Raises
    ------
    SourceError
        It is neither a file nor a module with an expression, or cannot be read.
    """
    if text.endswith(".npy") or _is_file(text):
        if not text.endswith(".npy"):
            raise SourceError(
                f"{_quoted(text)}: only .npy files can be inspected; for others name an expression that opens it, "
                f"such as 'torch:load(\"{first_line(text, 120)}\")'"
            )
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
