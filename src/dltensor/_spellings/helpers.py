# SPDX-License-Identifier: Apache-2.0
"""Functions that rows of the table call where an expression does not do. Not public."""

from contextlib import nullcontext
from itertools import islice, product
from math import floor, isfinite, prod
from numbers import Number
from os import fspath

from .._core.convert import asarray, asarrays, empty
from .._core.default_dtype import default_dtype, get_default_dtype
from .._core.foreign_text import first_line, quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from .._core.layout import extent
from .._core.shapes import joined_shape
from .._core.tensor import Tensor
from .._core.types import DTYPES, as_device, as_dtype
from .._ops import elementwise as ops
from .._ops import reduce
from .._ops.casting import astype, where
from .._ops.creation import arange, meshgrid, zeros
from .._ops.dtypes import finfo, isdtype
from .._ops.elementwise import add, maximum, minimum, multiply, remainder
from .._ops.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    moveaxis,
    repeat,
    reshape,
    squeeze,
    stack,
)
from .._ops.matmul import matmul
from .._ops.numbers import real_of
from .._ops.promotion import result_type
from .._ops.sort import top_k
from .._ops.take import add_at, nonzero, take, take_along_axis


def read_once(x):
    """Return an operand that is used more than once as a tensor, or as a number of Python's own type."""
    if type(x) in (Tensor, bool, int, float, complex):
        return x
    kind = next((kind for kind in (int, float, complex) if isinstance(x, kind)), None)
    return asarray(x) if kind is None else kind.__pos__(x)


_HOST = as_device("cpu")
_MANY = 4096  # elements of a tensor from which a pass for each step costs more than the choice


def fused(function):
    """Return a function whose steps run together where a tensor has many elements, or is on a device."""
    together = []

    def call(*operands):
        # The device first: a program that is recorded for a size holds for no other.
        if not any(type(x) is Tensor and (x.device != _HOST or x.size >= _MANY) for x in operands):
            return function(*operands)
        if not together:
            from .._ops.fusing import fuse  # not loaded with the package

            together.append(fuse(function))
        return together[0](*operands)

    return call


def beside(x, dim, index, func="gather"):
    """Return the part of a tensor that PyTorch's ``gather`` reads: other dimensions are cut to those of the index."""
    x, index = asarray(x), asarray(index)
    axis = axis_of(dim, x.ndim, func)
    if x.ndim != index.ndim or any(index.shape[d] > x.shape[d] for d in range(x.ndim) if d != axis):
        raise ValueError(f"{func}: the index has shape {index.shape}, which does not fit into {x.shape}")
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


def are_equal(x1, x2):
    """Test whether two operands broadcast and are equal then."""
    x1, x2 = asarrays(x1, x2)
    try:
        broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        return False
    return bool(reduce.all(ops.equal(x1, x2)))


def in_double(x):
    """Return a tensor as float64, or as complex128."""
    return _wide(asarray(x))


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


def scattered(x, dim, index, src, is_sum):
    """Return a copy with elements written, or added, to places along a dimension, as PyTorch's ``scatter``."""
    func = "scatter_add" if is_sum else "scatter"
    result, index = asarray(x, copy=True), asarray(index)
    src = asarrays(result, src)[1]
    part = beside(result, dim, index, func)
    if src.ndim:
        if src.ndim != index.ndim or any(size > most for size, most in zip(index.shape, src.shape, strict=True)):
            raise ValueError(f"{func}: the index has shape {index.shape}, which does not fit into src of {src.shape}")
        src = src[tuple(map(slice, index.shape))]
    from .._ops.selection import key_along_axis

    key = key_along_axis(index, index, axis_of(dim, index.ndim, func))
    if is_sum:
        add_at(part, key, src)
        return result
    try:
        part[key] = src
    except IndexError as error:
        raise IndexError(f"{func}: {error}") from None
    return result


def added_at(x, dim, index, source, alpha):
    """Return a copy with rows added to those of an index, as PyTorch's ``index_add``."""
    result = asarray(x, copy=True)
    source = asarrays(result, source)[1]
    axis = axis_of(dim, result.ndim, "index_add")
    source = moveaxis(source, axis, 0) if source.ndim else source
    add_at(
        moveaxis(result, axis, 0), asarray(index).to(result.device), source if alpha == 1 else multiply(source, alpha)
    )
    return result


