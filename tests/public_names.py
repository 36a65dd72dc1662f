# SPDX-License-Identifier: Apache-2.0
"""Everything public of the package, for tests that are driven by it. Callers name CUDA and the tools."""

import enum

import dltensor as dl

MODULES = (dl, dl.checks, dl.debug, dl.fft, dl.io, dl.layout, dl.linalg, dl.opaque, dl.random, dl.shared)

SAME = ("__numpy_dtype__",)  # another name of a member


def public(modules=MODULES):
    """Dotted name and object of every public function and class of modules, and of the members of the classes."""
    found = {}
    for module in modules:
        prefix = module.__name__.removeprefix("dltensor").removeprefix(".")
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and thing not in found.values():
                found |= with_members(f"{prefix}.{name}".removeprefix("."), thing)
    return found


def with_members(name, thing):
    """A function, or a class with its members, by their names."""
    found = {name: thing}
    if isinstance(thing, type) and not issubclass(thing, (BaseException, enum.Enum)):
        found.update((f"{name}.{key}", member) for key, member in vars(thing).items() if key not in SAME)
    return found
