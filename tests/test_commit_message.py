# SPDX-License-Identifier: Apache-2.0
"""tools/commit_message.py: the form of a commit's message, and git's hook that checks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import commit_message  # noqa: E402


@pytest.mark.parametrize(
    "subject",
    [
        "Fix use-after-free when an operand's __dlpack__ resizes another operand",
        "docs: describe the emulator",
        "tools/website: embed fonts",
        "CUDA scan: compute block prefixes with all threads",
        "Pass null to from_dlpack",
        "Re-read shapes after calls of Python",
        "Speed up sums",
        "Merge branch 'main' into work, which may have any length that git makes of the names of its branches",
        'Revert "Tests"',
    ],
)
def test_an_imperative_subject_is_accepted(subject):
    assert list(commit_message.faults(f"{subject}\n", changes_source=False)) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "expected a subject of 1 to 72 characters, got 0"),
        ("Fix " + 69 * "x", "expected a subject of 1 to 72 characters, got 73"),
        ("Tests of the fuzzer", "got 'Tests'"),
        ("Fixed a crash", "got 'Fixed'"),
        ("Adding tests", "got 'Adding'"),
        ("Decision about wheels", "got 'Decision'"),
        ("NumPy scalars stay", "got 'NumPy'"),
        ("docs: the table of types", "got 'the'"),
        ("cumsum(): fix the dtype of the result", "got 'cumsum():'"),
        ("Fix sums; test products", "expected one idea"),
        ("Fix sums\nand more", "expected an empty line after the subject, got 'and more'"),
    ],
)
def test_a_subject_that_is_none_is_refused_with_a_reason(message, fault):
    assert fault in "\n".join(commit_message.faults(message, changes_source=False))


def test_a_commit_that_changes_the_package_needs_a_body():
    subject = "Fix sums of infinities\n"
    no_body = ["expected a body, as src/ changes: situation, fault, fix, not covered"]
    assert list(commit_message.faults(subject, changes_source=True)) == no_body
    assert (
        list(commit_message.faults(f"{subject}\nSigned-off-by: A <a@b.c>\n# comment\n", changes_source=True)) == no_body
    )
    assert list(commit_message.faults(f"{subject}\nsum() added what it should not.\n", changes_source=True)) == []


def test_the_diff_below_the_scissors_of_git_is_no_body():
    message = (
        "Fix sums\n\n# ------------------------ >8 ------------------------\n# Do not modify\ndiff --git a/src b/src\n"
    )
    assert len(list(commit_message.faults(message, changes_source=True))) == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_refuses_a_commit_whose_message_breaks_the_rules(tmp_path):
    def git(*words):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert git("init", "-q").returncode == 0
    hook = tmp_path / ".git" / "hooks" / "commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tools/commit_message.py "$1"\n')
    hook.chmod(0o755)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "file").write_text("text")
    git("add", "src")
    refused = git("commit", "-m", "Add a file")
    assert refused.returncode != 0
    assert "expected a body" in refused.stderr
    assert git("commit", "-m", "Add a file", "-m", "There was none.").returncode == 0
