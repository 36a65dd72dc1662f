# SPDX-License-Identifier: Apache-2.0
"""A matrix, or the difference of two, as lines of text, each with a style. Measures nothing."""

import textwrap

from ..._tools.terminal import say_lines
from ..report import titled
from .measure import ARRIVES, GRADES, MARKS, OUTCOMES, STYLES

VIEWS = {
    "verdict": "a mark and how many element types arrive",
    "layouts": "how many layouts arrive, of those that the producer has",
    "readonly": "what becomes of read-only memory",
    "sharing": "whether a contiguous array arrives in the same memory",
    "time": "microseconds for one import of a small array",
}
READONLY = {
    "kept": "kept",
    "lost": "LOST",
    "copied": "copy",
    "refused": "refd",
    "unknown": "?",
    "absent": "",
    "unexported": "",
    "crashed": "CRASH",
    "hung": "HUNG",
}


def cell(exchange, view="verdict"):
    """Return the text of a cell of the table.

    >>> from dltensor.conformance.matrix.measure import Exchange
    >>> cell(Exchange("a", "b", {"layout:c": ("shares", ""), "dtype:int8": ("shares", "")}))
    '=1'
    """
    if exchange.trouble:
        return MARKS["alone"]
    if view == "verdict":
        grade = exchange.grade
        return MARKS[grade] + (str(len(exchange.passing("dtype"))) if grade != "none" else "")
    if view == "layouts":
        return f"{len(exchange.passing('layout'))}/{len(exchange.offered('layout'))}"
    if view == "readonly":
        return READONLY[exchange.readonly]
    if view == "sharing":
        found = [exchange.outcomes("layout").get(name) for name in ("c", "row")]
        return next((one for one in found if one in ARRIVES), "") or ""
    return {"time": "" if exchange.nanoseconds is None else f"{exchange.nanoseconds / 1000:.2f}"}[view]


def _head(matrix, view):
    frameworks = ", ".join(titled(name, number) for name, number in matrix.frameworks.items())
    where = f"Python {matrix.environment['python']}, {matrix.environment['platform']}"
    return f"Exchange between {frameworks} ({where}).", f"Rows export, columns import. A cell: {VIEWS[view]}."


def remark_words(row):
    """Return one remark as a sentence: the case, producers, consumers, and the observation."""
    outcome, case, producers, consumers, words = row
    what = {"readonly": "read-only memory", "layout:c": "a contiguous array", "layout:row": "one axis"}.get(
        case, case.partition(":")[2]
    )
    if not consumers:
        return f"{what} of {', '.join(producers)} {OUTCOMES[outcome]}: {words}"
    return f"{what} from {', '.join(producers)} to {', '.join(consumers)} {OUTCOMES[outcome]}: {words}"


def _lines(matrix, view, width):
    """The whole text, line by line, each a list of (text, style)."""
    for sentence in _head(matrix, view):
        yield from ([(line, "")] for line in textwrap.wrap(sentence, width))
    yield []
    cell_width = max([len(cell(one, view)) for one in matrix.pairs.values()] + [3]) + 1
    numbers = {name: str(place) for place, name in enumerate(matrix.consumers, 1)}
    left = max(len(name) for name in (*matrix.producers, *matrix.consumers)) + 4
    yield [(" " * left + "".join(numbers[name].rjust(cell_width) for name in matrix.consumers), "bold")]
    for name, exchanges in matrix.rows():
        yield [
            (f"{numbers.get(name, ''):>2} {name}".ljust(left), "bold"),
            *((cell(one, view).rjust(cell_width), STYLES[one.grade]) for one in exchanges),
        ]
    for name in matrix.consumers:
        if name not in matrix.producers:
            yield [(f"{numbers[name]:>2} {name} (takes only)", "dim")]
    if view == "verdict":
        yield []
        legend = "; ".join(f"{MARKS[grade]} {words}" for grade, words in GRADES.items())
        yield from ([(line, "dim")] for line in textwrap.wrap(legend, width))
    if remarks := matrix.remarks():
        yield []
        yield [(f"Worth knowing ({len(remarks)})", "bold")]
        for one in remarks:
            style = "worst" if one[0] in ("crashed", "hung", "wrong") else "warn"
            for line in textwrap.wrap(remark_words(one), width, initial_indent="  ", subsequent_indent="    "):
                yield [(line, style)]
    for name, why in matrix.missing.items():
        yield from ([(line, "warn")] for line in textwrap.wrap(f"Not measured: {name}: {why}", width))


def plain(matrix, view="verdict", *, width=100):
    """Return a matrix as plain text; a table that needs more columns than `width` is wider."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in _lines(matrix, view, width))


def show(matrix, view="verdict", *, stream=None, width=100):
    """Print a matrix, in colours where the stream is a terminal."""
    say_lines(_lines(matrix, view, width), stream)


def changes_text(changes):
    """Return the changes between two matrices in lines.

    >>> changes_text([])
    'No exchange has changed.'
    """
    if not changes:
        return "No exchange has changed."
    lines, cases = [], {}
    for one in changes:
        pair = f"{one.producer} -> {one.consumer}"
        if one.kind == "version":
            lines.append(f"version  {one.producer} {one.before} -> {one.now}")
        elif one.kind == "changed":
            cases.setdefault(("worse  " if one.is_worse else "changed", pair, one.before, one.now), []).append(one.case)
        else:
            lines.append(f"{one.kind:<8} {pair}: {GRADES[one.now or one.before]}")
    for (kind, pair, before, now), names in sorted(cases.items(), reverse=True):
        lines.append(f"{kind}  {pair}: {', '.join(names)}: {before} -> {now}")
    return "\n".join(lines)
