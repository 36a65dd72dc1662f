# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for Dask's own tests: chunks are tensors wherever a test makes a Dask array of numbers.

``assert_eq`` compares them as arrays of NumPy, since the expected result of a test is one.
"""

import functools
import os

import dask
import dask.array as da
import dask.array.core
import dask.array.utils
import dask.dataframe
import numpy
import uses

import dltensor as dl
import dltensor.distributed.dask

NUMBERS = "biufc"
Tensor = dl.Tensor  # tests ask for the class of a chunk


def from_array(x, *args, **options):
    """Make a Dask array of tensors from an array of numbers; one without dimensions is a number that Dask wraps."""
    if type(x) is numpy.ndarray and x.ndim and x.dtype.kind in NUMBERS and x.dtype.isnative and x.dtype.itemsize <= 16:
        uses.add()
        x = dl.asarray(x)
    return FROM_ARRAY(x, *args, **options)


def as_arrays(x):
    """Return a tensor as an array of NumPy, and a Dask array with such chunks."""
    if isinstance(x, dl.Tensor):
        uses.add()
        return x.numpy()
    masked = isinstance(getattr(x, "_meta", None), numpy.ma.MaskedArray)
    # Chunks are tensors, whatever the meta says.
    if isinstance(x, da.Array) and not masked and numpy.dtype(x.dtype).kind in NUMBERS:
        dtype = numpy.dtype(x.dtype)
        return x.map_blocks(as_arrays, dtype=dtype, meta=numpy.empty((0,) * x.ndim, dtype))
    return x


@functools.wraps(dask.array.utils.assert_eq)
def assert_eq(a, b, *args, **options):
    """Compare two results, tensors or not."""
    return ASSERT_EQ(as_arrays(a), as_arrays(b), *args, **options)


FROM_ARRAY, ASSERT_EQ = dask.array.core.from_array, dask.array.utils.assert_eq
functools.update_wrapper(from_array, FROM_ARRAY)
dask.array.core.from_array = da.from_array = from_array
dask.array.utils.assert_eq = da.assert_eq = assert_eq
if "OUTSIDE_BACKEND" in os.environ:  # functions that make arrays from nothing make tensors too
    dask.config.set({"array.backend": os.environ["OUTSIDE_BACKEND"]})
