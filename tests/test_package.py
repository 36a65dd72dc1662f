# SPDX-License-Identifier: Apache-2.0
"""The package as a module: its version, its names, lazy loading, and environment variables."""

import importlib
import os
import pkgutil
import re
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest
from native_tools import has_own_files

import dltensor as dl

ROOT = Path(__file__).parent.parent
PUBLIC_MODULES = [
    "checks", "conformance", "cuda", "debug", "distributed", "fft", "io", "layout", "linalg", "opaque", "random",
    "shared",
]  # fmt: skip
LAZY = ("conformance", "cuda", "debug", "fft", "linalg", "opaque", "random", "shared")  # distributed needs libraries


def run(code, **environment):
    """Run a program in a process of its own; what it wrote."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DLTENSOR_")} | environment
    made = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    return made


def test_the_version_is_the_one_that_is_installed():
    assert dl.__version__ == version("dltensor")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", dl.__version__)


def test_one_file_says_the_version():
    number = re.search(r"^  version: '(.*)'", (ROOT / "meson.build").read_text(), re.M)[1]
    assert number == dl.__version__
    assert number not in (ROOT / "pyproject.toml").read_text()


def test_every_file_that_installs_cython_names_the_same_versions():
    build, *groups = re.findall(r'"cython([<>=][^"]*)"', (ROOT / "pyproject.toml").read_text())
    assert groups == [build]
    for name in ("tools/wheels.py", "tools/free_threading.sh"):
        assert re.findall(r'"cython([<>=][^"]*)"', (ROOT / name).read_text()) == [build], name


@pytest.mark.parametrize(("number", "bound"), [("3.3.1", "<3.3"), ("3.1.4", ">=3.2.8")])
def test_the_build_refuses_other_versions_of_cython(tmp_path, number, bound):
    pytest.importorskip("mesonbuild", reason="meson is not installed")
    pytest.importorskip("Cython", reason="cython is not installed")
    program = tmp_path / "cython"
    program.write_text(f'#!/bin/sh\n[ "$1" = -V ] && echo Cython version {number} && exit\n')
    with program.open("a") as file:
        file.write(f'exec {sys.executable} -m cython "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", tmp_path / "build", ROOT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert f"Cython {number} cannot compile dltensor, which needs cython{bound}: " in done.stdout, done.stdout


@has_own_files
def test_the_headers_and_the_library_say_the_versions_of_the_package():
    folder = Path(dl.opaque.include_dir()) / "dltensor"
    numbers = dict(re.findall(r"#define DLT_VERSION_(MAJOR|MINOR|PATCH) (\d+)", (folder / "version.h").read_text()))
    assert f"{numbers['MAJOR']}.{numbers['MINOR']}.{numbers['PATCH']}" == re.match(r"[\d.]+\d", dl.__version__)[0]
    assert all('#include "dltensor/version.h"' in (folder / name).read_text() for name in ("array.h", "validate.h"))
    fortran = (folder / "dltensor.f90").read_text()
    assert f"DLT_VERSION_STRING = '{dl.__version__}'" in fortran
    abi = re.search(r"#define DLT_ARRAY_ABI_VERSION (\d+)", (folder / "array.h").read_text())[1]
    library = Path(dl.opaque.library_path())
    assert library.name == f"libdltensor.so.{abi}"
    assert library.name.encode() + b"\0" in library.read_bytes()  # the SONAME
    assert not library.with_name("libdltensor.so").is_symlink()  # a wheel would hold the library twice
    assert len(library.with_name("libdltensor.so").read_bytes()) < 1000


def test_dir_shows_public_names_and_what_every_module_has():
    shown = dir(dl)
    assert set(shown) >= set(dl.__all__) | {"__version__", "__name__", "__doc__", "__file__", "__path__", "__all__"}
    assert [name for name in shown if name not in dl.__all__ and not name.startswith("__")] == []
    assert len(set(dl.__all__)) == len(dl.__all__)


def test_no_name_is_public_by_accident():
    modules = {name for name in dl.__all__ if isinstance(getattr(dl, name), types.ModuleType)}
    assert modules == set(PUBLIC_MODULES)
    own = {name for name, value in vars(dl).items() if not isinstance(value, types.ModuleType)}
    assert {name for name in own if not name.startswith("_")} - set(dl.__all__) == set()


def test_from_import_star_gives_the_public_names():
    names = {}
    exec("from dltensor import *", names)
    assert set(names) - {"__builtins__"} == set(dl.__all__)


def test_the_package_has_no_getattr():
    """One would keep the interpreter from specialising every look-up of a name."""
    assert "__getattr__" not in vars(dl)
    with pytest.raises(AttributeError, match="module 'dltensor' has no attribute 'float33'"):
        dl.float33  # noqa: B018


def test_heavy_modules_are_loaded_when_they_are_first_used():
    code = """
