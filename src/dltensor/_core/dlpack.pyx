# SPDX-License-Identifier: Apache-2.0
"""Import and export by DLPack: a foreign tensor becomes ours, and ours a capsule. Arrays without DLPack: buffers.pyx.

One form inside: a validated view and a block that keeps its memory. `import_tensor` alone consumes capsules,
`check_tensor` alone validates, `export_capsule` alone exports. Legacy structs exist in this file and nowhere else.
Structs and private fields of other libraries: interop/.
"""
import sys

cimport cython
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject, Py_TYPE
from cpython.ref cimport Py_INCREF
from cpython.pycapsule cimport (PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
                                PyCapsule_New, PyCapsule_SetDestructor, PyCapsule_SetName)
from libc.string cimport strcmp, strncmp

from .native cimport adopt, environment_switch, export_managed, retain
from .types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLManagedTensor,
                     DLPackExchangeAPIHeader, DLPackVersion)

from .foreign_text import describe_error, first_line
from .types import DLPACK_VERSION, ConformanceWarning

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_version(DLPackVersion)
    int dlt_check_layout(const void*, int)
    size_t dlt_explain_tensor(const DLTensor*, char*, size_t)

cdef extern from "native/memory/managed.h" namespace "dlt" nogil:
    DLManagedTensor* export_legacy(const DLTensor&, Block*) noexcept
    Block* block_of(const DLManagedTensorVersioned*) noexcept

cdef extern from "_core/interop/gil.h" namespace "dlt" nogil:
    void delete_managed(DLManagedTensorVersioned*) noexcept
    void delete_legacy "dlt::delete_managed"(DLManagedTensor*) noexcept
    void free_versioned(Block*) noexcept
    void free_legacy(Block*) noexcept

cdef extern from "_core/interop/gil.h" namespace "dlt":
    object take_error(bint* inside)

cdef extern from "_core/interop/type_table.h" namespace "dlt" nogil:
    uint32_t type_version(void*) noexcept
    uint32_t assigned_version(void*) noexcept
    cppclass TypeTable:
        const TypeEntry* find(void*) noexcept
        const TypeEntry* remember(void*, uint32_t version, const TypeEntry&) noexcept
        void update_entry(void*, int signature, bint device_agrees) noexcept

cdef extern from "Python.h":
    PyObject* PyObject_VectorcallMethod(PyObject*, PyObject**, size_t, PyObject*) noexcept
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyObject* PyErr_Occurred() noexcept
    bint PyCapsule_IsValidRaw "PyCapsule_IsValid"(PyObject*, const char*) noexcept
    void* PyCapsule_GetPointerRaw "PyCapsule_GetPointer"(PyObject*, const char*) noexcept

cdef extern from *:
    """
    // Tests whether native code made the class: no Python code can pass its own off as one.
    static inline int dlt_is_native(void* type) { return !(((PyTypeObject*)type)->tp_flags & Py_TPFLAGS_HEAPTYPE); }
    static inline int dlt_is_subtype(void* type, void* base) {
      return PyType_IsSubtype((PyTypeObject*)type, (PyTypeObject*)base);
    }
    static inline int dlt_has_buffer(void* type) {
      PyBufferProcs* procs = ((PyTypeObject*)type)->tp_as_buffer;
      return procs && procs->bf_getbuffer;
    }
    static inline PyObject* dlt_owned(PyObject* object) { return object; }
    """
    bint has_buffer "dlt_has_buffer"(void* type) noexcept
    bint is_native "dlt_is_native"(void* type) noexcept
    bint is_subtype "dlt_is_subtype"(void* type, void* base) noexcept
    # Takes over a new reference; NULL means that an error is set.
    object owned "dlt_owned"(PyObject*)
    PyObject* PyCapsule_NewRaw "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept) noexcept

# -- import paths of types, cached ------------------------------------------------------------------------------------

cdef enum:
    LINKS = 8
cdef TypeTable _types
cdef bint _use_tables = not environment_switch("DLTENSOR_NO_EXCHANGE_API")

