# SPDX-License-Identifier: Apache-2.0
"""Checks of a `from_dlpack` with sound producers. Malformed ones are in hostile.py."""

import contextlib
import gc
import os

from .. import _probe
from ..observed import READ_ONLY, observe, patterns
from ..sources import SIX, Source, floats, with_table
from . import Broken, NotApplicable, check, expect, expect_values, reported_as, say

_SIX = list(SIX)


def shape_for(target):
    """Return the shape of six elements that a target takes: (2, 3), or (6,) where it knows one dimension only."""
    if not target.consumes:
        raise NotApplicable(f"{target.name} takes no arrays")
    if not hasattr(target, "shape"):
        errors = []
        for shape in ((2, 3), (6,)):
            try:
                target.take(Source(shape=shape))
            except Exception as error:
                errors.append(say(error))
            else:
                target.shape = shape
                break
        else:
            raise NotApplicable(f"takes no six float32: {'; '.join(errors)}")
    return target.shape


def plain(target, **fields):
    """Return fields of a source that the target takes, the reference for odd sources, or raise `NotApplicable`."""
    fields = {"shape": shape_for(target), **fields}
    with reported_as(NotApplicable, "refuses even the plain form:"):
        target.take(Source(**fields))
    return fields


def takes_versioned(target):
    """Return fields of a versioned source that the target takes, or raise `NotApplicable`."""
    return plain(target, answers="versioned")


def taken_as(target, right, what, **fields):
    """Import a source and expect these values."""
    source = Source(**{"shape": shape_for(target), **fields})
    with reported_as(Broken, f"{what} is refused:"):
        result = target.take(source)
    expect_values(right, values_of(result), f"{what} gives other values")
    return source


def look_at(result):
    """Return the imported array as its own export shows it; `NotApplicable` without an export."""
    with reported_as(NotApplicable, "the result cannot be read:"):
        return observe(result)


def values_of(result):
    """Return the values of an imported array, real ones as floats."""
    return look_at(result).values


def expect_deleted_once(source, what):
    """Collect garbage and raise `Broken` unless the deleter of each struct of a source ran once."""
    gc.collect()
    counts = [probe.deleted for probe in source.probes]
    expect(all(count == 1 for count in counts), f"{what} {counts} times, expected once")


class Returning:
    """A producer whose `__dlpack__` returns an object, or raises it if it is an exception."""

    def __init__(self, result):
        self.result = result

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@check(7, "consumer")
def wrong_float_bits_are_refused(target):
    """Import codes of 4- and 6-bit floats with 8 bits: refused."""
    shape = shape_for(target)
    for dtype in ((17, 8, 1), (15, 8, 1), (16, 8, 1)):
        try:
            target.take(Source(shape=shape, dtype=dtype))
        except Exception:
            continue
        raise Broken(f"code {dtype[0]} with {dtype[1]} bits is accepted; expected an exception")


@check(8, "consumer")
def packed_elements_keep_their_order(target):
    """Import six packed 4-bit integers and floats: the same bits come back."""
    shape, found = shape_for(target), 0
    for dtype in ((0, 4, 1), (1, 4, 1), (17, 4, 1)):
        try:
            result = target.take(Source(shape=shape, dtype=dtype, content=bytes((0x21, 0x43, 0x65))))
            struct = look_at(result).struct
        except Exception:
            continue
        found += 1
        if struct.dtype == dtype:
            got = patterns(struct)
            expect(got == [1, 2, 3, 4, 5, 6], f"packed elements {dtype} come back as {got}, expected 1 to 6")
    if not found:
        raise NotApplicable("takes no packed elements")


@check(10, "consumer")
def misaligned_memory_is_read_right(target):
    """Import float32 at 4, 16 and 1 bytes past alignment: right values, or an exception."""
    plain(target)
    for shift in (4, 16, 1):
        try:
            result = target.take(Source(shape=shape_for(target), shift=shift))
        except Exception:
            continue
        got = values_of(result)
        expect(got == _SIX, f"memory {shift} bytes past alignment is read as {got}, expected {_SIX}")


@check(12, "consumer")
def no_dimensions_need_no_pointers(target):
    """Import a 0-d tensor with NULL shape and strides, where one with pointers is taken."""
    plain(target, shape=())
    taken_as(target, [1.0], "a 0-d tensor with NULL shape and strides", shape=None, strides=None, ndim=0)


