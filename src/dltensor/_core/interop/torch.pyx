# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch by its own structs: which are plain memory, and what keeps that memory.

torch's exchange table hands out memory that torch itself would not export: of tensors that require grad, that are
negated or conjugated lazily, that are not plain memory. A tensor object is not its memory either: `.data=`, `set_` and
`resize_` give it another one. torch_fields.py finds the fields that tell these apart, and proves them.

``DLTENSOR_TORCH=public`` leaves all of it to torch_public.py, which asks torch's public functions. So does a torch
whose fields cannot be proved, and every tensor that is not known to be plain.
"""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport malloc

from ..dlpack cimport ImportedTensor, apply_byte_offset, read_layout
from ..native cimport Block, adopt
from ..threads cimport Published
from ..types cimport DLTensor

from ..once import Once
from . import takes_public_way

cdef extern from "_core/interop/torch_abi.h" namespace "dlt" nogil:
    char* retain_storage(const char* implementation, Py_ssize_t field, Py_ssize_t resizable) noexcept
    void release_storage(void*) noexcept
    void free_storage(Block*) noexcept
    PyObject* torch_storage_object
    cppclass PlainKeys:
        bint has(uint64_t) noexcept
        void add(uint64_t) noexcept
    ctypedef void (*TorchDescribe)(const void*, DLTensor*)
    int describe_torch(TorchDescribe, const void*, DLTensor*) noexcept

cdef struct TorchFields:
    Py_ssize_t impl         # in the Python object: the pointer to the implementation
    Py_ssize_t keys         # in the implementation: the dispatch keys
    Py_ssize_t storage      # in the implementation: the pointer to the storage
    Py_ssize_t resizable    # in the storage: the byte that allows it to be resized
    unsigned char (*requires_grad)(const void*) noexcept  # torch's function of the implementation
    TorchDescribe describe  # torch's function of the tensor that fills a DLTensor
cdef Published[TorchFields] _proved  # NULL until the first tensor of torch comes, and where the public way is taken
# Sets of dispatch keys of plain tensors, as torch itself classified them.
cdef PlainKeys _plain_keys
cdef bint _is_public = takes_public_way("DLTENSOR_TORCH")


def _prove_fields():
    global torch_storage_object
    cdef TorchFields* fields
    if _is_public:
        return
    from .torch_fields import find_fields
    try:
        found = find_fields()
    except Exception:  # a torch that has changed, or is set to make no plain tensors
        return
    if not all(found):
        return
    # The struct is never freed, and the function never given back: other threads and blocks may need them at any time.
    fields = <TorchFields*>malloc(sizeof(TorchFields))
    if fields == NULL:
        raise MemoryError("allocation failed for the fields of torch's tensors")
    fields.impl, fields.keys, fields.storage, fields.resizable, storage_object, requires_grad, describe = found
    fields.requires_grad = <unsigned char (*)(const void*) noexcept><size_t>requires_grad
    fields.describe = <TorchDescribe><size_t>describe
    Py_INCREF(storage_object)
    torch_storage_object = <PyObject*>storage_object
    _proved.set(fields)


cdef object _prove_once = Once(_prove_fields)


cdef inline char* _implementation(const TorchFields* torch, object x) noexcept:
    return (<char**>(<char*><void*>x + torch.impl))[0]


cdef inline uint64_t _keys(const TorchFields* torch, object x) noexcept:
    """The dispatch keys of a tensor; 0 where they are not known."""
    if torch == NULL or _implementation(torch, x) == NULL:
        return 0
    return (<uint64_t*>(_implementation(torch, x) + torch.keys))[0]


cdef bint is_plain(object x) noexcept:
    """Test whether a tensor is known to be plain memory that torch would export. Runs no Python code."""
    cdef const TorchFields* torch = _proved.get()
    return _plain_keys.has(_keys(torch, x)) and not torch.requires_grad(_implementation(torch, x))


cdef bint is_lazy(object x, str func) except -1:
    """Test whether a tensor is negated or conjugated lazily, as torch says. BufferError when it cannot be exported."""
    cdef uint64_t keys
    _prove_once()
    keys = _keys(_proved.get(), x)
    from .torch_public import examine
    if examine(x, func):
        return True
    if keys == _keys(_proved.get(), x):  # Python code may have changed the tensor
        _plain_keys.add(keys)
    return False


cdef bint import_plain(object x, ImportedTensor* out, str func) except -1:
    """Take a plain tensor: one more owner of its storage, and the description that torch gives. Runs no Python code.

    False where another way must be taken, which has the error.
    """
    cdef const TorchFields* torch = _proved.get()
    cdef void* storage
    cdef Block* block
    if not is_plain(x):
        return False
    storage = retain_storage(_implementation(torch, x), torch.storage, torch.resizable)
    if storage == NULL:
        return False
    if not borrow_plain(x, &out.view, out.dims):
        release_storage(storage)
        return False
    block = adopt(out.view.data, storage, free_storage)
    if block == NULL:
        release_storage(storage)
        raise MemoryError(f"{func}: allocation failed for a block header")
    out.block = block
    out.flags = 0
    return True


cdef bint borrow_plain(object x, DLTensor* view, int64_t* dims) noexcept:
    """A checked description of a plain tensor, shape and strides in `dims`. Runs no Python code.

    False where torch or the validator refuses it.
    """
    cdef const TorchFields* torch = _proved.get()
    cdef DLTensor described
    if (describe_torch(torch.describe, <char*><void*>x + torch.impl, &described) != 0 or
            read_layout(&described, view, dims) != 0):
        return False
    apply_byte_offset(view)
    return True


cdef class _StorageOwner:
    """Keeps a storage alive for as long as it lives."""
    cdef void* storage

    def __dealloc__(self):
        if self.storage != NULL:
            release_storage(self.storage)


cdef object hold_storage(object x):
    """An object that keeps the memory of a plain tensor where it is. Runs no Python code."""
    cdef const TorchFields* torch = _proved.get()
    cdef _StorageOwner owner = _StorageOwner.__new__(_StorageOwner)
    owner.storage = retain_storage(_implementation(torch, x), torch.storage, torch.resizable)
    return owner
