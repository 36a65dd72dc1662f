# SPDX-License-Identifier: Apache-2.0
"""Calls whose operands work together: one changes another, answers twice, is not what it is called, or is too large.

Each trick draws a usual call, puts its operands in place, and says afterwards what the call may not have done.
"""

import array
import bisect
import contextlib
import math
import operator
import os
import re
import resource

import numpy as np

import dltensor as dl
from dltensor._core.types import COMPUTED

from . import arguments, card, interference, peers, unsteady
from .checks import ORACLES, Broken, demand, plain
from .progress import TRICKS

LARGE = [[(150, 150), (1, 150), (150, 150)], [(22500,), (1,), (22500,)], [(30, 30, 25), (30, 25), (1, 30, 1)]]
SMALL = [[(3, 3), (3,), (1, 3)], [(4, 2, 3), (2, 3), ()], [(8,), (1,), (8,)]]
PLAIN_TYPES = [dl.float64, dl.float64, dl.float32, dl.float32, dl.int64, dl.uint8]
# Parameters that tell less when their argument changes another one.
SELDOM_ASKED = {"launch", "saturate", "device", "dtype", "copy"}
# Parameters that say where memory is: what is given for them is believed.
BELIEVED = {"ptr", "address", "take", "into", "owner", "deleter"}
# Functions that take any object and say what it is.
TAKE_ANYTHING = ("inspect", "validate", "adapt", "checks.", "layout.", "debug.", "cuda.", "isdtype", "opaque.", "finfo")


class Place:
    """One argument of a drawn call, or one item of a list that is an argument."""

    def __init__(self, holder, key, name):
        self.holder, self.key, self.name = holder, key, name

    @property
    def value(self):
        return self.holder[self.key]

    def put(self, drawn, value):
        """Put another object here; where the old one is written, the new one is."""
        if any(self.value is output for output in drawn.outputs):
            drawn.outputs.append(value)
        self.holder[self.key] = value


def places_of(drawn):
    """Where a drawn call has arguments that may be replaced: not the object of a method."""
    receiver = drawn.entry.signatures[0] and drawn.entry.signatures[0][0].name == "self"
    positions = list(range(int(bool(receiver)), len(drawn.arguments)))
    found = [Place(drawn.arguments, i, drawn.names[i]) for i in positions]
    found += [Place(drawn.keywords, key, key) for key in drawn.keywords]
    for place in list(found):
        if type(place.value) is list:
            found += [Place(place.value, i, place.name) for i in range(len(place.value))]
    return [place for place in found if place.name not in BELIEVED]


def takes_tensors(place):
    return type(place.value) is dl.Tensor


@contextlib.contextmanager
def plain_context(context, shapes):
    """Make a context draw plain shapes and dtypes, and nothing hostile."""
    kept = context.shapes, context.dtypes, context.hostile
    context.shapes, context.dtypes, context.hostile = shapes, [context.random.choice(PLAIN_TYPES)] * 3, 0.0
    try:
        yield
    finally:
        context.shapes, context.dtypes, context.hostile = kept


def usual(context, fuzzer, wanted, shapes, functions_only=False, evenly=False):
    """A usual call with places of which `wanted` says that they will do; None when none is drawn."""
    entries, weights = fuzzer.suited
    for _ in range(12):
        entry = context.random.choice(entries) if evenly else context.random.choices(entries, weights)[0]
        if functions_only and any(entry.name.startswith(name) for name in TAKE_ANYTHING):
            continue
        try:
            with plain_context(context, shapes):
                drawn = arguments.draw(context, entry)
        except Exception:
            continue
        if not context.chance(0.05):
            drawn.keywords.pop("launch", None)  # most are refused
        found = places_of(drawn)
        if wanted(found):
            return drawn, found
    return None, ()


