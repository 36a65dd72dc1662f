# SPDX-License-Identifier: Apache-2.0
"""Checks of a `from_dlpack` with tensors and capsules that are malformed or odd: refused or right, never a crash.

A check records each step before it, so that a crash can be attributed to it.
"""

from .. import _probe
from ..observed import patterns
from ..sources import SIX, Source, floats, with_table
from . import Broken, NotApplicable, check, expect, expect_values
from .consumer import Returning, expect_deleted_once, look_at, shape_for, uses_tables

_SIX = list(SIX)


def _survive(target, label, right=None, verify=None, **fields):
    """Import a source: an exception, these values, or a result that `verify` accepts; the deleter runs once."""
    _probe.trying(label)
    source = Source(**{"shape": shape_for(target), **fields})
    try:
        result = target.take(source)
    except Exception:
        result = None
    else:
        if verify is not None:
            verify(label, source, result)
        elif right is None:
            raise Broken(f"{label}: accepted; expected an exception")
        else:
            expect_values(right, look_at(result).values, f"{label}: expected the right values or an exception")
    _probe.trying(f"{label}, releasing it")
    del result
    expect_deleted_once(source, f"{label}: the deleter ran")


def _keeps_dtype(label, source, result):
    """Any accepted dtype is valid if its own export has the same dtype."""
    try:
        struct = look_at(result).struct
    except NotApplicable:
        return
    expect(struct.dtype == source.dtype, f"{label}: became {struct.dtype}, silently")


@check("H1", "consumer")
def absurd_ndim(target):
    """ndim of -1, of -2**31 and of 2**31 - 1 over short arrays."""
    for ndim in (-1, -(2**31), 2**31 - 1):
        _survive(target, f"ndim {ndim}", ndim=ndim)


@check("H2", "consumer")
def missing_shape(target):
    """Two dimensions and a NULL shape."""
    _survive(target, "shape NULL with ndim 2", shape=None, ndim=2, strides=None)


@check("H3", "consumer")
def negative_extents(target):
    """Extents of -1, of -2 and -3, of -2**63."""
    for shape in ((-1, 3), (-2, -3), (-(2**63), 1)) if len(shape_for(target)) == 2 else ((-1,), (-(2**63),)):
        _survive(target, f"shape {shape}", shape=shape)


@check("H4", "consumer")
def too_many_elements(target):
    """Numbers of elements and bytes that do not fit 64 bits."""
    cases = [(2**40, 2**40), (2**32, 2**32), (2**61, 2)] if len(shape_for(target)) == 2 else [(2**62,)]
    for shape in cases:
        for strides in ("c", None):
            _survive(target, f"shape {shape}{'' if strides else ', strides NULL'}", shape=shape, strides=strides)


@check("H4", "consumer")
def overflow_around_zero(target):
    """Huge extents beside one of 0: empty or refused."""
    if len(shape_for(target)) == 1:
        raise NotApplicable("takes one dimension only")
    _survive(target, "shape (2**40, 0, 2**40)", right=[], shape=(2**40, 0, 2**40), verify=lambda *_: None)


@check("H5", "consumer")
def strides_out_of_this_world(target):
    """Strides of 2**62, 2**63 - 1 and -2**63."""
    for first in (2**62, 2**63 - 1, -(2**63)):
        shape, strides = ((3, 2), (first, 1)) if len(shape_for(target)) == 2 else ((6,), (first,))
        _survive(target, f"strides {strides}", shape=shape, strides=strides)


@check("H6", "consumer")
def null_data(target):
    """data NULL with six elements."""
    _survive(target, "data NULL with six elements", data=0)


@check("H7", "consumer")
def negative_strides(target):
    """A stride of -3 from the last row, as x[::-1] exports it."""
    if len(shape_for(target)) == 2:
        rows = Source(strides=(-3, 1))
        _survive(
            target, "strides (-3, 1)", right=[4.0, 5.0, 6.0, 1.0, 2.0, 3.0], strides=(-3, 1), data=rows.address + 12
        )
    else:
        _survive(target, "stride -1", right=_SIX[::-1], strides=(-1,), data=Source().address + 20)


@check("H8", "consumer")
def repeated_elements(target):
    """Strides of 0, and rows that overlap."""
    if len(shape_for(target)) == 1:
        _survive(target, "stride 0", right=[1.0] * 6, strides=(0,))
        return
    _survive(target, "strides (0, 1)", right=[1.0, 2.0, 3.0] * 2, strides=(0, 1))
    _survive(target, "strides (1, 1)", right=[1.0, 2.0, 3.0, 2.0, 3.0, 4.0], strides=(1, 1))


