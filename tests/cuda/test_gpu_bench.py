# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_bench.py: choice of steps, comparison with earlier runs, and the files of results. Nothing is measured."""

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CARD = {"device": "NVIDIA X1", "driver": "580.1"}


@pytest.fixture
def bench():
    spec = importlib.util.spec_from_file_location("gpu_bench_under_test", ROOT / "tools" / "gpu_bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(bench, tmp_path, earlier=None, rows=""):
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(earlier))
    options = argparse.Namespace(json=str(tmp_path / "bench.json"), rows=rows, against=str(file) if earlier else "")
    return bench.Report(options, CARD)


def run_of(rows, **card):
    return CARD | card | {"rows": rows}


def test_steps_come_in_the_order_of_the_patterns(bench):
    steps = [(name, None) for name in ("sorts float32", "scans int32", "sorts uint8", "casts uint8")]
    assert [name for name, _ in bench.chosen(steps, ["scans", "sorts"])] == [
        "scans int32",
        "sorts float32",
        "sorts uint8",
    ]
    assert [name for name, _ in bench.chosen(steps, ["casts", ""])][:2] == ["casts uint8", "sorts float32"]
    assert bench.chosen(steps, []) == steps


def test_a_pattern_without_a_step_is_an_error(bench):
    with pytest.raises(SystemExit, match="no step's name begins with 'sort '"):
        bench.chosen([("sorts float32", None)], ["sort "])


def test_earlier_numbers_are_those_of_the_same_card_and_driver(bench, tmp_path, capsys):
    earlier = [
        run_of({"add": {"unit": "GB/s", "dltensor": 1.0, "torch": 5.0}, "old": {"unit": "GB/s", "dltensor": 2.0}}),
        run_of({"add": {"unit": "GB/s", "dltensor": 3.0}}),
        run_of({"add": {"unit": "GB/s", "dltensor": 9.0, "torch": 9.0}}, driver="999"),
        run_of({"add": {"unit": "GB/s", "dltensor": 9.0, "torch": 9.0}}, device="NVIDIA X2"),
    ]
    found = report(bench, tmp_path, earlier).earlier
    assert found == {"add": {"unit": "GB/s", "dltensor": 3.0, "torch": 5.0}, "old": {"unit": "GB/s", "dltensor": 2.0}}


def test_peers_are_measured_only_in_rows_without_earlier_numbers(bench, tmp_path, capsys):
    bench.torch = bench.cupy = "imported"
    seen = report(bench, tmp_path, [run_of({"add": {"unit": "GB/s", "dltensor": 4.0, "torch": 5.0}})])
    works = {"dltensor": "ours", "torch": "theirs", "cupy": None}
    assert seen.unmeasured("add", works) == {"dltensor": "ours"}
    assert seen.unmeasured("sort", works) == {"dltensor": "ours", "torch": "theirs"}


def test_peers_that_are_not_imported_do_not_run(bench, tmp_path):
    assert report(bench, tmp_path).unmeasured("add", {"dltensor": "ours", "torch": "theirs"}) == {"dltensor": "ours"}


def test_a_row_says_how_it_stands_to_goals_and_to_the_earlier_run(bench, tmp_path, capsys):
    seen = report(bench, tmp_path, [run_of({"add": {"unit": "GB/s", "dltensor": 4.0, "torch": 8.0}})])
    seen.add("add", "GB/s", {"dltensor": 6.0}, {"torch": 1.0})
    seen.add("call", "ns", {"dltensor": 5.0, "torch": 10.0}, {"torch": 0.6})
    out = capsys.readouterr().out
    assert "MISSED 0.750 of torch (goal 1.0)  was 4 (1.500)" in out
    assert "ok 0.500 of torch (goal 0.6)  new" in out
    assert seen.rows["add"] == {"unit": "GB/s", "dltensor": 6.0, "torch": 8.0}


def test_rows_are_chosen_by_name(bench, tmp_path):
    seen = report(bench, tmp_path, rows="sum|max")
    assert [seen.wants(name) for name in ("sum of all", "argmax of rows", "sort")] == [True, True, False]


def test_a_run_is_folded_into_the_results_of_its_card(bench, tmp_path, capsys):
    bench.RESULTS = tmp_path / "results"
    shutil.copytree(ROOT / "benchmarks" / "results", bench.RESULTS)
    file = bench.RESULTS / "nvidia-h100-80gb-hbm3.json"
    before = json.loads(file.read_text())
    run = {"date": "2026-12-01", "commit": "abc1234", "device": "NVIDIA H100 80GB HBM3", "driver": "580.159.04"}
    (tmp_path / "bench.json").write_text(json.dumps({**run, "rows": {"add": {"unit": "GB/s", "dltensor": 1.5}}}))
    (tmp_path / "verdict.txt").write_text(
        "smoke      rc 0      3s  ok\nengine     rc 0     40s  259 passed, 0 failed, 0 errors, 33 skipped\n"
        "streams    rc 1     40s  40 passed, 9 failed, 0 errors, 0 skipped\n"
    )
    assert bench.fold(tmp_path) == 0
    after = json.loads(file.read_text())
    assert after[:-1] == before
    tests = {"engine": "259 passed, 0 failed, 0 errors, 33 skipped"}
    assert after[-1] == {**run, "tests": tests, "rows": {"add": {"unit": "GB/s", "dltensor": 1.5}}}


def test_folding_nothing_is_an_error(bench, tmp_path):
    assert "no bench*.json" in bench.fold(tmp_path)


def test_the_files_of_results_are_written_as_they_are(bench, tmp_path, capsys):
    """Folding a run changes no line of the earlier ones."""
    bench.RESULTS = tmp_path / "results"
    shutil.copytree(ROOT / "benchmarks" / "results", bench.RESULTS)
    (tmp_path / "bench.json").write_text(json.dumps({"device": "NVIDIA H200", "rows": {}}))
    bench.fold(tmp_path)
    for path in (ROOT / "benchmarks" / "results").glob("nvidia-*.json"):
        lines = {line.rstrip(",") for line in (bench.RESULTS / path.name).read_text().splitlines()}
        assert [line for line in path.read_text().splitlines() if line.rstrip(",") not in lines] == []
