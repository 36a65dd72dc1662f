# SPDX-License-Identifier: Apache-2.0
"""Parts of argparse that subcommands share: help as wide as the terminal, counts, files. Declares no option."""

import argparse
import re
import sys
import textwrap
from pathlib import Path

from .._core.foreign_text import first_line, suggestion
from . import terminal as _terminal
from .output import OutputError, check_writable


class HelpFormatter(argparse.HelpFormatter):
    """Folds help to the width of the terminal, paragraph by paragraph; indented lines stay lines of their own."""

    def __init__(self, prog):
        super().__init__(prog, width=_terminal.width())

    def _fill_text(self, text, width, indent):
        folded = []
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            lines = paragraph.split("\n")
            if not any(line.startswith(" ") for line in lines):
                lines = [" ".join(paragraph.split())]
            for line in lines:
                label = re.match(r"\s*\S+\s\s+", line) if line.startswith(" ") else None
                hanging = " " * (len(label[0]) if label else 0)
                folded += textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent + hanging) or [""]
            folded.append("")
        return "\n".join(folded[:-1])


class Parser(argparse.ArgumentParser):
    """A parser that prints as the tools do: argparse itself passes over a stream that cannot be written."""

    def __init__(self, **keywords):
        super().__init__(formatter_class=HelpFormatter, **keywords)
        self.color = False  # from Python 3.14 on argparse has colours of its own, by rules of its own

    def _check_value(self, action, value):
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            if isinstance(value, str) and (close := suggestion(value, action.choices)):
                error.message += f"; {close.strip()}"
            raise

    def _print_message(self, message, file=None):
        text = (message or "").removesuffix("\n")
        if file is None or file is sys.stderr:
            _terminal.complain(text)
        else:
            _terminal.say(text, stream=file)


def count(text):
    """Read a whole number from 1 on, as a type of argparse.

    >>> count("8")
    8
    """
    # More than 19 digits are never useful, and Python refuses to parse thousands of digits.
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {first_line(text, 40)!r}")
    return int(text)


def output_file(text):
    """Read the path of a file to write, and check now that it can be written."""
    try:
        check_writable(text)
    except OutputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)