def suited(entries, weights):
    """The entries that take something beside addresses, with their weights."""
    found = []
    for entry, weight in zip(entries, weights, strict=True):
        names = {p.name for s in entry.signatures for p in s if p.name != "self"}
        if names and not names & {"ptr", "address"} and (" " not in entry.name or entry.name.endswith("as operator")):
            found.append((entry, weight * (3 if len(names) > 1 else 1)))
    return [entry for entry, _ in found], [weight for _, weight in found]


# -- one operand changes another --------------------------------------------------------------------------------------


def filled(t):
    """An array of a tensor's shape and dtype with small numbers in it; large tensors are drawn with zeros."""
    made = np.array(t.numpy())
    made[...] = (np.arange(made.size) % 7).reshape(made.shape)
    return made


def victim_for(context, t):
    """An operand in place of a tensor: one that its owner may change."""
    made = filled(t)
    how = context.random.random()
    if peers.torch and how < 0.4:
        converted = peers.from_numpy(made)
        return made if converted is None else converted
    if how > 0.95:
        return dl.opaque.OpaqueArray(t)
    if how > 0.9 and made.ndim == 1 and made.dtype != bool:
        return array.array(made.dtype.char, made.tolist()) if context.chance(0.5) else bytearray(made.tobytes())
    return made


def change_operand(context, fuzzer):
    """A call one of whose operands changes another when it is asked anything."""

    def enough(found):
        return len(found) > 1 and any(takes_tensors(place) for place in found)

    drawn, found = usual(context, fuzzer, enough, context.random.choice(LARGE + SMALL))
    if drawn is None:
        return None
    target = context.random.choice([p for p in found if takes_tensors(p) or (type(p.value) is list and p.value)])
    others = [p for p in found if p is not target and p.holder is not target.value]
    asked = context.random.choices(others, [1 if p.name in SELDOM_ASKED else 5 for p in others])[0] if others else None
    try:
        if type(target.value) is list:
            victim = [filled(t) if type(t) is dl.Tensor else t for t in target.value]
            for place in found:
                if place.holder is target.value:
                    place.holder = victim
        else:
            victim = victim_for(context, target.value)
    except (TypeError, ValueError, BufferError):  # NumPy has no such dtype
        return None
    target.put(drawn, victim)
    inside = [p for p in found if p.holder is victim] if type(victim) is list else []
    if inside and (asked is None or context.chance(0.7)):
        asked = context.random.choice(inside)
    if asked is None:
        return None
    if drawn.entry.name in ORACLES and not drawn.outputs and asked.holder is drawn.arguments and not inside:
        worth = plain(asked.value)
        fixed = {asked.key: worth}
        drawn.states = lambda: [fixed[i] if i in fixed else state(a) for i, a in enumerate(drawn.arguments)]
    change = interference.Change(context, victim)
    asked.put(drawn, interference.for_any(context, change, asked.value))
    if type(asked.value) is list:  # is worth something else
        drawn.states = None
    elif drawn.states and hasattr(type(asked.value), "__index__") and np.any(worth != np.trunc(worth)):
        drawn.states = None  # as an integer it is worth something else than as a float
    drawn.words = change.words
    return drawn


def state(value):
    """What an argument is worth now."""
    return value.copy() if type(value) is np.ndarray else plain(value)


# -- the storage of a view is swapped ---------------------------------------------------------------------------------


def change_storage(context, fuzzer):
    """A call with one operand, whose owner then gives its memory away: what the call has returned stays as it was."""
    drawn, found = usual(
        context, fuzzer, lambda f: bool(f) and takes_tensors(f[0]), context.random.choice(LARGE + SMALL)
    )
    if drawn is None:
        return None
    name = context.random.choice(("from_dlpack", "asarray"))
    entry = next((e for e in fuzzer.suited[0] if e.name == name), None)
    if context.chance(0.5) and entry:
        drawn = arguments.Drawn(entry)
        drawn.arguments, drawn.names = [found[0].value], ["obj"]
        found = places_of(drawn)
    try:
        victim = victim_for(context, found[0].value)
    except (TypeError, ValueError, BufferError):
        return None
    found[0].put(drawn, victim)
    change = interference.Change(context, victim, writes=False)
    drawn.words = change.words

    def after(result, failed):
        views = [one for one in (result if type(result) in (tuple, list) else [result]) if type(one) is dl.Tensor]
        views = [view for view in views if view.size < 1_000_000]  # kron of two of them has 500 million elements
        was = [(t.shape, t.dtype, t.tobytes()) for t in views]
        change.make()
        now = [(t.shape, t.dtype, t.tobytes()) for t in views]
        demand(repr(now) == repr(was), "a view changed when its owner was told to", change.name)

    drawn.after = after
    return drawn


