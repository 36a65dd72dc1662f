# SPDX-License-Identifier: Apache-2.0
"""One element as a Python number, and a Python number as one element. No shapes here."""
import operator

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_CheckExact
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.math cimport isinf, isnan
from libc.string cimport memcpy

from .default_dtype cimport default_real
from .dlpack cimport MASKED, check_mask, entry_of
from .indexing cimport stepped
from .native cimport (BOOLEAN, COMPLEX, REAL, SIGNED, TRUNCATE, UNSIGNED, Kind, Scalar, computed_types, find_type,
                      load_scalar, promote, store_scalar, type_complex64, type_complex128, type_float32, type_float64,
                      type_int64, type_table)
from .signals cimport check_signals
from .types cimport DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, dtype_of

cdef tuple _NUMBERS = (int, float, bool, complex)


cdef object load_python(const void* base, int64_t index, DLDataType dtype, uint64_t flags, str func):
    """Element `index`, counted from `base`: a number, or a tuple of numbers when the type has lanes."""
    cdef Scalar value
    cdef DLDataType lane
    if dtype.lanes != 1:
        lane = dtype
        lane.lanes = 1
        return tuple([load_python(base, index * dtype.lanes + i, lane, flags, func) for i in range(dtype.lanes)])
    if not load_scalar(base, index, dtype, flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0, &value):
        raise ValueError(f"{func}: an element of {dtype_of(dtype)} has no Python counterpart; view() an integer type "
                         f"of the same width to see its bits")
    if value.kind == SIGNED:
        return value.i
    if value.kind == REAL:
        return value.re
    if value.kind == UNSIGNED:
        return value.u
    if value.kind == BOOLEAN:
        return value.u != 0
    return complex(value.re, value.im)


cdef int store_python(void* base, int64_t index, object value, DLDataType dtype, bint padded, str func) except -1:
    """Write a Python number as element `index`, counted from `base`."""
    cdef Scalar scalar
    cdef int type
    cdef Kind kind
    if dtype.lanes != 1:
        raise TypeError(f"{func}: a Python number cannot be written to {dtype_of(dtype)}, which has lanes; write to "
                        f"a view() of one lane")
    type = find_type(dtype)
    if type < 0:
        raise TypeError(f"{func}: a Python number cannot be written to {dtype_of(dtype)}, which has no conversion; "
                        f"view() an integer type of the same width")
    kind = type_table[type].kind
    value = plain_number(value, func)
    if PyComplex_CheckExact(value):
        if kind != COMPLEX:
            raise TypeError(f"{func}: the complex number {value!r} cannot be written to {dtype_of(dtype)}; take its "
                            f"real part")
    elif kind == SIGNED or kind == UNSIGNED:
        value = _whole(value, kind == SIGNED, dtype, func)
    elif PyLong_CheckExact(value) and kind != BOOLEAN:
        try:
            float(value)
        except OverflowError:
            raise OverflowError(f"{func}: {shown(value)} is outside {dtype_of(dtype)}") from None
    tag_number(value, &scalar)
    store_scalar(base, index, dtype, padded, scalar, TRUNCATE, False)
    return 0


cdef int store_element(void* element, object value, DLDataType dtype, str func) except -1:
    """Make a number one element of at most 32 bytes, not packed; refuses a number that the dtype does not hold."""
    cdef int type = find_type(dtype)
    if type < 0 or type >= computed_types or dtype.lanes != 1 or not store_exact(value, type, element):
        store_python(element, 0, value, dtype, True, func)
    return 0


cdef object _whole(object number, bint signed, DLDataType dtype, str func):
    """The integer that a number becomes in an integer dtype: fractions are cut off, what is outside is refused."""
    low, high = integer_range(signed, dtype.bits)
    whole = number
    if isinstance(number, float):
        if isnan(number):
            raise ValueError(f"{func}: NaN cannot be converted to {dtype_of(dtype)}")
        whole = number if isinf(number) else int(number)
    if not low <= whole <= high:
        raise OverflowError(f"{func}: {shown(number)} is outside {dtype_of(dtype)}, which holds {low} to {high}")
    return whole


cdef int tag_number(object x, Scalar* out) except -1:
    """A number of Python's own kinds as a tagged value. Integers beyond 64 bits become floats."""
    cdef int overflow = 0
    if PyFloat_CheckExact(x):
        out.kind = REAL
        out.re = PyFloat_AS_DOUBLE(x)
    elif PyBool_Check(x):
        out.kind = BOOLEAN
        out.u = x
    elif is_int(x):
        out.kind = SIGNED
        out.i = PyLong_AsLongLongAndOverflow(x, &overflow)
        if overflow > 0 and x < 1 << 64:
            out.kind = UNSIGNED
            out.u = x
        elif overflow != 0:
            out.kind = REAL
            try:
                out.re = float(x)
            except OverflowError:
                out.re = float("inf") if x > 0 else -float("inf")
    else:
        out.kind = COMPLEX
        out.re = x.real
        out.im = x.imag
    return 0


