# SPDX-License-Identifier: Apache-2.0
"""Queries about dtypes: limits, kinds, casts. No tensors are converted here."""

from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.types import COMPUTED, DTYPES, DataTypeCode, DType, as_dtype
from . import elementwise as functions
from .creation import arange
from .promotion import result_type

_SIGNED, _UNSIGNED, _BOOL = {DataTypeCode.kDLInt}, {DataTypeCode.kDLUInt}, {DataTypeCode.kDLBool}
_COMPLEX = {DataTypeCode.kDLComplex}
# Every other code of the standard that means numbers is some float.
_REAL = set(DataTypeCode) - _SIGNED - _UNSIGNED - _BOOL - _COMPLEX - {DataTypeCode.kDLOpaqueHandle}
_KINDS_UPWARD = "buifcV"
_KINDS = {
    "bool": _BOOL,
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED | _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED | _UNSIGNED | _REAL | _COMPLEX,
}


def _dtype_of(x, func):
    """The dtype of a tensor, or the one that `x` names."""
    if isinstance(x, (DType, str, type)) or not hasattr(x, "dtype") or hasattr(x, "byteorder"):
        return as_dtype(x, func)
    return asarray(x).dtype


def isdtype(dtype, kind):
    """Test whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype_like
        Dtype to test.
    kind : dtype_like, str or tuple of these
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", or a
        dtype; a tuple means any of its items. Storage-only dtypes belong to their kind too.

    Returns
    -------
    bool
        Whether `dtype` is of the kind.

    Raises
    ------
    ValueError
        `kind` is a string that is neither a kind nor a dtype.
    TypeError
        An argument is not a dtype.

    See Also
    --------
    can_cast : Test whether promotion leads from one dtype to another.

    Notes
    -----
    Array API 2025.12: ``isdtype``.

    Examples
    --------
    >>> dl.isdtype(dl.uint8, "integral"), dl.isdtype(dl.float32, ("bool", dl.float64))
    (True, False)
    """
    dtype = as_dtype(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        codes = _KINDS.get(kind)
        if codes is not None:
            return dtype.code in codes
        try:
            return dtype == as_dtype(kind, "isdtype")
        except TypeError:
            raise ValueError(
                f"isdtype: kind must be one of {', '.join(_KINDS)} or a dtype, got {quoted(kind)}"
            ) from None
    return dtype == as_dtype(kind, "isdtype")


def can_cast(from_, to, /, casting="safe"):
    """Test whether one dtype can be cast to another: by default whether promoting the two gives the second.

    Between kinds, the dtype of the higher kind is kept whatever its width, so int64 can be cast to float32.

    Parameters
    ----------
    from_ : dtype_like or array_like
        Dtype to cast from, or a tensor that has it.
    to : dtype_like
        Dtype to cast to.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, default 'safe'
        'no' and 'equiv' need equal dtypes, 'safe' that an operation on both has a result of dtype `to`, 'same_kind' one
        of these or a kind that is not lower (bool, unsigned, signed, float, complex), 'unsafe' nothing.

    Returns
    -------
    bool
        Whether it can.

    Raises
    ------
    TypeError
        An argument is not a dtype.
    ValueError
        There is no such rule of casting.

    See Also
    --------
    result_type : Return the dtype of the result.

    Notes
    -----
    Array API 2025.12: ``can_cast``.

    Examples
    --------
    >>> dl.can_cast(dl.int8, dl.int16), dl.can_cast(dl.float64, dl.float32)
    (True, False)
    """
    first, second = _dtype_of(from_, "can_cast"), as_dtype(to, "can_cast")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(
            f"can_cast: casting must be 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', got {quoted(casting)}"
        )
    if casting != "safe" and (first == second or casting == "unsafe"):
        return True
    if casting in ("no", "equiv"):
        return False
    if casting == "same_kind" and _KINDS_UPWARD.index(first.kind) <= _KINDS_UPWARD.index(second.kind):
        return True
    try:
        return result_type(first, second) == second
    except TypeError:
        return first == second


class _OneForEachDType(type):
    """The class of the limits: a call returns the one object of a dtype."""

    def __call__(cls, type, /):
        if type.__class__ is not DType or (known := cls._known.get(type)) is None:
            dtype = _dtype_of(type, cls.__name__)
            known = cls._known.setdefault(dtype, cls._made(dtype))
        return known


class _Limits(metaclass=_OneForEachDType):
    """Common base of the limits: constant attributes, printed by name."""

    __slots__ = ()

    @classmethod
    def _of(cls, **limits):
        result = object.__new__(cls)
        for name, value in limits.items():
            object.__setattr__(result, name, value)
        return result

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__}: {name} is constant")

    def __delattr__(self, name):
        raise AttributeError(f"{type(self).__name__}: {name} is constant")

    def __reduce__(self):
        return type(self), (self.dtype,)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def __eq__(self, other):
        return type(self) is type(other) and self.dtype == other.dtype

    def __hash__(self):
        return hash((type(self), self.dtype))


