# SPDX-License-Identifier: Apache-2.0
"""What threads share in the engine, without Python: under ThreadSanitizer, AddressSanitizer, and as it is shipped.

Each part's lock or wait is also taken out of a copy of the source once, and the sanitizer must say so. The one thing
that it cannot see is the barrier between a thread and another that empties its lists, because its atomics are stronger
than those of a processor: that is what ``shared_state empty`` is for.
"""

import os
import subprocess
from pathlib import Path

import building
import pytest
from native_tools import runnable

PROGRAM = building.ROOT / "tests" / "engine" / "shared_state.cc"
NATIVE = building.ROOT / "src" / "dltensor" / "native"
# `make tsan` asks for more.
ROUNDS = int(os.environ.get("DLTENSOR_TSAN_ROUNDS", "2000"))
VARIANTS = {
    "thread": ["-O1", "-g", "-fsanitize=thread"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "plain": ["-O2", "-g"],
}


def program(variant, replaced=None):
    """Build the program; `replaced` maps files of the engine to other texts of them."""
    if variant != "plain" and not building.sanitizers_run():
        pytest.skip("sanitizers need a processor that is not emulated")
    files = [
        *building.sources("os", "memory", "layout", "opaque"),
        NATIVE / "cpu" / "runtime" / "thread_pool.cc",
        PROGRAM,
    ]
    files = [(replaced or {}).get(path, path) for path in files]
    parts = building.objects([(path, ()) for path in files], *VARIANTS[variant])
    return building.link("shared_state-{}", parts, *VARIANTS[variant])


def run(path, *arguments):
    """Run it and return what it did; a sanitizer that cannot live with randomised addresses gets fixed ones."""
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=1", "LD_PRELOAD": ""}
    for prefix in ([], ["setarch", "-R"]):
        command = [*prefix, *building.started(str(path)), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
        if "unexpected memory mapping" not in done.stderr or runnable("setarch") is None:
            break
    return done


@pytest.mark.parametrize(
    "arguments", [("mix", str(ROUNDS)), ("empty", str(50 * ROUNDS)), ("idle",)], ids=lambda a: a[0]
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_threads_share_stays_whole(variant, arguments):
    done = run(program(variant), *arguments)
    assert (done.returncode, done.stdout) == (0, "nothing shared went wrong\n"), (done.stdout + done.stderr)[-4000:]


# A process of its own, since it is about the first call of all; ThreadSanitizer starts no threads after a fork.
@pytest.mark.parametrize("variant", ["plain", "address"])
def test_a_fork_amid_the_first_job_of_all_holds_up_neither_process(variant):
    done = run(program(variant), "fork")
    assert (done.returncode, done.stdout) == (0, "nothing shared went wrong\n"), (done.stdout + done.stderr)[-4000:]


PLANTED = {
    "memory/block.cc": ("    wait_until_idle(*cache);\n", "    (void)wait_until_idle;\n"),
    "memory/trace.cc": ("  std::lock_guard lock(r.mutex);\n  size_t n = 0;", "  size_t n = 0;"),
    "cpu/runtime/thread_pool.cc": (
        "  wait_for_workers(finished - begun);\n  const",
        "  (void)wait_for_workers;\n  const",
    ),
    "opaque/handles.cc": ("  std::lock_guard lock(all.guard);\n  if (all.first", "  if (all.first"),
    "opaque/array.cc": (
        "released;\n  std::lock_guard lock(array.guard);\n  DLTensor view = array.view();\n  auto ndim",
        "released;\n  DLTensor view = array.view();\n  auto ndim",
    ),
    "opaque/registry.cc": ("    std::lock_guard lock(all.guard);\n    name", "    name"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_the_sanitizer_sees_a_planted_race(name, tmp_path):
    there, instead = PLANTED[name]
    text = (NATIVE / name).read_text()
    assert text.count(there) == 1, f"{name} no longer holds what is taken out of it here"
    planted = tmp_path / Path(name).name
    planted.write_text(text.replace(there, instead))
    done = run(program("thread", {NATIVE / name: planted}), "mix", "20000")
    assert done.returncode != 0, f"without its lock or wait {name} went through"
    assert "data race" in done.stderr or "not so" in done.stdout, (done.stdout + done.stderr)[-2000:]
