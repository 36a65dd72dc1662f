# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin: the option ``--dlpack-check`` of the conformance suite, and the CUDA emulator as fixtures.

It is opt-in: ``pytest -p dltensor.testing.plugin``, or ``pytest_plugins = ["dltensor.testing.plugin"]`` in the
``conftest.py`` of the root directory.

``--dlpack-check``  every DLPack rule that applies to a target is a test item
``hostcuda``        the CUDA emulator, eager, without injected faults; a test may not leave a CUDA context
``hostcuda_order``  the same, once for each order of streams
"""

from __future__ import annotations

import pytest

from ..conformance.pytest_plugin import pytest_addoption, pytest_collection  # noqa: F401  hooks of pytest
from . import hostcuda as _hostcuda


def _clean(machine, order):
    machine.fail_no_more()
    machine.configure(order=order, launches=True)
    depth = machine.context_depth()
    yield machine
    machine.fail_no_more()
    machine.configure(order="eager", launches=True)
    assert machine.context_depth() == depth, "the test left a CUDA context on this thread's stack"


@pytest.fixture(scope="session")
def _hostcuda_machine():
    try:
        return _hostcuda.load()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def hostcuda(_hostcuda_machine):
    """The CUDA emulator, eager."""
    yield from _clean(_hostcuda_machine, "eager")


@pytest.fixture(params=_hostcuda.ORDERS)
def hostcuda_order(_hostcuda_machine, request):
    """The CUDA emulator, once for each order of streams."""
    yield from _clean(_hostcuda_machine, request.param)
