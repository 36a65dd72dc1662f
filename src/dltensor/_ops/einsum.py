# SPDX-License-Identifier: Apache-2.0
"""Sums of products by the labels of axes: einsum over pairs of operands, outer, kron and cross. No loops here."""

from functools import lru_cache
from itertools import combinations
from math import prod
from string import ascii_lowercase, ascii_uppercase

from .._core.convert import asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from .._core.types import DTYPES
from .._core.views import as_strided
from . import reduce
from .arguments import output_of, written
from .casting import copy
from .contractions import column_dots
from .elementwise import multiply, not_equal, subtract
from .manipulation import moveaxis, permute_dims, reshape, stack
from .matmul import matmul
from .promotion import common_dtype

__all__ = ["cross", "einsum", "kron", "outer"]

_BOOL = DTYPES["bool"]
_ALPHABET = ascii_uppercase + ascii_lowercase


def _term(text, ndim, position, subscripts):
    """The labels of an operand's axes. Those under an ellipsis are counted from the last one: -1, -2, ..."""
    before, dots, after = text.partition("...")
    letters = before + after
    if letters and not (letters.isalpha() and letters.isascii()):
        raise ValueError(f"einsum: expected letters, commas, '...' and '->', got {subscripts[:80]!r}")
    hidden = ndim - len(letters)
    if hidden < 0 or (hidden and not dots):
        raise ValueError(
            f"einsum: operand {position} has {ndim} dimensions, but its subscripts are {text!r} in {subscripts[:80]!r}"
        )
    return (*before, *range(-hidden, 0), *after)


@lru_cache(256)
def _parse(subscripts, ndims):
    """The labels of each operand and of the result."""
    inputs, arrow, output = "".join(subscripts.split()).partition("->")
    texts = inputs.split(",")
    if len(texts) != len(ndims):
        raise ValueError(f"einsum: {subscripts[:80]!r} has {len(texts)} terms, but there are {len(ndims)} operands")
    terms = [_term(text, ndim, i, subscripts) for i, (text, ndim) in enumerate(zip(texts, ndims, strict=True))]
    labels = [label for term in terms for label in term]
    hidden = -min((label for label in labels if isinstance(label, int)), default=0)
    letters = [label for label in labels if isinstance(label, str)]
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return terms, (*range(-hidden, 0), *once)
    named = output.replace("...", "", 1)
    result = _term(output, len(named) + (hidden if "..." in output else 0), "out", subscripts)
    if hidden and "..." not in output:
        raise ValueError(f"einsum: the result of {subscripts[:80]!r} needs '...', because an operand has it")
    if len(set(result)) != len(result):
        raise ValueError(f"einsum: the result of {subscripts[:80]!r} has a letter twice")
    unknown = sorted(set(named) - set(letters))
    if unknown:
        raise ValueError(f"einsum: the result of {subscripts[:80]!r} has {unknown[0]!r}, which no operand has")
    return terms, result


def _letters(labels):
    """The letters of a list of labels: A to Z, then a to z, whose order in ASCII is that of the labels."""
    items = sequence_of(labels, "the labels", "einsum")
    if items is None:
        raise TypeError(
            f"einsum: subscripts must be a string, or each operand be followed by a list of labels, got "
            f"{type(labels).__qualname__}"
        )
    letters = []
    for label in items:
        if label is Ellipsis:
            letters.append("...")
            continue
        number = integer_of(label, "a label", "einsum")
        if not 0 <= number < len(_ALPHABET):
            raise ValueError(f"einsum: labels must be from 0 to {len(_ALPHABET) - 1}, got {quoted(number)}")
        letters.append(_ALPHABET[number])
    return "".join(letters)


def _read_labels(arguments):
    """The string of subscripts and the operands of a call that has a list of labels after each operand."""
    *pairs, output = arguments if len(arguments) % 2 else (*arguments, None)
    subscripts = ",".join(map(_letters, pairs[1::2]))
    return subscripts if output is None else f"{subscripts}->{_letters(output)}", pairs[::2]


def _diagonal(t, labels):
    """The view of `t` with each label once: a label that is repeated takes the diagonal."""
    once = tuple(dict.fromkeys(labels))
    if len(once) == len(labels):
        return t, labels
    shape, strides = [], []
    for label in once:
        axes = [axis for axis, other in enumerate(labels) if other == label]
        extents = {t.shape[axis] for axis in axes}
        if len(extents) > 1:
            raise ValueError(f"einsum: {label!r} has extents {sorted(extents)} in an operand of shape {t.shape}")
        shape.append(t.shape[axes[0]])
        is_used = t.size > 0 and shape[-1] > 1  # else strides may be anything
        strides.append(sum(t.strides[axis] for axis in axes) if is_used else 0)
    return as_strided(t, shape, strides, readonly=t.readonly, func="einsum"), once


