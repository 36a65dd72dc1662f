# SPDX-License-Identifier: Apache-2.0
"""The doors: how a foreign tensor becomes ours, and ours a capsule. No arithmetic here, no arrays without DLPack.

One shape inside: a judged view and a block that keeps its memory. `take` alone consumes, `judge` alone refuses,
`lend_capsule` alone exports. Legacy structs exist in this file and nowhere else.
"""
import os
import warnings

from cpython.object cimport PyObject, Py_TYPE
from cpython.ref cimport Py_INCREF
from cpython.pycapsule cimport (PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
                                PyCapsule_New, PyCapsule_SetDestructor, PyCapsule_SetName)
from libc.string cimport memcpy, strcmp, strncmp

from ._native cimport adopt, lend, retain
from ._words cimport DLPACK_FLAG_BITMASK_READ_ONLY, DLManagedTensor, DLPackExchangeAPIHeader, DLPackVersion, is_handle

from ._words import DLPACK_VERSION, ConformanceWarning

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_tensor(const DLTensor*)
    int dlt_check_version(DLPackVersion)
    int dlt_check_pointer(const void*)
    int dlt_check_layout(const void*, int)
    size_t dlt_explain_tensor(const DLTensor*, char*, size_t)

cdef extern from "native/memory/loan.h" namespace "dlt" nogil:
    DLManagedTensor* lend_legacy(const DLTensor&, Block*) noexcept
    Block* block_of(const DLManagedTensorVersioned*) noexcept

cdef extern from "guard.h" namespace "dlt" nogil:
    void delete_managed(DLManagedTensorVersioned*) noexcept
    void delete_legacy "dlt::delete_managed"(DLManagedTensor*) noexcept
    void free_versioned(Block*) noexcept
    void free_legacy(Block*) noexcept

cdef extern from "guard.h" namespace "dlt":
    object take_error(bint* inside)

cdef extern from "Python.h":
    PyObject* PyObject_VectorcallMethod(PyObject*, PyObject**, size_t, PyObject*) noexcept
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyObject* PyErr_Occurred() noexcept
    bint PyCapsule_IsValidRaw "PyCapsule_IsValid"(PyObject*, const char*) noexcept
    void* PyCapsule_GetPointerRaw "PyCapsule_GetPointer"(PyObject*, const char*) noexcept
    uint32_t type_version "dlt_type_version"(void*) noexcept
    void Py_DecrefRaw "Py_DECREF"(PyObject*)

cdef extern from *:
    """
    static inline uint32_t dlt_type_version(void* type) { return ((PyTypeObject*)type)->tp_version_tag; }
    static inline int dlt_has_buffer(void* type) {
      PyBufferProcs* procs = ((PyTypeObject*)type)->tp_as_buffer;
      return procs && procs->bf_getbuffer;
    }
    static inline PyObject* dlt_owned(PyObject* object) { return object; }
    """
    bint has_buffer "dlt_has_buffer"(void* type) noexcept
    # Takes over a new reference; NULL means that an error is set.
    object owned "dlt_owned"(PyObject*)
    PyObject* PyCapsule_NewRaw "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept) noexcept

# -- what a type offers, remembered -----------------------------------------------------------------------------------

cdef enum:
    ENTRIES = 512
    LINKS = 8
cdef uint64_t HASH = 0x9E3779B97F4A7C15
cdef TypeEntry _entries[ENTRIES]
cdef bint _use_tables = os.environ.get("DLTENSOR_NO_EXCHANGE_API", "") in ("", "0")

# Producers whose arrays never change, although their legacy capsules cannot say so.
_IMMUTABLE = ("jaxlib", "jax", "tensorflow")
cdef object _CapsuleType = type(PyCapsule_New(<void*>_entries, NULL, NULL))


cdef TypeEntry* entry_of(object x) except NULL:
    return entry_of_type(<object>Py_TYPE(x))


cdef TypeEntry* entry_of_type(object kind) except NULL:
    # Two places per type, so that two types that meet in one do not push each other out by turns.
    cdef TypeEntry* pair = &_entries[<uint64_t><size_t><void*>kind * HASH >> 55 & ~<uint64_t>1]
    # No two types ever bear the same version, so an entry outlives its type without harm; 0 is a type without one.
    cdef uint32_t version = type_version(<void*>kind)
    if pair.type == <void*>kind and pair.version == version and version != 0:
        return pair
    if pair[1].type == <void*>kind and pair[1].version == version and version != 0:
        return pair + 1
    if pair.type != NULL and pair.type != <void*>kind:
        pair += 1
    return _study(kind, pair)


