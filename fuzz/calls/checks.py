# SPDX-License-Identifier: Apache-2.0
"""What may come of a call: the exceptions of the documentation, results that are sound, and nothing else changed."""

import ctypes
import math
import operator
from typing import NamedTuple

import numpy as np

import dltensor as dl

from .exact import exact_quantile, exact_sum
from .hostile import Planted
from .surface import CLASSES

# What every function may raise. More is in the section Raises of its docstring.
ALLOWED = {TypeError, ValueError, OverflowError, IndexError, BufferError, MemoryError, dl.DeviceError}
BIG = 1 << 20
# What NumPy calls a function of ours; of those it calls as we do, the name is enough.
ORACLES = {
    name: getattr(np, name)
    for name in [
        *("add", "subtract", "multiply", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("minimum", "maximum", "negative", "where", "flip", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "square"),
        *("stack", "broadcast_to", "expand_dims", "squeeze", "moveaxis", "tril", "triu", "roll", "tile"),
        *("reshape", "floor", "ceil", "trunc", "signbit", "copysign"),
    ]
} | {
    "sub": np.subtract, "mul": np.multiply, "permute_dims": np.transpose, "concat": np.concatenate,
    "Tensor.__getitem__": operator.getitem, "Tensor.T": operator.attrgetter("T"), "Tensor.copy": np.copy,
    "Tensor.__getitem__ as operator": operator.getitem, "Tensor.__add__": operator.add, "Tensor.__sub__": operator.sub,
    "Tensor.__mul__": operator.mul, "Tensor.__lt__": operator.lt, "Tensor.__eq__": operator.eq,
    "Tensor.__add__ as operator": np.add, "Tensor.__sub__ as operator": np.subtract, "Tensor.tolist": np.ndarray.tolist,
    "Tensor.__lt__ as operator": np.less, "matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
    "Tensor.reshape": np.reshape, "sum": exact_sum, "Tensor.sum": exact_sum, "median": exact_quantile,
    "quantile": exact_quantile,
}  # fmt: skip


class Broken(Exception):
    """A call did what no call may do; the text says what."""


def demand(holds, *words):
    if not holds:
        raise Broken(" ".join(map(str, words)))


CUDA = 2  # a device type


def on_host(t):
    return t.device.type in (1, 3, 11, 18)


class Region(NamedTuple):
    """Where the elements of a tensor or an ndarray lie, in bits where they are packed and else in bytes."""

    start: int
    shape: tuple
    strides: tuple
    width: int
    packed: bool

    @classmethod
    def of(cls, x):
        if type(x) is np.ndarray:
            return cls(x.ctypes.data, x.shape, x.strides, x.itemsize, False)
        packed = x.dtype.bits < 8 and x.dtype.bits * x.dtype.lanes % 8 and not x.flags & dl.Flags.IS_SUBBYTE_TYPE_PADDED
        width = x.dtype.bits * x.dtype.lanes if packed else x.itemsize
        return cls(x.data_ptr, x.shape, tuple(s * width for s in x.strides), width, bool(packed))

    @property
    def empty(self):
        return 0 in self.shape

    def span(self):
        """The first address and the one behind the last."""
        steps = [s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)]
        low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + self.width
        if self.empty:
            return self.start, self.start
        if self.packed:
            return self.start + low // 8, self.start - -high // 8
        return self.start + low, self.start + high

    def touches(self, other):
        (low, high), (first, last) = self.span(), other.span()
        return low < last and first < high

    def read(self):
        """The memory, gaps included; None when it need not be read."""
        low, high = self.span()
        return ctypes.string_at(low, high - low) if 0 < high - low <= BIG else None

    def mark(self, written, start):
        """Set True where elements lie in an arena."""
        low, high = self.span()
        if self.empty or low < start or high > start + written.size:
            return
        if self.packed or math.prod(self.shape) > 100_000:
            written[low - start : high - start] = True
            return
        at = np.array([self.start - start])
        for extent, stride in zip(self.shape, self.strides, strict=True):
            at = (at[:, None] + np.arange(extent) * stride).ravel()
        for byte in range(self.width):
            written[at + byte] = True


