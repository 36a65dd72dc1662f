# SPDX-License-Identifier: Apache-2.0
"""The fuzzer of files finds defects that are planted in a reader, and none in ours, as far as NumPy can tell."""

import sys
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
import checkpoints
import files


def refuses(words):
    """A reader that accepts what ours refuses with some words."""

    def read(data, path):
        made = files.read_ours(data, path)
        return {} if isinstance(made, str) and words in made else made

    return read


def changes(data, path):
    """A reader that gives other elements in one of a few types."""
    made = files.read_ours(data, path)
    if isinstance(made, str):
        return made
    return {
        name: (dtype, shape, raw[::-1] if dtype == "float32" else raw) for name, (dtype, shape, raw) in made.items()
    }


@pytest.mark.parametrize(
    "broken",
    [refuses("behind its last tensor"), refuses("leaves a hole"), refuses("overlaps"), refuses("must span"),
     refuses("is cut off"), changes],
    ids=["bytes at the end", "a hole", "an overlap", "a size", "a cut", "elements"],
)  # fmt: skip
def test_a_planted_defect_of_a_reader_is_found(broken):
    found, accepted, _ = files.run(1000, 1, files.hostile_safetensors, broken, files.read_ours, files.STRICTER)
    assert found
    assert accepted > 150


def test_npy_files_are_read_as_numpy_reads_them():
    found, accepted, _ = files.run(
        2000, 1, files.hostile_npy, files.read_ours, files.read_numpy, files.NPY_STRICTER, files.NPY_WIDER
    )
    assert found == []
    assert accepted > 200


def test_safetensors_files_are_read_as_their_own_reader_reads_them():
    pytest.importorskip("safetensors")
    found, accepted, _ = files.run(
        3000, 1, files.hostile_safetensors, files.read_ours, files.read_safetensors, files.STRICTER
    )
    assert found == []
    assert accepted > 500


def test_closes_beside_reads_disturb_no_read():
    assert files.run_closes(20, 1) == ([], 20)


def test_a_file_that_is_closed_while_it_is_read_is_found(monkeypatch):
    from dltensor.io import _files, _sources

    def close_at_once(self):
        if self._last_use is not None:
            self._source.close()
        self._last_use = self._data = None

    monkeypatch.setattr(_sources.LastUse, "__del__", lambda self: None)
    monkeypatch.setattr(_files.TensorFile, "_release", close_at_once)
    assert any(files.run_closes(40, seed)[0] for seed in range(20))


def test_checkpoints_are_converted_or_refused():
    found, counts = checkpoints.run(120, 2)
    assert found == []
    assert counts["sound"] == 30
    assert len(counts) > len(checkpoints.DEFECTS)


@pytest.mark.parametrize("maker", checkpoints.MAKERS)
def test_every_layout_is_converted(maker, tmp_path):
    for seed in range(6):
        w = checkpoints.weight(np.random.default_rng(seed), maker)
        assert checkpoints.problem_of_sound(tmp_path, [w]) is None


def planted(monkeypatch, name, function):
    from dltensor._tools import checkpoints as layouts

    monkeypatch.setattr(layouts, name, function)
    return checkpoints.run(200, 1)[0]


def test_a_planted_defect_of_the_conversion_is_found(monkeypatch):
    found = planted(monkeypatch, "_check_numbers", lambda group, role, t: None)
    assert any("nan_in_scale: status 0" in text for text in found)
    assert any("negative_scale: status 0" in text for text in found)


def test_a_divisor_that_is_taken_for_a_factor_is_found(monkeypatch):
    found = planted(monkeypatch, "_check_second", lambda group, second: None)
    assert any("divisor_for_factor: status 0" in text for text in found)


def test_a_scale_that_is_not_checked_is_found(monkeypatch):
    found = planted(monkeypatch, "_divides", lambda shape, scale: True)
    assert any("scale_of_another_shape" in text for text in found)


def test_wrong_numbers_are_found(monkeypatch):
    right = dl.dequantize
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(dl, "dequantize", lambda *q, **how: right(*q, **{**how, "zero": None}))
        found = checkpoints.run(200, 1)[0]
    assert any("gives other numbers" in text for text in found)


def test_memory_that_is_not_bounded_is_found():
    """With no allowance nothing is within the bound, so that a bound that is broken is seen."""
    assert len(checkpoints.run_memory(1, 1, 1, allowance=-(1 << 30))) == len(checkpoints.MAKERS) + 5
