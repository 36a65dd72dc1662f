# SPDX-License-Identifier: Apache-2.0
"""Tensors in einops: ``import dltensor.einops`` adds the backend that ``rearrange``, ``reduce`` and others find.

Examples
--------
>>> import dltensor.einops, einops
>>> einops.rearrange(dl.ones((2, 3)), "a b -> b a").shape
(3, 2)
"""

from einops._backends import AbstractBackend

from ._core.convert import asarray
from ._core.tensor import Tensor
from ._ops.creation import arange
from ._ops.dtypes import isdtype
from ._ops.einsum import einsum
from ._ops.manipulation import concat, expand_dims, stack, tile

__all__ = []


class _Backend(AbstractBackend):
    """The operations that einops calls for tensors; it finds the class among the subclasses of its own."""

    framework_name = "dltensor"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, Tensor)

    def from_numpy(self, x):
        return asarray(x)

    def to_numpy(self, x):
        return x.to("cpu").numpy()

    def arange(self, start, stop):
        return arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors):
        return stack(tensors)

    def add_axis(self, x, new_position):
        return expand_dims(x, axis=new_position)

    def tile(self, x, repeats):
        return tile(x, repeats)

    def concat(self, tensors, axis):
        return concat(tensors, axis=axis)

    def is_float_type(self, x):
        return isdtype(x.dtype, ("real floating", "complex floating"))

    def einsum(self, pattern, *x):
        return einsum(pattern, *x)