def array_of(view):
    """The memory of a memoryview as an array; None where NumPy cannot read it, as after a release."""
    try:
        return np.asarray(view)
    except (TypeError, ValueError, BufferError, RuntimeError):
        return None


def regions_in(values):
    """Host memory of tensors and arrays among arguments, also inside of lists and tuples."""
    for value in values:
        inner = value if type(value) in (list, tuple) and len(value) < 9 else [value]
        inner = [x.exported if type(x).__name__ == "Exporter" else x for x in inner]
        inner = [array_of(x) if type(x) is memoryview else x for x in inner]
        yield from (Region.of(x) for x in inner if type(x) is np.ndarray or (type(x) is dl.Tensor and on_host(x)))


class Before:
    """How the memory of a call looked before it."""

    def __init__(self, context, drawn):
        self.context, self.drawn = context, drawn
        self.arena = context.arena.tobytes()
        self.outputs = list(regions_in(drawn.outputs))
        # A trick may free the memory of its operands: it is not read again.
        given = [] if drawn.trick else [*drawn.arguments, *drawn.keywords.values()]
        self.seen = [(r, r.read()) for r in regions_in(given)]
        # What the operands are worth to NumPy, before the call may write over them.
        self.plain = None
        if drawn.states:
            self.plain = drawn.states()
        elif drawn.entry.name in ORACLES and not drawn.outputs and not drawn.trick:
            self.plain = [plain(a) for a in drawn.arguments]

    def check_memory(self, failed):
        """Nothing but what is there to be written has changed, and not even that after an error."""
        for region, was in self.seen:
            if was is not None and (failed or not any(region.touches(out) for out in self.outputs)):
                what = "after an error" if failed else "although it is no output"
                demand(region.read() == was, "memory of an argument changed", what)
        now = self.context.arena.tobytes()
        if now != self.arena:
            demand(not failed, "memory changed after an error")
            changed = np.flatnonzero(np.frombuffer(now, np.uint8) != np.frombuffer(self.arena, np.uint8))
            written = np.zeros(self.context.arena.size, bool)
            for out in self.outputs:
                out.mark(written, self.context.start)
            demand(written[changed].all(), "memory beside the output was written")


def check_error(drawn, error):
    """Only documented exceptions, with words in them."""
    entry = drawn.entry
    if isinstance(error, Planted) or isinstance(error.__context__, Planted):
        return
    if type(error) is RecursionError and drawn.hostile:
        return  # Python itself says that of lists that are too deep, when it is asked for their text
    kind = type(error)
    if kind is AttributeError and drawn.hostile and not type(error.obj).__module__.startswith("dltensor"):
        return  # Python's, for an attribute that a hostile object has for its class and not for itself
    if kind is UnicodeEncodeError and entry.name == "Tensor.__array__":
        return  # NumPy's, for the name of a dtype
    demand(kind in ALLOWED or kind.__name__ in entry.raises, f"raised {kind.__name__}:", error)
    demand(str(error) or kind is MemoryError, f"{kind.__name__} says nothing")


def check_something(drawn, result):
    """A call of which the annotation says a class returns something. An operator may ask the other operand."""
    silent = result is None and not drawn.entry.name.endswith(" as operator")
    demand(not silent or drawn.entry.returns not in CLASSES, "returned None, not", drawn.entry.returns)


def check_tensor(context, t):
    """Shape, strides, size and memory of a result fit together, and dlt_check_tensor finds no broken rule."""
    demand(len(t.shape) == len(t.strides) == t.ndim <= 64, "shape, strides and ndim differ", t.shape, t.strides)
    demand(t.size == math.prod(t.shape), "size is not what the shape says", t.shape, t.size)
    demand(t.size < 2**63, "more elements than can be counted", t.shape)
    bits = t.dtype.bits * t.dtype.lanes
    least = t.size * bits // 8
    demand(least <= t.nbytes <= t.size * t.itemsize, "nbytes is not what the shape says", t.shape, t.dtype, t.nbytes)
    demand(all(n >= 0 for n in t.shape), "a dimension is negative", t.shape)
    demand(t.is_contiguous == dl.layout.is_contiguous(t.shape, t.strides), "is_contiguous is wrong", t.shape, t.strides)
    demand(isinstance(t.dtype, dl.DType) and isinstance(t.device, dl.Device), "dtype or device has the wrong type")
    if not on_host(t) or t.size == 0:
        return
    low, high = Region.of(t).span()
    demand(low > 4095, "a result points at", low)
    end = context.start + context.arena.size
    demand(high <= context.start or low >= end or (low >= context.start and high <= end), "a view leaves its memory")
    if context.chance(0.05):
        bad = [f.rule for f in dl.validate(t) if f.severity == "error" and f.rule != "dtype.bits"]
        demand(not bad, "validate finds", bad)
    if context.chance(0.05) and t.size < 5000:
        demand(isinstance(repr(t), str) and t.copy().shape == t.shape, "no text or no copy of the result can be made")