def _extents(parts):
    """The extent of each label. Extents of 1 broadcast."""
    found = {}
    for t, labels in parts:
        for label, extent in zip(labels, t.shape, strict=True):
            old = found.setdefault(label, extent)
            if old != extent and 1 not in (old, extent):
                name = "the axes of '...'" if isinstance(label, int) else repr(label)
                raise ValueError(f"einsum: {name} have extents {old} and {extent}, which do not broadcast")
            if old == 1:
                found[label] = extent
    return found


def _without_broadcast(t, labels, extents):
    """The operand without the axes of extent 1 that broadcast: it is constant along these labels."""
    kept = [axis for axis, label in enumerate(labels) if t.shape[axis] == extents[label]]
    if len(kept) == len(labels):
        return t, labels
    labels = tuple(labels[axis] for axis in kept)
    return t[tuple(slice(None) if axis in kept else 0 for axis in range(t.ndim))], labels


def _summed(t, labels, kept):
    """The operand summed over the labels that nothing else needs."""
    axes = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    if not axes:
        return t, labels
    return reduce.sum(t, axis=axes, dtype=t.dtype), tuple(label for label in labels if label in kept)


def _aligned(t, labels, order):
    """The operand as a view with an axis for each label of `order`, of extent 1 where it has none."""
    t = permute_dims(t, [labels.index(label) for label in order if label in labels])
    return t[tuple(slice(None) if label in labels else None for label in order)]


def _dots(a, b, out=None):
    """The products of vectors along the last dimension, which are not conjugated, as products of matrices."""
    result = column_dots(a, b)
    if result is None:
        result = matmul(a[..., None, :], b[..., None])[..., 0, 0]
    return result if out is None else written(result, out, "einsum")


def _pair(first, second, kept, output, out):
    """The product of two operands, summed over the labels that nothing else needs."""
    (a, a_labels), (b, b_labels) = (
        _summed(t, labels, kept | set(other)) for (t, labels), (_, other) in ((first, second), (second, first))
    )
    shared = [label for label in a_labels if label in b_labels]
    inner = [label for label in shared if label not in kept]
    if not inner:
        order = [label for label in (*output, *a_labels, *b_labels) if label in a_labels or label in b_labels]
        order = tuple(dict.fromkeys(order))
        return multiply(_aligned(a, a_labels, order), _aligned(b, b_labels, order), out=out), order
    last = next((label for label in reversed(output) if label in a_labels or label in b_labels), None)
    if last in a_labels and last not in shared:  # rows of the result lie along its last label
        a, a_labels, b, b_labels = b, b_labels, a, a_labels
    outer = [label for label in output if label in shared]
    outer += [label for label in shared if label in kept and label not in outer]
    place = {label: i for i, label in enumerate(output)}
    rows, columns = (
        sorted((label for label in labels if label not in shared), key=lambda label: place.get(label, len(place)))
        for labels in (a_labels, b_labels)
    )
    # Axes in the order of memory merge into one without a copy.
    inner.sort(key=lambda label: -abs(a.strides[a_labels.index(label)]))
    left = permute_dims(a, [a_labels.index(label) for label in (*outer, *rows, *inner)])
    right = permute_dims(b, [b_labels.index(label) for label in (*outer, *inner, *columns)])
    if not rows and not columns:
        left, right = (reshape(t, (*t.shape[: len(outer)], prod(t.shape[len(outer) :]))) for t in (left, right))
        return _dots(left, right, out if tuple(outer) == output else None), tuple(outer)
    batch, high = left.shape[: len(outer)], left.shape[len(outer) : len(outer) + len(rows)]
    wide = right.shape[len(outer) + len(inner) :]
    depth = prod(left.shape[len(outer) + len(rows) :])
    left, right = reshape(left, (*batch, prod(high), depth)), reshape(right, (*batch, depth, prod(wide)))
    labels = (*outer, *rows, *columns)
    if out is not None and labels == output and len(rows) == len(columns) == 1:
        return matmul(left, right, out=out), labels
    return reshape(matmul(left, right), (*batch, *high, *wide)), labels


