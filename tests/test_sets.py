# SPDX-License-Identifier: Apache-2.0
"""unique_all, unique_counts, unique_inverse, unique_values and isin against Python's own counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sorting import ORDERED, numbers

import dltensor as dl
from dltensor._core.types import COMPUTED


def expected_unique(a):
    """Values, first indices, inverse and counts; NaNs apart, a value by its first occurrence."""
    flat = a.reshape(-1)
    groups, order = {}, []
    for i, value in enumerate(flat.tolist() if a.dtype.kind in "iubc" else flat.astype(np.float64).tolist()):
        key = value if value == value else ("nan", i)
        if key not in groups:
            groups[key] = []
            order.append(key)
        groups[key].append(i)
    real = [key for key in order if not isinstance(key, tuple)]
    real.sort(key=lambda z: (z.real, z.imag) if isinstance(z, complex) else z)
    keys = real + [key for key in order if isinstance(key, tuple)]
    indices = [groups[key][0] for key in keys]
    inverse = np.zeros(flat.shape, np.int64)
    for place, key in enumerate(keys):
        inverse[groups[key]] = place
    return flat[indices], indices, inverse.reshape(a.shape), [len(groups[key]) for key in keys]


@pytest.mark.parametrize("pattern", ["random", "few", "special", "equal"])
@pytest.mark.parametrize("name", ORDERED)
def test_unique_of_every_dtype(name, pattern):
    for shape in [(0,), (), (1,), (5,), (3, 40), (129,), (20, 30, 10)]:
        a = numbers(name, shape, pattern)
        t = dl.asarray(a)
        values, indices, inverse, counts = expected_unique(a)
        made = dl.unique_all(t)
        assert made.values.tobytes() == values.tobytes()
        assert made.indices.tolist() == indices
        assert made.inverse_indices.shape == a.shape
        assert made.inverse_indices.tolist() == inverse.tolist()
        assert made.counts.tolist() == counts
        assert dl.unique_values(t).tobytes() == values.tobytes()
        assert dl.unique_counts(t).values.tobytes() == values.tobytes()
        assert dl.unique_counts(t).counts.tolist() == counts
        assert dl.unique_inverse(t).values.tobytes() == values.tobytes()
        assert dl.unique_inverse(t).inverse_indices.tolist() == inverse.tolist()


@pytest.mark.parametrize("name", [name for name in COMPUTED if name.startswith("complex")])
def test_unique_and_isin_of_complex(name):
    rng = np.random.default_rng(0)
    a = (rng.integers(-2, 3, 200) + 1j * rng.integers(-2, 3, 200)).astype(name)
    values, indices, inverse, counts = expected_unique(a)
    made = dl.unique_all(dl.asarray(a))
    assert made.values.tolist() == values.tolist()
    assert (made.indices.tolist(), made.inverse_indices.tolist(), made.counts.tolist()) == (
        indices,
        inverse.tolist(),
        counts,
    )
    assert dl.unique_values(dl.asarray([complex("nan"), complex("nan"), 1j], dtype=name)).size == 3
    tested = np.array([1j, 2 + 2j, 5, -1 - 1j], name)
    assert dl.isin(dl.asarray(a), dl.asarray(tested)).tolist() == np.isin(a, tested).tolist()
    assert dl.isin(dl.asarray(a), 1j, invert=True).tolist() == (a != 1j).tolist()
    assert dl.isin(dl.asarray(a), dl.zeros(0, dtype=name)).tolist() == [False] * 200


def test_fields_layouts_and_numpy():
    t = dl.asarray([[3, 1], [3, 2]])
    assert dl.unique_all(t)._fields == ("values", "indices", "inverse_indices", "counts")
    assert dl.unique_counts(t)._fields == ("values", "counts")
    assert dl.unique_inverse(t)._fields == ("values", "inverse_indices")
    assert dl.unique_all(t.T).indices.tolist() == [2, 3, 0]
    assert dl.unique_all(t[:, 0]).counts.tolist() == [2]
    assert type(np.unique_values(t)) is dl.Tensor
    assert np.isin(t, [3]).tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("name", ORDERED)
def test_isin_agrees_with_comparisons(name):
    for count, size in [(0, 5), (5, 0), (50, 3), (3000, 2000), (10, 30_000)]:
        a, b = numbers(name, (count,), "special"), numbers(name, (size,), "special", seed=1)
        if count and size:
            b[: size // 2] = np.resize(a, size // 2)
        wide = np.float64 if a.dtype.kind not in "iub" else a.dtype
        members = {value for value in b.astype(wide).tolist() if value == value}
        wanted = [value in members for value in a.astype(wide).tolist()]
        assert dl.isin(dl.asarray(a), dl.asarray(b)).tolist() == wanted
        assert dl.isin(dl.asarray(a), dl.asarray(b), invert=True).tolist() == [not each for each in wanted]


def test_isin_by_table_and_by_search():
    rng = np.random.default_rng(0)
    a = rng.integers(-(10**6), 10**6, 100_000)
    near, far = rng.integers(-1000, 1000, 500), rng.integers(-(10**15), 10**15, 500)
    far[:100] = a[:100]
    for values in (near, far, np.array([a.min(), a.max()])):
        assert (dl.isin(a, values).numpy() == np.isin(a, values)).all()


def test_isin_of_scalars_and_out():
    x = dl.asarray([1, 2, 3], dtype="uint8")
    assert dl.isin(x, 2).tolist() == [False, True, False]
    assert dl.isin(x, -1).tolist() == [False, False, False]
    assert dl.isin(x, 258).tolist() == [False, False, False]
    assert dl.isin(2, x).shape == ()
    assert dl.isin(2, x).item() is True
    assert dl.isin(x, 2.5).tolist() == [False, False, False]
    assert dl.isin(dl.asarray([dl.nan, -0.0]), dl.asarray([dl.nan, 0.0])).tolist() == [False, True]
    out = dl.zeros(3, dtype="bool")
    assert dl.isin(x, x[:1], out=out) is out
    assert out.tolist() == [True, False, False]


FAULTS = [
    (lambda: dl.isin(1, 2), TypeError, "isin: expected a tensor for x1 or x2, got two numbers"),
    (lambda: dl.isin(dl.asarray([1]), dl.zeros(2, dtype="float8_e5m2")), TypeError, "float8_e5m2 has no arithmetic"),
    (lambda: dl.isin(dl.asarray([1]), 1, out=dl.zeros(2, dtype="bool")), ValueError, "the result has shape (1,)"),
    (lambda: dl.isin(dl.asarray([1]), 1, out=dl.zeros(1)), TypeError, "isin: the result is bool, out is float32"),
    (lambda: dl.unique_values(dl.zeros(2, dtype="int4")), TypeError, "unique_values: x is int4"),
    (lambda: dl.unique_all(None), TypeError, "unique_all: expected numbers, nested sequences of numbers"),
]


@pytest.mark.parametrize(("call", "kind", "words"), FAULTS, ids=[words for _, _, words in FAULTS])
def test_faults(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-20, 20), max_size=200), st.lists(st.integers(-30, 30), max_size=20))
def test_any_integers(values, tested):
    x = dl.asarray(values, dtype="int32")
    made = dl.unique_all(x)
    assert made.values.tolist() == sorted(set(values))
    assert [made.values.tolist()[i] for i in made.inverse_indices.tolist()] == values
    assert made.indices.tolist() == [values.index(value) for value in sorted(set(values))]
    assert dl.isin(x, dl.asarray(tested, dtype="int32")).tolist() == [value in tested for value in values]
