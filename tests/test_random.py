# SPDX-License-Identifier: Apache-2.0
"""dl.random: known answers, the same bits everywhere, distributions by fixed seeds, and faults."""

import copy
import hashlib
import itertools
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import dltensor as dl
from dltensor.random import Generator, philox

REALS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LEVELS = dl.cpu_features()["supported"]


def array(t):
    """The values as a NumPy array of a dtype that NumPy has."""
    return np.asarray(t.astype("float32") if t.dtype.name == "bfloat16" else t)


def digest(t):
    return hashlib.sha256(array(t).tobytes()).hexdigest()


def kolmogorov(values, distribution):
    """The largest distance between the empirical distribution and `distribution`, times sqrt(n)."""
    ordered = np.sort(values.astype(np.float64).ravel())
    expected = distribution(ordered)
    n = ordered.size
    steps = np.arange(n + 1) / n
    return math.sqrt(n) * max((steps[1:] - expected).max(), (expected - steps[:-1]).max())


def chi_squared(counts):
    """Chi-squared against equal counts, as normal deviations of it (Wilson and Hilferty)."""
    counts = np.asarray(counts, dtype=np.float64)
    expected, free = counts.mean(), counts.size - 1
    found = ((counts - expected) ** 2 / expected).sum()
    return ((found / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))


error_function = np.vectorize(math.erf)


def normal_distribution(x):
    return 0.5 * (1 + error_function(x / math.sqrt(2)))


# -- known answers ----------------------------------------------------------------------------------------------------

# Of Random123, kat_vectors: counter, key and words of philox4x32 with 10 rounds.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hexadecimal(words):
    return [int(word, 16) for word in words.split()]


def test_philox_reads_no_further_than_one_word_too_many():
    with pytest.raises(ValueError, match="counter: expected 4 integers"):
        philox(itertools.count(), (0, 0))


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_published_words(counter, key, words):
    assert list(philox(hexadecimal(counter), hexadecimal(key))) == hexadecimal(words)


def words_of(rng, n):
    return array(rng.integers(0, 2**32, n, dtype="uint32"))


