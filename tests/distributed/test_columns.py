# SPDX-License-Identifier: Apache-2.0
"""Columns and tables of pandas and polars, and variables of h5py: missing elements, copies, and tensors as columns."""

import numpy as np
import pytest

import dltensor as dl


def test_series_of_polars_share_their_memory_and_refuse_nulls():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert dl.asarray(pl.Series([1, 2, 3])).tolist() == [1, 2, 3]
    assert dl.asarray(pl.Series([True, False])).dtype == dl.bool
    assert np.isnan(dl.asarray(pl.Series([1.0, float("nan")])).tolist()[1])
    assert dl.asarray(pl.concat([pl.Series([1]), pl.Series([2])], rechunk=False)).tolist() == [1, 2]
    for series in (pl.Series([1, None]), pl.Series([1.5, None]), pl.Series([True, None])):
        for call in (dl.asarray, dl.sum, lambda x: dl.asarray(x, copy=True)):
            with pytest.raises(BufferError, match="null"):
                call(series)


def test_frames_of_polars_are_matrices():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert dl.asarray(frame).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(BufferError, match="null"):
        dl.asarray(pl.DataFrame({"a": [1, None], "b": [3, 4]}))


def test_tensors_are_columns_and_masks_of_polars():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    x = dl.asarray([1.0, 2.0, 3.0])
    assert pl.Series(x).to_list() == [1, 2, 3]
    frame = pl.DataFrame({"a": pl.Series(x), "b": pl.Series(x > 1.5)})
    assert frame["b"].dtype == pl.Boolean
    assert frame.filter(pl.Series(x > 1.5))["a"].to_list() == [2, 3]
    assert pl.DataFrame(dl.zeros((2, 3)).numpy()).shape == (2, 3)


def test_series_of_pandas_refuse_missing_elements():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = pd.Series([1.0, float("nan")])
    assert np.isnan(dl.asarray(plain).tolist()[1])
    assert dl.asarray(pd.Series([1, 2], dtype="Int64")).tolist() == [1, 2]
    assert dl.asarray(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]
    missing = pd.Series([1, None], dtype="Int64")
    for x in (missing, missing.array, pd.Index(missing), pd.Series([1.5, None], dtype="Float64"),
              pd.DataFrame({"a": missing, "b": missing})):  # fmt: skip
        for call in (dl.asarray, dl.mean, lambda x: dl.asarray(x, copy=True)):
            with pytest.raises(BufferError, match=r"has missing elements.*fillna"):
                call(x)


def test_a_dataset_of_a_file_is_never_a_silent_copy(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("a", data=np.arange(3.0))
        assert dl.asarray(dataset).tolist() == [0, 1, 2]
        for call in (lambda: dl.asarray(dataset, copy=False), lambda: dl.fill(0, dataset)):
            with pytest.raises(ValueError, match="copy"):
                call()
