# SPDX-License-Identifier: Apache-2.0
"""Diagonals of matrices and triangles of index arrays, as NumPy has them beyond the array API. No loops here."""

from .._core.convert import asarray
from .._core.default_dtype import get_default_dtype
from .._core.indexing import axis_of, integer_of
from .._core.views import as_strided as strided_view
from . import elementwise as ops
from .creation import arange, zeros
from .joining import atleast_2d
from .manipulation import moveaxis, reshape
from .promotion import result_type
from .selection import line_of, tensor_to_write
from .take import nonzero

__all__ = [
    "block_diag", "diag", "diag_embed", "diagflat", "diagonal", "fill_diagonal", "tri", "tril_indices", "triu_indices",
]  # fmt: skip


def diagonal(x, /, offset=0, axis1=0, axis2=1):
    """Return diagonals of the matrices in two dimensions.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions, or any object that supports DLPack.
    offset : int, default 0
        Columns to the right of the main diagonal; negative below it.
    axis1, axis2 : int, default 0 and 1
        Dimensions of the rows and the columns.

    Returns
    -------
    Tensor
        A view with the other dimensions and, last, the diagonal. NumPy's is read-only.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a number is not an integer.
    ValueError
        The axes are one dimension.
    IndexError
        An axis is out of range.

    See Also
    --------
    linalg.diagonal : Diagonals of the last two dimensions.

    Examples
    --------
    >>> dl.diagonal(dl.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x, offset = asarray(x), integer_of(offset, "offset", "diagonal")
    rows, columns = axis_of(axis1, x.ndim, "diagonal"), axis_of(axis2, x.ndim, "diagonal")
    if rows == columns:
        raise ValueError(f"diagonal: axis1 and axis2 must be two dimensions, got {axis1} and {axis2}")
    below, right = max(-offset, 0), max(offset, 0)
    count = max(min(x.shape[rows] - below, x.shape[columns] - right), 0)
    rest = [d for d in range(x.ndim) if d not in (rows, columns)]
    start = below * x.strides[rows] + right * x.strides[columns] if count else 0
    shape = (*(x.shape[d] for d in rest), count)
    return strided_view(x, shape, (*(x.strides[d] for d in rest), x.strides[rows] + x.strides[columns]), start)


def diag(x, /, k=0):
    """Return a diagonal of a matrix, or a matrix with a vector as diagonal.

    Parameters
    ----------
    x : array_like
        Matrix or vector; any object that supports DLPack.
    k : int, default 0
        Columns to the right of the main diagonal; negative below it.

    Returns
    -------
    Tensor
        Of the dtype of `x`: a view of the diagonal, or a new matrix.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `k` is not an integer.
    ValueError
        `x` is neither a vector nor a matrix.

    Examples
    --------
    >>> dl.diag([1, 2]).tolist(), dl.diag([[1, 2], [3, 4]], 1).tolist()
    ([[1, 0], [0, 2]], [2])
    """
    x, k = asarray(x), integer_of(k, "k", "diag")
    if x.ndim not in (1, 2):
        raise ValueError(f"diag: expected a vector or a matrix, got shape {x.shape}; use diagonal or diagflat")
    if x.ndim == 2:
        return diagonal(x, k)
    size = x.shape[0] + abs(k)
    result = zeros((size, size), dtype=x.dtype, device=x.device)
    diagonal(result, k)[...] = x
    return result


def diagflat(x, /, k=0):
    """Return a matrix with the elements, in C order, as diagonal.

    Parameters
    ----------
    x : array_like
        Tensor of any shape, or any object that supports DLPack.
    {diag: k}

    Returns
    -------
    Tensor
        A new matrix of the dtype of `x`.

    Raises
    ------
    {diag: TypeError}

    Examples
    --------
    >>> dl.diagflat([[1], [2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(reshape(asarray(x), (-1,)), k)


def _below(n, m, k):
    """A mask of a matrix: True at and below a diagonal."""
    return ops.greater_equal(ops.add(arange(n)[:, None], k), arange(m))


def _triangle_size(n, m, k, func):
    n, k = integer_of(n, "n", func), integer_of(k, "k", func)
    return n, n if m is None else integer_of(m, "m", func), k


def tri(n, m=None, k=0, dtype=None):
    """Return a matrix of ones at and below a diagonal, and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns, by default as many as rows.
    {diag: k}
    dtype : dtype_like, optional
        Dtype of the result; by default `get_default_dtype`.

    Returns
    -------
    Tensor
        Matrix of `n` rows and `m` columns.

    Raises
    ------
    TypeError
        A number is not an integer.
    ValueError
        A number of rows or columns is negative.

    Examples
    --------
    >>> dl.tri(2, 3, dtype="int8").tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    n, m, k = _triangle_size(n, m, k, "tri")
    if n < 0 or m < 0:
        raise ValueError(f"tri: numbers of rows and columns must be at least 0, got {n} and {m}")
    return _below(n, m, k).astype(get_default_dtype() if dtype is None else dtype)


def tril_indices(n, k=0, m=None):
    """Return the indices of the elements at and below a diagonal of a matrix.

    {tri: Parameters}

    Returns
    -------
    tuple of Tensor
        Rows and columns, int64, in C order: ``x[dl.tril_indices(3)]``.

    Raises
    ------
    {tri: TypeError}

    Examples
    --------
    >>> [at.tolist() for at in dl.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    n, m, k = _triangle_size(n, m, k, "tril_indices")
    return nonzero(_below(n, m, k))


def triu_indices(n, k=0, m=None):
    """Return the indices of the elements at and above a diagonal of a matrix.

    {tril_indices: Parameters, Returns, Raises}

    Examples
    --------
    >>> [at.tolist() for at in dl.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    n, m, k = _triangle_size(n, m, k, "triu_indices")
    return nonzero(ops.logical_not(_below(n, m, k - 1)))


def diag_embed(x, /, offset=0, dim1=-2, dim2=-1):
    """Return matrices with the lines of the last dimension as diagonals.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, with a dimension.
    {diagonal: offset}
    dim1, dim2 : int, default -2 and -1
        Dimensions of the result that are the rows and the columns of the matrices.

    Returns
    -------
    Tensor
        Of the dtype of `x`, with one dimension more.

    Raises
    ------
    TypeError
        `x` is not a tensor, or another argument is not an integer.
    ValueError
        `x` has no dimension, or `dim1` and `dim2` are one.
    IndexError
        A dimension is out of range.

    Examples
    --------
    >>> dl.diag_embed([[1, 2], [3, 4]]).tolist()
    [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    """
    x, offset = asarray(x), integer_of(offset, "offset", "diag_embed")
    if x.ndim == 0:
        raise ValueError("diag_embed: expected at least one dimension, got a tensor of shape ()")
    rows, columns = axis_of(dim1, x.ndim + 1, "diag_embed"), axis_of(dim2, x.ndim + 1, "diag_embed")
    if rows == columns:
        raise ValueError(f"diag_embed: dim1 and dim2 must be two dimensions, got {dim1} and {dim2}")
    size = x.shape[-1] + abs(offset)
    result = zeros((*x.shape[:-1], size, size), dtype=x.dtype, device=x.device)
    diagonal(result, offset, -2, -1)[...] = x
    return moveaxis(result, (-2, -1), (rows, columns))


def block_diag(*arrays):
    """Return a matrix with matrices along its diagonal, and 0 elsewhere.

    Parameters
    ----------
    *arrays : array_like
        Matrices; vectors are rows and numbers are matrices of one element.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    TypeError
        An argument is not a tensor, or there is no common dtype.
    ValueError
        There is no argument, or one has more than two dimensions.

    {Notes: PyTorch: ``torch.block_diag``. SciPy: ``scipy.linalg.block_diag``.}

    Examples
    --------
    >>> dl.block_diag([[1, 2]], 3).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [atleast_2d(array) for array in arrays]
    if not blocks or max(block.ndim for block in blocks) > 2:
        raise ValueError(f"block_diag: expected matrices, got shapes {[block.shape for block in blocks]}")
    size = [sum(block.shape[axis] for block in blocks) for axis in (0, 1)]
    result = zeros(size, dtype=result_type(*blocks), device=blocks[0].device)
    row = column = 0
    for block in blocks:
        result[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return result


def fill_diagonal(x, value, /, wrap=False):
    """Write to the main diagonal of a tensor.

    Parameters
    ----------
    x : Tensor
        Tensor to write to, of two dimensions, or of more of one extent.
    value : array_like or number
        Elements in C order, again from the first one where they are fewer than the diagonal has.
    wrap : bool, default False
        Whether the diagonal of a matrix with more rows than columns begins again below, after an empty row.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `value` is no number.
    ValueError
        `x` has less than two dimensions, or more of several extents. There is no value, or `x` is read-only.

    Examples
    --------
    >>> t = dl.zeros((2, 2))
    >>> dl.fill_diagonal(t, 5)
    >>> t.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    tensor_to_write(x, "fill_diagonal")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ValueError(f"fill_diagonal: expected a matrix, or extents that are equal, got shape {x.shape}")
    values = line_of(value, x)
    period = x.shape[1] + 1
    starts = range(0, x.shape[0], period) if wrap and x.ndim == 2 else (0,)
    done = 0
    for start in starts:
        part = x[start : start + x.shape[1]] if x.ndim == 2 else x
        diagonals = strided_view(part, (min(part.shape),), (sum(part.strides),), 0)
        if diagonals.size and not values.size:
            raise ValueError("fill_diagonal: expected values, got none")
        at = ops.remainder(arange(done, done + diagonals.size).to(values.device), max(values.size, 1))
        if diagonals.size:
            diagonals[...] = values[at]
        done += diagonals.size