def plus_product(x, a, b, beta, alpha):
    """Return ``beta * x + alpha * (a @ b)``, as PyTorch's ``addmm``."""
    product = matmul(a, b)
    return add(x if beta == 1 else multiply(x, beta), product if alpha == 1 else multiply(product, alpha))


def extremes(x, dim, keepdim):
    """Return the least and the greatest elements, as PyTorch's ``aminmax``."""
    x = asarray(x)
    try:
        return reduce.min(x, axis=dim, keepdims=keepdim), reduce.max(x, axis=dim, keepdims=keepdim)
    except ValueError as error:
        raise ValueError(str(error).replace("; give initial", "")) from None


def without_bias(dim, correction):
    """Return the axis and the correction, where PyTorch takes a bool for ``unbiased`` in the place of the axis."""
    return (None, int(dim)) if isinstance(dim, bool) else (dim, correction)


def deviation(x, dim, correction, keepdim):
    """Return the standard deviation and the mean, as PyTorch's ``std_mean``."""
    x, (dim, correction) = asarray(x), without_bias(dim, correction)
    return reduce.std(x, dim, correction=correction, keepdims=keepdim), reduce.mean(x, dim, keepdims=keepdim)


def variance(x, dim, correction, keepdim):
    """Return the variance and the mean, as PyTorch's ``var_mean``."""
    x, (dim, correction) = asarray(x), without_bias(dim, correction)
    return reduce.var(x, dim, correction=correction, keepdims=keepdim), reduce.mean(x, dim, keepdims=keepdim)


def selected(x, mask):
    """Return the elements where a mask is true, which are broadcast to one another, as PyTorch's ``masked_select``."""
    x, mask = broadcast_arrays(asarray(x), _mask_of(mask, "masked_select"))
    return x[mask]


def _mask_of(mask, func):
    mask = asarray(mask)
    if not isdtype(mask.dtype, "bool"):
        raise TypeError(f"{func}: the mask must be of bool, got {mask.dtype}; compare it with 0")
    return mask


def compressed(condition, x, axis, out):
    """Return the slices along an axis that a mask selects, as NumPy's ``compress``."""
    x = asarray(x)
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    from .._ops.positions import flatnonzero

    return take(x, flatnonzero(condition).to(x.device), axis=axis, out=out)


def on_indices(function, shape, dtype, kwargs):
    """Call a function with the indices of a shape, as NumPy's ``fromfunction``: of the default float dtype."""
    from .._ops.positions import indices

    return function(*indices(shape, zeros(0, dtype=dtype).dtype), **kwargs)


def around_differences(x, to_end, to_begin):
    """Return the differences of neighbours and what NumPy's ``ediff1d`` joins to them, in the dtype of `x`."""
    from .._ops.nan_reductions import diff
    from .._ops.selection import line_of

    steps, parts = diff(reshape(asarray(x), (-1,))), []
    for name, part in (("to_begin", to_begin), (None, steps), ("to_end", to_end)):
        if part is None:
            continue
        part = line_of(part, steps)
        if not isdtype(result_type(steps, part), _KIND[steps.dtype.kind]):
            raise TypeError(f"ediff1d: {name} must be of the kind of {steps.dtype}, got {part.dtype}")
        parts.append(astype(part, steps.dtype, copy=False))
    return parts


_KIND = {"b": "bool", "i": "integral", "u": "integral", "f": "real floating", "c": "complex floating"}


def combinations_of(tensors):
    """Return all combinations of elements of vectors in rows, as PyTorch's ``cartesian_prod``; one vector as it is."""
    grids = meshgrid(*tensors, indexing="ij")
    return grids[0] if len(grids) == 1 else reshape(stack(grids, axis=-1), (-1, len(grids)))


def first_items(iterable, count):
    """Return `count` items of an iterable as a list, or all for -1."""
    count = integer_of(count, "count", "fromiter")
    items = list(iterable if count < 0 else islice(iterable, count))
    if len(items) < count:
        raise ValueError(f"fromiter: expected {count} items, got {len(items)}")
    return items


def transposed(x, axes, dim1):
    """Return a view with the dimensions in another order, or with two of them swapped, as PyTorch's ``transpose``."""
    x = asarray(x)
    return x.transpose(axes) if dim1 is None else x.swapaxes(axes, dim1)


def flat_or_transposed(x):
    """Return the transpose of a matrix, and a tensor of fewer dimensions as it is, as PyTorch's ``t``."""
    x = asarray(x)
    if x.ndim > 2:
        raise ValueError(f"transpose: expected at most 2 dimensions, got {x.ndim}; use mT or swapaxes")
    return x if x.ndim < 2 else x.T


