# SPDX-License-Identifier: Apache-2.0
"""A report as HTML: a fragment for notebooks, or one whole page without scripts or network. No content of its own."""

from html import escape

from .sections import headline, sections

_COLOURS = {"good": "#1a7f37", "warn": "#9a6700", "bad": "#cf222e", "dim": "#777"}
_STYLE = (
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px;line-height:1.5;"
    "text-align:left;max-width:72em"
)
_FOLDED = ("ways in", "exchange table", "ownership")


def _row(label, text, mark):
    colour = f";color:{_COLOURS[mark]}" if mark else ""
    return (
        f'<tr><th scope="row" style="text-align:left;vertical-align:top;padding:1px 14px 1px 0;font-weight:600;'
        f'white-space:nowrap">{escape(label)}</th>'
        f'<td style="text-align:left;padding:1px 0{colour}">{escape(text)}</td></tr>'
    )


def fragment(report):
    """Return a report as HTML for a notebook.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> from dltensor.inspection.html import fragment
    >>> "<table" in fragment(dl.inspect(dl.arange(3)))
    True
    """
    text, mark = headline(report)
    colour = f"color:{_COLOURS[mark]}" if mark else ""
    parts = [f'<div style="{_STYLE}"><div style="font-weight:700;{colour}">{escape(text)}</div>']
    for title, rows in sections(report):
        open_ = "" if title in _FOLDED else " open"
        parts.append(
            f'<details{open_} style="margin:6px 0"><summary style="font-weight:700">{escape(title)}</summary>'
            f'<table style="border-collapse:collapse;font-size:inherit">'
        )
        parts += [_row(*row) for row in rows]
        parts.append("</table></details>")
    return "".join([*parts, "</div>"])


def page(report):
    """Return a report as one whole HTML page.

    Raises
    ------
    Nothing.
    """
    title = escape(headline(report)[0])
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>:root{{color-scheme:light dark}}'
        f"body{{margin:2em}}</style></head><body>{fragment(report)}</body></html>\n"
    )
