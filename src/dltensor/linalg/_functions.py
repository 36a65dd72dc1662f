# SPDX-License-Identifier: Apache-2.0
"""Functions of ``dl.linalg`` over factorizations and reductions: norms, ranks, powers, pseudo-inverses, diagonals."""

from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, integer_of
from .._core.scalars import plain_number
from .._core.types import DTYPES, LinAlgError
from .._core.views import diagonal_view, on_host
from .._ops import elementwise as ops
from .._ops.arguments import written
from .._ops.casting import where
from .._ops.creation import eye, zeros
from .._ops.dtypes import finfo, isdtype
from .._ops.engine import check_computes
from .._ops.fused_dots import each_twice, float_parts
from .._ops.fusing import fuse
from .._ops.manipulation import broadcast_to, matrix_transpose, permute_dims, reshape
from .._ops.matmul import matmul
from .._ops.promotion import result_type
from .._ops.reduce import all as all_of
from .._ops.reduce import any as any_of
from .._ops.reduce import count_nonzero, max, min, sum
from ._backends import find
from ._factorizations import check_matrices, computed, euclidean, inv, slogdet, svd, svdvals
from ._results import LstsqResult

_FLOAT32 = DTYPES["float32"]
_NARROW = ("float16", "bfloat16")
_INF = float("inf")


def backend():
    """Return the name of the library that computes eigenvalues and singular values of matrices beyond 8 x 8.

    It is the first that is installed of scipy-openblas32 and NumPy, or the one that the environment variable
    ``DLTENSOR_LAPACK`` names. It is chosen when it is first needed. All other functions need none.

    Returns
    -------
    str
        "scipy-openblas32" or "numpy".

    Raises
    ------
    ImportError
        No library, or not the selected one, is installed; the extra ``linalg`` brings scipy-openblas32.
    ValueError
        ``DLTENSOR_LAPACK`` names something else.

    Notes
    -----
    scipy-openblas32 counts in 32 bits: it takes up to 30,000 rows or singular values, and 30,000 rows and columns of
    `svd` with ``full_matrices=True``. Larger matrices raise ValueError.

    Examples
    --------
    >>> dl.linalg.backend() in ("scipy-openblas32", "numpy")
    True
    """
    return find("backend")


def _operand(x, func):
    """A tensor of a float or complex dtype, of 16-bit floats as float32, and the dtype of the result."""
    x = computed(x, func)
    return (x.astype(_FLOAT32) if x.dtype.name in _NARROW else x), x.dtype


def _finished(result, dtype, out, func):
    """The result in the 16-bit dtype of the operand, or `out` after it was written there."""
    return written(result.astype(dtype) if dtype.name in _NARROW else result, out, func)


def diagonal(x, /, offset=0):
    """Return the diagonal of a matrix, as a view.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., m, n)`` and of any dtype, on any device.
    offset : int, default 0
        Which diagonal: above the main one if positive, below it if negative.

    Returns
    -------
    Tensor
        Of shape ``(..., k)``, sharing the memory of `x`; k is 0 for an offset outside of the matrix.

    Raises
    ------
    ValueError
        `x` has fewer than two dimensions.
    TypeError
        `offset` is not an integer.

    {See Also: trace}

    Examples
    --------
    >>> dl.linalg.diagonal(dl.asarray([[1, 2], [3, 4]]))
    Tensor([1, 4], shape=(2,), device=cpu, dtype=int64)
    """
    x = asarray(x)
    check_matrices(x, False, "diagonal")
    offset = integer_of(offset, "offset", "diagonal")
    rows, columns = x.shape[-2:]
    return diagonal_view(x, sorted((-rows, offset, columns))[1] if offset else 0)


