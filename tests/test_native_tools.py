# SPDX-License-Identifier: Apache-2.0
"""Tools that tests look for: what is on PATH and does not run counts as absent."""

import pytest
from native_tools import absence, require, runnable


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A function that puts a program of a name and text on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def plant(name, text):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    return plant


def test_a_tool_that_runs_is_found(planted, tmp_path):
    planted("compiler-that-runs", "#!/bin/sh\necho 1.0\n")
    assert runnable("compiler-that-runs") == str(tmp_path / "compiler-that-runs")
    assert absence("compiler-that-runs") is None


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a-wrapper", "#!/bin/sh\necho 'error: no default toolchain' >&2\nexit 1\n", "error: no default toolchain"),
        ("a-silent-one", "#!/bin/sh\nexit 3\n", "3"),
        ("of-another-system", "\x7fELF of another processor", "Exec format error"),
    ],
)
def test_a_tool_on_the_path_that_does_not_run_is_skipped_with_what_it_said(planted, name, text, reason):
    planted(name, text)
    assert runnable(name) is None
    with pytest.raises(pytest.skip.Exception, match=f"{name} does not run: .*{reason}"):
        require(name)


def test_a_tool_that_is_not_on_the_path_is_not_installed(planted):
    with pytest.raises(pytest.skip.Exception, match="no-such-tool is not installed"):
        require("no-such-tool")
