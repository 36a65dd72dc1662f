# SPDX-License-Identifier: Apache-2.0
"""Import and export by DLPack: a foreign tensor becomes ours, and ours a capsule. Arrays without DLPack: buffers.pyx.

One form inside: a validated view and a block that keeps its memory. `import_tensor` alone consumes capsules,
`check_tensor` alone validates, `export_capsule` alone exports. Legacy structs exist in this file and nowhere else.
"""
import sys

cimport cython
from cpython.object cimport PyObject, Py_TYPE
from cpython.ref cimport Py_INCREF
from cpython.pycapsule cimport (PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
                                PyCapsule_New, PyCapsule_SetDestructor, PyCapsule_SetName)
from libc.stdlib cimport malloc
from libc.string cimport strcmp, strncmp

from .native cimport MAX_DIMS, adopt, environment_switch, export_managed, retain
from .threads cimport Published
from .types cimport DLPACK_FLAG_BITMASK_READ_ONLY, DLManagedTensor, DLPackExchangeAPIHeader, DLPackVersion, is_handle

from .foreign_text import describe_error, first_line
from .once import Once
from .types import DLPACK_VERSION, ConformanceWarning

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_tensor(const DLTensor*)
    int dlt_check_version(DLPackVersion)
    int dlt_check_pointer(const void*)
    int dlt_check_layout(const void*, int)
    size_t dlt_explain_tensor(const DLTensor*, char*, size_t)

cdef extern from "native/memory/managed.h" namespace "dlt" nogil:
    DLManagedTensor* export_legacy(const DLTensor&, Block*) noexcept
    Block* block_of(const DLManagedTensorVersioned*) noexcept

cdef extern from "_core/gil.h" namespace "dlt" nogil:
    void delete_managed(DLManagedTensorVersioned*) noexcept
    void delete_legacy "dlt::delete_managed"(DLManagedTensor*) noexcept
    void free_versioned(Block*) noexcept
    void free_legacy(Block*) noexcept

cdef extern from "_core/gil.h" namespace "dlt":
    object take_error(bint* inside)

cdef extern from "_core/torch_abi.h" namespace "dlt" nogil:
    bint retain_counted "dlt::retain_storage"(void*) noexcept
    void free_storage(Block*) noexcept
    PyObject* torch_storage_object
    cppclass PlainKeys:
        bint has(uint64_t) noexcept
        void add(uint64_t) noexcept
    ctypedef void (*TorchDescribe)(const void*, DLTensor*)
    int describe_torch(TorchDescribe, const void*, DLTensor*) noexcept

cdef extern from "_core/type_table.h" namespace "dlt" nogil:
    uint32_t type_version(void*) noexcept
    uint32_t assigned_version(void*) noexcept
    cppclass TypeTable:
        const TypeEntry* find(void*) noexcept
        const TypeEntry* remember(void*, uint32_t version, const TypeEntry&) noexcept
        void amend(void*, int signature, bint agreed) noexcept

cdef extern from "Python.h":
    PyObject* PyObject_VectorcallMethod(PyObject*, PyObject**, size_t, PyObject*) noexcept
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyObject* PyErr_Occurred() noexcept
    bint PyCapsule_IsValidRaw "PyCapsule_IsValid"(PyObject*, const char*) noexcept
    void* PyCapsule_GetPointerRaw "PyCapsule_GetPointer"(PyObject*, const char*) noexcept
    object PyObject_CallOneArg(object, object)

cdef extern from *:
    """
    // A class that native code made: no Python code can pass its own off as one.
    static inline int dlt_is_native(void* type) { return !(((PyTypeObject*)type)->tp_flags & Py_TPFLAGS_HEAPTYPE); }
    static inline int dlt_is_subtype(void* type, void* base) {
      return PyType_IsSubtype((PyTypeObject*)type, (PyTypeObject*)base);
    }
    static inline int dlt_has_buffer(void* type) {
      PyBufferProcs* procs = ((PyTypeObject*)type)->tp_as_buffer;
      return procs && procs->bf_getbuffer;
    }
    static inline PyObject* dlt_owned(PyObject* object) { return object; }
    static inline PyObject* dlt_attribute(PyObject* descriptor, PyObject* object) {
      return Py_TYPE(descriptor)->tp_descr_get(descriptor, object, (PyObject*)Py_TYPE(object));
    }
    """
    bint has_buffer "dlt_has_buffer"(void* type) noexcept
    bint is_native "dlt_is_native"(void* type) noexcept
    bint is_subtype "dlt_is_subtype"(void* type, void* base) noexcept
    # Takes over a new reference; NULL means that an error is set.
    object owned "dlt_owned"(PyObject*)
    object attribute_of "dlt_attribute"(object descriptor, object)
    PyObject* PyCapsule_NewRaw "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept) noexcept

