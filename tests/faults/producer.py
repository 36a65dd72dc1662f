# SPDX-License-Identifier: Apache-2.0
"""Hostile producers: managed tensors with any field values, handed out as capsules, objects or through a table.

Needs a C compiler and ctypes; knows nothing of any consumer and asserts nothing.
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "src" / "dltensor" / "include"


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("view_object", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def build(folder=None):
    """Compile producer.c once per source text and return the library's path; RuntimeError with the compiler's words."""
    source = HERE / "producer.c"
    folder = Path(folder or os.environ.get("DLTENSOR_FAULTS_CACHE") or tempfile.gettempdir())
    digest = hashlib.sha256(source.read_bytes() + (INCLUDE / "dltensor/dlpack.h").read_bytes()).hexdigest()[:16]
    library = folder / f"dltensor-producer-{digest}.so"
    if not library.exists():
        unique = library.with_suffix(f".{os.getpid()}")
        command = [
            *os.environ.get("CC", "cc").split(),
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
        ]
        command += ["-fPIC", f"-I{INCLUDE}", str(source), "-o", str(unique), "-lpthread"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        unique.replace(library)
    return library


_python = ctypes.PyDLL(None)  # of our own: argument types set on ctypes.pythonapi affect every module
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = [ctypes.py_object]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Capsules keep a pointer to their name, so names live as long as the process.
NAMES = {
    name: ctypes.create_string_buffer(name.encode())
    for name in (
        "dltensor",
        "dltensor_versioned",
        "used_dltensor",
        "used_dltensor_versioned",
        "xdltensor",
        "dlpack_exchange_api",
        "another_api",
    )
}


def capsule(address, name, destructor=None):
    """A PyCapsule around an address; `destructor` is the address of a C function or None."""
    return _python.PyCapsule_New(address, ctypes.addressof(NAMES[name]) if name else None, destructor)


_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]


def name_of(taken):
    """The name that a capsule bears now."""
    name = _python.PyCapsule_GetName(taken)
    return None if name is None else name.decode()


def struct_of(exported):
    """The struct inside an unconsumed capsule, by its name; good while the capsule lives."""
    name = name_of(exported)
    layout = {"dltensor": Legacy, "dltensor_versioned": Versioned}[name]
    return layout.from_address(_python.PyCapsule_GetPointer(exported, name.encode()))


def take_struct(taken):
    """Consume a capsule as the standard says and return the struct's address and whether it is legacy."""
    name = name_of(taken)
    address = ctypes.addressof(struct_of(taken))
    _python.PyCapsule_SetName(taken, ctypes.cast(NAMES["used_" + name], ctypes.c_char_p))
    return address, name == "dltensor"


class Kit:
    """The library, and what is made with it."""

    def __init__(self, folder=None):
        self.path = build(folder)
        self.lib = lib = ctypes.CDLL(str(self.path))
        for name in ("fault_make", "fault_shape", "fault_strides", "fault_data"):
            getattr(lib, name).restype = ctypes.c_void_p
            getattr(lib, name).argtypes = [ctypes.c_size_t if name == "fault_make" else ctypes.c_void_p]
        for name in ("fault_deleted", "fault_with_error", "fault_without_gil"):
            getattr(lib, name).argtypes = [ctypes.c_void_p]
        lib.fault_table_will.argtypes = [ctypes.c_void_p, ctypes.c_int]
        lib.fault_delete_on_threads.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]

    def address_of(self, function):
        """Where one of the library's functions lies: ``address_of("end_capsule")``."""
        return ctypes.cast(getattr(self.lib, "fault_" + function), ctypes.c_void_p).value

    def make(self, **fields):
        """A managed tensor; see `Made`."""
        return Made(self, **fields)

    def table(self, **fields):
        """An exchange table of this library's functions, any field replaced. It lives as long as the process."""
        table = Table(1, 3, None)
        for name in ("allocate", "from_object", "to_object", "view_object", "stream"):
            setattr(table, name, self.address_of(name))
        for name, value in fields.items():
            setattr(table, name, value)
        _immortal.append(table)
        return table


_immortal = []  # the standard: a table lives as long as the process


