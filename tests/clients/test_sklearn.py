# SPDX-License-Identifier: Apache-2.0
"""scikit-learn with array API dispatch: each call of the table gives a tensor or a number, and NumPy's values."""

import importlib
import os

import numpy as np
import pytest

import dltensor as dl

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("sklearn", minversion="1.8")
if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("SCIPY_ARRAY_API=1 is not set, as `make test-clients` sets it", allow_module_level=True)

import sklearn.utils.extmath  # noqa: E402
from sklearn_calls import NUMBERS, OPERANDS, TENSORS  # noqa: E402

NAMES = (
    "decomposition discriminant_analysis feature_selection linear_model metrics model_selection naive_bayes pipeline "
    "preprocessing utils"
)
MODULES = {name: importlib.import_module(f"sklearn.{name}") for name in NAMES.split()}


def check(call, kind):
    wanted = np.asarray(eval(call, MODULES | OPERANDS))
    with sklearn.config_context(array_api_dispatch=True):
        made = eval(call, MODULES | {name: dl.asarray(value) for name, value in OPERANDS.items()})
    assert isinstance(made, kind)
    assert np.shape(made) == wanted.shape
    np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("call", TENSORS)
def test_a_call_gives_a_tensor_and_numpys_numbers(call):
    check(call, dl.Tensor)


@pytest.mark.parametrize("call", NUMBERS)
def test_a_score_is_numpys(call):
    check(call, float)


def test_the_table_has_no_row_twice():
    rows = [*TENSORS, *NUMBERS]
    assert len(set(rows)) == len(rows) >= 16
