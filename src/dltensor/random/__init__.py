# SPDX-License-Identifier: Apache-2.0
"""Random numbers by counter: value i depends on the seed, the stream and i alone, on every processor, to the bit."""

from .._core.naming import set_module as _set_module
from ._generator import Generator, default_rng, philox

__all__ = ["Generator", "default_rng", "philox"]

_set_module(globals())

# Names of NumPy and PyTorch that are no methods of a generator.
_ANSWERS = {
    "RandomState": "dl.random.Generator(seed)",
    "dirichlet": "g = dl.random.Generator(seed).gamma(alpha), g / g.sum(-1)",
    "key": "dl.random.Generator(seed)",
    "manual_seed": "rng = dl.random.Generator(seed)",
    "rand": "dl.random.Generator(seed).random(shape)",
    "randint": "dl.random.Generator(seed).integers(low, high, shape)",
    "randn": "dl.random.Generator(seed).normal(shape=shape)",
    "random_sample": "dl.random.Generator(seed).random(shape)",
    "seed": "rng = dl.random.Generator(seed)",
}


def __getattr__(name):
    line = f"dl.random.Generator(seed).{name}(...)" if hasattr(Generator, name) else _ANSWERS.get(name)
    if line is None or name.startswith("_"):
        raise AttributeError(f"module 'dltensor.random' has no attribute {name!r}", name=name)
    raise AttributeError(f"dltensor.random has no {name}, since there is no hidden state; write {line}", name=name)
