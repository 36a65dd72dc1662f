# SPDX-License-Identifier: Apache-2.0
"""tools/wheels.py: what it adds to wheels, which interpreters it takes. `python -m tools wheels test` tests them."""

import base64
import csv
import hashlib
import importlib.util
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def wheels(monkeypatch, tmp_path):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    spec = importlib.util.spec_from_file_location("wheels", ROOT / "tools" / "wheels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "WORK", tmp_path / "work")
    return module


def raw_wheel(folder, names):
    folder.mkdir()
    path = folder / "dltensor-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, f"contents of {name}")
    return path


NAMES = ["dltensor/__init__.py", "dltensor/a.so", "dltensor-0.1.0.dist-info/RECORD", "dltensor-0.1.0.dist-info/WHEEL"]


def test_the_record_of_a_finished_wheel_lists_every_file_with_its_hash(wheels, tmp_path):
    done = wheels.finish(raw_wheel(tmp_path / "raw", NAMES), tmp_path / "out", "0.1.0")
    with zipfile.ZipFile(done) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert list(files)[-1] == "dltensor-0.1.0.dist-info/RECORD"
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(files["dltensor-0.1.0.dist-info/RECORD"].decode()))}
    assert set(rows) == set(files)
    for name, contents in files.items():
        if name.endswith("/RECORD"):
            assert rows[name] == ["", ""]
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        assert rows[name] == [f"sha256={digest}", str(len(contents))]


def test_the_bill_of_materials_names_one_component_and_its_licence(wheels, tmp_path):
    done = wheels.finish(raw_wheel(tmp_path / "raw", NAMES), tmp_path / "out", "0.1.0")
    bill = json.loads(zipfile.ZipFile(done).read("dltensor-0.1.0.dist-info/sboms/dltensor.cdx.json"))
    component = bill["metadata"]["component"]
    assert (bill["bomFormat"], bill["specVersion"], bill["components"]) == ("CycloneDX", "1.6", [])
    assert (component["purl"], component["licenses"]) == (
        "pkg:pypi/dltensor@0.1.0",
        [{"license": {"id": "Apache-2.0"}}],
    )
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


def test_the_bits_depend_on_contents_alone(wheels, tmp_path):
    first = wheels.finish(raw_wheel(tmp_path / "one", NAMES), tmp_path / "out1", "0.1.0")
    second = wheels.finish(raw_wheel(tmp_path / "two", NAMES[::-1]), tmp_path / "out2", "0.1.0")
    other = wheels.finish(raw_wheel(tmp_path / "three", [*NAMES, "dltensor/b.py"]), tmp_path / "out3", "0.1.0")
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()


def test_a_wheel_above_the_limit_is_refused(wheels, tmp_path, monkeypatch):
    class Shown:
        stdout = f'consistent with the following platform tag: "{wheels.PLATFORM}".'

    monkeypatch.setattr(wheels, "tool", lambda name: name)
    monkeypatch.setattr(wheels, "run", lambda *command, **options: Shown)
    names = [*NAMES, "dltensor/libdltensor.so", "dltensor-0.1.0.dist-info/licenses/LICENSE"]
    done = wheels.finish(raw_wheel(tmp_path / "raw", names), tmp_path / "out", "0.1.0")
    monkeypatch.setattr(wheels, "LARGEST", done.stat().st_size)
    wheels.examine(done)
    monkeypatch.setattr(wheels, "LARGEST", done.stat().st_size - 1)
    with pytest.raises(SystemExit, match=f"of {done.stat().st_size} bytes, at most {done.stat().st_size - 1}"):
        wheels.examine(done)


def test_an_interpreter_says_its_tag_and_what_is_none_is_refused(wheels, tmp_path):
    tag, version, _ = wheels.ask(sys.executable)
    assert tag.rstrip("t") == f"cp3{sys.version_info[1]}"
    assert version == sys.version_info[:3]
    assert wheels.ask(tmp_path) is None
    with pytest.raises(SystemExit, match="no interpreter with headers for cp27"):
        wheels.chosen(["cp27"])


def test_absolute_links_of_a_system_lead_into_it(wheels, tmp_path):
    libraries = tmp_path / "usr" / "lib" / wheels.MULTIARCH
    libraries.mkdir(parents=True)
    (tmp_path / "usr" / "lib64").mkdir()
    (libraries / "ld.so").write_text("loader")
    (tmp_path / "usr" / "lib64" / "ld-linux.so.2").symlink_to(f"/usr/lib/{wheels.MULTIARCH}/ld.so")
    wheels.relink(tmp_path)
    assert (tmp_path / "usr" / "lib64" / "ld-linux.so.2").read_text() == "loader"
