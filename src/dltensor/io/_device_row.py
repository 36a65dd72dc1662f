# SPDX-License-Identifier: Apache-2.0
"""Tensors of a file in one allocation of a device. Small ones are copied to it together."""

from .._core.byte_sizes import bytes_of
from .._core.convert import empty
from .._core.views import from_raw, on_host, raw_bytes

ALIGNMENT = 256
"""Bytes: of each tensor, as of an allocation."""
_SMALL = 1 << 20
_STAGED = 4 << 20


class DeviceRow:
    """Memory of a device that the tensors added to it share, and that lives as long as one of them.

    Parameters
    ----------
    device : device_like
    layouts : sequence of tuple
        Shape, dtype, and whether elements below a byte are padded, of the tensors to come, in their order.

    Examples
    --------
    >>> row = DeviceRow("cpu", [((2,), dl.int8, False), ((), dl.float32, False)])
    >>> added = [row.add(dl.asarray([1, 2], dtype="int8")), row.add(dl.asarray(1.5))]
    >>> row.finish(); added
    [Tensor([1, 2], shape=(2,), device=cpu, dtype=int8), Tensor(1.5, shape=(), device=cpu, dtype=float32)]
    """

    def __init__(self, device, layouts):
        self._layouts = list(layouts)
        sizes = [bytes_of(shape, dtype, padded, "load") for shape, dtype, padded in self._layouts]
        self._starts = [0]
        for size in sizes:
            self._starts.append(-(-(self._starts[-1] + size) // ALIGNMENT) * ALIGNMENT)
        self._memory = empty((self._starts[-1],), dtype="uint8", device=device)
        self._count = 0
        self._staged = self._begin = self._end = None  # memory of the host, and what it holds of the row

    def add(self, t):
        """Return the next tensor; small ones have their elements after `finish`."""
        shape, dtype, padded = self._layouts[self._count]
        start = self._starts[self._count]
        end = start + t.nbytes
        result = from_raw(self._memory[start:end], shape, dtype, padded)
        data = raw_bytes(t if t.is_contiguous and on_host(t) else t.copy())
        self._count += 1
        if t.nbytes >= _SMALL or (self._staged is not None and end - self._begin > _STAGED):
            self.finish()
        if t.nbytes >= _SMALL:
            self._memory[start:end] = data
            return result
        if self._staged is None:
            self._staged, self._begin = empty((min(_STAGED, self._starts[-1] - start),), dtype="uint8"), start
        self._staged[start - self._begin : end - self._begin] = data
        self._end = end
        return result

    def finish(self):
        """Copy what is left to the device."""
        if self._staged is not None:
            self._memory[self._begin : self._end] = self._staged[: self._end - self._begin]
        self._staged = None
