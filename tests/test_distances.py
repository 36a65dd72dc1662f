# SPDX-License-Identifier: Apache-2.0
"""Distances of rows: by products and by differences, near each other, far away, not finite, in blocks."""

import numpy as np
import pytest

import dltensor as dl
from dltensor._spellings import distances

RANDOM = np.random.default_rng(3)


def expected(x1, x2):
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.square(x1[..., :, None, :].astype("float64") - x2[..., None, :, :]).sum(-1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", [((40, 3), (30, 3)), ((7, 300), (9, 300)), ((2, 1, 5, 4), (3, 6, 4))])
def test_distances_are_rounded_from_the_right_ones(dtype, shapes):
    x1, x2 = (RANDOM.standard_normal(shape).astype(dtype) for shape in shapes)
    found = dl.cdist(x1, x2)
    assert str(found.dtype) == dtype
    np.testing.assert_allclose(np.asarray(found), expected(x1, x2), rtol=1e-7 if dtype == "float32" else 1e-15)


def test_rows_near_each_other_and_far_from_zero_keep_their_digits():
    x = (RANDOM.standard_normal((60, 3)) + 1e4).astype("float32")
    found = np.asarray(dl.cdist(x, x))
    np.testing.assert_allclose(found, expected(x, x), rtol=1e-7)
    assert not np.diag(found).any()
    mixed = np.concatenate([x[:2], -x])  # few pairs are near: each of them alone
    np.testing.assert_allclose(np.asarray(dl.cdist(mixed[:2], mixed)), expected(mixed[:2], mixed), rtol=1e-7)


def test_rows_that_are_not_finite_give_what_their_differences_give():
    x1, x2 = RANDOM.standard_normal((6, 3)).astype("float32"), RANDOM.standard_normal((9, 3)).astype("float32")
    x1[0, 1], x1[1, 2], x2[3, 1], x2[4, 0] = np.inf, np.nan, np.inf, 3e38
    np.testing.assert_allclose(np.asarray(dl.cdist(x1, x2)), expected(x1, x2).astype("float32"), rtol=1e-7)


@pytest.mark.parametrize("p", [1, 2.0, 3, float("inf"), 0])
def test_blocks_give_the_bits_of_all_at_once(p, monkeypatch):
    x1, x2 = (dl.asarray(RANDOM.standard_normal((2, n, 5)).astype("float32")) for n in (17, 13))
    whole = dl.cdist(x1, x2, p)
    monkeypatch.setattr(distances, "_BLOCK", 100)
    assert dl.cdist(x1, x2, p).tobytes() == whole.tobytes()


def test_orders_and_integers():
    x1, x2 = np.array([[0, 2], [5, 1]], "uint8"), np.array([[1, 1]], "uint8")
    np.testing.assert_array_equal(np.asarray(dl.cdist(x1, x2, 1)), [[2.0], [4.0]])
    np.testing.assert_array_equal(np.asarray(dl.cdist(x1, x2, float("inf"))), [[1.0], [4.0]])


@pytest.mark.parametrize("shapes", [((0, 3), (2, 3)), ((2, 3), (0, 3)), ((2, 0), (3, 0)), ((0, 2, 3), (4, 3))])
def test_empty_matrices(shapes):
    x1, x2 = (dl.zeros(shape) for shape in shapes)
    found = dl.cdist(x1, x2)
    assert found.shape == expected(x1.numpy(), x2.numpy()).shape
    assert not dl.any(found)
