# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that prints one line for each test: its name, its outcome and what was raised."""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Write one line of a result: its name, outcome and the last line of what went wrong."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.outcome != "passed":
        kind = call.excinfo.typename if call.excinfo is not None else ""
        why = " ".join(str(call.excinfo.value).split())[:160] if call.excinfo is not None else ""
        state = "xfailed" if hasattr(report, "wasxfail") and report.outcome == "skipped" else report.outcome
        state = "xpassed" if hasattr(report, "wasxfail") and report.outcome != "skipped" else state
        name = item.nodeid.rpartition("/")[2]
        print(f"\nRESULT {name}\t{state}\t{kind}\t{why}")
