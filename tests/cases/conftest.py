# SPDX-License-Identifier: Apache-2.0
"""What the acceptance cases share: tensors of both layouts, on the device of ``--device``. No cases in here."""

import pytest

import dltensor as dl


@pytest.fixture
def device(request):
    return request.config.getoption("--device")


@pytest.fixture(params=["contiguous", "strided"])
def t(request, device):
    """Make a tensor of a dtype from numbers, contiguous or in every second element of memory."""

    def make(dtype, values):
        plain = dl.asarray(values, dtype=dtype).to(device)
        if request.param == "contiguous" or plain.ndim == 0:
            return plain
        memory = dl.zeros((*plain.shape[:-1], 2 * plain.shape[-1]), dtype=dtype).to(device)
        memory[..., ::2] = plain
        return memory[..., ::2]

    return make


@pytest.fixture
def cube(device):
    return dl.arange(24, dtype="int32").reshape((2, 3, 4)).to(device)


@pytest.fixture
def cuda():
    return pytest.importorskip("dltensor.cuda", reason="needs the module dltensor.cuda")


@pytest.fixture
def gpu(cuda, device):
    if not device.startswith("cuda"):
        pytest.skip("needs --device cuda")
    return cuda
