# SPDX-License-Identifier: Apache-2.0
"""What can be called: every public function, class, method, property and operator, found in the package itself.

The types of parameters come from the stubs that are generated from the sources, so a new function is covered as soon as
`make check` is content with it.
"""

import ast
import copy
import enum
import functools
import inspect
import math
import operator
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import dltensor as dl

# What is not called, and why.
EXCLUDED = {
    r"Report|Properties": "is plain data, and `inspect` makes sound ones",
    r"conformance\.": "starts processes of its own",
    r"(io\.)?(savez?(_compressed)?|memmap|load|open_file|TensorFile.*|TensorInfo.*)": (
        "is for files, which fuzz/files.py makes"
    ),
    r"cuda\.(set_allocator|on_out_of_memory)": "changes where the memory of all later calls comes from",
    r"loadtxt|genfromtxt|savetxt|fromfile": "reads or writes files of others",
    r"Tensor\.__dask_tokenize__": "is called by Dask, which it imports",
    r"OpaqueArray\.release": "hands the struct to C, which has to end it",
    r"opaque\.register_metatensor": "changes another package permanently",
    r"opaque\.metatensor_labels": "never freed by metatensor-core 0.2.6: Labels.__del__ tests a wrong name",
    r".*\.__(init|new|setattr|delattr|getnewargs|array_namespace|dict|weakref|pyx_\w+|dataclass\w+)__.*": (
        "is how Python makes and keeps objects, or gives the package"
    ),
}
# What Python itself may do with any object. `_` stands for the object.
PROTOCOLS = {
    **{f.__name__: f for f in (repr, str, hash, bool, len, list, int, float, complex, round, memoryview, copy.copy)},
    **{f.__name__: f for f in (copy.deepcopy, operator.index, math.floor, math.ceil, math.trunc, dir)},
    "iter": lambda _: list(zip(_, range(3), strict=False)),
    "pickle": lambda _: pickle.loads(pickle.dumps(_, 5)),
    "format": lambda _: format(_, ".2f"),
}
KINDS = inspect.Parameter
PACKAGE = Path(dl.__file__).parent


def generated_stubs():
    """Return the texts of generated stubs by path: all but that of `distributed`."""
    found = {path: path.read_text() for path in PACKAGE.rglob("*.pyi") if path.parent.name != "distributed"}
    if not found:  # an editable installation
        sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
        import stubs

        found = {PACKAGE / path: text for path, text in stubs.stubs()[0].items()}
    return found


TEXTS = generated_stubs()
FOLDERS = [PACKAGE, PACKAGE / "_core", PACKAGE / "_ops", PACKAGE / "cuda", PACKAGE / "fft", PACKAGE / "opaque"]
FOLDERS += [PACKAGE / "io", PACKAGE / "linalg", PACKAGE / "shared"]
STUBS = [*sorted(TEXTS), *(path for folder in FOLDERS for path in sorted(folder.glob("*.py")))]
STUBS += [PACKAGE / "inspection" / "__init__.py", PACKAGE / "inspection" / "adapter.py"]


class Parameter(NamedTuple):
    """One parameter: `type` is the annotation as a syntax tree, None when nothing is said."""

    name: str
    kind: inspect._ParameterKind
    type: ast.expr | None
    optional: bool


class Entry(NamedTuple):
    """Something to call. A method's first parameter is its object. `signatures` are overloads."""

    name: str
    call: object
    signatures: list
    returns: str
    raises: frozenset


class Stub(NamedTuple):
    """The definitions of a module's stub, or of the module when it has its annotations inside."""

    functions: dict
    classes: dict


# Names that stubs give to types, and which type a parameter of some name has elsewhere.
ALIASES = {}
BY_NAME = {}


def definitions(body):
    """Functions by name, overloads together."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


@functools.cache
def stub_of(path):
    body = ast.parse(TEXTS.get(path) or path.read_text()).body
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            ALIASES[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            ALIASES[node.target.id] = node.value
    return Stub(definitions(body), {n.name: definitions(n.body) for n in body if isinstance(n, ast.ClassDef)})


def stubs_for(thing):
    """The stubs to look in: of the module that a thing comes from, then of all others."""
    home = getattr(thing, "__module__", None) or ""
    own = [path for path in STUBS if path.stem == home.rpartition(".")[2]]
    return [stub_of(path) for path in own + STUBS]


def parameters_of(node):
    """The parameters of a definition in a stub."""
    arguments, found = node.args, []
    places = [(a, KINDS.POSITIONAL_ONLY) for a in arguments.posonlyargs]
    places += [(a, KINDS.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    first_default = len(places) - len(arguments.defaults)
    for at, (argument, kind) in enumerate(places):
        found.append(Parameter(argument.arg, kind, argument.annotation, at >= first_default))
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, KINDS.VAR_POSITIONAL, arguments.vararg.annotation, True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(argument.arg, KINDS.KEYWORD_ONLY, argument.annotation, default is not None))
    for parameter in found:
        if parameter.type is not None:
            BY_NAME.setdefault(parameter.name, parameter.type)
    return found


def introspected(thing):
    """The parameters that a callable itself names; three of any kind when it does not."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return [Parameter(name, KINDS.POSITIONAL_ONLY, None, True) for name in "xyz"]
    return [
        Parameter(p.name, p.kind, None, p.default is not p.empty)
        for p in signature.parameters.values()
        if p.kind is not p.VAR_KEYWORD
    ]


