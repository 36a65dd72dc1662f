# SPDX-License-Identifier: Apache-2.0
"""Clean a time series: missing values, clipping at percentiles, moving average and median, drawdown, seasonal means."""

import dltensor as np  # NumPy: import numpy as np
from dltensor import sliding_window_view  # NumPy: from numpy.lib.stride_tricks import sliding_window_view


def fill_missing(series):
    """Return the series with NaN replaced by interpolation between the values beside."""
    series = series.copy()
    missing = np.isnan(series)
    series[missing] = np.interp(np.flatnonzero(missing), np.flatnonzero(~missing), series[~missing])
    return series


def moving_average(series, width):
    return np.convolve(series, np.ones(width) / width, mode="valid")


def moving_median(series, width):
    return np.median(sliding_window_view(series, width), axis=-1)


def main():
    day = np.arange(364)
    series = 100 + 0.1 * day + 5 * np.sin(2 * np.pi * day / 7) + 3 * np.sin(day**2 / 50)
    series[[20, 21, 150]] = np.nan
    series[[77, 200]] += np.array([80.0, -90.0])
    filled = fill_missing(series)
    low, high = np.percentile(filled, [1, 99])
    clipped = np.clip(filled, low, high)
    weekly = moving_average(clipped, 7)
    median = moving_median(clipped, 7)
    peak = np.cumulative_max(weekly)  # NumPy: peak = np.maximum.accumulate(weekly)
    by_weekday = clipped[: 52 * 7].reshape(52, 7).mean(axis=0)
    counts, bounds = np.histogram(np.diff(weekly), bins=5)
    return {
        "missing": np.isnan(series).sum(),
        "limits": (low, high),
        "weekly": weekly[::60],
        "median": median[::60],
        "drawdown": ((peak - weekly) / peak).max(),
        "by weekday": by_weekday,
        "counts": counts,
        "bounds": bounds,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
