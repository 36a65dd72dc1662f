# SPDX-License-Identifier: Apache-2.0
"""The functions of ``dl.fft``: checks, cropping and padding, frequencies and shifts. The library computes."""

from .._core.convert import asarray, from_dlpack
from .._core.default_dtype import get_default_dtype
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, axis_of, integer_of, items_of
from .._core.reproducible import check_reproducible, is_reproducible
from .._core.types import DTYPES, as_dtype
from .._core.views import array_of_few, move_for, on_host
from .._ops.arguments import written
from .._ops.creation import arange, zeros
from .._ops.dtypes import isdtype
from .._ops.elementwise import divide
from .._ops.engine import check_computes
from .._ops.manipulation import concat, roll
from ._backends import SMALL, find

_FLOAT32, _FLOAT64, _COMPLEX64, _COMPLEX128 = (
    DTYPES[name] for name in ("float32", "float64", "complex64", "complex128")
)
# The real and the complex dtype of the transform of elements of a dtype.
_REAL_OF = {_FLOAT32: _FLOAT32, _FLOAT64: _FLOAT64, _COMPLEX64: _FLOAT32, _COMPLEX128: _FLOAT64}
_COMPLEX_OF = {_FLOAT32: _COMPLEX64, _FLOAT64: _COMPLEX128, _COMPLEX64: _COMPLEX64, _COMPLEX128: _COMPLEX128}
# Computed in float32: there the library has no transform.
_NARROW = ("float16", "bfloat16")
_NORMS = ("backward", "ortho", "forward")


def _operand(func, x, *, real=False):
    """A tensor of one of the four dtypes that the libraries transform."""
    x = asarray(x)
    check_computes(x, func)
    dtype = x.dtype
    if dtype not in _REAL_OF:
        if isdtype(dtype, ("bool", "integral")):
            return x.astype(get_default_dtype())
        if dtype.name not in _NARROW:
            raise TypeError(f"{func}: no transform of {dtype}; convert it with astype() to a float or complex dtype")
        return x.astype(_FLOAT32)
    if real and _REAL_OF[dtype] != dtype:
        raise TypeError(f"{func}: x must be real, got {dtype}; take dl.real(x), or a transform of complex elements")
    return x


def _checked_norm(func, norm):
    """The name of a norm; None is the default, as in NumPy and PyTorch."""
    norm = "backward" if norm is None else norm
    if norm not in _NORMS:
        raise ValueError(f"{func}: norm must be one of {', '.join(_NORMS)}, got {quoted(norm)}")
    return norm


def _size(func, name, n):
    """A number of elements to transform, which is at least 1."""
    n = integer_of(n, name, func)
    if n < 1:
        raise ValueError(f"{func}: {name} must be at least 1, got {n}")
    return n


def _sizes(func, x, s, axes):
    """The axes of a transform and how many elements along each: -1 for all there are, None for all of each axis."""
    s = None if s is None else [integer_of(one, "s", func) for one in items_of(s, "s", func)]  # axes after it
    if s is not None and axes is None and len(s) > x.ndim:
        raise ValueError(f"{func}: s has {len(s)} sizes, but x has {x.ndim} dimensions")
    if axes is None:
        axes = range(0 if s is None else x.ndim - len(s), x.ndim)
    axes = [axis_of(axis, x.ndim, func) for axis in items_of(axes, "axes", func)]
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{func}: s has {len(s)} sizes for {len(axes)} axes")
    return axes, None if s is None else [one if one == -1 else _size(func, "s", one) for one in s]


def _along(func, x, axes, sizes, norm, forward):
    """The complex transform along axes; one that is named twice is transformed twice, the last first, as in NumPy."""
    if len(set(axes)) == len(axes):
        return _complex_to_complex(func, x, axes, sizes, norm, forward)
    for place in reversed(range(len(axes))):
        x = _complex_to_complex(func, x, [axes[place]], sizes and [sizes[place]], norm, forward)
    return x


def _fitted(func, x, axes, sizes):
    """`x` cropped, as a view, or padded with zeros to the sizes along the axes; -1 leaves an axis as it is."""
    shape = list(x.shape)
    for axis, size in zip(axes, [-1] * len(axes) if sizes is None else sizes, strict=True):
        if size >= 0:
            shape[axis] = size
        elif shape[axis] == 0:
            raise ValueError(f"{func}: x of shape {x.shape} has no element along axis {axis}")
    shape = tuple(shape)
    if shape == x.shape:
        return x
    x = x[tuple(slice(0, size) for size in shape)]
    if shape == x.shape:
        return x
    result = zeros(shape, dtype=x.dtype, device=x.device)
    result[tuple(slice(0, size) for size in x.shape)] = x
    return result


