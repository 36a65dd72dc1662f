# SPDX-License-Identifier: Apache-2.0
"""Arguments for a signature: mostly what the annotations say, sometimes what they forbid."""

import ast
import enum
import math

import numpy as np

import dltensor as dl

from . import hostile, tensors
from .surface import ALIASES, BY_NAME, CLASSES, KINDS


class Undrawable(Exception):
    """There is no object of a class here, such as a stream without a device."""


class Drawn:
    """The arguments of one call, and which of them are there to be written.

    `trick` names what was done to them in tricks.py and `words` says more, `states` gives what the positional arguments
    are worth now, and `after` is called with the result (or None) and whether the call failed.
    """

    def __init__(self, entry):
        self.entry, self.arguments, self.keywords, self.outputs, self.hostile = entry, [], {}, [], False
        self.names = []  # parameters of the positional arguments
        self.trick = self.words = ""
        self.states = self.after = None

    def call(self):
        return self.entry.call(*self.arguments, **self.keywords)


def small(room):
    return room.random.choice((0, 1, 2, -1, 3, -2, room.random.randrange(-70, 70)))


def length(room):
    return room.random.choice((0, 1, 2, 3, 5, room.random.randrange(40)))


def scalar(room):
    dice = room.random.randrange(8)
    return (
        (
            True,
            room.random.randrange(-9, 9),
            1.5,
            room.random.random() * 100,
            2,
            1j,
            np.float32(0.5),
            hostile.number(room),
        )
    )[dice]


def index(room):
    def step():
        dice = room.random.randrange(8)
        ends = [room.random.choice((None, None, small(room))) for _ in range(2)]
        return (
            small(room)
            if dice < 3
            else ...
            if dice == 3
            else None
            if dice == 4
            else slice(*ends, room.random.choice((None, 1, -1, 2, small(room))))
        )

    return step() if room.chance(0.5) else tuple(step() for _ in range(room.random.randrange(4)))


def axes(room):
    return room.random.choice((0, 0, 1, -1, -2, 2, small(room)))


def dtype(room):
    value = room.dtype()
    how = room.random.randrange(6)
    if how == 0:
        return value.name
    if how == 1 and value.code in (0, 1, 2, 5, 6) and value.lanes == 1 and value.bits in (8, 16, 32, 64):
        try:
            return np.dtype(value.name)
        except TypeError:
            return value
    return value


def device(room):
    if room.device != "cpu" and room.chance(0.5):
        return room.device
    return room.random.choice(("cpu", "cpu", dl.Device("cpu"), (1, 0), 1, "cpu:0", "cuda:1", "vulkan", (3, 0)))


def shape(room):
    made = room.shape()
    return room.random.choice((made, made, list(made), made[0] if made else 1, math.prod(made), -1))


def sequences(room):
    made = room.random.choice(
        ([], [1, 2, 3], [[1, 2], [3, 4]], [1.5, 2], [True, False], (1, 2j), range(5), [[[0]]], [[], []])
    )
    return made


def address(room):
    """Where an array's struct is; an address that is none is told only when it cannot be one."""
    return room.random.choice((draw_class(room, "OpaqueArray").pointer, 0, -1, 1, 2**64, "x", None, 1.5))


def one_of(*choices):
    return lambda room: room.random.choice(choices)


