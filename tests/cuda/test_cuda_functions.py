# SPDX-License-Identifier: Apache-2.0
"""Functions of ops/elementary on CUDA tensors have the bits of the CPU."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []

UNARY = """acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 gammaln log log1p log2 log10 sigmoid
sin sinc sinh tan tanh""".split()  # noqa: SIM905
BINARY = ["atan2", "hypot", "logaddexp", "pow"]
# Each row is a kernel that is compiled: of float64 a few. 16-bit floats are in test_tensor_halves.py.
ROWS = [(name, "float32") for name in UNARY + BINARY]
ROWS += [
    (name, "float64") for name in ("erf", "exp", "gammaln", "log", "sin", "tan", "tanh", "atan2", "pow", "logaddexp")
]


def points(dtype, seed):
    """Any bits, and numbers as they are usual."""
    random = np.random.default_rng(seed)
    word = np.uint32 if dtype == "float32" else np.uint64
    some = random.integers(0, np.iinfo(word).max, 100_000, dtype=word).view(dtype)
    usual = (random.normal(size=100_000) * 10.0 ** random.integers(-4, 3, 100_000)).astype(dtype)
    return dl.asarray(np.concatenate([some, usual]))


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_functions_have_the_bits_of_the_cpu(eager_machine, name, dtype):
    x = [points(dtype, seed) for seed in range(2 if name in BINARY else 1)]
    function = getattr(dl, name)
    expected, result = function(*x), function(*[t.to("cuda") for t in x]).to("cpu")
    both = dl.isnan(expected) & dl.isnan(result)
    word = f"uint{8 * x[0].itemsize}"
    assert dl.all(both | (expected.view(word) == result.view(word)))