def _tensor(array, dtype):
    """The tensor over an array of the library, which only NumPy before 2.0 gives in another dtype."""
    result = from_dlpack(array)
    return result if result.dtype is dtype else result.astype(dtype, copy=False)


def _library(func, x):
    """Return what transforms the memory of a tensor: the backend, or on a device cuFFT."""
    if on_host(x):
        library = find()
        check_reproducible(func, library.name, "call it outside the block")
        return library
    from . import _cufft

    check_reproducible(func, "cuFFT", "call it outside the block")
    return _cufft


def _array(x):
    return x.numpy() if on_host(x) else x


def _few(name, x, n, axis, norm, real):
    """Fast path: few elements of a host tensor along its last axis, for which nothing else needs to be checked.

    None before the library has been chosen, if `x` is anything else, with other arguments than the defaults, and inside
    a `reproducible` block.
    """
    if n is not None or is_reproducible() or type(axis) is not int or axis != -1 or norm != "backward":
        return None
    chosen = find.result
    transform = None if chosen is None else chosen.small.get(name)
    if transform is None:
        return None
    array = array_of_few(x, SMALL, real)
    return None if array is None else from_dlpack(transform(array))


def _complex_to_complex(func, x, axes, sizes, norm, forward):
    norm = _checked_norm(func, norm)
    if sizes is not None or x.size == 0:
        x = _fitted(func, x, axes, sizes)
    dtype = _COMPLEX_OF[x.dtype]
    library = _library(func, x)
    if not axes:  # a transform over no axis is the identity
        return x.astype(dtype)
    if x.size == 0:
        return zeros(x.shape, dtype=dtype, device=x.device)
    return _tensor(library.complex_to_complex(_array(x), axes, forward, norm), dtype)


def _real_to_complex(func, x, axes, sizes, norm, forward):
    """Real to complex; the last of the axes keeps n // 2 + 1 elements."""
    norm = _checked_norm(func, norm)
    if not axes:
        raise ValueError(f"{func}: expected at least one axis, got none")
    if sizes is not None or x.size == 0:
        x = _fitted(func, x, axes, sizes)
    dtype = _COMPLEX_OF[x.dtype]
    library = _library(func, x)
    if x.size == 0:
        shape = list(x.shape)
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
        return zeros(tuple(shape), dtype=dtype, device=x.device)
    return _tensor(library.real_to_complex(_array(x), axes, forward, norm), dtype)


