# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings of the reductions, functions and methods, generated from rows of reductions.h.

Nothing is computed here.
"""

_RESULTS = {
    "wide": "Of the dtype of `x`; of bool and integers int64 or uint64.",
    "same": "Of the dtype of `x`.",
    "real": "Of the dtype of `x`; of bool and integers float32.",
    "part": "Of the dtype of `x`; for complex elements the real dtype of their parts, of bool and integers float32.",
    "mask": "Of dtype bool.",
    "index": "Of dtype int64.",
}
# Keyword -> default, type, description.
_KEYWORDS = {
    "dtype": ("None", "dtype_like", "Elements are converted to it first, and the result has it."),
    "correction": (
        "0.0",
        "float",
        "The divisor is the number of elements less `correction`; the result is NaN when that is not above 0.",
    ),
    "where": ("None", "array_like of bool", "Broadcasts to `x`; elements where it is False are left out."),
    "initial": ("None", "number", "Taken as one more element of each result."),
    "saturate": ("False", "bool", "Keep the dtype of `x`: the exact result is clamped to its range."),
}
# Row -> elements of `x`, the result, its dtype.
EXAMPLES = {
    "all": ("[1, 0]", "False", "bool"),
    "any": ("[1, 0]", "True", "bool"),
    "argmax": ("[2, 9, 9]", "1", "int64"),
    "argmin": ("[2, 9, 1]", "2", "int64"),
    "count_nonzero": ("[3, 0, 5]", "2", "int64"),
    "max": ("[2, 9, 4]", "9", "int64"),
    "mean": ("[1, 2, 6]", "3.", "float32"),
    "min": ("[2, 9, 4]", "2", "int64"),
    "prod": ("[2, 3, 4]", "24", "int64"),
    "std": ("[1.0, 3.0]", "1.", "float32"),
    "sum": ("[1e30, 1.0, -1e30]", "1.", "float32"),
    "var": ("[1.0, 3.0]", "1.", "float32"),
}


def described_reduction(row, method=False):
    """Return signature and docstring of a reduction, in the form that CPython reads from ``ml_doc``.

    Parameters
    ----------
    row : dict
        An entry of ``REDUCTIONS``.
    method : bool, default False
        Describe the method of Tensor instead of the function.

    Returns
    -------
    str
        The signature line, the separator ``--``, and the docstring in numpydoc style. A row without an example gets
        none; a test then fails.

    Raises
    ------
    KeyError
        The row lacks a column.

    Examples
    --------
    >>> from dltensor._ops.reductions import REDUCTIONS
    >>> described_reduction(REDUCTIONS["argmax"]).splitlines()[0]
    'argmax(x, /, *, axis=None, keepdims=False, out=None)'
    """
    given = ["axis=None", "keepdims=False", "out=None", *(f"{name}={_KEYWORDS[name][0]}" for name in row["takes"])]
    first = f"$self, /, {given[0]}, *" if method else f"x, /, *, {given[0]}"
    lines = [f"{row['name']}({', '.join([first, *given[1:]])})", "--", "", row["doc"], ""]
    lines += [f"Each result is ``{row['text']}`` of the elements{' x' if method else ''} along `axis`."]
    lines += ["Its bits depend neither on the layout nor on threads or the processor.", ""]
    lines += ["Parameters", "----------"]
    if not method:
        lines += ["x : array_like", f"    Tensor, or any object that supports DLPack: {', '.join(row['kinds'])}."]
    lines += _parameters(row)
    lines += ["", "Returns", "-------", "Tensor", f"    {_RESULTS[row['result']]} `out`, when it is given.", ""]
    lines += ["Raises", "------", "TypeError"]
    lines += [
        "    The dtype is not supported." if method else "    `x` is not a tensor, or its dtype is not supported."
    ]
    lines += _raises(row)
    if method:
        lines += ["", "See Also", "--------", f"dltensor.{row['name']} : The same as a function, of any object."]
    lines += ["", "Notes", "-----", f"Array API 2025.12: ``{row['name']}``."]
    text = "\n".join(lines)
    if method:
        text = text.replace("    `x` ", "    The tensor ").replace("`x`", "the tensor")
    return "\n".join([text, *_example(row, method)])


def _parameters(row):
    lines = [f"axis : {'int' if row['one_axis'] else 'int or tuple of int'}, optional"]
    lines += [f"    {'Dimension' if row['one_axis'] else 'Dimensions'} to reduce; None means all of them."]
    lines += ["keepdims : bool, default False", "    Keep reduced dimensions, with one element each."]
    lines += ["out : array_like, optional", "    Writable tensor of the shape of the result; overwritten and returned."]
    for name in row["takes"]:
        default, kind, text = _KEYWORDS[name]
        lines += [f"{name} : {kind}, {'optional' if default == 'None' else f'default {default}'}", f"    {text}"]
    return lines


def _raises(row):
    lines = ["IndexError", "    `axis` is out of range.", "ValueError"]
    lines += ["    `axis` names a dimension twice, or `out` is read-only or has another shape."]
    if not row["empty"]:
        lines += ["    Also when there is no element."]
    wide = " On one, float64 and wide integers are refused." if "correction" in row["takes"] else ""
    return [*lines, "DeviceError", f"    `x` is neither on the host nor on a CUDA device.{wide}"]


def _example(row, method):
    if row["name"] not in EXAMPLES:
        return []
    elements, result, dtype = EXAMPLES[row["name"]]
    tensor = f"dl.asarray({elements})"
    return [
        "",
        "Examples",
        "--------",
        f">>> {tensor}.{row['name']}()" if method else f">>> dl.{row['name']}({tensor})",
        f"Tensor({result}, shape=(), device=cpu, dtype={dtype})",
    ]
