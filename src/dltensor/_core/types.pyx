# SPDX-License-Identifier: Apache-2.0
"""DType, Device and the enumerations of the DLPack standard, and the conversion of dtype and device arguments."""
import enum
import sys
from functools import partial
from operator import index

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

from .foreign_text import quoted, suggestion

cdef extern from "native/tables.h" namespace "dlt" nogil:
    ctypedef struct DeviceRow:
        const char* name
        const char* text
        int32_t value
        bint host
    ctypedef struct NumberRow:
        const char* name
        uint64_t value
    ctypedef struct DTypeRow:
        const char* name
        const char* format
        uint8_t code
        uint8_t bits
        bint computed
    const DeviceRow device_rows[1]
    const NumberRow code_rows[1]
    const NumberRow flag_rows[1]
    const DTypeRow dtype_rows[1]
    int count(...)

cdef extern from "dltensor/validate.h" nogil:
    ctypedef struct dlt_code_row:
        const char* name
        uint64_t widths
        int wide
    const dlt_code_row* dlt_code(uint8_t)
    bint has_legal_bits "dlt_bits_legal_"(DLDataType)

cdef extern from "_core/immortal.h" namespace "dlt":
    void make_immortal(object) noexcept

cdef extern from *:
    const char* DLT_PACKAGE_VERSION  # meson.build gives it

PACKAGE_VERSION = DLT_PACKAGE_VERSION.decode()
DLPACK_VERSION = (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)


class DeviceError(RuntimeError):
    """A device, its driver or its library is not available, or failed."""


class LinAlgError(ValueError):
    """A matrix is singular, not positive definite, or its eigenvalues or singular values were not found."""


class ConformanceWarning(UserWarning):
    """A producer violates the DLPack standard in a way that could be corrected."""


def _enumerate(kind, str name, list members, str doc):
    result = kind(name, members, module="dltensor")
    result.__doc__ = doc
    return result


DeviceType = _enumerate(
    enum.IntEnum, "DeviceType",
    [(device_rows[i].name.decode(), device_rows[i].value) for i in range(count(device_rows))],
    """Device types of the DLPack standard.

    Notes
    -----
    DLPack 1.3: ``DLDeviceType``.

    Examples
    --------
    >>> dl.DeviceType.kDLCUDA, dl.DeviceType(1).name
    (<DeviceType.kDLCUDA: 2>, 'kDLCPU')
    """)
HOST_TYPES = tuple([DeviceType(device_rows[i].value) for i in range(count(device_rows)) if device_rows[i].host])
"""The device types whose memory the host can read."""
DataTypeCode = _enumerate(
    enum.IntEnum, "DataTypeCode",
    [(code_rows[i].name.decode(), code_rows[i].value) for i in range(count(code_rows))],
    """Type codes of the DLPack standard.

    Notes
    -----
    DLPack 1.3: ``DLDataTypeCode``.

    Examples
    --------
    >>> dl.DataTypeCode.kDLFloat, dl.bfloat16.code
    (<DataTypeCode.kDLFloat: 2>, <DataTypeCode.kDLBfloat: 4>)
    """)


def _layout_of(int place, str name, flags):
    layout = flags.__dict__.get("layout_")
    if layout is None:
        raise AttributeError(f"Flags.{name}: expected the flags of a tensor, got {flags!r}; read tensor.flags.{name}")
    return layout[place]


def _is_fortran_only(flags):
    return flags.f_contiguous and not flags.c_contiguous


def _is_in_one_order(flags):
    return flags.f_contiguous or flags.c_contiguous


def _is_writeable(flags):
    return not flags & 1


class _LayoutFlags(enum.IntFlag):
    """NumPy's names for the layout and the access of a tensor, on its flags."""
    c_contiguous = property(partial(_layout_of, 0, "c_contiguous"),
                            doc="Whether the elements of the tensor are contiguous in C order.")
    f_contiguous = property(partial(_layout_of, 1, "f_contiguous"),
                            doc="Whether the elements of the tensor are contiguous in Fortran order.")
    fnc = property(_is_fortran_only, doc="Whether the elements are contiguous in Fortran order and not in C order.")
    forc = property(_is_in_one_order,
                    doc="Whether the elements are contiguous in Fortran order or in C order.")
    writeable = property(_is_writeable, doc="Whether READ_ONLY is not set.")


Flags = _enumerate(
    _LayoutFlags, "Flags",
    [(flag_rows[i].name.decode(), flag_rows[i].value) for i in range(count(flag_rows))],
    """Flags with which a producer describes an exported tensor.

    Those of a tensor, `Tensor.flags`, have NumPy's ``c_contiguous``, ``f_contiguous``, ``fnc``, ``forc`` and
    ``writeable`` too.

    Notes
    -----
    DLPack 1.3: ``DLPACK_FLAG_BITMASK_*``.

    Examples
    --------
    >>> dl.broadcast_to(dl.arange(3), (2, 3)).flags
    <Flags.READ_ONLY: 1>
    """)


