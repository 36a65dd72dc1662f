# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PT017  these run without pytest
"""How behaviours are registered and exceptions expected. No behaviour is here."""

import gc
from contextlib import contextmanager

CASES = {}


def case(number, name, /, *needed, **parameters):
    """Register a behaviour under its row; `needed` are packages without which it is skipped by name."""

    def register(function):
        identity = f"{'B' if number < 76 else 'C' if number < 89 else 'F'}{number} {name}"
        assert identity not in CASES, identity
        CASES[identity] = (function, needed, parameters)
        return function

    return register


@contextmanager
def raises(kind, *parts, same=None):
    """The block raises exactly this kind, with every part in its words, or this very exception."""
    try:
        yield
    except BaseException as error:
        if same is not None:
            assert error is same, f"another exception came through: {error!r}"
            return
        assert type(error).__name__ != "SystemError", repr(error)
        assert isinstance(error, kind), f"expected {kind}, got {error!r}"
        for part in parts:
            assert part in str(error), f"{part!r} is not in {str(error)!r}"
        return
    raise AssertionError(f"nothing was raised, expected {kind}")


def collect_garbage():
    """Collect garbage, so that unreferenced objects are freed."""
    gc.collect()
