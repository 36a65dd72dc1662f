# SPDX-License-Identifier: Apache-2.0
"""The C function of examples/extension/plain_c that takes every producer, compiled and called; its page shows it."""

import importlib.util
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from native_tools import ROOT, require, run_with_pyarrow_25

import dltensor as dl

FOLDER = ROOT / "examples" / "extension" / "plain_c" / "dlsum_c"
SIX = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def module_path(tmp_path_factory):
    """The extension module, compiled with the flags that its setup.py uses."""
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        pytest.skip("Python.h is not installed")
    folder = tmp_path_factory.mktemp("every_producer")
    flags = subprocess.run(
        [sys.executable, "-m", "dltensor", "info", "--cflags", "--libs"], capture_output=True, text=True, check=True
    ).stdout.split()
    command = [require("cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{headers}"]
    made = subprocess.run(
        [*command, FOLDER / "_native.c", *flags, "-o", folder / "_native.so"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return folder / "_native.so"


@pytest.fixture(scope="module")
def total(module_path):
    spec = importlib.util.spec_from_file_location("_native", module_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.total


class New:
    """Speaks DLPack through an array of NumPy."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__(max_version=max_version)


class Old(New):
    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class Forwarding(New):
    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class Legacy(New):
    """As arrays of JAX: takes the keyword and ignores it."""

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__()


def readonly(array):
    array = array.copy()
    array.flags.writeable = False
    return array


PRODUCERS = {
    "exchange table": lambda: dl.asarray(SIX),
    "new signature": lambda: New(SIX),
    "old signature": lambda: Old(SIX),
    "old signature behind a forwarder": lambda: Forwarding(Old(SIX)),
    "old struct": lambda: Legacy(SIX),
    "versioned capsule": lambda: SIX.__dlpack__(max_version=(1, 3)),
    "old capsule": lambda: SIX.__dlpack__(),
    "read-only": lambda: readonly(SIX),
    "backwards": lambda: SIX[::-1, ::-1],
    "transposed": lambda: dl.asarray(SIX).T,
    "no strides": lambda: _probe().Probe(owned=SIX.tobytes(), shape=(2, 3), strides=None, legacy=True).capsule(),
}


def _probe():
    from dltensor.conformance import _probe

    return _probe


@pytest.mark.parametrize("name", PRODUCERS)
def test_every_form_is_taken(total, name):
    assert total(PRODUCERS[name]()) == 15.0


@pytest.mark.parametrize("array", [np.zeros((0, 3), np.float32), np.array(7, np.float32)], ids=["empty", "0-d"])
def test_tensors_without_elements_and_dimensions_are_taken(total, array):
    assert total(New(array)) == array.sum()


@pytest.mark.parametrize("legacy", [False, True])
def test_the_deleter_runs_once_on_success_and_on_refusal(total, legacy):
    for dtype in ((2, 32, 1), (2, 64, 1)):
        probe = _probe().Probe(owned=bytes(48), dtype=dtype, legacy=legacy)
        if dtype == (2, 32, 1):
            assert total(probe.capsule()) == 0.0
        else:
            with pytest.raises(BufferError, match="expected float32"):
                total(probe.capsule())
        assert probe.deleted == 1


def test_a_capsule_is_consumed_once(total):
    capsule = SIX.__dlpack__()
    assert total(capsule) == 15.0
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        total(capsule)


def test_another_major_version_is_only_deleted(total):
    probe = _probe().Probe(version=(2, 0), shape=16, strides=16, data=16, ndim=3)
    with pytest.raises(BufferError, match="expected DLPack 1, got 2"):
        total(probe.capsule())
    assert probe.deleted == 1


def test_a_broken_rule_is_refused_by_its_name(total):
    probe = _probe().Probe(owned=bytes(24), ndim=-1)
    with pytest.raises(BufferError, match=r"ndim\.range"):
        total(probe.capsule())
    assert probe.deleted == 1


@pytest.mark.parametrize("error", [BufferError, ValueError, KeyboardInterrupt])
def test_errors_of_the_producer_arrive(total, error):
    class Broken(New):
        def __dlpack__(self, **keywords):
            raise error("of the producer")

    with pytest.raises(error, match="of the producer"):
        total(Broken(SIX))


def test_a_type_error_of_the_export_arrives(total):
    class Broken(New):
        def __dlpack__(self, **keywords):
            return len(5)

    with pytest.raises(TypeError, match="has no len"):
        total(Broken(SIX))


def test_the_page_shows_the_file():
    page = (ROOT / "docs" / "every-producer.md").read_text()
    assert re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S) == [(FOLDER / "take.h").read_text()]


# -- of frameworks ------------------------------------------------------------------------------------------------


def _torch():
    torch = pytest.importorskip("torch")
    return torch.arange(6, dtype=torch.float32).reshape(2, 3)


def _negated():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32)
    return torch.complex(torch.zeros(6), -x).conj().imag


def _jax():
    return pytest.importorskip("jax").numpy.arange(6, dtype="float32")


def _pyarrow():
    return pytest.importorskip("pyarrow").array(SIX.ravel())


def _nanoarrow():
    nanoarrow = pytest.importorskip("nanoarrow")
    return nanoarrow.c_buffer(SIX.ravel().tolist(), nanoarrow.float32()).view()


@pytest.mark.peers
@pytest.mark.parametrize("make", [_torch, _negated, _jax, _pyarrow, _nanoarrow])
def test_tensors_of_frameworks_are_taken(total, make):
    assert total(make()) == 15.0


@pytest.mark.peers
def test_arrays_of_pyarrow_25_are_taken(module_path):
    done = run_with_pyarrow_25(
        f"sys.path.insert(0, {str(module_path.parent)!r})\n"
        "import dltensor, pyarrow, _native\n"
        "print(pyarrow.__version__[:2], _native.total(pyarrow.array([1.0, 2.0], pyarrow.float32())))"
    )
    assert done.stdout == "25 3.0\n", done.stderr