import sys
import dltensor as dl
from dltensor import conformance, cuda, opaque
parts = [f"dltensor.{name}" for name in ("_cuda_device", "_opaque", "conformance.targets", "_cuda")]
assert not set(parts) & set(sys.modules)
assert dl.cuda is cuda is sys.modules["dltensor.cuda"]
assert "dltensor.cuda._device" not in sys.modules
assert dl.cuda.Launch().blocks_per_sm == 8
assert "dltensor.cuda._device" in sys.modules
assert "dltensor.opaque._array" not in sys.modules
import dltensor.opaque, dltensor.cuda
assert dltensor.opaque is opaque is dl.opaque and dltensor.cuda is cuda and opaque.hold
import dltensor.conformance.rules
assert conformance.RULES is dltensor.conformance.rules.RULES
import types
assert {type(m) for m in (cuda, opaque, conformance)} == {types.ModuleType}
print([m.__spec__.name for m in (cuda, opaque, conformance)], conformance.__path__ != [])
"""
    assert run(code).stdout.startswith("['dltensor.cuda', 'dltensor.opaque', 'dltensor.conformance'] True")


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize(
    "use",
    [
        "import dltensor.{0}; m = dltensor.{0}; m.__all__",
        "import dltensor; dir(dltensor.{0})",
        "import dltensor; repr(dltensor.{0})",
        "import dltensor; dltensor.{0}.answer = 1; assert dltensor.{0}.answer == 1; del dltensor.{0}.answer",
        "from dltensor.{0} import *",
        "import dltensor, importlib; importlib.reload(dltensor.{0})",
        "import importlib; importlib.import_module('dltensor.{0}').__doc__",
    ],
)
def test_every_way_of_use_loads_a_module_once(name, use):
    code = f"""
{use.format(name)}
import sys, types, dltensor
module = sys.modules["dltensor.{name}"]
assert type(module) is types.ModuleType and dltensor.{name} is module
print(module.__name__, module.__package__, module.__file__, module.__doc__ is not None)
"""
    assert run(code).stdout.split()[0] == f"dltensor.{name}"


def submodules():
    """Return the names of all modules of the lazy packages, without importing one."""
    for name in LAZY:
        for path in importlib.util.find_spec(f"dltensor.{name}").submodule_search_locations or ():
            for part in pkgutil.iter_modules([path]):
                yield f"dltensor.{name}.{part.name}"


@pytest.mark.parametrize("name", sorted(submodules()))
def test_a_submodule_that_is_imported_first_runs_once_and_so_does_its_package(name):
    package = name.rpartition(".")[0]
    code = f"""
import collections, importlib, sys
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
runs = collections.Counter()
def counted(exec_module):
    def exec_and_count(self, module):
        runs[module.__spec__.name] += 1
        exec_module(self, module)
    return exec_and_count
for loader in (ExtensionFileLoader, SourceFileLoader):
    loader.exec_module = counted(loader.exec_module)
