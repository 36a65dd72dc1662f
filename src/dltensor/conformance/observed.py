# SPDX-License-Identifier: Apache-2.0
"""The content of a struct, read element by element without a framework: bit patterns, values, addresses."""

import itertools
import math
import struct as packing
from dataclasses import dataclass

from . import _probe

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
_FORMATS = {
    (2, 16): "e",
    (2, 32): "f",
    (2, 64): "d",
    (0, 8): "b",
    (0, 16): "h",
    (0, 32): "i",
    (0, 64): "q",
    (1, 8): "B",
    (1, 16): "H",
    (1, 32): "I",
    (1, 64): "Q",
    (6, 8): "B",
}
TABLE_ATTRIBUTES = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")


def strides_of(struct):
    """Return strides in elements, those of C order where the pointer is NULL."""
    if struct.strides is not None:
        return struct.strides
    shape = struct.shape or ()
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def patterns(struct):
    """Return the elements in C order as bit patterns, integers; lanes are part of an element."""
    _, bits, lanes = struct.dtype
    if not 0 <= struct.ndim <= 64 or (struct.ndim and struct.shape is None) or not bits * lanes:
        raise ValueError(
            f"patterns: a struct with ndim {struct.ndim}, shape {struct.shape} and {bits} x {lanes} bits cannot be read"
        )
    width, start = bits * lanes, struct.data + struct.byte_offset
    padded = bool(struct.flags & PADDED) and width < 8
    found = []
    for index in itertools.product(*map(range, struct.shape or ())):
        at = sum(i * s for i, s in zip(index, strides_of(struct), strict=True))
        first = at * (8 if padded else width)
        size = (first % 8 + width + 7) // 8
        number = int.from_bytes(_probe.bytes_at(start + first // 8, size), "little")
        found.append((number >> (first % 8)) & ((1 << width) - 1))
    return found


def values(struct):
    """Return the elements in C order as Python numbers; bit patterns where Python has no such number."""
    code, bits, lanes = struct.dtype
    form = _FORMATS.get((code, bits))
    numbers = patterns(struct)
    if code == 4 and lanes == 1:
        return [packing.unpack("<f", packing.pack("<I", n << 16))[0] for n in numbers]
    if code == 5 and bits in (64, 128):
        half = "f" if bits == 64 else "d"
        return [complex(*packing.unpack(f"<2{half}", n.to_bytes(bits // 8, "little"))) for n in numbers]
    if form is None:
        return numbers
    wide = [packing.unpack(f"<{lanes}{form}", n.to_bytes(bits * lanes // 8, "little")) for n in numbers]
    return [number for lane in wide for number in lane]


@dataclass(frozen=True)
class Observed:
    """An array as seen through its own export."""

    struct: object
    values: list
    address: int

    @property
    def is_marked_read_only(self):
        """True if the export says READ_ONLY; None when it is legacy and cannot say."""
        return None if self.struct.legacy else bool(self.struct.flags & READ_ONLY)


def difference(right, got):
    """Return the first element that differs from the right values as text, or ""; a NaN equals a NaN."""
    if len(right) != len(got):
        return f"there are {len(got)} elements, expected {len(right)}"
    for place, (a, b) in enumerate(zip(right, got, strict=True)):
        if a != b and (a == a or b == b):
            return f"element {place} is {b}, expected {a}"
    return ""


def export(thing, **keywords):
    """Call ``__dlpack__`` of an object with these keywords only."""
    return thing.__dlpack__(**keywords)


def newest_export(thing):
    """Return a capsule of an object, versioned if possible: the call is that of 2023.12, then of 2021.12."""
    try:
        return export(thing, max_version=(1, 3))
    except TypeError as error:
        if type(error) is not TypeError:  # it is the export's own, not of the signature
            raise
        return export(thing)


def seen(struct, where):
    """Read all elements of a struct that says it is in host memory."""
    if struct.device[0] not in (1, 3, 11, 13):
        raise ValueError(f"{where}: memory of device {struct.device} cannot be read here")
    return Observed(struct, values(struct), struct.data + struct.byte_offset)


def observe(thing):
    """Read an array of any framework through a fresh export, which is released again."""
    taken = _probe.take(newest_export(thing))
    try:
        return seen(taken.struct, "observe")
    finally:
        taken.delete_holding_the_gil()
