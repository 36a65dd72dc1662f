# SPDX-License-Identifier: Apache-2.0
"""Reads, creates, imports and watches managed tensors and exchange tables without trusting them. Decides nothing."""

from collections import namedtuple

from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset, strdup
from libcpp cimport bool as cbool
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Occurred
from cpython.ref cimport Py_DECREF, Py_INCREF

from .._core.types cimport (DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackExchangeAPI,
                            DLPackExchangeAPIHeader, DLTensor, SetError)

cdef extern from "probe.h" namespace "dlt::probe" nogil:
    cppclass atomic_int "std::atomic<int>":
        int load()
    cppclass OwnStruct:
        OwnStruct() except +
        DLManagedTensorVersioned versioned
        DLManagedTensor legacy
        atomic_int deleted
        int64_t* shape
        int64_t* strides
        void* owned
        size_t owned_bytes
    cppclass Watched:
        atomic_int deleted
        void* original
    cppclass ReportedError:
        int calls
        const char* kind
        const char* message
    void delete_versioned(DLManagedTensorVersioned*) noexcept
    void delete_legacy(DLManagedTensor*) noexcept
    void delete_needing_python(DLManagedTensorVersioned*) noexcept
    void delete_needing_interpreter(DLManagedTensorVersioned*) noexcept
    void delete_leaking(DLManagedTensorVersioned*) noexcept
    void end_capsule()
    void end_capsule_always()
    Watched* watch_struct "dlt::probe::watch"(void*, cbool)
    void call_deleter(void*, cbool) noexcept
    void delete_on_thread(void*, cbool) except +
    int late "dlt::probe::delete_after_exit"(void*, cbool)
    void* aligned_memory(size_t)
    void set_error(void*, const char*, const char*) noexcept

cdef extern from *:
    ctypedef void (*Ending "PyCapsule_Destructor")()
    object PyCapsule_New(void*, const char*, Ending)
    const char* PyCapsule_GetName(object) except? NULL
    void* PyCapsule_GetPointer(object, const char*) except NULL
    int PyCapsule_SetName(object, const char*) except -1
    int PyCapsule_SetDestructor(object, Ending) except -1
    int PyCapsule_CheckExact(object)
    int PyCapsule_IsValid(object, const char*)

LAYOUTS = {"dltensor": True, "dltensor_versioned": False}
_TABLE = b"dlpack_exchange_api"

Struct = namedtuple("Struct", "legacy version flags data device ndim dtype shape strides byte_offset context deleter "
                              "address shape_address strides_address")
Struct.__doc__ = "All fields of a managed tensor as they are; shape and strides are None where the pointer is NULL."


cdef tuple _extents(int64_t* values, int32_t ndim):
    cdef int i
    if values == NULL or ndim < 0 or ndim > 64:
        return None
    return tuple([values[i] for i in range(ndim)])


cdef object _describe(const DLTensor* t, bint legacy, tuple version, uint64_t flags, void* context, void* deleter,
                      void* address):
    # The layout of another major version is unknown.
    cdef bint known = version is None or version[0] == 1
    return Struct(legacy, version, flags, <uintptr_t>t.data, (<int>t.device.device_type, t.device.device_id), t.ndim,
                  (t.dtype.code, t.dtype.bits, t.dtype.lanes),
                  _extents(t.shape, t.ndim) if known else None, _extents(t.strides, t.ndim) if known else None,
                  t.byte_offset, <uintptr_t>context, <uintptr_t>deleter, <uintptr_t>address, <uintptr_t>t.shape,
                  <uintptr_t>t.strides)


cdef object _describe_managed(void* managed, bint legacy):
    cdef DLManagedTensorVersioned* v = <DLManagedTensorVersioned*>managed
    cdef DLManagedTensor* legacy_struct = <DLManagedTensor*>managed
    if legacy:
        return _describe(&legacy_struct.dl_tensor, True, None, 0, legacy_struct.manager_ctx,
                         <void*>legacy_struct.deleter, managed)
    return _describe(&v.dl_tensor, False, (v.version.major, v.version.minor), v.flags, v.manager_ctx,
                     <void*>v.deleter, managed)


