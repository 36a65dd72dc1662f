#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of functions in Python that the package knows before their modules are loaded.

    python tools/public_functions.py [--depfile FILE] [--also FILE:NAME,NAME...] OUTPUT PAGES...

`public_function_rows.h` in the folder OUTPUT has of each name in ``__all__`` of the files PAGES its module, and the
signature with the complete docstring, of which `_core/listed_functions.h` makes a builtin. Beside it are copies of the
files without these docstrings, whose lines keep their numbers. The files of --also, which have classes too, are not
copied.

The build runs this program, and nothing of the package is imported.
"""

import argparse
import ast
import sys
from pathlib import Path

from builtin_texts import literal
from fill_docstrings import PACKAGE, Package, complete

TABLE = "public_function_rows.h"
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Functions in Python by name: module, and signature with docstring. Made by tools/public_functions.py.
#pragma once
namespace dlt {
inline constexpr ListedFunction public_rows[] = {
"""
END = "};\n}  // namespace dlt\n"


def signature(node):
    """Return the signature of the definition of a function, as text.

    Examples
    --------
    >>> signature(ast.parse("def f(x, /, n=1, *rest, axis=-1, **options): pass").body[0])
    '(x, /, n=1, *rest, axis=-1, **options)'
    """
    found, positional = node.args, [*node.args.posonlyargs, *node.args.args]
    defaults = [*[None] * (len(positional) - len(found.defaults)), *found.defaults]
    shown = [_parameter(one, default) for one, default in zip(positional, defaults, strict=True)]
    if found.posonlyargs:
        shown.insert(len(found.posonlyargs), "/")
    if found.vararg:
        shown.append(f"*{found.vararg.arg}")
    elif found.kwonlyargs:
        shown.append("*")
    shown += [_parameter(one, default) for one, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)]
    if found.kwarg:
        shown.append(f"**{found.kwarg.arg}")
    return f"({', '.join(shown)})"


def _parameter(node, default):
    return node.arg if default is None else f"{node.arg}={ast.unparse(default)}"


def exported(text, name):
    """Return the names in ``__all__`` of a file."""
    lists = [
        node.value for node in ast.parse(text).body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    ]
    if len(lists) != 1:
        raise ValueError(f"{name}: expected one __all__, found {len(lists)}")
    return ast.literal_eval(lists[0])


def definitions(text, names, file):
    """Return the definitions of functions of a file."""
    defined = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    found = [defined.get(name) for name in names]
    if None in found or any(ast.get_docstring(node) is None or len(node.body) < 2 for node in found):
        raise ValueError(f"{file}: {', '.join(names)}: expected functions with a docstring and a body")
    return found


def module_of(path):
    """Return the name of the module that a file of the package is."""
    parts = path.resolve().relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("dltensor", *(part for part in parts if part != "__init__")))


def rows(module, functions):
    """Return the lines of the table for functions of a module."""
    for node in functions:
        text = f"{node.name}{signature(node)}\n--\n\n{ast.get_docstring(node)}\n"
        yield f'    {{"{node.name}", "{module}",\n{literal(text)}}},\n'


def without_docstrings(text, functions):
    """Return the text of a file with empty lines in the place of the docstrings of functions."""
    lines = text.split("\n")
    for node in functions:
        docstring = node.body[0]
        lines[docstring.lineno - 1 : docstring.end_lineno] = [""] * (docstring.end_lineno - docstring.lineno + 1)
    return "\n".join(lines)


def write(path, text):
    """Write a file if its text changes: what is made of it is not made again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depfile", type=Path, help="file to write for ninja: the sources that the output depends on")
    parser.add_argument("--also", action="append", default=[], help="a file, a colon, and names of functions in it")
    parser.add_argument("output", type=Path, help="folder of the files that are written")
    parser.add_argument("pages", nargs="+", type=Path, help="files of the package")
    options = parser.parse_args()
    package, table = Package(PACKAGE), HEAD
    for page in options.pages:
        text = complete(page.resolve(), package)
        functions = definitions(text, exported(text, page.name), page.name)
        table += "".join(rows(module_of(page), functions))
        write(options.output / page.name, without_docstrings(text, functions))
    for one in options.also:
        file, _, names = one.partition(":")
        text = complete(Path(file).resolve(), package)
        table += "".join(rows(module_of(Path(file)), definitions(text, names.split(","), file)))
    write(options.output / TABLE, table + END)
    if options.depfile:
        sources = [str(path).replace(" ", "\\ ") for path in (*package.tables, *package.read)]
        options.depfile.write_text(f"{options.output / TABLE}: {' '.join(sources)}\n")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"public_functions: {error}")
