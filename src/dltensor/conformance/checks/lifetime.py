# SPDX-License-Identifier: Apache-2.0
"""Checks of an export's deleter and of a capsule's destructor: how often, from where, until when. No values."""

import ctypes
import gc
import itertools

from .. import _probe
from ..observed import newest_export
from . import NotApplicable, check, expect


class _Heap(ctypes.Structure):
    """The result of glibc's mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def _growth(action, rounds=4000):
    """By how many bytes the heap grows with each call of `action`, once caches are full."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        raise NotApplicable("the heap can be measured with glibc 2.33 and later only")
    libc.mallinfo2.restype = _Heap
    levels = []
    for _ in range(4):
        for _ in range(rounds):
            action()
        gc.collect()
        levels.append(libc.mallinfo2().uordblks)
    return min(after - before for before, after in itertools.pairwise(levels)) / rounds


@check(18, "producer")
def nothing_is_left_behind(target):
    """Export and delete 16,000 times: the heap does not grow by a struct each time."""
    thing = target.make()
    each = _growth(lambda: _probe.take(newest_export(thing)).delete_holding_the_gil())
    expect(each < 48, f"each export leaves {each:.0f} bytes on the heap, expected none")


@check(26, "producer")
def unconsumed_capsule_deletes(target):
    """Drop a capsule unconsumed: the deleter runs once."""
    thing = target.make()
    capsule = newest_export(thing)
    watch = _probe.watch(capsule)
    del capsule
    gc.collect()
    expect(watch.deleted <= 1, f"an unconsumed capsule went, its deleter ran {watch.deleted} times, expected once")
    if not watch.deleted:
        # Some destructors know their deleter without looking it up in the struct: what they free shows on the heap.
        each = _growth(lambda: newest_export(thing))
        expect(each < 48, f"each unconsumed capsule leaves {each:.0f} bytes on the heap: its struct is not deleted")


@check(26, "producer")
def consumed_capsule_is_left_alone(target):
    """Drop a capsule that was consumed: the deleter does not run."""
    capsule = newest_export(target.make())
    watch = _probe.watch(capsule)
    taken = _probe.take(capsule)
    del capsule
    gc.collect()
    expect(watch.deleted == 0, f"a consumed capsule went, and the deleter ran {watch.deleted} times, expected 0")
    taken.delete_holding_the_gil()


@check(30, "producer")
def deleter_runs_anywhere(target):
    """Call the deleter with and without the GIL, and from a thread that Python does not know."""
    for manner in ("delete_holding_the_gil", "delete", "delete_on_thread"):
        for _ in range(20):
            getattr(_probe.take(newest_export(target.make())), manner)()
    gc.collect()


@check(31, "producer", alone=True)
def deleter_runs_after_the_end(target):
    """Call the deleter when the interpreter is gone: the process still ends well."""
    taken = _probe.take(newest_export(target.make()))
    taken.delete_after_exit()
