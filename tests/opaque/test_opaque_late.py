# SPDX-License-Identifier: Apache-2.0
"""Arrays of Python objects among threads without the GIL, and after Python: each dangerous thing in a child process.

Numbers in names are those of the acceptance list.
"""

import os
import subprocess
import sys
import textwrap

import native_building as build
import pytest

import dltensor as dl

pytestmark = pytest.mark.skipif(not build.tool("gcc"), reason="no gcc that runs")
ASK, DESTROY, MIXED = range(3)


@pytest.fixture(scope="session")
def callers(tmp_path_factory):
    """The path of callers.c as a library, linked to the installed package."""
    made = tmp_path_factory.mktemp("callers") / "callers.so"
    folder = os.path.dirname(dl.opaque.library_path())
    build.run([build.tool("gcc"), "-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
               f"-I{dl.opaque.include_dir()}", build.HERE / "callers.c", f"-L{folder}", "-ldltensor", "-lpthread",
               f"-Wl,-rpath,{folder}", "-o", made])  # fmt: skip
    return made


BEGIN = """
import ctypes, gc, os, sys, threading, time, weakref
import numpy as np
import dltensor as dl
C = ctypes.CDLL(sys.argv[1]); P = ctypes.PyDLL(sys.argv[1])
class Object:
    "Speaks DLPack, and can be watched."
    def __init__(self, array): self.array = array
    def __dlpack__(self, **k): return self.array.__dlpack__(**k)
    def __dlpack_device__(self): return self.array.__dlpack_device__()
def tick():
    "What was left is picked up when the main thread takes the GIL the next time."
    time.sleep(0.001)
"""


def child(callers, body, timeout=60):
    """Run a program; what it printed, its exit status must be 0 and its stderr empty."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", BEGIN + textwrap.dedent(body), str(callers)],
                          capture_output=True, text=True, timeout=timeout, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout.split("\n")[:-1]


def test_29_threads_call_every_function_without_the_gil(callers):
    body = f"""
    a = np.arange(60.0).reshape(4, 3, 5); array = dl.opaque.OpaqueArray(a)
    print(C.in_threads(ctypes.c_void_p(array.pointer), {MIXED}, 8, 10000))
    print(np.array_equal(array.tensor().numpy(), np.arange(60.0).reshape(4, 3, 5)), dl.opaque.live_arrays())
    """
    assert child(callers, body, 300) == ["0", "True 1"]


@pytest.mark.parametrize("make", ["np.ones(3)", "Object(np.ones(3))", "dl.ones(3)"])
def test_29_no_call_waits_for_the_gil(callers, make):
    # The main thread holds the GIL and waits for the thread: a thread that requested the GIL there would deadlock.
    body = f"""
    array = dl.opaque.OpaqueArray({make})
    print(P.in_threads(ctypes.c_void_p(array.pointer), {ASK}, 4, 200))
    address = array.release()
    print(P.in_threads(ctypes.c_void_p(address), {DESTROY}, 1, 1), dl.opaque.live_arrays())
    """
    assert child(callers, body) == ["0", "0 0"]


def test_30_a_thread_ends_an_array_once_and_the_object_goes(callers):
    body = f"""
    thing = Object(np.ones(3)); seen = weakref.ref(thing)
    array = dl.opaque.OpaqueArray(thing); del thing
    P.in_threads(ctypes.c_void_p(array.release()), {DESTROY}, 4, 3)
    tick(); gc.collect(); print(seen() is None)
    """
    assert child(callers, body) == ["True"]


def test_30_an_array_may_end_from_the_garbage_collector_and_within_a_finalizer(callers):
    body = """
    class Holder:
        def __del__(self): del self.array
    for _ in range(50):
        h = Holder(); h.me = h; h.array = dl.opaque.OpaqueArray(Object(np.ones(3))); del h
    gc.collect(); tick(); print(dl.opaque.live_arrays())
    class Ends:
        def __init__(self): self.inner = dl.opaque.OpaqueArray([1.0])
        def __dlpack__(self, **k): return np.ones(2).__dlpack__(**k)
        def __dlpack_device__(self): return (1, 0)
        def __del__(self): self.inner = None
    dl.opaque.OpaqueArray(Ends()); tick(); print(dl.opaque.live_arrays())
    """
    assert child(callers, body) == ["0", "0"]


@pytest.mark.parametrize(("mode", "where"), [(1, "C atexit"), (2, "a library's destructor")])
@pytest.mark.parametrize("make", ["np.full(3, 7.0)", "Object(np.full(3, 7.0))", "dl.full((3,), 7.0, dtype='float64')"])
def test_31_calls_after_the_end_of_python(callers, mode, where, make):
    body = f"""
    array = dl.opaque.OpaqueArray({make})
    try: raise KeyError("left behind")
    except KeyError as error:
        dl.opaque.callback(lambda: (_ for _ in ()).throw(error))()
    assert C.prepare_late(ctypes.c_void_p(array.release()), {mode}) == 0
    """
    assert child(callers, body) == ["late: 0 failed, first 7"], where


def test_31_calls_after_py_finalize_of_an_embedding_program(callers, tmp_path):
    # A program that embeds Python, ends it, and goes on.
    import sysconfig

    source = tmp_path / "embed.c"
    source.write_text("""