# -- what a type offers, remembered -----------------------------------------------------------------------------------

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
    return entry_of_type(<object>Py_TYPE(x))


cdef const TypeEntry* entry_of_type(object kind) except NULL:
    cdef const TypeEntry* known = _types.find(<void*>kind)
    return known if known != NULL else classify_type(kind)


cdef const TypeEntry* known_entry(void* kind) noexcept:
    """The entry of a type that was studied before, else NULL. Runs no Python code."""
    return _types.find(kind)


cdef const TypeEntry* classify_type(object kind) except NULL:
    """Find out how objects of a type are read: the fastest way it has. May run Python code of the type."""
    cdef void* raw_type = <void*>kind
    cdef DLPackExchangeAPI* table = NULL
    cdef TypeEntry entry
    cdef ImportPath path
    # Before all questions: what is changed meanwhile is not remembered.
    cdef uint32_t version = assigned_version(raw_type)
    cdef bint torch = _is_torch(kind), obeyed = torch and _overrides_export(kind)
    if _use_tables and not obeyed:
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
        path = COLUMN  # of pandas, polars, pyarrow: __array__ makes NaN of elements that are missing
    elif hasattr(kind, "__array__"):
        path = ARRAY
    else:
        path = NONE
    # NumPy's rules put such classes above arrays: an operator with one on either side is theirs.
    wraps_arrays = path in (COLUMN, ARRAY) and not is_numpy_scalar(kind) and hasattr(kind, "__array_ufunc__")
    immutable, known = _is_class_of(_IMMUTABLE, kind), _is_class_of(_KNOWN, kind)
    entry.path = path
    entry.signature = 0
    entry.immutable = immutable
    entry.wraps_arrays = wraps_arrays
    entry.known = known
    entry.agreed = False
    entry.torch = torch
    entry.obeyed = obeyed
    entry.table = table
    if torch and table != NULL:
        _torch_table.set(table)
    # CPython 3.11 gives a type its version when it is asked for an attribute.
    return _types.remember(raw_type, version if version != 0 else type_version(raw_type), entry)


cdef void amend_entry(object kind, int signature, bint agreed) noexcept:
    """Add to what is remembered of a type: the signature that worked, and whether its device agreed with an export."""
    _types.amend(<void*>kind, signature, agreed)


# A type is known by identity with the class that the loaded package holds, never by the text of its name.

cdef object _class_in(str package, str name):
    """A class that native code of a loaded package made, or None."""
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


cdef object _torch_base():
    """The native class that all torch tensors inherit from, or None while torch is not loaded."""
    native = _class_in("torch._C", "TensorBase")
    return _class_in("torch._C", "_TensorBase") if native is None else native


cdef bint _is_torch(object kind) except -1:
    base = _torch_base()
    return base is not None and is_subtype(<void*>kind, <void*>base)


cdef bint _overrides_export(object kind) except -1:
    """Test whether a class of torch tensors overrides its export: then its ``__dlpack__`` is called."""
    Tensor = sys.modules["torch"].Tensor
    for name in ("__dlpack__", "__dlpack_device__", "__torch_dispatch__"):
        if getattr(kind, name, None) is not getattr(Tensor, name, None):
            return True
    function = getattr(kind, "__torch_function__", None)
    # Of Parameter and its like the function is switched off, which is a builtin.
    return (getattr(function, "__func__", function) is not getattr(Tensor.__torch_function__, "__func__", None) and
            function is not sys.modules["torch"]._C._disabled_torch_function_impl)


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


