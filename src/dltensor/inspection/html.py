# SPDX-License-Identifier: Apache-2.0
"""A report as HTML: a fragment for notebooks, or one whole page without scripts or network. Only formatting."""

from .._core.html import memory_section
from .._core.layout import contiguous_strides
from .._core.markup import Markup, element, folded, table
from .._core.markup import fragment as notebook_fragment
from .._core.markup import page as whole_page
from .sections import headline, sections

_CLASSES = {"good": "good", "warn": "warn", "bad": "bad", "dim": "quiet", "": None}
_FOLDED = ("ways in", "exchange table", "ownership")


def _cell(text, mark):
    return element("span", text, class_=_CLASSES[mark]) if mark else text


def _drawing(report):
    """The memory of a tensor on the host; nothing for other devices and for fields that break a rule."""
    struct = report.struct
    if not report.usable or not report.facts.get("host") or struct.get("shape") is None:
        return Markup("")
    strides = struct["strides"]
    return memory_section(struct["shape"], contiguous_strides(struct["shape"]) if strides is None else strides)


def _parts(report):
    drawn = _drawing(report)
    for title, rows in sections(report):
        cells = [(label, _cell(text, mark)) for label, text, mark in rows]
        yield folded(title, table(cells, title), is_open=title not in _FOLDED)
        if title == "memory":
            yield drawn


def fragment(report):
    """Return a report as HTML for a notebook."""
    text, mark = headline(report)
    return notebook_fragment(element("div", element("b", text, class_=_CLASSES[mark]), class_="head"), *_parts(report))


def page(report):
    """Return a report as one whole HTML page.

    >>> page(dl.inspect(dl.arange(3))).startswith("<!DOCTYPE html>")
    True
    """
    text, mark = headline(report)
    return whole_page(text, element("h1", text, class_=_CLASSES[mark]), *_parts(report))
