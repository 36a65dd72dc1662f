# SPDX-License-Identifier: Apache-2.0
"""Reading DLPack structs, capsules and exchange tables as plain data, without consuming them. No words, no advice.

Whatever an address leads to is first copied by the kernel, so that a wild pointer is a finding and not a crash.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport (PyCapsule_CheckExact, PyCapsule_Destructor, PyCapsule_GetContext,
                                PyCapsule_GetDestructor, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_SetName)
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .native cimport MAX_DIMS
from .types cimport (DLManagedTensor, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackVersion, DLTensor)

from .findings import Finding, Rule

cdef extern from "dltensor/array.h" nogil:
    uint32_t dlt_array_abi_version()

cdef extern from "dltensor/validate.h" nogil:
    ctypedef struct dlt_rule_row:
        const char* id
        int severity
        int standard
        const char* expected
        const char* remedy
    ctypedef struct dlt_finding:
        int number
        int severity
        const char* rule
        const char* field
        int32_t axis
        int64_t value
    ctypedef struct dlt_extent:
        int64_t size
        int64_t nbytes
        int64_t low
        int64_t high
    const dlt_rule_row* dlt_rules(size_t*)
    int dlt_check_pointer(const void*)
    int dlt_check_layout(const void*, int)
    int dlt_check_version(DLPackVersion)
    size_t dlt_validate_tensor(const DLTensor*, const DLPackVersion*, uint64_t, dlt_finding*, size_t)
    size_t dlt_format_finding(const dlt_finding*, const DLTensor*, char*, size_t)
    int dlt_measure_tensor(const DLTensor*, uint64_t, dlt_extent*)
    int DLT_RULE_POINTER, DLT_RULE_LAYOUT, DLT_RULE_SHAPE_POINTER, DLT_RULE_STRIDES_POINTER

cdef extern from "_core/interop/gil.h" namespace "dlt" nogil:
    void delete_managed(DLManagedTensorVersioned*) noexcept
    void delete_legacy "dlt::delete_managed"(DLManagedTensor*) noexcept

cdef extern from "Python.h":
    PyObject* PyErr_Occurred() noexcept

cdef extern from *:
    """
    #include <dlfcn.h>
    #include <errno.h>
    #include <string.h>
    #include <sys/uio.h>
    #include <unistd.h>
    // Copies from an address that may lead nowhere; false when it does.
    static inline bool dlt_peek(const void* from, void* to, size_t n) {
      iovec there = {const_cast<void*>(from), n}, here = {to, n};
      const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
      if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(to, from, n);  // some sandboxes forbid the question: then this is as safe as any consumer
        return true;
      }
      return got == static_cast<ssize_t>(n);
    }
    static inline bool dlt_locate(const void* address, const char** library, const char** symbol) {
      Dl_info info;
      if (!address || !dladdr(address, &info)) return false;
      *library = info.dli_fname;
      *symbol = info.dli_sname;
      return true;
    }
    """
    bint peek "dlt_peek"(const void*, void*, size_t) noexcept nogil
    bint locate "dlt_locate"(const void*, const char**, const char**) noexcept nogil

cdef enum:
    FINDINGS = 256
    LINKS = 8

_SEVERITIES = ("note", "warning", "error")
# The functions of the table, in its order, and whether the standard lets them be NULL.
TABLE_FUNCTIONS = ("managed_tensor_allocator", "managed_tensor_from_py_object_no_sync",
                   "managed_tensor_to_py_object_no_sync", "dltensor_from_py_object_no_sync", "current_work_stream")
SPELLINGS = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")


def rules():
    """Return every validation rule, in the order in which they are checked.

    >>> rules()[0].id, rules()[0].severity
    ('tensor.pointer', 'error')
    """
    cdef size_t total = 0, i
    cdef const dlt_rule_row* rows = dlt_rules(&total)
    return [Rule(rows[i].id.decode(), _SEVERITIES[rows[i].severity], rows[i].expected.decode(),
                 rows[i].remedy.decode(), rows[i].standard or None) for i in range(1, total)]


# -- validation -------------------------------------------------------------------------------------------------------

cdef object _finding(const dlt_finding* found, const DLTensor* view):
    cdef char text[768]
    cdef const dlt_rule_row* row = &dlt_rules(NULL)[found.number]
    dlt_format_finding(found, view, text, sizeof(text))
    value = found.value
    if found.field in (b"data", b"byte_offset", b"flags", b"shape", b"strides") and found.axis < 0 and value < 0:
        value += 2**64
    return Finding(found.rule.decode(), _SEVERITIES[found.severity], found.field.decode(),
                   None if found.axis < 0 else found.axis, value, text.decode("utf-8", "replace"),
                   row.remedy.decode(), row.standard or None)


cdef object _own_finding(int number, str field, value, str expected, str got):
    """A finding of the reader itself: the row of the rule, with a text about what only the reader can know."""
    cdef const dlt_rule_row* row = &dlt_rules(NULL)[number]
    name, remedy = row.id.decode(), row.remedy.decode()
    return Finding(name, _SEVERITIES[row.severity], field, None, value,
                   f"{field}: expected {expected}, got {got} (rule {name}); {remedy}", remedy, row.standard or None)


# -- structs ----------------------------------------------------------------------------------------------------------

cdef object _address(const void* pointer):
    return <size_t>pointer


def symbol_of(address):
    """Return (library, symbol or None) of the code or data at an address, or None when no library holds it."""
    cdef const char* library = NULL
    cdef const char* symbol = NULL
    if not locate(<const void*><size_t>address, &library, &symbol):
        return None
    return (library.decode("utf-8", "replace"), symbol.decode("utf-8", "replace") if symbol != NULL else None)


def engine_path():
    """Return the path of the library that the engine was loaded from.

    An editable installation has it in the folder of the build, not in the package.

    >>> import os
    >>> os.path.basename(engine_path())
    'libdltensor.so.2'
    """
    cdef const char* library = NULL
    cdef const char* symbol = NULL
    if not locate(<const void*>&dlt_array_abi_version, &library, &symbol):
        raise OSError("engine_path: the loader does not name the library of dltensor")
    return library.decode("utf-8", "surrogateescape")


cdef dict _read_tensor(DLTensor view, const DLPackVersion* version, uint64_t flags):
    """The fields of a DLTensor in our own memory; its shape and strides pointers may still be invalid."""
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef dlt_finding found[FINDINGS]
    cdef dlt_extent extent
    cdef size_t total, i
    cdef int ndim = view.ndim, k
    cdef const void* shape_at = view.shape
    cdef const void* strides_at = view.strides
    cdef bint plain = 0 < ndim <= MAX_DIMS
    own = []
    if plain and shape_at != NULL and dlt_check_pointer(shape_at) == 0:
        if peek(shape_at, shape, ndim * sizeof(int64_t)):
            view.shape = shape
        else:
            own.append(_own_finding(DLT_RULE_SHAPE_POINTER, "shape", _address(shape_at), "readable memory",
                                    f"address {hex(_address(shape_at))}, where there is none"))
    if plain and strides_at != NULL and dlt_check_pointer(strides_at) == 0:
        if peek(strides_at, strides, ndim * sizeof(int64_t)):
            view.strides = strides
        else:
            own.append(_own_finding(DLT_RULE_STRIDES_POINTER, "strides", _address(strides_at), "readable memory",
                                    f"address {hex(_address(strides_at))}, where there is none"))
    result = {
        "data": _address(view.data), "device": (<int32_t>view.device.device_type, view.device.device_id), "ndim": ndim,
        "dtype": (view.dtype.code, view.dtype.bits, view.dtype.lanes),
        "shape": None, "shape_at": _address(shape_at), "strides": None, "strides_at": _address(strides_at),
        "byte_offset": view.byte_offset, "findings": own, "extent": None,
    }
    if view.shape == shape or ndim == 0:
        result["shape"] = tuple([shape[k] for k in range(ndim)])
    if view.strides == strides or ndim == 0 and strides_at != NULL:
        result["strides"] = tuple([strides[k] for k in range(ndim)])
    if own:
        return result  # the validation would follow the same pointers
    total = dlt_validate_tensor(&view, version, flags, found, FINDINGS)
    for i in range(min(total, <size_t>FINDINGS)):
        own.append(_finding(&found[i], &view))
    if dlt_measure_tensor(&view, flags, &extent) == 0:
        result["extent"] = {"size": extent.size, "nbytes": extent.nbytes, "low": extent.low, "high": extent.high}
    return result


cdef dict _read_managed(const void* managed, bint versioned):
    """Every field of a managed struct, wherever the address leads."""
    cdef DLManagedTensorVersioned new
    cdef DLManagedTensor old
    cdef dict result
    head = {"layout": "DLManagedTensorVersioned" if versioned else "DLManagedTensor", "address": _address(managed)}
    if dlt_check_pointer(managed) != 0 or not peek(managed, &new if versioned else <void*>&old,
                                                   sizeof(new) if versioned else sizeof(old)):
        return head | {"findings": [_own_finding(DLT_RULE_POINTER, "capsule", _address(managed),
                                                 "an aligned address of readable memory",
                                                 f"address {hex(_address(managed))}")]}
    if dlt_check_layout(&new if versioned else <const void*>&old, versioned) != 0:
        return head | {"findings": [_own_finding(DLT_RULE_LAYOUT, "capsule", _address(managed),
                                                 "the layout that its name promises", "a struct of the other layout")]}
    if not versioned:
        result = _read_tensor(old.dl_tensor, NULL, 0)
        return head | {"version": None, "flags": None, "manager_ctx": _address(old.manager_ctx),
                       "deleter": _address(<void*>old.deleter)} | result
    head |= {"version": (new.version.major, new.version.minor), "manager_ctx": _address(new.manager_ctx),
             "deleter": _address(<void*>new.deleter), "flags": new.flags}
    if dlt_check_version(new.version) == 0:
        return head | _read_tensor(new.dl_tensor, &new.version, new.flags)
    # Another major version has another layout behind `flags`: it is not read.
    return head | {"findings": [found for found in _read_tensor(new.dl_tensor, &new.version, new.flags)["findings"]
                                if found.rule == "version.major"]}


# -- capsules ---------------------------------------------------------------------------------------------------------

def is_capsule(x):
    """Tell whether an object is a PyCapsule of any name."""
    return PyCapsule_CheckExact(x)


def read_capsule(capsule):
    """Return the fields of a DLPack capsule's struct, and of the capsule itself; it is not consumed.

    The struct of a consumed capsule belongs to its consumer, who may have freed it long ago: what is returned then is
    what lies there now, which is marked by ``"consumed"`` and carries no findings.
    """
    cdef const char* raw = PyCapsule_GetName(capsule)
    cdef dict result
    name = None if raw == NULL else (<bytes>raw).decode("utf-8", "replace")
    result = {"name": name, "consumed": name in ("used_dltensor", "used_dltensor_versioned"),
              "capsule_destructor": _address(<void*>PyCapsule_GetDestructor(capsule)),
              "capsule_context": _address(PyCapsule_GetContext(capsule))}
    if name not in ("dltensor", "dltensor_versioned", "used_dltensor", "used_dltensor_versioned"):
        return result | {"layout": None, "address": _address(PyCapsule_GetPointer(capsule, raw)), "findings": []}
    result |= _read_managed(PyCapsule_GetPointer(capsule, raw), name.endswith("versioned"))
    if result["consumed"]:
        result["findings"] = []
    return result


def discard(capsule):
    """Release a capsule that was requested for inspection only; True if it had no other owner.

    A capsule with a destructor gives itself back. One without would leak what it holds, so its deleter is called here,
    as a consumer would. A struct that is not what its name says is left alone: not even its deleter can be found.
    """
    cdef const char* raw
    cdef void* managed
    if not PyCapsule_CheckExact(capsule) or PyCapsule_GetDestructor(capsule) != <PyCapsule_Destructor>NULL:
        return False
    fields = read_capsule(capsule)
    if fields["consumed"] or "deleter" not in fields:
        return False
    raw = PyCapsule_GetName(capsule)
    managed = PyCapsule_GetPointer(capsule, raw)
    if fields["layout"] == "DLManagedTensor":
        PyCapsule_SetName(capsule, b"used_dltensor")
        delete_legacy(<DLManagedTensor*>managed)
    else:
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        delete_managed(<DLManagedTensorVersioned*>managed)
    return True


# -- exchange tables --------------------------------------------------------------------------------------------------

cdef object _read_link(const void* address):
    cdef DLPackExchangeAPI table
    cdef void* functions[5]
    cdef int i
    if dlt_check_pointer(address) != 0 or not peek(address, &table, sizeof(table)):
        return {"address": _address(address), "version": None, "prev_api": None, "functions": None,
                "problem": "the address leads to no readable memory"}
    memcpy(functions, &table.managed_tensor_allocator, sizeof(functions))
    result = {"address": _address(address), "version": (table.header.version.major, table.header.version.minor),
              "prev_api": _address(table.header.prev_api), "functions": None, "problem": None}
    if table.header.version.major != 1:
        result["problem"] = "another major version, whose functions are unknown"
        return result
    result["functions"] = {name: _address(functions[i]) for i, name in enumerate(TABLE_FUNCTIONS)}
    missing = [name for i, name in enumerate(TABLE_FUNCTIONS) if functions[i] == NULL and i != 3]
    if missing:
        result["problem"] = f"NULL, which the standard forbids: {', '.join(missing)}"
    return result


def read_table(value):
    """Return what an exchange table's attribute holds: its kind, and every table of its chain."""
    cdef const void* at
    cdef const char* raw
    if PyCapsule_CheckExact(value):
        raw = PyCapsule_GetName(value)
        name = None if raw == NULL else (<bytes>raw).decode("utf-8", "replace")
        result = {"kind": "capsule", "capsule_name": name,
                  "capsule_destructor": _address(<void*>PyCapsule_GetDestructor(value))}
        at = PyCapsule_GetPointer(value, raw)
        if name != "dlpack_exchange_api":
            return result | {"chain": [], "problem": f"the capsule is named {name!r}, not 'dlpack_exchange_api'"}
    elif type(value) is int and 0 < value < 2**64:
        result = {"kind": "int", "capsule_name": None, "capsule_destructor": 0}
        at = <const void*><size_t>value
    else:
        return {"kind": type(value).__qualname__, "capsule_name": None, "capsule_destructor": 0, "chain": [],
                "problem": f"expected a capsule or an address, got {type(value).__qualname__}"}
    chain = []
    while at != NULL and len(chain) < LINKS:
        chain.append(_read_link(at))
        at = <const void*><size_t>(chain[-1]["prev_api"] or 0)
    problem = chain[0]["problem"] if not any([link["version"] and link["version"][0] == 1 and not link["problem"]
                                              for link in chain]) else None
    if at != NULL:
        problem = f"the chain of older tables has more than {LINKS} links, or is a circle"
    return result | {"chain": chain, "problem": problem}


