# SPDX-License-Identifier: Apache-2.0
"""The host CUDA driver and the CUDA engine as fixtures. No GPU is needed, and none is used.

DLTENSOR_TEST_GPU=1 runs the tests that need no host driver on a real card instead; DLTENSOR_TEST_ASAN=1 builds all of
it for AddressSanitizer (start Python with LD_PRELOAD=libasan.so).
"""

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # some tests import this file from a process of their own
from native_tools import require

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "dltensor"
ON_CARD = bool(os.environ.get("DLTENSOR_TEST_GPU"))
SANITIZE = bool(os.environ.get("DLTENSOR_TEST_ASAN"))
ORDERS = ("card",) if ON_CARD else ("eager", "lazy", "random:1")


def module(name, path):
    """Import one file of the source tree, whether the package is installed or not."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def one_nan(array):
    """On a card, a copy whose NaNs all have the same bits: its arithmetic makes another NaN than a processor's."""
    if ON_CARD and array.dtype.kind not in "biu":
        array = array.copy()
        array[array != array] = float("nan")
    return array


def load_engine():
    engine = module("cuda_engine_under_test", HERE / "engine.py")
    require("g++")  # which builds the engine's shim
    engine.scratch().mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault("DLTENSOR_CACHE_DIR", str(engine.scratch()))
    return engine


class Card:
    """A real driver in the place of the host driver: public functions can be called, nothing can be configured."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        pytest.skip(f"needs the host driver, this run uses a card: machine.{name}")


@pytest.fixture(scope="session")
def machine():
    """The host driver of this process, or a card."""
    load_engine()
    if ON_CARD:
        return Card()
    hostcuda = module("hostcuda_under_test", SOURCE / "testing" / "hostcuda.py")
    # Kernels as source: NVRTC's own compilations are tested in test_cuda_nvrtc.py.
    os.environ.setdefault("DLTENSOR_CUDA_NVRTC", "off")
    return hostcuda.load(devices=2, sanitize=SANITIZE)


@pytest.fixture(scope="session")
def fake_nvrtc(tmp_path_factory):
    """An NVRTC whose machine code is source for the host driver."""
    library = tmp_path_factory.mktemp("nvrtc") / "libnvrtc.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(HERE / "fake_nvrtc.cc"), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="session")
def loaded(request):
    if not ON_CARD:
        request.getfixturevalue("machine")
    engine = load_engine()
    return engine.Engine(engine.build(engine.scratch() / "engine", ["-fsanitize=address"] if SANITIZE else []))


def clean(machine, order):
    if machine is not None:
        machine.fail_no_more()
        machine.configure(order=order, launches=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.was_skipped = getattr(item, "was_skipped", False) or report.skipped
    return report


@pytest.fixture(scope="module", autouse=True)
def emptied():
    """Free the package's idle memory after each module: the host driver changes the protection of all pages it has."""
    yield
    if "hostcuda_under_test" in sys.modules and (cuda := sys.modules.get("dltensor.cuda")):
        gc.collect()
        cuda.empty_cache()


@pytest.fixture(params=ORDERS)
def cuda(loaded, request):
    """The engine on the host driver, once for each order of streams."""
    machine = None if ON_CARD else request.getfixturevalue("machine")
    clean(machine, request.param)
    gc.collect()
    live = loaded.c.shim_live_blocks()
    yield loaded
    clean(machine, "eager")
    gc.collect()
    # A skipped test keeps its tensors in the traceback; compute-sanitizer keeps frames that launch kernels.
    if not getattr(request.node, "was_skipped", False) and not os.environ.get("DLTENSOR_TEST_KEEPS_FRAMES"):
        # Fewer are what such a test has kept until now.
        assert loaded.c.shim_live_blocks() <= live, "the test left blocks behind"
    if machine is not None:
        assert machine.context_depth() == 0, "the test left a CUDA context on this thread's stack"


@pytest.fixture
def eager(loaded, request):
    """The engine on the host driver, eager: for tests where order cannot matter."""
    machine = None if ON_CARD else request.getfixturevalue("machine")
    clean(machine, "eager")
    yield loaded
    clean(machine, "eager")


@pytest.fixture
def eager_machine(request):
    """The host driver, eager, for tests of the package; None on a card."""
    machine = None if ON_CARD else request.getfixturevalue("machine")
    clean(machine, "eager")
    return machine
