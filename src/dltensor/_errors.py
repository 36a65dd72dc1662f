# SPDX-License-Identifier: Apache-2.0
"""What error messages quote of foreign objects: short, on one line, without control characters. No messages here."""


def quoted(value, limit=120):
    """Return what ``repr`` says of an object, cut to one line of at most `limit` characters.

    Examples
    --------
    >>> quoted("a" * 1000, 12)
    "'aaaaaaaa..."
    """
    if type(value) in (bytes, bytearray, str) and len(value) > limit:
        value = value[:limit] + (b"..." if type(value) is not str else "...")
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__qualname__} whose repr raised {type(error).__qualname__}>"
    return one_line(text, limit)


def one_line(text, limit=300):
    """Return the first line of a text, cut to `limit` characters, with control characters escaped.

    Examples
    --------
    >>> one_line("bad\\x1b[31m value\\nC++ frames")
    'bad\\\\x1b[31m value'
    """
    line = text[: 4 * limit].strip().splitlines()[0] if text.strip() else ""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return shown if len(shown) <= limit and len(text) <= 4 * limit else shown[: limit - 3] + "..."
