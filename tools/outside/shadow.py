# SPDX-License-Identifier: Apache-2.0
"""Repeat calls of another library by our functions, and compare the results. A pytest plugin that fails such a test.

A call that ours refuses is counted, and no fault. A test fails if a result has another shape or other values.
"""

import copy
import warnings
from collections import Counter

import numpy
import pytest

import dltensor as dl

REFUSALS = (
    TypeError, ValueError, IndexError, OverflowError, AttributeError, NotImplementedError, MemoryError, BufferError,
    ZeroDivisionError, ImportError, dl.DeviceError, dl.LinAlgError,
)  # fmt: skip
# Functions without one right result: uninitialized memory, the order of what is not sorted, the sign of a vector, the
# order of eigenvalues; those that write to an argument; those that ask for addresses, or for rules of promotion.
_LEFT_OUT = """
    empty empty_like partition argpartition svd eig eigh eigvals qr lstsq copyto put put_along_axis putmask place
    fill_diagonal may_share_memory shares_memory byte_bounds can_cast result_type promote_types common_type
    min_scalar_type get_printoptions set_printoptions printoptions load save savez frombuffer fromfunction fromiter
    apply_along_axis piecewise from_dlpack as_strided sliding_window_view finfo iinfo set_default_dtype
"""
LEFT_OUT = frozenset(_LEFT_OUT.split())
# Functions for which the role *replaced* is wrong too: they have another meaning here.
OTHER_MEANING = frozenset({"get_printoptions", "set_printoptions", "printoptions"})
differences, refused = [], Counter()


def is_left_out(name, in_shadow):
    """Test whether a function of NumPy stays as it is."""
    return name.rpartition(".")[2] in (LEFT_OUT if in_shadow else OTHER_MEANING)


class UnfitError(Exception):
    """An argument that no tensor can be."""


def as_tensors(x):
    """Arrays as tensors of memory of their own; UnfitError for what no tensor can be."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(as_tensors, x)) if type(x) in (list, tuple) else x
    if isinstance(x, numpy.ndarray):
        if type(x) is not numpy.ndarray or x.dtype.kind not in "biufc" or not x.dtype.isnative or x.dtype.char in "gG":
            raise UnfitError
        return dl.asarray(x, copy=True)
    if isinstance(x, numpy.generic):
        if x.dtype.kind not in "biufc" or x.dtype.char in "gG":
            raise UnfitError
        return x
    if isinstance(x, (bool, int, float, complex, str, type(None), slice, numpy.dtype, type, type(...))):
        return x
    raise UnfitError  # an object with methods of its own, an iterator


def repetition(function, args, options):
    """Prepare a call of ours with the same arguments: a function of NumPy's result, or None if they do not fit."""
    modes = [x for x in (*args[2:3], options.get("mode")) if isinstance(x, str)]
    uninitialized = function.__name__ == "pad" and "empty" in modes  # no two calls agree
    if options.get("out") is not None or uninitialized:
        return None
    try:
        args = as_tensors(args)
        options = {name: as_tensors(value) for name, value in options.items()}
    except (UnfitError, *REFUSALS):
        return None

    def repeat(expected):
        """Call, compare, and return whether there was a result."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(*args, **options)
        except REFUSALS:
            refused[function.__name__] += 1
            return False
        expected, result = copy.copy(expected), result
        if function.__name__ == "argsort" and isinstance(result, dl.Tensor):  # equal elements have any order
            axis = args[1] if len(args) > 1 else options.get("axis", -1)
            expected, result = (sorted_by(args[0], order, axis) for order in (expected, result))
        if function.__name__ == "unique_values":  # which have any order
            expected, result = numpy.sort(expected), dl.sort(result)
        difference = compare(expected, result)
        if difference:
            differences.append(f"shadow: {function.__name__}: {difference}")
        return True

    return repeat


def sorted_by(x, order, axis):
    """Return the elements in an order that `argsort` gave."""
    return dl.take_along_axis(x, dl.asarray(order), axis=axis).numpy()


def compare(expected, result):
    """Return how a result differs from the expected one, or an empty text."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(result, (list, tuple)) or len(expected) != len(result):
            return f"{type(result).__name__} in place of {len(expected)} results"
        return next(filter(None, map(compare, expected, result)), "")
    if not isinstance(expected, (numpy.ndarray, numpy.generic, bool, int, float, complex)):
        return ""
    a = numpy.asarray(expected)
    if a.dtype.kind not in "biufc" or a.dtype.char in "gG":
        return ""
    b = result.numpy() if isinstance(result, dl.Tensor) else numpy.asarray(result)
    if a.shape != b.shape:
        return f"shape {b.shape} in place of {a.shape}"
    return compare_elements(a, b)


def compare_elements(a, b):
    """Compare two arrays of the same shape, by the precision of the less precise one."""
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        differs = a != b
    else:
        precision = max(numpy.finfo(x.dtype).eps for x in (a, b) if x.dtype.kind in "fc")
        greatest = min(numpy.finfo(x.dtype).max for x in (a, b) if x.dtype.kind in "fc")
        wide = numpy.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else numpy.float64
        with numpy.errstate(all="ignore"):
            differs = differing(a.astype(wide), b.astype(wide), precision, greatest)
    if not differs.any():
        return ""
    place = tuple(int(index[0]) for index in differs.nonzero())
    return f"{b[place]} in place of {a[place]} ({int(differs.sum())} of {a.size}, {a.dtype} and {b.dtype})"


def differing(a, b, precision, greatest, scale=None):
    """Return where floats differ; errors of sums are relative to the greatest element."""
    scale = numpy.abs(a[numpy.isfinite(a)]).max(initial=0) if scale is None else scale
    if a.dtype.kind == "c":
        nan = numpy.isnan(a) | numpy.isnan(b)
        real, imaginary = (differing(*x, precision, greatest, scale) for x in ((a.real, b.real), (a.imag, b.imag)))
        return numpy.where(nan, numpy.isnan(a) != numpy.isnan(b), real | imaginary)
    near = numpy.abs(a - b) <= 1000 * precision * scale
    beyond = (numpy.abs(a) >= greatest / 2) & (numpy.abs(b) >= greatest / 2) & (numpy.sign(a) == numpy.sign(b))
    return ~(near | (a == b) | (numpy.isnan(a) & numpy.isnan(b)) | beyond)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test in which results differ. A test that fails otherwise fails by its own checks of NumPy's functions."""
    report = yield
    if differences and report.when == "call":
        report.outcome, report.longrepr = "failed", "; ".join(dict.fromkeys(differences))
        differences.clear()
    elif report.failed:
        message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"fails without a difference: {message}")
    return report
