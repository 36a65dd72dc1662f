# SPDX-License-Identifier: Apache-2.0
"""A child that leaves chains of frameworks alive and goes: ``python -m faults.shutdown HOLDER FRAMEWORK...``.

The process that starts it must see exit code 0 and how many exchanges of how many were made, nothing else.
"""

import atexit
import builtins
import importlib
import itertools
import sys
import threading
import time

from .producer import Kit
from .structure import SIX

kept = []
made = []


def hop(framework):
    module = importlib.import_module({"jax": "jax.dlpack", "tvm_ffi": "tvm_ffi"}.get(framework, framework))
    return module.from_dlpack


def chain(kit, order):
    """One piece of memory passed from framework to framework; only the last holds it."""
    # Begin with ours, as not every framework takes a versioned struct; it exports what the next one requests.
    tensor = hop("dltensor")(kit.make(data=SIX, deleter="delete_running_python").object())
    for framework in order:
        try:
            tensor = hop(framework)(tensor)
        except BufferError:
            break  # jax arrays are read-only, which not every framework can export: the chain ends here
        made.append(framework)
    return tensor


def hold(holder, tensors):
    """Keep the tensors alive in a place that the interpreter tears down in its own time."""
    kept.append(tensors)
    if holder == "cycle":
        tensors.append(tensors)
        kept.clear()
    elif holder == "builtins":
        builtins.kept_at_shutdown = tensors
    elif holder == "module":
        sys.modules["kept_at_shutdown"] = type(sys)("kept_at_shutdown")
        sys.modules["kept_at_shutdown"].tensors = tensors
    elif holder == "atexit":
        # Runs before modules go: exports once more, and consumes.
        import dltensor

        atexit.register(lambda: kept.append([dltensor.from_dlpack(t) for t in tensors]))
    elif holder == "capsules":
        # Asking for a version, as read-only memory cannot leave without one; jax knows none.
        kept.append(
            [t.__dlpack__() if "jax" in type(t).__module__ else t.__dlpack__(max_version=(1, 3)) for t in tensors]
        )
        kept.pop(0)
    elif holder == "daemon thread":
        started = threading.Event()

        def sleep(mine):
            started.set()
            while True:
                time.sleep(0.001)
                mine[0] = mine[0]

        threading.Thread(target=sleep, args=(tensors,), daemon=True).start()
        started.wait()
        kept.clear()


def main():
    holder, *frameworks = sys.argv[1:]
    kit = Kit()
    longest = min(len(frameworks), 4)
    orders = [order for order in itertools.permutations(frameworks, longest) if "dltensor" in order]
    orders += [(*order, "dltensor", order[0]) for order in itertools.permutations(frameworks, 2)]
    hold(holder, [chain(kit, order) for order in orders])
    print(len(made), "exchanges of", sum(map(len, orders)), "in", len(orders), "chains")


if __name__ == "__main__":
    main()