class Made:
    """One managed tensor with any field values, by default a sound float32 tensor of shape (2, 3) on the CPU.

    ``shape`` and ``strides`` are sequences (up to 64 values), None for NULL, or an int for an address. ``data`` is
    bytes that are copied, or an int for an address. ``deleter`` names a function of the library, None for NULL.
    """

    def __init__(
        self,
        kit,
        *,
        legacy=False,
        shape=(2, 3),
        strides="c order",
        data=None,
        ndim=None,
        dtype=(2, 32, 1),
        device=(1, 0),
        byte_offset=0,
        version=(1, 3),
        flags=0,
        deleter="count",
        shift=0,
    ):
        self.kit = kit
        content = bytes(24) if data is None else data
        self.address = kit.lib.fault_make(len(content) if isinstance(content, bytes) else 0)
        if not self.address:
            raise MemoryError("fault_make")
        self.legacy = legacy
        self.handed_out = False
        self.struct = (Legacy if legacy else Versioned).from_address(self.address)
        if not legacy:
            self.struct.major, self.struct.minor = version
            self.struct.flags = flags
        name = {"count": "delete_legacy" if legacy else "delete_versioned"}.get(deleter, deleter)
        self.struct.deleter = None if name is None else kit.address_of(name)
        t = self.struct.tensor
        if isinstance(content, bytes):
            t.data = kit.lib.fault_data(self.address)
            if content:
                ctypes.memmove(t.data, content, len(content))
                t.data += shift
        else:
            t.data = content
        if strides == "c order":
            strides, step = [], 1
            for n in reversed(shape if isinstance(shape, (tuple, list)) else ()):
                strides.insert(0, step)
                step = (step * n + 2**63) % 2**64 - 2**63
        t.ndim = (len(shape) if isinstance(shape, (tuple, list)) else 0) if ndim is None else ndim
        for field, values in (("shape", shape), ("strides", strides)):
            if values is None or isinstance(values, int):
                setattr(t, field, values)
                continue
            where = getattr(kit.lib, "fault_" + field)(self.address)
            array = (ctypes.c_int64 * 64).from_address(where)
            for axis, value in enumerate(values):
                array[axis] = value
            setattr(t, field, where)
        t.code, t.bits, t.lanes = dtype
        t.device_type, t.device_id = device
        t.byte_offset = byte_offset

    @property
    def tensor(self):
        """The DLTensor inside, writable."""
        return self.struct.tensor

    @property
    def deleted(self):
        """How often its deleter ran."""
        return self.kit.lib.fault_deleted(self.address)

    @property
    def deleted_with_error(self):
        """How often its deleter ran with an exception pending."""
        return self.kit.lib.fault_with_error(self.address)

    def capsule(self, name=None, destructor="end_capsule"):
        """Hand it out as a capsule, with the standard's name for its layout and the standard's destructor."""
        name = name or ("dltensor" if self.legacy else "dltensor_versioned")
        made = capsule(self.address, name, destructor and self.kit.address_of(destructor))
        self.handed_out = True
        return made

    def object(self, age="2023", device=None):
        """Hand it out as an object whose ``__dlpack__`` has the signature of a year; see `SIGNATURES`."""
        return producer_type(age)(self, device)

    def through_table(self, manner=0, names=("__dlpack_c_exchange_api__",), as_int=False, **fields):
        """Hand it out as an object whose type offers an exchange table. Only one at a time."""
        self.kit.lib.fault_table_will(self.address, manner)
        return table_type(self.kit.table(**fields), names, as_int)()


class _Producer:
    """An object with ``__dlpack_device__``, and a ``__dlpack__`` that subclasses give a signature."""

    def __init__(self, made, device=None):
        self.made = made
        self.said = device
        self.calls = []

    def __dlpack_device__(self):
        return self.said or (self.made.tensor.device_type, self.made.tensor.device_id)

    def hand_out(self, **keywords):
        self.calls.append(keywords)
        return self.made.capsule()


# Every signature that `__dlpack__` has had: array API 2021, 2023 and what people write.
SIGNATURES = {
    "2023": lambda self, *, stream=None, max_version=None, dl_device=None, copy=None: self.hand_out(
        stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    ),
    "2021": lambda self, *, stream=None: self.hand_out(stream=stream),
    "positional": lambda self, stream=None: self.hand_out(stream=stream),
    "bare": lambda self: self.hand_out(),
    "keywords": lambda self, **keywords: self.hand_out(**keywords),
    "forwarded": lambda self, **keywords: SIGNATURES["2021"](self, **keywords),
    "version only": lambda self, max_version=None: self.hand_out(max_version=max_version),
}


def producer_type(age, **members):
    """A fresh type, so that nothing a consumer remembers about a type leaks from one case to the next."""
    return type("Producer", (_Producer,), {"__dlpack__": SIGNATURES[age], **members})


def table_type(table, names=("__dlpack_c_exchange_api__",), as_int=False, **members):
    """A fresh type that offers `table` under each of `names`, as a capsule or as an address."""
    address = table if isinstance(table, int) else ctypes.addressof(table)
    value = address if as_int else capsule(address, "dlpack_exchange_api")
    return type("TableProducer", (), {**dict.fromkeys(names, value), **members})