@pytest.mark.parametrize("n", [1, 3, 4, 5, 63, 64, 65, 1023, 1024, 1025, 4099])
def test_a_sequence_has_the_words_of_its_blocks(n):
    key, stream = 0x299F31D0A4093822, 0x0370734413198A2E
    rng = Generator(key, stream=stream)
    rng.jump(7)
    blocks = [philox((i, 0, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) for i in range((n + 7) // 4 + 1)]
    assert words_of(rng, n).tolist() == np.array(blocks, dtype="u4").ravel()[7 : 7 + n].tolist()


def test_block_numbers_beyond_32_bits_are_counted_on():
    rng = Generator(5)
    rng.jump(4 * (2**32 - 1))
    expected = [*philox((2**32 - 1, 0, 0, 0), (5, 0)), *philox((0, 1, 0, 0), (5, 0)), *philox((1, 1, 0, 0), (5, 0))]
    assert words_of(rng, 12).tolist() == expected


# -- the same bits everywhere -----------------------------------------------------------------------------------------

DRAWS = {
    "random": lambda rng, n, dtype: rng.random(n, dtype=dtype),
    "uniform": lambda rng, n, dtype: rng.uniform(-3, 5, n, dtype=dtype),
    "normal": lambda rng, n, dtype: rng.normal(1, 2, n, dtype=dtype),
    "exponential": lambda rng, n, dtype: rng.exponential(2, n, dtype=dtype),
}


COMPOSED = {
    "lognormal": lambda rng, n: rng.lognormal(1, 2, n, dtype="float64"),
    "laplace": lambda rng, n: rng.laplace(1, 2, n, dtype="float64"),
    "gumbel": lambda rng, n: rng.gumbel(1, 2, n, dtype="float64"),
    "logistic": lambda rng, n: rng.logistic(1, 2, n, dtype="float64"),
    "rayleigh": lambda rng, n: rng.rayleigh(2, n, dtype="float64"),
    "weibull": lambda rng, n: rng.weibull(1.5, n, dtype="float64"),
    "pareto": lambda rng, n: rng.pareto(5, n, dtype="float64"),
    "gamma below 1": lambda rng, n: rng.gamma(0.3, 2, size=n, dtype="float64"),
    "gamma": lambda rng, n: rng.gamma(2.5, 2, size=n, dtype="float64"),
    "chisquare": lambda rng, n: rng.chisquare(3, n, dtype="float64"),
    "beta": lambda rng, n: rng.beta(0.5, 2, n, dtype="float64"),
    "poisson of few": lambda rng, n: rng.poisson(3, n),
    "poisson of many": lambda rng, n: rng.poisson(40, n),
    "binomial of few": lambda rng, n: rng.binomial(10, 0.7, n),
    "binomial of many": lambda rng, n: rng.binomial(1000, 0.3, n),
    "geometric": lambda rng, n: rng.geometric(0.3, n),
    "multinomial": lambda rng, n: rng.multinomial(9, [0.2, 0.3, 0.5], n),
    "multinomial of many": lambda rng, n: rng.multinomial(900, [0.2, 0.3, 0.5], n),
    "gamma of float32": lambda rng, n: rng.gamma(2.5, 2, size=n, dtype="float32"),
    "beta of large shapes": lambda rng, n: rng.beta(7.0, 40.0, n, dtype="float64"),
    "multivariate_normal": lambda rng, n: rng.multivariate_normal([0, 1], [[2, 1], [1, 2]], n, dtype="float64"),
}


# Parameters for each value, numbers beside them, and parameters on either side of where methods change.
EACH = {
    "gamma": lambda rng, n, to: rng.gamma(to(np.linspace(0, 3, n)), 2.0, dtype="float64"),
    "gamma of scales": lambda rng, n, to: rng.gamma(2.0, to(np.linspace(0, 3, n)), dtype="float64"),
    "beta": lambda rng, n, to: rng.beta(to(np.linspace(0.01, 3, n)), to(np.linspace(2, 0.1, n)), dtype="bfloat16"),
    "chisquare": lambda rng, n, to: rng.chisquare(to(np.linspace(0.1, 5, n)), dtype="float16"),
    "poisson": lambda rng, n, to: rng.poisson(to(np.linspace(0, 30, n))),
    "binomial": lambda rng, n, to: rng.binomial(to(np.arange(n)), to(np.linspace(0, 1, n))),
    "binomial of n": lambda rng, n, to: rng.binomial(to(np.arange(n)), 0.3),
    "geometric": lambda rng, n, to: rng.geometric(to(np.linspace(1e-9, 1, n))),
    "laplace": lambda rng, n, to: rng.laplace(to(np.linspace(-1, 1, n)), 2.0),
    "multinomial": lambda rng, n, to: rng.multinomial(to(np.arange(n)), [0.2, 0.1, 0.3, 0.4]),
}


def everything(n):
    """Bits of every distribution and dtype."""
    found = [digest(draw(Generator(9), n, dtype)) for draw in DRAWS.values() for dtype in REALS]
    found += [digest(Generator(9).integers(100, shape=n, dtype=dtype)) for dtype in INTEGERS]
    found += [digest(Generator(9).integers(3 * 2**30, shape=n)), digest(Generator(9).integers(3 * 2**61, shape=n))]
    found += [digest(draw(Generator(9), n // 2)) for draw in COMPOSED.values()]
    found += [digest(draw(Generator(9), n // 2, np.asarray)) for draw in EACH.values()]
    return [*found, digest(Generator(9).permutation(1000)), digest(Generator(9).choice(9, 50, p=range(9)))]


def test_levels_and_threads_give_the_same_bits():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_random as t, dltensor as dl\n"
    code += "print(dl.cpu_features()['used'], dl.num_threads(), *t.everything(300001))"
    seen = {}
    for level in LEVELS:
        for threads in ("1", "2", "8") if level == LEVELS[-1] else ("1",):
            made = subprocess.run(
                [sys.executable, "-c", code, os.path.dirname(__file__)],
                check=True,
                capture_output=True,
                text=True,
                env=os.environ | {"DLTENSOR_CPU": level, "DLTENSOR_NUM_THREADS": threads},
            )
            used, count, *found = made.stdout.split()
            assert (used, count) == (level, threads)
            assert len(found) == 28 + len(COMPOSED) + len(EACH)
            seen[level, threads] = tuple(found)
    assert len(set(seen.values())) == 1, seen


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", DRAWS)
def test_calls_may_be_divided_anywhere(name, dtype):
    whole = array(DRAWS[name](Generator(3), 3000, dtype))
    rng = Generator(3)
    parts = np.concatenate([array(DRAWS[name](rng, n, dtype)) for n in (5, 5, 1, 0, 1013, 1024, 952)])
    assert whole.tobytes() == parts.tobytes()


@pytest.mark.parametrize("name", COMPOSED)
def test_calls_of_composed_distributions_may_be_divided_anywhere(name):
    whole = array(COMPOSED[name](Generator(3), 500))
    rng = Generator(3)
    parts = np.concatenate([array(COMPOSED[name](rng, n)) for n in (1, 7, 0, 42, 450)])
    assert whole.tobytes() == parts.tobytes()


RECORDED = {
    "random, float16": "5bbb3a73ec02719f",
    "random, bfloat16": "faadf96062795118",
    "random, float32": "206b2d1afdd86052",
    "random, float64": "54556447b962e968",
    "uniform, float16": "498f31ebbf65ff41",
    "uniform, bfloat16": "afc1082615917fcc",
    "uniform, float32": "f325bbc5dbf42406",
    "uniform, float64": "7b1b7f86ba07df96",
    "normal, float16": "a969e54b9f7fd684",
    "normal, bfloat16": "62bdae2137d3f043",
    "normal, float32": "0d71c852f0d36a90",
    "normal, float64": "906d7eab80c637c5",
    "exponential, float16": "b23796316f27bd7f",
    "exponential, bfloat16": "38ef9669b63b02df",
    "exponential, float32": "621481d628285aa5",
    "exponential, float64": "88d7046812c4dbf4",
    "lognormal": "6041ba9b38ea915c",
    "laplace": "d212e43ee63c74af",
    "gumbel": "f63335319430e6e2",
    "logistic": "d0b2288edc6611fe",
    "rayleigh": "00567815d96d13e1",
    "weibull": "a485cacadf53cb61",
    "pareto": "c90785241eb48f09",
    "gamma below 1": "4a2208639443d317",
    "gamma": "069f8e2c91607067",
    "chisquare": "e8787372e5e82131",
    "beta": "b2e3913152fc2c75",
    "poisson of few": "b4ed452479d84548",
    "poisson of many": "58aa2006bf0b156c",
    "binomial of few": "72a15e700a78c3ef",
    "binomial of many": "8e133cc26804c0b1",
    "geometric": "96013e9c892d388d",
    "multinomial": "2d67ee3815ffd37f",
    "multinomial of many": "cda64ae482b1a8c3",
    "gamma of float32": "35e43c0a64a643bf",
    "beta of large shapes": "5eef635ca62763a4",
    "multivariate_normal": "9faee7eda79e8af6",
    "gamma of arrays": "fa66e605402cd158",
    "gamma of scales of arrays": "fba38b91a56423bd",
    "beta of arrays": "eeb78b0c8ed34838",
    "chisquare of arrays": "39846513dcd4b2d3",
    "poisson of arrays": "1bbccaa15c770696",
    "binomial of arrays": "f98bcb8a0b5918e5",
    "binomial of n of arrays": "760ec6831685634d",
    "geometric of arrays": "c161232c6a026867",
    "laplace of arrays": "4d68514a11cb2f3c",
    "multinomial of arrays": "17238651a95e8cb4",
}


def recorded():
    """Hashes of values of each distribution."""
    found = {
        f"{name}, {dtype}": digest(DRAWS[name](Generator(9), 5000, dtype))[:16] for name in DRAWS for dtype in REALS
    }
    found |= {name: digest(COMPOSED[name](Generator(9), 5000))[:16] for name in COMPOSED}
    return found | {f"{name} of arrays": digest(EACH[name](Generator(9), 5000, np.asarray))[:16] for name in EACH}


def test_values_are_those_of_the_record():
    assert recorded() == RECORDED


@pytest.mark.parametrize("name", EACH)
def test_arrays_of_parameters_may_be_divided_anywhere(name):
    """Parameters of slices are those of the whole."""
    whole, parts, rng = array(EACH[name](Generator(3), 700, np.asarray)), [], Generator(3)
    for first, last in ((0, 1), (1, 9), (9, 9), (9, 530), (530, 700)):
        parts.append(array(EACH[name](rng, 700, lambda x, of=slice(first, last): x[of])))
    assert whole.tobytes() == np.concatenate(parts).tobytes()


@pytest.mark.parametrize("count", [10, 3 * 2**30, 2**32, 2**32 + 1, 3 * 2**61, 2**64])
def test_calls_for_integers_may_be_divided_anywhere(count):
    rng, dtype = Generator(3), "uint64"
    parts = np.concatenate([array(rng.integers(0, count, n, dtype=dtype)) for n in (5, 5, 1, 1013, 1976)])
    assert array(Generator(3).integers(0, count, 3000, dtype=dtype)).tolist() == parts.tolist()


def test_functions_are_near_the_exact_ones():
    words = words_of(Generator(4), 4000)
    u = ((words[::2] >> 1).astype(np.float64) + 1) / 2**31
    angle = words[1::2] * (2 * math.pi / 2**32)
    expected = np.sqrt(-2 * np.log(u))[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    np.testing.assert_allclose(array(Generator(4).normal(shape=4000)), expected.ravel(), rtol=1e-5, atol=1e-6)
    pairs = words.astype(np.uint64)[::2] | words.astype(np.uint64)[1::2] << np.uint64(32)
    u = (np.float64(pairs >> np.uint64(11)) + 0) / 2**53  # another rounding than ours below; equal to 52 bits
    low, high = words[::2] >> 6, words[1::2] >> 5
    u = (high * 2.0**26 + low + 1) / 2**53
    got = array(Generator(4).exponential(shape=2000, dtype="float64"))
    np.testing.assert_allclose(got, -np.log(u), rtol=4e-15, atol=2e-16)
    angle = (words[3::4].astype(np.float64) + words[2::4] / 2**32) * (2 * math.pi / 2**32)
    expected = np.sqrt(-2 * np.log(u[::2]))[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    got = array(Generator(4).normal(shape=2000, dtype="float64"))
    np.testing.assert_allclose(got, expected.ravel(), rtol=1e-12, atol=4e-15)


# -- distributions ----------------------------------------------------------------------------------------------------

N = 200_000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "distribution", "mean", "deviation"),
    [
        (lambda rng, dtype: rng.random(N, dtype=dtype), lambda x: x, 0.5, 12**-0.5),
        (lambda rng, dtype: rng.uniform(-3, 5, N, dtype=dtype), lambda x: (x + 3) / 8, 1, 8 * 12**-0.5),
        (lambda rng, dtype: rng.normal(2, 3, N, dtype=dtype), lambda x: normal_distribution((x - 2) / 3), 2, 3),
        (lambda rng, dtype: rng.exponential(2, N, dtype=dtype), lambda x: 1 - np.exp(-x / 2), 2, 2),
    ],
    ids=DRAWS,
)
def test_distributions(draw, distribution, mean, deviation, dtype):
    values = array(draw(Generator(2024), dtype)).astype(np.float64)
    assert abs(values.mean() - mean) < 4 * deviation / math.sqrt(N)
    assert abs(values.std() / deviation - 1) < 6 / math.sqrt(N)
    assert kolmogorov(values, distribution) < 1.95  # exceeded with a probability of 0.001


def test_the_check_of_distributions_finds_a_wrong_one():
    values = array(Generator(2024).random(N))
    assert kolmogorov(values * np.float32(0.99), lambda x: x) > 1.95
    assert abs(chi_squared(np.bincount((values * 100).astype(int) % 99))) > 4


def test_neighbouring_normal_values_are_uncorrelated():
    x = array(Generator(11).normal(shape=N)).astype(np.float64)
    for lag in (1, 2, 3, 4, 8):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4 / math.sqrt(N)
    assert abs((x**4).mean() - 3) < 4 * math.sqrt(96 / N)


@pytest.mark.parametrize("count", [2, 7, 100, 1000])
@pytest.mark.parametrize("dtype", ["int16", "int64", "uint32"])
def test_integers_are_equally_likely(count, dtype):
    found = array(Generator(1).integers(-1 if dtype[0] == "i" else 0, count, N, dtype=dtype))
    assert abs(chi_squared(np.bincount(found - found.min()))) < 4


@pytest.mark.parametrize("count", [3 * 2**30, 3 * 2**61])
def test_ranges_that_reject_many_words_are_not_biased(count):
    found = array(Generator(1).integers(0, count, 60_000, dtype="uint64"))
    assert found.max() < count
    assert abs(chi_squared(np.bincount((found // np.uint64(count // 12)).astype(int), minlength=12))) < 4


def test_integers_are_what_exact_arithmetic_gives():
    count = 3 * 2**30
    words = words_of(Generator(6), 2000).tolist()
    got = Generator(6).integers(0, count, 2000).tolist()
    kept = [(w * count >> 32, g) for w, g in zip(words, got, strict=True) if w * count % 2**32 >= 2**32 % count]
    assert 1000 < len(kept) < 2000
    assert all(a == b for a, b in kept)
    rejected = [i for i, w in enumerate(words) if w * count % 2**32 < 2**32 % count]
    for i in rejected[:50]:
        found = None
        attempt = 1
        while found is None:
            tries = philox((i, attempt << 24, 0, 0), (6, 0))
            found = next((w * count >> 32 for w in tries if w * count % 2**32 >= 2**32 % count), None)
            attempt += 1
        assert got[i] == found


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_reach_the_ends_of_every_dtype(dtype):
    least, most = dl.iinfo(dtype).min, dl.iinfo(dtype).max
    found = Generator(1).integers(least, most, 5000, dtype=dtype, endpoint=True)
    assert found.dtype == dtype
    spread = [Fraction(int(v) - least, most - least + 1) for v in (array(found).min(), array(found).max())]
    assert spread[0] < Fraction(1, 200)
    assert spread[1] > Fraction(199, 200)
    assert Generator(1).integers(most, most, 3, dtype=dtype, endpoint=True).tolist() == [most] * 3
    assert Generator(1).integers(least, least + 1, 3, dtype=dtype).tolist() == [least] * 3


@pytest.mark.parametrize("dtype", REALS)
def test_uniform_values_stay_below_the_upper_bound(dtype):
    assert array(Generator(1).random(N, dtype=dtype)).min() >= 0
    assert array(Generator(1).random(N, dtype=dtype)).max() < 1
    eps = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}[dtype]
    assert set(array(Generator(1).uniform(1, 1 + 2 * eps, 500, dtype=dtype)).tolist()) == {1.0, 1 + eps}
    assert set(array(Generator(1).uniform(-1 - 2 * eps, -1, 500, dtype=dtype)).tolist()) == {-1 - 2 * eps, -1 - eps}
    assert set(array(Generator(1).uniform(1 - eps, 1, 500, dtype=dtype)).tolist()) == {1 - eps, 1 - eps / 2}
    assert array(Generator(1).uniform(-1, 0, 50, dtype=dtype)).max() < 0


# -- permutations and choices -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1025, 5000])
def test_a_permutation_has_every_integer_once(n):
    found = Generator(8).permutation(n)
    assert sorted(found.tolist()) == list(range(n))
    assert n < 10 or found.tolist() != list(range(n))


def test_all_permutations_are_equally_likely():
    rng = Generator(8)
    found = [tuple(rng.permutation(4).tolist()) for _ in range(12_000)]
    counts = [found.count(one) for one in sorted(set(found))]
    assert len(counts) == 24
    assert abs(chi_squared(counts)) < 4


def test_permutation_and_shuffle_of_tensors_agree():
    x = dl.reshape(dl.arange(30), (10, 3))
    made = Generator(8).permutation(x)
    assert made.tolist() == [x[i].tolist() for i in Generator(8).permutation(10).tolist()]
    y = np.arange(60).reshape(20, 3)[::2]
    before = y.copy()
    assert Generator(8).shuffle(y) is None
    assert y.tolist() == before[Generator(8).permutation(10).tolist()].tolist()


def test_choice_follows_the_weights():
    weights = np.array([0.0, 1, 2, 3, 0, 4])
    found = np.bincount(array(Generator(8).choice(6, 50_000, p=weights)), minlength=6)
    assert found[0] == found[4] == 0
    expected = weights * 5000
    assert abs(found - expected).max() < 4 * math.sqrt(12_000)
    first = [Generator(8, stream=i).choice(6, 3, replace=False, p=weights).tolist() for i in range(4000)]
    assert all(len(set(one)) == 3 and not {0, 4} & set(one) for one in first)
    assert abs(np.bincount([one[0] for one in first], minlength=6) - weights * 400).max() < 4 * math.sqrt(1600)


@pytest.mark.parametrize(("n", "count"), [(1, 1), (9, 9), (9, 2), (900, 3), (10**6, 2000), (2**40, 5000), (2**62, 40)])
def test_choice_without_replacement_has_no_integer_twice(n, count):
    found = Generator(8).choice(n, count, replace=False).tolist()
    assert len(set(found)) == count
    assert 0 <= min(found) <= max(found) < n


@pytest.mark.parametrize("n", [4, 40])  # among all, and by those that were moved alone
def test_all_choices_without_replacement_are_equally_likely(n):
    rng = Generator(8)
    found = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(8 * n * n)]
    counts = [found.count(pair) for pair in itertools.permutations(range(n), 2)]
    assert sum(counts) == len(found)
    assert abs(chi_squared(counts)) < 4


def test_few_of_many_are_those_of_a_whole_permutation():
    few = Generator(8).choice(40, 5, replace=False).tolist()
    assert few == Generator(8).choice(40, 40, replace=False).tolist()[:5]


def test_choice_of_entries():
    x = dl.asarray([[1, 2], [3, 4], [5, 6]], dtype="int16")
    made = Generator(8).choice(x, (4, 5))
    assert made.shape == (4, 5, 2)
    assert made.dtype == "int16"
    assert {tuple(row) for row in made.reshape((20, 2)).tolist()} == {(1, 2), (3, 4), (5, 6)}
    assert sorted(Generator(8).choice(x, 3, replace=False)[:, 0].tolist()) == [1, 3, 5]
    assert Generator(8).choice(3).shape == ()
    assert Generator(8).choice(0, 0).tolist() == []


# -- state ------------------------------------------------------------------------------------------------------------


def test_generators_pickle_and_copy_with_their_position():
    rng = Generator([1, 2, 3])
    rng.random(7)
    rng.spawn(2)
    copies = [pickle.loads(pickle.dumps(rng, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + [copy.copy(rng)]
    child = copy.copy(rng).spawn(1)[0].state
    expected = rng.normal(shape=9).tolist()
    for each in copies:
        assert each.normal(shape=9).tolist() == expected
        assert each.spawn(1)[0].state == child
    assert type(copies[0]) is Generator
    assert repr(Generator(3)) == "Generator(key=3, stream=0, position=0)"


def test_state_restores_the_sequence():
    rng = Generator(5)
    rng.random(3)
    before = rng.state
    first = rng.random(4, dtype="float64").tolist()
    assert rng.state["position"] == 12
    rng.state = before
    assert rng.random(4, dtype="float64").tolist() == first
    rng.jump(-12)
    assert rng.state == Generator(5).state


def test_spawned_streams_and_seeds_differ():
    seeds = (0, 1, -1, 2**64, 2**64 + 1, -(2**64), [], [0], [0, 0], [1, 2], [2, 1], [2**32], [0, 1], (1, 2, 3, 4, 5))
    family = [Generator(seed) for seed in seeds] + [Generator(0, stream=1)]
    family += Generator(0).spawn(5) + Generator(0).spawn(1)[0].spawn(5) + Generator(1).spawn(2)
    assert len({tuple(rng.random(8).tolist()) for rng in family}) == len(family)
    assert Generator(range(3)).state == Generator([0, 1, 2]).state
    assert Generator().state != Generator().state
    parent, other = Generator(7), Generator(7)
    parent.random(100)
    assert [a.state for a in parent.spawn(3)] == [a.state for a in other.spawn(2) + other.spawn(1)]
    x, y = (array(one.normal(shape=N)).astype(np.float64) for one in Generator(7).spawn(2))
    assert abs((x * y).mean()) < 4 / math.sqrt(N)


def test_out_may_have_any_strides():
    expected = Generator(2).normal(shape=(6, 4)).tolist()
    out = np.zeros((4, 12), dtype="f4").T[::2]
    assert Generator(2).normal(out=out) is out
    assert out.tolist() == expected
    t = dl.zeros((6, 4), dtype="float64")
    assert Generator(2).random(out=t, shape=(6, 4), dtype="float64") is t
    assert t.tolist() == Generator(2).random((6, 4), dtype="float64").tolist()
    small = dl.zeros(3, dtype="uint8")
    assert max(Generator(2).integers(200, 256, out=small).tolist()) >= 200


# -- faults -----------------------------------------------------------------------------------------------------------

FIXED = np.zeros(3, dtype="f4")
FIXED.flags.writeable = False
FAULTS = [
    (lambda g: g.random(3, dtype="int32"), TypeError, "random: dtype: expected float16, .* or float64, got int32"),
    (lambda g: g.integers(3, dtype="float32"), TypeError, "integers: dtype: expected int8, int16.*got float32"),
    (lambda g: g.random(3, out=dl.zeros(4)), ValueError, r"random: shape is \(3,\), out has \(4,\); leave shape out"),
    (lambda g: g.random(dtype="float64", out=dl.zeros(4)), TypeError, "random: dtype is float64, out has float32"),
    (lambda g: g.random(out=FIXED), ValueError, r"random: out is read-only; write to a copy\(\)"),
    (lambda g: g.random(out=[1.0]), TypeError, "random: out: expected a tensor or an array .* got list"),
    (lambda g: g.random(-1), ValueError, "random: .*negative|random: .*-1"),
    (lambda g: g.uniform(1, 1), ValueError, "uniform: expected .* low < high in float32.*low=1 and high=1"),
    (lambda g: g.uniform(0, math.inf), ValueError, "uniform: expected finite bounds"),
    (lambda g: g.uniform(-1.7e308, 1.7e308, dtype="float64"), ValueError, "whose difference is finite"),
    (lambda g: g.integers(5, 5), ValueError, "integers: expected low < high, got low=5 and high=5"),
    (lambda g: g.integers(5, 4, endpoint=True), ValueError, "integers: expected low <= high, got low=5 and high=4"),
    (lambda g: g.integers(0, 257, dtype="uint8"), OverflowError, "integers: uint8 does not hold all .* from 0 to 256"),
    (lambda g: g.integers(-1, 2, dtype="uint64"), OverflowError, "integers: uint64 does not hold"),
    (lambda g: g.integers(1.5), TypeError, "integer"),
    (lambda g: g.normal(0, -1), ValueError, "normal: expected a finite mean and a finite std of at least 0.*std=-1"),
    (lambda g: g.normal(math.nan), ValueError, "normal: expected a finite mean.*mean=nan"),
    (lambda g: g.exponential(-2), ValueError, "exponential: expected a finite scale of at least 0, got -2"),
    (lambda g: g.permutation(-1), ValueError, "permutation: expected a number of integers from 0"),
    (lambda g: g.permutation(dl.asarray(1.0)), ValueError, "permutation: expected .* at least one dimension"),
    (lambda g: g.shuffle([1, 2]), TypeError, "shuffle: x: expected a tensor or an array .* got list"),
    (lambda g: g.shuffle(FIXED), ValueError, "shuffle: x is read-only"),
    (lambda g: g.choice(3, 4, replace=False), ValueError, "choice: 4 of 3 entries; expected no more than there are"),
    (lambda g: g.choice(0, 1), ValueError, "choice: 1 of 0 entries; expected at least one entry"),
    (lambda g: g.choice(2, 2, replace=False, p=[0, 1]), ValueError, "choice: 2 of 1 entries with a weight above 0"),
    (lambda g: g.choice(3, p=[1, 2]), ValueError, "choice: p: expected a weight for each of 3 entries, got shape"),
    (lambda g: g.choice(2, p=[1, -1]), ValueError, "choice: p: expected finite weights of at least 0"),
    (lambda g: g.choice(2, p=[1, math.nan]), ValueError, "choice: p: expected finite weights of at least 0"),
    (lambda g: g.spawn(-1), ValueError, "spawn: expected an integer from 0"),
    (lambda g: g.jump(-1), ValueError, r"jump: expected a position from 0 to 2\^56 - 1, got 0 \+ -1"),
    (lambda g: g.jump(2**56), ValueError, "jump: expected a position from 0"),
    (lambda g: setattr(g, "state", {}), ValueError, "state: expected a dictionary that the property state returned"),
    (lambda g: setattr(g, "state", g.state | {"key": -1}), ValueError, "key: expected an integer from 0"),
    (lambda _: Generator("seed"), TypeError, "Generator: seed: expected an integer, .* or None, got str"),
    (lambda _: Generator(1.5), TypeError, "Generator: seed: expected an integer, .* got float"),
    (lambda _: Generator(1, stream=-1), ValueError, "Generator: stream: expected an integer from 0"),
    (lambda _: philox((1, 2, 3), (0, 0)), ValueError, "philox: counter: expected 4 integers from 0"),
    (lambda _: philox((1, 2, 3, 4), (0, 2**32)), ValueError, "philox: key: expected 2 integers from 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), FAULTS)
def test_faults_name_the_argument_and_leave_the_state(call, error, words):
    rng = Generator(1)
    with pytest.raises(error, match=words):
        call(rng)
    assert rng.state == Generator(1).state


def test_the_end_of_a_sequence_is_an_error():
    rng = Generator(1)
    rng.jump(2**56 - 3)
    assert rng.random(2).shape == (2,)
    with pytest.raises(ValueError, match=r"random: 2 values do not fit into the 2\^56 words.*spawn"):
        rng.random(2)
    assert rng.state["position"] == 2**56 - 1
    assert rng.random().shape == ()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, **of: rng.random(**of),
        lambda rng, **of: rng.uniform(1, 2, **of),
        lambda rng, **of: rng.integers(9, **of),
        lambda rng, **of: rng.normal(0.0, 1.0, **of),
        lambda rng, **of: rng.exponential(2.0, **of),
        lambda rng, **of: rng.choice(5, **of),
    ],
)
@pytest.mark.parametrize("size", [3, (2, 3), ()])
def test_size_is_numpys_name_of_the_shape(draw, size):
    by_size, by_shape = draw(dl.random.Generator(1), size=size), draw(dl.random.Generator(1), shape=size)
    assert by_size.tolist() == by_shape.tolist()
    assert by_size.shape == dl.zeros(size).shape


@pytest.mark.parametrize("name", ["poisson", "laplace", "lognormal", "beta", "multivariate_normal", "standard_normal"])
@pytest.mark.parametrize("size", [3, (2, 3), ()])
def test_size_is_numpys_name_of_the_shape_of_composed_distributions(name, size):
    needed = {"beta": (1, 2), "multivariate_normal": ([0], [[1]])}.get(name, ())
    by_size, by_shape = (getattr(Generator(1), name)(*needed, **of) for of in ({"size": size}, {"shape": size}))
    assert by_size.tolist() == by_shape.tolist()


@pytest.mark.parametrize("name", ["random", "normal", "choice", "poisson", "standard_exponential"])
def test_shape_and_size_together_are_refused(name):
    rng = Generator(1)
    with pytest.raises(TypeError, match=f"^{name}: shape and size are names of one parameter"):
        getattr(rng, name)(*([3] if name == "choice" else []), shape=2, size=2)
    assert rng.state == Generator(1).state


def test_normal_takes_numpys_names():
    assert Generator(1).normal(loc=2, scale=3, size=4).tolist() == Generator(1).normal(2, 3, 4).tolist()


# -- composed distributions -------------------------------------------------------------------------------------------

CONTINUOUS = {
    "lognormal": lambda x: normal_distribution((np.log(x) - 1) / 2),
    "laplace": lambda x: np.where(x < 1, np.exp((x - 1) / 2) / 2, 1 - np.exp((1 - x) / 2) / 2),
    "gumbel": lambda x: np.exp(-np.exp((1 - x) / 2)),
    "logistic": lambda x: 1 / (1 + np.exp((1 - x) / 2)),
    "rayleigh": lambda x: 1 - np.exp(-x * x / 8),
    "weibull": lambda x: 1 - np.exp(-(x**1.5)),
    "pareto": lambda x: 1 - (1 + x) ** -5.0,
    "chisquare": lambda x: error_function(np.sqrt(x / 2)) - np.sqrt(2 * x / math.pi) * np.exp(-x / 2),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_composed_distributions(name):
    assert kolmogorov(array(COMPOSED[name](Generator(6), 50000)), CONTINUOUS[name]) < 1.95  # p = 0.001


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 2.5, 100.0, 1e6])
def test_gamma_values_have_their_moments(shape):
    x = array(Generator(5).gamma(shape, 2.0, size=200000, dtype="float64"))
    assert abs(x.mean() - 2 * shape) < 4 * 2 * math.sqrt(shape / x.size)
    assert x.var() == pytest.approx(4 * shape, rel=4 * math.sqrt((2 + 6 / shape) / x.size))


@pytest.mark.parametrize(("a", "b"), [(0.02, 0.03), (0.5, 0.5), (2.0, 3.0), (50.0, 1.0)])
def test_beta_values_have_their_moments(a, b):
    x = array(Generator(5).beta(a, b, 100000, dtype="float64"))
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert abs(x.mean() - a / (a + b)) < 4 * math.sqrt(variance / x.size)
    assert x.var() == pytest.approx(variance, rel=0.05)
    assert 0 <= x.min() <= x.max() <= 1


def agreement(values, probabilities):
    """Chi-squared of counts against probabilities, as normal deviations of it; rare values count together."""
    expected = np.asarray(probabilities) * values.size
    found = np.bincount(values.ravel(), minlength=expected.size)[: expected.size].astype(float)
    often = expected > 10
    found, expected = (
        np.append(found[often], values.size - found[often].sum()),
        np.append(expected[often], values.size - expected[often].sum()),
    )
    found, expected = found[expected > 1e-3], expected[expected > 1e-3]
    free = expected.size - 1
    ratio = ((found - expected) ** 2 / expected).sum() / free
    return (ratio ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))


@pytest.mark.parametrize("mean", [0.7, 5.0, 9.99, 10.0, 15.0, 100.0])
def test_poisson_values(mean):
    values = array(Generator(5).poisson(mean, 200000))
    probabilities = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(300)]
    assert abs(agreement(values, probabilities)) < 3.5


@pytest.mark.parametrize(("n", "p"), [(7, 0.3), (7, 0.8), (20, 0.5), (25, 0.45), (100, 0.05), (400, 0.7)])
def test_binomial_values(n, p):
    values = array(Generator(5).binomial(n, p, 200000))
    assert abs(agreement(values, [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])) < 3.5


def test_the_check_of_counts_finds_a_wrong_distribution():
    values = array(Generator(5).poisson(15.0, 200000))
    assert agreement(values, [math.exp(k * math.log(15.1) - 15.1 - math.lgamma(k + 1)) for k in range(300)]) > 5


def test_geometric_values():
    values = array(Generator(5).geometric(0.3, 100000))
    assert abs(agreement(values, [0.0] + [0.3 * 0.7**k for k in range(60)])) < 3.5
    assert Generator(5).geometric(1, 100).tolist() == [1] * 100


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.poisson(0, 9),
        lambda g: g.binomial(0, 0.5, 9),
        lambda g: g.binomial(5, 0, 9),
        lambda g: g.gamma(0, size=9),
        lambda g: g.rayleigh(0, 9),
    ],
)
def test_distributions_of_nothing_are_zero(draw):
    assert draw(Generator(1)).tolist() == [0] * 9


@pytest.mark.parametrize("mean", [1e4, 1e12])
def test_poisson_values_of_large_means(mean):
    values = np.concatenate([array(Generator(seed).poisson(mean, 50000)) for seed in range(8)]).astype(float)
    assert abs(values.mean() - mean) < 4 * math.sqrt(mean / values.size)
    assert values.var() == pytest.approx(mean, rel=0.01)


def test_a_vector_of_one_parameter_is_that_of_all_values():
    for parameter in (dl.asarray([5.0]), np.asarray([5.0])):
        drawn = Generator(3).laplace(parameter, 2.0, size=300)
        assert drawn.tolist() == Generator(3).laplace(5.0, 2.0, size=300).tolist()
        counts = Generator(3).poisson(parameter, size=(2, 3))
        assert counts.tolist() == Generator(3).poisson(5.0, size=(2, 3)).tolist()


def test_parameters_broadcast_and_give_what_each_gives_alone():
    means = np.array([0.5, 3.0, 9.9, 10.0, 30.0, 1e4])
    together = array(Generator(3).poisson(means[:, None], (6, 50)))
    trials, chances = np.array([1, 10, 100, 1000, 10, 50]), np.array([0.3, 0.7, 0.5, 0.9, 0.5, 0.1])
    outcomes = array(Generator(3).binomial(trials[:, None], chances[:, None], (6, 50)))
    for k in range(6):
        rng = Generator(3)
        rng.jump(4 * 50 * k)
        state = rng.state
        assert together[k].tolist() == rng.poisson(float(means[k]), 50).tolist()
        rng.state = state
        assert outcomes[k].tolist() == rng.binomial(int(trials[k]), float(chances[k]), 50).tolist()


@pytest.mark.parametrize("n", [1, 7, 63, 64, 65, 511, 512, 513, 1500])
@pytest.mark.parametrize(
    "name", ["gamma below 1", "gamma", "beta", "poisson of few", "poisson of many", "binomial of few"]
)
def test_numbers_and_arrays_of_them_give_the_same_values(name, n):
    """By a table or by a loop, with constants computed once or for each value."""
    arguments = {
        "gamma below 1": ("gamma", 0.3, 2.0),
        "gamma": ("gamma", 2.5, 2.0),
        "beta": ("beta", 0.5, 2.0),
        "poisson of few": ("poisson", 3.0),
        "poisson of many": ("poisson", 40.0),
        "binomial of few": ("binomial", 10, 0.7),
    }
    method, *numbers = arguments[name]
    kind = {} if method in ("poisson", "binomial") else {"dtype": "float64"}
    one = array(getattr(Generator(3), method)(*numbers, size=n, **kind))
    each = array(getattr(Generator(3), method)(*[np.full(n, x) for x in numbers], **kind))
    assert one.tobytes() == each.tobytes()


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 1.5, 2.5, 40.0, 1e6, 1e15])
def test_gamma_values_have_their_distribution(alpha):
    """Against the distribution function of integers and halves, and the normal one of large parameters."""
    x = array(Generator(8).gamma(alpha, size=200000, dtype="float64"))
    if alpha == 1e-3:  # P(x < t) is nearly t^alpha / Gamma(1 + alpha) for small t
        t = 1e-100
        share = t**alpha / math.gamma(1 + alpha)
        assert abs((x < t).mean() - share) < 4 * math.sqrt(share * (1 - share) / x.size)
    elif alpha < 41:
        assert kolmogorov(x, lambda v: gamma_below(alpha, v)) < 1.95
    else:  # Wilson and Hilferty
        z = ((x / alpha) ** (1 / 3) - (1 - 1 / (9 * alpha))) * 3 * math.sqrt(alpha)
        assert kolmogorov(z, normal_distribution) < 1.95


def gamma_below(alpha, x):
    """The distribution function of halves of integers, by its recurrence."""
    whole = alpha == int(alpha)
    below = 1 - np.exp(-x) if whole else error_function(np.sqrt(x))
    a = 1.0 if whole else 0.5
    while a < alpha:
        below = below - np.exp(a * np.log(x) - x - math.lgamma(a + 1))
        a += 1
    return below


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (1e-3, 5.0), (1.0, 3.0), (3.0, 1.0), (0.5, 0.5), (1e5, 1e5)])
def test_beta_values_have_their_distribution(a, b):
    x = array(Generator(8).beta(a, b, 200000, dtype="float64"))
    assert np.isfinite(x).all()
    if a == b == 1e-3:  # nearly all values are 0 or 1
        assert abs((x > 0.5).mean() - 0.5) < 4 * 0.5 / math.sqrt(x.size)
        assert ((x < 0.01) | (x > 0.99)).mean() > 0.98
    elif b == 5.0:  # P(x < t) is nearly t^a / (a B(a, b))
        share = 1e-10**a * math.exp(math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b))
        assert abs((x < 1e-10).mean() - share) < 4 * math.sqrt(share * (1 - share) / x.size)
    elif b == 1.0:
        assert kolmogorov(x, lambda v: v**a) < 1.95
    elif a == 1.0:
        assert kolmogorov(x, lambda v: 1 - (1 - v) ** b) < 1.95
    elif a == 0.5:
        assert kolmogorov(x, lambda v: 2 / math.pi * np.arcsin(np.sqrt(v))) < 1.95
    else:
        assert kolmogorov((x - 0.5) * 2 * math.sqrt(2 * a + 1), normal_distribution) < 1.95


@pytest.mark.parametrize("mean", [1e-12, 9.999, 10.001, 1e6, 1e15])
def test_poisson_values_of_extreme_means(mean):
    x = array(Generator(8).poisson(mean, 200000)).astype(float)
    assert abs(x.mean() - mean) < 4 * math.sqrt(mean / x.size) + 1e-6
    if mean > 1e5:  # the transform of Anscombe
        assert kolmogorov(2 * (np.sqrt(x + 3 / 8) - math.sqrt(mean + 3 / 8)), normal_distribution) < 1.95
    elif mean > 1:
        probabilities = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(100)]
        assert abs(agreement(x.astype(int), probabilities)) < 3.5


@pytest.mark.parametrize("p", [0.0, 1e-12, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 2**31, 2**52])
def test_binomial_values_of_extreme_trials(n, p):
    x = array(Generator(8).binomial(n, p, 100000))
    assert 0 <= x.min() <= x.max() <= n
    variance = n * p * (1 - p)
    assert abs((x - n * p).mean()) <= 4.5 * math.sqrt(variance / x.size) + 1e-3
    if variance > 1e6:
        assert kolmogorov((x - n * p) / math.sqrt(variance), normal_distribution) < 1.95
    elif n <= 2:
        expected = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        assert np.abs(np.bincount(x, minlength=n + 1) / x.size - expected).max() < 4 * 0.5 / math.sqrt(x.size)


def test_geometric_values_of_small_probabilities():
    x = array(Generator(8).geometric(1e-9, 100000)).astype(float)
    assert kolmogorov(x * 1e-9, lambda v: 1 - np.exp(-v)) < 1.95
    assert Generator(8).geometric(5e-324, 3).tolist() == [2**63 - 1] * 3


def test_values_beyond_int64_are_its_largest_one():
    assert Generator(8).poisson(1e300, 2).tolist() == [2**63 - 1] * 2
    assert Generator(8).binomial(2**63 - 1, 1.0, 2).tolist() == [2**63 - 1] * 2


def test_scales_of_zero_give_the_location():
    for draw in ("laplace", "logistic", "gumbel"):
        assert getattr(Generator(8), draw)(3.0, 0.0, 700).tolist() == [3.0] * 700
    assert Generator(8).gamma(2.0, 0.0, size=700).tolist() == [0.0] * 700
    assert Generator(8).gamma(0.0, 5.0, size=700).tolist() == [0.0] * 700


def test_rows_of_one_outcome_and_of_none():
    assert Generator(8).multinomial(5, [1.0], 3).tolist() == [[5]] * 3
    assert Generator(8).multinomial(5, [0.0, 1.0, 0.0], 3).tolist() == [[0, 5, 0]] * 3
    assert Generator(8).multinomial(5, [0.5, 0.5], 0).shape == (0, 2)
    many = array(Generator(8).multinomial(10**6, np.full(50, 0.02), 2000))
    assert set(many.sum(1).tolist()) == {10**6}
    assert np.abs(many.mean(0) - 20000).max() < 4.5 * math.sqrt(19600 / 2000)


def test_a_value_takes_whole_blocks():
    rng = Generator(1)
    rng.random(1)
    rng.gamma(2.0, size=3)
    assert rng.state["position"] == 16
    rng.beta(2.0, 2.0, 3)
    assert rng.state["position"] == 40
    rng.multinomial(3, [0.2, 0.3, 0.5], 2)
    assert rng.state["position"] == 56
    rng.multinomial(3, [1.0], 2)
    assert rng.state["position"] == 56


def test_rejected_values_take_words_of_their_own():
    """Attempts of a value read other blocks than those of its neighbours and of rejected integers."""
    x = array(Generator(2).gamma(1.0, size=400000, dtype="float64"))
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 4 / math.sqrt(x.size)
    assert np.unique(x).size == x.size


def test_the_shape_is_by_default_that_of_the_parameters():
    assert Generator(1).poisson([1.0, 2.0]).shape == (2,)
    assert Generator(1).beta([[1.0], [2.0]], [1.0, 2.0, 3.0]).shape == (2, 3)
    assert Generator(1).gamma(1.0).shape == ()
    assert Generator(1).multinomial([3, 4], [0.5, 0.5]).sum(1).tolist() == [3, 4]
    assert Generator(1).normal(size=(2, 0)).shape == Generator(1).gamma(2, size=(2, 0)).shape


def test_multinomial_values_sum_to_the_trials():
    values = array(Generator(5).multinomial(20, [0.2, 0.3, 0.5], 50000))
    assert set(values.sum(1).tolist()) == {20}
    np.testing.assert_allclose(values.mean(0), [4, 6, 10], atol=0.05)
    np.testing.assert_allclose(values.var(0), [3.2, 4.2, 5.0], rtol=0.03)
    assert np.cov(values.T)[0, 1] == pytest.approx(-20 * 0.2 * 0.3, rel=0.05)


def test_multivariate_normal_values_have_their_covariance():
    covariance = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 0.7]])
    values = array(Generator(5).multivariate_normal([1, 2, 3], covariance, 100000))
    np.testing.assert_allclose(values.mean(0), [1, 2, 3], atol=0.02)
    np.testing.assert_allclose(np.cov(values.T), covariance, atol=0.03)
    both = array(Generator(5).multivariate_normal([0, 1], [[1, 1], [1, 1]], 5, dtype="float64"))
    np.testing.assert_allclose(both[:, 1] - both[:, 0], 1, atol=1e-12)


