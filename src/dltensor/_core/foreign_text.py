# SPDX-License-Identifier: Apache-2.0
"""Text of others (exceptions, names, versions), made short and safe to print. Prints nothing itself."""

LIMIT = 300
"""Characters of a foreign text that are quoted."""


def escape_controls(text):
    r"""Return a text with everything that is not printable written as an escape, line ends too.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> print(escape_controls(chr(27) + "[31mred"))
    \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def first_line(text, limit=LIMIT):
    """Return the first line of a text that is not empty, cut to `limit` characters, control characters escaped.

    >>> first_line("CUDA error\\n  frame #0"), first_line("abcdefgh", 5)
    ('CUDA error', 'ab...')
    """
    if len(text) <= limit and text.isprintable() and " " not in text:
        return text
    # A message may hold a whole picture: look at its beginning only.
    lines = (" ".join(line.split()) for line in text.lstrip()[: 4 * limit].splitlines())
    line = escape_controls(next(filter(None, lines), ""))
    return line if len(line) <= limit else line[: limit - 3] + "..."


def quoted(value, limit=120):
    """Return the ``repr`` of an object, cut to one line of at most `limit` characters.

    >>> quoted("a" * 1000, 12)
    "'aaaaaaaa..."
    """
    if type(value) in (bytes, bytearray, str) and len(value) > limit:
        value = value[:limit] + (b"..." if type(value) is not str else "...")
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__qualname__} whose repr raised {type(error).__qualname__}>"
    return first_line(text, limit)


def suggestion(name, names):
    """Return the question whether the closest of some names was meant, and a blank; nothing where none is close.

    >>> suggestion("cdua", ["cpu", "cuda"]), suggestion("x", ["cpu", "cuda"])
    ("did you mean 'cuda'? ", '')
    """
    from difflib import get_close_matches  # on use, for the import time of the package

    close = get_close_matches(name[:100], names, 1)
    return f"did you mean {close[0]!r}? " if close else ""


def describe_error(error, limit=LIMIT):
    """Return the type of an exception and the first line of its text.

    >>> describe_error(ValueError("expected a row\\nframe #0: 0x7f")), describe_error(KeyError())
    ('ValueError: expected a row', 'KeyError')
    """
    import re  # on use, for the import time of the package

    name = first_line(type(error).__name__, 80)
    try:
        text = first_line(re.sub(r"\x1b\[[0-9;]*m", "", str(error)[: 8 * limit]), limit)
    except Exception as another:  # a __str__ that raises
        text = f"(its text cannot be read: {type(another).__name__})"
    return f"{name}: {text}" if text else name
