# SPDX-License-Identifier: Apache-2.0
"""`dltensor check` and `pytest --dlpack-check` as a user meets them: what is printed, written and returned."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import planted
import pytest
import users_of_check

import dltensor as dl
from dltensor._cli.main import main
from dltensor.conformance import runner, targets
from dltensor.conformance.observed import difference
from dltensor.conformance.report import Result, as_text, badge, lines, write_junit

HERE = Path(__file__).parent


def dltensor_check(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dltensor", "check", *arguments], capture_output=True, text=True, cwd=HERE, timeout=120
    )


def line_of(function):
    """Where the first statement of a function stands, as messages say it."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno + 1}"


def test_dltensor_breaks_nothing():
    result = dl.conformance.check("dltensor")
    assert [(one.check, one.words) for one in result.broken()] == []
    assert result.conformant
    assert result.sides == ("producer", "consumer")
    assert result.counts()["MUST"]["kept"] > 45
    assert result.counts()["ours"]["kept"] == 17


def test_the_exit_status_says_whether_a_must_is_broken():
    assert dltensor_check("planted:clean", "--only", "R20").returncode == 0
    broken = dltensor_check("planted:copy_is_marked", "--only", "R20")
    assert broken.returncode == 1
    assert "R20 MUST" in broken.stdout
    assert "expected IS_COPIED" in broken.stdout
    assert dltensor_check("planted:data_is_aligned", "--only", "R10").returncode == 0
    missing = dltensor_check("nosuchframework")
    assert missing.returncode == 2
    assert "expected one of dltensor, numpy" in missing.stderr


def test_no_progress_in_a_pipe():
    done = dltensor_check("dltensor", "--only", "R20")
    assert done.stderr == ""
    assert "\033" not in done.stdout


def test_a_crash_is_a_result_and_not_the_end():
    result = dl.conformance.check("planted:null_deleter_is_legal", only=["consumer"])
    ended = {one.check: one for one in result.findings}
    assert ended["null-deleter-is-legal"].status == "crashed"
    assert "SIGABRT" in ended["null-deleter-is-legal"].words
    assert ended["device-is-kept"].status == "kept"
    assert result.status == 1


def test_only_chooses_by_rule_name_and_side():
    def checks(*only):
        return {one.check for one in dl.conformance.check("planted:clean", only=only).findings}

    assert checks("20") == checks("R20") == checks("copy-is-marked") == {"copy-is-marked"}
    assert "borrowed-view-is-the-export" in checks("table")
    with pytest.raises(ValueError, match=r"expected rules .* got 'nonsense'|got nonsense"):
        dl.conformance.check("planted:clean", only=["nonsense"])
    with pytest.raises(ValueError, match="R46 cannot be decided: needs a device"):
        dl.conformance.check("planted:clean", only=["R46"])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("planted:nothing_of_this_name", "cannot be loaded"),
        ("no_such_module:make", "cannot be loaded"),
        ("planted:BASE", "expected a function without arguments"),
    ],
)
def test_a_target_that_cannot_be_had_says_why(spec, words):
    with pytest.raises(dl.conformance.Missing, match=words):
        dl.conformance.check(spec, only=["R20"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", rf"your function raised ValueError: expected a file\x1b[2J ({line_of(users_of_check._prepared)})"),
        ("exits", f"your function raised SystemExit: 3 ({line_of(users_of_check.exits)})"),
        (
            "returns_no_array",
            "your function returned list, which has no __dlpack__; expected an array that supports DLPack",
        ),
        ("ends_the_process", "the first call of your function ended the child: the process died by SIGABRT"),
    ],
)
def test_a_function_that_makes_no_array_is_no_broken_rule(name, words):
    done = dltensor_check(f"users_of_check:{name}")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"check: users_of_check:{name}: {words}\n"


def test_a_module_that_raises_is_told_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "raises_at_import.py").write_text("x = 1\ny = x / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        dl.conformance.Missing, match=r"ZeroDivisionError: division by zero \(.*raises_at_import.py:2\)"
    ):
        dl.conformance.check("raises_at_import:make", only=["R20"])


@pytest.mark.parametrize("jobs", [0, -3, 1.5, "2", None, True])
def test_jobs_that_are_no_count_are_refused(jobs):
    with pytest.raises(ValueError, match="jobs must be a whole number from 1 on"):
        dl.conformance.check("planted:clean", only=["R20"], jobs=jobs)


def test_no_more_threads_are_started_than_there_is_work_or_cores(monkeypatch):
    started, thread = [], runner.threading.Thread

    def counted(**keywords):
        started.append(1)
        return thread(**keywords)

    monkeypatch.setattr(runner.threading, "Thread", counted)
    monkeypatch.setattr(runner, "cores", lambda: 3)
    dl.conformance.check("planted:clean", only=["R20"], jobs=10_000_000)
    assert len(started) == 1
    assert runner.parallel("check", 10_000_000, 500) == 3
    assert runner.parallel("check", 2, 500) == 2


