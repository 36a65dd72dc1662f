# SPDX-License-Identifier: Apache-2.0
"""The class of a check, and the list of all checks. The checks themselves are in the modules named after their side."""

import importlib
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

from ..._core.foreign_text import describe_error
from ..observed import difference
from ..rules import find

MODULES = ("producer", "lifetime", "table", "consumer", "hostile")
_CHECKS = {}


class Broken(Exception):
    """A rule is broken; the message has the action, the expected and the actual result."""


class NotApplicable(Exception):
    """The rule does not apply to the target; the message names what is missing."""


@dataclass(frozen=True)
class Check:
    """One test of a rule: a function of a target that raises `Broken` if the rule is broken."""

    name: str
    rule: str
    side: str
    function: Callable
    alone: bool

    @property
    def text(self):
        """The sentence that says what is tried."""
        return " ".join(self.function.__doc__.split())


def check(rule, side, *, alone=False):
    """Enter a function into the list of checks, under its own name.

    `rule` is the rule that it decides and `side` the role of the target, ``producer`` or ``consumer``. With `alone` it
    tests how its process ends, so that it needs a process of its own.
    """
    rule = find(rule).id

    def enter(function):
        name = function.__name__.replace("_", "-")
        if name in _CHECKS or not function.__doc__:
            raise ValueError(f"check: {name} is listed twice or does not say what it tries")
        _CHECKS[name] = Check(name, rule, side, function, alone)
        return function

    return enter


def all_checks():
    """Return every check by name.

    >>> all_checks()["copy-is-marked"].rule
    'R20'
    """
    for module in MODULES:
        importlib.import_module(f".{module}", __package__)
    return dict(_CHECKS)


def expect(condition, message):
    """Raise `Broken` with `message` unless `condition`."""
    if not condition:
        raise Broken(message)


def expect_values(right, got, message):
    """Raise `Broken` with a message and the first element that differs, unless values are the right ones."""
    if differs := difference(right, got):
        raise Broken(f"{message}: {differs}")


@contextmanager
def reported_as(outcome, words, after="", kinds=Exception):
    """Raise `outcome`, which is `Broken` or `NotApplicable`, with `words` and the text of an exception of the block."""
    try:
        yield
    except (Broken, NotApplicable):
        raise
    except kinds as error:
        raise outcome(f"{words} {say(error)}{after}") from error


def say(error):
    """Return an exception as one short line."""
    return describe_error(error, 160)