def trace(x, /, offset=0, *, dtype=None, out=None):
    """Sum the diagonal of a matrix. Sums of floats are exact and rounded once.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., m, n)`` and of a numeric dtype.
    {diagonal: offset}
    dtype : dtype_like, optional
        Of the result. By default int64 or uint64 for integers, else that of `x`.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of shape ``(...)``.

    Raises
    ------
    ValueError
        `x` has fewer than two dimensions, or `out` has another shape or is read-only.
    TypeError
        `offset` is not an integer, the dtype has no sum, or that of `out` is of a lower kind than the result's.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    {See Also: diagonal}

    Examples
    --------
    >>> dl.linalg.trace(dl.asarray([[1, 2], [3, 4]]))
    Tensor(5, shape=(), device=cpu, dtype=int64)
    """
    x = asarray(x)
    check_matrices(x, False, "trace")
    check_computes(x, "trace")
    x = diagonal(x, offset)
    result = sum(x, axis=-1) if dtype is None else sum(x, axis=-1, dtype=dtype)
    return written(result, out, "trace")


def _power_norm(x, axes, keepdims, ord):
    """Norms by powers of absolute values, divided by the largest so that powers do not overflow."""
    size = ops.abs(x)
    largest = max(size, axis=axes, keepdims=True, initial=0.0)
    by = where(ops.logical_and(ops.isfinite(largest), ops.greater(largest, 0.0)), largest, 1.0)
    total = sum(ops.pow(ops.divide(size, by), float(ord)), axis=axes, keepdims=True)
    result = ops.multiply(ops.pow(total, 1.0 / ord), by)
    return result if keepdims else reshape(result, tuple(s for i, s in enumerate(result.shape) if i not in axes))


@fuse
def _narrow_norms(x, axes):
    wide = x.astype("float64")  # squares of float32 are exact in float64
    return ops.sqrt(sum(ops.multiply(wide, wide), axis=axes)).astype(_FLOAT32)


@fuse
def _wide_norms(x, first, axes):
    """Norms of float64, each element twice: for its square, and for what the rounding of that leaves."""
    # A power of two keeps both in the range of exponents.
    most = max(ops.abs(x), axis=axes, keepdims=True)
    one = ops.equal(most, most).astype("float64")
    by = where(ops.less(most, 2.0**-400), ops.multiply(one, 2.0**600), one)
    by = where(ops.greater(most, 2.0**400), ops.multiply(one, 2.0**-600), by)
    x = ops.multiply(x, by)
    square = ops.multiply(x, x)
    error = ops.fma(x, x, ops.negative(square))
    total = sum(where(first, square, where(ops.isfinite(square), error, 0.0)), axis=axes, keepdims=True)
    return ops.divide(ops.sqrt(total), by)


def _norms_by_sums(x, kept):
    """Euclidean norms over all but the first `kept` dimensions: the roots of exact sums of exact squares."""
    if isdtype(x.dtype, "complex floating"):
        x = float_parts(x)
    shape = x.shape[:kept]
    if x.size == 0:
        return zeros(shape, dtype=x.dtype, device=x.device)
    if x.dtype == _FLOAT32:
        return _narrow_norms(x, tuple(range(kept, x.ndim)))
    twice, first = each_twice(x)
    return reshape(_wide_norms(twice, first, tuple(range(kept, twice.ndim))), shape)


