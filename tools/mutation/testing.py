# SPDX-License-Identifier: Apache-2.0
"""Which tests touch a file, and whether they find the fault that stands in the copy."""

import contextlib
import fnmatch
import os
import signal
import subprocess
import time
import tomllib
from pathlib import Path

SECONDS_PER_TEST = 120
SECONDS = 1800
BYTES = 6 << 30  # of memory in use: a fault in a size must not take the machine


def _path(name):
    folder, _, last = name.rpartition("/")
    if not folder and last in ("engine", "opaque", "conformance"):
        return f"tests/{last}"
    return "/".join(part for part in ("tests", folder, f"test_{last}.py") if part)


_rows = tomllib.loads(Path(__file__).with_name("tests.toml").read_text())
TESTS = [(pattern, [_path(name) for name in names.split()]) for pattern, names in _rows["tests"].items()]
SLOW = [_path(name) for name in _rows["slow"].split()]
LEFT_OUT = [_path(name) for name in _rows["left_out"].split()]
# Folders that need a device or packages of their own; their processes would import the installed package, too.
OTHER_TARGETS = [f"tests/{name}" for name in ("clients", "conformance", "cuda", "distributed", "extensions", "typing")]


def tests_of(file):
    """The tests that are likely to find a fault in a file of src/dltensor, the likeliest first."""
    name = file.removeprefix("src/dltensor/")
    for pattern, tests in TESTS:
        if fnmatch.fnmatch(name, pattern):
            return tests
    return []


def stages(file):
    """Lists of pytest's arguments, one after another until one fails."""
    first = tests_of(file)
    if first:
        yield first
    if any(test.startswith("tests/cuda") for test in first):
        return  # the light tests have no such device
    slow = [path for path in SLOW if path not in first]
    done = [*first, *slow, *LEFT_OUT, *OTHER_TARGETS]
    yield ["tests", *(option for path in done for option in ("--ignore", path))]
    yield slow


def run_tests(copy, arguments):
    """Run pytest in the copy until the first failure.

    Returns
    -------
    str
        What found the fault: a test's name, after "crash", "hang" or "memory" where it did not simply fail; or "".
    """
    running, hung = copy.folder / "running", copy.folder / "running.hung"
    running.write_text("")
    hung.write_text("")
    environment = {
        **os.environ,
        "PATH": f"{copy.python.parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{copy.site}:{copy.tree / 'tools'}",
        # A fault may have its file's size, and its time to the second.
        "PYTHONDONTWRITEBYTECODE": "1",
        "DLTENSOR_TEST_CACHE": str(copy.compiled),
        "MUTATION_RUNNING": str(running),
        "MUTATION_LIMIT": str(SECONDS_PER_TEST),
    }
    command = [str(copy.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutation.watch",
               "-m", "not peers and not gpu", *arguments]  # fmt: skip
    with open(copy.folder / "output", "w+") as output:
        process = subprocess.Popen(
            command, cwd=copy.tree, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        reason = _watch(process)
    name = running.read_text()
    if reason:
        return f"{reason}: {name}"
    if process.returncode == 0:
        return ""
    if hung.read_text():
        return f"hang: {name}"
    if process.returncode in (1, 2, 3, 4):
        return name or "start"
    return f"crash: {name or 'start'}"


def _watch(process):
    """Wait for a process, and end it and its children when it takes too long or too much."""
    start, reason = time.monotonic(), ""
    try:
        while not reason:
            try:
                process.wait(0.2)
                break
            except subprocess.TimeoutExpired:
                reason = _excess(process.pid, time.monotonic() - start)
    finally:
        # Children of a test that crashed must not outlive it, nor tests this program when it is terminated.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return reason


def _excess(pid, seconds):
    if seconds > SECONDS:
        return "hang"
    try:
        with open(f"/proc/{pid}/statm") as file:
            pages = int(file.read().split()[1])
    except (OSError, IndexError):
        return ""
    return "memory" if pages * os.sysconf("SC_PAGE_SIZE") > BYTES else ""
