# SPDX-License-Identifier: Apache-2.0
"""The mutation tool: it finds the faults of small samples, none outside of code, and reports surviving mutants."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from mutation import building, finding, records, testing  # noqa: E402

CPP = """// a == b, 1 + 2
#include "native/x.h"
#define TWICE(x) (x) + 1 == 2 && 3
static_assert(sizeof(int) == 4 && 1 + 1 == 2);
template <class T, int N = 3>
int64_t f(const T* p, std::vector<T>& v) {
  v.reserve(100);
  const char* text = "a && b + 1";
  int64_t n = *p - 0x10;
  if (n <= 2 && p != nullptr) return n;
  v[0] = n;
  return n;
}
"""
PYTHON = '''"""A docstring: 1 == 2."""
import os

LIMIT = 10


def f(x: int = 3, *rest) -> 4:
    """Return x + 1."""
    if x is None or x >= 2:
        raise ValueError(f"f: expected 1, got {x + 1}")  # or 5
    for y in rest:
        x += y * 2
    return x
'''
CYTHON = """from libc.stdint cimport int64_t

cdef extern from "x.h":
    enum:
        SIZE = 4

cdef int64_t f(const int64_t* p, object key) except -1:
    cdef int64_t n = <int64_t>p[0]
    if n not in key: return 1
    n = g(&n)
    return 0
