# SPDX-License-Identifier: Apache-2.0
"""Options of the test run. No fixtures that only one file uses."""

import contextlib
import functools
import gc
import inspect
import os
import zlib

import pytest

# What belongs to the process: a test that uses it cannot run in several threads at once (tools/free_threading.sh).
OF_THE_PROCESS = {
    "dl.debug.": "counts or traces the memory of all threads",
    "live_blocks": "counts the memory of all threads",
    "live_bytes": "counts the memory of all threads",
    "set_blas": "changes the products of all threads",
    "set_cache_limit": "changes the cache of all threads",
    "set_default_dtype": "changes the default dtype of all threads",
    "set_num_threads": "changes the threads of the engine",
    "os.environ": "changes the environment",
    "redirect_stdout": "replaces sys.stdout",
    "doctest.": "replaces sys.stdout",
    "os.chdir": "changes the working directory",
    "sys.modules": "changes what is imported",
    "getrefcount": "counts references that other threads take too",
    "fork": "forks a process, which has one thread only",
    "get_context": "forks a process, which has one thread only",
    "Server(": "forks a process, which has one thread only",
    "/proc/self": "counts what the process has open",
    "open_files()": "counts what the process has open",
    "mapped_blocks()": "counts what the process has mapped",
}


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        default="cpu",
        help="where tests that say so compute: cpu, or cuda on the host driver (with DLTENSOR_TEST_GPU=1 on a card)",
    )
    parser.addoption("--part", metavar="K/N", help="run one test of N: those whose name has the checksum K modulo N")


def pytest_configure(config):
    with contextlib.suppress(ImportError):
        from hypothesis import settings

        # No test is about time: on a busy machine any example may take long.
        settings.register_profile("untimed", deadline=None)
        settings.load_profile("untimed")
    if config.getoption("--device").startswith("cuda") and not os.environ.get("DLTENSOR_TEST_GPU"):
        from dltensor.testing import hostcuda

        os.environ.setdefault("DLTENSOR_CUDA_NVRTC", "off")
        hostcuda.load()  # HOSTCUDA_ORDER=lazy, random:1 and so on say in which order its streams run


def pytest_collection_finish():
    """Leave the objects of the collected tests out of garbage collection: tests collect twice each to count blocks."""
    gc.collect()
    gc.freeze()


@functools.cache
def uses_subprocess(function):
    """Whether a function names the module subprocess."""
    return "subprocess." in inspect.getsource(function)


def starts_programs(function):
    """Whether a function, or one that it calls by name, uses the module subprocess."""
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    return any(map(uses_subprocess, [function, *filter(inspect.isfunction, called)]))


@functools.cache
def thread_unsafe(function):
    """Return why a test cannot run in several threads at once, or None."""
    if starts_programs(function):
        return "starts a program of its own"
    source = inspect.getsource(function)
    return next((reason for text, reason in OF_THE_PROCESS.items() if text in source), None)


def keep_part(config, items):
    """Deselect the tests that are not of the part that was asked for; the same ones every time."""
    number, count = map(int, config.getoption("--part").split("/"))
    mine = {item: zlib.crc32(item.nodeid.encode()) % count == number % count for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not mine[item]])
    items[:] = [item for item in items if mine[item]]


def pytest_collection_modifyitems(config, items):
    if config.getoption("--part"):
        keep_part(config, items)
    if config.getoption("--parallel-threads", None) is None:  # pytest-run-parallel is not installed
        return
    for item in items:
        if isinstance(item, pytest.Function) and (reason := thread_unsafe(item.function)):
            item.add_marker(pytest.mark.thread_unsafe(reason=reason))