def repeated(x, repeats, axis):
    """Return elements repeated, as NumPy's ``repeat``; its axis may be an extent of PyTorch's."""
    try:
        return repeat(x, repeats, axis)
    except IndexError as error:
        raise IndexError(f"{error}; PyTorch's repeat is tile: write t.tile(({repeats!r}, {axis!r}))") from None


def like(x, dtype, device):
    """Return the dtype and the device that PyTorch's ``new_zeros`` gives a tensor: those of another, or others."""
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def of_type(data, dtype):
    """Return a tensor of data or of extents, as PyTorch's ``FloatTensor``, whose extents give unset elements."""
    if data and all(isinstance(one, int) and not isinstance(one, bool) for one in data):
        return empty(data, dtype)
    if len(data) > 1:
        raise TypeError(f"asarray: expected one sequence or extents, got {len(data)} positional arguments")
    return asarray(*data or ([],), dtype=dtype, copy=True)


def triangle_of(x, k, name):
    """Return the positions in one triangle of a matrix, as NumPy's ``triu_indices_from``."""
    from .._ops import diagonals

    x = asarray(x)
    if x.ndim != 2:
        raise ValueError(f"{name}_from: expected 2 dimensions, got {x.ndim}")
    return getattr(diagonals, name)(x.shape[0], k, x.shape[1])


def joined(x, start_dim, end_dim):
    """Return a tensor with one dimension for several, as PyTorch's ``flatten``."""
    x = asarray(x)
    return reshape(x, joined_shape(x.shape, start_dim, end_dim))


def parted_shape(x, dim, sizes):
    """Return the shape of PyTorch's ``unflatten``, where one dimension is several; one of them may be -1."""
    shape = asarray(x).shape
    axis = axis_of(dim, len(shape), "unflatten")
    items = sequence_of(sizes, "sizes", "unflatten")  # at most 65
    sizes = [integer_of(size, "a size", "unflatten") for size in ([sizes] if items is None else items)]
    known = -prod(sizes) if sizes.count(-1) == 1 else prod(sizes)
    if -1 in sizes and known > 0 and shape[axis] % known == 0:
        sizes[sizes.index(-1)] = shape[axis] // known
    if prod(sizes) != shape[axis] or min(sizes, default=0) < 0:
        raise ValueError(f"unflatten: sizes {tuple(sizes)} must make the {shape[axis]} elements of dimension {dim}")
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def ranges_meet(x1, x2):
    """Test whether the memory from the first to the last byte of two tensors has a byte in common."""
    x1, x2 = asarrays(x1, x2)
    if x1.device != x2.device or not x1.size or not x2.size:
        return False
    (low1, high1), (low2, high2) = _bytes_of(x1), _bytes_of(x2)
    return low1 < high2 and low2 < high1


def _bytes_of(x):
    low, high = extent(x.shape, x.strides)
    bits = x.dtype.bits * x.dtype.lanes
    return x.data_ptr + low * bits // 8, x.data_ptr - -high * bits // 8


def dtype_of_all(arrays):
    """Return the float or complex dtype that holds several arrays, as NumPy's ``common_type``: float64 of integers."""
    found = [asarray(array).dtype for array in arrays]
    if not found or not all(isdtype(dtype, "numeric") for dtype in found):
        raise TypeError(f"common_type: expected arrays of numbers, got {', '.join(map(str, found)) or 'none'}")
    return result_type(*(DTYPES["float64"] if isdtype(dtype, "integral") else dtype for dtype in found))


def least_dtype(x):
    """Return the narrowest dtype that holds a number, as NumPy's ``min_scalar_type``; an array has its own."""
    if not isinstance(x, (bool, int, float, complex)):
        x = asarray(x)
        if x.ndim:
            return x.dtype
        x = x.item()
    if isinstance(x, bool):
        return DTYPES["bool"]
    if isinstance(x, int):
        kind, size = ("uint", x.bit_length()) if x >= 0 else ("int", (-x - 1).bit_length() + 1)
        if size > 64:
            raise OverflowError(f"min_scalar_type: no dtype holds {first_line(str(x), 80)}")
        return DTYPES[f"{kind}{max(8, 1 << (size - 1).bit_length() if size else 8)}"]
    if isinstance(x, complex):
        return DTYPES["complex64" if _float_bits(x.real) <= 32 >= _float_bits(x.imag) else "complex128"]
    return DTYPES[f"float{_float_bits(x)}"]


