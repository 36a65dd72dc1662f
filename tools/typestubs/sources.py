# SPDX-License-Identifier: Apache-2.0
"""Functions, classes and imports of a Python or Cython file, read as text. Bodies of functions are not read."""

import re
from functools import cache
from typing import NamedTuple

import fill_docstrings

STRING = re.compile(r'(?s)(?P<quotes>"""|\'\'\').*?(?P=quotes)')
HEADER = re.compile(
    r"^(?P<indent>(?:    )?)(?:(?:cdef )?class (?P<kind>\w+)(?:\((?P<bases>[^\n]*)\))?:"
    r"|(?:def|cpdef(?: [\w.]+)?) (?P<name>\w+)\(|(?P<other>[^\s#@)\]}]))",
    re.M,
)
DOCSTRING = re.compile(r'(?s)\s*r?"""(.*?)"""')
IMPORT = re.compile(r"^ *from (\.[\w.]*) import (?:\(([^()]*)\)|([^\n()]*))$", re.M)
EXPORTS = re.compile(r"^__all__ = \[([\w\s,\"#]*)\](?:  # fmt: skip)?$", re.M)
OPEN, CLOSE = "([{", ")]}"


class Parameter(NamedTuple):
    """One parameter, or a marker: its name is then ``*`` or ``/``. `type` is an annotation, `cython` a C type."""

    name: str
    type: str | None = None
    default: str | None = None
    cython: str = ""


class Function(NamedTuple):
    """A function, method or property by its definition."""

    name: str
    parameters: list
    returns: str | None
    doc: str
    decorators: tuple = ()
    has_result: bool = False


class Class(NamedTuple):
    """A class and its methods."""

    name: str
    bases: str
    doc: str
    members: list
    decorators: tuple = ()


class Module(NamedTuple):
    """The definitions of a file in their order, its ``__all__`` if that is a list, and where it has names from."""

    definitions: list
    exports: list | None
    imports: dict


def split(text, separator=","):
    """Split a text at a separator that is not inside brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in OPEN) - (character in CLOSE) if not quote else 0
        if character == separator and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def closing(text, start):
    """Return the place of the bracket that closes the one before `start`."""
    depth = 1
    while depth:
        depth += (text[start] in OPEN) - (text[start] in CLOSE)
        start += 1
    return start - 1


def parameter(text):
    """Read one parameter, as ``str func not None`` or ``x: int | None = None``."""
    left, *default = split(text, "=")
    left = re.sub(r" (not|or) None$", "", left.strip())
    name, _, kind = left.partition(":")
    declared, _, name = name.strip().rpartition(" ")
    return Parameter(name, kind.strip() or None, "=".join(default).strip() or None, declared)


def parameters(text):
    """Read the parameters between the brackets of a definition."""
    return [parameter(part) for part in split(re.sub(r"#[^\n]*", "", text)) if part.strip()]


def has_result(text, start, indent):
    """Whether the body of a function returns something; functions inside of it do not count."""
    body = re.compile(rf"[^\n]*\n(?:{indent} +[^\n]*\n|\s*\n)*").match(text, start)
    outer = re.sub(rf"(?m)^({indent} +)def .*\n(?:\1 +.*\n|\s*\n)*", "", body[0]) if body else ""
    return bool(re.search(r"(?m)^\s+return (?!None$)\S", outer))


def function(text, match, decorators):
    """Read a function from its header on."""
    end = closing(text, match.end())
    returns = re.compile(r"\s*(?:->\s*([^\n]*?))?\s*:(?=\s)").match(text, end + 1)
    doc = DOCSTRING.match(text, returns.end())
    result = has_result(text, (doc or returns).end(), match["indent"])
    arguments = parameters(text[match.end() : end])
    return Function(match["name"], arguments, returns[1], doc[1] if doc else "", tuple(decorators), result)


def decorators_before(text, end):
    """Return the lines of decorators that end at a place, without indentation."""
    found = []
    while text[(start := text.rfind("\n", 0, end - 1) + 1) : end].lstrip().startswith("@"):
        found.insert(0, text[start:end].strip())
        end = start
    return found


@cache
def docstrings():
    """Return the docstrings of the package, to which docstrings refer."""
    return fill_docstrings.Package(fill_docstrings.PACKAGE)


@cache
def module(path):
    """Read a file with complete docstrings, once."""
    text = fill_docstrings.complete(path.resolve(), docstrings())
    strings = [found.span() for found in STRING.finditer(text)]
    found, owner, at = [], None, 0
    for match in HEADER.finditer(text):
        while at < len(strings) and strings[at][1] <= match.start():
            at += 1
        if at < len(strings) and strings[at][0] < match.start():
            continue
        decorators = decorators_before(text, match.start())
        target = found if not match["indent"] else owner.members if owner else None
        if not match["indent"]:
            owner = None
        if match["kind"] and not match["indent"]:
            doc = DOCSTRING.match(text, match.end())
            owner = Class(match["kind"], match["bases"] or "", doc[1] if doc else "", [], tuple(decorators))
            found.append(owner)
        elif match["name"] and target is not None:
            target.append(function(text, match, decorators))
    exports = EXPORTS.search(text)
    imports = {
        name.split(" as ")[-1].strip(): (origin, name.split(" as ")[0].strip())
        for origin, *names in IMPORT.findall(text)
        for name in re.sub(r"#[^\n]*", "", "".join(names)).split(",")
        if name.strip()
    }
    return Module(found, re.findall(r'"(\w+)"', exports[1]) if exports else None, imports)