# Producers of immutable arrays, which their legacy capsules cannot express.
_IMMUTABLE = ("jaxlib", "jax", "tensorflow")
# Native producers of read-only memory whose newer versions set the flag; their legacy capsules cannot.
_ARROW = ("pyarrow", "nanoarrow")
# Producers whose __dlpack_device__ is asked of the first object of a class only: of jax it takes half of the import.
_KNOWN = ("jaxlib", "jax", "pyarrow", "tvm_ffi")
cdef object _CapsuleType = type(PyCapsule_New(<void*>&_types, NULL, NULL))


cdef const TypeEntry* entry_of(object x) except NULL:
    cdef const TypeEntry* entry = _types.find(<void*>Py_TYPE(x))
    return entry if entry != NULL else classify_type(<object>Py_TYPE(x))


cdef const TypeEntry* cached_entry(void* kind) noexcept:
    """The entry of a type that was classified before, else NULL. Runs no Python code."""
    return _types.find(kind)


cdef const TypeEntry* classify_type(object kind) except NULL:
    """Choose the fastest way to read objects of a type. May run Python code of the type."""
    cdef void* raw_type = <void*>kind
    cdef DLPackExchangeAPI* table = NULL
    cdef TypeEntry entry
    cdef ImportPath path
    # Read before the type is asked: an entry of a type that changes meanwhile is not cached.
    cdef uint32_t version = assigned_version(raw_type)
    entry.is_torch = _is_torch(kind)
    entry.overrides_export = False
    if entry.is_torch:
        from .interop.torch_public import overrides_export
        entry.overrides_export = overrides_export(kind)
    if _use_tables and not entry.overrides_export:
        table = _find_table(kind)
    if table != NULL:
        path = TABLE
    elif kind is _CapsuleType:
        path = CAPSULE
    elif _is_ndarray(kind):
        path = MASKED if hasattr(kind, "mask") else NDARRAY  # numpy.ma and astropy
    elif hasattr(kind, "__dlpack__"):
        path = PROTOCOL
    elif hasattr(kind, "__cuda_array_interface__"):
        path = CUDA_ARRAY_INTERFACE
    elif is_numpy_scalar(kind):
        path = ARRAY  # its buffer is bare bytes for some types, and none for those of ml_dtypes
    elif has_buffer(raw_type):
        path = BUFFER
    elif hasattr(kind, "__array_interface__"):
        path = ARRAY_INTERFACE
    elif any([hasattr(kind, name) for name in ("__arrow_c_array__", "__arrow_c_stream__", "isna")]):
        path = COLUMN  # pandas, polars, pyarrow: __array__ makes NaN of elements that are missing
    elif hasattr(kind, "__array__"):
        path = ARRAY
    else:
        path = NONE
    entry.path = path
    entry.signature = 0
    entry.is_immutable = _is_class_of(_IMMUTABLE, kind)
    entry.is_known_package = _is_class_of(_KNOWN, kind)
    entry.device_agrees = False
    # NumPy's rules put such classes above arrays: an operator with one on either side is theirs.
    entry.wraps_arrays = path in (COLUMN, ARRAY) and not is_numpy_scalar(kind) and hasattr(kind, "__array_ufunc__")
    entry.table = table
    # CPython 3.11 gives a type its version when it is asked for an attribute.
    return _types.remember(raw_type, version if version != 0 else type_version(raw_type), entry)


cdef void update_entry(object kind, int signature, bint device_agrees) noexcept:
    """Update the cached entry of a type: the signature that worked, and whether its device agreed with an export."""
    _types.update_entry(<void*>kind, signature, device_agrees)


# A type is recognized by identity with the class that the loaded package holds, never by the text of its name.

cdef object _class_in(str package, str name):
    """A native class of a loaded package, or None."""
    kind = getattr(sys.modules.get(package), name, None)
    return kind if isinstance(kind, type) and is_native(<void*>kind) else None


cdef bint _is_ndarray(object kind) except -1:
    """Test whether it is NumPy's ndarray, or a subclass that exports as ndarray does."""
    ndarray = _class_in("numpy", "ndarray")
    if ndarray is None or not is_subtype(<void*>kind, <void*>ndarray):
        return False
    return kind is ndarray or getattr(kind, "__dlpack__", None) is getattr(ndarray, "__dlpack__", None)