cdef TypeEntry* _study(object kind, TypeEntry* entry) except NULL:
    """Find out how objects of a type are read: the fastest door it has."""
    cdef void* raw_type = <void*>kind
    cdef DLPackExchangeAPI* table = NULL
    cdef Door door
    module = kind.__module__.partition(".")[0] if isinstance(getattr(kind, "__module__", None), str) else ""
    if _use_tables:
        table = _find_table(kind)
    if table != NULL:
        door = TABLE
    elif kind is _CapsuleType:
        door = CAPSULE
    elif module == "numpy" and kind.__name__ == "ndarray":
        door = NDARRAY
    elif hasattr(kind, "__dlpack__"):
        door = PROTOCOL
    elif hasattr(kind, "__cuda_array_interface__"):
        door = CUDA_ARRAY_INTERFACE
    elif _is_numpy_scalar(kind):
        door = ARRAY  # its buffer is bare bytes for some types, and none for those of ml_dtypes
    elif has_buffer(raw_type):
        door = BUFFER
    elif hasattr(kind, "__array_interface__"):
        door = ARRAY_INTERFACE
    elif hasattr(kind, "__array__"):
        door = ARRAY
    else:
        door = NONE
    entry.type = raw_type
    entry.version = type_version(raw_type)
    entry.door = door
    entry.signature = 0
    entry.table = table
    entry.immutable = module in _IMMUTABLE
    entry.torch = _is_torch(kind)
    return entry


cdef bint _is_numpy_scalar(object kind):
    return any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__)


cdef bint _is_torch(object kind):
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in kind.__mro__)


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
                warnings.warn(f"{kind.__qualname__}.{name}: a function that DLPack 1.3 demands is NULL; "
                              f"falling back to __dlpack__", ConformanceWarning, stacklevel=2)
                break
            header = header.prev_api
    return NULL


# -- judging and owning -----------------------------------------------------------------------------------------------

cdef int judge(const DLTensor* view, str where) except -1:
    """Refuse what cannot be used; the sentence names field, value and rule."""
    cdef char text[512]
    if dlt_check_tensor(view) != 0:
        dlt_explain_tensor(view, text, sizeof(text))
        raise BufferError(f"{where}: {text.decode('utf-8', 'replace')}")
    return 0


cdef inline void _fold(DLTensor* view) noexcept:
    # On devices whose data is a handle the offset must stay where it is.
    if view.byte_offset != 0 and not is_handle(<int32_t>view.device.device_type):
        view.data = <char*>view.data + view.byte_offset
        view.byte_offset = 0


cdef int take_owned(DLManagedTensorVersioned* managed, Taken* out, str where) except -1:
    """Turn a managed struct that is ours into a judged view. Whatever fails, its deleter runs exactly once."""
    cdef int ndim = managed.dl_tensor.ndim
    cdef Block* block
    if dlt_check_version(managed.version) != 0:
        major, minor = managed.version.major, managed.version.minor
        delete_managed(managed)
        raise BufferError(f"{where}: expected DLPack 1.x, got version {major}.{minor} (rule version.major); ask the "
                          f"producer for max_version={DLPACK_VERSION}")
    # A loan of ours is judged too: whoever had it may have changed it.
    if dlt_check_tensor(&managed.dl_tensor) != 0:
        return _refuse(managed, where)
    block = block_of(managed)
    if block != NULL:
        # A loan of ours comes home: back to the block itself, and the loan ends here.
        retain(block)
        out.view = managed.dl_tensor
        memcpy(out.room, managed.dl_tensor.shape, ndim * sizeof(int64_t))
        out.view.shape = out.room
        if managed.dl_tensor.strides != NULL:
            memcpy(out.room + ndim, managed.dl_tensor.strides, ndim * sizeof(int64_t))
            out.view.strides = out.room + ndim
        out.flags = managed.flags
        _fold(&out.view)  # an adapted tensor goes out with an offset
        delete_managed(managed)
    else:
        block = adopt(managed.dl_tensor.data, managed, free_versioned)
        if block == NULL:
            delete_managed(managed)
            raise MemoryError(f"{where}: no memory left for a block header")
        out.view = managed.dl_tensor
        out.flags = managed.flags
        _fold(&out.view)
    out.block = block
    return 0


cdef int _refuse(DLManagedTensorVersioned* managed, str where) except -1:
    try:
        judge(&managed.dl_tensor, where)
    finally:
        delete_managed(managed)


cdef int _take_legacy(DLManagedTensor* managed, Taken* out, str where) except -1:
    cdef Block* block
    try:
        judge(&managed.dl_tensor, where)
    except BaseException:
        delete_legacy(managed)
        raise
    block = adopt(managed.dl_tensor.data, managed, free_legacy)
    if block == NULL:
        delete_legacy(managed)
        raise MemoryError(f"{where}: no memory left for a block header")
    out.view = managed.dl_tensor
    out.flags = 0
    out.block = block
    _fold(&out.view)
    return 0


