#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validate the docstring of every public name of the installed package with numpydoc. Prints name and error codes.

Public are the callables of ``dltensor``, of its public modules and the members of their classes. Fails when it finds an
error, or fewer names than the package has operations.
"""

import enum
import inspect
import sys

from numpydoc.validate import validate

import dltensor as dl
from dltensor._core.members import SPELLINGS as ALIASES
from dltensor._core.members import methods
from dltensor._spellings.objects import __all__ as OBJECTS

MODULES = (dl, dl.checks, dl.debug, dl.fft, dl.io, dl.layout, dl.linalg, dl.opaque, dl.random, dl.shared)
# Not demanded: GL02, compiled docstrings do not keep the layout of the source; ES01, one line may say everything; SA01,
# not everything has a relative; RT01, which numpydoc finds by reading Python source only: tools/stubs.py finds it.
EXCLUDED = {"GL02", "ES01", "SA01", "RT01"}
# Exceptions are raised, not used: they need neither parameters nor an example.
OF_EXCEPTIONS = {"PR01", "PR02", "EX01"}
# Signatures of enumerations and exceptions are those of their base class.
OF_ENUMERATIONS = {"PR01", "PR02"}
# Names of NumPy and PyTorch: their docstrings name the call that has the parameters.
SPELLED = {f"dltensor.{name}" for name in (*ALIASES, *OBJECTS, *dl.DTYPES)}
SPELLED |= {f"dltensor.Tensor.{name}" for name in methods()}


def public():
    """Yield the dotted name and the object of everything public that has a docstring of its own."""
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing):
                continue
            full = f"{module.__name__}.{name}"
            if full in SPELLED:
                continue
            yield full, thing
            if isinstance(thing, type) and not issubclass(thing, (BaseException, enum.Enum, tuple)):
                for key, member in vars(thing).items():
                    # The class documents the attributes that are slots.
                    attribute = inspect.isdatadescriptor(member) and not inspect.ismemberdescriptor(member)
                    shown = not key.startswith("_") and f"{full}.{key}" not in SPELLED
                    if shown and (callable(member) or attribute):
                        yield f"{full}.{key}", member


def errors(name, thing):
    """Yield code and text of each error in the docstring of a public name."""
    excluded = set(EXCLUDED)
    if isinstance(thing, type) and issubclass(thing, BaseException):
        excluded |= OF_EXCEPTIONS
    elif isinstance(thing, type) and issubclass(thing, (enum.Enum, tuple)):
        excluded |= OF_ENUMERATIONS
    found = validate(name)
    yield from ((code, text) for code, text in found["errors"] if code not in excluded)


def main():
    checked = failed = 0
    for name, thing in public():
        checked += 1
        for code, text in errors(name, thing):
            failed += 1
            print(f"{name}: {code} {text}")
    if checked <= len(dl.OPS):
        sys.exit(f"docstrings: only {checked} names were examined")
    if failed:
        sys.exit(f"docstrings: {failed} errors in {checked} public names")
    print(f"docstrings: {checked} public names pass numpydoc")


if __name__ == "__main__":
    main()
