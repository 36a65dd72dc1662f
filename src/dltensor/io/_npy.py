# SPDX-License-Identifier: Apache-2.0
"""The .npy format: headers read and written. Nothing is evaluated or unpickled; elements are left to the caller."""

import re
from typing import NamedTuple

from .._core.foreign_text import quoted
from .._core.layout import MOST_DIMENSIONS
from .._core.types import DTYPES, DType

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 65536
"""Bytes. A header is a short dictionary; NumPy's own limit is 10,000 characters."""
ALIGNMENT = 256
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_REFUSED = {"O": "Python objects", "S": "bytes", "a": "bytes", "U": "text", "M": "dates", "m": "times"}
_CODE = re.compile(r"([<>|=]?)([a-zA-Z])(\d*)(\[.*\])?")
_KEY = re.compile(r"\s*(['\"])(\w+)\1\s*:\s*")
_VALUES = {
    "descr": re.compile(r"(['\"])([^'\"\\]*)\1"),
    "fortran_order": re.compile(r"(True|False)\b"),
    "shape": re.compile(r"\(\s*((?:\d+L?\s*,\s*)*(?:\d+L?\s*)?)\)"),
}
_ANY_VALUE = re.compile(r"'[^']*'?|\"[^\"]*\"?|\([^)]*\)?|\[[^\]]*\]?|[^,}]*")  # a value of any kind, for messages
_WANTED = {"descr": "a type", "fortran_order": "True or False", "shape": "a tuple of sizes"}


class NpyHeader(NamedTuple):
    """The contents of a header, checked."""

    descr: str
    dtype: DType | None  # None: raw elements of `itemsize` bytes, whose type was lost
    itemsize: int
    is_swapped: bool
    fortran_order: bool
    shape: tuple
    start: int  # position of the first element

    @property
    def nbytes(self):
        size = self.itemsize
        for n in self.shape:
            size *= n
        return size


def header_length(data, prefix):
    """Return the number of bytes before the elements, by the first 12 bytes of a file.

    >>> header_length(MAGIC + bytes([1, 0, 118, 0, 0, 0]), "example")
    128
    """
    if data[:6] != MAGIC or len(data) < 12:
        raise ValueError(f"{prefix}: not a .npy file (it does not begin with \\x93NUMPY)")
    if data[6] not in (1, 2, 3):
        raise ValueError(f"{prefix}: .npy version {data[6]}.{data[7]} is not known; 1.0, 2.0 and 3.0 are")
    width = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8 : 8 + width], "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"{prefix}: the header length is {length} bytes; at most {LONGEST_HEADER} are read")
    return 8 + width + length


def read_header(data, prefix):
    """Return the `NpyHeader` in the first bytes of a file, as many as `header_length` says.

    >>> data = write_header("<f4", (2, 3), False)
    >>> read_header(data, "example").shape, len(data)
    ((2, 3), 256)
    """
    start = header_length(data, prefix)
    if len(data) < start:
        raise ValueError(f"{prefix}: the file is cut off: its header has {start} bytes, the file {len(data)}")
    try:
        text = data[10 if data[6] == 1 else 12 : start].decode("utf-8" if data[6] == 3 else "latin1")
    except UnicodeDecodeError:
        raise ValueError(f"{prefix}: the header is not UTF-8, as version 3.0 has it") from None
    fields = _read_fields(text, prefix)
    sizes = [one.rstrip("L") for one in re.split(r"[\s,]+", fields["shape"]) if one]
    if len(sizes) > MOST_DIMENSIONS or any(len(one) > 19 or int(one) >= 2**63 for one in sizes):
        got = quoted(fields["shape"])[1:-1]
        raise ValueError(f"{prefix}: shape must have at most {MOST_DIMENSIONS} sizes below 2^63, got ({got})")
    dtype, itemsize, is_swapped = read_descr(fields["descr"], prefix)
    shape = tuple(map(int, sizes))
    header = NpyHeader(fields["descr"], dtype, itemsize, is_swapped, fields["fortran_order"] == "True", shape, start)
    if header.nbytes >= 2**63:
        raise ValueError(f"{prefix}: shape {quoted(shape)} of {fields['descr']} takes more than 2^63 - 1 bytes")
    return header