# -- torch's lazy views -----------------------------------------------------------------------------------------------
# A tensor may be negated or conjugated in name only. torch's exchange table hands out the memory all the same, with the
# wrong sign. _torch.py finds out where torch keeps the two bits, so that asking costs two loads.

cdef bint _torch_known = False
cdef Py_ssize_t _torch_impl = 0, _torch_keys = 0
cdef uint64_t _torch_lazy = 0


def set_torch_keys(Py_ssize_t impl, Py_ssize_t keys, uint64_t lazy):
    """Say where torch keeps its dispatch keys and which of them mean lazy; 0, 0, 0 when that is not known."""
    global _torch_known, _torch_impl, _torch_keys, _torch_lazy
    _torch_impl, _torch_keys, _torch_lazy, _torch_known = impl, keys, lazy, True


cdef bint is_lazy(object x) except -1:
    cdef char* impl
    if not _torch_known:
        from ._torch import find_keys
        find_keys(x)
    if _torch_lazy == 0:
        return x.is_neg() or x.is_conj()
    impl = (<char**>(<char*><void*>x + _torch_impl))[0]
    return impl != NULL and (<uint64_t*>(impl + _torch_keys))[0] & _torch_lazy != 0


# -- borrowing --------------------------------------------------------------------------------------------------------

cdef bint borrow_table(object x, const TypeEntry* entry, DLTensor* out, str where) except -1:
    """A judged view through the exchange table of the type, good until control goes back to its owner.

    Nothing is taken. False when there is no table that lends views, or the elements are not what memory says.
    """
    cdef const DLPackExchangeAPI* table = entry.table
    if table == NULL or table.dltensor_from_py_object_no_sync == NULL or entry.torch and is_lazy(x):
        return False
    if table.dltensor_from_py_object_no_sync(<void*>x, out) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{where}: the exchange table of {type(x).__qualname__} failed without saying why")
        raise_pending()
    if dlt_check_tensor(out) != 0:
        judge(out, where)
    _fold(out)
    return True


cdef int raise_pending() except -1:
    """Let the error that is already set propagate."""
    return -1


cdef int adopt_object(object owner, Taken* out, str where) except -1:
    """Let a Python object keep the memory of a view."""
    cdef Block* block = adopt(out.view.data, <void*>owner, free_object)
    if block == NULL:
        raise MemoryError(f"{where}: no memory left for a block header")
    Py_INCREF(owner)
    out.block = block
    return 0


# -- in ---------------------------------------------------------------------------------------------------------------

cdef int take(object x, TypeEntry* entry, object stream, Taken* out, str where) except -1:
    """Take a tensor from any object that speaks DLPack: exchange table, ``__dlpack__`` or a capsule."""
    if entry.door == TABLE:
        return _take_from_table(x, entry.table, out, where)
    if entry.door == CAPSULE:
        return _take_capsule(x, out, where)
    immutable = entry.immutable  # before the call, which may have the entry stand for another type
    capsule = _call_dlpack(x, entry, stream, where)
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"{where}: {type(x).__qualname__}.__dlpack__ must return a capsule, got "
                        f"{type(capsule).__qualname__}")
    _take_capsule(capsule, out, where)
    if immutable:
        out.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return 0


