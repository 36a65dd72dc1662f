# SPDX-License-Identifier: Apache-2.0
"""`dltensor matrix`: what it finds between frameworks, planted ones too, and what it writes. The page is in
test_matrix_page.py."""

import io
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dltensor as dl
from dltensor.conformance.matrix.drawing import COLOURS, svg
from dltensor.conformance.matrix.measure import ARRIVES, GRADES, OUTCOMES, Exchange, Matrix, compare, measure
from dltensor.conformance.matrix.text import MARKS, STYLES, VIEWS, changes_text, plain, show

HERE = Path(__file__).parent


@cache
def small():
    pytest.importorskip("numpy")
    return measure(["dltensor", "numpy"])


def fresh():
    return Matrix.from_dict(json.loads(json.dumps(small().as_dict())))


def dltensor_matrix(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dltensor", "matrix", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=HERE,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )


@cache
def kept(folder):
    path = folder / "matrix.json"
    small().write(path)
    return path


def test_two_sound_frameworks_share_whatever_both_have():
    matrix = small()
    assert matrix.producers == matrix.consumers == ["dltensor", "numpy"]
    for pair, one in matrix.pairs.items():
        assert one.grade == "shares", pair
        assert one.readonly == "kept", pair
        assert one.nanoseconds > 0, pair
        assert set(one.outcomes("layout").values()) == {"shares"}, pair
    ours = matrix.pairs["dltensor", "dltensor"].outcomes("dtype")
    assert set(ours) == set(dl.DTYPES)
    assert [name for name, outcome in ours.items() if outcome == "shares"] == matrix.pairs[
        "dltensor", "dltensor"
    ].passing("dtype")
    assert matrix.pairs["dltensor", "numpy"].outcomes("dtype")["bfloat16"] == "refused"
    assert matrix.pairs["numpy", "dltensor"].outcomes("dtype")["bfloat16"] == "unexported"


@pytest.mark.parametrize(
    ("target", "case", "outcome"),
    [
        ("planted:read_only_is_kept", "readonly", "lost"),
        ("odd_consumers:shifted", "layout:c", "wrong"),
        ("odd_consumers:aborting", "layout:reversed", "crashed"),
        ("odd_consumers:aborting", "layout:transposed", "shares"),
        ("odd_consumers:copying", "layout:c", "copies"),
        ("odd_consumers:narrowing", "dtype:float64", "changed"),
        ("odd_consumers:narrowing", "dtype:float32", "shares"),
        ("odd_consumers:refusing", "layout:stepped", "refused"),
        ("odd_consumers:blind", "layout:c", "passes"),
    ],
)
def test_what_a_consumer_does_is_found(target, case, outcome):
    assert odd(target).cases[case][0] == outcome


@cache
def odd(target):
    sys.path.append(str(HERE))
    try:
        return measure(["dltensor", target]).pairs["dltensor", target]
    finally:
        sys.path.remove(str(HERE))


def test_a_crash_ends_neither_the_other_cases_nor_the_run():
    one = odd("odd_consumers:aborting")
    assert "SIGABRT" in one.cases["layout:reversed"][1]
    assert one.grade == "crashes"
    assert len(one.passing("dtype")) > 20


def test_a_framework_that_cannot_be_imported_is_named_and_has_no_row():
    matrix = measure(["dltensor", "no_such_module:make"])
    assert matrix.producers == ["dltensor"]
    assert "cannot be loaded" in matrix.missing["no_such_module:make"]
    assert "Not measured: no_such_module:make" in plain(matrix)
    with pytest.raises(dl.conformance.Missing, match="expected frameworks that are installed"):
        measure(["no_such_module:make"])


def test_the_json_holds_everything(tmp_path):
    found = json.loads(kept(tmp_path).read_text())
    assert set(found) == {"format", "environment", "frameworks", "missing", "producers", "consumers", "pairs"}
    assert found["frameworks"]["dltensor"] == found["environment"]["dltensor"]
    assert len(found["pairs"]) == 4
    for pair in found["pairs"]:
        assert set(pair) == {"producer", "consumer", "cases", "nanoseconds", "trouble", "grade"}
        assert {outcome for outcome, _ in pair["cases"].values()} <= set(OUTCOMES)
        assert pair["grade"] in GRADES
    assert Matrix.read(tmp_path / "matrix.json") == small()


@pytest.mark.parametrize("content", ["[]", '{"format": 99}', "nothing", '{"format": 1}', '{"format": 1, "pairs": [3]}'])
def test_what_is_no_matrix_is_refused(tmp_path, content):
    (tmp_path / "old.json").write_text(content)
    done = dltensor_matrix("--diff", tmp_path / "old.json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr) > 20


def test_a_difference_is_said_and_is_the_exit_status(tmp_path):
    changed = fresh()
    changed.pairs["numpy", "dltensor"].cases["layout:reversed"] = ("crashed", "the process died by SIGABRT")
    changed.pairs["dltensor", "numpy"].cases["dtype:bfloat16"] = ("shares", "")
    changed.frameworks["numpy"] = "9.9"
    del changed.pairs["dltensor", "dltensor"]
    changed.write(tmp_path / "new.json")
    old = kept(tmp_path)
    same = dltensor_matrix("--diff", old, old)
    assert (same.returncode, same.stdout) == (0, "No exchange has changed.\n")
    done = dltensor_matrix("--diff", old, tmp_path / "new.json")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("version  numpy ")
    assert "lost     dltensor -> dltensor: everything passes, in the same memory" in lines
    assert "worse    numpy -> dltensor: layout:reversed: shares -> crashed" in lines
    assert "changed  dltensor -> numpy: dtype:bfloat16: refused -> shares" in lines
    assert len(lines) == 4


def test_a_new_pair_and_one_that_cannot_be_loaded_any_more_are_differences():
    old, new = fresh(), fresh()
    new.pairs["numpy", "third"] = Exchange("numpy", "third", {"layout:c": ("shares", "")})
    new.pairs["numpy", "dltensor"].trouble = "importing ended the child"
    new.pairs["numpy", "numpy"].nanoseconds *= 100
    kinds = {(one.kind, one.producer, one.consumer) for one in compare(old, new)}
    assert kinds == {("new", "numpy", "third"), ("changed", "numpy", "dltensor")}
    assert changes_text(compare(old, new)).startswith("new      numpy -> third")


def test_an_older_run_is_compared_with_now(tmp_path):
    path = tmp_path / "one.json"
    measure(["dltensor"]).write(path)
    done = dltensor_matrix("--only", "dltensor", "--diff", path)
    assert (done.returncode, done.stdout) == (0, "No exchange has changed.\n")
    assert done.stderr == "matrix: 1/1 dltensor -> dltensor: everything passes, in the same memory\n"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_a_table_with_a_row_per_producer(view):
    text = plain(small(), view, width=100)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line for line in lines if line[:3].strip().isdigit()]
    assert [row.split()[1] for row in rows] == ["dltensor", "numpy"]
    assert all(len(row.split()) == 4 for row in rows)
    assert VIEWS[view] in " ".join(text.split())


def test_colours_change_no_letter(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    show(small(), stream=stream, width=60)
    assert "\033[32m" in stream.getvalue()
    told = [line.rstrip() for line in re.sub(r"\033\[[0-9;]*m", "", stream.getvalue()).splitlines()]
    assert told == plain(small(), width=60).splitlines()


def test_what_is_grave_is_said_in_words():
    matrix = fresh()
    matrix.pairs["numpy", "dltensor"].cases["layout:reversed"] = ("crashed", "the process died by SIGABRT")
    matrix.pairs["dltensor", "dltensor"].cases["layout:reversed"] = ("crashed", "the process died by SIGABRT")
    matrix.pairs["numpy", "numpy"].cases["dtype:bool"] = ("changed", "exported as uint8")
    matrix.pairs["numpy", "dltensor"].cases["dtype:bool"] = ("changed", "exported as uint8")
    said = " ".join(plain(matrix).split())
    assert "Worth knowing (2)" in said
    assert "reversed from dltensor, numpy to dltensor ends the process: the process died by SIGABRT" in said
    assert "bool of numpy has another element type: exported as uint8" in said


def test_every_verdict_has_a_mark_a_colour_and_a_case():
    assert set(GRADES) == set(MARKS) == set(STYLES) == set(COLOURS)
    assert len(set(MARKS.values())) == len(MARKS)
    grades = {
        Exchange("a", "b", {"layout:c": ("shares", ""), "dtype:int8": ("shares", ""), **more}, trouble=trouble).grade
        for more, trouble in (
            ({}, ""),
            ({}, "no import"),
            ({"dtype:int8": ("refused", "")}, ""),
            ({"layout:row": ("copies", "")}, ""),
            ({"layout:row": ("refused", "")}, ""),
            ({"readonly": ("lost", "")}, ""),
            ({"dtype:bool": ("changed", "")}, ""),
            ({"dtype:bool": ("wrong", "")}, ""),
            ({"layout:row": ("crashed", "")}, ""),
        )
    }
    assert grades == set(GRADES)
    assert set(ARRIVES) < set(OUTCOMES)


def test_the_drawing_is_well_formed_and_names_everybody(tmp_path):
    top = ElementTree.fromstring(svg(small()))
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in top.iter(f"{space}text")]
    assert {"=14", "=28"} <= set(texts)
    assert sum("numpy" in text for text in texts) == 2
    assert len(top.findall(f".//{space}g")) == 4
    assert "script" not in svg(small())


def test_the_command_writes_what_it_is_asked_for(tmp_path):
    old = kept(tmp_path)
    done = dltensor_matrix(
        "--from",
        old,
        "--view",
        "time",
        "--svg",
        tmp_path / "a.svg",
        "--html",
        tmp_path / "a.html",
        "--json",
        tmp_path / "b.json",
    )
    assert done.returncode == 0, done.stderr
    assert "microseconds for one import" in done.stdout
    assert "\033" not in done.stdout
    assert (tmp_path / "a.svg").read_text() == svg(small())
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads((tmp_path / "b.json").read_text()) == json.loads(old.read_text())


def test_an_unknown_framework_is_refused_with_the_list():
    done = dltensor_matrix("--only", "nosuchframework")
    assert done.returncode == 2
    assert "expected dltensor" in done.stderr
    assert "got nosuchframework" in done.stderr
