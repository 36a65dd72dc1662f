# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: the array API's extension linalg, on batches of matrices; large singular values by a LAPACK."""

from .._core.naming import set_module as _set_module
from .._core.types import LinAlgError
from .._ops.contractions import tensordot, vecdot
from .._ops.einsum import cross, outer
from .._ops.manipulation import matrix_transpose
from .._ops.matmul import matmul
from ._factorizations import cholesky, det, eig, eigh, eigvals, eigvalsh, inv, qr, slogdet, solve, svd, svdvals
from ._functions import (
    backend,
    cond,
    diagonal,
    lstsq,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    pinv,
    trace,
    vector_norm,
)
from ._results import EighResult, EigResult, LstsqResult, QRResult, SlogdetResult, SVDResult

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "backend",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
_set_module(globals())
