# SPDX-License-Identifier: Apache-2.0
"""Memory of CUDA devices that processes share: real processes, each with a host driver over the same memory, or a card.

Each test has a process of its own, whose children are spawned: a driver is for life, and does not survive a fork."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ON_CARD, ORDERS
from engine import scratch

pytest.importorskip("dltensor.cuda._shared", reason="the package is not installed")
on_host = pytest.mark.skipif(ON_CARD, reason="needs the host driver, this run uses a card")
HEAD = """
import gc, os, pickle, signal, socket
from multiprocessing import get_context
from multiprocessing.reduction import ForkingPickler
import numpy as np
import pytest
from sharing import Other, dl, fill_argument, held, machine

def message_of(t):
    return bytes(ForkingPickler.dumps(t))

def main():
"""
# Processes that are spawned import the program.
TAIL = """
if __name__ == "__main__":
    main()
"""


def run(tmp_path, body, order="eager", **environment):
    program = tmp_path / "program.py"
    program.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    ") + TAIL)
    env = {
        **os.environ,
        "DLTENSOR_CACHE_DIR": str(scratch()),
        **({} if ON_CARD else {"DLTENSOR_CUDA_NVRTC": "off", "HOSTCUDA_ORDER": order}),
        "PYTHONPATH": str(Path(__file__).parent),
        **environment,
    }
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.mark.parametrize("order", ORDERS)
def test_each_process_sees_what_the_other_one_writes(tmp_path, order):
    """Work that was enqueued before the message, on any stream, is done when it arrives."""
    body = """
    x = dl.shared.empty((3, 4), "int32", device="cuda")
    x.fill(1)
    with dl.cuda.Stream():
        x += dl.arange(12, dtype="int32", device="cuda").reshape(3, 4)
    with Other() as other:
        other.ask("keep", "all", x)
        assert other.ask("list", "all") == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
        other.ask("keep", "part", x[1:, ::-2])
        assert other.ask("list", "part") == [[8, 6], [12, 10]]
        other.ask("fill", "part", 0)
        assert x.tolist() == [[1, 2, 3, 4], [5, 0, 7, 0], [9, 0, 11, 0]]
        x.fill(5)
        dl.cuda.synchronize()
        assert other.ask("list", "part") == [[5, 5], [5, 5]]
        assert other.ask("facts", "part") == ("cuda:0", True, False, (4, -2))
    """
    run(tmp_path, body, order)


def test_tensors_are_shared_by_copies(tmp_path):
    body = """
    x = dl.arange(6, dtype="float32", device="cuda").reshape(2, 3)
    shared = x.share()
    assert (shared.is_shared, x.is_shared, shared.share() is shared, shared[1:].is_shared) == (True, False, True, True)
    assert shared.device == x.device and shared.tolist() == x.tolist() and (shared + 1).is_shared is False
    assert dl.from_dlpack(shared).is_shared and dl.zeros(3).share().device == "cpu"
    for name in ("bool", "bfloat16", "float8_e4m3fn", "complex128", "int64"):
        t = dl.asarray([1, 0, 1]).astype(name).to("cuda")
        assert t.share().to("cpu").tobytes() == t.to("cpu").tobytes()
    padded = dl.asarray([1, 2, 3], dtype="int8").astype("int4", padded=True).to("cuda")
    assert padded.share().tolist() == [1, 2, 3]
    assert dl.shared.empty((0, 3), device="cuda").share().tolist() == []
    assert dl.shared.empty((), device="cuda").ndim == 0
    packed = dl.shared.pack({"a": x, "b": x.T, "c": dl.zeros(0, device="cuda")})
    assert packed["b"].tolist() == x.T.tolist() and packed["a"].same_memory(packed["b"])
    assert all(t.data_ptr % 256 == 0 for t in packed.values())
    copy = pickle.loads(pickle.dumps(shared))
    assert (copy.is_shared, copy.tolist(), copy.device) == (False, x.tolist(), x.device)
    with Other() as other:
        other.ask("keep", "packed", packed)
        assert other.ask("held")[0] == 2 << 20  # one block for all of them
        readonly = dl.broadcast_to(shared[0], (2, 3))
        other.ask("keep", "readonly", readonly)
        assert other.ask("list", "readonly") == [[0, 1, 2], [0, 1, 2]]
        assert other.ask("facts", "readonly")[2] == readonly.readonly
    with pytest.raises(ValueError, match="one device, got 'a' on cuda:0 and 'b' on cpu; call pack for each"):
        dl.shared.pack({"a": x, "b": dl.zeros(2)})
    with pytest.raises(dl.DeviceError, match="memory of cuda_host:0 cannot be shared; supported devices are"):
        dl.shared.empty(3, device="cuda_host")
    with pytest.raises(ValueError, match="expected cuda:0 to cuda:0, got cuda:3"):
        dl.shared.empty(3, device="cuda:3")
    """
    run(tmp_path, body)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_new_process_receives_its_arguments(tmp_path, method):
    body = f"""
    x = dl.zeros(4, device="cuda").share()
    process = get_context("{method}").Process(target=fill_argument, args=(x[1:3], 9))
    process.start()
    process.join(60)
    assert process.exitcode == 0 and x.tolist() == [0, 9, 9, 0]
    with get_context("{method}").Pool(2) as pool:
        pool.starmap(fill_argument, [(x[i : i + 1], i) for i in range(4)])
    assert x.tolist() == [0, 1, 2, 3]
    """
    run(tmp_path, body)


@pytest.mark.parametrize("order", ORDERS)
def test_memory_is_freed_once_by_the_last_process(tmp_path, order):
    body = """
    nothing = held()
    x = dl.shared.empty(4, "int32", device="cuda")
    with Other() as other:
        theirs = other.ask("held")
        x.fill(3)
        other.ask("keep", "x", x)
        assert held()[0] == 2 << 20
        x += 1  # enqueued work outlives the tensor
        del x
        assert held() == nothing
        other.ask("keep", "again", other.ask("get", "x"))  # and back: the process that received it sends it on
        assert other.ask("list", "again") == [4] * 4
        assert held() == nothing
        other.ask("drop", "x")
        other.ask("fill", "again", 6)
        assert other.ask("list", "again") == [6] * 4
        other.ask("drop", "again")
        assert other.ask("held") == theirs
    assert held() == nothing
    """
    run(tmp_path, body, order)


def test_the_maker_may_end_first_and_the_receiver_may_be_killed(tmp_path):
    body = """
    nothing = held()
    with Other() as other, Other() as third:
        other.ask("make", "x", 8)
        x = other.ask("get", "x")
        third.ask("keep", "x", x)
        third.ask("keep", "lost", x)
        other.here.send(("end",))
        other.process.join(60)
        assert other.process.exitcode == 7 and x.tolist() == [8] * 4
        third.ask("fill", "x", 2)
        os.kill(third.process.pid, signal.SIGKILL)
        third.process.join(60)
    assert x.tolist() == [2] * 4
    with Other() as fourth:
        fourth.ask("keep", "x", x)
        assert fourth.ask("list", "x") == [2] * 4
    del x
    assert held() == nothing
    """
    run(tmp_path, body)


def test_messages_that_are_lost_and_read_twice(tmp_path):
    body = """
    nothing = held()
    dl.shared.release_unreceived()
    x = dl.arange(3, device="cuda").share()
    message = message_of({"all": x, "part": x[1:]})
    del x
    received = pickle.loads(message)
    assert received["all"].tolist() == [0, 1, 2] and received["part"].same_memory(received["all"])
    with pytest.raises(ValueError, match="the memory that was sent does not exist any more"):
        pickle.loads(message)
    del received
    assert held() == nothing
    files = len(os.listdir("/proc/self/fd"))
    lost = [message_of(dl.zeros(3, device="cuda").share()) for _ in range(20)]
    assert held()[:2] == nothing[:2]
    assert dl.shared.release_unreceived() == 20 and dl.shared.release_unreceived() == 0
    assert len(os.listdir("/proc/self/fd")) <= files
    with pytest.raises(ValueError, match="does not exist any more"):
        pickle.loads(lost[3])
    """
    run(tmp_path, body)


def test_a_message_of_a_process_that_has_ended(tmp_path):
    body = """
    with Other() as other:
        other.ask("make", "x", 1)
        other.here.send(("get", "x"))
        assert other.here.poll(60)
        other.process.kill()
        other.process.join(60)
        with pytest.raises(ValueError, match="its sender has ended or released it"):
            other.here.recv()
    """
    run(tmp_path, body)


@on_host
def test_false_messages_are_refused(tmp_path):
    body = """
    from dltensor.cuda import _shared
    from dltensor.shared import _devices, _sending
    nothing = held()
    x = dl.arange(3, device="cuda").share()
    def parts():
        return _devices.send(_shared.whole_block(x))[1]
    found, key, uuid, nbytes = parts()
    with pytest.raises(ValueError, match="does not exist any more"):
        _sending.receive_device_handle(found, bytes(16), uuid, nbytes)
    for wrong in (nbytes + (2 << 20), nbytes * 4, 5, 0, -nbytes, 1 << 60):
        found, key, uuid, _ = parts()
        with pytest.raises((dl.DeviceError, MemoryError, ValueError)):
            _sending.receive_device_handle(found, key, uuid, wrong)
    found, key, uuid, nbytes = parts()
    with pytest.raises(ValueError, match="a UUID has 16 bytes, got 3"):
        _sending.receive_device_handle(found, key, uuid[:3], nbytes)
    with pytest.raises(dl.DeviceError, match="GPU-00000000-0000-0000-0000-000000000000, which is not visible"):
        _sending.receive_device_handle(found, key, bytes(16), nbytes)
    assert _sending.receive_device_handle(found, key, uuid, nbytes).data.size == 2 << 20  # the message is still there
    for file in (os.memfd_create("other"), *os.pipe()):
        with pytest.raises(dl.DeviceError, match="cannot open the memory that was sent.*same driver.*to..cpu...share"):
            _shared.receive(file, uuid, nbytes)
        with pytest.raises(OSError):
            os.fstat(file)
    with pytest.raises(ValueError, match="outside of the memory"):
        handle = _sending.Handle(_shared.whole_block(x))
        _sending.rebuild_tensor(handle, 0, 3 << 20, (3 << 20,), (1, 8, 1), False, False)
    del handle, x
    gc.collect()
    assert dl.shared.release_unreceived() >= 0 and held()[:2] == nothing[:2]
    """
    run(tmp_path, body)


def test_a_forked_process_cannot_use_the_memory_and_harms_nothing(tmp_path):
    body = """
    x = dl.arange(3, device="cuda").share()
    message = message_of(x)
    nothing = held()
    child = os.fork()
    if child == 0:
        code = 0
        for call in (lambda: x.tolist(), lambda: message_of(x), lambda: pickle.loads(message), lambda: x.share() + 1):
            try:
                call()
                code = 1
            except dl.DeviceError as error:
                code = code or 2 * ("after fork() use CUDA in one of the processes only" not in str(error))
        x = None
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [0, 1, 2] and held() == nothing
    assert pickle.loads(message).tolist() == [0, 1, 2]
    """
    run(tmp_path, body)


@on_host
def test_the_device_is_found_by_its_uuid(tmp_path):
    body = """
    x, y = (dl.arange(3, device=f"cuda:{i}").share() for i in (0, 1))
    assert [t.device.id for t in (x, y)] == [0, 1]
    with Other(environment={"HOSTCUDA_DEVICES": "1", "HOSTCUDA_FIRST_DEVICE": "1"}) as other:
        other.ask("keep", "y", y)
        assert other.ask("facts", "y")[0] == "cuda:0" and other.ask("list", "y") == [0, 1, 2]
        name, words = other.ask("keep", "x", x)
        assert name == "DeviceError" and "GPU-00000000-0000-0000-0000-000000000001" in words
        assert "CUDA_VISIBLE_DEVICES" in words
    y[...] = x + 5
    assert y.tolist() == [5, 6, 7]
    y[...] = x
    assert x.to("cuda:1").tolist() == y.tolist() == [0, 1, 2]
    """
    run(tmp_path, body, HOSTCUDA_DEVICES="2")


@on_host
def test_a_driver_without_descriptors_is_refused_with_a_remedy(tmp_path):
    body = """
    with pytest.raises(dl.DeviceError, match=r"cannot share memory of cuda:0.*WSL.*t.to..cpu...share"):
        dl.arange(3, device="cuda").share()
    machine.configure(descriptors=True)
    x = dl.arange(3, device="cuda").share()
    with Other(environment={"HOSTCUDA_DESCRIPTORS": "off"}) as other:
        name, words = other.ask("keep", "x", x)
        assert name == "DeviceError" and "has no descriptors of memory" in words
    """
    run(tmp_path, body, HOSTCUDA_DESCRIPTORS="off")


@on_host
def test_each_failure_of_the_driver_leaves_nothing_behind(tmp_path):
    body = """
    from dltensor.shared import _sending
    x = dl.arange(3, device="cuda").share()
    makes = ("cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess")
    nothing = held()
    for name in makes:
        machine.fail(name, error="CUDA_ERROR_ILLEGAL_STATE")
        with pytest.raises(dl.DeviceError, match=f"{name}: CUDA_ERROR_ILLEGAL_STATE"):
            dl.shared.empty(3, device="cuda")
        assert held() == nothing, name
    machine.fail("cuMemExportToShareableHandle", error="CUDA_ERROR_ILLEGAL_STATE")
    with pytest.raises(dl.DeviceError, match="cuMemExportToShareableHandle"):
        message_of(x)
    for name in ("cuMemImportFromShareableHandle", *makes[2:]):
        message = message_of(x)
        machine.fail(name, error="CUDA_ERROR_ILLEGAL_STATE")
        with pytest.raises(dl.DeviceError, match=f"{name}: CUDA_ERROR_ILLEGAL_STATE"):
            pickle.loads(message)
        assert held() == nothing, name
    """
    run(tmp_path, body)


@on_host
def test_memory_that_runs_out_is_freed_and_asked_for_again(tmp_path):
    body = """
    machine.configure(memory=8 << 20)
    kept = [dl.empty(4 << 20, "uint8", device="cuda")]
    idle = dl.empty(3 << 20, "uint8", device="cuda")
    del idle
    x = dl.shared.empty(4 << 20, "uint8", device="cuda")  # after idle memory was freed
    with pytest.raises(MemoryError, match="expected 2097152 bytes on cuda:0.*free tensors"):
        dl.shared.empty(2 << 20, "uint8", device="cuda")
    with pytest.raises(MemoryError):
        dl.shared.empty(1 << 60, "uint8", device="cuda")
    @dl.cuda.on_out_of_memory
    def free():
        kept.clear()
        dl.cuda.empty_cache()
        return True
    assert dl.shared.empty(2 << 20, "uint8", device="cuda").is_shared
    """
    run(tmp_path, body)


def test_memory_in_a_capture_is_not_sent(tmp_path):
    body = """
    x = dl.zeros(3, device="cuda").share()
    graph = dl.cuda.Graph()
    with graph.capture(dl.cuda.Stream()):
        x += 1
        with pytest.raises(BufferError, match="captured"):
            message_of(x)
    graph.launch()
    assert pickle.loads(message_of(x)).tolist() == [1, 1, 1]
    """
    run(tmp_path, body)


def test_consumers_of_an_export_are_waited_for(tmp_path):
    """Memory that a consumer has used on its own stream is unmapped after its work."""
    body = """
    stream = dl.cuda.Stream()
    x = dl.zeros(1000, device="cuda").share()
    capsule = x.__dlpack__(stream=stream.handle)
    y = dl.from_dlpack(x)
    with stream:
        z = y + 1
    del x, y, capsule
    gc.collect()
    assert set(z.tolist()) == {1.0}
    assert held()[0] == 0
    """
    run(tmp_path, body, ORDERS[-1])


def test_threads_share_at_once(tmp_path):
    body = """
    import threading
    nothing, errors = held(), []
    def work(number):
        try:
            for _ in range(20):
                x = dl.full(50, number, dtype="int32", device="cuda").share()
                y = pickle.loads(message_of(x))
                y += 1
                dl.cuda.synchronize()
                assert x.tolist() == [number + 1] * 50
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert held() == nothing
    """
    run(tmp_path, body)
