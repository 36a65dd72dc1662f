# SPDX-License-Identifier: Apache-2.0
"""Kalman filter: position and velocity of a vehicle from noisy positions."""

import dltensor as np  # NumPy: import numpy as np


def kalman(measured, dt, noise_of_model, noise_of_measurement):
    """Filter measured positions; return states and their covariances after each measurement."""
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = noise_of_model * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
    R = np.array([[noise_of_measurement]])
    x = np.zeros(2)
    P = np.eye(2) * 100.0
    states = np.empty((len(measured), 2))
    covariances = np.empty((len(measured), 2, 2))
    for k, z in enumerate(measured):
        # predict
        x = F @ x
        P = F @ P @ F.T + Q
        # correct
        innovation = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ innovation
        P = (np.eye(2) - K @ H) @ P
        states[k] = x
        covariances[k] = P
    return states, covariances


def main():
    dt = 0.1
    t = np.arange(0, 10, dt)
    truth = 2.0 * t + 0.5 * np.sin(t)
    noise = 0.4 * np.sin(37.0 * t**2) + 0.3 * np.cos(91.0 * t)
    states, covariances = kalman(truth + noise, dt, 0.5, 0.15)
    error = states[20:, 0] - truth[20:]
    velocity = np.gradient(truth, dt)
    return {
        "last state": states[-1],
        "last covariance": covariances[-1],
        "rms of noise": np.sqrt(np.mean(noise**2)),
        "rms of error": np.sqrt(np.mean(error**2)),
        "error of velocity": np.abs(states[50:, 1] - velocity[50:]).max(),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