def _float_bits(number):
    """Bits of the narrowest float dtype, of 16 and more, in whose range a number is."""
    size = abs(number) if isfinite(number) else 0
    return 16 if size < 65000 else 32 if size < 3.4e38 else 64


def logdet_of(x):
    """Return the logarithm of determinants, NaN of those below 0, as PyTorch's ``logdet``."""
    from ..linalg import slogdet

    sign, value = slogdet(x)
    return where(ops.less(sign, 0), float("nan"), value)


def _wide(x):
    return astype(x, "complex128" if isdtype(x.dtype, "complex floating") else "float64")


def fitted(x, y, deg, rcond, full, w):
    """Return the coefficients of polynomials of best fit, from the highest power down, as NumPy's ``polyfit``."""
    from .._ops.curves import vander
    from .._ops.numbers import floats_of
    from ..linalg import lstsq

    x, y, deg = floats_of(x, "polyfit"), floats_of(y, "polyfit"), integer_of(deg, "deg", "polyfit")
    if x.ndim != 1 or x.size == 0 or y.ndim not in (1, 2) or y.shape[0] != x.size or deg < 0:
        raise ValueError(
            f"polyfit: expected a vector x, y with a row for each element, and deg of at least 0, "
            f"got shapes {x.shape} and {y.shape}, deg={deg}"
        )
    dtype = result_type(x, y)
    a, b = vander(_wide(x), deg + 1), _wide(y)
    if w is not None:
        w = _wide(floats_of(w, "polyfit"))
        if w.shape != x.shape:
            raise ValueError(f"polyfit: w must have the shape {x.shape} of x, got {w.shape}")
        a, b = ops.multiply(a, w[:, None]), ops.multiply(b, w if b.ndim == 1 else w[:, None])
    scale = ops.sqrt(reduce.sum(ops.square(ops.abs(a)), axis=0))
    scale = where(ops.equal(scale, 0), 1.0, scale)
    rcond = x.size * finfo(dtype).eps if rcond is None else rcond
    found = lstsq(ops.divide(a, scale), b, rcond)
    result = astype(ops.divide(found.solution, scale if b.ndim == 1 else scale[:, None]), dtype)
    return (result, *found[1:], rcond) if full else result


def roots_of(p):
    """Return the roots of a polynomial, as complex numbers, from its coefficients as NumPy's ``roots``."""
    from .._ops.diagonals import diagonal
    from .._ops.numbers import floats_of
    from ..linalg import eigvals

    p = floats_of(p, "roots")
    if p.ndim != 1:
        raise ValueError(f"roots: expected a vector of coefficients, got shape {p.shape}")
    (places,) = nonzero(p)
    first, last = (places[0].item(), places[-1].item()) if places.size else (0, p.size - 1)
    dtype = result_type(p.dtype, "complex64")
    count = p.size - 1 - first if places.size else 0  # coefficients of 0 at the end are roots of 0
    result = zeros(count, dtype="complex128", device=p.device)
    degree, p = last - first if places.size else 0, _wide(p)[first : last + 1]
    if degree:
        companion = zeros((degree, degree), dtype=p.dtype, device=p.device)
        companion[0] = ops.negative(ops.divide(p[1:], p[0]))
        diagonal(companion, -1)[...] = 1
        result[:degree] = eigvals(companion)
    return astype(result, dtype)


# -- random numbers ---------------------------------------------------------------------------------------------------


def source(generator):
    """Return a generator, or that of the process for None."""
    from ..random import Generator, default_generator

    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"generator: expected a dl.random.Generator or None, got {type(generator).__qualname__}")
    return default_generator if generator is None else generator


def seeded(seed):
    """Seed the generator of the process and return it, as PyTorch's ``manual_seed``."""
    from ..random import seed as begin

    begin(integer_of(seed, "seed", "manual_seed"))
    return source(None)


def drawn(method, sizes, size, dtype, device, generator, out):
    """Draw values of a shape, whose extents may come one by one."""
    if size is not None and sizes:
        raise TypeError(f"{method}: expected extents or size, got both; give one of them")
    shape = one_shape(sizes) if size is None else size
    return getattr(source(generator), method)(shape=shape, dtype=dtype, device=device, out=out)


def drawn_like(method, x, dtype, device):
    """Draw values of the shape of another tensor."""
    x = asarray(x)
    return drawn(method, (), x.shape, x.dtype if dtype is None else dtype, device or x.device, None, None)