def test_what_a_target_says_cannot_spoil_a_report(tmp_path):
    class Check:
        name, rule, side = "copy-is-marked", "R20", "producer"

    said = runner.Outcome("copy-is-marked", "broken", "got\x1b[31m\x00 \n\ud800" + "x" * 5000, 0.1)
    result = Result.of("odd", {"version": "1", "produces": True}, [(Check, said)], complete=False)
    assert as_text(result).isprintable() or "\x1b" not in as_text(result)
    assert len(result.findings[0].words) == 1000
    write_junit([result], tmp_path / "r.xml")
    ElementTree.parse(tmp_path / "r.xml")


def test_a_function_is_a_producer_or_a_consumer_by_its_arguments(monkeypatch):
    monkeypatch.setattr(planted, "BASE", planted.BASE)
    assert dl.conformance.check("dltensor:from_dlpack", only=["R13", "R24"]).sides == ("consumer",)
    assert dl.conformance.check("users_of_check:make", only=["R24"]).sides == ("producer",)


def test_explain_says_what_and_where(capsys):
    assert main(["check", "--explain", "20"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("R20  MUST  (the array API standard 2025.12)")
    assert "copy-is-marked (producer)" in said
    assert main(["check", "--explain", "R46"]) == 0
    assert "Cannot be decided here" in capsys.readouterr().out
    assert main(["check", "--explain", "R99"]) == 2
    assert "expected a rule from R1 to R79" in capsys.readouterr().err


def test_the_reports_say_the_same(tmp_path, capsys):
    files = [tmp_path / name for name in ("r.json", "r.xml", "r.svg")]
    status = main(
        [
            "check",
            "planted:copy_is_marked",
            "--only",
            "R20,R24,R10,R54",
            "--json",
            str(files[0]),
            "--junit",
            str(files[1]),
            "--badge",
            str(files[2]),
        ]
    )
    assert status == 1
    found = json.loads(files[0].read_text())
    assert found["conformant"] is False
    assert {one["rule"]: one["status"] for one in found["findings"]} == {
        "R10": "kept",
        "R20": "broken",
        "R24": "kept",
        "R54": "skipped",
    }
    assert {"text", "source", "severity", "words"} <= set(found["findings"][0])
    suite = ElementTree.parse(files[1]).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "1")
    picture = ElementTree.fromstring(files[2].read_text())
    assert "1 of 2 MUST" in picture.get("aria-label")


def test_colours_and_details_are_for_who_wants_them():
    result = dl.conformance.check("planted:copy_is_marked", only=["R20", "R54"])
    assert ("R20 MUST   ", "bad") in [piece for line in lines(result) for piece in line]
    assert "\033" not in as_text(result)
    assert "not applicable\nR54" in as_text(result, verbose=True)
    assert badge(result).startswith("<svg")


def test_pytest_runs_every_rule_as_a_test(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "dltensor.testing.plugin",
            "-q",
            "-rfxs",
            "--rootdir",
            str(tmp_path),
            str(tmp_path),
            "--dlpack-check",
            "planted:copy_is_marked",
            "--dlpack-only",
            "R10,R20,R24,R54",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed, 1 skipped" in done.stdout
    assert "R20 (MUST): A copy that was made for the export is marked IS_COPIED." in done.stdout
    assert "Traceback" not in done.stdout


def test_pytest_does_not_load_the_plugin_by_itself():
    """An entry point would import the package in every run of pytest of its users."""
    from importlib.metadata import entry_points

    assert [each for each in entry_points(group="pytest11") if each.value.startswith("dltensor")] == []


def test_a_target_without_a_version_has_none_in_its_head(tmp_path, monkeypatch):
    (tmp_path / "unversioned.py").write_text("import dltensor as dl\ndef make(): return dl.zeros((2, 3))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = dltensor_check("unversioned:make", "--only", "R20")
    assert done.stdout.startswith("unversioned:make (producer; Python "), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("right", "got", "words"),
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1.0] * 6, [1.0] * 5 + [2.0], "element 5 is 2.0, expected 1.0"),
        ([1.0, float("nan")], [1.0, float("nan")], ""),
        ([1.0, float("nan")], [1.0, 0.0], "element 1 is 0.0, expected nan"),
        ([1, 2], [1], "there are 1 elements, expected 2"),
        ([], [], ""),
    ],
)
def test_values_are_compared_up_to_the_first_that_differs(right, got, words):
    assert difference(right, got) == words


@pytest.mark.peers
@pytest.mark.parametrize("name", ["nanoarrow", "onnxruntime"])
def test_frameworks_that_pyproject_does_not_name_are_known(name):
    pytest.importorskip(name, reason=f"{name} is not installed")
    findings = {one.check: one.status for one in dl.conformance.check(name, only=["R19", "R45"]).findings}
    assert findings == {"export-is-zero-copy": "kept", "none-shares": findings["none-shares"], "import-shares": "kept"}


def test_cupy_is_known_as_a_target(monkeypatch):
    fake = types.ModuleType("cupy")
    fake.__dict__.update(vars(np))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    target = targets.find("cupy")
    assert target.make("broadcast").shape == (3, 4)
    assert dl.from_dlpack(target.take(dl.arange(3))).tolist() == [0, 1, 2]
