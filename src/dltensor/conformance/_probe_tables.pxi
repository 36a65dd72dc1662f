# SPDX-License-Identifier: Apache-2.0
# Part of _probe.pyx: exchange tables, our own over any source, and foreign ones called as from C.

# An exchange table over `__dlpack__`, for sources that offer one. Its defects are set per process.
cdef dict _manners = {"from": "sound", "calls": [], "objects": []}


def table_manner(str manner="sound"):
    """Set how our table functions behave from now on ("sound", "fail silently", "give NULL"); forgets earlier calls."""
    _manners.update({"from": manner, "calls": [], "objects": []})


def table_calls():
    """Return the names of our table's functions that were called, and the ids of their objects."""
    return list(_manners["calls"]), list(_manners["objects"])


cdef DLManagedTensorVersioned* _export(object source) except NULL:
    cdef ImportedTensor taken = take(source.__dlpack__(max_version=(1, 3)))
    if taken.legacy:
        raise BufferError("the source gave a legacy capsule")
    return <DLManagedTensorVersioned*>taken.managed


cdef int _from_object(void* thing, DLManagedTensorVersioned** out) except -1 with gil:
    _manners["calls"].append("from")
    _manners["objects"].append(<uintptr_t>thing)
    if _manners["from"] == "give NULL":
        out[0] = NULL
        return 0
    out[0] = _export(<object>thing)
    return 0


cdef int _from_object_silently(void* thing, DLManagedTensorVersioned** out) noexcept with gil:
    _manners["calls"].append("from")
    return -1


cdef int _view_object(void* thing, DLTensor* out) except -1 with gil:
    _manners["calls"].append("view")
    _manners["objects"].append(<uintptr_t>thing)
    if _manners["from"] == "give NULL":
        memset(out, 0, sizeof(DLTensor))
        return 0
    cdef DLManagedTensorVersioned* managed = _export(<object>thing)
    out[0] = managed.dl_tensor  # the source's probes own the struct and are never freed
    return 0


cdef int _to_object(DLManagedTensorVersioned* tensor, void** out) except -1 with gil:
    _manners["calls"].append("to")
    capsule = PyCapsule_New(tensor, b"dltensor_versioned", <Ending>end_capsule)
    result = _manners["import"](capsule)
    Py_INCREF(result)
    out[0] = <void*>result
    return 0


cdef int _allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                   SetError set_error) noexcept with gil:
    cdef int i
    cdef Probe probe
    cdef str manner = _manners.get("allocate", "sound")
    _manners["calls"].append("allocate")
    if prototype.dtype.code > 18 or prototype.ndim < 0:
        if manner != "silent":
            set_error(context, b"BufferError", b"this producer allocates no such elements")
        out[0] = NULL
        return -1
    size = prototype.dtype.bits * prototype.dtype.lanes // 8
    for i in range(prototype.ndim):
        size *= prototype.shape[i]
    probe = Probe(shape=tuple([prototype.shape[i] for i in range(prototype.ndim)]), owned=bytes(size),
                  dtype=(prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes))
    out[0] = &probe.own.versioned
    if manner == "always":
        set_error(context, b"Nothing", b"went wrong")
    return 0


cdef int _stream(DLDeviceType kind, int32_t number, void** out) noexcept with gil:
    _manners["calls"].append("stream")
    if _manners.get("stream", "sound") == "sound":
        out[0] = NULL
    return 0


def make_table(*, version=(1, 3), missing=(), previous=None, silent=False, **manners):
    """Return the address of an exchange table whose functions go through ``__dlpack__`` of the object.

    `missing` names functions that are NULL (allocate, from, to, view, stream); `silent` makes `from` fail without an
    error; `previous` is another table's address, or "itself". `manners`: ``allocate``, ``stream``, ``importer``.
    """
    cdef DLPackExchangeAPI* api = <DLPackExchangeAPI*>malloc(sizeof(DLPackExchangeAPI))
    if api == NULL:
        raise MemoryError
    memset(api, 0, sizeof(DLPackExchangeAPI))
    api.header.version.major, api.header.version.minor = version
    if previous == "itself":
        api.header.prev_api = &api.header
    elif previous is not None:
        api.header.prev_api = <DLPackExchangeAPIHeader*><uintptr_t>previous
    if "allocate" not in missing:
        api.managed_tensor_allocator = _allocate
    if "from" not in missing:
        api.managed_tensor_from_py_object_no_sync = <int (*)(void*, DLManagedTensorVersioned**) noexcept>(
            <void*>_from_object_silently if silent else <void*>_from_object)
    if "to" not in missing:
        api.managed_tensor_to_py_object_no_sync = <int (*)(DLManagedTensorVersioned*, void**) noexcept><void*>_to_object
    if "view" not in missing:
        api.dltensor_from_py_object_no_sync = <int (*)(void*, DLTensor*) noexcept><void*>_view_object
    if "stream" not in missing:
        api.current_work_stream = _stream
    _manners["import"] = manners.pop("importer", _manners.get("import"))
    _manners.update(manners)
    return <uintptr_t>api


