# SPDX-License-Identifier: Apache-2.0
"""Annotations for the types that docstrings name in words. One table, for parameters and for results."""

import ast
import json
import re

from . import sources

# Words that mean the same for a parameter and for a result.
WORDS = {
    "bool": "bool",
    "bytes": "bytes",
    "bytearray": "bytearray",
    "memoryview": "memoryview",
    "str": "str",
    "object": "object",
    "type": "type",
    "None": "None",
    "capsule": "CapsuleType",
    "callable": "Callable[..., Any]",
    "complex": "complex",
    "numpy.ndarray": "NDArray[Any]",
}
# Words of parameters. They take what converts: an int takes any object with __index__.
PARAMETERS = WORDS | {
    "int": "SupportsIndex",
    "float": "float",
    "number": "Scalar",
    "array_like": "TensorLike",
    "writable array_like": "TensorLike",
    "writable tensor": "TensorLike",
    "nested sequence of numbers": "Sequences",
    "nested sequence of int": "Sequences",
    "nested sequence of array_like": "Operand",
    "slice": "slice",
    "contraction path": "Sequence[str | tuple[int, ...]]",
    "dtype_like": "DTypeLike",
    "device_like": "DeviceLike",
    "index": "Index",
    "os.PathLike": "PathLike[str]",
    "path_like": "str | bytes | PathLike[str] | PathLike[bytes]",
    "readable binary file": "_Readable",
    "writable binary file": "_Writable",
}
# What several words of parameters mean together.
PARAMETERS["mapping"] = "Mapping"
PARAMETERS["together"] = {
    frozenset(("TensorLike", "Scalar")): "Operand",
    frozenset(("Operand", "Sequences")): "Operand",
    frozenset(("bool", "SupportsIndex", "float", "complex")): "Scalar",
    frozenset(("SupportsIndex", "float", "complex")): "complex",
    frozenset(("SupportsIndex", "float")): "float",
}
# Words of results, which have one type.
RESULTS = WORDS | {"int": "int", "float": "float", "object": "Any", "dict": "dict[str, Any]"}
RESULTS |= {"mapping": "dict", "together": {}}
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5}
# Types that Cython declares, where neither an annotation nor a docstring says more.
CYTHON = {"str": "str", "bint": "bool", "int": "int", "Tensor": "Tensor", "object": "object"}
# Signatures of special methods that mean the same for every class.
SPECIAL = {
    **dict.fromkeys(("__len__", "__int__", "__index__", "__trunc__", "__floor__", "__ceil__"), "(self) -> int"),
    **dict.fromkeys(("__hash__", "__sizeof__"), "(self) -> int"),
    "__bool__": "(self) -> bool",
    "__float__": "(self) -> float",
    "__complex__": "(self) -> complex",
    "__contains__": "(self, value: object, /) -> bool",
    **dict.fromkeys(("__eq__", "__ne__"), "(self, other: object, /) -> bool"),
    "__format__": "(self, spec: str) -> str",
    **dict.fromkeys(("__enter__", "__copy__"), "(self) -> Self"),
    "__exit__": (
        "(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None"
    ),
    "__deepcopy__": "(self, memo: dict[int, Any]) -> Self",
    "__getbuffer__": "(self, flags: int, /) -> memoryview",
    "__dlpack_device__": "(self) -> tuple[int, int]",
    "__dlpack_data_type__": "(self) -> tuple[int, int, int]",
}
# Special methods that Python calls without names of parameters where a compiled class has them.
SLOTS = {"__getitem__", "__setitem__"}
RENAMED = {"__getbuffer__": "__buffer__"}


class Unknown(ValueError):
    """Words that have no annotation."""


def union(types):
    """Join annotations, each once, None last."""
    parts = dict.fromkeys(part.strip() for each in types for part in sources.split(each, "|"))
    if "object" in parts:
        return "object"
    return " | ".join([part for part in parts if part != "None"] + ["None"] * ("None" in parts))


def alternatives(words):
    """Split words at ", " and " or " that are not in braces."""
    pieces = [piece for part in sources.split(words) for piece in re.split(r"\bor\b(?![^{]*})", part)]
    return [piece.strip() for piece in pieces if piece.strip()]


def choices(text):
    """The type of one of some values, as ``{"C", "F"}`` or ``{"auto", True, False}``."""
    values = [part.strip() for part in sources.split(text.strip("{}"))]
    literal = ", ".join(json.dumps(ast.literal_eval(value)) for value in values if value[0] in "\"'")
    others = ["bool" if value in ("True", "False") else "float" for value in values if value[0] not in "\"'"]
    return union([*others, *([f"Literal[{literal}]"] if literal else [])])


def one(words, table):
    """The type of words without alternatives outside of a container: ``sequence of int``."""
    outside, _, inside = words.partition(" of ")
    if words in table:
        return table[words]
    if words.startswith("{"):
        return choices(words)
    if outside == "array_like":
        return table[outside]
    if outside == "dict" and inside:
        key, value = (one(part, table) for part in inside.split(" to "))
        return f"{table['mapping']}[{key}, {value}]"
    if outside in ("sequence", "iterable") and inside:
        return f"{outside.title()}[{of(inside, table)}]"
    if outside in ("list", "tuple") and inside:
        count, _, nouns = inside.partition(" ")
        if count in COUNTS:
            noun = one(re.sub(r"^(\w+)s\b", r"\1", nouns), table)
            return f"tuple[{', '.join([noun] * COUNTS[count])}]"
        return f"list[{of(inside, table)}]" if outside == "list" else f"tuple[{of(inside, table)}, ...]"
    if re.fullmatch(r"(dltensor\.)?([a-z]+\.)*[A-Z]\w*", words):
        return "Any" if words.startswith("metatensor") else words.rpartition(".")[2]
    raise Unknown(words)


def of(words, table):
    """The type of words with alternatives; "these" stands for the ones before it."""
    types = []
    for word in alternatives(words):
        types.append(one(word, table | ({"these": union(types)} if types else {})))
    for together, joined in table["together"].items():
        if together <= set(types):
            types = [joined, *(kind for kind in types if kind not in together)]
    return union(types)


def parameter(words, default):
    """The annotation of a parameter by the words of its docstring and its default."""
    words = re.sub(r",? (optional|default .*)$", "", words)
    return union([of(words, PARAMETERS), *(["None"] if default == "None" else [])])


def result(words):
    """The annotation of a result by the lines of a Returns section that name a type.

    Callers need not narrow a result of several types, so that it is Any.
    """
    named = [line.partition(" : ")[2] or line for line in words]
    types = ["Any" if len(alternatives(line)) > 1 and "None" not in line else of(line, RESULTS) for line in named]
    return f"tuple[{', '.join(types)}]" if len(types) > 1 else types[0]


def section(doc, title):
    """Return the entries of a section of a docstring: the lines that are not indented in it."""
    match = re.search(rf"(?s)(?:^|\n)( *){title}\n *-+\n(.*?)(?=\n *\n *[A-Z][\w ]*\n *---|\Z)", doc)
    if not match:
        return []
    indent = match[1]
    return [line.strip() for line in match[2].split("\n") if line.startswith(indent) and line[len(indent) :].strip()
            and not line[len(indent) :].startswith(" ")]  # fmt: skip


def parameters(doc, title="Parameters"):
    """Return the words that a docstring has for the type of each parameter."""
    found = {}
    for line in section(doc, title):
        names, colon, words = line.partition(" : ")
        if colon:
            found |= {name.strip().lstrip("*"): words for name in names.split(",")}
    return found
