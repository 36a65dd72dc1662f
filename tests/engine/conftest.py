# SPDX-License-Identifier: Apache-2.0
"""The fixture that files of the engine's tests share."""

import native
import pytest


@pytest.fixture(params=native.levels())
def level(request):
    """Run a test once with each instruction set, whose name this is."""
    before = native.levels()[-1]
    assert native.library.engine_set_level(request.param.encode())
    yield request.param
    native.library.engine_set_level(before.encode())