def _vector_norm(x, axes, keepdims, ord):
    """The norm of a float or complex tensor along a list of axes."""
    if ord == 2:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        order = (*kept, *axes)
        moved = x if order == tuple(range(x.ndim)) else permute_dims(x, order)
        result = euclidean(moved, len(kept)) if on_host(x) else _norms_by_sums(moved, len(kept))
        if result is None:  # strides of several steps
            result = euclidean(moved.copy(), len(kept))
        return reshape(result, tuple(1 if i in axes else s for i, s in enumerate(x.shape))) if keepdims else result
    axes = tuple(axes)
    if ord == _INF:
        return max(ops.abs(x), axis=axes, keepdims=keepdims, initial=0.0)
    if ord == -_INF:
        return min(ops.abs(x), axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum(ops.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return count_nonzero(x, axis=axes, keepdims=keepdims).astype(ops.abs(x).dtype)
    return _power_norm(x, axes, keepdims, ord)


def _order(ord, func):
    """The order of a norm as an int or a float of Python's own class, whose comparisons are what its value says."""
    try:
        number = plain_number(ord, func)
    except TypeError:
        number = None
    if number is None or isinstance(number, (bool, complex)):
        raise TypeError(f"{func}: ord must be a number, got {quoted(ord)}")
    return number


def vector_norm(x, /, axis=None, *, keepdims=False, ord=2, out=None):
    """Compute the norm of vectors.

    Parameters
    ----------
    x : array_like
        Tensor of any dtype with arithmetic: integers are converted to `get_default_dtype`, float16 and bfloat16
        computed in float32.
    axis : int or sequence of int, optional
        Dimensions of the vectors; several are taken as one. By default all.
    keepdims : bool, default False
        Whether these dimensions stay, with extent 1.
    ord : int or float, default 2
        Order p of the norm: ``sum(abs(x)**p)**(1/p)``, for infinity the largest absolute value, for minus infinity the
        smallest, for 0 the number of elements that are not 0.
    {trace: out}

    Returns
    -------
    Tensor
        Real. Order 2 neither overflows nor underflows between, and has the same bits on every processor.

    Raises
    ------
    ValueError
        An axis is named twice, there is no element to take the smallest of, or `out` has another shape or is
        read-only.
    IndexError
        `axis` is out of range.
    TypeError
        The dtype has no arithmetic, as float8, `ord` is not a number, or the dtype of `out` is of a lower kind than
        the result's.
    {trace: DeviceError}

    {See Also: matrix_norm}

    Examples
    --------
    >>> dl.linalg.vector_norm(dl.asarray([3.0, 4.0]))
    Tensor(5., shape=(), device=cpu, dtype=float32)
    """
    if axis is None and keepdims is False and type(ord) is int and ord == 2:
        result = euclidean(x)
        if result is not None:
            return written(result, out, "vector_norm")
    x, dtype = _operand(x, "vector_norm")
    ord, keepdims = _order(ord, "vector_norm"), bool(keepdims)
    axes = axes_of(range(x.ndim) if axis is None else axis, x.ndim, "vector_norm")
    if not axes:
        result = ops.abs(x) if ord else ops.not_equal(x, 0).astype(ops.abs(x).dtype)
    else:
        result = _vector_norm(x, axes, keepdims, ord)
    return _finished(result, dtype, out, "vector_norm")


_ORDERS = ("fro", "nuc", 1, -1, 2, -2, _INF, -_INF)


def _by_singular_values(x, ord):
    """Matrix norms from singular values, which are NaN where a matrix has NaN or infinity."""
    if 0 in x.shape[-2:]:
        if ord == -2:
            raise ValueError(f"matrix_norm: ord -2 of matrices without elements, shape {x.shape}")
        return _vector_norm(x, [x.ndim - 2, x.ndim - 1], False, 2)
    finite = all_of(ops.isfinite(x), axis=(-2, -1))
    values = svdvals(where(finite[..., None, None], x, _eye_like(x)))
    result = sum(values, axis=-1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
    return where(finite, result, float("nan"))


def _eye_like(x):
    """A matrix of the shape and dtype of `x` that has singular values."""
    return eye(x.shape[-2], x.shape[-1], dtype=x.dtype, device=x.device)


def matrix_norm(x, /, *, keepdims=False, ord="fro", out=None):
    """Compute the norm of a matrix.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., m, n)`` and of any dtype with arithmetic: integers are
        converted to `get_default_dtype`, float16 and bfloat16 computed in float32.
    keepdims : bool, default False
        Whether the last two dimensions stay, with extent 1.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}, default "fro"
        The Frobenius norm; the sum of singular values; the largest or smallest sum of a column's absolute values; the
        largest or smallest singular value; the largest or smallest sum of a row's absolute values.
    {trace: out}

    Returns
    -------
    Tensor
        Of shape ``(...)``, real.

    Raises
    ------
    ValueError
        `x` has fewer than two dimensions, `ord` is unknown, there is no element to take the smallest of, or `out` has
        another shape or is read-only.
    TypeError
        The dtype has no arithmetic, as float8, or that of `out` is of a lower kind than the result's.
    {trace: DeviceError}
    ImportError
        The norm needs singular values of matrices larger than 8 x 8, and no library is installed.
    RuntimeError
        The norm needs singular values of matrices larger than 8 x 8, inside a `reproducible` block.

    {See Also: vector_norm}

    Examples
    --------
    >>> dl.linalg.matrix_norm(dl.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor(5., shape=(), device=cpu, dtype=float32)
    """
    x, dtype = _operand(x, "matrix_norm")
    check_matrices(x, False, "matrix_norm")
    ord, keepdims = ord if isinstance(ord, str) else _order(ord, "matrix_norm"), bool(keepdims)
    if ord not in _ORDERS:
        raise ValueError(f"matrix_norm: ord must be one of fro, nuc, 1, -1, 2, -2, inf, -inf, got {quoted(ord)}")
    rows, columns = x.ndim - 2, x.ndim - 1
    if ord == "fro":
        result = _vector_norm(x, [rows, columns], False, 2)
    elif ord in ("nuc", 2, -2):
        result = _by_singular_values(x, ord)
    else:
        sums = sum(ops.abs(x), axis=rows if abs(ord) == 1 else columns)
        result = max(sums, axis=-1, initial=0.0) if ord > 0 else min(sums, axis=-1)
    return _finished(result[..., None, None] if keepdims else result, dtype, out, "matrix_norm")


def norm(x, /, ord=None, axis=None, keepdims=False, *, out=None):
    """Compute the norm of a vector or a matrix, as NumPy's ``linalg.norm``.

    Parameters
    ----------
    x : array_like
        Tensor of any dtype with arithmetic, as for `vector_norm`; for `ord` without `axis` of one dimension or two.
    ord : int, float or {"fro", "nuc"}, optional
        As for `vector_norm` and `matrix_norm`. By default the square root of the sum of squares.
    axis : int or sequence of int, optional
        One dimension for norms of vectors, two for those of matrices. By default all.
    {vector_norm: keepdims, out}

    Returns
    -------
    Tensor
        Real.

    Raises
    ------
    ValueError
        There are more dimensions than a norm has, `ord` is unknown, or `out` has another shape or is read-only.
    {vector_norm: IndexError}
    {matrix_norm: TypeError, DeviceError, RuntimeError}

    {See Also: vector_norm, matrix_norm}

    Examples
    --------
    >>> dl.linalg.norm(dl.asarray([3.0, 4.0]))
    Tensor(5., shape=(), device=cpu, dtype=float32)
    """
    if ord is None and axis is None and keepdims is False:
        result = euclidean(x)
        if result is not None:
            return written(result, out, "norm")
    _operand(x := asarray(x), "norm")
    if ord is None:
        return written(vector_norm(x, axis=axis, keepdims=keepdims), out, "norm")
    axes = axes_of(range(x.ndim) if axis is None else axis, x.ndim, "norm")
    if len(axes) == 1:
        return written(vector_norm(x, axis=axes[0], keepdims=keepdims, ord=ord), out, "norm")
    if len(axes) != 2:
        raise ValueError(
            f"norm: ord {quoted(ord)} is of vectors or matrices, got {len(axes)} dimensions of shape {x.shape}"
        )
    kept = [k for k in range(x.ndim) if k not in axes]
    result = matrix_norm(permute_dims(x, (*kept, *axes)), ord=ord)
    if keepdims:
        result = reshape(result, tuple(1 if k in axes else s for k, s in enumerate(x.shape)))
    return written(result, out, "norm")


def matrix_power(x, n, /, *, out=None):
    """Raise a square matrix to an integer power.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., m, m)`` and of any dtype with arithmetic: integers are
        converted to `get_default_dtype`, float16 and bfloat16 computed in float32.
    n : int
        The exponent. Powers of the inverse, if it is negative. Other powers of integers are integers, which wrap.
    {trace: out}

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`, if that is not converted.

    Raises
    ------
    LinAlgError
        `n` is negative and a matrix is singular; the message names which of the batch.
    ValueError
        `x` does not consist of square matrices, or `out` has another shape or is read-only.
    TypeError
        The dtype has no arithmetic, as float8, `n` is not an integer, or the dtype of `out` is of a lower kind than
        the result's.
    {trace: DeviceError}

    {See Also: inv}

    Examples
    --------
    >>> dl.linalg.matrix_power(dl.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Tensor([[1., 3.],
            [0., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    x, n = asarray(x), integer_of(n, "n", "matrix_power")
    x, dtype = (x, x.dtype) if n >= 0 and isdtype(x.dtype, "integral") else _operand(x, "matrix_power")
    check_matrices(x, True, "matrix_power")
    if n < 0:
        x, n = inv(x), -n
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    if result is None:
        result = broadcast_to(_eye_like(x), x.shape)
    if out is None and dtype.name not in _NARROW:
        return result.copy()
    return _finished(result, dtype, out, "matrix_power")


def _cutoff(x, dtype, values, rtol):
    """The singular values below which others count as 0, with a dimension for the values."""
    if 0 in x.shape[-2:]:
        return 0.0
    if rtol is None:
        rtol = sorted(x.shape[-2:])[1] * finfo(dtype).eps
    elif not isinstance(rtol, (int, float)):
        rtol = asarrays(values, rtol)[1].astype(values.dtype)[..., None]
    return ops.multiply(values[..., :1], rtol)


def _inverses(x, dtype, values, rtol):
    """Inverses of singular values, 0 of those that are negligible, and the number of the others."""
    kept = ops.greater(values, _cutoff(x, dtype, values, rtol))
    return where(kept, ops.divide(1.0, where(kept, values, 1.0)), 0.0), count_nonzero(kept, axis=-1)


def _adjoint(x):
    return matrix_transpose(ops.conj(x))


def matrix_rank(x, /, *, rtol=None, out=None):
    """Count the singular values of a matrix that are not negligible.

    Parameters
    ----------
    {matrix_norm: x}
    rtol : float or array_like, optional
        Singular values up to this part of the largest one are negligible; of shape ``(...)`` if it is a tensor. By
        default ``max(m, n)`` times the dtype's eps.
    {trace: out}

    Returns
    -------
    Tensor
        Of shape ``(...)`` and dtype int64.

    Raises
    ------
    LinAlgError
        A matrix has NaN or infinite elements; the message names which of the batch.
    {trace: ValueError}
    TypeError
        The dtype has no arithmetic, as float8, or that of `out` is of a lower kind than int64.
    DeviceError
        `x` is neither on the host nor on a CUDA device, or larger than 512 x 512 there and cuSOLVER is not installed;
        the message names ``.to("cpu")``.
    ImportError
        A matrix is larger than 8 x 8, and no library is installed; the extra ``linalg`` brings one.
    RuntimeError
        A matrix is larger than 8 x 8, inside a `reproducible` block.

    {See Also: svdvals}

    Examples
    --------
    >>> dl.linalg.matrix_rank(dl.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor(1, shape=(), device=cpu, dtype=int64)
    """
    x, dtype = _operand(x, "matrix_rank")
    check_matrices(x, False, "matrix_rank")
    values = svdvals(x)
    result = count_nonzero(ops.greater(values, _cutoff(x, dtype, values, rtol)), axis=-1)
    return written(result, out, "matrix_rank")


def pinv(x, /, *, rtol=None, out=None):
    """Compute the Moore-Penrose pseudo-inverse of a matrix.

    Parameters
    ----------
    rtol : float or array_like, optional
        Singular values up to this part of the largest one are taken as 0; of shape ``(...)`` if it is a tensor. By
        default ``max(m, n)`` times the dtype's eps.

    Returns
    -------
    Tensor
        Of shape ``(..., n, m)`` and the dtype of `x`.

    Raises
    ------
    {matrix_norm: TypeError}

    {matrix_rank: Parameters, Raises}

    {See Also: inv}

    Examples
    --------
    >>> dl.linalg.pinv(dl.asarray([[2.0], [0.0]]))
    Tensor([[0.5, 0. ]], shape=(1, 2), device=cpu, dtype=float32)
    """
    x, dtype = _operand(x, "pinv")
    check_matrices(x, False, "pinv")
    u, values, vh = svd(x, full_matrices=False)
    inverses, _ = _inverses(x, dtype, values, rtol)
    right = ops.multiply(_adjoint(vh), inverses[..., None, :])
    return _finished(matmul(right, _adjoint(u)), dtype, out, "pinv")


def lstsq(a, b, /, rcond=None):
    """Solve ``a @ x = b`` by least squares; of several solutions the one of smallest norm.

    Parameters
    ----------
    a : array_like
        Of shape ``(..., m, n)`` and of any dtype with arithmetic: integers are
        converted to `get_default_dtype`, float16 and bfloat16 computed in float32.
    b : array_like
        Right-hand sides as columns, ``(..., m, k)``; or a vector, ``(m,)``, or one for each matrix, ``(..., m)``.
    rcond : float or array_like, optional
        Singular values up to this part of the largest one are taken as 0. By default, ``max(m, n)`` times the
        dtype's eps; a negative number stands for eps itself.

    Returns
    -------
    LstsqResult
        `solution` of shape ``(..., n, k)`` or ``(..., n)``; `residuals`, the sum of squares of each column of
        ``b - a @ x``, empty if ``m <= n`` or a rank is less than `n`; `rank`, int64; `singular_values` of `a`.

    Raises
    ------
    {matrix_rank: LinAlgError}
    ValueError
        `a` has fewer than two dimensions, or `b` another number of rows.
    TypeError
        A dtype has no arithmetic, as float8.
    {matrix_rank: DeviceError, ImportError, RuntimeError}

    {See Also: pinv, solve}

    Notes
    -----
    NumPy: ``numpy.linalg.lstsq``. PyTorch: ``torch.linalg.lstsq``, whose names the fields have. Computed from singular
    values.

    Examples
    --------
    >>> a = dl.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> [round(value, 4) for value in dl.linalg.lstsq(a, [1.0, 3.0, 5.0]).solution.tolist()]
    [1.0, 2.0]
    """
    a, b = asarrays(a, b)
    a, b = computed(a, "lstsq", b), computed(b, "lstsq", a)
    check_matrices(a, False, "lstsq")
    dtype = result_type(a, b)
    work = _FLOAT32 if dtype.name in _NARROW else dtype
    a, b = a.astype(work, copy=False), b.astype(work, copy=False)
    vectors = b.ndim == 1 or b.shape == a.shape[:-1]
    b = b[..., None] if vectors else b
    m, n = a.shape[-2:]
    if b.ndim < 2 or b.shape[-2] != m:
        raise ValueError(f"lstsq: a and b must have one number of rows, got shapes {a.shape} and {b.shape}")
    u, values, vh = svd(a, full_matrices=False)
    rcond = finfo(work).eps if isinstance(rcond, (int, float)) and rcond < 0 else rcond
    inverses, rank = _inverses(a, dtype, values, rcond)
    x = matmul(_adjoint(vh), ops.multiply(inverses[..., None], matmul(_adjoint(u), b)))
    if m > n and all_of(ops.equal(rank, n)).item():
        residuals = sum(ops.square(ops.abs(ops.subtract(b, matmul(a, x)))), axis=-2)
    else:
        residuals = zeros((0,), dtype=values.dtype, device=values.device)
    real = dtype if dtype.name in _NARROW else values.dtype
    return LstsqResult((x[..., 0] if vectors else x).astype(dtype), residuals.astype(real), rank, values.astype(real))


def cond(x, /, p=None, *, out=None):
    """Compute the condition number of a matrix: the product of its norm and that of its inverse.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., m, n)`` and of any dtype with arithmetic, square unless `p` is None, 2 or -2. float16 and
        bfloat16 are computed in float32.
    p : {None, "fro", "nuc", 1, -1, 2, -2, inf, -inf}, optional
        Order of the norm, as for `matrix_norm`. None is 2: the largest over the smallest singular value.

    Returns
    -------
    Tensor
        Of shape ``(...)``, real; infinity for singular matrices, NaN for those with NaN.

    Raises
    ------
    LinAlgError
        The matrices have no elements.
    ValueError
        `x` does not consist of (square) matrices, or `p` is unknown.

    {pinv: Parameters, Raises}

    {See Also: svdvals}

    Examples
    --------
    >>> dl.linalg.cond(dl.asarray([[4.0, 0.0], [0.0, 2.0]]))
    Tensor(2., shape=(), device=cpu, dtype=float32)
    """
    x, dtype = _operand(x, "cond")
    p = 2 if p is None else p if isinstance(p, str) else _order(p, "cond")
    check_matrices(x, p not in (2, -2), "cond")
    if p not in _ORDERS:
        raise ValueError(f"cond: p must be None, fro, nuc, 1, -1, 2, -2, inf or -inf, got {quoted(p)}")
    if 0 in x.shape[-2:]:
        raise LinAlgError(f"cond: not defined for matrices without elements, got shape {x.shape}")
    has_nan = any_of(ops.isnan(x), axis=(-2, -1))
    usable = all_of(ops.isfinite(x), axis=(-2, -1))
    if p in (2, -2):
        values = svdvals(where(usable[..., None, None], x, _eye_like(x)))
        result = ops.divide(values[..., 0], values[..., -1])
        result = result if p == 2 else ops.divide(values[..., -1], values[..., 0])
    else:
        unit = _eye_like(x)
        usable = ops.logical_and(usable, ops.not_equal(slogdet(where(usable[..., None, None], x, unit)).sign, 0))
        x = where(usable[..., None, None], x, unit)
        result = ops.multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))
    result = where(ops.logical_and(usable, ops.logical_not(ops.isnan(result))), result, _INF)
    return _finished(where(has_nan, float("nan"), result), dtype, out, "cond")


def multi_dot(arrays, /, *, out=None):
    """Multiply matrices in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        At least two matrices. The first and the last may be vectors: a row and a column. The dtypes are promoted.
    {trace: out}

    Returns
    -------
    Tensor
        The product, without the dimension of a vector.

    Raises
    ------
    ValueError
        There are fewer than two, or shapes do not fit; or `out` has another shape or is read-only.
    TypeError
        There is no common dtype, or the dtype of `out` is of a lower kind than the result's.

    {See Also: matmul}

    Examples
    --------
    >>> a, v = dl.ones((2, 2)), dl.ones(2)
    >>> dl.linalg.multi_dot([a, a, v])
    Tensor([4., 4.], shape=(2,), device=cpu, dtype=float32)
    """
    parts = asarrays(*arrays)
    if len(parts) < 2:
        raise ValueError(f"multi_dot: expected at least two arrays, got {len(parts)}")
    dtype = result_type(*parts)
    ends = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0][None] if ends[0] else parts[0]
    parts[-1] = parts[-1][:, None] if ends[1] else parts[-1]
    for k, part in enumerate(parts):
        if part.ndim != 2 or (k and parts[k - 1].shape[1] != part.shape[0]):
            before = f" after {parts[k - 1].shape}" if k else ""
            raise ValueError(f"multi_dot: arrays[{k}] has shape {part.shape}{before}; expected matrices that fit")
    parts = [part.astype(dtype, copy=False) for part in parts]
    best = _best_order([parts[0].shape[0], *(part.shape[1] for part in parts)])
    product = _product(parts, best, 0, len(parts) - 1)
    return written(
        product[0 if ends[0] else slice(None), ..., 0] if ends[1] else product[0] if ends[0] else product,
        out,
        "multi_dot",
    )


def _best_order(sizes):
    """Where a chain of matrices is divided for the fewest multiplications: by its first and last matrix."""
    count = len(sizes) - 1
    costs, best = {(k, k): 0 for k in range(count)}, {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], best[first, last] = sorted(
                (costs[first, k] + costs[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            )[0]
    return best


def _product(parts, best, first, last):
    """The product of a part of a chain of matrices."""
    if first == last:
        return parts[first]
    middle = best[first, last]
    return matmul(_product(parts, best, first, middle), _product(parts, best, middle + 1, last))