cdef object flags_with_layout(uint64_t flags, bint c_contiguous, bint f_contiguous):
    """The flags of one tensor: equal to those of others, with its layout beside them."""
    known = Flags(flags)
    result = int.__new__(Flags, flags)
    result.__dict__.update(known.__dict__)
    result.layout_ = (bool(c_contiguous), bool(f_contiguous))
    return result


cdef bint _little = sys.byteorder == "little"
cdef enum:
    TABLE_CODES = 32        # type codes and device types below this are looked up in tables

cdef PyObject* _named_dtypes[TABLE_CODES * 256]  # by code and bits: one lane; filled by the import
cdef PyObject* _first_devices[TABLE_CODES]       # by device type: device number 0; filled by the import
cdef dict _by_value = {}    # (code, bits, lanes) packed -> DType, a cache
cdef dict _by_name = {}
cdef dict _numpy_dtypes = {}  # DType -> NumPy dtype, or None
cdef dict _device_text = {device_rows[i].value: device_rows[i].text.decode() for i in range(count(device_rows))}
cdef dict _device_value = {text: value for value, text in _device_text.items()}
cdef dict _device_objects = {}


cdef inline uint32_t _packed(DLDataType value) noexcept:
    return value.code | <uint32_t>value.bits << 8 | <uint32_t>value.lanes << 16


cdef const DTypeRow* _row(DLDataType value) noexcept:
    for i in range(count(dtype_rows)):
        if dtype_rows[i].code == value.code and dtype_rows[i].bits == value.bits:
            return &dtype_rows[i]
    return NULL


cdef const char* format_of(DLDataType value) noexcept:
    """The buffer protocol's format of a type, or NULL when the protocol has none."""
    cdef const DTypeRow* row = _row(value)
    if row == NULL or value.lanes != 1 or row.format[0] == 0:
        return NULL
    return row.format


cdef object dtype_of(DLDataType value):
    cdef PyObject* named = _named_dtypes[value.code << 8 | value.bits] if value.code < TABLE_CODES else NULL
    if named != NULL and value.lanes == 1:
        return <object>named
    return _cached_dtype(value)


cdef object _cached_dtype(DLDataType value):
    cdef object key = _packed(value)
    known = _by_value.get(key)
    if known is not None:
        return known
    # Without validation: messages have to name what a producer gives, even an invalid type.
    cdef DType result = DType.__new__(DType, 0, 8, 1)
    result.value = value
    # Bounded: a program may use any number of types.
    if len(_by_value) >= 4096:
        return result
    make_immortal(key)  # a search takes a reference to it
    make_immortal(result)
    return _by_value.setdefault(key, result)


cdef str _legal_bits(uint8_t code):
    """The widths that validation accepts for a code, as text."""
    cdef const dlt_code_row* row = dlt_code(code)
    widths = [str(bits) for bits in range(1, 65) if row.widths >> (bits - 1) & 1] + ["128"] * (row.wide != 0)
    return f"{', '.join(widths[:-1])} or {widths[-1]}" if len(widths) > 1 else widths[0]


