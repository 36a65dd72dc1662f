# SPDX-License-Identifier: Apache-2.0
"""Invalid arguments: lying, raising and re-entering objects, broken capsules, numbers out of every range."""

import ctypes
import gc
import math

import numpy as np

import dltensor as dl


class Planted:
    """Marks exceptions that hostile objects raise: those may come through."""


RAISED = [
    type(f"Planted{kind.__name__}", (Planted, kind), {})
    for kind in [
        *(ValueError, TypeError, AttributeError, KeyError, IndexError, StopIteration, MemoryError, OverflowError),
        *(BufferError, RuntimeError, SystemError, ZeroDivisionError, RecursionError, OSError, BaseException),
    ]
]
NUMBERS = [
    0, 1, -1, 2, 3, 7, 63, 64, 65, 127, 128, 255, 256, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**53 + 1, 2**62,
    2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**100, -(2**100), 10**400, True, False, 0.0, -0.0, 0.5,
    1e-300, 1e300, math.inf, -math.inf, math.nan, 1j, complex(math.nan, math.inf), complex(0, -1e308),
]  # fmt: skip
# Printable and not, known names and almost known ones, things that break encodings.
WORDS = [
    "",
    "a",
    "float32",
    "float33",
    "int4",
    "cpu",
    "cuda",
    "cuda:1",
    "cuda:99999999999999999999",
    "cpu:0",
    "C",
    "truncate",
]
WORDS += [
    "nearest",
    "trailing",
    "ij",
    "xy",
    "1.3",
    "\0",
    "\ud800",
    "x" * 5000,
    "{0.__class__}",
    "%s%n",
    ">f4",
    "numeric",
    "torch",
]
HOOKS = [
    "__dlpack__", "__dlpack_device__", "__array__", "__index__", "__int__", "__float__", "__complex__", "__bool__",
    "__len__", "__getitem__", "__iter__", "__next__", "__eq__", "__hash__", "__contains__", "__dlpack_data_type__",
    "__cuda_stream__", "__del__", "__repr__", "__str__", "__format__", "__add__", "__radd__", "__lt__", "__call__",
    "__enter__", "__exit__", "__trunc__", "__round__", "__reduce_ex__", "__copy__", "__deepcopy__", "__fspath__",
    "__rmatmul__",
]  # fmt: skip
FACTS = [
    "__array_interface__", "__cuda_array_interface__", "__dlpack_c_exchange_api__", "__array_priority__",
    "__array_struct__", "dtype", "shape", "ndim", "size", "itemsize", "name", "byteorder", "is_floating_point",
    "is_complex", "is_signed", "type", "index", "platform", "id", "value", "device", "strides", "kind", "__class__",
    "__module__", "__name__", "__qualname__", "start", "stop", "step", "readonly", "flags",
]  # fmt: skip


def number(context):
    return context.random.choice(NUMBERS)


def junk(context):
    """Something simple that is most likely not what was asked for."""
    made = context.random.choice(
        (None, number, number, word, bits, lambda context: [], lambda context: (), lambda context: {}, object)
    )
    return made(context) if callable(made) and made is not object else made


def word(context):
    return context.random.choice(WORDS)


def bits(context):
    return context.random.choice(
        (b"", b"\0\xff", bytearray(3), slice(None, None, -1), slice(2**70, "a"), ..., NotImplemented)
    )


def act(context, wanted, plain):
    """What a hostile method does: raise, lie, call back into the package, change what is being read, or play along."""
    how = context.random.random()
    if how < 0.2:
        raise context.random.choice(RAISED)("planted")
    if how < 0.4:
        return junk(context)
    if how < 0.5 and context.depth < 3:
        context.depth += 1
        meddle(context)
    return plain(context)


def meddle(context):
    """Do while the package works what it does not expect."""
    how = context.random.randrange(6)
    if how == 0:
        gc.collect(0)
    elif how == 1:
        context.shelf.clear()
    elif how == 2:
        dl.add(dl.ones(3), dl.asarray([1, 2, 3])).tolist()
    elif how == 3:
        dl.empty_cache()
    for given in context.lists[-3:]:
        if how > 3 or context.chance(0.5):
            context.random.choice(
                (given.clear, given.reverse, lambda g=given: g.append(None), lambda g=given: g.extend(g[:99]))
            )()


