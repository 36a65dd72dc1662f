# SPDX-License-Identifier: Apache-2.0
"""tools/outside_tests.py with a test file in place of NumPy's: passed, failed, aborted, not counted."""

import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parent.parent / "tools" / "outside_tests.py"
HEADER = "import os\nimport numpy as np\nimport pytest\n\n"
PASSES = """
def test_exchange():
    x = np.arange(5)
    y = np.from_dlpack(x)
    assert y[2] == 2
"""
FAILS_WITH_OURS = """
def test_type():
    assert type(np.from_dlpack(np.arange(5))) is type(np.arange(0))
"""
ABORTS_WITH_OURS = """
def test_abort():
    if type(np.from_dlpack(np.arange(5))).__module__ == "dltensor":
        os.abort()
"""
READ_ONLY = """
@pytest.mark.parametrize("spelling", ["method", "attribute"])
def test_read_only(spelling):
    x = np.arange(5)
    if spelling == "method":
        x.setflags(write=False)
    else:
        x.flags.writeable = False
    with pytest.raises(BufferError):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable
"""
USES_NO_TENSOR = """
def test_without_arrays():
    assert np.dtype("f4").itemsize == 4


def test_that_fails_by_itself():
    raise RuntimeError
"""


def run(folder, text):
    file = folder / "checkout" / "numpy" / "_core" / "tests" / "test_dlpack.py"
    file.parent.mkdir(parents=True)
    file.write_text(HEADER + text)
    ended = subprocess.run([sys.executable, str(TOOL), str(folder)], capture_output=True, text=True, timeout=300)
    roles = re.findall(r"dltensor as (\w+): (\d+) of (\d+) pass, .* (\d+) for none, (\d+) not", ended.stdout)
    return ended, {role: tuple(map(int, counts)) for role, *counts in roles}


def test_tests_count_in_both_roles_where_a_tensor_of_ours_takes_part(tmp_path):
    ended, counts = run(tmp_path, PASSES + READ_ONLY + USES_NO_TENSOR)
    assert (ended.returncode, counts) == (0, {"producer": (3, 3, 0, 2), "consumer": (3, 3, 0, 2)})


def test_a_failure_without_a_listed_reason_and_a_crash_end_with_status_1_and_the_others_are_still_run(tmp_path):
    ended, counts = run(tmp_path, ABORTS_WITH_OURS + FAILS_WITH_OURS + PASSES)
    assert (ended.returncode, counts["consumer"]) == (1, (1, 3, 2, 0))
    assert "test_type" in ended.stdout
    assert "the process ended with status -6" in ended.stdout


def test_a_project_of_which_nothing_was_examined_ends_with_status_1(tmp_path):
    ended, _ = run(tmp_path, USES_NO_TENSOR)
    assert ended.returncode == 1
    assert "numpy: FAILED, no test was examined" in ended.stdout


def test_a_folder_without_checkouts_ends_with_status_1(tmp_path):
    ended = subprocess.run([sys.executable, str(TOOL), str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, f"outside_tests: no project was found in: {tmp_path}\n")