cdef bint is_numpy_scalar(object kind) except -1:
    generic = _class_in("numpy", "generic")
    return generic is not None and is_subtype(<void*>kind, <void*>generic)


cdef int check_mask(object array, str func) except -1:
    """Refuse an ndarray of a class with masks that masks an element: a tensor has no mask."""
    mask = array.mask
    if getattr(mask, "dtype", None) == "bool" and mask.any():
        raise BufferError(f"{func}: {type(array).__qualname__} has masked elements, which a tensor cannot express; "
                          f"replace them with filled(), or take the unmasked ones with compressed()")
    return 0


cdef bint _is_torch(object kind) except -1:
    """Test whether it is torch's class of tensors, or a subclass."""
    for name in ("TensorBase", "_TensorBase"):
        base = _class_in("torch._C", name)
        if base is not None and is_subtype(<void*>kind, <void*>base):
            return True
    return False


cdef bint _is_class_of(tuple packages, object kind) except -1:
    """Test whether it is a class that one of the loaded packages holds under the name that it has."""
    module, name = getattr(kind, "__module__", None), getattr(kind, "__qualname__", None)
    return (type(module) is str and type(name) is str and module.partition(".")[0] in packages and
            getattr(sys.modules.get(module), name, None) is kind)


cdef DLPackExchangeAPI* _find_table(object kind) except? NULL:
    """The exchange table of a type, or NULL: the name of 1.3, then that of 1.2; a capsule, or an address."""
    cdef DLPackExchangeAPIHeader* header = NULL
    cdef DLPackExchangeAPI* table
    for name in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"):
        value = getattr(kind, name, None)
        if PyCapsule_IsValid(value, b"dlpack_exchange_api") if PyCapsule_CheckExact(value) else False:
            header = <DLPackExchangeAPIHeader*>PyCapsule_GetPointer(value, b"dlpack_exchange_api")
        elif type(value) is int and 0 < value < 2**64:
            header = <DLPackExchangeAPIHeader*><size_t>value
        else:
            continue
        for _ in range(LINKS):
            if dlt_check_pointer(header) != 0:
                break
            if dlt_check_version(header.version) == 0:
                table = <DLPackExchangeAPI*>header
                if (table.managed_tensor_allocator != NULL and table.managed_tensor_from_py_object_no_sync != NULL and
                        table.managed_tensor_to_py_object_no_sync != NULL and table.current_work_stream != NULL):
                    return table
                import warnings  # imported on use, for the import time of the package
                warnings.warn(f"{kind.__qualname__}.{name}: a function that DLPack 1.3 demands is NULL; "
                              f"falling back to __dlpack__", ConformanceWarning, stacklevel=2)
                break
            header = header.prev_api
    return NULL


# -- validation and ownership -----------------------------------------------------------------------------------------

cdef int check_tensor(const DLTensor* view, str func) except -1:
    """Refuse what cannot be used; the sentence names field, value and rule."""
    cdef char text[512]
    if dlt_check_tensor(view) != 0:
        dlt_explain_tensor(view, text, sizeof(text))
        raise BufferError(f"{func}: {text.decode('utf-8', 'replace')}")
    return 0


cdef int import_managed(DLManagedTensorVersioned* managed, ImportedTensor* out, str func) except -1:
    """Make a validated view of a managed struct that we own. On any failure, its deleter runs exactly once."""
    cdef Block* block
    if dlt_check_version(managed.version) != 0:
        major, minor = managed.version.major, managed.version.minor
        delete_managed(managed)
        raise BufferError(f"{func}: expected DLPack 1.x, got version {major}.{minor} (rule version.major); ask the "
                          f"producer for max_version={DLPACK_VERSION}")
    # An export of this package is validated too: a consumer may have changed it.
    if read_layout(&managed.dl_tensor, &out.view, out.dims) != 0:
        try:
            check_tensor(&out.view, func)
        finally:
            delete_managed(managed)
    out.flags = managed.flags
    block = block_of(managed)
    if block != NULL:
        # An export of this package is imported again: take its block and end the export.
        retain(block)
        delete_managed(managed)
    else:
        block = adopt(out.view.data, managed, free_versioned)
        if block == NULL:
            delete_managed(managed)
            raise MemoryError(f"{func}: allocation failed for a block header")
    apply_byte_offset(&out.view)  # an adapted tensor goes out with an offset
    out.block = block
    return 0


