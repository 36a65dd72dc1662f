# SPDX-License-Identifier: Apache-2.0
"""Where torch keeps what its exchange table does not say: fields of its C++ objects and functions, found and proved."""

import contextlib
import ctypes
import glob
import os
import sys

# Bytes to search: the Python object is small, the implementation behind it and the storage a little larger.
_OBJECT_BYTES = 48
_IMPL_BYTES = 192
_STORAGE_BYTES = 88


def _word(address):
    return ctypes.c_uint64.from_address(address).value


def _find_impl(torch):
    """The offset in the Python object of the pointer to the implementation, which is ``_cdata``; 0 if unknown."""
    sample = torch.zeros(3)
    for offset in range(ctypes.sizeof(ctypes.c_void_p) * 2, _OBJECT_BYTES, 8):
        if _word(id(sample) + offset) == sample._cdata:
            return offset
    return 0


def _changed_bit(torch, offset, make_lazy, dtypes):
    """The one bit of the word at `offset` that `make_lazy` sets in every trial, or 0."""
    bits = set()
    for dtype in dtypes:
        for shape in ((3,), (2, 5), ()):
            plain = torch.zeros(shape, dtype=dtype)
            lazy = make_lazy(plain)
            changed = _word(plain._cdata + offset) ^ _word(lazy._cdata + offset)
            if _word(lazy._cdata + offset) & changed != changed:
                return 0
            bits.add(changed)
    bit = bits.pop() if len(bits) == 1 else 0
    return bit if bit & (bit - 1) == 0 else 0


def _find_keys(torch):
    """The offset of the word of dispatch keys: lazy conjugation and negation each set one bit of it; 0 if unknown."""
    real, complex_ = (torch.float32, torch.float64, torch.complex64), (torch.complex64, torch.complex128)
    samples = [torch.zeros(2), torch.ones(2, 3).T, torch.zeros(4, dtype=torch.complex64), torch.arange(3)]
    samples += [s.conj() for s in samples] + [torch._neg_view(s) for s in samples]
    samples += [torch.zeros(2, dtype=torch.complex64).conj().imag]
    for offset in range(8, _IMPL_BYTES, 8):
        negative = _changed_bit(torch, offset, torch._neg_view, real)
        conjugate = _changed_bit(torch, offset, torch.conj, complex_)
        if not negative or not conjugate or negative == conjugate:
            continue
        lazy = negative | conjugate
        if all(bool(_word(s._cdata + offset) & lazy) == (s.is_neg() or s.is_conj()) for s in samples):
            return offset
    return 0


def _only(offsets):
    return offsets[0] if len(offsets) == 1 else 0


def _function(torch, library, name):
    """A function that a library of torch exports, None if it does not."""
    for path in glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", f"{library}.*")):
        with contextlib.suppress(OSError, AttributeError):
            return getattr(ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW), name)
    return None


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def _find_requires_grad(torch):
    """The address of ``c10::TensorImpl::requires_grad() const``, if it agrees with ``requires_grad``; 0 otherwise."""
    function = _function(torch, "libc10", "_ZNK3c1010TensorImpl13requires_gradEv")
    if function is None:
        return 0
    function.restype, function.argtypes = ctypes.c_bool, [ctypes.c_void_p]
    leaf, base = torch.zeros(3, requires_grad=True), torch.zeros(4)
    samples = [base[1:], base.reshape(2, 2), base.reshape(2, 2).T]
    base.mul_(leaf[0])  # now the base requires grad, and its views with it
    samples += [leaf, leaf * 2, leaf[1:], (leaf * 2)[1:], torch.zeros(2) + leaf[0]]
    samples += [torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2), requires_grad=False)]
    samples += [torch.zeros(3), torch.ones(2, 3).T, torch.zeros(6)[2:], torch.arange(4), torch.empty(0)]
    samples += [leaf.detach(), leaf.data]
    agreed = all(function(sample._cdata) == sample.requires_grad for sample in samples)
    return _address(function) if agreed else 0


