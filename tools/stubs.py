#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write into src/dltensor/*.pyi and typing.py what the compiled tables say: functions, operators, enumerations, names.

Those files are written by hand, one for each public module, except for what stands between ``# rows: NAME``
and ``# end``. That comes from the installed package, so that no operation, element type or device is typed twice.

Run it without arguments after a new row or a new public name; with ``--check`` it writes nothing, and fails when a file
would change, or when it found nothing to compare.
"""

import argparse
import ast
import re
import sys
import textwrap
import types
from pathlib import Path

import dltensor as dl
from dltensor._core.types import DTYPES, SPELLINGS
from dltensor._ops.reductions import REDUCTIONS

STUBS = Path(__file__).resolve().parent.parent / "src" / "dltensor"
WIDTH = 120
REGION = re.compile(r"^( *)# rows: (\w+)\n(.*?)^ *# end\n", re.M | re.S)

# How Python calls the operator of a row with one operand, and of one with two.
UNARY = {"abs": "abs", "~": "invert", "-": "neg", "+": "pos"}
BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def definition(name, parameters, result, body="..."):
    """One ``def``, on as many lines as it needs."""
    line = f"def {name}({', '.join(parameters)}) -> {result}: {body}"
    if len(line) <= WIDTH:
        return [line]
    return [f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {result}: {body}"]


def functions():
    """Two definitions for each function: one that makes a tensor, one that returns what it was given to write to."""
    for name, row in dl.OPS.items():
        operands = [f"{letter}: Operand" for letter in "abc"[: row["operands"]]]
        keywords = ["*", *(["saturate: bool = False"] if row["saturating"] else []), "launch: Launch | None = None"]
        new = "out: None = None"
        if name == "round":  # whose second argument may be the decimals
            new = "out: int | None = None"
            keywords.insert(1, "decimals: int = 0")
        for out, result in ((new, "Tensor"), ("out: _Out", "_Out")):
            yield "@overload"
            *start, last = definition(name, [*operands, "/", out, *keywords], result, "")
            yield from (*start, last.rstrip(), f'    """{row["doc"]}"""')


# Parameters of reductions beside axis, keepdims and out, as annotations.
REDUCTION_KEYWORDS = {
    "dtype": "dtype: DTypeLike | None = None",
    "correction": "correction: float = 0.0",
    "where": "where: TensorLike | None = None",
    "initial": "initial: Scalar | None = None",
    "saturate": "saturate: bool = False",
}


def reduction_parameters(row):
    """The annotated axis of a reduction, and what comes after `out`."""
    axis = "axis: int | None = None" if row["one_axis"] else "axis: int | Sequence[int] | None = None"
    return axis, [REDUCTION_KEYWORDS[name] for name in row["takes"]]


def reductions():
    """Two definitions for each reduction, as for functions."""
    for name, row in REDUCTIONS.items():
        axis, rest = reduction_parameters(row)
        for out, result in (("out: None = None", "Tensor"), ("out: _Out", "_Out")):
            yield "@overload"
            parameters = ["x: TensorLike", "/", "*", axis, "keepdims: bool = False", out, *rest]
            *start, last = definition(name, parameters, result, "")
            yield from (*start, last.rstrip(), f'    """{row["doc"]}"""')


def reduction_methods():
    """The reductions that are methods too."""
    for name, row in REDUCTIONS.items():
        if hasattr(dl.Tensor, name):
            axis, rest = reduction_parameters(row)
            parameters = ["self", axis, "*", "keepdims: bool = False", "out: Tensor | None = None", *rest]
            yield from definition(name, parameters, "Tensor")


def operators():
    """The methods behind the symbols of the rows."""
    for row in dl.OPS.values():
        symbol = row["symbol"]
        if not symbol or row["name"] != row["row"]:
            continue
        if row["operands"] == 1:
            yield f"def __{UNARY[symbol]}__(self) -> Tensor: ..."
        elif row["result"] == "mask":
            # object's own takes and gives anything; ours takes what has elements and gives one truth for each.
            ignore = "  # type: ignore[override]" if symbol in ("==", "!=") else ""
            yield f"def __{COMPARISONS[symbol]}__(self, other: Operand, /) -> Tensor: ...{ignore}"
        else:
            for before in ("", "r", "i"):
                yield f"def __{before}{BINARY[symbol]}__(self, other: Operand, /) -> Tensor: ..."


def enumeration(kind):
    """The members of an enumeration, with their values."""
    for name, member in kind.__members__.items():
        yield f"{name} = {int(member)}"


def sources():
    """Where ``__init__.py`` has each public name from: name -> (module, name there), or None for a value of its own."""
    found = {}
    for node in ast.parse(Path(dl.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                module = f".{node.module or ''}"
                if alias.name == "*":
                    for name in sys.modules[f"dltensor{module}"].__all__:
                        found[name] = (module, name)
                else:
                    found[alias.asname or alias.name] = (module, alias.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(name, ast.Name):
                        found[name.id] = None
    found.pop("__all__", None)
    return found


def wrapped(start, words, end):
    """A list in brackets on as few lines as the width allows."""
    line = re.sub(r"^(from .*)\((.*)\)$", r"\1\2", f"{start}{', '.join(words)}{end}")
    if len(line) <= WIDTH:
        return [line]
    lines = textwrap.wrap(", ".join(words) + ",", WIDTH, initial_indent="    ", subsequent_indent="    ")
    return [start, *lines, end]


def names():
    """Imports and constants of the package."""
    where = sources()
    public = set(dl.__all__) | {name for name in where if name.startswith("__")}
    modules, constants, renamed = {}, {}, {}
    for name in sorted(public):
        value = getattr(dl, name)
        if where.get(name) and where[name][1] != name:
            # A stub does not hand on what it imports under another name.
            module, there = where[name]
            package, _, leaf = module.rpartition(".")
            modules.setdefault(package or ".", []).append(leaf)
            renamed[name] = f"{leaf}.{there}"
        elif where.get(name):
            modules.setdefault(where[name][0], []).append(name)
        elif isinstance(value, types.ModuleType):
            modules.setdefault(".", []).append(name)
        else:
            constants[name] = type(value).__name__
    if set(constants.values()) - {"DType", "NoneType"}:
        yield "import builtins"
    yield from ("from typing import Final", "")
    for module, found in sorted(modules.items()):
        yield from wrapped(f"from {module} import (", sorted(found), ")")
    yield ""
    for name, thing in renamed.items():
        yield f"{name} = {thing}"
    # The constants include `bool`, `float32` and their like, and must not stand for the types of others.
    for name, kind in constants.items():
        yield f"{name}: Final[{'DType' if kind == 'DType' else 'None' if kind == 'NoneType' else f'builtins.{kind}'}]"
    yield ""
    yield from wrapped("__all__ = [", [f'"{name}"' for name in sorted(dl.__all__)], "]")


def literal(name, values):
    """A type alias of the strings that an argument takes."""
    yield from wrapped(f"{name}: TypeAlias = Literal[", [f'"{value}"' for value in values], "]")


def dtype_names():
    """Names that ``as_dtype`` takes, without byte orders and vector types."""
    sized = [f"{letter}{size}" for letter in "biufc" for size in (1, 2, 4, 8, 16)]
    yield from literal("DTypeName", [*DTYPES, *SPELLINGS, *filter(is_dtype, sized)])


def is_dtype(name):
    try:
        dl.as_dtype(name)
    except TypeError:
        return False
    return True


def device_names():
    """Names that ``as_device`` takes, with the numbers of the first eight CUDA devices."""
    kinds = [str(dl.Device(int(kind), 0)).partition(":")[0] for kind in dl.DeviceType]
    yield from literal("DeviceName", [*kinds, *(f"cuda:{number}" for number in range(8))])


WRITERS = {
    "functions": functions,
    "dtype_names": dtype_names,
    "device_names": device_names,
    "reductions": reductions,
    "reduction_methods": reduction_methods,
    "operators": operators,
    "names": names,
    **{kind.__name__: lambda kind=kind: enumeration(kind) for kind in (dl.DeviceType, dl.DataTypeCode, dl.Flags)},
}


def written(text, used):
    """The text of a stub with every region as the installed package says; the names of the regions go to `used`."""

    def fill(match):
        indent, name = match[1], match[2]
        if name not in WRITERS:
            raise SystemExit(f"stubs: there is no region {name!r}; there are {', '.join(WRITERS)}")
        used.append(name)
        lines = [f"# rows: {name}", *WRITERS[name](), "# end"]
        return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)

    return REGION.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file would change")
    options = parser.parse_args()
    used, stale = [], []
    for path in [*sorted(STUBS.rglob("*.pyi")), STUBS / "typing.py"]:
        old = path.read_text()
        new = written(old, used)
        if new != old:
            stale.append(path.relative_to(STUBS).as_posix())
            if not options.check:
                path.write_text(new)
    if sorted(used) != sorted(WRITERS):
        raise SystemExit(f"stubs: expected each of the regions {sorted(WRITERS)} once, found {sorted(used)}")
    if options.check and stale:
        raise SystemExit(
            f"stubs: {', '.join(stale)} differ from the installed package; install it and run python -m tools stubs"
        )
    print(f"stubs: {len(used)} regions, {len(dl.__all__)} public names; {', '.join(stale) or 'nothing'} changed")


if __name__ == "__main__":
    main()