def is_capsule(thing):
    """Test whether `thing` is a PyCapsule of any name."""
    return bool(PyCapsule_CheckExact(thing))


def name_of(capsule):
    """Return the current name of a capsule, or None."""
    cdef const char* name = PyCapsule_GetName(capsule)
    return None if name == NULL else (<bytes>name).decode("utf-8", "replace")


def name_address(capsule):
    """Return the address at which the name of a capsule is stored."""
    return <uintptr_t>PyCapsule_GetName(capsule)


cdef void* _pointer(capsule) except NULL:
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def look(capsule):
    """Read an unconsumed DLPack capsule without consuming it; ValueError when it is none."""
    name = name_of(capsule) if PyCapsule_CheckExact(capsule) else None
    if name not in LAYOUTS:
        raise ValueError(f"look: expected a capsule named dltensor or dltensor_versioned, got {name or type(capsule)}")
    return _describe_managed(_pointer(capsule), LAYOUTS[name])


# A token of this module: objects that hold a foreign address cannot be created elsewhere.
cdef object _TOKEN = object()


cdef int _check_token(token, str name, str maker) except -1:
    if token is not _TOKEN:
        raise TypeError(f"{name}: objects of this class are made by {maker}, not by calling it")
    return 0


cdef class ImportedTensor:
    """A struct removed from its capsule, or returned by a table: the caller deletes it, once."""
    cdef void* managed
    cdef bint legacy
    cdef public bint deleted

    def __cinit__(self, token=None):
        _check_token(token, "ImportedTensor", "take()")

    @property
    def struct(self):
        return _describe_managed(self.managed, self.legacy)

    def delete(self):
        self.deleted = True
        with nogil:
            call_deleter(self.managed, self.legacy)

    def delete_holding_the_gil(self):
        self.deleted = True
        call_deleter(self.managed, self.legacy)

    def delete_on_thread(self):
        self.deleted = True
        with nogil:
            delete_on_thread(self.managed, self.legacy)

    def delete_after_exit(self):
        self.deleted = True
        if late(self.managed, self.legacy) != 0:
            raise RuntimeError("delete_after_exit: Py_AtExit has no place left")


cdef ImportedTensor _taken(void* managed, bint legacy):
    cdef ImportedTensor taken = ImportedTensor.__new__(ImportedTensor, _TOKEN)
    taken.managed, taken.legacy = managed, legacy
    return taken


def take(capsule):
    """Consume a capsule as the standard says and return its struct as an `ImportedTensor`."""
    legacy = look(capsule).legacy
    cdef ImportedTensor taken = _taken(_pointer(capsule), legacy)
    PyCapsule_SetName(capsule, b"used_dltensor" if legacy else b"used_dltensor_versioned")
    return taken


cdef class Watch:
    """Counts the calls of a foreign struct's deleter."""
    cdef Watched* watched

    def __cinit__(self, token=None):
        _check_token(token, "Watch", "watch()")

    @property
    def deleted(self):
        return self.watched.deleted.load()


def watch(capsule):
    """Put a counter in front of the deleter of an unconsumed capsule."""
    cdef Watch watch = Watch.__new__(Watch, _TOKEN)
    watch.watched = watch_struct(_pointer(capsule), look(capsule).legacy)
    return watch


def bytes_at(uintptr_t address, Py_ssize_t count):
    """Copy `count` bytes out of memory."""
    return PyBytes_FromStringAndSize(<char*>address, count)


def write_at(uintptr_t address, bytes content):
    """Copy bytes into memory."""
    memcpy(<void*>address, <char*>content, len(content))