cdef int _take_legacy(DLManagedTensor* managed, ImportedTensor* out, str func) except -1:
    cdef Block* block
    if read_layout(&managed.dl_tensor, &out.view, out.dims) != 0:
        try:
            check_tensor(&out.view, func)
        finally:
            delete_legacy(managed)
    block = adopt(out.view.data, managed, free_legacy)
    if block == NULL:
        delete_legacy(managed)
        raise MemoryError(f"{func}: allocation failed for a block header")
    out.flags = 0
    out.block = block
    apply_byte_offset(&out.view)
    return 0


# -- borrowing --------------------------------------------------------------------------------------------------------

cdef int borrow_table(object x, const DLPackExchangeAPI* table, DLTensor* out, int64_t* dims, str func) except -1:
    """Describe memory through the exchange table of the type, checked; shape and strides go to `dims`."""
    cdef DLTensor borrowed
    if table.dltensor_from_py_object_no_sync(<void*>x, &borrowed) != 0:
        try:
            raise_table_error(type(x), func)
        except RuntimeError as error:  # torch's, with a trace of its C++
            raise BufferError(f"{func}: {type(x).__qualname__} refused: {first_line(str(error))}") from None
    if read_layout(&borrowed, out, dims) != 0:
        check_tensor(out, func)
    apply_byte_offset(out)
    return 0


cdef int raise_table_error(object kind, str func) except -1:
    """Raise the error that a function of an exchange table has set, or one that says that it set none."""
    if PyErr_Occurred() == NULL:
        owner = "the producer" if kind is None else kind.__qualname__
        raise BufferError(f"{func}: the exchange table of {owner} failed without saying why")
    return -1


cdef int adopt_object(object owner, ImportedTensor* out, str func) except -1:
    """Let a Python object keep the memory of a view."""
    cdef Block* block = adopt(out.view.data, <void*>owner, free_object)
    if block == NULL:
        raise MemoryError(f"{func}: allocation failed for a block header")
    Py_INCREF(owner)
    out.block = block
    return 0


# -- in ---------------------------------------------------------------------------------------------------------------

cdef int import_tensor(object x, const TypeEntry* entry, object stream, ImportedTensor* out, str func) except -1:
    """Take a tensor from any object that speaks DLPack: exchange table, ``__dlpack__`` or a capsule."""
    cdef bint legacy, immutable
    cdef DLManagedTensorVersioned* managed = NULL
    if entry.path == TABLE:
        if entry.table.managed_tensor_from_py_object_no_sync(<void*>x, &managed) != 0:
            raise_table_error(type(x), func)
        if managed == NULL:
            raise BufferError(f"{func}: the exchange table of {type(x).__qualname__} reported success and gave no "
                              f"tensor")
        return import_managed(managed, out, func)
    if entry.path == CAPSULE:
        return _take_capsule(x, out, func)
    capsule = _call_dlpack(x, entry, stream, func)
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"{func}: {type(x).__qualname__}.__dlpack__ must return a capsule, got "
                        f"{type(capsule).__qualname__}")
    legacy = PyCapsule_IsValid(capsule, b"dltensor")
    if entry.is_immutable and entry.signature == 0 and stream is None and legacy:
        update_entry(type(x), _LEGACY, entry.device_agrees)
    immutable = entry.is_immutable or legacy and is_native(<void*>Py_TYPE(x)) and _is_class_of(_ARROW, type(x))
    _take_capsule(capsule, out, func)
    if immutable:
        out.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return 0


