# SPDX-License-Identifier: Apache-2.0
"""`dltensor bench`: rows beside their peers, what is missing by name, the same rows in benchmarks/. Asserts no time."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dltensor._cli.bench import BIAS, Measured, calls, drawing, exchange, measure
from dltensor._cli.main import main

ROOT = Path(__file__).parent.parent
ROWS = [
    Measured("call", "a + b, 10", "a + b", "na < nb", 20.0, 160.0, 8.0),
    Measured("exchange", "slow", "t", "a", 400.0, 100.0, 0.25),
]


def test_rows_are_measured_beside_their_peers():
    pytest.importorskip("numpy")
    progress = []
    rows, missing = measure(["x[1:]", "a + b, 10"], rounds=3, progress=lambda *done: progress.append(done))
    found = {f"{row.group}: {row.what}": row for row in rows}
    assert {"exchange: x[1:]", "call: a + b, 10"} <= set(found)
    assert found["exchange: x[1:]"].peer == "a[1:]"
    assert all(row.ns > 0 and row.ratio == pytest.approx(row.peer_ns / row.ns, rel=0.1, abs=0.01) for row in rows)
    assert progress == [(place, len(rows)) for place in range(1, len(rows) + 1)]
    assert missing == {}


def test_every_function_that_numpy_has_too_is_measured_beside_it():
    numpy = pytest.importorskip("numpy")
    import dltensor as dl
    from dltensor._core.members import SPELLINGS as spellings  # which call the others
    from dltensor._spellings.objects import __all__ as objects

    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        space = runpy.run_path(str(ROOT / "benchmarks" / "bench_functions.py"))
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    shown = set(re.findall(r"X\.(\w+)", " ".join(space["statements"]())))
    public = {
        name
        for name in dl.__all__
        if callable(getattr(dl, name))
        and callable(getattr(numpy, name, None))
        and not isinstance(getattr(dl, name), dl.DType)
    }
    assert len(public) > 230
    # memmap is a class there, which opens a file, as savez does; floats warn nowhere here.
    assert public - shown - set(spellings) - set(objects) == {"memmap", "savez", "errstate", "seterr"}


def test_a_missing_peer_is_named(monkeypatch):
    pytest.importorskip("numpy")
    for name in ("torch", "tvm_ffi"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    rows, missing = measure(["from_dlpack(torch tensor)", "add(torch, torch)", "x[1]"], rounds=3)
    assert [row.what for row in rows] == ["x[1]"]
    assert missing == {
        "exchange: from_dlpack(torch tensor)": "torch and tvm_ffi",
        "foreign: add(torch, torch), 100": "torch",
    }
    assert "not measured: needs torch and tvm_ffi" in drawing.text(rows, missing)


def test_a_bar_is_on_the_side_of_who_is_faster():
    lines = drawing.text(ROWS, {}, 110).splitlines()
    assert "        |#####" in lines[1]
    assert "     ###|" in lines[2]
    assert max(map(len, lines)) <= 110
    assert BIAS in " ".join(lines)


def test_a_narrow_table_leaves_the_bars_out_and_keeps_the_figures():
    lines = drawing.text(ROWS, {"call: a long name of a row": "torch and tvm_ffi"}, 60).splitlines()
    assert "|" not in "".join(lines)
    assert lines[1].split()[-6:] == ["20", "160", "8.00x", "na", "<", "nb"]
    assert max(map(len, lines)) <= 60


def test_the_drawing_is_well_formed_and_says_its_bias():
    top = ElementTree.fromstring(drawing.svg(ROWS))
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in top.iter(f"{space}text")]
    assert {"call: a + b, 10", "8.00 x", "0.25 x"} <= set(texts)
    assert [text for text in texts if re.fullmatch(r"[\d/]+ x", text)] == ["1/32 x", "1/8 x", "1 x", "8 x", "32 x"]
    assert any("chosen by the authors" in text for text in texts)
    bars = [one for one in top.iter(f"{space}rect")]
    assert [bar.get("fill") for bar in bars] == ["#2a7f62", "#c0392b"]
    assert float(bars[0].get("width")) > float(bars[1].get("width")) > 1


def test_the_command_writes_what_it_is_asked_for(tmp_path, capsys):
    pytest.importorskip("numpy")
    made = [tmp_path / name for name in ("a.json", "a.svg")]
    assert main(["bench", "x[1:]", "--rounds", "3", "--json", str(made[0]), "--svg", str(made[1])]) == 0
    said = capsys.readouterr()
    assert "exchange: x[1:]" in said.out
    assert "Bias:" in said.out
    assert said.err == ""
    found = json.loads(made[0].read_text())
    assert found["bias"] == BIAS
    assert found["rows"][0]["ours"] == "t[1:]"
    ElementTree.fromstring(made[1].read_text())
    assert main(["bench", "nosuchrow"]) == 2
    assert "'nosuchrow'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        ("bench_exchange.py", ["--rounds", "3"], [row[0] for row in exchange.ROWS + exchange.ALONE]),
        ("bench_call.py", ["call: a + b, 10", "--seconds", "0.01"], ["call: a + b, 10", "call: a + b, 10000"]),
    ],
)
def test_the_full_benchmarks_run_the_same_rows(script, arguments, words):
    pytest.importorskip("numpy")
    command = [sys.executable, ROOT / "benchmarks" / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [word for word in words if word not in done.stdout] == []


def test_every_row_of_calls_names_what_it_uses():
    pytest.importorskip("numpy")
    rows = list(calls.rows())
    assert len(rows) > 30
    for _, what, gate, goal, ours, peers, names in rows:
        assert 0 < gate <= goal, what
        assert peers, what
        if "t_" not in ours:
            eval(compile(ours, what, "eval"), dict(names))


def test_rows_of_the_wide_benchmark_compute_what_their_peers_do():
    command = [sys.executable, ROOT / "benchmarks" / "bench_wide.py", "--quick", "150", "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wide_benchmark_summarises_families(tmp_path):
    command = [
        sys.executable,
        ROOT / "benchmarks" / "bench_wide.py",
        "bits: x & y, int64",
        "searches: X.argmax(x), uint8 100",
    ]
    command += ["--seconds", "0.01", "--json", tmp_path / "rows.json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["families"]["bits"]["rows"] == 4
    assert all(row["numpy"] > 0 for row in found["all"].values())
    assert found["families"]["all"]["rows"] == len(found["all"])