def memory(Py_ssize_t count):
    """Return the address of `count` zero bytes, aligned to 256, for as long as the process lives."""
    cdef void* address = aligned_memory(count)
    if address == NULL:
        raise MemoryError(f"memory: {count} bytes")
    memset(address, 0, count)
    return <uintptr_t>address


cdef int64_t* _lasting(values) except? NULL:
    cdef int64_t* copied
    cdef Py_ssize_t i
    if values is None:
        return NULL
    if isinstance(values, int):
        return <int64_t*><uintptr_t>values
    values = tuple(values)  # once: its length is asked, and then its items
    copied = <int64_t*>malloc(8 * max(len(values), 1))
    if copied == NULL:
        raise MemoryError
    for i, value in enumerate(values):
        copied[i] = value
    return copied


cdef int _edit_tensor(DLTensor* t, dict fields) except -1:
    if "data" in fields:
        t.data = <void*><uintptr_t>fields.pop("data")
    if "device" in fields:
        kind, number = fields.pop("device")
        t.device.device_type = <DLDeviceType><int>kind
        t.device.device_id = number
    if "ndim" in fields:
        t.ndim = fields.pop("ndim")
    if "dtype" in fields:
        t.dtype.code, t.dtype.bits, t.dtype.lanes = fields.pop("dtype")
    if "shape" in fields:
        t.shape = _lasting(fields.pop("shape"))
    if "strides" in fields:
        t.strides = _lasting(fields.pop("strides"))
    if "byte_offset" in fields:
        t.byte_offset = fields.pop("byte_offset")
    return 0


def edit(capsule, **fields):
    """Change fields of an unconsumed capsule's struct: this plants defects in a valid export.

    `version`, `flags`, `deleter` (None or "leaks") and those of the tensor.
    """
    legacy = look(capsule).legacy
    cdef void* managed = _pointer(capsule)
    cdef DLManagedTensorVersioned* v = <DLManagedTensorVersioned*>managed
    cdef DLManagedTensor* legacy_struct = <DLManagedTensor*>managed
    _edit_tensor(&legacy_struct.dl_tensor if legacy else &v.dl_tensor, fields)
    if "version" in fields and not legacy:
        v.version.major, v.version.minor = fields.pop("version")
    if "flags" in fields and not legacy:
        v.flags = fields.pop("flags")
    if fields.get("deleter", 0) is None:
        fields.pop("deleter")
        if legacy:
            legacy_struct.deleter = NULL
        else:
            v.deleter = NULL
    elif "deleter" in fields and not legacy:
        manner = fields.pop("deleter")
        if manner != "leaks":
            raise ValueError(f"edit: deleter must be None or 'leaks', got {manner!r}")
        watch_struct(managed, False)
        v.deleter = delete_leaking
    if fields:
        raise TypeError(f"edit: {sorted(fields)} cannot be changed in a {'legacy' if legacy else 'versioned'} struct")


# Names live as long as the process, except those of planted defects.
_NAMES = {}


def rename(capsule, str name, bint fresh=False):
    """Give a capsule a name; `fresh` stores it anew each time, as a producer does that does not know the rule."""
    cdef bytes kept
    if fresh:
        PyCapsule_SetName(capsule, strdup(name.encode()))
        return
    kept = _NAMES.setdefault(name, name.encode())
    PyCapsule_SetName(capsule, kept)


def set_ending(capsule, str manner):
    """Replace a capsule's destructor: "none", "always" (deletes a consumed one too) or "standard"."""
    PyCapsule_SetDestructor(capsule, <Ending>NULL if manner == "none" else <Ending>end_capsule_always
                            if manner == "always" else <Ending>end_capsule)