@check(13, "consumer")
def null_strides_mean_c_order(target):
    """Import NULL strides in a legacy struct and in one of version 1.1: right values."""
    tried = 0
    for answers, fields in (("legacy", {}), ("versioned", {"version": (1, 1)})):
        try:
            plain(target, answers=answers, **fields)
        except NotApplicable:
            continue
        tried += 1
        taken_as(target, _SIX, f"NULL strides in a {answers} struct", answers=answers, strides=None, **fields)
    if not tried:
        raise NotApplicable("takes neither")


@check(14, "consumer")
def byte_offset_is_added(target):
    """Import with byte_offset 8 and 64: the values behind it, or an exception."""
    for offset in (8, 64):
        numbers = [*range(-offset // 4, 0), *_SIX]
        source = Source(shape=shape_for(target), content=floats(numbers), byte_offset=offset)
        try:
            result = target.take(source)
        except Exception:
            continue
        got = values_of(result)
        expect(got == _SIX, f"byte_offset {offset}: the values are {got}, expected {_SIX}")


@check(16, "consumer")
def null_context_is_nothing(target):
    """Import with manager_ctx NULL: taken, and the deleter runs once."""
    plain(target)
    source = taken_as(target, _SIX, "manager_ctx NULL", context=0)
    gc.collect()
    expect(
        source.deleted == len(source.probes),
        f"manager_ctx is NULL and the deleter ran {source.deleted} times, expected {len(source.probes)}",
    )


@check(17, "consumer")
def null_deleter_is_legal(target):
    """Import with deleter NULL, and drop the array: nothing is called, the process lives."""
    plain(target)
    taken_as(target, _SIX, "deleter NULL", deleter=None)
    gc.collect()


@check(22, "consumer")
def read_only_is_kept(target):
    """Import READ_ONLY memory: the array is not writable, by its own export or its own attribute."""
    fields = takes_versioned(target)
    source = Source(**fields, flags=READ_ONLY)
    with reported_as(NotApplicable, "refuses read-only memory:"):
        result = target.take(source)
    try:
        seen = look_at(result)
    except NotApplicable:
        seen = None
    if seen is not None and seen.address != source.address:
        raise NotApplicable("copies")
    try:
        writable = bool(target.evaluate(target.row.writable if target.row else "", y=result))
    except NotApplicable:
        if seen is None or seen.is_marked_read_only is None:
            raise
        writable = not seen.is_marked_read_only
    expect(not writable, "READ_ONLY memory became a writable array without an error")


@check(23, "consumer")
def read_only_is_not_refused(target):
    """Import READ_ONLY memory: no exception."""
    fields = takes_versioned(target)
    with reported_as(Broken, "READ_ONLY memory is refused:"):
        target.take(Source(**fields, flags=READ_ONLY))


@check(25, "consumer")
def used_names_are_static(target):
    """Import from two producers: both capsules have the same name pointer."""
    kept = [Source(shape=shape_for(target), cached=True) for _ in range(2)]
    names = []
    for source in kept:
        target.take(source)
        if not _probe.name_of(source.hand_out()).startswith("used_"):
            raise NotApplicable("does not rename capsules")
        names.append(_probe.name_address(source.hand_out()))
    expect(
        names[0] == names[1],
        f"two used names are stored at {names[0]:#x} and {names[1]:#x}, expected one static string",
    )


@check(27, "consumer")
def capsule_is_renamed(target):
    """Import and look at the capsule: it is called used_..."""
    source = Source(shape=shape_for(target), cached=True)
    result = target.take(source)
    name = _probe.name_of(source.hand_out())
    expect(
        name.startswith("used_dltensor"),
        f"the capsule is still named {name!r} after the import, expected 'used_{name}'",
    )
    del result


@check(27, "consumer")
def deleter_waits_for_the_array(target):
    """Import, hold, drop: the deleter runs when the array goes, not before and not never."""
    source = Source(shape=shape_for(target))
    result = target.take(source)
    gc.collect()
    before = source.deleted
    try:
        shares = look_at(result).address == source.address
    except NotApplicable:
        shares = False
    expect(not shares or before < len(source.probes), "the deleter ran while the array lives")
    del result
    gc.collect()
    expect(
        source.deleted == len(source.probes),
        f"the array went, and the deleters of {len(source.probes)} structs ran {source.deleted} times",
    )


@check(28, "consumer")
def capsule_is_taken_once(target):
    """Import twice from a producer that gives the same capsule again: the second time is refused."""
    source = Source(shape=shape_for(target), cached=True)
    first = target.take(source)
    try:
        second = target.take(source)
    except Exception:
        second = None
    expect(second is None, "one capsule was consumed twice: two arrays own one struct")
    del first, second
    source.forget()
    gc.collect()
    expect(source.deleted == 1, f"the deleter ran {source.deleted} times, expected once")


@check(29, "consumer")
def deleter_runs_once_on_errors(target):
    """Import what may be refused (unknown codes, 3 lanes and none, absent devices): every deleter runs once."""
    shape = shape_for(target)
    for label, fields in (
        ("nothing odd", {}),
        ("code 200", {"dtype": (200, 32, 1)}),
        ("3 lanes", {"dtype": (2, 32, 3)}),
        ("0 lanes", {"dtype": (2, 32, 0)}),
        ("a CUDA device", {"device": (2, 0)}),
        ("a ROCm device", {"device": (10, 0)}),
        ("an unknown device", {"device": (99, 0)}),
    ):
        if label == "a CUDA device" and os.path.exists("/dev/nvidiactl"):
            continue
        source = Source(shape=shape, content=bytes(96), **fields)
        _probe.trying(label)
        with contextlib.suppress(Exception):
            target.take(source)
        expect_deleted_once(source, f"{label}: the deleter ran")


@check(32, "consumer")
def other_major_is_only_deleted(target):
    """Import a struct of major version 2 whose other fields lead nowhere: the deleter runs once, nothing is read."""
    fields = takes_versioned(target)
    source = Source(**{**fields, "version": (2, 0), "ndim": 3, "shape": 16, "strides": 16, "data": 16})
    with contextlib.suppress(Exception):
        target.take(source)
    expect_deleted_once(source, "a struct of major version 2 was deleted")


@check(33, "consumer")
def newer_minor_is_taken(target):
    """Import a struct of version 1.99 that says nothing new: taken."""
    taken_as(target, _SIX, "version 1.99", **{**takes_versioned(target), "version": (1, 99)})


@check(36, "consumer")
def other_major_is_refused(target):
    """Import a struct of version 2.0: refused."""
    fields = takes_versioned(target)
    try:
        target.take(Source(**fields, version=(2, 0)))
    except Exception:
        return
    raise Broken("a struct of version 2.0 is accepted as if it were 1.x; expected an exception")


@check(40, "consumer")
def version_is_asked_for(target):
    """Import and see how `__dlpack__` was called first: with max_version."""
    source = Source(shape=shape_for(target))
    target.take(source)
    if not source.asked:
        raise NotApplicable("__dlpack__ is not called")
    expect(
        source.asked[0]["max_version"] is not None,
        "__dlpack__ was called without max_version: what comes is legacy, without flags",
    )


def _takes_legacy(target):
    try:
        plain(target, answers="legacy")
    except NotApplicable as error:
        raise NotApplicable(f"takes no legacy capsule: {error}") from error


@check(40, "consumer")
def old_signatures_are_taken(target):
    """Import from a producer whose `__dlpack__` takes `stream` only: taken."""
    _takes_legacy(target)
    taken_as(target, _SIX, "a __dlpack__ of 2021.12", age="2021")


@check(40, "consumer")
def forwarded_signatures_are_taken(target):
    """Import from a producer that forwards keywords to a method without them, whose TypeError has frames: taken."""
    _takes_legacy(target)
    taken_as(target, _SIX, "a __dlpack__ that forwards to one of 2021.12", age="forwarded")


@check(45, "consumer")
def import_shares(target):
    """Import aligned memory without a copy: the array is at that address."""
    source = Source(shape=shape_for(target))
    result = target.take(source)
    address = look_at(result).address
    expect(
        address == source.address,
        f"the array lies at {address:#x}, the producer's memory at {source.address:#x}: copied",
    )


@check(48, "consumer")
def no_stream_is_passed_to_the_cpu(target):
    """Import host memory and see which stream was passed: none."""
    source = Source(shape=shape_for(target))
    target.take(source)
    streams = [asked["stream"] for asked in source.asked if asked.get("stream") is not None]
    expect(
        not streams, f"stream={streams[0] if streams else None} was passed to a producer of host memory, expected None"
    )


@check(57, "consumer")
def unknown_device_raises_buffer_error(target):
    """Import memory of a device that does not exist: BufferError, or held as such."""
    for device in ((99, 0), (7, 0)):
        _probe.trying(f"device {device}")
        try:
            result = target.take(Source(shape=shape_for(target), device=device))
        except BufferError:
            continue
        except Exception as error:
            raise Broken(f"device {device} raises {say(error)}; expected BufferError") from error
        try:
            kept = tuple(map(int, result.__dlpack_device__()))
        except Exception:
            continue
        expect(kept == device, f"memory of device {device} became an array on device {kept}")


@check(58, "consumer")
def exceptions_pass(target):
    """Import from producers that raise BufferError, ValueError, KeyboardInterrupt and one of their own: they arrive."""
    shape_for(target)
    for error in (BufferError("no"), ValueError("no"), type("Own", (Exception,), {})("no"), KeyboardInterrupt()):
        try:
            target.take(Returning(error))
        except BaseException as caught:
            expect(
                isinstance(caught, type(error)),
                f"the producer raised {type(error).__name__}, the caller got {say(caught)}",
            )
        else:
            raise Broken(f"the producer raised {type(error).__name__}, the caller got an array")


@check(59, "consumer")
def no_method_raises_attribute_error(target):
    """Import an object without `__dlpack__`: AttributeError."""
    shape_for(target)
    try:
        target.take(object())
    except AttributeError:
        return
    except Exception as error:
        raise Broken(f"an object without __dlpack__ raises {say(error)}; expected AttributeError") from error
    raise Broken("an object without __dlpack__ is accepted")


def _with_copy(target, source, copy):
    with reported_as(NotApplicable, "from_dlpack takes no copy=:", kinds=TypeError):
        return target.take(source, copy=copy)


@check(60, "consumer")
def copy_true_copies(target):
    """Import with copy=True: other memory, right values, later writes of the producer do not show."""
    source = Source(shape=shape_for(target))
    with reported_as(Broken, "from_dlpack(copy=True) raises", "; expected a copy"):
        result = _with_copy(target, source, True)
    got = look_at(result)
    expect(got.values == _SIX, f"the copy holds {got.values}, expected {_SIX}")
    expect(got.address != source.address, f"from_dlpack(copy=True) shares the producer's memory at {got.address:#x}")
    source.write([99.0] * 6)
    expect(values_of(result) == _SIX, "from_dlpack(copy=True): a later write of the producer shows in the copy")


@check(60, "consumer")
def copy_false_shares(target):
    """Import with copy=False: the producer's memory, or BufferError or ValueError."""
    source = Source(shape=shape_for(target))
    try:
        result = _with_copy(target, source, False)
    except (BufferError, ValueError):
        return
    address = look_at(result).address
    expect(address == source.address, f"from_dlpack(copy=False) copied: {address:#x} instead of {source.address:#x}")


@check(61, "consumer")
def device_is_kept(target):
    """Import host memory: the array says so."""
    result = target.take(Source(shape=shape_for(target)))
    if not hasattr(result, "__dlpack_device__"):
        raise NotApplicable("the result has no __dlpack_device__")
    got = result.__dlpack_device__()
    expect(got[0] == 1 or getattr(got[0], "value", 0) == 1, f"host memory became an array on device {got!r}")


@check(62, "consumer")
def host_can_be_asked_for(target):
    """Import with device= the framework's CPU: an array, or BufferError."""
    device = target.evaluate(target.row.cpu if target.row else "")
    source = Source(shape=shape_for(target))
    try:
        result = target.take(source, device=device)
    except BufferError:
        return
    except Exception as error:
        raise Broken(f"from_dlpack(device={device!r}) raises {say(error)}; expected an array or BufferError") from error
    got = values_of(result)
    expect(got == _SIX, f"from_dlpack(device={device!r}) holds {got}")


def uses_tables(target):
    """Raise `NotApplicable` unless the target calls a sound exchange table of a type."""
    target.take(with_table(Source(shape=shape_for(target))))
    if not _probe.table_calls()[0]:
        raise NotApplicable("does not use exchange tables")


@check(67, "consumer")
def other_table_is_left_alone(target):
    """Import from a type whose table has major version 2: no function of it is called."""
    uses_tables(target)
    with contextlib.suppress(Exception):
        target.take(with_table(Source(shape=shape_for(target)), version=(2, 0)))
    calls, _ = _probe.table_calls()
    expect(not calls, f"a table of version 2.0 was used: {', '.join(calls)} called")


@check(70, "consumer")
def view_may_be_missing(target):
    """Import from a type whose table has no view function: accepted."""
    uses_tables(target)
    with reported_as(Broken, "a table without dltensor_from_py_object is refused:"):
        result = target.take(with_table(Source(shape=shape_for(target)), missing=("view",)))
    expect(values_of(result) == _SIX, "wrong values through a table without dltensor_from_py_object")


@check(73, "consumer")
def table_gets_its_object(target):
    """Import through a table and see which object it was called with: the producer."""
    uses_tables(target)
    source = with_table(Source(shape=shape_for(target)))
    target.take(source)
    _, objects = _probe.table_calls()
    expect(set(objects) == {id(source)}, "the table was called with an object of another type")