PLAIN = {
    "__dlpack__": lambda context: capsule(context),
    "__dlpack_device__": lambda context: context.random.choice(
        ((1, 0), (1, 1), (2, 0), (1, None), (1,), [1, 0], (7, 0))
    ),
    "__array__": lambda context: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 0, context.chance(0.3)]),
    "__index__": lambda context: context.random.randrange(-2, 4),
    "__int__": lambda context: 1,
    "__float__": lambda context: 1.5,
    "__complex__": lambda context: 1j,
    "__bool__": lambda context: context.chance(0.5),
    "__len__": lambda context: context.random.choice((0, 1, 3, 2**40)),
    "__getitem__": lambda context: 1,
    "__iter__": lambda context: iter([1, 2]),
    "__eq__": lambda context: context.chance(0.5),
    "__hash__": lambda context: 7,
    "__dlpack_data_type__": lambda context: context.random.choice(
        ((2, 32, 1), (2, 32), (-1, 2**40, 0), [0, 8, 1], (17, 4, 2))
    ),
    "__cuda_stream__": lambda context: context.random.choice(((0, 0), (0, 1), (1, 0), (0, -1), (0,), 5)),
    "__repr__": lambda context: "hostile\ud800",
    "__array_interface__": lambda context: interface(context),
    "__cuda_array_interface__": lambda context: interface(context),
    "shape": lambda context: (3,),
    "ndim": lambda context: context.random.choice((1, 2**31, -1)),
    "dtype": lambda context: context.random.choice((np.dtype("f4"), dl.int8, "float32")),
    "name": lambda context: context.random.choice(("float32", "bfloat16", "")),
    "type": lambda context: "cuda",
    "__class__": lambda context: context.random.choice((int, list, np.ndarray, dl.Tensor)),
}


def interface(context):
    """An array interface whose memory is really there as far as it can be believed, and whose rest may be anything."""
    real = np.zeros(64, np.float64)
    context.memory.append(real)
    made = {"shape": (2, 3), "typestr": "<f4", "data": (real.ctypes.data, False), "strides": None, "version": 3}
    for key in context.random.sample(sorted(made), context.random.randrange(3)):
        made[key] = context.random.choice(
            {
                "shape": [
                    (),
                    (0,),
                    (-1,),
                    (2**63,),
                    (2**62, 8),
                    "ab",
                    None,
                    [2, 2],
                    (1,) * 65,
                    ("a",),
                    3,
                    (True, 2),
                    (1.0,),
                ],
                "typestr": [
                    ">f4",
                    "<f5",
                    "",
                    "|O8",
                    "|V0",
                    "<M8[ns]",
                    None,
                    4,
                    "<U3",
                    "|b1",
                    "\ud800",
                    "<f",
                    "<f99999999999",
                ],
                "data": [
                    None,
                    (0, False),
                    (1, True),
                    (-1, False),
                    (2**64, 0),
                    (real.ctypes.data,),
                    5,
                    b"0" * 200,
                    ("0x1", 0),
                ],
                "strides": [(12, 4), (0, 0), (3, 1), (2**62, 2**62), (-4, 4)[:1], "ab", (None, None), (-(2**63), 1), 7],
                "version": [2, None, "3", -1, 2**70],
            }[key]
        )
    if context.chance(0.2):
        made[context.random.choice(("mask", "descr", "offset", "stream", 5))] = junk(context)
    if context.chance(0.1):
        del made[context.random.choice(sorted(map(str, set(made) - {5})))]
    return made if context.chance(0.9) else junk(context)


# No name here is one by which a consumer would know what the capsule really holds.
NAMES = [
    ctypes.c_char_p(name) for name in (b"used_dltensor", b"used_dltensor_versioned", b"", b"x\xff", b"dltensor_version")
]
_api = ctypes.pythonapi
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def capsule(context):
    """A capsule of ours or of NumPy's, sometimes with a field that no consumer may believe."""
    source = context.random.choice((dl.ones((2, 3)), np.ones((2, 3), np.float32), dl.zeros(0), np.arange(4)[::-1]))
    versioned = context.chance(0.6)
    try:
        made = source.__dlpack__(max_version=(1, 0)) if versioned else source.__dlpack__()
    except (TypeError, BufferError):  # an old NumPy
        versioned, made = False, dl.ones(2).__dlpack__()
    if context.chance(0.4):
        spoil(context, made, versioned)
    return made