class iinfo(_Limits):
    """Limits of an integer dtype.

    Parameters
    ----------
    type : dtype_like or array_like
        Integer dtype, or a tensor that has one.

    Attributes
    ----------
    bits : int
        Number of bits.
    min, max : int
        Lowest and highest value.
    dtype : DType
        The dtype.

    Raises
    ------
    TypeError
        The dtype is not an integer dtype.

    See Also
    --------
    finfo : Limits of a float dtype.

    Notes
    -----
    Array API 2025.12: ``iinfo``.

    Examples
    --------
    >>> dl.iinfo(dl.int4)
    iinfo(bits=4, min=-8, max=7, dtype=dltensor.int4)
    """

    __slots__ = ("bits", "min", "max", "dtype")  # noqa: RUF023  the order in which they are shown

    _known = {}  # noqa: RUF012  by dtype

    @classmethod
    def _made(cls, dtype):
        if not isdtype(dtype, "integral"):
            raise TypeError(f"iinfo: expected an integer dtype, got {dtype}; use finfo() for floats")
        low = -(1 << dtype.bits - 1) if dtype.code in _SIGNED else 0
        return cls._of(bits=dtype.bits, min=low, max=low + (1 << dtype.bits) - 1, dtype=dtype)


class finfo(_Limits):
    """Limits of a float dtype; for a complex dtype, those of its parts.

    Parameters
    ----------
    type : dtype_like or array_like
        Float or complex dtype, or a tensor that has one.

    Attributes
    ----------
    bits : int
        Number of bits.
    eps : float
        Difference between 1.0 and the next number.
    min, max : float
        Lowest and highest finite number.
    smallest_normal : float
        Smallest positive number of full precision.
    dtype : DType
        The dtype.

    Raises
    ------
    TypeError
        The dtype is not a float dtype.

    See Also
    --------
    iinfo : Limits of an integer dtype.

    Notes
    -----
    Array API 2025.12: ``finfo``.

    Examples
    --------
    >>> dl.finfo(dl.float16).max, dl.finfo("bfloat16").eps
    (65504.0, 0.0078125)
    """

    __slots__ = ("bits", "eps", "max", "min", "smallest_normal", "dtype")  # noqa: RUF023

    _known = {}  # noqa: RUF012  by dtype

    @classmethod
    def _made(cls, dtype):
        if isdtype(dtype, "complex floating"):
            dtype = as_dtype(f"float{dtype.bits // 2}", "finfo")
        if not isdtype(dtype, "real floating") or dtype.name not in DTYPES:
            raise TypeError(f"finfo: expected a float dtype, got {dtype}; use iinfo() for integers")
        eps, smallest, low, high = (_probed if dtype.name in COMPUTED else _read)(dtype)
        return cls._of(bits=dtype.bits, eps=eps, max=high, min=low, smallest_normal=smallest / eps, dtype=dtype)


def _probed(dtype):
    """eps, the smallest positive, lowest and highest number of a dtype that can be computed on."""

    def next_to(start, end):
        result = functions.nextafter(*[asarray(float(number), dtype=dtype) for number in (start, end)])
        return float(result.astype("float64"))

    return next_to(1, 2) - 1, next_to(0, 1), next_to("-inf", 0), next_to("inf", 0)


def _read(dtype):
    """The same of a small float, from all its bit patterns."""
    patterns = arange(1 << dtype.bits, dtype="uint8")
    if dtype.bits < 8:
        patterns = asarray(_packed(patterns.tolist(), dtype.bits), dtype="uint8")
    values = sorted(value for value in patterns.view(dtype).astype("float64").tolist() if abs(value) < float("inf"))
    positive = [value for value in values if value > 0]
    return positive[positive.index(1) + 1] - 1, positive[0], values[0], values[-1]


def _packed(numbers, bits):
    """Numbers packed in bytes, the first in the lowest bits."""
    whole = sum(number << position * bits for position, number in enumerate(numbers))
    return list(whole.to_bytes(len(numbers) * bits // 8, "little"))