class _Described(ctypes.Structure):
    """A DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _find_describe(torch, impl):
    """The address of ``at::toDLPackNonOwning``, if it describes tensors as their attributes do; 0 otherwise."""
    function = _function(torch, "libtorch_cpu", "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensor")
    if function is None:
        return 0
    function.restype, function.argtypes = None, [ctypes.c_void_p, ctypes.POINTER(_Described)]
    samples = [
        (torch.zeros(3), [2, 32, 1, 0]),
        (torch.arange(6).reshape(2, 3).T, [0, 64, 1, 0]),
        (torch.zeros(4, 5, dtype=torch.float64)[1:, ::2], [2, 64, 1, 0]),
        (torch.zeros((), dtype=torch.complex64), [5, 64, 1, 0]),
        (torch.zeros(2, 0, 3, dtype=torch.uint8), [1, 8, 1, 0]),
    ]
    for sample, dtype in samples:
        found = _Described()
        function(id(sample) + impl, found)
        shape, strides = (tuple(values[i] for i in range(sample.ndim)) for values in (found.shape, found.strides))
        if (
            (found.data or 0) + found.byte_offset != sample.data_ptr()
            or list(found.device) != [1, 0]
            or found.ndim != sample.ndim
            or list(found.dtype) != dtype
            or shape != tuple(sample.shape)
            or strides != sample.stride()
        ):
            return 0
    return _address(function)


def _find_storage(torch):
    """The offset of the pointer to the storage, whose address is ``_cdata``; 0 if unknown."""
    samples = [torch.zeros(3), torch.ones(2, 3).T, torch.arange(6)[2:], torch.zeros(2, dtype=torch.complex64)]
    return _only(
        [
            offset
            for offset in range(8, _IMPL_BYTES, 8)
            if all(_word(t._cdata + offset) == t.untyped_storage()._cdata for t in samples)
        ]
    )


def _find_resizable(torch):
    """The offset in a storage of the byte that allows it to be resized: the one that ``resizable()`` follows, or 0."""

    def read(storage, offset):
        return ctypes.c_uint8.from_address(storage._cdata + offset).value

    free = [torch.zeros(n).untyped_storage() for n in (1, 3, 100)]
    fixed = [torch.frombuffer(bytearray(n), dtype=torch.uint8).untyped_storage() for n in (8, 100)]
    if not all(s.resizable() for s in free) or any(s.resizable() for s in fixed):
        return 0
    found = []
    for offset in range(16, _STORAGE_BYTES):
        if any(read(s, offset) != 1 for s in free) or any(read(s, offset) != 0 for s in fixed):
            continue
        byte = ctypes.c_uint8.from_address(free[0]._cdata + offset)
        byte.value = 0
        follows = not free[0].resizable()
        byte.value = 1
        if follows and free[0].resizable():
            found.append(offset)
    return _only(found)


def _find_storage_object(torch, offset):
    """torch's function from the address of a storage to its Python object, if its owners are counted as expected.

    That is: in the second word of the storage, whose top bit says whether there is a Python object, which is an owner
    and is kept for as long as there are others. None otherwise.
    """
    kind = torch.UntypedStorage
    names = "_new_with_weak_ptr", "_weak_ref", "_free_weak_ref"
    if not offset or not all(hasattr(kind, name) for name in names):
        return None
    sample = torch.zeros(5)
    storage = _word(sample._cdata + offset)
    has_object, one_weak = 1 << 63, 1 << 32
    views = [sample[i:] for i in range(3)]
    words = [_word(storage + 8)]
    del views
    words.append(_word(storage + 8))
    python_object = sample.untyped_storage()
    address = id(python_object)
    words.append(_word(storage + 8))
    weak = python_object._weak_ref()
    words.append(_word(storage + 8))
    kind._free_weak_ref(weak)
    del python_object
    words.append(_word(storage + 8))
    with_object = has_object | one_weak | 2
    if words != [one_weak | 4, one_weak | 1, with_object, with_object + one_weak, with_object]:
        return None
    same = kind._new_with_weak_ptr(storage)
    return kind._new_with_weak_ptr if id(same) == address and _word(storage + 8) == with_object else None


def find_fields():
    """Find the fields by comparing tensors that differ in nothing else, and prove each find.

    Returns
    -------
    tuple
        Offsets of the implementation, dispatch keys, storage and resizable byte; the function from an address to a
        storage; addresses of two functions of C++. 0 or None for what cannot be proved.

    Examples
    --------
    >>> all(find_fields())                                        # doctest: +SKIP
    True
    """
    torch = sys.modules["torch"]
    # Settings of the program must not change the samples.
    with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu"):
        impl = _find_impl(torch)
        if not impl:
            return (0,)
        storage = _find_storage(torch)
        return (
            impl,
            _find_keys(torch),
            storage,
            _find_resizable(torch),
            _find_storage_object(torch, storage),
            _find_requires_grad(torch),
            _find_describe(torch, impl),
        )