cdef int _take_capsule(object capsule, ImportedTensor* out, str func) except -1:
    """Consume a capsule: it is renamed first, so that no other consumer can import it, whatever fails next."""
    cdef bint versioned = False
    cdef void* managed
    # Without a GIL another thread may be taking it: reading the name and changing it is one step.
    with cython.critical_section(capsule):
        managed = _checked_capsule(capsule, &versioned, func)
        if versioned:
            PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        else:
            PyCapsule_SetName(capsule, b"used_dltensor")
        PyCapsule_SetDestructor(capsule, NULL)
    if versioned:
        return import_managed(<DLManagedTensorVersioned*>managed, out, func)
    return _take_legacy(<DLManagedTensor*>managed, out, func)


cdef void* _checked_capsule(object capsule, bint* versioned, str func) except NULL:
    """The struct of a capsule that was not taken yet, and which of the two layouts it has. Where it succeeds, no Python
    code has run."""
    cdef const char* name = PyCapsule_GetName(capsule)
    cdef void* managed
    versioned[0] = name != NULL and strcmp(name, b"dltensor_versioned") == 0
    if not versioned[0] and (name == NULL or strcmp(name, b"dltensor") != 0):
        text = "no name" if name == NULL else repr((<bytes>name).decode("utf-8", "replace"))
        if name != NULL and strncmp(name, b"used_dltensor", 13) == 0:
            raise BufferError(f"{func}: this capsule was already consumed (its name is {text}); a capsule can be "
                              f"taken once, so export again with __dlpack__()")
        raise BufferError(f"{func}: expected a capsule named 'dltensor_versioned' or 'dltensor', got {text}")
    managed = PyCapsule_GetPointer(capsule, name)
    if dlt_check_pointer(managed) != 0:
        raise BufferError(f"{func}: the capsule holds {hex(<size_t>managed)}, which cannot be the address of a "
                          f"tensor (rule tensor.pointer)")
    if dlt_check_layout(managed, versioned[0]) != 0:
        # Not called: the field that should be the deleter is something else.
        raise BufferError(f"{func}: the capsule is named {(<bytes>name).decode()!r} and holds a struct of the other "
                          f"layout (rule tensor.layout); the producer mixed them up")
    return managed


# The signatures that `__dlpack__` has had, newest first. An entry remembers the one that worked. Classes of immutable
# arrays that answer a version with a capsule of before 1.0 are asked without one, where there is no stream to pass: of
# jax 1 % less.
cdef enum:
    _LEGACY = 3
cdef tuple _KEYWORDS = ("max_version",)
cdef tuple _KEYWORDS_STREAM = ("stream", "max_version")
cdef tuple _KEYWORDS_OLD = ("stream",)
cdef str _DLPACK = "__dlpack__"
cdef tuple _VERSION = DLPACK_VERSION


cdef object _call_dlpack(object x, const TypeEntry* entry, object stream, str func):
    cdef PyObject* arguments[4]
    cdef PyObject* result
    cdef bint legacy = entry.signature == _LEGACY, inside = False, framed = False
    cdef int known = entry.signature, signature = known if not legacy else 2 if stream is None else 0
    refused = None
    while True:
        arguments[0] = NULL
        arguments[1] = <PyObject*>x
        if signature == 0 and stream is None:
            arguments[2] = <PyObject*>_VERSION
            result = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                               <PyObject*>_KEYWORDS)
        elif signature == 0:
            arguments[2] = <PyObject*>stream
            arguments[3] = <PyObject*>_VERSION
            result = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                               <PyObject*>_KEYWORDS_STREAM)
        elif signature == 1 and stream is not None:
            arguments[2] = <PyObject*>stream
            result = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                               <PyObject*>_KEYWORDS_OLD)
        else:
            result = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1],
                                               1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
        if result != NULL:
            capsule = owned(result)
            if not legacy and signature != known and _refuses_itself(type(x), framed):
                update_entry(type(x), signature, entry.device_agrees)
            return capsule
        # Only a TypeError can mean that the signature is older, and none of its subclasses, which say more (pyarrow's).
        # Compiled and forwarding methods raise it with a frame.
        error = take_error(&inside)
        if type(error) is not TypeError or signature == 2:
            _raise_helpful(refused, error)
        if refused is None:
            refused = error
        framed = framed or inside
        signature = 2 if stream is None else signature + 1


