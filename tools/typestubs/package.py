# SPDX-License-Identifier: Apache-2.0
"""The stub of the package itself: where each public name comes from, by the assignments of its ``__init__.py``."""

import ast
import re

import spellings

from . import sources
from .module import HEADER, wrapped
from .tables import Tables


def constants(target, value):
    """Return the public names of an assignment with the types of their values."""
    pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) else [(target, value)]
    found = {}
    for name, one in pairs:
        if isinstance(one, ast.Constant):
            found[name.id] = "None" if one.value is None else f"builtins.{type(one.value).__name__}"
        elif isinstance(one, ast.Call):  # float("inf")
            found[name.id] = f"builtins.{one.func.id}"
    return {name: kind for name, kind in found.items() if not name.startswith("_")}


def exports(package, tables, module):
    """Return the names in ``__all__`` of a module."""
    if module == "_ops.elementwise":  # clip of the array API may have one bound or none: it is no function of the table
        return [name for name in tables.operations if name != "clip"]
    if module == "_ops.reduce":
        return list(tables.reductions)
    return sources.module(package / f"{module.replace('.', '/')}.py").exports


def loaded_later(package, tables):
    """Return the public functions of modules that are loaded by a first call, as meson.build lists them."""
    text = (package / "_ops" / "meson.build").read_text()
    pages, also = (re.search(rf"^{name} = \[(.*?)\]", text, re.S | re.M)[1] for name in ("pages", "also"))
    found = {f"_ops.{page}": exports(package, tables, f"_ops.{page}") for page in re.findall(r"'(\w+)\.py'", pages)}
    for file, names in re.findall(r"'([\w/]+)\.py:([\w,]+)'", also):
        found[file.removesuffix("/__init__").replace("/", ".")] = names.split(",")
    return found


def stub(package):
    """Return the stub of the package whose sources are in a folder."""
    tables = Tables(package)
    lists = {"DTYPES": tables.dtypes}
    modules, renamed, kinds, public = {}, {}, {}, []
    for node in ast.parse((package / "__init__.py").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name == "FUNCTIONS":
                    later = loaded_later(package, tables)
                    modules |= {f".{module}": set(names) for module, names in later.items()}
                    lists[name] = [one for names in later.values() for one in names]
                elif alias.name == "SPELLINGS":
                    lists[name] = [row.name for row in spellings.rows() if row.is_function]
                    modules["._spellings.functions"] = set(lists[name])
                elif alias.name == "*":
                    modules.setdefault(f".{node.module}", set()).update(exports(package, tables, node.module))
                elif alias.name == "__all__":
                    lists[name] = exports(package, tables, node.module)
                elif name.startswith("__"):
                    # A stub does not hand on what it imports under another name.
                    folder, _, leaf = node.module.rpartition(".")
                    modules.setdefault(f".{folder}", set()).add(leaf)
                    renamed[name] = f"{leaf}.{alias.name}"
                elif not name.startswith("_"):
                    modules.setdefault(f".{node.module or ''}", set()).add(name)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            for one in node.value.elts:
                public += lists[one.value.id] if isinstance(one, ast.Starred) else [one.value]
        elif isinstance(node, ast.Assign):
            lazy = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "_lazy_module"
            if lazy:
                modules.setdefault(".", set()).add(node.value.args[0].value)
            else:
                kinds |= constants(node.targets[0], node.value)
    kinds |= dict.fromkeys(tables.dtypes, "DType") | {"__array_api_version__": "builtins.str"}
    # The constants include `bool`, `float32` and their like, and must not stand for the types of others.
    lines = [HEADER.format("__init__.py") + "import builtins", "from typing import Final", ""]
    for module, names in sorted(modules.items()):
        lines += wrapped(f"from {module} import (", sorted(names), ")")
    lines += ["", *(f"{name} = {source}" for name, source in renamed.items())]
    lines += [f"{name}: Final[{kind}]" for name, kind in sorted(kinds.items())]
    return "\n".join([*lines, "", *wrapped("__all__ = [", [f'"{name}"' for name in sorted(public)], "]"), ""])