cdef DLPackExchangeAPI* _usable(value, bint borrowing) except? NULL:
    """The first table of a chain whose functions may be called."""
    for link in read_table(value)["chain"]:
        if link["functions"] is None or link["problem"]:
            continue
        if not borrowing or link["functions"]["dltensor_from_py_object_no_sync"]:
            return <DLPackExchangeAPI*><size_t>link["address"]
    return NULL


cdef int _raise_for(int status, str what) except -1:
    if status == 0:
        return 0
    if PyErr_Occurred() == NULL:
        raise BufferError(f"{what} failed without saying why")
    return -1


def read_borrowed(x, value):
    """Return the fields of the view of `x` that an exchange table returns: no reference is taken, nothing is kept.
    """
    cdef DLPackExchangeAPI* table = _usable(value, True)
    cdef DLTensor view
    if table == NULL:
        raise BufferError(f"the exchange table of {type(x).__qualname__} has no function for views")
    _raise_for(table.dltensor_from_py_object_no_sync(<void*>x, &view), "dltensor_from_py_object_no_sync")
    # Read at once: the view is good only until its owner runs again.
    return {"layout": "DLTensor", "address": None, "version": None, "flags": None, "manager_ctx": None,
            "deleter": None} | _read_tensor(view, NULL, 0)


def read_exported(x, value):
    """Return the fields of the struct that an exchange table makes of `x`; the struct is given back at once.
    """
    cdef DLPackExchangeAPI* table = _usable(value, False)
    cdef DLManagedTensorVersioned* managed = NULL
    if table == NULL:
        raise BufferError(f"the exchange table of {type(x).__qualname__} cannot be used")
    _raise_for(table.managed_tensor_from_py_object_no_sync(<void*>x, &managed),
               "managed_tensor_from_py_object_no_sync")
    if managed == NULL:
        raise BufferError("managed_tensor_from_py_object_no_sync reported success and gave no tensor")
    try:
        return _read_managed(managed, True)
    finally:
        delete_managed(managed)
