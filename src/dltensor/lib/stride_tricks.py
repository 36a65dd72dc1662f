# SPDX-License-Identifier: Apache-2.0
"""Views by strides, under NumPy's name."""

from .. import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]