cdef class Probe:
    """One managed tensor with any field values, by default six float32 of shape (2, 3), that counts its deletions.

    `shape` and `strides` are sequences, None for NULL or an address; `deleter` is True, None for NULL, "needs gil" or
    "needs interpreter" for one that aborts without. `owned` bytes are copied to memory that is
    overwritten when the struct is deleted; `data` is an address.
    """
    cdef OwnStruct* own
    cdef readonly bint legacy
    cdef readonly object keeps

    # Not __init__: an object that skips it would have no struct, and a second call would replace an exported one.
    def __cinit__(self, *, legacy=False, version=(1, 3), flags=0, shape=(2, 3), strides="c", dtype=(2, 32, 1),
                  device=(1, 0), byte_offset=0, data=None, owned=None, ndim=None, deleter=True, context=1, keeps=None):
        cdef DLTensor* t
        cdef int i
        cdef int64_t step = 1
        self.own = new OwnStruct()
        self.legacy = legacy
        self.keeps = keeps
        if legacy:
            t = &self.own.legacy.dl_tensor
            self.own.legacy.manager_ctx = <void*><uintptr_t>context
            if deleter:
                self.own.legacy.deleter = delete_legacy
        else:
            t = &self.own.versioned.dl_tensor
            self.own.versioned.version.major, self.own.versioned.version.minor = version
            self.own.versioned.flags = flags
            self.own.versioned.manager_ctx = <void*><uintptr_t>context
            if deleter is True:
                self.own.versioned.deleter = delete_versioned
            elif deleter == "needs gil":
                self.own.versioned.deleter = delete_needing_python
            elif deleter == "needs interpreter":
                self.own.versioned.deleter = delete_needing_interpreter
        if owned is not None:
            if not isinstance(owned, bytes):
                raise TypeError(f"Probe: owned must be bytes, got {type(owned).__qualname__}")
            self.own.owned = aligned_memory(len(owned))
            if self.own.owned == NULL:
                raise MemoryError(f"Probe: no memory left for {len(owned)} bytes")
            self.own.owned_bytes = len(owned)
            memcpy(self.own.owned, <char*><bytes>owned, len(owned))
            data = <uintptr_t>self.own.owned
        t.data = <void*><uintptr_t>(data or 0)
        t.device.device_type = <DLDeviceType><int>device[0]
        t.device.device_id = device[1]
        t.dtype.code, t.dtype.bits, t.dtype.lanes = dtype
        t.byte_offset = byte_offset
        if shape is None or isinstance(shape, int):
            t.shape = <int64_t*><uintptr_t>(shape or 0)
        else:
            for i in range(min(len(shape), 64)):
                self.own.shape[i] = shape[i]
            t.shape = &self.own.shape[0]
        t.ndim = (len(shape) if isinstance(shape, (tuple, list)) else 0) if ndim is None else ndim
        if isinstance(strides, str):
            for i in reversed(range(min(len(shape), 64) if isinstance(shape, (tuple, list)) else 0)):
                self.own.strides[i] = step
                step = <int64_t>(<uint64_t>step * <uint64_t><int64_t>shape[i])
            t.strides = &self.own.strides[0]
        elif strides is None or isinstance(strides, int):
            t.strides = <int64_t*><uintptr_t>(strides or 0)
        else:
            for i in range(min(len(strides), 64)):
                self.own.strides[i] = strides[i]
            t.strides = &self.own.strides[0]

    @property
    def deleted(self):
        return self.own.deleted.load()

    @property
    def struct(self):
        return _describe_managed(self.own, self.legacy)

    def capsule(self, name=None, ending=True):
        """Export it, under the standard's name for its layout unless another is given."""
        cdef bytes kept
        name = name or ("dltensor" if self.legacy else "dltensor_versioned")
        kept = _NAMES.setdefault(name, name.encode())
        return PyCapsule_New(self.own, kept, <Ending>end_capsule if ending else <Ending>NULL)


include "_probe_tables.pxi"


cdef object _listener = None


def on_trying(listener):
    """Set the callback that records the current step, so that a crash can be attributed to it."""
    global _listener
    _listener = listener


def trying(str what):
    """Record the next step."""
    if _listener is not None:
        _listener(what)
