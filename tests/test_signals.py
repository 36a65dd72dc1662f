# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: loops of compiled code see a signal that has arrived, and loops over nothing end at once."""

import ctypes
import functools
import json
import operator
import signal
import subprocess

import numpy as np
import pytest
from native_tools import compiler

import dltensor as dl

pytestmark = pytest.mark.thread_unsafe(reason="only the main thread handles signals")
MANY = 70_000  # steps; signals are looked for once in 65,536
raise_signal = functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)


def interrupted(function):
    """Call a function with a signal that has arrived and been seen by nothing yet. Whether the function itself saw it.

    All calls are made from C: the interpreter, which also looks for signals, runs nothing in between.
    """
    seen, returned, before = [], [], signal.signal(signal.SIGINT, lambda *_: (seen.append(1), int("interrupted")))
    try:
        list(map(operator.call, [raise_signal, function, functools.partial(returned.append, 1)]))
    except ValueError as error:
        if "interrupted" not in str(error):
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]
    return returned == []


STREAM = r"""
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct schema { const char *format, *name, *metadata; int64_t flags, n; void **children, *dictionary;
                void (*release)(struct schema*); void* data; };
struct array { int64_t length, nulls, offset, n_buffers, n_children; const void** buffers; void **children, *dictionary;
               void (*release)(struct array*); void* data; };
struct stream { int (*get_schema)(struct stream*, struct schema*); int (*get_next)(struct stream*, struct array*);
                const char* (*get_last_error)(struct stream*); void (*release)(struct stream*); void* data; };
int64_t chunks = 0;
static const void* buffers[2] = {0, "12345678"};
static void release_schema(struct schema* x) { x->release = 0; }
static void release_array(struct array* x) { x->release = 0; }
static void release_stream(struct stream* x) { x->release = 0; }
static const char* last_error(struct stream* x) { (void)x; return 0; }
static int get_schema(struct stream* x, struct schema* out) {
  (void)x;
  memset(out, 0, sizeof *out);
  out->format = "i";
  out->release = release_schema;
  return 0;
}
static int get_next(struct stream* x, struct array* out) {
  (void)x;
  memset(out, 0, sizeof *out);
  if (++chunks == 10) raise(SIGINT);
  if (chunks == 1000) return 0;
  out->n_buffers = 2;
  out->buffers = buffers;
  out->release = release_array;
  return 0;
}
void fill(struct stream* x) {
  x->get_schema = get_schema;
  x->get_next = get_next;
  x->get_last_error = last_error;
  x->release = release_stream;
}
"""


def test_a_stream_of_arrow_is_left_at_a_signal(tmp_path):
    (tmp_path / "stream.c").write_text(STREAM)
    command = [*compiler("c99"), "-D_POSIX_C_SOURCE=200809L", "-shared", "-fPIC", str(tmp_path / "stream.c"), "-o"]
    subprocess.run([*command, str(tmp_path / "stream.so")], check=True, timeout=300)
    library = ctypes.CDLL(str(tmp_path / "stream.so"))
    struct = (ctypes.c_void_p * 5)()
    library.fill(struct)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Producer:
        def __arrow_c_stream__(self, requested_schema=None):
            return new(ctypes.addressof(struct), b"arrow_array_stream", None)

    before = signal.signal(signal.SIGINT, lambda *_: int("interrupted"))
    try:
        with pytest.raises(ValueError, match="interrupted"):
            dl.from_arrow(Producer(), copy=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ctypes.c_int64.in_dll(library, "chunks").value == 10
    assert struct[3] is None  # released


def safetensors_header():
    entries = {str(n): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(MANY)}
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "bfloat16"])
@pytest.mark.parametrize("shape", [(MANY,), (MANY, 1), (2,) * 17], ids=["row", "column", "nested"])
def test_tolist_sees_a_signal(dtype, shape):
    assert interrupted(dl.zeros(shape, dtype=dtype).tolist)


@pytest.mark.parametrize(
    "call",
    [
        functools.partial(list, dl.zeros(MANY)),
        functools.partial(dl.unstack, dl.zeros((MANY, 1))),
        functools.partial(dl.unstack, dl.zeros((MANY, 3), dtype="int4")),
        functools.partial(dl.random.Generator(1).spawn, MANY),
        functools.partial(dl.asarray, [1.0] * MANY),
        functools.partial(dl.asarray, [[1]] * MANY),
        functools.partial(dl.asarray, [[]] * MANY),
        functools.partial(dl.asarray, np.zeros((2,) * 17).tolist()),
        functools.partial(dl.asarray, [1.0] * MANY, dtype="bfloat16"),
        functools.partial(dl.tril, dl.zeros((MANY, 2), dtype="float16x3")),
        functools.partial(dl.linspace, 1e-310, 1e-308, MANY, dtype="float64"),
        functools.partial(dl.load, safetensors_header()),
    ],
    ids=["iteration", "unstack", "unstack packed", "spawn", "list", "lists", "empty lists", "nested lists",
         "converted list", "tril of wide elements", "linspace", "safetensors"],
)  # fmt: skip
def test_a_loop_of_many_steps_sees_a_signal(call):
    assert interrupted(call)


@pytest.mark.parametrize("function", [dl.tril, dl.triu])
@pytest.mark.parametrize("dtype", ["float32", "int4", "float16x3"])
def test_triangles_of_nothing_are_made_at_once(function, dtype):
    assert function(dl.zeros((2**40, 0), dtype=dtype)).shape == (2**40, 0)
    assert function(dl.zeros((0, 2**40, 1), dtype=dtype)).shape == (0, 2**40, 1)


def test_text_of_nothing_is_made_at_once():
    assert repr(dl.zeros((2**40, 0))) == "Tensor([], shape=(1099511627776, 0), device=cpu, dtype=float32)"
    assert dl.zeros((0, 2**40)).tolist() == []
