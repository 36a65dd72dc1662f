# SPDX-License-Identifier: Apache-2.0
"""docs/clients.md: its shell commands print what the page shows. Its Python blocks are run by test_docs.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers
pytest.importorskip("sklearn")

PAGE = Path(__file__).parent.parent.parent / "docs" / "clients.md"
COMMANDS = re.findall(
    r"^```sh\n(SCIPY_ARRAY_API=1 python -c .*?)^```\n```text\n(.*?)^```\n", PAGE.read_text(), re.M | re.S
)


@pytest.mark.parametrize(("command", "printed"), COMMANDS)
def test_a_command_prints_what_the_page_shows(command, printed, tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)


def test_the_page_has_commands():
    assert len(COMMANDS) == 2
