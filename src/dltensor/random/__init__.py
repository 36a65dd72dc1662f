# SPDX-License-Identifier: Apache-2.0
"""Random numbers by counter: value i depends on the seed, the stream and i alone, on every processor, to the bit."""

from .._core.naming import set_module as _set_module
from ._generator import Generator, philox

__all__ = ["Generator", "philox"]

_set_module(globals())