def integers(low, high, size, dtype, device, generator):
    """Draw integers, as PyTorch's ``randint``, where the shape may stand in the place of the bound, or NumPy's."""
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    return source(generator).integers(low, high, () if size is None else size, dtype=dtype, device=device)


def normal_of(mean, std, size, dtype, device, generator, out):
    """Draw normal values, whose means and deviations may be tensors, as PyTorch's ``normal``."""
    generator = source(generator)
    if isinstance(mean, (int, float)) and isinstance(std, (int, float)):
        return generator.normal(mean, std, () if size is None else size, dtype=dtype, device=device, out=out)
    mean, std = asarrays(mean, std)
    if reduce.any(ops.less(std, 0)):
        raise ValueError("normal: expected std of at least 0, got a negative element")
    device = device or (std if mean.device == _HOST else mean).device
    shape = broadcast_shapes(mean.shape, std.shape) if size is None else size
    common = result_type(mean, std) if isdtype(result_type(mean, std), "real floating") else get_default_dtype()
    dtype = common if dtype is None else dtype
    values = multiply(generator.normal(shape=shape, dtype=dtype, device=device), std.to(device, dtype))
    return add(values, mean.to(device, dtype), out=out)


def events(p, generator):
    """Return 1 with a probability and 0 otherwise, as PyTorch's ``bernoulli``."""
    p = real_of(p, "bernoulli")
    if not reduce.all(ops.logical_and(ops.greater_equal(p, 0), ops.less_equal(p, 1))):
        raise ValueError("bernoulli: expected probabilities between 0 and 1")
    return astype(ops.less(source(generator).random(p.shape, dtype="float64", device=p.device), p), p.dtype)


def outcomes(weights, count, replacement, generator):
    """Draw indices by the weights of each row, as PyTorch's ``multinomial``."""
    weights, count, generator = asarray(weights), integer_of(count, "num_samples", "multinomial"), source(generator)
    if weights.ndim not in (1, 2):
        raise ValueError(f"multinomial: expected one or two dimensions, got shape {weights.shape}")
    n = weights.shape[-1]
    if weights.ndim == 1:
        return generator.choice(n, count, replace=replacement, p=weights)
    if not weights.shape[0]:
        return zeros((0, count), dtype="int64", device=weights.device)
    return stack([generator.choice(n, count, replace=replacement, p=row) for row in weights])


def dropped(x, p, training):
    """Return a tensor with elements that are 0 with a probability, as PyTorch's ``dropout``."""
    x = real_of(x, "dropout")
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: expected a probability between 0 and 1, got {p}")
    if not training or p == 0:
        return x
    is_kept = ops.greater_equal(source(None).random(x.shape, dtype="float64", device=x.device), p)
    return where(is_kept, multiply(x, 1 / (1 - p) if p < 1 else 0.0), 0.0)


# -- layers and losses ------------------------------------------------------------------------------------------------


def pooled(reduction, x, kernel_size, stride, padding):
    """Reduce windows of the last two dimensions, as PyTorch's ``max_pool2d``."""
    from .._ops.padding import pad, sliding_window_view

    func, beyond = ("max_pool2d", float("-inf")) if reduction is reduce.max else ("avg_pool2d", 0.0)
    x = real_of(x, func)
    kernel, steps, edges = (_two(n, func) for n in (kernel_size, kernel_size if stride is None else stride, padding))
    fits = all(0 <= 2 * p <= k for p, k in zip(edges, kernel, strict=True))
    if x.ndim < 2 or min(*kernel, *steps) < 1 or not fits:
        expected = "two dimensions, a kernel_size and a stride from 1 on, and a padding up to half the kernel_size"
        raise ValueError(f"{func}: expected {expected}, got shape {x.shape}, {kernel}, {steps} and {edges}")
    if any(edges):
        x = pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in edges], constant_values=beyond)
    windows = sliding_window_view(x, kernel, (-2, -1))[..., :: steps[0], :: steps[1], :, :]
    return reduction(windows, axis=(-2, -1))


def _two(value, func):
    items = sequence_of(value, "a size", func)
    items = [value] * 2 if items is None else items * 2 if len(items) == 1 else items
    if len(items) != 2:
        raise ValueError(f"{func}: a size must be one or two integers, got {quoted(value)}")
    return [integer_of(one, "a size", func) for one in items]


