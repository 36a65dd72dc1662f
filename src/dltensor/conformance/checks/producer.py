# SPDX-License-Identifier: Apache-2.0
"""Checks of an array's `__dlpack__` and `__dlpack_device__`: fields, values, arguments. Lifetimes are elsewhere."""

import contextlib
import gc

import dltensor as dl

from .. import _probe
from ..observed import IS_COPIED, PADDED, READ_ONLY, export, newest_export, observe, patterns, seen
from ..targets import BASE, LAYOUTS
from . import Broken, NotApplicable, check, expect, expect_values, reported_as, say

# From which minor version on a code of an element type may be used.
_FIRST_MINOR = {code: 1 for code in range(7, 18)} | {18: 4}
_FLOATS_OF_8_6_4 = {**dict.fromkeys(range(7, 15), 8), 15: 6, 16: 6, 17: 4}
_SUBBYTE = ("float4_e2m1fn", "int4", "uint4", "int2", "uint2", "float6_e2m3fn", "float6_e3m2fn")


@contextlib.contextmanager
def exported(thing, **keywords):
    """Yield the struct of an export, and delete it afterwards."""
    taken = _probe.take(export(thing, **keywords) if keywords else newest_export(thing))
    try:
        yield taken.struct
    finally:
        taken.delete_holding_the_gil()


def repeatable(thing):
    """Return the array, or raise `NotApplicable` when it can be exported only once."""
    _probe.take(newest_export(thing)).delete_holding_the_gil()
    with reported_as(NotApplicable, "a second export raises"):
        _probe.take(newest_export(thing)).delete_holding_the_gil()
    return thing


def export_with(keyword, thing, **keywords):
    """Export with a keyword that older producers do not take: they raise `NotApplicable`."""
    with reported_as(NotApplicable, f"{keyword} is not taken:", kinds=TypeError):
        return export(thing, **keywords)


def versioned(thing, **keywords):
    """Return the capsule of a versioned export; `NotApplicable` when the producer has legacy ones only."""
    capsule = export_with("max_version", thing, max_version=(1, 3), **keywords)
    if _probe.look(capsule).legacy:
        raise NotApplicable("exports legacy structs only")
    return capsule


def every_export(target, layouts=tuple(LAYOUTS), dtypes=("float32",)):
    """Yield (label, struct) of everything that the target can make and export."""
    found = 0
    for dtype in dtypes:
        for layout in layouts:
            try:
                thing = target.make(layout, dtype)
                capsule = newest_export(thing)
            except Exception:
                continue  # other checks cover arrays that cannot be created or exported
            found += 1
            yield f"{dtype} {layout}", _probe.look(capsule)
    if not found:
        raise NotApplicable(f"nothing of {', '.join(layouts)} x {', '.join(dtypes[:4])} can be exported")


@check(1, "producer")
def version_is_known(target):
    """Export every element type versioned: the major version is 1 and the minor one knows the type's code."""
    versioned(target.make())
    for label, struct in every_export(target, ("c",), tuple(dl.DTYPES)):
        if struct.legacy:
            continue
        expect(struct.version[0] == 1, f"{label}: version {struct.version}, expected a struct of major version 1")
        needed = _FIRST_MINOR.get(struct.dtype[0], 0)
        # Codes newer than 1.3 are on the main branch, whose header still says 1.3.
        expect(
            struct.version[1] >= min(needed, 3),
            f"{label}: code {struct.dtype[0]} exists since 1.{needed}, the struct says {struct.version}",
        )


@check(2, "producer")
def flags_are_known(target):
    """Export versioned: no bit of `flags` beyond READ_ONLY, IS_COPIED and IS_SUBBYTE_TYPE_PADDED."""
    flags = _probe.look(versioned(target.make())).flags
    expect(not flags & ~7, f"flags {flags:#x}, expected none beyond 0x7")


@check(3, "producer")
def byte_order_is_native(target):
    """Export an array in the other byte order: an exception, or the right values."""
    thing = target.make("swapped")
    try:
        got = observe(thing)
    except Exception:
        return
    expect(
        target.expected("swapped") in (None, got.values) and target.row,
        f"an array in the other byte order was exported: {got.values[:3]}, expected BufferError",
    )


@check(4, "producer")
def codes_are_known(target):
    """Export every element type: the code is one of the standard."""
    for label, struct in every_export(target, ("c",), tuple(dl.DTYPES)):
        expect(
            struct.dtype[0] <= max(dl.DataTypeCode),
            f"{label}: code {struct.dtype[0]}, which the standard does not have",
        )