def spoil(context, made, versioned):
    """Write a wrong value into a field of the struct: one that differs from every valid one."""
    at = _api.PyCapsule_GetPointer(made, b"dltensor_versioned" if versioned else b"dltensor")
    tensor = at + (32 if versioned else 0)
    choices = [
        (ctypes.c_int32, tensor + 8, (0, -1, 99, 2**31 - 1)),  # device type
        (ctypes.c_int32, tensor + 16, (-1, 65, 2**31 - 1, -(2**31))),  # ndim
        (ctypes.c_uint8, tensor + 21, (0, 3)),  # bits
        (ctypes.c_uint16, tensor + 22, (0,)),  # lanes
        (ctypes.c_uint64, tensor, (1, 8, 4095)),  # data
        (ctypes.c_uint64, tensor + 24, (1,)),  # shape
        (ctypes.c_uint64, tensor + 40, (2**64 - 1, 2**63)),  # byte_offset
    ]
    if versioned:
        choices += [(ctypes.c_uint32, at, (0, 2, 2**32 - 1)), (ctypes.c_uint32, at + 4, (99, 2**32 - 1))]
        choices += [(ctypes.c_uint64, at + 24, (1, 2, 4, 5, 2**63, 2**64 - 1))]
    kind, address, values = context.random.choice(choices)
    kind.from_address(address).value = context.random.choice(values)


def renamed(context, source):
    """A tensor's capsule under a wrong name; the context restores the name, so that its memory is freed."""
    made = source.__dlpack__(max_version=(1, 3))
    _api.PyCapsule_SetName(made, context.random.choice(NAMES))
    context.renamed.append(made)
    return made


def name_back(context):
    for made in context.renamed:
        _api.PyCapsule_SetName(made, b"dltensor_versioned")
    context.renamed.clear()


# version 1.3 and 2.0, without functions, and one that is its own predecessor.
TABLES = [(ctypes.c_uint64 * 8)(1 | 3 << 32), (ctypes.c_uint64 * 8)(2), (ctypes.c_uint64 * 8)(3)]
TABLES[2][1] = ctypes.addressof(TABLES[2])


def table(context):
    """An exchange table that has no functions, in a capsule of the right name."""
    return _api.PyCapsule_New(ctypes.addressof(context.random.choice(TABLES)), b"dlpack_exchange_api", None)


def trickster(context):
    """An object of a new class with a few methods and attributes that do as they like."""
    body = {}
    for name in context.random.sample(HOOKS, context.random.randrange(1, 5)):
        plain = PLAIN.get(name, junk)
        body[name] = lambda self, *a, _n=name, _p=plain, **k: act(context, _n, _p)
    for name in context.random.sample(FACTS, context.random.randrange(3)):
        plain = PLAIN.get(name, junk)
        body[name] = property(lambda self, _n=name, _p=plain: act(context, _n, _p))
    if context.chance(0.1):
        body["__dlpack_c_exchange_api__"] = context.random.choice(
            (table, table, word, lambda context: renamed(context, dl.ones(2)))
        )(context)
    if "__eq__" in body:
        body.setdefault("__hash__", object.__hash__)
    if context.chance(0.1):
        body["__getattr__"] = lambda self, name: act(context, name, PLAIN.get(name, junk))
    bases = context.random.choice(
        ((), (), (), (int,), (float,), (str,), (list,), (tuple,), (bytes,), (complex,), (dict,))
    )
    value = context.random.choice(([], [()], ["12"])) if bases and bases[0] in (str, tuple, list) else []
    context.depth += 1
    try:
        kind = type("Trickster", bases, body)
        return kind(*value)
    except (TypeError, Planted, BaseException):
        return object()
    finally:
        context.depth -= 1


def sequence(context):
    """A list that is deep, recursive, ragged or changed while it is read."""
    how = context.random.randrange(7)
    made = [number(context) for _ in range(context.random.randrange(4))]
    if how == 0:
        made.append(made)
    elif how == 1:
        for _ in range(context.random.choice((5, 63, 64, 65, 70, 5000, 100_000))):
            made = [made]
    elif how == 2:
        made.append([1, 2])
    elif how == 3:
        made = [[1, 2], [3]]
    elif how == 4:
        return (x for x in made)
    made.insert(context.random.randrange(len(made) + 1), trickster(context))
    context.lists.append(made)
    return tuple(made) if how == 5 else made


def anything(context):
    """One hostile argument."""
    made = context.random.choice(
        (number, word, bits, junk, trickster, trickster, trickster, trickster, sequence, sequence, interface)
    )
    if context.chance(0.1):
        return renamed(context, dl.ones(2)) if context.chance(0.5) else capsule(context)
    if context.chance(0.05):
        return context.random.choice(
            (int, dl.Tensor, dl, np, len, dl.add, type, Exception, np.ndarray, object, lambda *a, **k: 1)
        )
    return made(context)