def _cheapest(parts, output, extents):
    """The pair whose product frees the most elements, and takes the fewest multiplications of these."""
    if len(parts) == 2:
        return 0, 1
    best = None
    for i, j in combinations(range(len(parts)), 2):
        a, b = set(parts[i][1]), set(parts[j][1])
        others = set(output).union(*(labels for k, (_, labels) in enumerate(parts) if k not in (i, j)))
        result = prod(extents[label] for label in (a | b) & others)
        freed = result - prod(extents[label] for label in a) - prod(extents[label] for label in b)
        cost = freed, prod(extents[label] for label in a | b)
        if best is None or cost < best[0]:
            best = cost, (i, j)
    return best[1]


def _path(optimize, count):
    """The path that is given, as a list of tuples of positions; None for the greedy one."""
    if optimize is True or (isinstance(optimize, str) and optimize in ("greedy", "optimal")):
        return None
    if optimize is False:
        return [(0, 1)] + [(0, left - 1) for left in range(count - 1, 1, -1)]
    if not isinstance(optimize, (list, tuple)):
        raise ValueError(f"einsum: optimize must be True, False, 'greedy', 'optimal' or a path, got {quoted(optimize)}")
    steps = optimize[1:] if optimize and optimize[0] == "einsum_path" else optimize
    left = count
    for step in steps:
        if not isinstance(step, (list, tuple)) or not step or len(set(step)) != len(step):
            raise ValueError(f"einsum: a path is a list of tuples of different positions, got {quoted(step)}")
        if not all(hasattr(place, "__index__") and 0 <= place < left for place in step):
            raise ValueError(f"einsum: the path has {tuple(step)}, but there are {left} operands at this step")
        left -= len(step) - 1
    return [tuple(step) for step in steps]


def _contracted(parts, output, extents, path, out):
    """One operand with the labels of the result, in some order."""
    steps = iter(path or ())
    while len(parts) > 1:
        # After the end of a given path, what is left is multiplied in order.
        places = next(steps, tuple(range(len(parts)))) if path is not None else _cheapest(parts, output, extents)
        group = [parts[place] for place in places]
        parts = [part for place, part in enumerate(parts) if place not in places]
        others = set(output).union(*(labels for _, labels in parts))
        result = group[0]
        for position, part in enumerate(group[1:], 1):
            kept = others.union(*(labels for _, labels in group[position + 1 :]))
            final = not parts and position == len(group) - 1
            result = _pair(result, part, kept, output, out if final else None)
        parts.append(result)
    return parts[0]


def _takes_more(a, b, row, column, inner):
    """Test whether a label stands twice in an operand, or labels are more than one product of matrices has."""
    twice = len(set(a)) < len(a) or len(set(b)) < len(b)
    return twice or len(row) > 1 or len(column) > 1 or (len(inner) > 1 and len(row) + len(column) < 2)


@lru_cache(256)
def _plan(subscripts, first, second):
    """Plan operands of two shapes as one product of matrices; None for what takes more.

    Returns whether they change places, whether their product is one of vectors, the permutations of both and of the
    result, each None where it does nothing, and the shapes of both as matrices or vectors and of what their product is,
    None where they need no other.
    """
    (a, b), output = _parse(subscripts, (len(first), len(second)))
    extents = [dict(zip(labels, shape, strict=True)) for labels, shape in ((a, first), (b, second))]
    shared = [label for label in a if label in b]
    inner = [label for label in shared if label not in output]
    row, column = ([label for label in labels if label not in shared] for labels in (a, b))
    if not inner or not {*row, *column} <= set(output) or _takes_more(a, b, row, column, inner):
        return None
    if any(extents[0][label] != extents[1][label] for label in shared):
        return None
    swapped = bool(row and column) and output.index(row[0]) > output.index(column[0])
    if swapped:
        a, b, row, column = b, a, column, row
    outer = [label for label in output if label in shared]
    orders = (a, [*outer, *row, *inner]), (b, [*outer, *inner, *column]), ((*outer, *row, *column), output)
    permutations = (tuple(labels.index(label) for label in order) for labels, order in orders)
    shapes = None
    if len(inner) > 1 or not row or not column:
        # Axes that are summed over have the order of the first operand, which then is a matrix without a copy.
        size = {**extents[0], **extents[1]}
        batch, height, depth, width = ([size[label] for label in labels] for labels in (outer, row, inner, column))
        shapes = (
            (*batch, prod(height), prod(depth)),
            (*batch, prod(depth), prod(width)),
            (*batch, *height, *width) if not row or not column else None,
        )
        if not row and not column:
            shapes = ((*batch, prod(depth)),) * 2 + (None,)
    orders = (None if order == tuple(range(len(order))) else order for order in permutations)
    return swapped, not row and not column, *orders, shapes


