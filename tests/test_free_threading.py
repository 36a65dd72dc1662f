# SPDX-License-Identifier: Apache-2.0
"""What threads share: each thing is taken, made or found out once. With a GIL the tests pass as well."""

import os
import subprocess
import sys
import sysconfig
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

import dltensor as dl
from dltensor._core.once import Once

THREADS = 4
without_gil = pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python cannot run without the GIL"
)


def at_once(function, threads=THREADS):
    """What `function` returns, or the exception that it raises, in threads that begin together."""
    barrier = threading.Barrier(threads)

    def begin(number):
        barrier.wait()
        try:
            return function(number)
        except Exception as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


@without_gil
def test_the_gil_stays_off_after_every_import():
    program = """
import importlib, pkgutil, sys
import dltensor
assert not sys._is_gil_enabled(), "dltensor"
for module in pkgutil.walk_packages(dltensor.__path__, "dltensor."):
    other_libraries = "dltensor.distributed.", "dltensor.testing.plugin", "dltensor.lib"
    if module.name.startswith(other_libraries) or "__main__" in module.name:
        continue
    importlib.import_module(module.name)
    assert not sys._is_gil_enabled(), module.name
ours = [module for name, module in sys.modules.items() if name.startswith("dltensor.")]
assert sum((vars(module).get("__file__") or "").endswith(".so") for module in ours) >= 45
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr


def test_names_of_modules_are_interned():
    # Code has the interned string. Python compares it with another one by text, and without a GIL under a lock.
    names = {"dltensor", *(name for name in list(sys.modules) if name.startswith("dltensor."))}
    for module in names:
        # Names of the interpreter's own, as __annotations__, are not looked up by callers.
        ours = [name for name in list(vars(sys.modules[module])) if not name.startswith("__")]
        copies = {name: "".join(list(name)) for name in ours}
        assert [name for name, copy in copies.items() if sys.intern(copy) is not name] == [], module


@without_gil
def test_functions_of_compiled_modules_count_no_references():
    # Threads that count references to one function at a time are together as slow as one. Functions whose __self__ is
    # their module come from a table of methods, and Python sees to them.
    seen = 0
    for module in [module for name, module in list(sys.modules.items()) if name.startswith("dltensor.")]:
        if not (vars(module).get("__file__") or "").endswith(".so"):
            continue
        for name, value in list(vars(module).items()):
            ours = isinstance(value, types.BuiltinFunctionType) and value.__module__ == module.__name__
            if ours and value.__self__ is None:
                assert sys.getrefcount(value) >= 2**30, f"{module.__name__}.{name}"
                seen += 1
    assert seen > 50


@without_gil
@pytest.mark.parametrize("get", [lambda: dl.zeros(2).dtype, lambda: dl.zeros(2).device, lambda: dl.bfloat16])
def test_references_to_what_is_never_freed_are_not_counted(get):
    before = sys.getrefcount(get())
    kept = [get() for _ in range(100)]
    assert all(one is kept[0] for one in kept)
    assert sys.getrefcount(get()) == before


def test_a_capsule_is_taken_by_one_of_the_threads():
    for _ in range(50):
        t = dl.arange(5)
        capsule = t.__dlpack__(max_version=(1, 3))
        made = at_once(lambda _, capsule=capsule: dl.from_dlpack(capsule))
        taken = [one for one in made if isinstance(one, dl.Tensor)]
        assert len(taken) == 1
        assert taken[0].tolist() == [0, 1, 2, 3, 4]
        assert all(
            isinstance(one, BufferError) and "already consumed" in str(one) for one in made if one is not taken[0]
        )


def test_a_pair_of_arrow_capsules_is_taken_by_one_of_the_threads():
    class Once:
        def __init__(self, pair):
            self.pair = pair

        def __arrow_c_array__(self, requested_schema=None):
            return self.pair

    for _ in range(50):
        source = Once(dl.arange(5).__arrow_c_array__())
        made = at_once(lambda _, source=source: dl.from_arrow(source))
        taken = [one for one in made if isinstance(one, dl.Tensor)]
        assert len(taken) == 1
        assert taken[0].tolist() == [0, 1, 2, 3, 4]


def test_types_are_studied_by_many_threads_while_others_are_patched():
    class Producer:
        def __init__(self, t):
            self.t = t

        def __dlpack_device__(self):
            return (1, 0)

    def new(kind, numbers):
        old = kind % 3

        def with_version(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            return self.t.__dlpack__(max_version=max_version)

        def with_stream(self, stream=None):
            return self.t.__dlpack__()

        def bare(self):
            return self.t.__dlpack__()

        made = type(f"Producer{kind}", (Producer,), {"__dlpack__": (with_version, with_stream, bare)[old]})
        return made(dl.asarray(numbers))

    objects = [new(kind, [kind, kind + 1]) for kind in range(600)]  # more than the table has places

    def read(number):
        for step in range(3):
            for kind in range(number, len(objects) + number):
                x = objects[kind % len(objects)]
                assert dl.from_dlpack(x).tolist() == x.t.tolist()
                if kind % 7 == number:
                    type(x).patched = step  # a new version of the type
        return True

    assert at_once(read) == [True] * THREADS


def test_a_class_that_stops_exporting_is_seen_by_all_threads():
    class Producer:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            return dl.arange(3).__dlpack__()

    x = Producer()
    assert dl.from_dlpack(x).tolist() == [0, 1, 2]
    del Producer.__dlpack__
    made = at_once(lambda _: dl.from_dlpack(x))
    assert [type(one) for one in made] == [AttributeError] * THREADS


def test_set_up_runs_once_and_others_wait_for_it():
    begun = []

    def slow():
        begun.append(1)
        threading.Event().wait(0.02)
        return len(begun)

    once = Once(slow)
    assert at_once(lambda _: once()) == [1] * THREADS
    assert once() == 1


def test_set_up_that_calls_itself_goes_through():
    once = Once(lambda: once())
    assert once() is None
    assert once.is_done


def test_set_up_that_failed_is_tried_again():
    answers = iter([ValueError("not yet"), 7])

    def attempt():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    once = Once(attempt)
    with pytest.raises(ValueError, match="not yet"):
        once()
    assert (once(), once()) == (7, 7)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_set_up_that_another_thread_had_begun_is_done_again_in_a_forked_process():
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            go_on.wait()
        return 5

    once = Once(slow)
    thread = threading.Thread(target=once)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if once() == 5 else 1)
    assert os.waitpid(child, 0)[1] == 0
    go_on.set()
    thread.join()


def test_a_generator_gives_each_value_to_one_thread():
    n, calls = 100, 20
    rng = dl.random.Generator(3)
    made = at_once(lambda _: [rng.random(n).tolist() for _ in range(calls)])
    expected = dl.random.Generator(3).random(THREADS * calls * n).tolist()
    pieces = {tuple(piece) for pieces in made for piece in pieces}
    assert pieces == {tuple(expected[i : i + n]) for i in range(0, len(expected), n)}


def test_generators_that_threads_spawn_differ():
    rng = dl.random.Generator(3)
    made = at_once(lambda _: [child.state["key"] for child in rng.spawn(10)])
    assert sorted(key for keys in made for key in keys) == sorted(
        child.state["key"] for child in dl.random.Generator(3).spawn(10 * THREADS)
    )


def test_an_opaque_array_is_handed_over_once():
    for _ in range(20):
        array = dl.opaque.OpaqueArray([1, 2])
        made = at_once(lambda _, array=array: array.release())
        addresses = [one for one in made if isinstance(one, int)]
        assert len(addresses) == 1
        assert all(isinstance(one, ValueError) for one in made if one not in addresses)
        assert dl.opaque.hold(addresses[0], take=True).shape == (2,)
