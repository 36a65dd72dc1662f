#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write what follows from the table of spellings: functions (the build), their stub, and tables of docs/coming-from.md.

    python tools/spellings.py FOLDER    write functions.py, and spelling_rows.h, which says of each name what it is
    python tools/spellings.py --page    write the tables of the page; a test compares them

Nothing of the package is imported, so that the build can run it.
"""

import argparse
import ast
import builtins
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from builtin_texts import literal

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "dltensor" / "_spellings" / "table.py"
PAGE = ROOT / "docs" / "coming-from.md"
LIBRARIES = {
    "n": "NumPy: ``numpy.{}``.",
    "t": "PyTorch: ``torch.{}``.",
    "f": "PyTorch: ``torch.nn.functional.{}``.",
    "N": "NumPy: ``ndarray.{}``.",
    "T": "PyTorch: ``Tensor.{}``.",
    "r": "Numbers are others than there.",
    "o": "",
}
# Types of parameters in the stub, by name. All others are operands.
TYPES = {
    **dict.fromkeys(("dim", "dim0", "dim1", "start_dim", "end_dim", "offset", "n", "k", "ndim"), "SupportsIndex"),
    **dict.fromkeys(("keepdim", "keepdims", "copy", "largest", "sorted", "right", "as_tuple"), "bool"),
    "dtype": "DTypeLike | None",
    "device": "DeviceLike | None",
    "order": "str",
    "fmt": "str",
    "mode": "str",
    "shape": "ShapeLike",
    "sizes": "ShapeLike",
    "source": "ShapeLike",
    "destination": "ShapeLike",
    "axes": "SupportsIndex | Sequence[SupportsIndex] | None",
    "other": "Tensor",
    "count": "SupportsIndex",
    "function": "Callable[..., Any]",
    "iterable": "Iterable[Any]",
    "kwargs": "Any",
    "split_size": "SupportsIndex | Sequence[SupportsIndex]",
    **dict.fromkeys(("seed", "low", "num_samples", "window_length", "ignore_index", "start"), "SupportsIndex"),
    **dict.fromkeys(("enabled", "some", "periodic", "replacement", "training", "log_target", "non_blocking"), "bool"),
    **dict.fromkeys(("new_shape", "kernel_size", "padding"), "ShapeLike"),
    "generator": "Generator",
    "file": "Any",
    "sep": "str",
    "reduction": "str",
}
BY_DEFAULT = {
    **dict.fromkeys(("axis", "dim"), "SupportsIndex | None"),
    **dict.fromkeys(("to_end", "to_begin"), "Operand | None"),
    "out": "TensorLike | None",
    "high": "ShapeLike | None",
    **dict.fromkeys(("size", "stride"), "ShapeLike | None"),
}


@cache
def table(name="table"):
    """Return the module of the table, or of another file beside it."""
    spec = importlib.util.spec_from_file_location(name, TABLE.with_stem(name))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def rows():
    """Return the rows of the table."""
    return list(table().rows())


def names_in(call):
    """Return the names of the package in a call."""
    return {node.id for node in ast.walk(ast.parse(call, mode="eval")) if isinstance(node, ast.Name)}


def local_name(row):
    """Return the name of the function in the module; that of a method alone is private."""
    return f"_{row.name[1:]}" if row.name.startswith(".") else row.name


def docstring(row):
    """Return the docstring of the function of a row."""
    known = [LIBRARIES[letter].format(row.name.lstrip(".")) for letter in row.origins]
    return f"Alias of ``{row.call}``.\n\n{' '.join(filter(None, known))}\n"


def parameters_of(row):
    """Return the names of the parameters."""
    return {name for name in re.findall(r"\w+(?=\s*(?:=|,|$))", row.parameters)}


def operands_used_twice(row):
    """Return the operands that a call names more than once: what is no tensor is to be read once."""
    used = [node.id for node in ast.walk(ast.parse(row.call, mode="eval")) if isinstance(node, ast.Name)]
    operands = [name for name in re.findall(r"\w+", re.sub(r"=[^,]+", "", row.parameters)) if name not in TYPES]
    return [name for name in operands if name not in BY_DEFAULT and used.count(name) > 1]


def functions():
    """Return the text of the module of the functions."""
    made = [row for row in rows() if row.parameters]
    same = [row for row in rows() if row.is_function and not row.parameters]
    used = set().union(*(names_in(row.call) - parameters_of(row) for row in made), (row.call for row in same))
    helpers = set(re.findall(r"^def (\w+)", TABLE.with_name("helpers.py").read_text(), re.M)) & (
        used | {"fused", "read_once"}
    )
    imported = sorted(used - {local_name(row) for row in made} - helpers - {"bool", "isinstance"})
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        '"""Functions of NumPy and PyTorch by those of this package, made of the table beside this file."""',
        "",
        f"from dltensor import {', '.join(imported)}",
        f"from .helpers import {', '.join(sorted(helpers))}",
        "",
    ]
    for row in made:
        names = re.findall(r"\w+", re.sub(r"=[^,]+", "", row.parameters))
        if row.is_fused:
            lines.append(f"_fused_{row.name} = fused(lambda {', '.join(names)}: {row.call})")
        lines.append(f"def {local_name(row)}({row.signature}):")
        once = [name for name in names if name not in TYPES] if row.is_fused else operands_used_twice(row)
        lines += [f"    {name} = read_once({name})" for name in once]
        lines += [f"    return _fused_{row.name}({', '.join(names)})" if row.is_fused else f"    return {row.call}"]
        if local_name(row) != row.name.lstrip("."):  # messages show the name of the method
            lines.append(f'{local_name(row)}.__name__ = {local_name(row)}.__qualname__ = "{row.name[1:]}"')
    lines += [f"{row.name} = {row.call}" for row in same]
    return "\n".join([*lines, ""])


def header():
    """Return the text of the header of the names, which says of each what it is.

    A function has the module that a call loads, its signature and its docstring; another name, and a method, the name
    of what it stands for; an attribute that is not taken, the answer.
    """
    made = [row for row in rows() if row.is_function or row.parameters]
    texts = {
        local_name(row): f"{local_name(row)}({row.signature})\n--\n\n{docstring(row)}" for row in made if row.parameters
    }
    module = "dltensor._spellings.functions"
    listed = {name: f'    {{"{name}", "{module}",\n{literal(text)}}},' for name, text in texts.items()}
    others = {
        "same_rows": {row.name: row.call for row in made if not row.parameters},
        "method_rows": {row.method: local_name(row) if row.parameters else row.call for row in rows() if row.method},
    }
    tables = {
        "ListedFunction spelling_rows": [line for name, line in listed.items() if not name.startswith("_")],
        "ListedFunction hidden_rows": [line for name, line in listed.items() if name.startswith("_")],
        **{
            f"OtherName {title}": [f'    {{"{name}", "{call}"}},' for name, call in items.items()]
            for title, items in others.items()
        },
        "Answer answer_rows": [
            f'    {{"{name}",\n{literal(text)}}},' for name, text in table("answers").OF_TENSOR.items()
        ],
    }
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Names of NumPy and PyTorch for functions of this package, made by tools/spellings.py.",
        "#pragma once",
        "namespace dlt {",
    ]
    for title, items in tables.items():
        lines += [f"inline constexpr {title}[] = {{", *items, "};"]
    return "\n".join([*lines, "}  // namespace dlt", ""])


# -- the stub


def entries(row, is_method=False):
    """Return the parameters of a row with their types, as the entries of a stub."""
    found = []
    for part in filter(None, row.signature.split(",")):
        name, _, default = part.strip().partition("=")
        kind = TYPES.get(name.lstrip("*"), "Operand")
        kind = BY_DEFAULT.get(name, f"{kind.removesuffix(' | None')} | None") if default == "None" else kind
        found.append(name if name in ("/", "*") else f"{name}: {kind}{f' = {default}' if default else ''}")
    return found if not is_method else ["self", *found[1 + (found[1:2] == ["/"]) :]]


def result_of(row):
    """Return the type of the result of a row."""
    kind = {
        "tuple of Tensor": "tuple[Tensor, ...]",
        "tuple of ints": "tuple[builtins.int, ...]",
        "list of Tensor": "list[Tensor]",
    }.get(row.result, row.result)
    return f"builtins.{kind}" if kind != "None" and hasattr(builtins, kind) else kind


def methods():
    """Return the methods of Tensor: entries and type of the result, or the function that it calls, by name."""
    made = [row for row in rows() if row.method]
    return {row.method: (entries(row, True), result_of(row)) if row.parameters else row.call for row in made}


def stub():
    """Return the stub of the module of the functions."""
    made = [row for row in rows() if row.is_function]
    own = {row.name for row in made if row.parameters}
    imported = sorted({row.call for row in made if not row.parameters} - own)
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# Generated by tools/spellings.py from table.py.",
        "import builtins",
        "from collections.abc import Callable, Iterable, Iterator, Sequence",
        "from typing import Any, SupportsIndex",
        "",
        f"from .. import {', '.join(imported)}",
        "from .._core.tensor import Tensor",
        "from .._core.types import DType",
        "from ..random import Generator",
        "from ..typing import DeviceLike, DTypeLike, Operand, ShapeLike, TensorLike",
        "",
        f"__all__ = {sorted(row.name for row in made)}",
        "",
    ]
    for row in made:
        parameters = ", ".join(entries(row)) if row.parameters else ""
        lines.append(
            f"def {row.name}({parameters}) -> {result_of(row)}: ..." if row.parameters else f"{row.name} = {row.call}"
        )
    return "\n".join([*lines, ""])


# -- the page


def page_rows():
    """Return the lines of the table of spellings."""
    same = sorted({row.method for row in rows() if row.method == row.call and not row.parameters})
    lines = [f"Methods that call the function of the same name: {', '.join(f'`{name}`' for name in same)}.", ""]
    lines += ["| name | of | here |", "| --- | --- | --- |"]
    others = [row for row in rows() if row.parameters or row.name != row.call]
    for row in sorted(others, key=lambda row: row.name.lstrip(".").lower()):
        libraries = " and ".join(
            name for name, letters in (("NumPy", "nN"), ("PyTorch", "tfT")) if set(letters) & set(row.origins)
        )
        shown = []
        if row.is_function:
            shown.append(f"`dl.{row.name}`")
        if row.method:
            shown.append(f"`t.{row.method}`")
        signature = f"`({row.signature})`" if row.parameters else ""
        lines.append(f"| {', '.join(shown)} | {libraries} | {f'{signature} is ' if signature else ''}`{row.call}` |")
    return lines


def page():
    """Return the text of the page with the tables as the rows say."""
    text = PAGE.read_text()
    start, end = "<!-- spellings -->\n", "<!-- end of spellings -->"
    before, _, rest = text.partition(start)
    return before + start + "\n".join(page_rows()) + "\n" + end + rest.partition(end)[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", nargs="?", type=Path, help="folder of the files")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/coming-from.md")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page())
    if options.output:
        (options.output / "functions.py").write_text(functions())
        (options.output / "spelling_rows.h").write_text(header())


if __name__ == "__main__":
    main()