def _dtype_of(target, name):
    with exported(target.make(dtype=name)) as struct:
        return struct.dtype


@check(5, "producer")
def complex_is_whole(target):
    """Export complex64, complex128 and complex32: code 5, bits of the whole element, one lane."""
    found = 0
    for name, bits in (("complex64", 64), ("complex128", 128), ("complex32", 32)):
        try:
            got = _dtype_of(target, name)
        except Exception:
            continue
        else:
            found += 1
            expect(got == (5, bits, 1), f"{name} exported as (code, bits, lanes) {got}, expected {(5, bits, 1)}")
    if not found:
        raise NotApplicable(f"{target.name} has no complex elements")


@check(6, "producer")
def bool_is_bool(target):
    """Export bool: code 6, 8 bits, one lane."""
    with reported_as(NotApplicable, "bool is not exported:"):
        got = _dtype_of(target, "bool")
    expect(got == (6, 8, 1), f"bool exported as (code, bits, lanes) {got}, expected (6, 8, 1)")


@check(7, "producer")
def small_floats_have_their_bits(target):
    """Export all 8-, 6- and 4-bit floats: the code comes with its bits."""
    names = tuple(name for name, dtype in dl.DTYPES.items() if dtype.code in _FLOATS_OF_8_6_4)
    found = 0
    for label, struct in every_export(target, ("c",), names):
        bits = _FLOATS_OF_8_6_4.get(struct.dtype[0])
        found += bits is not None
        expect(
            bits in (None, struct.dtype[1]),
            f"{label}: code {struct.dtype[0]} with {struct.dtype[1]} bits, expected {bits}",
        )
    if not found:
        raise NotApplicable("none of them is exported under its code")


def _subbytes(target):
    """Yield (name, struct, capsule that keeps it, right bit patterns, bits) for each type below a byte."""
    found = 0
    for name in _SUBBYTE:
        try:
            thing = target.make(dtype=name)
            capsule = newest_export(thing)
        except Exception:
            continue
        struct = _probe.look(capsule)
        if struct.dtype[1] >= 8:
            continue
        found += 1
        content = [[int(n) for n in line] for line in BASE] if "int" in name else BASE
        example = dl.asarray(content, dtype=name).__dlpack__(max_version=(1, 3))
        right = patterns(_probe.look(example))
        whole = struct.dtype[1] * struct.dtype[2]
        if struct.dtype[2] > 1:
            per = struct.dtype[2]
            right = [
                sum(n << (struct.dtype[1] * i) for i, n in enumerate(right[at : at + per]))
                for at in range(0, len(right), per)
            ]
        yield name, struct, capsule, right, whole
    if not found:
        raise NotApplicable(f"{target.name} exports no elements below a byte")