@check("H9", "consumer")
def absurd_elements(target):
    """0 bits, 0 lanes, a code of 200, integers of 7 bits."""
    for dtype in ((2, 0, 1), (2, 32, 0), (200, 32, 1), (0, 7, 1)):
        _survive(target, f"code {dtype[0]}, {dtype[1]} bits, {dtype[2]} lanes", verify=_keeps_dtype, dtype=dtype)


@check("H10", "consumer")
def absurd_byte_offset(target):
    """byte_offset of 2**64 - 4 and of 2**63."""
    for offset in (2**64 - 4, 2**63):
        _survive(target, f"byte_offset {offset}", byte_offset=offset)


@check("H11", "consumer")
def no_capsule(target):
    """None, 5, a capsule of another name and a used one, from `__dlpack__`."""
    shape_for(target)
    probe = _probe.Probe(owned=floats())
    for label, thing in (
        ("None", None),
        ("5", 5),
        ("a capsule named xdltensor", probe.capsule("xdltensor", False)),
        ("a used capsule", probe.capsule("used_dltensor", False)),
        ("a used versioned capsule", probe.capsule("used_dltensor_versioned", False)),
    ):
        _probe.trying(label)
        try:
            target.take(Returning(thing))
        except Exception:
            continue
        raise Broken(f"__dlpack__ returned {label}: accepted; expected an exception")


@check("H12", "consumer")
def contradicting_devices(target):
    """`__dlpack_device__` says CPU and the struct says CUDA, and the reverse."""

    def verify(label, source, result):
        try:
            kept = tuple(map(int, result.__dlpack_device__()))
        except Exception:
            return
        expect(kept == source.probes[-1].struct.device, f"{label}: became an array on device {kept}")

    _survive(target, "__dlpack_device__ says (1, 0), the struct (2, 0)", verify=verify, device=(2, 0), reports=(1, 0))
    _survive(target, "__dlpack_device__ says (2, 0), the struct (1, 0)", verify=verify, reports=(2, 0))


@check("H13", "consumer")
def broken_tables(target):
    """Tables with NULL functions, with functions that give NULL, and that fail without an error."""
    uses_tables(target)
    for label, fields in (
        ("a table without from_py_object", {"missing": ("from", "view")}),
        ("a table that gives NULL", {"manner": "give NULL"}),
        ("a table that fails without an error", {"silent": True, "missing": ("view",)}),
    ):
        _probe.trying(label)
        try:
            result = target.take(with_table(Source(shape=shape_for(target)), **fields))
        except Exception:
            continue
        got = look_at(result).values
        expect(got == _SIX, f"{label}: the values are {got}, expected {_SIX} or an exception")


@check("H14", "consumer")
def strides_of_one_element(target):
    """A stride of 77 along a dimension of one element."""
    if len(shape_for(target)) == 1:
        raise NotApplicable("takes one dimension only")
    _survive(target, "shape (1, 6), strides (77, 1)", right=_SIX, shape=(1, 6), strides=(77, 1))


@check("H15", "consumer")
def elements_stay_what_they_are(target):
    """Every element type of the standard: refused, or exported again as the same."""
    types = [(0, 64), (1, 16), (1, 64), (2, 16), (2, 64), (4, 16), (5, 64), (5, 128), (6, 8), (10, 8), (12, 8), (17, 4)]
    for dtype in [*((code, bits, 1) for code, bits in types), (17, 4, 2)]:
        _survive(target, f"(code, bits, lanes) {dtype}", verify=_keeps_dtype, dtype=dtype, content=bytes(96))


@check("H16", "consumer")
def memory_that_is_not_there(target):
    """CUDA and ROCm memory on a machine without."""
    for device in ((2, 0), (10, 0)):
        _survive(target, f"device {device}", verify=lambda *_: None, device=device)


@check("H17", "consumer")
def two_lanes(target):
    """Three elements of two float32 lanes: six numbers, or an exception."""

    def verify(label, source, result):
        try:
            struct = look_at(result).struct
            got = [
                n
                for number in patterns(struct)
                for n in ([number & 0xFFFFFFFF, number >> 32] if struct.dtype[2] == 2 else [number])
            ]
        except NotApplicable:
            return
        wanted = patterns(_probe.Probe(owned=floats()).struct)
        expect(got == wanted, f"{label}: the six numbers came as {len(got)}, with bit patterns {got[:4]}")

    _survive(target, "float32 with 2 lanes", verify=verify, shape=(3,), dtype=(2, 32, 2))
