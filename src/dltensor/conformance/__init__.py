# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of DLPack: does a framework follow the rules? Imports no framework and no check."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .report import Result

import importlib

_MODULES = {"RULES": "rules", "Rule": "rules", "Result": "report", "Finding": "report"}
__all__ = [*_MODULES, "Missing", "check", "installed"]


def __getattr__(name):
    # Imported lazily: they import XML and JSON, which `import dltensor` does not need.
    if name in _MODULES:
        return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Missing(ImportError):
    """The target of a check cannot be loaded; the message has the reason and the remedy."""


def installed() -> list[str]:
    """Return the frameworks that can be checked by name and are installed here.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import dltensor as dl
    >>> "dltensor" in dl.conformance.installed()
    True
    """
    from . import targets

    return targets.installed()


def checks_by_name(only):
    """Return the checks that rules, names or sides select, by name; all for an empty `only`."""
    from .._core.foreign_text import first_line
    from .checks import all_checks
    from .rules import find

    checks = all_checks()
    if not only:
        return checks
    names, unknown = {}, []
    for word in only:
        hits = {
            name: one
            for name, one in checks.items()
            if word in (name, one.side) or one.function.__module__.endswith(f".checks.{word}")
        }
        if not hits:
            try:
                rule = find(word).id
            except KeyError:
                unknown.append(word)
                continue
            hits = {name: one for name, one in checks.items() if one.rule == rule}
            if not hits:
                from .rules import RULES

                raise ValueError(f"check: {rule} cannot be decided: {RULES[rule].undecidable}")
        names.update(hits)
    if unknown:
        raise ValueError(
            f"check: expected rules (20, R20, H6), names of checks or producer, consumer, lifetime, table, "
            f"hostile; got {first_line(', '.join(unknown))}"
        )
    return {name: one for name, one in checks.items() if name in names}


def check(
    framework: object, *, only: Sequence[str] = (), jobs: int = 2, progress: Callable[..., object] | None = None
) -> Result:
    """Check which rules of DLPack a framework follows. Checks run in child processes: a crash is a result.

    Parameters
    ----------
    framework : str
        The name of an installed framework (`installed`), or ``module:name`` of a function without required arguments
        that returns an array, of a function of one DLPack object, or of an object with `make` and `from_dlpack`.
    only : sequence of str
        Rules (``"R20"``), names of checks, or ``producer``, ``consumer``, ``lifetime``, ``table``, ``hostile``.
    jobs : int
        How many child processes at a time, at most; never more than there are cores.
    progress : callable of (done, total), optional
        Called after each check.

    Returns
    -------
    Result

    Raises
    ------
    Missing
        The framework cannot be imported, or the user's function raises or returns no array.
    ValueError
        `only` names nothing, or `jobs` is not an integer of at least 1.

    Examples
    --------
    >>> import dltensor as dl
    >>> dl.conformance.check("dltensor", only=["R20"]).conformant
    True
    """
    from .report import Result
    from .runner import Lost, run

    chosen = checks_by_name(only)
    together = [name for name, one in chosen.items() if not one.alone and not one.rule.startswith("H")]
    hostile = [name for name, one in chosen.items() if one.rule.startswith("H")]
    alone = [[name] for name, one in chosen.items() if one.alone]
    # The hostile checks in two halves: a crash costs one more import of the framework, and halves run in parallel.
    batches = [together, hostile[::2], hostile[1::2], *alone]
    done = []

    def count_done(name):
        done.append(name)
        if progress:
            progress(len(set(done)), len(chosen))

    try:
        outcomes, facts = run(framework, batches, jobs, count_done)
    except Lost as error:
        raise Missing(str(error)) from None
    return Result.of(
        framework, facts, [(chosen[name], outcomes[name]) for name in chosen if name in outcomes], complete=not only
    )