# -- objects in place of one operand ----------------------------------------------------------------------------------


def replaced(context, fuzzer, make, wanted=None, functions_only=False):
    """A usual call with one argument replaced."""
    wanted = wanted or (lambda place: True)
    drawn, found = usual(context, fuzzer, lambda f: any(map(wanted, f)), context.random.choice(SMALL), functions_only)
    if drawn is None:
        return None, None
    place = context.random.choice([p for p in found if wanted(p)])
    made = make(place.value)
    if made is not None:
        place.put(drawn, made)
    return (drawn, place) if made is not None else (None, None)


def two_answers(context, fuzzer):
    drawn, _ = replaced(context, fuzzer, lambda value: unsteady.for_any(context, value))
    if drawn:
        drawn.hostile = True
    return drawn


def itself(context, fuzzer):
    drawn, _ = replaced(context, fuzzer, lambda value: unsteady.itself(context))
    return drawn


def reads_operand(place):
    return takes_tensors(place) and place.name not in ("self", "out")


def stolen_name(context, fuzzer):
    """A class with another's name is read by its protocols, and refused when it has none."""
    if context.chance(0.4):
        return replaced(context, fuzzer, lambda value: unsteady.stolen_name(context))[0]
    worth = None

    def make(value):
        nonlocal worth
        worth = plain(value)
        return unsteady.stolen_name(context, value if context.chance(0.5) else None)

    drawn, place = replaced(context, fuzzer, make, reads_operand, functions_only=True)
    if drawn is None or drawn.entry.name in ("is_tensor", "isscalar"):  # which take any object
        return None
    kind = type(place.value)
    protocols = any(hasattr(kind, name) for name in ("__dlpack__", "__array__", "__array_interface__"))
    simple = kind.__base__ is object  # else it is a number, a sequence or a buffer

    def after(result, failed):
        known = protocols or not simple or failed
        # A comparison that Python makes itself, and `axis` or `k` that a NumPy type may be, take any object.
        demand(known or result is NotImplemented or "__" in drawn.entry.name, "took an object that has only a name")

    drawn.after = after
    if protocols and simple and drawn.entry.name in ORACLES and not drawn.outputs and place.holder is drawn.arguments:
        fixed = {place.key: worth}
        drawn.states = lambda: [fixed[i] if i in fixed else state(a) for i, a in enumerate(drawn.arguments)]
    return drawn


def old_signature(context, fuzzer):
    """A producer whose `__dlpack__` does not know `max_version` is taken, however it refuses the keyword."""
    worth = None

    def make(value):
        nonlocal worth
        if value.device.type != dl.DeviceType.kDLCPU:
            return None
        worth = plain(value)
        return unsteady.old_signature(context, value)

    drawn, place = replaced(context, fuzzer, make, reads_operand, functions_only=True)
    if drawn is None:
        return None
    drawn.words = place.value.said
    call = drawn.call

    def taken():
        try:
            return call()
        except (TypeError, BufferError) as error:
            # A capsule of the layout before 1.0 cannot say that elements are padded.
            told = "max_version" not in str(error) or "padded to bytes" in str(error)
            demand(told, f"refused a producer of an old signature: {error}")
            raise

    drawn.call = taken
    if drawn.entry.name in ORACLES and not drawn.outputs and place.holder is drawn.arguments:
        fixed = {place.key: worth}
        drawn.states = lambda: [fixed[i] if i in fixed else state(a) for i, a in enumerate(drawn.arguments)]
    return drawn


