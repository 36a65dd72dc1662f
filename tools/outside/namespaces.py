# SPDX-License-Identifier: Apache-2.0
"""NumPy's namespace in tests of another project, with our functions in place of NumPy's or beside them.

In the role *replaced* a test calls our function where NumPy has one of the same name, and NumPy's else. In the role
*shadow* it calls NumPy's functions, and ours repeats each call: ``shadow.py`` compares the results.
"""

import functools
import os
import types

import numpy
import shadow
import uses

import dltensor as dl
import dltensor.lib.stride_tricks

OURS = {
    "numpy": dl,
    "numpy._core.fromnumeric": dl,
    "numpy._core.function_base": dl,
    "numpy._core.multiarray": dl,
    "numpy._core.numeric": dl,
    "numpy._core.shape_base": dl,
    "numpy._core.umath": dl,
    "numpy.fft": dl.fft,
    "numpy.lib.stride_tricks": dltensor.lib.stride_tricks,
    "numpy.linalg": dl.linalg,
    "numpy.testing": None,
}
MAKES_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray")
TAKES_DTYPES = (*MAKES_ARRAYS, "arange", "can_cast", "empty", "full", "full_like", "ones", "promote_types", "zeros")


def is_expressible(x):
    """Test whether an array or scalar of NumPy has a dtype that DLPack has, and no subclass's meaning."""
    plain = type(x) in (numpy.ndarray, Array) or isinstance(x, numpy.generic)
    return plain and x.dtype.kind in "biufc" and x.dtype.isnative and x.dtype.char not in "gG"


def has_others(x):
    """Test whether there are arrays in `x` of which ours cannot be, as those of objects, text and subclasses."""
    if isinstance(x, (list, tuple)):
        return any(map(has_others, x))
    if isinstance(x, dict):
        return any(map(has_others, x.values()))
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        return not is_expressible(x)
    return not isinstance(x, (dl.Tensor, type)) and hasattr(x, "__array_function__")


def is_other_dtype(x):
    """Test whether a dtype is one that no tensor has."""
    try:
        dtype = numpy.dtype(x)
    except (TypeError, ValueError):
        return False  # text that is no dtype
    return dtype.kind not in "biufc" or not dtype.isnative or dtype.char in "gG"


def asks_for_others(original, args, options):
    """Test whether a call names a dtype that no tensor has."""
    named = [options[name] for name in ("dtype", "signature") if options.get(name) is not None]
    named += [x for x in args if isinstance(x, (type, numpy.dtype))]
    if original.__name__ in TAKES_DTYPES:
        named += [x for x in args[-2:] if isinstance(x, (str, list))]
    return any(map(is_other_dtype, named))


def in_test():
    """Test whether a test runs, as pytest tells by this variable."""
    return "PYTEST_CURRENT_TEST" in os.environ


class Function:
    """A function of NumPy with another call; its attributes are those of the original."""

    def __init__(self, original, ours):
        self.original, self.ours = original, ours

    def __getattr__(self, name):
        return getattr(self.original, name)

    def __reduce__(self):
        return self.original.__reduce__()

    def __eq__(self, other):
        return self.original == getattr(other, "original", other)

    def __hash__(self):
        return hash(self.original)


class Replaced(Function):
    """Our function in tests, and NumPy's for what no tensor can be.

    Data of a whole file are arrays of NumPy, which ours take.
    """

    def __call__(self, *args, **options):
        if not in_test() or has_others(args) or has_others(options) or asks_for_others(self.original, args, options):
            return self.original(*args, **options)
        uses.add()
        if self.ours.__name__ not in MAKES_ARRAYS:
            return self.ours(*args, **options)
        try:
            return self.ours(*args, **options)
        except Exception:
            result = self.original(*args, **options)  # it has to be an error too
            if is_expressible(result):
                raise
            return result


class Shadowed(Function):
    """NumPy's function; ours computes the same."""

    def __call__(self, *args, **options):
        repeat = shadow.repetition(self.ours, args, options) if in_test() else None
        result = self.original(*args, **options)
        if repeat is not None and repeat(result):
            uses.add()
        return result


def as_arrays(x):
    """Tensors as arrays of NumPy, and as its scalars if they have no dimensions, also inside lists and tuples."""
    if isinstance(x, dl.Tensor):
        return x.numpy()[()]
    return type(x)(map(as_arrays, x)) if type(x) in (list, tuple) else x


class Concluding(Function):
    """A function of ``numpy.testing``, which compares arrays of NumPy only."""

    def __call__(self, *args, **options):
        return self.original(*as_arrays(list(args)), **options)


class Accepting(type):
    """The class of classes that take other objects for their instances."""

    accepted = ()

    def __instancecheck__(cls, x):
        return isinstance(x, cls.__dict__["accepted"]) if "accepted" in cls.__dict__ else super().__instancecheck__(x)


class Array(numpy.ndarray, metaclass=Accepting):
    """In place of ``numpy.ndarray``: tensors are its instances too."""

    accepted = (numpy.ndarray, dl.Tensor)


class Ufunc(metaclass=Accepting):
    """In place of ``numpy.ufunc``."""

    accepted = (numpy.ufunc, Function)


class Namespace(types.ModuleType):
    """A module of NumPy."""

    def __init__(self, original, ours, kind):
        super().__init__(original.__name__)
        self._original, self._ours, self._kind = original, ours, kind

    def __getattr__(self, name):
        found = chosen(getattr(self._original, name), f"{self._original.__name__}.{name}", self._ours, self._kind)
        setattr(self, name, found)
        return found


def chosen(original, name, ours, kind):
    """Substitute for a name of a module of NumPy."""
    if isinstance(original, types.ModuleType):
        return namespace(original, OURS[name], kind) if name in OURS else original
    if name.startswith("numpy.testing.assert_") and kind is Replaced:
        return function(original, None, Concluding)
    if original is numpy.ndarray and kind is Replaced:
        return Array
    if original is numpy.ufunc:
        return Ufunc
    if isinstance(original, type) or not callable(original):
        return original
    found = getattr(ours, name.rpartition(".")[2], None)
    usable = callable(found) and not isinstance(found, type)
    return function(original, found, kind) if usable and not shadow.is_left_out(name, kind is Shadowed) else original


@functools.cache
def namespace(original, ours, kind):
    return Namespace(original, ours, kind)


def function(original, ours, kind):
    """One object for each function, so that tests may compare them."""
    key = (id(original), id(ours), kind)
    if key not in MADE:
        MADE[key] = kind(original, ours)
    return MADE[key]


MADE = {}
KINDS = {"replaced": Replaced, "shadow": Shadowed}


def substitute(role, path, original):
    """Substitute for an imported module, or for a name that is imported from one."""
    if role not in KINDS:
        return original
    module = path.rpartition(".")[0]
    if isinstance(original, types.ModuleType):
        return namespace(original, OURS[path], KINDS[role]) if path in OURS else original
    return chosen(original, path, OURS[module], KINDS[role]) if module in OURS else original
