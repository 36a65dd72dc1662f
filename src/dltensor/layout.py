# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides as tuples: contiguity, broadcasting, merging of dimensions."""

from ._core.layout import (
    array_equals,
    broadcast_shapes,
    broadcast_strides,
    coalesce,
    contiguous_strides,
    create_output_tensor,
    extent,
    is_contiguous,
    nbytes,
    numel,
)
from ._core.naming import set_module as _set_module

__all__ = [
    "array_equals",
    "broadcast_shapes",
    "broadcast_strides",
    "coalesce",
    "contiguous_strides",
    "create_output_tensor",
    "extent",
    "is_contiguous",
    "nbytes",
    "numel",
]
_set_module(globals())
