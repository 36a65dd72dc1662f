# SPDX-License-Identifier: Apache-2.0
"""The process of the stress test: threads that call everything on shared arrays, while one changes the arrays' shapes.

All elements of an array have one value, so that a result is known in whatever shape the operands were read. A call may
give that result in one of the shapes, or raise ValueError (IndexError for an axis) where the shapes do not fit.
"""

import argparse
import faulthandler
import itertools
import json
import random
import re
import sys
import threading
import time
import warnings
from collections import Counter

import numpy as np

import dltensor as dl

from . import peers

CALLS = 50  # of each thread in a round
# No shape broadcasts with another to more than a few times its elements.
SHAPES = {
    360: [(360,), (1, 360), (360, 1), (18, 20), (20, 18), (2, 2, 90), (18, 20, 1), (1, 1, 1, 360), (1,) * 12 + (360,)],
    180_000: [(180_000,), (1, 180_000), (400, 450), (450, 400), (2, 2, 45_000), (1, 400, 450), (1,) * 9 + (180_000,)],
}
ARRAYS = ("zeros", "ones", "out", "owned", "numbers", "flags")
# NumPy does not protect the shape of an array from a thread that reads it, so that without a GIL another array of the
# same memory takes its place (SECURITY.md).
WITHOUT_GIL = not getattr(sys, "_is_gil_enabled", lambda: True)()
FITS = re.compile("broadcast|shape|dimension|axis|elements|extent")


class Shared:
    """Arrays of one size: zeros, ones, and an output that overlaps the zeros; as NumPy's and as PyTorch's."""

    def __init__(self, size, with_torch):
        self.size, self.shapes = size, SHAPES[size]
        memory = np.zeros(size + 64)
        self.zeros, self.ones, self.out = memory[:size], np.ones(size), memory[8 : size + 8]
        self.owned, self.numbers, self.flags = np.zeros(size), np.zeros(size, np.int64), np.ones(size, bool)
        self.tensors = []
        if with_torch:
            self.tensors = [peers.torch.zeros(size, dtype=peers.torch.float64) for _ in range(2)]
        self.allowed = set(self.shapes)
        for pair in itertools.product(self.shapes, repeat=2):
            try:
                self.allowed.add(np.broadcast_shapes(*pair))
            except ValueError:
                continue

    def zero(self, chance):
        return chance.choice([self.zeros, self.owned, *self.tensors])

    def change(self, chance):
        """Give one array or all of them another shape. Memory stays where it is."""
        shape = chance.choice(self.shapes)
        names = chance.choice((ARRAYS, [chance.choice(ARRAYS)]))
        for name in names if WITHOUT_GIL else ():
            setattr(self, name, getattr(self, name).reshape(shape))
        for array in () if WITHOUT_GIL else [getattr(self, name) for name in names]:
            if chance.random() < 0.2:
                try:
                    array.resize(shape, refcheck=False)
                except ValueError:  # a view of other memory, or one that is viewed
                    continue
            else:
                array.shape = shape
        for tensor in self.tensors:
            # Not resize_ and its like, which release the GIL while they write: a race within PyTorch (SECURITY.md).
            tensor.data = tensor.view(shape)


def assign(target, source):
    """Write a source into a part of a new tensor."""
    made = dl.zeros((2, target.size), dtype="float64")
    made[...] = source
    return made


