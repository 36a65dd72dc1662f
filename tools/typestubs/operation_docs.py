# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings of the element-wise functions, generated from rows of ops.h. Nothing is computed here."""

_LETTERS = ("a", "b", "c")
_RESULTS = {
    "same": "Of the common dtype of the operands.",
    "mask": "Of dtype bool.",
    "part": "Of the dtype of the operand; for a complex operand, the real dtype of its parts.",
}
# Row -> operands (a list stands for a tensor), elements of the result, its dtype. The operands are such that every
# instruction set gives the correctly rounded value, so that the example prints the same everywhere.
EXAMPLES = {
    "abs": ("[-2, 3]", "[2, 3]", "int64"),
    "acos": ("[1.0, 0.0]", "[0.       , 1.5707964]", "float32"),
    "acosh": ("[1.0, 2.0]", "[0.      , 1.316958]", "float32"),
    "add": ("[1, 2], [10, 20]", "[11, 22]", "int64"),
    "asin": ("[0.0, 1.0]", "[0.       , 1.5707964]", "float32"),
    "asinh": ("[0.0, 1.0]", "[0.       , 0.8813736]", "float32"),
    "atan": ("[0.0, 1.0]", "[0.       , 0.7853982]", "float32"),
    "atan2": ("[0.0, 1.0], [1.0, 0.0]", "[0.       , 1.5707964]", "float32"),
    "atanh": ("[0.0, 0.5]", "[0.        , 0.54930615]", "float32"),
    "bitwise_and": ("[6, 5], 3", "[2, 1]", "int64"),
    "bitwise_invert": ("[0, 5]", "[-1, -6]", "int64"),
    "bitwise_left_shift": ("[1, 3], 2", "[ 4, 12]", "int64"),
    "bitwise_or": ("[6, 5], 3", "[7, 7]", "int64"),
    "bitwise_right_shift": ("[8, -8], 2", "[ 2, -2]", "int64"),
    "bitwise_xor": ("[6, 5], 3", "[5, 6]", "int64"),
    "cbrt": ("[-8.0, 27.0]", "[-2.,  3.]", "float32"),
    "ceil": ("[-1.5, 1.2]", "[-1.,  2.]", "float32"),
    "clip": ("[1, 5, 9], 2, 6", "[2, 5, 6]", "int64"),
    "conj": ("[1 + 2j]", "[1.-2.j]", "complex64"),
    "copysign": ("[1.0, 2.0], [-1.0, 1.0]", "[-1.,  2.]", "float32"),
    "cos": ("[0.0, 1.0]", "[1.       , 0.5403023]", "float32"),
    "cosh": ("[0.0, 2.0]", "[1.       , 3.7621956]", "float32"),
    "divide": ("[1.0, 6.0], [2.0, 4.0]", "[0.5, 1.5]", "float32"),
    "equal": ("[1, 2], [1, 3]", "[ True, False]", "bool"),
    "erf": ("[0.0, 1.0]", "[0.       , 0.8427008]", "float32"),
    "erfc": ("[0.0, 1.0]", "[1.       , 0.1572992]", "float32"),
    "exp": ("[0.0, 1.5]", "[1.      , 4.481689]", "float32"),
    "exp2": ("[1.0, 3.0]", "[2., 8.]", "float32"),
    "expm1": ("[0.0, 1.0]", "[0.       , 1.7182819]", "float32"),
    "floor": ("[-1.5, 1.2]", "[-2.,  1.]", "float32"),
    "floor_divide": ("[7, -7], 2", "[ 3, -4]", "int64"),
    "fma": ("[1.0, 2.0], 3.0, 0.5", "[3.5, 6.5]", "float32"),
    "gammaln": ("[1.0, 5.0]", "[0.       , 3.1780539]", "float32"),
    "greater": ("[1, 2], [2, 1]", "[False,  True]", "bool"),
    "greater_equal": ("[1, 2], [2, 2]", "[False,  True]", "bool"),
    "hypot": ("[3.0, 5.0], [4.0, 12.0]", "[ 5., 13.]", "float32"),
    "imag": ("[1 + 2j]", "[2.]", "float32"),
    "isfinite": ("[1.0, dl.inf]", "[ True, False]", "bool"),
    "isinf": ("[1.0, dl.inf]", "[False,  True]", "bool"),
    "isnan": ("[1.0, dl.nan]", "[False,  True]", "bool"),
    "less": ("[1, 2], [2, 1]", "[ True, False]", "bool"),
    "less_equal": ("[1, 2], [2, 2]", "[ True,  True]", "bool"),
    "log": ("[1.0, 10.0]", "[0.       , 2.3025851]", "float32"),
    "log10": ("[1.0, 10.0]", "[0., 1.]", "float32"),
    "log1p": ("[0.0, 1.0]", "[0.       , 0.6931472]", "float32"),
    "log2": ("[1.0, 8.0]", "[0., 3.]", "float32"),
    "logaddexp": ("[0.0, 1.0], [0.0, 2.0]", "[0.6931472, 2.3132617]", "float32"),
    "logical_and": ("[0, 2], [1, 1]", "[False,  True]", "bool"),
    "logical_not": ("[0, 2]", "[ True, False]", "bool"),
    "logical_or": ("[0, 2], [0, 1]", "[False,  True]", "bool"),
    "logical_xor": ("[0, 2], [1, 1]", "[ True, False]", "bool"),
    "maximum": ("[1, 5], [3, 2]", "[3, 5]", "int64"),
    "minimum": ("[1, 5], [3, 2]", "[1, 2]", "int64"),
    "multiply": ("[1, 2], [10, 20]", "[10, 40]", "int64"),
    "negative": ("[-2, 3]", "[ 2, -3]", "int64"),
    "nextafter": ("[1.0], [2.0]", "[1.0000001]", "float32"),
    "not_equal": ("[1, 2], [1, 3]", "[False,  True]", "bool"),
    "positive": ("[-2, 3]", "[-2,  3]", "int64"),
    "pow": ("[2, 3], [3, 2]", "[8, 9]", "int64"),
    "real": ("[1 + 2j]", "[1.]", "float32"),
    "reciprocal": ("[2.0, 4.0]", "[0.5 , 0.25]", "float32"),
    "remainder": ("[7, -7], 3", "[1, 2]", "int64"),
    "round": ("[0.5, 1.5, 2.6]", "[0., 2., 3.]", "float32"),
    "sigmoid": ("[0.0, 1.0]", "[0.5      , 0.7310586]", "float32"),
    "sign": ("[-2.5, 0.0, 4.0]", "[-1.,  0.,  1.]", "float32"),
    "signbit": ("[-0.0, 2.0]", "[ True, False]", "bool"),
    "sin": ("[0.0, 1.0]", "[0.        , 0.84147096]", "float32"),
    "sinc": ("[0.0, 0.5]", "[1.       , 0.63661975]", "float32"),
    "sinh": ("[0.0, 1.0]", "[0.       , 1.1752012]", "float32"),
    "sqrt": ("[4.0, 9.0]", "[2., 3.]", "float32"),
    "square": ("[-2, 3]", "[4, 9]", "int64"),
    "subtract": ("[10, 20], [1, 2]", "[ 9, 18]", "int64"),
    "tan": ("[0.0, 1.5]", "[ 0.     , 14.10142]", "float32"),
    "tanh": ("[0.0, 1.0]", "[0.       , 0.7615942]", "float32"),
    "trunc": ("[-1.5, 1.2]", "[-1.,  1.]", "float32"),
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Notes of rows that have more to say than the name in the array API.
_SOURCES = {
    "cbrt": "Notes\n-----\nNumPy: ``numpy.cbrt``. SciPy: ``scipy.special.cbrt``. At most 0.51 ULP.",
    "erf": "Notes\n-----\nPyTorch: ``torch.erf``. SciPy: ``scipy.special.erf``. At most 0.8 ULP.",
    "erfc": "Notes\n-----\nPyTorch: ``torch.erfc``. SciPy: ``scipy.special.erfc``. At most 0.9 ULP.",
    "exp2": "Notes\n-----\nNumPy: ``numpy.exp2``. PyTorch: ``torch.exp2``. At most 0.8 ULP.",
    "gammaln": "Notes\n-----\nPyTorch: ``torch.lgamma``. SciPy: ``scipy.special.gammaln``. At most 0.9 ULP.",
    "sigmoid": "Notes\n-----\nPyTorch: ``torch.sigmoid``. SciPy: ``scipy.special.expit``. At most 0.8 ULP.",
    "sinc": "Notes\n-----\nNumPy: ``numpy.sinc``. PyTorch: ``torch.sinc``. At most 0.8 ULP.",
    "fma": "Notes\n-----\nIEEE 754-2019 ``fusedMultiplyAdd`` for floats; the C function ``fma``.",
    "pow": """Notes
-----
Array API 2025.12: ``pow``. An integer to the power of a negative element is a fraction, which is truncated to 0, 1 or
-1, as in PyTorch, where NumPy raises. The elements are not tested, so that a GPU is not waited for. A float as the base
or the exponent gives the fraction: ``10.0 ** b``.""",
}


def described(row):
    """Return signature and docstring of a function, in the form that CPython reads from ``ml_doc``.

    Parameters
    ----------
    row : dict
        An entry of ``dltensor.OPS``.

    Returns
    -------
    str
        The signature line, the separator ``--``, and the docstring in numpydoc style. A row without an example gets
        none; a test then fails.

    Examples
    --------
    >>> described(dl.OPS["add"]).splitlines()[0]
    'add(a, b, /, out=None, *, saturate=False, launch=None)'
    """
    name, operands = row["name"], _LETTERS[: row["operands"]]
    value = row["text"]
    if row["swapped"]:
        value = value.replace("a", "x").replace("b", "a").replace("x", "b")
    keywords = "saturate=False, launch=None" if row["saturating"] else "launch=None"
    keywords = f"decimals=0, {keywords}" if name == "round" else keywords
    lines = [f"{name}({', '.join(operands)}, /, out=None, *, {keywords})", "--", "", row["doc"], ""]
    promotion = "broadcast, and compare by exact value" if row["symbol"] in _COMPARISONS else "broadcast and promote"
    lines += [f"Each element of the result is ``{value}``. Tensors {promotion}.", ""]
    lines += _parameters(row, operands)
    lines += ["", "Returns", "-------", "Tensor", f"    {_RESULTS[row['result']]} `out`, when it is given.", ""]
    lines += _raises(row)
    if name != row["row"]:
        lines += ["", "See Also", "--------", f"{row['row']} : The function that this name stands for."]
    lines += ["", _SOURCES.get(row["row"], f"Notes\n-----\nArray API 2025.12: ``{row['row']}``.")]
    return "\n".join(lines + _example(row))


def _parameters(row, operands):
    lines = ["Parameters", "----------", f"{', '.join(operands)} : array_like or number"]
    lines += [f"    Tensors, objects that support DLPack, or numbers: {', '.join(row['kinds'])}."]
    lines += ["out : array_like, optional", "    Writable tensor of the shape of the result; overwritten and returned."]
    if row["saturating"]:
        lines += [
            "saturate : bool, default False",
            "    Keep the one dtype of the tensors: the exact result is rounded half to even and clamped to its range.",
        ]
    if row["row"] == "round":
        lines += [
            "decimals : int, default 0",
            "    Round to so many decimals; negative ones are tens, hundreds and so on. An integer in the place of",
            "    `out` is this, as in NumPy.",
        ]
    lines += ["launch : dltensor.cuda.Launch, optional"]
    lines += ["    Launch settings for a GPU; checked and otherwise ignored on the CPU."]
    return lines


def _raises(row):
    lines = ["Raises", "------", "TypeError"]
    lines += ["    An operand is not a tensor or a number, or its dtype is not supported."]
    lines += ["ValueError", "    The shapes do not broadcast, or `out` is read-only or has another shape."]
    if row["row"] == "pow":
        lines += ["    Also when the exponent is a negative Python integer and the base is an integer."]
    if "integers" not in row["kinds"] or row["symbol"] in _COMPARISONS:
        return lines
    return [
        *lines,
        "OverflowError",
        "    A Python integer is outside the range of an integer dtype, or no float holds it.",
    ]


def _example(row):
    if row["row"] not in EXAMPLES:
        return []
    arguments, elements, dtype = EXAMPLES[row["row"]]
    size = elements.count(",") + 1
    tensors = _tensors(arguments)
    if row["swapped"]:
        tensors.reverse()
    return [
        "",
        "Examples",
        "--------",
        f">>> dl.{row['name']}({', '.join(tensors)})",
        f"Tensor({elements}, shape=({size},), device=cpu, dtype={dtype})",
    ]


def _tensors(arguments):
    """Split the operands of an example, each list as a call of asarray()."""
    result = []
    for part in arguments.replace("], ", "]; ").split("; "):
        tensor, _, numbers = part.partition("]")
        if part.startswith("["):
            result.append(f"dl.asarray({tensor}])")
        result += [number for number in (numbers if part.startswith("[") else part).split(", ") if number]
    return result
