# SPDX-License-Identifier: Apache-2.0
"""Inspection of objects, types and capsules: calls each protocol and consumes nothing. Elements are never read, on any
device."""

import sys
from math import prod

from .. import Device, asarray, from_arrow
from .._core.foreign_text import describe_error, first_line
from .._core.introspect import (
    SPELLINGS,
    discard,
    is_capsule,
    read_borrowed,
    read_capsule,
    read_exported,
    read_table,
    symbol_of,
)
from .._core.layout import is_contiguous
from .._core.types import DLPACK_VERSION, HOST_TYPES, dtype_text
from .describe import alignment, bytes_words, findings_of, is_compact
from .quirks import NEUTRAL, load
from .report import Call, Consequence, Report, Table

# Largest copy that an inspection requests, in bytes.
COPY_LIMIT = 2**20
# CPython's counts of immortal objects begin at 999,999,999 (3.11) or 2**30 - 1 (3.12 on 32 bits), or far above.
IMMORTAL = 2**29
# The keyword arguments that consumers pass: the newest first, as its struct has the most fields.
SIGNATURES = (
    {"max_version": DLPACK_VERSION},
    {"max_version": (1, 0)},
    {},
    {"stream": None},
    {"max_version": DLPACK_VERSION, "copy": False},
    {"max_version": DLPACK_VERSION, "copy": True},
    {"max_version": DLPACK_VERSION, "dl_device": (1, 0)},
)
_ARROW = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__", "__arrow_c_device_stream__")
_OLDER = ("__array_interface__", "__cuda_array_interface__", *_ARROW, "__array__", "__array_namespace__")
# Types whose module is not named as the framework is.
_ROOTS = {"jaxlib": "jax", "dlpack": "pydlpack", "cuda": "cuda_core"}
# Producers whose arrays never change, although their legacy capsules cannot say so.
_IMMUTABLE = ("jax", "tensorflow")


def _framework_of(kind):
    module = getattr(kind, "__module__", None)
    root = module.partition(".")[0] if isinstance(module, str) else ""
    name = _ROOTS.get(root, root)
    if name in ("builtins", "__main__"):
        return "", ""
    row = load().frameworks.get(name)
    number = row.installed if row else None
    number = number or getattr(sys.modules.get(root), "__version__", None)
    if number is None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version(root)
        except (PackageNotFoundError, ValueError):
            number = ""
    return first_line(name, 80), first_line(str(number), 80)


def _name_of(kind):
    # Read through `type`: a metaclass may return anything.
    name, module = type.__dict__["__qualname__"].__get__(kind), type.__dict__["__module__"].__get__(kind)
    return first_line(name if module == "builtins" else f"{module}.{name}")


def _has(x, name):
    """Test whether an object has an attribute; one that raises anything but AttributeError exists and is broken."""
    try:
        return hasattr(x, name)
    except Exception:
        return True


# -- exchange tables --------------------------------------------------------------------------------------------------


def _tables_of(kind, x=None):
    found = []
    for attribute in SPELLINGS:
        for place, holder in (("type", kind), ("instance", x)):
            # The type is read as the standard says; an instance only through its own dict, which runs no code.
            try:
                value = getattr(holder, attribute) if place == "type" else vars(x)[attribute]
            except Exception:  # missing, or a descriptor that raises
                continue
            if value is not None:
                read = read_table(value)
                found.append((Table(attribute, place, read["kind"], read["chain"], read["problem"]), value))
    return found


# -- calls ------------------------------------------------------------------------------------------------------------


def _typed(arguments):
    return f"__dlpack__({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def _answer(fields, first):
    if fields["layout"] is None:
        return f"a capsule named {fields['name']!r}, which is not a tensor"
    if "data" not in fields:
        return f"a capsule named {fields['name']!r} with no readable tensor"
    kind = (
        "legacy"
        if fields["version"] is None
        else "version {}.{}, flags {:#x}".format(*fields["version"], fields["flags"])
    )
    same = ""
    if first is not None and "data" in first and first["extent"] and first["extent"]["size"]:
        start = fields["data"] + fields["byte_offset"]
        same = ", same memory" if start == first["data"] + first["byte_offset"] else ", other memory"
    return f"{kind}{same}"


def _call(x, arguments, first):
    """Export once, read, and release; the reference count shows what an export holds."""
    before = sys.getrefcount(x)
    try:
        capsule = x.__dlpack__(**arguments)
    except Exception as error:
        return Call(_typed(arguments), error=describe_error(error))
    if not is_capsule(capsule):
        return Call(_typed(arguments), error=f"TypeError: returned {_name_of(type(capsule))} instead of a capsule")
    references = sys.getrefcount(x) - before
    fields = read_capsule(capsule)
    answer = _answer(fields, first)
    if discard(capsule):
        answer += "; the capsule has no destructor: unconsumed it leaks (rule 26)"
    return Call(_typed(arguments), answer, struct=fields if fields["layout"] else None, references=references)


