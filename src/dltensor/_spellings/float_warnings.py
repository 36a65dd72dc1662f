# SPDX-License-Identifier: Apache-2.0
"""NumPy's control of warnings of floats, of which there are none here: errstate, seterr."""

from contextlib import ContextDecorator

__all__ = ["errstate", "seterr"]

_KINDS = ("divide", "over", "under", "invalid")


class Unchanged(ContextDecorator):
    """A context, and a decorator, in which nothing is different."""

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def _check(func, kinds):
    for name, value in kinds.items():
        if value not in (None, "ignore"):
            raise ValueError(
                f"{func}: floats give inf and NaN without warnings or errors; expected {name}='ignore', got {value!r}; "
                f"test results with dl.isfinite"
            )


def errstate(*, all=None, divide=None, over=None, under=None, invalid=None):
    """Return a context in which floats give inf and NaN without warnings, as everywhere.

    Programs for NumPy turn its warnings off where they expect such results.

    Parameters
    ----------
    all, divide, over, under, invalid : {'ignore'}, optional
        What is to happen at divisions by zero, overflow, underflow and invalid operations.

    Returns
    -------
    context manager
        That changes nothing; also a decorator.

    Raises
    ------
    ValueError
        Warnings or errors are asked for.

    {Notes: NumPy: ``numpy.errstate``.}

    Examples
    --------
    >>> with dl.errstate(divide="ignore"):
    ...     print((dl.asarray([1.0, -1.0]) / 0).tolist())
    [inf, -inf]
    """
    _check("errstate", {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid})
    return Unchanged()


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """Return how floats report what is not finite: they ignore it, and nothing else can be set.

    {errstate: Parameters}

    Returns
    -------
    dict of str to str
        ``'ignore'`` for each kind.

    {errstate: Raises}

    {Notes: NumPy: ``numpy.seterr``.}

    Examples
    --------
    >>> dl.seterr(all="ignore")["divide"]
    'ignore'
    """
    _check("seterr", {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid})
    return dict.fromkeys(_KINDS, "ignore")
