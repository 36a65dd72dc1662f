# SPDX-License-Identifier: Apache-2.0
"""Functions of floats on the arguments and values of NumPy's validation sets, which its package holds."""

from pathlib import Path

import pytest

import dltensor as dl

np = pytest.importorskip("numpy", reason="numpy is not installed")
SETS = sorted((Path(np.__file__).parent / "_core" / "tests" / "data").glob("umath-validation-set-*.csv"))


@pytest.mark.skipif(not SETS, reason="this numpy has no validation sets")
def test_numpy_has_sets_of_twenty_functions():
    assert len(SETS) >= 20


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem.rpartition("-")[2])
def test_a_validation_set_is_met_to_a_unit_in_the_last_place(path):
    function = getattr(dl, path.stem.rpartition("-")[2])
    lines = [line.split(",") for line in path.read_text().splitlines()]
    compared = 0
    for dtype, word in (("float32", np.uint32), ("float64", np.uint64)):
        rows = [line for line in lines if line[0] == f"np.{dtype}"]
        x, expected = (np.array([int(row[at], 16) for row in rows], word).view(dtype) for at in (1, 2))
        got = function(dl.asarray(x)).numpy()
        compared += len(rows)
        assert np.isnan(got[np.isnan(expected)]).all()
        ends = np.isinf(expected) | (expected == 0)
        same = got.view(word) == expected.view(word)
        assert same[ends].all(), (x[ends & ~same][:3], got[ends & ~same][:3], expected[ends & ~same][:3])
        inside = np.isfinite(expected) & ~ends
        of, found, wanted = x[inside], got[inside], expected[inside]
        far = np.abs(found.view(word).astype(np.int64) - wanted.view(word).astype(np.int64)) > 1
        assert not far.any(), (of[far][:3], found[far][:3], wanted[far][:3])
    assert compared > 100