first = importlib.import_module("{name}")
dir(sys.modules["{package}"])
print(first is sys.modules["{name}"], runs["{name}"], runs["{package}"], set(runs.values()))
"""
    assert run(code).stdout.strip() == "True 1 1 {1}"


def test_threads_that_import_submodules_and_use_their_packages_finish():
    code = """
import importlib, sys, threading
import dltensor as dl
sys.setswitchinterval(1e-6)
start = threading.Barrier(6)
uses = [
    lambda: importlib.import_module("dltensor.fft._transforms"),
    lambda: dl.fft.fft,
    lambda: importlib.import_module("dltensor.shared._sending"),
    lambda: dl.shared.share,
    lambda: importlib.import_module("dltensor.linalg._functions"),
    lambda: dl.linalg.solve,
]
def run(use):
    start.wait()
    use()
threads = [threading.Thread(target=run, args=(use,), daemon=True) for use in uses]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
print(any(thread.is_alive() for thread in threads), dl.fft.fft is sys.modules['dltensor.fft'].fft)
"""
    assert run(code).stdout.split() == ["False", "True"]


def test_threads_that_use_a_module_first_see_the_whole_of_it():
    code = """
import sys, threading
import dltensor as dl
sys.setswitchinterval(1e-6)
start, seen = threading.Barrier(8), []
def use():
    start.wait()
    seen.append((dl.opaque.OpaqueArray, dl.opaque.unwrap, dl.cuda.tf32, dl.conformance.check))
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(seen), len(set(seen)))
"""
    assert run(code).stdout.split() == ["8", "1"]


def test_a_module_that_cannot_be_loaded_says_so_and_is_tried_again():
    code = """
import sys
import dltensor as dl
sys.modules["dltensor.opaque._array"] = None
try:
    dl.opaque.hold
except ImportError as error:
    print(type(error).__name__)
del sys.modules["dltensor.opaque._array"]
print(dl.opaque.hold.__name__)
"""
    assert run(code).stdout.split() == ["ModuleNotFoundError", "hold"]


def test_importing_takes_none_of_the_slow_modules():
    code = "import sys; before = set(sys.modules); import dltensor; print(*sorted(set(sys.modules) - before))"
    loaded = run(code).stdout.split()
    assert "dltensor._core.tensor" in loaded
    slow = [
        "numpy",
        "importlib.metadata",
        "importlib.util",
        "pathlib",
        "threading",
        "inspect",
        "re",
        "difflib",
        "typing",
        "json",
    ]
    assert [name for name in slow if name in loaded] == []


def test_without_a_driver_there_are_no_devices():
    for driver in ("off", "/nowhere/libcuda.so.1"):
        code = """
import dltensor as dl
print(dl.cuda.device_count(), dl.cuda.is_available(), dl.__array_namespace_info__().devices())
try:
    dl.zeros(2).to("cuda")
except dl.DeviceError as error:
    print(error)