cdef inline void apply_byte_offset(DLTensor* view) noexcept:
    # On devices whose data is a handle the offset must stay where it is.
    if view.byte_offset != 0 and not is_handle(<int32_t>view.device.device_type):
        view.data = <char*>view.data + view.byte_offset
        view.byte_offset = 0


cdef inline int read_layout(const DLTensor* view, DLTensor* out, int64_t* dims) noexcept:
    """Copy a foreign description, shape and strides into `dims` (128 numbers), and check the copy alone.

    Its owner may change the description at any time, so it is read once. Returns 0 or the rule that is broken.
    """
    cdef int i, ndim = view.ndim
    cdef int64_t* shape = view.shape
    cdef int64_t* strides = view.strides
    out[0] = view[0]
    out.ndim, out.shape, out.strides = ndim, shape, strides
    if 0 < ndim <= MAX_DIMS and dlt_check_pointer(shape) == 0 and (strides == NULL or dlt_check_pointer(strides) == 0):
        for i in range(ndim):
            dims[i] = shape[i]
        out.shape = dims
        if strides != NULL:
            for i in range(ndim):
                dims[ndim + i] = strides[i]
            out.strides = dims + ndim
    return dlt_check_tensor(out)


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


# -- what torch keeps behind a tensor ----------------------------------------------------------------------------------
# torch's exchange table hands out memory that torch itself would not export: of tensors that require grad, that are
# negated or conjugated lazily, that are no plain memory at all. And a tensor object is not its memory: `.data=`, `set_`
# and `resize_` give it another one. torch_fields.py finds out where torch keeps what tells these apart, and proves it.

cdef struct TorchFields:
    Py_ssize_t impl         # in the Python object: the pointer to the implementation
    Py_ssize_t keys         # in the implementation: the dispatch keys, 0 when not known
    Py_ssize_t autograd     # in the implementation: NULL in tensors that do not require grad, 0 when not known
    Py_ssize_t storage      # in the implementation: the pointer to the storage, 0 when not known
    Py_ssize_t resizable    # in the storage: the byte that allows it to be resized
    bint counted            # whether the storage counts its owners as torch_abi.h says
    unsigned char (*requires_grad)(const void*) noexcept  # torch's function of the implementation, NULL when not known
    TorchDescribe describe  # torch's function of the tensor that fills a DLTensor, NULL when not known
    PyObject* ask_gradient  # functions of Python: the descriptor of `requires_grad`,
    PyObject* storage_of    # that of `untyped_storage`,
    PyObject* examine       # and `examine` of torch_fields.py
cdef Published[TorchFields] _torch  # NULL until the first torch tensor comes
cdef Published[DLPackExchangeAPI] _torch_table
# Sets of dispatch keys of plain tensors, as torch itself classified them.
cdef PlainKeys _plain_keys


def set_torch_fields(Py_ssize_t impl, Py_ssize_t keys, Py_ssize_t autograd, Py_ssize_t storage, Py_ssize_t resizable,
                     storage_object, size_t gradient, size_t describe, requires_grad, storage_of, examine):
    """Register the offsets of torch's fields (0: unknown), and the functions to call where an offset is unknown.

    `storage_object` makes the Python object of a storage; None: its count of owners is unknown. `gradient` is the
    address of torch's function that tells whether an implementation requires grad, `describe` of the one that fills a
    DLTensor; 0: unknown.
    """
    global torch_storage_object
    # Neither the struct nor the functions are ever freed: other threads may be reading what was registered before.
    cdef TorchFields* fields = <TorchFields*>malloc(sizeof(TorchFields))
    if fields == NULL:
        raise MemoryError("set_torch_fields: allocation failed for the fields")
    fields.impl, fields.keys, fields.autograd = impl, keys, autograd
    fields.storage, fields.resizable = storage, resizable
    # The function is never given back: blocks that need it may outlive everything else.
    if storage_object is not None and torch_storage_object == NULL:
        Py_INCREF(storage_object)
        torch_storage_object = <PyObject*>storage_object
    fields.requires_grad = <unsigned char (*)(const void*) noexcept>gradient
    fields.describe = <TorchDescribe>describe
    fields.counted = storage != 0 and resizable != 0 and storage_object is not None
    for function in (requires_grad, storage_of, examine):
        Py_INCREF(function)
    fields.ask_gradient, fields.storage_of = <PyObject*>requires_grad, <PyObject*>storage_of
    fields.examine = <PyObject*>examine
    _torch.set(fields)


