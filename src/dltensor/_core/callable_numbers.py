# SPDX-License-Identifier: Apache-2.0
"""Integers that may be called, for attributes of Tensor that are methods of PyTorch's tensors."""


class Address(int):
    """Integer that is an address; a call returns it as a plain one."""

    __slots__ = ()

    def __call__(self) -> int:
        return int(self)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


class Truth(int):
    """The integer 1 or 0, which prints as a bool, as no class can be derived from it; a call returns it as one."""

    __slots__ = ()

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    def __reduce__(self) -> tuple[type[bool], tuple[int]]:
        return bool, (int(self),)


def call_ufunc_with_ints(self, ufunc, method, *inputs, **options):
    """Call a ufunc with plain integers: with classes derived from int NumPy promotes as with arrays of int64."""
    return getattr(ufunc, method)(*[int(x) if type(x) is type(self) else x for x in inputs], **options)