#include <Python.h>
#include <dlfcn.h>
int main(int argc, char** argv) {
  wchar_t* program = Py_DecodeLocale(argv[2], NULL);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  PyConfig_SetString(&config, &config.program_name, program);
  Py_InitializeFromConfig(&config);
  char code[1024];
  snprintf(code, sizeof(code), "import ctypes, numpy as np, dltensor as dl\\nC = ctypes.CDLL('%s')\\n"
    "array = dl.opaque.OpaqueArray(np.full(3, 7.0))\\nassert C.prepare_late(ctypes.c_void_p(array.release()), 3) == 0",
    argv[1]);
  if (PyRun_SimpleString(code)) return 3;
  void* library = dlopen(argv[1], RTLD_NOW);
  void (*finish)(void) = (void (*)(void))dlsym(library, "finish_late");
  if (Py_FinalizeEx()) return 4;
  finish();
  return argc - 3;
}
""")
    place = sysconfig.get_config_var("LIBDIR")
    name = sysconfig.get_config_var("LDVERSION")
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED")
    link = [f"-L{place}", f"-lpython{name}", f"-Wl,-rpath,{place}"]
    if not shared:
        archive = os.path.join(sysconfig.get_config_var("LIBPL"), f"libpython{name}.a")
        if not os.path.exists(archive):
            pytest.skip("needs libpython to embed")
        link = ["-rdynamic", archive, *sysconfig.get_config_var("LIBS").split(), "-lm"]
    program = tmp_path / "embed"
    include = sysconfig.get_path("include")
    build.run([build.tool("gcc"), source, f"-I{include}", *link, "-ldl", "-o", program])
    done = build.run([program, callers, sys.executable], timeout=60)
    assert done.stdout == "late: 0 failed, first 7\n"


def test_32_destroy_while_the_interpreter_finalizes(callers):
    body = """
    Struct = ctypes.c_char * 104
    kept = [dl.opaque.OpaqueArray(Object(np.ones(3))) for _ in range(300)]
    structs = (Struct * 300)(*[Struct.from_buffer_copy(ctypes.string_at(k.release(), 104)) for k in kept])
    assert C.start_ending(structs, ctypes.c_size_t(300)) == 0
    time.sleep(0.001 * (os.getpid() % 20))
    """
    for _ in range(12):
        assert child(callers, body, 20) == []


def test_32_a_forked_child_may_destroy(callers):
    body = """
    array = dl.opaque.OpaqueArray(Object(np.ones(3))); address = array.release()
    pid = os.fork()
    if pid == 0:
        dl.opaque.hold(address, take=True)
        os._exit(dl.opaque.live_arrays())
    print(os.waitpid(pid, 0)[1], dl.opaque.live_arrays())
    """
    assert child(callers, body) == ["0 1"]


def test_27_an_exception_on_a_foreign_thread_stays_there(callers):
    body = """
    def bad(): raise ValueError("on a thread")
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32); function = prototype(dl.opaque.callback(bad))
    message = ctypes.create_string_buffer(256)
    print(C.call_in_thread(function, message, 256), message.value.decode())
    library = ctypes.CDLL(dl.opaque.library_path()); text = ctypes.c_char_p()
    library.dlt_last_error(ctypes.byref(text), None, None); print(repr(text.value))
    """
    assert child(callers, body) == ["254 ValueError: on a thread", "b''"]


def test_33_a_slow_export_in_another_thread_blocks_no_call(callers):
    # An array of others whose as_dlpack takes the GIL and its time, asked by two threads of Python at once.
    body = """
    T = dl.opaque
    inner = T.OpaqueArray(np.arange(3.0))
    Struct = ctypes.c_char * 104
    struct = Struct.from_buffer_copy(ctypes.string_at(inner.pointer, 104))
    AsDLPack = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                                ctypes.c_uint64)
    real = AsDLPack(ctypes.c_uint64.from_buffer(struct, 40).value)
    once = threading.Lock()
    def slow(*a):
        with once:
            time.sleep(0.02)
            if real(*a): raise RuntimeError("failed")
    function = AsDLPack(T.callback(slow))
    ctypes.c_uint64.from_buffer(struct, 40).value = ctypes.cast(function, ctypes.c_void_p).value
    got = []
    def read():
        for _ in range(5): got.append(T.from_pointer(ctypes.addressof(struct)).tolist())
    threads = [threading.Thread(target=read) for _ in range(2)]
    for t in threads: t.start()
    for t in threads: t.join(20)
    print(len(got), got[0])
    """
    assert child(callers, body) == ["10 [0.0, 1.0, 2.0]"]
