# SPDX-License-Identifier: Apache-2.0
"""A report as lines of text, each with a style. Decides nothing about content or terminals."""

from .._tools.terminal import fill, labelled, say_lines, width
from .sections import headline, sections

_STYLES = {"good": "good", "warn": "warn", "bad": "worst", "dim": "dim", "": ""}


def _lines(report, columns):
    """Each line of the report as a list of (text, style)."""
    text, mark = headline(report)
    for line in fill(text, columns):
        yield [(line, _STYLES[mark] or "bold")]
    for title, rows in sections(report):
        yield []
        yield [(title, "title")]
        indent = min(max(len(label) for label, _, _ in rows) + 4, 34)
        for label, body, style in rows:
            lead = f"  {label}"
            first, *rest = labelled(lead, body, indent, columns)
            # A label stays bold when its text has a colour, so that the two differ.
            yield [(lead, "bold"), (first[len(lead) :], _STYLES[style])]
            yield from ([(line, _STYLES[style])] for line in rest)


def plain(report, columns=None):
    """Return a report as plain text, as wide as the terminal by default; longer words exceed the width.

    >>> print(plain(dl.inspect(dl.Tensor)).splitlines()[0])  # doctest: +ELLIPSIS
    the type dltensor.Tensor, dltensor ...
    """
    columns = width() if columns is None else columns
    return "\n".join("".join(text for text, _ in line).rstrip() for line in _lines(report, columns))


def show(report, stream=None):
    """Print a report, in colours where the stream is a terminal."""
    say_lines(_lines(report, width()), stream)
