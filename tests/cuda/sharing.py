# SPDX-License-Identifier: Apache-2.0
"""A second process for tests of memory that processes share on CUDA devices: it does as it is told. No tests here.

Importing it loads the host driver, in the order of HOSTCUDA_ORDER, before a message with a tensor is read; with
DLTENSOR_TEST_GPU=1 the driver of a card is used.
"""

import gc
import multiprocessing
import os

import dltensor as dl
from dltensor.testing import hostcuda

machine = None if os.environ.get("DLTENSOR_TEST_GPU") else hostcuda.load()


def held():
    """Shared memory of this process; of the host driver also allocations, descriptors and mappings of the memory."""
    gc.collect()
    dl.cuda.synchronize()
    dl.cuda.empty_cache()
    with open("/proc/self/maps") as file:
        mapped = sum("memfd:hostcuda-device" in line for line in file)
    files = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            files += "memfd:hostcuda-device" in os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    allocations = machine.statistics().live_allocations if machine else 0
    return dl.cuda.memory_stats()["shared_bytes"], allocations, files, mapped


def _fill(kept, name, value):
    kept[name].fill(value)
    dl.cuda.synchronize()


def _end(kept):
    os._exit(7)


def _make(kept, name, value):
    kept[name] = dl.shared.empty(4, "int32", device="cuda")
    kept[name].fill(value)


COMMANDS = {
    "keep": lambda kept, name, t: kept.__setitem__(name, t),
    "fill": _fill,
    "make": _make,
    "list": lambda kept, name: kept[name].tolist(),
    "get": lambda kept, name: kept[name],
    "facts": lambda kept, name: (str(kept[name].device), kept[name].is_shared, kept[name].readonly, kept[name].strides),
    "drop": lambda kept, name: kept.pop(name) is None,
    "held": lambda kept: held(),
    "end": _end,
}


def serve(connection):
    """Do what is asked for, and answer; errors are answers too."""
    kept = {}
    while True:
        try:
            request = connection.recv()
            if request is None:
                return
            answer = COMMANDS[request[0]](kept, *request[1:])
        except Exception as error:
            answer = type(error).__name__, str(error)
        request = None
        connection.send(answer)
        answer = None


def fill_argument(t, value):
    """The target of a process that receives a tensor as an argument."""
    t.fill(value)
    dl.cuda.synchronize()


class Other:
    """A running `serve`, for a with statement; `environment` is that of the process."""

    def __init__(self, method="spawn", environment=()):
        context = multiprocessing.get_context(method)
        before = dict(os.environ)
        os.environ.update(environment)
        self.here, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there,), daemon=True)
        self.process.start()
        there.close()
        os.environ.clear()
        os.environ.update(before)

    def __enter__(self):
        return self

    def ask(self, *request):
        self.here.send(request)
        assert self.here.poll(120)
        return self.here.recv()

    def __exit__(self, *error):
        if self.process.is_alive():
            self.here.send(None)
        self.process.join(60)