def _find_torch_fields():
    from .torch_fields import find_fields
    find_fields()


cdef object _know_torch = Once(_find_torch_fields)


cdef inline TorchFields* _fields_of_torch() except NULL:
    cdef TorchFields* torch = _torch.get()
    if torch == NULL:
        _know_torch()
        torch = _torch.get()
    return torch


cdef inline char* _torch_impl(const TorchFields* torch, object x) noexcept:
    return (<char**>(<char*><void*>x + torch.impl))[0]


cdef bint is_torch_table(const DLPackExchangeAPI* table) noexcept:
    return table == _torch_table.get()


cdef bint is_plain(object x, bint ask, str func) except -1:
    """Test whether a torch tensor is plain memory, as far as its keys tell. BufferError when it requires grad.

    `ask` allows to ask torch for the latter, which a torch function mode may intercept.
    """
    cdef char* impl
    cdef const TorchFields* torch = _torch.get()
    if torch == NULL or torch.keys == 0:
        return False
    impl = _torch_impl(torch, x)
    if impl == NULL or not _plain_keys.has((<uint64_t*>(impl + torch.keys))[0]):
        return False
    if ask and (torch.autograd == 0 or (<void**>(impl + torch.autograd))[0] != NULL):
        if (torch.requires_grad(impl) if torch.requires_grad != NULL else
                attribute_of(<object>torch.ask_gradient, x)):
            (<object>torch.examine)(x, func)  # raises
    return True


cdef bint is_lazy(object x, str func) except -1:
    """Test whether a torch tensor is negated or conjugated lazily. BufferError when it cannot be exported at all."""
    cdef const TorchFields* torch = _fields_of_torch()
    cdef bint lazy
    if is_plain(x, True, func):
        return False
    lazy = (<object>torch.examine)(x, func)
    if not lazy and torch.keys != 0 and _torch_impl(torch, x) != NULL:
        _plain_keys.add((<uint64_t*>(_torch_impl(torch, x) + torch.keys))[0])
    return lazy


cdef object hold_storage(object x):
    """Keep the memory of a plain torch tensor where it is, by its storage, which torch then refuses to resize."""
    cdef char* impl
    cdef char* storage
    cdef const TorchFields* torch = _fields_of_torch()
    held = PyObject_CallOneArg(<object>torch.storage_of, x)
    if torch.storage == 0 or torch.resizable == 0:
        _fix_storage(x)
        return held
    impl = _torch_impl(torch, x)
    storage = (<char**>(impl + torch.storage))[0]
    if storage != NULL and storage[torch.resizable] != 0:
        storage[torch.resizable] = 0
    return held


cdef void* retain_storage(object x) noexcept:
    """The storage of a plain torch tensor with one more owner, and no longer resizable; NULL: use `hold_storage`."""
    cdef char* impl
    cdef char* storage
    cdef const TorchFields* torch = _torch.get()
    if torch == NULL or not torch.counted:
        return NULL
    impl = _torch_impl(torch, x)
    if impl == NULL:
        return NULL
    storage = (<char**>(impl + torch.storage))[0]
    if storage == NULL or not retain_counted(storage):
        return NULL
    if storage[torch.resizable] != 0:
        storage[torch.resizable] = 0
    return storage


cdef int adopt_storage(void* storage, ImportedTensor* out, str func) except -1:
    """Let a storage of torch keep the memory of a view; takes over the reference."""
    cdef Block* block = adopt(out.view.data, storage, free_storage)
    if block == NULL:
        release_storage(storage)
        raise MemoryError(f"{func}: allocation failed for a block header")
    out.block = block
    return 0


cdef int _fix_storage(object x) except -1:
    """Forbid to resize a storage by the one public way that there is: an ndarray over it."""
    try:
        sys.modules["torch"].Tensor.numpy(x.detach())
    except (TypeError, RuntimeError):
        pass  # no NumPy, no host memory, or no NumPy dtype: see SECURITY.md
    return 0


