# SPDX-License-Identifier: Apache-2.0
"""Cubed with tensors for arrays, which one environment variable says, in a process of its own."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("cubed", reason="cubed is not installed")
CODE = """
import cubed, cubed.array_api as xp, numpy as np, dltensor as dl
from cubed.backend_array_api import namespace
assert namespace is dl
spec = cubed.Spec(allowed_mem="100MB")
n = np.arange(48.0).reshape(8, 6)
x = xp.asarray(n, chunks=(3, 2), spec=spec)
kinds = set()
def seen(block):
    kinds.add(type(block).__module__)
    return block
calls = {
    "add": (lambda xp, x: x + 1, None), "sum": (lambda xp, x: xp.sum(x, axis=0), None),
    "mean": (lambda xp, x: xp.mean(x), None), "max": (lambda xp, x: xp.max(x, axis=1), None),
    "matmul": (lambda xp, x: x @ xp.matrix_transpose(x), None), "argmax": (lambda xp, x: xp.argmax(x, axis=0), None),
    "concat": (lambda xp, x: xp.concat([x, x]), None), "min": (lambda xp, x: xp.min(x, axis=1), None),
    "stack": (lambda xp, x: xp.stack([x, x]), None), "where": (lambda xp, x: xp.where(x > 4, x, x * 2), None),
    "tensordot": (lambda xp, x: xp.tensordot(x, x, axes=((0,), (0,))), None),
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x, axis=0), None),
    "slicing": (lambda xp, x: x[1:7:2, 3], None), "reshape": (lambda xp, x: xp.reshape(x, (48,)), None),
    "all": (lambda xp, x: xp.all(x >= 0), None), "prod": (lambda xp, x: xp.prod(x / 9, axis=0), None),
}
for name, (call, _) in calls.items():
    made = call(xp, x).compute()
    np.testing.assert_allclose(np.asarray(made), call(np, n), err_msg=name)
cubed.map_blocks(seen, x, dtype=x.dtype).compute()
print(sorted(kinds), len(calls))
"""


def test_operations_of_the_array_api_are_right_over_tensors():
    variables = {**os.environ, "CUBED_BACKEND_ARRAY_API_MODULE": "dltensor"}
    ended = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=200, env=variables)
    assert (ended.returncode, ended.stdout.strip()) == (0, "['dltensor'] 16"), ended.stderr[-3000:]