# What each word of the annotations stands for. A word that is not here is a class of the package, or anything.
WORDS = {
    "Tensor": lambda room: tensors.tensor(room),
    "TensorLike": lambda room: tensors.foreign(room) if room.chance(0.15) else tensors.tensor(room),
    "Operand": lambda room: scalar(room) if room.chance(0.2) else draw_word(room, "TensorLike"),
    "SupportsDLPack": lambda room: tensors.only_dlpack(tensors.tensor(room)),
    "SupportsExchangeTable": tensors.tensor,
    "_NumpyArray": lambda room: np.arange(6.0).reshape(2, 3)[:, ::-1],
    "CapsuleType": hostile.capsule,
    "Scalar": scalar,
    "Sequences": sequences,
    "DTypeLike": dtype,
    "DeviceLike": device,
    "ShapeLike": shape,
    "Index": index,
    "SupportsIndex": axes,
    "int": small,
    "float": one_of(0.0, 1.0, -1.5, 1e300, math.inf, math.nan, 3),
    "complex": one_of(1j, 2.5, 1, complex(0, math.inf)),
    "bool": one_of(True, False),
    "str": hostile.word,
    "PathLike": hostile.word,
    "object": lambda room: draw_word(room, "TensorLike"),
    "Any": lambda room: device(room) if room.chance(0.5) else hostile.junk(room),
    "type": one_of(np.ndarray, dl.Tensor, int),
    "dict": lambda room: {},
    "slice": lambda room: slice(None),
}
# Addresses are believed, so only those are given that may be. `take` and `into` would give one thing away twice.
NAMES = {
    "ptr": lambda room: room.start + 64 * room.random.randrange(16),
    "address": address,
    "take": one_of(False, None, 0),
    "adapt.to": one_of(None, "torch", "jax", "numpy", "cupy", "tensorflow", "nobody"),
    "max_version": one_of(None, (1, 0), (1, 3), (0, 8), (2, 0), (1,), [1, 1], (-1, 2**40)),
    "dl_device": one_of(None, (1, 0), (2, 0), (1, 1), (7, 0)),
    "stream": one_of(None, -1, 0, 1, 2),
    "num": length,
    "n_rows": length,
    "n_cols": length,
    "repeats": lambda room: length(room) if room.chance(0.5) else draw_word(room, "TensorLike"),
    "repetitions": lambda room: room.random.choice((1, 2, (2, 1), (1, 0, 2), length(room))),
    "count": one_of(1, 2, 3, 0, -1),
    "axes": lambda room: permutation(room),
    "memo": lambda room: {},
    "protocol": one_of(0, 2, 4, 5),
    "capacity": one_of(0, 1, 100, 10_000, -1),
    "spec": one_of("", ".2f", "d", "e", "g", ">10", "s", "x", "\ud800", "{}", ".99999999999f", "5000"),
    "launch": lambda room: None if room.chance(0.5) else dl.cuda.Launch(small(room), small(room), small(room)),
    "deleter": one_of(None, list, int),
    "byte_offset": one_of(0, 0, 8, 1, 64),
}


def permutation(room):
    order = list(range(len(room.random.choice(room.shapes))))
    room.random.shuffle(order)
    return order


def draw_class(room, word):
    """An object of a class of the package: an earlier result, or what a function that returns one gives."""
    kept = room.shelf.get(word)
    if kept and room.chance(0.7):
        return room.random.choice(kept)
    makers = room.makers.get(word, ())
    before, room.hostile = room.hostile, 0.0
    room.depth += 1
    try:
        for _ in range(4 if room.depth < 4 else 0):
            if not makers:
                break
            try:
                made = draw(room, room.random.choice(makers)).call()
            except Exception:
                continue
            room.keep(word, made)
            return made
    finally:
        room.hostile = before
        room.depth -= 1
    if not kept and issubclass(CLASSES[word], tuple):
        return CLASSES[word]._make(small(room) for _ in CLASSES[word]._fields)
    if not kept:
        raise Undrawable(word)
    return kept[0]


def draw_word(room, word):
    if word in WORDS:
        return WORDS[word](room)
    if word in CLASSES:
        if issubclass(CLASSES[word], enum.Enum):
            return room.random.choice(list(CLASSES[word]))
        return draw_class(room, word)
    if word in ALIASES:
        return draw_type(room, ALIASES[word])
    return hostile.junk(room)