# -- borrowing --------------------------------------------------------------------------------------------------------

cdef int borrow_table(object x, const DLPackExchangeAPI* table, DLTensor* out, int64_t* dims, str func) except -1:
    """A checked view through the exchange table of the type. Nothing is taken: the memory is its owner's.

    Shape and strides are copied to `dims`.
    """
    cdef DLTensor borrowed
    cdef const TorchFields* torch = _torch.get() if is_torch_table(table) else NULL
    if (torch != NULL and torch.describe != NULL
            and describe_torch(torch.describe, <char*><void*>x + torch.impl, &borrowed) == 0):
        pass
    elif table.dltensor_from_py_object_no_sync(<void*>x, &borrowed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{func}: the exchange table of {type(x).__qualname__} failed without saying why")
        try:
            raise_pending()
        except RuntimeError as error:  # of torch, with a trace of its C++
            raise BufferError(f"{func}: {type(x).__qualname__} refused: {first_line(str(error))}") from None
    if read_layout(&borrowed, out, dims) != 0:
        check_tensor(out, func)
    apply_byte_offset(out)
    return 0


cdef int raise_pending() except -1:
    """Let the error that is already set propagate."""
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
    if entry.path == TABLE:
        return _take_from_table(x, entry.table, out, func)
    if entry.path == CAPSULE:
        return _take_capsule(x, out, func)
    capsule = _call_dlpack(x, entry, stream, func)
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"{func}: {type(x).__qualname__}.__dlpack__ must return a capsule, got "
                        f"{type(capsule).__qualname__}")
    legacy = PyCapsule_IsValid(capsule, b"dltensor")
    if entry.immutable and entry.signature == 0 and stream is None and legacy:
        amend_entry(type(x), _LEGACY, entry.agreed)
    immutable = entry.immutable or legacy and is_native(<void*>Py_TYPE(x)) and _is_class_of(_ARROW, type(x))
    _take_capsule(capsule, out, func)
    if immutable:
        out.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return 0


cdef int _take_from_table(object x, DLPackExchangeAPI* table, ImportedTensor* out, str func) except -1:
    cdef DLManagedTensorVersioned* managed = NULL
    if table.managed_tensor_from_py_object_no_sync(<void*>x, &managed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{func}: the exchange table of {type(x).__qualname__} failed without saying why")
        return -1
    if managed == NULL:
        raise BufferError(f"{func}: the exchange table of {type(x).__qualname__} reported success and gave no tensor")
    return import_managed(managed, out, func)


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
    cdef PyObject* made
    cdef bint legacy = entry.signature == _LEGACY, inside = False, framed = False
    cdef int known = entry.signature, signature = known if not legacy else 2 if stream is None else 0
    refused = None
    while True:
        arguments[0] = NULL
        arguments[1] = <PyObject*>x
        if signature == 0 and stream is None:
            arguments[2] = <PyObject*>_VERSION
            made = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             <PyObject*>_KEYWORDS)
        elif signature == 0:
            arguments[2] = <PyObject*>stream
            arguments[3] = <PyObject*>_VERSION
            made = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             <PyObject*>_KEYWORDS_STREAM)
        elif signature == 1 and stream is not None:
            arguments[2] = <PyObject*>stream
            made = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             <PyObject*>_KEYWORDS_OLD)
        else:
            made = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1],
                                             1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
        if made != NULL:
            capsule = owned(made)
            if not legacy and signature != known and _refuses_itself(type(x), framed):
                amend_entry(type(x), signature, entry.agreed)
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


cdef object export_legacy_capsule(const DLTensor* view, Block* block):
    """Export as a capsule of the layout before 1.0."""
    cdef PyObject* capsule
    cdef DLManagedTensor* managed = export_legacy(view[0], block)
    if managed == NULL:
        raise MemoryError("__dlpack__: allocation failed for the exported struct")
    capsule = PyCapsule_NewRaw(managed, b"dltensor", _end_legacy_capsule)
    if capsule == NULL:
        delete_legacy(managed)
    return owned(capsule)
