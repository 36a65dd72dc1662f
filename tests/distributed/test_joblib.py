# SPDX-License-Identifier: Apache-2.0
"""Tensors with joblib: arguments of worker processes and threads, files, hashes."""

import numpy as np
import pytest

import dltensor as dl

joblib = pytest.importorskip("joblib", reason="joblib is not installed")


def doubled(x):
    return type(x).__module__, x.readonly, x * 2


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_workers_take_and_return_tensors(backend, dtype):
    t = dl.arange(100).astype(dtype)
    made = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(doubled)(x) for x in (t, t[::2], t.reshape(10, 10).T)
    )
    for (module, readonly, result), given in zip(made, (t, t[::2], t.reshape(10, 10).T), strict=True):
        assert (module, readonly, result.dtype) == ("dltensor", False, dl.DType(dtype))
        assert result.tolist() == (given * 2).tolist()


def test_threads_share_memory():
    t = dl.zeros(4)

    def write(i):
        t[i] = i

    joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(write)(i) for i in range(4))
    assert t.tolist() == [0, 1, 2, 3]


def test_arrays_in_shared_files_of_joblib_are_tensors_without_a_copy():
    # joblib maps large arrays of NumPy into the workers, read-only; a tensor over one shares it.
    a = np.arange(1 << 18, dtype=np.float64)
    made = joblib.Parallel(n_jobs=2, max_nbytes=1000)(joblib.delayed(as_shared_tensor)(a) for _ in range(2))
    assert made == [("memmap", True, True, float(a.sum()))] * 2


def as_shared_tensor(a):
    t = dl.asarray(a)
    return type(a).__name__, t.readonly, t.data_ptr == a.ctypes.data, float(t.sum())


@pytest.mark.parametrize("compress", [0, 3])
def test_files_come_back(tmp_path, compress):
    t = {"a": dl.arange(1000).reshape(10, 100).T, "b": dl.asarray([1.5, 2.5], dtype="bfloat16")}
    joblib.dump(t, tmp_path / "file", compress=compress)
    back = joblib.load(tmp_path / "file")
    assert {name: (x.dtype, x.tolist()) for name, x in back.items()} == {
        name: (x.dtype, x.tolist()) for name, x in t.items()
    }


def test_results_are_cached_by_the_elements(tmp_path):
    calls = []
    memory = joblib.Memory(tmp_path, verbose=0)

    @memory.cache
    def total(x):
        calls.append(1)
        return x.sum()

    assert [float(total(x)) for x in (dl.arange(4.0), dl.arange(4.0), dl.arange(5.0))] == [6, 6, 10]
    assert len(calls) == 2
