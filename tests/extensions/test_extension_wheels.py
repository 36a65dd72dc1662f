# SPDX-License-Identifier: Apache-2.0
"""The packages of examples/extension: built into wheels, isolated and not, installed beside dltensor, and run.

`make test-extensions` brings what they need into build/wheels; nothing here uses the network.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from native_tools import absence, runnable

import dltensor as dl

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples" / "extension"
WHEELS = ROOT / "build" / "wheels"
PACKAGES = sorted(path.name for path in EXAMPLES.iterdir() if (path / "pyproject.toml").exists())
pytestmark = [
    pytest.mark.skipif(
        not list(WHEELS.glob("dltensor-*.whl")), reason="build/wheels has no dltensor: make test-extensions"
    ),
    pytest.mark.skipif(runnable("readelf") is None, reason=str(absence("readelf"))),
]
PROGRAMS = {
    "plain_c": """
import array, dlsum_c, dltensor as dl
x = dl.reshape(dl.arange(6, dtype="float32"), (2, 3))[:, ::-1]
assert dlsum_c.total(x) == 15.0
for wrong, words in ((dl.arange(3), "expected float32"), (x.to("cpu").astype("float64"), "expected float32")):
    try:
        dlsum_c.total(wrong)
    except BufferError as error:
        assert words in str(error), error
    else:
        raise AssertionError("accepted")
versions = dlsum_c.versions()
assert versions["headers"] == dl.__version__, versions
assert versions["library ABI"] == versions["compiled for ABI"], versions
before = dl.debug.live_blocks()
for _ in range(100):
    dlsum_c.total(x)
assert dl.debug.live_blocks() == before
""",
    "cython": """
import dlsum_cython, dltensor as dl
before = dl.debug.live_blocks()
x = dl.zeros((2, 3, 4))
held = dlsum_cython.Held(x)
held.swap_axes(0, 2)
assert held.shape == (4, 3, 2)
try:
    held.swap_axes(0, 9)
except ValueError as error:
    assert "axes below 3" in str(error), error
else:
    raise AssertionError("accepted")
del x, held
assert dl.debug.live_blocks() == before
""",
    "nanobind": """
import dlsum_nanobind, dltensor as dl
before = dl.debug.live_blocks()
x = dl.reshape(dl.arange(6, dtype="float32"), (2, 3))
held = dlsum_nanobind.Held(x)
held.swap_axes(0, 1)
assert held.shape == [3, 2] and held.origin == "dlsum.nanobind" and held.total() == 15.0
try:
    held.swap_axes(0, 9)
except RuntimeError as error:
    assert "swap_axes" in str(error), error
else:
    raise AssertionError("accepted")
del x, held
assert dl.debug.live_blocks() == before
""",
}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def pip(*arguments):
    offline = ["--disable-pip-version-check", "--no-index", "--find-links", str(WHEELS)]
    # Without the user's settings of pip, which may name an index.
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        environment.pop(name, None)
    return run([sys.executable, "-m", "pip", arguments[0], "-q", *offline, *arguments[1:]], env=environment)


def test_every_package_has_a_program():
    assert len(PACKAGES) == 3
    assert set(PROGRAMS) == set(PACKAGES)


@pytest.fixture(scope="module")
def dltensor_alone(tmp_path_factory):
    """A folder like site-packages with dltensor only, which is not the one that the extensions are compiled against."""
    folder = tmp_path_factory.mktemp("elsewhere")
    pip("install", "--no-deps", "--target", str(folder), "dltensor")
    assert (folder / "dltensor").is_dir()
    return folder


def copied(name, folder):
    """The sources of a package in a folder of the test, since a build leaves files beside them."""
    source = folder / "source"
    shutil.copytree(EXAMPLES / name, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    return str(source)


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "not-isolated"])
@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_is_built_and_runs_beside_dltensor(name, isolated, dltensor_alone, tmp_path):
    options = [] if isolated else ["--no-build-isolation"]
    pip("wheel", "--no-deps", *options, "-w", str(tmp_path), copied(name, tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [entry for entry in archive.namelist() if "libdltensor" in entry]  # not a second copy
    site = tmp_path / "site"
    shutil.copytree(dltensor_alone, site)
    pip("install", "--no-deps", "--target", str(site), str(wheel))
    (native,) = site.glob(f"dlsum*/_native*{sysconfig.get_config_var('EXT_SUFFIX')}")
    dynamic = run(["readelf", "-d", str(native)])
    (paths,) = re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", dynamic)
    assert [path for path in paths.split(":") if "dltensor" in path] == [
        "$ORIGIN/../dltensor"
    ]  # others are the interpreter's
    assert f"[{Path(dl.opaque.library_path()).name}]" in dynamic
    library = site / "dltensor" / Path(dl.opaque.library_path()).name
    loaded = f"""
names = {{line.split()[-1] for line in open('/proc/self/maps')}}
assert {{one for one in names if 'libdltensor' in one}} == {{{str(library)!r}}}, names
"""
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"]}
    run([sys.executable, "-S", "-c", PROGRAMS[name] + loaded], env=environment, cwd=tmp_path)


def test_another_abi_number_is_refused_when_the_extension_is_imported(dltensor_alone, tmp_path):
    pip("wheel", "--no-deps", "-w", str(tmp_path), copied("plain_c", tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    shutil.copytree(dltensor_alone, site)
    pip("install", "--no-deps", "--target", str(site), str(wheel))
    (native,) = site.glob("dlsum_c/_native*.so")
    name = Path(dl.opaque.library_path()).name.encode()
    native.write_bytes(native.read_bytes().replace(name, name[:-1] + b"9"))
    code = "import dlsum_c"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(site)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "libdltensor.so.9: cannot open shared object file" in done.stderr
