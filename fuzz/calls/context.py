# SPDX-License-Identifier: Apache-2.0
"""A context: what the calls of one round share. Memory with margins, shapes that fit, results of earlier calls."""

import random

import numpy as np

import dltensor as dl

SHAPES = [
    (), (1,), (3,), (7,), (0,), (2, 3), (3, 3), (1, 3), (2, 1), (2, 0), (4, 2, 3), (2, 1, 3), (33,), (5, 17), (64, 3),
    (2, 2, 2, 2, 2), (1,) * 64, (2,) * 6 + (1,) * 58,
]  # fmt: skip
COMPUTED = [dl.DTYPES[name] for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")]
COMPUTED += [dl.DTYPES[name] for name in ("uint64", "float16", "bfloat16", "float32", "float64", "complex64")]
COMPUTED += [dl.complex128]
ODD = [dl.DType(0, 8, 4), dl.DType(2, 32, 2), dl.DType(17, 4, 2), dl.DType(1, 1), dl.DType(99, 24), dl.DType(3, 64)]
ODD += [dl.DType(200, 7, 3), dl.DType(200, 12), dl.DType(16, 6, 2), dl.DType(5, 128), dl.DType(99, 1), dl.DType(0, 128)]
ARENA = 1 << 16


class Context:
    """What one round of calls shares. Everything in it is drawn from the seed, so a round can be played again."""

    def __init__(self, seed, number, device="cpu"):
        self.random = random.Random(f"{seed}/{number}")
        self.device = device
        # Tensors lie in here with gaps between them: what is written beside a tensor is seen.
        self.arena = np.frombuffer(self.random.randbytes(ARENA), np.uint8).copy()
        self.start = self.arena.ctypes.data
        self.free = 64
        self.shapes = [(3, 3), *self.random.sample(SHAPES, 2)]  # squares, so that products chain
        self.dtypes = [*self.random.sample(COMPUTED, 2), self.random.choice([*dl.DTYPES.values(), *ODD])]
        self.shelf = {}  # results of earlier calls, by the word for their class
        self.lists = []  # that hostile objects change while they are read
        self.memory = []  # that hostile interfaces point at
        self.renamed = []  # capsules under wrong names
        self.hostile = 0.0  # how likely an argument is hostile
        self.changing = []  # arrays whose shapes a thread changes while calls run
        self.depth = 0

    def begin(self, seed, number, index):
        """Draw anew for one call, whatever the calls before have drawn."""
        self.random = random.Random(f"{seed}/{number}/{index}")
        self.hostile = self.random.choice((0.0, 0.0, 0.05, 0.3))
        self.lists = []
        self.depth = 0

    def chance(self, probability):
        return self.random.random() < probability

    def keep(self, word, thing):
        """Put a result where later calls find it."""
        kept = self.shelf.setdefault(word, [])
        kept.append(thing)
        if len(kept) > 6:
            del kept[self.random.randrange(len(kept))]

    def shape(self):
        """A shape of the round, or one that it can be broadcast to."""
        if self.chance(0.05):
            return self.random.choice(SHAPES)
        shape = self.random.choice(self.shapes)
        if self.chance(0.3):
            shape = tuple(1 if self.chance(0.3) else n for n in shape)[self.random.randrange(len(shape) + 1) :]
        return shape

    def dtype(self):
        """Mostly a dtype of the round, so that operands meet in one."""
        if self.chance(0.1):
            return self.random.choice([*dl.DTYPES.values(), *ODD])
        return self.random.choices(self.dtypes, (6, 3, 1))[0]
