# SPDX-License-Identifier: Apache-2.0
"""A report as titled rows of label, text and mark, the source of every output format."""

from .._core.foreign_text import escape_controls
from .describe import (
    alignment,
    axis_words,
    bytes_words,
    device_words,
    dtype_words,
    flag_words,
    layout_words,
    versions_words,
)

# Marks classify rows: outputs map them to colours.
_SEVERITY = {"error": "bad", "warning": "warn", "note": "dim"}
_OUTCOME = {"aborts": "bad", "wrong": "bad", "leaks": "bad", "copied": "dim", "readonly": "dim", "shares": "warn"}


def _pointer(address):
    return f"{address:#x}" if address else "NULL"


def _rows_of_struct(struct):
    """Yield the fields of the struct, each with its meaning."""
    if struct["layout"] != "DLTensor":
        version = struct.get("version")
        yield "layout", f"{struct['layout']} at {_pointer(struct['address'])}", ""
        if version:
            yield "version", f"{version[0]}.{version[1]}", ""
            yield "flags", flag_words(struct["flags"]), ""
    if "data" not in struct:
        return
    shape, strides = struct["shape"], struct["strides"]
    yield "device", device_words(struct["device"]), ""
    yield "dtype", dtype_words(struct["dtype"]), ""
    yield "ndim", str(struct["ndim"]), ""
    yield "shape", str(shape) if shape is not None else f"at {_pointer(struct['shape_at'])}", ""
    if strides is not None:
        yield "strides", f"{strides} in elements", ""
    else:
        meaning = ", read as C order" if struct["ndim"] > 0 and not struct["strides_at"] else ""
        yield "strides", f"{_pointer(struct['strides_at'])}{meaning}", ""
    yield "data", _pointer(struct["data"]), ""
    yield "byte_offset", str(struct["byte_offset"]), ""


def _rows_of_memory(struct):
    shape, strides, extent = struct.get("shape"), struct.get("strides"), struct.get("extent")
    if extent is None or shape is None:
        return
    if strides is not None or not shape:
        yield "layout", layout_words(shape, strides or ()), ""
        if len(shape) > 0:
            for axis, words in enumerate(axis_words(shape, strides)):
                yield f"axis {axis}", f"{shape[axis]} × {words}", ""
    else:
        yield "layout", "C order (strides are NULL)", ""
    yield "elements", f"{extent['size']:,}, {bytes_words(extent['nbytes'])}", ""
    if extent["size"]:
        start = struct["data"] + struct["byte_offset"]
        yield "first element", f"{start:#x}, a multiple of {alignment(start)}", ""
        yield "reaches", f"bytes {extent['low']} to {extent['high']}, counted from data", ""


def _rows_of_table(table):
    yield table.attribute, f"on the {table.place}, {table.kind}", "warn" if table.place == "instance" else ""
    for link in table.chain:
        if link["version"] is None:
            continue
        version = ".".join(map(str, link["version"]))
        missing = [name for name, address in (link["functions"] or {}).items() if not address]
        text = f"version {version} at {link['address']:#x}"
        if link["functions"] is not None:
            text += f", NULL: {', '.join(missing)}" if missing else ", all functions there"
        yield "", text, ""
    if table.problem:
        yield "", f"cannot be used: {table.problem}", "bad"


def _rows_of_consequences(rows):
    for row in rows:
        thread = "" if row.source == "measured" else f"; {row.source}"
        yield (
            row.framework,
            f"{row.effect}. Remedy: {row.remedy}. ({row.quirk}; {versions_words(row)}{thread})",
            _OUTCOME.get(row.outcome, "warn"),
        )


def sections(report):
    """Return the report as a list of (title, list of (label, text, mark)); a mark is "", good, warn, bad or dim.

    >>> [title for title, _ in sections(dl.inspect(dl.arange(3)))][:2]
    ['fields', 'memory']
    """
    titled = []
    if report.struct is not None:
        titled.append(
            (
                f"fields, from {report.via}" if report.via != "__dlpack__(max_version=(1, 3))" else "fields",
                list(_rows_of_struct(report.struct)),
            )
        )
        titled.append(("memory", list(_rows_of_memory(report.struct))))
    titled.append(("ownership", [(label, text, "") for label, text in report.ownership]))
    offers = [("offers", ", ".join(report.protocols) or "nothing", "")]
    if report.device_answer:
        good = report.device_answer.startswith("(") and "demands" not in report.device_answer
        offers.append(("__dlpack_device__()", report.device_answer, "" if good else "warn"))
    for call in report.calls:
        text = call.answer or (f"not called: {call.skipped}" if call.skipped else call.error)
        offers.append((call.call, text, "warn" if call.error else "dim" if call.skipped else ""))
    titled.append(("ways in" if len(offers) > 1 else "offers", offers))
    titled.append(("exchange table", [row for table in report.tables for row in _rows_of_table(table)]))
    titled.append(
        (
            "findings",
            [
                (f"{finding.severity} {finding.rule}", _sentence(finding), _SEVERITY[finding.severity])
                for finding in report.findings
            ]
            or ([("none", "no validation findings", "good")] if report.struct else []),
        )
    )
    for role, title in (("producer", "known behaviour of its producer"), ("consumer", "known behaviour of consumers")):
        titled.append((title, list(_rows_of_consequences([row for row in report.consequences if row.role == role]))))
    titled.append(("remarks", [("", text, "") for text in report.remarks]))
    # Names, messages and versions are foreign text: control characters are escaped here, for every output.
    return [
        (title, [(escape_controls(label), escape_controls(text), mark) for label, text, mark in rows])
        for title, rows in titled
        if rows
    ]


def _sentence(finding):
    text = finding.text.replace(f" (rule {finding.rule})", "")
    return text + (f" (standard rule {finding.standard})" if finding.standard else "")


def headline(report):
    """Summarize in one line what was inspected and whether it can be used: (text, mark)."""
    name = escape_controls(
        report.type_name + (f", {report.framework} {report.version}".rstrip() if report.framework else "")
    )
    if report.subject == "type":
        return f"the type {name}", ""
    errors = sum(finding.severity == "error" for finding in report.findings)
    if errors:
        return f"{name}: NOT USABLE, {errors} rule{'s' * (errors != 1)} broken", "bad"
    if report.struct is None or "data" not in report.struct:
        return f"{name}: no tensor", "warn"
    if any(finding.rule == "strides.bytes" and finding.severity == "warning" for finding in report.findings):
        return f"{name}: usable, but its strides look like bytes", "warn"
    # Behaviour of an older version counts only if no newer version was measured and the older may be installed.
    worst = sum(
        row.outcome in ("aborts", "wrong") and (row.installed is not None or row.fixed is None)
        for row in report.consequences
        if row.role == "consumer"
    )
    if worst:
        return f"{name}: sound, and {worst} known consumer{'s' * (worst != 1)} would abort or give wrong values", "warn"
    return f"{name}: sound", "good"
