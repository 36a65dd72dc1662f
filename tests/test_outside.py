# SPDX-License-Identifier: Apache-2.0
"""tools/outside.py with small suites: the list of failures, patterns, exit codes, crashes, diffs, roles, the page."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

sys.path.insert(0, str(ROOT / "tools" / "outside"))

import outside  # noqa: E402
import records  # noqa: E402
import rewriting  # noqa: E402
import shadow  # noqa: E402
import suites  # noqa: E402

TOY = """
import os
import pytest


@pytest.mark.parametrize("name", ["a", "b[0]"])
def test_passes(name):
    pass


@pytest.mark.parametrize("name", ["a", "b"])
def test_fails(name):
    assert name == "c", "not c"


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected_to_fail():
    raise RuntimeError
"""
ENTRY = """
[[failures]]
class = "client"
reason = "the toy expects c"
tests = [{tests}]
"""
LISTED = ENTRY.format(tests='"*::test_fails[[ab]]"'.replace("[[ab]]", "[?]"))


def run_toy(folder, suite="", code=TOY, options=(), checkout=True):
    """Run a suite of one file."""
    tests = folder / "checkouts" / "toy" / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    (tests / "test_toy.py").write_text(code)
    (folder / "toy.toml").write_text(f'folders = ["tests"]\ntests = ["tests/test_toy.py"]\n{suite}')
    command = [sys.executable, str(ROOT / "tools" / "outside.py"), "toy", "--suites-in", str(folder)]
    command += ["--checkout", str(folder / "checkouts")] if checkout else []
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The results of one run, to be compared with several lists."""
    folder = tmp_path_factory.mktemp("toy")
    assert run_toy(folder).returncode == 1
    return (folder / "results" / "toy-.json").read_text()


def compare(folder, measured, suite):
    """Compare the results of the run with the list of a suite."""
    (folder / "results").mkdir(exist_ok=True)
    (folder / "results" / "toy-.json").write_text(measured)
    return run_toy(folder, suite, options=["--again"], checkout=False)


# -- the comparison with the list


def test_failures_that_are_listed_end_with_status_0_and_are_printed_with_their_class_and_reason(tmp_path, measured):
    ended = compare(tmp_path, measured, LISTED)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "2 passed, 2 failed, 1 skipped, 1 xfailed; 0 failures are not listed" in ended.stdout
    assert "failed, 2, client: the toy expects c\n      tests/test_toy.py::test_fails[a]" in ended.stdout


def test_a_failure_that_is_not_listed_ends_with_status_1_and_names_the_test_and_its_error(tmp_path, measured):
    ended = compare(tmp_path, measured, ENTRY.format(tests='"*::test_fails[a]"'))
    assert ended.returncode == 1
    assert "FAILED, not listed: tests/test_toy.py::test_fails[b]\n      AssertionError: not c" in ended.stdout
    assert ended.stdout.count("FAILED") == 1


def test_an_entry_that_passes_is_named_and_does_not_fail(tmp_path, measured):
    ended = compare(tmp_path, measured, LISTED + ENTRY.format(tests='"*::test_passes[b[0]]", "*::test_none"'))
    assert ended.returncode == 0
    assert "listed, but passes (1): *::test_passes[b[0]]\n" in ended.stdout
    assert "test_none" not in ended.stdout


def test_an_entry_for_one_error_does_not_hold_for_another(tmp_path, measured):
    assert compare(tmp_path, measured, LISTED + 'errors = ["*: not c*"]').returncode == 0
    assert compare(tmp_path, measured, LISTED + 'errors = ["*: not d*"]').returncode == 1


@pytest.mark.parametrize(
    "entry",
    [
        'class = "unknown"\nreason = "r"\ntests = ["t"]',
        'class = "client"\ntests = ["t"]',
        'class = "client"\nreason = "r"',
        'class = "client"\nreason = "r"\ntests = ["t"]\nwhy = "w"',
    ],
)
def test_an_entry_without_class_reason_and_tests_is_refused(tmp_path, measured, entry):
    ended = compare(tmp_path, measured, f"[[failures]]\n{entry}\n")
    assert ended.returncode == 1
    assert "toy.toml: an entry of failures needs a class of ours, " in ended.stderr


def test_results_that_are_missing_are_an_error_that_says_what_to_do(tmp_path):
    ended = run_toy(tmp_path, options=["--again"], checkout=False)
    assert ended.returncode == 1
    assert "toy-.json; run the suite without --again first" in ended.stderr


def test_a_suite_of_which_nothing_was_examined_ends_with_status_1(tmp_path):
    ended = run_toy(tmp_path, options=["--", "-k", "skipped"])
    assert ended.returncode == 1
    assert "FAILED: no test was examined" in ended.stdout