def _complex_to_real(func, x, axes, sizes, norm, forward):
    """Complex to real; the last of the axes has n // 2 + 1 elements and becomes n."""
    norm = _checked_norm(func, norm)
    if not axes:
        raise ValueError(f"{func}: expected at least one axis, got none")
    sizes = [-1] * len(axes) if sizes is None else sizes
    size = sizes[-1] if sizes[-1] >= 0 else 2 * (x.shape[axes[-1]] - 1)
    if size < 1:
        raise ValueError(
            f"{func}: x of shape {x.shape} has {x.shape[axes[-1]]} elements along axis {axes[-1]}, which give {size}; "
            f"pass the size of the result as {'n' if func[-1] == 't' else 's'}"
        )
    x = _fitted(func, x, axes, [*sizes[:-1], size // 2 + 1])
    dtype = _REAL_OF[x.dtype]
    library = _library(func, x)
    if x.size == 0:
        shape = list(x.shape)
        shape[axes[-1]] = size
        return zeros(tuple(shape), dtype=dtype, device=x.device)
    x = x.astype(_COMPLEX_OF[x.dtype], copy=False)
    return _tensor(library.complex_to_real(_array(x), axes, size, forward, norm), dtype)


def _axis_and_size(func, x, n, axis):
    """The axis of a transform along one, and its size, as lists; None for all that there is."""
    ndim = x.ndim
    axes = [axis_of(axis, ndim, func)]
    return axes, None if n is None else [_size(func, "n", n)]


def _real_along(func, x, s, axes, norm):
    """The transform of real elements along axes."""
    x = _operand(func, x, real=True)
    axes, sizes = _sizes(func, x, s, axes)
    if len(set(axes)) == len(axes):
        return _real_to_complex(func, x, axes, sizes, norm, True)
    sizes = [x.shape[axis] for axis in axes] if sizes is None else sizes
    halved = _real_to_complex(func, x, axes[-1:], sizes[-1:], norm, True)
    return _along(func, halved, axes[:-1], sizes[:-1], norm, True)


def _real_again(func, x, s, axes, norm):
    """The inverse of the transform of real elements along axes."""
    x = _operand(func, x)
    axes, sizes = _sizes(func, x, s, axes)
    if len(set(axes)) == len(axes):
        return _complex_to_real(func, x, axes, sizes, norm, False)
    transformed = _along(func, x, axes[-2::-1], sizes and sizes[-2::-1], norm, False)  # the first of them first
    return _complex_to_real(func, transformed, axes[-1:], sizes and sizes[-1:], norm, False)


def backend():
    """Return the name of the library that computes Fourier transforms.

    It is the first that is installed of ducc0, SciPy and NumPy, or the one that the environment variable
    ``DLTENSOR_FFT`` names. It is chosen when it is first needed.

    Returns
    -------
    str
        "ducc0", "scipy" or "numpy".

    Raises
    ------
    ImportError
        No library, or not the selected one, is installed; the extra ``fft`` brings SciPy.
    ValueError
        ``DLTENSOR_FFT`` names something else.

    Examples
    --------
    >>> dl.fft.backend() in ("ducc0", "scipy", "numpy")
    True
    """
    return find().name


def fft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the discrete Fourier transform along one axis.

    Parameters
    ----------
    x : array_like
        Tensor on the host or a CUDA device, or any object that supports DLPack. bool and integers are
        converted to `get_default_dtype`, float16 and bfloat16 to float32.
    n : int, optional
        Number of elements to transform: `x` is cropped, or padded with zeros. By default all along `axis`.
    axis : int, default -1
        Dimension to transform.
    norm : {"backward", "ortho", "forward"}, default "backward"
        Division of the result: by 1, by the square root of the number of transformed elements, or by that number.
        None is the default.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of dtype complex128 for elements that are float64 or complex128, or converted to float64, else complex64.

    Raises
    ------
    ValueError
        There is nothing to transform, a size is less than 1, `norm` is unknown, or `out` has another shape or is
        read-only.
    IndexError
        An axis is out of range.
    TypeError
        The dtype has no transform, a size is not an integer, or the dtype of `out` is of a lower kind than that of the
        result.
    DeviceError
        `x` is neither on the host nor on a CUDA device, or cuFFT is not installed; the message names ``.to("cpu")``.
    ImportError
        No library is installed; the extra ``fft`` brings SciPy.
    RuntimeError
        A library would compute, inside a `reproducible` block.

    {See Also: ifft}

    Examples
    --------
    >>> dl.real(dl.fft.fft(dl.asarray([1.0, 2.0, 3.0, 2.0])))
    Tensor([ 8., -2.,  0., -2.], shape=(4,), device=cpu, dtype=float32)
    """
    result = _few("fft", x, n, axis, norm, False)
    if result is None:
        x = _operand("fft", x)
        result = _complex_to_complex("fft", x, *_axis_and_size("fft", x, n, axis), norm, True)
    return result if out is None else written(result, out, "fft")


def ifft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the inverse discrete Fourier transform along one axis.

    Parameters
    ----------
    norm : {"backward", "ortho", "forward"}, default "backward"
        Division of the result: by the number of transformed elements, by its square root, or by 1. None is the
        default.

    {fft: Parameters, Returns, Raises}

    {See Also: fft}

    Examples
    --------
    >>> dl.real(dl.fft.ifft(dl.asarray([4.0, 0.0, 0.0, 0.0])))
    Tensor([1., 1., 1., 1.], shape=(4,), device=cpu, dtype=float32)
    """
    result = _few("ifft", x, n, axis, norm, False)
    if result is None:
        x = _operand("ifft", x)
        result = _complex_to_complex("ifft", x, *_axis_and_size("ifft", x, n, axis), norm, False)
    return result if out is None else written(result, out, "ifft")


def fftn(x, /, s=None, axes=None, norm="backward", *, out=None):
    """Compute the discrete Fourier transform along several axes.

    Parameters
    ----------
    s : sequence of int, optional
        Number of elements to transform along each of `axes`: `x` is cropped, or padded with zeros. -1, and the default,
        stand for all.
    axes : sequence of int, optional
        Dimensions to transform; one that is named twice is transformed twice. By default the last ``len(s)``, or all
        without `s`.

    {fft: Parameters, Returns, Raises}

    {See Also: ifftn}

    Examples
    --------
    >>> dl.real(dl.fft.fftn(dl.ones((2, 3))))
    Tensor([[6., 0., 0.],
            [0., 0., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    x = _operand("fftn", x)
    return written(_along("fftn", x, *_sizes("fftn", x, s, axes), norm, True), out, "fftn")


def ifftn(x, /, s=None, axes=None, norm="backward", *, out=None):
    """Compute the inverse discrete Fourier transform along several axes.

    Parameters
    ----------
    {fftn: s, axes}

    {ifft: Parameters, Returns, Raises}

    {See Also: fftn}

    Examples
    --------
    >>> dl.real(dl.fft.ifftn(dl.asarray([[4.0, 0.0], [0.0, 0.0]])))
    Tensor([[1., 1.],
            [1., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    x = _operand("ifftn", x)
    return written(_along("ifftn", x, *_sizes("ifftn", x, s, axes), norm, False), out, "ifftn")


def rfft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the discrete Fourier transform of real elements along one axis.

    Parameters
    ----------
    x : array_like
        Real tensor on the host or a CUDA device, or any object that supports DLPack. bool and integers
        are converted to `get_default_dtype`, float16 and bfloat16 to float32.

    Returns
    -------
    Tensor
        Of dtype complex128 for float64 and complex128, else complex64, with ``n // 2 + 1`` elements along `axis`.

    Raises
    ------
    TypeError
        `x` is complex, the dtype has no transform, a size is not an integer, or the dtype of `out` is of a lower kind
        than that of the result.

    {fft: Parameters, Raises}

    {See Also: irfft}

    Examples
    --------
    >>> dl.real(dl.fft.rfft(dl.asarray([1.0, 2.0, 3.0, 2.0])))
    Tensor([ 8., -2.,  0.], shape=(3,), device=cpu, dtype=float32)
    """
    result = _few("rfft", x, n, axis, norm, True)
    if result is None:
        x = _operand("rfft", x, real=True)
        result = _real_to_complex("rfft", x, *_axis_and_size("rfft", x, n, axis), norm, True)
    return result if out is None else written(result, out, "rfft")


def irfft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the inverse of `rfft`: real elements from the first half of a Hermitian spectrum.

    Parameters
    ----------
    n : int, optional
        Number of elements of the result along `axis`, of which `x` has the first ``n // 2 + 1``; it is cropped, or
        padded with zeros. By default ``2 * (x.shape[axis] - 1)``.
    {ifft: axis}

    {irfftn: Parameters, Returns, Raises}

    {See Also: rfft}

    Examples
    --------
    >>> dl.fft.irfft(dl.asarray([8.0, -2.0, 0.0]))
    Tensor([1., 2., 3., 2.], shape=(4,), device=cpu, dtype=float32)
    """
    x = _operand("irfft", x)
    return written(_complex_to_real("irfft", x, *_axis_and_size("irfft", x, n, axis), norm, False), out, "irfft")


def rfftn(x, /, s=None, axes=None, norm="backward", *, out=None):
    """Compute the discrete Fourier transform of real elements along several axes.

    Parameters
    ----------
    {fftn: s, axes}

    Returns
    -------
    Tensor
        Of dtype complex128 for float64 and complex128, else complex64, with ``n // 2 + 1`` elements along the last
        of the axes.

    {rfft: Parameters, Raises}

    {See Also: irfftn}

    Examples
    --------
    >>> dl.fft.rfftn(dl.ones((2, 4))).shape
    (2, 3)
    >>> dl.real(dl.fft.rfftn(dl.ones((2, 4))))
    Tensor([[8., 0., 0.],
            [0., 0., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return written(_real_along("rfftn", x, s, axes, norm), out, "rfftn")


def irfftn(x, /, s=None, axes=None, norm="backward", *, out=None):
    """Compute the inverse of `rfftn`: real elements from the first half of a Hermitian spectrum.

    Parameters
    ----------
    s : sequence of int, optional
        Number of elements of the result along each of `axes`: `x` is cropped, or padded with zeros. -1, and the
        default, stand for all, and for ``2 * (m - 1)`` of `m` elements along the last of the axes.

    Returns
    -------
    Tensor
        Of dtype float64 for complex128 and float64, else float32.

    {ifftn: Parameters, Raises}

    {See Also: rfftn}

    Examples
    --------
    >>> dl.fft.irfftn(dl.asarray([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    Tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]], shape=(2, 4), device=cpu, dtype=float32)
    """
    return written(_real_again("irfftn", x, s, axes, norm), out, "irfftn")


def fft2(x, /, s=None, axes=(-2, -1), norm="backward", *, out=None):
    """Compute the discrete Fourier transform along two axes.

    Parameters
    ----------
    axes : sequence of int, default (-2, -1)
        Dimensions to transform, as of `fftn`.

    {fftn: Parameters, Returns, Raises}

    {See Also: fftn, ifft2}

    Examples
    --------
    >>> dl.real(dl.fft.fft2(dl.ones((2, 3))))
    Tensor([[6., 0., 0.],
            [0., 0., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    x = _operand("fft2", x)
    return written(_along("fft2", x, *_sizes("fft2", x, s, axes), norm, True), out, "fft2")


def ifft2(x, /, s=None, axes=(-2, -1), norm="backward", *, out=None):
    """Compute the inverse discrete Fourier transform along two axes.

    Parameters
    ----------
    {fft2: s, axes}

    {ifft: Parameters, Returns, Raises}

    {See Also: fft2}

    Examples
    --------
    >>> dl.real(dl.fft.ifft2(dl.asarray([[4.0, 0.0], [0.0, 0.0]])))
    Tensor([[1., 1.],
            [1., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    x = _operand("ifft2", x)
    return written(_along("ifft2", x, *_sizes("ifft2", x, s, axes), norm, False), out, "ifft2")


def rfft2(x, /, s=None, axes=(-2, -1), norm="backward", *, out=None):
    """Compute the discrete Fourier transform of real elements along two axes.

    Parameters
    ----------
    {fft2: axes}

    {rfftn: Parameters, Returns, Raises}

    {See Also: irfft2}

    Examples
    --------
    >>> dl.real(dl.fft.rfft2(dl.ones((2, 4))))
    Tensor([[8., 0., 0.],
            [0., 0., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return written(_real_along("rfft2", x, s, axes, norm), out, "rfft2")


def irfft2(x, /, s=None, axes=(-2, -1), norm="backward", *, out=None):
    """Compute the inverse of `rfft2`: real elements from the first half of a Hermitian spectrum.

    Parameters
    ----------
    {fft2: axes}

    {irfftn: Parameters, Returns, Raises}

    {See Also: rfft2}

    Examples
    --------
    >>> dl.fft.irfft2(dl.asarray([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    Tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]], shape=(2, 4), device=cpu, dtype=float32)
    """
    return written(_real_again("irfft2", x, s, axes, norm), out, "irfft2")


def hfft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the real discrete Fourier transform of elements whose second half is the conjugate of the first.

    Parameters
    ----------
    {fft: norm}

    {irfft: Parameters, Returns, Raises}

    {See Also: ihfft}

    Examples
    --------
    >>> dl.fft.hfft(dl.asarray([1.0, 2.0, 3.0]))
    Tensor([ 8., -2.,  0., -2.], shape=(4,), device=cpu, dtype=float32)
    """
    x = _operand("hfft", x)
    return written(_complex_to_real("hfft", x, *_axis_and_size("hfft", x, n, axis), norm, True), out, "hfft")


def ihfft(x, /, n=None, axis=-1, norm="backward", *, out=None):
    """Compute the inverse of `hfft`: the first half of the inverse transform of real elements.

    Parameters
    ----------
    {ifft: norm}

    {rfft: Parameters, Returns, Raises}

    {See Also: hfft}

    Examples
    --------
    >>> dl.real(dl.fft.ihfft(dl.asarray([8.0, -2.0, 0.0, -2.0])))
    Tensor([1., 2., 3.], shape=(3,), device=cpu, dtype=float32)
    """
    result = _few("ihfft", x, n, axis, norm, True)
    if result is None:
        x = _operand("ihfft", x, real=True)
        result = _real_to_complex("ihfft", x, *_axis_and_size("ihfft", x, n, axis), norm, False)
    return result if out is None else written(result, out, "ihfft")


def _spacing(func, n, d, dtype):
    """The checked arguments of a function of frequencies: n, n times d, and the dtype."""
    n = _size(func, "n", n)
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype, func)
    if not isdtype(dtype, "real floating"):
        raise TypeError(f"{func}: dtype must be real floating, got {dtype}")
    try:
        width = n * float(d)
    except TypeError:
        raise TypeError(f"{func}: d must be a number, got {quoted(d)}") from None
    if width == 0:
        raise ValueError(f"{func}: d must not be 0, got {quoted(d)}")
    return n, width, dtype


def fftfreq(n, /, d=1.0, *, dtype=None, device=None):
    """Return the frequencies of the elements of `fft`: 0, the positive, then the negative.

    Parameters
    ----------
    n : int
        Number of transformed elements.
    d : float, default 1.0
        Distance between them; frequencies are in cycles per its unit.
    dtype : dtype_like, optional
        Real dtype of the result; by default `get_default_dtype`.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        Of shape ``(n,)``: integers divided by ``n * d`` in float64, rounded once.

    Raises
    ------
    ValueError
        `n` is less than 1, or `d` is 0.
    TypeError
        `n` is not an integer, `d` not a number, or `dtype` not real floating.
    DeviceError
        The device is not available.

    {See Also: fftshift}

    Examples
    --------
    >>> dl.fft.fftfreq(5, d=0.5)
    Tensor([ 0. ,  0.4,  0.8, -0.8, -0.4],
           shape=(5,), device=cpu, dtype=float32)
    """
    n, width, dtype = _spacing("fftfreq", n, d, dtype)
    places = concat([arange((n + 1) // 2, dtype=_FLOAT64), arange(-(n // 2), 0, dtype=_FLOAT64)])
    return move_for("fftfreq", divide(places, width).astype(dtype, copy=False), device)


def rfftfreq(n, /, d=1.0, *, dtype=None, device=None):
    """Return the frequencies of the elements of `rfft`: from 0 up.

    Returns
    -------
    Tensor
        Of shape ``(n // 2 + 1,)``: integers divided by ``n * d`` in float64, rounded once.

    {fftfreq: Parameters, Raises}

    {See Also: fftshift}

    Examples
    --------
    >>> dl.fft.rfftfreq(5, d=0.5)
    Tensor([0. , 0.4, 0.8], shape=(3,), device=cpu, dtype=float32)
    """
    n, width, dtype = _spacing("rfftfreq", n, d, dtype)
    places = arange(n // 2 + 1, dtype=_FLOAT64)
    return move_for("rfftfreq", divide(places, width).astype(dtype, copy=False), device)


def fftshift(x, /, axes=None):
    """Shift frequency 0 to the middle.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of any dtype.
    axes : int or sequence of int, optional
        Dimensions to shift; by default all.

    Returns
    -------
    Tensor
        A copy of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        An axis is named twice.
    {fft: IndexError}
    TypeError
        An axis is not an integer.

    {See Also: ifftshift}

    Examples
    --------
    >>> dl.fft.fftshift(dl.fft.fftfreq(5))
    Tensor([-0.4, -0.2,  0. ,  0.2,  0.4],
           shape=(5,), device=cpu, dtype=float32)
    """
    x = asarray(x)
    axes = tuple(range(x.ndim)) if axes is None else tuple(axes_of(axes, x.ndim, "fftshift"))
    return roll(x, tuple(x.shape[axis] // 2 for axis in axes), axis=axes)


def ifftshift(x, /, axes=None):
    """Shift frequency 0 from the middle to the beginning.

    {fftshift: Parameters, Returns, Raises}

    {See Also: fftshift}

    Examples
    --------
    >>> dl.fft.ifftshift(dl.arange(5))
    Tensor([2, 3, 4, 0, 1], shape=(5,), device=cpu, dtype=int64)
    """
    x = asarray(x)
    axes = tuple(range(x.ndim)) if axes is None else tuple(axes_of(axes, x.ndim, "ifftshift"))
    return roll(x, tuple(-(x.shape[axis] // 2) for axis in axes), axis=axes)