def _by_plan(plan, a, b):
    """Compute the one product of matrices, or the products of vectors, that a plan describes."""
    swapped, dots, left, right, back, shapes = plan
    a, b = (b, a) if swapped else (a, b)
    a, b = a if left is None else permute_dims(a, left), b if right is None else permute_dims(b, right)
    a, b = (a, b) if shapes is None else (a.reshape(shapes[0]), b.reshape(shapes[1]))
    result = _dots(a, b) if dots else matmul(a, b)
    result = result if shapes is None or shapes[2] is None else result.reshape(shapes[2])
    return result if back is None else permute_dims(result, back)


def einsum(subscripts, /, *operands, out=None, optimize=True):
    """Sum products of operands over axes with the same letter.

    Each letter of `subscripts` stands for an axis. Axes with one letter have one index; letters that the result does
    not have are summed over. Pairs of operands are multiplied as matrices, without a copy where their strides allow.

    Parameters
    ----------
    subscripts : str
        A term of letters for each operand, between commas, then ``->`` and the letters of the result. Without ``->``
        the result has the letters that appear once, sorted. ``...`` stands for further axes, which broadcast. A letter
        twice in a term takes the diagonal. Instead of it, each operand may be followed by a list of labels from 0 to
        51, which stand for A to Z and a to z, or of ``...``, and the last by that of the result too.
    *operands : array_like
        Tensors, or any objects that support DLPack. Their dtypes are promoted. Extents of 1 broadcast.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.
    optimize : bool, {"greedy", "optimal"} or contraction path, default True
        Order of the products. True and both names multiply the pair first that frees the most elements, False the first
        with the second and so on. A path is a list of tuples of positions, as ``numpy.einsum_path`` and opt_einsum
        return it.

    Returns
    -------
    Tensor
        Of the promoted dtype; integers wrap. A view, if one operand is only rearranged. `out`, when it is given.

    Raises
    ------
    ValueError
        Subscripts, extents, the path or the shape of `out` do not fit; the message names both. A label is not from 0 to
        51.
    TypeError
        There is neither a string nor lists of integers as labels, there is no common dtype, or `out` has another dtype
        than the result.
    DeviceError
        A tensor is on a device whose operations do not include a sum.

    {See Also: tensordot, matmul}

    Examples
    --------
    >>> a = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> dl.einsum("ij,jk->ik", a, a)
    Tensor([[ 7., 10.],
            [15., 22.]], shape=(2, 2), device=cpu, dtype=float32)
    >>> dl.einsum(a, [0, 1], a, [1, 2], [0, 2]).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    >>> dl.einsum("ii", a).item(), dl.einsum("...ij->...ji", a).tolist()
    (5.0, [[1.0, 3.0], [2.0, 4.0]])
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _read_labels((subscripts, *operands))
    subscripts = str.__str__(subscripts)  # plans are remembered by it: not by an object of a subclass
    tensors = asarrays(*operands)
    if len(tensors) == 2 and out is None and optimize is True:
        a, b = tensors
        plan = _plan(subscripts, a.shape, b.shape)
        if plan is not None and a.dtype != _BOOL and b.dtype != _BOOL:
            return _by_plan(plan, a, b)
    terms, output = _parse(subscripts, tuple(t.ndim for t in tensors))
    path = _path(optimize, len(tensors))
    dtype = tensors[0].dtype if len(tensors) == 1 else common_dtype("einsum", tensors)
    parts = [_diagonal(x, labels) for x, labels in zip(tensors, terms, strict=True)]
    extents = _extents(parts)
    target = output_of(out, tuple(extents[label] for label in output), dtype, "einsum")
    # Sums of logical ands are counted: True unless the number is 0.
    work = DTYPES["int64"] if dtype == _BOOL and (len(parts) > 1 or len(parts[0][1]) > len(output)) else dtype
    parts = [_without_broadcast(t if t.dtype == work else t.astype(work), labels, extents) for t, labels in parts]
    direct = target if dtype == work else None
    t, labels = _contracted(parts, output, extents, path, direct)
    if len(parts) > 1 and t is direct:
        return out
    if len(parts) == 1 and target is not None:  # a view, which `out` may overlap
        t = copy(t)
    t, labels = _summed(t, labels, set(output))
    result = permute_dims(t, [labels.index(label) for label in output])
    if work != dtype:
        result = not_equal(result, 0)
    return result if target is None else copy(result, out)


def outer(x1, x2, /, *, out=None):
    """Multiply every element of one vector with every element of another.

    Parameters
    ----------
    x1 : array_like
        Of shape ``(m,)``.
    x2 : array_like
        Of shape ``(n,)``. The dtypes are promoted.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of shape ``(m, n)``.

    Raises
    ------
    ValueError
        An operand is not one-dimensional, or `out` has another shape or is read-only.
    TypeError
        The dtypes have no common dtype, or that of `out` is of a lower kind than the result's.

    {See Also: kron}

    {Notes: Array API 2025.12: ``linalg.outer``.}

    Examples
    --------
    >>> dl.outer(dl.asarray([1, 2]), dl.asarray([3, 4, 5]))
    Tensor([[ 3,  4,  5],
            [ 6,  8, 10]], shape=(2, 3), device=cpu, dtype=int64)
    """
    a, b = asarrays(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: expected vectors, but x1 has shape {a.shape} and x2 has shape {b.shape}")
    return written(multiply(a[:, None], b[None, :]), out, "outer")


def kron(a, /, b, *, out=None):
    """Return the Kronecker product: a block of `b` times each element of `a`.

    Parameters
    ----------
    a : array_like
        Tensor, or any object that supports DLPack.
    b : array_like
        The same. The dtypes are promoted; the operand with fewer dimensions gets leading ones of extent 1.
    {outer: out}

    Returns
    -------
    Tensor
        Each extent is the product of those of `a` and `b`.

    Raises
    ------
    ValueError
        `out` has another shape or is read-only.
    {outer: TypeError}

    {See Also: outer}

    Examples
    --------
    >>> dl.kron(dl.asarray([1, 10]), dl.asarray([[1, 2], [3, 4]]))
    Tensor([[ 1,  2, 10, 20],
            [ 3,  4, 30, 40]], shape=(2, 4), device=cpu, dtype=int64)
    """
    a, b = asarrays(a, b)
    ndim = max(a.ndim, b.ndim)
    high, low = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    result = multiply(
        reshape(a, tuple(size for extent in high for size in (extent, 1))),
        reshape(b, tuple(size for extent in low for size in (1, extent))),
    )
    return written(reshape(result, tuple(x * y for x, y in zip(high, low, strict=True))), out, "kron")


def cross(x1, x2, /, axis=-1, *, out=None):
    """Return the cross product of vectors with three elements.

    Parameters
    ----------
    x1 : array_like
        Of a numeric dtype, with three elements along `axis`.
    x2 : array_like
        The same. The dtypes are promoted, and the other dimensions broadcast.
    axis : int, default -1
        Dimension of the vectors. At least 0 only when both operands have the same number of dimensions.
    {outer: out}

    Returns
    -------
    Tensor
        Of the broadcast shape.

    Raises
    ------
    ValueError
        There are not three elements along `axis`, the shapes do not broadcast, or `out` has another shape or is
        read-only.
    IndexError
        `axis` is out of range.
    TypeError
        An operand is bool, the dtypes have no common dtype, or that of `out` is of a lower kind than the result's.

    {See Also: vecdot}

    {Notes: Array API 2025.12: ``linalg.cross``.}

    Examples
    --------
    >>> dl.cross(dl.asarray([1, 0, 0]), dl.asarray([0, 1, 0]))
    Tensor([0, 0, 1], shape=(3,), device=cpu, dtype=int64)
    """
    a, b = asarrays(x1, x2)
    ndim = min(a.ndim, b.ndim)
    axis = integer_of(axis, "axis", "cross")
    place = axis_of(axis, ndim, "cross") - ndim
    if axis >= 0 and a.ndim != b.ndim:
        raise IndexError(f"cross: axis {axis} of shapes {a.shape} and {b.shape} is ambiguous; count it from the end")
    if a.shape[place] != 3 or b.shape[place] != 3:
        raise ValueError(f"cross: expected 3 elements along axis {axis}, but x1 has shape {a.shape}, x2 {b.shape}")
    a, b = moveaxis(a, place, -1), moveaxis(b, place, -1)
    parts = [
        subtract(multiply(a[..., i], b[..., j]), multiply(a[..., j], b[..., i])) for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return written(moveaxis(stack(parts, axis=-1), -1, place), out, "cross")
