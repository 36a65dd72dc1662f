# SPDX-License-Identifier: Apache-2.0
"""Use of the host driver by other libraries, whose streams end and graphs are destroyed; operands at odd addresses.

Nothing here draws or checks calls.
"""

import ctypes

import numpy as np

import dltensor as dl


def machine():
    from dltensor.testing import hostcuda

    return hostcuda.load()


def demand_success(*results):
    if any(results):
        raise RuntimeError(f"the host driver answers {results}")


def at_odd_address(t, by):
    """A tensor of the same elements on the device, `by` bytes behind an aligned address."""
    values = dl.asarray(np.ascontiguousarray(t.numpy()))
    raw = dl.zeros((values.nbytes + 16,), dtype="uint8", device="cuda")[by:][: values.nbytes]
    raw[:] = values.reshape((-1,)).view("uint8").to("cuda")
    return raw.view(values.dtype).reshape(values.shape)


def take_and_return(t, *, destroyed_first):
    """Another library takes a tensor on a stream of its own, returns it, and destroys the stream, before or after."""
    driver, stream = machine().library, ctypes.c_void_p()
    with machine().context():
        demand_success(driver.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0))
        taken = t.__dlpack__(stream=stream.value)
        if not destroyed_first:
            del taken
        demand_success(driver.cuStreamDestroy_v2(stream))


def read_after_its_graph(elements, seed, *, same_stream):
    """The elements of an output of a graph plus 1, read by work that was enqueued before the graph was destroyed."""
    driver, graph, run = machine().library, ctypes.c_void_p(), ctypes.c_void_p()
    captured, other, third = (dl.cuda.Stream() for _ in range(3))
    with captured:
        x = dl.ones((elements,), dtype="float32", device="cuda")
        dl.add(dl.multiply(x, 2.0), 1.0)
    captured.synchronize()
    handle = ctypes.c_void_p(captured.handle)
    with machine().order(f"random:{seed}"), machine().context():
        demand_success(driver.cuStreamBeginCapture_v2(handle, 2))
        with captured:
            y = dl.multiply(x, 2.0)
        demand_success(driver.cuStreamEndCapture(handle, ctypes.byref(graph)))
        demand_success(driver.cuGraphInstantiateWithFlags(ctypes.byref(run), graph, ctypes.c_uint64(0)))
        demand_success(driver.cuGraphLaunch(run, handle))
        captured.synchronize()
        with captured if same_stream else other:
            z = dl.add(y, 1.0)
        demand_success(driver.cuGraphExecDestroy(run), driver.cuGraphDestroy(graph))
        del y
        dl.cuda.empty_cache()
        with third:
            late = [dl.full((elements,), -7.0, dtype="float32", device="cuda") for _ in range(4)]
        found = z.numpy()
    del late
    return found
