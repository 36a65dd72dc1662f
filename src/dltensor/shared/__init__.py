# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory that processes share, which `multiprocessing` sends without a copy."""

from .._core.naming import set_module as _set_module
from ._sending import release_unreceived
from ._tensors import empty, pack

__all__ = ["empty", "pack", "release_unreceived"]
_set_module(globals())