def _read_fields(text, prefix):
    """The texts of the three fields; nothing else may be in a header."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(
            f"{prefix}: the header is not a dict of descr, fortran_order and shape, got {quoted(text, 60)}"
        )
    at, end, fields = 1, len(text) - 1, {}
    while True:
        key = _KEY.match(text, at, end)
        if key is None:
            break
        name, at = key[2], key.end()
        if name not in _VALUES or name in fields:
            problem = "twice" if name in fields else "which .npy files do not have"
            raise ValueError(f"{prefix}: the header has the field {quoted(name, 60)} {problem}")
        value = _VALUES[name].match(text, at, end)
        got = _ANY_VALUE.match(text, at, end)[0]
        if value is None and name == "descr" and got.startswith(("[", "(")):
            raise TypeError(f"{prefix}: structured elements ({quoted(got, 60)}) have no counterpart in DLPack")
        if value is None or (name == "shape" and re.fullmatch(r"\d+L?\s*", value[1])):
            raise ValueError(f"{prefix}: {name} must be {_WANTED[name]}, got {quoted(got, 60)}")
        fields[name], at = value[2] if name == "descr" else value[1], value.end()
        comma = re.compile(r"\s*,\s*").match(text, at, end)
        if comma is None:
            break
        at = comma.end()
    missing = [name for name in _VALUES if name not in fields]
    if missing or text[at:end].strip():
        raise ValueError(
            f"{prefix}: the header is not a dict of descr, fortran_order and shape, got {quoted(text, 80)}"
        )
    return fields


def read_descr(descr, prefix):
    """Return the element type that a descr names, its bytes in the file, and whether its bytes are swapped.

    The type is None for raw bytes, as NumPy writes the types of ml_dtypes.

    >>> read_descr(">i4", "example"), read_descr("bfloat16", "example"), read_descr("<V2", "example")
    ((dltensor.int32, 4, True), (dltensor.bfloat16, 2, False), (None, 2, False))
    """
    if descr in DTYPES:
        return DTYPES[descr], max(1, DTYPES[descr].bits // 8), False
    code = _CODE.fullmatch(descr)
    if code is not None and code[2] in _REFUSED:
        raise TypeError(f"{prefix}: {_REFUSED[code[2]]} (descr {quoted(descr, 60)}) have no counterpart in DLPack")
    if code is not None and code[4] is None and 0 < len(code[3]) < 4:
        order, kind, itemsize = code[1], code[2], int(code[3])
        if (kind == "V" and itemsize in (1, 2, 4)) or (kind == "f" and itemsize == 1):
            return None, itemsize, False
        name = "bool" if kind == "b" and itemsize == 1 else f"{_KINDS.get(kind, '')}{8 * itemsize}"
        if kind in _KINDS and name in DTYPES and (kind != "b" or name == "bool") and name != "complex32":
            return DTYPES[name], itemsize, order == ">" and itemsize > 1
    raise TypeError(f"{prefix}: elements of type {quoted(descr, 60)} have no counterpart in DLPack")


def descr_of(dtype, prefix):
    """Return how .npy files spell an element type: NumPy's code, or the name that ml_dtypes registers.

    >>> from dltensor._core.types import as_dtype
    >>> descr_of(as_dtype("float32"), "example"), descr_of(as_dtype("bfloat16"), "example")
    ('<f4', 'bfloat16')
    """
    if DTYPES.get(dtype.name) != dtype:
        raise TypeError(f"{prefix}: elements of type {dtype} have no name in .npy files")
    for kind, name in _KINDS.items():
        if dtype.name == name:
            return "|b1"
        if dtype.name == f"{name}{dtype.bits}" and dtype.bits >= 8 and dtype.name != "complex32":
            return f"{'|' if dtype.bits == 8 else '<'}{kind}{dtype.bits // 8}"
    return dtype.name


def write_header(descr, shape, fortran_order, alignment=ALIGNMENT):
    """Return the header of a file, so long that the elements begin at a multiple of `alignment` bytes.

    >>> header = write_header("<f4", (2,), False)
    >>> len(header), header[10:47].decode()
    (256, "{'descr': '<f4', 'fortran_order': Fal")
    """
    sizes = f"{shape[0]}," if len(shape) == 1 else ", ".join(map(str, shape))
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': ({sizes}), }}"
    total = -(-(10 + len(text) + 1) // alignment) * alignment
    return MAGIC + b"\x01\x00" + (total - 10).to_bytes(2, "little") + text.ljust(total - 11).encode() + b"\n"