cdef class RecordedNumber:
    """A number among the arguments of a function that is recorded: an operand, whose value must not decide anything.

    What would read it raises TypeError, after its index was added to `read`. Tensors take it as an operand.
    """

    def __init__(self, value, int index, set read):
        self.value, self.index, self.read = value, index, read

    cdef object refuse(self):
        self.read.add(self.index)
        raise TypeError("a number was read while the function was recorded")

    cdef object operate(self, other):
        return NotImplemented if hasattr(type(other), "__dlpack__") else self.refuse()

    def __getattribute__(self, name):  # __class__ too, which isinstance() asks for
        self.refuse()

    def __bool__(self):
        self.refuse()

    def __hash__(self):
        self.refuse()

    def __repr__(self):
        self.refuse()

    def __str__(self):
        self.refuse()

    def __format__(self, spec):
        self.refuse()

    def __neg__(self):
        return self.refuse()

    def __pos__(self):
        return self.refuse()

    def __abs__(self):
        return self.refuse()

    def __float__(self):
        return self.refuse()

    def __int__(self):
        return self.refuse()

    def __index__(self):
        return self.refuse()

    def __pow__(self, other, modulus):
        return self.operate(other)

    def __rpow__(self, other, modulus):
        return self.operate(other)

    def __richcmp__(self, other, int op):
        return self.operate(other)

    def __add__(self, other):
        return self.operate(other)

    def __radd__(self, other):
        return self.operate(other)

    def __sub__(self, other):
        return self.operate(other)

    def __rsub__(self, other):
        return self.operate(other)

    def __mul__(self, other):
        return self.operate(other)

    def __rmul__(self, other):
        return self.operate(other)

    def __truediv__(self, other):
        return self.operate(other)

    def __rtruediv__(self, other):
        return self.operate(other)

    def __floordiv__(self, other):
        return self.operate(other)

    def __rfloordiv__(self, other):
        return self.operate(other)

    def __mod__(self, other):
        return self.operate(other)

    def __rmod__(self, other):
        return self.operate(other)


cpdef object plain_number(object value, str func, str expected="a number"):
    """Convert a number or an array of 0 dimensions to Python's bool, int, float or complex."""
    if PyFloat_CheckExact(value) or PyLong_CheckExact(value) or type(value) in _NUMBERS:
        return value
    if isinstance(value, (float, complex)):  # numpy.float64 is one, and numpy.complex128 the other
        return float(value) if isinstance(value, float) else complex(value)
    if hasattr(value, "item") and hasattr(value, "ndim"):
        if value.ndim != 0:
            raise TypeError(f"{func}: expected {expected}, got {_type_name(value)} of shape {tuple(value.shape)}; "
                            f"stack() and concat() join tensors")
        if entry_of(value).path == MASKED:
            check_mask(value, func)
        element = value.item()
        if type(element) in _NUMBERS:
            return element
        if isinstance(element, (str, bytes)):  # NumPy's scalars of text would be read as float() reads text
            raise TypeError(f"{func}: expected {expected}, got {_type_name(value)}")
    for name, kind in (("__index__", operator.index), ("__float__", float), ("__complex__", complex)):
        if hasattr(value, name):
            return kind(value)
    remedy = "; text is no element, use NumPy" if isinstance(value, str) else ""
    raise TypeError(f"{func}: expected {expected}, got {_type_name(value)}{remedy}")


cdef str shown(object number):
    """A number as messages show it: integers of many digits by their size, as Python refuses to print them."""
    if isinstance(number, int) and number.bit_length() > 256:
        return f"an integer of {number.bit_length()} bits"
    return f"{number}"


cdef int promote_number(int type, int number) noexcept:
    """The dtype of operands of dtype `type` (-1: there are none) and a number, where `number` stands for its kind.

    float32 stands for the default dtype of floats and complex64 for that of complex numbers. Beside floats, complex
    numbers take their width.
    """
    if type >= 0 and kind_order(number) <= kind_order(type):
        return type
    if number == type_float32:
        number = default_real()
    elif number == type_complex64 and (type < 0 or kind_order(type) < 2) and default_real() == type_float64:
        number = type_complex128
    return number if type < 0 else promote(type, number)


cdef str _type_name(object value):
    return type(value).__qualname__


cdef tuple integer_range(bint signed, object bits):
    """The lowest and the highest integer of a width, as Python integers."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


cdef object nested(const DLTensor* view, uint64_t flags, int axis, int64_t offset):
    """The elements from `offset` on as nested lists, one level per dimension left."""
    cdef int64_t i, n
    if axis == view.ndim:
        return load_python(view.data, offset, view.dtype, flags, "tolist")
    n = view.shape[axis]
    if axis == view.ndim - 1 and view.dtype.lanes == 1:
        result = _numbers(view, n, offset, view.strides[axis])
        if result is not None:
            return result
    rows = []
    for i in range(n):
        PyErr_CheckSignals()
        rows.append(nested(view, flags, axis + 1, stepped(offset, i, view.strides[axis])))
    return rows


cdef list _numbers(const DLTensor* view, int64_t n, int64_t offset, int64_t stride):
    """Elements along the last dimension, for the dtypes that lists have most often; None for others."""
    cdef int type = find_type(view.dtype)
    cdef int64_t i
    cdef double real
    cdef float small
    cdef int64_t whole
    cdef const char* data = <const char*>view.data
    cdef list result
    if type == type_float64:
        result = []
        for i in range(n):
            memcpy(&real, data + (offset + i * stride) * 8, 8)
            check_signals(i)
            result.append(real)
    elif type == type_float32:
        result = []
        for i in range(n):
            memcpy(&small, data + (offset + i * stride) * 4, 4)
            check_signals(i)
            result.append(<double>small)
    elif type == type_int64:
        result = []
        for i in range(n):
            memcpy(&whole, data + (offset + i * stride) * 8, 8)
            check_signals(i)
            result.append(whole)
    else:
        result = None
    return result
