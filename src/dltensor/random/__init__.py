# SPDX-License-Identifier: Apache-2.0
"""Random numbers by counter: value i depends on the seed, the stream and i alone, on every processor, to the bit."""

from .._core.naming import builtin_of as _builtin_of
from .._core.naming import set_module as _set_module
from . import _default
from ._generator import Generator, default_rng, philox

default_generator, seed = _default.default_generator, _default.seed
__all__ = ["Generator", "default_rng", "philox", "seed"]

_set_module(globals())

# Functions that draw from the generator of the process; most are its methods.
rand, randint, randn = _default.rand, _default.randint, _default.randn
globals().update({_function.__name__: _builtin_of(_function) for _function in (rand, randint, randn)})
beta, pareto, random = default_generator.beta, default_generator.pareto, default_generator.random
binomial, geometric, lognormal = default_generator.binomial, default_generator.geometric, default_generator.lognormal
chisquare, laplace, permutation = default_generator.chisquare, default_generator.laplace, default_generator.permutation
choice, gumbel, normal = default_generator.choice, default_generator.gumbel, default_generator.normal
exponential, gamma, multinomial = default_generator.exponential, default_generator.gamma, default_generator.multinomial
logistic, poisson, rayleigh = default_generator.logistic, default_generator.poisson, default_generator.rayleigh
multivariate_normal, random_sample = default_generator.multivariate_normal, default_generator.random
shuffle, uniform, weibull = default_generator.shuffle, default_generator.uniform, default_generator.weibull
standard_exponential, standard_normal = default_generator.standard_exponential, default_generator.standard_normal

# Names of NumPy, PyTorch and JAX that are none of them.
_ANSWERS = {
    "RandomState": "dl.random.Generator(seed)",
    "dirichlet": "g = dl.random.Generator(seed).gamma(alpha), g / g.sum(-1)",
    "get_state": "dl.random.default_generator.state",
    "key": "dl.random.Generator(seed)",
    "manual_seed": "dl.manual_seed(seed)",
    "set_state": "dl.random.default_generator.state = state",
}


def __getattr__(name):
    line = f"dl.random.Generator(seed).{name}(...)" if hasattr(Generator, name) else _ANSWERS.get(name)
    if line is None or name.startswith("_"):
        raise AttributeError(f"module 'dltensor.random' has no attribute {name!r}", name=name)
    raise AttributeError(f"dltensor.random has no {name}; write {line}", name=name)
