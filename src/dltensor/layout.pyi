# SPDX-License-Identifier: Apache-2.0
# Types of layout.py; the functions are declared in _core/layout.pyi.
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
