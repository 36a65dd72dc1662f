# SPDX-License-Identifier: Apache-2.0
"""The rules of DLPack as one table: number, severity, source and text of each. The checks are elsewhere.

Sources: H is dlpack.h 1.3, P the Python specification beside it, A the array API standard 2025.12; "ours" marks
robustness rules that no standard states: a malformed tensor is refused and does not crash.
Severity is the standard's own word. A definition ("byte_offset is in bytes") is MUST: a library
that reads it differently reads wrong values. Where two sources disagree, the weaker word is used and the text
mentions it.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One requirement of the standard."""

    id: str
    severity: str
    source: str
    text: str
    undecidable: str = ""

    @property
    def decidable(self):
        """True if it can be checked on a machine without a GPU."""
        return not self.undecidable


_NO_GPU = "needs a device with streams, and a race that exposes a missing wait"

_TABLE = r"""
# Fields of a struct
R1 MUST H: A versioned struct carries the version of its layout: major 1 with the fields of 1.x, and a minor that
    knows every code it uses.
R2 SHOULD H: Bits of `flags` that the standard does not name are 0.
R3 MUST H: Elements are in the byte order of the machine; exporting any other order is an error.
R4 SHOULD H: `dtype.code` is a code of the standard.
R5 MUST H: A complex element has code 5 (18 for two bfloat16), the bits of both parts together, one lane.
R6 MUST H: A bool has code 6, 8 bits, one lane.
R7 MUST H: The codes of 8-, 6- and 4-bit floats come with 8, 6 and 4 bits; a consumer refuses others.
R8 MUST H: Packed elements lie little-endian by bits: element i is `(D >> (i * bits)) & mask`.
R9 MUST H: Elements below a byte are packed, unless IS_SUBBYTE_TYPE_PADDED says that each has its own byte.
R10 SHOULD H: `data` is aligned to 256 bytes and byte_offset leads to the start. The header says must, and adds that
    libraries do not comply and that no consumer should rely on it: so consumers take less aligned memory.
R11 SHOULD H, P: A tensor without elements has `data` NULL.
R12 MUST H: From 1.2 on `strides` is not NULL when there are dimensions; without dimensions shape and strides may be
    NULL.
R13 MUST H, P: Before 1.2 and in legacy structs `strides` NULL means C order.
R14 MUST H: The elements of the array lie where the struct says: at data + byte_offset, strides counted in elements,
    byte_offset in bytes.
R15 MUST H: `device_id` is 0 for plain, pinned and managed host memory.
R16 MUST H: `manager_ctx` may be NULL: a consumer does not look at it, and calls the deleter all the same.
R17 MUST H: `deleter` may be NULL: a consumer then calls nothing.
R18 MUST H: The deleter frees the struct itself too.
R19 MUST P: Exporting copies no memory where it can be avoided.
R20 MUST A: A copy that was made for the export is marked IS_COPIED.
R21 MUST H: Memory marked IS_COPIED belongs to the consumer alone until it calls the deleter.
R22 SHOULD H: Immutable memory is marked READ_ONLY, and the mark survives an import and an export.
R23 SHOULD A: A consumer without read-only arrays ignores the flag rather than raise.
# Capsules and their ownership
R24 MUST P: A capsule is named `dltensor` (legacy struct) or `dltensor_versioned`.
R25 MUST P: Names of capsules, used ones too, are stored statically: they outlive the capsule's maker.
R26 MUST P: An unconsumed capsule calls the deleter when it goes; a consumed one does not.
R27 MUST P: A consumer renames the capsule to `used_...` and calls the deleter when its own object goes.
R28 MUST P: A capsule is consumed at most once.
R29 MUST P: The deleter is called once per struct, also when importing fails.
R30 MUST P: The deleter may be called from any thread, without the GIL.
R31 SHOULD P: The deleter may be called after the interpreter is gone: it leaks rather than crashes.
R32 MUST H: Of a struct of another major version a consumer calls the deleter and reads nothing else.
R33 MAY H: A struct of a newer minor version may be used when all it says is understood.
R34 MUST P: Producer and consumer stay usable after the exchange, in whichever order they go.
# The arguments of __dlpack__
R35 SHOULD A: `__dlpack__` takes `max_version=(major, minor)` and returns that version or its own.
R36 MUST A: A consumer looks at the version it got, whatever it asked for.
R37 MUST A: Without max_version the capsule is legacy, or BufferError is raised.
R38 SHOULD A: Asked for a major version that it knows, a producer returns it versioned.
R39 SHOULD A: Asked for a major version older than its own, a producer returns an older struct or BufferError.
R40 SHOULD A: A consumer passes the keywords of 2023.12 and falls back when the producer does not know them.
R41 MUST A: A `dl_device` that cannot be served raises BufferError.
R42 MUST A: Export to host memory, `dl_device=(1, 0)`, is offered.
R43 MUST A: `copy=False` never copies: it shares or raises BufferError.
R44 MUST A: `copy=True` always copies.
R45 MUST A: `copy=None` shares the memory where that is possible.
R46 MUST A: A copy is made on the consumer's stream. Undecidable: NO_GPU
R47 MUST A: With `dl_device` the CPU, `stream` is None: another stream is refused.
R48 MUST A: For host memory `stream` is None; other values than None and -1 are refused, and a consumer passes none.
R49 MUST A: -1 asks the producer not to synchronize. Undecidable: NO_GPU
R50 MUST A: CUDA: None or 1 the legacy stream, 2 the per-thread stream, above 2 a handle; 0 is refused. Undecidable:
    NO_GPU
R51 MUST A: ROCm: None or 0 the default stream, above 2 a handle; 1 and 2 are refused. Undecidable: NO_GPU
R52 MUST P: A consumer passes the stream it will use, and the producer makes it wait as needed. Undecidable: NO_GPU
R53 MUST A: The stream stays the consumer's. Undecidable: a stream taken over or destroyed shows only in later use of
    a device
R54 SHOULD A: What cannot be exported raises BufferError.
R55 MUST A: `__dlpack_device__` returns a pair of integers.
R56 MAY A: `__dlpack_device__` may raise BufferError, or be left out with `__dlpack__`. Undecidable: a permission:
    nothing can break it
R57 SHOULD P: A consumer that does not know a device raises BufferError.
# from_dlpack
R58 MUST A: What the producer raises reaches the caller of from_dlpack as it is.
R59 SHOULD A: An object without `__dlpack__` raises AttributeError. The standard names the exception, libraries mostly
    raise TypeError: reported only.
R60 MUST A: `from_dlpack(copy=True)` copies, `copy=False` never does.
R61 MUST A: `from_dlpack(device=None)` keeps the device.
R62 MUST A: `from_dlpack` offers a way to host memory or raises BufferError.
# The exchange table
R63 SHOULD P, A: The array type offers `__dlpack_c_exchange_api__`. P says must, the draft of A says optional.
R64 MUST H: It is a PyCapsule named `dlpack_exchange_api`.
R65 MUST H: It is found on the type and is the same each time.
R66 MUST H: The table lives as long as the process. Undecidable: only a crash much later would show that it did not
R67 MUST H: A consumer checks the table's major version before it calls anything.
R68 MUST H: `prev_api` is NULL or leads, in finitely many steps, to tables of older versions.
R69 MUST H: All functions but dltensor_from_py_object_no_sync are there.
R70 MAY H: dltensor_from_py_object_no_sync may be NULL: a consumer uses another path.
R71 MUST H: The table's functions return -1 with an error set; nothing is thrown across them.
R72 MUST H: The allocator calls SetError when it fails and only then, and leaves no Python error.
R73 MUST H: A consumer passes the table an object of the type where it found it.
R74 SHOULD H: What cannot be described raises BufferError through the table too.
R75 MUST H: The no_sync functions do not synchronize. Undecidable: NO_GPU
R76 MUST H: managed_tensor_to_py_object_no_sync takes the tensor over.
R77 MUST H: The borrowed view describes the same memory as the export.
R78 MAY H: The current stream of the CPU may be NULL, but it is written.
R79 SHOULD P: The table is not for foreign-function calls without the GIL. Undecidable: advice to callers, not a
    property of a library
# Rules of no standard. A consumer either raises or returns the right values; it never crashes or returns other values,
# and calls the deleter once.
H1 SHOULD ours: A number of dimensions that makes no sense (-1, -2**31, 1000, 2**31 - 1) is refused.
H2 SHOULD ours: Dimensions without a shape are refused.
H3 SHOULD ours: Negative extents are refused.
H4 SHOULD ours: A number of elements or bytes beyond 64 bits is refused.
H5 SHOULD ours: Strides that lead out of the address space are refused.
H6 SHOULD ours: A NULL `data` with elements is refused, neither read nor replaced by other memory.
H7 SHOULD ours: Negative strides are legal: right values or an exception.
H8 SHOULD ours: Zero strides and overlapping elements are legal: right values or an exception.
H9 SHOULD ours: Element types that make no sense (0 bits, 0 lanes, unknown codes) are refused or held, not read as
    others.
H10 SHOULD ours: A byte_offset beyond the address space is refused.
H11 SHOULD ours: An object that is not a DLPack capsule, or a used capsule, is refused.
H12 SHOULD ours: A `__dlpack_device__` that contradicts the struct is refused or ignored, never trusted.
H13 SHOULD ours: A table whose functions are NULL or return nothing is refused or ignored.
H14 SHOULD ours: Strides of dimensions with one element mean nothing.
H15 SHOULD ours: An element type is imported as itself: not as another of the same width, not narrowed.
H16 SHOULD ours: Memory of an absent device is refused or held, never accessed on import.
H17 SHOULD ours: More than one lane is refused, held or shown as an axis: no elements are dropped.
"""


def _rules():
    """Yield the rules of the table; a line that begins with a space continues the one before it."""
    for name, severity, source, text in re.findall(r"^(\w+) (\w+) ([^:]+): (.+(?:\n .+)*)", _TABLE, re.M):
        text, _, reason = " ".join(text.split()).partition(" Undecidable: ")
        yield Rule(name, severity, source, text, _NO_GPU if reason == "NO_GPU" else reason)


RULES = {rule.id: rule for rule in _rules()}


def find(name):
    """Return the rule of an id as a user types it: ``R20``, ``r20``, ``20``, ``H6``. KeyError names the known ones.

    >>> find("20").severity
    'MUST'
    """
    key = str(name).strip().upper()
    key = f"R{key}" if key.isdigit() else key
    if key not in RULES:
        raise KeyError(f"find: expected a rule from R1 to R79 or H1 to H17, got {name!r}")
    return RULES[key]
