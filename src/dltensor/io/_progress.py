# SPDX-License-Identifier: Apache-2.0
"""A line of progress for files over 1 GB, on a terminal."""

from contextlib import contextmanager

_LEAST = 10**9


@contextmanager
def progress(what, total):
    """Give a function to be called with the number of bytes of each piece; None for small files.

    >>> with progress("load", 100) as add:
    ...     add is None
    True
    """
    if total < _LEAST:
        yield None
        return
    from .._tools.terminal import Bar  # loaded with the first large file

    done = shown = 0
    with Bar(f"{what}, MB") as bar:

        def add(count):
            nonlocal done, shown
            done += count
            if done - shown >= total // 200:
                shown = done
                bar(done // 10**6, total // 10**6)

        yield add