def plain(value):
    """An argument as NumPy has it, in memory of its own; None when it has no word for it."""
    if type(value) is dl.Tensor:
        if value.dtype.lanes != 1 or value.size > 30_000 or value.ndim > 32:
            return None
        if value.dtype not in NUMPY_TYPES or value.size == 0:
            return None
        if value.device.type == CUDA:
            value = value.to("cpu")
        if not on_host(value):
            return None
        low, high = Region.of(value).span()
        memory = np.frombuffer(ctypes.string_at(low, high - low), np.uint8)
        strides = tuple(s * value.itemsize for s in value.strides)
        return np.ndarray(value.shape, value.dtype.name, memory, value.data_ptr - low, strides)
    if type(value) in (list, tuple) and value and all(type(v) is dl.Tensor for v in value):
        found = [plain(v) for v in value]
        return None if any(f is None for f in found) else type(value)(found)  # a tuple of index arrays is no list
    return Same(value) if type(value) in (int, float, tuple, slice, type(None), type(...)) else None


class Same:
    """An argument that means the same to NumPy."""

    def __init__(self, value):
        self.value = value


NUMPY_TYPES = {
    dl.bool,
    dl.int8,
    dl.int16,
    dl.int32,
    dl.int64,
    dl.uint8,
    dl.uint16,
    dl.uint32,
    dl.uint64,
    dl.float32,
    dl.float64,
}


def check_value(before, result):
    """The result is NumPy's: of the operands as they were before the call, or as the call has made them."""
    try:
        check_one_value(before, before.plain, result)
    except Broken:
        if before.drawn.states is None:
            raise
        check_one_value(before, before.drawn.states(), result)


def check_one_value(before, values, result):
    """The result is NumPy's of these values, where NumPy computes with the same dtypes."""
    entry, drawn = before.drawn.entry, before.drawn
    if values is None or any(p is None for p in values) or drawn.hostile:
        return
    arrays = [a for p in values for a in (p if type(p) in (list, tuple) else [p]) if type(a) is np.ndarray]
    if len({a.dtype for a in arrays}) != 1 or any(
        type(p) is Same
        and type(p.value) is tuple
        and not all(type(v) in (int, slice, type(None), type(...)) for v in p.value)
        for p in values
    ):
        return
    if any(key not in ("axis", "k", "initial", "keepdims") for key in drawn.keywords):
        return
    if any(type(p) is Same and type(p.value) is float and 0 < abs(p.value) < 1e-45 for p in values):
        return  # zero in float32, which such a number becomes beside integers
    arguments = [p.value if type(p) is Same else p for p in values]
    with np.errstate(all="ignore"):
        try:
            wanted = ORACLES[entry.name](*arguments, **drawn.keywords)
        except Exception:  # NumPy has another opinion of what may be asked
            return
    if type(result) is dl.Tensor:
        found = plain(result)
        if found is None:
            return
        wanted = np.asarray(wanted)
        demand(found.shape == wanted.shape, "NumPy gives shape", wanted.shape, "not", found.shape)
        if found.dtype == wanted.dtype:
            same = np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f")
            demand(same, "NumPy gives another value for", found.dtype)
            before.context.compared += 1
    elif isinstance(wanted, (list, int, float)):
        demand(repr(result) == repr(wanted), "NumPy gives", wanted, "not", result)
        before.context.compared += 1
