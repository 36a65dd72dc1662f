# SPDX-License-Identifier: Apache-2.0
"""The Tensor class: what a tensor knows of itself, its views, its elements and its protocols. No doors in here."""
import math
from types import MethodType

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyTypeObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy

from .dlpack cimport CAPSULE, NONE, UNKNOWN, ImportedTensor, entry_of, export_capsule, export_legacy_capsule
from .indexing cimport Place, checked_index, locate
from .buffers cimport fill_buffer, free_buffer, make_numpy
from .native cimport (KEEP_GIL_BYTES, TRAILING, Block, allocate, broadcast_strides, bytes_of, contiguous_strides,
                      copy_tensor, count_elements, fill_tensor, is_contiguous, item_bytes, numel, op_abs, op_add,
                      op_bitwise_and, op_bitwise_invert, op_bitwise_left_shift, op_bitwise_or, op_bitwise_right_shift,
                      op_bitwise_xor, op_divide, op_equal, op_floor_divide, op_greater, op_greater_equal, op_less,
                      op_less_equal, op_count, op_multiply, op_negative, op_not_equal, op_positive, op_pow,
                      op_remainder, op_subtract, op_table, repeats_elements, retain)
from .scalars cimport load_python, nested, shown, store_python
from .types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                     DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice, device_of, dtype_of, is_handle, is_host,
                     kDLCPU, kDLCUDA, kDLCUDAManaged, read_copy_flag, read_device, read_dtype)

from .foreign_text import quoted
from .types import DeviceError, Flags

cdef extern from "native/layout/reshape.h" namespace "dlt" nogil:
    bint reshape_strides(int, const int64_t*, const int64_t*, int, const int64_t*, int64_t*)

# Faces that are plain Python register here what the class needs of them, so that no layer looks upward.
cdef dict _hooks = {}


def hook_of(str name, str func):
    """The function registered for `name`; DeviceError when what would register it is not loaded."""
    return _hook(name, func, "a device that is not loaded")


def set_hook(str name, function):
    """Register what the class calls for `name`: a function of a layer above that it must not import."""
    _hooks[name] = function


cdef extern from *:
    """
    static int forget_new(PyTypeObject* type) {
      const int failed = PyDict_DelItemString(type->tp_dict, "__new__");
      PyType_Modified(type);
      return failed;
    }
    """
    int forget_new(PyTypeObject*) except -1

include "tensor_operators.pxi"
include "tensor_memory.pxi"
include "tensor_shape.pxi"
include "tensor_export.pxi"


