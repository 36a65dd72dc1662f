# SPDX-License-Identifier: Apache-2.0
"""Options of printing: how many digits, elements and columns the text of a tensor has. The text itself is not here."""

from .default_dtype import new_context_variable
from .indexing import integer_of

_DEFAULTS = {
    "precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False, "sci_mode": None,
}  # fmt: skip
_LEAST = {"precision": 0, "threshold": 0, "edgeitems": 0, "linewidth": 1}
_process = dict(_DEFAULTS)  # replaced as a whole, so that other threads read one set of options
_context = new_context_variable("dltensor.printoptions", None)


def get_printoptions():
    """Return the options with which tensors are printed.

    Returns
    -------
    dict
        The arguments of `set_printoptions`.

    Examples
    --------
    >>> dl.get_printoptions()["precision"]
    8
    """
    return dict(current())


def current():
    """The options that are in force: those of the innermost ``with printoptions``, else those of the process.

    >>> current()["edgeitems"]
    3
    """
    return _context.get() or _process


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None, *, sci_mode=None):
    """Set how tensors are printed, by ``repr``, ``str``, ``format`` and in notebooks. None leaves an option as it is.

    Inside ``with printoptions(...)`` the options end with the block; elsewhere they hold for all threads.

    Parameters
    ----------
    precision : int, optional
        Digits after the point, at most; 8 at first.
    threshold : int or float, optional
        More elements than this are summarised; 1000 at first. ``dl.inf`` prints all.
    edgeitems : int, optional
        Elements at each end of a dimension that is summarised; 3 at first.
    linewidth : int, optional
        Columns of a line; 75 at first.
    suppress : bool, optional
        Whether small numbers, and numbers of very different size, are written without an exponent.
    sci_mode : bool, optional
        Whether floats are written with an exponent: True always, False never. They are written by their size where it
        is not given, and again after `suppress` is.

    Raises
    ------
    TypeError
        A number is not an integer.
    ValueError
        A number is negative, or NaN.

    {See Also: printoptions}

    Examples
    --------
    >>> options = dl.get_printoptions()
    >>> dl.set_printoptions(precision=3)
    >>> dl.asarray([0.123456, 2.0])
    Tensor([0.123, 2.   ], shape=(2,), device=cpu, dtype=float32)
    >>> dl.set_printoptions(**options)
    """
    global _process
    numbers = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options = _changed(numbers, suppress, sci_mode, "set_printoptions")
    if _context.get() is None:
        _process = options
    else:
        _context.set(options)


def _changed(numbers, suppress, sci_mode, func):
    """A copy of the options in force with those replaced that are not None, all of them checked."""
    changed = {}
    for name, value in numbers.items():
        if value is None:
            continue
        is_float = name == "threshold" and isinstance(value, float)
        # A plain float or int: the options keep no object of others.
        value = float.__float__(value) if is_float else int(integer_of(value, name, func))
        if not value >= _LEAST[name]:
            raise ValueError(f"{func}: {name} must be at least {_LEAST[name]}, got {value}")
        changed[name] = value
    if suppress is not None:
        changed["suppress"] = bool(suppress)
    if suppress is not None or sci_mode is not None:
        changed["sci_mode"] = None if sci_mode is None else bool(sci_mode)
    return current() | changed  # the code of the values may have set others


class printoptions:
    """Set options of printing for a block of code, in this thread or asynchronous task alone.

    {set_printoptions: Parameters, Raises}

    {See Also: set_printoptions}

    Examples
    --------
    >>> with dl.printoptions(precision=2, suppress=True):
    ...     print(dl.asarray([0.00001, 0.5]))
    Tensor([0. , 0.5], shape=(2,), device=cpu, dtype=float32)
    """

    __slots__ = ("_arguments", "_tokens")

    def __init__(self, precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None, *, sci_mode=None):
        numbers = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
        self._arguments = numbers, suppress, sci_mode, "printoptions"
        _changed(*self._arguments)
        self._tokens = []

    def __enter__(self):
        self._tokens.append(_context.set(_changed(*self._arguments)))
        return get_printoptions()

    def __exit__(self, kind, error, trace, /):
        _context.reset(self._tokens.pop())
