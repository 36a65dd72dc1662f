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


def small(context):
    return context.random.choice((0, 1, 2, -1, 3, -2, context.random.randrange(-70, 70)))


def length(context):
    return context.random.choice((0, 1, 2, 3, 5, context.random.randrange(40)))


def scalar(context):
    dice = context.random.randrange(8)
    return (
        (
            True,
            context.random.randrange(-9, 9),
            1.5,
            context.random.random() * 100,
            2,
            1j,
            np.float32(0.5),
            hostile.number(context),
        )
    )[dice]


def positions(context):
    """An index array, a mask or a list of either; sometimes one that changes others when it is read."""
    dice = context.random.randrange(7)
    if dice == 0:
        return [small(context) // 8 for _ in range(context.random.randrange(4))]
    if dice == 1:
        return [context.chance(0.5) for _ in range(length(context) % 6)]
    if dice == 2:
        return context.random.choice((True, False, [], np.array(1), np.bool_(True)))
    if dice == 3:
        made = tensors.foreign(context)
        return made if getattr(made, "size", 0) in range(100) else [0]
    if dice == 4 and context.chance(context.hostile):
        return hostile.anything(context)
    kind = context.random.choice((dl.bool, dl.int64, dl.int64, dl.int32, dl.uint8, dl.uint64, dl.int8))
    extents = context.shape()
    # A large result of a few index arrays would take the memory that the round may have.
    made = tensors.tensor(context, extents if kind == dl.bool or math.prod(extents) < 100 else (length(context),), kind)
    return tensors.only_dlpack(made) if context.chance(0.1) else made


def index(context):
    def step():
        if context.chance(0.25):
            return positions(context)
        dice = context.random.randrange(8)
        ends = [context.random.choice((None, None, small(context))) for _ in range(2)]
        return (
            small(context)
            if dice < 3
            else ...
            if dice == 3
            else None
            if dice == 4
            else slice(*ends, context.random.choice((None, 1, -1, 2, small(context))))
        )

    return step() if context.chance(0.5) else tuple(step() for _ in range(context.random.randrange(4)))


def axes(context):
    return context.random.choice((0, 0, 1, -1, -2, 2, small(context)))


def dtype(context):
    value = context.dtype()
    how = context.random.randrange(6)
    if how == 0:
        return value.name
    if how == 1 and value.code in (0, 1, 2, 5, 6) and value.lanes == 1 and value.bits in (8, 16, 32, 64):
        try:
            return np.dtype(value.name)
        except TypeError:
            return value
    return value


def device(context):
    if context.device != "cpu" and context.chance(0.5):
        return context.device
    return context.random.choice(
        ("cpu", "cpu", dl.Device("cpu"), (1, 0), 1, True, dl.DeviceType(1), "cpu:0", "cuda:1", "vulkan", (3, 0))
    )


def shape(context):
    made = context.shape()
    return context.random.choice((made, made, list(made), made[0] if made else 1, math.prod(made), -1))


def sequences(context):
    made = context.random.choice(
        (
            [],
            [1, 2, 3],
            [[1, 2], [3, 4]],
            [1.5, 2],
            [True, False],
            (1, 2j),
            range(5),
            [[[0]]],
            [[], []],
            [np.float64(1e300), 2],
            [np.int8(1), np.uint64(2**64 - 1)],
            [dl.asarray(1.5, dtype="bfloat16")],
        )
    )
    return made


def address(context):
    """Where an array's struct is; an invalid address is detected only when it cannot be one."""
    return context.random.choice((draw_class(context, "OpaqueArray").pointer, 0, -1, 1, 2**64, "x", None, 1.5))


def one_of(*choices):
    """One of some values; a list is a new one, since items of an argument may be replaced."""

    def choose(context):
        chosen = context.random.choice(choices)
        return list(chosen) if type(chosen) is list else chosen

    return choose


# What each word of the annotations stands for. A word that is not here is a class of the package, or anything.
WORDS = {
    "Tensor": lambda context: tensors.tensor(context),
    "TensorLike": lambda context: tensors.foreign(context) if context.chance(0.15) else tensors.tensor(context),
    "Operand": lambda context: scalar(context) if context.chance(0.2) else draw_word(context, "TensorLike"),
    "SupportsDLPack": lambda context: tensors.only_dlpack(tensors.tensor(context)),
    "SupportsExchangeTable": tensors.tensor,
    "_NumpyArray": lambda context: np.arange(6.0).reshape(2, 3)[:, ::-1],
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
    "object": lambda context: draw_word(context, "TensorLike"),
    "Any": lambda context: device(context) if context.chance(0.5) else hostile.junk(context),
    "type": one_of(np.ndarray, dl.Tensor, int),
    "dict": lambda context: {},
    "slice": lambda context: slice(None),
}
# Addresses are believed, so only those are given that may be. `take` and `into` would give one thing away twice.
NAMES = {
    "ptr": lambda context: context.start + 64 * context.random.randrange(16),
    "address": address,
    "take": one_of(False, None, 0),
    "adapt.to": one_of(None, "torch", "jax", "numpy", "cupy", "tensorflow", "unknown"),
    "shape": shape,
    "max_version": one_of(None, (1, 0), (1, 3), (0, 8), (2, 0), (1,), [1, 1], (-1, 2**40)),
    "dl_device": one_of(None, (1, 0), (2, 0), (1, 1), (7, 0)),
    "stream": one_of(None, -1, 0, 1, 2),
    "num": length,
    "n_rows": length,
    "n_cols": length,
    "repeats": lambda context: length(context) if context.chance(0.5) else draw_word(context, "TensorLike"),
    "repetitions": lambda context: context.random.choice((1, 2, (2, 1), (1, 0, 2), length(context))),
    "count": one_of(1, 2, 3, 0, -1),
    "axes": lambda context: permutation(context),
    "memo": lambda context: {},
    "protocol": one_of(0, 2, 4, 5),
    "capacity": one_of(0, 1, 100, 10_000, -1),
    "spec": one_of("", ".2f", "d", "e", "g", ">10", "s", "x", "\ud800", "{}", ".99999999999f", "5000"),
    "launch": lambda context: (
        None if context.chance(0.5) else dl.cuda.Launch(small(context), small(context), small(context))
    ),
    "deleter": one_of(None, list, int),
    "initial": one_of(0, 5, -1000, 1e5, -1e39, 1e300, 2.0**-80, True, 2**63, -(2**63), math.inf, -0.0, 1j),
    "pad.mode": one_of("constant", "edge", "linear_ramp", "maximum", "mean", "median", "reflect", "symmetric", "wrap"),
    "quantile.q": one_of(0.0, 0.25, 0.5, 0.3, 0.75, 1.0, 1),
    "byte_offset": one_of(0, 0, 8, 1, 64),
}


def permutation(context):
    order = list(range(len(context.random.choice(context.shapes))))
    context.random.shuffle(order)
    return order


def draw_class(context, word):
    """An object of a class of the package: an earlier result, or what a function that returns one gives."""
    kept = context.shelf.get(word)
    if kept and context.chance(0.7):
        return context.random.choice(kept)
    makers = context.makers.get(word, ())
    before, context.hostile = context.hostile, 0.0
    context.depth += 1
    try:
        for _ in range(4 if context.depth < 4 else 0):
            if not makers:
                break
            try:
                made = draw(context, context.random.choice(makers)).call()
            except Exception:
                continue
            context.keep(word, made)
            return made
    finally:
        context.hostile = before
        context.depth -= 1
    if not kept and issubclass(CLASSES[word], tuple):
        return CLASSES[word]._make(small(context) for _ in CLASSES[word]._fields)
    if not kept:
        raise Undrawable(word)
    return kept[0]


def draw_word(context, word):
    if word in WORDS:
        return WORDS[word](context)
    if word in CLASSES:
        if issubclass(CLASSES[word], enum.Enum):
            return context.random.choice(list(CLASSES[word]))
        return draw_class(context, word)
    if word in ALIASES:
        return draw_type(context, ALIASES[word])
    return hostile.junk(context)


def draw_type(context, node):
    """A value of an annotation: unions choose, sequences repeat."""
    if isinstance(node, ast.BinOp):
        return draw_type(context, context.random.choice((node.left, node.right)))
    if isinstance(node, ast.Constant):
        return (
            node.value
            if not isinstance(node.value, str)
            else draw_type(context, ast.parse(node.value, mode="eval").body)
        )
    if isinstance(node, ast.Attribute):
        return draw_word(context, node.attr)
    if isinstance(node, ast.Name):
        return draw_word(context, node.id)
    if not isinstance(node, ast.Subscript):
        return hostile.junk(context)
    inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    outside = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
    if outside == "Literal":
        return context.random.choice(inside).value
    if outside == "Callable":
        return context.random.choice((len, repr, lambda *a: None))
    if outside == "tuple" and not any(isinstance(e, ast.Constant) and e.value is ... for e in inside):
        return tuple(draw_type(context, element) for element in inside)
    if outside in ("Sequence", "Iterable", "tuple", "list"):
        if isinstance(inside[0], ast.Name) and inside[0].id == "SupportsIndex" and context.chance(0.7):
            return context.random.choice((tuple, list))(context.shape())
        return context.random.choice((tuple, list))(
            draw_type(context, inside[0]) for _ in range(context.random.randrange(4))
        )
    return draw_word(context, outside)


def draw_one(context, drawn, parameter):
    """One argument, hostile by chance. What is there to be written is remembered."""
    if context.chance(context.hostile) and parameter.name not in ("self", "ptr", "address", "take", "into"):
        drawn.hostile = True
        return hostile.anything(context)
    node = parameter.type if parameter.type is not None else BY_NAME.get(parameter.name)
    if parameter.name == "out" or (isinstance(node, ast.Name) and node.id == "_Out"):
        made = output(context, drawn)
        drawn.outputs.append(made)
        return made
    named = NAMES.get(f"{drawn.entry.name}.{parameter.name}") or NAMES.get(parameter.name)
    if named:
        return named(context)
    if node is None:
        return hostile.junk(context)
    return draw_type(context, node)


def output(context, drawn):
    """A tensor that the result may fit into: of the shape that the operands broadcast to, often of their dtype."""
    given = [a for a in drawn.arguments if type(a) is dl.Tensor]
    try:
        extents = dl.broadcast_shapes(*(t.shape for t in given))
    except ValueError:
        extents = context.shape()
    if context.chance(0.1) and given:
        return given[0]
    kind = (
        given[0].dtype
        if given and context.chance(0.6)
        else context.random.choice((dl.bool, dl.uint8, dl.float32, context.dtype()))
    )
    made = tensors.tensor(context, extents, kind)
    if context.chance(0.1):
        try:
            return made.numpy()
        except (TypeError, BufferError, ValueError):
            pass
    return made


# Methods that write into their own object, and functions that write into their first argument.
WRITES_FIRST = (
    "__setitem__",
    ".fill",
    "__i",
    ".move_data",
    ".reshape",
    ".swap_axes",
    "add_at",
    "maximum_at",
    "minimum_at",
    "put_along_axis",
)


def draw(context, entry):
    """The arguments of one call of an entry."""
    drawn = Drawn(entry)
    for parameter in context.random.choice(entry.signatures):
        if parameter.optional and context.chance(0.6 if parameter.kind is not KINDS.VAR_POSITIONAL else 0.0):
            if parameter.kind is KINDS.POSITIONAL_ONLY:
                break
            continue
        if parameter.kind is KINDS.VAR_POSITIONAL:
            drawn.arguments += [draw_one(context, drawn, parameter) for _ in range(context.random.randrange(4))]
            drawn.names += [parameter.name] * (len(drawn.arguments) - len(drawn.names))
        elif (
            parameter.kind is KINDS.KEYWORD_ONLY
            or drawn.keywords
            or (parameter.kind is KINDS.POSITIONAL_OR_KEYWORD and parameter.optional)
        ):
            drawn.keywords[parameter.name] = draw_one(context, drawn, parameter)
        else:
            drawn.arguments.append(draw_one(context, drawn, parameter))
            drawn.names.append(parameter.name)
    others = ("copyto", "fill_diagonal", "place", "put", "putmask")
    writes = any(part in entry.name for part in WRITES_FIRST) or entry.name in others
    if writes and drawn.arguments:
        drawn.outputs.append(drawn.arguments[0])
    if entry.name == "Generator.shuffle" and len(drawn.arguments) > 1:  # the first is the generator
        drawn.outputs.append(drawn.arguments[1])
    if context.chance(context.hostile / 8):
        drawn.hostile = True
        drawn.keywords[context.random.choice(("nonsense", "out", "copy", "", "\ud800"))] = hostile.junk(context)
    if context.chance(context.hostile / 8) and drawn.arguments:
        drawn.hostile = True
        drawn.arguments.pop()
    return drawn
