# SPDX-License-Identifier: Apache-2.0
"""Everything public of the package, for tests that are driven by it. Those of CUDA and of the tools are left out."""

import enum

import dltensor as dl

MODULES = (dl, dl.checks, dl.debug, dl.fft, dl.io, dl.layout, dl.linalg, dl.opaque, dl.random, dl.shared)

SAME = ("__numpy_dtype__",)  # another name of a member


def public():
    """Dotted name and object of every public function and class, and of the members of the classes."""
    found = {}
    for module in MODULES:
        prefix = module.__name__.removeprefix("dltensor").removeprefix(".")
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or thing in found.values():
                continue
            full = f"{prefix}.{name}".removeprefix(".")
            found[full] = thing
            if isinstance(thing, type) and not issubclass(thing, (BaseException, enum.Enum)):
                found.update((f"{full}.{key}", member) for key, member in vars(thing).items() if key not in SAME)
    return found
