# SPDX-License-Identifier: Apache-2.0
"""Sum a float32 tensor of any framework."""

import dltensor  # noqa: F401  loads the library, also where the packages are in different folders

from ._native import total, versions

__all__ = ["total", "versions"]
