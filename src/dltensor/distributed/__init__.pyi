# SPDX-License-Identifier: Apache-2.0
# Types of distributed: its submodules, which need the libraries that they are named after.
from types import ModuleType
from typing import Final

__all__ = ["dask", "mpi"]

dask: Final[ModuleType]
mpi: Final[ModuleType]
