# SPDX-License-Identifier: Apache-2.0
"""The report: everything the demo found as one HTML file that needs no network. Measures nothing."""

import base64
import platform
import re

from ..._core.markup import element, join, page, table
from .sheet import encode, layout


def seconds(value):
    """Return a time as text in a suitable unit.

    >>> seconds(3.2e-8), seconds(1.234e-5), seconds(0.25)
    ('32 ns', '12.3 µs', '250 ms')
    """
    for unit, scale in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * scale:
            number = value / scale
            return f"{number:.0f} {unit}" if unit == "ns" or number >= 100 else f"{number:.3g} {unit}"
    return f"{value:.3g} s"


def _code(text):
    # Long expressions need some width, or they are folded to a column of letters.
    return element("code", text, class_="long" if len(text) > 40 else None)


def _tag(kind, *content):
    return element("span", *content, class_=f"tag {kind}")


def _quiet(text):
    return element("span", text, class_="quiet")


def _paragraph(*content):
    return element("p", *content)


def _views(scenes):
    cards = []
    for scene in scenes:
        source = "data:image/png;base64," + base64.b64encode(encode(scene.tensor)).decode()
        shape, strides = layout(scene.tensor)
        lines = [element("code", scene.expression), shape, element("br"), strides, element("br"), _quiet(scene.remark)]
        picture = element("div", element("img", alt=scene.name, src=source), class_="pic")
        cards.append(element("figure", picture, element("figcaption", *lines)))
    return element("div", *cards, class_="views")


def _steps(found):
    rows = []
    for number, step in enumerate(found.steps, 1):
        if step.refused:
            tag = _tag("bad", "refused")
        else:
            tag = _tag("warn", "copied") if step.moved else _tag("good", "same memory")
        writable = "no" if step.readonly else "yes"
        rows.append(
            (
                number,
                step.name,
                element("code", hex(step.address)),
                tag,
                writable,
                _quiet(step.remark) if step.remark else "",
            )
        )
    heads = ("", "framework", "address of the first pixel", "memory", "writable", "remark")
    return table(rows, "frameworks in order", heads, lined=True)


def _import_tag(source, holding):
    """Return the cell of an import that was not refused."""
    if holding.verdict == "copied":
        return _tag("warn", "copied")
    if source.readonly and not holding.readonly:
        return _tag("warn", "writable!")
    return _tag("good", "read-only" if holding.readonly else "held")


def _holdings(found):
    peers = [peer.name for peer in found.peers]
    notes, rows = {}, []
    for label, source in found.trial.items():
        row = [label]
        for name in peers:
            holding = found.holdings[label, name]
            if holding.verdict == "refused":
                # Reasons that differ only in shapes share a note.
                reason = re.sub(r"[-\d,\[\]() ]+", " ", holding.reason)
                number, _ = notes.setdefault(reason, (len(notes) + 1, holding.reason))
                row.append(_tag("bad", "refused", element("sup", f" {number}")))
            else:
                row.append(_import_tag(source, holding))
        rows.append(row)
    listed = [element("li", note) for _, note in notes.values()]
    content = table(rows, "views that each framework can hold", ("", *peers), lined=True)
    return join([content, element("ol", *listed, class_="notes")]) if listed else content


def _timings(found):
    rows = []
    for timing in found.timings:
        longest = max(timing.our_time, timing.own_time) or 1.0
        bars = [
            element("div", class_=f"bar {kind}", style=f"width:{100 * (value / longest):.1f}%")
            for kind, value in (("ours", timing.our_time), ("own", timing.own_time))
        ]
        ratio = timing.own_time / timing.our_time if timing.our_time else float("inf")
        rows.append(
            [
                timing.name,
                _code(timing.ours),
                seconds(timing.our_time),
                _code(timing.own),
                seconds(timing.own_time),
                f"{ratio:.1f} ×",
                element("div", *bars, class_="bars"),
            ]
        )
    heads = ("", "through dltensor", "time", "the framework's own way", "time", "speed-up", "")
    return table(rows, "time of each exchange", heads, right=(2, 4, 5), lined=True)


