# SPDX-License-Identifier: Apache-2.0
"""The class OpaqueArray: one struct of array.h as a Python object, with the functions in it as methods. Included."""


@cython.final
cdef class OpaqueArray:
    """An array behind the struct of function pointers that C, C++, Fortran and Rust programs hold.

    Its functions are native code: they work on the memory of `obj` without Python and without the GIL, from any
    thread, whatever library `obj` is from. One DLPack export is taken here, and never again.

    Parameters
    ----------
    obj : object
        A tensor of any framework, or anything else that `asarray` takes. Its memory is shared wherever it has some.
    origin : str, default "dltensor"
        The name under which libraries tell whose arrays these are. Only arrays of one origin can be moved into each
        other.

    Raises
    ------
    TypeError
        `obj` is nothing that has elements.
    BufferError
        `obj` cannot be said in DLPack 1.3, or is no valid tensor.
    ValueError
        `origin` is no name.

    Examples
    --------
    >>> import numpy as np
    >>> array = dl.opaque.OpaqueArray(np.zeros((2, 3)))
    >>> array.shape, array.dtype, array.device, array.origin
    ((2, 3), dltensor.float64, dltensor.Device('cpu'), 'dltensor')
    """

    def __init__(self, obj, /, *, origin=None):
        cdef const Origin* named = _default_origin
        cdef Tensor t
        cdef bytes text
        if self.impl.ptr != NULL:
            raise TypeError("OpaqueArray: this one holds an array already; make another")
        drop_pending()
        if type(obj) is OpaqueArray:
            raise TypeError("OpaqueArray: this is an array behind a vtable already; use it, or copy() it")
        if origin is not None:
            text = _name(origin, "OpaqueArray")
            named = origin_named(text)
            if named == NULL:
                raise ValueError(f"OpaqueArray: expected the name of an origin of at most 65535 bytes, got one of "
                                 f"{len(text)}")
        t = _tensor_of(obj, "OpaqueArray")
        # What had to be copied does not stand for the object it was copied from.
        shared = obj if t is obj or not isinstance(obj, (int, float, complex, list, tuple, str)) and (
            t.impl.flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0 else t
        _make(t, shared, named, &self.impl)
        self.held = True

    def __dealloc__(self):
        if self.held:
            if is_ours(self.impl):
                call_destroy(&self.impl)  # waits for nobody
            else:
                destroy_without_gil(&self.impl)

    def __reduce__(self):
        raise TypeError("OpaqueArray: a struct of function pointers means nothing to another process; pickle "
                        "array.tensor() instead")

    def __repr__(self):
        return (f"OpaqueArray(shape={self.shape}, dtype={self.dtype}, device='{self.device}', "
                f"origin={self.origin!r})")

    cdef const dlt_array_t* array(self) except NULL:
        """The struct, for calling its functions."""
        if self.gone:
            raise ValueError("OpaqueArray: this array was handed over, and only those made by dltensor can be asked "
                             "after that")
        return &self.impl

    # the struct

    @property
    def pointer(self):
        """The address of the struct, good as long as this object lives. Who reads it does not own the array."""
        return <size_t>&self.impl

    def release(self, into=None):
        """Hand the array over: the receiver calls ``destroy`` from here on, this object does not.

        Parameters
        ----------
        into : int, optional
            An address of 104 bytes to copy the struct to. Without it the struct stays in this object, which must live
            until the receiver has copied it.

        Returns
        -------
        int
            Where the struct is.

        Raises
        ------
        ValueError
            It was handed over before, or is a view that somebody else ends.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([1, 2]); address = array.release()
        >>> again = dl.opaque.hold(address, take=True); again.shape, array.shape
        ((2,), (2,))
        """
        if not self.held:
            raise ValueError("release: this array was handed over already, or belongs to somebody else; copy() it")
        if into is not None:
            (<dlt_array_t*>_struct_at(into, "release"))[0] = self.impl
        self.held = False
        self.gone = not is_ours(self.impl)
        return <size_t>&self.impl if into is None else into

    # questions

    @property
    def origin(self):
        """The name of who the array is from."""
        cdef Answers said
        _ask(self.array(), &said)
        return said.origin_name.decode("utf-8", "replace")

    @property
    def shape(self):
        """Elements along each dimension."""
        cdef Answers said
        _ask(self.array(), &said)
        return as_tuple(said.ndim, said.shape)

    @property
    def dtype(self):
        """The element type, a `DType`."""
        cdef Answers said
        _ask(self.array(), &said)
        return dtype_of(said.dtype)

    @property
    def device(self):
        """Where the memory is, a `Device`."""
        cdef Answers said
        _ask(self.array(), &said)
        return device_of(said.device)

    # the same memory in other clothes

    def tensor(self):
        """Return a `Tensor` over the array's memory.

        Raises
        ------
        BufferError
            One of the array's functions fails or lies.
        """
        return _read(self.array(), None if is_ours(self.impl) else self, False, "tensor")

    def unwrap(self):
        """Return the very object that the array was made from, or a `Tensor` when it shows something else by now.

        Raises
        ------
        BufferError
            One of the array's functions fails or lies.
        """
        made_from = _owner(self.array())
        return self.tensor() if made_from is None else made_from

    def as_dlpack(self, *, device=None, stream=None, max_version=None):
        """Return what the array's own ``as_dlpack`` gives, as a capsule.

        Parameters
        ----------
        device : Device or what names one, optional
            None is the array's own.
        stream : int, optional
            Handed on as it is; None for host memory.
        max_version : tuple of two ints, default (1, 3)

        Raises
        ------
        BufferError
            The array cannot do that: another device, a stream for host memory, a version before 1.0.
        TypeError
            `max_version` is not a pair of integers.
        """
        cdef Answers said
        cdef DLDevice func
        cdef DLPackVersion version = DLPackVersion(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)
        cdef int64_t number = 0
        cdef const int64_t* given = NULL
        if device is None:
            _ask(self.array(), &said)
            func = said.device
        else:
            func = read_device(device, "as_dlpack")
        if max_version is not None:
            try:
                version.major, version.minor = max_version
            except (TypeError, ValueError, OverflowError):
                raise TypeError(f"as_dlpack: max_version must be None or two integers such as (1, 3), got "
                                f"{max_version!r}") from None
        if stream is not None:
            number = stream
            given = &number
        return capsule_around(_exported(b"as_dlpack", self.array(), func, given, version))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.tensor().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        cdef Answers said
        _ask(self.array(), &said)
        return <int>said.device.device_type, said.device.device_id

    # what the functions of the struct do

    def from_dlpack(self, x, /):
        """Return a new array of this one's origin around any DLPack object, whatever its dtype, shape and device.

        Raises
        ------
        TypeError
            `x` is nothing that has elements.
        BufferError
            The array's library cannot import it.
        """
        cdef const dlt_array_t* array = self.array()
        cdef Tensor t = _tensor_of(x, "from_dlpack")
        cdef Block* block = _held_block(t)
        cdef DLManagedTensorVersioned* managed = export_managed(t.impl.dl, block, t.impl.flags)
        cdef dlt_array_t made
        cdef Status status
        release(block)
        if managed == NULL:
            raise MemoryError("from_dlpack: no memory left for the exported struct")
        with nogil:
            status = call_from_dlpack(array[0], NULL, managed, &made)
        if not status.ok():
            _raise(&status, BufferError)
        return _holding(&made)

    def reshape(self, shape, /):
        """Give the array another shape of as many elements, in place; strided elements are copied where they must be.

        Raises
        ------
        ValueError
            The number of elements is another, or a dimension is negative.
        """
        cdef int64_t dims[64]
        cdef const dlt_array_t* array = self.array()
        cdef int i, count = read_shape(shape, dims, "reshape")
        cdef Status status
        for i in range(count):
            if dims[i] < 0:
                raise ValueError(f"reshape: shape[{i}] must be at least 0, got {dims[i]}")
        with nogil:
            status = call_reshape(array[0], NULL, <uintptr_t*>dims, count)
        if not status.ok():
            _raise(&status, ValueError)

    def swap_axes(self, axis_1, axis_2, /):
        """Swap two axes, in place and without a copy. Negative ones count from the last.

        Raises
        ------
        IndexError
            There is no such axis.
        """
        cdef Answers said
        cdef const dlt_array_t* array = self.array()
        cdef int64_t first = axis_1, second = axis_2
        cdef Status status
        if first < 0 or second < 0:
            _ask(self.array(), &said)
            first += said.ndim if first < 0 else 0
            second += said.ndim if second < 0 else 0
        with nogil:
            status = call_swap_axes(array[0], NULL, <uintptr_t>first, <uintptr_t>second)
        if not status.ok():
            _raise(&status, IndexError)

    def create(self, shape, fill, /):
        """Return a new array of the same origin, dtype and device, every element equal to `fill`.

        Parameters
        ----------
        shape : tuple of int
        fill : number, OpaqueArray or DLPack object
            A number is converted to the array's dtype, exactly or not at all. An array or tensor must have the dtype
            and no dimensions: nothing else is converted.

        Raises
        ------
        ValueError
            The fill's dtype or shape is another, or the new shape is none.
        OverflowError
            The number is outside the dtype.
        DeviceError
            No memory can be made on the device.
        """
        cdef int64_t dims[64]
        cdef const dlt_array_t* array = self.array()
        cdef int i, count = read_shape(shape, dims, "create")
        cdef dlt_array_t value, made
        cdef Status status
        for i in range(count):
            if dims[i] < 0:
                raise ValueError(f"create: shape[{i}] must be at least 0, got {dims[i]}")
        if type(fill) is OpaqueArray:
            value = (<OpaqueArray>fill).array()[0]
            value.destroy = NULL
        else:
            t = self._scalar(fill) if isinstance(fill, (int, float, complex)) else _tensor_of(fill, "create")
            _make(t, t, _default_origin, &value)
        with nogil:
            status = call_create(array[0], NULL, <uintptr_t*>dims, count, value, &made)
        if not status.ok():
            _raise(&status, ValueError)
        return _holding(&made)

    cdef object _scalar(self, object number):
        """A number as one element of the array's dtype, stored as the array stores it."""
        cdef Answers said
        cdef Tensor t
        _ask(self.array(), &said)
        if said.dtype.bits * said.dtype.lanes % 8 and self.tensor().flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
            t = new_padded(0, NULL, said.dtype, "create")
        else:
            t = new_empty(0, NULL, said.dtype, DLDevice(kDLCPU, 0), "create")
        assign_scalar(t, number, "create")
        return t

    def copy(self, device=None):
        """Return a new array of the same origin with elements of its own.

        Parameters
        ----------
        device : Device or what names one, optional
            None is the array's own.

        Raises
        ------
        DeviceError
            The array's library cannot bring it there.
        """
        cdef Answers said
        cdef const dlt_array_t* array = self.array()
        cdef DLDevice func
        cdef dlt_array_t made
        cdef Status status
        if device is None:
            _ask(self.array(), &said)
            func = said.device
        else:
            func = read_device(device, "copy")
        with nogil:
            status = call_copy(array[0], NULL, func, &made)
        if not status.ok():
            _raise(&status, DeviceError)
        return _holding(&made)

    def move_data(self, source, movements, /):
        """Copy lines of elements from another array of the same origin into this one.

        Every movement is looked at before the first is made: after a refusal the array is as it was. Memory in common
        is treated as if the source were copied first.

        Parameters
        ----------
        source : OpaqueArray
        movements : sequence of (sample_in, sample_out, properties_start_in, properties_start_out, properties_length)
            Or a tensor of shape (n, 5) of int64 or uint64, which is read where it lies when it is compact.

        Raises
        ------
        TypeError
            `source` is no OpaqueArray, or the movements are no whole numbers.
        ValueError
            A movement leaves one of the arrays; the dtypes, dimensions or origins differ; this array is read-only.
        """
        cdef dlt_data_movement_t* list_of = NULL
        cdef Tensor table = None
        cdef int64_t count, i
        cdef Status status
        cdef OpaqueArray other
        cdef const dlt_array_t* into = self.array()
        cdef const dlt_array_t* of
        if type(source) is not OpaqueArray:
            raise TypeError(f"move_data: expected an OpaqueArray to move from, got {type(source).__qualname__}")
        other = <OpaqueArray>source
        of = other.array()
        if not isinstance(movements, (list, tuple)):
            table = _movements(movements)
            count = table.impl.dl.shape[0]
            with nogil:
                status = call_move_data(into[0], of[0], NULL, <dlt_data_movement_t*>table.impl.dl.data, count)
        else:
            count = len(movements)
            list_of = <dlt_data_movement_t*>malloc(max(count, 1) * sizeof(dlt_data_movement_t))
            if list_of == NULL:
                raise MemoryError(f"move_data: no memory left for {count} movements")
            try:
                for i in range(count):
                    (list_of[i].sample_in, list_of[i].sample_out, list_of[i].properties_start_in,
                     list_of[i].properties_start_out, list_of[i].properties_length) = movements[i]
                with nogil:
                    status = call_move_data(into[0], of[0], NULL, list_of, count)
            finally:
                free(list_of)
        if not status.ok():
            _raise(&status, ValueError)


cdef Tensor _movements(object given):
    """Movements as a compact tensor of shape (n, 5) with 64-bit integers."""
    cdef Tensor t = _tensor_of(given, "move_data")
    if t.impl.dl.ndim != 2 or t.impl.dl.shape[1] != 5 or str(t.dtype) not in ("int64", "uint64"):
        raise TypeError(f"move_data: expected movements as a tensor of shape (n, 5) of int64 or uint64, got {t.dtype} "
                        f"{t.shape}")
    if t.impl.dl.device.device_type != kDLCPU:
        raise TypeError(f"move_data: expected movements in host memory, got {t.device}")
    return t if t.is_contiguous else t.copy()
