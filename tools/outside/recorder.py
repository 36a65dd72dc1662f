# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of ``tools/outside.py`` that writes a line of JSON before and after each test.

The line before a test names the one that ended the process. Tests that OUTSIDE_DONE names are left out.
"""

import json
import os

import uses

OUTPUT = open(os.environ["OUTSIDE_RESULTS"], "a")  # noqa: SIM115
DONE = set(json.loads(open(os.environ["OUTSIDE_DONE"]).read()))  # noqa: SIM115


def write(**line):
    print(json.dumps(line), file=OUTPUT, flush=True)


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid not in DONE]


class Current:
    outcome, why, uses = "passed", "", 0


def pytest_runtest_logstart(nodeid, location):
    Current.outcome, Current.why, Current.uses = "passed", "", uses.count
    write(test=nodeid, started=True)


def pytest_runtest_logreport(report):
    if report.outcome == "passed" or Current.outcome == "failed":
        return
    if report.skipped and hasattr(report, "wasxfail"):
        Current.outcome, Current.why = "xfailed", report.wasxfail
    elif report.skipped:
        Current.outcome = "skipped"
        Current.why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    else:
        Current.outcome = "failed"
        crash = getattr(report.longrepr, "reprcrash", report.longrepr)
        Current.why = getattr(crash, "message", str(crash))


def pytest_runtest_logfinish(nodeid, location):
    why = " ".join(Current.why.split())[:300]
    write(test=nodeid, outcome=Current.outcome, why=why, used=uses.count - Current.uses)


def pytest_collectreport(report):
    if report.failed:
        why = " ".join(str(report.longrepr).split())[-300:]
        write(test=f"{report.nodeid} (collecting)", outcome="failed", why=why, used=0)
