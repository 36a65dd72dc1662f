# SPDX-License-Identifier: Apache-2.0
"""Hold a tensor of any framework in an opaque array, in C++."""

import dltensor  # noqa: F401  loads the library, also where the packages are in different folders

from ._native import Held

__all__ = ["Held"]
