# SPDX-License-Identifier: Apache-2.0
"""Consumers with one habit each, for the tests of the matrix: targets of the form ``odd_consumers:NAME``."""

import os

import dltensor as dl


def shifted(x, /):
    """Reads four bytes too early, where there are some."""
    taken = dl.from_dlpack(x)
    if taken.size < 2 or not taken.is_contiguous:
        return taken
    flat = dl.reshape(taken, (-1,))
    return dl.reshape(dl.concat([flat[1:], flat[:1]]), taken.shape)


def aborting(x, /):
    taken = dl.from_dlpack(x)
    if any(stride < 0 for stride in taken.strides):
        os.abort()
    return taken


def copying(x, /):
    return dl.from_dlpack(x, copy=True)


def narrowing(x, /):
    taken = dl.from_dlpack(x)
    return dl.cast(taken, "float32") if taken.dtype == dl.float64 else taken


def refusing(x, /):
    taken = dl.from_dlpack(x)
    if not taken.is_contiguous:
        raise BufferError("refusing: expected C order")
    return taken


def blind(x, /):
    """Takes it and shows nothing of it."""
    return [dl.from_dlpack(x)]
