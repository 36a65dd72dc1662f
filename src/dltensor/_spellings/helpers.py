# SPDX-License-Identifier: Apache-2.0
"""Functions that rows of the table call where an expression does not do. Not public."""

from .._core.convert import asarray
from .._core.indexing import axis_of, integer_of, sequence_of
from .._ops.manipulation import broadcast_to
from .._ops.sort import top_k


def beside(x, dim, index):
    """Return the part of a tensor that PyTorch's ``gather`` reads: other dimensions are cut to those of the index."""
    x, index = asarray(x), asarray(index)
    axis = axis_of(dim, x.ndim, "gather")
    if x.ndim != index.ndim or any(index.shape[d] > x.shape[d] for d in range(x.ndim) if d != axis):
        raise ValueError(f"gather: the index has shape {index.shape}, which does not fit into {x.shape}")
    return x[tuple(slice(None) if d == axis else slice(size) for d, size in enumerate(index.shape))]


def one_shape(sizes):
    """Return extents that came one by one, or as one sequence, as a tuple."""
    items = sequence_of(sizes[0], "sizes", "shape") if len(sizes) == 1 else None
    return sizes if items is None else tuple(items)


def expanded(x, sizes):
    """Return a view with dimensions of one element repeated; -1 keeps an extent, as in PyTorch."""
    shape = [integer_of(size, "a size", "expand") for size in one_shape(sizes)]
    before = len(shape) - x.ndim
    return broadcast_to(
        x, [x.shape[d - before] if size == -1 and d >= before else size for d, size in enumerate(shape)]
    )


def pieces(x, sizes, axis):
    """Return views of parts of a dimension by their sizes: one for all but the last, or one for each."""
    x = asarray(x)
    axis, given = axis_of(axis, x.ndim, "split"), sequence_of(sizes, "split_size", "split")
    extent = x.shape[axis]
    if given is None:
        size = integer_of(sizes, "split_size", "split")
        if size < 1:
            raise ValueError(f"split: split_size must be at least 1, got {size}")
        given = [min(size, extent - start) for start in range(0, extent, size)] or [0]
    if sum(given) != extent:
        raise ValueError(f"split: sizes {given} must add to the {extent} elements of axis {axis}")
    head, start, found = (slice(None),) * axis, 0, []
    for size in given:
        found.append(x[(*head, slice(start, start + size))])
        start += size
    return found


def first_of(x, k, dim, largest):
    """Return the `k` greatest or least elements and their indices, as PyTorch's ``topk``."""
    return top_k(x, k, axis=dim, mode="largest" if largest else "smallest")


def norm_of(x, p, dim, keepdim):
    """Return the norm of vectors, or of all elements, as PyTorch's ``norm``."""
    from ..linalg import vector_norm

    return vector_norm(x, axis=dim, keepdims=keepdim, ord=2 if p == "fro" else p)
