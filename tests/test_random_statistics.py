# SPDX-License-Identifier: Apache-2.0
"""tools/random_statistics.py on few values: no test fails without cause, and spoiled values are found."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "tools" / "random_statistics.py"


@pytest.fixture(scope="module")
def statistics():
    spec = importlib.util.spec_from_file_location("random_statistics", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_test_fails_without_cause(statistics, capsys):
    assert statistics.main(["--seeds", "3", "--values", "20000"]) == 0
    assert capsys.readouterr().out.endswith("33 tests of 3 seeds, 20000 values each: 0 failed\n")


def test_repeated_values_are_found(statistics, capsys):
    assert statistics.main(["--seeds", "2", "--values", "300000", "--planted"]) == 1
    assert "pairs" in capsys.readouterr().out.split("FAILED")[0].splitlines()[-1]


def test_p_values_are_those_of_the_distributions(statistics):
    assert statistics.of_normal(1.959964) == pytest.approx(0.05, rel=1e-6)
    assert statistics.of_counts([48, 52] * 50) == pytest.approx(1.0, abs=1e-3)
    assert statistics.of_counts([10, 90]) < 1e-9
    assert statistics.normal_below(1.0) == pytest.approx(0.8413447460685429, abs=1e-9)
    assert statistics.of_distances((statistics.np.arange(1000) + 0.5) / 1000) == 1.0
    assert statistics.of_distances(statistics.np.linspace(0, 0.9, 1000)) < 1e-6


def test_p_values_that_are_not_uniform_are_a_failure(statistics):
    assert statistics.verdict([k / 100 for k in range(1, 100)])[2]
    assert not statistics.verdict([k / 300 for k in range(1, 100)])[2]
    assert not statistics.verdict([1e-8, *(k / 100 for k in range(1, 100))])[2]
