# SPDX-License-Identifier: Apache-2.0
"""Operands whose methods change another operand of the same call: free, resize, reshape, re-type or overwrite it.

Here are the operands and the changes; tricks.py puts them into calls.
"""

import array
import contextlib

import numpy as np

import dltensor as dl

from . import peers

POISON = 0xA5
KEEPS_WHERE = 1 << 16  # bytes from which freed memory leaves the process: nothing is allocated over it


def poison(context, size):
    """Fill memory of a size that was just freed, and NumPy's freed shapes, with values that no operand has."""
    if size < KEEPS_WHERE:
        context.memory += [np.full(max(size, 1), POISON, np.uint8) for _ in range(4)]
    context.memory += [np.broadcast_to(np.int8(1), (1 << 60 // n,) * n) for n in (1, 2, 3, 4)]


ARRAY_CHANGES = {
    "resize to nothing": lambda a: a.resize(0, refcheck=False),
    "resize to one element": lambda a: a.resize((1,) * a.ndim, refcheck=False),
    "resize to more": lambda a: a.resize((a.shape[0] * 16, *a.shape[1:]), refcheck=False),
    "flatten": lambda a: setattr(a, "shape", (a.size,)),
    "reshape to more dimensions": lambda a: setattr(a, "shape", (1, 1, 1, *a.shape, 1)),
    "reshape": lambda a: setattr(a, "shape", (a.size // a.shape[-1] * 2, a.shape[-1] // 2)),
    "transpose": lambda a: setattr(a, "shape", a.shape[::-1]),
    "narrow dtype": lambda a: setattr(a, "dtype", np.uint8),
    "other dtype": lambda a: setattr(a, "dtype", f"{'i' if a.dtype.kind == 'f' else 'u'}{a.itemsize}"),
    "no strides": lambda a: setattr(a, "strides", (0,) * a.ndim),
    "read-only": lambda a: a.setflags(write=False),
    "overwrite": lambda a: a.fill(1),
}
LIST_CHANGES = {
    "clear": lambda a: a.clear(),
    "drop the first": lambda a: a.__delitem__(0),
    "drop the last": lambda a: a.pop(),
    "replace all": lambda a: a.__setitem__(slice(None), [None] * len(a)),
    "append": lambda a: a.extend([1] * 99),
    "reverse": lambda a: a.reverse(),
}
BYTES_CHANGES = {
    "empty": lambda a: a.__delitem__(slice(None)),
    "extend": lambda a: a.extend(a[: len(a)] * 9),
    "drop the last": lambda a: a.pop(),
}
OPAQUE_CHANGES = {
    "flatten": lambda a: a.reshape((-1,)),
    "reshape": lambda a: a.reshape((1, 1, -1)),
    "swap axes": lambda a: a.swap_axes(0, 1),
    "hand over": lambda a: dl.opaque.hold(a.release(), take=True),
}


def changes_of(victim):
    """Names and functions of what may be done to an operand."""
    if type(victim) is np.ndarray:
        return ARRAY_CHANGES
    if type(victim) is list:
        return LIST_CHANGES
    if isinstance(victim, (bytearray, array.array)):
        return BYTES_CHANGES
    if type(victim) is dl.opaque.OpaqueArray:
        return OPAQUE_CHANGES
    return peers.CHANGES


class Change:
    """One change to another operand, made when a given number of questions have been asked."""

    def __init__(self, context, victim, writes=True):
        self.context = context
        self.name = context.random.choice([name for name in changes_of(victim) if writes or name != "overwrite"])
        self.action = changes_of(victim)[self.name]
        self.questions = context.random.choice((0, 0, 0, 0, 1, 1, 2, 4))
        self.answer_first = context.chance(0.3)
        self.size = nbytes(victim)
        self.victim = victim  # not a weak reference: NumPy resizes no array that has one
        self.words = f"{self.name}, {type(victim).__name__}"

    def ask(self):
        """Count a question, and make the change when it is time."""
        if self.questions == 0:
            self.make()
        self.questions -= 1

    def make(self):
        try:
            self.action(self.victim)
        except Exception:  # the other library refuses
            return
        poison(self.context, self.size)


def nbytes(victim):
    if isinstance(victim, (list, dl.opaque.OpaqueArray)):
        return 0
    return victim.nbytes if hasattr(victim, "nbytes") else len(memoryview(victim)) * memoryview(victim).itemsize


def hooked(change, answer):
    """A method that answers as it should, and makes the change before or after it has found its answer."""

    def method(self, *arguments, **keywords):
        if change.answer_first:
            made = answer(*arguments, **keywords)
            change.ask()
            return made
        change.ask()
        return answer(*arguments, **keywords)

    return method


def operand(change, said, body, bases=(), value=()):
    """An object of a class of its own whose methods and properties (those in `body`) make the change."""
    facts = {"__array_interface__", "__class__", "type", "index", "name", "dtype"}
    made = {name: hooked(change, answer) for name, answer in body.items()}
    made = {name: property(method) if name in facts else method for name, method in made.items()}
    if "__eq__" in made:
        made["__hash__"] = lambda self: hash(value[0]) if value else 7
    kind = type("Interfering", bases, made | {"said": f"{said}: {', '.join(sorted(body))}; {change.words}"})
    return kind(*value)


def for_tensor(context, change, t):
    """An operand with the values of a tensor, read through one protocol or several."""
    plain = t.numpy()
    protocols = {
        "dlpack": {"__dlpack__": t.__dlpack__, "__dlpack_device__": t.__dlpack_device__},
        "array": {"__array__": lambda *_, **__: plain.copy()},
        "interface": {"__array_interface__": lambda: plain.__array_interface__ | {"owner": plain}},
        "sequence": {
            "__len__": lambda: len(plain),
            "__getitem__": lambda i: plain[i],
            "__iter__": lambda: iter(list(plain)),
        },
        "number": {
            "__float__": lambda: float(plain.flat[0].real),
            "__index__": lambda: int(plain.flat[0].real),
            "__complex__": lambda: complex(plain.flat[0]),
            "__bool__": lambda: bool(plain.flat[0]),
        },
        "buffer": {"__buffer__": lambda flags: memoryview(plain)},  # asked from Python 3.12 on
    }
    if plain.ndim:  # else the operand would not be worth what the tensor is
        del protocols["number"]
    way = context.random.choice((*protocols, "dlpack", "dlpack", "interface", "array", "subclass", "list"))
    if way == "subclass":
        body = protocols[context.random.choice(("dlpack", "array", "interface"))]
        made = operand(change, "ndarray", body, (np.ndarray,), (plain.shape, plain.dtype))
        made[...] = plain
        return made
    if way == "list":
        number = for_number(context, change, 1.5)
        return [number, *plain.ravel()[:3].tolist()] if plain.ndim < 2 else [[number], [1.0]]
    body = protocols[way]
    if context.chance(0.1):
        body = body | protocols[context.random.choice(sorted(protocols))]
    return operand(change, way, body)


def for_number(context, change, value):
    """An operand worth a number."""
    simple = value if isinstance(value, (int, float, bool)) else 2
    body = {
        "__index__": lambda: int(simple),
        "__int__": lambda: int(simple),
        "__float__": lambda: float(simple),
        "__complex__": lambda: complex(simple),
        "__bool__": lambda: bool(simple),
    }
    if context.chance(0.3):
        body = {"__float__": body["__float__"], "__array__": lambda *_, **__: np.array(float(simple))}
    elif context.chance(0.3):
        bases = context.random.choice(((int,), (float,)))
        return operand(change, "number", body | {"__eq__": lambda other: simple == other}, bases, (int(simple),))
    return operand(change, "number", body)


def for_sequence(context, change, value):
    """A shape or a list whose length, items or numbers are asked of Python."""
    if context.chance(0.4) and value:
        made = list(value)
        at = context.random.randrange(len(made))
        made[at] = for_any(context, change, made[at])
        return made if context.chance(0.5) else tuple(made)
    body = {"__len__": lambda: len(value), "__getitem__": lambda i: value[i], "__iter__": lambda: iter(list(value))}
    bases = context.random.choice(((), (list,), (tuple,)))
    return operand(change, "sequence", body, bases, (list(value),) if bases else ())


def for_any(context, change, value):
    """An operand that is worth what `value` is."""
    if type(value) is dl.Tensor:
        try:
            return for_tensor(context, change, value)
        except (TypeError, BufferError, ValueError, IndexError):  # NumPy has no such dtype
            return operand(change, "dlpack", {"__dlpack__": value.__dlpack__, "__dlpack_device__": lambda: (1, 0)})
    if isinstance(value, (bool, int, float, complex, type(None))):
        return for_number(context, change, value)
    if type(value) in (list, tuple):
        return for_sequence(context, change, value)
    if type(value) is str:
        texts = {"__eq__": lambda other: value == other, "__str__": lambda: value, "__len__": lambda: len(value)}
        return operand(change, "text", texts, (str,), (value,))
    if type(value) is dl.DType:
        numbers = {"__dlpack_data_type__": value.__dlpack_data_type__, "name": lambda: value.name}
        return operand(change, "dtype", numbers)
    if context.chance(0.9):
        with contextlib.suppress(TypeError, BufferError, ValueError, IndexError):
            return for_tensor(context, change, dl.asarray(value, copy=True))
    pair = {"__getitem__": lambda i: (1, 0)[i], "type": lambda: "cpu", "index": lambda: 0, "__len__": lambda: 2}
    return operand(change, "other", pair, context.random.choice(((), (tuple,))))
