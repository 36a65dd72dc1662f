# SPDX-License-Identifier: Apache-2.0
"""Distances of the rows of two matrices. No loops over elements here."""

from math import prod

from .._core.convert import asarrays
from .._ops import elementwise as ops
from .._ops import reduce
from .._ops.casting import astype
from .._ops.contractions import vecdot
from .._ops.manipulation import broadcast_shapes, broadcast_to, concat, expand_dims, matrix_transpose
from .._ops.matmul import matmul
from .._ops.promotion import result_type
from .._ops.take import nonzero
from ..linalg import vector_norm

__all__ = ["cdist"]

_BLOCK = 1 << 20  # elements of products or differences that are in memory at a time
_SHORT = ("float32", "bfloat16", "float16")  # whose products are exact in float64


def cdist(x1, x2, /, p=2.0):
    """Compute the distance of each row of one matrix from each row of another.

    Parameters
    ----------
    x1 : array_like
        Of shape ``(..., n, k)``; integers are converted to `get_default_dtype`.
    x2 : array_like
        Of shape ``(..., m, k)``, whose leading dimensions broadcast with those of `x1`.
    p : int or float, default 2.0
        Order of the norm of the difference, as `linalg.vector_norm` takes it.

    Returns
    -------
    Tensor
        Real, of shape ``(..., n, m)``.

    Raises
    ------
    ValueError
        An argument has fewer than two dimensions, or the shapes do not fit.
    TypeError
        An argument is not a tensor, the dtypes do not promote, or `p` is not a number.

    Notes
    -----
    PyTorch: ``torch.cdist``. Euclidean distances of float32, float16 and bfloat16 are computed in float64 from products
    of the rows, and from the difference of two rows that are near each other; all others are norms of differences.

    Examples
    --------
    >>> dl.cdist([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [3.0, 0.0]]).tolist()
    [[0.0, 3.0], [5.0, 4.0]]
    """
    x1, x2 = asarrays(x1, x2)
    for name, x in (("x1", x1), ("x2", x2)):
        if x.ndim < 2:
            raise ValueError(f"cdist: {name} must have at least two dimensions, got shape {x.shape}; a row is x[None]")
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: the rows must have as many elements, got shapes {x1.shape} and {x2.shape}")
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    dtype = result_type(x1, x2, 1.0)
    x1, x2 = (broadcast_to(x, batch + x.shape[-2:]) for x in (x1, x2))
    if str(dtype) in _SHORT and isinstance(p, (int, float)) and p == 2:
        x1, x2 = (astype(x, "float64", copy=False) for x in (x1, x2))
        return _in_blocks(lambda rows: _by_products(rows, x2, dtype), x1, prod(batch) * x2.shape[-2])
    return _by_differences(*(astype(x, dtype, copy=False) for x in (x1, x2)), p)


def _in_blocks(compute, x1, width):
    """The results for some rows of a matrix at a time, joined; each row takes so many elements."""
    step = max(_BLOCK // max(width, 1), 1)
    parts = [compute(x1[..., i : i + step, :]) for i in range(0, max(x1.shape[-2], 1), step)]
    return parts[0] if len(parts) == 1 else concat(parts, axis=-2)


def _by_differences(x1, x2, p):
    others = expand_dims(x2, axis=-3)
    return _in_blocks(
        lambda rows: vector_norm(ops.subtract(expand_dims(rows, axis=-2), others), axis=-1, ord=p), x1, x2.size
    )


def _by_products(x1, x2, dtype):
    """Euclidean distances of rows of float64, rounded to another dtype."""
    sizes = ops.add(expand_dims(vecdot(x1, x1), axis=-1), expand_dims(vecdot(x2, x2), axis=-2))
    squares = ops.subtract(sizes, ops.multiply(matmul(x1, matrix_transpose(x2)), 2.0))
    near = ops.logical_not(ops.greater_equal(squares, ops.multiply(sizes, 2.0**-12)))  # and what is not finite
    if int(reduce.count_nonzero(near)) * 8 > near.size:
        return astype(_by_differences(x1, x2, 2), dtype)
    found = astype(ops.sqrt(ops.maximum(squares, 0.0)), dtype)
    *batch, rows, columns = nonzero(near)
    step = max(_BLOCK // max(x1.shape[-1], 1), 1)
    for part in (slice(i, i + step) for i in range(0, rows.size, step)):
        pairs = tuple(one[part] for one in batch)
        difference = ops.subtract(x1[(*pairs, rows[part])], x2[(*pairs, columns[part])])
        found[(*pairs, rows[part], columns[part])] = astype(vector_norm(difference, axis=-1), dtype)
    return found
