# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: metatensor holds arrays of NumPy, and tensors of PyTorch where it is installed, in our structs."""

import contextlib

import numpy

import dltensor as dl

dl.opaque.register_metatensor(numpy.ndarray)
with contextlib.suppress(ImportError):
    import torch

    dl.opaque.register_metatensor(torch.Tensor)