def test_permuted_lines_have_orders_of_their_own():
    x = np.arange(3000).reshape(3, 1000)
    lines = array(Generator(5).permuted(x, axis=1))
    assert np.sort(lines, axis=1).tolist() == x.tolist()
    assert (lines[0] + 1000).tolist() != lines[1].tolist()
    columns, everywhere = array(Generator(5).permuted(x, axis=0)), array(Generator(5).permuted(x))
    assert np.sort(columns, axis=0).tolist() == x.tolist()
    assert np.sort(everywhere.ravel()).tolist() == x.ravel().tolist()
    t = dl.arange(5)
    assert Generator(5).permuted(t, out=t) is t
    assert sorted(t.tolist()) == [0, 1, 2, 3, 4]


COMPOSED_FAULTS = [
    (lambda g: g.gamma(-1), ValueError, "^gamma: shape must be finite and at least 0, got -1"),
    (lambda g: g.gamma(math.nan), ValueError, "^gamma: shape must be finite"),
    (lambda g: g.gamma(1, size=-1), ValueError, r"^gamma: extents must be at least 0, got shape \(-1,\)"),
    (lambda g: g.gamma([1, 2], size=3), ValueError, r"^gamma: parameters of .* do not broadcast to \(3,\)"),
    (lambda g: g.gamma(1, size=2**60), (ValueError, MemoryError), "2305843009213693952|memory|bytes"),
    (lambda g: g.beta(0, 1), ValueError, "^beta: a must be finite and above 0, got 0"),
    (lambda g: g.chisquare(0), ValueError, "^chisquare: df must be finite and above 0"),
    (lambda g: g.poisson("a"), TypeError, "^poisson: lam must be real numbers, got 'a'"),
    (lambda g: g.poisson(1j), TypeError, "^poisson: lam must be real numbers"),
    (lambda g: g.poisson(-1), ValueError, "^poisson: lam must be finite and at least 0"),
    (lambda g: g.binomial(2.5, 0.5), TypeError, "^binomial: n must be integers, got 2.5"),
    (lambda g: g.binomial(-2, 0.5), ValueError, "^binomial: n must be"),
    (lambda g: g.binomial(3, 1.5), ValueError, "^binomial: p must be between 0 and 1, got 1.5"),
    (lambda g: g.geometric(0), ValueError, "^geometric: p must be above 0 and at most 1"),
    (lambda g: g.laplace(0, -1), ValueError, "^laplace: scale must be finite and at least 0"),
    (lambda g: g.laplace(dtype="int32"), TypeError, "^laplace: dtype: expected float16"),
    (lambda g: g.weibull(0), ValueError, "^weibull: a must be finite and above 0"),
    (lambda g: g.multinomial(3, [0.9, 0.9, 0.1]), ValueError, "^multinomial: pvals must be a vector .* at most 1"),
    (lambda g: g.multivariate_normal([0], [[-1]]), ValueError, "^multivariate_normal: cov must be positive"),
    (lambda g: g.multivariate_normal([0, 0], [[1, 2], [0, 1]]), ValueError, "cov must be symmetric"),
    (lambda g: g.multivariate_normal([0, 0], [[1]]), ValueError, r"expected a mean \(n,\) and a cov \(n, n\)"),
    (lambda g: g.permuted([1, 2], axis=1), IndexError, "^permuted: axis 1 is out of range"),
    (lambda _: dl.random.default_rng("seed"), TypeError, "^default_rng: seed: expected an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), COMPOSED_FAULTS)
def test_faults_of_composed_distributions_name_the_argument_and_leave_the_state(call, error, words):
    rng = Generator(1)
    with pytest.raises(error, match=words):
        call(rng)
    assert rng.state == Generator(1).state


# -- NumPy's module ---------------------------------------------------------------------------------------------------


def test_default_rng_returns_a_generator():
    assert dl.random.default_rng(7).random(3).tolist() == Generator(7).random(3).tolist()
    rng = Generator(1)
    assert dl.random.default_rng(rng) is rng
    assert dl.random.default_rng().state != dl.random.default_rng(seed=None).state


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("spawn", r"dl\.random\.Generator\(seed\)\.spawn\(\.\.\.\)"),
        ("manual_seed", r"dl\.manual_seed\(seed\)"),
        ("get_state", r"dl\.random\.default_generator\.state"),
        ("RandomState", r"dl\.random\.Generator\(seed\)"),
    ],
)
def test_the_module_names_the_line_for_names_that_it_lacks(name, line):
    with pytest.raises(AttributeError, match=f"^dltensor.random has no {name}; write {line}"):
        getattr(dl.random, name)
    assert not hasattr(dl.random, name)


