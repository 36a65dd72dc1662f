// SPDX-License-Identifier: Apache-2.0
// The distributions with parameters for each value; read by the preprocessor alone, too. Their values are computed by
// ops/random/continuous.h and ops/random/counts.h.
#pragma once

// Row: name; result, of real numbers or counts (int64); blocks of words that a value takes; two parameters, each with its domain.
// The second parameter of multinomial is the share of each outcome in what the outcomes before it leave; it takes a block for
// each share.
#define DLT_SAMPLES(X)                                                 \
  X(beta, reals, 2, a, positive, b, positive)                          \
  X(binomial, counts, 1, n, whole, p, probability)                     \
  X(chisquare, reals, 1, df, positive, none, no_parameter)             \
  X(gamma, reals, 1, shape, at_least_0, scale, at_least_0)             \
  X(geometric, counts, 1, p, positive_probability, none, no_parameter) \
  X(gumbel, reals, 1, loc, finite, scale, at_least_0)                  \
  X(laplace, reals, 1, loc, finite, scale, at_least_0)                 \
  X(logistic, reals, 1, loc, finite, scale, at_least_0)                \
  X(lognormal, reals, 1, mean, finite, sigma, at_least_0)              \
  X(multinomial, counts, 1, n, whole, pvals, probability)              \
  X(pareto, reals, 1, a, positive, none, no_parameter)                 \
  X(poisson, counts, 1, lam, at_least_0, none, no_parameter)           \
  X(rayleigh, reals, 1, scale, at_least_0, none, no_parameter)         \
  X(weibull, reals, 1, a, positive, none, no_parameter)
