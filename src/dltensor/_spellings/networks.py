# SPDX-License-Identifier: Apache-2.0
"""Layers and losses of neural networks, as in torch.nn.functional: compositions, without gradients. No loops here."""

from .._core.convert import asarray, asarrays
from .._core.indexing import axis_of, sequence_of
from .._ops import elementwise as ops
from .._ops import reduce
from .._ops.casting import astype, where
from .._ops.contractions import vecdot
from .._ops.creation import ones, tril
from .._ops.dtypes import isdtype
from .._ops.fusing import fuse
from .._ops.manipulation import broadcast_arrays, matrix_transpose
from .._ops.matmul import matmul
from .._ops.promotion import result_type
from .._ops.statistics import log_softmax, softmax
from ..linalg import vector_norm
from .helpers import at_classes, reduced

__all__ = [
    "cosine_similarity", "cross_entropy", "embedding", "layer_norm", "linear", "mse_loss", "normalize",
    "scaled_dot_product_attention",
]  # fmt: skip


def _floats(func, *arrays):
    """The arrays as tensors, all of which must have a float dtype."""
    found = asarrays(*arrays)
    for x in found:
        if not isdtype(x.dtype, "real floating"):
            raise TypeError(f"{func}: expected floats, got {x.dtype}; convert it with astype('float32')")
    return found


# -- layers -----------------------------------------------------------------------------------------------------------


def linear(x, /, weight, bias=None):
    """Return ``x @ weight.mT + bias``: a linear layer.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., inputs)``.
    weight : array_like
        Of shape ``(outputs, inputs)``.
    bias : array_like, optional
        Of shape ``(outputs,)``.

    Returns
    -------
    Tensor
        Of shape ``(..., outputs)``.

    Raises
    ------
    TypeError
        An argument is not a tensor.
    ValueError
        The shapes do not fit.

    {Notes: PyTorch: ``torch.nn.functional.linear``.}

    Examples
    --------
    >>> dl.linear([[1.0, 2.0]], [[1.0, 1.0], [0.0, 3.0]], [0.5, 0.0])
    Tensor([[3.5, 6. ]], shape=(1, 2), device=cpu, dtype=float32)
    """
    x, weight = asarrays(x, weight)
    if weight.ndim != 2:
        raise ValueError(f"linear: weight must have the shape (outputs, inputs), got {weight.shape}")
    result = matmul(x, matrix_transpose(weight))
    return result if bias is None else ops.add(result, bias)


@fuse
def _standardised(x, weight, bias, axes, eps, wide, dtype):
    x = astype(x, wide, copy=False)
    mean, variance = reduce.mean(x, axes, keepdims=True), reduce.var(x, axes, keepdims=True)
    x = astype(ops.divide(ops.subtract(x, mean), ops.sqrt(ops.add(variance, eps))), dtype, copy=False)
    x = x if weight is None else ops.multiply(x, weight)
    return x if bias is None else ops.add(x, bias)