def draw_type(room, node):
    """A value of an annotation: unions choose, sequences repeat."""
    if isinstance(node, ast.BinOp):
        return draw_type(room, room.random.choice((node.left, node.right)))
    if isinstance(node, ast.Constant):
        return (
            node.value if not isinstance(node.value, str) else draw_type(room, ast.parse(node.value, mode="eval").body)
        )
    if isinstance(node, ast.Attribute):
        return draw_word(room, node.attr)
    if isinstance(node, ast.Name):
        return draw_word(room, node.id)
    if not isinstance(node, ast.Subscript):
        return hostile.junk(room)
    inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    outside = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
    if outside == "Literal":
        return room.random.choice(inside).value
    if outside == "Callable":
        return room.random.choice((len, repr, lambda *a: None))
    if outside == "tuple" and not any(isinstance(e, ast.Constant) and e.value is ... for e in inside):
        return tuple(draw_type(room, element) for element in inside)
    if outside in ("Sequence", "Iterable", "tuple", "list"):
        if isinstance(inside[0], ast.Name) and inside[0].id == "SupportsIndex" and room.chance(0.7):
            return room.random.choice((tuple, list))(room.shape())
        return room.random.choice((tuple, list))(draw_type(room, inside[0]) for _ in range(room.random.randrange(4)))
    return draw_word(room, outside)


def draw_one(room, drawn, parameter):
    """One argument, hostile by chance. What is there to be written is remembered."""
    if room.chance(room.hostile) and parameter.name not in ("self", "ptr", "address", "take", "into"):
        drawn.hostile = True
        return hostile.anything(room)
    node = parameter.type if parameter.type is not None else BY_NAME.get(parameter.name)
    if isinstance(node, ast.Name) and node.id == "_Out":
        made = output(room, drawn)
        drawn.outputs.append(made)
        return made
    named = NAMES.get(f"{drawn.entry.name}.{parameter.name}") or NAMES.get(parameter.name)
    if named:
        return named(room)
    if node is None:
        return hostile.junk(room)
    return draw_type(room, node)


def output(room, drawn):
    """A tensor that the result may fit into: of the shape that the operands broadcast to, often of their dtype."""
    given = [a for a in drawn.arguments if type(a) is dl.Tensor]
    try:
        extents = dl.broadcast_shapes(*(t.shape for t in given))
    except ValueError:
        extents = room.shape()
    if room.chance(0.1) and given:
        return given[0]
    kind = (
        given[0].dtype
        if given and room.chance(0.6)
        else room.random.choice((dl.bool, dl.uint8, dl.float32, room.dtype()))
    )
    made = tensors.tensor(room, extents, kind)
    if room.chance(0.1):
        try:
            return made.numpy()
        except (TypeError, BufferError, ValueError):
            pass
    return made


# Methods that write into their own object.
WRITES_SELF = ("__setitem__", ".fill", "__i", ".move_data", ".reshape", ".swap_axes")


def draw(room, entry):
    """The arguments of one call of an entry."""
    drawn = Drawn(entry)
    for parameter in room.random.choice(entry.signatures):
        if parameter.optional and room.chance(0.6 if parameter.kind is not KINDS.VAR_POSITIONAL else 0.0):
            if parameter.kind is KINDS.POSITIONAL_ONLY:
                break
            continue
        if parameter.kind is KINDS.VAR_POSITIONAL:
            drawn.arguments += [draw_one(room, drawn, parameter) for _ in range(room.random.randrange(4))]
            drawn.names += [parameter.name] * (len(drawn.arguments) - len(drawn.names))
        elif (
            parameter.kind is KINDS.KEYWORD_ONLY
            or drawn.keywords
            or (parameter.kind is KINDS.POSITIONAL_OR_KEYWORD and parameter.optional)
        ):
            drawn.keywords[parameter.name] = draw_one(room, drawn, parameter)
        else:
            drawn.arguments.append(draw_one(room, drawn, parameter))
            drawn.names.append(parameter.name)
    if any(part in entry.name for part in WRITES_SELF) and drawn.arguments:
        drawn.outputs.append(drawn.arguments[0])
    if room.chance(room.hostile / 8):
        drawn.hostile = True
        drawn.keywords[room.random.choice(("nonsense", "out", "copy", "", "\ud800"))] = hostile.junk(room)
    if room.chance(room.hostile / 8) and drawn.arguments:
        drawn.hostile = True
        drawn.arguments.pop()
    return drawn