def test_other_names_of_the_module_are_missing_as_usual():
    with pytest.raises(AttributeError, match=r"^module 'dltensor\.random' has no attribute 'foo'"):
        _ = dl.random.foo
    assert not hasattr(dl.random, "__wrapped__")


def test_python_floats_are_parameters_in_float64():
    exact = dl.asarray([0.1], dtype="float64")
    first, same = dl.random.Generator(3), dl.random.Generator(3)
    drawn = [rng.gamma(p, size=1, dtype="float64").item() for rng, p in ((first, 0.1), (same, exact))]
    assert drawn[0] == drawn[1]
    assert dl.random.Generator(3).geometric(1e-18, 2).tolist()[0] > 10**12  # zero in float32
    weights = [0.1, 1e-50]  # the second would be zero
    assert sorted(dl.random.Generator(3).choice(2, 2, replace=False, p=weights).tolist()) == [0, 1]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("poisson", (3.0, 2**45), MemoryError),
        ("lognormal", (0.0, 1.0, 2**45), MemoryError),
        ("permuted", ("x",), TypeError),
    ],
)
def test_errors_inside_composed_distributions_name_the_method(name, arguments, error):
    with pytest.raises(error, match=f"^{name}: "):
        getattr(dl.random.Generator(3), name)(*arguments)
