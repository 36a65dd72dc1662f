# SPDX-License-Identifier: Apache-2.0
"""The stubs agree with the package: names, parameters, members, uses. Type checkers run in `make check`."""

import ast
import importlib
import inspect
import shutil
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest
from native_tools import has_own_files

import dltensor as dl
import dltensor.inspection.adapter
from dltensor import inspection
from dltensor import typing as dlt
from dltensor._ops.reduce import REDUCTIONS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "dltensor"
sys.path.insert(0, str(ROOT / "tools"))

import stubs  # noqa: E402
from typestubs import words  # noqa: E402
from typestubs.tables import Tables  # noqa: E402

# By path: generated from the sources, and written by hand where a module has submodules only.
GENERATED, MISSING = stubs.stubs()
TEXTS = GENERATED | {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.pyi")}
# By the name of the module below dltensor: "_core.types", "debug", and "" for the package itself.
STUBS = {
    path.removesuffix(".pyi").replace("/", ".").removesuffix("__init__").rstrip("."): ast.parse(text)
    for path, text in sorted(TEXTS.items())
}
REQUIRED = object()
dl.unique_all([1])  # which makes the classes of results


def runtime(name):
    return importlib.import_module(f"dltensor.{name}".rstrip("."))


def declared(body):
    """Names in the body of a stub's module or class, with the nodes that say what they are."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            found.setdefault(node.target.id, []).append(node)
        elif isinstance(node, ast.Assign):
            found.setdefault(node.targets[0].id, []).append(node)
    return found


def imported(tree):
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def listed(tree):
    """The ``__all__`` of a stub, or None."""
    nodes = declared(tree.body).get("__all__")
    return ast.literal_eval(nodes[0].value) if nodes else None


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_names_what_its_module_has(name):
    module, tree = runtime(name), STUBS[name]
    here = declared(tree.body)
    public = {found for found in here if not found.startswith("_")}
    # A submodule may need a library that is not installed: its name is among those that the module lists.
    assert [found for found in public - set(getattr(module, "__all__", ())) if not hasattr(module, found)] == []
    if "_" not in name:
        assert sorted(listed(tree)) == sorted(module.__all__)
        assert set(module.__all__) <= public | imported(tree)
    else:
        assert public


def test_every_public_function_has_types():
    modules = [dl, *(value for name in dl.__all__ if isinstance(value := getattr(dl, name), types.ModuleType))]
    assert len(modules) > 10
    declarations = {name for tree in STUBS.values() for name in declared(tree.body)}
    functions = {
        f"{module.__name__}.{name}": (name, thing) for module in modules for name in module.__all__
        if module is not dl.distributed and inspect.isroutine(thing := getattr(module, name))
    }  # fmt: skip
    assert len(functions) > 250
    # A module with annotations in its source needs no stub.
    annotated = {full for full, (_, thing) in functions.items() if "return" in getattr(thing, "__annotations__", ())}
    sources = inspection.inspect, inspection.validate, inspection.adapter.adapt
    annotated |= {f"dltensor.{source.__name__}" for source in sources if "return" in source.__annotations__}
    assert [full for full, (name, _) in functions.items() if name not in declarations and full not in annotated] == []


@has_own_files
def test_the_installed_package_carries_the_stubs():
    there = Path(dl.__file__).parent
    assert (there / "py.typed").exists()
    assert {path.relative_to(there).as_posix() for path in there.rglob("*.pyi")} == set(TEXTS)
    assert len(TEXTS) > 35
    for path, text in TEXTS.items():
        assert (there / path).read_text() == text, path


def test_the_tables_are_read_as_the_package_has_them():
    tables = Tables(PACKAGE)
    assert tables.operations == dl.OPS
    assert tables.reductions == REDUCTIONS
    assert tables.dtypes == list(dl.DTYPES)


def test_names_of_dtypes_and_devices_are_those_of_the_running_package():
    body = declared(STUBS["_core.types"].body)
    for name, expected in (("_DTypeName", dlt.DTypeName), ("_DeviceName", dlt.DeviceName)):
        assert ast.literal_eval(body[name][0].value.slice) == typing.get_args(expected)


def parameters_of(node):
    """(name, kind, default) of every parameter of a ``def``."""
    args = node.args
    plain = [(arg, "positional") for arg in args.posonlyargs] + [(arg, "either") for arg in args.args]
    defaults = [REQUIRED] * (len(plain) - len(args.defaults)) + [ast.literal_eval(value) for value in args.defaults]
    made = [(arg.arg, kind, default) for (arg, kind), default in zip(plain, defaults, strict=True)]
    if args.vararg:
        made.append((args.vararg.arg, "many", REQUIRED))
    for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        made.append((arg.arg, "keyword", REQUIRED if value is None else ast.literal_eval(value)))
    if args.kwarg:
        made.append((args.kwarg.arg, "keywords", REQUIRED))
    return made


def parameters_at_runtime(thing):
    """The same of a function, by its signature; None when it has none."""
    if isinstance(thing, types.MethodDescriptorType) and thing.__text_signature__ == "($self, object, /)":
        return None  # which Python 3.13 makes up
    try:
        kinds = dict(zip(inspect._ParameterKind, ("positional", "either", "many", "keyword", "keywords"), strict=True))
        return [
            (found.name, kinds[found.kind], REQUIRED if found.default is found.empty else found.default)
            for found in inspect.signature(thing).parameters.values()
        ]
    except ValueError:
        return None


def without_self(parameters):
    return parameters[1:] if parameters and parameters[0][0] in ("self", "cls") else parameters


def functions():
    """Every function and method of the stubs: name, overloads, what it is at runtime."""
    for name, tree in STUBS.items():
        for key, nodes in declared(tree.body).items():
            if isinstance(nodes[0], ast.FunctionDef):
                yield f"{name}.{key}", nodes, getattr(runtime(name), key)
            elif isinstance(nodes[0], ast.ClassDef) and not key.startswith("_"):
                kind = getattr(runtime(name), key)
                for member, found in declared(nodes[0].body).items():
                    if isinstance(found[0], ast.FunctionDef) and not found[0].decorator_list and hasattr(kind, member):
                        made = member in ("__new__", "__init__")
                        thing = kind if made else inspect.getattr_static(kind, member)
                        # What fills a slot has a signature of Python's own making.
                        if key != "Tensor" if made else not isinstance(thing, types.WrapperDescriptorType):
                            yield f"{name}.{key}.{member}", found, thing


FUNCTIONS = {name: (nodes, thing) for name, nodes, thing in functions()}


def test_functions_of_every_kind_are_compared():
    compared = {name for name, (_, thing) in FUNCTIONS.items() if parameters_at_runtime(thing) is not None}
    assert len(compared) > len(dl.OPS) + 70
    wanted = {"_ops.elementwise.add", "_core.convert.wrap", "_core.tensor.Tensor.__dlpack__"}
    wanted |= {"_core.types.as_dtype", "_ops.creation.arange"}
    assert wanted <= compared


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_agree(name):
    nodes, thing = FUNCTIONS[name]
    expected = parameters_at_runtime(thing)
    if expected is None:
        assert name.split(".")[-1].startswith("__"), f"{name} has no signature to compare with"
        return
    expected = without_self(expected)
    defaults = set()
    for node in nodes:
        found = without_self(parameters_of(node))
        assert [each[:2] for each in found] == [each[:2] for each in expected]
        for (parameter, _, default), (*_, real) in zip(found, expected, strict=True):
            # One of several definitions may demand what another leaves out.
            assert default == real or (default is REQUIRED and len(nodes) > 1), f"{parameter}={default}, is {real}"
            if default is not REQUIRED:
                defaults.add(parameter)
    assert defaults == {parameter for parameter, _, default in expected if default is not REQUIRED}


CLASSES = {
    f"{name}.{key}": (nodes[0], getattr(runtime(name), key))
    for name, tree in STUBS.items() for key, nodes in declared(tree.body).items()
    if isinstance(nodes[0], ast.ClassDef) and not key.startswith("_")
}  # fmt: skip
# What every class has, or what only the interpreter calls.
UNSAID = {
    "__delitem__", "__doc__", "__module__", "__dict__", "__weakref__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__reduce__", "__reduce_ex__", "__repr__", "__str__", "__new__", "__init__",
    "__release_buffer__", "__pyx_vtable__", "__lt__", "__le__", "__gt__", "__ge__", "__slots__", "__match_args__",
    "__getnewargs__", "__annotations__", "__dir__", "__classcell__", "__orig_bases__", "__getstate__", "__replace__",
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_members_agree(name):
    node, kind = CLASSES[name]
    said = set(declared(node.body))
    missing = {member for member in said if not hasattr(kind, member) and member != "__buffer__"}
    if "lost" in missing:  # set when an object is made
        missing -= set(vars(kind(1)))
    assert missing == set()
    if hasattr(kind, "__members__") or hasattr(kind, "_fields"):
        public = set(getattr(kind, "__members__", ())) or set(kind._fields)
        own = [vars(base) for base in kind.__mro__ if base.__module__.startswith("dltensor")]
        public |= {name for names in own for name, value in names.items() if isinstance(value, property)}
        assert said == public
        return
    unsaid = {member for member in vars(kind) if not member.startswith("_") or member.startswith("__")}
    unsaid = {member for member in unsaid if hasattr(kind, member)}  # the others only raise AttributeError
    assert unsaid - said - UNSAID == set()


def test_annotations_of_compiled_functions_check_nothing():
    array = dl.opaque.OpaqueArray(dl.arange(3))  # whose max_version is annotated as a tuple
    assert dl.from_dlpack(array.__dlpack__(max_version=[1, 3])).tolist() == [0, 1, 2]


# -- docstrings


ALIASES = {
    "Operand": "TensorLike | Scalar | Sequences",
    "Scalar": "bool | int | float | complex",
    "_Out": "TensorLike",
    "_Kind": "DTypeLike | str | tuple[DTypeLike | str, ...]",
}
# Annotations that intentionally differ from the type in the words, and the containers that take others.
NARROWER = {"SupportsIndex": "int", "bool": "Literal", "Callable": "Callable", "type": "type"}
CONTAINERS = {
    "Sequence": ("Sequence", "Iterable"),
    "Iterable": ("Iterable",),
    "Mapping": ("Mapping",),
    "tuple": ("tuple",),
}


def alternatives(node):
    """The alternatives of an annotation, as syntax trees."""
    node = ast.parse(node, mode="eval").body if isinstance(node, str) else node
    if isinstance(node, ast.BinOp):
        return alternatives(node.left) + alternatives(node.right)
    return alternatives(ALIASES[node.id]) if getattr(node, "id", "") in ALIASES else [node]


def outer_and_inner(node):
    """The name of a type, and the types in its brackets."""
    outer = ast.unparse(getattr(node, "value", node)) if isinstance(node, ast.Subscript) else ast.unparse(node)
    inner = node.slice if isinstance(node, ast.Subscript) else None
    return outer, inner.elts if isinstance(inner, ast.Tuple) else [inner] if inner else []


class Plain(ast.NodeTransformer):
    """Writes ``builtins.bool``, as classes with a member of that name have it, as ``bool``."""

    def visit_Attribute(self, node):
        return ast.Name(node.attr) if getattr(node.value, "id", "") == "builtins" else node


def accepts(annotations, part):
    """Whether one of some annotations takes an alternative of a docstring."""
    annotations = [Plain().visit(one) for one in annotations]
    wanted, inside = outer_and_inner(part)
    for each in (one for annotation in annotations for one in alternatives(annotation)):
        outer, inner = outer_and_inner(each)
        if ast.unparse(each) in (ast.unparse(part), "object") or NARROWER.get(wanted) == outer:
            return True
        if outer in CONTAINERS.get(wanted, ()) and len(inner) == len(inside):
            pairs = zip(inner, inside, strict=True)
            if all(accepts([one], part) for one, parts in pairs for part in alternatives(parts)):
                return True
    return False


def refused_alternatives(nodes, doc):
    """What the docstring of a function lists for a parameter, and no overload of its stub accepts."""
    arguments = [
        each for node in nodes for each in ast.walk(node.args) if isinstance(each, ast.arg) and each.annotation
    ]
    refused = []
    for name, text in words.parameters(doc).items():
        annotations = [each.annotation for each in arguments if each.arg == name]
        try:
            expected = alternatives(words.parameter(text, ""))
        except words.Unknown:  # the annotation is in the source
            continue
        refused += [
            f"{name}: {ast.unparse(part)}" for part in expected if annotations and not accepts(annotations, part)
        ]
    return refused


DOCUMENTED = {
    name: (nodes, inspect.getdoc(thing)) for name, (nodes, thing) in FUNCTIONS.items()
    if "Parameters\n---" in (inspect.getdoc(thing) or "")
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_stub_accepts_what_the_docstring_lists(name):
    assert refused_alternatives(*DOCUMENTED[name]) == []


def test_an_alternative_that_a_stub_lacks_is_found():
    assert len(DOCUMENTED) > 250
    _, doc = DOCUMENTED["_ops.casting.clip"]
    nodes = ast.parse("def clip(x: TensorLike, /, min: Operand | None = None): ...").body
    assert refused_alternatives(nodes, doc) == ["x: bool", "x: int", "x: float", "x: complex", "x: Sequences"]


# -- the tool


def tool(root, *options):
    command = [sys.executable, str(root / "tools" / "stubs.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_sources_say_every_type():
    assert MISSING == []
    done = tool(ROOT, "--check")
    assert done.returncode == 0, done.stderr
    assert f"{len(GENERATED)} modules, every type is in the sources" in done.stdout


def test_the_tool_imports_nothing_of_the_package():
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import stubs; stubs.stubs(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"dltensor", "numpy"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        (
            "_core/convert.pyx",
            "    strides : sequence of int, optional\n",
            "",
            "wrap: strides has no type in the docstring",
        ),
        ("_ops/sets.pyx", "x : array_like\n", "x : arraylike\n", "no annotation for the words arraylike"),
        ("_ops/search.pyx", "    Returns\n    -------\n    Tensor\n", "", "has no Returns section"),
        ("_core/tensor.pyx", "def ndim(self) -> int:", "def ndim(self):", "Tensor.ndim: the property has no type"),
        ("_core/tensor.pyx", "-> Flags:", "-> Flag:", "the name Flag comes from no known module"),
    ],
)
def test_a_type_that_is_missing_is_found(tmp_path, name, old, new, complaint):
    for folder in ("tools", "src/dltensor"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("cuda", "testing", "__pycache__")
        )
    source = tmp_path / "src" / "dltensor" / name
    shutil.copytree(PACKAGE / "cuda", source.parent.parent / "cuda", ignore=shutil.ignore_patterns("__pycache__"))
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    done = tool(tmp_path, "--check")
    assert done.returncode == 1
    assert complaint in done.stderr
    if "arraylike" not in new:  # once is enough
        return
    # A build goes on, with Any in that place.
    assert tool(tmp_path, str(tmp_path / "out")).returncode == 0
    assert "Any" in (tmp_path / "out" / Path(name).with_suffix(".pyi").name).read_text()


# -- uses


USES = ROOT / "tests" / "typing" / "uses.py"


def arguments(numpy):
    # Fresh for each function, since uses write to them.
    return {
        "t": dl.asarray([[1.0, 2.0], [3.0, 4.0]]), "values": numpy.ones((2, 2), dtype="float32"),
        "flags": numpy.ones(2, dtype=bool), "out": None,
    }  # fmt: skip


def refused(code, names):
    try:
        exec(code, names)
    except (TypeError, ValueError, AttributeError, IndexError):
        return True
    return False


@pytest.mark.parametrize(
    "function", [node.name for node in ast.parse(USES.read_text()).body if isinstance(node, ast.FunctionDef)]
)
def test_checkers_and_the_package_agree_on_uses(function):
    """Uses that checkers must refuse raise, and the others run."""
    numpy = pytest.importorskip("numpy", exc_type=ImportError)
    pytest.importorskip("ml_dtypes", exc_type=ImportError)
    lines = USES.read_text().splitlines()
    names = {"__name__": "uses"}
    exec(compile(USES.read_text(), str(USES), "exec"), names)
    names |= arguments(numpy)
    node = next(node for node in ast.parse(USES.read_text()).body if getattr(node, "name", "") == function)
    ran = 0
    for statement in node.body:
        if isinstance(statement, ast.Return):
            continue
        code = compile(ast.Module([statement], []), str(USES), "exec")
        # An annotation checks nothing at runtime.
        if "# type: ignore[" in lines[statement.lineno - 1] and not isinstance(statement, ast.AnnAssign):
            assert refused(code, names), f"line {statement.lineno} runs: {lines[statement.lineno - 1].strip()}"
        else:
            exec(code, names)
        ran += 1
    assert ran > 0 or function == "brighter"