def test_a_file_that_cannot_be_imported_is_a_failure(tmp_path):
    ended = run_toy(tmp_path, code="import nothing_of_that_name\n")
    assert ended.returncode == 1
    assert "FAILED, not listed: tests/test_toy.py (collecting)" in ended.stdout


def test_a_test_that_ends_the_process_has_failed_and_the_others_are_run(tmp_path):
    code = TOY + "\ndef test_abort():\n    os.abort()\n\ndef test_last():\n    pass\n"
    ended = run_toy(tmp_path, LISTED, code)
    assert ended.returncode == 1
    assert "3 passed, 3 failed" in ended.stdout
    assert "test_abort\n      the process ended with status -6" in ended.stdout


def test_patterns_have_only_two_signs():
    assert suites.matches("*::test[a-?]", "file.py::test[a-1]")
    assert not suites.matches("*::test[a]", "file.py::testa")
    assert not suites.matches("test", "file.py::test")


def test_entries_of_a_run_hold_for_that_run_only(tmp_path):
    both = '[runs.one]\n[runs.two]\nenvironment = { TOY = "1" }\n'
    ended = run_toy(tmp_path, both + LISTED + 'run = "one"\n')
    assert ended.returncode == 1
    assert re.findall(r"^toy, (\w+) .*; (\d+) failures", ended.stdout, re.M) == [("one", "0"), ("two", "2")]
    one = run_toy(tmp_path, both + LISTED + 'run = "one"\n', options=["--run", "one", "--again"], checkout=False)
    assert one.returncode == 0


def test_what_passed_without_tensors_may_be_taken_from_the_last_run(tmp_path):
    suite = 'environment = { TOY = "1" }\ncontrol = { environment = { TOY = "0" } }\n'
    code = TOY + '\ndef test_of_tensors():\n    assert os.environ["TOY"] == "0"\n'
    run_toy(tmp_path, suite, code)
    kept = json.loads((tmp_path / "results" / "toy-.json").read_text())
    kept["control"]["tests/test_toy.py::test_of_tensors"] = "failed"
    (tmp_path / "results" / "toy-.json").write_text(json.dumps(kept))
    ended = run_toy(tmp_path, suite, code, options=["--keep-control"])
    assert (ended.returncode, "2 passed; 0 failures" in ended.stdout) == (0, True)


def test_tests_that_fail_without_tensors_do_not_count(tmp_path):
    suite = 'environment = { TOY = "1" }\ncontrol = { environment = { TOY = "0" } }\n'
    code = TOY + '\ndef test_of_tensors():\n    assert os.environ["TOY"] == "0"\n'
    ended = run_toy(tmp_path, suite, code)
    assert ended.returncode == 1
    assert "2 passed, 1 failed; 1 failures" in ended.stdout
    assert "test_of_tensors" in ended.stdout


# -- the files


def test_an_unknown_suite_is_an_error_that_names_those_that_exist():
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "outside.py"), "nothing"], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "expected the name of a suite, got 'nothing'; these exist: compat, " in ended.stderr


def test_a_folder_without_the_files_of_a_suite_is_an_error(tmp_path):
    run_toy(tmp_path)
    (tmp_path / "checkouts" / "toy" / "tests").rename(tmp_path / "moved")
    with pytest.raises(SystemExit, match=r"toy: expected tests in .*checkouts or in a folder below it"):
        suites.find_source(suites.load("toy", tmp_path), tmp_path / "checkouts")


def test_a_suite_without_checkout_or_package_is_an_error_that_says_what_to_give(tmp_path):
    (tmp_path / "toy.toml").write_text('url = "https://example.org/toy"\ntests = ["t"]\n')
    with pytest.raises(SystemExit, match=r"give --checkout DIR, a copy of https://example\.org/toy"):
        suites.find_source(suites.load("toy", tmp_path), None)


def test_a_diff_changes_the_copy_and_not_the_original(tmp_path, monkeypatch):
    lines = ["--- a/toy.py", "+++ b/toy.py", "@@ -1 +1 @@", "-x = 1", "+x = 2", ""]
    (tmp_path / "toy.diff").write_text("\n".join(lines))
    monkeypatch.setattr(suites, "UPSTREAM", tmp_path)
    (tmp_path / "source").mkdir()
    original = tmp_path / "source" / "toy.py"
    original.write_text("x = 1\n")
    suite = suites.Suite("toy", {"folders": ["toy.py"], "patches": ["toy.diff"], "tests": ["toy.py"]})
    suites.copy_files(suite, suite.runs[0], tmp_path / "source", tmp_path / "copy")
    assert ((tmp_path / "copy" / "toy.py").read_text(), original.read_text()) == ("x = 2\n", "x = 1\n")
    original.write_text("x = 3\n")
    with pytest.raises(SystemExit, match=r"toy\.diff does not apply"):
        suites.copy_files(suite, suite.runs[0], tmp_path / "source", tmp_path / "other")