"""
        lines = run(code, DLTENSOR_CUDA_DRIVER=driver).stdout.splitlines()
        assert lines[0] == "0 False (dltensor.Device('cpu'),)"
        assert "the CUDA driver cannot be loaded" in lines[1]


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("DLTENSOR_CPU", "nosuch", "a level that this processor and this build support: v2"),
        ("DLTENSOR_CPU", "v9", "a level that this processor and this build support: v2"),
        ("DLTENSOR_NUM_THREADS", "many", "a whole number from 1 to 64"),
        ("DLTENSOR_NUM_THREADS", "0", "a whole number from 1 to 64"),
        ("DLTENSOR_NUM_THREADS", "65", "a whole number from 1 to 64"),
        ("DLTENSOR_NUM_THREADS", "2x", "a whole number from 1 to 64"),
        ("DLTENSOR_CACHE_BYTES", "1G", "a whole number from 0 to 9223372036854775807"),
        ("DLTENSOR_CACHE_BYTES", "-1", "a whole number from 0 to 9223372036854775807"),
        ("DLTENSOR_CACHE_BYTES", "9" * 30, "a whole number from 0 to 9223372036854775807"),
        ("DLTENSOR_NO_EXCHANGE_API", "maybe", "0 or 1"),
        ("DLTENSOR_DEFAULT_DTYPE", "double", "float32 or float64"),
        ("DLTENSOR_DEFAULT_DTYPE", "float16", "float32 or float64"),
    ],
)
def test_a_variable_that_says_nothing_usable_is_ignored_with_one_line(variable, value, expected):
    if variable == "DLTENSOR_CPU":
        expected = expected.replace("v2", dl.cpu_features()["compiled"][0])
    used = "import dltensor as dl; (dl.zeros(2) + 1).tolist(); print(dl.cpu_features(), dl.debug.live_bytes())"
    made, plain = run(used, **{variable: value}), run(used)
    assert made.stderr.startswith(f"dltensor: {variable}={value} is ignored; expected {expected}")
    assert len(made.stderr.splitlines()) == 1
    assert (made.stdout, plain.stderr) == (plain.stdout, "")


@pytest.mark.parametrize(
    "values",
    [
        {"DLTENSOR_CPU": dl.cpu_features()["supported"][0]},
        {"DLTENSOR_NUM_THREADS": "1"},
        {"DLTENSOR_CACHE_BYTES": "0"},
        {"DLTENSOR_NO_EXCHANGE_API": "1"},
        {"DLTENSOR_NO_EXCHANGE_API": "0"},
        {"DLTENSOR_DEFAULT_DTYPE": "float64"},
        {"DLTENSOR_DEFAULT_DTYPE": "float32"},
        {"DLTENSOR_CPU": "", "DLTENSOR_NUM_THREADS": "", "DLTENSOR_CACHE_BYTES": "", "DLTENSOR_NO_EXCHANGE_API": ""},
    ],
)
def test_a_variable_that_can_be_used_says_nothing(values):
    code = "import dltensor as dl; (dl.zeros(2) + 1).tolist(); print(dl.cpu_features()['used'], dl.num_threads())"
    made = run(code, **values)
    assert made.stderr == ""
    used, threads = made.stdout.split()
    assert values.get("DLTENSOR_CPU", used) in (used, "")
    assert values.get("DLTENSOR_NUM_THREADS", threads) in (threads, "")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "3", "DLTENSOR_NUM_THREADS": "5"}, "5"),
        ({"OMP_NUM_THREADS": "3", "DLTENSOR_NUM_THREADS": ""}, "3"),
        ({"OMP_NUM_THREADS": "3,2"}, "3"),  # for nested parallelism, as OpenMP reads it
        ({"OMP_NUM_THREADS": "1000"}, "64"),
        ({"OMP_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "-1"}, None),
        ({"OMP_NUM_THREADS": "many"}, None),
        ({"OMP_NUM_THREADS": "2x"}, None),
        ({"OMP_NUM_THREADS": ""}, None),
    ],
)
def test_the_number_of_threads_is_that_of_openmp_where_none_of_ours_is_set(values, expected):
    count = "import dltensor as dl; print(dl.num_threads())"
    plain = run(count, **{"OMP_NUM_THREADS": "", "DLTENSOR_NUM_THREADS": ""})
    made = run(count, **({"DLTENSOR_NUM_THREADS": ""} | values))
    assert made.stderr == ""
    assert made.stdout.strip() == (expected or plain.stdout.strip())


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        (1, {"cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "100000"}, 1),
        (1, {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}, 1),
        (1, {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        (2, {"cpu.max": "90000 100000"}, 1),
        (2, {"cpu.max": "max 100000"}, None),
        (2, {"cpu.max": "10000000000 100000"}, None),
        (2, {"cpu.max": "garbage"}, None),
    ],
)
def test_the_number_of_threads_is_at_most_the_time_of_the_control_group(version, files, expected):
    """As root: over folders of control groups of its own."""
    code = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None) or libc.mount(
        b"tmpfs", b"/sys/fs/cgroup", b"tmpfs", 0, None):
    print("refused", os.strerror(ctypes.get_errno()))
    raise SystemExit
folder = "/sys/fs/cgroup" if {version} == 2 else "/sys/fs/cgroup/cpu"
os.makedirs(folder, exist_ok=True)
for name, text in {files!r}.items():
    with open(folder + "/" + name, "w") as file:
        file.write(text + "\\n")
import dltensor as dl
print(dl.num_threads())
"""
    with open("/proc/self/cgroup") as file:
        groups = file.read()
    if not ("\n0::" in "\n" + groups if version == 2 else ":cpu" in groups):
        pytest.skip(f"no control groups of version {version} here")
    made = run(code, OMP_NUM_THREADS="", DLTENSOR_NUM_THREADS="")
    if made.stdout.startswith("refused"):
        pytest.skip(f"mounting needs root: {made.stdout}")
    assert made.stdout.strip() == str(expected or len(os.sched_getaffinity(0))), made.stderr


