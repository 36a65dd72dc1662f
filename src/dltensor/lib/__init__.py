# SPDX-License-Identifier: Apache-2.0
"""The name under which NumPy has `stride_tricks`, for code that takes its namespace from the arrays."""

from . import stride_tricks

__all__ = ["stride_tricks"]
