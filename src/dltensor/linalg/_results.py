# SPDX-License-Identifier: Apache-2.0
"""Named tuples that functions of ``dl.linalg`` return, with the array API's fields."""

from typing import NamedTuple

from .._core.tensor import Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Real eigenvalues, ascending, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle, whose product is the matrix."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign of the determinant, and logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, descending, right singular vectors as conjugated rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor
