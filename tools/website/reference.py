# SPDX-License-Identifier: Apache-2.0
"""Write the reference: one page for every public name of the installed package. No name is typed here."""

import ast
import enum
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import types
import typing
from pathlib import Path

import dltensor as dl
from dltensor._cli.main import COMMANDS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "dltensor"
sys.path.append(str(Path(__file__).resolve().parents[1]))

import spellings  # noqa: E402
import stubs  # noqa: E402

# Titles of the groups of functions, by the stub that declares them; those of other names are below.
TITLES = {
    "convert": "import and export",
    "arrow": "import and export",
    "operands": "import and export",
    "casting": "casts and copies",
    "closeness": "comparison of tensors",
    "fusing": "fused functions",
    "contractions": "products",
    "einsum": "products",
    "matmul": "products",
    "dtypes": "dtypes and devices",
    "promotion": "dtypes and devices",
    "types": "dtypes and devices",
    "layout": "manipulation",
    "memory": "threads and memory",
    "nan reductions": "reductions without NaN",
    "scan": "scans and differences",
    "search": "searching and counting",
    "sort": "sorting and sets",
    "take": "index arrays",
    "positions": "index arrays",
    "distances": "statistics",
    "order": "sorting and sets",
    "sets": "sorting and sets",
    "percentiles": "statistics",
    "networks": "layers and losses",
    "float warnings": "threads and memory",
    "numbers": "element-wise functions of NumPy and PyTorch",
    "windows": "windows and sequences",
}
GROUP_OF = {
    **dict.fromkeys(("cpu_features", "num_threads", "set_num_threads"), "threads and memory"),
    **dict.fromkeys(
        ("nanargmax", "nanargmin", "nancumsum", "nanmedian", "nanpercentile", "nanprod", "nanquantile"),
        "reductions without NaN",
    ),
    "data_ptr": "import and export",
    "frombuffer": "import and export",
    **dict.fromkeys(("histogram", "median", "quantile"), "statistics"),
    **dict.fromkeys(("load", "memmap", "open_file", "save", "savez"), "files"),
    **dict.fromkeys(("adapt", "help", "inspect", "validate"), "inspection and validation"),
    "diff": "scans and differences",
}


def modules():
    """Return the public modules: dltensor, and those below it that say what they export."""
    found = [dl]
    for part in pkgutil.iter_modules(dl.__path__):
        if part.name.startswith(("_", "libdltensor")):
            continue
        module = _imported(f"dltensor.{part.name}")
        inside = {one.name for one in pkgutil.iter_modules(module.__path__)} if part.ispkg else set()
        if part.ispkg and inside.issuperset(getattr(module, "__all__", ())):  # it has submodules and nothing else
            inner = [_imported(f"{module.__name__}.{name}") for name in sorted(inside)]
            found += [one for one in inner if hasattr(one, "__all__")]
        elif hasattr(module, "__all__"):
            found.append(module)
    # Modules that only repeat names of dltensor are not listed a second time.
    own = set(map(id, vars(dl).values()))
    return [m for m in found if m is dl or m.__name__.split(".")[1] in dl.__all__ or _adds(m, own)]


def _imported(name):
    """A module; a package that it needs and that is not installed is replaced by an empty one, as conf.py does."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is None or error.name.startswith("dltensor"):
            raise
        from sphinx.ext.autodoc.mock import mock

        with mock([error.name.partition(".")[0]]):
            return importlib.import_module(name)


def _adds(module, own):
    return sum(id(getattr(module, name)) not in own for name in module.__all__) * 2 > len(module.__all__)


def _stub_of():
    """Return the group of a function: the name of the stub that declares it, in words."""
    found = {}
    for path, text in sorted(stubs.stubs()[0].items()):
        for node in ast.parse(text).body if path.startswith("_") and "/" in path else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, Path(path).stem.replace("_", " "))
    return found


def kind(thing):
    """Return how Sphinx documents an object: module, exception, class, function or data."""
    if isinstance(thing, types.ModuleType):
        return "module"
    if isinstance(thing, type):
        return "exception" if issubclass(thing, BaseException) else "class"
    of_typing = type(thing).__module__ == "typing"  # types for annotations can be called
    return "function" if callable(thing) and not isinstance(thing, dl.DType) and not of_typing else "data"


def groups():
    """Return the public names of dltensor by group, in the order of the page."""
    from dltensor._ops.reduce import REDUCTIONS
    from dltensor._spellings.objects import __all__ as OBJECTS

    declared_in, found = _stub_of(), {}
    spelled = {row.name for row in spellings.rows() if row.is_function} | set(OBJECTS)
    for name in sorted(dl.__all__, key=str.lower):
        thing = getattr(dl, name)
        what = kind(thing)
        if what == "module":
            continue
        if name in dl.OPS:
            group = "element-wise operations"
        elif name in REDUCTIONS:
            group = "reductions"
        elif name in dl.DTYPES:
            group = "element types"
        elif name in spelled:
            group = "other spellings"
        elif what == "exception":
            group = "exceptions"
        elif what == "class":
            group = "classes"
        elif what == "data":
            group = "constants"
        else:
            group = GROUP_OF.get(name) or TITLES.get(declared_in[name], declared_in[name])
        found.setdefault(group, []).append(name)
    first = ["classes", "import and export", "creation"]
    return {
        group: found[group]
        for group in sorted(found, key=lambda one: (one not in first, first.index(one) if one in first else 0, one))
    }


def _title(text):
    return f"{text}\n{'=' * len(text)}\n\n"


def _summary(thing):
    lines = (inspect.getdoc(thing) or "").strip().splitlines()
    # Compiled functions begin with their signature.
    lines = [
        line
        for line in lines
        if line.strip() and line.strip() != "--" and not line.startswith(f"{getattr(thing, '__name__', '?')}(")
    ]
    return lines[0].strip() if lines else ""


def _facts_of_dtype(name, dtype):
    rows = [
        ("code", f"{dl.DataTypeCode(dtype.code).name} ({int(dtype.code)})"),
        ("bits", dtype.bits),
        ("bytes of one element", dtype.itemsize),
    ]
    kinds = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
    rows += [("kind", one) for one in kinds if dl.isdtype(dtype, one)]
    for ask, fields in ((dl.finfo, ("smallest_normal", "eps", "max")), (dl.iinfo, ("min", "max"))):
        try:
            info = ask(dtype)
        except (TypeError, ValueError):
            continue
        rows += [(field, repr(getattr(info, field))) for field in fields]
    text = f".. py:data:: {name}\n   :type: DType\n\n"
    text += f'   An element type, also written ``"{name}"`` where a dtype is expected.\n\n   .. list-table::\n\n'
    text += "".join(f"      * - {key}\n        - ``{value}``\n" for key, value in rows)
    values = [1, 0] if dtype.bits > 1 else [1]
    try:
        shown = repr(dl.asarray(values, dtype=dtype))
    except (TypeError, ValueError, BufferError, OverflowError):
        return text
    shown = "\n".join("   " + line for line in shown.splitlines())
    return f"{text}\n   .. rubric:: Examples\n\n   >>> dl.asarray({values}, dtype=dl.{name})\n{shown}\n"


def page(module, name):
    """Return the page of one public name in reStructuredText."""
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    text = f":html_theme.sidebar_secondary.remove:\n\n{_title(full)}.. py:currentmodule:: {module.__name__}\n\n"
    what = kind(thing)
    if isinstance(thing, dl.DType) and name in dl.DTYPES:
        return text + _facts_of_dtype(name, thing)
    if what == "data":
        shown = repr(thing)
        value = f"   :value: {shown}\n" if len(shown) <= 60 and "\n" not in shown else ""
        kind_of = type(thing).__name__
        about = f"   Constant of type ``{kind_of}``" + (
            f" with {len(thing)} entries." if isinstance(thing, (dict, tuple)) and not value else "."
        )
        if module.__name__ == "dltensor.typing":
            about = "   A type for annotations:\n\n   .. code-block:: text\n\n      " + shown.replace("typing.", "")
            value = ""
        return f"{text}.. py:data:: {name}\n{value}\n{about}\n"
    if what in ("class", "exception"):
        text = text.replace(":html_theme.sidebar_secondary.remove:\n\n", "")
        members = "" if what == "exception" else "   :members:\n"
        if issubclass(thing, (enum.Enum, tuple)):
            members = (
                "   :members:\n   :undoc-members:\n   :member-order: bysource\n" if issubclass(thing, enum.Enum) else ""
            )
        return f"{text}.. auto{what}:: {full}\n{members}"
    return f"{text}.. autofunction:: {full}\n"


def _value(thing):
    """Return what a constant, an element type or a type for annotations is, in one line."""
    if isinstance(thing, dl.DType):
        return f"{thing.bits} bits, DLPack type code ``{dl.DataTypeCode(thing.code).name}``"
    shown = repr(thing).replace("typing.", "")
    if typing.get_origin(thing) is typing.Literal:
        return f"{len(thing.__args__)} names, such as ``{thing.__args__[0]!r}``."
    if len(shown) <= 60:
        return f"``{shown}``"
    return "A union of types." if typing.get_origin(thing) else f"``{type(thing).__name__}``"


def _table(module, names):
    rows = ""
    for name in names:
        thing = getattr(module, name)
        what = kind(thing)
        about = _value(thing) if what == "data" else _summary(thing).replace("*", "\\*").replace("|", "\\|")
        rows += f"   * - :doc:`{name} <{module.__name__}.{name}>`\n     - {about}\n"
    return f".. list-table::\n   :widths: auto\n\n{rows}\n"


def _toctree(names, options="   :hidden:\n"):
    return f".. toctree::\n{options}\n" + "".join(f"   {name}\n" for name in names) + "\n"


def _commands():
    """Return a page with the help of every command, as the program prints it."""
    text = _title("Command line")
    text += "``dltensor COMMAND`` and ``python -m dltensor COMMAND`` are the same program.\n\n"
    environment = {**os.environ, "COLUMNS": "90", "NO_COLOR": "1", "TERM": "dumb"}
    for name in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "dltensor", name, "--help"],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        shown = "\n".join("   " + line for line in done.stdout.splitlines())
        text += f"dltensor {name}\n{'-' * (len(name) + 9)}\n\n.. code-block:: text\n\n{shown}\n\n"
    return text


def _headers(target):
    """Write a page with the public headers, which document themselves."""
    text = _title("C, C++ and Fortran")
    text += "The public headers, as they are installed. ``dltensor info --cflags --libs`` prints the flags.\n\n"
    languages = {".h": "c", ".hpp": "cpp", ".f90": "fortran"}
    for path in sorted((SOURCE / "include" / "dltensor").iterdir()):
        (target / f"{path.name}.inc").write_text(path.read_text())
        text += f"{path.name}\n{'-' * len(path.name)}\n\n.. literalinclude:: {path.name}.inc\n"
        text += f"   :language: {languages[path.suffix]}\n\n"
    (target / "headers.rst").write_text(text)


def write(target):
    """Write the pages below `target`; return the public names that have one."""
    target.mkdir(parents=True, exist_ok=True)
    spaces = [module for module in modules() if module is not dl]
    index = _title("Reference")
    index += "Every public name of the package, with an example that shows values. Examples begin with\n"
    index += "``import dltensor as dl``.\n\n"
    index += _toctree(["dltensor", *(module.__name__ for module in spaces), "commands", "headers"], "   :maxdepth: 1\n")
    (target / "index.rst").write_text(index)
    beside = {}
    for module in (dl, *spaces):
        home = module.__name__
        public = sorted(module.__all__, key=str.lower)
        names = (
            {"": [one for one in public if kind(getattr(module, one)) != "module"]} if module is not dl else groups()
        )
        text = f"{_title(home)}.. py:module:: {home}\n\n{_summary(module)}\n\n"
        for group, members in names.items():
            title = f"{group[:1].upper()}{group[1:]}\n{'-' * len(group)}\n\n" if group else ""
            text += title + _table(module, members)
            pages = [f"{home}.{one}" for one in members]
            for one, full in zip(members, pages, strict=True):
                (target / f"{full}.rst").write_text(page(module, one))
                beside[full] = home, pages
        (target / f"{home}.rst").write_text(text + _toctree([full for full in beside if beside[full][0] == home]))
        beside[home] = "index", [one.__name__ for one in (dl, *spaces)]
    (target / "groups.json").write_text(json.dumps(beside))
    (target / "commands.rst").write_text(_commands())
    _headers(target)
    return [full for full, (home, _) in beside.items() if home != "index"]