@check(8, "producer")
def packing_is_little_endian(target):
    """Export types below a byte: the first element is in the low bits."""
    for name, struct, _, right, whole in _subbytes(target):
        if whole >= 8 or 8 % whole or struct.flags & PADDED:
            continue
        raw = _probe.bytes_at(struct.data + struct.byte_offset, len(right) * whole // 8)
        swapped = [(byte >> (8 - whole - shift)) & ((1 << whole) - 1) for byte in raw for shift in range(0, 8, whole)]
        expect(swapped != right, f"{name}: elements lie high bits first, expected low bits first")


@check(9, "producer")
def subbytes_are_packed_or_marked(target):
    """Export types below a byte: packed, or one per byte with the flag that says so."""
    for name, struct, _, right, whole in _subbytes(target):
        if whole >= 8 or struct.flags & PADDED:
            continue
        raw = _probe.bytes_at(struct.data + struct.byte_offset, len(right) * whole // 8)
        beginning = [byte & ((1 << whole) - 1) for byte in raw]
        padded = beginning == right[: len(raw)] and patterns(struct) != right
        how = "in a legacy struct, which cannot say so" if struct.legacy else "without IS_SUBBYTE_TYPE_PADDED"
        expect(not padded, f"{name}: one element per byte is exported as {struct.dtype[1]} bits {how}")


@check(10, "producer")
def data_is_aligned(target):
    """Export eight fresh contiguous arrays: `data` is a multiple of 256."""
    kept = [target.make() for _ in range(8)]
    worst = min(struct.data & -struct.data for struct in (_probe.look(newest_export(thing)) for thing in kept))
    expect(worst >= 256, f"data is aligned to {worst} bytes, expected 256")


@check(11, "producer")
def empty_data_is_null(target):
    """Export an array without elements: `data` is NULL."""
    with exported(target.make("empty")) as struct:
        expect(not struct.data, f"shape {struct.shape}: data is {struct.data:#x}, expected NULL")


@check(12, "producer")
def strides_are_there(target):
    """Export versioned, all layouts: shape and strides are not NULL where there are dimensions."""
    versioned(target.make())
    for label, struct in every_export(target):
        if struct.legacy or struct.version < (1, 2) or not struct.ndim:
            continue
        expect(struct.shape_address, f"{label}: shape is NULL with {struct.ndim} dimensions")
        expect(struct.strides_address, f"{label}: strides is NULL in a struct of version {struct.version}")


@check(14, "producer")
def values_lie_where_described(target):
    """Export all layouts and read them by the struct alone: the values are those of the array."""
    compared = 0
    for layout in LAYOUTS:
        try:
            thing = target.make(layout)
            right = target.expected(layout)
            got = observe(thing)
        except Exception:
            continue
        if right is None:
            # A user's array: two exports at least have to agree.
            right = observe(thing).values
        compared += 1
        where = f"(byte_offset {got.struct.byte_offset}, strides {got.struct.strides})"
        expect_values(right, got.values, f"{layout}: the export does not say what the array holds {where}")
    if not compared:
        raise NotApplicable("nothing can be read back")


@check(15, "producer")
def cpu_id_is_zero(target):
    """Export: the device id of host memory is 0, in the struct."""
    with exported(target.make()) as struct:
        if struct.device[0] not in (1, 3, 13):
            raise NotApplicable(f"exports device {struct.device}")
        expect(struct.device[1] == 0, f"device {struct.device} in the struct, expected id 0")


@check(19, "producer")
def export_is_zero_copy(target):
    """Export twice, both alive: the same address."""
    thing = repeatable(target.make())
    with exported(thing) as one, exported(thing) as two:
        expect(
            one.data + one.byte_offset == two.data + two.byte_offset,
            f"two exports lie at {one.data:#x} and {two.data:#x}: the export copies",
        )


def _copy(thing, **keywords):
    with reported_as(NotApplicable, "refuses to copy:", kinds=BufferError):
        return export_with("copy=", thing, copy=True, **keywords)


@check(20, "producer")
def copy_is_marked(target):
    """Export with copy=True and max_version: a copy bears IS_COPIED."""
    thing = repeatable(target.make())
    with exported(thing) as own:
        struct = _probe.look(_copy(thing, max_version=(1, 3)))
    if struct.legacy:
        raise NotApplicable("copies into a legacy struct, which has no flags")
    if struct.data == own.data:
        raise NotApplicable("does not copy")
    expect(struct.flags & IS_COPIED, f"a copy is exported with flags {struct.flags:#x}, expected IS_COPIED (0x2)")


@check(21, "producer")
def marked_copy_is_private(target):
    """Export copies: no other export lies at the address of one with IS_COPIED."""
    thing = repeatable(target.make())
    marked = 0
    with exported(thing) as own:
        kept = []
        for keywords in ({"copy": True}, {"copy": None}, {}):
            with contextlib.suppress(Exception):
                kept.append(versioned(thing, **keywords))
        structs = [_probe.look(capsule) for capsule in kept]
        for struct in structs:
            if struct.flags & IS_COPIED:
                marked += 1
                others = [other.data for other in structs if other.address != struct.address] + [own.data]
                expect(
                    struct.data not in others, f"IS_COPIED is set, but {struct.data:#x} is shared with another export"
                )
    if not marked:
        raise NotApplicable("nothing is exported with IS_COPIED")


@check(22, "producer")
def read_only_is_marked(target):
    """Export immutable memory: READ_ONLY is set, or the export is refused."""
    thing = target.make("readonly")
    try:
        struct = _probe.look(newest_export(thing))
    except BufferError:
        return
    expect(not struct.legacy, "immutable memory is exported in a legacy struct, which cannot say so")
    expect(
        struct.flags & READ_ONLY, f"immutable memory is exported with flags {struct.flags:#x}, expected READ_ONLY (0x1)"
    )


@check(24, "producer")
def capsule_has_its_name(target):
    """Export: the capsule is called dltensor or dltensor_versioned."""
    thing = target.make()
    with reported_as(Broken, "a plain array cannot be exported:"):
        capsule = newest_export(thing)
    name = _probe.name_of(capsule) if _probe.is_capsule(capsule) else type(capsule).__name__
    expect(name in _probe.LAYOUTS, f"the capsule is named {name!r}, expected 'dltensor' or 'dltensor_versioned'")


@check(25, "producer")
def names_are_static(target):
    """Export two arrays: both capsules share one name in memory."""
    one, two = newest_export(target.make()), newest_export(target.make())
    first, second = _probe.name_address(one), _probe.name_address(two)
    expect(first == second, f"two capsules store their names at {first:#x} and {second:#x}, expected one static string")


@check(34, "producer")
def both_stay_usable(target):
    """Release the array before its export, and the export before the array: the values stay."""
    thing = target.make()
    before = observe(thing).values
    gc.collect()
    with reported_as(Broken, "after one export was deleted the next raises"):
        again = observe(thing).values
    expect_values(before, again, "the array's values changed when an export was deleted")
    taken = _probe.take(newest_export(thing))
    del thing
    gc.collect()
    kept = [target.make() for _ in range(4)]
    after = seen(taken.struct, "both_stay_usable").values
    taken.delete_holding_the_gil()
    del kept
    expect_values(before, after, "the array went first, and its export changed")


@check(35, "producer")
def max_version_is_taken(target):
    """Export with max_version=(1, 3): no exception, and a struct of major version 1 at most."""
    with reported_as(Broken, "__dlpack__(max_version=(1, 3)) raises", kinds=TypeError):
        struct = _probe.look(export(target.make(), max_version=(1, 3)))
    expect(struct.legacy or struct.version[0] <= 1, f"asked for at most (1, 3), got version {struct.version}")


@check(37, "producer")
def no_version_means_legacy(target):
    """Export without max_version: a legacy capsule, or BufferError."""
    try:
        capsule = export(target.make())
    except BufferError:
        return
    expect(
        _probe.name_of(capsule) == "dltensor",
        f"__dlpack__() gives {_probe.name_of(capsule)}, expected a legacy capsule",
    )


@check(38, "producer")
def known_version_is_given(target):
    """Export with max_version=(1, 3): a versioned struct."""
    struct = _probe.look(export_with("max_version", target.make(), max_version=(1, 3)))
    expect(
        not struct.legacy,
        "__dlpack__(max_version=(1, 3)) gives a legacy struct: max_version is ignored, flags are lost",
    )


@check(39, "producer")
def old_version_is_given_or_refused(target):
    """Export with max_version=(0, 8): a legacy capsule, or BufferError."""
    thing = repeatable(target.make())
    export_with("max_version", thing, max_version=(1, 0))
    try:
        capsule = export(thing, max_version=(0, 8))
    except BufferError:
        return
    except Exception as error:
        raise Broken(
            f"__dlpack__(max_version=(0, 8)) raises {say(error)}; expected a legacy capsule or BufferError"
        ) from error
    expect(_probe.look(capsule).legacy, "asked for at most (0, 8), got a versioned struct")


@check(41, "producer")
def unknown_device_is_refused(target):
    """Export with dl_device of CUDA, managed memory, oneAPI and an unknown type: BufferError, or that device."""
    thing = repeatable(target.make())
    try:
        export(thing, dl_device=(1, 0))
    except TypeError as error:
        raise NotApplicable(f"dl_device is not taken: {say(error)}") from error
    except Exception:
        pass
    for device in ((2, 0), (13, 0), (14, 0), (7, 0), (1, 7)):
        try:
            capsule = export(thing, dl_device=device, max_version=(1, 3))
        except BufferError:
            continue
        except Exception as error:
            raise Broken(f"dl_device={device} raises {say(error)}; expected BufferError") from error
        got = _probe.look(capsule).device
        expect(got == device, f"dl_device={device} gives memory of device {got}; expected BufferError")


@check(42, "producer")
def host_memory_is_offered(target):
    """Export with dl_device=(1, 0): host memory."""
    with reported_as(Broken, "dl_device=(1, 0) raises", "; expected host memory"):
        capsule = export_with("dl_device", target.make(), dl_device=(1, 0), max_version=(1, 3))
    expect(_probe.look(capsule).device[0] in (1, 3), f"dl_device=(1, 0) gives device {_probe.look(capsule).device}")


@check(43, "producer")
def no_copy_is_no_copy(target):
    """Export with copy=False, all layouts: the memory is shared, or BufferError."""
    compared = 0
    for layout in LAYOUTS:
        try:
            thing = repeatable(target.make(layout))
            own = _probe.take(newest_export(thing))
        except Exception:
            continue
        try:
            got = _probe.look(export_with("copy=", thing, copy=False, max_version=(1, 3)))
        except NotApplicable:
            raise
        except BufferError:
            compared += 1
            continue
        except Exception as error:
            raise Broken(f"{layout}: copy=False raises {say(error)}; expected BufferError or shared memory") from error
        else:
            compared += 1
            expect(
                got.data + got.byte_offset == own.struct.data + own.struct.byte_offset or layout == "empty",
                f"{layout}: copy=False gives memory at {got.data:#x}, the array lies at {own.struct.data:#x}",
            )
        finally:
            own.delete_holding_the_gil()
    if not compared:
        raise NotApplicable("nothing can be exported")


@check(44, "producer")
def copy_copies(target):
    """Export with copy=True, with and without max_version: other memory with the same values."""
    thing = repeatable(target.make())
    tried = 0
    with exported(thing) as own:
        right = seen(own, "copy_copies").values
        for keywords in ({"max_version": (1, 3)}, {}):
            try:
                capsule = _copy(thing, **keywords)
            except NotApplicable:
                continue
            except Exception as error:
                raise Broken(f"copy=True {keywords} raises {say(error)}; expected a copy, or BufferError") from error
            tried += 1
            struct = _probe.look(capsule)
            how = f"__dlpack__(copy=True{', max_version=(1, 3)' if keywords else ''})"
            expect(struct.data != own.data, f"{how} shares the array's memory at {own.data:#x}")
            expect_values(right, seen(struct, how).values, f"{how} holds other values")
    if not tried:
        raise NotApplicable("copy=True is refused")


@check(45, "producer")
def none_shares(target):
    """Export with copy=None, contiguous and transposed: the array's memory."""
    thing = repeatable(target.make())
    with exported(thing) as own:
        struct = _probe.look(export_with("copy=", thing, copy=None))
        expect(struct.data == own.data, f"copy=None gives memory at {struct.data:#x}, the array lies at {own.data:#x}")


def _refuses(thing, **keywords):
    try:
        export(thing, **keywords)
    except Exception:
        return True
    return False


@check(47, "producer")
def no_stream_to_the_cpu(target):
    """Export with dl_device=(1, 0) and stream=1: refused."""
    thing = repeatable(target.make())
    if _refuses(thing, dl_device=(1, 0), max_version=(1, 3)):
        raise NotApplicable("dl_device is not taken")
    expect(
        _refuses(thing, dl_device=(1, 0), max_version=(1, 3), stream=1),
        "__dlpack__(dl_device=(1, 0), stream=1) is accepted; expected an exception, as the CPU has no streams",
    )


@check(48, "producer")
def cpu_takes_no_stream(target):
    """Export host memory with stream=1 and stream=-2: refused."""
    thing = repeatable(target.make())
    if _refuses(thing, stream=None):
        raise NotApplicable("stream is not taken")
    for stream in (1, -2):
        expect(
            _refuses(thing, stream=stream),
            f"__dlpack__(stream={stream}) of host memory is accepted; expected an exception",
        )


@check(54, "producer")
def unexportable_raises_buffer_error(target):
    """Export what the framework cannot describe: BufferError, of `__dlpack__` or for want of it AttributeError."""
    for label, thing in target.unexportable().items():
        try:
            newest_export(thing)
        except (BufferError, AttributeError):
            continue
        except Exception as error:
            raise Broken(f"{label}: __dlpack__ raises {say(error)}; expected BufferError") from error
        raise Broken(f"{label}: exported; expected BufferError")


@check(55, "producer")
def device_is_a_pair_of_integers(target):
    """Call `__dlpack_device__`: two values that are integers, and those of the struct."""
    thing = target.make()
    with reported_as(Broken, "there is no __dlpack_device__:", kinds=AttributeError):
        got = thing.__dlpack_device__()
    expect(isinstance(got, tuple) and len(got) == 2, f"__dlpack_device__ returns {got!r}, expected a pair")
    kinds = [type(value).__name__ for value in got]
    expect(
        all(hasattr(value, "__index__") for value in got),
        f"__dlpack_device__ returns ({', '.join(kinds)}), expected integers",
    )
    with exported(thing) as struct:
        expect(
            tuple(map(int, got)) == struct.device,
            f"__dlpack_device__ says {tuple(map(int, got))}, the struct {struct.device}",
        )
