# SPDX-License-Identifier: Apache-2.0
"""Every check can fail and none fires without cause: one planted violation and one clean case each, from the table."""

import gc
import weakref

import planted
import pytest

from dltensor.conformance.checks import all_checks
from dltensor.conformance.child import run_one
from dltensor.conformance.rules import RULES
from dltensor.conformance.runner import run
from dltensor.conformance.targets import Target

CHECKS = all_checks()


def test_every_decidable_rule_has_a_check():
    checked = {one.rule for one in CHECKS.values()}
    assert checked == {rule.id for rule in RULES.values() if rule.decidable}
    assert len([rule for rule in RULES if rule.startswith("R")]) == 79


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in planted.ENDING])
def test_a_check_finds_what_was_planted(name):
    outcome, words = run_one(CHECKS[name], planted.target(name))
    assert outcome == "broken", words
    assert len(words) > 20


@pytest.mark.parametrize("name", sorted(planted.ENDING))
def test_a_check_finds_what_ends_the_process(name):
    outcomes, _ = run(f"planted:{name.replace('-', '_')}", [[name]], jobs=1)
    assert outcomes[name].status in ("crashed", "broken"), outcomes[name].words


@pytest.mark.parametrize("name", [name for name in CHECKS if not CHECKS[name].alone])
def test_a_check_is_silent_about_what_is_sound(name):
    outcome, words = run_one(CHECKS[name], planted.target())
    assert (outcome, words) == ("kept", "")


def test_the_last_check_is_silent_about_what_is_sound():
    alone = [name for name, one in CHECKS.items() if one.alone]
    outcomes, _ = run("planted:clean", [[name] for name in alone], jobs=2)
    assert alone
    assert [outcomes[name].status for name in alone] == ["kept"] * len(alone)


def test_no_defect_is_planted_for_nothing():
    known = {*planted.PRODUCERS, *planted.CONSUMERS, *planted.TABLES}
    assert known <= set(CHECKS)
    assert len(known) > 70


def test_the_check_of_deleters_collects_the_cycles_that_they_leave():
    makes, made = planted.maker(None), weakref.WeakSet()

    def make(layout, dtype):
        array = makes(layout, dtype)
        array.itself = array
        made.add(array)
        return array

    gc.disable()
    try:
        run_one(CHECKS["deleter-runs-anywhere"], Target("in cycles", "0", make))
    finally:
        gc.enable()
    assert len(made) == 0
