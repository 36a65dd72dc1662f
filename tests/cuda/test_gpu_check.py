# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_check.sh and gpu_random.py: how a stage is counted. The script itself needs a card, or a rehearsal."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from native_tools import absence, runnable

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "gpu_check.sh"


def suite(tests, failures=0, errors=0, skipped=0):
    return f'<testsuite tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"></testsuite>'


@pytest.mark.parametrize(
    ("report", "code", "words"),
    [
        (suite(5), 0, "5 passed, 0 failed, 0 errors, 0 skipped"),
        (suite(5, skipped=2), 0, "3 passed, 0 failed, 0 errors, 2 skipped"),
        (suite(5, skipped=3), 6, "2 passed, 0 failed, 0 errors, 3 skipped"),
        (suite(5, skipped=5), 5, "0 passed, 0 failed, 0 errors, 5 skipped"),
        (suite(0), 5, "0 passed"),
        (suite(5, failures=1), 1, "4 passed, 1 failed"),
        (suite(5, errors=1), 1, "1 errors"),
        ("<cut off", 3, "no report"),
        (None, 3, "no report"),
    ],
)
def test_a_stage_that_skips_or_breaks_off_is_red(tmp_path, report, code, words):
    counter = tmp_path / "count.py"
    counter.write_text(re.search(r"<<'COUNT'\n(.*?)\nCOUNT\n", SCRIPT.read_text(), re.S)[1])
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(f"<testsuites>{report}</testsuites>" if report.startswith("<testsuite ") else report)
    done = subprocess.run([sys.executable, str(counter), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout


PLANTED = {
    "passes": "def test_one(): pass\ndef test_two(): pass\n",
    "fails": "def test_one(): pass\ndef test_two(): assert 1 == 2\n",
    "skips": "import pytest\n@pytest.mark.skip\ndef test_one(): pass\n",
    "skips_most": "import pytest\nmark = pytest.mark.parametrize('k', range(3))\ndef test_one(): pass\n"
    "@mark\ndef test_two(k): pytest.skip('no peer')\n",
    "is_empty": "",
    "dies": "import os\ndef test_one(): pass\ndef test_two(): os.abort()\n",
    "hangs": "import time\ndef test_one(): time.sleep(60)\n",
}


@pytest.mark.skipif(runnable("bash") is None, reason=str(absence("bash")))
def test_planted_failures_and_skips_are_red(tmp_path):
    """The script's own stages with planted files: the verdict has a red row for each that is not whole."""
    for name, text in PLANTED.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    whole = SCRIPT.read_text()
    parts = [
        re.search(r"^report\(\).*?^}$", whole, re.S | re.M)[0],
        re.search(r"^left\(\).*?$", whole, re.M)[0],
        re.search(r"^cat > \"\$AT/count.py\".*?^COUNT$", whole, re.S | re.M)[0],
        re.search(r"^stage\(\).*?^}$", whole, re.S | re.M)[0],
        re.search(r"^ONE=.*?$", whole, re.M)[0],
        re.search(r"^tests\(\).*?^}$", whole, re.S | re.M)[0],
        *[f'tests {name} {5 if name == "hangs" else 40} "${{ONE[@]}}" test_{name}.py' for name in PLANTED],
        whole.rstrip().splitlines()[-1],
    ]
    head = f'set -u\nOUT=. AT=. LOGS=. START=$(date +%s) LIMIT=500 PYTHON="{sys.executable}"\n'
    done = subprocess.run(
        ["bash", "-c", head + "\n".join(parts)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    rows = {line.split()[0]: line.split()[2] for line in (tmp_path / "verdict.txt").read_text().splitlines()}
    assert rows.pop("passes") == "0", done.stdout + done.stderr
    assert rows == {"fails": "1", "skips": "5", "skips_most": "6", "is_empty": "5", "dies": "134", "hangs": "124"}
    assert done.returncode != 0


@pytest.mark.skipif(runnable("bash") is None, reason=str(absence("bash")))
def test_every_file_of_tests_for_a_card_is_in_one_stage():
    marked = {p.name for p in Path(__file__).parent.glob("test_*.py") if "pytest.mark.gpu" in p.read_text()}
    marked.discard(Path(__file__).name)
    stages = re.search(r"^ENGINE=.*?^done$", SCRIPT.read_text(), re.S | re.M)[0]
    names = ("ENGINE", "STREAMS", "TENSORS", "FUNCTIONS", "MATRICES", "PEERS", "LIFETIMES")
    done = subprocess.run(
        ["bash", "-c", stages + "\nprintf '%s\\n' " + " ".join(f'"${{{name}[@]}}"' for name in names)],
        cwd=SCRIPT.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    files = [Path(line).name for line in done.stdout.split()]
    assert len(marked) > 10
    assert sorted(marked - set(files)) == []
    assert sorted(files) == sorted(set(files))
    assert all((Path(__file__).parent / name).exists() for name in files)


@pytest.mark.skipif(runnable("bash") is None, reason=str(absence("bash")))
@pytest.mark.parametrize("name", ["gpu_check.sh", "gpu_pack.sh"])
def test_the_scripts_are_well_formed(name):
    done = subprocess.run(["bash", "-n", str(SCRIPT.with_name(name))], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


RANDOM = """
import itertools, sys
sys.path.insert(0, "tools")
import gpu_random
if sys.argv.pop() == "planted":
    count = itertools.count()
    gpu_random.bits = lambda x: bytes([next(count) % 2])  # no two results are the same
sys.exit(gpu_random.main())
"""


@pytest.mark.parametrize(("planted", "code"), [("sound", 0), ("planted", 1)])
def test_random_calls_are_compared(planted, code):
    done = subprocess.run(
        [sys.executable, "-c", RANDOM, "--host", "--most", "200", "--calls", "4", planted],
        cwd=SCRIPT.parents[1],
        env={**os.environ, "DLTENSOR_CUDA_NVRTC": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("gpu_random: 4 calls, 0 differ" in done.stdout) == (code == 0)
    assert ("gpu_random: differs: " in done.stdout) == (code == 1)
