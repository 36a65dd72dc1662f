# SPDX-License-Identifier: Apache-2.0
"""The pool: every index of a job exactly once, no data race, and a forked child with workers of its own."""

import os
import subprocess

import pytest
from building import FLAGS, INCLUDES, ROOT, compiler, run, sanitizers_run, started

NATIVE = ROOT / "src" / "dltensor" / "native"
SOURCES = [
    ROOT / "tests" / "engine" / "pool_race.cc",
    *(
        NATIVE / name
        for name in ("cpu/runtime/thread_pool.cc", "os/thread.cc", "os/control_groups.cc", "environment.cc")
    ),
]


def build(folder, *flags):
    program = folder / "pool_race"
    command = [*compiler(), *FLAGS, "-O1", "-g", *flags, *[f"-I{i}" for i in INCLUDES]]
    run([*command, *SOURCES, "-pthread", "-o", program])
    return program


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [(["-fsanitize=thread"], ["300"]), (["-fsanitize=address,undefined"], ["2000", "fork"]), ([], ["5000", "fork"])],
    ids=["race", "memory", "plain"],
)
def test_every_index_is_done_once(flags, arguments, tmp_path):
    if flags and not sanitizers_run():
        pytest.skip("sanitizers need a processor that is not emulated")
    program = build(tmp_path, *flags)
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "LD_PRELOAD": ""}
    done = subprocess.run([*started(program), *arguments], capture_output=True, text=True, timeout=300, env=environment)
    assert (done.returncode, done.stdout) == (0, "every index once\n"), done.stderr[-3000:]
