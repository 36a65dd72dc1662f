# SPDX-License-Identifier: Apache-2.0
"""A child in which Python's allocator fails at the k-th call, for every k: ``python -m faults.nomemory OPERATION``.

It prints the position before each try, so that a crash can be placed, and at the end how many positions failed.
"""

import gc
import sys

from .producer import Kit, producer_type
from .structure import SIX

POSITIONS = 400
DRAIN = 100  # more than any free list holds


def ready(made, age):
    """An object whose capsule exists already: ctypes turns a MemoryError of its own into another exception."""
    source = producer_type(age, hand_out=lambda self, **_: self.capsule)(made, device=(1, 0))
    source.capsule = made.capsule()
    return source


def prepare(kit, dl, operation):
    """The made struct, and a function to run without memory. What it needs exists beforehand."""
    made = kit.make(legacy=operation == "import legacy capsule", data=SIX)
    if operation.startswith("import"):
        source = {
            "import capsule": made.capsule,
            "import legacy capsule": made.capsule,
            "import object": lambda: ready(made, "2023"),
            "import old object": lambda: ready(made, "bare"),
            "import table": made.through_table,
        }[operation]()
        return made, lambda: dl.from_dlpack(source)
    tensor = dl.from_dlpack(made.capsule())
    work = {
        "export": lambda: tensor.__dlpack__(max_version=(1, 3)),
        "export legacy": lambda: tensor.__dlpack__(),
        "export copy": lambda: tensor.__dlpack__(max_version=(1, 3), copy=True),
        "index": lambda: tensor[1:, ::2],
        "index one": lambda: tensor[1],
        "new axis": lambda: tensor[..., None],
        "assign": lambda: tensor.__setitem__((slice(None), 0), 2.0),
        "assign tensor": lambda: tensor.__setitem__(0, tensor[1]),
        "copy": lambda: tensor.copy(),
        "reshape": lambda: tensor.reshape((3, 2)),
        "transpose": lambda: tensor.T,
        "tolist": lambda: tensor.tolist(),
        "repr": lambda: repr(tensor),
        "buffer": lambda: memoryview(tensor),
        "iterate": lambda: list(tensor),
    }[operation]
    return made, work


OPERATIONS = {
    "import capsule", "import legacy capsule", "import object", "import old object", "import table", "export",
    "export legacy", "export copy", "index", "index one", "new axis", "assign", "assign tensor", "copy", "reshape",
    "transpose", "tolist", "repr", "buffer", "iterate",
}  # fmt: skip


def attempt(kit, dl, operation, start, stop):
    """Run once with the allocator failing from call `start` to `stop` (0: for ever); whether memory was missed."""
    import _testcapi  # not part of every Python, and the names above are wanted anyway

    made, function = prepare(kit, dl, operation)
    calls = kit.lib.fault_table_calls()
    # Tensor objects may come from a free list, where no allocation can fail: keep it empty.
    drained = [dl.from_dlpack(kit.make(data=SIX).capsule()) for _ in range(DRAIN)]
    result = failed = None
    _testcapi.set_nomemory(start, stop)
    try:
        result = function()
    except MemoryError:
        failed = True
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        raise AssertionError(f"{type(error).__name__} instead of MemoryError: {error}") from error
    finally:
        _testcapi.remove_mem_hooks()
    del result, function, drained
    gc.collect()  # Python code that failed leaves frames in a cycle with their error
    # Where the producer itself had no memory for a capsule, nothing was handed out.
    owed = int(made.handed_out or kit.lib.fault_table_calls() > calls)
    assert made.deleted == owed, f"the deleter ran {made.deleted} times, {owed} expected"
    assert made.deleted_with_error == 0, "the deleter ran with an exception pending"
    return bool(failed)


def main():
    import dltensor as dl

    operation = sys.argv[1]
    kit = Kit()
    attempt(kit, dl, operation, 10**9, 0)  # what is made at first use is made now
    gc.collect()
    blocks = dl.debug.live_blocks()
    failures = 0
    for once in (True, False):
        passed = 0
        for position in range(POSITIONS):
            print("AT", "once" if once else "from then on", position, flush=True)
            missed = attempt(kit, dl, operation, position, position + 1 if once else 0)
            failures += missed
            # Ten positions in a row that miss nothing lie behind the operation's last allocation.
            passed = 0 if missed else passed + 1
            if passed == 10:
                break
        else:
            raise AssertionError(f"more than {POSITIONS} allocations")
    gc.collect()
    assert dl.debug.live_blocks() == blocks, f"{dl.debug.live_blocks() - blocks} blocks leaked"
    print("FAILURES", failures)


if __name__ == "__main__":
    main()
