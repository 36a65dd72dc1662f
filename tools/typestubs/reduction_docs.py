# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings of the reductions, functions and methods, generated from the rows of rows.h.

Nothing is computed here.
"""

_RESULTS = {
    "wide": "Of the dtype of `x`; of bool and integers int64 or uint64.",
    "same": "Of the dtype of `x`.",
    "real": "Of the dtype of `x`; float64 of integers of 32 and 64 bits, `get_default_dtype` of narrower ones and "
    "bool.",
    "part": "Of the dtype of `x`; for complex elements the real dtype of their parts, float64 of integers of 32 and 64 "
    "bits, `get_default_dtype` of narrower ones and bool.",
    "mask": "Of dtype bool.",
    "index": "Of dtype int64.",
}
# Keyword -> default, type, description.
_KEYWORDS = {
    "dtype": ("None", "dtype_like", ""),
    "correction": (
        "0.0",
        "float",
        "The divisor is the number of elements less `correction`; the result is NaN when that is not above 0.",
    ),
    "where": ("None", "array_like of bool", "Broadcasts to `x`; elements where it is False are left out."),
    "initial": (
        "None",
        "number",
        "Taken as one more element of each result: an integer in the range of the result, or any float.",
    ),
    "saturate": ("False", "bool", "Keep the dtype of `x`: the exact result is clamped to its range."),
}
# The text on `dtype` of a row that has the dtype of its elements, and of one that has a float dtype.
_DTYPES = {
    "wide": "Dtype of the result, which is rounded to it once. To an integer dtype or bool, and from reals to complex, "
    "elements are converted first; integers become float64 for a float dtype.",
    "real": "Float or complex dtype of the result, which is rounded to it once.",
    "part": "Float dtype of the result, which is rounded to it once; a complex one stands for that of its parts.",
}
# Row -> elements of `x`, the result, its dtype.
EXAMPLES = {
    "all": ("[1, 0]", "False", "bool"),
    "any": ("[1, 0]", "True", "bool"),
    "argmax": ("[2, 9, 9]", "1", "int64"),
    "argmin": ("[2, 9, 1]", "2", "int64"),
    "count_nonzero": ("[3, 0, 5]", "2", "int64"),
    "max": ("[2, 9, 4]", "9", "int64"),
    "mean": ("[1, 2, 6]", "3.", "float64"),
    "min": ("[2, 9, 4]", "2", "int64"),
    "prod": ("[2, 3, 4]", "24", "int64"),
    "std": ("[1.0, 3.0]", "1.", "float32"),
    "sum": ("[1e30, 1.0, -1e30]", "1.", "float32"),
    "var": ("[1.0, 3.0]", "1.", "float32"),
}


def _wrapped(text):
    """Indented lines of at most 114 columns. textwrap would import re with the package."""
    lines = ["   "]
    for word in text.split():
        if len(lines[-1]) + len(word) >= 114:
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


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

    Examples
    --------
    >>> from dltensor._ops.reduce import REDUCTIONS
    >>> described_reduction(REDUCTIONS["argmax"]).splitlines()[0]
    'argmax(x, /, axis=None, *, keepdims=False, out=None)'
    """
    parameters = ["axis=None", "keepdims=False", "out=None", *(f"{name}={_KEYWORDS[name][0]}" for name in row["takes"])]
    first = f"$self, /, {parameters[0]}, *" if method else f"x, /, {parameters[0]}, *"
    lines = [f"{row['name']}({', '.join([first, *parameters[1:]])})", "--", "", row["doc"], ""]
    lines += [f"Each result is ``{row['text']}`` of the elements{' x' if method else ''} along `axis`."]
    lines += ["Its bits depend neither on the layout nor on threads or the processor.", ""]
    lines += ["Parameters", "----------"]
    if not method:
        lines += ["x : array_like", f"    Tensor, or any object that supports DLPack: {', '.join(row['kinds'])}."]
    lines += _parameters(row)
    result = f"{_RESULTS[row['result']]} `out`, when it is given."
    lines += ["", "Returns", "-------", "Tensor", *_wrapped(result), ""]
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
    lines = [f"axis : {'int' if row['one_axis'] else 'int or sequence of int'}, optional"]
    lines += [f"    {'Dimension' if row['one_axis'] else 'Dimensions'} to reduce; None means all of them."]
    lines += ["keepdims : bool, default False", "    Keep reduced dimensions, with one element each."]
    lines += ["out : array_like, optional", "    Writable tensor of the shape of the result; overwritten and returned."]
    for name in row["takes"]:
        default, kind, text = _KEYWORDS[name]
        text = _DTYPES[row["result"]] if name == "dtype" else text
        lines += [f"{name} : {kind}, {'optional' if default == 'None' else f'default {default}'}"]
        lines += _wrapped(text)
    return lines


def _raises(row):
    lines = ["IndexError", "    `axis` is out of range.", "ValueError"]
    lines += ["    `axis` names a dimension twice, or `out` is read-only or has another shape."]
    if not row["empty"]:
        lines += ["    Also when there is no element."]
    if "initial" in row["takes"]:
        lines += ["OverflowError", "    `initial` is an integer outside of the range of an integer result."]
    return [*lines, "DeviceError", "    `x` is neither on the host nor on a CUDA device."]


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