cdef inline int _take_from_table(object x, DLPackExchangeAPI* table, Taken* out, str where) except -1:
    cdef DLManagedTensorVersioned* managed = NULL
    if table.managed_tensor_from_py_object_no_sync(<void*>x, &managed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{where}: the exchange table of {type(x).__qualname__} failed without saying why")
        return -1
    if managed == NULL:
        raise BufferError(f"{where}: the exchange table of {type(x).__qualname__} reported success and gave no tensor")
    return take_owned(managed, out, where)


cdef int _take_capsule(object capsule, Taken* out, str where) except -1:
    """Consume a capsule: it is renamed before anything else can go wrong, so that nobody takes it twice."""
    cdef const char* name = PyCapsule_GetName(capsule)
    cdef bint versioned = name != NULL and strcmp(name, b"dltensor_versioned") == 0
    cdef void* managed
    if not versioned and (name == NULL or strcmp(name, b"dltensor") != 0):
        text = "no name" if name == NULL else repr((<bytes>name).decode("utf-8", "replace"))
        if name != NULL and strncmp(name, b"used_dltensor", 13) == 0:
            raise BufferError(f"{where}: this capsule was already consumed (its name is {text}); a capsule can be "
                              f"taken once, so export again with __dlpack__()")
        raise BufferError(f"{where}: expected a capsule named 'dltensor_versioned' or 'dltensor', got {text}")
    managed = PyCapsule_GetPointer(capsule, name)
    if dlt_check_pointer(managed) != 0:
        raise BufferError(f"{where}: the capsule holds {hex(<size_t>managed)}, which cannot be the address of a "
                          f"tensor (rule tensor.pointer)")
    if dlt_check_layout(managed, versioned) != 0:
        # Left alone: what lies where the deleter should be is something else.
        raise BufferError(f"{where}: the capsule is named {(<bytes>name).decode()!r} and holds a struct of the other "
                          f"layout (rule tensor.layout); the producer mixed them up")
    if versioned:
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
    else:
        PyCapsule_SetName(capsule, b"used_dltensor")
    PyCapsule_SetDestructor(capsule, NULL)
    if versioned:
        return take_owned(<DLManagedTensorVersioned*>managed, out, where)
    return _take_legacy(<DLManagedTensor*>managed, out, where)


# The signatures that `__dlpack__` has had, newest first. An entry remembers the one that worked.
cdef tuple _KEYWORDS = ("max_version",)
cdef tuple _KEYWORDS_STREAM = ("stream", "max_version")
cdef tuple _KEYWORDS_OLD = ("stream",)
cdef str _DLPACK = "__dlpack__"


cdef object _call_dlpack(object x, TypeEntry* entry, object stream, str where):
    cdef PyObject* arguments[4]
    cdef PyObject* made
    cdef int signature = entry.signature
    cdef bint inside = False
    refused = None
    while True:
        arguments[0] = NULL
        arguments[1] = <PyObject*>x
        if signature == 0 and stream is None:
            arguments[2] = <PyObject*>DLPACK_VERSION
            made = PyObject_VectorcallMethod(<PyObject*>_DLPACK, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             <PyObject*>_KEYWORDS)
        elif signature == 0:
            arguments[2] = <PyObject*>stream
            arguments[3] = <PyObject*>DLPACK_VERSION
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
            entry = entry_of(x)  # the call may have changed what is remembered
            entry.signature = signature
            capsule = <object>made
            Py_DecrefRaw(made)
            return capsule
        # Only a signature that cannot take the keyword is a reason to try an older one.
        error = take_error(&inside)
        if not isinstance(error, TypeError) or inside or signature == 2:
            if refused is not None and error is not refused:
                raise error from refused
            raise error
        refused = error
        signature = 2 if stream is None else signature + 1


# -- out --------------------------------------------------------------------------------------------------------------

cdef void _end_capsule(PyObject* capsule) noexcept:
    # Unconsumed: the capsule still bears the producer's name. The object has no references left, so it stays raw.
    cdef DLManagedTensorVersioned* managed
    if PyCapsule_IsValidRaw(capsule, b"dltensor_versioned"):
        managed = <DLManagedTensorVersioned*>PyCapsule_GetPointerRaw(capsule, b"dltensor_versioned")
        if block_of(managed) != NULL:
            managed.deleter(managed)  # a loan of ours needs no guard
        else:
            delete_managed(managed)


cdef void _end_legacy_capsule(PyObject* capsule) noexcept:
    cdef DLManagedTensor* managed
    if PyCapsule_IsValidRaw(capsule, b"dltensor"):
        managed = <DLManagedTensor*>PyCapsule_GetPointerRaw(capsule, b"dltensor")
        managed.deleter(managed)  # always a loan of ours


cdef object capsule_around(DLManagedTensorVersioned* managed):
    """A versioned capsule that owns a managed struct; where there is no memory for it the struct is given back."""
    cdef PyObject* capsule = PyCapsule_NewRaw(managed, b"dltensor_versioned", _end_capsule)
    if capsule == NULL:
        delete_managed(managed)
    return owned(capsule)


cdef object lend_capsule(const DLTensor* view, Block* block, uint64_t flags):
    """Export as a versioned capsule."""
    cdef DLManagedTensorVersioned* loan = lend(view[0], block, flags)
    if loan == NULL:
        raise MemoryError("__dlpack__: no memory left for the exported struct")
    return capsule_around(loan)


cdef object lend_legacy_capsule(const DLTensor* view, Block* block):
    """Export as a capsule of the layout before 1.0."""
    cdef PyObject* capsule
    cdef DLManagedTensor* loan = lend_legacy(view[0], block)
    if loan == NULL:
        raise MemoryError("__dlpack__: no memory left for the exported struct")
    capsule = PyCapsule_NewRaw(loan, b"dltensor", _end_legacy_capsule)
    if capsule == NULL:
        delete_legacy(loan)
    return owned(capsule)