def table_capsule(uintptr_t address, str name="dlpack_exchange_api"):
    """Return a table as the capsule that a type offers."""
    cdef bytes kept = _NAMES.setdefault(name, name.encode())
    return PyCapsule_New(<void*>address, <const char*>kept, <Ending>NULL)


cdef str _pending():
    """Clear the pending exception and return it as text; None when there is none."""
    if PyErr_Occurred() == NULL:
        return None
    try:
        _raise()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


cdef int _raise() except? -1:
    return -1


cdef class Table:
    """A foreign exchange table: its fields, and its functions called as from C."""
    cdef DLPackExchangeAPI* api

    def __cinit__(self, uintptr_t address):
        if address == 0:
            raise ValueError("Table: expected the address of an exchange table, got 0")
        self.api = <DLPackExchangeAPI*>address

    @classmethod
    def of(cls, capsule):
        """Return the table of a capsule, or of an address in the older spelling."""
        return cls(<uintptr_t>PyCapsule_GetPointer(capsule, _TABLE) if PyCapsule_CheckExact(capsule) else capsule)

    @property
    def address(self):
        return <uintptr_t>self.api

    @property
    def version(self):
        return (self.api.header.version.major, self.api.header.version.minor)

    @property
    def previous(self):
        return <uintptr_t>self.api.header.prev_api

    @property
    def functions(self):
        return {"managed_tensor_allocator": <uintptr_t>self.api.managed_tensor_allocator,
                "managed_tensor_from_py_object_no_sync": <uintptr_t>self.api.managed_tensor_from_py_object_no_sync,
                "managed_tensor_to_py_object_no_sync": <uintptr_t>self.api.managed_tensor_to_py_object_no_sync,
                "dltensor_from_py_object_no_sync": <uintptr_t>self.api.dltensor_from_py_object_no_sync,
                "current_work_stream": <uintptr_t>self.api.current_work_stream}

    def export(self, thing):
        """Return the result, the `ImportedTensor` (None for NULL) and the error as text."""
        cdef DLManagedTensorVersioned* out = NULL
        cdef int result = self.api.managed_tensor_from_py_object_no_sync(<void*>thing, &out)
        return result, None if out == NULL else _taken(out, False), _pending()

    def view(self, thing):
        """Return the result, a `Struct` without a deleter, and the error as text."""
        cdef DLTensor out
        memset(&out, 0, sizeof(out))
        cdef int result = self.api.dltensor_from_py_object_no_sync(<void*>thing, &out)
        return result, _describe(&out, False, None, 0, NULL, NULL, NULL), _pending()

    def hand_over(self, Probe probe):
        """Return the result, the object over a probe's tensor, and the error as text."""
        cdef void* out = NULL
        cdef int result = self.api.managed_tensor_to_py_object_no_sync(&probe.own.versioned, &out)
        thing = None
        if out != NULL:
            thing = <object>out
            Py_DECREF(thing)
        return result, thing, _pending()

    def allocate(self, tuple shape, tuple dtype, tuple device=(1, 0)):
        """Return the result, the tensor, the calls of SetError and its last arguments, and the Python error as text."""
        cdef DLTensor prototype
        cdef ReportedError reported
        cdef DLManagedTensorVersioned* out = NULL
        memset(&prototype, 0, sizeof(prototype))
        fields = {"shape": shape, "ndim": len(shape), "dtype": dtype, "device": device}
        _edit_tensor(&prototype, fields)
        cdef int result = self.api.managed_tensor_allocator(&prototype, &out, &reported, set_error)
        words = tuple([(<bytes>text).decode("utf-8", "replace") for text in (reported.kind, reported.message)])
        return result, None if out == NULL else _taken(out, False), reported.calls, words, _pending()

    def stream(self, int kind=1, int number=0, uintptr_t before=0xDEAD):
        """Return the result, the value written over `before`, and the error as text."""
        cdef void* out = <void*>before
        cdef int result = self.api.current_work_stream(<DLDeviceType>kind, number, &out)
        return result, <uintptr_t>out, _pending()
