# SPDX-License-Identifier: Apache-2.0
"""The generator of the process, from which nothing inside of the package draws, and NumPy's older names for it."""

import os

from ._generator import Generator

default_generator = Generator()
_system_key = default_generator.state["key"]  # None after a seed


def seed(seed=None):
    """Seed the generator of the process, ``dl.random.default_generator``.

    Functions such as ``dl.random.normal`` and ``dl.randn`` draw from it, from any thread; its first seed is of the
    operating system. A process that ``os.fork`` makes gets a new seed of the operating system, unless there had been a
    seed: it then draws what its parent draws. Numbers are others than those of NumPy and PyTorch.

    Parameters
    ----------
    seed : int, sequence of int or None, optional
        An integer, integers that are hashed, or None for a seed of the operating system.

    Raises
    ------
    TypeError
        The seed is not an integer, a sequence of integers or None.

    {See Also: _generator.Generator}

    Examples
    --------
    >>> dl.random.seed(7)
    >>> dl.random.rand(2).tolist() == dl.random.Generator(7).random(2).tolist()
    True
    """
    global _system_key
    default_generator.state = state = Generator(seed).state
    _system_key = state["key"] if seed is None else None


def rand(*shape):
    """Draw real values that are uniform in [0, 1), of extents that come one by one."""
    return default_generator.random(shape)


def randn(*shape):
    """Draw values of the normal distribution, of extents that come one by one."""
    return default_generator.normal(shape=shape)


def randint(low, high=None, size=(), dtype=None):
    """Draw integers from `low`, or 0, up to the last one below `high`, or `low`."""
    return default_generator.integers(low, high, () if size is None else size, dtype=dtype)


def _leave_the_parents_sequence():
    if default_generator.state["key"] == _system_key:
        seed()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_the_parents_sequence)
