# SPDX-License-Identifier: Apache-2.0
"""Price of a European call and an Asian call by Monte Carlo, checked by the formula of Black and Scholes."""

import math

import dltensor as np  # NumPy: import numpy as np

S0, K, r, sigma, T = 100.0, 105.0, 0.03, 0.2, 1.0


def black_scholes():
    d1 = (math.log(S0 / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    normal = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))  # noqa: E731 (the formula, as a book writes it)
    return S0 * normal(d1) - K * math.exp(-r * T) * normal(d2)


def simulate(rng, paths, steps):
    """Prices at each step, a row for each path; each path has one with the opposite noise (antithetic variates)."""
    dt = T / steps
    z = rng.normal(size=(paths // 2, steps))  # NumPy: z = rng.standard_normal((paths // 2, steps))
    z = np.concatenate([z, -z])
    increments = (r - sigma**2 / 2) * dt + sigma * np.sqrt(dt) * z
    return S0 * np.exp(np.cumsum(increments, axis=1))


def price(payoff):
    """Return the discounted mean and its standard error; pairs of paths are one sample."""
    pairs = payoff.reshape(2, -1).mean(axis=0)
    discounted = np.exp(-r * T) * pairs
    return discounted.mean(), discounted.std(ddof=1) / np.sqrt(len(discounted))


def main():
    rng = np.random.Generator(42)  # NumPy: rng = np.random.default_rng(42)
    prices = simulate(rng, 100_000, 16)
    european, error = price(np.maximum(prices[:, -1] - K, 0))
    asian, asian_error = price(np.maximum(prices.mean(axis=1) - K, 0))
    return {
        "Black-Scholes": black_scholes(),
        "European call": european,
        "Asian call": asian,
        "within four errors": bool(abs(european - black_scholes()) < 4 * error),
        "error is below 4 cents": bool(max(error, asian_error) < 0.04),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value}")
