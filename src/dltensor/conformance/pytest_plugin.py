# SPDX-License-Identifier: Apache-2.0
"""``pytest -p dltensor.testing.plugin --dlpack-check mypkg:make``: every rule that applies is a test item."""

import pytest


def pytest_addoption(parser):
    """Add the option."""
    group = parser.getgroup("dltensor", "DLPack conformance")
    group.addoption(
        "--dlpack-check",
        action="append",
        default=[],
        metavar="TARGET",
        help="check a framework or module:name against the rules of DLPack (may be given several times)",
    )
    group.addoption("--dlpack-only", default="", metavar="WHAT", help="rules, checks or sides, by comma")


class Broken(Exception):
    """A MUST is broken."""


class Item(pytest.Item):
    """One check of one target."""

    def __init__(self, *, check, rule, **keywords):
        super().__init__(**keywords)
        self.check, self.rule = check, rule

    def runtest(self):
        """Report the result of this check."""
        finding = self.parent.finding(self.check)
        if finding.status == "skipped":
            pytest.skip(finding.words)
        if finding.is_bad and finding.severity == "MUST":
            raise Broken(finding.words)
        if finding.is_bad:
            pytest.xfail(f"{finding.severity}: {finding.words}")

    def repr_failure(self, excinfo):
        """The finding as text, without our traceback."""
        from . import Missing

        if isinstance(excinfo.value, Missing):
            return str(excinfo.value)
        if isinstance(excinfo.value, Broken):
            return f"{self.rule.id} ({self.rule.severity}): {self.rule.text}\n  {excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self):
        """The location of the item."""
        return self.path, None, f"DLPack {self.parent.name} {self.name}"


class Suite(pytest.Collector):
    """All checks of one target; they run together, at the first one."""

    def __init__(self, *, target, only, **keywords):
        super().__init__(**keywords)
        self.target, self.only, self._findings = target, only, None

    def collect(self):
        """One item per check."""
        from . import checks_by_name
        from .rules import RULES

        for name, one in checks_by_name(self.only).items():
            yield Item.from_parent(self, name=f"{one.rule}-{name}", check=name, rule=RULES[one.rule])

    def finding(self, check):
        """The result of a check."""
        from . import check as run

        if self._findings is None:
            self._findings = {one.check: one for one in run(self.target, only=self.only).findings}
        return self._findings[check]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Add the suites to the collected tests."""
    result = yield
    only = [word for word in session.config.option.dlpack_only.split(",") if word]
    for target in session.config.option.dlpack_check:
        suite = Suite.from_parent(session, name=target, nodeid=f"dlpack/{target}", target=target, only=only)
        session.items.extend(suite.collect())
        session.testscollected = len(session.items)
    return result