def _calls(x, host):
    """Call every signature by itself. On other devices only those that copy nothing, without synchronization."""
    calls, first = [], None
    for arguments in SIGNATURES:
        skipped = ""
        if not host:
            if "dl_device" in arguments or arguments.get("copy"):
                skipped = "it would copy from a device"
            elif "stream" not in arguments:
                arguments = {"stream": -1} | arguments
        size = first["extent"]["nbytes"] if first is not None and first["extent"] else None
        if arguments.get("copy") and (size is None or size > COPY_LIMIT):
            skipped = f"it would copy {'an unknown number of bytes' if size is None else bytes_words(size)}"
        if skipped:
            calls.append(Call(_typed(arguments), skipped=skipped))
            continue
        calls.append(_call(x, arguments, first))
        if first is None and "data" in (calls[-1].struct or ()):
            first = calls[-1].struct
    return calls


def _ask_device(x):
    """Call __dlpack_device__: (text, True if it returned, True if the host can read)."""
    if not _has(x, "__dlpack_device__"):
        return "missing, but the standard requires it", False, True
    try:
        kind, number = x.__dlpack_device__()
        words = first_line(f"({kind!r}, {number!r})")
        kind = int(kind.__index__())
    except Exception as error:
        return describe_error(error), False, True
    try:
        number.__index__()
    except Exception:
        words += ", but the standard requires two integers"
    return words, True, kind in HOST_TYPES


# -- conclusions -------------------------------------------------------------------------------------------------------


def _where(address):
    found = symbol_of(address) if address else None
    if not address:
        return "NULL: nothing to free"
    if found is None:
        return f"{address:#x}, in no library (generated at run time)"
    library = found[0].rpartition("/")[2]
    return f"{address:#x} in {library}" + (f" ({found[1]})" if found[1] else "")


def _references_words(count):
    # Immortal objects have a count that no program reaches; changes of it are meaningless.
    if count >= IMMORTAL:
        return "not counted: the object is immortal, the interpreter never frees it"
    return f"{max(count, 0)} besides the inspector's"


def _ownership(x, report):
    rows = []
    references = [call.references for call in report.calls if call.references is not None]
    if references:
        count = references[0]
        rows.append(
            (
                "an export keeps",
                "no reference to the object itself: its memory has another owner"
                if count == 0
                else f"{count} reference{'s' * (count != 1)} to the object",
            )
        )
    if x is not None:
        rows.append(("references now", _references_words(sys.getrefcount(x) - 4)))
    if report.framework == "numpy" and getattr(x, "base", None) is not None:
        rows.append(("memory of", f"a {_name_of(type(x.base))} (its base), which this array is a view of"))
    if (struct := report.struct) and struct.get("deleter") is not None:
        rows.append(("deleter", _where(struct["deleter"])))
        rows.append(("manager_ctx", f"{struct['manager_ctx']:#x}" if struct["manager_ctx"] else "NULL"))
    return rows


def facts_of(report, x=None):
    """Return the facts for the conditions of quirks, or {} when there is no readable tensor.

    The struct, calls and tables of the report are filled in. The lazy bits of torch are read from `x`, the inspected
    object.
    """
    struct = report.struct
    if struct is None:
        return {}
    if struct.get("shape") is None:
        # Only the version could be read, which is enough for some quirks.
        version = struct.get("version") or (0, 0)
        return NEUTRAL | {"producer": report.framework, "version_major": version[0], "version_minor": version[1]}
    return {
        "producer": report.framework,
        **_facts_of_exports(report),
        **_facts_of_struct(struct),
        "conjugated": _lazy(x, report, "is_conj"),
        "negated": _lazy(x, report, "is_neg"),
    }


def _facts_of_exports(report):
    """Facts of what the object offers, and of the exports that were tried."""
    struct, capsule = report.struct, report.subject == "capsule"
    exports = [call.struct for call in report.calls if call.struct and call.call.startswith("__dlpack__")]
    versioned = [export for export in exports if export["layout"] == "DLManagedTensorVersioned"]
    legacy = any(export["layout"] == "DLManagedTensor" for export in exports)
    flags = [struct["flags"] or 0, *(export.get("flags", 0) for export in versioned)]
    return {
        "readonly": report.framework in _IMMUTABLE or any(one & 1 for one in flags),
        "offers_versioned": bool(versioned) or (capsule and struct["version"] is not None),
        "offers_legacy": legacy or (capsule and struct["version"] is None),
        "has_table": any(not table.problem and table.place == "type" for table in report.tables),
        "has_device_method": capsule or not report.device_answer or report.device_answer.startswith("("),
    }