"""
FOUND = {
    "sample.cc": [
        ("arithmetic", "-", "+"),
        ("constant", "0x10", None),
        ("condition", "n <= 2 && p != nullptr", "!(n <= 2 && p != nullptr)"),
        ("comparison", "<=", "<"),
        ("constant", "2", None),
        ("condition", "&&", "||"),
        ("comparison", "!=", "=="),
        ("dropped statement", "return n;", ";"),
        ("dropped statement", "v[0] = n;", ";"),
        ("constant", "0", "1"),
    ],
    "sample.py": [
        ("constant", "10", None),
        ("constant", "3", None),
        ("condition", "x is None or x >= 2", "not (x is None or x >= 2)"),
        ("comparison", "is", "is not"),
        ("condition", "or", "and"),
        ("comparison", ">=", ">"),
        ("constant", "2", None),
        ("dropped statement", 'raise ValueError(f"f: expected 1, got {x + 1}")', "pass"),
        ("dropped statement", "x += y * 2", "pass"),
        ("arithmetic", "+=", "-="),
        ("arithmetic", "*", "+"),
        ("constant", "2", None),
        ("dropped statement", "return x", "pass"),
    ],
    "sample.pyx": [
        ("constant", "0", "1"),
        ("condition", "n not in key", "not (n not in key)"),
        ("comparison", "not in", "in"),
        ("dropped statement", "return 1", "pass"),
        ("constant", "1", None),
        ("dropped statement", "n = g(&n)", "pass"),
        ("constant", "0", "1"),
    ],
}
SAMPLES = {"sample.cc": CPP, "sample.py": PYTHON, "sample.pyx": CYTHON}


@pytest.mark.parametrize("file", FOUND)
def test_every_fault_of_a_sample_is_found_and_nothing_else(file):
    text = SAMPLES[file]
    found = [(m.kind, text[m.start : m.end], m.after) for m in finding.find(file, text)]
    assert [row[:2] for row in found] == [row[:2] for row in FOUND[file]]
    for (_, before, got), (_, _, wanted) in zip(found, FOUND[file], strict=True):
        assert got == wanted or (wanted is None and abs(int(got, 0) - int(before, 0)) == 1)


def test_integers_are_off_by_one_in_any_notation():
    text = "f(0, 1u, 0xFFull, 1.5, 1e3);"
    after = [m.after for m in finding.find("x.cc", text) if m.kind == "constant"]
    assert [a in wanted for a, wanted in zip(after, [{"1"}, {"0u", "2u"}, {"0xfeull", "0x100ull"}], strict=True)] == [
        True
    ] * 3


def test_a_beginning_of_the_order_is_spread_over_files_and_kinds():
    mutants = [
        m for file, text in SAMPLES.items() for m in finding.find(file, text * 3 if file == "sample.cc" else text)
    ]
    order = finding.in_order(mutants, 1)
    assert sorted(map(repr, order)) == sorted(map(repr, mutants))
    assert {m.file for m in order[:6]} == set(SAMPLES)
    assert {m.kind for m in order[:12]} == set(finding.KINDS)
    assert finding.in_order(mutants, 1) == order != finding.in_order(mutants, 2)


def test_a_mutant_is_described_by_whole_lines():
    mutant = next(m for m in finding.find("sample.cc", CPP) if m.kind == "arithmetic")
    assert mutant.describe(CPP) == {
        "file": "sample.cc",
        "line": 9,
        "kind": "arithmetic",
        "before": "int64_t n = *p - 0x10;",
        "after": "int64_t n = *p + 0x10;",
    }


def test_mutants_are_found_all_over_the_package():
    files = [path for end in ("*.cc", "*.pyx", "*.py") for path in (ROOT / "src").rglob(end)]
    found = {path.suffix: set() for path in files}
    for path in files:
        found[path.suffix] |= {m.kind for m in finding.find(path.name, path.read_text())}
    assert len(files) > 100
    assert all(kinds == set(finding.KINDS) for kinds in found.values())


def test_each_pattern_names_a_file_and_each_test_exists():
    named = {
        path.relative_to(ROOT / "src" / "dltensor").as_posix() for path in (ROOT / "src" / "dltensor").rglob("*.*")
    }
    for pattern, tests in testing.TESTS:
        assert any(testing.fnmatch.fnmatch(name, pattern) for name in named), pattern
        assert [test for test in tests if not (ROOT / test).exists()] == []


def test_equivalent_mutants_have_reasons():
    for (file, before, after), reason in records.equivalents().items():
        assert (ROOT / file).suffix
        assert before != after
        assert len(reason) > 15


def test_a_fault_is_put_back_with_its_time(tmp_path):
    kept, work = tmp_path / "kept", tmp_path / "work"
    (kept / "a").mkdir(parents=True)
    (kept / "a" / "b").write_text("b = 1")
    building.mirror(kept, work)
    (work / "a" / "b").write_text("b = 2")
    (work / "new").write_text("")
    building.mirror(kept, work)
    assert (work / "a" / "b").read_text() == "b = 1"
    assert (work / "a" / "b").stat().st_mtime_ns == (kept / "a" / "b").stat().st_mtime_ns
    assert not (work / "new").exists()


# What a fault makes of a function, and how the tool names what found it.
FATES = {
    "survives": ("def f(): return 1", ""),
    "fails": ("def f(): return 2", "test_f.py::test_f"),
    "crashes": ("def f():\n    import os; os.kill(os.getpid(), 11)", "crash: test_f.py::test_f"),
    "hangs": ("def f():\n    while True: pass", "hang: test_f.py::test_f"),
    "does not load": ("1 / 0", "start"),
}


@pytest.mark.parametrize("fate", FATES)
def test_what_finds_a_fault_is_named(fate, tmp_path, monkeypatch):
    source, killer = FATES[fate]
    (tmp_path / "tree").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "tree" / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "site" / "planted.py").write_text(source)
    (tmp_path / "tree" / "test_f.py").write_text("import planted\ndef test_f(): assert planted.f() == 1\n")
    monkeypatch.setattr(testing, "SECONDS_PER_TEST", 0.5)
    copy = SimpleNamespace(
        folder=tmp_path, compiled=tmp_path, tree=tmp_path / "tree", site=tmp_path / "site", python=Path(sys.executable)
    )
    assert (
        testing.run_tests(copy, ["-p", "no:dltensor", "-p", "no:hypothesispytest", "-W", "ignore", "test_f.py"])
        == killer
    )


def test_a_log_adds_up_and_shows_what_survived(tmp_path):
    row = {"file": "a.cc", "line": 1, "kind": "constant", "before": "1", "after": "2", "state": "survived"}
    records.Log(tmp_path / "log.json").add(row)
    log = records.Log(tmp_path / "log.json")
    log.add(row | {"before": "3", "state": "killed"})
    assert log.summary() == (
        "a.cc:1: constant\n  - 1\n  + 2\n  survived\n1 of 2 mutants killed, 50%; 0 are equivalent, 0 did not compile"
    )
    log.add(row | {"state": "killed"})
    assert "2 of 2 mutants killed, 100%" in log.summary()


def test_the_command_lists_what_it_would_plant(tmp_path):
    command = [
        sys.executable,
        str(ROOT / "tools" / "mutate.py"),
        "--list",
        "--count",
        "3",
        "--files",
        "native/layout/*",
    ]
    done = subprocess.run([*command, "--folder", str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("src/dltensor/native/layout/") == 3
    assert not (tmp_path / "work").exists()
