# SPDX-License-Identifier: Apache-2.0
"""Everything public of the package, for tests that are driven by it. Callers name CUDA and the tools."""

import enum

import dltensor as dl
from dltensor._core.members import SPELLINGS as ALIASES
from dltensor._core.members import methods
from dltensor._spellings.answers import OF_TENSOR

MODULES = (dl, dl.checks, dl.debug, dl.fft, dl.io, dl.layout, dl.linalg, dl.opaque, dl.random, dl.shared)

SAME = ("__numpy_dtype__",)  # another name of a member
# Functions and methods that tests/test_spelling_rows.py compares with those that they stand for.
SPELLED = {f"Tensor.{name}" for name in methods() | OF_TENSOR} | set(ALIASES)


def public(modules=MODULES):
    """Dotted name and object of every public function and class of modules, and of the members of the classes."""
    found = {}
    for module in modules:
        prefix = module.__name__.removeprefix("dltensor").removeprefix(".")
        for name in module.__all__:
            thing = getattr(module, name)
            full = f"{prefix}.{name}".removeprefix(".")
            is_new = callable(thing) and not isinstance(thing, dl.DType) and thing not in found.values()
            if is_new and full not in SPELLED:
                found |= with_members(full, thing)
    return found


def with_members(name, thing):
    """A function, or a class with its members, by their names."""
    found = {name: thing}
    if isinstance(thing, type) and not issubclass(thing, (BaseException, enum.Enum)):
        members = {f"{name}.{key}": member for key, member in vars(thing).items() if key not in SAME}
        found.update((key, member) for key, member in members.items() if key not in SPELLED)
    return found