cdef class DType:
    """DType(code, bits=None, lanes=1)\n--\n\nElement type: a DLPack type code, bits per lane, and lanes.

    Immutable and hashable. Compares equal to everything that a dtype argument accepts for the same type. Every
    combination of numbers that the standard allows is supported, also those without a name. The hash is that of the
    name, so a dictionary finds ``dl.float32`` under "float32" and the reverse. Other spellings, such as "f4", and
    dtypes of other libraries are equal and have hashes of their own, as in NumPy.

    Parameters
    ----------
    code : int or dtype_like
        A `DataTypeCode` or another number from 0 to 255; without `bits`, anything that `as_dtype` takes.
    bits : int, optional
        Bits per lane, 1 to 255, of a width that is valid for the code. For complex types, of the whole number.
    lanes : int, default 1
        Elements of a vector type, 1 to 65535.

    Raises
    ------
    ValueError
        A number is out of range, or the code has no type of that width; the message names it.
    TypeError
        A number is not an integer, or the single argument is not a dtype.

    {See Also: as_dtype}

    {Notes: DLPack 1.3: ``DLDataType``.}

    Examples
    --------
    >>> dl.DType(2, 32), dl.DType("float32")
    (dltensor.float32, dltensor.float32)
    >>> dl.DType(2, 32) == dl.float32 == "float32", dl.float4_e2m1fn.bits, dl.float4_e2m1fn.itemsize
    (True, 4, 1)
    >>> {"float32": "single"}[dl.float32]
    'single'
    """

    def __cinit__(self, code, bits=None, lanes=1):
        if bits is None:
            if isinstance(code, int) or lanes != 1:
                raise TypeError(f"DType: expected code and bits, or the name of a type only, got {code!r} without "
                                f"bits")
            self.value = read_dtype(code, "DType")
            return
        for name, number, low, high in (("code", code, 0, 255), ("bits", bits, 1, 255), ("lanes", lanes, 1, 65535)):
            if not isinstance(number, int):
                raise TypeError(f"DType: {name} must be an integer, got {type(number).__qualname__}")
            if not low <= number <= high:
                raise ValueError(f"DType: {name} must be from {low} to {high}, got {number}")
        self.value.code = code
        self.value.bits = bits
        self.value.lanes = lanes
        if not has_legal_bits(self.value):
            raise ValueError(f"DType: bits must be {_legal_bits(self.value.code)} for code {code} "
                             f"({dlt_code(self.value.code).name.decode()}), got {bits}")

    @property
    def code(self) -> DataTypeCode | int:
        """Type code: a `DataTypeCode` if the standard has one, else an int.

        Examples
        --------
        >>> dl.float32.code
        <DataTypeCode.kDLFloat: 2>
        """
        try:
            return DataTypeCode(self.value.code)
        except ValueError:
            return int(self.value.code)

    @property
    def bits(self) -> int:
        """Bits per lane; 64 for complex64.

        Examples
        --------
        >>> dl.complex64.bits, dl.int4.bits
        (64, 4)
        """
        return self.value.bits

    @property
    def lanes(self) -> int:
        """Number of lanes; 1 except for vector types.

        Examples
        --------
        >>> dl.float32.lanes, dl.DType("float32x4").lanes
        (1, 4)
        """
        return self.value.lanes

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes: ``(bits * lanes + 7) // 8``.

        Examples
        --------
        >>> dl.float32.itemsize, dl.int4.itemsize
        (4, 1)
        """
        return (self.value.bits * self.value.lanes + 7) // 8

    @property
    def name(self) -> str:
        """Name: "float32", "float32x4" for vector types, "dtype(99, 8)" for unnamed types.

        Examples
        --------
        >>> dl.DType(2, 32, 4).name
        'float32x4'
        """
        cdef const DTypeRow* row = _row(self.value)
        if row == NULL:
            return (f"dtype({self.value.code}, {self.value.bits})" if self.value.lanes == 1 else
                    f"dtype({self.value.code}, {self.value.bits}, {self.value.lanes})")
        name = row.name.decode()
        return name if self.value.lanes == 1 else f"{name}x{self.value.lanes}"

    def __dlpack_data_type__(self):
        """Return the type as DLPack numbers.

        Returns
        -------
        tuple of three ints
            ``(code, bits, lanes)``.

        Examples
        --------
        >>> dl.float32.__dlpack_data_type__()
        (2, 32, 1)
        """
        return int(self.value.code), int(self.value.bits), int(self.value.lanes)

    @property
    def __numpy_dtype__(self) -> numpy.dtype[Any]:
        """The corresponding NumPy dtype, as ``numpy.dtype(x)`` requests it.

        Raises
        ------
        TypeError
            Neither NumPy nor ml_dtypes has the type.

        Examples
        --------
        >>> dl.float32.__numpy_dtype__
        dtype('float32')
        """
        found = numpy_dtype(self.value, "numpy.dtype")
        if found is None:
            raise TypeError(f"numpy.dtype: NumPy has no {self}, nor has ml_dtypes; view the bits as an integer type "
                            f"instead")
        return found

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The corresponding NumPy dtype, for NumPy before 2.4, which does not read ``__numpy_dtype__``.

        {DType.__numpy_dtype__: Raises}

        Examples
        --------
        >>> dl.int8.dtype
        dtype('int8')
        """
        return self.__numpy_dtype__

    # Attributes that libraries over NumPy's protocols (Dask, xarray) read.

    @property
    def kind(self) -> str:
        """Kind of number, a letter as in NumPy: "b" bool, "i" and "u" integers, "f" floats, "c" complex, "V" other.

        Every float has "f", also those that ml_dtypes adds to NumPy, of which some have "V" there.

        Examples
        --------
        >>> dl.bfloat16.kind, dl.uint4.kind, dl.bool.kind
        ('f', 'u', 'b')
        """
        cdef const DTypeRow* row = _row(self.value)
        if row == NULL or self.value.lanes != 1:
            return "V"
        name = row.name
        if name[0] == b"b":
            return "b" if name[1] == b"o" else "f"
        return chr(name[0])

    @property
    def type(self) -> type[numpy.generic]:
        """Scalar type of the corresponding NumPy dtype.

        {DType.__numpy_dtype__: Raises}

        Examples
        --------
        >>> dl.float32.type.__name__
        'float32'
        """
        return self.__numpy_dtype__.type

    @property
    def str(self) -> str:
        """Array protocol string of the corresponding NumPy dtype.

        {DType.__numpy_dtype__: Raises}

        Examples
        --------
        >>> dl.float32.str
        '<f4'
        """
        return self.__numpy_dtype__.str

    @property
    def char(self) -> str:
        """Character of the corresponding NumPy dtype.

        {DType.__numpy_dtype__: Raises}

        Examples
        --------
        >>> dl.float32.char
        'f'
        """
        return self.__numpy_dtype__.char

    @property
    def byteorder(self) -> str:
        """Byte order as in NumPy: "=" native, or "|" where an element has one byte.

        Examples
        --------
        >>> dl.float32.byteorder, dl.int8.byteorder
        ('=', '|')
        """
        return "=" if self.itemsize > 1 else "|"

    @property
    def isnative(self) -> bool:
        """True if the byte order is native: always.

        Examples
        --------
        >>> dl.float32.isnative
        True
        """
        return True

    @property
    def hasobject(self) -> bool:
        """True if elements are Python objects: never.

        Examples
        --------
        >>> dl.float32.hasobject
        False
        """
        return False

    @property
    def fields(self) -> None:
        """Fields of a structured dtype: None, as there are none.

        Examples
        --------
        >>> dl.float32.fields is None
        True
        """
        return None

    @property
    def names(self) -> None:
        """Names of the fields of a structured dtype: None, as there are none.

        Examples
        --------
        >>> dl.float32.names is None
        True
        """
        return None

    @property
    def metadata(self) -> None:
        """Metadata of a NumPy dtype: None, as there is none.

        Examples
        --------
        >>> dl.float32.metadata is None
        True
        """
        return None

    def __eq__(self, other):
        if type(other) is DType:
            return _packed(self.value) == _packed((<DType>other).value)
        return _equals_meaning(self, other)

    def __hash__(self):
        if self.hash_of_name == 0:
            self.hash_of_name = hash(self.name)
        return self.hash_of_name

    def __repr__(self):
        return f"dltensor.{self.name}"

    def __call__(self, x=0, /) -> Tensor:
        """Convert a number or an array to this dtype, as NumPy's scalar types.

        Parameters
        ----------
        x : array_like, number or nested sequence of numbers, default 0
            A float is truncated for integers.

        Returns
        -------
        Tensor
            New, of the shape of `x`.

        Raises
        ------
        TypeError
            `x` is not a tensor.
        OverflowError
            A number is out of range.
        ValueError
            A number is NaN, and the dtype has integers; or the dtype cannot represent it.

        Examples
        --------
        >>> dl.float64(0.1), dl.int8([3, 4]).dtype
        (Tensor(0.1, shape=(), device=cpu, dtype=float64), dltensor.int8)
        """
        from .convert import asarray
        try:
            if isinstance(x, float) and self.kind in "iu":
                x = int(x)
            if isinstance(x, (int, float, complex, list, tuple)):
                return asarray(x, dtype=self, copy=True)
            return asarray(x).astype(self)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"{self.name}: {str(error).removeprefix('asarray: ')}") from None

    def __str__(self):
        return self.name

    def __reduce__(self):
        return DType, (int(self.value.code), int(self.value.bits), int(self.value.lanes))


