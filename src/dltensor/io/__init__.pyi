# SPDX-License-Identifier: Apache-2.0
# Types of the package io; everything is declared in _files.pyi.
from ._files import TensorFile, TensorInfo, load, memmap, open_file, save

__all__ = ["TensorFile", "TensorInfo", "load", "memmap", "open_file", "save"]
