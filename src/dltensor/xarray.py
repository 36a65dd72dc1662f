# SPDX-License-Identifier: Apache-2.0
"""Tensors in xarray: ``import dltensor.xarray`` lets xarray fill what is missing in them.

xarray holds tensors without it. Where it has to fill elements, as in `shift`, `pad`, `where`, `reindex` and windows, it
asks for the dtype that holds missing values, and takes dtypes of NumPy only; here those of tensors become NumPy's.

Examples
--------
>>> import dltensor.xarray, xarray
>>> xarray.DataArray(dl.arange(3), dims="x").shift(x=1).data
Tensor([nan,  0.,  1.], shape=(3,), device=cpu, dtype=float64)
"""

import numpy
from xarray.core import dtypes

from ._core.types import DType

__all__ = []


def _accept_tensors(maybe_promote):
    def promote(dtype):
        """Return the dtype that holds missing values, and the value that stands for them."""
        return maybe_promote(numpy.dtype(dtype) if isinstance(dtype, DType) else dtype)

    return promote


if not hasattr(dtypes, "maybe_promote"):
    raise ImportError(
        "dltensor.xarray: this version of xarray has no xarray.core.dtypes.maybe_promote; expected 2026.9"
    )
dtypes.maybe_promote = _accept_tensors(dtypes.maybe_promote)
