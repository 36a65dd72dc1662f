# SPDX-License-Identifier: Apache-2.0
"""Spectrogram of a chirp: overlapping windows, a Hann window, a real FFT, decibels."""

import dltensor as np  # NumPy: import numpy as np
from dltensor import sliding_window_view  # NumPy: from numpy.lib.stride_tricks import sliding_window_view


def spectrogram(signal, rate, size, step):
    """Return frequencies, times and the power in decibels, a row for each time."""
    frames = sliding_window_view(signal, size)[::step]  # a view: no sample is copied
    window = np.hanning(size)
    spectrum = np.fft.rfft(frames * window, axis=-1)
    power = np.abs(spectrum) ** 2 / np.sum(window**2)
    decibels = 10 * np.log10(np.maximum(power, 1e-10))
    times = (np.arange(len(frames)) * step + size / 2) / rate
    return np.fft.rfftfreq(size, d=1 / rate), times, decibels


def main():
    rate = 4000
    t = np.arange(2 * rate, dtype=np.float64) / rate  # NumPy: t = np.arange(2 * rate) / rate
    signal = np.sin(2 * np.pi * (200 * t + 300 * t**2)) + 0.1 * np.sin(2 * np.pi * 1500 * t)
    frequencies, times, decibels = spectrogram(signal, rate, 256, 64)
    loudest = frequencies[decibels.argmax(axis=1)]
    line = np.linalg.pinv(times[:, None] ** np.array([1, 0])) @ loudest  # NumPy: line = np.polyfit(times, loudest, 1)
    return {
        "shape": decibels.shape,
        "loudest": loudest[::20],
        "slope and start": line,
        "median": np.median(decibels, axis=0)[::16],
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