def refused_tensor(context, fuzzer):
    """A tensor that PyTorch does not export is not taken, neither to read nor to write."""
    if peers.torch is None:
        return None
    words = ""

    def make(value):
        nonlocal words
        try:
            made = peers.refused(context, filled(value))
        except (TypeError, ValueError, BufferError):
            return None
        words = made[1] if made else ""
        return made[0] if made else None

    drawn, _ = replaced(context, fuzzer, make, lambda place: takes_tensors(place) and place.name != "self", True)
    if drawn is None:
        return None
    drawn.words = words

    def after(result, failed):
        taken = not failed and result is not NotImplemented and "__" not in drawn.entry.name
        demand(not taken, "took a tensor that PyTorch does not export:", words)

    drawn.after = after
    return drawn


# -- too large --------------------------------------------------------------------------------------------------------

HUGE = [
    (2**32, 2**32), (2**62, 4), (2**63 - 1, 2), (2**31,) * 3, (2**40, 2**24), (2**21,) * 3, (2**16,) * 4,
    (2**32, 2**31), (2**62, 2), (2**63 - 1,), (2**61, 3, 1), (3**20, 3**20), (2**33, 2**33, 0), (2**63,), (2**64, 0),
]  # fmt: skip


@contextlib.contextmanager
def unlimited():
    """Take away the limit on the memory of this process, as long as the hard one lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def too_large(context, fuzzer):
    """A call that asks for more elements than can be counted, or for more memory than the machine has."""
    if context.chance(0.3) and not context.changing:
        return beyond_memory(context, fuzzer)
    sizes = ("shape", "shape1", "shapes", "new_shape", "repetitions", "repeats", "num", "n_rows", "n_cols", "axis")

    def wanted(place):
        return place.name in sizes or (type(place.value) is tuple and all(type(v) is int for v in place.value))

    shape = context.random.choice(HUGE)
    drawn, _ = replaced(
        context, fuzzer, lambda value: shape if type(value) in (tuple, list) else math.prod(shape) % 2**64, wanted
    )
    if context.chance(0.5):
        entry = next((e for e in fuzzer.suited[0] if e.name == "broadcast_to"), None)
        if entry:
            drawn = arguments.Drawn(entry)
            drawn.arguments, drawn.names = [dl.ones(context.random.choice(((), (1,), (1, 1)))), shape], ["x", "shape"]
    if drawn and drawn.entry.name.startswith(("cuda.", "debug.")):
        return None
    return drawn


def beyond_memory(context, fuzzer):
    """More memory than the machine has is refused where NumPy's allocation of the same size is."""
    entry = next((e for e in fuzzer.suited[0] if e.name == "empty"), None)
    if entry is None:
        return None
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = context.random.choice((have * 5 // 4, have * 2, have * 3, 2**40, 2**43, 2**46))
    drawn = arguments.Drawn(entry)
    drawn.arguments, drawn.names = [(size,)], ["shape"]
    drawn.keywords = {"dtype": "uint8"}

    def call():
        with unlimited():
            try:
                np.empty(size, np.uint8)
            except MemoryError:
                granted = False
            else:
                granted = True
            made = entry.call(*drawn.arguments, **drawn.keywords)
            del made
        demand(granted, f"gave {size} bytes, more than the machine has; NumPy raises MemoryError")

    drawn.call = call
    return drawn


# -- two dtypes -------------------------------------------------------------------------------------------------------

COMPARISONS = {
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "Tensor.__eq__": operator.eq, "Tensor.__lt__": operator.lt,
}  # fmt: skip
ORDERED = [name for name in COMPUTED if not name.startswith("complex")]
# Where one dtype stops holding the integers that another one holds.
EDGES = [0, 1, 8, 11, 16, 24, 31, 32, 53, 63, 64]


def near_edges(context):
    """A tensor of few elements near the ends of what dtypes hold, and the elements as Python's numbers."""
    name = context.random.choice(ORDERED)
    numbers = [
        context.random.choice((1, -1)) * (2 ** context.random.choice(EDGES) + context.random.randint(-1, 1))
        for _ in range(12)
    ]
    if name == "bool":
        t = dl.asarray([number > 0 for number in numbers])
    elif "int" in name:
        limits = dl.iinfo(name)
        t = dl.asarray([min(max(number, limits.min), limits.max) for number in numbers], dtype=name)
    else:
        some = [0.5, -0.0, math.inf, -math.inf, math.nan, 65504.0]
        t = dl.asarray([*map(float, numbers), *context.random.sample(some, 2)], dtype="float64").astype(name)[2:]
    t = t[:: context.random.choice((1, 1, -1, 2))]
    return t, t.tolist()


def place_in_order(value):
    return value != value, 0 if value != value else value


def compared(name, x, y):
    """Compare two lists of Python's numbers by a function; Python itself compares them by exact value."""
    if name == "isin":
        return [any(a == b for b in y) for a in x]
    if name == "searchsorted":
        keys = [place_in_order(a) for a in x]
        return [bisect.bisect_left(keys, place_in_order(b)) for b in y]
    if name == "array_equal":
        return x[0] == y[0]
    return [[COMPARISONS[name](a, b) for b in y] for a in x]


def two_dtypes(context, fuzzer):
    """Elements of two dtypes are compared by exact value, whatever compares them."""
    name = context.random.choice([*COMPARISONS, "isin", "isin", "searchsorted", "searchsorted", "array_equal"])
    entry = next((e for e in fuzzer.suited[0] if e.name == name), None)
    if entry is None:
        return None
    (a, x), (b, y) = near_edges(context), near_edges(context)
    if name in COMPARISONS:
        a = a.reshape((-1, 1))
    elif name == "searchsorted":
        a, x = dl.sort(a), sorted(x, key=place_in_order)
    elif name == "array_equal":
        a, b, x, y = a[:1], b[:1], x[:1], y[:1]
    drawn = arguments.Drawn(entry)
    drawn.arguments, drawn.names = [t.to(context.device) for t in (a, b)], ["a", "b"]

    def after(result, failed):
        demand(not failed, "does not compare", a.dtype, "with", b.dtype)
        found = result.tolist() if type(result) is dl.Tensor else result
        demand(found == compared(name, x, y), "not the order of exact values:", a.dtype, x, b.dtype, y)

    drawn.after = after
    return drawn


# -- numbers with a dtype of their own --------------------------------------------------------------------------------

NUMBERS = {
    "bool": (False, True), "int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 5), "uint16": (2**16 - 1, 5),
    "int32": (-(2**31), 5), "uint32": (2**32 - 1, 5), "int64": (2**63 - 1, -5), "uint64": (2**64 - 1, 5),
    "float16": (0.5, 60000.0), "float32": (2.0**100, -0.5), "float64": (1e300, 2.0**-1000),
    "complex64": (1.5j, 2.0**100 + 0j), "complex128": (1e300 + 1e-300j, 1j),
}  # fmt: skip
MIXED = [("float16", "float64"), ("int8", "int16"), ("float32", "complex128"), ("bool", "uint16"), ("int8", "uint8")]


def typed_number(context, dtype):
    """A number as one of the objects that have a dtype, and its value."""
    value = context.random.choice(NUMBERS[dtype])
    how = context.random.randrange(4 if peers.torch else 3)
    if how == 0:
        return np.dtype(dtype).type(value), value
    if how == 1:
        return np.asarray(value, dtype), value
    if how == 3:
        converted = peers.from_numpy(np.asarray(value, dtype))
        if converted is not None:
            return converted, value
    return dl.asarray(value, dtype=dtype), value


def typed_numbers(context, fuzzer):
    """A sequence of typed numbers has their dtype and their values; numbers of Python change neither."""
    entry = next((e for e in fuzzer.suited[0] if e.name == "asarray"), None)
    if entry is None:
        return None
    dtypes = context.random.choice(MIXED) if context.chance(0.3) else [context.random.choice(list(NUMBERS))]
    drawn_numbers = [typed_number(context, dtype) for dtype in [*dtypes, context.random.choice(dtypes)]]
    drawn_numbers += [(True, True)] * (len(dtypes) == 1 and dtypes[0] != "bool" and context.chance(0.3))
    context.random.shuffle(drawn_numbers)
    items, values = map(list, zip(*drawn_numbers, strict=True))
    wanted = np.result_type(*dtypes).name
    nested = context.chance(0.3)
    drawn = arguments.Drawn(entry)
    drawn.arguments, drawn.names = [[items, tuple(items)] if nested else items], ["obj"]
    drawn.words = " ".join(dtypes)

    def after(result, failed):
        demand(not failed, "refused typed numbers of", *dtypes)
        demand(result.dtype.name == wanted, "gives", result.dtype, "for typed numbers of", *dtypes)
        found = result.tolist()[0] if nested else result.tolist()
        same = all(a == b for a, b in zip(found, values, strict=True))
        demand(same, "changes typed numbers of", *dtypes, "from", values, "to", found)

    drawn.after = after
    return drawn


# -- masks ------------------------------------------------------------------------------------------------------------


class Variable:
    """A variable of a file: ``__array__`` gives a masked array."""

    said = "variable with a mask"

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def masked(context, fuzzer):
    """An array with a masked element is not taken, neither to read nor to write."""

    def make(value):
        try:
            array = np.ma.masked_array(filled(value), mask=False)
        except (TypeError, ValueError, BufferError):  # NumPy has no such dtype
            return None
        if not array.size:
            return None
        array[context.random.choice(list(np.ndindex(array.shape)))] = np.ma.masked
        return Variable(array) if context.chance(0.3) else array

    drawn, place = replaced(
        context, fuzzer, make, lambda place: takes_tensors(place) and place.name not in ("self", "out"), True
    )
    if drawn is None or re.search(r"__|^Tensor\.|^is_tensor$|^isscalar$", drawn.entry.name):
        return None

    def after(result, failed):
        demand(failed or result is NotImplemented, "dropped the mask of", place.name)

    drawn.after = after
    return drawn


# -- sequences without an end -----------------------------------------------------------------------------------------


class Endless:
    """Sizes or axes without an end. What reads more of them than a tensor has dimensions reads on and on."""

    said = "sizes without an end"

    def __init__(self, value):
        self.value, self.read = value, 0

    def __iter__(self):
        while self.read < 200:
            self.read += 1
            yield self.value


class EndlessList(Endless, list):
    said = "list without an end"


def endless(context, fuzzer):
    """Of sizes or axes that never end no more are read than a tensor has dimensions."""
    value = context.random.choice((0, 1, 1, 2, -1))
    made = (EndlessList if context.chance(0.5) else Endless)(value)

    def wanted(place):
        sizes = type(place.value) in (tuple, list) and all(type(v) is int for v in place.value)
        return place.name in ("shape", "axis", "axes", "strides", "s", "new_shape") or (sizes and bool(place.value))

    drawn, place = replaced(context, fuzzer, lambda old: made, wanted)
    # Movements, seeds and what fromiter reads may be of any length.
    any_length = ("seed", "iterable")
    if (
        drawn is None
        or (type(place.holder) is list and place.holder is not drawn.arguments)
        or place.name in any_length
    ):
        return None
    drawn.hostile = True

    def after(result, failed):
        demand(made.read <= 65, "reads on in", place.name, "after 65 of its items")

    drawn.after = after
    return drawn


# -- devices ----------------------------------------------------------------------------------------------------------


def on_device(context, fuzzer, replace):
    """A usual call whose tensors are replaced by others on the device, which must be as good as before after it."""

    def enough(found):
        return any(takes_tensors(place) for place in found)

    # Evenly: what the CPU's results are compared with are element-wise functions as a rule, which share their kernels.
    drawn, _ = usual(context, fuzzer, enough, context.random.choice(SMALL), functions_only=True, evenly=True)
    if drawn is None or context.device == "cpu":
        return None
    for holder in (drawn.arguments, drawn.keywords):
        for key, value in list(enumerate(holder) if type(holder) is list else holder.items()):
            if type(value) is dl.Tensor and value.size:
                Place(holder, key, "").put(drawn, replace(value))

    def after(result, failed):
        try:
            dl.cuda.synchronize()
        except dl.DeviceError as error:
            raise Broken(f"loses the device: {error}") from None

    drawn.after = after
    return drawn


# Calls with kernels of their own, which usual() seldom draws with operands that suit them: x has numbers in order, i
# places.
OF_PLACES = {
    "Tensor.__getitem__": "xi", "Tensor.__setitem__": "xix", "take": "xi", "take_along_axis": "xi", "bincount": "i",
    "searchsorted": "xx", "sort": "x", "cumulative_sum": "x", "nonzero": "x", "unique_values": "x",
}  # fmt: skip


def odd_address(context, fuzzer):
    """A call on operands at addresses that the size of their elements does not divide."""
    by = context.random.choice((1, 1, 2, 4))
    drawn = on_device(context, fuzzer, lambda t: card.at_odd_address(t, by))
    entry = context.random.choice([e for e in fuzzer.entries if e.name in OF_PLACES])
    if drawn is not None and context.chance(0.6):
        x, i = dl.arange(8, dtype=context.random.choice(PLAIN_TYPES)), dl.asarray([3, 0, 1, 3, 7, 2, 2, 5])
        after, drawn = drawn.after, arguments.Drawn(entry)
        drawn.arguments = [card.at_odd_address(i if kind == "i" else x, by) for kind in OF_PLACES[entry.name]]
        drawn.names, drawn.after = list(OF_PLACES[entry.name]), after
        drawn.outputs = drawn.arguments[:1] * (entry.name == "Tensor.__setitem__")
    return drawn


def consumer_stream(context, fuzzer):
    """A call on operands that another library took on a stream that it destroys."""

    def taken(t):
        t = t.to(context.device)
        card.take_and_return(t, destroyed_first=context.chance(0.5))
        return t

    return on_device(context, fuzzer, taken)


def graph_output(context, fuzzer):
    """An output of a graph is destroyed with the graph while it is read."""
    entry = next((e for e in fuzzer.entries if e.name == "cuda.synchronize"), None)
    if entry is None or context.device == "cpu":
        return None
    drawn, seed, same = arguments.Drawn(entry), context.random.randrange(1000), context.chance(0.5)
    drawn.words = "the same stream" if same else "another stream"

    def after(result, failed):
        found = card.read_after_its_graph(4096, seed, same_stream=same)
        values = set(found.tolist())
        demand(values == {3.0}, "a reader of a graph's output sees later work:", values)

    drawn.after = after
    return drawn


MAKE = dict(
    zip(
        TRICKS,
        (change_operand, change_storage, two_answers, itself, stolen_name, too_large, refused_tensor, old_signature,
         two_dtypes, typed_numbers, masked, endless, odd_address, consumer_stream, graph_output),
        strict=True,
    )
)  # fmt: skip


def draw(context, fuzzer, name=None):
    """A call of one trick, or None when nothing that suits it was drawn."""
    on_card = int(context.device != "cpu")
    weights = [4, 2, 3, 1, 2, 1, 2 if peers.torch else 0, 1, 2, 1, 1, 1, 6 * on_card, 3 * on_card, on_card]
    name = name or context.random.choices(TRICKS, weights)[0]
    drawn = MAKE[name](context, fuzzer)
    if drawn is not None:
        drawn.trick = name
    return drawn
