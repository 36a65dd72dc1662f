# SPDX-License-Identifier: Apache-2.0
"""Guard pages around the data, threads, forks, and more elements than 32 bits count."""

import ctypes as c
import mmap
import os
import threading

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
from native import ROWS, cast, copy, dtype_of, gemm, library, result_of, run
from test_elements import PAIRS

PAGE = mmap.PAGESIZE
LENGTHS = list(range(68))


class Guarded:
    """Two pages between two inaccessible guard pages."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4 * PAGE)
        self.base = c.addressof(c.c_char.from_buffer(self.memory))
        libc = c.CDLL(None, use_errno=True)
        for page in (0, 3):
            assert libc.mprotect(c.c_void_p(self.base + page * PAGE), c.c_size_t(PAGE), 0) == 0

    def array(self, n, dtype, at_end):
        bytes_ = n * np.dtype(dtype).itemsize
        start = PAGE + (2 * PAGE - bytes_ if at_end else 0)
        return np.ndarray((n,), dtype, self.memory, start)


GUARDED = [Guarded() for _ in range(4)]


@pytest.mark.parametrize(("name", "type_name"), PAIRS)
def test_no_loop_leaves_its_memory(name, type_name, level):
    dtype, result = dtype_of(type_name), result_of(name, dtype_of(type_name))
    for n in LENGTHS:
        for at_end in (False, True):
            operands = [g.array(n, dtype, at_end) for g in GUARDED[: ROWS[name].operands]]
            for x in operands:
                x[...] = np.ones(1, dtype)
            run(name, *operands, out=GUARDED[3].array(n, result, at_end))


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", "c16"])
def test_no_copy_leaves_its_memory(kind, level):
    for n in LENGTHS:
        for at_end in (False, True):
            x, y = GUARDED[0].array(n, kind, at_end), GUARDED[1].array(n, kind, at_end)
            copy(y, x)
            copy(y, x[::-1])
            for step in (2, 3, 4):
                copy(np.empty(x[::step].shape, kind), x[::step])
                copy(y[::step], x[::step])
            for k in (2, 3, 4, 5):
                if n % k == 0:
                    copy(y.reshape(-1, k), x.reshape(k, -1).T)
                    copy(y.reshape(k, -1), x.reshape(-1, k).T)


def test_no_cast_or_product_leaves_its_memory(level):
    for n in LENGTHS:
        for at_end in (False, True):
            for a, b in (
                ("f2", "f4"),
                ("f4", "f2"),
                ("f4", "u1"),
                ("f4", "i2"),
                ("u1", "f4"),
                ("f8", "i4"),
                ("i8", "f4"),
                ("u1", "i8"),
            ):
                x = GUARDED[0].array(n, a, at_end)
                x[...] = 1
                assert (cast(x, GUARDED[1].array(n, b, at_end), True, True) == 1).all()
            for kind in ("f4", "f8", "i2", "u1"):
                x, y, z = (g.array(n, kind, at_end) for g in GUARDED[:3])
                x[...] = y[...] = 1
                gemm(x.reshape(-1, 1), y[:1].reshape(1, -1), np.empty((n, min(n, 1)), kind))
                if n:
                    assert (gemm(x[:1].reshape(1, 1), y.reshape(1, -1), z.reshape(1, -1)) == 1).all()


def test_sixteen_threads_share_tensors():
    x = np.arange(400_000, dtype=np.float32)
    want, wrong = x + x, []

    def work():
        out = np.empty_like(x)
        for _ in range(5):
            run("add", x, x, out=out)
            if not (out == want).all():
                wrong.append(1)

    library.engine_set_threads(4)
    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_forked_child_computes():
    library.engine_set_threads(4)
    x = np.ones(500_000, np.float32)
    run("add", x, x, out=np.empty_like(x))
    child = os.fork()
    if child == 0:
        out = np.empty_like(x)
        run("add", x, x, out=out)
        os._exit(0 if (out == 2).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (run("add", x, x, out=np.empty_like(x)) == 2).all()


def test_the_number_of_threads_changes_no_bit():
    x = np.random.default_rng(0).normal(size=(700, 900)).astype(np.float32)
    seen = set()
    for threads in (1, 2, 3, 8):
        library.engine_set_threads(threads)
        out = run("exp", x, out=np.empty_like(x))
        seen.add(
            out.tobytes()
            + run("multiply", x, x[::-1], out=out).tobytes()
            + copy(np.empty((900, 700), np.float32).T, x).tobytes()
        )
    assert len(seen) == 1


def test_more_elements_than_32_bits_count():
    n = (1 << 31) + 5
    one = np.ones(1, np.int8)
    wide = np.lib.stride_tricks.as_strided(one, (n,), (0,))
    out = np.zeros(n, np.int8)
    run("add", wide, one.reshape(()), out=out)
    assert out[0] == 2
    assert out[-1] == 2
    assert out[(1 << 31) - 1] == 2
    assert int(out[-1000:].sum()) == 2000
