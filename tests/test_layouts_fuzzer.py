# SPDX-License-Identifier: Apache-2.0
"""Calls of operands with random strides, and the defects that they find."""

import random
import sys
from pathlib import Path

import pytest

import dltensor as dl

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
import layouts


def run(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["layouts.py", *options])
    return layouts.main()


@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_results_do_not_depend_on_strides(first, monkeypatch, capsys):
    assert run(monkeypatch, "--seed", str(first), "--cases", "500") == 0
    made = int(capsys.readouterr().out.split()[1])
    assert made > 300, "few calls are refused"


def test_operands_are_of_every_kind():
    """Steps of either sign, gaps, repeated elements, and an element one before the first."""
    found = set()
    for seed in range(400):
        _, operands, _ = layouts.draw_call(random.Random(seed), "cpu")
        for t in operands:
            found |= {"backwards"} if any(s < 0 < n - 1 for s, n in zip(t.strides, t.shape, strict=True)) else set()
            found |= {"by -1"} if any(s == -1 and n > 1 for s, n in zip(t.strides, t.shape, strict=True)) else set()
            found |= {"in order"} if t.is_contiguous else {"apart"}
            found |= {str(t.dtype)}
    assert {"backwards", "by -1", "in order", "apart"} <= found
    assert len(found) == 4 + len(layouts.DTYPES)


@pytest.mark.parametrize("name", ["hypot", "sum", "exp"])
def test_a_planted_defect_is_found(name, monkeypatch, capsys):
    function = getattr(dl, name)

    def defective(*operands, **options):
        result = function(*operands, **options)
        if any(-1 in t.strides for t in operands) and result.size > 1 and "out" not in options:
            result = result.copy()
            result.reshape(-1)[-1] = 77
        return result

    monkeypatch.setattr(dl, name, defective)
    assert run(monkeypatch, "--cases", "3000") == 1
    assert "differs from that of copies" in capsys.readouterr().out
