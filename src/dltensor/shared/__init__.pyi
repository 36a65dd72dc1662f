# SPDX-License-Identifier: Apache-2.0
# Types of the package shared; everything is declared in _tensors.pyi and _sending.pyi.
from ._sending import release_unreceived
from ._tensors import empty, pack

__all__ = ["empty", "pack", "release_unreceived"]
