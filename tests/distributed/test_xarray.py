# SPDX-License-Identifier: Apache-2.0
"""Tensors in xarray: common operations keep them, and compute what they compute over arrays of NumPy."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dltensor as dl

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.peers

import dltensor.xarray  # noqa: E402

VALUES = np.array([[0.5, 1.5, np.nan, 3.5], [4.0, 3.0, 2.0, 1.0], [np.nan, 7.0, 8.0, 9.0]])
PLAIN = {
    "arithmetic": lambda x: (x + 1) * x / 3 - 2,
    "comparison": lambda x: x > 2,
    "power": lambda x: x**2,
    "ufunc": lambda x: np.sqrt(x),
    "sum": lambda x: x.sum("x"),
    "mean": lambda x: x.mean("y"),
    "std": lambda x: x.std("x"),
    "var with ddof": lambda x: x.var("y", ddof=1),
    "min": lambda x: x.min(),
    "max": lambda x: x.max("x"),
    "median": lambda x: x.median("y"),
    "quantile": lambda x: x.quantile(0.25, "y"),
    "count": lambda x: x.count("x"),
    "prod": lambda x: x.prod("y"),
    "any": lambda x: (x > 2).any("x"),
    "all": lambda x: (x > 0).all("y"),
    "argmax": lambda x: x.argmax("y"),
    "idxmax": lambda x: x.fillna(0).idxmax("y"),
    "cumsum": lambda x: x.cumsum("x"),
    "cumprod": lambda x: x.cumprod("y"),
    "diff": lambda x: x.diff("x"),
    "differentiate": lambda x: x.differentiate("y"),
    "integrate": lambda x: x.fillna(0).integrate("y"),
    "isel": lambda x: x.isel(y=[0, 2]),
    "sel": lambda x: x.sel(y=slice(1, 2)),
    "loc": lambda x: x.loc[:, 2],
    "transpose": lambda x: x.transpose("y", "x"),
    "stack": lambda x: x.stack(z=("x", "y")),
    "expand_dims": lambda x: x.expand_dims("z"),
    "squeeze": lambda x: x[:1].squeeze("x"),
    "where with a value": lambda x: x.where(x > 2, 0.0),
    "where": lambda x: x.where(x > 2),
    "fillna": lambda x: x.fillna(0.0),
    "isnull": lambda x: x.isnull(),
    "clip": lambda x: x.clip(1, 5),
    "round": lambda x: x.round(),
    "astype": lambda x: x.astype("float32"),
    "rank of parts": lambda x: x.argsort(),
    "concat": lambda x: xr.concat([x, x], "x"),
    "dot": lambda x: x.fillna(0).T.dot(x.fillna(0), dim="x"),
    "shift": lambda x: x.shift(y=1),
    "roll": lambda x: x.roll(y=1),
    "pad": lambda x: x.pad(y=1),
    "reindex": lambda x: x.reindex(y=[0, 1, 7]),
    "rolling mean": lambda x: x.rolling(y=2).mean(),
    "rolling windows": lambda x: x.rolling(y=2).construct("window"),
    "coarsen": lambda x: x.coarsen(y=2).mean(),
    "weighted": lambda x: x.weighted(xr.ones_like(x)).mean("y"),
    "groupby": lambda x: x.groupby("y").mean(),
    "broadcast": lambda x: xr.broadcast(x, x.isel(x=0))[1],
    "align": lambda x: xr.align(x, x.isel(y=slice(1, None)), join="outer")[1],
    "apply_ufunc": lambda x: xr.apply_ufunc(lambda a: a * 2, x),
    "full_like": lambda x: xr.full_like(x, 7.0),
    "cov": lambda x: xr.cov(x, x, "y"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_operation_keeps_tensors(name):
    assert len(PLAIN) >= 45
    rtol = 1e-6 if name == "cov" else 1e-12  # a quotient of integers has the default dtype
    made, wanted = (
        PLAIN[name](xr.DataArray(values, dims=("x", "y"), coords={"y": np.arange(4)}))
        for values in (dl.asarray(VALUES), VALUES)
    )
    assert type(made.data) is dl.Tensor
    assert made.dims == wanted.dims
    assert made.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(made.data), wanted.data, rtol=rtol)


def test_a_dataset_keeps_tensors():
    data = xr.Dataset({"a": (("x", "y"), dl.asarray(VALUES)), "b": ("y", dl.arange(4))})
    result = (data * 2).mean("y")
    assert {name: type(result[name].data) for name in ("a", "b")} == {"a": dl.Tensor, "b": dl.Tensor}
    assert float(result["b"]) == 3.0


def test_integers_are_filled_as_those_of_numpy():
    x = xr.DataArray(dl.arange(3), dims="x").shift(x=1)
    assert x.data.dtype == dl.float64
    np.testing.assert_array_equal(x.data.numpy(), [np.nan, 0, 1])


def test_a_version_without_the_function_is_named():
    code = """
        from xarray.core import dtypes
        del dtypes.maybe_promote
        import dltensor.xarray
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert "ImportError: dltensor.xarray: this version of xarray has no xarray.core.dtypes.maybe_promote" in done.stderr
