# SPDX-License-Identifier: Apache-2.0
"""A report as plain text, and in colours where rich and a terminal are there. Decides nothing about content."""

import sys
import textwrap

from .sections import headline, sections

WIDTH = 110
_STYLES = {"good": "green", "warn": "yellow", "bad": "bold red", "dim": "dim", "": ""}


def plain(report, width=WIDTH):
    """Return a report as plain text.

    Parameters
    ----------
    report : Report
    width : int, default 110
        Columns to fill; words longer than that stand out.

    Raises
    ------
    ValueError
        `width` is too small for any text.

    Examples
    --------
    >>> from dltensor.inspection.text import plain
    >>> print(plain(dl.inspect(dl.Tensor)).splitlines()[0])  # doctest: +ELLIPSIS
    the type dltensor.Tensor, dltensor ...
    """
    lines = textwrap.wrap(headline(report)[0], max(width, 20), break_long_words=False)
    for title, rows in sections(report):
        lines += ["", title]
        indent = _column(rows)
        for label, text, _ in rows:
            lines += _row(label, text, indent, width)
    return "\n".join(lines)


def _column(rows):
    """Where the texts begin: beside the labels, unless these are long."""
    return min(max((len(label) for label, _, _ in rows), default=0) + 4, 34)


def _row(label, text, indent, width):
    lead = f"  {label}"
    body = textwrap.wrap(text, max(width - indent, 20), break_long_words=False, break_on_hyphens=False) or [""]
    if len(lead) >= indent:
        return [lead, *(" " * indent + line for line in body)]
    return [lead.ljust(indent) + body[0], *(" " * indent + line for line in body[1:])]


def rich_available(stream):
    """Tell whether colours make sense: rich is installed and the stream is a terminal.

    Raises
    ------
    Nothing.
    """
    if not stream.isatty():
        return False
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def show(report, stream=None):
    """Print a report, in colours where that makes sense.

    Raises
    ------
    OSError
        The stream cannot be written.
    """
    stream = stream or sys.stdout
    if not rich_available(stream):
        print(plain(report), file=stream)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    text, mark = headline(report)
    console.print(Text(text, style=f"bold {_STYLES[mark]}".strip()))
    for title, rows in sections(report):
        console.print(Text(f"\n{title}", style="bold cyan"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=max(len(label) for label, _, _ in rows) <= 34, style="bold")
        table.add_column(overflow="fold")
        for label, body, style in rows:
            table.add_row(Text(f"  {label}"), Text(body, style=_STYLES[style]))
        console.print(table)