def reduced(losses, reduction, func="mse_loss"):
    """Return the mean or the sum of losses, or all of them. Errors that leave a row have its name."""
    reductions = {"mean": reduce.mean, "sum": reduce.sum, "none": asarray}
    if not isinstance(reduction, str) or reduction not in reductions:
        raise ValueError(f"{func}: reduction must be 'mean', 'sum' or 'none', got {quoted(reduction)}")
    return reductions[reduction](losses)


def smooth(x, target, beta):
    """Return half of squares below `beta`, and distances above, as PyTorch's ``smooth_l1_loss``."""
    distance = ops.abs(ops.subtract(x, target))
    if beta == 0:
        return distance
    square = multiply(ops.square(distance), 0.5 / beta)
    return where(ops.less(distance, beta), square, ops.subtract(distance, beta / 2))


def divergence(x, target, reduction, log_target):
    """Return the divergence of Kullback and Leibler of logarithms of probabilities, as PyTorch's ``kl_div``."""
    x, target = asarrays(x, target)
    if log_target:
        losses = multiply(ops.exp(target), ops.subtract(target, x))
    else:
        own = where(ops.equal(target, 0), 0.0, multiply(target, ops.log(target)))
        losses = ops.subtract(own, multiply(target, x))
    if reduction == "batchmean":
        return ops.divide(reduce.sum(losses), x.shape[0] if x.ndim else 1)
    return reduced(losses, reduction)


def at_classes(logarithms, target, ignore_index, reduction, func="nll_loss"):
    """Return negative logarithms of probabilities at classes, as PyTorch's ``nll_loss``."""
    logarithms = real_of(logarithms, func)
    target = asarray(target).to(logarithms.device)
    if logarithms.ndim == 0:
        raise ValueError(f"{func}: expected shape (classes,) or (N, classes, ...), got ()")
    axis = min(1, logarithms.ndim - 1)
    expected = logarithms.shape[:axis] + logarithms.shape[axis + 1 :]
    if target.shape != expected:
        raise ValueError(f"{func}: target must have the shape {expected}, got {target.shape}")
    counted = ops.not_equal(target, ignore_index)
    classes = expand_dims(where(counted, target, 0), axis)
    losses = where(counted, ops.negative(squeeze(take_along_axis(logarithms, classes, axis=axis), axis)), 0.0)
    if reduction == "mean":
        return ops.divide(reduce.sum(losses), reduce.count_nonzero(counted))
    return reduced(losses, reduction, func)


def binary(p, target):
    """Return the cross entropy of probabilities of two classes; logarithms are -100 or more, as in PyTorch."""
    p, target = (real_of(x, "binary_cross_entropy") for x in asarrays(p, target))
    if not reduce.all(ops.logical_and(ops.greater_equal(p, 0), ops.less_equal(p, 1))):
        raise ValueError("binary_cross_entropy: expected probabilities between 0 and 1")
    one, other = (maximum(logarithm, -100.0) for logarithm in (ops.log(p), ops.log1p(ops.negative(p))))
    return ops.negative(add(multiply(target, one), multiply(ops.subtract(1.0, target), other)))


def without_gradients(function, enabled=False):
    """Return a context in which nothing is different, or the function that it decorates."""
    from .float_warnings import Unchanged

    if enabled:
        raise ValueError("set_grad_enabled: tensors have no gradients; use PyTorch: dl.into(t, torch.Tensor)")
    return function if callable(function) else Unchanged()


# -- names of PyTorch -------------------------------------------------------------------------------------------------


