# SPDX-License-Identifier: Apache-2.0
"""Sample inputs that PyTorch has for tests of its own functions, passed to our functions of the same name.

A sample that ours refuses is left out; a test of which nothing is left is skipped.
"""

import contextlib

import pytest
import shadow
import torch
import uses
from torch.testing._internal.common_methods_invocations import op_db

import dltensor as dl

MODULES = {"linalg": dl.linalg, "fft": dl.fft, "special": dl, "nn.functional": dl}
DTYPES = (torch.float32, torch.float64, torch.complex128, torch.int64, torch.uint8, torch.bool)
# Functions without one right result, and those of PyTorch's that mean something else here.
LEFT_OUT = {
    "empty", "empty_like", "empty_strided", "linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr", "linalg.eigvals",
    "linalg.lstsq", "bernoulli", "multinomial", "argsort", "sort", "topk", "as_strided", "resize_",
}  # fmt: skip


def find(name):
    """Return our function for the name of one of PyTorch's."""
    module, _, last = name.rpartition(".")
    owner = dl if not module else MODULES.get(module)
    found = getattr(owner, last, None) if owner is not None and name not in LEFT_OUT else None
    return found if callable(found) and not isinstance(found, type) else None


def cases():
    for info in op_db:
        function = find(info.name)
        for dtype in DTYPES if function else ():
            if dtype in info.dtypes:
                variant = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
                yield pytest.param(info, function, dtype, id=f"{variant}-{str(dtype).removeprefix('torch.')}")


def as_ours(x):
    if isinstance(x, torch.Tensor):
        return dl.asarray(x.resolve_conj().resolve_neg(), copy=True)
    if isinstance(x, (list, tuple)):
        return [*map(as_ours, x)] if type(x) is list else tuple(map(as_ours, x))
    if isinstance(x, torch.dtype):
        return getattr(dl, str(x).removeprefix("torch."))
    return x


def as_arrays(x):
    if isinstance(x, torch.Tensor):
        return x.resolve_conj().resolve_neg().numpy()
    return tuple(map(as_arrays, x)) if isinstance(x, (list, tuple)) else x


@pytest.mark.parametrize(("info", "function", "dtype"), cases())
def test_samples(info, function, dtype):
    torch.manual_seed(0)
    differences = []
    for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
        with contextlib.suppress(*shadow.REFUSALS, RuntimeError):
            operands = as_ours((sample.input, *sample.args))
            options = {name: as_ours(value) for name, value in sample.kwargs.items()}
            result = function(*operands, **options)
            expected = as_arrays(info(sample.input, *sample.args, **sample.kwargs))
            uses.add()
            difference = shadow.compare(expected, result)
            differences += [f"{difference} for {sample.summary()}"] if difference else []
    assert not differences, f"{len(differences)} samples differ: {differences[0]}"
    if not uses.count - test_samples.before:
        pytest.skip("every sample is refused")


@pytest.fixture(autouse=True)
def _count():
    test_samples.before = uses.count
