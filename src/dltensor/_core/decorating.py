# SPDX-License-Identifier: Apache-2.0
"""Functions that run inside a ``with`` block."""

from functools import wraps


def decorated(block, function):
    """Return a function that enters a block, calls another function, and leaves the block.

    >>> decorated(dl.default_dtype("float64"), lambda: dl.zeros(1).dtype)()
    dltensor.float64
    """

    @wraps(function)
    def call(*args, **kwargs):
        with block:
            return function(*args, **kwargs)

    return call
