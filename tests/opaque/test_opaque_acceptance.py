# SPDX-License-Identifier: Apache-2.0
"""Whether every case of the acceptance list has a test: names in this folder carry their numbers. No cases in here."""

import ast
import re

import native_building as build
from test_opaque_native import NUMBERS


def numbered():
    """Case number to the tests that name it."""
    found = {}
    for path in sorted(build.HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and (match := re.match(r"test_((?:\d\d_)+)", node.name)):
                for number in re.findall(r"\d\d", match[1]):
                    found.setdefault(int(number), []).append(f"{path.name}::{node.name}")
    for program, cases in NUMBERS.items():
        for case, numbers in cases.items():
            for number in numbers:
                found.setdefault(number, []).append(f"{program}::{case}")
    return found


def test_every_case_of_the_list_is_there():
    found = numbered()
    assert sorted(found) == list(range(1, 51)), f"missing: {sorted(set(range(1, 51)) - set(found))}"


def test_every_native_case_has_its_numbers():
    for program, cases in NUMBERS.items():
        assert sorted(build.cases(program)) == sorted(cases), program