cdef bint _refuses_itself(object kind, bint framed) except -1:
    """Test whether an older signature is that of the class, which can be remembered, not of what an object forwards to.

    Of classes in Python a frame tells: their own signature refuses keywords before there is one.
    """
    return callable(getattr(kind, _DLPACK, None)) and (not framed or is_native(<void*>kind))


cdef int _raise_helpful(object refused, object error) except -1:
    """Raise the error of the last try, from that of the first one; alone the first one where it is not about arguments,
    so that it comes from the export itself, and the older signatures add nothing."""
    if refused is None:
        raise error
    first = describe_error(refused)
    if isinstance(error, (TypeError, BufferError)) and ("argument" not in first or first == describe_error(error)):
        raise refused
    raise error from refused


# -- out --------------------------------------------------------------------------------------------------------------

cdef void _end_capsule(PyObject* capsule) noexcept:
    # Unconsumed: the capsule still bears the producer's name. The object has no references left, so it stays raw.
    cdef DLManagedTensorVersioned* managed
    if PyCapsule_IsValidRaw(capsule, b"dltensor_versioned"):
        managed = <DLManagedTensorVersioned*>PyCapsule_GetPointerRaw(capsule, b"dltensor_versioned")
        if block_of(managed) != NULL:
            managed.deleter(managed)  # our own deleter does not raise
        else:
            delete_managed(managed)


cdef void _end_legacy_capsule(PyObject* capsule) noexcept:
    cdef DLManagedTensor* managed
    if PyCapsule_IsValidRaw(capsule, b"dltensor"):
        managed = <DLManagedTensor*>PyCapsule_GetPointerRaw(capsule, b"dltensor")
        managed.deleter(managed)  # always our own deleter


cdef object capsule_around(DLManagedTensorVersioned* managed):
    """A versioned capsule that owns a managed struct; if its allocation fails, the struct is released."""
    cdef PyObject* capsule = PyCapsule_NewRaw(managed, b"dltensor_versioned", _end_capsule)
    if capsule == NULL:
        delete_managed(managed)
    return owned(capsule)


cdef object export_capsule(const DLTensor* view, Block* block, uint64_t flags):
    """Export as a versioned capsule."""
    cdef DLManagedTensorVersioned* managed = export_managed(view[0], block, flags)
    if managed == NULL:
        raise MemoryError("__dlpack__: allocation failed for the exported struct")
    return capsule_around(managed)


cdef object export_legacy_capsule(const DLTensor* view, Block* block, uint64_t flags):
    """Export as a capsule of the layout before 1.0, which has no flags."""
    cdef PyObject* capsule
    cdef DLManagedTensor* managed
    if flags & DLPACK_FLAG_BITMASK_READ_ONLY:
        raise BufferError("__dlpack__: the tensor is read-only, which a capsule of the layout before 1.0 cannot "
                          "express; ask with max_version=(1, 0), or export a copy()")
    if flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        raise BufferError("__dlpack__: elements are padded to bytes, which a capsule of the layout before 1.0 "
                          "cannot express; ask with max_version=(1, 1)")
    managed = export_legacy(view[0], block)
    if managed == NULL:
        raise MemoryError("__dlpack__: allocation failed for the exported struct")
    capsule = PyCapsule_NewRaw(managed, b"dltensor", _end_legacy_capsule)
    if capsule == NULL:
        delete_legacy(managed)
    return owned(capsule)


# -- arguments of an export --------------------------------------------------------------------------------------------

cdef tuple read_version(object max_version):
    try:
        major, minor = max_version
        return PyNumber_Index(major), PyNumber_Index(minor)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(f"__dlpack__: max_version must be None or two integers such as (1, 3), got "
                        f"{max_version!r}") from None


cdef int check_stream_type(object stream) except -1:
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"__dlpack__: stream must be None or an integer, got {stream!r}")
    return 0


cdef int check_cuda_stream(object stream) except -1:
    if stream is None:
        return 0
    check_stream_type(stream)
    if stream < -1 or stream == 0:
        raise ValueError(f"__dlpack__: a CUDA stream is -1 (no synchronization), 1 (legacy default), 2 (per-thread "
                         f"default) or an address; {stream} is ambiguous or none of these")
    return 0