def test_every_suite_can_be_read_and_its_diffs_exist():
    loaded = [suites.load(name) for name in suites.names()]
    assert len(loaded) >= 10
    assert {patch for suite in loaded for patch in suite.patches} == {
        path.name for path in suites.UPSTREAM.glob("*.diff")
    }
    assert all(suite.url or suite.package for suite in loaded)
    assert all(entry.run in (None, *[run.name for run in suite.runs]) for suite in loaded for entry in suite.failures)


# -- rewritten files

HEADER = "import os\nimport numpy as np\nimport pytest\n\n"
PASSES = """
def test_exchange():
    x = np.arange(5)
    y = np.from_dlpack(x)
    assert y[2] == 2
"""
FAILS_WITH_OURS = """
def test_type():
    assert type(np.from_dlpack(np.arange(5))) is type(np.arange(0))
"""
READ_ONLY = """
@pytest.mark.parametrize("spelling", ["method", "attribute"])
def test_read_only(spelling):
    x = np.arange(5)
    if spelling == "method":
        x.setflags(write=False)
    else:
        x.flags.writeable = False
    with pytest.raises(BufferError):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable
"""
USES_NO_TENSOR = """
def test_without_arrays():
    assert np.dtype("f4").itemsize == 4


def test_that_fails_by_itself():
    raise RuntimeError
"""


def run_numpy(folder, text):
    """Run the suite of NumPy's tests of DLPack with another text of the file."""
    file = folder / "checkout" / "numpy" / "_core" / "tests" / "test_dlpack.py"
    file.parent.mkdir(parents=True)
    file.write_text(HEADER + text)
    copied = (suites.HERE / "numpy-dlpack.toml").read_text()
    (folder / "numpy-dlpack.toml").write_text(copied)
    command = [sys.executable, str(ROOT / "tools" / "outside.py"), "numpy-dlpack", "--suites-in", str(folder)]
    ended = subprocess.run([*command, "--checkout", str(folder)], capture_output=True, text=True, timeout=300)
    return ended, re.findall(r"^numpy-dlpack, (\w+) \(\d+ s\): (.*)$", ended.stdout, re.M)


def test_tests_count_in_both_roles_where_a_tensor_of_ours_takes_part(tmp_path):
    ended, counts = run_numpy(tmp_path, PASSES + READ_ONLY + USES_NO_TENSOR)
    expected = "3 passed; 0 failures are not listed"
    assert (ended.returncode, counts) == (0, [("producer", expected), ("consumer", expected)])


def test_a_rewritten_test_that_fails_with_ours_only_is_a_failure(tmp_path):
    ended, counts = run_numpy(tmp_path, FAILS_WITH_OURS + PASSES)
    assert ended.returncode == 1
    assert counts[1] == ("consumer", "1 passed, 1 failed; 1 failures are not listed")
    assert "::test_type" in ended.stdout


# -- NumPy's namespace, replaced and in shadow

IN_PLACE = """
def test_sum():
    assert type(np.sum(np.arange(3))).__name__ == "Tensor"


def test_of_objects():
    assert np.sum(np.array([1, None], dtype=object)[:1]) == 1


def test_fails():
    assert np.cumsum(np.ones(2)).tolist() == [1, 3]
"""
IN_SHADOW = """
ROUNDED = np.round


def test_agrees():
    assert isinstance(np.cumsum(np.ones(2)), np.ndarray)


def test_is_refused():
    np.sum(np.ones(2), axis=np.array(0), where=np.array([True, False]))
    with pytest.raises(ValueError):
        np.reshape(np.ones(3), (2, 2))


def test_differs(monkeypatch):
    monkeypatch.setattr(np.sort, "ours", lambda x: x)
    np.sort(np.array([2, 1]))


def test_fails_by_itself():
    assert np.sum(np.ones(2)) == 3
"""


def run_namespace(folder, name, text):
    """Run a suite of NumPy's tests with one file of our own."""
    file = folder / "checkout" / "numpy" / "lib" / "tests" / "test_own.py"
    file.parent.mkdir(parents=True)
    file.write_text(HEADER + text)
    suite = (suites.HERE / f"{name}.toml").read_text()
    suite = re.sub(r"(?s)\[\[failures\]\].*", "", suite)
    suite = re.sub(r"(?ms)^arguments = .*?\]$", "", suite)
    suite = re.sub(r"(?ms)^tests = .*?\]$", 'tests = ["numpy/lib/tests"]\nfolders = ["numpy/lib/tests"]', suite)
    (folder / f"{name}.toml").write_text(suite)
    command = [sys.executable, str(ROOT / "tools" / "outside.py"), name, "--suites-in", str(folder)]
    ended = subprocess.run([*command, "--checkout", str(folder)], capture_output=True, text=True, timeout=300)
    return ended, re.findall(r"^numpy\S* \(\d+ s\): (.*)$", ended.stdout, re.M)


