# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: writes the name of the test that runs, so that a crash has one, and ends a test that hangs."""

import faulthandler
import os

import pytest

_stacks = open(os.environ["MUTATION_RUNNING"] + ".hung", "w")  # noqa: SIM115 - pytest captures what goes to stderr


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid):
    with open(os.environ["MUTATION_RUNNING"], "w") as file:
        file.write(nodeid)
    # From a thread that needs no GIL: loops in C++ end too.
    faulthandler.dump_traceback_later(float(os.environ["MUTATION_LIMIT"]), exit=True, file=_stacks)


def pytest_runtest_logfinish():
    faulthandler.cancel_dump_traceback_later()