def documented(thing):
    """Names of the exceptions in the section Raises of a docstring."""
    text = inspect.getdoc(thing) or ""
    if text.startswith(ALIASES_OF_LINALG):
        return frozenset(
            ("LinAlgError", "RuntimeError")
        )  # the docstring of another spelling names the call, not its errors
    section = re.search(r"Raises\n-+\n(.*?)(?:\n\w+\n---|\Z)", text, re.S)
    return frozenset(re.findall(r"\b[A-Z]\w*(?:Error|Warning)\b", section[1])) if section else frozenset()


def returned(node):
    """The class that a definition says it returns, or ''."""
    return node.returns.id if isinstance(node.returns, ast.Name) else ""


def receiver_of(word):
    return Parameter("self", KINDS.POSITIONAL_ONLY, ast.Name(word), False)


def entry_of(name, thing, nodes, receiver=None, call=None):
    if nodes:
        signatures, returns = [parameters_of(node) for node in nodes], returned(nodes[0])
    else:
        signatures, returns = [introspected(thing)], ""
    if receiver:
        signatures = [[receiver_of(receiver), *(s[1:] if s and s[0].name == "self" else s)] for s in signatures]
    raises = documented(thing) | (documented(CLASSES[receiver]) if receiver else frozenset())
    return Entry(name, call or thing, signatures, returns, raises)


def members_of(kind):
    """Names that a class or its bases in this package define, with what they are."""
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("dltensor"):
            found.update(vars(base))
    for name, thing in sorted(found.items()):
        data = isinstance(thing, (str, dict, tuple, type(None)))
        if not data and (not name.startswith("_") or name.startswith("__")):
            yield name, thing


def entries_of_class(prefix, kind):
    """The constructor of a class, its methods, properties and operators, and what Python does with its objects."""
    word = prefix + kind.__name__
    CLASSES[word] = kind
    stub = next((s.classes[kind.__name__] for s in stubs_for(kind) if kind.__name__ in s.classes), {})
    if issubclass(kind, (enum.Enum, BaseException)):
        return
    if not issubclass(kind, tuple):  # plain data of any origin
        made = entry_of(word, kind, stub.get("__new__") or stub.get("__init__"))
        own = [s[1:] if s and s[0].name in ("cls", "self") else s for s in made.signatures]
        yield made._replace(signatures=own, returns=word)
    for name, thing in members_of(kind):
        full, nodes = f"{word}.{name}", stub.get(name)
        if isinstance(thing, (classmethod, staticmethod)):
            yield entry_of(full, getattr(kind, name), nodes)
        elif callable(thing):
            yield entry_of(full, thing, nodes, word, functools.partial(call_method, name))
            forward = re.sub("^__r(?!o)", "__", name) if name not in ("__rshift__", "__repr__") else name
            if name.startswith("__") and forward in vars(operator):
                through = vars(operator)[forward]
                call = through if forward == name else functools.partial(call_swapped, through)
                yield entry_of(f"{full} as operator", thing, nodes, word, call)
        else:
            yield Entry(full, operator.attrgetter(name), [[receiver_of(word)]], "", frozenset({"AttributeError"}))
    for name, function in PROTOCOLS.items():
        yield Entry(
            f"{word} {name}", function, [[receiver_of(word)]], "", frozenset({"AttributeError", "PicklingError"})
        )


def call_method(name, receiver, /, *arguments, **keywords):
    return getattr(receiver, name)(*arguments, **keywords)


def call_swapped(function, receiver, other, /):
    return function(other, receiver)


def excluded(name):
    return any(re.fullmatch(pattern, name) for pattern in EXCLUDED)


def public_modules():
    """The package and the modules it names, each with its prefix."""
    yield "", dl
    for name in dl.__all__:
        thing = getattr(dl, name)
        if isinstance(thing, ModuleType) and not excluded(f"{name}."):
            yield f"{name}.", thing
    # What some functions return and no module names.
    yield "", SimpleNamespace(__all__=["report", "adapted"], report=type(dl.inspect(b"")), adapted=type(dl.adapt(b"")))


ALIASES_OF_LINALG = tuple(
    f"Alias of ``{name}" for name in ("inverse_of", "determinant", "fitted", "roots_of", "decomposed", "linalg.")
)
# Classes by the word that stands for them in a signature.
CLASSES = {}


def entries():
    """Everything that can be called, in order of names."""
    for path in STUBS:
        for nodes in stub_of(path).functions.values():
            for node in nodes:
                parameters_of(node)
    found, seen = {}, set()
    for prefix, module in public_modules():
        for name in getattr(module, "__all__", ()):
            try:
                thing = getattr(module, name)
            except ImportError:  # a submodule, whose library is not installed
                continue
            if isinstance(thing, (ModuleType, dl.DType)) or not callable(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            if isinstance(thing, type):
                made = entries_of_class(prefix if thing.__name__ in CLASSES else "", thing)
            else:
                own = thing.__name__  # other names of the same function are not called apart
                nodes = next((s.functions[own] for s in stubs_for(thing) if own in s.functions), None)
                made = [entry_of(prefix + (own if getattr(module, own, None) is thing else name), thing, nodes)]
            found.update((entry.name, entry) for entry in made)
    found["adapt"] = found["adapt"]._replace(returns=type(dl.adapt(b"")).__name__)  # its stub says no more than object
    return [found[name] for name in sorted(found) if not excluded(name)]