def window_of(function, n, periodic, dtype, device):
    """Return a window of signals, of which PyTorch's are without their last point if they are periodic."""
    n = integer_of(n, "window_length", "hann_window")  # the name is replaced
    if n < 0:
        raise ValueError(f"window_length must be at least 0, got {n}")
    with default_dtype("float64"):
        result = function(n + 1)[:-1] if periodic and n > 1 else function(n)
    return asarray(result, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def range_to(first, last, step, dtype, device):
    """Return numbers up to the last one, where the steps reach it, as PyTorch's ``range``."""
    if step == 0 or (last - first) / step < 0:
        raise ValueError(f"range: expected a step from {first} towards {last}, got {step}")
    numbers = arange(floor((last - first) / step) + 1, dtype="float64", device=device)
    return astype(add(multiply(numbers, step), first), get_default_dtype() if dtype is None else dtype)


def decomposed(x, some):
    """Return U, S and V, not its adjoint, as PyTorch's ``svd``."""
    from ..linalg import svd

    u, s, vh = svd(x, full_matrices=not some)
    return u, s, vh.mH


def windows_of(x, dim, size, step):
    """Return a view of windows along a dimension, in a new last one, as PyTorch's ``unfold``."""
    from .._ops.padding import sliding_window_view

    axis, step = axis_of(dim, x.ndim, "unfold"), integer_of(step, "step", "unfold")
    if step < 1:
        raise ValueError(f"unfold: step must be at least 1, got {step}")
    return sliding_window_view(x, size, axis)[(*(slice(None),) * axis, slice(None, None, step))]


def part_of(x, dim, start, length):
    """Return a view of `length` elements of a dimension, as PyTorch's ``narrow``."""
    x = asarray(x)
    axis = axis_of(dim, x.ndim, "narrow")
    start, length = integer_of(start, "start", "narrow"), integer_of(length, "length", "narrow")
    first, extent = start + (x.shape[axis] if start < 0 else 0), x.shape[axis]
    if not 0 <= first <= first + length <= extent:
        raise ValueError(f"narrow: {length} elements from {start} are not in the {extent} of dimension {dim}")
    return x[(*(slice(None),) * axis, slice(first, first + length))]


def of_parts(real, imag):
    """Return complex numbers of real and imaginary parts, as PyTorch's ``complex``."""
    real, imag = broadcast_arrays(*(real_of(part, "complex") for part in asarrays(real, imag)))
    result = empty(real.shape, result_type(real.dtype, imag.dtype, "complex64"), device=real.device)
    result.real[...], result.imag[...] = real, imag
    return result


def parts_of(x):
    """Return a view of complex numbers as pairs of floats, as PyTorch's ``view_as_real``."""
    x = asarray(x)
    if not isdtype(x.dtype, "complex floating"):
        raise TypeError(f"view_as_real: expected complex numbers, got {x.dtype}")
    return reshape(expand_dims(x, axis=-1).view(f"float{x.dtype.bits // 2}"), (*x.shape, 2), copy=False)


def number_of(x):
    """Return a view of pairs of floats as complex numbers, as PyTorch's ``view_as_complex``."""
    x = asarray(x)
    if x.dtype.name not in ("float32", "float64") or x.shape[-1:] != (2,):
        raise TypeError(f"view_as_complex: expected float32 or float64 of shape (..., 2), got {x.dtype} of {x.shape}")
    return squeeze(x.view(f"complex{2 * x.dtype.bits}"), -1)


def counted(x, bins, low, high):
    """Return how many elements are in bins of equal width, in the dtype of `x`, as PyTorch's ``histc``."""
    from .._ops.quantiles import histogram

    x, low, high = asarray(x), asarray(low).item(), asarray(high).item()
    return astype(histogram(x, bins, None if low == high == 0 else (low, high))[0], x.dtype)


def determinant(x):
    """Return determinants, as PyTorch's ``det``."""
    from ..linalg import det

    return det(x)


def inverse_of(x):
    """Return inverses of matrices, as PyTorch's ``inverse``."""
    from ..linalg import inv

    return inv(x)


def filled(x, mask, source):
    """Return a copy whose elements at a mask are those of `source` in order, as PyTorch's ``masked_scatter``."""
    result, source = asarray(x, copy=True), reshape(asarray(source), (-1,))
    mask = broadcast_to(_mask_of(mask, "masked_scatter"), result.shape)
    count = reduce.count_nonzero(mask).item()
    if count > source.size:
        raise ValueError(f"masked_scatter: the mask selects {count} elements, source has {source.size}")
    result[mask] = source[:count]
    return result


# -- names of NumPy ---------------------------------------------------------------------------------------------------


def of_numpy(name):
    """Return a function of NumPy, which reads or writes text."""
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{name}: NumPy is not installed; pip install numpy") from None
    return getattr(numpy, name)


def on_host(x):
    """Return a tensor as an array of NumPy."""
    return asarray(x).to("cpu").numpy()


def is_scalar(x):
    """Test for a number, a string or a scalar of NumPy, as NumPy's ``isscalar``."""
    of_numpy = any(kind.__name__ == "generic" and kind.__module__ == "numpy" for kind in type(x).__mro__)
    return of_numpy or isinstance(x, (Number, str, bytes))


def rolled(x, axis, start):
    """Return a view with a dimension moved before another one, as NumPy's ``rollaxis``."""
    x = asarray(x)
    axis, start = axis_of(axis, x.ndim, "rollaxis"), integer_of(start, "start", "rollaxis")
    place = start + x.ndim if start < 0 else start
    if not 0 <= place <= x.ndim:
        raise IndexError(f"rollaxis: start {start} is out of range for {x.ndim} dimensions")
    return moveaxis(x, axis, place - (axis < place))


def repeated_to(x, shape):
    """Return a new tensor of a shape, filled with the elements of another in turn, as NumPy's ``resize``."""
    x = reshape(asarray(x), (-1,))
    result = empty(one_shape((shape,)), x.dtype, device=x.device)
    if not x.size:
        result.fill(0)
        return result
    return reshape(take(x, remainder(arange(result.size, device=x.device), x.size)), result.shape)


def read_raw(file, dtype, count, sep, offset):
    """Read elements from their bytes, as NumPy's ``fromfile``."""
    from .._ops.windows import frombuffer

    if sep:
        raise ValueError(f"fromfile: expected sep='', got {quoted(sep)}; text is read by dl.loadtxt")
    dtype, count = as_dtype(dtype), integer_of(count, "count", "fromfile")
    with nullcontext(file) if hasattr(file, "read") else open(fspath(file), "rb") as opened:
        opened.seek(offset, 1)
        data = opened.read(-1 if count < 0 else count * dtype.itemsize)
    whole = len(data) // dtype.itemsize
    return frombuffer(bytearray(memoryview(data)), dtype, whole) if whole else empty(0, dtype)


def save_compressed(file, tensors, named):
    """Save a compressed .npz file, as NumPy's ``savez_compressed``."""
    from ..io._files import save_archive

    save_archive(file, tensors, named, is_compressed=True)


def is_kind(dtype, kind):
    """Test whether a dtype is of a kind, or equal to another dtype, as NumPy's ``issubdtype``."""
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple) or (isinstance(kind, str) and kind in _KINDS):
        return isdtype(dtype, kind)
    return dtype == as_dtype(kind)


