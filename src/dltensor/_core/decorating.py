# SPDX-License-Identifier: Apache-2.0
"""Functions that run inside a ``with`` block."""

from functools import wraps

RUNS_LATER = 0x2A0  # CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR of a function's code


def decorated(block, function, name):
    """Return a function that enters a block, calls another function, and leaves the block; `name` is for errors.

    >>> decorated(dl.default_dtype("float64"), lambda: dl.zeros(1).dtype, "default_dtype")()
    dltensor.float64
    """
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & RUNS_LATER:
        raise TypeError(
            f"{name}: {function.__qualname__} is a coroutine or generator function, which runs after its call; write "
            f"the with block inside it"
        )

    @wraps(function)
    def call(*args, **kwargs):
        with block:
            return function(*args, **kwargs)

    return call