def _facts_of_struct(struct):
    """Facts of the fields of a struct."""
    rules = {finding.rule for finding in struct["findings"]}
    code, bits, lanes = struct["dtype"]
    shape, strides, extent = struct["shape"], struct["strides"], struct["extent"]
    if strides is None:
        strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    moving = [stride for size, stride in zip(shape, strides, strict=True) if size > 1]
    start = struct["data"] + struct["byte_offset"]
    try:
        device = str(Device(struct["device"][0], max(struct["device"][1], 0))).partition(":")[0]
    except (ValueError, TypeError, OverflowError):
        device = str(struct["device"][0])
    valid = all(n >= 0 for n in shape)
    version, flags = struct["version"] or (0, 0), struct["flags"] or 0
    return {
        "copied": bool(flags & 2),
        "padded": bool(flags & 4),
        "contiguous": valid and is_contiguous(shape, strides),
        "compact": valid and is_compact(shape, strides),
        "negative_strides": any(stride < 0 for stride in moving),
        "zero_strides": any(stride == 0 for stride in moving),
        "overlapping": "strides.overlap" in rules,
        "odd_single_strides": "strides.single" in rules,
        "strides_null": struct["strides_at"] == 0 and struct["ndim"] > 0,
        "byte_offset": struct["byte_offset"],
        "offset_remainder": struct["byte_offset"] % max(1, (bits * lanes + 7) // 8),
        "alignment": alignment(start) if extent is None or extent["size"] else 4096,
        "misaligned": "data.alignment" in rules,
        "data_null": struct["data"] == 0,
        "size": prod(shape),
        "ndim": struct["ndim"],
        "dtype": dtype_text(code, bits) if bits else "",
        "code": code,
        "bits": bits,
        "lanes": lanes,
        "device": device,
        "device_id": struct["device"][1],
        "host": struct["device"][0] in HOST_TYPES,
        "version_major": version[0],
        "version_minor": version[1],
        "deleter_null": struct["deleter"] == 0,
        "context_null": struct["manager_ctx"] == 0,
    }


def _lazy(x, report, name):
    if report.framework != "torch" or x is None:
        return False
    try:
        return bool(getattr(x, name, bool)())
    except Exception:  # not torch's own class
        return False


def _conclude(report, x=None):
    report.facts = facts_of(report, x)
    if report.struct is not None:
        report.findings = findings_of(report.struct)
    if report.facts:
        report.consequences = [
            Consequence(
                row.framework.name,
                row.id,
                row.role,
                row.outcome,
                row.effect,
                row.remedy,
                row.source,
                row.first,
                row.last,
                row.fixed,
                row.framework.installed,
                row.concerns(row.framework.installed) is True,
            )
            for row in load().about(report.facts)
        ]
        report.consequences.sort(key=lambda row: (row.role != "producer", row.installed is None))
    return report


# -- what can be inspected --------------------------------------------------------------------------------------------


def of_capsule(capsule):
    """Inspect a capsule; it can still be consumed afterwards."""
    fields = read_capsule(capsule)
    report = Report("capsule", f"capsule named {fields['name']!r}", protocols=["a capsule"], via="the capsule itself")
    if fields["name"] == "dlpack_exchange_api":
        table = read_table(capsule)
        report.tables = [Table("(a capsule by itself)", "type", table["kind"], table["chain"], table["problem"])]
        return report
    if fields["layout"] is None:
        report.remarks.append(
            "Its name is not one of the standard's: 'dltensor' or 'dltensor_versioned', and 'used_' "
            "before either once it is consumed."
        )
        return report
    if not fields["consumed"] and fields["capsule_destructor"] == 0:
        report.remarks.append("The capsule has no destructor: if it is not consumed, its tensor leaks (rule 26).")
    report.findings = findings_of(fields)
    if "version" in fields:  # otherwise the struct could not be read
        report.struct = fields
        report.ownership = _ownership(None, report)
        if fields["consumed"]:
            report.remarks.append(
                "It was consumed: the struct belongs to its consumer, who may have freed it since. "
                "The fields show the current memory, which may be stale."
            )
            return report
        _conclude(report)
    return report


def of_type(kind):
    """Inspect a type: its exchange table and the protocols that its objects implement."""
    name, number = _framework_of(kind)
    report = Report("type", _name_of(kind), name, number)
    report.tables = [table for table, _ in _tables_of(kind)]
    report.protocols = [name for name in ("__dlpack__", "__dlpack_device__", *_OLDER) if _has(kind, name)]
    if not report.tables and "__dlpack__" not in report.protocols:
        report.remarks.append("Objects of this type do not support DLPack.")
    report.remarks.append("A type has no tensor fields: inspect one of its objects.")
    return report


def of_object(x):
    """Inspect an object of any framework: every import protocol, one after the other."""
    kind = type(x)
    name, number = _framework_of(kind)
    report = Report("object", _name_of(kind), name, number)
    tables = _tables_of(kind, x)
    report.tables = [table for table, _ in tables]
    report.protocols = [name for name in ("__dlpack__", "__dlpack_device__") if _has(x, name)]
    report.protocols += [table.attribute for table in report.tables]
    report.protocols += [name for name in _OLDER if _has(kind, name)]
    try:
        memoryview(x).release()
        report.protocols.append("buffer")
    except (TypeError, ValueError, BufferError):
        pass
    value = next((value for table, value in tables if not table.problem and table.place == "type"), None)
    host = True
    row = load().frameworks.get(name)
    if row is not None and row.once:
        report.device_answer, _, _ = _ask_device(x)
        report.remarks.append(
            f"Objects of {name} can be exported only once: __dlpack__ is not called, as that would use it "
            f"up. Inspect the capsule that __dlpack__() gives."
        )
        return report
    if _has(x, "__dlpack__"):
        report.device_answer, _, host = _ask_device(x)
        report.calls = _calls(x, host)
    if value is not None:
        for call, read in (
            ("dltensor_from_py_object_no_sync", read_borrowed),
            ("managed_tensor_from_py_object_no_sync", read_exported),
        ):
            try:
                fields = {"name": call, "consumed": False} | read(x, value)
                report.calls.append(
                    Call(
                        call,
                        _answer(fields, report.calls[0].struct if report.calls else None)
                        if fields["layout"] != "DLTensor"
                        else "a borrowed view",
                        struct=fields,
                    )
                )
            except Exception as error:
                report.calls.append(Call(call, error=describe_error(error)))
    for call in report.calls:
        if call.struct is not None and call.struct["layout"] != "DLTensor":
            report.struct, report.via = call.struct, call.call
            break
    if report.struct is None and not _has(x, "__dlpack__"):
        _through_us(x, report)
    report.ownership = _ownership(x, report)
    if report.struct is None:
        report.remarks.append(
            "It returned no tensor: see the calls."
            if report.calls
            else f"{report.type_name} offers no memory: no DLPack, Arrow, buffer or array interface."
        )
    return _conclude(report, x)


def _through_us(x, report):
    """Inspect an object without DLPack through its other protocols, as dltensor exports it."""
    if isinstance(x, (bool, int, float, complex, str, list, tuple)):
        return
    offered = set(report.protocols)
    ways = []
    if {"__arrow_c_array__", "__arrow_c_device_array__"} & offered:
        ways.append(("dl.from_arrow(x, copy=False)", from_arrow))
    elif set(_ARROW) & offered:
        report.calls.append(Call("dl.from_arrow(x)", skipped="a stream may be used up by reading it"))
    if {"buffer", "__array_interface__", "__cuda_array_interface__", "__array__"} & offered:
        ways.append(("dl.asarray(x, copy=False)", asarray))
    for way, read in ways:
        try:
            t = read(x, copy=False)
        except Exception as error:
            report.calls.append(Call(way, error=describe_error(error)))
            continue
        stream = {} if t.device.type in HOST_TYPES else {"stream": -1}
        report.struct = _call(t, {"max_version": DLPACK_VERSION, **stream}, None).struct
        report.via = f"{way}, as it has no DLPack of its own"
        return


def export_of(x):
    """Export once, release it, and return the fields of its struct, or None and the reason."""
    report = Report("object", _name_of(type(x)))
    row = load().frameworks.get(_framework_of(type(x))[0])
    if row is not None and row.once:
        return None, " without being used up: it can be exported once, so validate the capsule of its __dlpack__()"
    for table, value in _tables_of(type(x)):
        if not table.problem:
            try:
                return read_exported(x, value), ""
            except Exception as error:
                return None, f" ({describe_error(error)})"
    if _has(x, "__dlpack__"):
        _, _, host = _ask_device(x)
        for arguments in SIGNATURES[:3]:
            call = _call(x, arguments if host else {"stream": -1} | arguments, None)
            if call.struct is not None:
                return call.struct, ""
        return None, f" ({call.error or call.answer})"
    try:
        memoryview(x).release()
        report.protocols.append("buffer")
    except (TypeError, ValueError, BufferError):
        report.protocols = [name for name in _OLDER if _has(x, name)]
    _through_us(x, report)
    return report.struct, "".join(f" ({call.error})" for call in report.calls)
