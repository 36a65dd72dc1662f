# SPDX-License-Identifier: Apache-2.0
"""Files that a command writes: checked before the work begins, written after it. Standard output is in _terminal."""

import os
import stat
from pathlib import Path

from .._core.foreign_text import first_line


class OutputError(OSError):
    """The output of a command cannot be written; the message names the file and the reason."""


def reason_of(error):
    """Return the system's message of an `OSError`, without its number."""
    return error.strerror or first_line(str(error)) or type(error).__name__


def check_writable(path):
    """Raise OutputError unless a file can be written; one that did not exist does not exist afterwards."""
    try:
        existed = os.path.lexists(path)
        if existed and stat.S_ISFIFO(os.stat(path).st_mode):
            return  # opening a pipe waits for its reader
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if existed:
                os.write(handle, b"")  # writes nothing, but a device without space refuses it
        finally:
            os.close(handle)
            if not existed:
                os.unlink(path)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else first_line(str(error))
        raise OutputError(f"cannot write {first_line(str(path))}: {reason}") from None


def write_file(path, text):
    """Write a text as UTF-8, or raise OutputError."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {first_line(str(path))}: {reason_of(error)}") from None