cdef int _fill_dtypes() except -1:
    cdef DLDataType value
    for i in range(count(dtype_rows)):
        value = DLDataType(code=dtype_rows[i].code, bits=dtype_rows[i].bits, lanes=1)
        result = _cached_dtype(value)
        _by_name[sys.intern(dtype_rows[i].name.decode())] = result
        if value.code < TABLE_CODES:
            Py_INCREF(result)
            _named_dtypes[value.code << 8 | value.bits] = <PyObject*>result
    return 0

_fill_dtypes()

DTYPES = dict(_by_name)
"""Named element types by name."""
COMPUTED = tuple([dtype_rows[i].name.decode() for i in range(count(dtype_rows)) if dtype_rows[i].computed])


cdef str _package_of(kind):
    """The package that ``__module__`` of a type names, which may be any object."""
    module = getattr(kind, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


# Other names of our types, from NumPy and C.
cdef dict _SPELLINGS = {spelling: name for name, spellings in (
    ("bool", "? bool_"), ("int8", "b byte"), ("uint8", "B ubyte"), ("int16", "h short"), ("uint16", "H ushort"),
    ("int32", "i intc"), ("uint32", "I uintc"), ("int64", "l q p n int long longlong intp int_"),
    ("uint64", "L Q P N uint ulong ulonglong uintp"), ("float16", "e half"), ("float32", "f single"),
    ("float64", "d float double"), ("complex64", "F csingle"), ("complex128", "D complex cdouble"),
) for spelling in spellings.split()}
SPELLINGS = tuple(_SPELLINGS)
"""Names of NumPy and C that a dtype argument takes beside our own."""
# Letters that a count of bytes follows: "f4".
cdef dict _LETTERS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
# The precision of Python's own numbers, not the default dtype of tensors; NumPy and torch do the same.
cdef dict _PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
# By NumPy's kind of dtype: what to do with one that DLPack cannot express.
cdef dict _REMEDIES = {
    "O": "convert to a dtype of numbers with astype()", "U": "convert to a dtype of numbers with astype()",
    "S": "view the bytes as 'uint8', or convert to numbers with astype()",
    "T": "convert to a dtype of numbers with astype()", "M": "view it as 'int64'", "m": "view it as 'int64'",
    "V": "take one field by its name, or view the bytes as 'uint8'", "f": "convert to 'float64' with astype()",
    "c": "convert to 'complex128' with astype()",
}


cdef DType _by_spelling(str name, str func):
    """The type of a name, or None: our names, those of NumPy, letters such as "<f4", and vectors such as "int8x4"."""
    found = _by_name.get(name) or _by_name.get(_SPELLINGS.get(name))
    if found is not None:
        return found
    order = name[:1] if name.startswith(("<", ">", "=", "|")) else ""
    rest = name[len(order):]
    width = rest[1:]
    if len(rest) == 1:
        found = _by_name.get(_SPELLINGS.get(rest))
    elif rest == "b1":
        found = _by_name["bool"]
    elif rest[:1] in _LETTERS and width.isascii() and width.isdecimal() and len(width) < 4:
        found = _by_name.get(f"{_LETTERS[rest[0]]}{8 * int(width)}")
    else:
        base, _, lanes = name.rpartition("x")
        if base in _by_name and lanes.isascii() and lanes.isdecimal() and 0 < len(lanes) < 6 and lanes[0] != "0":
            return DType(_by_name[base].code, _by_name[base].bits, int(lanes))
    if found is not None and order == (">" if _little else "<") and found.itemsize > 1:
        raise ValueError(f"{func}: dtype {name!r} has non-native byte order, which DLPack cannot express")
    return found


cdef DType _of_type(object kind, str func):
    """The dtype of a class, or None: Python's numbers, scalar types of NumPy and ml_dtypes, of ctypes."""
    name = _PYTHON_TYPES.get(kind)
    if name is not None:
        return _by_name[name]
    module = _package_of(kind)
    if module in ("numpy", "ml_dtypes"):
        name = kind.__name__.rstrip("_")
        found = _by_name.get(name) or _by_name.get(_SPELLINGS.get(name))
        if found is None:
            raise TypeError(f"{func}: {module}.{kind.__name__} has no DLPack equivalent")
        return found
    if module == "ctypes":
        # A class of the other byte order names its counterpart there.
        letter = getattr(kind, "_type_", None)
        if (isinstance(letter, str) and letter in "?bBhHiIlLqQfd" and
                getattr(kind, "__ctype_le__" if _little else "__ctype_be__", kind) is kind):
            return _by_name[_SPELLINGS[letter]]
    name = getattr(getattr(kind, "dtype", None), "name", None)  # jax.numpy.float32 is a class that makes scalars
    return _by_name.get(name) if isinstance(name, str) else None


cdef dict _UNSIGNED = {"V1": "uint8", "V2": "uint16", "V4": "uint32", "V8": "uint64"}
cdef enum:
    NPY_VOID = 20


cdef object known_dtype(object dtype):
    """A dtype, or unsigned integers for NumPy's bytes without a meaning, which DLPack does not have."""
    text = dtype
    if getattr(dtype, "num", None) == NPY_VOID and dtype.names is None and dtype.subdtype is None:
        text = dtype.str
    return _UNSIGNED.get(text.lstrip("|"), dtype) if type(text) is str else dtype


cdef DType _of_numpy(object x, str func):
    """The type of a NumPy dtype, those of ml_dtypes included."""
    if x.byteorder == ">" and x.itemsize > 1 or x.byteorder == "<" and not _little:
        raise ValueError(f"{func}: NumPy dtype {x.str!r} has non-native byte order, which DLPack cannot "
                         f"express; convert with astype(dtype.newbyteorder('='))")
    found = None
    if _package_of(type(x)) == "numpy":
        # A letter. NumPy makes the name anew each time, in 3 microseconds.
        found = _by_name.get(_SPELLINGS.get(x.char))
    if found is None or found.itemsize != x.itemsize:
        found = _by_name.get(x.name)
    if found is None:
        remedy = _REMEDIES.get(getattr(x, "kind", None), "convert with astype()")
        raise TypeError(f"{func}: NumPy dtype {getattr(x, 'str', x.name).lstrip('|')!r} has no DLPack equivalent; "
                        f"{remedy}")
    return found


cdef object _find_dtype(object x, str func):
    """Convert a dtype_like to a DType; None when `x` is not dtype_like. Raises for dtypes unknown to DLPack."""
    if type(x) is DType:
        return x
    if isinstance(x, str):
        return _by_spelling(str(x), func)
    if isinstance(x, type):
        found = _of_type(x, func)
        if found is not None:
            return found
    if _package_of(type(x)) == "numpy" and hasattr(x, "byteorder"):
        return _of_numpy(x, func)
    if hasattr(x, "__dlpack_data_type__"):
        numbers = x.__dlpack_data_type__()
        try:
            code, bits, lanes = map(index, numbers)
        except (TypeError, ValueError):
            raise TypeError(f"{func}: __dlpack_data_type__ of {type(x).__qualname__} must give three integers (code, "
                            f"bits, lanes), got {numbers!r}") from None
        return DType(code, bits, lanes)
    if _package_of(type(x)) == "torch" and type(x).__name__ == "dtype":
        name = str(x).rpartition(".")[2]
        if name == "float4_e2m1fn_x2":
            return DType(17, 4, 2)
        if name not in _by_name:
            raise TypeError(f"{func}: {x} has no DLPack equivalent; convert with to() or dequantize()")
        return _by_name[name]
    if hasattr(x, "byteorder") and hasattr(x, "name"):
        return _of_numpy(x, func)
    # A tensor has a dtype, but is not dtype_like.
    name = getattr(getattr(x, "dtype", None), "name", None)  # read once
    if isinstance(name, str) and not hasattr(x, "shape"):
        return _by_name.get(name)
    return None


cdef object _equals_meaning(DType dtype, object other):
    """Compare with a dtype_like; NotImplemented for anything else, so that its own ``__eq__`` is called."""
    try:
        found = _find_dtype(other, "DType")
    except Exception:
        return NotImplemented
    return NotImplemented if found is None else _packed(dtype.value) == _packed((<DType>found).value)


cdef DLDataType read_dtype(object x, str func) except *:
    """Convert a dtype argument; `func` is the name of the function in messages."""
    if type(x) is DType:
        return (<DType>x).value
    found = _find_dtype(x, func)
    if found is not None:
        return (<DType>found).value
    if isinstance(x, str):
        raise TypeError(f"{func}: there is no dtype named {quoted(x, 80)}; {suggestion(x, _by_name)}dltensor.DTYPES "
                        f"has all names")
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        raise TypeError(f"{func}: expected a dtype, got a tensor of type {type(x).__qualname__}; pass its .dtype")
    remedy = "; elements are numbers, write a list of objects" if x is object else ""
    raise TypeError(f"{func}: dtype must be a dltensor.DType, its name, a type such as float, or a NumPy, ml_dtypes "
                    f"or torch dtype, got {quoted(x, 80)}{remedy}")


cdef object numpy_dtype(DLDataType value, str func):
    """The NumPy dtype of an element type: NumPy's own, or that of ml_dtypes. None when neither has it."""
    dtype = dtype_of(value)
    try:
        return _numpy_dtypes[dtype]
    except KeyError:
        pass
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{func}: NumPy is not installed; pip install numpy") from None
    found = None
    if value.lanes == 1:
        try:
            found = numpy.dtype(dtype.name)
        except TypeError:
            try:
                import ml_dtypes
            except ImportError:
                raise ImportError(f"{func}: {dtype} needs the package ml_dtypes; pip install ml_dtypes") from None
            kind = getattr(ml_dtypes, dtype.name, None)
            found = None if kind is None else numpy.dtype(kind)
    if len(_numpy_dtypes) < 4096:
        _numpy_dtypes[dtype] = found
    return found


def dtype_text(uint8_t code, uint8_t bits, uint16_t lanes=1):
    """Return the name of the dtype with these numbers, valid or not.

    >>> dtype_text(2, 32), dtype_text(6, 1)
    ('float32', 'dtype(6, 1)')
    """
    return str(dtype_of(DLDataType(code=code, bits=bits, lanes=lanes)))


def as_dtype(x: DTypeLike | str, str where="as_dtype"):
    """Convert a dtype_like to a `DType`.

    Parameters
    ----------
    x : dtype_like
        A DType, its name, NumPy's names for it (``"f4"``, ``"<f4"``, ``"double"``), a NumPy, ml_dtypes, torch or jax
        dtype or scalar type, a number type of ctypes or Python, or any object with ``__dlpack_data_type__``. Python's
        ``float`` is float64, ``int`` int64 and ``complex`` complex128, as in NumPy and torch; tensors made from Python
        numbers without a dtype have `get_default_dtype`, int64 and the complex dtype of its width.
    where : str, default "as_dtype"
        Name of the function in error messages.

    Returns
    -------
    DType
        The element type.

    Raises
    ------
    TypeError
        `x` is not a dtype.
    ValueError
        `x` has non-native byte order, which DLPack cannot express.

    {See Also: as_device}

    Examples
    --------
    >>> dl.as_dtype("bfloat16").bits, dl.as_dtype("<f4"), dl.as_dtype(float)
    (16, dltensor.float32, dltensor.float64)
    """
    return dtype_of(read_dtype(x, where))


cdef object device_of(DLDevice value):
    cdef int32_t kind = value.device_type
    if value.device_id == 0 and 0 < kind < TABLE_CODES and _first_devices[kind] != NULL:
        return <object>_first_devices[kind]
    return _cached_device(value)


cdef object _cached_device(DLDevice value):
    key = (<int32_t>value.device_type, value.device_id)
    known = _device_objects.get(key)
    if known is None:
        known = Device.__new__(Device, key[0], key[1])
        if len(_device_objects) < 4096:
            make_immortal(key)
            make_immortal(known)
            known = _device_objects.setdefault(key, known)
    return known


cdef class Device:
    """Device(type, id=None)\n--\n\nDevice: a DLPack device type and a device number.

    Immutable and hashable. Compares equal to a `Device`, a name and a device of torch, jax or cupy that mean the same
    device. The hash is that of ``str(device)``; other spellings, such as "cpu:0", and devices of other libraries have
    hashes of their own.

    Parameters
    ----------
    type : device_like
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``DeviceType.kDLCUDA``, or an object with ``__dlpack_device__``; with `id`
        also the number of a device type.
    id : int, optional
        Device number, by default 0.

    Raises
    ------
    ValueError
        The standard has no device of that name, or a number is negative.
    TypeError
        `type` is not a device.

    {See Also: as_device}

    {Notes: DLPack 1.3: ``DLDevice``.}

    Examples
    --------
    >>> dl.Device("cuda:1"), str(dl.Device("cpu")), dl.Device("cuda", 1).id
    (dltensor.Device('cuda:1'), 'cpu', 1)
    >>> dl.zeros(2).device == "cpu", dl.Device("cuda") == "cuda:0"
    (True, True)
    """

    def __cinit__(self, type, id=None):
        # The number of a device type alone could be meant as that of a device.
        cdef DLDevice value = read_device((type, 0) if id is not None and isinstance(type, int) else type, "Device")
        if id is not None:
            if isinstance(type, str) and ":" in type:
                raise ValueError(f"Device: the number is given twice, got {type!r} and id={id}")
            try:
                id = index(id)
            except TypeError:
                raise TypeError(f"Device: id must be an integer, got {quoted(id)}") from None
            if not 0 <= id < 2**31:
                raise ValueError(f"Device: id must be from 0 to 2147483647, got {quoted(id)}")
            value.device_id = id
        self.value = value

    @property
    def type(self) -> DeviceType | int:
        """Device type: a `DeviceType`, or an int if the standard has no such number.

        Examples
        --------
        >>> dl.Device("cuda:1").type
        <DeviceType.kDLCUDA: 2>
        """
        try:
            return DeviceType(<int32_t>self.value.device_type)
        except ValueError:
            return <int32_t>self.value.device_type

    @property
    def id(self) -> int:
        """Device number; 0 for host memory.

        Examples
        --------
        >>> dl.Device("cuda:1").id
        1
        """
        return self.value.device_id

    def __dlpack_device__(self):
        """Return the device as DLPack numbers.

        Returns
        -------
        tuple of two ints
            ``(device_type, device_id)``.

        Examples
        --------
        >>> dl.Device("cuda:1").__dlpack_device__()
        (2, 1)
        """
        return <int32_t>self.value.device_type, self.value.device_id

    def __eq__(self, other):
        if isinstance(other, Device):
            return (self.value.device_type == (<Device>other).value.device_type and
                    self.value.device_id == (<Device>other).value.device_id)
        name = other if isinstance(other, str) else _foreign_device(other)
        if name is None:
            return NotImplemented
        try:
            return self == device_of(read_device(name, "Device"))
        except ValueError:
            return False  # not the name of a device

    def __hash__(self):
        if self.hash_of_name == 0:
            self.hash_of_name = hash(str(self))
        return self.hash_of_name

    def __str__(self):
        text = _device_text.get(<int32_t>self.value.device_type, f"device_type_{<int32_t>self.value.device_type}")
        if self.value.device_type == kDLCPU and self.value.device_id == 0:
            return text
        return f"{text}:{self.value.device_id}"

    def __repr__(self):
        return f"dltensor.Device({str(self)!r})"

    def __reduce__(self):
        return Device, (<int32_t>self.value.device_type, self.value.device_id)


cdef int _fill_devices() except -1:
    for i in range(count(device_rows)):
        if 0 < device_rows[i].value < TABLE_CODES:
            result = _cached_device(DLDevice(<DLDeviceType>device_rows[i].value, 0))
            Py_INCREF(result)
            _first_devices[device_rows[i].value] = <PyObject*>result
    return 0

_fill_devices()


cdef DLDevice read_device(object x, str func) except *:
    """Convert a device argument; `func` is the name of the function in messages."""
    cdef DLDevice value
    value.device_type = kDLCPU
    value.device_id = 0
    if isinstance(x, Device):
        return (<Device>x).value
    if isinstance(x, str):
        text, colon, number = x.partition(":")
        if text not in _device_value or colon and not number.isdecimal():
            raise ValueError(f"{func}: device must be one of {', '.join(_device_value)}, optionally with ':number', "
                             f"got {quoted(x)}; {suggestion(text, _device_value)}".rstrip("; "))
        value.device_type = <DLDeviceType><int32_t>_device_value[text]
        if colon:
            if int(number) >= 2**31:
                raise ValueError(f"{func}: device number must be below 2147483648, got {number}")
            value.device_id = int(number)
        return value
    if isinstance(x, DeviceType):
        value.device_type = <DLDeviceType><int32_t>int(x)
        return value
    if isinstance(x, int):
        raise TypeError(f"{func}: device must not be an integer alone, which could be meant as a device type or as a "
                        f"device number, got {quoted(x)}; pass a name such as 'cuda:1', a DeviceType or a pair")
    if hasattr(x, "__dlpack_device__"):
        x = x.__dlpack_device__()
    if isinstance(x, tuple) and len(x) == 2:
        try:
            value.device_type = <DLDeviceType><int32_t>index(x[0])
            value.device_id = index(x[1])
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"{func}: device must be two integers, got {quoted(x)}") from None
        if <int32_t>value.device_type <= 0:
            raise ValueError(f"{func}: a device type is a positive number, got {quoted(x)}")
        return value
    name = _foreign_device(x)
    if name is not None:
        return read_device(name, func)
    raise TypeError(f"{func}: device must be a dltensor.Device, a name such as 'cuda:1', a DeviceType or a pair of "
                    f"integers, got {quoted(x, 80)}")


