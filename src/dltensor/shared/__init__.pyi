# SPDX-License-Identifier: Apache-2.0
# Types of the package shared; everything is declared in _tensors.pyi.
from ._tensors import empty, pack

__all__ = ["empty", "pack"]
