# SPDX-License-Identifier: Apache-2.0
"""Objects that answer the same question differently the second time, answer with themselves, or have another's name.

The first answer is right and safe to believe, but for the length of some sequences and the comparisons of some
integers, which never are what iterating or converting gives. What has to be read once, such as the extents of a shape,
is wrong afterwards; other later answers are safe to believe too.
"""

import operator

import numpy as np

import dltensor as dl

from . import hostile

LENGTHS = (0, 1, 2, 64, 65, 128, 1500, 1999, 2**31, 2**40, -1, 10**30)
FAR = (2**20, 2**31, 2**40, 2**62, 2**63 - 1, -1, -(2**40))


class Answers:
    """The next of several answers at each question; the last one stays."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, 0

    def next(self, *_, **__):
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return answer() if callable(answer) else answer


def made_of(said, body, bases=(), value=(), facts=()):
    """An object of a new class; `body` maps names to `Answers`."""
    methods = {name: (lambda self, *a, _n=answers, **k: _n.next(*a, **k)) for name, answers in body.items()}
    methods = {name: property(method) if name in facts else method for name, method in methods.items()}
    if "__eq__" in methods:
        methods["__hash__"] = lambda self: 7
    words = f"{said}: {', '.join(sorted(body))}"
    return type("Unsteady", bases, methods | {"said": words})(*value)


COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__mod__", "__floordiv__", "__neg__", "__abs__", "__and__")


def liar(context, first):
    """An integer that compares and computes as a number in range but has another value, or what has it as its index."""
    far = context.random.choice(FAR)
    body = {name: lambda self, other, _n=name: getattr(operator, _n)(first, other) for name in COMPARISONS}
    computed = Answers(*context.random.choice(((first,), (far,), (first, far))))
    body |= {name: computed.next for name in ARITHMETIC}
    body |= {"__hash__": lambda self: hash(first), "said": "number: its comparisons lie"}
    whole = type("Liar", (int,), body)(far)
    how = context.random.randrange(3)
    if how == 0:
        return whole
    if how == 1:  # no integer at all
        whole = type("Liar", (), body | {"__int__": lambda self: far, "__index__": lambda self: far})()
    return type("Unsteady", (), {"__index__": lambda self: whole, "said": "index: its comparisons lie"})()


def number(context, first, *later):
    """A number that is right once; later it is another one in range, which a call may believe too, or far from any."""
    later = later or (context.random.choice((*range(4), *FAR)),)
    answers = {
        "__index__": Answers(first, *later),
        "__int__": Answers(first, *later),
        "__float__": Answers(float(first), *map(float, later)),
    }
    return made_of("number", answers)


def truth(context, first):
    """A flag that is something else the second time."""
    return made_of("truth", {"__bool__": Answers(first, not first), "__index__": Answers(int(first), int(not first))})


def number_or_liar(context, first):
    """For what describes no memory: the value of a liar is never safe to believe."""
    return liar(context, first) if context.chance(0.3) else number(context, first)


def sequence(context, items, later=FAR):
    """A sequence whose length, items or iteration are right once."""
    length = Answers(*(len(items),) * context.random.choice((0, 1, 1, 1, 2)), context.random.choice(LENGTHS))
    asked = {}

    def item(self, i):
        if isinstance(i, slice):
            return list(items)[i]
        if not -len(items) <= i < 2000:  # ends the iteration of an object that has no __iter__
            raise IndexError("no such item")
        asked[i] = asked.get(i, 0) + 1
        return 1 if i >= len(items) else items[i] if asked[i] == 1 else context.random.choice(later)

    iterations = Answers(lambda: iter(list(items)), lambda: iter([1] * context.random.choice((0, 65, 1500))))
    bases = context.random.choice(((), (), (), (tuple,), (list,)))
    body = {"__len__": lambda self: length.next(), "__getitem__": item}
    if context.chance(0.4):
        body["__iter__"] = lambda self: iterations.next()
    kind = type("Unsteady", bases, body | {"said": f"sequence: {', '.join(sorted(body))}"})
    return kind(list(items)) if bases else kind()


class Mapping(dict):
    """A dictionary whose values are right once."""

    said = "dict that changes"

    def __init__(self, values, later):
        super().__init__(values)
        self.later, self.asked = later, set()

    def _answer(self, name, default):
        if name in self.asked and name in self.later:
            return self.later[name]
        self.asked.add(name)
        return dict.get(self, name, default)

    def __getitem__(self, name):
        return self._answer(name, None)

    def get(self, name, default=None):
        return self._answer(name, default)


def interface(context, memory):
    """A description of memory, one of whose parts is right once. Any single reading of it is safe."""
    at = memory.ctypes.data
    made = {"shape": (3,), "typestr": "<f8", "data": (at, False), "strides": None, "version": 3}
    how = context.random.randrange(7)
    if how < 3:
        made["shape"] = sequence(context, (3,))
    elif how == 3:
        made["shape"] = (number(context, 3),)
    elif how == 4:
        made["strides"] = context.random.choice((sequence(context, (8,)), (number(context, 8),)))
    elif how == 5:
        made["data"] = context.random.choice((sequence(context, (at, False), (8, 64)), (number(context, at, 8), False)))
    else:
        later = {"shape": (2**40,), "typestr": "|S64", "data": (8, False), "strides": (2**40,), "version": 2}
        return Mapping(made, later)
    return made


def for_tensor(context):
    """An operand of three numbers whose protocols change their answers."""
    plain = np.arange(64.0)
    context.memory.append(plain)
    t, name = dl.from_dlpack(plain[:3]), context.random.choice(("__array_interface__", "__array_interface__", "dlpack"))
    if context.chance(0.2):
        name = "__array__"
    if name == "__array__":
        kinds = (
            plain[:3],
            None,
            7,
            plain[:3].astype("f4"),
            [1, 2],
            np.float64(1),
            dl.ones(3),
            b"abc",
            plain.reshape(8, 8),
        )
        answers = [context.random.choice(kinds) for _ in range(3)]
        return made_of(name, {name: Answers(*answers)})
    if name == "dlpack":
        used = t.__dlpack__()
        dl.from_dlpack(used)
        capsules = [t.__dlpack__, lambda: context.random.choice((used, None, dl.ones(3).__dlpack__(), 5))]
        devices = [(1, 0), context.random.choice(((2, 0), (1, 7), None, sequence(context, (1, 0))))]
        context.random.shuffle(devices)
        return made_of(name, {"__dlpack__": Answers(*capsules), "__dlpack_device__": Answers(*devices)})
    name = "__cuda_array_interface__" if context.chance(0.2) else name
    if context.chance(0.3):
        other = plain[:8].reshape(2, 4)
        dicts = [plain[:3].__array_interface__, context.random.choice((other.__array_interface__, {}, None, 3))]
        return made_of(name, {name: Answers(*dicts)}, facts=(name,))
    answer = interface(context, plain)
    if context.chance(0.5):
        return type("Unsteady", (), {name: answer, "said": f"{name} with {describe(answer)}"})()
    return made_of(f"property with {describe(answer)}", {name: Answers(answer)}, facts=(name,))


def describe(interface):
    if type(interface) is Mapping:
        return Mapping.said
    told = {key: getattr(type(value), "said", None) for key, value in interface.items()}
    return ", ".join(f"{key} a {words}" for key, words in told.items() if words) or "a number that changes"


def for_any(context, value):
    """An object that is worth what `value` is, once."""
    if type(value) is dl.Tensor:
        return for_tensor(context)
    if type(value) in (list, tuple) and all(type(v) in (int, float) for v in value):
        if context.chance(0.4) and value:
            return type(value)([number_or_liar(context, int(value[0])), *value[1:]])
        return sequence(context, value)
    if type(value) is bool and context.chance(0.7):
        return truth(context, value)
    if type(value) in (int, float, bool):
        return number_or_liar(context, int(value)) if abs(value) < 1e6 else value
    if type(value) is str:
        texts = {"__eq__": Answers(True, False), "__str__": Answers(value, "\ud800"), "__len__": Answers(1, 2**40)}
        return made_of("text", texts, (str,), (value,))
    if type(value) is dl.DType:
        codes = Answers(
            value.__dlpack_data_type__(), context.random.choice(((2, 2**40, 1), (2, 8), None, (0, 64, 999)))
        )
        return made_of("dtype", {"__dlpack_data_type__": codes, "name": Answers("float32", 5)}, facts=("name",))
    return for_tensor(context)


# -- objects that answer with themselves ------------------------------------------------------------------------------


def itself(context):
    """An object whose protocol gives the object, another one like it, or one that gives the first."""
    name = context.random.choice(
        ("__array__", "__array__", "__dlpack__", "__array_interface__", "__index__", "__getitem__")
    )
    how = context.random.choice(("itself", "a new one", "two in turn"))
    bases = context.random.choice(((), (), (), (list,), (tuple,), (np.ndarray,))) if name != "__index__" else ()
    facts = ("__array_interface__",)

    def answer(self, *arguments, **keywords):
        if name == "__getitem__" and arguments[0] != 0:  # has one item, which is asked for as often as it is deep
            raise IndexError("no such item")
        return self if how == "itself" else kind(*value) if how == "a new one" else other

    method = property(answer) if name in facts else answer
    body = {name: method, "said": f"{name} gives {how}"}
    if name == "__getitem__":
        body["__len__"] = lambda self: 1
    if name == "__dlpack__":
        body["__dlpack_device__"] = lambda self: (1, 0)
    if name == "__index__":
        body |= {"__float__": answer, "__int__": answer}
    value = ((3,),) if np.ndarray in bases else ()
    kind = type("Itself", bases, body)
    other = kind(*value)
    return kind(*value)


# -- producers of before max_version ----------------------------------------------------------------------------------


def _as_of_2021(t):
    def method(self, stream=None):
        return t.__dlpack__()

    return method


def _as_compiled(t):
    """As Cython compiles one: it refuses the keyword from inside, with a frame."""

    def method(self, *arguments, **keywords):
        if set(keywords) - {"stream"}:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {min(keywords)!r}")
        return t.__dlpack__()

    return method


def _forwarding(method):
    def forwarding(self, *arguments, **keywords):
        return method(self, *arguments, **keywords)

    return forwarding


OLD_SIGNATURES = {
    "2021": _as_of_2021,
    "compiled": _as_compiled,
    "behind a forwarder": lambda t: _forwarding(_as_of_2021(t)),
    "behind two forwarders": lambda t: _forwarding(_forwarding(_as_of_2021(t))),
    "compiled, behind a forwarder": lambda t: _forwarding(_as_compiled(t)),
    "of a property": lambda t: property(lambda self: _as_of_2021(t).__get__(self)),
    "bare": lambda t: lambda self: t.__dlpack__(),
}


def old_signature(context, t):
    """An object that shows a tensor by a ``__dlpack__`` that does not know `max_version`."""
    how = context.random.choice(list(OLD_SIGNATURES))
    t = t.copy() if t.readonly else t  # which a struct of before 1.0 cannot say
    body = {"__dlpack__": OLD_SIGNATURES[how](t), "__dlpack_device__": lambda self: (1, 0)}
    return type("OldSignature", (), body | {"said": f"__dlpack__ {how}"})()


# -- classes that have the name of another ----------------------------------------------------------------------------

STOLEN = [
    ("numpy", "ndarray"), ("numpy", "generic"), ("numpy", "float64"), ("numpy", "bool"), ("numpy", "dtype"),
    ("numpy.ma", "ndarray"), ("numpy.dtypes", "Float64DType"), ("torch", "Tensor"), ("torch", "dtype"),
    ("torch", "device"), ("torch.nn.parameter", "Parameter"), ("jaxlib", "ArrayImpl"), ("jaxlib._jax", "ArrayImpl"),
    ("jaxlib.xla_extension", "ArrayImpl"), ("cupy", "ndarray"), ("tvm_ffi.core", "Tensor"), ("pyarrow.lib", "Buffer"),
    ("tensorflow.python.framework.ops", "EagerTensor"), ("ml_dtypes", "bfloat16"), ("builtins", "memoryview"),
    ("builtins", "PyCapsule"), ("dltensor", "Tensor"), ("dltensor._core.tensor", "Tensor"), ("dltensor", "DType"),
    ("dltensor", "Device"), ("array", "array"), ("metatensor", "Labels"), ("", "ndarray"), ("numpy.", "ndarray"),
]  # fmt: skip


def stolen_name(context, t=None):
    """An object of a class with another's module and name, with the protocols of a tensor or with none."""
    module, name = context.random.choice((*STOLEN, *STOLEN[:1] * 8, *STOLEN[7:8] * 4, *STOLEN[11:12] * 2))
    body = {"__module__": module, "said": f"{module}.{name}"}
    bases, value = context.random.choice(
        (((), ()), ((), ()), ((int,), (5,)), ((bytes,), (b"\xff" * 300,)), ((tuple,), ([3] * 40,)), ((float,), (1.0,)))
    )
    if context.chance(0.5) and not bases:
        body["__slots__"] = tuple("abcdefghijklmnop")
    if t is not None:
        way = context.random.choice(("dlpack", "array", "interface"))
        if way == "dlpack":
            body |= {"__dlpack__": lambda self, **k: t.__dlpack__(**k), "__dlpack_device__": lambda self: (1, 0)}
        elif way == "array":
            body["__array__"] = lambda self, *a, **k: t.numpy().copy()
        else:
            body["__array_interface__"] = property(lambda self: t.numpy().__array_interface__)
        body["said"] += f" with {way}"
    if context.chance(0.1):
        body["dtype"] = property(lambda self: hostile.act(context, "dtype", hostile.junk))
        body["shape"] = (3,)
    made = type(name, bases, body)(*value)
    for slot in body.get("__slots__", ()):
        setattr(made, slot, context.random.choice((2**62, -1, 3, "x", None, 1.5)))
    return made