@cython.final
@cython.freelist(64)
@cython.c_api_binop_methods(True)
cdef class Tensor:
    """A strided view of memory, on any device, of any element type; every one of them is a DLPack tensor.

    Made by `from_dlpack`, `asarray`, `wrap`, `empty` and their relatives, never by calling the class. What describes
    it never changes after it is made: reshaping, slicing and transposing give new tensors that share memory.

    Raises
    ------
    TypeError
        The class is called.

    Examples
    --------
    >>> t = dl.asarray([[1, 2, 3], [4, 5, 6]])
    >>> t[:, ::2].shape, t.T.strides, t.dtype
    ((2, 2), (1, 3), dltensor.int64)
    """
    __dlpack_c_exchange_api__ = PyCapsule_New(&exchange_table, b"dlpack_exchange_api", NULL)
    __hash__ = None

    def __init__(self, *args, **kwargs):
        raise TypeError("Tensor: the class makes nothing; use asarray(), from_dlpack(), wrap() or empty()")

    # what it is

    @property
    def shape(self):
        """Elements along each dimension."""
        return as_tuple(self.impl.dl.ndim, self.impl.dl.shape)

    @property
    def strides(self):
        """Elements (not bytes) from one index to the next, for each dimension."""
        return as_tuple(self.impl.dl.ndim, self.impl.dl.strides)

    @property
    def ndim(self):
        """How many dimensions there are, 0 to 64."""
        return self.impl.dl.ndim

    @property
    def dtype(self):
        """The element type, a `DType`."""
        return dtype_of(self.impl.dl.dtype)

    @property
    def device(self):
        """Where the memory is, a `Device`."""
        return device_of(self.impl.dl.device)

    @property
    def size(self):
        """Elements in all."""
        return _size(&self.impl.dl)

    @property
    def itemsize(self):
        """Bytes of one element that stands alone; packed types round up."""
        return item_bytes(self.impl.dl.dtype)

    @property
    def nbytes(self):
        """Bytes that the elements take when they lie side by side, packed types packed."""
        return _bytes(&self.impl.dl, _size(&self.impl.dl), self.impl.flags)

    @property
    def data_ptr(self):
        """The address of the first element; for devices whose data is a handle, the handle."""
        return <size_t>self.impl.dl.data

    @property
    def byte_offset(self):
        """Bytes from the start of the memory that is kept alive to the first element."""
        if is_handle(<int>self.impl.dl.device.device_type):
            return self.impl.dl.byte_offset
        return <char*>self.impl.dl.data - <char*>self.impl.block.data

    @property
    def is_contiguous(self):
        """Whether the elements lie side by side in C order. Strides of dimensions of one element do not count."""
        return is_contiguous(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.strides)

    @property
    def readonly(self):
        """Whether writing is refused."""
        return self.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0

    @property
    def flags(self):
        """The standard's flags, as the producer gave them or this package set them."""
        return Flags(self.impl.flags)

    @property
    def T(self):
        """The matrix transposed. Raises ValueError unless there are two dimensions."""
        if self.impl.dl.ndim != 2:
            raise ValueError(f"T: expected 2 dimensions, got {self.impl.dl.ndim}; use mT or permute_dims")
        return _swap_last(self)

    @property
    def mT(self):
        """The last two dimensions swapped. Raises ValueError when there are fewer."""
        if self.impl.dl.ndim < 2:
            raise ValueError(f"mT: expected at least 2 dimensions, got {self.impl.dl.ndim}")
        return _swap_last(self)

    def same_memory(self, other):
        """Whether two tensors keep the same piece of memory alive, whatever part of it they show.

        Raises
        ------
        TypeError
            `other` is not a Tensor.
        """
        if type(other) is not Tensor:
            raise TypeError(f"same_memory: expected a Tensor, got {type(other).__qualname__}")
        return self.impl.block == (<Tensor>other).impl.block

    # elements

    def __len__(self):
        if self.impl.dl.ndim == 0:
            raise TypeError("len: a tensor of 0 dimensions has no length")
        return self.impl.dl.shape[0]

    def __getitem__(self, key):
        cdef Place place
        if PyLong_CheckExact(key) and self.impl.dl.ndim > 0 and self.impl.dl.dtype.bits & 7 == 0:
            return _row(self, checked_index(key, self.impl.dl.shape[0], 0))
        locate(&self.impl.dl, key, &place)
        return view_of(self, &place)

    def __setitem__(self, key, value):
        cdef Place place
        locate(&self.impl.dl, key, &place)
        assign(view_of(self, &place), value, "__setitem__")

    def __delitem__(self, key):
        raise TypeError("__delitem__: a tensor's elements cannot be taken away; index those that stay")

    def __iter__(self):
        if self.impl.dl.ndim == 0:
            raise TypeError("iter: a tensor of 0 dimensions cannot be iterated over")
        return _iterate(self)

    def item(self, *index):
        """Return one element as a Python number.

        Parameters
        ----------
        *index : int, optional
            One position per dimension; none at all for a tensor of one element.

        Raises
        ------
        ValueError
            There is more than one element, or the type has no Python counterpart.
        IndexError
            A position is out of range, or there are too few or too many.
        DeviceError
            The host cannot read the memory.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]]).item(1, 0)
        3
        """
        cdef int i
        cdef int64_t at = 0
        cdef Place place
        if index:
            if len(index) != self.impl.dl.ndim:
                raise IndexError(f"item: expected {self.impl.dl.ndim} positions, got {len(index)}")
            for i in range(self.impl.dl.ndim):
                at += checked_index(index[i], self.impl.dl.shape[i], i) * self.impl.dl.strides[i]
        elif _size(&self.impl.dl) != 1:
            raise ValueError(f"item: expected one element, got shape {self.shape}; give one position per dimension")
        if not is_host(<int>self.impl.dl.device.device_type):
            # Packed elements start anywhere in a byte, where no view can: they travel with all others.
            if is_packed(self.impl.dl.dtype, self.impl.flags):
                return on_host(self, "item").item(*index)
            place.ndim = 0
            place.offset = at
            return on_host(view_of(self, &place), "item").item()
        return load_python(self.impl.dl.data, at, self.impl.dl.dtype, self.impl.flags, "item")

    def tolist(self):
        """Return the elements as nested lists of Python numbers; a number when there are 0 dimensions.

        Raises
        ------
        DeviceError
            The host cannot read the memory.
        ValueError
            The element type has no Python counterpart.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]])[:, ::-1].tolist()
        [[2, 1], [4, 3]]
        """
        cdef Tensor here = on_host(self, "tolist")
        return nested(&here.impl.dl, here.impl.flags, 0, 0)

    def __contains__(self, value):
        return _hooks["contains"](self, value) if is_operand(value) else False

    def __bool__(self): return bool(single(self, "bool"))
    def __int__(self): return int(single(self, "int"))
    def __float__(self): return float(single(self, "float"))
    def __complex__(self): return complex(single(self, "complex"))

    def __round__(self, ndigits=None):
        # An integer, as Python has it of one number; with digits a tensor, whatever the shape.
        return round(single(self, "round")) if ndigits is None else _hooks["round"](self, ndigits)

    def __trunc__(self): return math.trunc(single(self, "trunc"))
    def __floor__(self): return math.floor(single(self, "floor"))
    def __ceil__(self): return math.ceil(single(self, "ceil"))

    def __index__(self):
        if self.impl.dl.ndim != 0:
            # A TypeError, so that bytes(t) and its like go on to the buffer protocol.
            raise TypeError(f"__index__: only integer tensors of 0 dimensions are indices, got shape {self.shape}")
        value = self.item()
        if type(value) is not int:
            raise TypeError(f"__index__: only integer tensors of 0 dimensions are indices, got {self.dtype}")
        return value

    def tobytes(self):
        """Return the bytes of the elements in C order; packed elements stay packed.

        Raises
        ------
        MemoryError
            The memory cannot be allocated.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]], dtype="uint8").T.tobytes()
        b'\\x01\\x03\\x02\\x04'
        """
        cdef Tensor source = on_host(self, "tobytes")
        cdef int64_t count = _bytes(&source.impl.dl, _size(&source.impl.dl), source.impl.flags)
        if not is_contiguous(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides):
            source = copied(source, "tobytes")
        try:
            return PyBytes_FromStringAndSize(<char*>source.impl.dl.data, count)
        except MemoryError:
            raise MemoryError(f"tobytes: cannot allocate {count} bytes") from None

    def numel(self):
        """Return the number of elements, which is also `size`.

        Examples
        --------
        >>> dl.zeros((2, 3)).numel()
        6
        """
        return _size(&self.impl.dl)

    # copies and other shapes

    def copy(self):
        """Return the elements in new memory, in C order, on the same device.

        Raises
        ------
        MemoryError
            The memory cannot be had.

        Examples
        --------
        >>> dl.asarray([1, 2, 3])[::-1].copy().strides
        (1,)
        """
        return copied(self, "copy")

    def clone(self):
        """Return the elements in new memory, as `copy` does.

        Raises
        ------
        MemoryError
            The memory cannot be allocated.

        Examples
        --------
        >>> t = dl.asarray([1, 2]); t.clone().same_memory(t)
        False
        """
        return copied(self, "clone")

    def flatten(self):
        """Return a copy of the elements, in C order, with one dimension.

        Raises
        ------
        MemoryError
            The memory cannot be allocated.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]]).T.flatten().tolist()
        [1, 3, 2, 4]
        """
        return reshaped(self, (-1,), True, "flatten")

    def ravel(self):
        """Return the elements, in C order, with one dimension: a view where one can show them, else a copy.

        Raises
        ------
        MemoryError
            The memory cannot be allocated.

        Examples
        --------
        >>> t = dl.asarray([[1, 2], [3, 4]]); t.ravel().tolist(), t.ravel().same_memory(t)
        ([1, 2, 3, 4], True)
        """
        return reshaped(self, (-1,), None, "ravel")

    def transpose(self, *axes):
        """Return a view with the dimensions in another order, as NumPy's method does.

        Parameters
        ----------
        *axes : int, or one sequence of int
            Which dimension stands at each place; none at all reverses them.

        Raises
        ------
        ValueError
            `axes` is no order of all dimensions.
        IndexError
            There is no such axis.
        TypeError
            An axis is no integer.

        Examples
        --------
        >>> dl.zeros((2, 3, 4)).transpose().shape, dl.zeros((2, 3, 4)).transpose(1, 0, 2).shape
        ((4, 3, 2), (3, 2, 4))
        """
        cdef int ndim = self.impl.dl.ndim
        if len(axes) == 0 or len(axes) == 1 and axes[0] is None:
            return permuted(self, tuple(range(ndim - 1, -1, -1)), "transpose")
        order = one_or_many(axes)
        if len(order) == 2 and ndim > 2:
            raise ValueError(f"transpose: expected all {ndim} dimensions in their new order, as in NumPy, got {order}; "
                             f"to swap two, as torch does, name all of them in permute()")
        return permuted(self, order, "transpose")

    def permute(self, *dims):
        """Return a view with the dimensions in another order, as `permute_dims` does.

        Parameters
        ----------
        *dims : int, or one sequence of int
            Which dimension stands at each place.

        Raises
        ------
        ValueError
            `dims` is no order of all dimensions.
        IndexError
            There is no such axis.
        TypeError
            An axis is no integer.

        Examples
        --------
        >>> dl.zeros((2, 3, 4)).permute(2, 0, 1).shape
        (4, 2, 3)
        """
        return permuted(self, one_or_many(dims), "permute")

    def squeeze(self, axis=None):
        """Return a view without dimensions of one element.

        Parameters
        ----------
        axis : int, tuple of int or None, default None
            Which ones; None drops all of them.

        Raises
        ------
        ValueError
            A named dimension has not exactly one element, or is named twice.
        IndexError
            There is no such axis.
        TypeError
            An axis is no integer.

        Examples
        --------
        >>> dl.zeros((1, 3, 1)).squeeze().shape, dl.zeros((1, 3, 1)).squeeze(0).shape
        ((3,), (3, 1))
        """
        return squeezed(self, axis, "squeeze")

    def fill(self, value):
        """Write one number to every element, in place.

        Raises
        ------
        ValueError
            The tensor is read-only or its elements share memory.
        OverflowError
            The number is outside the range of the element type.

        Examples
        --------
        >>> t = dl.empty(3, dtype="int8"); t.fill(7); t.tolist()
        [7, 7, 7]
        """
        assign_scalar(self, value, "fill")

    def reshape(self, *shape, copy=None):
        """Return the elements, in C order, under another shape.

        Parameters
        ----------
        *shape : int, or one sequence of int
            One -1 stands for what is left.
        copy : bool, optional
            None copies only when no view can show the new shape, True always, False never.

        Raises
        ------
        ValueError
            The number of elements differs, or `copy` is False and only a copy will do.
        TypeError
            There is no shape, or it is neither integers nor one sequence of them.

        Examples
        --------
        >>> dl.arange(6).reshape(2, -1).tolist(), dl.arange(6).reshape((3, 2)).shape
        ([[0, 1, 2], [3, 4, 5]], (3, 2))
        """
        if len(shape) == 0:
            raise TypeError("reshape: expected a shape, got nothing; the shape of one element without dimensions is ()")
        return reshaped(self, shape[0] if len(shape) == 1 else shape, copy, "reshape")

    def view(self, dtype):
        """Return the same bytes as another element type.

        Parameters
        ----------
        dtype : DType or what names one
            Of the same width; or of another when the last dimension lies side by side and its bytes divide evenly.

        Raises
        ------
        ValueError
            The widths differ and the last dimension cannot be cut anew.

        Examples
        --------
        >>> dl.asarray([1.0], dtype="float32").view("uint32").tolist()
        [1065353216]
        """
        return _reinterpret(self, read_dtype(dtype, "view"))

    def astype(self, dtype, *, copy=True, padded=False):
        """Return the elements as another dtype; see `dltensor.astype`.

        Raises
        ------
        TypeError
            The dtype has no known meaning, or a complex one would become real.

        Examples
        --------
        >>> dl.asarray([1.5, 2.5]).astype("int32").tolist()
        [1, 2]
        """
        return _hooks["astype"](self, dtype, copy=copy, padded=padded)

    def to(self, device):
        """Return the tensor on a device: itself when it is there, else a copy.

        Raises
        ------
        DeviceError
            The device, its driver or its library is not there.

        Examples
        --------
        >>> t = dl.asarray([1]); t.to("cpu") is t
        True
        """
        return on_device(self, device, "to")

    def cpu(self):
        """Return the tensor on the host, as ``to("cpu")`` does.

        Raises
        ------
        DeviceError
            Nothing here can read the memory.

        Examples
        --------
        >>> t = dl.asarray([1]); t.cpu() is t
        True
        """
        return on_device(self, "cpu", "cpu")

    def cuda(self, device=None):
        """Return the tensor on a CUDA device, as ``to("cuda")`` does.

        Parameters
        ----------
        device : int, Device or what names one, default "cuda"

        Raises
        ------
        DeviceError
            The device, its driver or its library is not there.
        ValueError
            `device` is no CUDA device.
        """
        named = "cuda" if device is None else f"cuda:{device}" if PyLong_CheckExact(device) else device
        if read_device(named, "cuda").device_type != kDLCUDA:
            raise ValueError(f"cuda: expected a CUDA device, got {device!r}; use to()")
        return on_device(self, named, "cuda")

    def to_device(self, device, /, *, stream=None):
        """Return the tensor on a device, as the array API names `to`.

        Raises
        ------
        DeviceError
            The device, its driver or its library is not there.
        ValueError
            A `stream` is given: work is ordered by the current streams, see `dltensor.cuda`.

        Examples
        --------
        >>> dl.asarray([1]).to_device("cpu").device
        dltensor.Device('cpu')
        """
        if stream is not None:
            raise ValueError(f"to_device: stream must be None, got {stream!r}; make it the current one instead")
        return self.to(device)

    def numpy(self, copy=None, *, non_blocking=False):
        """Return a NumPy array: the same memory where NumPy or ml_dtypes has the type, a copy from CUDA devices.

        Parameters
        ----------
        copy : bool, optional
            None shares memory unless the type is packed, which NumPy cannot hold, or the host cannot read it; True
            copies, False never does.
        non_blocking : bool, default False
            Do not wait for the device: the result is a `cuda.Transfer`, whose ``result()`` waits and gives the array.

        Raises
        ------
        ImportError
            NumPy, or ml_dtypes for its types, is not installed.
        TypeError
            Neither has the type, or `copy` is no bool.
        ValueError
            `copy` is False and only a copy will do.
        DeviceError
            The host cannot read the memory.

        Examples
        --------
        >>> t = dl.arange(3); a = t.numpy(); a[0] = 9; t.tolist()
        [9, 1, 2]
        """
        cdef Tensor source = self
        copy = read_copy_flag(copy, "numpy")
        if non_blocking:
            return _hook("transfer", "numpy", "dltensor.cuda")(self, copy)
        if not is_host(<int>self.impl.dl.device.device_type):
            if copy is not None and not copy:
                raise ValueError(f"numpy: the data is on {self.device}, which NumPy cannot show without a copy, and "
                                 f"copy=False forbids it")
            return on_host(self, "numpy").numpy()
        if is_packed(self.impl.dl.dtype, self.impl.flags):
            if copy is not None and not copy:
                raise ValueError(f"numpy: NumPy holds {self.dtype} one byte each, this tensor is packed, and "
                                 f"copy=False forbids to unpack it")
            source = self.astype(self.dtype, padded=True)
        elif copy is not None and copy:
            source = copied(self, "numpy")
        return make_numpy(&source.impl.dl, source.impl.flags, source)

    # how it shows

    def __repr__(self):
        return _hooks["repr"](self)

    def __format__(self, spec):
        return _hooks["format"](self, spec)

    def _repr_html_(self):
        return _hooks["html"](self)

    # arithmetic: every operator is a row of ops.h; a test holds this list to the table. Of `a` and `b` one is a tensor,
    # as in the interpreter's own slots: a call for each order would cost a check of types more.
    def __add__(a, b): return operate(op_add, a, b, None)
    def __iadd__(self, other): return operate(op_add, self, other, self)
    def __sub__(a, b): return operate(op_subtract, a, b, None)
    def __isub__(self, other): return operate(op_subtract, self, other, self)
    def __mul__(a, b): return operate(op_multiply, a, b, None)
    def __imul__(self, other): return operate(op_multiply, self, other, self)
    def __truediv__(a, b): return operate(op_divide, a, b, None)
    def __itruediv__(self, other): return operate(op_divide, self, other, self)
    def __floordiv__(a, b): return operate(op_floor_divide, a, b, None)
    def __ifloordiv__(self, other): return operate(op_floor_divide, self, other, self)
    def __mod__(a, b): return operate(op_remainder, a, b, None)
    def __imod__(self, other): return operate(op_remainder, self, other, self)
    def __and__(a, b): return operate(op_bitwise_and, a, b, None)
    def __iand__(self, other): return operate(op_bitwise_and, self, other, self)
    def __or__(a, b): return operate(op_bitwise_or, a, b, None)
    def __ior__(self, other): return operate(op_bitwise_or, self, other, self)
    def __xor__(a, b): return operate(op_bitwise_xor, a, b, None)
    def __ixor__(self, other): return operate(op_bitwise_xor, self, other, self)
    def __lshift__(a, b): return operate(op_bitwise_left_shift, a, b, None)
    def __ilshift__(self, other): return operate(op_bitwise_left_shift, self, other, self)
    def __rshift__(a, b): return operate(op_bitwise_right_shift, a, b, None)
    def __irshift__(self, other): return operate(op_bitwise_right_shift, self, other, self)
    def __divmod__(a, b): return operate_divmod(a, b)
    def __pow__(a, b, modulo): return operate(op_pow, a, b, None) if modulo is None else NotImplemented
    def __ipow__(self, other): return operate(op_pow, self, other, self)
    def __lt__(self, other): return operate(op_less, self, other, None)
    def __le__(self, other): return operate(op_less_equal, self, other, None)
    def __gt__(self, other): return operate(op_greater, self, other, None)
    def __ge__(self, other): return operate(op_greater_equal, self, other, None)
    def __eq__(self, other): return operate(op_equal, self, other, None)
    def __ne__(self, other): return operate(op_not_equal, self, other, None)
    def __neg__(self): return operate_alone(op_negative, self)
    def __pos__(self): return operate_alone(op_positive, self)
    def __abs__(self): return operate_alone(op_abs, self)
    def __invert__(self): return operate_alone(op_bitwise_invert, self)
    def __matmul__(a, b): return operate_matmul(a, b)

    def __imatmul__(self, other):
        return _hooks["matmul_operator"](self, other, self) if is_operand(other) else NotImplemented

    # protocols

    def __dlpack_device__(self):
        """The device as the standard's two numbers: (device_type, device_id)."""
        if self.impl.dl.device.device_type == kDLCPU and self.impl.dl.device.device_id == 0:
            return _CPU
        return <int>self.impl.dl.device.device_type, self.impl.dl.device.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Export as a DLPack capsule.

        Parameters
        ----------
        stream : int, optional
            The consumer's stream. None or -1 for host memory.
        max_version : (int, int), optional
            The newest version the consumer reads. None or a 0 major gives the layout before 1.0.
        dl_device : (int, int), optional
            Where the consumer wants the data; None leaves it where it is.
        copy : bool, optional
            True always copies (and says so in the flags), False never does.

        Raises
        ------
        BufferError
            The tensor is read-only and the old layout cannot say so, or the device cannot be reached as asked.
        TypeError
            `max_version` is not a pair of integers, `stream` no integer, or `copy` no bool.
        ValueError
            `stream` is none that the device has.

        Examples
        --------
        >>> type(dl.arange(3).__dlpack__(max_version=(1, 3))).__name__
        'PyCapsule'
        """
        return exported(self, stream, max_version, dl_device, copy)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        fill_buffer(buffer, flags, &self.impl.dl, self.impl.flags)
        buffer.obj = self

    def __releasebuffer__(self, Py_buffer* buffer):
        free_buffer(buffer)

    __array_ufunc__ = _UfuncMethod()

    def __array_function__(self, func, types, args, kwargs):
        """Answer a function of NumPy: ours of the same name, else NumPy's on arrays that share the memory."""
        return _hooks["array_function"](func, types, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        return _hooks["array"](self, dtype, copy)

    @property
    def __array_interface__(self):
        return _hooks["array_interface"](self)

    @property
    def __cuda_array_interface__(self):
        if self.impl.dl.device.device_type != kDLCUDA and self.impl.dl.device.device_type != kDLCUDAManaged:
            raise AttributeError(f"__cuda_array_interface__: the data is on {self.device}")
        return _hooks["cuda_array_interface"](self)

    def __array_namespace__(self, *, api_version=None):
        return _hooks["namespace"](api_version)

    def __reduce_ex__(self, protocol):
        return _hooks["reduce"](self, protocol)

    def __sizeof__(self):
        """Bytes of the object and of the memory that it owns, as ``sys.getsizeof`` asks; as for an ndarray."""
        return Tensor.__basicsize__ + (16 * self.impl.dl.ndim if self.impl.dl.ndim > 6 else 0) + _owned_bytes(self)

    def __copy__(self):
        return copied(self, "copy")

    def __deepcopy__(self, memo):
        return copied(self, "deepcopy")


cdef tuple _CPU = (1, 0)


def _iterate(Tensor self):
    cdef int64_t i
    for i in range(self.impl.dl.shape[0]):
        yield self[i]


# Where users find it, in errors, pickles and help.
(<PyTypeObject*>Tensor).tp_name = "dltensor.Tensor"
# Nobody else may make one that shows no memory: without this entry object.__new__ answers, and refuses.
forget_new(<PyTypeObject*>Tensor)