# Calls, and the value that all elements of the result have. `z` and `y` are zeros, `s` has everything that is shared.
TABLE = {
    "add": (lambda s, z, y: dl.add(z, s.ones), 1),
    "add numbers": (lambda s, z, y: dl.add(z, 3.0), 3),
    "subtract": (lambda s, z, y: dl.subtract(s.ones, z), 1),
    "multiply": (lambda s, z, y: dl.multiply(z, y), 0),
    "fma": (lambda s, z, y: dl.fma(z, z, z), 0),
    "fma into an overlap": (lambda s, z, y: dl.fma(s.zeros, s.zeros, s.zeros, out=s.out), 0),
    "fma of three": (lambda s, z, y: dl.fma(z, y, s.ones), 1),
    "add into an operand": (lambda s, z, y: dl.add(s.owned, s.owned, out=s.owned), 0),
    "multiply into an overlap": (lambda s, z, y: dl.multiply(s.zeros, s.ones, out=s.out), 0),
    "where": (lambda s, z, y: dl.where(s.flags, z, s.ones), 0),
    "clip": (lambda s, z, y: dl.clip(z, -1.0, y), 0),
    "less": (lambda s, z, y: dl.less(z, s.ones), 1),
    "cos": (lambda s, z, y: dl.cos(z), 1),
    "cast": (lambda s, z, y: dl.cast(z, "int32"), 0),
    "cast into": (lambda s, z, y: dl.cast(s.numbers, s.out), 0),
    "astype": (lambda s, z, y: dl.astype(s.numbers, "float32"), 0),
    "copy": (lambda s, z, y: dl.copy(z), 0),
    "copy into": (lambda s, z, y: dl.copy(s.zeros, s.out), 0),
    "fill": (lambda s, z, y: dl.asarray(dl.fill(0.0, z)), 0),
    "asarray": (lambda s, z, y: dl.asarray(z, copy=True), 0),
    "from_dlpack": (lambda s, z, y: dl.from_dlpack(z).copy(), 0),
    "view": (lambda s, z, y: dl.from_dlpack(z), 0),
    "operators": (lambda s, z, y: dl.from_dlpack(z) * 2 + s.ones, 1),
    "assignment": (lambda s, z, y: assign(s, z), 0),
    "reshape": (lambda s, z, y: dl.reshape(z, (s.size,)), 0),
    "flip": (lambda s, z, y: dl.flip(z), 0),
    "roll": (lambda s, z, y: dl.roll(z, 3), 0),
    "expand_dims": (lambda s, z, y: dl.expand_dims(z, 0), 0),
    "concat": (lambda s, z, y: dl.concat([z, s.zeros], axis=0), 0),
    "stack": (lambda s, z, y: dl.stack([z, y]), 0),
    "broadcast_to": (lambda s, z, y: dl.broadcast_to(z, (2, *dl.asarray(y).shape)), 0),
    "matmul": (lambda s, z, y: dl.matmul(dl.asarray(z).reshape((10, -1)), dl.asarray(y).reshape((-1, 10))), 0),
    "opaque": (lambda s, z, y: dl.opaque.OpaqueArray(z).copy().tensor(), 0),
}  # fmt: skip
# In one of the shapes, or in two of them broadcast.
ELEMENTWISE = {
    "add", "add numbers", "subtract", "multiply", "fma", "fma into an overlap", "add into an operand",
    "multiply into an overlap", "less", "cos", "cast", "copy", "astype", "view", "asarray", "from_dlpack", "operators",
    "flip",
}  # fmt: skip


class Wrong(Exception):
    """A call gave what it may not give."""


def attempt(name, shared, chance):
    """Make one call; say whether shapes fitted. Raises `Wrong`."""
    function, value = TABLE[name]
    try:
        result = function(shared, shared.zero(chance), shared.zero(chance))
    except (ValueError, IndexError) as error:
        if not FITS.search(str(error)):
            raise Wrong(f"{name}: {type(error).__name__}: {error}") from None
        return False
    except Exception as error:
        raise Wrong(f"{name}: {type(error).__name__}: {error}") from None
    found = result if type(result) in (np.ndarray, dl.Tensor) else dl.asarray(result)
    plain = found if type(found) is np.ndarray else found.numpy()
    if type(result) is dl.Tensor and name in ELEMENTWISE and result.shape not in shared.allowed:
        raise Wrong(f"{name}: a result of shape {result.shape}")
    if not (plain == value).all():
        raise Wrong(f"{name}: not all elements of the result are {value}")
    return True


class Stress:
    """Rounds of calls from several threads."""

    def __init__(self, options):
        self.options, self.counts, self.wrong = options, Counter(), []
        self.lock = threading.Lock()  # of the counts: without a GIL `+=` of two threads may count once

    def work(self, shared, seed):
        chance, names, counts = random.Random(seed), sorted(TABLE), Counter()
        for _ in range(CALLS):
            try:
                counts["right" if attempt(chance.choice(names), shared, chance) else "refused"] += 1
            except Wrong as wrong:
                self.wrong.append(str(wrong)[:300])
        with self.lock:
            self.counts.update(counts)

    def round(self, number):
        """Let the threads make their calls while another changes shapes. The changes go on until all are made."""
        options, over = self.options, threading.Event()
        shared = Shared((360, 180_000)[number % 2], options.torch)

        def change():
            chance = random.Random(f"{options.seed}/{number}")
            while not over.is_set():
                shared.change(chance)
                self.counts["changes"] += 1

        threads = [
            threading.Thread(target=self.work, args=(shared, f"{options.seed}/{number}/{n}"))
            for n in range(options.threads)
        ]
        changer = threading.Thread(target=change)
        for thread in (changer, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        over.set()
        changer.join()


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--until", type=float, default=float("inf"), help="when to begin no more rounds, on time.time()"
    )
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args(arguments)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if options.torch and not peers.load():
        sys.exit("--torch: PyTorch is not installed")
    sys.setswitchinterval(1e-5)  # threads take turns within a call as often as they can
    stress = Stress(options)
    for number in range(options.begin, options.begin + options.rounds):
        if time.time() > options.until:
            break
        stress.round(number)
        stress.counts["rounds"] += 1
        if stress.wrong:
            break
    wrong = list(dict.fromkeys(stress.wrong))[:10]
    print(json.dumps({**stress.counts, "wrong": wrong}), flush=True)
