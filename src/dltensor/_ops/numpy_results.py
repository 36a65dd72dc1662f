# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy that NumPy computes, on the memory of the tensors, and whose results are tensors then too."""

import numpy

from .._core.convert import asarray

# Functions whose results are elements of their arguments or computed from them: a caller that gives tensors goes on
# with tensors. What returns text, dtypes or indices for ndarrays alone stays with NumPy's own types.
_NAMES = """
    angle append apply_along_axis apply_over_axes argpartition argwhere array_split atleast_1d atleast_2d
    atleast_3d choose column_stack compress corrcoef cov cumulative_prod cumulative_sum delete diag diagflat
    diagonal digitize dsplit dstack ediff1d extract fix flatnonzero fliplr flipud gradient hsplit hstack i0
    inner insert interp iscomplex isneginf isposinf isreal nan_to_num nanargmax nanargmin nancumprod nancumsum
    nanmedian nanpercentile nanprod nanquantile pad partition percentile piecewise ravel_multi_index
    real_if_close resize rollaxis rot90 row_stack select sinc split swapaxes trace trapezoid trim_zeros unique
    unravel_index unwrap vdot vsplit vstack
"""
_SUBMODULES = {
    "linalg": "cholesky cond det diagonal eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power matrix_rank "
    "multi_dot norm pinv qr slogdet solve svd svdvals tensorinv tensorsolve trace vector_norm",
    "fft": "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
}


def find_functions():
    """Return the functions of the lists above that the installed NumPy has.

    >>> import numpy
    >>> numpy.swapaxes in find_functions(), numpy.linalg.svd in find_functions()
    (True, True)
    """
    owners = [(numpy, _NAMES), *((getattr(numpy, module), names) for module, names in _SUBMODULES.items())]
    return frozenset(getattr(owner, name) for owner, names in owners for name in names.split() if hasattr(owner, name))


def as_tensors(x):
    """Return arrays and scalars of NumPy as tensors that share their memory, also inside lists and tuples.

    What DLPack cannot express, as structured arrays and text, stays as it is.

    >>> import numpy
    >>> as_tensors((numpy.arange(2), 3, "text"))
    (Tensor([0, 1], shape=(2,), device=cpu, dtype=int64), 3, 'text')
    """
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        if type(x) is not numpy.ndarray and isinstance(x, numpy.ndarray):
            return x  # a subclass, which has a meaning of its own
        return asarray(x) if x.dtype.kind in "biufcV" and x.dtype.names is None and _is_expressible(x) else x
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(as_tensors, x))
    if type(x) in (list, tuple):
        return type(x)(map(as_tensors, x))
    return x


def _is_expressible(x):
    """Test whether DLPack has the dtype of an array: not of long double, and not of plain bytes."""
    return x.dtype.type is not numpy.void and x.dtype.char not in "gG"
