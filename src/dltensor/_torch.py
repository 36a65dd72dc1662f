# SPDX-License-Identifier: Apache-2.0
"""Where torch keeps the bits that say a tensor is conjugated or negated in name only. Nothing else about torch."""

import ctypes
import sys

from ._dlpack import set_torch_keys

# How far to look: the Python object is small, the implementation behind it a little larger.
_OBJECT_BYTES = 64
_IMPL_BYTES = 192


def _word(address):
    return ctypes.c_uint64.from_address(address).value


def _find_impl(torch):
    """The offset in the Python object of the pointer to the implementation, which ``_cdata`` tells."""
    sample = torch.zeros(3)
    for offset in range(ctypes.sizeof(ctypes.c_void_p) * 2, _OBJECT_BYTES, 8):
        if _word(id(sample) + offset) == sample._cdata:
            return offset
    return None


def _changed_bit(torch, offset, make_lazy, dtypes):
    """The one bit of the word at `offset` that `make_lazy` sets in every trial, or 0."""
    bits = set()
    for dtype in dtypes:
        for shape in ((3,), (2, 5), ()):
            plain = torch.zeros(shape, dtype=dtype)
            lazy = make_lazy(plain)
            changed = _word(plain._cdata + offset) ^ _word(lazy._cdata + offset)
            if _word(lazy._cdata + offset) & changed != changed:
                return 0
            bits.add(changed)
    bit = bits.pop() if len(bits) == 1 else 0
    return bit if bit & (bit - 1) == 0 else 0


def find_keys(tensor):
    """Find torch's lazy bits by comparing tensors that differ in nothing else, and prove the find.

    Where it cannot be proven, every import asks ``is_neg`` and ``is_conj`` instead, which costs about 0.1 us.
    """
    torch = sys.modules["torch"]
    set_torch_keys(0, 0, 0)
    impl = _find_impl(torch)
    if impl is None:
        return
    real, complex_ = (torch.float32, torch.float64, torch.complex64), (torch.complex64, torch.complex128)
    for offset in range(8, _IMPL_BYTES, 8):
        negative = _changed_bit(torch, offset, torch._neg_view, real)
        conjugate = _changed_bit(torch, offset, torch.conj, complex_)
        if not negative or not conjugate or negative == conjugate:
            continue
        lazy = negative | conjugate
        samples = [torch.zeros(2), torch.ones(2, 3).T, torch.zeros(4, dtype=torch.complex64), torch.arange(3)]
        samples += [s.conj() for s in samples] + [torch._neg_view(s) for s in samples]
        samples += [torch.zeros(2, dtype=torch.complex64).conj().imag]
        if all(bool(_word(s._cdata + offset) & lazy) == (s.is_neg() or s.is_conj()) for s in samples):
            set_torch_keys(impl, offset, lazy)
            return
