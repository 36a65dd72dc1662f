# SPDX-License-Identifier: Apache-2.0
"""Methods of NumPy's ufuncs called with tensors, such as ``numpy.add.reduce``: the corresponding function."""

import numpy

from .._core.convert import asarray
from .._core.tensor import Tensor
from . import manipulation, reduce, scan

_CORRESPONDING = {
    "reduce": {
        numpy.add: reduce.sum,
        numpy.logical_and: reduce.all,
        numpy.logical_or: reduce.any,
        numpy.maximum: reduce.max,
        numpy.minimum: reduce.min,
        numpy.multiply: reduce.prod,
    },
    "accumulate": {
        numpy.add: scan.cumulative_sum,
        numpy.maximum: scan.cumulative_max,
        numpy.minimum: scan.cumulative_min,
        numpy.multiply: scan.cumulative_prod,
    },
}


def along_axis(ufunc, method, inputs, kwargs):
    """Reduce or accumulate along an axis, by default the first one.

    Returns
    -------
    Tensor
        NotImplemented where NumPy has to compute: other ufuncs and methods, and arguments that ours does not take.

    Examples
    --------
    >>> along_axis(numpy.add, "reduce", (dl.ones((2, 3)),), {}).tolist()
    [2.0, 2.0, 2.0]
    """
    function = _CORRESPONDING.get(method, {}).get(ufunc)
    if function is None or len(inputs) != 1 or kwargs.get("initial", 0) is None:
        return NotImplemented  # `initial=None` refuses to reduce no element
    options = {name: value for name, value in kwargs.items() if value is not None or name == "axis"}
    if "out" in options:
        (options["out"],) = options["out"]
    try:
        return function(asarray(inputs[0]), axis=options.pop("axis", 0), **options)
    except TypeError:
        return NotImplemented


def outer_operands(inputs):
    """Return the operands of a ufunc whose result has the dimensions of the first operand, then those of the second.

    >>> [x.shape for x in outer_operands((dl.zeros(3), dl.zeros((2, 4))))]
    [(3, 1, 1), (2, 4)]
    """
    numbers = (bool, int, float, complex)
    a, b = (x if isinstance(x, Tensor) or type(x) in numbers else asarray(x) for x in inputs)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        a = manipulation.reshape(a, (*a.shape, *(1,) * b.ndim))
    return a, b