@pytest.mark.parametrize("variable", ["DLTENSOR_TORCH", "DLTENSOR_NUMPY"])
def test_a_switch_to_the_public_way_has_one_value(variable):
    code = "try:\n    import dltensor\nexcept ValueError as error:\n    print(error)"
    assert run(code, **{variable: "Public"}).stdout == (
        f"dltensor: {variable} must be 'public' or empty, got 'Public'; correct or unset it\n"
    )
    assert run(code, **{variable: "public"}).stdout == run(code, **{variable: ""}).stdout == ""


def test_a_rejected_value_is_cut_and_cannot_steer_a_terminal():
    made = run("import dltensor", DLTENSOR_CPU="\x1b[31m\n" + "x" * 500)
    assert made.stderr.startswith("dltensor: DLTENSOR_CPU=?[31m?xxx")
    assert len(made.stderr) < 200
    assert len(made.stderr.splitlines()) == 1


def test_rejections_are_told_when_the_package_is_imported():
    for variable in ("DLTENSOR_CPU", "DLTENSOR_NUM_THREADS", "DLTENSOR_NO_EXCHANGE_API"):
        assert f"{variable}=nosuch" in run("import dltensor", **{variable: "nosuch"}).stderr


def test_importlib_finds_the_lazy_modules():
    for name in LAZY:
        assert importlib.util.find_spec(f"dltensor.{name}").origin.endswith((f"{name}.py", "__init__.py"))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "lib.stride_tricks",
        *(name for name in PUBLIC_MODULES if name not in ("conformance", "distributed")),
    ],
)
def test_public_functions_and_classes_name_the_module_that_users_import_from(name):
    module = importlib.import_module(f"dltensor.{name}".rstrip("."))
    seen = 0
    for attribute in module.__all__:
        thing = getattr(module, attribute)
        if callable(thing) and not isinstance(thing, dl.DType) and attribute != "Size":  # tuple
            assert thing.__module__ in (module.__name__, "dltensor"), f"{attribute} is of {thing.__module__}"
            assert getattr(importlib.import_module(thing.__module__), thing.__name__, None) is not None, attribute
            seen += 1
    assert seen > 1


def test_compiled_modules_have_no_functions_and_generators_of_cython():
    # Each brings 20 to 30 kB: lambdas, generator expressions and classes of Python are for Python files.
    modules = list(Path(dl.__path__[0]).rglob("*.so"))
    assert len(modules) > 12
    assert any(path.name.startswith("compiled.") for path in modules)  # which has most of them
    types = re.compile(rb"_cython_\w+\.(cython_function_or_method|generator|coroutine)\0")
    found = {path.stem.partition(".")[0]: types.findall(path.read_bytes()) for path in modules}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}
