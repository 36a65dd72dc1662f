# SPDX-License-Identifier: Apache-2.0
"""Parameters of distributions that are not plain numbers, and draws that are composed of others.

Values of distributions with parameters are computed by native/ops/random/samples.h.
"""

from math import prod, sqrt

from .._core.convert import asarray
from .._core.default_dtype import default_dtype
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from .._ops import elementwise as ops
from .._ops.arguments import written
from .._ops.dtypes import isdtype
from .._ops.manipulation import broadcast_shapes, broadcast_to, reshape
from .._ops.reduce import all as all_of
from .._ops.reduce import max, sum
from .._ops.sort import argsort
from .._ops.take import take_along_axis

# Domains of native/ops/random/rows.h by name: what an error says, and the test of elements.
_DOMAINS = {
    "finite": ("finite", ops.isfinite),
    "at_least_0": ("finite and at least 0", lambda x: (x >= 0) & ops.isfinite(x)),
    "positive": ("finite and above 0", lambda x: (x > 0) & ops.isfinite(x)),
    "probability": ("between 0 and 1", lambda x: (x >= 0) & (x <= 1)),
    "positive_probability": ("above 0 and at most 1", lambda x: (x > 0) & (x <= 1)),
    "whole": ("finite and at least 0", lambda x: x >= 0),
}


def _tensor(value, name, func, expected, kinds):
    try:
        with default_dtype("float64"):  # Python floats are what they are
            x = asarray(value)
    except TypeError:
        x = None
    if x is None or not isdtype(x.dtype, kinds):
        raise TypeError(f"{func}: {name} must be {expected}, got {quoted(value)}")
    return x


def _parameter(value, name, func, domain):
    """A parameter as float64, where all elements are in the domain."""
    if domain == "whole":
        x = value = _tensor(value, name, func, "integers", "integral")
    else:
        x = _tensor(value, name, func, "real numbers", ("bool", "integral", "real floating"))
    expected, test = _DOMAINS[domain]
    x = x.astype("float64")
    if not all_of(test(x)).item():
        raise ValueError(f"{func}: {name} must be {expected}, got {quoted(value)}")
    return x


def _shape_of(size, func):
    items = sequence_of(size, "shape", func)
    shape = tuple(integer_of(item, "shape", func) for item in ((size,) if items is None else items))
    if min(shape, default=0) < 0:
        raise ValueError(f"{func}: extents must be at least 0, got shape {shape}")
    return shape


def arranged(func, values, names, domains, size, device):
    """Return the shape, the device, and each parameter: a number, or a flat tensor of all values."""
    of_all = zip(values, names, domains, strict=True)
    tensors = [_parameter(value, name, func, domain) for value, name, domain in of_all]
    if device is None:  # that of parameters on a device, whose type has a higher number than the host's
        device = sorted([x.device for x in tensors], key=lambda one: one.type)[-1]
    shapes = [x.shape for x in tensors]
    shape = None if size is None else _shape_of(size, func)
    try:
        common = broadcast_shapes(*shapes)
        fits = shape is None or broadcast_shapes(shape, common) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{func}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast"
            f"{'' if size is None else f' to {shape}'}"
        )
    shape = common if shape is None else shape
    # The engine reads a value after the other: a vector may repeat its element with a stride of 0.
    flat = [x if x.ndim == 0 else reshape(broadcast_to(x, shape), (prod(shape),)).contiguous() for x in tensors]
    return shape, device, [x.item() if x.ndim == 0 else x.to(device) for x in flat]


def probabilities(pvals):
    """Return the probabilities of outcomes as a list, which is empty where they are no vector."""
    x = _parameter(pvals, "pvals", "multinomial", "probability")
    return x.tolist() if x.ndim == 1 else []


def multivariate_normal(rng, mean, cov, size, dtype, device):
    func = "multivariate_normal"
    mean, cov = (_parameter(value, name, func, "finite") for value, name in ((mean, "mean"), (cov, "cov")))
    if mean.ndim != 1 or cov.shape != mean.shape * 2:
        raise ValueError(f"{func}: expected a mean (n,) and a cov (n, n), got shapes {mean.shape} and {cov.shape}")
    n = mean.size
    lower, rest = cov * 0.0, cov.copy()
    largest = max(ops.abs(cov)).item() if n else 0.0
    if max(ops.abs(cov - cov.T), initial=0.0).item() > 1e-8 * largest:
        raise ValueError(f"{func}: cov must be symmetric")
    for k in range(n):  # Cholesky; a column without variance stays 0
        pivot = rest[k, k].item()
        column = rest[k:, k] / sqrt(pivot) if pivot > 1e-12 * largest else rest[k:, k] * 0.0
        rest[k:, k:] -= column[:, None] * column
        lower[k:, k] = column
    if max(ops.abs(rest), initial=0.0).item() > 1e-8 * largest:
        raise ValueError(f"{func}: cov must be positive semi-definite")
    shape = () if size is None else _shape_of(size, func)
    drawn = rng.normal(shape=(*shape, n), dtype="float64", device=mean.device if device is None else device)
    mean, lower = mean.to(drawn.device), lower.to(drawn.device)
    # The sum is exact and rounded once, unlike that of a product of matrices.
    return (sum(drawn[..., None, :] * lower, axis=-1) + mean).astype(dtype)


def permuted(rng, x, axis, out):
    x = asarray(x)
    axis = None if axis is None else axis_of(axis, x.ndim, "permuted")
    flat = reshape(x, (-1,)) if axis is None else x
    keys = rng.random(flat.shape, dtype="float64", device=x.device)
    along = 0 if axis is None else axis
    return written(reshape(take_along_axis(flat, argsort(keys, axis=along), axis=along), x.shape), out, "permuted")
