# SPDX-License-Identifier: Apache-2.0
"""Tensors in files: .npy, .npz, .safetensors and raw bytes, read, written and mapped. No code of a file is run."""

from .._core.naming import set_module as _set_module
from ._files import TensorFile, TensorInfo, load, memmap, open_file, save, savez

__all__ = ["TensorFile", "TensorInfo", "load", "memmap", "open_file", "save", "savez"]
_set_module(globals())
