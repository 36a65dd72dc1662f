# SPDX-License-Identifier: Apache-2.0
"""Terminal output of the tools: width, colour, encoding, progress and columns.

Colours and the progress bar need a terminal; `NO_COLOR` or `TERM=dumb` turns both off.
"""

import codecs
import os
import shutil
import sys
import textwrap
import time

from .._core.foreign_text import escape_controls, first_line
from .output import OutputError, reason_of

NARROWEST, PIPE, WIDEST = 40, 100, 120
"""Columns: the least that text is laid out for, what a pipe gets, and the most that is used."""
STYLES = {
    "": "",
    "bold": "1",
    "title": "1;36",
    "good": "32",
    "note": "36",
    "warn": "33",
    "bad": "31",
    "worst": "1;31",
    "dim": "2",
}
"""Styles as terminal escape codes."""

# Replacements for characters that the encoding of a stream lacks.
_SPELLED = {"×": "x", "µ": "u", "→": "->", "·": "-", "−": "-"}


def _spell_out(error):
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SPELLED.get(one) or one.encode("unicode_escape").decode() for one in lacking), error.end


codecs.register_error("dltensor.spell_out", _spell_out)


def width():
    """Return the columns that text is laid out for: those of the terminal or of `COLUMNS`, at most 120."""
    return max(NARROWEST, min(shutil.get_terminal_size((PIPE, 24)).columns, WIDEST))


def is_plain(stream):
    """Test whether a stream gets neither colours nor a progress bar."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return True
    try:
        return not stream.isatty()
    except (AttributeError, ValueError, OSError):
        return True  # None, or closed


def _encodable(text, stream):
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "dltensor.spell_out").decode(encoding)


def say_lines(lines, stream=None):
    """Print lines, each a list of (text, style), on standard output or `stream`; OutputError if that cannot be written.

    Control characters are escaped, whatever their source. A style is a key of `STYLES`.
    """
    stream = sys.stdout if stream is None else stream
    plain = is_plain(stream)
    try:
        for line in lines:
            pieces = [(escape_controls(text), STYLES[style]) for text, style in line]
            if plain:
                line_text = "".join(text for text, _ in pieces).rstrip()
            else:
                line_text = "".join(f"\033[{code}m{text}\033[0m" if code and text else text for text, code in pieces)
            stream.write(_encodable(line_text, stream) + "\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {reason_of(error)}") from None


def flush():
    """Write what is buffered for standard output, so that a device without space is noticed before the process ends."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {reason_of(error)}") from None


def say(text="", style="", stream=None):
    """Print a text of one or more lines in one style."""
    say_lines([[(line, style)] for line in text.split("\n")], stream)


def complain(text):
    """Print a text on standard error, or nowhere when that is closed."""
    if sys.stderr is not None:
        say(text, stream=sys.stderr)


def fill(text, columns, indent=0):
    """Return the lines of a text folded to a width; longer words exceed the width."""
    lead = " " * indent
    width = max(columns, indent + 20)
    return textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=lead, break_long_words=False, break_on_hyphens=False
    ) or [""]


def labelled(label, text, indent, columns):
    """Return the lines of a label and a text, which is folded to a column that begins at `indent`.

    A label that is longer than `indent` has a line of its own.

    >>> labelled("shape", "(2, 3) elements of float32", 8, 28)
    ['shape   (2, 3) elements of', '        float32']
    """
    body = fill(text, columns, indent)
    if len(label) >= indent:
        return [label, *body]
    return [label + body[0][len(label) :] if body[0] else label, *body[1:]]


def _widths(rows, width, right):
    """Return widths of columns that fit into `width`: the widest shrink, at first without cutting a word."""
    columns = list(zip(*rows, strict=True))
    widths = [max(1, *map(len, column)) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    for floors in (words, [1] * len(widths)):
        while (over := sum(widths) + 2 * (len(widths) - 1) - width) > 0:
            foldable = [
                place for place, size in enumerate(widths) if place not in right and size > max(12, floors[place])
            ]
            if not foldable:
                break
            widest = max(foldable, key=lambda place: widths[place])
            widths[widest] = max(12, floors[widest], widths[widest] - max(1, over // 2))
    return widths


def columns_of(rows, columns, right=(), indent=0):
    """Return rows of cells as lines; the widest columns are folded where the whole would be wider than `columns`.

    Columns whose numbers are in `right` are flush right and not folded.

    >>> columns_of([["a", "1"], ["bc", "23"]], 40, right=[1])
    ['a    1', 'bc  23']
    """
    widths, gap = _widths(rows, columns - indent, right), "  "
    if sum(widths) + 2 * (len(widths) - 1) + indent > columns:
        gap = " "
    lines = []
    for row in rows:
        cells = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""] for cell, size in zip(row, widths, strict=True)
        ]
        for place in range(max(map(len, cells))):
            parts = [
                (cell[place] if place < len(cell) else "").rjust(size)
                if column in right
                else (cell[place] if place < len(cell) else "").ljust(size)
                for column, (cell, size) in enumerate(zip(cells, widths, strict=True))
            ]
            lines.append((" " * indent + gap.join(parts)).rstrip())
    return lines


class Bar:
    """One line of progress on standard error, erased at the end; nothing where `is_plain`."""

    def __init__(self, name=""):
        self._name, self._stream, self._started = first_line(name, 40), sys.stderr, time.perf_counter()
        self._is_shown = not is_plain(self._stream)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.say("")

    def __call__(self, done, total):
        """Show how much is done."""
        filled = 30 * done // max(total, 1)
        took = time.perf_counter() - self._started
        self.say(f"{self._name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {took:.0f} s")

    def say(self, text=""):
        """Show a text instead; without one the line is empty."""
        if self._is_shown:
            # A line that wraps could not be erased.
            text = _encodable(escape_controls(text)[: width() - 1], self._stream)
            self._stream.write(f"\r\033[K{text}")
            self._stream.flush()