@fuse
def _squared_error(x, target):
    return reduce.mean(ops.square(ops.subtract(x, target)))


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Return elements less their mean, divided by their standard deviation, over the last dimensions.

    Floats of 16 bits are computed in float32; the result is rounded once, before `weight` and `bias`.

    Parameters
    ----------
    x : array_like
        Of floats, of shape ``(..., *normalized_shape)``.
    normalized_shape : int or sequence of int
        The last extents of `x`, over which means are taken.
    weight, bias : array_like, optional
        Of shape `normalized_shape`: the results are multiplied by the one, and the other is added.
    eps : float, default 1e-05
        Added to the variance.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    TypeError
        An argument is not a tensor, or `x` has no floats.
    ValueError
        `normalized_shape` is not the end of the shape of `x`.

    {Notes: PyTorch: ``torch.nn.functional.layer_norm``.}

    Examples
    --------
    >>> dl.layer_norm([[0.0, 2.0], [5.0, 5.0]], 2, eps=0.0)[0]
    Tensor([-1.,  1.], shape=(2,), device=cpu, dtype=float32)
    """
    (x,) = _floats("layer_norm", x)
    items = sequence_of(normalized_shape, "normalized_shape", "layer_norm")
    shape = (normalized_shape,) if items is None else tuple(items)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ValueError(f"layer_norm: normalized_shape {shape} must be the end of the shape {x.shape}")
    wide = result_type(x.dtype, "float32")
    weight, bias = (None if one is None else asarray(one) for one in (weight, bias))
    return _standardised(x, weight, bias, tuple(range(-len(shape), 0)), eps, wide, x.dtype)


def normalize(x, p=2.0, axis=1, eps=1e-12):
    """Return a tensor whose vectors along an axis are divided by their norms.

    Parameters
    ----------
    x : array_like
        Of floats.
    p : float, default 2.0
        Order of the norm, as of `linalg.vector_norm`.
    axis : int, default 1
        Axis of the vectors.
    eps : float, default 1e-12
        Norms below this are taken as this.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor of floats.
    IndexError
        `axis` is out of range.

    {Notes: PyTorch: ``torch.nn.functional.normalize``.}

    Examples
    --------
    >>> dl.normalize([[3.0, 4.0]])
    Tensor([[0.6, 0.8]], shape=(1, 2), device=cpu, dtype=float32)
    """
    (x,) = _floats("normalize", x)
    return ops.divide(x, ops.maximum(vector_norm(x, axis=axis, keepdims=True, ord=p), eps))


def embedding(indices, /, weight):
    """Return the rows of a matrix at indices.

    Parameters
    ----------
    indices : array_like
        Integers, of any shape; negative ones count from the end, unlike in PyTorch.
    weight : array_like
        Of shape ``(rows, features)``.

    Returns
    -------
    Tensor
        Of shape ``(*indices.shape, features)``.

    Raises
    ------
    TypeError
        An argument is not a tensor, or `indices` has no integers.
    IndexError
        An index is out of range.

    {Notes: PyTorch: ``torch.nn.functional.embedding``.}

    Examples
    --------
    >>> dl.embedding([1, 0, 1], [[0.0, 0.5], [1.0, 1.5]]).tolist()
    [[1.0, 1.5], [0.0, 0.5], [1.0, 1.5]]
    """
    weight, indices = asarray(weight), asarray(indices)
    if not isdtype(indices.dtype, "integral"):
        raise TypeError(f"embedding: indices must be integers, got {indices.dtype}")
    try:
        return weight[indices]
    except IndexError as error:
        raise IndexError(f"embedding: {error}") from None


def scaled_dot_product_attention(query, key, value, attn_mask=None, *, is_causal=False, scale=None):
    """Return ``softmax(query @ key.mT * scale + mask) @ value``.

    Parameters
    ----------
    query : array_like
        Of floats, of shape ``(..., L, E)``.
    key, value : array_like
        Of shapes ``(..., S, E)`` and ``(..., S, V)``.
    attn_mask : array_like, optional
        Of a shape that broadcasts to ``(..., L, S)``: bools, True where a key takes part, or floats that are added. A
        row in which no key takes part is 0.
    is_causal : bool, default False
        Keys take part up to the position of the query; not with `attn_mask`.
    scale : float, optional
        By default ``1 / sqrt(E)``.

    Returns
    -------
    Tensor
        Of shape ``(..., L, V)``.

    Raises
    ------
    TypeError
        An argument is not a tensor of floats.
    ValueError
        Shapes do not fit, or there are both `attn_mask` and `is_causal`.

    {Notes: PyTorch: ``torch.nn.functional.scaled_dot_product_attention``, without dropout.}

    Examples
    --------
    >>> one = dl.ones((1, 2, 4))
    >>> dl.scaled_dot_product_attention(one, one, dl.asarray([[[1.0], [3.0]]]), is_causal=True).tolist()
    [[[1.0], [2.0]]]
    """
    query, key, value = _floats("scaled_dot_product_attention", query, key, value)
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: attn_mask and is_causal are one mask; expected one of them")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(
            f"scaled_dot_product_attention: expected two dimensions or more, got shapes {query.shape}, {key.shape} "
            f"and {value.shape}"
        )
    scores = ops.multiply(matmul(query, matrix_transpose(key)), query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = tril(ones(scores.shape[-2:], dtype="bool", device=scores.device))
    if attn_mask is None:
        return matmul(softmax(scores, -1), value)
    mask = asarray(attn_mask)
    if not isdtype(mask.dtype, "bool"):
        return matmul(softmax(ops.add(scores, mask), -1), value)
    weights = softmax(where(mask, scores, float("-inf")), -1)
    return matmul(where(reduce.any(mask, -1, keepdims=True), weights, 0.0), value)


# -- similarities and losses ------------------------------------------------------------------------------------------


def cosine_similarity(x1, x2, axis=1, eps=1e-08):
    """Return the cosines of the angles between vectors.

    Parameters
    ----------
    x1, x2 : array_like
        Of floats; they broadcast.
    axis : int, default 1
        Axis of the vectors.
    eps : float, default 1e-08
        Norms below this are taken as this.

    Returns
    -------
    Tensor
        Without `axis`.

    Raises
    ------
    TypeError
        An argument is not a tensor of floats.
    IndexError
        `axis` is out of range.
    ValueError
        The shapes do not broadcast.

    {Notes: PyTorch: ``torch.nn.functional.cosine_similarity``.}

    Examples
    --------
    >>> dl.cosine_similarity([[1.0, 0.0]], [[3.0, 4.0]])
    Tensor([0.6], shape=(1,), device=cpu, dtype=float32)
    """
    x1, x2 = _floats("cosine_similarity", x1, x2)
    x1, x2 = broadcast_arrays(x1, x2)
    axis = axis_of(axis, x1.ndim, "cosine_similarity") - x1.ndim
    norms = (ops.maximum(vector_norm(x, axis=axis), eps) for x in (x1, x2))
    return ops.divide(vecdot(x1, x2, axis=axis), ops.multiply(*norms))


def mse_loss(x, target, *, reduction="mean"):
    """Return the mean of the squares of differences.

    Parameters
    ----------
    x, target : array_like
        Of floats; they broadcast.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Mean or sum of the losses, or all of them.

    Returns
    -------
    Tensor
        Without dimensions, or the losses.

    Raises
    ------
    TypeError
        An argument is not a tensor of floats.
    ValueError
        The shapes do not broadcast, or there is no such reduction.

    {Notes: PyTorch: ``torch.nn.functional.mse_loss``.}

    Examples
    --------
    >>> dl.mse_loss([1.0, 4.0], [1.0, 2.0]).item()
    2.0
    """
    x, target = _floats("mse_loss", x, target)
    if reduction == "mean":
        return _squared_error(x, target)
    return reduced(ops.square(ops.subtract(x, target)), reduction, "mse_loss")


def cross_entropy(x, target, *, ignore_index=-100, reduction="mean"):
    """Return the mean of ``-log_softmax(x)`` at the classes of `target`, or of its products with probabilities.

    Parameters
    ----------
    x : array_like
        Of floats, of shape ``(classes,)`` or ``(N, classes, ...)``.
    target : array_like
        Integers: the classes, of the shape of `x` without the classes. Or floats of the shape of `x`: probabilities.
    ignore_index : int, default -100
        Class of elements that are left out.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Mean or sum of the losses, or all of them.

    Returns
    -------
    Tensor
        Without dimensions, or of the shape of `x` without the classes.

    Raises
    ------
    TypeError
        An argument is not a tensor, `x` has no floats, or `target` has neither integers nor floats.
    ValueError
        The shapes do not fit, or there is no such reduction.
    IndexError
        A class is out of range.

    {Notes: PyTorch: ``torch.nn.functional.cross_entropy``, without weights and smoothing.}

    Examples
    --------
    >>> round(dl.cross_entropy([[2.0, 0.0]], [0]).item(), 4)
    0.1269
    """
    (x,) = _floats("cross_entropy", x)
    target = asarray(target).to(x.device)
    axis = min(1, x.ndim - 1)
    logarithms = log_softmax(x, axis) if x.ndim else x
    if isdtype(target.dtype, "integral") or x.ndim == 0:
        return at_classes(logarithms, target, ignore_index, reduction, "cross_entropy")
    if target.shape != x.shape:
        raise ValueError(f"cross_entropy: target must have the shape {x.shape}, got {target.shape}")
    (target,) = _floats("cross_entropy", target)
    losses = ops.negative(reduce.sum(ops.multiply(logarithms, target), axis))
    return reduced(losses, reduction, "cross_entropy")
