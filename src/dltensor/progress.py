# SPDX-License-Identifier: Apache-2.0
"""A progress bar on a terminal, nothing in a pipe."""

import sys
import time


class Bar:
    """Shows how much of something is done, on standard error; ``bar(done, total)`` moves it.

    Parameters
    ----------
    name : str
        What is being done.
    """

    def __init__(self, name):
        self.name, self.stream, self.started = name, sys.stderr, time.perf_counter()
        self(0, 1)

    def __call__(self, done, total):
        if self.stream.isatty():
            filled = 30 * done // total
            self.stream.write(
                f"\r\033[K{self.name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total} "
                f"{time.perf_counter() - self.started:.0f} s"
            )
            self.stream.flush()

    def close(self):
        """Leave an empty line behind."""
        if self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()
