# SPDX-License-Identifier: Apache-2.0
"""Sub-interpreters cannot import the package, and the main interpreter always can."""

import subprocess
import sys
import textwrap

import pytest
from native_tools import has_own_files

# The module has had three names, and its functions two sets of arguments.
HELPERS = """
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            print("no sub-interpreters")
            raise SystemExit

    def new(own_gil):
        try:
            return interpreters.create("isolated" if own_gil else "legacy")
        except TypeError:
            return interpreters.create(isolated=own_gil)

    def attempt(number):
        # Tells by its text how the import went.
        code = "try:\\n import dltensor\\nexcept ImportError as error:\\n raise SystemError(str(error))\\n"
        code += "raise SystemError('imported')"
        try:
            gone = interpreters.run_string(number, code)
        except Exception as error:
            return str(error)
        return str(getattr(gone, "formatted", gone))

    EXPECTED = "dltensor: expected the main interpreter, got a sub-interpreter"
"""


def run(script):
    command = [sys.executable, "-c", textwrap.dedent(HELPERS) + textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout == "no sub-interpreters\n":
        pytest.skip("this Python has no module for sub-interpreters")
    return done.stdout


@has_own_files  # the import of an editable installation starts a process
@pytest.mark.parametrize("own_gil", [False, True])
def test_the_main_interpreter_works_when_a_sub_interpreter_imported_first(own_gil):
    out = run(f"""
    said = attempt(new({own_gil}))
    assert EXPECTED in said, said
    import dltensor as dl
    print((dl.ones(3) + 1).tolist())
    """)
    assert out == "[2.0, 2.0, 2.0]\n"


def test_a_sub_interpreter_is_told_so_after_the_main_one_too():
    out = run("""
    import dltensor as dl
    number = new(False)
    for _ in range(2):
        said = attempt(number)
        assert EXPECTED in said, said
    print((dl.ones(3) + 1).tolist())
    """)
    assert out == "[2.0, 2.0, 2.0]\n"