cdef object _foreign_device(object x):
    """The name of a device of torch, jax or cupy, whose classes are known by identity; None for anything else."""
    for package, named, kind, number in (("torch", "device", "type", "index"), ("jax", "Device", "platform", "id"),
                                         ("cupy.cuda", "Device", None, "id")):
        Class = getattr(sys.modules.get(package), named, None)
        if isinstance(Class, type) and isinstance(x, Class):
            name = "cuda" if kind is None else getattr(x, kind)
            return f"{'cuda' if name == 'gpu' else name}:{getattr(x, number) or 0}"
    return None


cdef object dtype_unless_device(object x):
    """The dtype that an argument names which may be a device too; None for a device and what is neither."""
    if isinstance(x, (Device, int)) or isinstance(x, str) and x.partition(":")[0] in _device_value:
        return None
    if hasattr(x, "__dlpack_device__"):
        return None
    try:
        return _find_dtype(x, "to")
    except ValueError:
        return None


cdef object read_numpy_flag(object x, str func):
    """Convert a copy argument that is none of True, False and None: see `read_copy_flag`."""
    if type(x).__name__ in ("bool", "bool_") and _package_of(type(x)) == "numpy":
        return bool(x)
    raise TypeError(f"{func}: copy must be True, False or None, got {quoted(x, 80)}")


def as_device(x: DeviceLike | str, str where="as_device"):
    """Convert a device_like to a `Device`.

    Parameters
    ----------
    x : device_like
        A Device, a name such as ``"cuda:1"``, a `DeviceType`, a pair of a device type and a device number, an object
        with ``__dlpack_device__``, or a device of torch, jax or cupy.
    where : str, default "as_device"
        Name of the function in error messages.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    TypeError
        `x` is not a device.
    ValueError
        The standard has no device of that name.

    {See Also: as_dtype}

    Examples
    --------
    >>> dl.as_device("cuda:1").id
    1
    """
    return device_of(read_device(x, where))


# The public name, in messages, pickles and help().
(<PyTypeObject*>DType).tp_name = "dltensor.DType"
(<PyTypeObject*>Device).tp_name = "dltensor.Device"
for _kind in (DeviceError, ConformanceWarning):
    _kind.__module__ = "dltensor"