def test_a_test_of_numpy_with_our_functions_counts_if_one_is_called(tmp_path):
    ended, counts = run_namespace(tmp_path, "numpy", IN_PLACE)
    assert (ended.returncode, counts) == (1, ["1 passed, 1 failed, 4 calls with tensors; 1 failures are not listed"])
    assert "test_own.py::test_fails\n" in ended.stdout


def test_a_call_of_numpy_that_ours_repeats_with_another_result_is_a_failure(tmp_path):
    ended, counts = run_namespace(tmp_path, "numpy-shadow", IN_SHADOW)
    assert ended.returncode == 1
    assert counts[0].startswith("2 passed, 1 failed, 1 skipped, ")
    assert "shadow: <lambda>: 2 in place of 1 (2 of 2, int64 and int64)" in ended.stdout


@pytest.mark.parametrize(
    ("expected", "result", "difference"),
    [
        (np.array([1.0, 1e-9]), np.array([1.0, 1e-9 + 1e-14]), ""),
        (np.array([1.0, 1e-9]), np.array([1.0, 1e-7]), "1e-07 in place of 1e-09 (1 of 2, float64 and float64)"),
        (np.float32([1.0]), np.array([1.0000001]), ""),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), ""),
        (np.array([np.nan, np.inf]), np.array([np.nan, -np.inf]), "-inf in place of inf (1 of 2, float64 and float64)"),
        (np.array([0.0]), np.array([np.nan]), "nan in place of 0.0 (1 of 1, float64 and float64)"),
        (np.array([2**63], np.uint64), np.array([2**63 - 1], np.uint64), "9223372036854775807 in place of"),
        (np.array([1j]), np.array([1.0]), "1.0 in place of 1j"),
        ((np.zeros(1), 2), [np.zeros(1), 2], ""),
        ((np.zeros(1), 2), np.zeros(1), "ndarray in place of 2 results"),
        (np.zeros((1, 2)), np.zeros(2), "shape (2,) in place of (1, 2)"),
        ("text", 3, ""),
    ],
)
def test_results_are_compared_by_the_precision_of_their_dtypes(expected, result, difference):
    found = shadow.compare(expected, result)
    assert found.startswith(difference) if difference else not found


def test_only_imports_are_rewritten_where_the_suite_says_so():
    text = rewriting.rewritten("import numpy as np\nx = np.zeros(2).astype(bool)\n", "imports")
    assert text.splitlines()[1:] == [
        "import numpy as np", "np = _outside.substitute('numpy', np)", "x = np.zeros(2).astype(bool)",
    ]  # fmt: skip


# -- records and the page


def test_the_page_has_the_table_of_the_records():
    text = records.PAGE.read_text()
    assert records.page(text, records.load()) == text
    assert len(records.load()) >= 7


def test_no_recorded_failure_is_ours_without_a_reason_or_not_listed():
    kept = [run for runs in records.load().values() for run in runs.values()]
    assert all(sum(run["classes"].values()) == run["failed"] for run in kept)
    assert not any("not listed" in run["classes"] for run in kept)


def test_a_record_has_counts_classes_and_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results.json")
    suite = suites.Suite("toy", {"folders": ["t"], "tests": ["t"], "failures": [
        {"class": "client", "reason": "r", "tests": ["b"]}
    ]})  # fmt: skip
    results = {name: {"outcome": outcome, "why": "", "used": 1} for name, outcome in (("a", "passed"), ("b", "failed"))}
    report = outside.Report(suite.runs[0], results, None, suite.failures)
    measured = {"versions": {"toy": "1.0"}, "commit": "abc", "date": "2026-11-28", "seconds": 3}
    records.keep("toy", "", report, measured)
    assert json.loads((tmp_path / "results.json").read_text())["toy"][""] == {
        "passed": 1, "failed": 1, "skipped": 0, "xfailed": 0, "classes": {"client": 1}, **measured,
    }  # fmt: skip
    assert "| `toy` | toy 1.0 | 1 | 1 | 0 | 1 client | 2026-11-28, `abc` |" in records.table(records.load())


def test_part_of_a_suite_is_not_recorded(tmp_path):
    ended = run_toy(tmp_path, LISTED, options=["--record", "--", "-k", "passes"])
    assert ended.returncode == 1
    assert "--record keeps complete runs" in ended.stderr
