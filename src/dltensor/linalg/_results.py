# SPDX-License-Identifier: Apache-2.0
"""Named tuples that functions of ``dl.linalg`` return, with the array API's fields."""

from typing import NamedTuple

from .._core.tensor import Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns.

    Examples
    --------
    >>> dl.linalg.eig(dl.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.tolist()
    [(2+0j), (3+0j)]
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Real eigenvalues, ascending, and eigenvectors as columns.

    Examples
    --------
    >>> dl.linalg.eigh(dl.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.tolist()
    [2.0, 3.0]
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


class LstsqResult(NamedTuple):
    """Least-squares solution, sums of squared residuals, rank, and singular values.

    Examples
    --------
    >>> dl.linalg.lstsq(dl.asarray([[2.0], [0.0]]), [4.0, 1.0]).residuals.tolist()
    [1.0]
    """

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle, whose product is the matrix.

    Examples
    --------
    >>> dl.linalg.qr(dl.asarray([[0.0, 2.0], [1.0, 0.0]])).R.tolist()
    [[-1.0, 0.0], [0.0, -2.0]]
    """

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign of the determinant, and logarithm of its absolute value.

    Examples
    --------
    >>> dl.linalg.slogdet(dl.asarray([[-1.0, 0.0], [0.0, 1.0]])).sign.tolist()
    -1.0
    """

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, descending, right singular vectors as conjugated rows.

    Examples
    --------
    >>> dl.linalg.svd(dl.asarray([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """

    U: Tensor
    S: Tensor
    Vh: Tensor
