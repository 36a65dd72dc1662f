# SPDX-License-Identifier: Apache-2.0
"""SciPy with SCIPY_ARRAY_API=1: each call of the table gives a tensor, and NumPy's numbers."""

import os

import numpy as np
import pytest

import dltensor as dl

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("scipy", minversion="1.17")
if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("SCIPY_ARRAY_API=1 is not set, as `make test-clients` sets it", allow_module_level=True)

import scipy.cluster.hierarchy  # noqa: E402
import scipy.cluster.vq  # noqa: E402
import scipy.constants  # noqa: E402
from scipy import differentiate, fft, integrate, interpolate, ndimage, optimize, signal, spatial, special, stats  # noqa: E402
from scipy.optimize import elementwise  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from scipy_calls import CALLS, OPERANDS  # noqa: E402

MODULES = {
    "constants": scipy.constants, "differentiate": differentiate, "elementwise": elementwise, "fft": fft,
    "hierarchy": scipy.cluster.hierarchy, "integrate": integrate, "interpolate": interpolate, "ndimage": ndimage,
    "optimize": optimize, "Rotation": Rotation, "signal": signal, "spatial": spatial, "special": special,
    "stats": stats, "vq": scipy.cluster.vq,
}  # fmt: skip


def check(call):
    wanted = np.asarray(eval(call, MODULES | OPERANDS | {"xp": np}))
    made = eval(call, MODULES | {name: dl.asarray(value) for name, value in OPERANDS.items()} | {"xp": dl})
    assert type(made) is dl.Tensor
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_gives_a_tensor_and_numpys_numbers(call):
    check(call)


def test_the_table_has_no_row_twice():
    assert len(set(CALLS)) == len(CALLS) >= 50