def _works(found):
    names = list(found.works[0].times)
    rows = [
        [
            one.name,
            _code(one.expression),
            *[seconds(one.times[name]) for name in names],
            f"{one.speed_up:.1f} ×",
            f"{max(one.differs.values()):.2g}",
        ]
        for one in found.works
    ]
    heads = ("", "through dltensor", *names, "speed-up", "difference")
    return table(rows, "time of each operation", heads, right=tuple(range(2, 4 + len(names))), lined=True)


def _facts(found):
    rows = (
        (f"{len(found.kept)} of {len(found.steps)}", "frameworks used the same memory"),
        (f"{found.home.nbytes:,}", "bytes in the photograph"),
        (seconds(min((timing.our_time for timing in found.timings), default=0)), "fastest exchange"),
        (seconds(found.copying), "one copy of the photograph, for comparison"),
    )
    facts = [element("div", element("b", value), element("span", label), class_="fact") for value, label in rows]
    return element("div", *facts, class_="facts")


def _sections(found):
    """Yield (heading, content) of each section."""
    painted = ", ".join(name for name, seen in found.painted.items() if seen) or "no other framework"
    yield (
        "Views of the photograph",
        _paragraph(
            "A view is another shape, other strides and another start over the same memory. Each picture below is the "
            "result of the expression under it; none of them copied a byte. Strides count elements; a negative one "
            "goes backwards. The orange frame was written once, through dltensor, while the frameworks held the "
            f"photograph. It was seen by: {painted}."
        ),
        _views(found.scenes),
    )
    yield (
        "Addresses",
        _paragraph(
            "Each framework imported what the one before it exported. The address is that of the first pixel, as "
            "dltensor reads it from the framework's export."
        ),
        _steps(found),
    )
    yield (
        "Views that each framework can hold",
        _paragraph(
            "Frameworks differ in the strides that they accept, and in what they do with read-only memory. dltensor "
            "exports what the standard allows, keeps the read-only flag, and reports a refusal with its reason. ",
            element("em", "Writable!"),
            " means that the framework lets you write to memory that its owner declared immutable.",
        ),
        _holdings(found),
    )
    faster = sum(timing.our_time < timing.own_time for timing in found.timings)
    yield (
        "Time of an import and an export",
        _paragraph(
            "Medians; both statements were timed alternately in this process. ",
            element("span", class_="key ours"),
            "dltensor  ",
            element("span", class_="key own"),
            "the framework's own way, each pair to its own scale. No time depends on the size of the photograph, "
            "because only its description is exchanged.",
        ),
        _timings(found),
        element(
            "p",
            f"{faster} of {len(found.timings)} are faster through dltensor here. The two sides differ in their checks: "
            "dltensor validates every tensor that it imports; NumPy, for one, does not.",
            class_="quiet",
        ),
    )
    yield (
        "Operations on the pixels",
        _paragraph(
            "Brightness, contrast, conversion, a colour matrix and a mask, timed alternately with the peers. The last "
            "column is the largest difference between their results, in units of the result."
        ),
        _works(found),
    )
    if found.missing:
        rows = [element("li", name, ": ", element("code", reason)) for name, reason in found.missing.items()]
        yield "Not installed here", element("ul", *rows)


def write(found, path):
    """Write the report to a path."""
    kept = found.home.data_ptr == found.start.data_ptr
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in found.peers)
    content = [
        element("h1", found.title),
        element(
            "p",
            "One photograph was passed from framework to framework, and its address after the last one is "
            f"{'the same as' if kept else 'not the same as'} before the first. Every figure below was measured in "
            "this run, on this machine.",
            class_="lead",
        ),
        _facts(found),
    ]
    for heading, *parts in _sections(found):
        content += [element("h2", heading), *parts]
    content.append(
        element(
            "footer",
            f"dltensor {found.version}, Python {platform.python_version()}, {platform.system()} "
            f"{platform.machine()}. Frameworks: {versions}.",
            element("br"),
            f"{found.credit}.",
        )
    )
    path.write_text(page(f"dltensor demo: {found.title}", *content), encoding="utf-8")