_KINDS = ("integral", "signed integer", "unsigned integer", "real floating", "complex floating", "numeric", "bool")


def copied(x, src, mask):
    """Write elements of one tensor to another where a mask is true, as NumPy's ``copyto``."""
    from .._ops.selection import tensor_to_write

    tensor_to_write(x, "copyto")
    if mask is True:
        x[...] = src
        return
    # Elements that are left alone are not converted with the others.
    mask = broadcast_to(_mask_of(mask, "copyto").to(x.device), x.shape)
    x[mask] = src if isinstance(src, (int, float, complex)) else broadcast_to(asarray(src), x.shape)[mask]


def put_at(x, indices, values, mode):
    """Write values, repeated as often as needed, to places in C order, as NumPy's ``put``."""
    from .._ops.positions import unravel_index
    from .._ops.selection import tensor_to_write

    tensor_to_write(x, "put")
    indices = reshape(asarray(indices, device=x.device), (-1,))
    values = reshape(asarray(values, device=x.device), (-1,))
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"put: mode must be 'raise', 'wrap' or 'clip', got {quoted(mode)}")
    if not indices.size or not values.size:
        return
    if mode != "raise":
        last = x.size - 1
        indices = remainder(indices, x.size) if mode == "wrap" else minimum(maximum(indices, 0), last)
    if indices.size > values.size:
        values = take(values, remainder(arange(indices.size, device=x.device), values.size))
    flat = where(ops.less(indices, 0), add(indices, x.size), indices)
    if reduce.any(ops.logical_or(ops.less(flat, 0), ops.greater_equal(flat, x.size))):
        raise IndexError(f"put: an index is out of range for {x.size} elements")
    key = unravel_index(flat, x.shape) if x.ndim else ...
    x[key] = values[: indices.size] if x.ndim else values[indices.size - 1]


def positions_of(shape):
    """Yield the positions of a shape in C order, as NumPy's ``ndindex``."""
    sizes = [integer_of(size, "an extent", "ndindex") for size in one_shape(shape)]
    if min(sizes, default=0) < 0:
        raise ValueError(f"ndindex: extents must be at least 0, got {tuple(sizes)}")
    return product(*map(range, sizes))


def items_of(x):
    """Yield the positions and the numbers of a tensor in C order, as NumPy's ``ndenumerate``."""
    x = asarray(x)
    return zip(positions_of(x.shape), reshape(x, (-1,)).tolist(), strict=True)
