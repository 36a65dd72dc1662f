# SPDX-License-Identifier: Apache-2.0
"""The array API namespace: versions, devices, dtypes and capabilities."""

import sys

from .._core.default_dtype import get_default_dtype
from .._core.foreign_text import quoted
from .._core.layout import MOST_DIMENSIONS
from .._core.types import COMPUTED, DTYPES, Device, as_device
from .dtypes import isdtype
from .elementwise import equal

# Every version of the array API whose functions this package has, the newest last.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class NamespaceInfo:
    """The result of ``__array_namespace_info__()``, as the array API names it."""

    def capabilities(self):
        """Return what indexing and shapes can do, by the standard's names."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_DIMENSIONS}

    def default_device(self):
        """Return the device of new tensors."""
        return Device("cpu")

    def default_dtypes(self, *, device=None):
        """Return the dtypes of new tensors by kind."""
        self._check(device)
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": DTYPES[f"complex{2 * real.bits}"],
            "integral": DTYPES["int64"],
            "indexing": DTYPES["int64"],
        }

    def dtypes(self, *, device=None, kind=None):
        """Return the dtypes of the standard by name; `kind` as for ``isdtype``.

        The standard has no 16-bit floats and asks for its own dtypes only: float16 and bfloat16 are left out.
        """
        self._check(device)
        names = [name for name in COMPUTED if name not in ("float16", "bfloat16")]
        return {name: DTYPES[name] for name in names if kind is None or isdtype(DTYPES[name], kind)}

    def devices(self):
        """Return the devices that can hold tensors here, as a tuple."""
        from .. import cuda

        count = cuda.device_count() if cuda.is_available() else 0  # no exception where a driver does not start
        return self.default_device(), *(Device(f"cuda:{i}") for i in range(count))

    def _check(self, device):
        if device is not None and as_device(device, "__array_namespace_info__") not in self.devices():
            raise ValueError(
                f"__array_namespace_info__: expected a device that is here, got {quoted(device)}; there "
                f"is {', '.join(map(str, self.devices()))}"
            )


def info():
    """Return what this namespace supports, as an object with the methods of the array API.

    Returns
    -------
    NamespaceInfo
        With ``capabilities()``, ``default_device()``, ``default_dtypes()``, ``devices()`` and ``dtypes()``.

    Notes
    -----
    Array API 2025.12: ``__array_namespace_info__``.

    Examples
    --------
    >>> dl.__array_namespace_info__().default_dtypes()["real floating"]
    dltensor.float32
    """
    return NamespaceInfo()


def namespace(api_version):
    """Answer ``__array_namespace__``: this package."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"__array_namespace__: api_version must be one of {', '.join(VERSIONS)}, or None, got {quoted(api_version)}"
        )
    return sys.modules["dltensor"]


def contains(t, value):
    """Answer ``value in t``: whether any element equals it."""
    return 1 in bytes(equal(t, value).to("cpu"))
