# SPDX-License-Identifier: Apache-2.0
"""The sources that consumers import: valid producers, except for the fields that a check changes. Asserts nothing."""

import struct as packing

from . import _probe
from .observed import IS_COPIED

SIX = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def floats(numbers=SIX):
    """Numbers as the bytes of float32."""
    return packing.pack(f"<{len(numbers)}f", *numbers)


class Source:
    """A producer of one array of six float32, 1 to 6, that records its calls and the deletions of its structs.

    `age` is "2023", "2021", "forwarded" or "bare": the keywords that `__dlpack__` takes; "forwarded" passes any on.
    `answers` is "versioned", "legacy", or "asked", which gives a versioned capsule if one is requested. `reports` is
    the result of `__dlpack_device__`, by default the struct's device. `content` are the bytes of the memory, `shift`
    bytes are before the first element. With `cached` each call returns the same capsule. `fields` are those of
    `_probe.Probe`.
    """

    def __init__(self, *, age="2023", answers="asked", reports=None, content=None, shift=0, cached=False, **fields):
        content = floats() if content is None else content
        self._base = _probe.memory(len(content) + shift + 64)
        _probe.write_at(self._base + shift, content)
        self._content, self._fields = content, {"data": self._base + shift, **fields}
        self._answers, self._reports, self._cached = answers, reports, None if cached else False
        self.dtype = fields.get("dtype", (2, 32, 1))
        self.probes, self.asked = [], []
        self.device_calls = 0
        self.__class__ = type("Source", (type(self),), {"__dlpack__": _SIGNATURES[age]})

    def __dlpack_device__(self):
        self.device_calls += 1
        return self._reports or self._fields.get("device", (1, 0))

    def hand_out(self, max_version=None, copy=None, dl_device=None, **asked):
        """Make the requested capsule."""
        self.asked.append({"max_version": max_version, "copy": copy, "dl_device": dl_device, **asked})
        if dl_device is not None and tuple(dl_device) != tuple(self.__dlpack_device__()):
            raise BufferError(f"this source has no memory on device {dl_device}")
        if self._cached:
            return self._cached
        versioned = self._answers == "versioned" or (
            self._answers == "asked" and max_version is not None and max_version[0] >= 1
        )
        fields = dict(self._fields)
        if not versioned:
            fields.pop("version", None)
            fields.pop("flags", None)
        if copy:
            fields.pop("data")
            fields["owned"] = self._content
            if versioned:
                fields["flags"] = fields.get("flags", 0) | IS_COPIED
        probe = _probe.Probe(legacy=not versioned, **fields)
        self.probes.append(probe)
        capsule = probe.capsule()
        if self._cached is None:
            self._cached = capsule
        return capsule

    @property
    def address(self):
        """The address of the first element."""
        return self._fields["data"] + self._fields.get("byte_offset", 0)

    @property
    def deleted(self):
        """The number of times that deleters of its structs ran."""
        return sum(probe.deleted for probe in self.probes)

    def forget(self):
        """Release a cached capsule, as the destruction of a producer does."""
        self._cached = False

    def write(self, numbers):
        """Write float32 into the memory, as the owner may."""
        _probe.write_at(self._fields["data"], floats(numbers))


def _as_of_2023(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    return self.hand_out(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _as_of_2021(self, *, stream=None):
    return self.hand_out(stream=stream)


def _forwarded(self, **keywords):
    return _as_of_2021(self, **keywords)


def _bare(self):
    return self.hand_out()


_SIGNATURES = {"2023": _as_of_2023, "2021": _as_of_2021, "forwarded": _forwarded, "bare": _bare}


def with_table(source, *, name="dlpack_exchange_api", manner="sound", **fields):
    """Give a source's type an exchange table, over its ``__dlpack__``."""
    _probe.table_manner(manner)
    table = _probe.make_table(**fields)
    type(source).__dlpack_c_exchange_api__ = _probe.table_capsule(table, name)
    type(source).__c_dlpack_exchange_api__ = type(source).__dlpack_c_exchange_api__
    return source
