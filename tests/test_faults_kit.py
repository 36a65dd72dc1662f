# SPDX-License-Identifier: Apache-2.0
"""The fault harness itself: consumers with planted defects must be detected, or the catalogue tests nothing."""

import os

import pytest
from faults.parent import environment, run_cases
from faults.structure import cases

SOUND, NEGATIVE = "A0 sound [object]", "A1 ndim -1 [object]"


def tried(vice, cache, monkeypatch, timeout=60):
    monkeypatch.setenv("DLTENSOR_VICE", vice)
    return run_cases([SOUND, NEGATIVE, "A0 sound [legacy object]"], cache, "faults.bad_consumer", timeout=timeout)


def test_a_faithful_consumer_passes(tmp_path, monkeypatch):
    assert {outcome for outcome, _ in tried("", tmp_path, monkeypatch).values()} == {"passed"}


@pytest.mark.parametrize(
    ("vice", "culprit", "outcome", "words"),
    [
        ("never deletes", SOUND, "failed", "the deleter ran 0 times"),
        ("deletes twice", SOUND, "failed", "the deleter ran 2 times"),
        ("deletes early", SOUND, "failed", "while the tensor lives"),
        ("wrong values", SOUND, "failed", "9.0"),
        ("accepts everything", NEGATIVE, "failed", "accepted"),
        ("crashes", NEGATIVE, "crashed", "SIGSEGV"),
    ],
)
def test_a_vice_is_seen_where_it_shows(vice, culprit, outcome, words, tmp_path, monkeypatch):
    if outcome == "crashed" and "DLTENSOR_SANITIZED" in os.environ:
        pytest.skip("AddressSanitizer catches the signal first")
    results = tried(vice, tmp_path, monkeypatch)
    assert results[culprit][0] == outcome, results[culprit]
    assert words in results[culprit][1]
    assert len(results) == 3, "the cases after the culprit must still be tried"


def test_a_hang_is_seen_and_survived(tmp_path, monkeypatch):
    results = tried("hangs", tmp_path, monkeypatch, timeout=5)
    assert results[NEGATIVE][0] == "hung"
    assert results["A0 sound [legacy object]"][0] == "passed"


def test_a_child_that_cannot_start_is_an_error_not_a_pass(tmp_path):
    with pytest.raises(RuntimeError, match="no_such_consumer"):
        run_cases([SOUND], tmp_path, "no_such_consumer")


def test_the_catalogue_is_large_enough():
    assert len(cases()) >= 250
    assert len({row.number for _, row in cases().values()}) >= 45
    assert environment("x")["DLTENSOR_FAULTS_CACHE"] == "x"
