# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: the host CUDA driver as fixtures.

Use it with ``pytest_plugins = ["dltensor.testing.plugin"]`` in ``conftest.py``:

``hostcuda``        the machine, eager, without injected faults; reset for each test, which must not leave a context
``hostcuda_order``  the same, once for each order of streams
"""

from __future__ import annotations

import pytest

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
    """The host CUDA driver, eager."""
    yield from _clean(_hostcuda_machine, "eager")


@pytest.fixture(params=_hostcuda.ORDERS)
def hostcuda_order(_hostcuda_machine, request):
    """The host CUDA driver, once for each order of streams."""
    yield from _clean(_hostcuda_machine, request.param)
