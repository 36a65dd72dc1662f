# SPDX-License-Identifier: Apache-2.0
"""DLPack structs by hand, with ctypes alone: what the reproducers beside this file need to make and read capsules."""

import ctypes
import os
import subprocess
import sys
from importlib.metadata import version

_python = ctypes.PyDLL(None)  # of our own: argument types set on ctypes.pythonapi hold for every module
_new, _name, _pointer = _python.PyCapsule_New, _python.PyCapsule_GetName, _python.PyCapsule_GetPointer
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
# A destructor is given a capsule that has no references left: it must not become a Python object.
_name_at = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", _python))
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_NAMES = (b"dltensor", b"dltensor_versioned")
FLOAT32 = (2, 32, 1)


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Legacy(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Source:
    """A producer of six float32, 1 to 6, with any field changed; counts the calls of its deleter.

    The last capsule stays in ``capsule``. When it goes, its destructor calls the deleter if it still has its name.
    """

    def __init__(self, shape=(6,), strides=None, *, legacy=False, version=(1, 0), flags=0, data=True, byte_offset=0,
                 dtype=FLOAT32, context=True, deleter=True):  # fmt: skip
        self.deleted, self.capsule = 0, None
        self._memory = ctypes.create_string_buffer(6 * 4 + 64)
        # Aligned, so that no framework copies because of the alignment.
        self._start = ctypes.addressof(self._memory) + -ctypes.addressof(self._memory) % 64
        (ctypes.c_float * 6).from_address(self._start)[:] = 1, 2, 3, 4, 5, 6
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        if strides is None:
            strides, step = [], 1
            for extent in reversed(shape):
                strides.insert(0, step)
                step *= extent
        self._strides = (ctypes.c_int64 * len(shape))(*[stride - (stride >> 63 << 64) for stride in strides])
        self._deleter = _DELETER(self._delete)
        self._destructor = _DELETER(self._end)
        self._struct = Legacy() if legacy else Versioned()
        if not legacy:
            self._struct.version[:], self._struct.flags = version, flags
        self._struct.context = self._start if context else None
        self._struct.deleter = ctypes.cast(self._deleter, ctypes.c_void_p).value if deleter else None
        tensor = self._struct.tensor
        tensor.data = self._start if data else None
        tensor.device[:], tensor.ndim, tensor.byte_offset = (1, 0), len(shape), byte_offset
        tensor.code, tensor.bits, tensor.lanes = dtype
        tensor.shape, tensor.strides = self._shape, self._strides

    def _delete(self, struct):
        self.deleted += 1

    def _end(self, capsule):
        if _name_at(capsule) in _NAMES:
            self._delete(ctypes.addressof(self._struct))

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        name = _NAMES[isinstance(self._struct, Versioned)]
        self.capsule = _new(ctypes.addressof(self._struct), name, ctypes.cast(self._destructor, ctypes.c_void_p))
        return self.capsule


def struct_of(capsule):
    """The managed struct in an unconsumed capsule."""
    name = _name(capsule)
    return (Versioned if name == _NAMES[1] else Legacy).from_address(_pointer(capsule, name))


def address(capsule):
    """The address of the first element."""
    tensor = struct_of(capsule).tensor
    return tensor.data + tensor.byte_offset


def in_child(code):
    """Run Python code in a child; what it printed, and its exit code, which is negative after a signal."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    return done.stdout.strip(), done.returncode


def report(distribution, expected, got, wrong):
    """Print what was seen, and end with status 1 when it is still wrong."""
    print(f"{distribution} {version(distribution)}")
    print(f"expected: {expected}\ngot:      {got}")
    print("DEFECT" if wrong else "FIXED", flush=True)
    os._exit(bool(wrong))  # the shutdown of a framework is not tested here
