# SPDX-License-Identifier: Apache-2.0
"""The process that makes the calls: rounds of them from a seed, each checked. Its position is in shared memory."""

import argparse
import contextlib
import faulthandler
import gc
import json
import mmap
import random
import re
import resource
import runpy
import sys
import sysconfig
import threading
import warnings
import weakref
from collections import Counter

import numpy as np

import dltensor as dl

from . import hostile, peers, surface, tricks
from .arguments import draw
from .checks import ORACLES, Before, Broken, check_error, check_something, check_tensor, check_value, on_host
from .context import Context
from .progress import CALLS, PROGRESS, TRICKS

# Python 3.13 without a GIL frees no class that is made after the first thread has started, nor what it holds.
KEEPS_CLASSES = sys.version_info < (3, 14) and bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

TRICKED = 0.3  # of the calls
KEPT = 5000  # elements of a result that later calls may get


class Fuzzer:
    """Draws and checks calls; `report` receives each fault."""

    def __init__(self, options, progress):
        self.options, self.progress = options, progress
        self.entries = surface.entries()
        self.weights = [weight(entry.name) for entry in self.entries]
        if options.device != "cpu":  # few calls are made there: more of those whose values can be compared
            self.weights = [
                w * 20 if entry.name in ORACLES else w for w, entry in zip(self.weights, self.entries, strict=True)
            ]
        self.suited = tricks.suited(self.entries, self.weights)
        self.words = {kind: word for word, kind in surface.CLASSES.items()}
        self.makers = {}
        for entry in self.entries:
            if entry.returns and entry.returns != "Tensor":
                self.makers.setdefault(entry.returns, []).append(entry)
        self.counts, self.outcomes, self.seen = Counter(), Counter(), set()
        self.made = self.fine = self.compared = 0
        self.where = (0, 0)

    def report(self, drawn, broken, number, index):
        """Say what is wrong, once for each kind of fault."""
        name = drawn.entry.name if drawn else "round"
        key = (
            f"{drawn.trick} {drawn.words}" if drawn and drawn.trick else name,
            re.sub(r"\(.*?\)|-?\d+", "9", str(broken))[:60],
        )
        if key not in self.seen:
            self.seen.add(key)
            words = {"name": name, "fault": str(broken).partition("\n")[0][:300], "round": number, "call": index}
            words["trick"] = drawn.trick if drawn else ""
            print(json.dumps(words | {"said": describe(drawn) if drawn else ""}), flush=True)

    def tell(self, number, index, done=0):
        self.where = (number, index)
        PROGRESS.pack_into(self.progress, 0, number, index, self.made, self.fine, self.compared, done)

    def draw(self, context):
        try:
            if self.options.trick or context.chance(TRICKED):
                drawn = tricks.draw(context, self, self.options.trick)
                if drawn or self.options.trick:
                    return drawn
            return draw(context, random_choice(context, self.entries, self.weights))
        except Exception:  # a hostile object was asked while drawing
            return None

    def attempt(self, context, drawn, number, index):
        """Make one call and check it."""
        self.made += 1
        failed = False
        before = Before(context, drawn) if self.options.threads < 2 else None
        try:
            try:
                result = drawn.call()
            except Broken:
                raise
            except BaseException as error:
                failed, result = True, None
                self.outcomes[type(error).__name__] += 1
                check_error(drawn, error)
                error.__traceback__ = None
            if before:
                before.check_memory(failed)
            if drawn.after:
                drawn.after(result, failed)
            if not failed:
                self.fine += 1
                self.counts[drawn.entry.name] += 1
                self.check_result(context, drawn, before, result)
        except Broken as broken:
            self.report(drawn, broken, number, index)

    def check_result(self, context, drawn, before, result):
        check_something(drawn, result)
        for one in result if type(result) in (tuple, list) else [result]:
            if type(one) is dl.Tensor:
                if drawn.entry.name != "wrap":  # its arguments cannot be validated
                    check_tensor(context, one)
                    # What a trick returned is not given to later calls, so that they are not blamed for it.
                    if one.size < KEPT and not drawn.trick and (on_host(one) or context.device != "cpu"):
                        context.keep("Tensor", one)
            elif type(one) in self.words and not drawn.trick:
                context.keep(self.words[type(one)], one)
        if (before and drawn.entry.name in ("Tensor.__getitem__",)) or (before and before.plain is not None):
            check_value(before, result)

    def round(self, number):
        """Make the calls of one round, and see that all memory comes back."""
        options = self.options
        blocks, arrays = dl.debug.live_blocks(), dl.opaque.live_arrays()
        context = Context(options.seed, number, options.device)
        context.makers, context.compared = self.makers, 0
        if options.threads > 1:
            context.changing = [np.arange(n, dtype=kind) for n in (24, 3600) for kind in ("f8", "f4", "i8")]
        ready = []
        for index in range(CALLS if options.last is None else options.last + 1):
            context.begin(options.seed, number, index)
            self.tell(number, index)
            drawn = self.draw(context)
            if drawn is None or index < options.first:
                continue
            if options.show:
                print(f"  call {index}: {describe(drawn)}", file=sys.stderr, flush=True)
            if options.threads > 1:
                ready.append((index, drawn))
            else:
                self.attempt(context, drawn, number, index)
        if ready:
            self.at_once(context, ready, number)
        drawn = ready = None
        self.compared += context.compared
        arena = weakref.ref(context.arena)
        self.end(context)
        context = None
        if options.device != "cpu":
            dl.cuda.synchronize()
        gc.collect()
        left = dl.debug.live_blocks() - blocks, dl.opaque.live_arrays() - arrays, int(arena() is not None)
        if any(left) and not (options.threads > 1 and KEEPS_CLASSES):
            words = "left behind: {} blocks, {} opaque arrays, {} arenas".format(*left)
            self.report(None, words, number, -1)

    def at_once(self, context, ready, number):
        """Make the drawn calls from several threads, on the tensors that they share, while one changes shapes."""
        over = threading.Event()

        def change():
            chance = random.Random(number)
            while not over.is_set():
                one = chance.choice(context.changing)
                one.shape = chance.choice(((-1,), (2, -1), (3, 2, -1), (1, 1, 1, -1), (2, 1, -1, 2), (-1, 1)))

        def work(part):
            for index, drawn in part:
                self.attempt(context, drawn, number, index)

        threads = [
            threading.Thread(target=work, args=(ready[n :: self.options.threads],)) for n in range(self.options.threads)
        ]
        changer = threading.Thread(target=change)
        for thread in (changer, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        over.set()
        changer.join()

    def end(self, context):
        """Release everything in a context, so that what is still alive is a leak."""
        context.shelf.clear()
        context.changing.clear()
        context.lists.clear()
        hostile.name_back(context)
        gc.collect()  # hostile objects that hold each other go before the memory that they point at
        context.memory.clear()


def random_choice(context, population, weights):
    return context.random.choices(population, weights)[0]


def weight(name):
    """Functions of tensors and the class most, what else there is less, what Python does with any object least."""
    head = name.partition(".")[0]
    if " " in name and not name.endswith("as operator"):
        return 1.0 if head.startswith("Tensor") else 0.2
    if "." not in name:
        return 6
    return {"Tensor": 4, "OpaqueArray": 4, "layout": 3, "checks": 3, "cuda": 1, "debug": 0.5}.get(head, 0.7)


def describe(drawn):
    """A call in words that ask nothing of a hostile object."""
    words = [show(a) for a in drawn.arguments] + [f"{k!a}={show(v)}" for k, v in drawn.keywords.items()]
    told = f" [{drawn.trick}{': ' if drawn.words else ''}{drawn.words}]" if drawn.trick else ""
    return f"{drawn.entry.name}({', '.join(words)})"[:2000] + told


def show(value, depth=0):
    kind = type(value)
    if kind is dl.Tensor:
        kept = f"{value.dtype}{list(value.shape)} strides {list(value.strides)} {value.device}"
        return f"<{kept}{' readonly' if value.readonly else ''} at ...{value.data_ptr % 4096:03x}>"
    if kind is np.ndarray:
        return f"<ndarray {value.dtype}{list(value.shape)} strides {list(value.strides)}>"
    if kind in (list, tuple) and depth < 3:
        return f"{kind.__name__}({', '.join(show(v, depth + 1) for v in value[:6])}{', ...' if len(value) > 6 else ''})"
    if kind in (int, float, complex, bool, str, bytes, type(None), slice, range, dl.DType, dl.Device):
        return ascii(value)[:80]
    if kind.__name__ == "Trickster":
        tricks = sorted(name for name in vars(kind) if name in (*hostile.HOOKS, *hostile.FACTS, "__getattr__"))
        return f"<Trickster {kind.__mro__[1].__name__} {tricks}>"
    if type(kind.__dict__.get("said")) is str:
        return f"<{kind.__name__} {kind.__dict__['said']!a}>"
    if peers.torch and kind is peers.torch.Tensor:
        return peers.describe(value)
    return f"<{kind.__name__}>"


def load_packages():
    """Import what calls import when it is installed: not while a call is timed, in threads or short of memory."""
    with contextlib.suppress(ImportError):
        import metatensor  # noqa: F401  (which imports PyTorch)


def limit_memory(more):
    """Let the process grow by so much and no further, whatever it has reserved already. Calls may lift the limit."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.getrlimit(resource.RLIMIT_AS)[1]))


def options_of(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--progress", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--before")
    parser.add_argument("--trick", choices=TRICKS)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--show", action="store_true")
    return parser.parse_args(arguments)


def main(arguments):
    options = options_of(arguments)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if options.device != "cpu":
        from dltensor.testing import hostcuda

        hostcuda.load()
    if options.torch and not peers.load():
        sys.exit("--torch: PyTorch is not installed")
    load_packages()
    if options.before:
        runpy.run_path(options.before)
    with open(options.progress, "r+b") as file:
        progress = mmap.mmap(file.fileno(), PROGRESS.size)
    fuzzer = Fuzzer(options, progress)

    def unraisable(error):
        # What a deleter raises, which may be any function, is Python's to print.
        deleter = "_Keeper" in str(getattr(error.object, "__qualname__", ""))
        if not isinstance(error.exc_value, hostile.Planted) and not deleter:
            fuzzer.report(
                None,
                f"ignored in {getattr(error.object, '__qualname__', error.object)!a}: {error.exc_value!r}",
                *fuzzer.where,
            )

    sys.unraisablehook = unraisable
    random.seed(0)
    limit_memory((2 if options.device == "cpu" else 256) << 30)  # the host driver reserves addresses for a device
    gc.collect()
    gc.freeze()
    for number in range(options.begin, options.begin + options.rounds):
        fuzzer.round(number)
    fuzzer.tell(options.begin + options.rounds, 0, done=1)
    counts = {"calls": fuzzer.made, "fine": fuzzer.fine, "compared": fuzzer.compared}
    names = sum(1 for entry in fuzzer.entries if fuzzer.counts[entry.name])
    never = [entry.name for entry in fuzzer.entries if not fuzzer.counts[entry.name]]
    print(
        json.dumps(
            counts | {"entries": len(fuzzer.entries), "reached": names, "never": never, "outcomes": fuzzer.outcomes}
        ),
        flush=True,
    )
